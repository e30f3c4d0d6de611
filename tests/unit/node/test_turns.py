"""Whose turn it is: who asks for little waits for little, and nobody for ever."""

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any, cast
from weakref import ref

import pytest

from nomospace.node.keeper import HEAVY_BYTES
from nomospace.node.turns import (
    ABOUT_S,
    AGAIN_S,
    HOLD_S,
    LARGE_HOLD_S,
    LITTLE_S,
    LONG_S,
    LOT_FRAMES,
    NAP_S,
    QUANTUM_BYTES,
    QUANTUM_FRAMES,
    QUEUE_BYTES_MAX,
    SHORT_S,
    TURN_S,
    USED,
    WATCHED,
    Account,
    GoingOn,
    Queue,
    Rate,
    Turns,
)
from nomospace.wire.framing import Framer, join
from nomospace_lab.testing.loop import run
from tests.unit.node.turning import MS, Client, Disk, Machine, Transport, queue, still, until_idle


def test_one_who_asks_for_little_does_not_wait_for_a_crowd_that_asks_for_much() -> None:
    async def program() -> None:
        machine = Machine()
        crowd = [Client(machine, f"rogue{n}", 5 * MS) for n in range(16)]
        ann = Client(machine, "ann", 0.1 * MS)
        for rogue in crowd:
            rogue.ask()
        await until_idle(*[rogue.queue for rogue in crowd])
        for _ in range(40):  # each asks again as soon as it has its answer
            for rogue in crowd:
                if rogue.queue.idle:
                    rogue.ask()
            ann.ask()
            while not ann.queue.idle:
                await asyncio.sleep(0.01 * MS)
            await asyncio.sleep(MS)
        assert len(ann.waited) == 40
        assert max(ann.waited) <= 5 * MS, "one piece of work, not sixteen"
        served = [len(rogue.waited) for rogue in crowd]
        assert max(served) - min(served) <= 2, "nobody of the crowd is preferred"

    run(program())


def test_who_asks_for_much_is_served_too_however_many_ask_for_little() -> None:
    async def program() -> None:
        machine = Machine()
        dear = Client(machine, "dear", 5 * MS)
        many = [Client(machine, f"ann{n}", 0.4 * MS) for n in range(4)]
        dear.ask()
        await until_idle(dear.queue)
        dear.ask()
        begun = machine.now
        while not dear.queue.idle:
            for one in many:  # as much as the machine can do, and more
                if one.queue.idle:
                    one.ask()
            await asyncio.sleep(0)
        assert machine.now - begun < 1.0
        assert len(dear.waited) == 2

    run(program())


def test_a_long_piece_of_work_is_followed_by_a_pause_for_those_who_ask_for_little() -> None:
    async def program() -> None:
        machine = Machine()
        dear, ann = Client(machine, "dear", 5 * MS), Client(machine, "ann", 0.1 * MS)
        dear.ask()
        ann.ask()
        await until_idle(dear.queue, ann.queue)
        assert machine.done == ["dear", "ann"]
        ended = machine.now
        dear.ask()
        while not dear.queue.idle:
            await asyncio.sleep(0.1 * MS)
        assert 4 * MS <= machine.now - 5 * MS - ended <= 6 * MS, "as long as it took"
        await asyncio.sleep(2 * ABOUT_S)
        ended = machine.now
        dear.ask()
        dear.ask()
        await until_idle(dear.queue)
        assert machine.now - ended == pytest.approx(10 * MS), "nobody is there to make a pause for"

    run(program())


def test_nobody_waits_for_itself() -> None:
    async def program() -> None:
        machine = Machine()
        ann, bob = Client(machine, "ann", 0.1 * MS), Client(machine, "bob", 0.1 * MS)
        ann.ask()
        ann.seconds = 5 * MS
        ann.ask()
        await until_idle(ann.queue)
        ann.seconds = 0.1 * MS
        await asyncio.sleep(0)
        ann.ask()
        assert ann.account.size > SHORT_S, "what it asked for before still counts"
        assert ann.waited[-1] == 0, "but there is nobody else"
        bob.ask()
        await asyncio.sleep(0)
        ann.ask()
        assert not ann.queue.idle, "now there is"
        while not ann.queue.idle:
            await asyncio.sleep(0.1 * MS)

    run(program())


