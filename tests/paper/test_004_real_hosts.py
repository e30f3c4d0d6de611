"""`004_…` sections 3 and 4 on hosts that are processes of their own, through the public client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from nomospace import ANY, Law, Ontology, Space, TimedOut, a, obj
from nomospace.meaning.ontology import OntologyClass
from nomospace.meaning.question import BadQuestion
from tests.parity.processes import Real

WAIT_S = 60.0
CARS = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",), properties={"price": "number", "size": "list"}),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Insurance"),
        OntologyClass("Finance"),
    ],
)
DEALS = Law.load(
    """law(deals).
    R1. sent(deals, found(Op, [object(C, hot, P) | Rest]), X) :- true.
    R2. sent(deals, reacted(Op, [object(C, hot, P) | Rest]), X) :- true.
    R3. sent(X, M, Y) :- do(forward).
    R4. arrived(X, M, Y) :- do(deliver)."""
)
"""Nobody gets the hot car."""
BOTH = (a("Car"), a("Insurance"), a("Finance"))
Play = Callable[[Callable[[Real], Coroutine[Any, Any, None]]], None]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Two hosts in contact, for all tests of this module."""
    with asyncio.Runner() as runner:
        world = Real()
        try:
            runner.run(world.start("ward", "icu"))
            yield lambda story: runner.run(story(world))
        finally:
            runner.run(world.close())


async def sales(world: Real, agent: str, host: str, name: str) -> Space:
    space = await (await world.agent(agent, host)).space(name, shared=True, ontology=CARS)
    assert isinstance(space, Space)
    return space


async def papers(world: Real, name: str, car: str) -> tuple[Space, Space]:
    """A car's insurance on one host, its finance on the other; the spaces that hold them."""
    ward = await sales(world, "ann", "ward", name)
    icu = await sales(world, "bob", "icu", name)
    await ward.out(obj("SportsCar", car), obj("Insurance", f"i-{car}"))
    await icu.out(obj("SportsCar", car), obj("Finance", f"f-{car}"))
    return ward, icu


def test_3_a_field_given_as_an_object_matches_by_its_properties_and_id(play: Play) -> None:
    async def story(world: Real) -> None:
        ward = await sales(world, "ann", "ward", "given")
        icu = await sales(world, "bob", "icu", "given")
        await ward.out(obj("SportsCar", "s1", price=4), "sale")
        found = await icu.read(obj("Car", "s1", price=4), "sale", timeout=WAIT_S)
        assert found.why == "SportsCar is a Car"
        assert await ward.read_nowait(obj("Car", price=4), "sale") == found
        assert await ward.read_nowait(obj("Car", "s1"), "sale") == found
        assert await ward.read_nowait(obj("Car", "s1", price=5), "sale") is None

    play(story)


def test_3_a_predicate_reaches_an_element_of_an_array(play: Play) -> None:
    async def story(world: Real) -> None:
        ward = await sales(world, "ann", "ward", "arrays")
        icu = await sales(world, "bob", "icu", "arrays")
        await ward.out(obj("Car", "c1", size=[420, 180], tags=["red", "old"]))
        asks = a("Automobile", "size[1] < 200 and any(tags) = 'red' and not any(tags) = 'new'")
        assert (await icu.take(asks, timeout=WAIT_S))[0].args[1] == "c1"

    play(story)


def test_4_a_set_of_two_hosts_on_a_lease_comes_back_or_is_gone_as_a_whole(play: Play) -> None:
    async def story(world: Real) -> None:
        ward, icu = await papers(world, "leased", "x")
        together: Any = {"correlate": "auto", "timeout": WAIT_S}
        found = await ward.take(*BOTH, lease=30, **together)
        assert len(found.tuples) == 2
        with pytest.raises(TimedOut):
            await icu.read(*BOTH, correlate="auto", timeout=0.3)
        await ward.give_back(found)
        async with icu.take(*BOTH, lease=30, **together) as again:
            assert (list(again), again.deliveries) == (list(found), 2)
        with pytest.raises(TimedOut):
            await ward.take(*BOTH, correlate="auto", timeout=0.5)

    play(story)


