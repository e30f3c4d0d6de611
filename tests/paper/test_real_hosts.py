"""Sections of three papers on two hosts that are processes of their own, through the client.

`000_…` 4.1 and 6: laws SB and CW over one governed space on both hosts. `002_…` 2.2.3 and 3.2:
where tuples are put and looked for; a producer and its consumers. `003_…` 4.1: messages to one who
moves. The simulated worlds go through the same sections case by case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from nomospace import ANY, Agent, Law, Refused, Space, laws, t
from tests.real.hosts import RealHost, caller, end, play, start

WAIT_S = 60.0
OPEN = Law.load("law(open). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver).")

Pair = tuple[RealHost, RealHost]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two hosts of one group, with stores."""
    folder = tmp_path_factory.mktemp("pair")
    ward = RealHost("ward", folder, "--insecure")
    icu = RealHost("icu", folder, "--insecure", "--join", ward.address)
    start(ward, icu)
    yield ward, icu
    end(ward, icu)


async def _under(agent: Agent, law: Law, space: str, *args: object) -> Space:
    await agent.adopt(law, *args)
    return await agent.space(space, shared=True, law=law)


def test_000_4_1_bids_are_for_their_client_and_requests_for_providers(pair: Pair) -> None:
    law = Law.load(laws.path("sb"))

    async def story() -> None:
        async with caller(pair[0], None) as here, caller(pair[1], None) as there:
            cora, eve = await here.agent("cora"), await there.agent("eve")
            market = await _under(cora, law, "market")
            spied = await _under(eve, law, "market")
            offers = await _under(await there.agent("pat"), law, "market", "serviceProvider")
            asked = (t.requester("cora@ward"), t.service("cab"))
            await market.out(*asked)
            assert await offers.read(t.requester(ANY), t.service(ANY), timeout=WAIT_S) == asked
            with pytest.raises(Refused, match="serviceProvider@CS"):
                await spied.read_nowait(t.requester(ANY), t.service(ANY))
            with pytest.raises(Refused):
                await offers.take_nowait(t.requester(ANY), t.service(ANY))
            with pytest.raises(Refused):
                await spied.out(t.requester("cora@ward"), t.service("bus"))
            bid = (t.offerFor("cora@ward", "cab"), t.fee(9), t.provider("pat@icu"), t.contact("x"))
            await offers.out(*bid)
            wanted = (t.offerFor("cora@ward", ANY), t.fee(ANY), t.provider(ANY), t.contact(ANY))
            with pytest.raises(Refused):
                await spied.take_nowait(*wanted)
            assert await market.take(*wanted, timeout=WAIT_S) == bid

    play(story())


def test_000_6_who_has_seen_one_bank_sees_no_other(pair: Pair) -> None:
    law = Law.load(laws.path("cw"))

    async def story() -> None:
        async with caller(pair[0], None) as here, caller(pair[1], None) as there:
            writer = await _under(await here.agent("wim"), law, "files")
            rival = await _under(await here.agent("rob"), law, "files")
            reader = await _under(await there.agent("ria"), law, "files")
            await writer.out(t.company("a"), t["class"]("bank"), "up")
            await rival.out(t.company("b"), t["class"]("bank"), "down")
            found = await reader.read(t.company("a"), t["class"]("bank"), ANY, timeout=WAIT_S)
            assert found[2] == "up"
            with pytest.raises(Refused, match="R1"):
                await reader.read_nowait(t.company("b"), t["class"]("bank"), ANY)
            assert await reader.read_nowait(t.company("o"), t["class"]("oil"), ANY) is None
            with pytest.raises(Refused):  # on two sides: it reads on both, and writes on neither
                await reader.out(t.company("a"), t["class"]("bank"), "sold")

    play(story())


def test_002_2_2_3_where_tuples_are_put_and_looked_for(pair: Pair) -> None:
    async def story() -> None:
        async with caller(pair[0], None) as here, caller(pair[1], None) as there:
            ann, bob = await here.agent("ann"), await there.agent("bob")
            hers = await ann.space("places", shared=True)
            his = await bob.space("places", shared=True)
            await hers.out("plain")
            await hers.out("for bob", to="bob@icu")
            assert await his.read("for bob", at="bob@icu", timeout=WAIT_S) == ("for bob",)
            assert await hers.read_nowait("for bob", at="ward") is None
            assert await his.read("plain", at="ward", timeout=WAIT_S) == ("plain",)
            assert await his.read_nowait("plain", at="icu") is None
            await hers.out("for zoe", to="zoe@icu")  # nobody of that name yet: it is misplaced
            assert await his.read_all("for zoe", at="ann@ward", dest="zoe@icu") == [("for zoe",)]
            zoe = await there.agent("zoe")
            mine = await zoe.space("places", shared=True)
            assert await mine.take("for zoe", at="zoe@icu", timeout=WAIT_S) == ("for zoe",)

    play(story())


def test_002_3_2_a_producer_and_consumers_on_both_hosts(pair: Pair) -> None:
    """Each item is consumed once, by whoever is quicker."""

    async def story() -> None:
        async with caller(pair[0], None) as here, caller(pair[1], None) as there:
            consumers = [await (await here.agent("kim")).space("work", shared=True)]
            consumers += [await (await there.agent("lou")).space("work", shared=True)]
            got: list[int] = []

            async def consume(space: Space) -> None:
                while (item := await space.take("item", int, timeout=WAIT_S))[1] >= 0:
                    got.append(item[1])

            async with asyncio.TaskGroup() as group:
                for space in consumers:
                    group.create_task(consume(space))
                work = await (await here.agent("pia")).space("work", shared=True)
                await work.out_many([("item", number) for number in range(40)])
                while len(got) < 40:
                    await asyncio.sleep(0.01)
                await work.out_many([("item", -1), ("item", -1)])
            assert sorted(got) == list(range(40))

    play(story())


def test_003_4_1_messages_find_one_who_moves(pair: Pair) -> None:
    async def story() -> None:
        async with caller(pair[0], None) as here, caller(pair[1], None) as there:
            max_, may = await here.agent("max"), await there.agent("may")
            his, hers = await max_.adopt(OPEN), await may.adopt(OPEN)
            heard: list[object] = []

            async def read() -> None:
                async for letter in his.inbox():
                    heard.append(letter.message)
                    if len(heard) == 6:
                        return

            reading = asyncio.create_task(read())
            for number in range(6):
                if number in (2, 4):
                    await max_.move(("icu", "ward")[number == 4])
                assert not (await hers.send(number, to=max_.id)).refused
            async with asyncio.timeout(WAIT_S):
                await reading
            assert heard == list(range(6))

    play(story())
