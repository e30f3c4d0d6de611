"""The step under way, which all parts of a host share: when it is, and what must follow it."""

from __future__ import annotations

from collections.abc import Callable

from nomospace.control import Ruling
from nomospace.errors import NomospaceError
from nomospace.host.changes import Change, MemberRuled, Opened, TupleGone, TuplePut
from nomospace.host.effects import (
    WRITTEN,
    Answer,
    AskTables,
    Effect,
    Journey,
    LeaseTraced,
    Note,
    Persist,
    Ruled,
    Traced,
)
from nomospace.host.residents import Interface, row_of
from nomospace.host.shares import Shares
from nomospace.space import Record
from nomospace.space.stored import StoreEngine


def without_frames(error: NomospaceError) -> NomospaceError:
    """An error that may be kept: the frames that it and its causes were raised in hold the host."""
    error.__traceback__ = error.__context__ = None
    one = error.__cause__
    while one is not None and one.__traceback__ is not None:  # else it was here before
        one.__traceback__ = one.__context__ = None
        one = one.__cause__
    return error


class HostStep:
    """One step after the other of one host; `changes` and `orders` are those of the present one.

    `name`, `life`, `era` and `shares` are the host's, for its parts, and `engine` has its spaces
    that lie in the store.
    """

    def __init__(
        self,
        name: str,
        *,
        life: int,
        era: int,
        now: int,
        shares: Shares,
        traces: bool,
        stopwatch: Callable[[], int],
        engine: StoreEngine,
    ) -> None:
        self.name = name
        self.life = life
        self.era = era
        self.now = now
        self.shares = shares
        self.traces = traces
        self.stopwatch = stopwatch
        self.engine = engine
        self.cause = 0
        """The ruling of a space's manager that is being carried out, by its number."""
        self.changes: list[Change] = []
        self.orders: list[Effect] = []
        self.write_down: Callable[[Change], None] = self.changes.append
        """This step is not done before a change is on disk."""
        self.order: Callable[[Effect], None] = self.orders.append
        """Something must follow this step."""

    def end(self) -> list[Effect]:
        """What the step asks for, with what must be on disk before; the next one begins."""
        if self.engine.spaces:
            self._tell_engine()
        orders = self.orders.copy()
        self.orders.clear()
        if self.changes:
            orders.insert(0, Persist(tuple(self.changes)))
            self.changes.clear()
        return orders

    def _tell_engine(self) -> None:
        """Let spaces that lie in the store know what is written down of them, and number it."""
        engine, spaces = self.engine, self.engine.spaces
        told: list[Change] = []
        for change in self.changes:
            if change.__class__ is TuplePut and change.space in spaces:
                row = change.row
                id = (row.writer, row.count)
                order = 0
                if row.lent is None:
                    if (before := spaces[change.space].left_behind(id)) != 0:
                        told.append(TupleGone(change.space, id, before))
                    order = spaces[change.space].put_down(id)
                    if order and row.deliveries:  # it was kept as a loan
                        told.append(TupleGone(change.space, id))
                elif (lies := spaces[change.space].gone(id)) != 0:
                    # What is lent is not looked for: it is kept as tuples in memory are.
                    told.append(TupleGone(change.space, id, lies))
                told.append(TuplePut(change.space, row, order))
            elif change.__class__ is TupleGone and change.space in spaces:
                order = spaces[change.space].gone(change.id)
                told.append(TupleGone(change.space, change.id, order))
            else:
                told.append(change)
        self.changes[:] = told
        engine.end_step()
        if engine.pages.asked:
            self.orders.extend([AskTables(question) for question in engine.pages.asked])
            engine.pages.asked.clear()

    def ruled(self, ruling: Ruling, came: Journey, took_ns: int) -> None:
        """A controller has ruled: that is kept, and told to the journal."""
        self.changes.append(MemberRuled(ruling))
        self.orders.append(Ruled(ruling, took_ns, came))

    def answer(self, op: int, value: object = None) -> None:
        """Answer a call. Operations that a law or a listener made have no number to answer."""
        if op > 0:
            self.orders.append(Answer(op, value))

    def fail(self, op: int, error: NomospaceError) -> None:
        """Answer a call with an error."""
        if op > 0:
            self.orders.append(Answer(op, None, without_frames(error)))

    def trace(self, op: str, space: str, record: Record, agent: str) -> None:
        """Let the journal know what became of a tuple, if there is one."""
        if self.traces:
            cause = self.cause if op == WRITTEN else 0
            traced = Traced(op, space, record.fields, record.writer, record.count, agent, cause)
            self.orders.append(traced)

    def trace_lease(
        self,
        op: str,
        space: str,
        record: Record,
        agent: str,
        lease: str,
        until: int = 0,
        why: str = "",
    ) -> None:
        """Let the journal know what became of a lease, if there is one."""
        if self.traces:
            writer, count = record.writer, record.count
            self.orders.append(LeaseTraced(op, space, writer, count, agent, lease, until, why))

    def note(self, what: str, **facts: object) -> None:
        """Let an operator know; errors among the facts are told `without_frames`."""
        self.orders.append(Note(what, facts))

    def answered(self, op: int) -> Answer | None:
        """The answer that this very step gave to a call, taken back for whoever made it inside."""
        for place in range(len(self.orders) - 1, -1, -1):
            order = self.orders[place]
            if order.__class__ is Answer and order.op == op:
                del self.orders[place]
                return order
        return None

    def opened(self, agent: str, one: Interface) -> None:
        """Have an interface space on disk as it is now."""
        shown = (one.law, one.shared, one.durable, one.ontology, one.engine)
        self.changes.append(Opened(agent, one.name, *shown))

    def keep(self, name: str, record: Record) -> None:
        """Have a tuple on disk as it is now."""
        record.kept = True
        self.changes.append(TuplePut(name, row_of(record)))

    def forget(self, name: str, record: Record) -> None:
        """Have a tuple on disk no more."""
        if record.kept:
            record.kept = False
            self.changes.append(TupleGone(name, record.id))
