"""What this host shows of its spaces to others, who look for tuples that answer together.

A peer that asks for a mirror of a space is shown the tuples that hold objects, in pages, and from
then on told, at the end of each step, which came and which went. What comes and goes again in one
step it never hears of. A tuple it has seen stays free: it may be gone when it is fetched.

Fetching is one step for all tuples of a set that lie here: they leave the space and become a
transfer, or one of them is gone and none is given.

Under a law a space is shown to hosts whose controllers may take part in its community. That is not
yet an answer: the manager here rules on each set before any tuple of it is given or read.

A space as one host sees it across hosts: its own tuples, and what others have shown.

Facts are tuples that hold objects, wherever they lie. One that moves may be shown by two hosts for
a moment, or by none; it is a fact as long as anyone has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nomospace.host.operations import Op
from nomospace.host.part import GroupFollower
from nomospace.host.residents import row_of
from nomospace.protocols import spaces as frames
from nomospace.protocols.transfers import Transfer
from nomospace.space import Record, Space, TupleId
from nomospace.space.asking import in_scope
from nomospace.terms import encode

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts
    from nomospace.space.asking import Name, Scope
    from nomospace.space.correlating import Correlating


ROWS_MAX: Final = 100_000
"""How many tuples that hold objects a space may have, to be shown to others."""
MIRRORS_MAX: Final = 10_000
"""How many mirrors a host keeps up."""
PAGE: Final = 256
"""How many tuples are shown in one message."""
_TOO_MANY: Final = f"there are more than {ROWS_MAX:,} tuples that hold objects"


class Feed:
    """What came and went in a space since its mirrors were last told."""

    __slots__ = ("came", "gone", "peers", "size", "space")

    def __init__(self, space: Space) -> None:
        self.space = space
        self.peers: dict[tuple[str, frames.Key], None] = {}
        self.came: dict[TupleId, Record] = {}
        self.gone: dict[TupleId, None] = {}
        self.size = len(space.observe(self))
        """How many tuples there are."""

    def add(self, record: Record) -> None:
        """A tuple has come."""
        self.came[record.id] = record
        self.size += 1

    def drop(self, record: Record) -> None:
        """A tuple is gone, whether its coming was told or not."""
        self.came.pop(record.id, None)
        self.gone[record.id] = None
        self.size -= 1


class Mirroring(GroupFollower):
    """The mirrors of this host's spaces that others have asked for."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._feeds: dict[int, Feed] = {}  # by identity of the space, which a feed keeps alive
        self.shown = self._feeds
        """What is shown to others; empty mostly."""
        self._mirrors: dict[tuple[str, frames.Key], Feed] = {}

    def hear_mirror(self, peer: str, body: frames.Mirror) -> None:
        """Show a space to a peer from now on."""
        key = body.key
        space = self._space(peer, body.space, body.law)
        if space is None or (peer, key) in self._mirrors:
            return
        if len(self._mirrors) >= MIRRORS_MAX:
            self._refuse(peer, key, f"it shows {MIRRORS_MAX:,} mirrors, which is its limit")
            return
        self.tell()  # so that what the others are still to hear is not told to this one again
        feed = self._feeds.get(id(space))
        if feed is None:
            feed = self._feeds[id(space)] = Feed(space)
        feed.peers[peer, key] = None
        self._mirrors[peer, key] = feed
        if feed.size > ROWS_MAX:
            self._refuse(peer, key, _TOO_MANY)
        else:
            self._show(peer, key, space.objects(), ())

    def _space(self, peer: str, name: str, law: str) -> Space | None:
        """A space that may be shown: shared here, and to a host that its law does not doubt."""
        level, group = self._spaces.levels.get(name), self._host.group
        if level is None or level.law != law or not level.sharers or peer not in group.entries:
            return None
        return None if law and group.doubts(peer, law) else level.space

    def _refuse(self, peer: str, key: frames.Key, why: str) -> None:
        """Show a space no longer, and say why."""
        self._drop(peer, key)
        self._host.group.tell(peer, frames.Mirrored(key, why=why))

    def _show(
        self, peer: str, key: frames.Key, records: Sequence[Record], gone: tuple[frames.Id, ...]
    ) -> None:
        """Tell a peer what went and what came, in pages that the wires can take."""
        for at in range(0, len(gone), PAGE):
            self._host.group.tell(peer, frames.Mirrored(key, gone=gone[at : at + PAGE]))
        for at in range(0, len(records), PAGE):
            rows = tuple([row_of(record) for record in records[at : at + PAGE]])
            self._show_page(peer, key, rows, more=at + PAGE < len(records))

    def _show_page(
        self, peer: str, key: frames.Key, rows: tuple[frames.Row, ...], *, more: bool
    ) -> None:
        page = frames.Mirrored(key, rows, more=more)
        if len(rows) > 1 and self._host.group.too_much(page):
            half = len(rows) // 2
            self._show_page(peer, key, rows[:half], more=True)
            self._show_page(peer, key, rows[half:], more=more)
        else:  # one tuple alone always fits
            self._host.group.tell(peer, page)

    def tell(self) -> None:
        """Tell everyone what came and went in this step."""
        for feed in list(self._feeds.values()):
            if not feed.came and not feed.gone:
                continue
            came, gone = list(feed.came.values()), tuple(feed.gone)
            feed.came.clear()
            feed.gone.clear()
            for peer, key in list(feed.peers):
                if feed.size > ROWS_MAX:
                    self._refuse(peer, key, _TOO_MANY)
                elif not self._host.group.has_room(peer):
                    self._refuse(peer, key, "too much waits to be told already")
                else:
                    self._show(peer, key, came, gone)

    def hear_unmirror(self, peer: str, body: frames.Unmirror) -> None:
        """Show a space no longer."""
        self._drop(peer, body.key)

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: nothing is shown to it any more."""
        for one in [one for one in self._mirrors if one[0] == peer]:
            self._drop(*one)

    def _drop(self, peer: str, key: frames.Key) -> None:
        feed = self._mirrors.pop((peer, key), None)
        if feed is None:
            return
        del feed.peers[peer, key]
        if not feed.peers:
            feed.space.ignore(feed)
            del self._feeds[id(feed.space)]

    def hear_fetch(self, peer: str, body: frames.Fetch) -> None:
        """Give all these tuples in one step, or say which one is gone, or that a law keeps them."""
        host = self._host
        key = body.key
        space = self._space(peer, body.space, body.law)
        records: list[Record] = []
        for given in body.ids:
            writer, count = given
            record = space.get((writer, count)) if space is not None else None
            if record is None or 0 < record.expires <= self._step.now or record in records:
                host.group.tell(peer, frames.Denied(key, (writer, count)))
                return
            records.append(record)
        if space is None or not records:
            return
        message = host.serving.let_go(peer, body) if body.law else None
        if body.law and message is None:
            host.group.tell(peer, frames.Denied(key, records[0].id, kept=True))
            return
        if not body.takes:
            host.group.tell(peer, frames.Shown(key, message=message))
            return
        for record in records:
            space.remove(record)
            self._step.forget(body.space, record)
        rows = tuple([row_of(record) for record in records])
        whole = frames.Given(key, body.space, body.law, rows, message)
        if len(rows) > 1 and host.group.too_much(Transfer(0, whole)):
            for row in rows:
                host.group.give(peer, frames.Given(key, body.space, body.law, (row,), message))
        else:
            host.group.give(peer, whole)


class Reflection:
    """What one peer has shown of a space.

    What comes in several pages is not looked at before the last of them is there: all at once it
    takes one look for each who waits, and not one for each tuple.
    """

    __slots__ = ("key", "rows", "unread")

    def __init__(self, key: frames.Key) -> None:
        self.key = key
        self.rows: dict[TupleId, Record] = {}
        self.unread: list[Record] = []


class Wide:
    """A space as it is seen from here across hosts, and the operations that wait for sets in it.

    With a host in `at` it is what lies at that host alone, with a `scope` what some agent holds or
    is to get. Tuples that are being collected are not among its facts: the next who waits looks for
    others.
    """

    def __init__(self, here: str, name: str, at: str, scope: Scope, space: Space) -> None:
        from nomospace.space.correlating import Correlating  # the planner with it: on use

        self.here = here
        self.name = name
        self.at = at
        self.space = space
        self.scope = scope
        self.local = space if at in ("", here) or scope[0] else None
        self.mirrors: dict[str, Reflection] = {}
        self.sets: Correlating = Correlating(space.ontology)
        self.known: dict[TupleId, Record] = {}
        """The facts of `sets`."""
        self.reserved: dict[TupleId, None] = {}
        self.ops: dict[int, tuple[Op, Name]] = {}
        self.fresh: dict[TupleId, Record] = {}
        """Facts that nobody has looked at yet."""
        self.unlooked: dict[int, None] = {}
        """Operations that have to look at all there is."""
        self.seen = 0
        self.bytes = 0
        self.ends_at: int | None = None
        """When mirrors are given up, if nobody comes to wait."""
        if self.local is not None:
            for record in self.local.observe(self):
                self.add(record)
            self.fresh.clear()  # who comes looks at all of it

    # -- facts -------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """A tuple lies at this host, or is shown by another."""
        id = record.id
        wanted = in_scope(record, self.scope)
        if wanted and id not in self.known and id not in self.reserved:
            self.known[id] = self.fresh[id] = record
            self.sets.add(record)

    def drop(self, record: Record) -> None:
        """A tuple is gone from this host."""
        self.gone(record.id)

    def gone(self, id: TupleId) -> None:
        """A tuple is gone from somewhere; while it moves, it may be somewhere else already."""
        elsewhere = self.find(id)
        self.leave_out(id)
        if elsewhere is not None:
            self.add(elsewhere[1])

    def leave_out(self, id: TupleId) -> None:
        """A tuple is no fact any more, wherever it lies."""
        record = self.known.pop(id, None)
        if record is not None:
            self.fresh.pop(id, None)
            self.sets.drop(record)

    def find(self, id: TupleId) -> tuple[str, Record] | None:
        """At which host a tuple lies, as far as is known here."""
        record = self.local.get(id) if self.local is not None else None
        if record is not None:
            return self.here, record
        for peer, mirror in self.mirrors.items():
            if id in mirror.rows:
                return peer, mirror.rows[id]
        return None

    def is_here(self, ids: tuple[TupleId, ...]) -> bool:
        """Whether all these tuples lie at this host."""
        return self.local is not None and all(self.local.get(id) is not None for id in ids)

    def show(self, mirror: Reflection, records: list[Record], *, more: bool) -> None:
        """A peer has tuples, and perhaps more of them."""
        for record in records:
            self.forget(mirror, record.id)
            mirror.rows[record.id] = record
            self.seen += 1
            self.bytes += len(encode(record.fields))
        if more:
            mirror.unread += records
            return
        whole = bool(mirror.unread)
        for record in (*mirror.unread, *records):
            self.add(record)
            if whole:
                self.fresh.pop(record.id, None)
        if whole:
            mirror.unread.clear()
            self.unlooked.update(dict.fromkeys(self.ops))

    def forget(self, mirror: Reflection, id: TupleId) -> None:
        """A peer has a tuple no more."""
        record = mirror.rows.pop(id, None)
        if record is not None:
            self.seen -= 1
            self.bytes -= len(encode(record.fields))
            self.gone(id)

    def reserve(self, ids: tuple[TupleId, ...]) -> None:
        """Let nobody else here look at tuples that are being collected."""
        for id in ids:
            self.reserved[id] = None
            self.leave_out(id)

    def release(self, ids: tuple[TupleId, ...]) -> None:
        """Let all look at tuples again, where they still lie."""
        for id in ids:
            del self.reserved[id]
            self.gone(id)
