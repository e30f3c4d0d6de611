"""A host in another process, as a client sees it: real sockets, cut wherever it hurts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

import nomospace as ns
from nomospace import ANY
from nomospace.calls.problems import InDoubt, NotAnOperator, NotLetIn, NotOpen, NotYourAgent
from nomospace.calls.requests import Settle, Share
from nomospace.client import Agent, Closed, NotYetKnown, Space, TimedOut
from nomospace.client.dialling import BadUrl, NoTrust, Unreachable
from nomospace.client.remote import RemoteAgent, connect
from nomospace.client.session_driver import MovedOn
from nomospace.host.shares import Shares
from nomospace.node.principals import OpenDoor, Principal
from nomospace.store.memory import MemoryStore
from nomospace.wire import calls
from nomospace.wire.admin import Where, WhereLine
from nomospace.wire.calls import BadCall, StaysAtHome
from tests.ports import free_port
from tests.serving import ServedHost, serve
from tests.unit.client.scene import ECHO, ONCE, Scene, in_scene, until

# -- the whole API -------------------------------------------------------------------------------


@pytest.mark.usefixtures("born_alike")
def test_everything_that_an_agent_does_works_from_afar() -> None:
    async def program(scene: Scene) -> None:
        nurse = await scene.far.agent("nurse")
        assert nurse.id == "nurse@ward"
        assert await scene.far.agent("nurse") is nurse
        jobs = await nurse.space("jobs", shared=True)
        assert jobs.shared
        await jobs.out("job", 17, ns.t.room(3), 2.5, b"\0", None, True, 10**30, ("a", ()))
        found = await jobs.take("job", int, ANY, ANY, ANY, ANY, ANY, ANY, ANY)
        assert found.id == ("nurse@ward", 1)
        assert found == ("job", 17, ns.t.room(3), 2.5, b"\0", None, True, 10**30, ("a", ()))
        await jobs.out_many([("n", number) for number in range(3)])
        assert await jobs.read("n", 2) == ("n", 2)
        assert await jobs.read_nowait("n", ns.between(1, 1)) == ("n", 1)
        assert await jobs.take_nowait("n", 7) is None
        assert await jobs.take_all("n", int) == [("n", 0), ("n", 1), ("n", 2)]
        assert await jobs.read_all("n", int) == []
        with pytest.raises(TimedOut):
            await jobs.take("n", int, timeout=0.01)
        await jobs.out("offer", 40, to="porter@ward", ttl=60)
        assert await jobs.read_all("offer", int, dest="porter@ward") == [("offer", 40)]
        await jobs.out("job", 18)
        async with jobs.take("job", int, lease=30) as job:
            assert job.deliveries == 1
        await jobs.out("job", 19)
        with pytest.raises(RuntimeError):
            async with jobs.take("job", int, lease=30):
                raise RuntimeError
        assert (await jobs.take("job", 19, lease=30)).deliveries == 2
        notes = await nurse.space("notes")
        await nurse.share(notes)
        await nurse.unshare(notes, jobs)
        with pytest.raises(ns.PrivateSpace):
            await jobs.take("job")
        with pytest.raises(NotOpen):
            await Space("nowhere", nurse._connection, shared=True).out("x")
        assert await nurse.system.read("host", "ward", "connected")

    in_scene(program)


def test_reactions_from_afar_fire_sleep_wake_and_go() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        seen: list[ns.Tuple] = []
        alarms = jobs.react(("alarm", ANY), lambda alarm, source, handle: seen.append(alarm))
        once = jobs.react(("job", int), lambda job, source, handle: seen.append(job), mode="once")
        await jobs.out("alarm", "fire")
        await jobs.out_many([("job", 1), ("job", 2)])
        await alarms.wait_fired()
        await once.wait_fired()
        assert [one[0] for one in seen] == ["alarm", "job"]
        assert once.state == "removed"
        alarms.disable()
        await jobs.out("alarm", "smoke")
        alarms.enable()
        await alarms.wait_fired(3)
        assert sorted(one[1] for one in seen if one[0] == "alarm") == ["fire", "fire", "smoke"]
        alarms.remove()
        await jobs.out("alarm", "late")
        assert await jobs.read_nowait("alarm", "late")
        assert alarms.fired == 3
        with pytest.raises(StaysAtHome, match="does not travel"):
            jobs.react(("job", int), print, strength="strong", at="ward")
        assert jobs.reactions() == []

    in_scene(program)


def test_laws_rule_over_agents_that_are_elsewhere() -> None:
    async def program(scene: Scene) -> None:
        nurse, porter = await scene.far.agent("nurse"), await scene.far.agent("porter")
        hers, his = await nurse.adopt(ECHO), await porter.adopt(ECHO)
        ruling = await hers.send("say(hello)", to="porter@ward")
        assert "forward" in str(ruling.operations)
        letter = await anext(his.inbox())
        assert (letter.sender, letter.message) == ("nurse@ward", ns.t.say("hello"))
        board = await nurse.space("board", shared=True, law=ECHO)
        await board.out("notice", 1)
        assert await board.read("notice", int) == ("notice", 1)
        # Another program takes the same agent up: its membership, and its mail, are there.
        async with connect(scene.url, alongside=True) as again:
            same = await again.agent("porter")
            membership = same.membership(ECHO)
            assert membership is not None
            await hers.send("say(twice)", to="porter@ward")
            assert (await anext(membership.inbox())).message == ns.t.say("twice")
        assert (await anext(his.inbox())).message == ns.t.say("twice")

    in_scene(program)


def knows(agent: Agent, who: str) -> bool:
    try:
        agent.connected(who)
    except NotYetKnown:
        return False
    return True


def test_whether_another_is_connected_is_known_soon_after_it_is_asked() -> None:
    async def program(scene: Scene) -> None:
        nurse = await scene.far.agent("nurse")
        assert nurse.connected("nurse@ward")
        assert nurse.connected("ward")
        for who in ("porter@ward", "icu"):
            with pytest.raises(NotYetKnown):
                nurse.connected(who)
        await until(lambda: knows(nurse, "porter@ward") and knows(nurse, "icu"))
        assert not nurse.connected("porter@ward")
        await scene.far.agent("porter")
        await until(lambda: nurse.connected("porter@ward"))
        assert not nurse.connected("icu")

    in_scene(program)


# -- hosts that die ------------------------------------------------------------------------------


def test_a_killed_host_loses_and_doubles_nothing_that_it_had_written_down() -> None:
    disk = MemoryStore()

    async def life(port: int, program: Callable[[ServedHost], Awaitable[None]]) -> None:
        host = ServedHost("ward", store=disk)
        async with host, serve(host, port):
            await program(host)
            host.kill()

    async def play() -> None:
        found: dict[str, Any] = {}
        fired: list[int] = []

        async def first(host: ServedHost) -> None:
            far = found["far"] = connect(found["url"], reconnect_s=60)
            jobs = found["jobs"] = await (await far.agent("nurse")).space("jobs", shared=True)
            await jobs.out_many([("job", number) for number in range(3)])
            jobs.react(("alarm", int), lambda one, source, handle: fired.append(one[1]))
            assert await jobs.take("job", 0) == ("job", 0)
            nurse = await far.agent("nurse")
            await nurse.adopt(ECHO)
            board = found["board"] = await nurse.space("board", shared=True, law=ECHO)
            host.mute = True  # from here on: on disk, and never sent
            board.react(("notice", int), lambda one, source, handle: fired.append(one[1]))
            found["calls"] = [
                asyncio.create_task(jobs.take("job", 1)),
                asyncio.create_task(jobs.out("job", 3)),
                asyncio.create_task(jobs.take("job", 7)),
            ]
            await asyncio.sleep(0.05)
            assert not any(call.done() for call in found["calls"])

        async def second(host: ServedHost) -> None:
            jobs = found["jobs"]
            assert await found["calls"][0] == ("job", 1)
            await found["calls"][1]
            await jobs.out("job", 7)
            assert await found["calls"][2] == ("job", 7)
            assert await jobs.read_all("job", int) == [("job", 2), ("job", 3)]
            await jobs.out("alarm", 5)
            await until(lambda: fired == [5])
            await found["board"].out("notice", 6)
            await until(lambda: fired == [5, 6])
            await found["far"].close()
            await until(lambda: not host.served.all)
            assert not disk.begin().outbox

        port = free_port()
        found["url"] = f"nomos+plain://127.0.0.1:{port}"
        async with asyncio.timeout(120):
            await life(port, first)
            await life(port, second)

    asyncio.run(play())


def test_a_word_on_a_lease_is_in_doubt_when_its_answer_dies_with_the_host() -> None:
    async def play() -> None:
        net, disk, port = ns.Network(), MemoryStore(), free_port()
        net.connect("ward", "icu")
        async with ServedHost("icu", network=net) as icu:
            theirs = await (await icu.agent("clerk")).space("jobs", shared=True)
            await theirs.out("job", 1)
            ward = ServedHost("ward", network=net, store=disk)
            async with ward, serve(ward, port) as url:
                await ward.wait_engaged("icu", timeout=60)
                far = connect(url, reconnect_s=60)
                jobs = await (await far.agent("nurse")).space("jobs", shared=True)
                job = await jobs.take("job", int, lease=60)
                ward.mute = True
                word = asyncio.create_task(jobs.acknowledge(job))
                await asyncio.sleep(0.05)
                ward.kill()
            net.part("ward", "icu")
            ward = ServedHost("ward", network=net, store=disk, shares=Shares(lease_word_s=1))
            async with ward, serve(ward, port):
                with pytest.raises(InDoubt):
                    await word
                net.connect("ward", "icu")
                await ward.wait_engaged("icu", timeout=60)
                await jobs.acknowledge(job)  # the lender knows that it counted
                assert await theirs.read_nowait("job", int) is None
                await far.close()

    async def bounded() -> None:
        async with asyncio.timeout(120):
            await play()

    asyncio.run(bounded())


def test_mail_that_comes_while_nobody_is_connected_is_kept() -> None:
    async def program(scene: Scene) -> None:
        nurse = await scene.far.agent("nurse")
        hers = await nurse.adopt(ECHO)
        clerk = await scene.host.agent("clerk")
        his = await clerk.adopt(ECHO)
        await scene.part()
        for number in range(3):
            await his.send(ns.t.say(number), to="nurse@ward")
        scene.proxy.closed = False
        inbox = hers.inbox()
        assert [(await anext(inbox)).message for _ in range(3)] == [ns.t.say(n) for n in range(3)]

    in_scene(program)


def test_adopting_again_finds_the_membership_and_its_mail() -> None:
    async def program(scene: Scene) -> None:
        clerk = await scene.host.agent("clerk")
        his = await clerk.adopt(ONCE)
        assert await clerk.adopt(ONCE) is his
        async with connect(scene.url) as first:
            hers = await (await first.agent("nurse")).adopt(ONCE)
            assert hers.ruling is not None
            assert hers.ruling.rule == "R1"
            await hers.send("say(1)", to="clerk@ward")  # uses her one slot up
        await his.send("say(2)", to="nurse@ward")  # while no program of hers is there
        async with connect(scene.url) as later:
            nurse = await later.agent("nurse")
            same = await nurse.adopt(ONCE)
            assert same.ruling is None
            assert same is await nurse.adopt(ONCE)
            assert (await anext(same.inbox())).message == ns.t.say(2)
            assert (await same.send("say(3)", to="clerk@ward")).refused

    in_scene(program)


# -- who may come in -----------------------------------------------------------------------------


class Porter(OpenDoor):
    """Lets in who has the word: the nurse, or an operator."""

    def nobody(self) -> Principal:
        raise NotLetIn(why="it showed nothing")

    def by_token(self, token: str) -> Principal:
        if token == "operator":
            return Principal("the operator", operator=True)
        if token != "nurse":
            raise NotLetIn(why="its token is not known")
        return Principal("nurse@ward", agents=("nurse@ward",))


def test_nobody_comes_in_without_proof_nor_as_somebody_else() -> None:
    async def program(scene: Scene) -> None:
        for token, agent, error in (
            ("", "nurse", NotLetIn),
            ("guess", "nurse", NotLetIn),
            ("nurse", "porter", NotYourAgent),
            ("nurse", "nurse@icu", NotYourAgent),
        ):
            async with connect(scene.url, token=token) as far:
                with pytest.raises(error):
                    await far.agent(agent)
                assert scene.host.notes[-1][0] == "client-refused"
                assert scene.host.notes[-1][1]["code"] == error.code
        assert not scene.host.served.all
        assert scene.host._running().agents == ()
        async with connect(scene.url, token="nurse") as far:
            nurse = await far.agent()
            assert nurse.id == "nurse@ward"
            with pytest.raises(NotAnOperator):
                await far.ask(Where("nurse@ward"))
            with pytest.raises(NotAnOperator):
                await (await nurse.space("jobs")).tell("nurse@ward", "changeDelay(0)")
        async with connect(scene.url, token="operator") as far:
            with pytest.raises(NotYourAgent):
                await far.agent("nurse")
            scene.host.clients.answers = lambda question: WhereLine("nurse@ward", "ward", True)
            assert await far.ask(Where("nurse@ward")) == WhereLine("nurse@ward", "ward", True)

    in_scene(program, door=Porter())


def test_a_call_with_a_part_of_a_wrong_type_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the client before it travels, and by the host on a connection that goes on."""

    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        connection = jobs._connection
        wrong = Settle(cast("str", 7), "l1", done=True)
        with pytest.raises(BadCall, match="its space is of type int, and str is wanted"):
            await connection.ask(wrong)
        monkeypatch.setattr(calls, "_simple_parts", lambda kind: ())
        for mistaken in (wrong, Share(("jobs",), shared=cast("bool", "yes"))):
            with pytest.raises(BadCall, match="Expected"):
                await connection.ask(mistaken)
        with pytest.raises(BadCall, match="another kind"):
            await connection.out(cast("str", 7), ("job", 1), "", 0)
        await jobs.out("job", 1)
        assert await jobs.take("job", int) == ("job", 1)
        assert not scene.host.notes

    in_scene(program)


