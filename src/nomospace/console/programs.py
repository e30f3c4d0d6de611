"""The programs of a host, in its story: who runs one, how to launch another, how to end one.

It is what `nomospace agent launch` does, and `DELETE /v1/programs/{agent}`: the agent stays.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final

import msgspec
from nicegui import ui

from nomospace.api.models import BUNDLE_CHARS_MAX
from nomospace.api.published import CLIENT_PROGRAM, AgentLine, EndProgram, LaunchProgram
from nomospace.api.service import Service
from nomospace.console.filebox import FileBox
from nomospace.console.frame import Frame
from nomospace.console.look import REFUSED, attributes, doorway, heading, mono
from nomospace.console.places.parts import Working, act
from nomospace.errors import CallerError

BUNDLE_BYTES_MAX: Final = BUNDLE_CHARS_MAX // 4 * 3
"""How much of a file is read; the host says how large a bundle may be."""
LOOKED_MAX: Final = 1_000
"""Among how many agents programs are looked for."""


class BadProgramState(CallerError):
    """What was typed as the state of a program is none."""

    code = "console.bad-state"
    words = 'the state is no JSON object ({why}); write it as in {{"stops": ["icu"]}}'
    why: str


class BundleFileTooLarge(CallerError):
    """A file is larger than the bundle of a program may be."""

    code = "console.bundle-too-large"
    words = "{file} has {size:,} bytes, and a bundle at most {most:,}; leave something out of it"
    file: str
    size: int
    most: int


def state_of(text: str) -> bytes | None:
    """The state that a text writes, as it travels; nothing for an empty one.

    >>> state_of(" ")
    >>> state_of("[1]")
    Traceback (most recent call last):
    nomospace.console.programs.BadProgramState: the state is no JSON object (it is a list); ...
    """
    if not text.strip():
        return None
    try:
        state = json.loads(text)
    except ValueError as error:
        raise BadProgramState(why=str(error)) from None
    if not isinstance(state, dict):
        raise BadProgramState(why=f"it is a {type(state).__name__}")
    return msgspec.msgpack.encode(state)


class HostPrograms:
    """The programs of one host, as they are now, and a form for the next."""

    def __init__(self, frame: Frame, host: str, service: Service) -> None:
        self._frame = frame
        self._host = host
        self._views = service.operator(frame.viewer)
        self._code: bytes | None = None
        heading("Programs")
        self._list = ui.element("div").classes("programs")
        self._fill()
        more = act("Launch a program", lambda: self._open(more))

    def _fill(self) -> None:
        self._list.clear()
        agents = self._views.agents(limit=LOOKED_MAX)
        running = [one for one in agents if one.program not in ("", CLIENT_PROGRAM)]
        with self._list:
            for one in running:
                self._line(one)
            if not running:
                ui.label("No agent of this host runs one.").classes("quiet")

    def _line(self, one: AgentLine) -> None:
        with ui.element("div").classes("program-line"):
            doorway(one.id, partial(self._frame.open, "agent", self._host, one.id))
            mono(one.program)
            if one.ended:
                ui.label(f"not at work: {one.ended}").classes(REFUSED)
            said = ui.element("div").classes("full")
            with ui.element("div").classes("program-end") as place:
                act("End", lambda: self._ask(place, said, one.id), label=f"End {one.id}")

    def _ask(self, place: ui.element, said: ui.element, agent: str) -> None:
        """It is for good: so it is asked once more, in the same place."""
        place.clear()
        with place:
            sure = act("End it for good", label=f"End {agent} for good")
            act("Keep", self._fill, label=f"Keep {agent}")
        sure.on_click(lambda: self._end(Working(sure, said), agent))
        sure.run_method("focus")

    async def _end(self, working: Working, agent: str) -> None:
        ending = self._views.ask(EndProgram(agent))
        if await working(ending):
            self._fill()

    # -- the next one ----------------------------------------------------------------------------

    def _open(self, more: ui.button) -> None:
        """The form, in place of the button that asked for it."""
        more.set_visibility(False)
        assert more.parent_slot is not None, "it is in a story"
        with more.parent_slot:
            self._form()
        self._agent.run_method("focus")

    def _form(self) -> None:
        names = list(self._views.programs())
        with ui.element("form").classes("program-form").props("onsubmit='return false'") as form:
            attributes(form, aria_label=f"Launch a program at {self._host}")
            self._agent = ui.input("Agent", placeholder="porter").mark("agent")
            self._program = ui.input("Program", autocomplete=names).mark("program")
            if names:
                ui.label(f"This host has {', '.join(names)}.").classes("quiet")
            self._state = ui.input("State, if not its own", placeholder='{"stops": ["icu"]}')
            for box in (self._agent, self._program, self._state):
                box.props("dense outlined").classes("full")
            FileBox(
                "Its code, if the host does not have it: a signed bundle",
                accept=".bundle",
                bytes_max=BUNDLE_BYTES_MAX,
                on_file=self._chosen,
            )
            said = ui.element("div").classes("full")
            self._said = said
            button = act("Launch", main=True)
        working = Working(button, said)
        button.on_click(lambda: self._launch(working))

    async def _chosen(self, name: str, size: int, data: bytes) -> None:
        self._said.clear()
        self._code = data or None
        with self._said:
            if size > BUNDLE_BYTES_MAX:
                error = BundleFileTooLarge(file=name, size=size, most=BUNDLE_BYTES_MAX)
                ui.label(str(error)).props("role=alert")
            else:
                ui.label(f"{name}, {size:,} bytes").classes("quiet")

    async def _launch(self, working: Working) -> None:
        if await working(self._begin()):
            self._code = None
            self._fill()
            with self._said:
                ui.label(f"{self._agent.value} runs {self._program.value}.").props("role=status")

    async def _begin(self) -> None:
        agent, program = str(self._agent.value).strip(), str(self._program.value).strip()
        state = state_of(str(self._state.value))
        await self._views.ask(LaunchProgram(agent, program, state, self._code))
