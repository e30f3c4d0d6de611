"""Programs on hosts of a process: launched, moved, refused, brought in bundles, begun again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from nomospace import sync
from nomospace.calls.problems import AgentAway, MoveRefused, NoSuchProgram, RunsAlready
from nomospace.client import BadState, Closed, Program, Report, program
from nomospace.client.program import registered
from nomospace.law import load
from nomospace.node import Host, MemoryStore, Network
from nomospace.node.local import LEAVE_S
from nomospace.terms import t
from nomospace.trust.bundles import PublisherKey, UnknownPublisher, make_bundle
from nomospace_lab.testing.loop import run

POST = load(
    "law(post). initialCS([]). R1. sent(_, _, _) :- do(forward). "
    "R2. arrived(_, _, _) :- do(deliver).",
    "post.law",
)


class Trip(msgspec.Struct):
    stops: list[str] = []
    log: list[str] = []


@program("node-walker")
class Walker(Program[Trip]):
    """Goes from stop to stop and stays at the last; what refuses it is logged."""

    async def run(self) -> None:
        self.state.log.append(self.host)
        while self.state.stops:
            to = self.state.stops.pop(0)
            try:
                await self.move(to)
            except MoveRefused as error:
                self.state.log.append(error.why)
        notes = await self.agent.space("notes")
        await notes.out("log", len(self.state.log))
        await asyncio.Event().wait()


@program("node-failing")
class Failing(Program[Trip]):
    async def run(self) -> None:
        await self.agent.space("notes")
        raise ValueError("out of petrol")


@program("node-short")
class Short(Program[Trip]):
    async def run(self) -> None:
        await (await self.agent.space("notes")).out("been", 1)


def on(
    *hosts: Host, net: Network, main: Callable[[], Coroutine[Any, Any, None]], seconds: float = 600
) -> None:
    """Run a test on linked hosts in virtual time."""

    async def body() -> None:
        net.connect_all(*hosts)
        async with AsyncExitStack() as stack:
            for host in hosts:
                await stack.enter_async_context(host)
            for host in hosts:
                await host.wait_engaged(*[other.name for other in hosts], timeout=60)
            await main()

    run(body(), seconds_max=seconds)


def pair(**options: Any) -> tuple[Network, Host, Host]:
    net = Network(delay=0.01)
    one = Host("rome", network=net, epoch_us=10**15)
    return net, one, Host("oslo", network=net, epoch_us=10**15, **options)


async def settled(host: Host, agent: str, *, within: float = 60) -> Program[Any]:
    """The program of an agent, once it is at work here."""
    async with asyncio.timeout(within):
        while agent not in host.running:
            await asyncio.sleep(0.1)
    await asyncio.sleep(1)
    return host.running[agent]


# -- moving ----------------------------------------------------------------------------------------


def test_a_program_goes_and_its_agent_goes_with_it() -> None:
    net, rome, oslo = pair()

    async def main() -> None:
        bob = await rome.agent("bob")
        notes = await bob.space("notes")
        await notes.out("kept", 1)
        first = await rome.launch("node-walker", name="bob", state=Trip(["oslo"]))
        assert rome.running == {"bob@rome": first}
        now = await settled(oslo, "bob@rome")
        assert (now.state.log, now.host, now.origin) == (["rome", "oslo"], "oslo", "rome")
        assert not rome.running
        notes = await now.agent.space("notes")
        assert await notes.read_all(str, int) == [("kept", 1), ("log", 2)]
        with pytest.raises(Closed):
            await first.agent.space("notes")
        with pytest.raises(AgentAway, match="bob@rome has left rome"):
            await rome.agent("bob")
        with pytest.raises(AgentAway):
            await rome.launch("node-walker", name="bob")

    on(rome, oslo, net=net, main=main)


def test_a_program_comes_home_and_can_be_held_there_again() -> None:
    net, rome, oslo = pair()

    async def main() -> None:
        await rome.launch("node-walker", name="bob", state=Trip(["oslo", "rome", "oslo", "rome"]))
        async with asyncio.timeout(60):
            while len((await settled(rome, "bob@rome")).state.log) < 5:
                await asyncio.sleep(0.5)
        bob = await rome.agent("bob")
        notes = await bob.space("notes")
        assert await notes.read_all("log", int) == [("log", 5)]

    on(rome, oslo, net=net, main=main)


def test_unread_mail_goes_along() -> None:
    net, rome, oslo = pair()

    async def main() -> None:
        bob = await rome.agent("bob")
        mine = await bob.adopt(POST)
        ann = await (await rome.agent("ann")).adopt(POST)
        for n in range(3):
            await ann.send(t.note(n), to="bob@rome")
        first = mine.receive_nowait()
        assert first is not None
        assert first.message == t.note(0)
        await rome.launch("node-walker", name="bob", state=Trip(["oslo"]))
        for n in range(3, 6):  # while it is on its way
            await ann.send(t.note(n), to="bob@rome")
            await asyncio.sleep(0.01)
        now = await settled(oslo, "bob@rome")
        there = now.agent.membership(POST)
        assert there is not None
        got = [there.receive_nowait() for _ in range(5)]
        assert [letter.message for letter in got if letter] == [t.note(n) for n in range(1, 6)]
        assert {letter.sender for letter in got if letter} == {"ann@rome"}
        assert (there.receive_nowait(), mine.receive_nowait()) == (None, None)

    on(rome, oslo, net=net, main=main)


def test_the_calls_of_two_hosts_never_have_one_number() -> None:
    firsts = {Host(f"h{n}")._local.number for n in range(100)}
    assert len(firsts) == 100
    gaps = sorted(firsts)
    assert all(b - a >= 1 << 32 for a, b in pairwise(gaps))
    assert 0 <= gaps[0] <= gaps[-1] < 1 << 63


# -- what may run ----------------------------------------------------------------------------------


def test_a_host_runs_what_it_is_allowed_to() -> None:
    net, rome, oslo = pair(programs=["node-short", "never heard of"])

    async def main() -> None:
        assert oslo.programs == ("node-short",)
        assert {"node-short", "node-walker"} <= set(rome.programs)
        bob = await rome.launch("node-walker", name="bob", state=Trip(["oslo"]))
        await asyncio.sleep(1)
        assert bob.state.log == [
            "rome",
            (
                "host oslo does not run program 'node-walker': it is not registered here, or not "
                "allowed, and no bundle came with it"
            ),
        ]
        with pytest.raises(NoSuchProgram):
            await oslo.launch("node-walker", name="eve")
        with pytest.raises(NoSuchProgram):
            await rome.launch("no such thing", name="eve")

    on(rome, oslo, net=net, main=main)


def test_what_a_launch_is_told() -> None:
    async def main() -> None:
        async with Host("rome") as rome:
            with pytest.raises(BadState, match="it is a dict; give a Trip"):
                await rome.launch("node-walker", name="bob", state={"stops": []})
            await rome.launch("node-walker", name="bob")
            with pytest.raises(RunsAlready, match="bob@rome runs program 'node-walker'"):
                await rome.launch("node-short", name="bob")
        with pytest.raises(Closed):
            await rome.launch("node-walker", name="eve")

    run(main())


def test_two_launches_at_once_are_one() -> None:
    async def main() -> None:
        async with Host("rome") as rome:
            both = await asyncio.gather(
                rome.launch("node-walker", name="bob"),
                rome.launch("node-short", name="bob"),
                return_exceptions=True,
            )
            assert [type(one).__name__ for one in both] == ["Walker", "RunsAlready"]

    run(main())


# -- lives -----------------------------------------------------------------------------------------


def test_a_program_begins_again_with_its_host_and_not_when_it_is_over() -> None:
    store = MemoryStore()

    async def main() -> None:
        async with Host("rome", store=store) as rome:
            await rome.launch("node-walker", name="bob", state=Trip([], ["before"]))
            await rome.launch("node-short", name="eve")
            await asyncio.sleep(0)
            assert list(rome.running) == ["bob@rome"]
        assert not rome.running
        async with Host("rome", store=store) as rome:
            await asyncio.sleep(0)
            assert rome.running["bob@rome"].state.log == ["before", "rome"]
            assert list(rome.running) == ["bob@rome"]
            notes = await (await rome.agent("eve")).space("notes")
            assert await notes.read_all("been", int) == [("been", 1)]

    run(main())


def test_one_that_cannot_begin_is_reported_and_kept() -> None:
    store = MemoryStore()
    reports: list[Report] = []

    async def main() -> None:
        async with Host("rome", store=store) as rome:
            await rome.launch("node-walker", name="bob")
        async with Host("rome", store=store, programs=[], on_report=reports.append) as rome:
            assert not rome.running
        assert [report.what for report in reports] == ["a program could not begin"]
        async with Host("rome", store=store) as rome:
            assert list(rome.running) == ["bob@rome"]

    run(main())


class Touchy(msgspec.Struct):
    here: bool = True

    def __post_init__(self) -> None:
        if not self.here:
            raise KeyError("not here")


@program("node-touchy")
class TouchyProgram(Program[Touchy]):
    born = 0

    def __init__(self) -> None:
        TouchyProgram.born += 1
        if TouchyProgram.born == 2:
            raise OSError("no second of me")

    async def run(self) -> None:
        await self.move("oslo")


def test_an_authors_code_that_raises_where_it_comes_to_does_not_harm_the_host() -> None:
    reports: list[Report] = []
    net, rome, oslo = pair(on_report=reports.append)

    async def main() -> None:
        await rome.launch("node-touchy", name="bob")
        await asyncio.sleep(5)
        (report,) = reports
        assert str(report) == (
            "a program could not begin (agent 'bob@rome', program 'node-touchy'): "
            "OSError: no second of me"
        )
        assert "KeyError: 'not here'" in oslo.stage.reads(
            "node-touchy", None, msgspec.msgpack.encode({"here": False})
        )
        assert oslo.view.members == rome.view.members

    TouchyProgram.born = 0
    on(rome, oslo, net=net, main=main)


def test_one_that_raises_is_reported_and_begins_again_with_its_host() -> None:
    store = MemoryStore()
    reports: list[Report] = []

    async def main() -> None:
        for _ in range(2):
            async with Host("rome", store=store, on_report=reports.append) as rome:
                if not reports:
                    await rome.launch("node-failing", name="bob")
                await asyncio.sleep(0)
                assert not rome.running

    run(main())
    assert [str(report) for report in reports] == [
        "a program failed (host 'rome', agent 'bob@rome'): ValueError: out of petrol"
    ] * 2


def test_a_host_that_closes_does_not_wait_for_a_program_that_will_not_end() -> None:
    class Stubborn(Program[Trip]):
        async def run(self) -> None:
            while True:
                try:
                    await asyncio.sleep(2)
                except asyncio.CancelledError:
                    continue
                if not self.agent.connected(self.agent.id):
                    return

    async def main() -> float:
        program("node-stubborn")(Stubborn)
        async with Host("rome") as rome:
            await rome.launch("node-stubborn", name="bob")
            await asyncio.sleep(1)
        closed_at = asyncio.get_running_loop().time()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task  # what it does on its way out concerns nobody
        return closed_at

    assert run(main()) < 1 + 2 * LEAVE_S


def test_blocking_programs_launch_too() -> None:
    with sync.Host("rome") as rome:
        rome.launch("node-short", name="bob")
        notes = rome.agent("bob").space("notes", shared=True)
        assert notes.take("been", int, timeout=60) == ("been", 1)
        assert "node-short" in rome.programs


# -- bundles ---------------------------------------------------------------------------------------

ACME = PublisherKey("acme", bytes(range(32)))
SOURCE = """
from __future__ import annotations
import asyncio
import msgspec
import nomospace as ns

