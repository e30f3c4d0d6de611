"""What a replay found, added up over all memberships: for people as text, for programs as JSON.

What a replay says of one membership: the verdict on each event, and counts of them.

A verdict puts the ruling of the record beside the one that is made now.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias, get_type_hints

import msgspec
import pyarrow as pa

from nomospace.control import Explanation, Membership, Ruling, explain
from nomospace.control.reasons import verdict_on
from nomospace.pipeline.segments import JournalFault, many, unsealed
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
    doubled: int = 0
    """Rulings that are in the journal twice, and not alike."""
    unreadable: int = 0
    """Rows whose bytes are no ruling and no state."""
    gap_count: int = 0
    first: ReplayVerdict | None = None


COUNTS: Final = [name for name, of in get_type_hints(MemberHistory).items() if of is int]
"""What is counted of a membership, and added up over all."""


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


FIRST_SHOWN: Final = 10
"""How many first divergences, gaps and lost laws a report names; the rest is counted."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS: Final = {
    "forwards": "would be forwarded",
    "refuses": "would be refused",
    "differs": "have other operations",
    "arises": "are new: the record has no such event",
    "lapses": "fall away: what led to them does not happen",
    "ended": "come after the agent would have quit",
}


class RuleTotal(msgspec.Struct, frozen=True):
    """A rule over all members; the rule without a name is that no rule applied."""

    rule: str
    before: int
    now: int
    changed: int


class Divergence(msgspec.Struct, frozen=True):
    """Where a member's history first comes out otherwise."""

    agent: str
    seq: int
    at: int
    kind: str
    event: str
    rule_before: str | None
    rule_now: str | None
    before: str
    now: str
    reason: str


class MissingRows(msgspec.Struct, frozen=True):
    """Rulings of a member that the journal lacks: those after one number and before another."""

    agent: str
    after: int
    found: int


class ReplayReport(msgspec.Struct, frozen=True):
    """A whole replay. Counts are of rulings; `changed` counts those that are new, too."""

    law: str
    """The name and the hash of the law that was tried, or `recorded`."""
    engine: str
    took_s: float
    members: int
    diverged: int
    events: int
    same: int
    changed: int
    kinds: dict[str, int]
    forwarded_before: int
    forwarded: int
    refused_before: int
    refused: int
    rules: tuple[RuleTotal, ...]
    first: tuple[Divergence, ...]
    gap_count: int
    gaps: tuple[MissingRows, ...]
    passed_over: int
    doubled: int
    unreadable: int
    faults: tuple[JournalFault, ...] = ()
    lost_laws: tuple[str, ...] = ()
    unhashed: int = 0
    others: int = 0
    """Events that are under no law, or of another community; not counted in large journals."""

    @property
    def exact(self) -> bool:
        """Whether every ruling came out as it was recorded."""
        return not (self.changed or self.doubled or self.unreadable)


def add_up(
    histories: pa.Table,
    *,
    law: str,
    engine: str,
    took_s: float,
    first: int = FIRST_SHOWN,
    faults: tuple[JournalFault, ...] = (),
    lost_laws: tuple[str, ...] = (),
    unhashed: int = 0,
    others: int = 0,
) -> ReplayReport:
    """The report on a table of `replay.HISTORIES`; divergences by time, rules by name."""
    rows = histories.to_pylist()
    counts = {name: sum(row[name] for row in rows) for name in COUNTS}
    kinds: dict[str, int] = {}
    rules: dict[str, list[int]] = {}
    for row in rows:
        for one in row["kinds"]:
            kinds[one["kind"]] = kinds.get(one["kind"], 0) + one["count"]
        for one in row["rules"]:
            total = rules.setdefault(one["rule"], [0, 0, 0])
            for i, name in enumerate(("before", "now", "changed")):
                total[i] += one[name]
    diverged = [row for row in rows if row["first"] is not None]
    diverged.sort(key=lambda row: (row["first"]["at"], row["membership"]))
    gaps = [(row["membership"], row["agent"], gap) for row in rows for gap in row["gaps"]]
    gaps.sort(key=lambda one: (one[0], one[2]["after"]))
    return ReplayReport(
        law=law,
        engine=engine,
        took_s=round(took_s, 3),
        members=len(rows),
        diverged=len(diverged),
        kinds=dict(sorted(kinds.items())),
        rules=tuple([RuleTotal(rule, *rules[rule]) for rule in sorted(rules, key=_natural)]),
        first=tuple([Divergence(row["agent"], **row["first"]) for row in diverged[:first]]),
        gaps=tuple([MissingRows(agent, **gap) for _, agent, gap in gaps[:first]]),
        faults=faults,
        lost_laws=lost_laws,
        unhashed=unhashed,
        others=others,
        **counts,
    )


