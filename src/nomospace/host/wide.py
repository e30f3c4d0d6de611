"""A space as one host sees it across hosts: its own tuples, and what others have shown.

Facts are tuples that hold objects, wherever they lie. One that moves may be shown by two hosts for
a moment, or by none; it is a fact as long as anyone has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomospace.host.operations import Op
from nomospace.protocols.spaces import Key
from nomospace.space import Record, Space, TupleId
from nomospace.space.asking import in_scope
from nomospace.terms import encode

if TYPE_CHECKING:
    from nomospace.space.asking import Name, Scope
    from nomospace.space.correlating import Correlating


class Reflection:
    """What one peer has shown of a space.

    What comes in several pages is not looked at before the last of them is there: all at once it
    takes one look for each who waits, and not one for each tuple.
    """

    __slots__ = ("key", "rows", "unread")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.rows: dict[TupleId, Record] = {}
        self.unread: list[Record] = []


class Wide:
    """A space as it is seen from here across hosts, and the operations that wait for sets in it.

    With a host in `at` it is what lies at that host alone, with a `scope` what some agent holds or
    is to get. Tuples that are being collected are not among its facts: the next who waits looks for
    others.
    """

    __slots__ = (
        "at", "bytes", "ends_at", "fresh", "here", "known", "local", "mirrors", "name", "ops",
        "reserved", "scope", "seen", "sets", "space", "unlooked",
    )  # fmt: skip

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
