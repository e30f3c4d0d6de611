"""What a program raised and dropped is freed, with all that its frames held."""

import asyncio
import gc
from weakref import ref

import nomospace as ns


class Held:
    """Something that a program has in a local name while it is raised through."""


def test_an_error_that_was_answered_keeps_nothing_alive() -> None:
    async def program() -> "ref[Held]":
        async with ns.Host("ward-3") as host:
            notes = await (await host.agent("nurse")).space("notes")

            async def fails() -> "ref[Held]":
                held = Held()
                try:
                    await notes.take("note", int)  # it is private: it would wait for ever
                except ns.PrivateSpace:
                    return ref(held)
                raise AssertionError("a private space lets nobody wait")

            return await fails()

    left = asyncio.run(program())
    gc.collect()
    assert left() is None