def _natural(rule: str) -> list[tuple[int, str]]:
    """`R2` before `R10`.

    >>> sorted(["R10", "R2", "R2a"], key=_natural)
    ['R2', 'R2a', 'R10']
    """
    parts = [part for part in re.split(r"(\d+)", rule) if part]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def render(report: ReplayReport) -> str:
    """The report for people."""
    rate = report.events / report.took_s if report.took_s else 0.0
    members = many(report.members, "member")
    lines = [
        f"{many(report.events, 'ruling')} of {members} under {report.law}",
        f"  {report.engine}, {report.took_s:.1f} s, {rate:,.0f} rulings/s",
        "",
        f"  same       {report.same:>12,}",
        f"  changed    {report.changed:>12,}  for {report.diverged:,} of {members}",
    ]
    lines += [f"    {count:>12,}  {_WORDS[kind]}" for kind, count in report.kinds.items()]
    for name, before, now in (
        ("forwarded", report.forwarded_before, report.forwarded),
        ("refused", report.refused_before, report.refused),
    ):
        lines.append(f"  {name:<10} {now:>12,}  was {before:,}")
    if report.others:
        words = "is" if report.others == 1 else "are"
        what = many(report.others, "further event")
        lines.append(f"  {what} of the journal {words} under no law, or of another community")
    if report.rules:
        width = max(len(_named(total.rule)) for total in report.rules)
        lines += ["", f"  {'rule':<{width}} {'before':>12} {'now':>12} {'changed':>12}"]
        for rule in report.rules:
            name = f"{_named(rule.rule):<{width}}"
            lines.append(f"  {name} {rule.before:>12,} {rule.now:>12,} {rule.changed:>12,}")
    if report.first:
        lines += ["", "first divergences"]
        for one in report.first:
            number = f"ruling {one.seq}" if one.seq else "not in the record"
            lines += [
                f"  {_time(one.at)}  {one.agent}, {number}",
                f"    {_cut(one.event)}",
                f"    {one.reason}",
            ]
        if report.diverged > len(report.first):
            lines.append(f"  and of {many(report.diverged - len(report.first), 'more member')}")
    return "\n".join(lines + _wants(report))


def _wants(report: ReplayReport) -> list[str]:
    """What is missing or wrong in the journal."""
    lines: list[str] = []
    if report.gap_count:
        lines.append(f"{report.gap_count:,} gaps in histories, {_passed(report)}")
        lines += [f"  {gap.agent}: {gap.found} after {gap.after}" for gap in report.gaps]
    elif report.passed_over:
        lines.append(f"the journal begins late: {_passed(report)}")
    if report.doubled:
        lines.append(f"{report.doubled:,} rulings are in the journal twice, and not alike")
    if report.unreadable:
        lines.append(f"{report.unreadable:,} rows cannot be read")
    lines += [
        f"no text of law {hash[:12]}: its histories were left out" for hash in report.lost_laws
    ]
    if report.unhashed:
        lines.append(unsealed(report.unhashed))
    lines += [f"left out: {fault}" for fault in report.faults]
    return ["", *lines] if lines else []


def _passed(report: ReplayReport) -> str:
    return f"{report.passed_over:,} rulings passed over for want of a checkpoint before them"


def _named(rule: str) -> str:
    return rule or "(none)"


def _cut(text: str) -> str:
    return text if len(text) <= 160 else text[:159] + "…"


def _time(us: int) -> str:
    return f"{_EPOCH + timedelta(microseconds=us):%Y-%m-%d %H:%M:%S.%f}"