def test_who_is_known_to_ask_for_little_is_measured_by_the_clock_until_it_takes_long() -> None:
    worked, elsewhere = 0.0, 0.0
    asked: list[float] = []

    def used() -> float:
        asked.append(worked)
        return worked

    async def program() -> None:
        nonlocal worked, elsewhere
        turns, ann = Turns(lambda: worked + elsewhere, used), Account()

        def turn(seconds: float, away: float = 0.0) -> None:
            nonlocal worked, elsewhere
            began, since = turns.clock(), turns.used() if ann.watched else 0.0
            worked += seconds
            elsewhere += away
            turns.spent(ann, began, since)

        for _ in range(WATCHED):
            turn(0.04 * MS)
        asked.clear()
        turn(0.04 * MS)
        assert asked == [], "processor time is dear to ask for"
        turn(0.04 * MS, away=100 * MS)
        assert ann.size < SHORT_S, "the machine was at something else"
        for _ in range(2):
            turn(20 * MS)
        assert ann.size > LONG_S, "it is watched now"
        await asyncio.sleep(0)

    asyncio.run(program())


def test_a_long_turn_waits_for_what_is_on_its_way_to_the_disk_and_for_what_may_follow() -> None:
    async def program() -> None:
        machine = Machine()
        machine.turns.disk = disk = Disk()
        flood, ann = Client(machine, "flood", 0.3 * MS), Client(machine, "ann", 0.1 * MS)
        flood.ask(4)
        await until_idle(flood.queue)
        machine.done.clear()
        disk.last = 1
        ann.ask()
        flood.queue.put([b"piece"])
        await asyncio.sleep(0.9 * MS)
        assert machine.done == ["ann"], "her step is not on disk"
        disk.kept = 1
        machine.turns.kept(1)
        await asyncio.sleep(0.5 * MS)
        ann.ask()
        assert machine.done == ["ann", "ann"], "she had her answer, and asks again at once"
        await asyncio.sleep(AGAIN_S + NAP_S)
        assert machine.done == ["ann", "ann", "flood"]
        disk.last = 2
        ann.ask()
        flood.queue.put([b"piece"])
        begun = machine.now
        while not flood.queue.idle:
            await asyncio.sleep(0.1 * MS)
        assert machine.now - begun <= HOLD_S + 2 * NAP_S, "a disk that takes long is not waited for"

    run(program())


def test_a_large_call_waits_until_the_one_before_is_on_disk_while_others_ask_for_little() -> None:
    """Else a crowd of them fills the next write, and ann waits for all of it."""

    async def program() -> None:
        machine = Machine()
        machine.turns.disk = disk = Disk()
        large, ann = Client(machine, "large", 2 * MS), Client(machine, "ann", 0.1 * MS)
        frame = bytes(HEAVY_BYTES)
        large.ask()  # it is known as one who asks for much
        await until_idle(large.queue)

        async def served(within: float) -> bool:
            """Whether a large call has its turn, while ann asks all the time."""
            begun, count = machine.now, machine.done.count("large")
            while machine.now - begun < within:
                ann.ask()
                await asyncio.sleep(MS)
                if machine.done.count("large") > count:
                    return True
            return False

        ann.ask()
        disk.last = 1
        large.queue.put([frame])
        assert await served(20 * MS), "nothing large is on its way to the disk"
        large.queue.put([frame])
        assert not await served(LARGE_HOLD_S / 2)
        disk.kept = 1
        machine.turns.kept(1)
        assert not await served(LARGE_HOLD_S / 4), "the disk is others' for as long"
        assert await served(LARGE_HOLD_S / 2)
        disk.last = 2
        large.queue.put([frame])
        assert await served(20 * MS), "its own step was on disk"
        large.queue.put([frame])
        assert not await served(LARGE_HOLD_S / 2)
        assert await served(LARGE_HOLD_S), "a disk that hangs is not waited for"
        disk.kept = 2
        machine.turns.kept(2)
        large.queue.put([b"small"])
        assert await served(LARGE_HOLD_S + 20 * MS)
        disk.last = disk.heavy = 3  # it had a large answer
        large.queue.put([b"small", b"small"])
        assert await served(20 * MS)
        large.queue.put([b"small"])
        assert not await served(LARGE_HOLD_S / 2), "what was answered is not on disk"
        disk.kept = 3
        machine.turns.kept(3)
        assert await served(LARGE_HOLD_S)

    run(program())


def test_one_long_turn_is_enough_to_be_known_and_one_that_is_cut_counts_whole() -> None:
    account = Account()
    account.note(2 * TURN_S, cut=False)
    assert account.size == TURN_S
    account.note(1.5 * TURN_S, cut=True)
    assert account.size == 1.5 * TURN_S
    for _ in range(200):
        account.note(0.1 * MS, cut=False)
    assert account.size < LITTLE_S
    assert Account(SHORT_S).size == SHORT_S


