"""A host that has forgotten all comes back under its name, and others find out."""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from nomospace.host.calls import Arrive, Heard
from nomospace.host.changes import BirthLearnt, Durable, ParcelPlaced, ParcelTaken
from nomospace.host.core import Host
from nomospace.host.effects import Note, Persist, Transmit
from nomospace.host.holding import ERA_STEP
from nomospace.host.moving import Welcome
from nomospace.host.trust import Trusting
from nomospace.protocols.births import BEFORE, ERAS_FROM, SILENT, UNKNOWN, era_of
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.messages import Advert, Adverts, HelloFrame, Relay
from nomospace.protocols.policy import Announced
from nomospace.protocols.routing.seats import LIFE_BITS


class Ends:
    """Two hosts and what is under way between them; b has no disk. Nothing is ever engaged."""

    def __init__(self, seed: int, birth: int) -> None:
        self.rng = Random(seed)
        self.now = ERAS_FROM
        self.disk = Durable()
        self.birth = birth
        self.hosts: dict[str, Host] = {}
        self.came: dict[str, list[int]] = {"a": [], "b": []}
        self.way: list[tuple[str, str, Any]] = []
        self.count = 0
        self.silent = False
        """Whether a is of a nomospace from before births."""
        self.start("a")
        self.reborn(self.now)

    def start(self, name: str, birth: int = 0) -> None:
        birth, durable = (self.birth, self.disk) if name == "a" else (birth, None)
        host = Host(name, life=1, now=self.now, birth=birth, durable=durable, policy=Announced())
        host.moving.hear = partial(self._hear, name)  # type: ignore[method-assign]
        self.hosts[name] = host

    def _hear(self, name: str, peer: str, what: Welcome) -> bool:
        self.came[name].append(what.key)
        return True

    def crash(self) -> None:
        """The host with a disk starts again."""
        self.start("a")

    def reborn(self, birth: int) -> None:
        """The host without one does."""
        self.came["b"].clear()
        self.start("b", birth)

    def do(self, name: str, effects: list[Any]) -> None:
        for effect in effects:
            if isinstance(effect, Persist) and name == "a":
                for change in effect.changes:
                    self.disk.apply(change)
            elif isinstance(effect, Transmit) and isinstance(effect.frame, Parcel | Receipt):
                assert effect.to is not None
                frame = effect.frame
                if self.silent:
                    frame = replace(frame, birth=SILENT, to=SILENT)
                self.way.append((name, effect.to, frame))

    def upgrade(self) -> None:
        """From now on a speaks of births; its store knows of none."""
        self.disk.births.clear()
        self.silent = False
        self.crash()

    def give(self, name: str, to: str) -> int:
        self.count += 1
        host = self.hosts[name]
        host.step.now = self.now
        host.posting.parcel(to, Welcome(self.count))
        self.do(name, host.step.end())
        return self.count

    def deliver(self, *, fair: bool) -> None:
        if not self.way:
            return
        place = 0 if fair else self.rng.randrange(len(self.way))
        source, to, frame = self.way[place]
        if fair or self.rng.random() < 0.8:
            del self.way[place]
        if fair or self.rng.random() < 0.8:
            self.do(to, self.hosts[to].handle(Heard(source, frame), now=self.now))

    def tick(self) -> None:
        self.now += self.rng.randrange(1_000, 2_000_000)
        for name, host in self.hosts.items():
            host.step.now = self.now
            host.posting.tick()
            self.do(name, host.step.end())

    def settle(self) -> None:
        """Let everything come that can."""
        for _ in range(30):
            self.tick()
            while self.way:
                self.deliver(fair=True)


