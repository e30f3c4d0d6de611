"""What a host answers the requests of its agents with, besides plain values and errors."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from nomospace.calls.ways import Mode, Strength
from nomospace.terms import Term, show
from nomospace.terms.templates import Template

STANDING_MAX: Final = 1_000
"""How many terms of a control state, and how many obligations, are told at a time."""
SHOWN_MAX: Final = 1_000
"""How many characters of an operation are told."""


class Member(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One of several tuples that answer together."""

    fields: tuple[Term, ...]
    writer: str
    count: int
    source: str


class Found(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="found"):
    """A tuple that answers a `Seek`. `source` is the agent that held it."""

    fields: tuple[Term, ...]
    writer: str
    count: int
    source: str
    deliveries: int = 0
    lease: str = ""
    why: str = ""
    """How it answers a template that names a class, in words; else empty."""
    members: tuple[Member, ...] = ()
    """The tuples that answer together: then the fields are what the template asks for, and the
    rest is that of the first of them."""
    history: tuple[tuple[str, int, str], ...] = ()
    """How its last leases ended: whose, when (in microseconds), and why."""
    priority: int = 0

    @property
    def rows(self) -> tuple[tuple[Term, ...], ...]:
        """What lay in the space: the tuple, or those that answer together."""
        return tuple([one.fields for one in self.members]) or (self.fields,)


class DisclosedRuling(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="told"):
    """The answer to a message or an adoption. `print(told.explain())` says why it is as it is.

    `refused` is a message that went nowhere and changed nothing; `held` one that went nowhere yet.
    `rule` and `operations` are what the law discloses of them.
    """

    seq: int
    at: int
    home: str
    law: str
    kind: str
    """Of the event: `sent`, `adopted`."""
    rule: str | None
    refused: bool
    held: bool
    operations: tuple[Term, ...]
    stopped: str | None
    verdict: str
    story: str = ""

    def explain(self) -> str:
        """The reasons in words: which rules were tried, and what failed."""
        if self.story:
            return self.story
        shown = [f"    {show(operation, limit=SHOWN_MAX)}" for operation in self.operations]
        return "\n".join([self.verdict, *(["  ruling:", *shown] if shown else [])])


class Standing(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="standing"):
    """Where an agent stands under a law: its control state and what it owes, if it may know.

    `disclose` is what the law says: `all`, or else `state` and `owed` are empty and `told` false.
    `owed` has when each obligation falls due, in microseconds of the controller's clock.
    """

    home: str
    law: str
    disclose: str
    told: bool
    rulings: int
    state: tuple[Term, ...] = ()
    owed: tuple[tuple[int, Term], ...] = ()
    left_out: int = 0
    """How many terms are not shown, because there are more than `STANDING_MAX`."""


class Listed(msgspec.Struct, frozen=True):
    """What `Reactions` tells of a reaction."""

    id: str
    space: str
    template: Template
    mode: Mode
    strength: Strength
    at: str
    dest: str
    enabled: bool
    fired: int


AnswerValue: TypeAlias = (
    Found | DisclosedRuling | Standing | tuple[Found, ...] | tuple[Listed, ...] | int | str | None
)
"""What a request may be answered with; a truth value is an `int`."""
