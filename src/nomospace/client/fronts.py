"""A tuple space elsewhere, behind an agent that answers for it: what its clients hold.

Such an agent, a *front*, has the role of the space under a law and serves the space's operations
from something else (`node.services.fronts`, `000_…` 4). To its clients they are messages of their
membership, so their law rules on each before it leaves them. Every operation carries a reference,
`in(P, [ref(R)])`, and so does its answer: one that comes twice, or too late, ends nothing else. It
goes to the inbox then, so a tuple that was taken is not lost with it.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Final

from nomospace.calls.answers import Found
from nomospace.calls.problems import Refused
from nomospace.client.connection import TimedOut
from nomospace.client.membership import Membership
from nomospace.client.tuples import Tuple, as_tuple, seconds
from nomospace.errors import NomospaceError, Unavailable
from nomospace.terms import Compound, Term
from nomospace.terms.templates import Template, freeze_tuple

REF: Final = "ref"
DONE_MAX: Final = 10_000
"""How many answers a client remembers to have had from one front."""
ANSWERS: Final = {"found": 2, "none": 1, "done": 1, "failed": 3}
"""What a front answers, with how many arguments; the first is the operation."""


class FrontFailed(Unavailable):
    """A front could not carry out an operation; `reason` is the code of its error."""

    code = "front.failed"
    words = "{front} did not do it ({reason}): {why}"
    front: str
    reason: str
    why: str


class FrontSpace:
    """A tuple space behind a front, as one of its clients sees it. Made by `Membership.front`."""

    __slots__ = ("_done", "_member", "_waiting", "name")

    def __init__(self, member: Membership, name: str) -> None:
        self.name = name
        """The front's id."""
        self._member = member
        self._waiting: dict[str, asyncio.Future[Compound]] = {}
        self._done: dict[str, None] = {}
        """The references of the last answers: a front that crashed may send one again."""

    def __repr__(self) -> str:
        return f"<space behind {self.name}>"

    async def out(self, *fields: object, timeout: float = 60.0) -> None:
        """Write a tuple; returns when it is there. Raises `Refused`, `FrontFailed`, `TimedOut`."""
        await self._ask("out", freeze_tuple(fields), timeout)

    async def take(self, *template: object, timeout: float = 60.0) -> Tuple:
        """Wait for a tuple that matches, and take it; raises as `out` does."""
        return await self._one("in", template, timeout)

    async def read(self, *template: object, timeout: float = 60.0) -> Tuple:
        """Wait for a tuple that matches, and leave it there; raises as `out` does."""
        return await self._one("rd", template, timeout)

    async def take_nowait(self, *template: object, timeout: float = 60.0) -> Tuple | None:
        """Take a tuple that matches; `None` if there is none."""
        return _first(await self._ask("inp", Template.of(template).term, timeout))

    async def read_nowait(self, *template: object, timeout: float = 60.0) -> Tuple | None:
        """Read a tuple that matches; `None` if there is none."""
        return _first(await self._ask("rdp", Template.of(template).term, timeout))

    async def take_all(self, *template: object, timeout: float = 60.0) -> list[Tuple]:
        """Take all tuples that match, as many as one answer has."""
        return _all(await self._ask("ing", Template.of(template).term, timeout))

    async def read_all(self, *template: object, timeout: float = 60.0) -> list[Tuple]:
        """Read all tuples that match, as many as one answer has."""
        return _all(await self._ask("rdg", Template.of(template).term, timeout))

    async def _one(self, word: str, template: tuple[object, ...], timeout: float) -> Tuple:
        found = _first(await self._ask(word, Template.of(template).term, timeout))
        if found is None:  # the law has made it so
            raise FrontFailed(front=self.name, reason="front.nothing", why="it answered `none`")
        return found

    async def _ask(self, word: str, about: Term, timeout: float) -> Compound:
        """Send an operation and wait for its answer."""
        seconds("timeout", timeout)
        ref = secrets.token_hex(8)
        operation = Compound(word, (about, (Compound(REF, (ref,)),)))
        future: asyncio.Future[Compound] = asyncio.get_running_loop().create_future()
        self._waiting[ref] = future
        answered = False
        try:
            ruling = await self._member.send(operation, to=self.name)
            if ruling.refused:
                answered = True
                raise Refused(ruling=ruling, why=ruling.explain())
            async with asyncio.timeout(timeout):
                answer = await future
            answered = True
        except TimeoutError:
            raise TimedOut(space=self.name, template=repr(about), timeout_s=timeout) from None
        finally:
            del self._waiting[ref]
            if not answered:  # it must not take a tuple for nobody
                with suppress(NomospaceError):
                    await self._member.send(Compound("cancel", (operation,)), to=self.name)
        if answer.name == "failed":
            reason, why = map(str, answer.args[1:])
            raise FrontFailed(front=self.name, reason=reason, why=why)
        return answer

    def answered(self, message: Term) -> bool:
        """Whether a message is the answer to what somebody here waits for; then it is told."""
        if type(message) is not Compound or len(message.args) != ANSWERS.get(message.name):
            return False
        ref = ref_of(message.args[0])
        if ref in self._done:
            return True
        future = self._waiting.get(ref)
        if future is None or future.done():
            return False
        future.set_result(message)
        self._done[ref] = None
        if len(self._done) > DONE_MAX:
            del self._done[next(iter(self._done))]
        return True


def ref_of(operation: Term) -> str:
    """The reference of an operation, or nothing.

    >>> from nomospace.terms import term
    >>> ref_of(term("in([job],[ref(a1)])")), ref_of(term("in([job])"))
    ('a1', '')
    """
    options = operation.args[-1] if type(operation) is Compound and operation.args else ()
    for option in options if type(options) is tuple else ():
        if type(option) is Compound and option.name == REF and len(option.args) == 1:
            return option.args[0] if type(option.args[0]) is str else ""
    return ""


def _all(answer: Compound) -> list[Tuple]:
    rows = answer.args[1] if answer.name == "found" else ()
    return [_tuple(row) for row in rows] if type(rows) is tuple else []


def _first(answer: Compound) -> Tuple | None:
    return _tuple(answer.args[1]) if answer.name == "found" else None


def _tuple(fields: Term) -> Tuple:
    return as_tuple(Found(fields if type(fields) is tuple else (fields,), "", 0, ""))
