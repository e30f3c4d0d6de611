"""Values in columns: every database orders and compares them as `terms.predicate` does.

A value stands in four columns, of which most are empty:

| kind | of which values | `num` | `ext` | `text` |
| --- | --- | --- | --- | --- |
| `n` | numbers, whole or not | the number | see below | – |
| `s` | strings | – | – | the string, escaped |
| `b` | booleans | – | – | `0` or `1` |
| `y` | bytes | – | – | hexadecimal digits |
| `z` | none | – | – | empty |
| `l`, `c` | lists; compounds, and objects among them | – | – | an identity, see `identity` |

Numbers compare by value, exactly. A double holds most of them; an integer that no double is has
the nearest double towards zero in `num`, and in `ext` a text that orders it among the numbers up to
the next double. Where there is none, `ext` counts as `EXACT`, which stands between the texts of
negative and of positive numbers. So two numbers compare as the pairs (`num`, `ext`) do.

Strings are compared by code points in all our databases. PostgreSQL knows no U+0000, so it and
U+0001 are escaped in a way that keeps the order.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final, NamedTuple

from nomospace.terms import Compound, Term, encode, show

EXACT: Final = "5"
"""What `ext` counts as where it is empty."""
_ABOVE: Final = "9"
_BELOW: Final = "1"
_LARGEST: Final = float.fromhex("0x1.fffffffffffffp+1023")
_NINES: Final = str.maketrans("0123456789", "9876543210")
_SHORT: Final = 64
"""The longest text that is an identity as it is, in characters."""
_DIGEST_BYTES: Final = 20

KINDS: Final[dict[type, str]] = {
    int: "n",
    float: "n",
    str: "s",
    bool: "b",
    bytes: "y",
    type(None): "z",
    tuple: "l",
    Compound: "c",
}
"""The kind of each class of values."""
ORDERED: Final = ("s", "y")
"""The kinds, besides numbers, that have an order."""


class Coded(NamedTuple):
    """A value as it stands in columns."""

    kind: str
    num: float | None = None
    ext: str | None = None
    text: str | None = None


def coded(value: Term) -> Coded:
    """A ground term as columns.

    >>> coded(4500)
    Coded(kind='n', num=4500.0, ext=None, text=None)
    >>> coded("Fiat")
    Coded(kind='s', num=None, ext=None, text='Fiat')
    >>> coded(2**60 + 1)
    Coded(kind='n', num=1.152921504606847e+18, ext='900191152921504606846977', text=None)
    """
    kind = KINDS[value.__class__]
    if type(value) is int or type(value) is float:
        return Coded(kind, *number(value))
    if type(value) is str:
        return Coded(kind, text=escaped(value))
    if type(value) is bool:
        return Coded(kind, text=str(int(value)))
    if type(value) is bytes:
        return Coded(kind, text=value.hex())
    return Coded(kind, text="" if kind == "z" else identity(value))


def number(value: float) -> tuple[float, str | None]:
    """A number as the pair that orders it: a double, and what is left to say.

    >>> number(0.5), number(-3)
    ((0.5, None), (-3.0, None))
    """
    if type(value) is float:
        return value, None
    try:
        near = float(value)
    except OverflowError:
        near = _LARGEST if value > 0 else -_LARGEST
    if int(near) == value:
        return near, None
    if abs(int(near)) > abs(value):
        near = math.nextafter(near, 0.0)
    digits = str(abs(int(value)))
    size = f"{len(digits):04}{digits}"
    return near, _ABOVE + size if value > 0 else _BELOW + size.translate(_NINES)


def escaped(text: str) -> str:
    """A string without U+0000, which orders as the string does.

    >>> escaped("Fiat"), escaped("a\\0b") < escaped("a\\1b") < escaped("ab")
    ('Fiat', True)
    """
    if "\0" not in text and "\1" not in text:
        return text
    return text.replace("\1", "\1\2").replace("\0", "\1\1")


def unescaped(text: str) -> str:
    """What `escaped` was given.

    >>> unescaped(escaped("\\0\\1\\2")) == "\\0\\1\\2"
    True
    """
    if "\1" not in text:
        return text
    return text.replace("\1\1", "\0").replace("\1\2", "\1")


def identity(value: Term) -> str:
    """A text that equal terms share, and only those: `1`, `1.0` and `True` have three.

    What is short can be read, arrays among it; compounds, and what is long, are a digest.

    >>> identity("A"), identity(1), identity(1.0), identity(("a", 2))
    ('sA', 't1', 't1.0', 't[a,2]')
    """
    if type(value) is str:
        if len(value) <= _SHORT:
            return "s" + escaped(value)
    elif type(value) is not Compound:
        text = show(value)
        if len(text) <= _SHORT:
            return "t" + escaped(text)
    return "h" + digest(encode(value))


def digest(data: bytes) -> str:
    """A short text for bytes; two that differ have the same with odds not worth counting."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
