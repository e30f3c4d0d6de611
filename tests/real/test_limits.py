"""What is too large for the wires is refused to whoever asked, and not tried for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomospace import ANY, MoveRefused
from nomospace.calls.problems import TooManyFound, TooMuch
from nomospace.client.remote import RemoteAgent
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play, start

PART = "x" * 900_000
PARTS = 20


def test_an_agent_that_carries_too_much_stays_and_is_told(tmp_path: Path) -> None:
    """It goes on where it was with all that it has; when it carries less, it may go."""
    ward = RealHost("ward", tmp_path, "--insecure", "--store", "memory")
    start(ward)
    icu = RealHost("icu", tmp_path, "--insecure", "--store", "memory", "--join", ward.address)
    start(icu)

    async def program() -> None:
        async with caller(ward, None) as client:
            ann = await client.agent("ann")
            assert isinstance(ann, RemoteAgent)
            await see(ann, "icu")
            mine = await ann.space("mine")
            for number in range(PARTS):
                await mine.out("part", number, PART)
            with pytest.raises(MoveRefused, match="carries, and at most 16,711,680 fit"):
                await ann.move("icu")
            with pytest.raises(TooManyFound):
                await mine.take_all("part", int, ANY)
            for _ in range(PARTS - 1):  # they are all there still
                assert await mine.take_nowait("part", int, ANY) is not None
            await ann.move("icu")
            assert ann.host == "icu"
            assert await mine.take_nowait("part", int, ANY) is not None
            await see(ann, "ward")
            assert not ward.notes("frame-dropped")

    try:
        play(program())
    finally:
        end(icu, ward)


def test_more_than_a_frame_takes_is_not_taken_from_elsewhere_all_at_once(tmp_path: Path) -> None:
    """The tuples stay in their space, and what is asked for after it is answered."""
    ward = RealHost("ward", tmp_path, "--insecure", "--store", "memory")
    start(ward)
    icu = RealHost("icu", tmp_path, "--insecure", "--store", "memory", "--join", ward.address)
    start(icu)

    async def program() -> None:
        async with caller(ward, None) as here, caller(icu, None) as there:
            ann, bob = await here.agent("ann"), await there.agent("bob")
            full, empty = [await agent.space("parts", shared=True) for agent in (ann, bob)]
            await see(bob, "ward")
            for number in range(PARTS):
                await full.out("part", number, PART)
            for ask in (empty.take_all, empty.read_all):
                with pytest.raises(TooMuch, match="ward cannot send all that was asked for"):
                    await ask("part", int, ANY, at="ann@ward")
            for number in range(PARTS):
                found = await empty.take("part", number, ANY, timeout=60)
                assert found[1] == number
            assert not ward.notes("frame-dropped")

    try:
        play(program())
    finally:
        end(icu, ward)
