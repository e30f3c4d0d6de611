"""Changes to rows: what the steps of one commit mean for the tables of a database.

Statements are many and rows are few, so rows of one statement go together. Changes to different
tables do not disturb each other, so only the order within a table is kept. Tuples and pushes come
and go so often that they are a part of their own, which may be put off (`backlog`).

A batch changes nothing outside itself. If the commit fails, it is dropped.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Final

import msgspec

from nomospace.host import changes
from nomospace.space.records import FIRST_ORDER, arrival
from nomospace.store.backlog import CommitPart
from nomospace.store.bundles import BUNDLE_MAX, bundle
from nomospace.store.guarded import guard
from nomospace.store.interface import HELD, PARCELS, TRANSFERS, Step
from nomospace.store.schema import TABLE_OF, Params
from nomospace.wire.changes import (
    encode_change,
    encode_row,
    encode_ruling,
    encode_snapshot,
)


class Counters(msgspec.Struct):
    """The last numbers that a store gave to tuples, routing changes and journal records."""

    tuple_n: int = 0
    routing_n: int = 0
    journal: int = 0
    floor: int = 0
    stored: int = 0
    """The last arrival of a tuple of the store engine."""


class MemberLog(msgspec.Struct, eq=False):
    """The rulings of a membership that are not folded into it, the oldest first."""

    plain: int = 0
    """How many are in the table of rulings."""
    records: array[int] = msgspec.field(default_factory=partial(array, "q"))
    """The numbers of those that are records of the journal."""

    def __len__(self) -> int:
        return self.plain + len(self.records)

    def add(self, later: MemberLog) -> None:
        """Those of another follow."""
        self.plain += later.plain
        self.records.extend(later.records)


class Batch(msgspec.Struct, eq=False):
    """The rows of one commit.

    >>> batch = Batch(Counters(), CommitPart())
    >>> came = changes.AgentCame("ann@x", 0), changes.AgentCame("bob@x", 0)
    >>> batch.add(Step((*came, changes.AgentWent("ann@x"))))
    >>> [(name, len(rows)) for name, rows in batch.runs()][:2]
    [('agent came', 2), ('agent went', 1)]
    """

    counters: Counters
    part: CommitPart
    """What it brings for tuples and pushes."""
    counted: Mapping[str, int] = {}
    """The last tuples of agents, as far as that was put off (`Backlog.counts`)."""
    left: dict[str, None] = {}
    """Agents that went."""
    begun: dict[tuple[str, str], None] = {}
    """Memberships that began, after any that they take the place of."""
    ruled: dict[tuple[str, str], MemberLog] = {}
    """Memberships, and what rulings each has more, since it began if it did."""
    first: int = 0
    """The first record of a ruling that it brings, if it does."""
    _runs: dict[str, list[tuple[str, list[Params]]]] = {}
    _records: list[bytes] = []
    _ruled: Iterator[int] = iter(())
    """The numbers of the records of this step's rulings that follow."""
    _last: int = 0
    """The last record that stands before the next change."""

    def add(self, step: Step) -> None:
        """One more step, after the others."""
        self._last = self.counters.journal
        self._ruled = iter([self._last + 1 + place for place in step.ruled] if step.ruled else ())
        for change in step.changes:
            _ADD[change.__class__](self, change)
        part = self.part
        for kept in step.outbox:
            part.kept.append(kept)
            part.weight += len(kept.body)
        if step.records:
            self._records += step.records
            self.counters.journal += len(step.records)
        if step.counts:
            part.small.update(step.counts)

    def forget(self, upto: int) -> None:
        """Forget the journal's records up to a number."""
        self._settle_records()
        self._do("forgotten", (upto,))

    def runs(self) -> list[tuple[str, list[Params]]]:
        """Statements by name with their rows, in an order in which they may be carried out.

        What `part` has is not among them.
        """
        if self._records:
            self._settle_records()
        return list(chain.from_iterable(self._runs.values()))

    def _do(self, name: str, row: Params) -> None:
        runs = self._runs.setdefault(TABLE_OF[name], [])
        if runs and runs[-1][0] == name:
            runs[-1][1].append(row)
        else:
            runs.append((name, [row]))

    def _settle_records(self) -> None:
        """Put the journal's records down in as few rows as there can be."""
        last = self.counters.journal - len(self._records)
        for start in range(0, len(self._records), BUNDLE_MAX):
            records = self._records[start : start + BUNDLE_MAX]
            last += len(records)
            self._do("recorded", (last, guard(bundle(records))))
        self._records.clear()

    # -- tuples ------------------------------------------------------------------------------

    def _tuple_put(self, change: changes.TuplePut) -> None:
        row, part = change.row, self.part
        writer, count = row.writer, row.count
        body = encode_row(row)
        part.weight += len(body)
        if change.order:
            order = change.order
            spot, place = (change.space, order), order if order > FIRST_ORDER else arrival(order)
            part.stored += 1
            if place > self.counters.stored:
                self.counters.stored = place
            else:  # it may have been there before
                part.left[spot] = None
            part.lying[spot] = (row, body)
        else:
            key = (change.space, writer, count)
            old = part.puts.get(key)
            if old is None:
                self.counters.tuple_n += 1
            part.puts[key] = (self.counters.tuple_n if old is None else old[0], row, body)
        if part.counts.get(writer, -1) < count:
            part.counts[writer] = count

    def _tuple_gone(self, change: changes.TupleGone) -> None:
        part = self.part
        if change.order:
            part.take((change.space, change.order))
            part.stored += 1
        else:
            key = (change.space, *change.id)
            part.puts.pop(key, None)
            part.gone[key] = None

    # -- agents ------------------------------------------------------------------------------

    def _settle_count(self, agent: str) -> None:
        """What was counted of an agent so far is before something else that becomes of it."""
        part = self.part
        known = -1 if agent in part.ended else self.counted.get(agent, -1)
        count = max(part.counts.pop(agent, -1), known)  # an older tuple may have been put anew
        if count >= 0:
            self._do("agent counts", (count, agent, count))
            part.ended[agent] = None

    def _agent_came(self, change: changes.AgentCame) -> None:
        self._settle_count(change.agent)
        self._do("agent came", (change.agent, change.count))

    def _agent_went(self, change: changes.AgentWent) -> None:
        agent = change.agent
        self._settle_count(agent)
        for name in ("agent went", "program gone", "spaces gone"):
            self._do(name, (agent,))
        self.left[agent] = None
        homes = (agent, *change.homes)
        for home in homes:
            self._do("members gone", (home,))
            self._do("rulings gone", (home,))
        for members in (self.begun, self.ruled):
            for key in [key for key in members if key[0] in homes]:
                del members[key]

    def _program_kept(self, change: changes.ProgramKept) -> None:
        agent = change.agent
        if not change.program:
            self._do("program gone", (agent,))
            return
        bare = msgspec.structs.replace(change, state=None)
        state = changes.StateKept(agent, change.state)
        row = (agent, guard(encode_change(bare)), guard(encode_change(state)))
        self._do("program kept", row)

    def _state_kept(self, change: changes.StateKept) -> None:
        self._do("state kept", (guard(encode_change(change)), change.agent))

    def _opened(self, change: changes.Opened) -> None:
        self._do("space opened", (change.agent, change.space, guard(encode_change(change))))

    # -- memberships -------------------------------------------------------------------------

    def _member_joined(self, change: changes.MemberJoined | changes.MemberKept) -> None:
        snapshot = change.snapshot
        home, law = snapshot.home, snapshot.law
        body = guard(encode_snapshot(snapshot))
        self._do("member joined", (home, law, body, self._last))
        self._do("rulings over", (home, law))
        self.begun[home, law] = None
        self.ruled[home, law] = MemberLog()

    def _member_ruled(self, change: changes.MemberRuled) -> None:
        ruling = change.ruling
        home, law = ruling.home, ruling.law
        log = self.ruled.get((home, law))
        if log is None:
            log = self.ruled[home, law] = MemberLog()
        number = next(self._ruled, 0)
        if number:
            log.records.append(number)
            self._last = number
            self.first = self.first or number
        else:
            self._do("ruled", (home, law, ruling.seq, guard(encode_ruling(ruling))))
            log.plain += 1

    # -- what is under way -------------------------------------------------------------------

    def _given(
        self, change: changes.TransferGiven | changes.ParcelGiven | changes.EventHeld
    ) -> None:
        book = BOOKS[change.__class__]
        body = guard(encode_change(change))
        self._do("given", (book, change.peer, change.number, body))
        self._do("last given", (book, change.peer, change.number))

    def _taken(
        self, change: changes.TransferTaken | changes.ParcelTaken | changes.EventServed
    ) -> None:
        self._do("taken", (BOOKS[change.__class__], change.peer, change.number))

    def _placed(self, change: changes.TransferPlaced | changes.ParcelPlaced) -> None:
        self._do("last got", (BOOKS[change.__class__], change.peer, change.number))

    def _birth_learnt(self, change: changes.BirthLearnt) -> None:
        self._do("birth learnt", (change.peer, change.birth, change.own))
        if change.anew:
            self._do("given to nobody", (change.peer,))
            self._do("peer forgotten", (change.peer,))

    def _routing_changed(self, change: changes.RoutingChanged) -> None:
        self._routed(change.core, guard(encode_change(change)))

    def _routing_folded(self, change: changes.RoutingFolded) -> None:
        self._do("routing over", (change.core,))
        self._routed(change.core, None)
        for one in change.changes:
            self._routing_changed(changes.RoutingChanged(change.core, one))

    def _routed(self, core: str, body: bytes | None) -> None:
        self.counters.routing_n += 1
        self._do("routing changed", (core, self.counters.routing_n, body))

    def _text_learnt(self, change: changes.LawLearnt | changes.OntologyLearnt) -> None:
        self._do("law learnt", (change.text.hash, guard(encode_change(change))))

    def _suspension(self, change: changes.Suspension) -> None:
        # Beside laws and ontologies: few rows, read whole at the start. The key is no hash.
        self._do("law learnt", (f"suspended {change.name}", guard(encode_change(change))))

    def _small_kept(self, change: changes.SmallKept) -> None:
        if change.body:
            self._do("law learnt", (f"kept {change.name}", guard(encode_change(change))))
        else:
            self._do("law gone", (f"kept {change.name}",))

    def _floor_raised(self, change: changes.FloorRaised) -> None:
        self.counters.floor = max(self.counters.floor, change.number)


