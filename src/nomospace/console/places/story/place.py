"""The page of a whole story: what led to an event and what came of it, over all hosts.

Its address says what it is of (`/story?about=ward-1/123`), so it can be shared, and the way back
leads to the story before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.published import CausalStory, StoryStep
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.places.story import drawing
from nomospace.console.told import (
    address,
    because,
    left_out,
    look_of,
    open_step,
    read_into,
    sign_of,
    what,
)

ABOUT_MAX: Final = 450
KEYS: Final = {
    "sent": "a message",
    "held": "held, then let go",
    "due": "a duty, until it ends",
    "moved": "a move",
    "after": "by the agent itself, after it heard something: inferred",
}
"""What the lines of a story say, by how one step led to another."""


def show(frame: Frame) -> None:
    """Show the place in a window."""
    about = frame.asked.get("about", "")[:ABOUT_MAX]
    body = look.attributes(ui.element("div").classes("story-place"), data_about=about)
    if not about:
        with body:
            look.empty(
                "A story is of a ruling or a tuple.",
                "Click one in a place, and then The whole story.",
            )
        return

    def tell(story: CausalStory) -> None:
        _tell(frame, story)
        look.words_to("Read the journals again", read).props("data-again")

    read = read_into(body, frame, about, tell)


def _tell(frame: Frame, story: CausalStory) -> None:
    if not story.steps:
        look.empty("No journal tells of it.", "It lies in a space whose host keeps no journal.")
        return
    first, last = story.steps[0], story.steps[-1]
    with ui.element("div").classes("card story-summary"):
        steps, lanes, hosts = len(story.steps), len(story.lanes), len(story.hosts)
        said = f"{_many(steps, 'step')} of {_many(lanes, 'agent')} on {_many(hosts, 'host')}"
        said += f" in {look.stretch(last.at - first.at)}, from" if steps > 1 else ","
        with ui.element("div").classes("story-said"):
            ui.label(said)
            look.when(first.at)
        left_out(story)
        if steps > 1:
            _over_time(story, last.at - first.at)
    with ui.element("div").classes("card story-lanes"):
        for size, name in ((drawing.WIDE, "wide"), (drawing.NARROW, "narrow")):
            ui.html(drawing.graph(story, size), sanitize=False).classes(f"story-{name}")
        known = {step.id: step for step in story.steps}
        with ui.element("ol").classes("story-steps"):
            for step in story.steps:
                _step(frame, step, known, first.at, chosen=story.about in (step.id, step.about))


def _over_time(story: CausalStory, took: int) -> None:
    """The hosts over the time, and what the lines of this story say."""
    with ui.element("div").classes("story-hosts"):
        with ui.element("div").classes("story-host-names"):
            for host in story.hosts:
                look.attributes(look.mono(host), title=host)
        with ui.element("div").classes("story-axis-box"):
            ui.html(drawing.axis(story), sanitize=False)
            with ui.element("div").classes("story-scale quiet num"):
                ui.label("0")
                ui.label(look.stretch(took))
    used = {"due" if one.how == "met" else one.how for step in story.steps for one in step.causes}
    with ui.element("ul").classes("story-keys"):
        for kind, words in KEYS.items():
            if kind in used:
                look_of_line = f"{kind} unsure" if kind == "after" else kind
                with ui.element("li"):
                    ui.html(
                        f'<svg width="26" height="10" aria-hidden="true">'
                        f'<path class="link {look_of_line}" d="M1 5H25"/></svg>',
                        sanitize=False,
                    )
                    ui.label(words).classes("quiet")


def _step(
    frame: Frame, step: StoryStep, known: Mapping[str, StoryStep], begin: int, *, chosen: bool
) -> None:
    with ui.element("li").classes("story-step" + (" chosen" if chosen else "")):
        with ui.element("div").classes("story-step-head"):
            look.attributes(
                ui.label(f"+{look.stretch(step.at - begin)}").classes("story-at quiet num"),
                title=look.exactly(step.at),
            )
            ui.label(sign_of(step)).classes(look_of(step)).props("aria-hidden=true")
            go, title = partial(open_step, frame, step), step.text or what(step)
            with look.plain_button("doorway story-what", go, title=title, data_step=step.id):
                ui.label(step.lane).classes("story-who")
                look.mono(what(step)).classes("story-gist")
            if step.rule:
                ui.label(step.rule).classes("quiet")
            ui.label(step.host).classes("chip mono")
            if not chosen:
                label = f"The story from here: {step.lane} {what(step)}"[:200]
                look.doorway("↦", partial(frame.go, address(step.id)), label=label).classes(
                    "story-from"
                )
        words = " · ".join(because(step, known))
        look.attributes(ui.label(words).classes("story-why quiet"), title=words)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
