"""Ten kills in the middle of everything; two hundred are for `python -m tests.crash.run`."""

import asyncio

import pytest

from tests.crash.run import crash

RUN_S = 120.0
"""No run takes longer, on a busy machine either; on two free cores it is under half a minute."""


async def _played(kills: int, seed: int, store: str = "sqlite") -> str:
    async with asyncio.timeout(RUN_S):
        outcome = await crash(kills=kills, seed=seed, store=store, pace_s=0.7)
    for kind in ("tuple", "lent tuple", "addressed tuple", "governed tuple", "message"):
        assert outcome.checked[kind] > 10, outcome.told()
    assert outcome.checked["obligation"] > 10, outcome.told()
    assert outcome.kills == kills
    return "" if outcome.good else outcome.told()


@pytest.mark.slow
def test_hosts_that_are_killed_lose_nothing_and_double_nothing() -> None:
    assert asyncio.run(_played(10, seed=1)) == ""


@pytest.mark.slow
def test_hosts_with_a_database_elsewhere_neither() -> None:
    assert asyncio.run(_played(3, seed=2, store="postgresql")) == ""


@pytest.mark.slow
def test_hosts_that_keep_nothing_are_caught() -> None:
    """The check of the check: one kill, and what the host had promised is missed."""
    assert asyncio.run(_played(1, seed=3, store="memory")) != ""
