"""Most calls of clients, read in one native pass: few parts, and each looked at on the way.

What is read here is what `talk.read_call` would give; all else, and whatever is wrong, is left to
it. A busy host reads tens of thousands of these a second, and looking at one part after the other
in Python took a sixth of what a take costs it.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from nomospace.calls.requests import WAYS, Out, Request, Seek, Settle
from nomospace.errors import NomospaceError
from nomospace.terms.features import PLAIN_INT
from nomospace.terms.templates import WIDTH_MAX, Template
from nomospace.terms.tuples import SHORT
from nomospace.wire.calls import PERIOD_US_MAX, read_template
from nomospace.wire.packing import HARMLESS, Reader, pack, reader_of
from nomospace.wire.talk import ASK, OUT, SEEK, SEEK_PLAIN, Frame


def _common_readers() -> dict[bytes, Reader]:
    """What reads calls of few plain parts, by the two bytes that such a frame begins with."""
    seq, time_us = Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=0, le=PERIOD_US_MAX)]
    how = Annotated[int, Meta(ge=0, lt=len(WAYS))]
    text = Annotated[str, Meta(max_length=SHORT)]
    number = Annotated[int, Meta(gt=-PLAIN_INT, lt=PLAIN_INT)]
    width = Annotated[int, Meta(gt=0, le=WIDTH_MAX)]
    place = Annotated[int, Meta(ge=0, lt=WIDTH_MAX)]
    fields = Annotated[tuple[text | int | bool | None, ...], Meta(min_length=1, max_length=16)]
    head = (int, seq, int, str)
    kinds: dict[int, list[tuple[object, ...]]] = {
        SEEK_PLAIN: [(*head, how, width, *(place, text | number) * many) for many in range(5)],
        SEEK: [(*head, how, msgspec.Raw, str, str, time_us)],
        OUT: [(*head, fields, str, time_us)],
        ASK: [(int, seq, int, Settle)],
    }
    return {
        pack([kind, *[None] * (len(parts) - 1)])[:2]: reader_of(tuple.__class_getitem__(parts))
        for kind, forms in kinds.items()
        for parts in forms
    }


def read_common(data: bytes) -> tuple[int, int, Request] | None:
    """A call that came, as `talk.read_call` gives it: its number, what was seen, the request.

    `None` for all that it does not know, and for whatever is wrong.

    >>> from nomospace.wire.talk import pack_seek
    >>> seek = Seek("jobs", WAYS[0], Template.of(("job", 17)))
    >>> read_common(pack_seek(7, 0, seek)) == (7, 0, seek)
    True
    """
    read = _COMMON.get(data[:2])
    if read is None or len(data) > HARMLESS or (read is _SETTLED and _SETTLE not in data[:32]):
        return None
    try:
        parts = read(data)
        kind = parts[0]
        if kind == SEEK_PLAIN:
            if len(parts) == 10:  # as most have it
                _, seq, seen, space, how, width, one, first, other, second = parts
                if not one < other < width:
                    return None
                template = Template(None, width, True, ((one, first), (other, second)), None, ())
                return seq, seen, Seek(space, WAYS[how], template)
            template = Template.at_places(
                parts[5], tuple(zip(parts[6::2], parts[7::2], strict=True))
            )
            return parts[1], parts[2], Seek(parts[3], WAYS[parts[4]], template)
        if kind == OUT:
            return parts[1], parts[2], Out(*parts[3:])
        if kind == ASK:
            return parts[1], parts[2], parts[3]  # which is the whole of what is settled
        _, seq, seen, space, how, pattern, at, dest, lease_us = parts
        template = read_template(bytes(pattern))
        return seq, seen, Seek(space, WAYS[how], template, at, dest, lease_us)
    except (RecursionError, ValueError, msgspec.MsgspecError, NomospaceError):
        return None


def goes_along(frame: Frame) -> bool:
    """Whether a frame seems to be a call that hosts do together with those around it.

    These read, take and write tuples, say something about a lease, or send a message.
    """
    if frame[0] != ASK:
        return bool(SEEK_PLAIN <= frame[0] <= OUT)
    body = frame[3] if len(frame) == 4 else None
    return body.__class__ is list and bool(body) and body[0] in ("settle", "tell")


_COMMON: Final = _common_readers()
_SETTLED: Final = _COMMON[pack([ASK, None, None, None])[:2]]
_SETTLE: Final = pack("settle")
