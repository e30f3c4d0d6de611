"""Frames that take as long, and as much memory, to read as can be for their parts and bytes.

A frame is made of a head, which says what it is, and of parts that are repeated. A stranger may say
hello, prove itself, or greet as a host; a client makes calls. Each is read just as a host reads it,
limits and all. What hosts with good certificates send each other is not bounded so, and not here.
A unit is paid for each part of a frame (a list, a string, a number), and for each `UNIT_BYTES`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final, NamedTuple

import msgspec

from nomospace.errors import NomospaceError
from nomospace.node.peering import decode_word
from nomospace.node.turns import LOT_FRAMES
from nomospace.terms.predicate import PREDICATE_CHARS_MAX
from nomospace.wire.calls import CALL_PARTS_MAX, DEEP_MAX
from nomospace.wire.framing import STRANGER_BYTES_MAX, BadFrame, Framer, join
from nomospace.wire.packing import PARTS_MAX, Unfit, heads_in, pack, survey
from nomospace.wire.talk import (
    ASK,
    CALL_BYTES_MAX,
    OUT,
    SEEK,
    is_batch,
    read_batch,
    read_call,
    unpack_call,
    unpack_entry,
    unpack_frame,
)
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.costly.matching import CHARACTER_UNITS, PRIME, numbers, some, words

FRAME_UNITS: Final = 4
"""What it costs to find one frame in a stream."""
DEEP_UNITS: Final = 10
"""What a list costs besides that stands deep inside others."""
HUGE_UNITS: Final = 20
"""What an integer costs besides that is past 64 bits."""
UNIT_BYTES: Final = 128
"""Bytes of a frame that cost as much as a part."""

HEADS: Final = ("out", "out-many", "seek", "seek-plain", "seek-sets", "tell", "react", "hello")
HEADS_MORE: Final = ("proof", "greeting", "save", "move", "many", "nothing")


def _compound(name: str, *args: bytes) -> bytes:
    return b"\x82" + pack("f") + pack(name) + pack("a") + _list(args)


def _formal(*args: bytes) -> bytes:
    return _compound("formal", *args)


def _list(parts: Sequence[bytes]) -> bytes:
    return b"\xdd" + len(parts).to_bytes(4) + b"".join(parts)


def _map(keys: Iterable[bytes]) -> bytes:
    pairs = [key + b"\x01" for key in keys]
    return b"\xdf" + len(pairs).to_bytes(4) + b"".join(pairs)


def _big(number: int) -> bytes:
    return pack(msgspec.msgpack.Ext(1, str(number).encode()))


def _alike(at: int) -> bytes:
    return _big(PRIME * ((1 << 10) + at))


def _predicate(size: int) -> str:
    return " or ".join(["> 5"] * max(1, size // 8))


_WORDS: Final[dict[str, Callable[[int, int], bytes]]] = {
    "int": lambda at, size: pack(at % 100),
    "negative": lambda at, size: pack(-at - 1),
    "wide int": lambda at, size: pack((1 << 63) + at),
    "float": lambda at, size: pack(at + 0.5),
    "zero": lambda at, size: pack(-0.0),
    "null": lambda at, size: b"\xc0",
    "true": lambda at, size: b"\xc3",
    "word": lambda at, size: pack(f"w{at}"),
    "text": lambda at, size: pack("x" * (10 * size)),
    "é": lambda at, size: pack("é" * (5 * size)),
    "bytes": lambda at, size: pack(bytes(10 * size)),
    "big": lambda at, size: _big(10 ** min(max(size, 20), 1_230) + at),
    "alike": lambda at, size: _alike(at),
    "empty list": lambda at, size: b"\x90",
    "empty map": lambda at, size: b"\x80",
    "compound": lambda at, size: _compound("room", pack(at % 9)),
    "list": lambda at, size: pack([at, "a"]),
    "nest": lambda at, size: b"\x91" * min(size, 1_500) + b"\x01",
    "map": lambda at, size: _map([pack(f"k{n}") for n in range(size)]),
    "alike map": lambda at, size: _map([_alike(n) for n in range(size)]),
    "predicate": lambda at, size: _formal(pack("int"), pack(_predicate(size))),
    "class": lambda at, size: _formal(_compound("class", pack(f"C{at}"))),
    "same": lambda at, size: _formal(pack("any"), _compound("same", pack("x"))),
    "any": lambda at, size: _formal(pack("any")),
    "ext": lambda at, size: pack(msgspec.msgpack.Ext(2, b"X")),
    "cut": lambda at, size: b"\xdd\x00\x0f\xff\xff",
    "object": lambda at, size: _compound(
        "object",
        pack("Car"),
        pack(f"c{at}"),
        _list([_compound(f"p{n:04}", pack(n)) for n in range(size)]),
    ),
    "half": lambda at, size: b"\xa2\xed\xa0",
}
WORDS: Final = tuple(_WORDS)
"""What frames are made of."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """A frame by what it is made of."""

    head: str
    parts: tuple[str, ...]
    count: int
    """How often the parts come."""
    size: int
    levels: int
    """How many lists stand around them."""

    def body(self) -> bytes:
        """The parts in their lists."""
        most, made, held = CALL_BYTES_MAX - 1_000, list[bytes](), 0
        for at in range(self.count):
            for word in self.parts:
                one = _WORDS[word](at, self.size)
                held += len(one)
                if held > most:
                    break
                made.append(one)
            if held > most:
                break
        return b"\x91" * self.levels + _list(made)

    def frame(self) -> bytes:
        """The whole frame."""
        body = self.body()
        raw = msgspec.Raw(body)
        if self.head == "out":
            return pack([OUT, 1, 0, "s", raw, "", 0])
        if self.head == "out-many":
            return pack([ASK, 1, 0, ["out-many", "s", raw, "", 0]])
        if self.head == "seek":
            return pack([SEEK, 1, 0, "s", 0, raw, "", "", 0])
        if self.head == "seek-plain":
            pairs = len(self.parts) * self.count
            return b"\xdd" + (6 + pairs).to_bytes(4) + b"\x01\x01\x00\xa1s\x00\x40" + body[5:]
        if self.head == "seek-sets":
            return pack([ASK, 1, 0, ["seek", "s", "take", body, "", "", 0]])
        if self.head == "react":
            return pack([ASK, 1, 0, ["react", "s", body, "once", "weak", "", ""]])
        if self.head in ("tell", "save", "move"):
            return pack([ASK, 1, 0, [self.head, "h", raw, raw][: 3 + self.size % 2]])
        if self.head == "hello":
            return pack([0, 1, "s" * 32, "ann", 0, False, "", raw])[:STRANGER_BYTES_MAX]
        if self.head == "proof":
            return pack([7, raw])[:STRANGER_BYTES_MAX]
        if self.head == "greeting":
            return b"\x00" + pack(["greeting", 1, "h", 1, 1, raw])[: STRANGER_BYTES_MAX - 1]
        if self.head == "many":
            return join([b"\x93\x05\x01\x00"[: self.size % 5]] * self.count)
        return body


class FrameCase(NamedTuple):
    """A frame, how it is read, and its price."""

    data: bytes
    read: Callable[[bytes], Iterator[None]]
    price: int


def _read_client(data: bytes) -> Iterator[None]:
    """As `node.client_link` reads a call, batches slice by slice."""
    if len(data) > DEEP_MAX:
        frame = unpack_call(data)
        if len(data) > CALL_PARTS_MAX and is_batch(data):
            yield
            for _ in read_batch(frame, None):  # type: ignore[arg-type]
                yield
            return
    else:
        frame = unpack_frame(data)
    read_call(frame, None)  # type: ignore[arg-type]
    yield


def _read_stranger(data: bytes) -> Iterator[None]:
    unpack_entry(data)
    yield


def _read_word(data: bytes) -> Iterator[None]:
    decode_word(data)
    yield


def _read_stream(data: bytes) -> Iterator[None]:
    """Many frames in one piece: a client's are told apart some at a time, whatever they are."""
    framer = Framer(STRANGER_BYTES_MAX)
    some = framer.feed(data, LOT_FRAMES)
    yield
    while len(some) == LOT_FRAMES:
        some = framer.feed(b"", LOT_FRAMES)
        yield


