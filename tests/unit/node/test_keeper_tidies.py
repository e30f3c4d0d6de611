"""What a store has put off is done when all were told, and before the next group begins."""

from __future__ import annotations

import asyncio
import threading

from tests.unit.node.test_keeper import Slow, Told, run, step


class Untidy(Slow):
    """A store that has to be tidied; the test says when it is done."""

    untidy = True

    def __init__(self) -> None:
        super().__init__()
        self.tidied = 0
        self.may_tidy = threading.Event()

    def tidy(self) -> None:
        assert threading.current_thread() is not threading.main_thread()
        assert self.may_tidy.wait(60)
        self.tidied += 1
        self.untidy = False


def test_who_is_kept_is_told_before_the_store_is_tidied_and_the_next_group_begins_after() -> None:
    async def program() -> None:
        store, told = Untidy(), Told()
        keeper = told.keeper(store)
        keeper.put(step(1))
        assert await keeper.drain(60)
        assert told.kept == [1]
        keeper.put(step(2))
        await asyncio.sleep(0.05)
        assert (told.kept, store.groups, store.tidied) == ([1], [1], 0)
        store.may_tidy.set()
        assert await keeper.drain(60)
        assert (told.kept, store.groups, store.tidied) == ([1, 2], [1, 1], 1)
        keeper.stop()

    run(program)


def test_a_store_that_cannot_be_tidied_is_broken_and_nobody_waits_for_it() -> None:
    class Failing(Untidy):
        def tidy(self) -> None:
            raise ValueError("the pages are gone")

    async def program() -> None:
        store, told = Failing(), Told()
        keeper = told.keeper(store)
        keeper.put(step(1))
        async with asyncio.timeout(60):
            while not told.broken:
                await asyncio.sleep(0.001)
        assert (told.kept, str(told.broken[0])) == ([1], "the pages are gone")
        keeper.stop()

    run(program)
