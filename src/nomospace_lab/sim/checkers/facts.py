"""What the history of a world of sites says for certain: calls, tuples, places, periods.

Nothing here comes from inside a host. A call has an interval, from when it was asked to when it
was answered; what it did happened somewhere in between. A call without an answer whose host
crashed may have done its work or not, but an answer that was on disk (`UNTOLD`) counts as done.

Worlds write no tuple twice, so a tuple is known by its fields, whatever ids hosts give it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    TAKING,
    WAITING,
    Adjust,
    Open,
    Out,
    OutMany,
    React,
    Request,
    Seek,
    Settle,
    Share,
)
from nomospace.host.calls import PutBack
from nomospace.host.system import SYSTEM
from nomospace.terms import Term
from nomospace_lab.sim.history import CRASHED, RESTARTED, Happening
from nomospace_lab.sim.observed import (
    ANSWERED,
    ASKED,
    CAME,
    FIRED,
    FROZE,
    LEFT,
    UNTOLD,
    VIEW,
    ObservedCall,
)
from nomospace_lab.sim.simulation import Simulation

Fields: TypeAlias = tuple[Term, ...]

NEVER: Final = 1 << 62
IN_DOUBT: Final = ("host.in-doubt", "host.agent-left")
"""Answers after which nobody knows whether the call did its work."""


@dataclass(slots=True)
class CallHistory:
    """One call: when it was asked, how it ended."""

    asked: Happening
    ended: Happening | None = None  # an answer, told or not
    crashed: Happening | None = None  # its host's, before any answer
    more: list[Happening] = field(default_factory=list)  # answers that should not be

    @property
    def call(self) -> ObservedCall:
        return self.asked.what  # type: ignore[no-any-return]

    @property
    def request(self) -> Request | PutBack:
        return self.call.request

    @property
    def agent(self) -> str:
        return self.asked.who

    @property
    def began(self) -> int:
        return self.asked.at

    @property
    def end(self) -> int:
        """When it was over; `NEVER` while it waits. A crash ends it."""
        last = self.ended or self.crashed
        return NEVER if last is None else last.at

    @property
    def done(self) -> bool:
        """Whether it had its effect for certain."""
        return self.ended is not None and self.ended.what.error is None

    @property
    def failed(self) -> bool:
        """Whether it was answered with an error."""
        return self.ended is not None and self.ended.what.error is not None

    @property
    def told(self) -> bool:
        return self.ended is not None and self.ended.kind == ANSWERED

    @property
    def found(self) -> tuple[Found, ...]:
        """The tuples of its answer."""
        value: Any = self.ended.what.value if self.done and self.ended is not None else None
        if isinstance(value, Found):
            return (value,)
        return value if isinstance(value, tuple) else ()

    @property
    def takes(self) -> bool:
        request = self.request
        return isinstance(request, Seek) and request.how in TAKING

    @property
    def waits(self) -> bool:
        request = self.request
        return isinstance(request, Seek) and request.how in WAITING

    @property
    def proof(self) -> tuple[Happening, ...]:
        return tuple(h for h in (self.asked, self.ended, self.crashed, *self.more) if h is not None)


@dataclass(slots=True)
class TupleHistory:
    """A tuple, with all that history says of it."""

    fields: Fields
    space: str
    writer: str
    began: int
    ended: int  # NEVER: nobody was told that it is written
    proof: tuple[Happening, ...]
    to: str = ""
    ttl_us: int = 0
    sure: bool = True  # that it was written at all
    takes: list[CallHistory] = field(default_factory=list)  # plain ones that got it
    lends: list[CallHistory] = field(default_factory=list)  # takes under a lease that got it
    settled: list[CallHistory] = field(default_factory=list)  # acknowledged
    doubtful: list[CallHistory] = field(default_factory=list)  # acknowledged, perhaps
    reads: list[CallHistory] = field(default_factory=list)
    grabbed: list[Happening] = field(default_factory=list)  # by a strong reaction's listener
    fired: list[Happening] = field(default_factory=list)
    glimpses: list[CallHistory] = field(
        default_factory=list
    )  # by its holder, as a view was installed
    counted: dict[int, list[CallHistory]] = field(default_factory=dict)  # in which round, by whom


@dataclass(slots=True)
class ReactionLife:
    """A reaction while its agent lives: from its registration to its removal or a crash."""

    id: str
    agent: str
    request: React
    registered: CallHistory
    over: int = NEVER
    enabled_at: list[int] = field(default_factory=list)
    asleep: bool = False
    fired: list[Happening] = field(default_factory=list)


Period: TypeAlias = tuple[int, int]


class HistoryFacts:
    """A history, read once."""

    def __init__(self, happenings: Iterable[Happening]) -> None:
        self.ops: dict[int, CallHistory] = {}
        self.strays: list[Happening] = []  # answers to calls that nobody made
        self.tuples: dict[Fields, TupleHistory] = {}
        self.unwritten: list[tuple[Happening, Found]] = []  # seen, and nobody wrote them
        self.leases: dict[str, tuple[CallHistory, Found]] = {}
        self.watches: list[ReactionLife] = []
        self.views: dict[str, list[Happening]] = {}  # per host, with its restarts in between
        self.stays: dict[str, list[tuple[str, int, int]]] = {}  # agent: host, from, to
        self.crashes: dict[str, list[Happening]] = {}
        self.freezes: dict[str, list[int]] = {}  # when a host began to engage
        self._shares: dict[tuple[str, str], list[CallHistory]] = {}
        self._opens: dict[tuple[str, str], CallHistory] = {}
        self.parted: dict[str, int] = {}  # partitioned spaces, and by which field
        self._takes: dict[str, list[CallHistory]] | None = None
        self.rivals: dict[int, list[CallHistory]] = {}  # see `rivals`
        self._fires: dict[tuple[str, str], list[Happening]] = {}
        self._last_watch: dict[tuple[str, str], ReactionLife] = {}
        self._read(list(happenings))
        self._follow()

    # -- reading ---------------------------------------------------------------------------

    def _read(self, happenings: list[Happening]) -> None:
        live: dict[str, dict[int, CallHistory]] = {}
        for h in happenings:
            kind = h.kind
            if kind == ASKED:
                op = self.ops[h.what.op] = CallHistory(h)
                live.setdefault(h.what.host, {})[h.what.op] = op
                self._asked(op)
            elif kind in (ANSWERED, UNTOLD):
                self._answered(h, live)
            elif kind == FIRED:
                self._fired(h)
            elif kind in (VIEW, RESTARTED):
                self.views.setdefault(h.who, []).append(h)
            elif kind == CRASHED:
                self.crashes.setdefault(h.who, []).append(h)
                for op in live.pop(h.who, {}).values():
                    op.crashed = h
                self._silence(h)
            elif kind == FROZE:
                self.freezes.setdefault(h.who, []).append(h.at)
            elif kind == CAME:
                self.stays.setdefault(h.who, []).append((h.what, h.at, NEVER))
            elif kind == LEFT:
                host, since, _ = self.stays[h.who].pop()
                self.stays[h.who].append((host, since, h.at))

    def _asked(self, op: CallHistory) -> None:
        request = op.request
        if isinstance(request, Out):
            self._write(op, request.fields, request)
        elif isinstance(request, OutMany):
            for row in request.rows:
                self._write(op, row, request)
        elif isinstance(request, Share):
            for space in request.spaces:
                self._shares.setdefault((op.agent, space), []).append(op)
        elif isinstance(request, Open):
            if request.partition:
                self.parted[request.space] = int(request.partition)
            self._opens.setdefault((op.agent, request.space), op)

    def _write(self, op: CallHistory, fields: Fields, request: Out | OutMany) -> None:
        if request.once and fields in self.tuples:
            return  # it is there already, or was: that is what the key is for
        assert fields not in self.tuples, f"a world must not write {fields} twice"
        self.tuples[fields] = TupleHistory(
            fields,
            request.space,
            op.agent,
            op.began,
            NEVER,
            (op.asked,),
            request.to,
            request.ttl_us,
        )

    def _answered(self, h: Happening, live: dict[str, dict[int, CallHistory]]) -> None:
        op = self.ops.get(h.what.op)
        if op is None:
            self.strays.append(h)
            return
        if op.ended is not None or op.crashed is not None:
            op.more.append(h)
            return
        op.ended = h
        live.get(op.call.host, {}).pop(h.what.op, None)
        request = op.request
        if isinstance(request, React) and op.done:
            watch = ReactionLife(h.what.value, op.agent, request, op, NEVER, [op.began])
            self.watches.append(watch)
            self._last_watch[op.agent, watch.id] = watch
        elif isinstance(request, Adjust) and op.done:
            known = self._last_watch.get((op.agent, request.reaction))
            if known is not None:
                self._adjusted(known, request.what, op)

    def _adjusted(self, watch: ReactionLife, what: str, op: CallHistory) -> None:
        assert op.ended is not None
        if op.ended.what.value is False:  # it changed nothing
            return
        if what == "enable":
            watch.enabled_at.append(op.began)
            watch.asleep = False
        elif what == "disable":
            watch.asleep = True
        else:
            watch.over = min(watch.over, op.end)

    def _fired(self, h: Happening) -> None:
        fired = h.what
        self._fires.setdefault((h.who, fired.reaction), []).append(h)
        known = self.tuples.get(fired.found.fields)
        if known is None:
            self.unwritten.append((h, fired.found))
        else:
            known.fired.append(h)
        for space, fields in fired.wrote:
            self.tuples[fields] = TupleHistory(fields, space, h.who, h.at, h.at, (h,))
        for _, fields in fired.took:
            if fields in self.tuples:
                self.tuples[fields].grabbed.append(h)

    def _silence(self, crash: Happening) -> None:
        """Reactions of the agents of a host that crashes are gone."""
        for watch in self.watches:
            stay = self.stay(watch.agent, crash.at)
            if stay is not None and stay[0] == crash.who:
                watch.over = min(watch.over, crash.at)

    def _follow(self) -> None:
        """Join what calls found with the tuples they found, and firings with their reactions."""
        for watch in self.watches:
            # The first firing may come before the answer that names the reaction.
            for h in self._fires.get((watch.agent, watch.id), ()):
                if watch.registered.began <= h.at <= watch.over:
                    watch.fired.append(h)
        for op in self.ops.values():
            request = op.request
            if isinstance(request, Out | OutMany):
                rows = (request.fields,) if isinstance(request, Out) else request.rows
                for row in rows:
                    written = self.tuples[row]
                    written.sure = op.done
                    written.proof = op.proof
                    written.ended = op.end if op.done else NEVER
            if not isinstance(request, Seek) or request.space == SYSTEM:
                continue
            for found in op.found:
                known = self.tuples.get(found.fields)
                if known is None:
                    assert op.ended is not None
                    self.unwritten.append((op.ended, found))
                elif op.call.round < 0:
                    known.glimpses.append(op)
                elif op.call.round:
                    known.counted.setdefault(op.call.round, []).append(op)
                elif not op.takes:
                    known.reads.append(op)
                elif request.lease_us:
                    known.lends.append(op)
                    self.leases[found.lease] = (op, found)
                else:
                    known.takes.append(op)
        for op in self.ops.values():
            request = op.request
            if isinstance(request, Settle) and request.done and request.lease in self.leases:
                lent = self.tuples[self.leases[request.lease][1].fields]
                if op.done:
                    lent.settled.append(op)
                elif op.ended is None or op.ended.what.error.code in IN_DOUBT:
                    lent.doubtful.append(op)

    @property
    def counted_at(self) -> int | None:
        """When the world was first counted: its end, as far as progress goes."""
        for op in self.ops.values():
            if op.call.round > 0:
                return op.began
        return None

    # -- asking ----------------------------------------------------------------------------

    def stay(self, agent: str, at: int) -> tuple[str, int, int] | None:
        """Where an agent was at a moment: the host, since when, until when."""
        for stay in self.stays.get(agent, ()):
            if stay[1] <= at < stay[2]:
                return stay
        return None

    def opened(self, agent: str) -> list[str]:
        """The spaces an agent has."""
        return [space for (who, space), op in self._opens.items() if who == agent and op.done]

    def shared_through(self, agent: str, space: str, since: int, until: int) -> bool:
        """Whether an agent certainly shared a space in a whole interval."""
        shared = False
        for op in self._shares.get((agent, space), ()):
            if op.began > until:
                break
            request = op.request
            assert isinstance(request, Share)
            if request.shared:
                shared = op.done and (op.end <= since or shared)
            elif not op.failed:  # from when it was asked, it may have been parted
                shared = False
        return shared

    def may_share(self, agent: str, space: str) -> bool:
        """Whether an agent may share a space at the end: a crash can hide what a call did."""
        shared = False
        for op in self._shares.get((agent, space), ()):
            request = op.request
            assert isinstance(request, Share)
            if op.done:
                shared = request.shared
            elif not op.failed:
                shared = shared or request.shared
        return shared

    def view_at(self, host: str, at: int) -> Happening | None:
        """The last view that a host had installed by a moment, in the life it was in then."""
        last = None
        for h in self.views.get(host, ()):
            if h.at > at:
                break
            last = h if h.kind == VIEW else None
        return last

    def calm(self, space: str, since: int, until: int) -> bool:
        """Whether all hosts were one group, and nobody shared or parted a space, all the time."""
        upset = [h.at for views in self.views.values() for h in views]
        upset += [h.at for crashes in self.crashes.values() for h in crashes]
        upset += [at for freezes in self.freezes.values() for at in freezes]
        for (_, name), ops in self._shares.items():
            if name == space:
                upset += [at for op in ops for at in (op.began, op.end)]
        if any(since <= at <= until for at in upset):
            return False
        views = [self.view_at(host, since) for host in self.views]
        return all(view is not None and len(view.what.members) == len(views) for view in views)

    def listed(self, host: str, agent: str, since: int, until: int) -> bool:
        """Whether a host may have had an agent in its directory, at a place it has left by then.

        News of a move reaches only who is in contact: until its next view a host may send what is
        for the agent to where that was, and the tuple is on its way until that place is met again.
        """
        views = [self.view_at(host, since), *self.views.get(host, ())]
        near = {
            member
            for h in views
            if h is not None and h.kind == VIEW and (h is views[0] or since <= h.at <= until)
            for member in h.what.members
        }
        now = self.stay(agent, since)
        return any(
            stay[0] in near and stay != now and stay[1] < since
            for stay in self.stays.get(agent, ())
        )

    def apart(self, host: str, other: str, since: int, until: int) -> bool:
        """Whether a host was in no view with another during a whole interval, nor near to one.

        One that begins to engage may have sent what is for the other, whatever comes of it.
        """
        if any(since <= at <= until for at in self.freezes.get(host, ())):
            return False
        view = self.view_at(host, since)
        return not any(
            other in h.what.members
            for h in (view, *self.views.get(host, ()))
            if h is not None and h.kind == VIEW and (h is view or since <= h.at <= until)
        )

    @property
    def spaces(self) -> KeysView[tuple[str, str]]:
        """All spaces that agents opened, each with its agent after its name."""
        return {(space, agent): None for agent, space in self._opens}.keys()

    def seeks(self) -> Iterator[CallHistory]:
        """Calls that look for tuples, those that only count left out."""
        for op in self.ops.values():
            request = op.request
            if isinstance(request, Seek) and not op.call.round and request.space != SYSTEM:
                yield op

    def takes_of(self, space: str) -> list[CallHistory]:
        """The calls that would take tuples of a space."""
        if self._takes is None:
            self._takes = {}
            for op in self.seeks():
                if op.takes:
                    self._takes.setdefault(op.request.space, []).append(op)  # type: ignore[union-attr]
        return self._takes.get(space, [])


class Use(NamedTuple):
    """A tuple was used up for good, some time between two moments."""

    began: int
    end: int
    proof: tuple[Happening, ...]


def uses(written: TupleHistory) -> list[Use]:
    """Each time a tuple was used up for good; more than one is one too many."""
    found = [Use(op.began, op.end, op.proof) for op in written.takes + written.settled]
    found += [Use(h.at, h.at, (h,)) for h in written.grabbed]
    return sorted(found, key=_end)


def rivals(facts: HistoryFacts, written: TupleHistory) -> list[CallHistory]:
    """Takes that a tuple may have been given to, for good or until it came back."""
    found = facts.rivals.get(id(written))
    if found is None:
        found = facts.rivals[id(written)] = [
            op
            for op in facts.takes_of(written.space)
            if op.end >= written.began and op.request.template.matches(written.fields)  # type: ignore[union-attr]
        ]
    return found


def _end(use: Use) -> int:
    return use.end


_known: WeakKeyDictionary[Simulation, tuple[int, HistoryFacts]] = WeakKeyDictionary()


def facts_of(world: Simulation) -> HistoryFacts:
    """The facts of a world, read once for all checkers."""
    length = len(world.history)
    known = _known.get(world)
    if known is None or known[0] != length:
        known = _known[world] = (length, HistoryFacts(world.history))
    return known[1]