_READERS: Final[dict[str, Callable[[bytes], Iterator[None]]]] = {
    "hello": _read_stranger,
    "proof": _read_stranger,
    "greeting": _read_word,
    "many": _read_stream,
}


_TEMPLATES: Final = ("seek", "seek-sets", "react")


def _price(data: bytes) -> int:
    """What the parts of bytes cost; of those that break off, or nest too deep, what they may be."""
    try:
        found = survey(data, PARTS_MAX)
    except Unfit:
        return (1 + DEEP_UNITS) * heads_in(data)
    return found.all + DEEP_UNITS * found.deep + HUGE_UNITS * found.extensions


def _ready(draft: Bytes) -> FrameCase:
    data = draft.frame()
    parts = _price(data[data[:1] == b"\x00" :])
    if draft.head in _TEMPLATES:  # of a template each part is looked into as well
        parts += _price(draft.body())
    if draft.head in _TEMPLATES[1:]:  # which goes as bytes
        parts += _price(draft.body())
    if draft.head in _TEMPLATES and "predicate" in draft.parts:
        parts += CHARACTER_UNITS * min(len(_predicate(draft.size)), PREDICATE_CHARS_MAX)
    if draft.head == "many":
        parts = FRAME_UNITS * draft.count
    return FrameCase(data, _READERS.get(draft.head, _read_client), parts + len(data) // UNIT_BYTES)


def _run(heard: FrameCase) -> Spent:
    longest, steps = 0, heard.read(heard.data)
    with suppress(BadFrame, NomospaceError, Unfit, msgspec.MsgspecError):
        while True:
            began = time.thread_time_ns()
            try:
                next(steps)
            except StopIteration:
                break
            finally:
                longest = max(longest, time.thread_time_ns() - began)
    return Spent(heard.price, longest)


def _make(rng: Random) -> Bytes:
    return Bytes(
        rng.choice((*HEADS, *HEADS, *HEADS_MORE)),
        some(rng, WORDS, 12),
        rng.choice((1, 10, 60, 1_000, 6_000)),
        rng.choice((0, 3, 100, 1_000)),
        rng.choice((0, 0, 1, 1, 3, 900)),
    )


def _mutate(rng: Random, one: Bytes) -> Bytes:
    roll = rng.random()
    if roll < 0.4:
        return replace(one, parts=words(rng, one.parts, WORDS, 64))
    if roll < 0.55:
        return replace(one, head=rng.choice((*HEADS, *HEADS_MORE)))
    most = {"count": 20_000, "size": 10_000, "levels": 2_200}
    return numbers(rng, one, most, ["count", "count", "size", "size", "levels"])


def _show(one: Bytes) -> str:
    named = ", ".join([f"{each.name} {getattr(one, each.name)!r}" for each in fields(one)])
    return f"{named[:600]}; {len(one.frame()):,} bytes"


case(
    CostlyCase(
        "frame",
        _make,
        _mutate,
        _run,
        _show,
        _ready,
        unit=f"a part, or {UNIT_BYTES} bytes",
        unit_ns=250,
    )
)
