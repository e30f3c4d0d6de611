"""What clients ask of a host and what it answers: requests, values and errors as they travel.

Most requests travel as they are (`nomospace.calls.requests`). Four have a form of their own, since
native code cannot write what they hold: a template goes as the bytes of its list term, and a law as
its hash, or, for a host that does not know it, with its text. Answers are tagged, so that whoever
reads one need not remember the question.

`encode_request` and `encode_value` give what native code can write into any frame; `decode_request`
and `decode_value` take what was read from there. What has not the form of a request is a peer's
fault, `Unfit`. What has, and is still wrong (a template that is none, a formal in a tuple, a law
that is not known), is the caller's mistake, a typed error: the answer to the call.

A host sees the same few templates again and again, so they are kept by their bytes: what was read
and compiled for one call serves the next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from nomospace.calls.answers import AnswerValue, DisclosedRuling, Found, Listed, Standing
from nomospace.calls.problems import BadReaction, NoSuchWay
from nomospace.calls.requests import (
    STRONG,
    Adopt,
    LawText,
    OntologyText,
    Open,
    Out,
    OutMany,
    React,
    Request,
    Seek,
)
from nomospace.calls.ways import PRIORITY_MAX, Mode, Strength, Way
from nomospace.errors import CallerError, LimitReached, NomospaceError
from nomospace.terms import Source, encode
from nomospace.terms.templates import Template
from nomospace.wire.annotations import Struct
from nomospace.wire.forms import (
    SHAPES,
    WireAdopt,
    WireFounds,
    WireListed,
    WireListing,
    WireOpen,
    WireReact,
    WireSeek,
)
from nomospace.wire.kinds import Tagged, convert
from nomospace.wire.packing import DEEP, Unfit, heads_in, survey, unpack
from nomospace.wire.values import thaw_all, thaw_tuple

if TYPE_CHECKING:
    from nomospace.law import CompiledLaw

PERIOD_US_MAX: Final = 3_155_760_000_000_000
"""The longest lease or life of a tuple: a hundred years."""
LAWS_MAX: Final = 256
"""How many laws that came as texts are kept."""
TEMPLATES_MAX: Final = 1_024
"""How many templates are kept ready."""
CALL_PARTS_MAX: Final = 15_000
"""How many lists, strings and numbers a call may hold,"""
TEMPLATE_PARTS_MAX: Final = 10_000
"""and how many a template that goes as bytes: it is made ready as well."""
DEEP_MAX: Final = 4_000
"""How many of its lists and compounds may stand inside more than `packing.DEEP` others."""
SLOW_PARTS_MAX: Final = 7_500
"""How many parts a call may hold in which any does: all of them are read the slow way."""
HUGE_MAX: Final = 500
"""How many of them may be integers past 64 bits: they are dear to read, and can be made to hash
alike, so that a map of them would be a list."""
TEMPLATE_BYTES_MAX: Final = 512
"""Only templates up to this size are kept ready."""

_Word = TypeVar("_Word", Way, Mode, Strength)

_set: Final = msgspec.structs.force_setattr


class StaysAtHome(CallerError):
    """A strong reaction was to be registered at a host in another process."""

    code = "wire.stays-at-home"
    words = (
        "a strong reaction on {space!r} runs its listener inside the host's step, and a "
        "function does not travel; make the reaction weak, or run the agent as a program there"
    )
    space: str


class LawUnknown(CallerError):
    """A law was named by its hash, and the host does not have it."""

    code = "wire.law-unknown"
    words = "law {hash:.12} is not known to this host; send its text"
    hash: str


class LawAltered(CallerError):
    """The text of a law is that of another one than its hash says."""

    code = "wire.law-altered"
    words = (
        "the text that came for law {hash:.12} is that of law {found:.12}; "
        "get the law again from where you trust it"
    )
    hash: str
    found: str


class BadCall(CallerError):
    """A request holds something that it cannot."""

    code = "wire.bad-call"
    words = "{what} cannot be asked for so: {why}"
    what: str
    why: str


class CallTooWide(LimitReached):
    """A call holds more parts than a host reads in one."""

    code = "limits.call-parts"


def unpack_parts(data: bytes, most: int = CALL_PARTS_MAX) -> object:
    """`unpack` for a call, or a template that goes as bytes: `CallTooWide` before much is read.

    Few bytes cannot take long: each part has one at least. Raises `Unfit` as `unpack` does.
    """
    if len(data) <= DEEP_MAX or (len(data) <= CALL_PARTS_MAX and heads_in(data) <= DEEP_MAX):
        return unpack(data)
    found = survey(data, most)
    if found.deep:
        most = min(most, SLOW_PARTS_MAX)
    if found.all > most:
        raise CallTooWide(
            what="the number of lists, strings and numbers in one call",
            limit=most,
            advice="make several calls of it, nest less deep, or write one long text",
        )
    if found.extensions > HUGE_MAX:
        raise CallTooWide(
            what="the number of integers past 64 bits in one call",
            limit=HUGE_MAX,
            advice="make several calls of it, or write them as texts or bytes",
        )
    if found.deep > DEEP_MAX:
        raise CallTooWide(
            what=f"the number of lists in one call that stand inside more than {DEEP} others",
            limit=DEEP_MAX,
            advice="make several calls of it, or nest less deep",
        )
    return unpack(data, surveyed=True)


# -- requests ----------------------------------------------------------------------------------


WireRequest: TypeAlias = msgspec.Struct
"""A request as native code writes and reads it: itself, or its form (`forms`)."""

Laws: TypeAlias = Callable[[str | LawText], "CompiledLaw"]
"""Gives the law that a hash, or a text with its hash, names. It should keep what it has compiled.

