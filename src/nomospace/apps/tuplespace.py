"""A tuple space as a plain agent: a list and a matcher behind a controller.

It stands in worlds of messages for the spaces that hosts run. Its tuples and waiters are on disk.
Operations have Linda's names, and answers are `found(Op, T)` and `none(Op)`, as laws see them.
"""

from __future__ import annotations

from typing import Final

from nomospace.sim.world import Agent
from nomospace.terms import Compound, Term, same, t

ANY: Final = Compound("formal", ("any",))
TUPLES_MAX: Final = 10_000

_TYPES: Final = {"int": int, "float": float, "str": str, "bool": bool, "list": tuple}
_WAITS: Final = ("in", "rd")
_TAKES: Final = ("in", "inp")
_ALL: Final = "rdg"
READS: Final = ("in", "rd", "inp", "rdp", "rdg")


def matches(pattern: Term, value: Term) -> bool:
    """Whether a value fits a template in which formals are terms.

    >>> matches((t.fee(ANY), 3), (t.fee(10), 3)), matches((t.fee(9),), (t.fee(10),))
    (True, False)
    """
    if pattern.__class__ is Compound and pattern.name == "formal":
        wanted = pattern.args[0]
        return bool(wanted == "any" or value.__class__ is _TYPES.get(wanted))
    if pattern.__class__ is not value.__class__:
        return False
    if pattern.__class__ is Compound:
        return pattern.name == value.name and matches(pattern.args, value.args)
    if pattern.__class__ is tuple:
        return len(pattern) == len(value) and all(map(matches, pattern, value))
    return same(pattern, value)


class TupleSpace(Agent):
    """Keeps tuples and those who wait for one."""

    def receive(self, sender: str, message: Term) -> None:
        """Carry out an operation."""
        if message.__class__ is not Compound or not message.args:
            return
        template = message.args[0]
        tuples: list[Term] = self.me.memory.setdefault("tuples", [])
        if message.name == "out":
            if len(tuples) < TUPLES_MAX:
                tuples.append(template)
                self._serve_waiters()
        elif message.name == _ALL:
            found = tuple([one for one in tuples if matches(template, one)])
            self.me.send(t.found(message, found), sender)
        elif message.name in READS and not self._answer(sender, message):
            if message.name in _WAITS:
                self.me.memory.setdefault("waiting", []).append((sender, message))
            else:
                self.me.send(t.none(message), sender)

    def _answer(self, sender: str, message: Compound) -> bool:
        """Answer an operation if there is a tuple for it; the oldest one."""
        tuples: list[Term] = self.me.memory.setdefault("tuples", [])
        for place, one in enumerate(tuples):
            if matches(message.args[0], one):
                if message.name in _TAKES:
                    del tuples[place]
                self.me.send(t.found(message, one), sender)
                return True
        return False

    def _serve_waiters(self) -> None:
        waiting: list[tuple[str, Compound]] = self.me.memory.setdefault("waiting", [])
        waiting[:] = [(who, op) for who, op in waiting if not self._answer(who, op)]


def operation(message: Term) -> tuple[str, Term] | None:
    """Name and tuple of an operation on a space, or `None` for other messages."""
    if message.__class__ is Compound and message.args and message.name in (*READS, "out"):
        return message.name, message.args[0]
    return None


def answer(message: Term) -> tuple[str, tuple[Term, ...]] | None:
    """The operation's name and the tuples that a `found` shows, or `None`."""
    if message.__class__ is not Compound or message.name != "found":
        return None
    op, shown = message.args
    return op.name, shown if op.name == _ALL else (shown,)


def field(shown: Term, name: str) -> Term:
    """The value of the field `name(V)` of a tuple; `None` when it has no such field.

    >>> field((t.msg("hi"), t.to("bob@x")), "to")
    'bob@x'
    """
    for part in shown if shown.__class__ is tuple else ():
        if part.__class__ is Compound and part.name == name:
            return part.args[0]
    return None
