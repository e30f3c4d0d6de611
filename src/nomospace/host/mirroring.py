"""What this host shows of its spaces to others, who look for tuples that answer together.

A peer that asks for a mirror of a space is shown the tuples that hold objects, in pages, and from
then on told, at the end of each step, which came and which went. What comes and goes again in one
step it never hears of. A tuple it has seen stays free: it may be gone when it is fetched.

Fetching is one step for all tuples of a set that lie here: they leave the space and become a
transfer, or one of them is gone and none is given.

Under a law a space is shown to hosts whose controllers may take part in its community. That is not
yet an answer: the manager here rules on each set before any tuple of it is given or read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nomospace.host.part import GroupFollower
from nomospace.host.residents import row_of
from nomospace.protocols.spaces import (
    Denied,
    Fetch,
    Given,
    Id,
    Key,
    Mirror,
    Mirrored,
    Row,
    Shown,
    Unmirror,
)
from nomospace.protocols.transfers import Transfer
from nomospace.space import Record, Space, TupleId

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

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
        self.peers: dict[tuple[str, Key], None] = {}
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
        self._mirrors: dict[tuple[str, Key], Feed] = {}

    def hear_mirror(self, peer: str, body: Mirror) -> None:
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

    def _refuse(self, peer: str, key: Key, why: str) -> None:
        """Show a space no longer, and say why."""
        self._drop(peer, key)
        self._host.group.tell(peer, Mirrored(key, why=why))

    def _show(self, peer: str, key: Key, records: Sequence[Record], gone: tuple[Id, ...]) -> None:
        """Tell a peer what went and what came, in pages that the wires can take."""
        for at in range(0, len(gone), PAGE):
            self._host.group.tell(peer, Mirrored(key, gone=gone[at : at + PAGE]))
        for at in range(0, len(records), PAGE):
            rows = tuple([row_of(record) for record in records[at : at + PAGE]])
            self._show_page(peer, key, rows, more=at + PAGE < len(records))

    def _show_page(self, peer: str, key: Key, rows: tuple[Row, ...], *, more: bool) -> None:
        page = Mirrored(key, rows, more=more)
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

    def hear_unmirror(self, peer: str, body: Unmirror) -> None:
        """Show a space no longer."""
        self._drop(peer, body.key)

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: nothing is shown to it any more."""
        for one in [one for one in self._mirrors if one[0] == peer]:
            self._drop(*one)

    def _drop(self, peer: str, key: Key) -> None:
        feed = self._mirrors.pop((peer, key), None)
        if feed is None:
            return
        del feed.peers[peer, key]
        if not feed.peers:
            feed.space.ignore(feed)
            del self._feeds[id(feed.space)]

    def hear_fetch(self, peer: str, body: Fetch) -> None:
        """Give all these tuples in one step, or say which one is gone, or that a law keeps them."""
        host = self._host
        key = body.key
        space = self._space(peer, body.space, body.law)
        records: list[Record] = []
        for given in body.ids:
            writer, count = given
            record = space.get((writer, count)) if space is not None else None
            if record is None or 0 < record.expires <= self._step.now or record in records:
                host.group.tell(peer, Denied(key, (writer, count)))
                return
            records.append(record)
        if space is None or not records:
            return
        message = host.serving.let_go(peer, body) if body.law else None
        if body.law and message is None:
            host.group.tell(peer, Denied(key, records[0].id, kept=True))
            return
        if not body.takes:
            host.group.tell(peer, Shown(key, message=message))
            return
        for record in records:
            space.remove(record)
            self._step.forget(body.space, record)
        rows = tuple([row_of(record) for record in records])
        whole = Given(key, body.space, body.law, rows, message)
        if len(rows) > 1 and host.group.too_much(Transfer(0, whole)):
            for row in rows:
                host.group.give(peer, Given(key, body.space, body.law, (row,), message))
        else:
            host.group.give(peer, whole)
