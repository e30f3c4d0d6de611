"""What a client and its host say to each other over one connection, as bytes.

Every frame is one MessagePack array that begins with a number for its kind. Both sides agree on the
version in the first exchange (`ClientHello` says which ones the client speaks, `HostWelcome` which
one it is to be, see `versions`), so frames carry none.

    client                                             host
    Hello: who I am, which session, what I saw last ->
                                                    <- Challenge: sign this      (with a key only)
    Proof: the signature ->
                                                    <- Welcome, or Refusal and the end
    Ask: a call, with its number ->
                                                    <- Reply, Failure: with the number of the push
                                                    <- Fired, Mailed, Gone, Left, Back: likewise
    Seen: pushes up to this one; also a sign of life ->
                                                    <- Alive
    Question ->                                        (an operator's, see `nomospace.wire.admin`)
                                                    <- DisclosedRuling
    Bye ->                                             the session ends

The calls that matter most have frames of their own: a take by a template of plain values is a flat
array without a name in it, and its answer too. Everything else goes as `nomospace.wire.calls` has
it. Functions that begin with `pack_` make frames, `Frame` is what `unpack_frame` gives: a plain
list, whose first element says which function of this module reads the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from nomospace.calls.answers import AnswerValue, Found
from nomospace.calls.requests import WAYS, Out, OutMany, Request, Seek
from nomospace.errors import NomospaceError
from nomospace.terms import Term, encode
from nomospace.terms.templates import ANY, Template, check_places
from nomospace.wire.admin import A, OperatorQuestion, Question, read_question
from nomospace.wire.calls import (
    CALL_PARTS_MAX,
    PERIOD_US_MAX,
    BadCall,
    Laws,
    decode_request,
    decode_value,
    encode_request,
    encode_value,
    unpack_parts,
)
from nomospace.wire.errors import decode_error, encode_error
from nomospace.wire.forms import SHAPES
from nomospace.wire.framing import FRAME_BYTES_MAX, BadFrame, FrameTooLarge, Versions
from nomospace.wire.packing import HARMLESS, Unfit, pack, reader_of, unpack
from nomospace.wire.values import FEW_PARTS, SHORT_CHARS, thaw, thaw_all, thaw_tuple

VERSION: Final = 1
"""The version of this conversation."""
VERSIONS: Final = Versions(1, VERSION)
"""All that are spoken here."""
TALK_BYTES_MAX: Final = FRAME_BYTES_MAX
"""The largest frame between a client and its host."""
CALL_BYTES_MAX: Final = 4 << 20
"""The largest frame that a client sends: a term has a quarter of it at most."""
BATCH_PARTS_MAX: Final = 25_000
"""How many a call may hold that writes several tuples: they are read a slice at a time."""
SLICE_ROWS: Final = 64
"""How many tuples of a batch are read in one slice."""
WINDOW: Final = 1024
"""How many calls of a client may be under way."""
LIFE_BITS: Final = 40
"""The number of a push: below this many bits it counts, above them stands the host's life."""
SELF: Final = "@"
"""In a `ClientHello`: the agent that the certificate or the token is for."""

HELLO: Final = 0
SEEK_PLAIN: Final = 1
SEEK: Final = 2
OUT: Final = 3
ASK: Final = 4
SEEN: Final = 5
BYE: Final = 6
PROOF: Final = 7
QUESTION: Final = 8

WELCOME: Final = 20
REFUSAL: Final = 21
CHALLENGE: Final = 22
ALIVE: Final = 23
FOUND: Final = 24
REPLY: Final = 25
FAILURE: Final = 26
FIRED: Final = 27
MAILED: Final = 28
GONE: Final = 29
LEFT: Final = 30
BACK: Final = 31
TOLD: Final = 32

Frame = list[Any]
"""A frame as it was read: its kind, and its parts."""


class ClientHello(msgspec.Struct, frozen=True, array_like=True, tag=HELLO):
    """A client begins: the session that it would begin or go on with, and how it proves itself.

    `agent` is an id, or a name at the host's own domain; empty for one who asks only about the
    host. `seen` is the last push that it saw of the host `seen_of`, or of whoever hears this when
    that is empty. `certificate` (PEM) brings a `Challenge`. The client speaks all versions from
    `version` to `newest`. One that `follows` its agent, from the host that it `left` to another,
    wants no new one there.
    """

    version: int
    session: str
    agent: str
    seen: int = 0
    alongside: bool = False
    token: str = ""
    certificate: str = ""
    newest: int = 0
    seen_of: str = ""
    follows: bool = False
    left: str = ""

    @property
    def versions(self) -> Versions:
        """The versions that the client speaks."""
        return Versions.said(self.version, self.newest)


