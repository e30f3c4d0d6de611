"""What a console shows of a running host: who is where, who is under which law, and why.

`Views` reads the parts of a host and changes nothing; every answer is plain data, complete in
itself and bounded. It is for those who may see the whole host (the scope `operator`): what an agent
may know of itself is told by its own controller.

Nothing here costs a host anything until somebody asks. Rulings and operations on tuples are read
from the journal, where they are anyway, so a view shows what is on disk and survives a restart.
How often a rule was used is counted when it is asked for, from where the last count ended; what
was too long ago to be counted is said (`LawView.uncounted`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

from nomospace.control.explain import Explanation, explain, verdict_on
from nomospace.errors import CallerError
from nomospace.node.operating import Operating
from nomospace.node.viewed import (
    AgentView,
    CommunityView,
    GoalView,
    HostView,
    LawView,
    LeaseView,
    MemberView,
    ObligationView,
    ReactionView,
    RuleView,
    RulingsView,
    RulingView,
    SpaceInside,
    SpaceView,
    TopologyView,
    TriedView,
    TuplesView,
    TupleView,
    WaiterView,
    WhyView,
)
from nomospace.store.journal import EventRecord, decode_record
from nomospace.terms import show
from nomospace.wire.admin import TAIL_MAX, Agents, Record, Tail, Tuples

if TYPE_CHECKING:
    from nomospace.control import Membership, Ruling
    from nomospace.host import Host as Core
    from nomospace.law import CompiledLaw
    from nomospace.node.serve import Server
    from nomospace.space import Space
    from nomospace.space.leases import Lease
    from nomospace.space.reactions import Reaction
    from nomospace.space.watchers import Waiter

LINES_MAX: Final = 1_000
"""The most lines of one view; `after` asks for those that follow."""
STATE_MAX: Final = 200
"""How many terms of a control state are shown."""
TEXT_MAX: Final = 2_000
"""How much of one term is shown, in characters."""
COUNTED_MAX: Final = 4_000
"""How many records one question about rules counts at most: the host stands still meanwhile."""


@dataclass(eq=False, kw_only=True)
class NotSeen(CallerError):
    """A view was asked for of something that is not there."""

    code: ClassVar[str] = "node.not-seen"
    what: str
    name: str
    mend: str

    def __str__(self) -> str:
        return f"there is no {self.what} {self.name[:100]!r} at this host; {self.mend}"


@dataclass(slots=True)
class _Hits:
    """How often the rules of one law have ruled; `None` stands for no rule."""

    rules: dict[str | None, int] = field(default_factory=dict)


class Views:
    """The views of one host; `server` has its parts.

    Lists are in a fixed order and have at most `LINES_MAX` lines; `after` is the last key that was
    seen, and gives those behind it.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._operating = Operating(server)
        self._hits: dict[str, _Hits] = {}
        """By the hash of the law; laws that are not known here any more are left out of it."""
        self._counted = -1
        """The last record that was counted; -1 before the first."""
        self._uncounted = 0

    @property
    def _core(self) -> Core:
        return self._server.host.core

    # -- hosts and agents ----------------------------------------------------------------------

    def topology(self, *, agents_max: int = LINES_MAX) -> TopologyView:
        """The hosts of the group with their agents, this one first, the others by name."""
        server, core = self._server, self._core
        here = server.config.host.name
        there: dict[str, list[str]] = {name: [] for name in sorted(core.view.members)}
        for agent, host in core.group.where.items():
            there.setdefault(host, []).append(agent)
        there[here] = list(core.agents)
        neighbours = dict.fromkeys(server.links.neighbours())
        hosts = [
            HostView(
                name,
                name == here,
                name in neighbours,
                tuple(sorted(agents)[: max(0, min(agents_max, LINES_MAX))]),
                len(agents),
            )
            for name, agents in sorted(there.items(), key=lambda one: (one[0] != here, one[0]))
        ]
        return TopologyView(
            here, server.host.domain, core.life, core.view.id[0], core.frozen, tuple(hosts)
        )

    def agents(self, *, after: str = "", limit: int = LINES_MAX) -> tuple[AgentView, ...]:
        """The agents of this host by their ids, those after one."""
        found = self._operating.answer(Agents(after, _limit(limit)))
        return tuple([AgentView(one.id, one.program, one.laws, one.clients) for one in found])

    # -- communities -----------------------------------------------------------------------------

    def communities(self) -> tuple[CommunityView, ...]:
        """The laws that have members here, by name."""
        found: dict[str, list[Membership]] = {}
        for member in self._core.governing.members():
            found.setdefault(member.law.hash, []).append(member)
        lines = [
            CommunityView(
                law,
                members[0].law.name,
                len(members),
                sum(one.seq for one in members),
                sum(len(one.obligations) for one in members),
            )
            for law, members in found.items()
        ]
        return tuple(sorted(lines, key=lambda line: (line.name, line.law))[:LINES_MAX])

    def members(
        self, law: str, *, after: str = "", limit: int = LINES_MAX
    ) -> tuple[MemberView, ...]:
        """The members of a community here, by their ids; raises `NotSeen` for an unknown law."""
        self._law(law)
        chosen = sorted(
            [m for m in self._core.governing.members() if m.law.hash == law and m.home > after],
            key=lambda member: member.home,
        )
        return tuple([_member(one) for one in chosen[: _limit(limit)]])

    def obligations(self, *, law: str = "", limit: int = LINES_MAX) -> tuple[ObligationView, ...]:
        """What members here owe, the soonest due first; of one community, if it is named."""
        lines = [
            line
            for member in self._core.governing.members()
            if not law or member.law.hash == law
            for line in _owed(member)
        ]
        lines.sort(key=lambda line: (line.due_at, line.home, line.law))
        return tuple(lines[: _limit(limit)])

    def law(self, law: str) -> LawView:
        """A law by its hash, with how often each of its rules has ruled; raises `NotSeen`."""
        found = self._law(law)
        self._count()
        hits = self._hits.get(law, _Hits()).rules
        tree = found.tree
        text = tree.source.text
        rules = [
            RuleView(
                rule.name,
                rule.event,
                text.count("\n", 0, rule.span.start) + 1,
                rule.comment,
                hits.get(rule.name, 0),
            )
            for rule in tree.rules
        ]
        members = sum(m.law.hash == law for m in self._core.governing.members())
        return LawView(
            law,
            found.name,
            tree.language,
            text,
            tree.disclose,
            members,
            tuple(rules),
            hits.get(None, 0),
            self._uncounted,
        )

    def _law(self, law: str) -> CompiledLaw:
        found = self._server.host.law(law)
        if found is None:
            raise NotSeen(what="law", name=law, mend="ask for the communities to see which are")
        return found

    def _count(self) -> None:
        """Count what the rules did since the last time."""
        keeper = self._server.host.keeper
        if keeper is None:
            return
        last = keeper.store.last_record
        begin = max(self._counted, last - COUNTED_MAX, 0)
        self._uncounted += begin - max(self._counted, 0)
        for entry in keeper.store.journal(begin, COUNTED_MAX):
            record = decode_record(entry.record)
            if isinstance(record, EventRecord):
                ruling = record.ruling
                if self._server.host.law(ruling.law) is not None:
                    rules = self._hits.setdefault(ruling.law, _Hits()).rules
                    rules[ruling.rule] = rules.get(ruling.rule, 0) + 1
        self._counted = last

    # -- spaces ------------------------------------------------------------------------------------

    def spaces(self, *, after: int = 0, limit: int = LINES_MAX) -> tuple[SpaceView, ...]:
        """The spaces of this host: shared ones first; `after` skips so many."""
        census = self._core.holding.census()
        return tuple([_space(*one) for one in islice(census, after, after + _limit(limit))])

    def inside(self, space: str, *, agent: str = "") -> SpaceInside:
        """What goes on in a shared space, or in the private one of an agent; raises `NotSeen`."""
        for one, law, shared, agents in self._core.holding.census():
            if one.name == space and (shared if not agent else not shared and agents == (agent,)):
                return SpaceInside(
                    _space(one, law, shared, agents),
                    tuple([_waiter(waiter) for waiter in one.waiters()[:LINES_MAX]]),
                    tuple([_reaction(reaction) for reaction in one.reactions()[:LINES_MAX]]),
                    tuple([_lease(lease) for lease in one.leases()[:LINES_MAX]]),
                )
        what = "private space" if agent else "shared space"
        raise NotSeen(what=what, name=space, mend="ask for the spaces to see which are")

    def tuples(self, space: str, *, agent: str = "", limit: int = 100) -> TuplesView:
        """The oldest tuples of a shared space, or of the private one of an agent; or `NotSeen`."""
        found = self._operating.answer(Tuples(space, agent, _limit(limit)))
        if not found.known:
            what = "private space" if agent else "shared space"
            raise NotSeen(what=what, name=space, mend="ask for the spaces to see which are")
        lines = [
            TupleView(
                f"{one.writer}#{one.count}",
                tuple(map(_short, one.fields)),
                one.holder,
                one.dest,
                one.deliveries,
            )
            for one in found.lines
        ]
        return TuplesView(found.total, tuple(lines))

    # -- what happened ---------------------------------------------------------------------------

    def rulings(self, *, after: int = 0, limit: int = 100) -> RulingsView:
        """The rulings after a record of the journal; the latest when that is 0."""
        keeper = self._server.host.keeper
        if keeper is None:
            return RulingsView((), after)
        limit = _limit(limit)
        begin = after or max(0, keeper.store.last_record - limit)
        found, last = [], begin
        for entry in keeper.store.journal(begin, limit):
            last = entry.seq
            record = decode_record(entry.record)
            if isinstance(record, EventRecord):
                found.append(_ruling(entry.seq, record.community, record.ruling))
        return RulingsView(tuple(found), last)

    def records(self, *, after: int = 0, limit: int = 100) -> list[Record]:
        """Records of the journal of all tables, as `nomospace journal tail` shows them."""
        return self._server.tail(Tail(after, min(_limit(limit), TAIL_MAX)))

    @property
    def last_record(self) -> int:
        """The number of the journal's last record."""
        keeper = self._server.host.keeper
        return 0 if keeper is None else keeper.store.last_record

    def why(self, record: int) -> WhyView:
        """Why a ruling is as it is, all of it, by the number of its record in the journal.

        Raises `NotSeen` for a record that is none, or of a member that is gone, and `TooOld` for a
        ruling that its member cannot tell of from memory.
        """
        keeper = self._server.host.keeper
        entries = [] if keeper is None or record < 1 else keeper.store.journal(record - 1, 1)
        found = decode_record(entries[0].record) if entries else None
        if not isinstance(found, EventRecord) or entries[0].seq != record or not found.community:
            mend = "ask for the rulings to see their records"
            raise NotSeen(what="ruling with the record", name=str(record), mend=mend)
        ruling = found.ruling
        member = self._core.governing.find(ruling.home, ruling.law)
        if member is None:
            mend = "it has moved or quit; replay the journal to see why"
            raise NotSeen(what="member", name=ruling.home, mend=mend)
        return _why(record, found.community, ruling, explain(member, ruling, disclose="all"))


