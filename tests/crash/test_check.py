"""Hosts under attack, checked from outside; `python -m tests.crash.check` goes on for long."""

import asyncio

import pytest

from tests.crash.check import CheckOutcome, check, find_all
from tests.crash.nemesis import ATTACKS

RUN_S = 600.0


@pytest.mark.slow
def test_one_history_of_a_space_explains_what_clients_of_attacked_hosts_were_told() -> None:
    async def play() -> CheckOutcome:
        async with asyncio.timeout(RUN_S):
            return await check(seconds=4.0, seed=1, longest_s=0.5)

    outcome = asyncio.run(play())
    assert outcome.good, outcome.told()
    assert set(outcome.attacks) <= set(ATTACKS)
    assert outcome.attacks["kill"]
    assert outcome.explanation.operations > 200
    assert outcome.kinds["take of a set (done)"]


@pytest.mark.slow
def test_faults_that_are_put_into_a_host_are_found() -> None:
    some = (
        "answers before the disk has it",
        "gives a tuple to two who wait",
        "forgets one who waits",
        "delivers a letter twice",
        "does the calls of a client that is back again",
    )

    async def play() -> dict[str, CheckOutcome]:
        async with asyncio.timeout(RUN_S):
            return await find_all(1, some, at_a_time=len(some))

    outcomes = asyncio.run(play())
    missed = [fault for fault, one in outcomes.items() if one.explanation.answer != "no"]
    assert not missed, missed
    assert all(len(one.explanation.proof) < 12 for one in outcomes.values())
