"""Errors to plain values and back: by their lasting code and their typed fields.

An error is data: `Fault` has its code, whose move it is, the words that its host would print and
its fields. Where the class of that code is loaded it is made again, field by field as its
annotations say (who catches a class by name has it loaded); where it is not, or a field does not
fit, one of the kinds of `RemoteError` prints the words. A peer
names codes, never classes or modules: nothing is imported or run for it.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Final, get_type_hints

import msgspec

from nomospace.errors import (
    Bug,
    CallerError,
    LawError,
    LimitReached,
    NomospaceError,
    PeerError,
    Unavailable,
)
from nomospace.wire.annotations import Step, has_any, is_struct
from nomospace.wire.forms import SHAPES
from nomospace.wire.packing import Unfit, pack
from nomospace.wire.values import thaw

TEXT_MAX: Final = 16_000
"""How many characters of an error's words travel."""
FIELDS_BYTES_MAX: Final = 256 << 10
"""Fields that are larger than this stay behind, and the words must do."""


class Fault(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An error as it travels."""

    code: str
    kind: str
    text: str
    fields: dict[str, object] = {}


class RemoteError(NomospaceError):
    """Something went wrong at a host, in a way that has no class here.

    Its `code` is the one that the host gave, and its kind is the host's: an `Unavailable` of a
    newer host is still one to try again.
    """

    code = "wire.remote"
    words = "{text}"
    remote_code: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", self.remote_code)


class RemoteCallerError(RemoteError, CallerError):
    """The caller gave something that a host cannot take."""


class RemoteLimit(RemoteError, LimitReached):
    """A limit of a host is reached, one that has no class here."""

    words = "{text}"


class RemotePeerError(RemoteError, PeerError):
    """A host says that a peer of it said something that cannot be so."""


class RemoteLawError(RemoteError, LawError):
    """A host cannot read or use the text of a law."""


class RemoteUnavailable(RemoteError, Unavailable):
    """A part of a host is not there just now."""


_KINDS: Final[dict[str, type[RemoteError]]] = {
    CallerError.code: RemoteCallerError,
    PeerError.code: RemotePeerError,
    LawError.code: RemoteLawError,
    Unavailable.code: RemoteUnavailable,
}

_LIMITS: Final = f"{LimitReached.code}."


class _Limit(msgspec.Struct, frozen=True, gc=False):
    """What every limit says of itself."""

    what: str
    limit: int
    advice: str


_classes: dict[str, type[NomospaceError]] = {}
"""The classes of errors by their codes, as far as they were looked for."""


def encode_error(error: NomospaceError) -> Fault:
    """An error as data, which native code can write into any frame.

    >>> from nomospace.calls.problems import NotOpen
    >>> encode_error(NotOpen(space="jobs", agent="ann@ward")).fields
    {'space': 'jobs', 'agent': 'ann@ward'}
    """
    text = str(error)
    if len(text) > TEXT_MAX:
        text = f"{text[: TEXT_MAX - 1]}…"
    given = {field.name: getattr(error, field.name) for field in fields(error)}
    if not _travels(given):
        # Terms in a struct may have what native code cannot write; else a field stays behind.
        given = {
            name: SHAPES.lower(value, raw=True) if isinstance(value, msgspec.Struct) else value
            for name, value in given.items()
        }
        if not _travels(given):
            given = {}
    return Fault(error.code, _kind(error), text, given)


def _travels(given: dict[str, object]) -> bool:
    try:
        return len(pack(given)) <= FIELDS_BYTES_MAX
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _kind(error: NomospaceError) -> str:
    for kind in (CallerError, PeerError, LawError, Unavailable, Bug):
        if isinstance(error, kind):
            return kind.code
    return NomospaceError.code


def decode_error(raw: object) -> NomospaceError:
    """The error that was read, as a plain value or natively as a `Fault`.

    It is a `RemoteError` when its class, or one of its fields, is not known. Raises `Unfit` for
    what is no error.

    >>> decode_error(Fault("host.no-such-thing", "unavailable", "the thing is away"))
    RemoteUnavailable(remote_code='host.no-such-thing', text='the thing is away')
    """
    try:
        fault = msgspec.convert(raw, Fault)
    except msgspec.ValidationError as error:
        raise Unfit(str(error)) from None
    kind, given = _class_of(fault.code), fault.fields
    if kind is not None:
        try:
            readers = _readers(fault.code).items()
            return kind(**{name: read(given[name]) for name, read in readers if name in given})
        except (ValueError, KeyError, TypeError, RecursionError):  # `Unfit` and msgspec's are first
            pass
    return _unknown(fault)


def _unknown(fault: Fault) -> RemoteError:
    if fault.code.startswith(_LIMITS):
        try:
            limit = msgspec.convert(fault.fields, _Limit)
        except msgspec.ValidationError:
            pass
        else:
            said = msgspec.structs.asdict(limit)
            return RemoteLimit(remote_code=fault.code, text=fault.text, **said)
    return _KINDS.get(fault.kind, RemoteError)(remote_code=fault.code, text=fault.text)


def _class_of(code: str) -> type[NomospaceError] | None:
    """The class of a code; those that were loaded since the last look are found."""
    if code not in _classes:
        for kind in _subclasses(NomospaceError):
            if not issubclass(kind, RemoteError):
                _classes.setdefault(kind.code, kind)
    return _classes.get(code)


def _subclasses(kind: type[NomospaceError]) -> list[type[NomospaceError]]:
    found = []
    for each in kind.__subclasses__():
        if "code" in each.__dict__:
            found.append(each)
        found += _subclasses(each)
    return found


@cache
def _readers(code: str) -> dict[str, Step]:
    """What reads each field of an error whose class was found."""
    kind = _classes[code]
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in fields(kind)}


def _reader(annotation: object) -> Step:
    if is_struct(annotation):
        return lambda raw: SHAPES.read(annotation, raw)
    if has_any(annotation):
        return thaw
    return lambda raw: msgspec.convert(raw, annotation)
