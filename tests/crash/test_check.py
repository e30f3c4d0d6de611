"""Hosts under attack, checked from outside; `python -m tests.crash.check` goes on for long."""

import asyncio

import pytest

from tests.crash.check import CheckOutcome, check, find_all
from tests.crash.inside import FAULTS
from tests.crash.nemesis import ATTACKS

RUN_S = 600.0


@pytest.mark.slow
def test_one_history_of_a_space_explains_what_clients_of_attacked_hosts_were_told() -> None:
    async def play() -> CheckOutcome:
        async with asyncio.timeout(RUN_S):
            return await check(seconds=5.0, seed=1, longest_s=0.5)

    outcome = asyncio.run(play())
    assert outcome.good, outcome.told()
    assert set(outcome.attacks) <= set(ATTACKS)
    assert outcome.attacks["kill"]
    assert outcome.explanation.operations > 200
    assert outcome.kinds["take of a set (done)"]


@pytest.mark.slow
def test_each_fault_that_is_put_into_a_host_is_found() -> None:
    async def play() -> dict[str, CheckOutcome]:
        async with asyncio.timeout(RUN_S):
            return await find_all(1)

    outcomes = asyncio.run(play())
    assert len(FAULTS) >= 10
    missed = [fault for fault, one in outcomes.items() if one.explanation.answer != "no"]
    assert not missed, missed
    assert all(len(one.explanation.proof) < 12 for one in outcomes.values())