def test_garbage_costs_its_own_connection_only() -> None:
    async def program(scene: Scene) -> None:
        jobs = await scene.jobs()
        port = int(scene.url.rpartition(":")[2])
        preface = b"\0\0\0\x0enomos-client/1"
        chance = random.Random(5)
        for said in (
            b"\xff\xff\xff\xff" + b"x" * 100,
            b"\0\0\0\3\xc1\xc1\xc1",
            b"\0\0\0\1\x90",
            b"\0\0\0\2\x91\x05",
            chance.randbytes(5000),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(preface + said)
            await writer.drain()
            async with asyncio.timeout(120):
                assert await reader.read() == b""
            writer.close()
            await jobs.out("job", 1)
            assert await jobs.take("job", int) == ("job", 1)
        assert {what for what, _ in scene.host.notes} == {"bad-frame"}
        assert len(scene.host.notes) == 5

    in_scene(program)


def test_addresses_and_trust_are_checked_before_anything_is_sent() -> None:
    for url in (
        "ward:7411",
        "http://ward",
        "nomos://",
        "nomos://a/b/c",
        "nomos+plain://10.0.0.1:1",
    ):
        with pytest.raises(BadUrl):
            connect(url)

    async def program() -> None:
        async with connect("nomos://127.0.0.1:1") as far:
            with pytest.raises(NoTrust):
                await far.agent("nurse")
        async with connect("nomos+plain://127.0.0.1:1", connect_s=0) as far:
            with pytest.raises(Unreachable):
                await far.agent("nurse")
        with pytest.raises(Closed):
            await far.agent("nurse")

    asyncio.run(program())


# -- moving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_client_follows_its_agent_to_another_host(known: bool) -> None:
    async def play() -> None:
        net = ns.Network()
        net.connect("ward", "icu")
        ward, icu = ServedHost("ward", network=net), ServedHost("icu", network=net)
        async with ward, icu, serve(ward) as url, serve(icu) as other:
            await ward.wait_engaged("icu", timeout=60)
            if known:
                ward.addresses["icu"] = other.rpartition("/")[2]
            async with connect(url, on_report=lambda report: None) as far:
                nurse = await far.agent("nurse")
                assert isinstance(nurse, RemoteAgent)
                jobs = await nurse.space("jobs", shared=True)
                notes = await nurse.space("notes")
                await notes.out("note", 1)
                fired: list[ns.Tuple] = []
                jobs.react(("alarm", ANY), lambda one, source, handle: fired.append(one))
                waiting = asyncio.create_task(jobs.take("job", int))
                if not known:
                    with pytest.raises(MovedOn, match="connect there"):
                        await nurse.move("icu")
                    with pytest.raises(MovedOn):
                        await waiting
                    return
                await nurse.move("icu")
                assert nurse.host == "icu"
                assert nurse.id == "nurse@ward"
                assert await notes.take_nowait("note", int) == ("note", 1)
                await jobs.out("alarm", "fire")
                await until(lambda: fired == [("alarm", "fire")])
                clerk = await ward.agent("clerk")
                await (await clerk.space("jobs", shared=True)).out("job", 1)
                assert await waiting == ("job", 1)
                await nurse.move("icu")  # where it is
                await jobs.out("job", 2)

    async def bounded() -> None:
        async with asyncio.timeout(120):
            await play()

    asyncio.run(bounded())