Raises `LawUnknown` for a hash that it does not know, `LawAltered` for a text of another law.
`LawShelf` is one.
"""


class Unready(Exception):
    """A request holds a text that has to be read first, by somebody who has the time for it.

    No error: whoever hands the request on has the text read, and tries again.
    """

    def __init__(self, text: LawText | OntologyText) -> None:
        super().__init__(text.hash)
        self.text = text


class LawShelf:
    """The laws that requests name, kept once they were compiled.

    `known` gives the laws that a host has anyhow, by hash. With `compiles` false the shelf reads no
    text itself: it raises `Unready` for one of which nobody knows what becomes of it, and `failed`
    tells it, once, that this could not be found out.

    >>> from nomospace.law import load
    >>> shelf = LawShelf(lambda hash: None)
    >>> law = load("law(open). sent(X, M, Y) :- do(forward).")
    >>> shelf(LawText(law.hash, "open.law", law.tree.source.text)).name
    'open'
    >>> shelf(law.hash).name
    'open'
    """

    __slots__ = ("_compiles", "_failed", "_kept", "_known")

    def __init__(
        self, known: Callable[[str], CompiledLaw | None], *, compiles: bool = True
    ) -> None:
        self._known = known
        self._compiles = compiles
        self._kept: dict[str, CompiledLaw] = {}
        self._failed: dict[LawText, NomospaceError] = {}

    def __call__(self, law: str | LawText) -> CompiledLaw:
        """The law that a hash or a text names; raises `LawUnknown`, `LawAltered` and `Faulty`."""
        hash = law if isinstance(law, str) else law.hash
        found = self._kept.get(hash) or self._known(hash)
        if found is not None:
            return found
        if isinstance(law, str):
            raise LawUnknown(hash=hash)
        made = self._made(law)
        if made.hash != hash:
            raise LawAltered(hash=hash, found=made.hash)
        if len(self._kept) >= LAWS_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[hash] = made
        return made

    def _made(self, law: LawText) -> CompiledLaw:
        from nomospace.law.program import known, load  # hosts compile laws, clients only name them

        if not self._compiles and known(Source(law.text, law.name)) is None:
            why = self._failed.pop(law, None)
            raise Unready(law) if why is None else why
        return load(law.text, law.name)

    def failed(self, law: LawText, why: NomospaceError) -> None:
        """It could not be found out what becomes of a text: the next who asks is told why."""
        if len(self._failed) >= LAWS_MAX:
            self._failed.clear()  # who asked may have gone
        self._failed[law] = why


def encode_request(request: Request, *, texts: bool = False) -> WireRequest:
    """What native code can write of a request. Laws go as hashes; with `texts`, as texts.

    Raises `StaysAtHome` for a strong reaction, and `BadCall` for a part of another type than it
    must be: the host could only say the same.

    >>> from nomospace.calls.requests import Cancel
    >>> encode_request(Cancel(7))
    Cancel(op=7)
    >>> encode_request(Cancel("7"))
    Traceback (most recent call last):
    nomospace.wire.calls.BadCall: cancel cannot be asked for so: its op is of type str, and ...
    """
    for name, kind in _simple_parts(request.__class__):
        part = getattr(request, name)
        if not isinstance(part, kind):
            why = f"its {name} is of type {type(part).__name__}, and {kind.__name__} is wanted"
            raise BadCall(what=type(request).__name__.lower(), why=why)
    lower = _LOWER.get(request.__class__)
    lowered: WireRequest = request if lower is None else lower(request, texts)
    return lowered


@cache
def _simple_parts(request: type[msgspec.Struct]) -> tuple[tuple[str, type], ...]:
    """The parts of a request that are texts, numbers and the like, with their types."""
    fields = msgspec.structs.fields(request)
    return tuple([(field.name, field.type) for field in fields if field.type in _SIMPLE])


_SIMPLE: Final = (str, int, bool, bytes)


def _lower_seek(seek: Seek, texts: bool) -> WireSeek:
    pattern = encode(seek.template.term)
    return WireSeek(seek.space, seek.how, pattern, seek.at, seek.dest, seek.lease_us, seek.sets)


def _lower_react(react: React, texts: bool) -> WireReact:
    if react.listener is not None or react.strength == STRONG:
        raise StaysAtHome(space=react.space)
    pattern = encode(react.template.term)
    mode, strength = react.mode, react.strength
    return WireReact(react.space, pattern, mode, strength, react.at, react.dest, react.sets)


def _law(law: CompiledLaw, texts: bool) -> str | LawText:
    if not texts:
        return law.hash
    source = law.tree.source
    return LawText(law.hash, source.name, source.text)


def _lower_open(request: Open, texts: bool) -> WireOpen:
    law = None if request.law is None else _law(request.law, texts)
    how = request.ontology, request.engine, request.partition
    return WireOpen(request.space, law, request.durable, *how)


def _lower_adopt(request: Adopt, texts: bool) -> WireAdopt:
    return WireAdopt(_law(request.law, texts), request.args, request.number)


_LOWER: Final[dict[type, Callable[..., msgspec.Struct]]] = {
    Seek: _lower_seek,
    React: _lower_react,
    Open: _lower_open,
    Adopt: _lower_adopt,
}


def decode_request(raw: object, laws: Laws) -> Request:
    """The request that was read, as a plain value or natively as a `WireRequest`.

    Raises `Unfit` for what is no request, and otherwise the caller's mistake in it: a `CallerError`
    or a `LawError`. A struct is used again where it can be, so it must not be read twice.

    >>> decode_request(["settle", "jobs", "l7", True], laws=None).done
    True
    """
    request: Any = convert(raw, _REQUESTS.kind(raw)) if raw.__class__ is list else raw
    kind = request.__class__
    if kind not in _KNOWN:
        raise Unfit(f"a {type(raw).__name__} is no request")
    read = _READ.get(kind)
    try:
        made: Request = read(request, laws) if read is not None else _finish(request)
    except Unfit as error:
        raise BadCall(what=type(request).__name__.lower(), why=str(error)) from None
    return made


T = TypeVar("T", bound=msgspec.Struct)


def _finish(made: T) -> T:
    finish = SHAPES.finish_of(made.__class__)
    done: T = made if finish is None else finish(made)
    return done


_FORMS: Final[dict[Struct, Struct]] = {
    Seek: WireSeek,
    React: WireReact,
    Open: WireOpen,
    Adopt: WireAdopt,
}
REQUESTS: Final = tuple([_FORMS.get(kind, kind) for kind in Request.__subclasses__()])
"""What requests are on the wire."""
ANSWERS: Final = (Found, WireFounds, DisclosedRuling, WireListing, Standing)
"""What answers are on the wire, besides plain values."""
_KNOWN: Final = frozenset(REQUESTS)
_REQUESTS: Final = Tagged("request", *REQUESTS)
_ANSWERS: Final = Tagged("answer", *ANSWERS)


def _read_out(out: Out, laws: Laws) -> Out:
    _set(out, "fields", thaw_tuple(out.fields))
    if out.ttl_us:
        _check_period(out.ttl_us)
    if out.priority:
        _check_priority(out.priority)
    return out


def _read_out_many(out: OutMany, laws: Laws) -> OutMany:
    _set(out, "rows", tuple([thaw_tuple(fields) for fields in out.rows]))
    _check_period(out.ttl_us)
    _check_priority(out.priority)
    return out


def _check_priority(priority: int) -> None:
    if abs(priority) > PRIORITY_MAX:
        raise Unfit(f"priority {priority:,}; it is from -{PRIORITY_MAX} to {PRIORITY_MAX}")


def _check_period(period_us: int) -> None:
    if not 0 <= period_us <= PERIOD_US_MAX:
        raise Unfit(f"a time of {period_us:,} µs; it is 0 to {PERIOD_US_MAX:,}")


def _word(words: type[_Word], given: str) -> _Word:
    """One of a closed set of words; raises `NoSuchWay` or `BadReaction`."""
    try:
        return words(given)
    except ValueError:
        known = tuple([one.value for one in words])
        if words is Way:
            raise NoSuchWay(given=given, known=known) from None
        raise BadReaction(what=words.__name__.lower(), given=given, known=known) from None


def _read_seek(seek: WireSeek, laws: Laws) -> Seek:
    template = read_template(seek.pattern)
    if seek.lease_us:
        _check_period(seek.lease_us)
    how = _word(Way, seek.how)
    return Seek(seek.space, how, template, seek.at, seek.dest, seek.lease_us, seek.sets)


_templates: dict[bytes, Template] = {}


def read_template(pattern: bytes) -> Template:
    """The template that bytes stand for; it is known again by them."""
    found = _templates.get(pattern)
    if found is not None:
        return found
    # Within a call they are bytes, and were not counted.
    raw = unpack_parts(pattern, TEMPLATE_PARTS_MAX)
    if not isinstance(raw, list):
        raise Unfit("a template that is no list")
    if len(pattern) > TEMPLATE_BYTES_MAX:
        return Template.of_terms(thaw_all(raw))
    if len(_templates) >= TEMPLATES_MAX:
        _templates.clear()
    _templates[pattern] = template = Template.of(thaw_all(raw))
    return template


def _read_react(react: WireReact, laws: Laws) -> React:
    if react.strength == STRONG:
        raise StaysAtHome(space=react.space)
    mode, strength = _word(Mode, react.mode), _word(Strength, react.strength)
    template = read_template(react.pattern)
    return React(react.space, template, mode, strength, react.at, react.dest, sets=react.sets)


def _read_open(request: WireOpen, laws: Laws) -> Open:
    law = None if request.law is None else laws(request.law)
    how = request.ontology, request.engine, request.partition
    return Open(request.space, law, request.durable, *how)


def _read_adopt(request: WireAdopt, laws: Laws) -> Adopt:
    return Adopt(laws(request.law), thaw_all(request.args), request.number)


_READ: Final[dict[type, Callable[..., Request]]] = {
    Out: _read_out,
    OutMany: _read_out_many,
    WireSeek: _read_seek,
    WireReact: _read_react,
    WireOpen: _read_open,
    WireAdopt: _read_adopt,
}
"""How requests are read that need more than what their annotations and slots say."""


# -- answers -----------------------------------------------------------------------------------


WireValue: TypeAlias = (
    Found | bool | int | str | WireFounds | DisclosedRuling | WireListing | Standing | None
)
"""An answer as native code writes and reads it."""


def encode_value(value: object) -> WireValue:
    """What native code can write of an answer; raises `TypeError` for what answers no request.

    >>> encode_value(())
    WireFounds(founds=())
    """
    if value is None or isinstance(value, (Found, str, int, DisclosedRuling, Standing)):
        return value
    if isinstance(value, tuple):
        if value and all(isinstance(one, Listed) for one in value):
            return WireListing(tuple([_lower_listed(one) for one in value]))
        if all(isinstance(one, Found) for one in value):
            return WireFounds(value)
    raise TypeError(f"{type(value).__name__} is no answer")


def _lower_listed(one: Listed) -> WireListed:
    id, space, template, *rest = msgspec.structs.astuple(one)
    return WireListed(id, space, encode(template.term), *rest)


def _thaw(found: Found) -> None:
    _set(found, "fields", thaw_all(found.fields))
    for one in found.members:
        _set(one, "fields", thaw_all(one.fields))


def decode_value(raw: object) -> AnswerValue:
    """The answer that was read, plain or natively; raises `Unfit` for what is none.

    >>> decode_value(["found", ["job", 17], "ann@ward", 3, "ann@ward", 0, ""]).fields
    ('job', 17)
    """
    value: object = convert(raw, _ANSWERS.kind(raw)) if raw.__class__ is list else raw
    if isinstance(value, Found):
        _thaw(value)
        return value
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, WireFounds):
        for found in value.founds:
            _thaw(found)
        return value.founds
    if isinstance(value, DisclosedRuling | Standing):
        return _finish(value)
    if isinstance(value, WireListing):
        return tuple([_read_listed(one) for one in value.reactions])
    raise Unfit(f"a {type(value).__name__} is no answer")


def _read_listed(one: WireListed) -> Listed:
    id, space, pattern, *rest = msgspec.structs.astuple(one)
    return Listed(id, space, read_template(pattern), *rest)
