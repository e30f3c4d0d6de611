"""The story of a tuple: from whoever wrote it to whoever took it, over all hosts of the group."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from nomospace.api.published import CausalStory, StoryStep, fields_text
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.stories import story
from nomospace.console.told import TUPLE_WORDS, address, left_out, read_into


@story("tuple", "Tuple")
def tell_tuple(frame: Frame, host: str, id: str) -> None:
    """What became of a tuple; the journals are read a page at a time, so it appears a bit later."""
    del host  # it may have been at all of them
    look.mono(id).classes("pre term")
    body = ui.element("div").props("data-story=tuple")
    read_into(body, frame, id, partial(_tell, frame))


def _tell(frame: Frame, found: CausalStory) -> None:
    steps = [step for step in found.steps if step.about == found.about]
    known = [step.text for step in steps if step.text]
    if known:
        look.mono(known[0]).classes("pre")
    elif found.lies is not None:
        look.mono(fields_text(found.lies.fields)).classes("pre")
    if found.lies is not None:
        _lies(frame, found)
    look.heading("From writer to taker")
    left_out(found)
    with ui.element("ol").classes("steps"):
        for step in steps:
            _step(frame, step)
    look.words_to(
        f"The whole story: {len(found.steps)} steps", partial(frame.go, address(found.about))
    ).props("data-whole")


def _lies(frame: Frame, found: CausalStory) -> None:
    lies = found.lies
    assert lies is not None
    with look.fact("lies in"):
        ui.label(f"{found.space} on {found.holder}")
    with look.fact("held by"):
        look.doorway(lies.holder, partial(frame.open, "agent", found.holder, lies.holder))
    if lies.dest != lies.holder:
        with look.fact("for"):
            look.mono(lies.dest)
    if lies.deliveries:
        with look.fact("was lent"):
            ui.label(f"{lies.deliveries} times").classes("num")
    if lies.lent_until:
        with look.fact("back at"):
            look.when(lies.lent_until)
    if lies.expires:
        with look.fact("gone at"):
            look.when(lies.expires)


def _step(frame: Frame, step: StoryStep) -> None:
    with ui.element("li").classes("step"):
        with ui.element("div"):
            look.doorway(step.lane, partial(frame.open, "agent", step.host, step.lane))
            ui.label(TUPLE_WORDS.get(step.kind, step.kind)).classes("step-op")
        with ui.element("div").classes("quiet"):
            ui.label(f"{step.community} on {step.host},")
            look.when(step.at)
            if step.until:
                ui.label("until")
                look.when(step.until)
            if step.operations:
                ui.label(f": {step.operations[0]}")
