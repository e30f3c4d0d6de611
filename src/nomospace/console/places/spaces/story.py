"""The story of a tuple: from whoever wrote it to whoever took it, over all hosts of a console."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nicegui import ui

from nomospace.api.published import fields_text
from nomospace.console import look
from nomospace.console.stories import story

if TYPE_CHECKING:
    from nomospace.api.published import TupleStep, TupleStory
    from nomospace.console.frame import Frame

WORDS: Final = {
    "written": "written by",
    "taken": "taken by",
    "moved": "moved, and held by",
    "expired": "gone by itself, held by",
    "lent": "lent to",
    "renewed": "lease renewed by",
    "returned": "given back by",
    "acknowledged": "done with, said",
    "lapsed": "lease ran out of",
}
"""What became of it, before the agent's name."""


@story("tuple", "Tuple")
def tell_tuple(frame: Frame, host: str, id: str) -> None:
    """What became of a tuple; the journals are read a page at a time, so it appears a bit later."""
    del host  # it may have been at all of them
    look.mono(id).classes("pre term")
    body = ui.element("div").props("data-story=tuple")
    with body:
        ui.label("The journals are being read …").classes("quiet")

    async def read() -> None:
        told = {
            name: await service.views.story(id) for name, service in frame.console.services.items()
        }
        body.clear()
        with body:
            _tell(frame, told)

    ui.timer(0, read, once=True)


def _tell(frame: Frame, told: dict[str, TupleStory]) -> None:
    steps = sorted(
        [(step, host) for host, one in told.items() for step in one.steps],
        key=lambda pair: pair[0].at,
    )
    lying = [(host, one) for host, one in told.items() if one.lies is not None]
    if not steps and not lying:
        look.empty(
            "No journal here tells of this tuple.",
            "It was written too long ago, or lies in a space that is not kept.",
        )
        return
    known = [step.fields for step, _ in steps if step.fields]
    if known:
        look.mono(fields_text(known[0])).classes("pre")
    for host, one in lying:
        _lies(frame, host, one)
    look.heading("From writer to taker")
    if not all(one.whole for one in told.values()):
        ui.label("It begins before the records that were looked at.").classes("quiet")
    with ui.element("ol").classes("steps"):
        for step, host in steps:
            _step(frame, host, step)


def _lies(frame: Frame, host: str, one: TupleStory) -> None:
    lies = one.lies
    assert lies is not None
    with look.fact("lies in"):
        ui.label(f"{one.space} on {host}")
    with look.fact("held by"):
        look.doorway(lies.holder, partial(frame.open, "agent", host, lies.holder))
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


def _step(frame: Frame, host: str, step: TupleStep) -> None:
    with ui.element("li").classes("step"):
        with ui.element("div"):
            ui.label(WORDS.get(step.op, step.op)).classes("step-op")
            look.doorway(step.agent, partial(frame.open, "agent", host, step.agent))
        with ui.element("div").classes("quiet"):
            ui.label(f"{step.space} on {host},")
            look.when(step.at)
            if step.until:
                ui.label("until")
                look.when(step.until)
            if step.why:
                ui.label(f": {step.why}")
