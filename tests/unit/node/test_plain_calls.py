"""Plain calls are served as all others would be, frame for frame, and only what may be is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.requests import Open, OutMany, Request, Seek, Share
from nomospace.calls.ways import Way
from nomospace.host.plain import PlainCalls
from nomospace.node.client_link import ClientLink
from nomospace.node.turns import QUANTUM_FRAMES
from nomospace.sessions.host_session import SOME
from nomospace.store.interface import StoreFull
from nomospace.store.journal import Scribe, TupleRecord, decode_record
from nomospace.store.memory import MemoryStore
from nomospace.store.sqlite import SqliteStore
from nomospace.terms.templates import ANY, Template
from nomospace.wire import talk
from nomospace.wire.framing import join, split
from nomospace.wire.packing import pack
from tests.serving import ServedHost

pytestmark = pytest.mark.usefixtures("born_alike")


class Pipe:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[list[talk.Frame]] = []
        self.ended = False

    def write(self, data: bytes) -> None:
        self.writes.append([talk.unpack_frame(one) for one in split(data, 1 << 24)])

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def close(self) -> None:
        self.ended = True

    abort = close

    @property
    def frames(self) -> list[talk.Frame]:
        return [frame for frames in self.writes for frame in frames]


class Line:
    """A client of a host in this process, frame by frame."""

    def __init__(self, host: ServedHost, agent: str = "ann", *, durable: str = "kept") -> None:
        self.pipe = Pipe()
        self.link = ClientLink(host.clients)
        self.link.connection_made(cast("asyncio.Transport", self.pipe))
        self.seq = 0
        self.say(talk.pack_frame(talk.ClientHello(talk.VERSION, "k" * 32, agent)))
        for name in ("jobs", "kept"):
            self.ask(Open(name, None, name == durable))
        self.ask(Share(("jobs", "kept")))

    def say(self, *bodies: bytes) -> list[talk.Frame]:
        """What the host writes when these come in one read."""
        before = len(self.pipe.frames)
        self.link.data_received(join(list(bodies)))
        return self.pipe.frames[before:]

    def ask(self, request: Request) -> list[talk.Frame]:
        self.seq += 1
        return self.say(talk.pack_ask(self.seq, 0, request))

    def seek(self, how: str, *template: Any, space: str = "jobs", **place: Any) -> bytes:
        """A call of this client, as bytes."""
        self.seq += 1
        return talk.pack_seek(self.seq, 0, Seek(space, Way(how), Template.of(template), **place))


def run(work: Callable[[ServedHost], None], **options: Any) -> None:
    async def program() -> None:
        async with ServedHost("ward", **options) as host:
            work(host)

    asyncio.run(program())


def test_it_takes_and_reads() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1, "a"), ("job", 2, "a"), ("job", 3, "b"))))
        answers = line.say(
            line.seek("take", "job", 2, ANY),
            line.seek("read", "job", ANY, "b"),
            line.seek("take_nowait", "job", int, "b"),
            line.seek("read_nowait", "job", ANY, ANY),
        )
        assert [frame[3] for frame in answers] == [
            ["job", 2, "a"],
            ["job", 3, "b"],
            ["job", 3, "b"],
            ["job", 1, "a"],
        ]
        assert [frame[2] for frame in answers] == [5, 6, 7, 8]
        numbers = [frame[1] for frame in answers]
        assert numbers == list(range(numbers[0], numbers[0] + 4))

    run(work)


def test_many_answers_go_out_some_at_a_time() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        many = 3 * SOME
        line.ask(OutMany("jobs", tuple([("job", n) for n in range(many)])))
        before = len(line.pipe.writes)
        line.say(*[line.seek("take", "job", n) for n in range(many)])
        sizes = [len(write) for write in line.pipe.writes[before:]]
        assert sizes == [SOME] * 3

    run(work)


def test_what_was_served_is_known_when_it_is_asked_again() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1), ("job", 2))))
        take = line.seek("take", "job", ANY)
        assert [frame[3] for frame in line.say(take, take)] == [["job", 1]]
        assert [frame[3] for frame in line.say(line.seek("take_nowait", "job", ANY))] == [
            ["job", 2]
        ]

    run(work)


def test_the_journal_has_what_was_taken_and_not_what_was_read() -> None:
    scribe = Scribe("ward", law=lambda _: None, member=lambda *_: None)
    store = MemoryStore()

    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1), ("job", 2))))
        line.say(line.seek("take", "job", 1), line.seek("read", "job", 2))
        host._keep_aside()
        told = [decode_record(entry.record) for entry in store.journal(0, 100)]
        taken = [one for one in told if isinstance(one, TupleRecord) and one.op == "taken"]
        assert [(one.fields, one.agent, one.space) for one in taken] == [
            (("job", 1), "ann@ward", "jobs")
        ]

    run(work, store=store, recorder=scribe)


def test_a_frame_that_is_not_sound_costs_the_connection_after_those_before_it() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1),)))
        answers = line.say(
            line.seek("take", "job", 1), pack([talk.SEEK_PLAIN, "x", 0, "jobs", 0, 2]), b""
        )
        assert [frame[3] for frame in answers] == [["job", 1]]
        assert line.pipe.ended

    run(work)


def test_a_clogged_connection_is_served_the_long_way() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1),)))
        line.link.pause_writing()
        assert line.say(line.seek("take", "job", 1)) == []
        [session] = host.served.all
        assert session.outbox[-1][3] is not None  # so that it goes back, should nobody ever see it
        line.link.resume_writing()

    run(work)


def test_what_another_has_on_disk_is_gone_from_there_too() -> None:
    store = MemoryStore()

    def work(host: ServedHost) -> None:
        line = Line(host, durable="")
        Line(host, "bob").ask(OutMany("kept", (("job", 1),)))
        assert store.durable.tuples["kept"]
        assert [frame[3] for frame in line.say(line.seek("take", "job", 1, space="kept"))] == [
            ["job", 1]
        ]
        assert not store.durable.tuples.get("kept")

    run(work, store=store)


def test_nothing_is_served_that_the_journal_could_not_tell_of() -> None:
    def work(host: ServedHost) -> None:
        line = Line(host)
        line.ask(OutMany("jobs", (("job", 1),)))
        keeper = host.keeper
        assert keeper is not None
        keeper.trouble = StoreFull(where="ward.db", why="no space left")
        [refused] = line.say(line.seek("take", "job", 1))
        assert refused[0] == talk.FAILURE
        assert isinstance(talk.read_error(refused[3]), StoreFull)
        keeper.trouble = None
        assert [frame[3] for frame in line.say(line.seek("take", "job", 1))] == [["job", 1]]

    run(work, store=MemoryStore())


def _script(line: Line, rng: Random) -> list[list[bytes]]:
    """Reads of a connection, each with some frames: all sorts of calls, sound and not."""
    reads = []
    for _ in range(40):
        frames = []
        for _ in range(rng.randint(1, 20)):
            kind = rng.randrange(12)
            job, tag = rng.randrange(30), rng.choice("abc")
            space = rng.choice(("jobs", "jobs", "kept", "none"))
            if kind < 4:
                line.seq += 1
                fields = ("job", rng.choice((job, float(job), True)), tag)
                frames.append(talk.pack_out(line.seq, 0, space, fields, "", 0))
            elif kind < 6:
                frames.append(line.seek("take_nowait", "job", job, ANY, space=space))
            elif kind == 6:
                frames.append(line.seek(rng.choice(("take", "read")), "job", job, tag, space=space))
            elif kind == 7:
                frames.append(line.seek("read_nowait", "job", int, tag, space=space))
            elif kind == 8:
                frames.append(line.seek("take_all", "job", job, ANY, space=space))
            elif kind == 9:
                frames.append(line.seek("take_nowait", "job", ANY, tag, at="ann@ward"))
            elif kind == 10:
                frames.append(line.seek("take", "job", job, ANY, lease_us=10**9))
            elif frames:
                frames.append(rng.choice(frames))  # it is asked again
        reads.append(frames)
    return reads


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_say_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[talk.Frame]] = []
    steps: list[int] = []

    def work(host: ServedHost) -> None:
        line = Line(host)
        for read in _script(line, Random(seed)):
            if read:
                line.say(*read)
        told.append(line.pipe.frames)
        steps.append(host.steps)

    run(work, epoch_us=1_700_000_000_000_000)
    monkeypatch.setattr(PlainCalls, "serve", lambda *_: 0)
    run(work, epoch_us=1_700_000_000_000_000)
    short, long = told
    assert [_shown(frame) for frame in short] == [_shown(frame) for frame in long]
    assert steps[0] == steps[1]


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_keep_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []

    def work(host: ServedHost) -> None:
        line = Line(host)
        for read in _script(line, Random(seed)):
            if read:
                line.say(*read)
        host._keep_aside()
        told = [decode_record(entry.record) for entry in store.journal(0, 10_000)]
        tuples = [(one.op, one.space, one.count) for one in told if isinstance(one, TupleRecord)]
        assert tuples
        assert store.durable.tuples["kept"]
        kept.append((tuples, store.durable.tuples, store.durable.agents, store._outbox))

    for plain in (True, False):
        if not plain:
            monkeypatch.setattr(PlainCalls, "serve", lambda *_: 0)
        store = MemoryStore()
        scribe = Scribe("ward", law=lambda _: None, member=lambda *_: None)
        run(work, store=store, recorder=scribe, epoch_us=1_700_000_000_000_000)
    (*short, sent), (*long, sent_long) = kept
    assert short == long
    for key, pushes in sent_long.items():  # an answer is kept with those of the same step
        assert pushes.items() <= sent[key].items()


def served_from(
    folder: Path, work: Callable[[ServedHost, Line], Coroutine[Any, Any, None]]
) -> None:
    """Run something with a host that has a disk to wait for, and a client of it."""

    async def program() -> None:
        async with ServedHost("ward", store=SqliteStore(folder / "ward.db")) as host:
            async with asyncio.timeout(120):
                while host.core.loading:
                    await asyncio.sleep(0)
            line = Line(host)
            await on_disk(host)
            await work(host, line)

    asyncio.run(program())


async def on_disk(host: ServedHost) -> None:
    """Wait until all is on disk, and what waited for it has gone out."""
    assert host.keeper is not None
    assert await host.keeper.drain(10)
    await asyncio.sleep(0)


def test_what_is_kept_is_told_when_it_is_on_disk(tmp_path: Path) -> None:
    async def work(host: ServedHost, line: Line) -> None:
        line.seq += 3
        outs = [talk.pack_out(line.seq - 2 + n, 0, "kept", ("job", n), "", 0) for n in range(3)]
        take = line.seek("take", "job", 1, space="kept")
        assert line.say(*outs, take, line.seek("read", "job", 2, space="kept")) == []
        assert line.say(take, outs[0]) == []  # asked again: they are under way
        before = len(line.pipe.frames)
        await on_disk(host)
        answers = line.pipe.frames[before:]
        assert [frame[2] for frame in answers] == [4, 5, 6, 7, 8]
        assert [frame[3] for frame in answers if frame[0] == talk.FOUND] == [["job", 1], ["job", 2]]
        assert line.say(take, outs[0]) == []  # asked again: their answers are known
        [left] = line.say(line.seek("read_all", "job", ANY, space="kept"))
        founds = talk.read_reply(left)
        assert isinstance(founds, tuple)
        fields = [found.fields for found in founds if isinstance(found, Found)]
        assert fields == [("job", 0), ("job", 2)]

    served_from(tmp_path, work)


def test_what_was_taken_for_one_who_has_gone_is_there_again(tmp_path: Path) -> None:
    async def work(host: ServedHost, line: Line) -> None:
        line.ask(OutMany("kept", (("job", 1), ("job", 2))))
        await on_disk(host)
        line.say(line.seek("take", "job", 1, space="kept"), talk.BYE_FRAME)
        await on_disk(host)
        await on_disk(host)  # the putting back is another step
        bob = Line(host, "bob")
        bob.say(bob.seek("take", "job", 1, space="kept"))
        await on_disk(host)
        assert [frame[3] for frame in bob.pipe.frames if frame[0] == talk.FOUND] == [["job", 1]]

    served_from(tmp_path, work)


def test_who_has_said_goodbye_is_gone_for_good_though_its_turn_had_not_come() -> None:
    def work(host: ServedHost) -> None:
        for last, left in ((talk.ALIVE_FRAME, 1), (talk.BYE_FRAME, 0)):
            line = Line(host)
            line.say(*[line.seek("read_nowait", "job", n) for n in range(QUANTUM_FRAMES)], last)
            line.link.connection_lost(None)
            assert len(host.clients.sessions.all) == left

    run(work)


def test_one_who_waits_gets_what_another_writes(tmp_path: Path) -> None:
    async def work(host: ServedHost, line: Line) -> None:
        bob = Line(host, "bob")
        assert bob.say(bob.seek("take", "job", ANY, space="kept")) == []
        line.seq += 1
        line.say(talk.pack_out(line.seq, 0, "kept", ("job", 1), "", 0))
        await on_disk(host)
        assert [frame[3] for frame in bob.pipe.frames if frame[0] == talk.FOUND] == [["job", 1]]
        [nothing] = line.say(line.seek("read_nowait", "job", ANY, space="kept"))
        assert nothing[0] == talk.REPLY

    served_from(tmp_path, work)


def _shown(frame: talk.Frame) -> Any:
    """A frame without what differs from life to life: its number, and the names of leases."""
    return frame[:8] if frame[0] == talk.FOUND else frame[:3] if frame[0] == talk.WELCOME else frame


def test_who_comes_back_is_known_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(host: ServedHost) -> None:
        clients = host.clients
        first, second = Line(host).link, Line(host).link
        account = clients.link("ann@ward")
        account.size = 7.0
        clients._unlink("ann@ward", 0.0)
        for link in (first, second):
            link.connection_lost(None)
        clients._sweep(link.loop)
        third = Line(host).link
        assert clients.link("ann@ward") is account
        clients._unlink("ann@ward", 0.0)
        third.connection_lost(None)
        monkeypatch.setattr("nomospace.node.clients.ACCOUNT_S", 0.0)
        clients._sweep(third.loop)
        assert not clients._left
        assert clients.link("ann@ward").size < 1, "it was forgotten"

    run(work)
