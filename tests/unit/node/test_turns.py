"""Whose turn it is: a client with much to do gives the loop back, and others are served between."""

import asyncio
from typing import Any, cast

from nomospace.node.turns import (
    QUANTUM_BYTES,
    QUANTUM_FRAMES,
    QUEUE_BYTES_MAX,
    Queue,
    Rate,
    Turns,
)


class Transport:
    """Of which only reading counts."""

    def __init__(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def queue(turns: Turns, done: list[Any]) -> Queue:
    made = Queue(turns, done.append)
    made.transport = cast("asyncio.Transport", Transport())
    return made


def test_queues_are_served_in_turns_each_in_its_own_order() -> None:
    async def program() -> None:
        turns = Turns()
        done: list[Any] = []
        one, other = queue(turns, done), queue(turns, done)
        frames = [bytes([n % 256]) for n in range(3 * QUANTUM_FRAMES)]
        one.put(frames)
        other.put([b"a", b"b"])
        rounds = 0
        while not (one.idle and other.idle):
            before = len(done)
            await asyncio.sleep(0)
            rounds += 1
            assert len(done) <= before + 1, "the loop comes round between two turns"
        assert done[1] == [b"a", b"b"]
        assert [frame for some in done if some != done[1] for frame in some] == frames
        assert turns.taken == 4 <= rounds

    asyncio.run(program())


def test_a_turn_is_bounded_in_bytes_and_one_frame_may_have_more() -> None:
    async def program() -> None:
        done: list[Any] = []
        one = queue(Turns(), done)
        one.put([bytes(QUANTUM_BYTES // 2), bytes(QUANTUM_BYTES), bytes(2 * QUANTUM_BYTES), b"x"])
        while not one.idle:
            await asyncio.sleep(0)
        assert [len(some) for some in done] == [2, 1, 1]

    asyncio.run(program())


def test_what_comes_too_early_waits_with_all_that_comes_after_it() -> None:
    async def program() -> None:
        turns = Turns()
        done: list[Any] = []
        one, other = queue(turns, done), queue(turns, done)
        one.hold([b"early", b"next"])
        assert not one.idle
        one.put([b"later"])
        other.put([b"free"])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert done == [[b"free"]]
        one.go_on()
        await asyncio.sleep(0)
        assert done[1:] == [[b"early", b"next", b"later"]]
        assert one.idle

    asyncio.run(program())


def test_a_queue_that_is_held_in_its_turn_does_no_more() -> None:
    async def program() -> None:
        done: list[Any] = []

        def do(frames: list[bytes]) -> None:
            done.append(frames)
            if len(done) == 1:
                one.hold(frames[1:])

        one = Queue(Turns(), do)
        one.put([b"a", b"b"])
        for _ in range(3):
            await asyncio.sleep(0)
        assert done == [[b"a", b"b"]]
        one.go_on()
        await asyncio.sleep(0)
        assert done[1:] == [[b"b"]]

    asyncio.run(program())


def test_a_full_queue_is_not_read_into() -> None:
    async def program() -> None:
        one = queue(Turns(), [])
        transport = Transport()
        one.transport = cast("asyncio.Transport", transport)
        one.put([bytes(QUEUE_BYTES_MAX // 8) for _ in range(9)])
        seen = [transport.reading]
        while not one.idle:
            await asyncio.sleep(0)
        assert [*seen, transport.reading] == [False, True]
        one.put([b"x"])
        one.close()
        await asyncio.sleep(0)
        assert one.idle

    asyncio.run(program())


def test_who_makes_more_calls_than_its_share_waits_and_nobody_else() -> None:
    rate = Rate(100)
    assert rate.spend(100, now=10.0) == 0, "a second's worth may come at once"
    assert rate.spend(50, now=10.0) == 0.5
    assert rate.spend(0, now=10.5) == 0
    assert rate.spend(100, now=99.0) == 0, "what was not used is not kept for later"
    assert rate.spend(1, now=99.0) > 0
