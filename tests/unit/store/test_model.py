"""Every engine against the model: whatever a host writes down, it finds again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import Phase, given, settings, strategies as st

from nomospace.control import redo
from nomospace.host.changes import COMPACT_FROM, AgentCame, AgentWent, Change, Durable, MemberKept
from nomospace.store import sql
from nomospace.store.interface import KeptForClient, Step, StoreDamaged
from nomospace.store.sql import FOLD_MAX
from tests.unit.store.changing import Author, joined, next_ruling, recorded, reopened, told
from tests.unit.store.engines import ENGINES, SQL, Engine, MakeEngine, engines, fresh
from tests.unit.store.test_births import cut_short
from tests.unit.store.test_trouble import before_logs, raw

__all__ = ["engines"]

_EXAMPLES = {"memory": 30, "sqlite": 12, "postgres": 6}


@pytest.mark.parametrize("kind", ENGINES)
def test_a_store_gives_back_what_the_model_has(kind: str) -> None:
    @settings(
        max_examples=_EXAMPLES[kind],
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not shrink
    )
    @given(st.integers(0, 2**32))
    def run(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder, fresh(kind, Path(folder)) as engine:
            live(engine, Random(seed))

    run()


@pytest.mark.parametrize("kind", SQL)
def test_rulings_that_only_the_journal_has(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folded, forgotten, with and without a journal in turns: none is lost, none counts twice."""
    few = {"REACH": 12, "COMPACT_FROM": 6, "FOLD_MAX": 3, "FORGET_FROM": 1, "FORGET_MAX": 4}
    for name, value in few.items():
        monkeypatch.setattr(sql, name, value)

    @settings(
        max_examples=_EXAMPLES[kind] // 2,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    @given(st.integers(0, 2**32))
    def run(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder, fresh(kind, Path(folder)) as engine:
            rule(engine, Random(seed))

    run()


def rule(engine: Engine, rng: Random) -> None:
    """Lives of a host that mostly rules."""
    author = Author(rng)
    records: list[bytes] = []
    for _ in range(rng.randint(2, 5)):
        store = engine.open()
        assert told(store.begin().durable) == told(author.model)
        journal = rng.random() < 0.8
        if rng.random() < 0.3:
            store.keep_records(rng.randint(1, 30))
        for at in range(rng.randrange(12)):
            steps = []
            for _ in range(rng.randrange(4)):
                kinds = rng.choices(["ruled", "joined", "came", "went"], [20, 2, 1, 1], k=4)
                changes = []
                for one in kinds:
                    changes.append(getattr(author, one)())
                    author.model.apply(changes[-1])
                steps.append(recorded(changes) if journal else Step(tuple(changes)))
                records += steps[-1].records
            store.commit(steps, at=at)
            if rng.random() < 0.2:
                store.prune(rng.randint(0, len(records)))
            if rng.random() < 0.1:
                beside = engine.open()
                beside.attach()
                beside.prune(len(records))
                beside.close()
        left = [entry.record for entry in store.journal(0, 100_000)]
        assert left == records[len(records) - len(left) :]
        assert list(store.inspect()) == []
        store.close()
    assert told(engine.open().begin().durable) == told(author.model)


@pytest.mark.parametrize("kind", SQL)
def test_a_ruling_is_kept_once(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    model = Durable()
    first = joined("ann@x", "4c1f")
    model.apply(AgentCame("ann@x", 0), first)
    store.commit([recorded([AgentCame("ann@x", 0), first])], at=1)
    for at in range(2, 5):
        ruling = next_ruling(model.members["ann@x", "4c1f"])
        model.apply(ruling)
        store.commit([recorded([ruling])], at=at)
    with raw(engine) as run:
        assert run("SELECT count(*) FROM rulings").fetchone() == (0,)
        assert run("SELECT needed FROM state").fetchone() == (4,)
    store.prune(store.last_record)  # all of it is sealed: what a member rests on is folded first
    for at in range(5, 8):
        store.commit([Step()], at=at)
    assert store.journal(0, 10) == []
    store.close()
    assert told(engine.open().begin().durable) == told(model)


@pytest.mark.parametrize("kind", SQL)
def test_a_store_that_has_rulings_twice_is_converted(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    model = Durable()
    first = joined("ann@x", "4c1f")
    model.apply(AgentCame("ann@x", 0), first)
    store.commit([recorded([AgentCame("ann@x", 0), first])], at=1)

    def ruled() -> Step:
        ruling = next_ruling(model.members["ann@x", "4c1f"])
        model.apply(ruling)
        return recorded([ruling])

    for at in range(2, 5):  # as version 6 did: the journal has them, and so has the table
        store.commit([msgspec.structs.replace(ruled(), ruled=())], at=at)
    store.close()
    with raw(engine) as run:
        before_logs(run)
        run("UPDATE state SET version = 6")
    if kind == "sqlite":
        cut_short(engine, 6)
        with raw(engine) as run:
            assert run("SELECT version FROM state").fetchone() == (6,)
            assert run("SELECT count(*) FROM rulings").fetchone() == (3,)
    store = engine.open()
    assert told(store.begin().durable) == told(model)
    assert list(store.inspect()) == []
    store.commit([ruled()], at=9)
    assert told(store.begin().durable) == told(model)
    with raw(engine) as run:
        run("DELETE FROM journal WHERE seq > 7")
        run("DELETE FROM rulings WHERE seq = 10")
    store.commit([ruled()], at=10)
    (finding,) = list(store.inspect())
    assert str(finding) == "members ann@x under 4c1f: its ruling 10 is missing"
    with pytest.raises(StoreDamaged, match="its ruling 10 is missing"):
        store.begin()
    store.close()


def live(engine: Engine, rng: Random) -> None:
    """Some lives of a host in one store, and what is there in the end."""
    author = Author(rng)
    records: list[bytes] = []
    outbox: dict[int, KeptForClient] = {}
    number = 0
    for life in range(1, rng.randint(2, 4)):
        store = engine.open()
        assert store.begin(tuples=False).life == life
        for commit in range(rng.randrange(4)):
            steps = []
            for _ in range(rng.randrange(5)):
                changes = tuple([author.change() for _ in range(rng.randrange(9))])
                number += 1
                outbox[number] = KeptForClient("ann@x", number, b"push %d" % number)
                records.append(b"record %d" % number)
                steps.append(Step(changes, (outbox[number],), (records[-1],)))
            if rng.random() < 0.3:
                seen = rng.randint(0, number)
                store.trim("ann@x", seen)
                store.trim("ann@x", 0)  # an older one that comes late
                outbox = {known: kept for known, kept in outbox.items() if known > seen}
                # What is kept in the commit that a trim rides with is not yet seen by anyone.
                fresh_ones = [kept for step in steps for kept in step.outbox]
                outbox |= {kept.number: kept for kept in fresh_ones}
            store.clock = (life, commit)
            store.commit(steps, at=100 * life + commit)
        store.close()
    expected = told(author.model)
    store = engine.open()
    assert told(reopened(store, tuples=False)) == expected
    store.close()
    store = engine.open()
    beginning = store.begin()
    assert told(beginning.durable) == expected
    assert {kept.number: kept for kept in beginning.outbox} == outbox
    assert [entry.record for entry in store.journal(0, 1_000)] == records
    assert [entry.seq for entry in store.journal(2, 2)] == [3, 4][: max(0, len(records) - 2)]
    assert list(store.inspect()) == []
    store.close()


@pytest.mark.parametrize("kind", SQL)
def test_rulings_are_folded_a_membership_at_a_time(kind: str, engines: MakeEngine) -> None:
    engine = engines(kind)
    store = engine.open()
    store.begin()
    model = Durable()
    homes = ["ann@x", "bob@x", "cay@y"]

    def keep(changes: list[Change], at: int) -> None:
        store.commit([Step(tuple(changes))], at=at)

    def applied(change: Change) -> Change:
        model.apply(change)
        return change

    keep([applied(AgentCame(home, 0)) for home in homes], 1)
    keep([applied(joined(home, "4c1f")) for home in homes], 2)
    for at in range(2 * COMPACT_FROM // 64):
        members = [model.members[home, "4c1f"] for home in homes for _ in range(64)]
        keep([applied(next_ruling(member)) for member in members], 10 + at)
    keep([applied(AgentWent("cay@y"))], 50)
    for at in range(60, 64):
        keep([], at)
    store.close()
    durable = engine.open().begin().durable
    assert all(len(member.log) < COMPACT_FROM for member in durable.members.values())
    assert all(member.base.seq > COMPACT_FROM for member in durable.members.values())
    assert told(durable) == told(model)


def test_few_rulings_are_folded_in_one_commit(engines: MakeEngine) -> None:
    engine = engines("sqlite")
    store = engine.open()
    store.begin()
    model = Durable()

    def rule(count: int, at: int) -> None:
        changes: list[Change] = []
        for _ in range(count):
            changes.append(next_ruling(model.members["ann@x", "4c1f"]))
            model.apply(changes[-1])
        store.commit([Step(tuple(changes))], at=at)

    first: list[Change] = [AgentCame("ann@x", 0), joined("ann@x", "4c1f")]
    for at, change in enumerate(first):
        model.apply(change)
        store.commit([Step((change,))], at=at)
    rule(COMPACT_FROM, 10)
    rule(1, 11)
    store.close()
    member = engine.open().begin().durable.members["ann@x", "4c1f"]
    assert len(member.log) == COMPACT_FROM + 1 - FOLD_MAX


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("kind", SQL)
def test_what_is_kept_as_it_is_now_needs_no_earlier_ruling(
    kind: str, journal: bool, engines: MakeEngine
) -> None:
    """In one step with rulings before it and behind it, of this membership and of another."""
    engine = engines(kind)
    store = engine.open()
    store.begin()
    model = Durable()
    key = ("ann@x", "4c1f")

    def keep(*made: Callable[[], Change], at: int) -> None:
        changes = []
        for make in made:
            changes.append(make())
            model.apply(changes[-1])
        store.commit([recorded(changes) if journal else Step(tuple(changes))], at=at)

    def rule(home: str = "ann@x") -> Change:
        return next_ruling(model.members[home, "4c1f"])

    def as_it_is() -> Change:
        member = model.members[key]
        return MemberKept(redo(member.base, member.log))

    keep(lambda: joined(*key), lambda: joined("bob@x", "4c1f"), at=1)
    keep(rule, rule, at=2)
    keep(rule, lambda: rule("bob@x"), as_it_is, rule, lambda: rule("bob@x"), at=3)
    keep(rule, at=4)
    store.close()
    durable = engine.open().begin().durable
    assert durable.members[key].base.seq == 10
    assert [one.seq for one in durable.members[key].log] == [11, 12]
    assert [one.seq for one in durable.members["bob@x", "4c1f"].log] == [8, 9]
    assert told(durable) == told(model)
