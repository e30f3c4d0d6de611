"""Hosts under attack, checked from outside; `python -m tests.crash.check` goes on for long."""

import asyncio

import pytest

from tests.crash.check import CheckOutcome, check

RUN_S = 600.0


@pytest.mark.slow
def test_one_history_of_a_space_explains_what_clients_of_attacked_hosts_were_told() -> None:
    async def play() -> CheckOutcome:
        async with asyncio.timeout(RUN_S):
            return await check(seconds=2.0, seed=1, longest_s=1.0)

    outcome = asyncio.run(play())
    assert outcome.good, outcome.told()
    assert set(outcome.attacks) <= {"kill", "pause", "cut off"}
    assert outcome.attacks["kill"]
    assert outcome.explanation.operations > 200
    assert outcome.kinds["take of a set (done)"]
