"""What operators ask a running host, answered from what its parts know (`wire.admin`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from nomospace.client import check_name
from nomospace.errors import CallerError
from nomospace.host.monitoring import LoadMonitor
from nomospace.law import CompiledLaw
from nomospace.node.journaling import told
from nomospace.node.within import find_space
from nomospace.protocols.policy import NotAPosition, is_position
from nomospace.space import Space
from nomospace.store.interface import newest
from nomospace.terms import show
from nomospace.trust.moments import DAY, shown
from nomospace.wire import admin

if TYPE_CHECKING:
    from nomospace.node.serve import Server


HASH_SHOWN: Final = 12
"""How much of a law's hash tells it from another of the same name."""
WHY_MAX: Final = 500
"""How much of an operator's reason is kept."""
PART_S: Final = 20.0
"""How long a host that is told to disengage may take to leave its group."""
ContactQuestion: TypeAlias = admin.Contact | admin.Engage | admin.Disengage | admin.SetPosition
PREFIX_MIN: Final = 8
"""How much of a law's hash must be given to name it."""


class NotSuspendable(CallerError):
    """What is to be suspended or resumed is neither an agent nor a law of this host."""

    code = "node.not-suspendable"
    name: str
    found: int

    def __str__(self) -> str:
        why = "names several laws of this host" if self.found else "is no law of this host"
        return (
            f"{self.name[:100]!r} {why}, and no agent's id (name@domain); give a law's hash, or "
            f"{PREFIX_MIN} characters of it (`nomospace law hash` prints it)"
        )


class NotRunning(CallerError):
    """The program of an agent is to end that runs none here."""

    code = "node.not-running"
    words = "{agent} runs no program at this host; `nomospace agent ls` shows who does"
    agent: str


SOON_US: Final = 28 * DAY
"""So long before a certificate ends, it is told."""


class WorkersStay(CallerError):
    """A host that several processes serve was told to leave its group: they are one."""

    code = "node.workers-stay"
    words = (
        "{host} is one of {count} workers, which are one group always; cut its links to others, or "
        "run the host with --workers 1"
    )
    host: str
    count: int