BOOKS: Final[dict[type, str]] = {
    changes.TransferGiven: TRANSFERS,
    changes.TransferTaken: TRANSFERS,
    changes.TransferPlaced: TRANSFERS,
    changes.ParcelGiven: PARCELS,
    changes.ParcelTaken: PARCELS,
    changes.ParcelPlaced: PARCELS,
    changes.EventHeld: HELD,
    changes.EventServed: HELD,
}
"""The book that a change is in."""

_ADD: Final[dict[type, Callable[..., None]]] = {
    changes.AgentCame: Batch._agent_came,
    changes.AgentWent: Batch._agent_went,
    changes.ProgramKept: Batch._program_kept,
    changes.StateKept: Batch._state_kept,
    changes.Opened: Batch._opened,
    changes.TuplePut: Batch._tuple_put,
    changes.TupleGone: Batch._tuple_gone,
    changes.TransferGiven: Batch._given,
    changes.TransferTaken: Batch._taken,
    changes.TransferPlaced: Batch._placed,
    changes.ParcelGiven: Batch._given,
    changes.ParcelTaken: Batch._taken,
    changes.ParcelPlaced: Batch._placed,
    changes.BirthLearnt: Batch._birth_learnt,
    changes.RoutingChanged: Batch._routing_changed,
    changes.RoutingFolded: Batch._routing_folded,
    changes.LawLearnt: Batch._text_learnt,
    changes.OntologyLearnt: Batch._text_learnt,
    changes.MemberJoined: Batch._member_joined,
    changes.MemberKept: Batch._member_joined,
    changes.MemberRuled: Batch._member_ruled,
    changes.Suspension: Batch._suspension,
    changes.EventHeld: Batch._given,
    changes.EventServed: Batch._taken,
    changes.FloorRaised: Batch._floor_raised,
    changes.SmallKept: Batch._small_kept,
}
