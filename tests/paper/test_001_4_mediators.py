"""`001_…` 2 and 4: mediators of two kinds under law AP, unchanged, one and several at a time.

Point 2 of the policy: only certified mediators mediate. Points 3 and 4: who may receive and raise
what is decided by the law, at the edge; the mediator only matches attributes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import nomospace as ns
from nomospace.node.services import mediators
from nomospace.node.services.mediators import NatsAway, NatsMediator, SpaceMediator, WeakKey
from nomospace.terms import show, term
from tests.paper import stories
from tests.paper.hospital import LAW, WAIT_S, Ward, publish
from tests.servers import NatsServer, nats_server

KEY = b"shared by all mediators"
Story = Callable[[Ward], Coroutine[Any, Any, None]]
Mediate = Callable[[Ward, str], Coroutine[Any, Any, SpaceMediator]]


async def on_a_space(ward: Ward, name: str) -> SpaceMediator:
    space = await ward.agents[name].space("alarms", shared=True)
    return SpaceMediator(ward.members[name], space)


def before(nats: NatsServer) -> Mediate:
    async def mediate(ward: Ward, name: str) -> SpaceMediator:
        space = await ward.agents[name].space(f"{name}-alarms", shared=True)
        return NatsMediator(ward.members[name], space, nats.url, key=KEY)

    return mediate


@asynccontextmanager
async def ward_with(mediate: Mediate, *mediators: str) -> AsyncIterator[Ward]:
    """Two hosts, and a mediator on each that is named `name` at host `name`."""
    network = ns.Network()
    names = ("hall", *mediators)
    network.connect_all(*names)
    async with AsyncExitStack() as stack:
        hosts = {
            name: await stack.enter_async_context(ns.Host(name, network=network)) for name in names
        }
        for name in mediators:
            await hosts["hall"].wait_engaged(name, timeout=WAIT_S)
        ward = Ward(hosts, lambda name: name if name in mediators else "hall")
        for name in mediators:
            await ward.join(name, "mediator")
            mediator = await mediate(ward, name)
            ward.mediators[name] = await stack.enter_async_context(mediator)
        yield ward


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(program, 60))


@pytest.fixture(scope="module")
def nats() -> Any:
    with nats_server() as server:
        yield server


@pytest.fixture(params=["space", "nats"])
def mediate(request: pytest.FixtureRequest) -> Mediate:
    if request.param == "space":
        return on_a_space
    return before(request.getfixturevalue("nats"))


@pytest.mark.parametrize(
    "story",
    [
        stories.points_2_to_4,
        stories.attributes_must_all_be_equal,
        stories.an_inspector_is_subscribed_by_its_appointment,
    ],
    ids=lambda story: story.__name__,
)
def test_under_law_ap_end_to_end(mediate: Mediate, story: Story) -> None:
    async def program() -> None:
        async with ward_with(mediate, "med") as ward:
            await story(ward)

    run(program())


def test_who_is_no_mediator_mediates_nothing(mediate: Mediate) -> None:
    """Point 2: a mediator without a certificate is told nothing, and can notify nobody."""

    async def program() -> None:
        async with ward_with(mediate, "med") as ward:
            fake = await ward.join("fake")
            await ward.join("lea")
            await ward.join("fay", "expert(fire)")
            async with await mediate(ward, "fake") as mediator:
                await ward.send("lea", "subscribe(alarm([kind(fire)]))", to="fake")
                await ward.send("fay", publish("fire", "sparks"), to="fake")
                forged = await fake.send(
                    "notify(alarm(kind(fire),time(0),informer(x),status(expert),text(run)))",
                    to=ward.id("lea"),
                )
                assert forged.refused
                await ward.settled("lea", "fire", "med")  # all of the above has happened
                assert mediator.received == 0

    run(program())


def test_several_mediators_at_once(mediate: Mediate) -> None:
    async def program() -> None:
        async with ward_with(mediate, "med1", "med2") as ward:
            await stories.subscribe_at_one_and_publish_at_the_other(ward)

    run(program())


# -- the space, and the server, of their own -------------------------------------------------


def test_a_mediator_that_starts_again_knows_its_subscriptions() -> None:
    """Subscriptions and publications are tuples: they outlive the mediator, and its host."""

    async def program() -> None:
        store = ns.MemoryStore()
        for life in (1, 2):
            async with ns.Host("hall", store=store, laws=[LAW]) as host:
                ward = Ward({"hall": host}, lambda _: "hall")
                if life == 1:
                    await ward.join("med", "mediator")
                    await ward.join("lea")
                    async with await on_a_space(ward, "med"):
                        await ward.settled("lea", "fire", "med")
                        await ward.join("fay", "expert(fire)")
                    # Nobody mediates now: what is published waits.
                    space = await ward.agents["med"].space("alarms", shared=True)
                    await space.out("publication", term("alarm(kind(fire),text(late))"))
                else:
                    for name in ("med", "lea"):
                        ward.agents[name] = await host.agent(name)
                        ward.members[name] = ward.agents[name].resume(LAW)
                    async with await on_a_space(ward, "med") as mediator:
                        async with asyncio.timeout(WAIT_S):
                            while not mediator.passed_on:
                                await asyncio.sleep(0.01)
                        assert "1 subscriptions" in repr(mediator)

    run(program())


def test_a_nats_server_that_restarts_loses_no_publication_that_waits() -> None:
    async def program(server: NatsServer) -> None:
        mediate = before(server)
        async with ward_with(mediate, "med") as ward:
            await ward.join("fay", "expert(fire)")
            await ward.settled("fay", "fire", "med")
            await asyncio.to_thread(server.stop)
            for number in range(3):
                await ward.send("fay", publish("fire", f"n({number})"), to="med")
            await asyncio.sleep(0.3)
            assert ward.members["fay"].receive_nowait() is None
            await asyncio.to_thread(server.start)
            heard = {show((await ward.alarm("fay"))[2]) for _ in range(3)}
            assert heard == {"n(0)", "n(1)", "n(2)"}

    with nats_server() as server:
        run(program(server))


def test_what_is_on_nats_without_the_mediators_mark_is_dropped(nats: NatsServer) -> None:
    """Whoever can write to the server cannot publish: the law would not have been asked."""

    async def program() -> None:
        import msgspec
        import nats as client_of

        async with ward_with(before(nats), "med") as ward:
            await ward.join("fay", "expert(fire)")
            await ward.settled("fay", "fire", "med")
            outsider = await client_of.connect(nats.url)
            text = "alarm(kind(fire),time(0),informer(x),status(expert),text(run))"
            for payload in (b"", b"\xff" * 50, msgspec.msgpack.encode(["1", text, b"0" * 32])):
                await outsider.publish("nomospace.alarm.fire", payload)
            await outsider.flush(5)
            await outsider.close()
            await ward.send("fay", publish("fire", "sparks"), to="med")
            assert (await ward.alarm("fay"))[2] == "sparks"
            mediator = ward.mediators["med"]
            assert isinstance(mediator, NatsMediator)
            assert mediator.dropped == 3

    run(program())


def test_a_server_that_is_not_there_and_a_key_that_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mediators, "CONNECT_S", 0.2)

    async def program() -> None:
        async with ns.Host("hall") as host:
            ward = Ward({"hall": host}, lambda _: "hall")
            member = await ward.join("med", "mediator")
            space = await ward.agents["med"].space("alarms", shared=True)
            with pytest.raises(WeakKey):
                NatsMediator(member, space, "nats://127.0.0.1:1", key=b"short")
            with pytest.raises(NatsAway):
                async with NatsMediator(member, space, "nats://127.0.0.1:1", key=KEY):
                    pass

    run(program())