def _limit(limit: int) -> int:
    return max(1, min(limit, LINES_MAX))


def _short(text: str) -> str:
    """A text that fits into a line of a view.

    >>> len(_short("a" * 3_000)), _short("a" * 3_000)[-1]
    (2000, '…')
    """
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _member(member: Membership) -> MemberView:
    state = [_short(show(term)) for _, term in islice(member.state.items(), STATE_MAX)]
    return MemberView(
        member.home,
        member.law.hash,
        member.seq,
        tuple(state),
        len(member.state),
        tuple(_owed(member)[:STATE_MAX]),
    )


def _owed(member: Membership) -> list[ObligationView]:
    home, law = member.home, member.law.hash
    return [
        ObligationView(home, law, _short(show(term)), due)
        for due, term in islice(member.pending(), LINES_MAX)
    ]


def _space(space: Space, law: str, shared: bool, agents: tuple[str, ...]) -> SpaceView:
    of = space.stats()
    counts = (of["tuples"], of["lent"], of["waiters"], of["reactions"])
    return SpaceView(space.name, law, shared, agents[:LINES_MAX], *counts)


def _waiter(waiter: Waiter) -> WaiterView:
    return WaiterView(
        waiter.how,
        _short(show(waiter.template.term)),
        waiter.at or "",
        waiter.dest or "",
        isinstance(waiter.ticket, tuple),
    )