class Where(msgspec.Struct):
    stops: list[str]
    log: list[str] = []

@ns.program("node-brought")
class Brought(ns.Program[Where]):
    async def run(self) -> None:
        self.state.log.append(self.host)
        while self.state.stops:
            try:
                await self.move(self.state.stops.pop(0))
            except ns.MoveRefused as error:
                self.state.log.append(error.why)
        await asyncio.Event().wait()
"""
BUNDLE = make_bundle("node-brought", SOURCE, ACME)


async def brought(host: Host, *stops: str, bundle: bytes = BUNDLE) -> Program[Any]:
    """Launch the program of a bundle on a host that trusts its publisher."""
    kind = host.stage.find("node-brought", bundle)
    assert kind.State is not None
    state = kind.State(list(stops))
    return await host.launch("node-brought", name="bob", state=state, bundle=bundle)


def trio() -> tuple[Network, Host, Host, Host]:
    net = Network(delay=0.01)
    trust = {"acme": ACME.public}
    return (
        net,
        Host("rome", network=net, trusted_publishers=trust),
        Host("oslo", network=net, trusted_publishers=trust),
        Host("kiev", network=net),
    )


def test_code_goes_where_its_publisher_is_trusted_and_nowhere_else() -> None:
    net, rome, oslo, kiev = trio()

    async def main() -> None:
        await brought(rome, "oslo", "kiev", "rome", "oslo")
        async with asyncio.timeout(60):
            while len((await settled(oslo, "bob@rome")).state.log) < 5:
                await asyncio.sleep(0.5)
        log = oslo.running["bob@rome"].state.log
        assert log == [
            "rome",
            "oslo",
            (
                "host kiev does not run program 'node-brought': it is not registered here, and "
                "this host takes code from nobody"
            ),
            "rome",
            "oslo",
        ]
        assert "node-brought" not in registered()
        assert "node-brought" not in oslo.programs
        modules = [name for name in sys.modules if name.startswith("nomospace_bundle_")]
        assert sorted(name.split("_")[2] for name in modules) == ["oslo", "rome"]
        assert type(oslo.running["bob@rome"]).__module__ in modules

    on(rome, oslo, kiev, net=net, main=main)
    assert not [name for name in sys.modules if name.startswith("nomospace_bundle_")]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def", "cannot be loaded: SyntaxError"),
        ("1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("raise SystemExit", "cannot be loaded: SystemExit"),
        ("", "defines no program of that name"),
    ],
)
def test_code_that_cannot_be_loaded(source: str, why: str) -> None:
    async def main() -> None:
        async with Host("rome", trusted_publishers={"acme": ACME.public}) as rome:
            bundle = make_bundle("node-brought", source, ACME)
            with pytest.raises(NoSuchProgram, match=why):
                await rome.launch("node-brought", name="bob", bundle=bundle)
            assert why in rome.stage.admits("bob@oslo", "node-brought", bundle)

    run(main())


def test_code_of_others_is_not_even_looked_at() -> None:
    async def main() -> None:
        eve = PublisherKey("eve", bytes(32))
        bundle = make_bundle("node-brought", "raise AssertionError('it was run')", eve)
        async with Host("rome", trusted_publishers={"acme": ACME.public}) as rome:
            with pytest.raises(UnknownPublisher):
                await rome.launch("node-brought", name="bob", bundle=bundle)
            assert "'eve' is not trusted" in rome.stage.admits("b@oslo", "node-brought", bundle)
            assert "a bundle is bytes" in rome.stage.admits("b@oslo", "node-brought", "text")
            assert "with a program only" in rome.stage.admits("b@oslo", "", None)

    run(main())


def test_a_program_that_was_brought_begins_again_with_its_host() -> None:
    store = MemoryStore()

    async def main() -> None:
        trust = {"acme": ACME.public}
        async with Host("rome", store=store, trusted_publishers=trust) as rome:
            await brought(rome)
        async with Host("rome", store=store, trusted_publishers=trust) as rome:
            await asyncio.sleep(0)
            assert rome.running["bob@rome"].state.log == ["rome"]

    run(main())


def test_a_state_that_is_not_of_this_program_is_refused_at_the_door() -> None:
    net, rome, oslo, _ = trio()
    other = make_bundle("node-brought", SOURCE.replace("log: list[str]", "log: list[int]"), ACME)

    async def main() -> None:
        oslo.stage.find = lambda *_: oslo.stage._load("node-brought", other)  # type: ignore[method-assign]
        await brought(rome, "oslo")
        await asyncio.sleep(5)
        bob = rome.running["bob@rome"]
        assert bob.state.log == ["rome", "rome"]
        assert "Expected `int`, got `str`" in str(bob.refused)
        assert not oslo.running

    on(rome, oslo, net=net, main=main)
