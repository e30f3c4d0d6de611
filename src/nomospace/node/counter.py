"""Plain reads and takes that need no step of the core: served as they come, a few at a time.

Most of what busy clients ask for is one tuple that lies on this very host, in a shared space
without a law, and that is not on disk. To give it away changes nothing that anybody else has to
hear of. So what a connection brings in one read is looked through from its head: as long as it is
of this kind, it is found, packed and sent, and no request, effect or number of the core is made for
it. The first frame that is anything else ends that, and so does one that finds nothing, is not
sound, or was asked before: it goes the long way (`Sessions.ask`), which says what is wrong with it.

Answers go out a few at a time. While the client reads those and asks again, the next are made: a
client with many calls under way and its host work side by side, and not in turns.
"""

from __future__ import annotations

from typing import Final

from nomospace.errors import NomospaceError
from nomospace.host.calls import BULK, TAKING, WAYS
from nomospace.node.outputs import Outputs
from nomospace.node.session import Session
from nomospace.space import Record
from nomospace.terms.templates import Template
from nomospace.wire.talk import (
    SEEK,
    SEEK_PLAIN,
    WINDOW,
    Frame,
    pack_found,
    read_seek,
    unpack_frame,
)

SOME: Final = 16
"""How many answers go out together."""
OUTBOX_BYTES_MAX: Final = 64 << 20
"""While an outbox holds more than this, new calls of its client are not begun."""
CALLS_MAX: Final = 4 * WINDOW
"""A client keeps to its window; what it may do without waiting for room is bounded by this."""

_PLACES: Final = 6
"""Where the places of a plain template begin in its frame."""
_HEADS: Final = frozenset(
    [bytes([0x90 + parts, kind]) for parts in range(_PLACES, 16) for kind in (SEEK_PLAIN, SEEK)]
)
"""How a frame begins that may be of this kind: a list of 6 to 15 parts, then its kind."""
_TAKES: Final = {number: how in TAKING for number, how in enumerate(WAYS) if how not in BULK}
"""The ways to read or take one tuple, and whether they take it."""


class Counter(Outputs):
    """The part of a host's sessions that serves plain reads and takes at once."""

    def serve(self, session: Session, frames: list[bytes], at: int) -> int:
        """Serve what can be at once of the frames from a place on; the place where that ended."""
        while at < len(frames) and frames[at][:2] in _HEADS and self._has_room(session):
            served = self._serve_some(session, frames[at : at + SOME])
            if not served:
                break
            at += served
        return at

    def _has_room(self, session: Session) -> bool:
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

    def _serve_some(self, session: Session, frames: list[bytes]) -> int:
        outbox, agent, gate = session.outbox, session.agent, self._gate
        number, high = session.number, session.high
        bodies: list[bytes] = []
        taken: list[Record] = []
        name, space, now = "", None, 0
        try:
            for data in frames:
                if data[:2] not in _HEADS:
                    break
                frame = unpack_frame(data)
                seq, seen, wanted, way = frame[1], frame[2], frame[3], frame[4]
                if seq.__class__ is not int or seen.__class__ is not int or seq <= high:
                    break
                if wanted != name or space is None:
                    if space is not None or wanted.__class__ is not str:
                        break  # the next ones begin with it
                    found = gate.at_hand(agent, wanted)
                    if found is None:
                        break
                    name, (space, now) = wanted, found
                takes = _TAKES.get(way) if way.__class__ is int else None
                if takes is None:
                    break
                record = space.only(frame, _PLACES, now=now) if frame[0] == SEEK_PLAIN else None
                if record is None:
                    template = _plain(frame)
                    record = None if template is None else space.find(template, now=now)
                if record is None or record.kept:
                    break
                body = pack_found(
                    number + 1,
                    seq,
                    record.fields,
                    record.writer,
                    record.count,
                    record.cur,
                    record.deliveries,
                )
                if takes:
                    space.remove(record)
                    taken.append(record)
                if outbox and outbox[0][0] <= seen:
                    self._forget(session, seen)
                number += 1
                high = seq
                outbox.append((number, body, seq, None))
                bodies.append(body)
        except NomospaceError:
            pass  # no frame, or too large an answer: the long way says so
        if bodies:
            session.number, session.high = number, high
            session.answers += len(bodies)
            session.weight += sum(map(len, bodies))
            assert session.link is not None, "there is room only while somebody is connected"
            session.link.send_now(bodies)
            session.sent = session.shown = number
            gate.served(name, agent, len(bodies), taken, now)
        return len(bodies)


def _plain(frame: Frame) -> Template | None:
    """The template of a call without a place, an agent, a lease or a class; `None` for others."""
    try:
        seek = read_seek(frame)
    except (NomospaceError, ValueError, TypeError, IndexError):
        return None  # the long way says what is wrong with it
    if seek.at or seek.dest or seek.lease_us or seek.template.meant:
        return None
    return seek.template
