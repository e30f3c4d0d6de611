"""Ten kills in the middle of everything; two hundred are for `python -m tests.crash.run`."""

import asyncio

import pytest

from tests.crash.ledger import KINDS
from tests.crash.run import Outcome, crash
from tests.crash.takeover import TakeoverOutcome, take_over

RUN_S = 600.0
"""A run that hangs is given up; on two free cores it takes under half a minute."""


def _played(kills: int, seed: int, store: str) -> Outcome:
    async def play() -> Outcome:
        async with asyncio.timeout(RUN_S):
            return await crash(kills=kills, seed=seed, store=store, pace_s=0.7)

    return asyncio.run(play())


@pytest.mark.slow
@pytest.mark.parametrize(("store", "kills"), [("sqlite", 10), ("postgresql", 2)])
def test_hosts_that_are_killed_lose_nothing_and_double_nothing(store: str, kills: int) -> None:
    outcome = _played(kills, 1, store)
    assert outcome.good, outcome.told()
    assert outcome.kills == kills
    for kind in KINDS:
        assert outcome.checked[kind] > kills, outcome.told()
    assert outcome.checked["control states replayed"] == 18
    assert outcome.checked["rulings replayed"] > 100


@pytest.mark.slow
def test_workers_that_are_killed_lose_nothing_and_double_nothing() -> None:
    async def play() -> Outcome:
        async with asyncio.timeout(RUN_S):
            return await crash(kills=4, seed=2, workers=2, pace_s=0.5)

    outcome = asyncio.run(play())
    assert outcome.good, outcome.told()
    assert (outcome.kills, outcome.hosts) == (4, 4)
    for kind in KINDS:
        assert outcome.checked[kind] > 0, outcome.told()


@pytest.mark.slow
def test_hosts_that_keep_nothing_are_caught() -> None:
    """The check of the check: after one kill the programs miss what they were promised."""
    assert not _played(1, 3, "memory").good


@pytest.mark.slow
@pytest.mark.parametrize(("failovers", "paired"), [(1, False), (0, True)])
def test_a_host_that_others_stand_for_outlives_its_process_and_its_databases_primary(
    failovers: int, paired: bool
) -> None:
    async def play() -> TakeoverOutcome:
        async with asyncio.timeout(RUN_S):
            return await take_over(kills=2, failovers=failovers, seed=1, pace_s=0.3, paired=paired)

    outcome = asyncio.run(play())
    assert outcome.good, outcome.told()
    assert (outcome.kills, outcome.pauses, outcome.fenced) == (1, 1, 1)
    assert len(outcome.failovers) == failovers
    for kind in KINDS:
        assert outcome.checked[kind] > 10, outcome.told()
