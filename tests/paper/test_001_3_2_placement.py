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
from nomospace.control import Ruling
from nomospace.host.effects import Journey
from nomospace.host.step import HostStep
from nomospace.node.services.mediators import SpaceMediator
from nomospace.terms import show
from nomospace_lab.testing.loop import run
from tests.paper import stories
from tests.paper.hospital import WAIT_S, Ward

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
    plain = HostStep.ruled

    def told(step: HostStep, ruling: Ruling, came: Journey, took_ns: int) -> None:
        words = (
            _without_hosts(show(ruling.event.term)),
            ruling.rule,
            tuple([_without_hosts(show(operation)) for operation in ruling.operations]),
        )
        ruled.setdefault(_without_hosts(ruling.home), []).append(words)
        plain(step, ruling, came, took_ns)

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
        patch.setattr(HostStep, "ruled", told)
        run(body())
    return ruled


async def _alarms(ward: Ward) -> None:
    await ward.join("med", "mediator")
    space = await ward.agents["med"].space("alarms", shared=True)
    async with SpaceMediator(ward.members["med"], space):
        await stories.alarms(ward)
        await asyncio.sleep(400)  # obligations fall due


def test_law_ap_rules_alike_wherever_its_controllers_are() -> None:
    names = ("med", "max", "fay", "lea", "probe-4", "probe-5")
    by_place = {where: _rulings(_alarms, names, place) for where, place in PLACEMENTS.items()}
    first = by_place["beside the space"]
    rules = {rule for words in first.values() for _, rule, _ in words}
    assert rules >= stories.ALARM_RULES
    for where, ruled in by_place.items():
        for name in names:
            assert ruled[name] == first[name], (where, name)


def test_law_mp_rules_alike_wherever_its_controllers_are() -> None:
    names = ("ann", "bob", "eve")
    by_place = {
        where: _rulings(stories.letters, names, place) for where, place in PLACEMENTS.items()
    }
    first = by_place["beside the space"]
    assert [rule for _, rule, _ in first["eve"]] == [None] * 3  # adoption and two attempts
    assert [rule for _, rule, _ in first["bob"]] == [None, None, "R2", "R4"]
    for where, ruled in by_place.items():
        assert {name: ruled[name] for name in names} == {name: first[name] for name in names}, where
