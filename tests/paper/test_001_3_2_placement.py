"""`001_…` 3.2 and `000_…` 5: where controllers are is a matter of deployment, not of the program.

One program runs with its controllers at the agents (each in a process of its own), at a trusted
third host, and beside the space. All that changes is the table of who is where: what each
controller rules, in which order, is the same word for word, but for the names of the hosts.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

import nomospace as ns
from nomospace import laws
from nomospace.host import Host as Core
from nomospace.host.effects import Ruled
from nomospace.law import load
from nomospace.node.services.mediators import SpaceMediator
from nomospace.terms import Compound, show, t
from nomospace.testing.loop import run
from tests.paper.hospital import WAIT_S, Ward, publish

MP = load(laws.text("mp"))
BEGIN_S = 60.0
"""By then all hosts have met, however many there are."""
PLACEMENTS: dict[str, Callable[[str], str]] = {
    "at the agent": lambda name: "hub" if name == "med" else f"at-{name}",
    "at a trusted third host": lambda name: "hub" if name == "med" else "trusted",
    "beside the space": lambda _name: "hub",
}
Program = Callable[[Ward], Coroutine[Any, Any, None]]
Rulings = dict[str, list[tuple[str, str | None, tuple[str, ...]]]]


def _without_hosts(text: str) -> str:
    return re.sub(r"'?(\w[\w-]*)@[\w-]+'?", r"\1", text)


def _rulings(program: Program, names: tuple[str, ...], place: Callable[[str], str]) -> Rulings:
    """What each controller ruled, by agent."""
    ruled: Rulings = {name: [] for name in names}
    plain = Core.order

    def order(core: Core, effect: Any) -> None:
        if isinstance(effect, Ruled):
            ruling = effect.ruling
            words = (
                _without_hosts(show(ruling.event.term)),
                ruling.rule,
                tuple([_without_hosts(show(operation)) for operation in ruling.operations]),
            )
            ruled.setdefault(_without_hosts(ruling.home), []).append(words)
        plain(core, effect)

    async def body() -> None:
        network = ns.Network()
        hosts = tuple(dict.fromkeys(["hub", *map(place, names)]))
        network.connect_all(*hosts)
        async with AsyncExitStack() as stack:
            running = {
                name: await stack.enter_async_context(ns.Host(name, network=network, epoch_us=0))
                for name in hosts
            }
            await asyncio.sleep(BEGIN_S)
            for name in hosts[1:]:
                await running["hub"].wait_engaged(name, timeout=WAIT_S)
            await program(Ward(running, place))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Core, "order", order)
        run(body())
    return ruled


async def _alarms(ward: Ward) -> None:
    """Law AP: alarms of an expert and of a layman, duties, blocks and attempts to cheat."""
    await ward.join("med", "mediator")
    space = await ward.agents["med"].space("alarms", shared=True)
    async with SpaceMediator(ward.members["med"], space):
        await ward.join("max", "facilityManager")
        await ward.join("fay", "expert(fire)")
        await ward.join("lea")
        await ward.settled("fay", "fire", "med")
        await ward.settled("lea", "fire", "med")
        await asyncio.sleep(1)  # both have had all that the other's probe said
        await ward.send("lea", publish("fire", "smoke"), to="med")
        assert await ward.alarm("fay") == ("fire", "layman", "smoke")
        await ward.send("lea", publish("fire", "smoke"), to="med")  # too soon
        duty = f"inspectorOnDuty(kind(fire),med('{ward.id('med')}'))"
        await ward.send("max", duty, to="fay")
        await ward.send("lea", duty, to="fay")  # she is no manager
        await ward.hear("fay")
        await ward.send("max", "blockLay", to="lea")
        await ward.hear("lea")
        await ward.send("lea", publish("blood", "leak"), to="med")  # blocked
        await ward.send("fay", publish("fire", "sparks"), to="med")
        assert await ward.alarm("lea") == ("fire", "expert", "sparks")
        await asyncio.sleep(400)  # obligations fall due


async def _messages(ward: Ward) -> None:
    """Law MP: letters in a tuple space, which only their addressees get at."""
    spaces = {}
    for name in ("ann", "bob", "eve"):
        agent = await ward.enter(name)
        await agent.adopt(MP)
        spaces[name] = await agent.space("mail", shared=True, law=MP)
    ann, bob = ward.id("ann"), ward.id("bob")
    await spaces["ann"].out(t.msg("hello"), Compound("from", (ann,)), t.to(bob))
    for attempt in (
        spaces["eve"].take_nowait(t.msg(ns.ANY), Compound("from", (ann,)), t.to(bob)),
        spaces["eve"].out(t.msg("run"), Compound("from", (ann,)), t.to(bob)),
        spaces["bob"].read_nowait(t.msg(ns.ANY), Compound("from", (ann,)), ns.ANY),
    ):
        with pytest.raises(ns.Refused):
            await attempt
    letter = await spaces["bob"].take(
        t.msg(ns.ANY), Compound("from", (ns.ANY,)), t.to(bob), timeout=WAIT_S
    )
    assert letter[0] == t.msg("hello")


def test_law_ap_rules_alike_wherever_its_controllers_are() -> None:
    names = ("med", "max", "fay", "lea", "probe-4", "probe-5")
    by_place = {where: _rulings(_alarms, names, place) for where, place in PLACEMENTS.items()}
    first = by_place["beside the space"]
    rules = {rule for words in first.values() for _, rule, _ in words}
    assert {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10a", "R11a", None} <= rules
    for where, ruled in by_place.items():
        for name in names:
            assert ruled[name] == first[name], (where, name)


def test_law_mp_rules_alike_wherever_its_controllers_are() -> None:
    names = ("ann", "bob", "eve")
    by_place = {where: _rulings(_messages, names, place) for where, place in PLACEMENTS.items()}
    first = by_place["beside the space"]
    assert [rule for _, rule, _ in first["eve"]] == [None] * 3  # adoption and two attempts
    assert [rule for _, rule, _ in first["bob"]] == [None, None, "R2", "R4"]
    for where, ruled in by_place.items():
        assert {name: ruled[name] for name in names} == {name: first[name] for name in names}, where
