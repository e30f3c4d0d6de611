"""Plain calls that need no step of the core: served as they come, a few at a time.

Most of what busy clients ask for is to write one tuple, or to have one that lies on this very host,
in a shared space without a law. That changes the space and perhaps the disk, and nobody else has to
hear of it (`host.hand`). So what a connection brings in one read is looked through from its head:
as long as it is of this kind, it is done and its answer packed, and no request, effect or number of
the core is made for it. The first frame that is anything else ends that, and so does one that finds
nothing, is not sound, or was asked before: it goes the long way (`HostSessions.ask`), which says
what is wrong with it.

Answers go out a few at a time. While the client reads those and asks again, the next are made: a
client with many calls under way and its host work side by side, and not in turns. What a few calls
change on disk is one step there, with all their answers; these go out when it is kept.
"""

from __future__ import annotations

from typing import Final

from nomospace.errors import NomospaceError
from nomospace.host.calls import BULK, TAKING, WAYS
from nomospace.host.effects import TAKEN, WRITTEN
from nomospace.host.hand import Hand
from nomospace.sessions.host_session import HostSession, Served
from nomospace.sessions.pushing import Pushing
from nomospace.sessions.taken import TakenRows
from nomospace.space import Slice, Unfinished
from nomospace.store.interface import KeptForClient
from nomospace.terms import Term
from nomospace.terms.templates import Template, check_tuple
from nomospace.wire.packing import Unfit, unpack
from nomospace.wire.talk import (
    CALL_PARTS_MAX,
    OUT,
    SEEK,
    SEEK_PLAIN,
    WINDOW,
    Frame,
    pack_done,
    pack_found,
    read_seek,
)
from nomospace.wire.values import thaw_all

SOME: Final = 16
"""How many answers go out together."""
SEARCHED_MAX: Final = 4_000
"""What some calls together may search, in units (`terms.budget`); more goes the long way."""
OUTBOX_BYTES_MAX: Final = 64 << 20
"""While an outbox holds more than this, new calls of its client are not begun."""
CALLS_MAX: Final = 4 * WINDOW
"""A client keeps to its window; what it may do without waiting for room is bounded by this."""

_PLACES: Final = 6
"""Where the places of a plain template begin in its frame."""
_OUT_PARTS: Final = 7
"""How many parts the frame of a write has."""
_HEADS: Final = frozenset(
    [
        bytes([0x90 + _OUT_PARTS, OUT]),
        *[bytes([0x90 + n, kind]) for n in range(_PLACES, 16) for kind in (SEEK_PLAIN, SEEK)],
    ]
)
"""How a frame begins that may be of this kind: a list of some parts, then its kind."""
_TAKES: Final = {number: how in TAKING for number, how in enumerate(WAYS) if how not in BULK}
"""The ways to read or take one tuple, and whether they take it."""


class Counter(Pushing):
    """The part of a host's sessions that serves plain calls at once."""

    def serve(self, session: HostSession, frames: list[bytes], at: int) -> int:
        """Serve what can be at once of the frames from a place on; the place where that ended."""
        while at < len(frames) and frames[at][:2] in _HEADS and self._has_room(session):
            served = self._serve_some(session, frames[at : at + SOME])
            if not served:
                break
            at += served
        return at

    def _has_room(self, session: HostSession) -> bool:
        """Whether some more calls may be begun, and their answers sent."""
        link = session.link
        return (
            link is not None
            and link.ready
            and not session.clogged
            and not session.moved_to
            and not session.deferred
            and session.weight <= OUTBOX_BYTES_MAX
            and len(session.calls) + session.answers <= CALLS_MAX - SOME
        )

    def _serve_some(self, session: HostSession, frames: list[bytes]) -> int:
        served = Served(session)
        pushes, changes, kept = served.pushes, served.changes, served.kept
        outbox, number, high = session.outbox, session.number, session.high
        hand: Hand | None = None
        try:
            for data in frames:
                if data[:2] not in _HEADS or len(data) > CALL_PARTS_MAX:
                    break
                frame: Frame = unpack(data)  # its head says that it is one
                seq, seen, wanted = frame[1], frame[2], frame[3]
                if seq.__class__ is not int or seen.__class__ is not int or seq <= high:
                    break
                if hand is None:
                    found = None
                    if wanted.__class__ is str:
                        found = self._gate.at_hand(session.agent, wanted)
                    if found is None:
                        break
                    served.space, (hand, served.now) = wanted, found
                elif wanted != served.space:
                    break  # the next ones begin with it
                if frame[0] == OUT:
                    body, taken = _write(served, hand, frame, number + 1), None
                else:
                    body, taken = _seek(served, hand, frame, number + 1)
                if not body:
                    break
                if outbox and outbox[0][0] <= seen:
                    self._forget(session, seen)
                number += 1
                high = seq
                pushes.append((number, body, seq, taken))
                if len(changes) > len(kept):
                    kept.append(KeptForClient(session.key, number, body))
        except (NomospaceError, Unfit):
            pass  # no frame, too large an answer, no room: the long way says so
        if pushes:
            session.number, session.high = number, high
            if not self._gate.served(served):
                self._put_out_all(session, pushes)
        return len(pushes)


def _write(served: Served, hand: Hand, frame: Frame, number: int) -> bytes:
    """Write a tuple; the answer, which is empty when that has to go the long way."""
    fields = _fields(frame)
    written = None if fields is None else hand.write(fields)
    if written is None:
        return b""
    record, change = written
    served.outs += 1
    if change is not None:
        served.changes.append(change)
    served.told.append((WRITTEN, record))
    return pack_done(number, frame[1])


def _seek(served: Served, hand: Hand, frame: Frame, number: int) -> tuple[bytes, TakenRows | None]:
    """Read or take a tuple; the answer, as `_write` gives it, and what was taken."""
    way, space, now = frame[4], hand.space, served.now
    takes = _TAKES.get(way) if way.__class__ is int else None
    if takes is None:
        return b"", None
    record = space.only(frame, _PLACES, now=now) if frame[0] == SEEK_PLAIN else None
    if record is None:
        template = _plain(frame)
        if template is not None:
            slice = served.slice
            if slice is None:
                slice = served.slice = Slice(SEARCHED_MAX)
            try:
                record = space.find(template, now=now, slice=slice)
            except Unfinished as cut:  # the long way has time for it
                space.give_up(cut.search)
    if record is None:
        return b"", None
    body = pack_found(
        number,
        frame[1],
        record.fields,
        record.writer,
        record.count,
        record.cur,
        record.deliveries,
    )
    if not takes:
        return body, None
    change = hand.take(record)
    if change is not None:
        served.changes.append(change)
    served.told.append((TAKEN, record))
    return body, (served.space, None, (record.fields,))


def _fields(frame: Frame) -> tuple[Term, ...] | None:
    """The fields of a tuple that is for its writer, and stays; `None` for others."""
    _, _, _, _, fields, to, ttl_us = frame
    if to.__class__ is not str or to or ttl_us.__class__ is not int or ttl_us:
        return None
    try:
        return check_tuple(thaw_all(fields))
    except (NomospaceError, ValueError, TypeError):
        return None  # the long way says what is wrong with it


def _plain(frame: Frame) -> Template | None:
    """The template of a call without a place, an agent, a lease or a class; `None` for others."""
    try:
        seek = read_seek(frame)
    except (NomospaceError, ValueError, TypeError, IndexError):
        return None  # the long way says what is wrong with it
    if seek.at or seek.dest or seek.lease_us or seek.template.meant:
        return None
    return seek.template
