"""What a replay says of one membership: the verdict on each event, and counts of them.

A verdict puts the ruling of the record beside the one that is made now.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from nomospace.control import Explanation, Membership, Ruling, explain
from nomospace.control.reasons import verdict_on
from nomospace.terms import Compound, show
from nomospace.terms.values import same

TEXT_MAX: Final = 500
"""How much is shown of an event or a ruling."""

Kind: TypeAlias = Literal["same", "forwards", "refuses", "differs", "arises", "lapses", "ended"]
"""What became of a recorded event: it would now be forwarded, be refused, or get other operations;
`arises` is a ruling that the record does not have, `lapses` one that it has and that now is not,
`ended` an event after the membership now has quit."""


class ReplayVerdict(msgspec.Struct, frozen=True, gc=False):
    """One event: what was ruled, and what would be. `seq` is its number in the record, or 0."""

    seq: int
    at: int
    kind: Kind
    event: str
    rule_before: str | None
    rule_now: str | None
    before: str
    now: str
    reason: str = ""


class RuleCount(msgspec.Struct, gc=False):
    """How often a rule ruled in the record, how often now, and how many of its rulings changed."""

    before: int = 0
    now: int = 0
    changed: int = 0


class MemberHistory(msgspec.Struct):
    """What a replay found of one membership."""

    agent: str
    law: str
    events: int = 0
    same: int = 0
    changed: int = 0
    kinds: dict[str, int] = {}
    forwarded_before: int = 0
    forwarded: int = 0
    refused_before: int = 0
    refused: int = 0
    rules: dict[str, RuleCount] = {}
    passed_over: int = 0
    """Recorded rulings that could not be replayed: before a checkpoint, or after a gap."""
    gaps: list[tuple[int, int]] = []
    gap_count: int = 0
    doubled: int = 0
    """Rulings that are in the journal twice, and not alike."""
    unreadable: int = 0
    """Rows whose bytes are no ruling and no state."""
    first: ReplayVerdict | None = None


def reason(kind: Kind, was: Ruling | None, ruling: Ruling | None, member: Membership) -> str:
    """Why it is otherwise now, as far as the two rulings and the law tell."""
    if kind == "ended":
        return "under this law the agent has quit before"
    if kind == "lapses":
        assert was is not None
        if was.event.kind == "obligationDue":
            return "under this law the obligation is not owed by then"
        return "under this law the ruling before it does not stop"
    assert ruling is not None
    if kind == "arises":
        if ruling.event.kind == "obligationDue":
            return f"an obligation that the record never saw fall due; {verdict_on(ruling)}"
        return f"under this law the ruling before it stops; {verdict_on(ruling)}"
    assert was is not None
    if was.rule is not None and was.rule != ruling.rule:
        told = explain(member, ruling, disclose="all")
        words = f"was {verdict_on(was)}; now {told.verdict[:1].lower()}{told.verdict[1:]}"
        if told.reason is None or told.reason.rule != was.rule:
            words += _stumble(told, was.rule)
        return words
    words = f"was {verdict_on(was)}; now {verdict_on(ruling)}"
    if was.operations == ruling.operations:
        words += "; its operations changed another state"
    else:
        words += f"; {_difference(was.operations, ruling.operations)}"
    return words


def _difference(before: object, now: object) -> str:
    """The smallest part in which two terms differ, and what it is in."""
    inside = ""
    while True:
        if isinstance(before, Compound) and isinstance(now, Compound) and before.name == now.name:
            inside = before.name
            before, now = before.args, now.args
        if not isinstance(before, tuple) or not isinstance(now, tuple) or len(before) != len(now):
            break
        pairs = [pair for pair in zip(before, now, strict=True) if not same(*pair)]
        if len(pairs) != 1:
            break
        before, now = pairs[0]
    where = f"in {inside}: " if inside else ""
    return f"{where}{shown(before)} became {shown(now)}"


def _stumble(told: Explanation, rule: str) -> str:
    """Where the rule that ruled before fails now, if the law still has it."""
    for story in told.rules:
        if story.rule == rule:
            if story.failed is None:
                return f"; {rule}: {story.outcome}"
            where = f" where {story.failed.with_values}" if story.failed.with_values else ""
            return f"; {rule} fails at {story.failed.goal}{where}"
    return f"; this law has no rule {rule}"


def shown(term: object) -> str:
    """A term, cut where it is long."""
    return show(term, limit=TEXT_MAX)


def ruling_text(ruling: Ruling) -> str:
    """What was ruled."""
    if ruling.stopped is not None:
        return f"stopped: {ruling.stopped}"
    return shown(ruling.operations)