class Challenge(msgspec.Struct, frozen=True, array_like=True, tag=CHALLENGE):
    """The host wants to see that the client has the key of its certificate."""

    host: str
    nonce: bytes


class Proof(msgspec.Struct, frozen=True, array_like=True, tag=PROOF):
    """The signature under the challenge."""

    signature: bytes


class HostWelcome(msgspec.Struct, frozen=True, array_like=True, tag=WELCOME):
    """The session is open. `known` says whether the host had it; `laws` are the agent's."""

    version: int
    host: str
    life: int
    agent: str
    known: bool
    grace_s: float
    window: int
    laws: tuple[tuple[str, str], ...] = ()
    token: int = 0
    """Grows with every takeover of the host; 0 where there is none."""


_decode: Final = reader_of(list)
_ENTRY: Final[msgspec.msgpack.Decoder[ClientHello | Proof]] = msgspec.msgpack.Decoder(
    ClientHello | Proof
)
_ANSWER: Final[msgspec.msgpack.Decoder[HostWelcome | Challenge]] = msgspec.msgpack.Decoder(
    HostWelcome | Challenge
)


def pack_frame(frame: msgspec.Struct) -> bytes:
    """A frame that is no call and no push, as bytes."""
    return pack(frame)


def unpack_entry(data: bytes) -> ClientHello | Proof:
    """What a client that is not known yet may say; raises `BadFrame`."""
    try:
        return _ENTRY.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadFrame(why=str(error)) from None


def unpack_answer(data: bytes) -> HostWelcome | Challenge:
    """What a host says to a client that it does not know yet; raises what it refuses it with."""
    frame = unpack_frame(data)
    if frame[0] == REFUSAL and len(frame) == 2:
        raise read_error(frame[1])
    try:
        return _ANSWER.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadFrame(why=str(error)) from None


def pack_refusal(error: NomospaceError) -> bytes:
    """The host does not let a client in, or ends its session."""
    return pack((REFUSAL, encode_error(error)))


def unpack_frame(data: bytes, most: int = 0) -> Frame:
    """A frame as a list whose first element is its kind; raises `BadFrame`.

    With `most`, one that has more parts is `CallTooWide`, before it is read.
    """
    try:
        if most:
            frame = unpack_parts(data, most)
        else:
            frame = _decode(data) if len(data) <= HARMLESS else unpack(data)
    except Unfit as error:
        raise BadFrame(why=str(error)) from None
    except (RecursionError, ValueError, msgspec.MsgspecError):
        frame = _unpacked(data)
    if type(frame) is not list or not frame or type(frame[0]) is not int:
        raise BadFrame(why="a frame is a list that begins with its kind")
    return frame


def _unpacked(data: bytes) -> Any:
    """A frame that is deep, or what is wrong with it."""
    try:
        return unpack(data)
    except Unfit as error:
        raise BadFrame(why=str(error)) from None


# -- calls ---------------------------------------------------------------------------------------

_HOW: Final = {how: number for number, how in enumerate(WAYS)}


def pack_seek(seq: int, seen: int, seek: Seek) -> bytes:
    """A call that reads or takes.

    >>> from nomospace.terms.templates import ANY
    >>> seek = Seek("jobs", WAYS[0], Template.of(("job", ANY)))
    >>> frame = unpack_frame(pack_seek(7, 0, seek))
    >>> frame
    [1, 7, 0, 'jobs', 0, 2, 0, 'job']
    >>> read_call(frame, laws=None)[2].template
    Template.of(term('[job,formal(any)]'))
    """
    if seek.sets is not None:
        return pack_ask(seq, seen, seek)
    template, how = seek.template, _HOW[seek.how]
    if template.plain and not seek.at and not seek.dest and not seek.lease_us:
        flat: list[object] = [SEEK_PLAIN, seq, seen, seek.space, how, template.arity]
        for place in template.equal:
            flat += place
        try:
            return pack(flat)
        except OverflowError:
            pass
    where = (seek.at, seek.dest, seek.lease_us)
    return _packed((SEEK, seq, seen, seek.space, how, template.term, *where), 5)


