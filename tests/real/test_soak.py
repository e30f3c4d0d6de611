"""Hosts are what they were when all agents have gone; hours of it: `python -m tests.real.soak`."""

import asyncio

from tests.real.soak import soak


def test_nothing_of_agents_that_came_and_ended_is_left() -> None:
    """Also of those whose connection was cut just then."""
    assert asyncio.run(soak(5, seed=1, warm=1, session_s=4)) == []