def _reaction(reaction: Reaction) -> ReactionView:
    return ReactionView(
        _short(show(reaction.template.term)),
        reaction.mode,
        reaction.listener is not None,
        reaction.enabled,
        reaction.fired,
    )


def _lease(lease: Lease) -> LeaseView:
    record = lease.record
    fields = tuple([_short(show(field)) for field in record.fields])
    return LeaseView(f"{record.writer}#{record.count}", fields, lease.taker, lease.until)


def _ruling(record: int, community: str, ruling: Ruling) -> RulingView:
    # What the host itself notes stands under no law, and no rule ever lets it through.
    verdict = verdict_on(ruling) if community else "noted"
    return RulingView(
        record,
        ruling.at,
        ruling.home,
        ruling.law,
        community,
        _short(show(ruling.event.term)),
        ruling.rule,
        verdict,
        ruling.refused,
        ruling.held,
        tuple([_short(show(operation)) for operation in ruling.operations[:STATE_MAX]]),
    )


def _why(record: int, community: str, ruling: Ruling, story: Explanation) -> WhyView:
    tried = [
        TriedView(
            one.rule,
            one.outcome,
            one.about,
            tuple([GoalView(goal.goal, goal.with_values) for goal in one.held]),
            None if one.failed is None else GoalView(one.failed.goal, one.failed.with_values),
        )
        for one in story.rules
    ]
    return WhyView(_ruling(record, community, ruling), story.verdict, tuple(tried), story.text)
