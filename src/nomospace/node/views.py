"""What a console shows of a running host: who is where, who is under which law, and why.

`Views` reads the parts of a host, and changes nothing but who is suspended, who runs what, and with
whom the host is in contact; every answer is plain data, complete in itself and bounded. It is for
those who may see the whole host (the scope `operator`): what an agent may know of itself is told by
its own controller.

Nothing here costs a host anything until somebody asks. Rulings and operations on tuples are read
from the journal, where they are anyway, so a view shows what is on disk and survives a restart.
How often each rule was used is counted as it is, and kept with the records (`RulingCounts`).

A membership as it was before a ruling that is long past comes from the journal (`ruling_views`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace as dataclass_replace
from inspect import isawaitable
from itertools import islice
from typing import TYPE_CHECKING, Final

from nomospace.control import Membership, TooMuchState, TooOld
from nomospace.control.explain import explain
from nomospace.errors import CallerError
from nomospace.node import viewed
from nomospace.node.journaling import pages
from nomospace.node.ruling_views import member_before, ruling_run, ruling_view, why_view
from nomospace.node.stories.telling import NoStory
from nomospace.node.within import BYTES_AT_ONCE, LINES_MAX, Within, shown, space_view
from nomospace.store.interface import newest
from nomospace.store.journal import (
    EARLIER,
    HOPS,
    PAST_S,
    REFUSED,
    VERDICTS,
    EventRecord,
    count_name,
    count_parts,
    decode_record,
    verdict_counted,
)
from nomospace.wire.admin import (
    ANSWER_BYTES_MAX,
    A,
    AgentLine,
    Agents,
    JournalRecord,
    OperatorQuestion,
    Tail,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nomospace.control import Ruling
    from nomospace.host.core import Host as Core
    from nomospace.law import CompiledLaw
    from nomospace.node.serve import Server
    from nomospace.node.within import Kept


STATE_MAX: Final = 200
"""How many terms of a control state are shown."""
PAST_RECORDS_MAX: Final = 4_000
"""How many records are read for the past of counts,"""
READ_AT_ONCE: Final = 100
"""and how many at once: the host stands still meanwhile."""


class NotSeen(CallerError):
    """A view was asked for of something that is not there."""

    code = "node.not-seen"
    what: str
    name: str
    mend: str

    def __str__(self) -> str:
        return f"there is no {self.what} {self.name[:100]!r} at this host; {self.mend}"


class Views:
    """The views of one host; `server` has its parts.

    Lists are in a fixed order and have at most `LINES_MAX` lines; `after` is the last key that was
    seen, and gives those behind it.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._operating = server.operating
        self._within = Within(server)
        self._recalled = False
        """Whether the journal was asked for what was before this life."""

    @property
    def _core(self) -> Core:
        return self._server.host.core

    # -- hosts and agents ----------------------------------------------------------------------

    def topology(
        self, *, agents_max: int = LINES_MAX, elsewhere: bool = True
    ) -> viewed.TopologyView:
        """The hosts of the group with their agents, this one first, the others by name.

        Without `elsewhere`, only the agents of this one: a group may have very many.
        """
        server, core = self._server, self._core
        here = server.config.host.name
        there: dict[str, list[str]] = {name: [] for name in sorted(core.view.members)}
        for agent, host in core.group.where.items() if elsewhere else ():
            there.setdefault(host, []).append(agent)
        there[here] = list(core.agents)
        neighbours = dict.fromkeys(server.links.neighbours())
        hosts = [
            viewed.HostView(
                name,
                name == here,
                name in neighbours,
                tuple(sorted(agents)[: max(0, min(agents_max, LINES_MAX))]),
                len(agents),
            )
            for name, agents in sorted(there.items(), key=lambda one: (one[0] != here, one[0]))
        ]
        return viewed.TopologyView(
            here, server.host.domain, server.host.life, core.view.id[0], core.frozen, tuple(hosts)
        )

    async def ask(self, question: OperatorQuestion[A]) -> A:
        """Ask what operators ask (`wire.admin`); raises what is wrong with it."""
        answer = self._operating.answer(question)
        found: A = await answer if isawaitable(answer) else answer
        return found

    def agents(self, *, after: str = "", limit: int = LINES_MAX) -> list[AgentLine]:
        """The agents of this host by their ids, those after one."""
        lines: list[AgentLine] = self._operating.answer(Agents(after, _limit(limit)))
        return lines

    def programs(self) -> tuple[str, ...]:
        """The names of the programs that agents can run here without bringing their code."""
        return self._server.host.programs

    # -- communities -----------------------------------------------------------------------------

    def communities(self) -> tuple[viewed.CommunityView, ...]:
        """The laws that have members here, by name."""
        found: dict[str, list[Membership]] = {}
        for member in self._core.governing.members():
            found.setdefault(member.law.hash, []).append(member)
        lines = [
            viewed.CommunityView(
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
    ) -> tuple[viewed.MemberView, ...]:
        """The members of a community here, by their ids; raises `NotSeen` for an unknown law."""
        self._law(law)
        chosen = sorted(
            [m for m in self._core.governing.members() if m.law.hash == law and m.home > after],
            key=lambda member: member.home,
        )
        return tuple([_member(one) for one in chosen[: _limit(limit)]])

    def member(self, law: str, home: str) -> viewed.MemberView:
        """One member of a community here; raises `NotSeen`."""
        found = self._core.governing.find(home, law)
        if found is None:
            raise NotSeen(what="member", name=home, mend="ask for the members to see who is")
        return _member(found)

    def obligations(
        self, *, law: str = "", limit: int = LINES_MAX
    ) -> tuple[viewed.ObligationView, ...]:
        """What members here owe, the soonest due first; of one community, if it is named."""
        lines = [
            line
            for member in self._core.governing.members()
            if not law or member.law.hash == law
            for line in _owed(member)
        ]
        lines.sort(key=lambda line: (line.due_at, line.home, line.law))
        return tuple(lines[: _limit(limit)])

    def law(self, law: str) -> viewed.LawView:
        """A law by its hash, with how often each of its rules has ruled; raises `NotSeen`."""
        found = self._law(law)
        tree, rules, kept = found.tree, self.rules(law), self._server.tally.kept
        unmatched = sum([kept.get(count_name(law, "", verdict), 0) for verdict in VERDICTS])
        members = sum(m.law.hash == law for m in self._core.governing.members())
        return viewed.LawView(
            law,
            found.name,
            tree.language,
            tree.source.text,
            tree.disclose,
            members,
            rules,
            unmatched,
            kept.get(EARLIER, 0),
            unmatched + sum([rule.hits for rule in rules]),
            kept.get(count_name(law, "", REFUSED), 0),
        )

    def rules(self, law: str) -> tuple[viewed.RuleView, ...]:
        """The rules of a law, with their counts; raises `NotSeen`."""
        tree = self._law(law).tree
        kept = self._server.tally.kept
        place = tree.source.place  # looks lines up: a law may have thousands of rules
        lines: list[viewed.RuleView] = []
        for rule in tree.rules:
            hits = [kept.get(count_name(law, rule.name, verdict), 0) for verdict in VERDICTS]
            first, last = place(rule.span.start)[0], place(rule.span.end)[0]
            about = (rule.name, rule.event, first, rule.comment, sum(hits), last)
            lines.append(viewed.RuleView(*about, *hits[:3]))
        return tuple(lines)

    def _law(self, law: str) -> CompiledLaw:
        found = self._server.host.law(law)
        if found is None:
            raise NotSeen(what="law", name=law, mend="ask for the communities to see which are")
        return found

    def past(self) -> list[tuple[int, list[tuple[list[str], int]]]]:
        """What each of the last two minutes' seconds added to the counts, the oldest first.

        What this life has not seen is among them after `recall`.
        """
        return [
            (second, [(count_parts(name), number) for name, number in added.items()])
            for second, added in self._server.tally.past
        ]

    async def recall(self) -> None:
        """Read what the life before has counted lately from its journal, some at a time."""
        tally, store = self._server.tally, self._server.store
        if self._recalled:
            return
        self._recalled = True
        first = tally.past[0][0] if tally.past else self.now // 1_000_000 + 1
        found: dict[int, dict[str, int]] = {}
        end, at_once = tally.earlier, {"most": READ_AT_ONCE, "bytes_max": BYTES_AT_ONCE}
        async for page in pages(store, max(0, end - PAST_RECORDS_MAX), end, **at_once):
            for entry in page:
                record = decode_record(entry.record)
                if isinstance(record, EventRecord) and record.community:
                    ruling = record.ruling
                    second = ruling.at // 1_000_000
                    if first - PAST_S < second < first:
                        added = found.setdefault(second, {})
                        one = count_name(ruling.law, ruling.rule or "", verdict_counted(ruling))
                        for name, more in ((one, 1), (HOPS, record.hops)):
                            added[name] = added.get(name, 0) + more
        for second in sorted(found, reverse=True):
            if len(tally.past) < PAST_S:
                tally.past.appendleft((second, found[second]))

    # -- spaces ------------------------------------------------------------------------------------

    def spaces(self, *, after: int = 0, limit: int = LINES_MAX) -> tuple[viewed.SpaceView, ...]:
        """The spaces of this host: shared ones first, `LimeSystem` last; `after` skips so many."""
        found = islice(self._within.all(), after, after + _limit(limit))
        kept = self._server.tally.kept
        return tuple([space_view(*one, kept) for one in found])

    def inside(self, space: str, *, agent: str = "") -> viewed.SpaceInside:
        """What goes on in a shared space, or in the private one of an agent; raises `NotSeen`."""
        return self._within.inside(self._space(space, agent))

    async def read_ages(self) -> None:
        """Learn from the journal when tuples were written, some records at a time."""
        await self._within.read_ages()

    def tuples(
        self,
        space: str,
        *,
        agent: str = "",
        template: Sequence[object] = (),
        together: bool = False,
        limit: int = 100,
        after: int = 0,
    ) -> viewed.TuplesView:
        """The oldest tuples of a shared space, or of the private one of an agent; or `NotSeen`.

        With a template, those that match it; `together` asks for sets that answer it besides.
        `after` passes over so many. How old they are is known as far as `read_ages` has read.
        """
        found = self._space(space, agent)[0]
        return self._within.tuples(
            found, template=template, together=together, limit=_limit(limit), after=after
        )

    async def story(
        self, about: str, *, beside: Mapping[str, Views] | None = None
    ) -> viewed.CausalStory:
        """What led to a ruling (`host/record`) or a tuple (`ann@ward#3`), and what came of it.

        All hosts of the group are asked; `beside` are views of those that the viewer may see as
        well. Raises `NoStory`.
        """
        all = {self._server.config.host.name: self, **(beside or {})}
        stories = {host: views._server.stories for host, views in all.items()}
        for views in all.values():
            await views.read_ages()
        lying = [(host, *views._within.lies(about)) for host, views in all.items()]
        host, space, lies = next((one for one in lying if one[2] is not None), ("", "", None))
        try:
            told = await self._server.stories.tell(about, stories)
        except NoStory:
            if lies is None:
                raise
            told = viewed.CausalStory(about, (), (), (), ())  # its host keeps no journal
        steps = [
            all[one.host]._with_why(one) if one.refused and one.host in all else one
            for one in told.steps
        ]
        return dataclass_replace(told, steps=tuple(steps), space=space, holder=host, lies=lies)

    def _with_why(self, step: viewed.StoryStep) -> viewed.StoryStep:
        """A step that was refused, with the sentence that says why, if that can still be told."""
        try:
            return dataclass_replace(step, verdict=self.why(step.record).verdict)
        except (NotSeen, TooOld, TooMuchState):
            return step

    def _space(self, space: str, agent: str) -> Kept:
        found = self._within.find(space, agent)
        if found is None:
            what = "private space" if agent else "shared space"
            raise NotSeen(what=what, name=space, mend="ask for the spaces to see which are")
        return found

    # -- what happened ---------------------------------------------------------------------------

    def tally(self) -> viewed.TallyView:
        """How much was ruled on since the host began: for rates that are exact."""
        tally, members = self._server.tally, self._core.governing.members()
        return viewed.TallyView(
            self.now,
            tally.rulings,
            tally.sent,
            tally.refused,
            tally.held,
            tally.hops,
            sum(len(member.obligations) for member in members),
        )

    def rulings(self, *, after: int | None = None, limit: int = 100) -> viewed.RulingsView:
        """The rulings among so many records after one of the journal, or among the latest."""
        store, limit = self._server.store, _limit(limit)
        if after is None:
            entries = newest(store, store.last_record, limit, ANSWER_BYTES_MAX)
        else:
            entries = store.journal(after, limit, ANSWER_BYTES_MAX)
        found, last = [], after or 0
        for entry in entries:
            last = entry.seq
            record = decode_record(entry.record)
            if isinstance(record, EventRecord):
                found.append(ruling_view(entry.seq, record))
        return viewed.RulingsView(tuple(found), last)

    async def latest(
        self, *, most: int, among: int, home: str = "", law: str = "", rule: str = ""
    ) -> list[viewed.RulingView]:
        """The latest rulings of a home, a law or a rule, the last one first, among so many records.

        A few are read at a time, and others have their turn. A record without the name of the home,
        or the law's hash, in its bytes is not even decoded.
        """

        def fits(record: EventRecord) -> bool:
            if not wanted:
                return True
            of, ruling = (home, law, rule), record.ruling
            found = (ruling.home, ruling.law, ruling.rule)
            return bool(record.community) and all(
                not one or one == other for one, other in zip(of, found, strict=True)
            )

        store, found = self._server.store, list[viewed.RulingView]()
        last = store.last_record
        first, wanted = max(0, last - among), (home or law).encode()
        while last > first and len(found) < most:
            part = newest(store, last, min(READ_AT_ONCE, last - first), BYTES_AT_ONCE)
            for entry in reversed([one for one in part if wanted in one.record]):
                record = decode_record(entry.record)
                if isinstance(record, EventRecord) and fits(record) and len(found) < most:
                    found.append(ruling_view(entry.seq, record))
            last = part[0].seq - 1 if part else 0  # what was before is kept no longer
            await asyncio.sleep(0)
        return found

    def runs(self, *, after: int, limit: int) -> list[viewed.RulingRun]:
        """The rulings among so many records after one, equal ones as one with their count."""
        found: Counter[viewed.RulingRun] = Counter()
        for entry in self._server.store.journal(after, limit, ANSWER_BYTES_MAX):
            record = decode_record(entry.record)
            if isinstance(record, EventRecord):
                found[ruling_run(record)] += 1
        return [one._replace(times=times) for one, times in found.items()]

    def records(self, *, after: int = 0, limit: int = 100) -> list[JournalRecord]:
        """Records of the journal of all tables, as `nomospace journal tail` shows them."""
        lines: list[JournalRecord] = self._operating.answer(Tail(after, _limit(limit)))
        return lines

    @property
    def now(self) -> int:
        """The time of the host's clock, in microseconds: what its times are held against."""
        return self._server.now()

    @property
    def last_record(self) -> int:
        """The number of the journal's last record."""
        return self._server.store.last_record

    def why(self, record: int) -> viewed.WhyView:
        """Why a ruling is as it is, all of it, by the number of its record in the journal.

        What its member cannot tell from memory, or is not here any more to tell, the journal does
        (`member_before`). Raises `NotSeen` for a record that is none, and `TooOld`, or `NotSeen`
        for the member, where the journal does not go back far enough.
        """
        found = self._ruled(record)
        if found is None:
            mend = "ask for the rulings to see their records"
            raise NotSeen(what="ruling with the record", name=str(record), mend=mend)
        view, ruling = ruling_view(record, found), found.ruling
        member = self._core.governing.find(ruling.home, ruling.law)
        late: TooOld | TooMuchState | None = None
        if member is not None:
            try:
                return why_view(view, explain(member, ruling, disclose="all"))
            except (TooOld, TooMuchState) as error:
                late = error
        past = self._before(record, ruling)
        if past is not None:
            return why_view(view, explain(past, ruling, disclose="all"))
        if late is not None:
            raise late
        mend = "it has moved or quit, and the journal does not go back to it"
        raise NotSeen(what="member", name=ruling.home, mend=mend)

    def standing(self, record: int) -> viewed.MemberView:
        """A member as it was right before a ruling; raises `NotSeen` as `why` does."""
        found = self._ruled(record)
        past = None if found is None else self._before(record, found.ruling)
        if past is None:
            mend = "the journal does not go back to it"
            raise NotSeen(what="member before the record", name=str(record), mend=mend)
        return _member(past)

    def _ruled(self, record: int) -> EventRecord | None:
        """A ruling under a law, by the number of its record."""
        entries = self._server.store.journal(record - 1, 1) if record > 0 else []
        found = decode_record(entries[0].record) if entries and entries[0].seq == record else None
        return found if isinstance(found, EventRecord) and found.community else None

    def _before(self, record: int, ruling: Ruling) -> Membership | None:
        """The member of a ruling right before it, if the journal goes back to that."""
        law = self._server.host.law(ruling.law)
        return None if law is None else member_before(self._server.store, law, record, ruling)


def _limit(limit: int) -> int:
    return max(1, min(limit, LINES_MAX))


def _member(member: Membership) -> viewed.MemberView:
    state = [shown(term) for _, term in islice(member.state.items(), STATE_MAX)]
    return viewed.MemberView(
        member.home,
        member.law.hash,
        member.seq,
        tuple(state),
        len(member.state),
        tuple(_owed(member)[:STATE_MAX]),
    )


def _owed(member: Membership) -> list[viewed.ObligationView]:
    home, law = member.home, member.law.hash
    return [
        viewed.ObligationView(home, law, shown(term), due)
        for due, term in islice(member.pending(), LINES_MAX)
    ]