def pack_out(
    seq: int, seen: int, space: str, fields: tuple[Term, ...], to: str, ttl_us: int
) -> bytes:
    """A call that writes one tuple."""
    return _packed((OUT, seq, seen, space, fields, to, ttl_us), 4)


def pack_ask(seq: int, seen: int, request: Request, *, texts: bool = False) -> bytes:
    """Any other call; with `texts`, laws in it go as texts and not as hashes.

    Raises `StaysAtHome` for a strong reaction, `FrameTooLarge`.
    """
    lowered = encode_request(request, texts=texts)
    try:
        data = pack((ASK, seq, seen, lowered))
    except (OverflowError, RecursionError):
        data = pack((ASK, seq, seen, SHAPES.lower(lowered, raw=True)))
    return _limited(data, type(request).__name__, CALL_BYTES_MAX)


def pack_seen(number: int) -> bytes:
    """The client has seen all pushes up to this one, and is alive."""
    return pack((SEEN, number))


def pack_question(seq: int, question: OperatorQuestion[A]) -> bytes:
    """An operator asks something."""
    return pack((QUESTION, seq, question))


def read_asked(frame: Frame) -> tuple[int, Question]:
    """A question that came, with its number; raises `BadFrame`."""
    if len(frame) != 3 or frame[1].__class__ is not int:
        raise BadFrame(why="a question without its number")
    return frame[1], read_question(frame[2])


def pack_told(seq: int, answer: bytes) -> bytes:
    """The answer to a question."""
    return _limited(pack((TOLD, seq, answer)), "answer")


ALIVE_FRAME: Final = pack((ALIVE,))
BYE_FRAME: Final = pack((BYE,))
"""The client ends its session."""


def _packed(frame: tuple[Any, ...], term: int) -> bytes:
    """A frame with a term at a position, which may hold what native code cannot write."""
    try:
        data = pack(frame)
    except (OverflowError, RecursionError):
        data = pack((*frame[:term], msgspec.Raw(encode(frame[term])), *frame[term + 1 :]))
    return data if len(data) <= TALK_BYTES_MAX else _limited(data, "frame")


def _limited(data: bytes, what: str, limit: int = 0) -> bytes:
    limit = limit or TALK_BYTES_MAX
    if len(data) > limit:
        raise FrameTooLarge(what=what, size=len(data), limit=limit)
    return data


def unseen(body: bytes) -> bytes:
    """A call for another host than it was first for, whose pushes have other numbers.

    >>> unpack_frame(unseen(pack_out(7, 99, "jobs", ("job", 1), "", 0)))[:3]
    [3, 7, 0]
    """
    frame = unpack_frame(body)
    frame[2] = 0
    return pack(frame)


def read_call(frame: Frame, laws: Laws) -> tuple[int, int, Request]:
    """A call that came: its number, what its client has seen, and what it asks for.

    `laws` gives the law that a request names. Raises `BadFrame` for a frame that is no call or has
    no number, which costs the connection; what is wrong with the request alone (a template that is
    none, say) is raised as a `CallerError` or a `LawError`, and is the answer to the call.
    """
    kind, seq, seen = _numbers(frame)
    try:
        if kind == SEEK_PLAIN:
            space = frame[3]
            if type(space) is not str:
                raise Unfit(_WRONG_KIND)
            template = Template.of(_patterns(frame[5], bytes(frame[6::2]), frame[7::2]))
            return seq, seen, Seek(space, WAYS[frame[4]], template)
        if kind == SEEK:
            return seq, seen, _read_seek(frame)
        if kind == OUT:
            _, _, _, space, fields, to, ttl_us = frame
            _check(space, to, ttl_us)
            return seq, seen, Out(space, thaw_tuple(fields), to, ttl_us)
        return seq, seen, decode_request(frame[3], laws)
    except _BAD as error:
        raise BadCall(what="something", why=str(error)) from None


def _patterns(width: int, at: bytes, values: list[object]) -> list[object]:
    """The patterns of a template with values at some places; trusts nothing."""
    check_places(width, at)
    patterns: list[object] = [ANY] * width
    for place, value in zip(at, values, strict=True):
        patterns[place] = value
    return patterns


_PARTS: Final = {SEEK: 9, OUT: 7, ASK: 4}
"""How many parts a call has; a plain one has two for each field that it names."""
_BAD: Final = (IndexError, TypeError, ValueError, msgspec.MsgspecError)
_WRONG_KIND: Final = "a part of it is of another kind than it must be"


