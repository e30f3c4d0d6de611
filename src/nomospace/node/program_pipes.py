"""What a host has for a program in another process, sent there: answers, firings and mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomospace.calls.answers import Found
from nomospace.client.connection import Firing
from nomospace.host.firing import Firing as StepFiring
from nomospace.sessions.local_calls import LocalCall
from nomospace.terms import Term
from nomospace.wire import talk

if TYPE_CHECKING:
    from nomospace.node.program_process import ProgramProcess


class PipeAsker:
    """Waits for an answer, and sends it to the program (`open_calls.Asker`)."""

    __slots__ = ("_agent", "_done", "_process", "_seq", "call")

    def __init__(self, process: ProgramProcess, agent: str, seq: int) -> None:
        self._process = process
        self._agent = agent
        self._seq = seq
        self._done = False
        self.call: LocalCall | None = None

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return False

    def set_result(self, result: object) -> None:
        self._end()
        self._process.reply(self._agent, self._seq, result)

    def set_exception(self, error: BaseException) -> None:
        self._end()
        self._process.fail(self._agent, self._seq, error)

    def result(self) -> None:
        """It has gone to the program, which gives back what it does not want."""

    def exception(self) -> None:
        """Likewise."""

    def _end(self) -> None:
        self._done = True
        self._process.answered(self._agent, self._seq, self.call)


class PipeEar:
    """Hears a reaction for the program."""

    __slots__ = ("_agent", "_process", "_reaction", "_seq")

    def __init__(self, process: ProgramProcess, agent: str, seq: int) -> None:
        self._process = process
        self._agent = agent
        self._seq = seq
        self._reaction = ""

    def on_registered(self, reaction: str) -> None:
        self._reaction = reaction
        self._process.reactions[reaction] = self._agent
        self._process.reply(self._agent, self._seq, reaction)

    def on_refused(self, error: BaseException) -> None:
        self._process.fail(self._agent, self._seq, error)

    def on_fired(self, found: Found) -> None:
        self._process.send(self._agent, talk.pack_fired(0, self._reaction, found))

    def on_strong(self, firing: Firing) -> None:
        step: object = firing
        assert isinstance(step, StepFiring), "the host's core fires it"
        self._process.fire(self._seq, step)


class PipeMailbox:
    """Gets mail for the program."""

    __slots__ = ("_agent", "_law", "_process")

    def __init__(self, process: ProgramProcess, agent: str, law: str) -> None:
        self._process = process
        self._agent = agent
        self._law = law

    def on_mail(self, sender: str, message: Term) -> None:
        self._process.mail(self._agent, self._law, sender, message)