def test_who_has_more_to_do_after_a_turn_has_asked_for_all_of_it() -> None:
    async def program() -> None:
        machine = Machine()
        flood = Client(machine, "flood", 0.6 * TURN_S / QUANTUM_FRAMES)
        flood.queue.put([b"piece"] * QUANTUM_FRAMES)
        await until_idle(flood.queue)
        assert flood.account.size < SHORT_S
        flood.queue.put([b"piece"] * 2 * QUANTUM_FRAMES)
        while machine.turns.taken < 2:
            await asyncio.sleep(0)
        assert flood.account.size > SHORT_S
        await until_idle(flood.queue)

    run(program())


def test_the_turn_of_a_large_call_is_a_long_one_however_soon_it_is_done() -> None:
    async def program() -> None:
        machine = Machine()
        machine.turns.disk = disk = Disk()
        ann, sender = Client(machine, "ann", 0.1 * MS), Client(machine, "sender", 0.1 * MS)
        disk.last = 1  # what ann asks for is on its way to the disk
        ann.ask()
        for size, before in ((HEAVY_BYTES - 1, True), (HEAVY_BYTES, False)):
            sender.queue.put([b"x" * size])
            for _ in range(3):
                await asyncio.sleep(0)
            assert sender.queue.idle is before
            disk.kept = disk.last
            machine.turns.kept(disk.kept)
            await until_idle(sender.queue)

    run(program())


def test_what_the_collector_takes_counts_for_nobody() -> None:
    rings: list[list[Any]] = [[] for _ in range(20_000)]
    for ring in rings:
        ring.append(ring)
    before, used = time.thread_time(), USED()
    gc.collect()
    assert USED() - used < (time.thread_time() - before) / 2


def test_a_turn_ends_when_its_time_is_up_and_others_are_served_between() -> None:
    async def program() -> None:
        machine = Machine()
        flood, ann = Client(machine, "flood", 0.3 * MS), Client(machine, "ann", 0.1 * MS)
        flood.ask(60)
        begun = machine.now
        while not flood.queue.idle:
            await asyncio.sleep(0)
            ann.ask()
        ended = machine.now
        turns = "".join("a" if name == "ann" else "f" for name in machine.done).split("a")
        assert max(map(len, turns[1:])) <= TURN_S / (0.3 * MS) + 1
        assert machine.done.count("flood") == 60
        assert ended - begun < 4 * 60 * 0.3 * MS, "the flood has its share"
        assert flood.account.size < LONG_S

    run(program())


def test_many_connections_of_one_agent_count_as_one() -> None:
    async def program() -> None:
        machine = Machine()
        one = Account()
        crowd = [Client(machine, "crowd", 5 * MS, one) for _ in range(8)]
        other = Client(machine, "other", 5 * MS)
        crowd[0].ask()
        other.ask()
        await until_idle(crowd[0].queue, other.queue)
        machine.done.clear()
        for client in crowd:
            client.ask()
        other.ask()
        await until_idle(other.queue, *[client.queue for client in crowd])
        assert machine.done.index("other") <= 3

    run(program())


def test_the_host_goes_on_after_all_who_waited_before() -> None:
    async def program() -> None:
        machine = Machine()
        crowd = [Client(machine, f"client{n}", 5 * MS) for n in range(3)]
        for client in crowd:
            client.ask()
        await until_idle(*[client.queue for client in crowd])
        machine.done.clear()
        going_on = GoingOn(lambda: machine.work("host", 0.1 * MS))
        for client in crowd:
            client.queue.put([b"piece"])
        going_on.soon(machine.turns)
        going_on.soon(machine.turns)
        while len(machine.done) < 4:
            await asyncio.sleep(0.1 * MS)
        assert machine.done == ["client0", "client1", "client2", "host"]
        going_on.soon(machine.turns)
        await asyncio.sleep(MS)
        assert machine.done[4:] == ["host"]

    run(program())


def test_what_is_to_be_sent_goes_out_before_the_next_turn() -> None:
    async def program() -> None:
        machine = Machine()
        dear = Client(machine, "dear", 5 * MS)
        dear.ask(2)
        machine.turns.send_soon(lambda: machine.done.append("sent"))
        await until_idle(dear.queue)
        assert machine.done == ["dear", "sent", "dear"]
        machine.turns.send_soon(lambda: machine.done.append("sent"))
        await asyncio.sleep(0)
        assert machine.done[-1] == "sent"

    run(program())


def test_queues_are_served_in_turns_each_in_its_own_order() -> None:
    async def program() -> None:
        turns = Turns(float, Ticking(TURN_S))
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