class Operating:
    """Answers the questions of operators of one host."""

    def __init__(self, server: Server) -> None:
        self._server = server
        for space, limits in server.config.monitors.items():
            server.host.watch(space, limits)

        self._answers: dict[type, Callable[[Any], Any]] = {
            admin.Agents: self._agents,
            admin.Spaces: lambda _: self._spaces(),
            admin.Tuples: self._tuples,
            admin.Stats: lambda _: self._stats(),
            admin.Where: self._where,
            admin.Tail: self._tail,
            admin.Records: self._records,
            admin.Suspend: self._suspend,
            admin.Resume: self._suspend,
            admin.EndAgent: self._end,
            admin.Suspensions: lambda _: self._suspensions(),
            admin.Contact: self._contact,
            admin.Engage: self._contact,
            admin.Disengage: self._contact,
            admin.SetPosition: self._contact,
            admin.DrainHost: self._drain,
            admin.LaunchProgram: self._launch,
            admin.EndProgram: self._end_program,
            admin.SpaceTell: server.host.operate,
            admin.PromoteHost: server.host.operate,
            admin.SpaceMonitor: self._monitor,
            admin.SpaceMonitors: lambda _: [self._watched(one) for one in sorted(self._monitors)],
            admin.Doctor: lambda _: self._doctor(),
        }

    def answer(self, question: admin.OperatorQuestion[Any]) -> Any:
        """The answer to a question."""
        return self._answers[type(question)](question)

    def _agents(self, question: admin.Agents) -> list[admin.AgentLine]:
        core = self._server.host.core
        limit = max(0, min(question.limit, admin.TAIL_MAX))
        programs = {kept.agent: kept.program for kept in core.programs}
        chosen = list(islice(sorted(a for a in core.agents if a > question.after), limit))
        laws = {agent: core.laws_of(agent) for agent in chosen}
        known = {law.hash: law.name for several in laws.values() for law in several}
        shared = {name for name, count in Counter(known.values()).items() if count > 1}
        clients = self._server.host.served.clients_of
        beside = self._server.host.stage.processes
        ended = {} if beside is None else beside.ended
        return [
            admin.AgentLine(
                agent,
                programs.get(agent, ""),
                tuple(
                    [
                        _called(law, law.name in shared) + key.removeprefix(law.hash)
                        for key, law in core.memberships_of(agent)
                    ]
                ),
                clients(agent),
                core.suspending.refusal(agent) is not None,
                ended.get(agent, ""),
            )
            for agent in chosen
        ]

    async def _launch(self, question: admin.LaunchProgram) -> admin.ProgramLine:
        host = self._server.host
        user, at, _ = question.name.rpartition("@")
        check_name("an agent", user if at else question.name)
        agent = question.name if at else f"{question.name}@{host.domain}"
        await host.stage.start(agent, question.program, question.state, question.code)
        return admin.ProgramLine(agent, question.program)

    async def _end_program(self, question: admin.EndProgram) -> admin.ProgramLine:
        program = await self._server.host.stage.end(question.agent)
        if not program:
            raise NotRunning(agent=question.agent[:100])
        return admin.ProgramLine(question.agent, program)

    @property
    def _monitors(self) -> dict[str, LoadMonitor]:
        return self._server.host.core.governed.monitoring.spaces

    def _watched(self, space: str) -> admin.MonitorLine:
        one = self._monitors[space]
        keeps = one.limits
        return admin.MonitorLine(
            space, keeps.most, keeps.rest, keeps.longest, one.delay, len(one.told)
        )

    async def _monitor(self, question: admin.SpaceMonitor) -> admin.MonitorLine:
        line = await self._server.host.operate(question)
        return line if question.most is None else self._watched(question.space)

    async def _suspend(self, question: admin.Suspend | admin.Resume) -> admin.SuspensionLine:
        host = self._server.host
        name = self._suspendable(question.name)
        if isinstance(question, admin.Resume):
            await host.resume(name)
            return admin.SuspensionLine(name, 0)
        await host.suspend(name, question.why[:WHY_MAX])
        line = next(one for one in host.core.suspending.all() if one.name == name)
        return admin.SuspensionLine(name, line.since, line.why)

    def _suspensions(self) -> list[admin.SuspensionLine]:
        found = self._server.host.core.suspending.all()
        return [admin.SuspensionLine(one.name, one.since, one.why) for one in found]

    async def _contact(self, question: ContactQuestion) -> admin.ContactLine:
        host = self._server.host
        if isinstance(question, admin.Engage):
            host.engage()
        elif isinstance(question, admin.Disengage):
            if (worker := self._server.worker) is not None and len(worker.names) > 1:
                raise WorkersStay(host=host.name, count=len(worker.names))
            others = [name for name in host.view.members if name != host.name]
            host.disengage()
            await host.wait_parted(*others, timeout=PART_S)
        elif isinstance(question, admin.SetPosition):
            place = question.position
            if not is_position(place):
                raise NotAPosition(position=place)
            host.moved(*place)
        group = host.core.group
        return admin.ContactLine(host.name, group.willing, group.position, host.view.members)

    def _drain(self, question: admin.DrainHost) -> admin.DrainLine:
        host = self._server.host
        if question.drained is not None:
            host.drain(question.drained)
        share, group = host.core.partitioning, host.core.group
        moving = sum([group.under_way(peer) for peer in group.members])
        return admin.DrainLine(host.name, share.drained, share.held(), moving, share.alone())

    async def _end(self, question: admin.EndAgent) -> admin.WhereLine:
        await self._server.host.end(question.agent)
        return admin.WhereLine(question.agent, "", False)

    def _suspendable(self, name: str) -> str:
        """The id of an agent, or the hash of a law that this host has or has suspended."""
        user, _, domain = name.rpartition("@")
        if user and domain and name.isprintable() and " " not in name:
            return name
        core = self._server.host.core
        laws = {law.hash: law.name for law in core.laws.all()}
        laws.update({one.name: "" for one in core.suspending.all() if "@" not in one.name})
        found = [
            law
            for law, title in laws.items()
            if name == title or (len(name) >= PREFIX_MIN and law.startswith(name))
        ]
        if len(found) != 1:
            raise NotSuspendable(name=name, found=len(found))
        return found[0]

    def _spaces(self) -> list[admin.SpaceLine]:
        lines = []
        for space, law, shared, agents in self._server.host.core.spaces.census():
            of = space.stats()
            counts = (of["tuples"], of["lent"], of["waiters"], of["reactions"])
            share = self._server.host.core.partitioning.state(space.name) if shared else None
            lines.append(admin.SpaceLine(space.name, law, shared, agents, *counts, *share or ()))
        return lines

    def _tuples(self, question: admin.Tuples) -> admin.SpaceListing:
        found = find_space(self._server.host.core.spaces.census(), question.space, question.agent)
        if found is None:
            return admin.SpaceListing(False, 0, ())
        return admin.SpaceListing(True, len(found[0]), tuple(_lines(found[0], question.limit)))

    def _stats(self) -> admin.StatsLine:
        server = self._server
        core, spaces = server.host.core, self._spaces()
        figures = {name: float(value) for name, value in server.links.counts().items()}
        figures["connections"] = float(server.listener.connections)
        figures["strangers"] = float(server.listener.strangers)
        if server.standing is not None:
            figures |= {f"standby_{name}": n for name, n in server.standing.figures().items()}
        return admin.StatsLine(
            server.config.host.name,
            server.host.life,
            core.view.members,
            len(core.agents),
            len(spaces),
            sum(line.tuples for line in spaces),
            len(server.host.served.all),
            server.clients.count,
            figures,
        )

    def _where(self, question: admin.Where) -> admin.WhereLine:
        core, agent = self._server.host.core, question.agent
        if core.has(agent):
            return admin.WhereLine(agent, core.name, True)
        engaged = core.group.where.get(agent, "")
        return admin.WhereLine(agent, engaged or core.posting.guess(agent), bool(engaged))

    def _tail(self, question: admin.Tail) -> list[admin.JournalRecord]:
        """The last records that no segment has yet, or those after a number."""
        store, limit = self._server.store, max(1, min(question.limit, admin.TAIL_MAX))
        if question.after:
            found = store.journal(question.after, limit, admin.ANSWER_BYTES_MAX)
        else:
            found = newest(store, store.last_record, limit, admin.ANSWER_BYTES_MAX)
        return [told(entry) for entry in found]

    def _records(self, question: admin.Records) -> admin.RecordsPage:
        name, store = self._server.config.host.name, self._server.store
        last = store.last_record
        oldest = store.journal(0, 1)
        first = oldest[0].seq if oldest else last + 1
        limit = max(1, min(question.limit, admin.TAIL_MAX))
        entries = store.journal(max(0, question.after), limit, admin.ANSWER_BYTES_MAX)
        found = [admin.RawRecord(one.seq, one.record) for one in entries if one.seq <= last]
        return admin.RecordsPage(name, min(first, last + 1), last, tuple(found))

    def _doctor(self) -> list[admin.AdminFinding]:
        server = self._server
        keeper = server.host.keeper
        trouble = None if keeper is None else keeper.trouble
        store = admin.AdminFinding(
            "store",
            trouble is None,
            f"{server.config.store}: {'takes steps' if trouble is None else trouble}",
            "" if trouble is None else "free some room, or start the database",
        )
        members = server.host.view.members
        group = admin.AdminFinding(
            "group", True, f"{len(members)} hosts: {', '.join(members[:20])}"
        )
        neighbours = server.links.neighbours()
        alone = bool(server.config.host.join) and not neighbours
        links = admin.AdminFinding(
            "links",
            not alone,
            f"linked with {', '.join(neighbours[:20]) or 'nobody'}",
            "look whether the hosts of --join run and can be reached" if alone else "",
        )
        standby = [] if server.standing is None else server.standing.findings()
        sealing = [] if server.sealing is None else server.sealing.findings()
        return [store, group, links, *standby, *sealing, *self._endings()]

    def _endings(self) -> Iterator[admin.AdminFinding]:
        """What ends within some weeks of all that this host's trust rests on."""
        identity = self._server.identity
        if identity is None:
            return
        ends, now = identity.papers.ends, identity.now()
        soon = {what: end for what, end in ends.items() if end - now < SOON_US}
        for what, end in soon.items():
            mend = "nomospace trust replace" if what == "the authority" else "nomospace trust issue"
            found = f"the certificate of {what} ends on {shown(end)}"
            yield admin.AdminFinding("trust", False, found, f"{mend}; docs/hosts/trust.md")
        if not soon:
            first = min(ends.values())
            yield admin.AdminFinding("trust", True, f"nothing ends before {shown(first)}")


def _lines(space: Space, limit: int) -> Iterator[admin.TupleLine]:
    """The oldest tuples of a space, as many as fit into an answer."""
    size = 0
    for record in space.oldest(max(0, min(limit, admin.TAIL_MAX))):
        fields = tuple([show(field) for field in record.fields])
        size += sum(map(len, fields))
        if size > admin.ANSWER_BYTES_MAX:
            return
        yield admin.TupleLine(
            fields, record.writer, record.count, record.cur, record.dest, record.deliveries
        )


def _called(law: CompiledLaw, shared: bool) -> str:
    """A law by its name, and where another has that name by a part of its hash, too."""
    return f"{law.name} ({law.hash[:HASH_SHOWN]})" if shared else law.name