def _numbers(frame: Frame) -> tuple[int, int, int]:
    """The kind of a call, its number, and what its client has seen; raises `BadFrame`."""
    if len(frame) > 2:
        kind, seq, seen = frame[0], frame[1], frame[2]
        if type(seq) is int and type(seen) is int and seq >= 1:
            if len(frame) >= 6 if kind == SEEK_PLAIN else len(frame) == _PARTS.get(kind):
                return kind, seq, seen
            raise BadFrame(why=f"a frame of kind {kind} with {len(frame)} parts")
    raise BadFrame(why="a call without its numbers")


_ASK: Final = bytes([ASK])
_BATCH: Final = pack("out-many")


def unpack_call(data: bytes) -> Frame:
    """`unpack_frame` for a large call: `CallTooWide` when it would take long to read."""
    return unpack_frame(data, BATCH_PARTS_MAX if is_batch(data) else CALL_PARTS_MAX)


def is_batch(data: bytes) -> bool:
    """Whether a frame writes several tuples."""
    return data[1:2] == _ASK and _BATCH in data[:32]


def call_number(data: bytes) -> int:
    """The number of a call that is not read; 0 for what is none."""
    try:
        width = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}.get(data[2], 0)
        return int.from_bytes(data[3 : 3 + width]) if width else data[2]
    except IndexError:
        return 0


def read_batch(frame: Frame, laws: Laws) -> Iterator[tuple[int, int, Request] | None]:
    """As `read_call`, for a call that writes several tuples, with a pause after each slice."""
    _numbers(frame)
    try:
        body = frame[3]
        if type(body) is not list or type(body[2]) is not list:
            raise Unfit("it has no list of tuples")
        rows, body[2] = body[2], []
        made: list[tuple[Term, ...]] = []
        for at in range(0, len(rows), SLICE_ROWS):
            made += [thaw_tuple(row) for row in rows[at : at + SLICE_ROWS]]
            yield None
        seq, seen, request = read_call(frame, laws)
        if not isinstance(request, OutMany):
            raise BadFrame(why="a batch that is none")
        yield seq, seen, msgspec.structs.replace(request, rows=tuple(made))
    except _BAD as error:
        raise BadCall(what="a batch", why=str(error)) from None


def _read_seek(frame: Frame) -> Seek:
    _, _, _, space, how, term, at, dest, lease_us = frame
    _check(space, at, lease_us)
    _check(dest, at, lease_us)
    if type(term) is not list:
        raise Unfit("a template that is no list")
    return Seek(space, WAYS[how], Template.of_terms(thaw_all(term)), at, dest, lease_us)


def _check(text: object, place: object, number: object) -> None:
    if text.__class__ is not str or place.__class__ is not str or number.__class__ is not int:
        raise Unfit(_WRONG_KIND)
    if not 0 <= number <= PERIOD_US_MAX:
        raise Unfit(f"a time of {number:,} µs; it is 0 to {PERIOD_US_MAX:,}")


# -- pushes --------------------------------------------------------------------------------------


def pack_reply(number: int, seq: int, value: object) -> bytes:
    """A call is answered with a value.

    >>> found = Found(("job", 17), "ann@w", 3, "ann@w")
    >>> frame = unpack_frame(pack_reply(1, 7, found))
    >>> frame[:4], read_found(frame) == found
    ([24, 1, 7, ['job', 17]], True)
    """
    if type(value) is Found and not (value.why or value.members or value.history or value.priority):
        fields, writer, count, source = value.fields, value.writer, value.count, value.source
        frame = (FOUND, number, seq, fields, writer, count, source, value.deliveries, value.lease)
        try:
            data = pack(frame)
        except (OverflowError, RecursionError):
            return _packed(frame, 3)
        return data if len(data) <= TALK_BYTES_MAX else _limited(data, "frame")
    if value is None:
        return pack((REPLY, number, seq))
    return _valued((REPLY, number, seq), value)


def _valued(head: tuple[object, ...], value: object) -> bytes:
    lowered = encode_value(value)
    try:
        data = pack((*head, lowered))
    except (OverflowError, RecursionError):
        data = pack((*head, SHAPES.lower(lowered, raw=True)))
    return _limited(data, "answer")


def pack_failure(number: int, seq: int, error: NomospaceError) -> bytes:
    """A call is answered with an error."""
    return pack((FAILURE, number, seq, encode_error(error)))


