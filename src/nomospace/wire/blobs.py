"""Structs to blobs and back, for frames and for records alike.

A blob begins with the version of its format. `Unfit` and its kin stay inside: callers say what a
blob that cannot be read means where it came from.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nomospace.errors import NomospaceError
from nomospace.wire.annotations import Step
from nomospace.wire.packing import Unfit, pack, unpack
from nomospace.wire.slots import SHAPES

_COPY_MAX: Final = 4_096
"""Up to here a copy of the bytes is cheaper than a view of them."""
_lowerers: Final[dict[type[msgspec.Struct], Step | None]] = {}


class Newer(Unfit):
    """A blob of a version that is not known here."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(f"it is of version {version}, and this host knows {known} at most")
        self.version = version
        self.known = known


def seal(version: bytes, value: Any) -> bytes:
    """A version and a struct as bytes; raises `TypeError` for what cannot travel."""
    kind = value.__class__
    if kind not in _lowerers:
        _lowerers[kind] = SHAPES.lower_of(kind, False)
    step = _lowerers[kind]
    try:
        return version + pack(value if step is None else step(value))
    except (OverflowError, RecursionError):
        return version + pack(SHAPES.lower(value, raw=True))


def body(version: bytes, data: bytes) -> Any:
    """The plain value of a blob, if this version knows it."""
    if not data:
        raise Unfit("there is nothing")
    if data[0] != version[0]:
        if data[0] > version[0]:
            raise Newer(data[0], version[0])
        if data[0]:
            raise Unfit(f"it is of version {data[0]}, and this host knows {version[0]} only")
        raise Unfit("its first byte is 0, and a version is 1 or more")
    return unpack(data[1:] if len(data) <= _COPY_MAX else memoryview(data)[1:])


def build(struct: type[msgspec.Struct], raw: object) -> Any:
    """An instance of what was read; raises `Unfit`, whatever is wrong with it."""
    try:
        return SHAPES.read(struct, raw)
    except RecursionError:
        raise Unfit("values nested in values without end") from None
    except NomospaceError as error:  # a template that is none
        raise Unfit(str(error)) from None
