"""Plain values to bytes and back: MessagePack with a version before it, and nothing else.

A *blob* is one version byte and one MessagePack value. What is sent or stored by a newer nomospace
than this one is refused by that byte alone; older versions are read by whoever knows them.

Reading is native and bounded. An empty list is one byte on the wire and seventy in memory, so a
large blob is looked over first: more than `CONTAINERS_MAX` lists and maps are refused, and so are
keys that are not strings. Python salts the hashes of strings, and others can be made to meet.

Python gives native code little room for nesting, so what is nested deeper (a term may be) is read
once more by `read_deep`, and written by `pack_deep`, which keep a stack of their own.

Two extensions belong to terms: an integer past 64 bits is type 1 with its decimal digits, as
`nomospace.terms.encode` has it, and a variable that a law left unbound in an operation is type 2
with its name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from nomospace.terms import INT_BITS_MAX, TERM_DEPTH_MAX, Var
from nomospace.terms.encoding import BIG_INT, encode_deep

DEPTH_MAX: Final = 2 * TERM_DEPTH_MAX + 128
"""How deep a value may be nested: a compound is a map and an array, and frames hold terms."""
CONTAINERS_MAX: Final = 1_000_000
"""How many lists and maps a value may hold; a frame full of tuples has half as many."""
PARTS_MAX: Final = 4_000_000
"""How many parts of a suspicious value are looked over before it is refused."""
VARIABLE: Final = 2

_DIGITS_MAX: Final = INT_BITS_MAX // 3
_INT64: Final = range(-(2**63), 2**64)
_VARIABLE_MAX: Final = 1_000
HARMLESS: Final = 1 << 14
"""Blobs up to this size cannot do harm, whatever they hold."""
_WIDE_MAPS: Final = (0xDE, 0xDF)
"""What begins a map of 16 entries or more."""
_CONTAINER_HEADS: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])


class Unfit(ValueError):
    """Bytes that are no value, or a value of the wrong form. Callers say what it means to them."""


def _hook(value: object) -> object:
    """What native code cannot write: only variables are expected here."""
    if value.__class__ is Var:
        return msgspec.msgpack.Ext(VARIABLE, value.name.encode())
    raise TypeError(f"{type(value).__name__} {str(value)[:60]!r} does not travel")


def _extension(code: int, data: memoryview) -> object:
    if code == BIG_INT and len(data) <= _DIGITS_MAX:
        digits = bytes(data)
        bare = digits.removeprefix(b"-")
        if bare.isdigit() and not bare.startswith(b"0"):  # it can be written in one way only
            made = int(digits)
            if made not in _INT64 and made.bit_length() <= INT_BITS_MAX:
                return made
        raise Unfit("an integer that is not written as it must be")
    if code == VARIABLE and len(data) <= _VARIABLE_MAX:
        return Var(bytes(data).decode())
    raise Unfit(f"an extension of type {code} and {len(data):,} bytes")


pack: Final[Callable[[object], bytes]] = msgspec.msgpack.Encoder(enc_hook=_hook).encode
"""The MessagePack of a value of plain parts, terms and structs, in one native pass."""


Reader: TypeAlias = Callable[[bytes | memoryview], Any]


def reader_of(kind: object) -> Reader:
    """Reads bytes as a type in one native pass; it raises whatever native code does."""
    return msgspec.msgpack.Decoder(kind, ext_hook=_extension).decode


_decode: Final = reader_of(object)


def unpack(data: bytes | memoryview, *, surveyed: bool = False) -> Any:
    """The plain value that bytes stand for: numbers, strings, bytes, lists, dictionaries.

    >>> unpack(pack(("job", 17, None)))
    ['job', 17, None]
    """
    if len(data) > HARMLESS and not surveyed:
        _look_over(data)
    try:
        return _decode(data)
    except RecursionError:
        return read_deep(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unfit(str(error)) from None


def _look_over(data: bytes | memoryview) -> None:
    """Refuse a large blob that would take many times its size in memory, or longer to read.

    A count of the bytes that may begin a list or a map clears most, since text and numbers have
    few; only where there are too many of them, or one may begin a wide map, are the parts followed
    one by one.
    """
    data = bytes(data)
    if heads_in(data) <= CONTAINERS_MAX and not any(head in data for head in _WIDE_MAPS):
        return
    found = survey(data, PARTS_MAX)
    if found.containers > CONTAINERS_MAX or found.all > PARTS_MAX:
        raise Unfit(f"a value of more than {CONTAINERS_MAX:,} lists and maps")


DEEP: Final = 40
"""Terms that nest deeper are read and measured without recursion, which takes several times as
long."""


class Parts(NamedTuple):
    """How many parts bytes hold: all, lists and maps, extensions, which are huge integers, and the
    lists and maps that stand inside more than `DEEP` others.
    """

    all: int
    containers: int
    extensions: int
    deep: int


def heads_in(data: bytes) -> int:
    """How many bytes may begin a list or a map: there are no more of these. It takes no time."""
    return len(data) - len(data.translate(None, _CONTAINER_HEADS))


def survey(data: bytes, most: int) -> Parts:
    """How many parts bytes hold, before any is made; it ends past `most`.

    A part costs little, and nothing of what a string holds does. Raises `Unfit` for bytes that
    break off, for wide maps whose keys are not strings, and for what is nested too deep.

    >>> survey(pack(["job", [1, 2]]), 100)
    Parts(all=5, containers=2, extensions=0, deep=0)
    >>> survey(pack([[1, 2], [0] * 1_000, 3]), 100)
    Parts(all=1006, containers=3, extensions=0, deep=0)
    >>> survey(pack({number: number for number in range(20)}), 100)
    Traceback (most recent call last):
    nomospace.wire.packing.Unfit: a map whose keys are not all strings
    """
    view, steps = memoryview(data), _STEPS
    at = containers = extensions = deep = 0
    parts = left = 1  # to come in the innermost list or map
    wide = False  # whether that is a map whose keys are looked at
    around: list[tuple[int, bool]] = []
    try:
        while parts <= most:
            while not left:
                if not around:
                    if at > len(data):
                        raise IndexError
                    return Parts(parts, containers, extensions, deep)
                left, wide = around.pop()
            head = data[at]
            if wide and not left & 1 and not 0xA0 <= head < 0xC0 and head not in _STRINGS:
                raise Unfit("a map whose keys are not all strings")
            left -= 1
            step = steps[head]
            if step:
                at += step
                continue
            if head < 0xA0:
                kind, size, at = "map" if head < 0x90 else "array", head & 0x0F, at + 1
            else:
                kind, size, at = _head(head, view, at + 1)
                if kind not in _CONTAINERS:
                    at += size + (kind == "ext")
                    extensions += kind == "ext"
                    continue
            containers += 1
            if not size:
                continue
            if len(around) >= DEPTH_MAX:
                raise Unfit(f"a value nested deeper than {DEPTH_MAX:,} levels")
            around.append((left, wide))
            deep += len(around) > DEEP
            left = 2 * size if kind == "map" else size
            if left > len(data) - at:  # each has a byte at least
                raise IndexError
            parts += left
            wide = head in _WIDE_MAPS
    except IndexError:
        raise Unfit("the bytes break off") from None
    return Parts(parts, containers, extensions, deep)


def pack_deep(value: Any) -> bytes:
    """`pack` for terms and plain data of any depth, with integers of any size; no structs."""
    return encode_deep(value, pack)


def read_deep(data: bytes | memoryview) -> object:
    """`unpack` without recursion, for values nested up to `DEPTH_MAX`.

    >>> read_deep(bytes.fromhex("82a166a4726f6f6da1619103"))
    {'f': 'room', 'a': [3]}
    """
    try:
        return _read_deep(memoryview(data))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Unfit(f"the bytes break off, or are no text ({error})") from None


_FIXED: Final = {head: struct.Struct(f">{form}") for head, form in enumerate("fdBHIQbhiq", 0xCA)}
"""Numbers, by the head bytes from 0xCA on: floats, whole numbers from 0 on, and all others."""
_CONTAINERS: Final = ("array", "map")
_STRINGS: Final = (0xD9, 0xDA, 0xDB)
_CONSTANTS: Final[dict[int, bool | None]] = {0xC0: None, 0xC2: False, 0xC3: True}
# Head byte -> what follows, and how many bytes its length or count takes.
_SIZED: Final[dict[int, tuple[str, int]]] = {
    0xC4: ("bytes", 1),
    0xC5: ("bytes", 2),
    0xC6: ("bytes", 4),
    0xC7: ("ext", 1),
    0xC8: ("ext", 2),
    0xC9: ("ext", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}


def _step(head: int) -> int:
    """How many bytes a part takes that begins so, if this alone tells; 0 where it does not."""
    if head < 0x80 or head >= 0xE0 or head in _CONSTANTS:
        return 1
    if 0xA0 <= head < 0xC0:
        return 1 + (head & 0x1F)
    return 1 + _FIXED[head].size if head in _FIXED else 0


_STEPS: Final = tuple([_step(head) for head in range(0x100)])


def _head(head: int, data: memoryview, at: int) -> tuple[str, int, int]:
    """What a head byte announces: its kind, its length or count, and where it begins."""
    if head < 0x90:
        return "map", head & 0x0F, at
    if head < 0xA0:
        return "array", head & 0x0F, at
    if head < 0xC0:
        return "str", head & 0x1F, at
    if 0xD4 <= head <= 0xD8:
        return "ext", 1 << (head - 0xD4), at
    if head not in _SIZED:
        raise Unfit(f"a value that begins with {head:#x}")
    kind, width = _SIZED[head]
    if at + width > len(data):
        raise IndexError("in a length")
    return kind, int.from_bytes(data[at : at + width], "big"), at + width


def _read_deep(data: memoryview) -> object:
    at = 0
    # Containers that are not full: what they hold so far, how many parts are to come, a map or not.
    open_ones: list[tuple[list[object], int, bool]] = []
    while True:
        head = data[at]
        at += 1
        if head < 0x80 or head >= 0xE0:
            value: object = head if head < 0x80 else head - 0x100
        elif head in _CONSTANTS:
            value = _CONSTANTS[head]
        elif head in _FIXED:
            (value,) = _FIXED[head].unpack_from(data, at)
            at += _FIXED[head].size
        else:
            kind, size, at = _head(head, data, at)
            if kind in _CONTAINERS:
                parts = 2 * size if kind == "map" else size
                if parts > len(data) - at:  # every part takes a byte at least
                    raise IndexError("in a list")
                if len(open_ones) >= DEPTH_MAX:
                    raise Unfit(f"a value nested deeper than {DEPTH_MAX:,} levels")
                open_ones.append(([], parts, kind == "map"))
                value = _NOTHING
            else:
                code = 0
                if kind == "ext":
                    (code,) = _FIXED[0xD0].unpack_from(data, at)
                    at += 1
                if at + size > len(data):
                    raise IndexError("in a string")
                raw = data[at : at + size]
                at += size
                if kind == "ext":
                    value = _extension(code, raw)
                else:
                    value = str(raw, "utf-8") if kind == "str" else bytes(raw)
        while True:  # put it where it belongs, and what that fills up likewise
            if value is not _NOTHING:
                if not open_ones:
                    if at != len(data):
                        raise Unfit("bytes after the value")
                    return value
                open_ones[-1][0].append(value)
            made, parts, is_map = open_ones[-1]
            if len(made) < parts:
                break
            open_ones.pop()
            value = _as_map(made) if is_map else made


_NOTHING: Final = object()


def _as_map(parts: list[object]) -> dict[object, object]:
    keys = parts[::2]
    if not all(key.__class__ is str for key in keys):
        raise Unfit("a map whose keys are not all strings")
    return dict(zip(keys, parts[1::2], strict=True))
