"""Every refusal says its cause and what would change it, as a replay of the journal finds them.

The sentences stand in `refusals.txt`; `python -m tests.laws.test_refusals` writes them down anew.
What they say is found again by other means: from the journal's bytes, by undoing the cause and
ruling once more, and by letting a restored member live on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from nomospace.control import (
    TICK,
    Event,
    Explanation,
    Membership,
    RecordRuling,
    Ruling,
    adopt,
    arrived,
    certificate,
    explain,
    sent,
)
from nomospace.law import CompiledLaw, load
from nomospace.laws import text
from nomospace.store.journal import (
    CheckpointRecord,
    EventRecord,
    decode_record,
    encode_record,
    replay,
)
from nomospace.terms import Compound, Term, match, show, term
from nomospace.terms.values import Var
from nomospace.wire.changes import encode_ruling, encode_snapshot
from tests.laws.refusals import LAWS, SHIPPED

HOME = "ann@ward"
MINUTE = 60_000_000
TEN = 600 * MINUTE
TOLD = Path(__file__).with_name("refusals.txt")


@dataclass
class Refusal:
    """A refusal, what was said of it, and the journal before it."""

    law: CompiledLaw
    ruling: Ruling
    told: Explanation
    told_member: Explanation
    journal: list[bytes]


def read(line: str) -> tuple[int, Event]:
    """An event of a script, and when it is."""
    at, _, rest = line.strip().partition(" ")
    body, _, to = rest.partition(" > ")
    if to:
        whom = term(to)
        there = f"{to}@ward" if isinstance(whom, str) else whom
        event = sent(HOME, term(body), there)
    else:
        who, mark, what = next(
            (body.partition(mark)[0], mark, body.partition(mark)[2])
            for mark in (": ", "! ", "- ")
            if mark in body
        )
        if mark == ": ":
            event = arrived(who if who == "boss" else f"{who}@ward", term(what), HOME)
        else:
            given = certificate(who, HOME, (Compound("role", (term(what),)),))
            event = Event("certified" if mark == "! " else "revoked", (given,))
    return TEN + int(at) * MINUTE, event


def refusals_of(law: CompiledLaw, script: str) -> list[Refusal]:
    """Play a script, and keep a journal of it."""
    ann, effects = adopt(law, HOME, now=TEN)
    first = Membership(law, HOME)
    journal = [encode_record(CheckpointRecord("ward", TEN, encode_snapshot(first.snapshot())))]
    found: list[Refusal] = []
    for line in ["", *script.strip().split("\n")]:
        if line:
            at, event = read(line)
            effects = ann.handle(event, now=at)
        for effect in effects:
            if isinstance(effect, RecordRuling):
                ruling = effect.ruling
                if ruling.refused:
                    told = explain(ann, ruling, disclose="all")
                    member = explain(ann, ruling, disclose="rules")
                    found.append(Refusal(law, ruling, told, member, list(journal)))
                body = encode_ruling(ruling)
                journal.append(encode_record(EventRecord("ward", law.name, body, 0, 0)))
    return found


def every() -> list[Refusal]:
    """All refusals of all scripts."""
    found: list[Refusal] = []
    for name, script in SHIPPED.items():
        found += refusals_of(load(text(name)), script)
    for name, (rules, script) in LAWS.items():
        found += refusals_of(load(f"law({name}).\n{rules}"), script)
    return found


ALL = every()
NAMES = [f"{one.law.name}-{one.ruling.seq}" for one in ALL]


def told() -> str:
    lines: list[str] = []
    for one in ALL:
        lines += [
            f"{one.law.name} {show(one.ruling.event.args[1])}",
            f"    {one.told.verdict}",
            f"    {one.told_member.verdict}",
        ]
    return "\n".join(lines) + "\n"


def before(one: Refusal) -> Membership:
    """The member as the journal has it right before the refusal."""
    snapshot = replay([decode_record(record) for record in one.journal])[HOME, one.law.hash]
    return Membership.restore(one.law, snapshot)


def rulings(one: Refusal) -> list[Ruling]:
    records = [decode_record(record) for record in one.journal]
    return [record.ruling for record in records if isinstance(record, EventRecord)]


def fits(pattern: Term, fact: Term) -> bool:
    return show(pattern) == show(fact) or match(pattern, fact)


def goes(member: Membership, one: Refusal, at: int) -> bool:
    """Whether the message would go out by now, or at least not be refused."""
    fork = Membership.restore(one.law, member.snapshot())
    record = next(e for e in fork.handle(one.ruling.event, now=at) if isinstance(e, RecordRuling))
    return record.ruling.forwards


def test_there_are_many_refusals_of_many_laws() -> None:
    assert len(ALL) >= 40
    assert len({one.law.name for one in ALL} - set(SHIPPED)) >= 20
    assert {one.law.name for one in ALL} >= set(SHIPPED)


def test_the_sentences_are_those_written_down() -> None:
    assert told() == TOLD.read_text("utf-8")


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_the_cause_is_the_ruling_that_the_journal_has(one: Refusal) -> None:
    reason = one.told.reason
    assert reason is not None
    if not reason.term:
        assert reason.origin is None
        return
    fact = term(reason.term.replace("_", "Hole")) if "_" in reason.term else term(reason.term)
    missing = f" no {reason.term}" in reason.sentence
    member, last = before(one), None
    bags = [member.state, member.obligations]
    places = [{p: f for p, f in bag.items() if not missing and fits(fact, f)} for bag in bags]
    for ruling in rulings(one):
        for kind, place, old, _ in ruling.delta:
            took = missing and kind in ("-", "<-", "undue") and fits(fact, old)
            put = kind in ("+", "<-") and place in places[0]
            if took or put or (kind == "due" and place in places[1]):
                last = ruling
    assert (reason.origin.seq if reason.origin else 0) == (last.seq if last else 0)
    if last is not None:
        assert reason.origin is not None
        assert (reason.origin.at, reason.origin.cause.rule) == (last.at, last.rule)
        assert f"({last.rule})" in reason.sentence
    # Without the cause the rule gets further: it is what was in the way.
    held = Membership.restore(one.law, member.snapshot())
    if not missing:
        for place, there in places[0].items():
            held.state.drop(place, there)
        for place in places[1]:
            held.obligations.lift(place)
    elif not isinstance(fact, Var):
        if "obligation(" in reason.goal:
            held.obligations.impose(fact, one.ruling.at + 1)
        else:
            held.state.add(fact)
    record = next(
        e for e in held.handle(one.ruling.event, now=one.ruling.at) if isinstance(e, RecordRuling)
    )
    again = explain(held, record.ruling, disclose="all").reason
    assert (
        record.ruling.forwards
        or again is None
        or again.goal != reason.goal
        or again.values != (reason.values)
    )


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_what_would_change_it_does(one: Refusal) -> None:
    reason = one.told.reason
    assert reason is not None
    member, passes = before(one), None
    for _ in range(20):
        due = member.next_deadline()
        if due is None:
            break
        member.handle(TICK, now=due)
        if goes(member, one, due):
            passes = due
            break
    at = None if reason.remedy is None else reason.remedy.at
    assert at == passes
    if at is not None:
        assert reason.remedy is not None
        imposed = [
            ruling.seq
            for ruling in rulings(one)
            for kind, _, _, due in ruling.delta
            if kind == "due" and due == at
        ]
        origin = reason.remedy.origin
        assert not imposed or (origin is not None and origin.seq in imposed)


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_under_rules_nothing_of_the_state_is_told(one: Refusal) -> None:
    """Its sentence is the same whatever the state held, who sent it and when."""
    reason = one.told_member.reason
    assert reason is not None
    assert (reason.values, reason.term, reason.origin) == ("", "", None)
    assert reason.remedy is None or (reason.remedy.at, reason.remedy.origin) == (None, None)
    told = one.told_member.text.split("\n", 1)[1].split("  ruling:")[0]
    for word in (" where ", " since ", "mira", "boss@", "10:0", "minutes,"):
        assert word not in told


if __name__ == "__main__":
    TOLD.write_text(told(), encoding="utf-8")
