"""The hospital for real: on three hosts of this process, under law AP, with a clock on the wall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nomospace.control import Ruling
from nomospace.node.views import Views
from nomospace.terms.values import parts_of
from nomospace_lab.apps.hospital import gauge, ward
from nomospace_lab.apps.hospital.alarms import META, carried
from nomospace_lab.apps.hospital.cast import (
    ASSISTANT,
    CAST,
    DUTIES,
    LAYMEN,
    MEDIATOR,
    MONITOR,
    NURSES,
    ROGUE,
    WARDS,
    Duty,
)
from nomospace_lab.apps.hospital.ward import HospitalWards, NoSuchWard, StillComing
from nomospace_lab.testing.together import Together

HOME, OTHER, THIRD = WARDS
PLAY_S = 120.0


@asynccontextmanager
async def hospital(folder: Path | None = None) -> AsyncIterator[tuple[HospitalWards, Together]]:
    async with Together(list(WARDS), folder) as hosts:
        one = HospitalWards(hosts)
        await one.start()
        try:
            yield one, hosts
        finally:
            await one.stop()


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PLAY_S))


def rulings(hosts: Together, good: Callable[[Ruling], bool]) -> list[Ruling]:
    """All rulings of all journals that are wanted."""
    marks = dict.fromkeys(WARDS, 0)
    return [found.ruling for name in WARDS for found in hosts._look(name, marks, good)]


def says(ruling: Ruling, word: str, text: str) -> bool:
    """Whether a ruling is on the message of an alarm with this text."""
    alarm = (
        carried(ruling.event.args[1], word) if ruling.event.kind in ("sent", "arrived") else None
    )
    return alarm is not None and alarm.text == text


def test_an_alarm_of_a_layman_reaches_experts_only() -> None:
    async def story() -> None:
        async with hospital() as (one, hosts):
            marks = hosts.marks()
            deed = await one.raise_as_layman()
            text = deed.words.partition(": ")[2]
            why = Views(hosts.servers[deed.host]).why(deed.record)
            assert (why.ruling.home, why.ruling.rule) == (LAYMEN[0].agent, "R3")
            assert text in why.ruling.event
            notified = await hosts.find(
                marks, lambda r: r.home == MEDIATOR.agent and says(r, "notify", text)
            )
            assert notified.ruling.event.args[2] == ("felix@emergency", "fiona@maternity")
            # Others hear of fires, too, but only from experts.
            listeners = {one.agent for one in CAST if "fire" in one.hears}
            told = parts_of(notified.ruling.event.args[2])
            assert listeners > {"bela@surgery", "nora@emergency", *told}

    play(story())


def test_an_inspector_acknowledges_to_the_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ward, "DUTIES", (Duty("felix@emergency", "fire", (0.0, 0.1), 1.0),))

    async def story() -> None:
        async with hospital() as (one, hosts):
            marks = hosts.marks()
            text = (await one.raise_as_layman()).words.partition(": ")[2]
            laid = await hosts.find(
                marks, lambda r: r.home == "felix@emergency" and says(r, "notify", text)
            )
            assert any("handlingExpire" in str(operation) for operation in laid.ruling.operations)
            met = await hosts.find(marks, lambda r: says(r, "ack", text))
            assert (met.ruling.home, met.ruling.rule) == ("felix@emergency", "R12")

    play(story())


def test_the_rogue_dies_at_its_own_edge_while_the_informer_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gauge, "ROGUE_S", 2.0)
    monkeypatch.setattr(gauge, "SAMPLE_S", 0.25)

    async def story() -> None:
        async with hospital() as (one, hosts):
            await one.rogue(True)
            await one.rogue(True)  # twice is harmless
            while one.rogue_on:
                await asyncio.sleep(0.05)
            assert "switched itself off after 2 s" in one.rogue_says
            samples = one.samples()
            assert max(sample.tried_s for sample in samples) > 0
            for sample in samples:
                assert sample.refused_s == sample.tried_s
                assert sample.informer_ms > 0
            assert one._monitor.lost == 0
            deed = one.rogue_refused()
            assert deed is not None
            assert deed.host == ROGUE.ward
            why = Views(hosts.servers[deed.host]).why(deed.record)
            assert why.ruling.refused
            tried = next(rule for rule in why.tried if rule.rule == "R3")
            assert tried.failed is not None
            assert "blocked" in tried.failed.goal
            # Not one of them left its host: the mediator has ruled on none.
            assert not rulings(
                hosts,
                lambda r: r.event.kind == "arrived" and r.event.args[0] == ROGUE.agent,
            )
            went_on = rulings(
                hosts, lambda r: r.home == MONITOR.agent and r.event.kind == "arrived"
            )
            assert len(went_on) >= 4

    play(story())


def test_the_rogue_can_be_switched_off() -> None:
    async def story() -> None:
        async with hospital() as (one, _):
            await one.rogue(False)
            assert one.rogue_says == ""
            await one.rogue(True)
            await asyncio.sleep(0.2)
            await one.rogue(False)
            assert not one.rogue_on
            assert "was switched off" in one.rogue_says

    play(story())


async def followed_directly(one: HospitalWards) -> None:
    """Where the assistant is becomes known, and the next message goes there at once."""
    while (direct := await one.message_assistant()).hops != 1:
        await asyncio.sleep(0.02)
    assert direct.path == (direct.path[0], one.assistant_at)


def test_a_message_follows_the_assistant_in_two_hops_then_in_one() -> None:
    async def story() -> None:
        async with hospital() as (one, hosts):
            assert one.assistant_at == HOME
            for was, to, sender in ((HOME, OTHER, THIRD), (OTHER, THIRD, HOME)):
                await one.send_assistant(to)
                assert one.assistant_at == to
                rooms = {place.host: [who.agent for who in place.people] for place in one.floor()}
                assert [host for host in rooms if ASSISTANT.agent in rooms[host]] == [to]
                first = await one.message_assistant()
                assert (first.path, first.hops) == ((sender, was, to), 2)
                assert first.deed is not None
                why = Views(hosts.servers[first.deed.host]).why(first.deed.record)
                assert why.ruling.home == ASSISTANT.agent
                await followed_directly(one)
            await one.send_assistant(THIRD)  # where it is already
            assert one.assistant_at == THIRD
            with pytest.raises(NoSuchWard, match="no ward 'morgue'"):
                await one.send_assistant("morgue")

    play(story())


def test_nobody_but_its_nurse_sends_the_assistant_anywhere() -> None:
    async def story() -> None:
        async with hospital() as (one, hosts):
            marks = hosts.marks()
            stranger = NURSES[OTHER].agent
            await one._nurses[OTHER].send(f"go({THIRD})", to=ASSISTANT.agent)
            found = await hosts.find(
                marks, lambda r: r.home == ASSISTANT.agent and r.event.args[0] == stranger
            )
            assert not found.ruling.operations
            await one.message_assistant()
            assert one.assistant_at == HOME

    play(story())


def test_it_goes_on_where_it_was_left(tmp_path: Path) -> None:
    async def first() -> None:
        async with hospital(tmp_path) as (one, _):
            await one.send_assistant(OTHER)

    async def second() -> None:
        async with hospital(tmp_path) as (one, hosts):
            assert one.assistant_at == OTHER
            await one.raise_as_layman()
            assert (await one.message_assistant()).path[-1] == OTHER
            # Everybody is who they were: no second adoption, and no certificate shown again.
            for kind, agents in (("adopted", len(CAST)), ("certified", 9)):
                law = one._law.hash
                made = rulings(hosts, lambda r, k=kind, law=law: r.event.kind == k and r.law == law)  # type: ignore[misc]
                assert len(made) == agents, kind

    play(first())
    play(second())


def test_whoever_comes_too_early_is_told_so() -> None:
    async def story() -> None:
        async with Together(list(WARDS)) as hosts:
            one = HospitalWards(hosts)
            assert [place.title for place in one.floor()] == list(WARDS.values())
            assert one.samples() == []
            assert not one.rogue_on
            for deed in (one.raise_as_layman, one.message_assistant):
                with pytest.raises(StillComing, match="try again"):
                    await deed()
            await one.stop()

    play(story())


def test_the_cast_has_what_its_duties_need() -> None:
    """An inspector is an expert on its kind; one of metaAlarms is there, or neglect is unheard."""
    experts = {one.agent: one.certified for one in CAST}
    for duty in DUTIES:
        assert any(duty.kind in str(role) for role in experts[duty.agent]), duty
    assert META in [duty.kind for duty in DUTIES]
    assert {one.ward for one in CAST} == set(WARDS)