def test_4_a_set_of_two_hosts_under_a_law_that_keeps_some(play: Play) -> None:
    """The manager of each host that holds a tuple of a set rules on the whole answer."""

    async def story(world: Real) -> None:
        spaces: list[Space] = []
        for agent, host in (("ann", "ward"), ("bob", "icu")):
            one = await world.agent(agent, host)
            await one.adopt(DEALS)
            spaces.append(await one.space("deals", shared=True, ontology=CARS, law=DEALS))
        ward, icu = spaces
        met: asyncio.Queue[Any] = asyncio.Queue()
        seen = ward.react(
            BOTH, lambda found, *_: met.put_nowait(found), correlate="auto", key="SportsCar"
        )
        await seen.wait_registered()
        for car in ("hot", "x"):
            await ward.out(obj("SportsCar", car), obj("Insurance", f"i-{car}"))
            await icu.out(obj("SportsCar", car), obj("Finance", f"f-{car}"))
        together: Any = {"correlate": "auto", "key": "SportsCar"}
        for space in spaces:
            read = await space.read(*BOTH, timeout=WAIT_S, **together)
            assert read[0] == obj("SportsCar", "x")
        async with asyncio.timeout(WAIT_S):
            told = await met.get()
        assert (told[0], len(told.tuples)) == (obj("SportsCar", "x"), 2)
        assert met.empty(), "no manager lets the hot one go"
        seen.remove()
        found = await ward.take(*BOTH, lease=30, timeout=WAIT_S, **together)
        await ward.give_back(found)
        taken = await icu.take(*BOTH, timeout=WAIT_S, **together)
        assert (list(taken), len(taken.tuples)) == (list(found), 2)
        with pytest.raises(TimedOut):
            await ward.take(*BOTH, timeout=0.5, **together)
        assert len(await ward.read_all(ANY, ANY)) == 1, "what the law keeps lies where it lay"

    play(story)


def test_4_a_set_of_what_one_agent_holds_or_is_to_get(play: Play) -> None:
    async def story(world: Real) -> None:
        ward, icu = await papers(world, "whose", "x")
        with pytest.raises(TimedOut):
            await ward.take(*BOTH, correlate="auto", at="bob@icu", timeout=0.5)
        await icu.out(obj("SportsCar", "x"), obj("Insurance", "i-bob"))
        found = await ward.take(*BOTH, correlate="auto", at="bob@icu", timeout=WAIT_S)
        assert found[1].args[1] == "i-bob"
        for space, paper in ((ward, "Insurance"), (icu, "Finance")):
            await space.out(obj("SportsCar", "z"), obj(paper, "zoe"), to="zoe@away")
        found = await icu.take(*BOTH, correlate="auto", dest="zoe@away", timeout=WAIT_S)
        assert [thing.args[1] for thing in found] == ["z", "zoe", "zoe"]

    play(story)


def test_4_a_reaction_fires_once_for_each_set_wherever_its_tuples_lie(play: Play) -> None:
    """Those there already, those that a later tuple completes, on one host or on two."""

    async def story(world: Real) -> None:
        ward, icu = await papers(world, "watched", "x")
        met: asyncio.Queue[Any] = asyncio.Queue()

        async def saw(found: Any, source: str, handle: Any) -> None:
            met.put_nowait((found[0].args[1], len(found.tuples)))

        handle = ward.react(BOTH, saw, correlate="auto")
        first = ward.react(BOTH, saw, mode="once", correlate="auto", key="SportsCar")
        async with asyncio.timeout(WAIT_S):
            assert [await met.get() for _ in range(2)] == [("x", 2)] * 2
            assert first.state == "removed"
            await icu.out(obj("SportsCar", "y"), obj("Insurance", "i-y"))
            await icu.out(obj("SportsCar", "y"), obj("Finance", "f-y"))
            assert await met.get() == ("y", 2)
            await ward.out(obj("SportsCar", "x"), obj("Insurance", "i-2"))
            assert await met.get() == ("x", 2), "another insurance of x is another set"
            await ward.out(obj("Car", "z"), obj("Insurance", "i"), obj("Finance", "f"))
            assert await met.get() == ("z", 1), "one that answers alone"
            handle.disable()
            handle.enable()  # it forgets, and so meets all of them again
            again = sorted([await met.get() for _ in range(4)])
            assert again == [("x", 2), ("x", 2), ("y", 2), ("z", 1)]
        handle.remove()
        plain = ward.react(("job", int), saw, correlate="auto")
        with pytest.raises(BadQuestion):
            await plain.wait_registered()

    play(story)
