"""Personal assistants on real hosts: summoned, delegated, written to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from nomospace.node.loops import run_loop
from nomospace_lab.apps.assistants.live import (
    SITES,
    Assistants,
    NoSuchPerson,
    NoSuchSite,
)
from nomospace_lab.testing.together import Together

WAIT_S = 60.0


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.02)


def living(story: Callable[[Assistants], Awaitable[None]]) -> None:
    async def live() -> None:
        async with Together(list(SITES)) as hosts:
            people = Assistants(hosts)
            await people.start()
            try:
                await story(people)
            finally:
                await people.stop()

    run_loop(live())


def at(people: Assistants, person: str) -> str:
    return next(one.at for one in people.views() if one.person == person)


def test_messages_follow_an_assistant_that_is_summoned_and_delegated() -> None:
    async def story(people: Assistants) -> None:
        first = await people.follow("bob", "ann")
        assert (first.path, first.hops) == (("lab", "office"), 1)
        await people.summon("ann", "library")
        assert at(people, "ann") == "library"
        followed = await people.follow("bob", "ann")
        assert followed.path[-1] == "library"
        await asyncio.sleep(0.2)  # the news of its place comes back behind the message
        again = await people.follow("bob", "ann")
        assert (again.path, again.hops) == (("lab", "library"), 1)
        assert followed.hops >= again.hops

        await people.delegate("ann", "a proof that does not end")
        assert at(people, "ann") == "institute"
        away = await people.follow("cem", "ann")
        assert away.path[-1] in ("institute", "office"), "it was read there, or at home after"
        await until(lambda: at(people, "ann") == "office")
        await until(lambda: any("is back" in line for line in people.told))
        assert "“a proof that does not end” is mended" in people.told[-1]
        await until(lambda: next(iter(people.views())).notes == 4)

    living(story)


def test_who_and_where_must_be_there() -> None:
    async def story(people: Assistants) -> None:
        with pytest.raises(NoSuchPerson, match="ann, bob, cem"):
            await people.summon("mallory", "lab")
        with pytest.raises(NoSuchSite, match="office"):
            await people.summon("ann", "mars")

    living(story)