def pack_fired(number: int, reaction: str, found: Found) -> bytes:
    """A weak reaction fires; of a set of tuples all that is told stands at the end."""
    if found.members:
        return _valued((FIRED, number, reaction, (), "", 0, "", 0, ""), found)
    told = (FIRED, number, reaction, found.fields, found.writer, found.count, found.source)
    return _packed((*told, found.deliveries, found.lease), 3)


def pack_mail(number: int, law: str, sender: str, message: Term) -> bytes:
    """A message of a community is delivered."""
    return _packed((MAILED, number, law, sender, message), 4)


def pack_gone(number: int, reaction: str, error: NomospaceError) -> bytes:
    """The host has removed a reaction, and says why."""
    return pack((GONE, number, reaction, encode_error(error)))


def pack_left(number: int, to: str, address: str) -> bytes:
    """The agent has left for another host, which is there for clients at an address."""
    return pack((LEFT, number, to, address))


def pack_back(number: int, error: NomospaceError) -> bytes:
    """The agent was not taken where it went, and is back."""
    return pack((BACK, number, encode_error(error)))


def renumbered_mail(number: int, body: bytes) -> bytes:
    """A letter under another number; empty when the push is none.

    >>> unpack_frame(renumbered_mail(8, pack_mail(7, "4c1f", "ann@ward", "hello")))[:4]
    [28, 8, '4c1f', 'ann@ward']
    >>> renumbered_mail(8, pack_left(7, "icu", ""))
    b''
    """
    frame = unpack_frame(body)
    if frame[0] != MAILED:
        return b""
    frame[1] = number
    return pack(frame)


def moved_to(body: bytes) -> str | None:
    """Where a push says that the agent is, empty for where it was; `None` if it says nothing.

    >>> moved_to(pack_left(7, "icu", "")), moved_to(pack_mail(8, "4c1f", "ann@ward", "hello"))
    ('icu', None)
    """
    frame = unpack_frame(body)
    return str(frame[2]) if frame[0] == LEFT else "" if frame[0] == BACK else None


def answered_call(body: bytes) -> int:
    """The number of the call that a push answers; 0 for all other pushes."""
    frame = unpack_frame(body)
    return int(frame[2]) if frame[0] in (FOUND, REPLY, FAILURE) else 0


def read_common_answer(data: bytes) -> tuple[int, int, object] | None:
    """Most answers, in one native pass: a tuple of few plain fields, or nothing.

    With the numbers of the push and the call; `None` for all else, and for whatever is wrong.

    >>> found = Found(("job", 17), "ann@w", 3, "ann@w")
    >>> read_common_answer(pack_reply(1, 7, found)) == (1, 7, found)
    True
    """
    head = data[:2]
    try:
        if head == _FOUND_HEAD and len(data) <= HARMLESS:
            _, number, seq, fields, writer, count, source, deliveries, lease = _decode_found(data)
            return number, seq, Found(fields, writer, count, source, deliveries, lease)
        if head == _DONE_HEAD:
            _, number, seq = _decode_done(data)
            return number, seq, None
    except (ValueError, msgspec.MsgspecError):
        pass
    return None


_Plain = Annotated[str, Meta(max_length=SHORT_CHARS)] | int | bool | None
_PlainFields = Annotated[tuple[_Plain, ...], Meta(max_length=FEW_PARTS)]
_decode_found: Final = reader_of(tuple[int, int, int, _PlainFields, str, int, str, int, str])
_decode_done: Final = reader_of(tuple[int, int, int])
_FOUND_HEAD: Final = pack([FOUND, *[None] * 8])[:2]
_DONE_HEAD: Final = pack([REPLY, *[None] * 2])[:2]


def read_found(frame: Frame) -> Found:
    """The tuple in a `FOUND` or a `FIRED`."""
    _, _, _, fields, writer, count, source, deliveries, lease, *whole = frame
    if whole:
        found = decode_value(whole[0])
        if not isinstance(found, Found):
            raise BadFrame(why="a firing without a tuple")
        return found
    return Found(thaw_all(fields), writer, count, source, deliveries, lease)


def read_reply(frame: Frame) -> AnswerValue:
    """The value in a `REPLY`."""
    return decode_value(frame[3]) if len(frame) > 3 else None


def read_error(raw: object) -> NomospaceError:
    """The error in a `FAILURE`, a `GONE`, a `BACK` or a `REFUSAL`."""
    return decode_error(raw)


def read_message(raw: object) -> Term:
    """The message in a `MAILED`."""
    return thaw(raw)
