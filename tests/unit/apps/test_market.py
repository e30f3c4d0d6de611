"""The market for real: deals are made, and what the law forbids reaches no space."""

from __future__ import annotations

import asyncio

import pytest

from nomospace_lab.apps.bidding import market
from nomospace_lab.apps.bidding.market import HOSTS, SNOOP, Market
from nomospace_lab.testing.together import Together

PLAY_S = 120.0


def test_requests_find_bids_and_the_snoop_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ASK_S", (0.05, 0.1)), ("BIDS_S", 0.4), ("BID_S", (0.0, 0.05)),
                        ("PRY_S", (0.05, 0.1)), ("CLEAR_S", 0.2), ("FORGERY", 0.5)):  # fmt: skip
        monkeypatch.setattr(market, name, value)

    async def story() -> None:
        async with Together(list(HOSTS)) as hosts:
            one = Market(hosts)
            await one.start()
            async with asyncio.timeout(PLAY_S):
                while one.deals < 3 or one.refused < 5:
                    await asyncio.sleep(0.05)
            await one.stop()
            pried = hosts.latest(
                SNOOP.partition("@")[2], lambda r: r.home == SNOOP and r.event.kind == "sent"
            )
            assert pried is not None
            assert pried.ruling.refused

    asyncio.run(story())