class Ticking:
    """A clock that goes on by so much each time it is looked at."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.at = 0.0

    def __call__(self) -> float:
        self.at += self.step
        return self.at


def test_a_turn_is_bounded_in_bytes_and_one_frame_may_have_more() -> None:
    async def program() -> None:
        done: list[Any] = []
        one = queue(still(), done)
        one.put([bytes(QUANTUM_BYTES // 2), bytes(QUANTUM_BYTES), bytes(2 * QUANTUM_BYTES), b"x"])
        await until_idle(one)
        assert [len(some) for some in done] == [2, 1, 1]

    asyncio.run(program())


def test_what_comes_too_early_waits_with_all_that_comes_after_it() -> None:
    async def program() -> None:
        turns = still()
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

        def do(frames: list[bytes], until: float) -> None:
            done.append(frames)
            if len(done) == 1:
                one.hold(frames[1:])

        one = Queue(still(), do, Account())
        one.put([b"a", b"b"])
        for _ in range(3):
            await asyncio.sleep(0)
        assert done == [[b"a", b"b"]]
        one.go_on()
        await asyncio.sleep(0)
        assert done[1:] == [[b"b"]]

    asyncio.run(program())


def test_of_a_read_with_very_many_frames_some_are_told_apart_at_a_time() -> None:
    async def program() -> None:
        done: list[bytes] = []
        framer, read = Framer(100), [b"%d" % number for number in range(3 * LOT_FRAMES + 5)]
        lots: list[int] = []

        def more() -> list[bytes]:
            lots.append(len(done))
            return framer.feed(b"", LOT_FRAMES)

        def do(frames: list[bytes], until: float) -> None:
            done.append(frames[0])
            done.extend(frames[1:-1])
            if len(frames) > 1:  # in its order, also where the next were told apart before
                one.put_back(frames[-1:])

        one = Queue(still(), do, Account(), more)
        transport = Transport()
        one.transport = cast("asyncio.Transport", transport)
        one.put(framer.feed(join(read), LOT_FRAMES))
        assert not transport.reading
        await until_idle(one)
        assert done == read
        assert len(lots) == 3
        assert lots[0] > LOT_FRAMES // 2
        assert transport.reading

    asyncio.run(program())


def test_what_is_done_in_pieces_comes_before_all_other_frames() -> None:
    async def program() -> None:
        machine = Machine()
        client = Client(machine, "frame", 0.1 * MS)

        def job() -> Iterator[None]:
            for _ in range(3):
                machine.work("piece", TURN_S)
                yield

        client.queue.go_through(job())
        assert client.queue.held
        client.queue.put([b"frame"])
        other = Client(machine, "other", 0.1 * MS)
        await asyncio.sleep(0)
        other.ask()
        await until_idle(client.queue, other.queue)
        assert [name for name in machine.done if name != "other"] == [*["piece"] * 3, "frame"]
        assert machine.done.index("other") < 3, "the loop comes round between the pieces"
        client.queue.go_through(job())
        client.queue.close()
        assert client.queue.idle

    run(program())


def test_a_turn_that_fails_does_not_end_the_turns() -> None:
    async def program() -> None:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: seen.append(about))
        turns, done = still(), list[Any]()

        def fails(frames: list[bytes], until: float) -> None:
            raise ValueError(frames)

        bad, good = Queue(turns, fails, Account()), queue(turns, done)
        bad.put([b"a", b"b"])
        good.put([b"c"])
        await until_idle(good)
        assert done == [[b"c"]]
        assert isinstance(seen[0]["exception"], ValueError)
        bad.put([b"d"])
        await until_idle(bad)
        assert len(seen) == 2

    asyncio.run(program())


def test_a_full_queue_is_not_read_into() -> None:
    async def program() -> None:
        one = queue(still(), [])
        transport = Transport()
        one.transport = cast("asyncio.Transport", transport)
        one.put([bytes(QUEUE_BYTES_MAX // 8) for _ in range(9)])
        seen = [transport.reading]
        await until_idle(one)
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


def test_a_queue_that_was_closed_keeps_nothing_of_its_client() -> None:
    class Client:
        def __init__(self) -> None:
            self.queue = Queue(still(), self.do, Account(), self.more)

        def do(self, frames: list[bytes], until: float) -> None: ...

        def more(self) -> list[bytes]:
            return []

    gc.disable()  # it looks for circles seldom, and a host has millions of clients in its life
    try:
        client = Client()
        left = ref(client)
        client.queue.close()
        del client
        assert left() is None
    finally:
        gc.enable()
