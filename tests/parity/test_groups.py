"""Hosts that are cut off and joined again, and hosts that are killed and start again."""

import asyncio

from nomospace import a, obj, t
from nomospace.meaning.ontology import Ontology, OntologyClass
from tests.parity.conftest import Play
from tests.parity.worlds import WAIT_S, World, see, until


def test_a_group_parts_and_merges(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward", "icu", "lab")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        mine, theirs = await ann.space("jobs", shared=True), await bob.space("jobs", shared=True)
        cid = await world.agent("cid", "lab")
        # All have the whole group: who is cut off in the middle of joining takes longer to part.
        for agent, others in (
            (ann, ("icu", "lab")),
            (bob, ("ward", "lab")),
            (cid, ("ward", "icu")),
        ):
            for host in others:
                await see(agent, host)
        await world.cut_off("icu")
        await see(ann, "icu", "departed")
        await see(bob, "ward", "departed")
        assert await ann.system.read_nowait("host", "lab", "connected") is not None
        await mine.out("job", 1)
        await mine.out("for bob", 1, to="bob@icu")
        assert await theirs.read_nowait("job", int) is None
        await world.join("icu")
        assert await theirs.take("job", int, timeout=WAIT_S) == ("job", 1)
        assert await theirs.take("for bob", int, at="bob@icu", timeout=WAIT_S) == ("for bob", 1)

    play(story)


def test_what_was_acknowledged_outlives_the_host(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        nurse = await world.agent("nurse", "ward")
        jobs = await nurse.space("jobs", shared=True)
        notes = await nurse.space("notes", durable=False)
        for number in range(20):
            await jobs.out("job", number, t.room(number))
        for number in range(0, 20, 2):
            await jobs.take("job", number, t.room(number), timeout=WAIT_S)
        await notes.out("note", 1)
        await world.kill("ward")
        await world.start("ward")
        nurse = await world.agent("nurse", "ward")
        jobs = await nurse.space("jobs", shared=True)
        notes = await nurse.space("notes", durable=False)
        left = await jobs.read_all("job", int, t.room(int))
        assert sorted(found[1] for found in left) == list(range(1, 20, 2))
        assert await notes.read_nowait("note", int) is None

    play(story)


def test_a_host_that_was_killed_comes_back_to_its_group(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward", "icu")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        mine = await ann.space("jobs", shared=True)
        theirs = await bob.space("jobs", shared=True)
        await see(bob, "ward")
        await mine.out("job", 1)
        await world.kill("ward")
        await see(bob, "ward", "departed")
        assert await theirs.read_nowait("job", int) is None
        await world.start("ward")
        await see(bob, "ward")
        assert await theirs.take("job", int, timeout=WAIT_S) == ("job", 1)

        async def none_left() -> bool:
            again = await (await world.agent("ann", "ward")).space("jobs", shared=True)
            return await again.read_nowait("job", int) is None

        await until(none_left)

    play(story)


def test_tuples_of_several_hosts_answer_together(play: Play) -> None:
    cars = Ontology("cars", [OntologyClass(name) for name in ("Car", "Insurance", "Finance")])
    wanted = (a("Car"), a("Insurance"), a("Finance"))

    async def story(world: World) -> None:
        await world.start("ward", "icu", "lab")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        cid = await world.agent("cid", "lab")
        mine, yours, theirs = [
            await one.space("sales", shared=True, ontology=cars) for one in (ann, bob, cid)
        ]
        for host in ("icu", "lab"):
            await see(ann, host)
        waiting = asyncio.ensure_future(mine.take(*wanted, correlate="auto", timeout=WAIT_S))
        await yours.out(obj("Car", "x"), obj("Insurance", "i"))
        await theirs.out(obj("Car", "y"), obj("Finance", "g"))
        assert not waiting.done()
        await theirs.out(obj("Car", "x"), obj("Finance", "f"))
        found = await waiting
        assert tuple(found) == (obj("Car", "x"), obj("Insurance", "i"), obj("Finance", "f"))
        assert len(found.tuples) == 2
        assert await yours.read_nowait(a("Car")) is None
        left = await theirs.read_all(a("Car"))
        assert [tuple(one) for one in left] == [(obj("Car", "y"), obj("Finance", "g"))]

    play(story)
