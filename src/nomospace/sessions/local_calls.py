"""The calls of programs that are in the same process as their host: no connection lies between.

A call that the host answers in the step that it was made in is answered at once. Only what has to
wait is an open call; then it is as for a client at a distance (`open_calls`): a take that is
cancelled must not swallow a tuple. Its call is called off; if the tuple was given all the same, it
goes back: a leased one by giving up the lease, another by lying there again, under a new id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nomospace.calls.answers import Found
from nomospace.calls.problems import LeaseLapsed
from nomospace.calls.requests import TAKING, Cancel, Seek
from nomospace.host.calls import Asked, Call, Event
from nomospace.host.effects import Answer
from nomospace.sessions.open_calls import Asker, OpenCall, OpenCalls
from nomospace.sessions.taken import giving_back

Answered: TypeAlias = Callable[[Answer], None]


class LocalCall(OpenCall, eq=False):
    """An open call, and the agent that made it."""

    agent: str = ""


class LocalCalls(OpenCalls[None]):
    """The calls of one host's own programs. `give` tells the host's core a fact.

    Numbers begin after `first`. Agents take calls along when they move, so no two hosts may give
    one number: each begins far from all others.
    """

    def __init__(self, give: Callable[[Event], None], *, first: int = 0) -> None:
        super().__init__(first)
        self.give = give
        self.early: dict[int, Answer] = {}
        """Answers that came before anyone could wait for them: for the call under way."""

    def post(self, agent: str, request: Asked, then: Answered) -> int:
        """Make a call whose answer `then` is handed at once; its number."""
        self.number = number = self.number + 1
        self.calls[number] = LocalCall(number, then, posted=True, agent=agent)
        self.give(Call(number, agent, request))
        return number

    def wait(self, number: int, agent: str, request: Asked, asker: Asker) -> LocalCall:
        """Have an asker wait for the answer of a call that was not answered at once."""
        taking = request if isinstance(request, Seek) and request.how in TAKING else None
        call = LocalCall(number, asker, taking, late=not isinstance(request, Seek), agent=agent)
        self.calls[number] = call
        return call

    def answer(self, answer: Answer) -> None:
        """A call is answered."""
        call = self.calls.pop(answer.op, None)
        if call is None:
            self.early[answer.op] = answer
        elif call.posted:
            call.asker(answer)
        else:
            self._bring(call, answer.value, answer.error)

    def time_up(self, number: int) -> None:
        """The time of a call is up, or its asker would rather not wait: the core calls it off."""
        call = self.calls.get(number)
        if isinstance(call, LocalCall):
            self.post(call.agent, Cancel(number), nobody)

    def not_put_back(self, agent: str, space: str, error: BaseException) -> None:
        """A tuple of a cancelled take could not be put back: let somebody know."""

    def _call_off(self, call: OpenCall) -> list[None]:
        if not call.late:  # else it waits for no tuple, and runs its course
            self.time_up(call.number)
        return []

    def _give_back(self, call: OpenCall, value: Found | tuple[Found, ...]) -> list[None]:
        assert isinstance(call, LocalCall), call
        assert call.taking is not None, "only what takes brings anything"
        agent, space = call.agent, call.taking.space

        def put_back(answer: Answer) -> None:
            if answer.error is not None and answer.error.__class__ is not LeaseLapsed:
                self.not_put_back(agent, space, answer.error)

        for request in giving_back((call.taking, value)):
            self.post(agent, request, put_back)
        return []


def nobody(answer: Answer) -> None:
    """Is handed an answer that tells nothing new."""
