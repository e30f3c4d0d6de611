"""The engine against a naive list: every operation, reactions and leases included."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nomospace.calls.ways import ONCE, ONCE_PER_TUPLE, Mode
from nomospace.space import (
    OFFER,
    READ,
    TAKE,
    Fired,
    Gathered,
    Outcome,
    Reaction,
    Record,
    Space,
    TupleId,
    Woken,
)
from nomospace.space.outcomes import (
    DeadLetter,
    Dear,
    Expired,
    Lapsed,
    ListenerFailed,
    Overran,
    Ranaway,
)
from nomospace.terms import Term, a, obj, t
from nomospace.terms.templates import ANY, Template, between, same, where
from tests.models.late_disk import Disk
from tests.models.plain_meaning import CARS
from tests.models.plain_space import PlainSpace, Thing, Told, Watch

FIRINGS = 25
SMALL = {
    "steps.FIRINGS_MAX": FIRINGS,
    "steps.STEP_UNITS": 1 << 40,  # what is shown later has tests of its own
    "searching.VAIN_MAX": 1,
    "composites.RUN_MAX": 3,
    "shelves.COMPOSITES_MAX": 6,
    "shelves.IDLE_AFTER": 60,
    "shelves.WIDE": 2,
    "slots.FEW_MAX": 4,
    "slots.CHUNK_MAX": 8,
    "slots.CHUNK_MIN": 2,
    "slots.SHARD_FROM": 5,
    "shelves.CHUNK_MAX": 8,
    "slots.FEW_AGAIN": 2,
    "slots.SWEEP_AFTER": 2,
    "shelves.SHARD_FROM": 5,
    "shelves.SEGMENT": 7,
    "slots.SEGMENT": 7,
    "shelves.SHRINK_AT": (1, 3),
    "store.SEGMENT": 7,
    "store.SHRINK_AT": (1, 3),
    "slots.SHARDS": 3,
    "timers.DRAWER_BITS": 1,
    "watchers.SHAPES_MAX": 6,
    "objects.NEAR_MAX": 2,
    "objects.SEGMENT": 7,
    "objects.CLASSES_MIN": 3,
    "objects.CHUNK_MAX": 8,
    "objects.SWEEP_AFTER": 2,
    "meant.READ_MAX": 5,
    "meant.ABOVE_MAX": 3,
}
AGENTS = ("ann", "bob", "cyd")
TEMPLATES = [
    Template.of(patterns)
    for patterns in (
        (ANY,),
        (ANY, ANY),
        (ANY, ANY, ANY),
        ("job", ANY, ANY),
        ("job", 1, ANY),
        ("job", int, ANY),
        ("job", True, ANY),
        ("job", 1.0, ANY),
        (ANY, 2, 2),
        ("job", between(1, 2), between(0, 1)),
        (str, where("> 1"), ANY),
        (ANY, same("x"), same("x")),
        (ANY, t.at(1, 2), ANY),
        (ANY, t.at(ANY, 2), 3),
        (ANY, t.at(t.at(int, 1), ANY), ANY),
        (ANY, [1, ANY], ANY),
        (ANY, ANY, t.at(1, 2)),
        (1, ANY),
        (None, ANY),
        (ANY, b"x"),
        (a("Car"),),
        (a("Thing"),),
        (a("Toy", "price > 1"),),
        (a("Van"),),
        ("job", a("Automobile"), ANY),
        ("job", a("Car", "price = 1")),
        (1, a("Thing")),
        (a("Car"), a("Toy")),
        (a("Thing"), a("SportsCar"), ANY),
        (obj("Car", "c1"),),
        (obj("Thing", "c2"), int),
        (obj("Car"),),
        (obj("Thing", price=2),),
    )
]
VALUES: tuple[Term, ...] = (
    *(0, 1, 2, 3, 1, 2, True, 1.0, None, "job", b"x", (1, 2), (1,)),
    *(t.at(1, 2), t.at(3, 2), t.at(t.at(1, 1), 2), t.at(1), t.be(1, 2)),
    *(obj("Car", "c1", price=1), obj("SportsCar", "c1"), obj("Automobile", "c2", price=2)),
    *(obj("Toy", "c2", price=2), obj("Van", "c1"), obj("Thing"), obj("Toy", price=2), obj("Car")),
)
ACTS = ("none", "note", "raise", "eat", "echo", "pass", "hush", "free", "rival", "loop", "birth")


def draw_fields(rng: Random) -> tuple[Term, ...]:
    if rng.random() < 0.15:
        return (rng.choice(VALUES),)
    if rng.random() < 0.2:
        return rng.choice(VALUES), rng.choice(VALUES)
    return rng.choice(("job", "job", "pos")), rng.choice(VALUES), rng.choice(VALUES)


class Pair:
    """A space and the list beside it: each operation is done on both, and told alike."""

    def __init__(self, rng: Random, *, stored: bool = False) -> None:
        self.rng = rng
        self.disk = Disk(rng) if stored else None
        self.space = Space("s", CARS, engine=self.disk.engine if self.disk else None)
        self.plain = PlainSpace(FIRINGS)
        self.now = 1
        self.serial = 0
        self.log: list[Told] = []  # what listeners of the space met
        self.plain_log: list[Told] = []
        self.acts: dict[Hashable, str] = {}

    # -- what listeners do, on either side ---------------------------------------------------

    def act(self, id: Hashable, record: Record) -> None:
        space, now, act = self.space, self.now, self.acts[id]
        self.log.append((id, record.id))
        if act == "raise":
            raise ArithmeticError(f"of {id}")
        if act == "eat":
            space.remove(record)
        elif act == "pass":
            space.relocate(record, record.dest, now=now)
        elif act in ("echo", "loop"):
            fields = self.echo(record.fields, act)
            if fields is not None:
                made = Record(fields, f"by-{id}", len(self.log), record.cur, record.dest)
                assert space.put(made, now=now) == []
        elif act == "hush":
            for reaction in space.reactions():
                if self.acts[reaction.id] != act:
                    space.disable(reaction.id)
                    break
        elif act == "free":
            for reaction in space.reactions():
                if not reaction.enabled and self.acts[reaction.id] == "note":
                    assert space.enable(reaction.id, now=now) == []
                    break
        elif act == "rival":
            other = space.find(Template.of((ANY, ANY, ANY)), now=now)
            if other is not None:
                space.lend(other, "rival", now + 3)
        elif act == "birth":
            name = f"{id}+{len(self.log)}"
            self.acts[name] = "note"
            new = Reaction(name, Template.of(("job", ANY, ANY)), ONCE, listener=self.listen)
            assert space.react(new, now=now) == []

    def listen(self, reaction: Reaction, record: Record) -> None:
        self.act(reaction.id, record)

    def plain_act(self, id: Hashable, met: TupleId) -> None:
        plain, now, act = self.plain, self.now, self.acts[id]
        self.plain_log.append((id, met))
        thing = plain.get(met)
        assert thing is not None
        if act == "raise":
            raise ArithmeticError(f"of {id}")
        if act == "eat":
            plain.remove(met)
        elif act == "pass":
            plain.relocate(met, thing.dest, now)
        elif act in ("echo", "loop"):
            fields = self.echo(thing.fields, act)
            if fields is not None:
                made = Thing(fields, (f"by-{id}", len(self.plain_log)), thing.cur, thing.dest)
                plain.put([made], now)
        elif act == "hush":
            for reaction in plain.reactions:
                if self.acts[reaction.id] != act:
                    reaction.on = False
                    break
        elif act == "free":
            for reaction in plain.reactions:
                if not reaction.on and self.acts[reaction.id] == "note":
                    plain.enable(reaction.id, now)
                    break
        elif act == "rival":
            found = plain.find_all(Template.of((ANY, ANY, ANY)), None, None, now)
            if found:
                plain.lend(found[0], "rival", now + 3)
        elif act == "birth":
            name = f"{id}+{len(self.plain_log)}"
            template = Template.of(("job", ANY, ANY))
            plain.react(self.plain_reaction(name, template, ONCE, None, None), now)

    @staticmethod
    def echo(fields: tuple[Term, ...], act: str) -> tuple[Term, ...] | None:
        if act == "loop":
            return fields
        last = fields[-1]
        return (*fields[:-1], last + 1) if last.__class__ is int and last < 3 else None

    def plain_reaction(
        self, id: Hashable, template: Template, mode: str, at: str | None, dest: str | None
    ) -> Watch:
        made = Watch(id, template, mode, at, dest)
        if self.acts[id] != "none":
            made.listener = lambda met: self.plain_act(id, met)
        return made

    # -- operations --------------------------------------------------------------------------

    def same(self, told: list[Outcome], plain: list[Told]) -> None:
        assert [plainly(one) for one in told] == plain
        assert self.log == self.plain_log

    def new(self) -> tuple[Record, Thing]:
        rng = self.rng
        self.serial += 1
        writer, cur = rng.choice(AGENTS), rng.choice(AGENTS)
        dest = cur if rng.random() < 0.7 else rng.choice(AGENTS)
        expires = 0 if rng.random() < 0.8 else self.now + rng.randrange(6)
        fields = draw_fields(rng)
        priority = 0 if rng.random() < 0.8 else rng.choice((-100, -1, 1, 5, 100))
        return (
            Record(fields, writer, self.serial, cur, dest, expires, rare=((), priority)),
            Thing(fields, (writer, self.serial), cur, dest, expires, priority=priority),
        )

    def where(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "at": rng.choice((None, None, None, None, *AGENTS)),
            "dest": rng.choice((None, None, None, None, None, *AGENTS)),
        }

    def one(self) -> TupleId | None:
        lying = [thing for thing in self.plain.things if thing.lent_to is None]
        return self.rng.choice(lying).id if lying else None

    def record(self, id: TupleId) -> Record:
        found = self.space.get(id)
        assert found is not None
        return found

    def do(self, operation: str) -> None:
        getattr(self, operation)()
        if self.disk is not None:
            self.disk.write(self.space)

    def put(self) -> None:
        record, thing = self.new()
        self.same(self.space.put(record, now=self.now), self.plain.put([thing], self.now))

    def put_many(self) -> None:
        made = [self.new() for _ in range(self.rng.randrange(6))]
        self.same(
            self.space.put_many([record for record, _ in made], now=self.now),
            self.plain.put([thing for _, thing in made], self.now),
        )

    def find(self) -> None:
        for _ in range(4):
            self.find_one()

    def find_one(self) -> None:
        template, where = self.rng.choice(TEMPLATES), self.where()
        expected = self.plain.find_all(template, now=self.now, **where)
        found = self.space.find_all(template, now=self.now, **where)
        assert [record.id for record in found] == expected
        first = self.space.find(template, now=self.now, **where)
        assert (first and first.id) == self.plain.first(template, now=self.now, **where)

    def take(self) -> None:
        record = self.space.find(self.rng.choice(TEMPLATES), now=self.now, **self.where())
        if record is not None:
            self.space.remove(record)
            self.plain.remove(record.id)

    def relocate(self) -> None:
        if (id := self.one()) is not None:
            cur = self.rng.choice(AGENTS)
            self.same(
                self.space.relocate(self.record(id), cur, now=self.now),
                self.plain.relocate(id, cur, self.now),
            )

    def wait(self) -> None:
        self.serial += 1
        template, how = self.rng.choice(TEMPLATES), self.rng.choice((TAKE, READ, OFFER))
        where = self.where()
        self.space.wait(self.serial, template, how, **where)
        self.plain.waiters.append(Watch(self.serial, template, how, **where))

    def nudge(self) -> None:
        """Wake one, hush one or cancel one."""
        if not self.plain.waiters:
            assert self.space.cancel("nobody") is False
            return
        waiter, roll = self.rng.choice(self.plain.waiters), self.rng.random()
        if roll < 0.5:
            self.space.rearm(waiter.id)
            waiter.on = True
        elif roll < 0.75:
            self.space.disarm(waiter.id)
            waiter.on = False
        else:
            assert self.space.cancel(waiter.id) is True
            self.plain.waiters.remove(waiter)

    def react(self) -> None:
        self.serial += 1
        id, where = f"r{self.serial}", self.where()
        act = self.rng.choice(ACTS)
        if act == "loop" and any(self.acts[one.id] == "loop" for one in self.plain.reactions):
            act = "note"
        self.acts[id] = act
        template = self.rng.choice(TEMPLATES)
        mode: Mode = self.rng.choice((ONCE, ONCE_PER_TUPLE, ONCE_PER_TUPLE))
        listener = None if act == "none" else self.listen
        reaction = Reaction(id, template, mode, listener=listener, **where)
        self.same(
            self.space.react(reaction, now=self.now),
            self.plain.react(self.plain_reaction(id, template, mode, **where), self.now),
        )

    def reconsider(self) -> None:
        """Disable, enable or remove a reaction."""
        if not self.plain.reactions:
            assert self.space.unreact("nobody") is False
            return
        reaction, roll = self.rng.choice(self.plain.reactions), self.rng.random()
        if roll < 0.4:
            self.space.disable(reaction.id)
            reaction.on = False
        elif roll < 0.8:
            told = self.space.enable(reaction.id, now=self.now)
            self.same(told, self.plain.enable(reaction.id, self.now))
        else:
            assert self.space.unreact(reaction.id) is True
            self.plain.unreact(reaction.id)

    def lend(self) -> None:
        if (id := self.one()) is not None:
            taker, until = self.rng.choice(AGENTS), self.now + self.rng.randrange(5)
            self.space.lend(self.record(id), taker, until)
            self.plain.lend(id, taker, until)

    def end_lease(self) -> None:
        lent = [thing for thing in self.plain.things if thing.lent_to is not None]
        if not lent:
            return
        thing = self.rng.choice(lent)
        taker = thing.lent_to if self.rng.random() < 0.8 else "stranger"
        assert taker is not None
        if self.rng.random() < 0.5:
            settled = self.space.settle(thing.id, taker)
            assert (settled is not None) is self.plain.settle(thing.id, taker)
        else:
            self.same(
                self.space.give_back(thing.id, taker, now=self.now),
                self.plain.give_back(thing.id, taker, self.now),
            )

    def pass_time(self) -> None:
        self.now += self.rng.randrange(4)
        if self.rng.random() < 0.7:
            self.same(self.space.lapse(now=self.now), self.plain.lapse(self.now))
            soonest, deadlines = self.space.next_deadline(), self.plain.deadlines()
            if self.disk is None:
                assert (soonest is None) is (not deadlines)
            assert not deadlines or soonest is not None
            assert soonest is None or not deadlines or self.now < soonest <= min(deadlines)

    def check(self) -> None:
        """All that both hold is the same, hidden parts included."""
        space, plain = self.space, self.plain
        assert len(space) == len(plain.things)
        lying = [thing for thing in plain.things if thing.lent_to is None]
        for agent in AGENTS:
            held = [(r.id, r.fields, r.dest, r.deliveries) for r in space.held_by(agent)]
            expected = [(x.id, x.fields, x.dest, x.deliveries) for x in lying if x.cur == agent]
            assert held == expected
            astray = [x.id for x in lying if x.dest == agent != x.cur]
            assert [record.id for record in space.misplaced_for(agent)] == astray
        assert set(space.misplaced()) == {x.dest for x in lying if x.dest != x.cur}
        assert {lease.record.id: (lease.taker, lease.until) for lease in space.leases()} == {
            x.id: (x.lent_to, x.lent_until) for x in plain.things if x.lent_to is not None
        }
        assert [(r.id, r.enabled) for r in space.reactions()] == [
            (one.id, one.on) for one in plain.reactions
        ]
        for reaction, one in zip(space.reactions(), plain.reactions, strict=True):
            assert all(id in reaction.seen for id in one.met)
        stats = space.stats()
        assert stats["waiters"] == len(plain.waiters)


def plainly(told: Outcome) -> Told:
    """An outcome as the list tells it."""
    kind = type(told).__name__
    match told:
        case Woken():
            return kind, told.ticket, told.record.id
        case Gathered():
            return kind, told.ticket, told.gathering.ids
        case Fired():
            return kind, told.reaction.id, told.record.id
        case ListenerFailed():
            return kind, told.reaction.id, told.record.id, str(told.error)
        case Overran() | Dear():
            raise AssertionError(told)  # no template of these costs so much
        case Ranaway():
            return kind, told.reaction.id, told.firings
        case Lapsed():
            return kind, told.record.id, told.taker
        case Expired() | DeadLetter():
            return kind, told.record.id


OPERATIONS = (
    *("put", "put", "put", "put", "put_many", "find", "find", "take", "take", "relocate"),
    *("wait", "wait", "nudge", "react", "reconsider", "lend", "end_lease", "pass_time"),
)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Limits so low that a short story passes every one of them, and back again."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in SMALL.items():
            patch.setattr(f"nomospace.space.{name}", limit)
        yield


class SpaceAgainstList(RuleBasedStateMachine):
    """Whatever is done to both, both tell the same."""

    @initialize(rng=st.randoms(use_true_random=False), stored=st.booleans())
    def start(self, rng: Random, stored: bool) -> None:
        self.pair = Pair(rng, stored=stored)

    @rule(operation=st.sampled_from(OPERATIONS))
    def do(self, operation: str) -> None:
        self.pair.do(operation)

    @invariant()
    def is_the_same(self) -> None:
        if hasattr(self, "pair"):
            self.pair.check()


TestSpaceAgainstList = SpaceAgainstList.TestCase
TestSpaceAgainstList.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, derandomize=True
)


@pytest.mark.parametrize(
    ("seed", "stored"), [*[(seed, False) for seed in range(4)], (1, True), (2, True)]
)
def test_a_long_run_is_as_the_list_tells_it(seed: int, stored: bool) -> None:
    rng = Random(seed)
    pair = Pair(rng, stored=stored)
    for turn in range(300 if stored else 800):
        pair.do(rng.choice(OPERATIONS))
        if turn % 20 == 0:
            pair.check()
    pair.check()
    assert len(pair.log) > (20 if stored else 150), "listeners had little to do"