@pytest.mark.parametrize("set_back", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_parcels_come_once_whoever_forgets(seed: int, set_back: bool) -> None:
    """To each birth at most once, in order, and all to those who have not forgotten since."""
    ends = Ends(seed, BEFORE if seed % 2 else ERAS_FROM - 5)
    rng = ends.rng
    to_a: list[int] = []
    to_b: list[int] = []
    since_a = since_b = 0
    for _ in range(250):
        dice = rng.random()
        if dice < 0.15:
            to_b.append(ends.give("a", "b"))
        elif dice < 0.3:
            to_a.append(ends.give("b", "a"))
        elif dice < 0.85:
            ends.deliver(fair=False)
        elif dice < 0.95:
            ends.tick()
        elif dice < 0.97:
            ends.crash()
        else:
            if set_back:  # it was away for longer than frames are under way
                ends.way.clear()
            since_a, since_b = len(to_a), len(ends.came["a"])
            ends.reborn(ends.now - (rng.randrange(10**9) if set_back else 0))
            ends.now += 1
        for came in ends.came.values():
            assert len(set(came)) == len(came), "something came twice"
        assert ends.came["b"] == sorted(ends.came["b"])
        assert ends.came["a"][since_b:] == sorted(ends.came["a"][since_b:])
    ends.settle()
    assert not any(host.posting.courier.book.peers() for host in ends.hosts.values())
    assert ends.came["a"][-len(to_a[since_a:]) :] == to_a[since_a:] or not to_a[since_a:]
    last = ends.give("a", "b")
    ends.settle()
    assert ends.came["b"][-1] == last
    assert len(set(ends.came["b"])) == len(ends.came["b"])
    assert set(to_a[since_a:]) <= set(ends.came["a"])


def test_what_a_former_birth_was_given_is_given_to_the_next() -> None:
    ends = Ends(0, BEFORE)
    first = ends.give("a", "b")
    ends.settle()
    assert ends.came["b"] == [first]
    ends.way.clear()
    waiting = [ends.give("a", "b") for _ in range(3)]
    ends.way.clear()
    ends.reborn(ends.now + 1)
    ends.settle()
    assert ends.came["b"] == waiting
    assert ends.disk.parcels.numbers["b"] == 3
    assert ends.disk.births["b"] == (ends.hosts["b"].peers.births.own, BEFORE)


def test_what_is_noted_of_a_birth_outlives_a_crash() -> None:
    ends = Ends(1, BEFORE)
    for _ in range(4):
        ends.give("b", "a")
    ends.settle()
    assert ends.disk.parcels.placed["b"] == 4
    ends.reborn(ends.now + 1)
    mine = ends.give("b", "a")
    ends.settle()
    ends.crash()
    yours = ends.give("a", "b")
    ends.settle()
    assert ends.came["a"] == [1, 2, 3, 4, mine]
    assert (ends.came["b"], ends.disk.parcels.placed["b"]) == ([yours], 1)


def test_a_store_from_before_births_goes_on_with_all() -> None:
    """Nobody takes it for a host that has forgotten, and it takes nobody for one."""
    disk = Durable()
    disk.parcels.numbers["b"], disk.parcels.placed["b"] = 7, 9
    disk.parcels.waiting["b"] = {7: Welcome(7)}
    a = Host("a", life=8, now=0, durable=disk)
    effects = a.handle(Heard("b", Receipt(7, BEFORE, SILENT)), now=0)
    assert effects[0].changes == (ParcelTaken("b", 7),)
    assert a.posting.courier.book.peers() == []
    effects = a.handle(Heard("b", Parcel(10, Welcome(1), BEFORE, BEFORE)), now=0)
    assert effects[0].changes == (BirthLearnt("b", BEFORE, BEFORE), ParcelPlaced("b", 10))
    assert a.posting.courier.book.got("b") == 10


@pytest.mark.parametrize("reborn", ["never", "before the upgrade", "after it"])
@pytest.mark.parametrize("seed", range(6))
def test_hosts_are_upgraded_one_by_one(seed: int, reborn: str) -> None:
    """One from before births goes on where it was when it learns of them, and nothing is doubled.

    While it is silent it cannot know that another was born again; once it speaks, it can.
    """
    ends = Ends(seed, BEFORE)
    ends.silent = True
    if reborn == "before the upgrade":
        ends.reborn(ends.now + 1)
    given: dict[str, list[int]] = {"a": [], "b": []}
    for round_ in range(2):
        for _ in range(60):
            dice = ends.rng.random()
            if dice < 0.3:
                name = ends.rng.choice("ab")
                given[name].append(ends.give(name, "ab"[name == "a"]))
            elif dice < 0.8:
                ends.deliver(fair=False)
            else:
                ends.tick()
        if round_ == 0:
            if ends.rng.random() < 0.5:
                ends.settle()
            ends.upgrade()
    if reborn == "after it":
        ends.settle()
        ends.reborn(ends.now + 1)
        given["a"].clear()
    given["a"].append(ends.give("a", "b"))
    given["b"].append(ends.give("b", "a"))
    ends.settle()
    assert ends.came["b"] == given["a"]
    assert ends.came["a"] == given["b"]


# -- whom to believe -----------------------------------------------------------------------------


def linked(host: Host, neighbour: str, further: str) -> None:
    """A neighbour has a link with a host, and one with a host further away."""
    hello = HelloFrame(neighbour, 1, 1, {host.name: host.step.life}, 0)
    host.handle(Heard(neighbour, hello), now=0)
    beyond = Advert(further, 1, (neighbour,), (1, further))
    near = Advert(neighbour, 1, (host.name, further), (1, neighbour))
    host.handle(Heard(neighbour, Adverts((near, beyond))), now=0)


@pytest.mark.parametrize("proven", [True, False])
@pytest.mark.parametrize(
    "claim",
    [
        Parcel(1, Welcome(1), ERAS_FROM + 9, BEFORE),
        Receipt(0, ERAS_FROM + 9, BEFORE),
        Receipt(0, ERAS_FROM, ERAS_FROM),
    ],
    ids=["born again", "born again, says a receipt", "knows a later birth"],
)
def test_others_cannot_say_that_a_host_was_born_again(claim: Any, proven: bool) -> None:
    """Where neighbours have proved who they are, one on the way makes nobody forget numbers."""
    a = Host("a", life=1, now=0, trust=Trusting() if proven else None)
    linked(a, "mallory", "b")
    a.handle(Heard("b", Parcel(1, Welcome(1), ERAS_FROM, BEFORE)), now=0)
    a.posting.parcel("b", Welcome(2))
    before = a.peers.births.stamp("b")
    effects = a.handle(Heard("mallory", Relay("b", "a", 9, claim)), now=1)
    forgot = a.peers.births.stamp("b") != before or a.posting.courier.book.got("b") != 1
    assert forgot is not proven
    noted = [effect.what for effect in effects if isinstance(effect, Note)]
    assert ("birth-unproven" in noted) is proven
    # The host itself is believed.
    a.handle(Heard("b", claim), now=2)
    assert a.peers.births.stamp("b") != before


def test_a_host_speaks_for_itself_alone() -> None:
    """A birth that a neighbour claims is its own: nothing is forgotten of others."""
    a = Host("a", life=1, now=0)
    a.handle(Heard("b", Parcel(1, Welcome(1), ERAS_FROM, BEFORE)), now=0)
    a.handle(Heard("mallory", Parcel(1, Welcome(1), ERAS_FROM + 9, UNKNOWN)), now=0)
    assert a.peers.births.stamp("b") == (BEFORE, ERAS_FROM)
    assert a.posting.courier.book.got("b") == 1


# -- what agents number ----------------------------------------------------------------------------


def test_agents_of_another_birth_number_above_those_of_the_one_before() -> None:
    counts, epochs = [], []
    for birth in (BEFORE, ERAS_FROM, ERAS_FROM + 300_000):
        host = Host("a", life=1, now=0, birth=birth, era=era_of(birth))
        came = host.handle(Arrive("ann@a"), now=0)[0].changes[0]
        counts.append(came.count)
        resident = host.posting.daemon._residents["ann@a"]
        epochs.append(resident.epoch)
        assert came.count // ERA_STEP == resident.epoch >> LIFE_BITS == era_of(birth)
        assert came.count < 1 << 53
    assert counts[0] == 0
    assert counts == sorted(set(counts))
    assert epochs == sorted(set(epochs))
