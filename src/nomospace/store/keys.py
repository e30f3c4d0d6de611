"""Keys of fields: byte strings by which a database tells values apart.

A key is a letter for the value's kind and its canonical bytes, so equal values, and only those,
have equal keys; the values of a kind, and compounds of one functor, stand together in an index. A
long value has a capital letter, the beginning of its bytes and a digest of all of them.

>>> key(17), key("fire")
(b'i\\x11', b's\\xa4fire')
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from nomospace.terms import Compound, Term, encode

KEY_BYTES_MAX: Final = 64
"""The longest canonical bytes that stand in a key as they are."""
_BEGINNING: Final = 40
_DIGEST: Final = 16

LETTERS: Final[dict[type, bytes]] = {
    type(None): b"n",
    bool: b"b",
    int: b"i",
    float: b"d",
    str: b"s",
    bytes: b"y",
    tuple: b"l",
    Compound: b"c",
}
"""The letter of each kind of value."""


def key(value: Term) -> bytes:
    """The key of a ground term."""
    data = encode(value)
    letter = LETTERS[value.__class__]
    if len(data) <= KEY_BYTES_MAX:
        return letter + data
    return letter.upper() + data[:_BEGINNING] + blake2b(data, digest_size=_DIGEST).digest()


def kind_ranges(kind: type) -> tuple[tuple[bytes, bytes], ...]:
    """Where the keys of a kind of value are: from the first of each pair, and before the second.

    >>> kind_ranges(int)
    ((b'i', b'j'), (b'I', b'J'))
    """
    return ranges(LETTERS[kind], b"")


def functor_ranges(name: str | None, width: int) -> tuple[tuple[bytes, bytes], ...]:
    """Where the keys of compounds of one functor are, or (without a name) of lists of one width."""
    blank = (None,) * width  # one byte each, behind what is looked for
    kind, value = (tuple, blank) if name is None else (Compound, Compound(name, blank))
    start = encode(value)[: -width or None]
    return ranges(LETTERS[kind], start)


def ranges(letter: bytes, start: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Where the keys are that have a letter, small or capital, and then these bytes."""
    small = letter + start[:KEY_BYTES_MAX]
    capital = letter.upper() + start[:_BEGINNING]
    return (small, _after(small)), (capital, _after(capital))


def _after(start: bytes) -> bytes:
    """The least byte string above all that begin so."""
    stem = start.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1])
