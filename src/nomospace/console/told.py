"""Steps of a story in words: for the drawer, which shows those next to one, and for the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import quote

from nicegui import ui

from nomospace.api.published import CausalStory, StoryLink, StoryStep
from nomospace.console.frame import Frame
from nomospace.console.look import (
    FORWARDED,
    HELD,
    OBLIGATION,
    REFUSED,
    SIGNS,
    fault,
    gist,
    mono,
    plain_button,
    stretch,
    when,
)
from nomospace.errors import NomospaceError

LINE_MAX: Final = 200
HEARD_MAX: Final = 60
"""How much is said again of what an agent heard."""
TUPLE_WORDS: Final = {
    "written": "writes",
    "taken": "takes",
    "moved": "holds it from now on:",
    "expired": "holds it as it goes by itself:",
    "lent": "borrows",
    "renewed": "renews its lease",
    "returned": "gives it back",
    "acknowledged": "is done with it",
    "lapsed": "keeps it too long: its lease runs out",
}
"""What became of a tuple, behind the agent's name."""
MOVES: Final = {
    "departed": "leaves for {}",
    "came": "comes from {}",
    "came-back": "is back: {} did not take it",
}
"""What is told of an agent that moves, behind its name, with the other host."""


async def told(frame: Frame, about: str) -> CausalStory:
    """A story, with all that who looks may see; raises `NoStory`."""
    console = frame.console
    beside = {name: service.operator(frame.viewer) for name, service in console.services.items()}
    return await console.service.views.story(about, beside=beside)


def read_into(
    body: ui.element, frame: Frame, about: str, show: Callable[[CausalStory], None]
) -> Callable[[], Awaitable[None]]:
    """Read a story and show it in an element, soon: journals are read a page at a time.

    What is returned reads it again.
    """
    with body:
        ui.label("The journals are being read …").classes("quiet").props("role=status")

    async def read() -> None:
        try:
            found = await told(frame, about)
        except NomospaceError as error:
            body.clear()
            with body:
                fault(error)
            return
        body.clear()
        with body:
            show(found)

    ui.timer(0, read, once=True)
    return read


def left_out(story: CausalStory) -> None:
    """Say what a story leaves out."""
    for words in story.left:
        ui.label(f"{words[:1].upper()}{words[1:]}.").classes("quiet").props("data-left")


def address(about: str) -> str:
    """Where a whole story is shown."""
    return f"/story?about={quote(about, safe='@/')}"


def open_step(frame: Frame, step: StoryStep) -> None:
    """Tell of a step in the drawer; of one at a host elsewhere, its own story."""
    if step.host not in frame.console.services:
        frame.go(address(step.id))
    elif step.about:
        frame.open("tuple", step.host, step.about)
    elif step.kind in MOVES:
        frame.open("agent", step.host, step.lane)
    else:
        frame.open("ruling", step.host, step.record)


def look_of(step: StoryStep) -> str:
    """The verdict that a step looks like."""
    if step.refused:
        return REFUSED
    if step.held:
        return HELD
    return OBLIGATION if step.kind == "obligationDue" else FORWARDED


def sign_of(step: StoryStep) -> str:
    """Its sign: a verdict's, or that of a move, or of a tuple."""
    if step.about:
        return "▪"
    return "⇢" if step.kind in MOVES else SIGNS[look_of(step)]


def what(step: StoryStep) -> str:
    """What happened, behind the agent's name."""
    if step.about:
        return f"{TUPLE_WORDS.get(step.kind, step.kind)} {step.text}".strip()
    if step.kind in MOVES:
        return MOVES[step.kind].format("".join(step.path[:1]) or "elsewhere")
    said = "" if step.hidden else gist(step.kind, step.text)
    return f"{step.kind} {said}".strip()


def because(step: StoryStep, known: Mapping[str, StoryStep]) -> list[str]:
    """How a step came about, and how long what it began lasted, in a few words each."""
    lines = [_came(step, link, known[link.id]) for link in step.causes if link.id in known]
    if step.held:
        lines.append(
            f"held for {stretch(step.until - step.at)}" if step.until else "held, and never let go"
        )
    elif step.until > step.at and not step.about:
        lines.append(f"its duty lasts {stretch(step.until - step.at)}")
    elif step.due:
        lines.append(f"its duty falls due {stretch(step.due - step.at)} later")
    if step.about and step.community:
        lines.append(f"in {step.community}")
    if step.refused and step.verdict:
        lines.append(step.verdict)
    if step.hidden:
        lines.append(f"{step.host} does not tell other hosts the words")
    return [line for line in lines if line]


def _came(step: StoryStep, link: StoryLink, cause: StoryStep) -> str:
    ago = stretch(max(0, step.at - cause.at))
    one = "" if link.sure else ", it seems"
    if link.how == "sent":
        hops = f", {step.hops} hop{'s' * (step.hops != 1)}" if step.hops else ""
        way = f": {' → '.join([*step.path, step.host])}" if step.hops and step.path else ""
        return f"{ago} from {cause.lane}{hops}{way}{one}"
    if link.how == "held":
        return f"let go after {ago}"
    if link.how == "due":
        return f"due {ago} after it was imposed"
    if link.how == "met":
        return f"ends the duty of {ago} before"
    if link.how == "moved":
        return f"{ago} on its way" if link.sure else f"{ago} after its last step there, it seems"
    if link.how == "after":
        heard = "something" if cause.hidden else what(cause).removeprefix(f"{cause.kind} ")
        return f"{ago} after it heard {heard[:HEARD_MAX]}{'…' * (len(heard) > HEARD_MAX)}{one}"
    return f"{ago} later{one}"


def step_line(frame: Frame, step: StoryStep, later: int) -> None:
    """One step in a list of the drawer, and how long before or after another it was."""
    with plain_button("line", partial(open_step, frame, step), title=step.text or what(step)):
        when(step.at, clock=True).classes("quiet")
        ui.label(sign_of(step)).classes(look_of(step)).props("aria-hidden=true")
        mono(f"{step.lane}  {what(step)}"[:LINE_MAX]).classes("line-event")
        ui.label(step.rule or "–").classes("quiet")
    word = "later" if later >= 0 else "earlier"
    ui.label(f"on {step.host}, {stretch(abs(later))} {word}").classes("quiet num")
