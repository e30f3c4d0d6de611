"""`LimeSystem`: the space in which a host shows its agents who is there (LIME 2.2.5, 4.2).

Every agent has it open and shared from the start and may read it and react to it; only hosts write
it. Each host keeps its own and brings it up to date in the step in which its group changes:

| tuple                                         | means                                   |
| --------------------------------------------- | --------------------------------------- |
| `("host", name, status)`                      | a host of the group, or one that was    |
| `("agent", id, host, status)`                 | an agent, and the host it was last seen |
| `("space", name, agent, host, status)`        | an agent shares a space of this name    |

`status` is `"connected"` or `"departed"`. An agent that no program speaks for any more has departed
from where others look for somebody to talk to; what it shares lies there as before, so the lines of
its spaces stay. A change is a new tuple in the place of the old one, so a
once-per-tuple reaction meets every arrival and every departure. Private spaces are never shown.

Most agents never look, and in a large group the lines are many: so a host writes down who departed,
and begins to show who is there when somebody first looks. When the group changes only the lines
that did are looked at, however many members it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from nomospace.host.directory import Directory
from nomospace.host.part import GroupFollower
from nomospace.host.residents import SYSTEM, is_keeper
from nomospace.protocols.spaces import DirectoryChanged
from nomospace.space import Record, Space
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

__all__ = ["CONNECTED", "DEPARTED", "DEPARTED_MAX", "SYSTEM", "System"]

CONNECTED: Final = "connected"
DEPARTED: Final = "departed"
DEPARTED_MAX: Final = 10_000
"""How many that are gone are still shown, the latest ones."""
LINES_IN_STEP: Final = 500
"""How many lines one step shows to the first who looks; the rest follows in later ones."""

Line: TypeAlias = tuple[str, ...]


class System(GroupFollower):
    """The system space of one host."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self.space = Space(SYSTEM)
        """What is shown; all of it once somebody `looked_at` it, or `fill` has nothing to do."""
        self._writer = f"{SYSTEM}@{self._step.name}"
        self._count = 0
        self._present: dict[Line, Record] = {}
        self._departed: dict[Line, Record] = {}  # longest gone first
        self._unshown: Iterator[Line] | None = None
        self._looked = False
        self._members: dict[str, None] = {}
        self._entries: dict[str, Directory] = {}

    def fill(self) -> bool:
        """Somebody looks: show some lines that never were; whether there are more."""
        if not self._looked:
            self._looked = True
            self._unshown = iter(self._known())
        while self._unshown is not None:
            some: dict[Line, str | None] = dict.fromkeys(islice(self._unshown, LINES_IN_STEP))
            self._show(some)
            if len(some) < LINES_IN_STEP:
                self._unshown = None
            elif not self._host.looking.whole:
                return True
        return False

    def looked_at(self) -> Space:
        """The space with all its lines, for one who cannot wait for them."""
        while self.fill():
            pass
        return self.space

    def _known(self) -> list[Line]:
        """Whatever there is a line about now."""
        host = self._host
        lines: list[Line] = [("host", name) for name in host.group.view.members]
        agents, spaces = self._spaces.lines()
        lines += [("agent", agent) for agent in agents]
        lines += [("space", space.name, agent) for space in spaces for agent in space.agents]
        for directory in host.group.entries.values():
            lines += [("agent", agent) for agent in directory.agents]
            lines += [("space", one.space, one.agent) for one in directory.sharings()]
        return lines

    def _says(self, line: Line) -> tuple[Term, ...] | None:
        """All that a line says now but the status; `None` when it is about nobody who is there.

        What this host says of its own agents counts most: peers may not know yet that one came.
        """
        host = self._host
        kind, *about = line
        if kind == "host":
            return line if about[0] in host.group.members else None
        if kind == "agent":
            [agent] = about
            if agent in self._spaces.residents:
                at = None if self._spaces.is_away(agent) else self._step.name
            else:
                at = host.group.present(agent)
        else:
            space, agent = about
            at = (
                self._step.name
                if self._spaces.shares(space, agent)
                else host.group.sharer(space, agent)
            )
        return None if at is None else (*line, at)

    def why(self, template: Template, fields: tuple[Term, ...]) -> str:
        """How a line answers a template."""
        return self.space.why(template, fields)

    def respread(self) -> None:
        """Show in one step who is there now, where that is another than it was."""
        members, entries = dict.fromkeys(self._host.group.view.members), self._host.group.entries
        lines: dict[Line, str | None] = {}
        if self._looked:
            lines = {("host", name): None for name in members}
            for peer, now in entries.items():
                lines.update(dict.fromkeys(_only(now, self._entries.get(peer))))
        else:  # nobody sees who came; who departed may be back
            lines = dict.fromkeys(self._departed)
        lines.update({("host", name): "" for name in self._members if name not in members})
        for peer, before in self._entries.items():
            lines.update(dict.fromkeys(_only(before, entries.get(peer)), peer))
        self._members, self._entries = members, dict(entries)
        self._show(lines)

    def shift(self, host: str, news: DirectoryChanged) -> None:
        """Show what news of one host's lines have changed, in one step."""
        lines: dict[Line, str | None] = {}
        for seen, agents, shared in (
            (None, (*news.came, *news.back), news.shared),
            (host, (*news.went, *news.away), news.parted),
        ):
            for agent in agents:
                lines["agent", agent] = seen
            for one in shared:
                lines["space", one.space, one.agent] = seen
        self._show(lines)

    def _show(self, lines: dict[Line, str | None]) -> None:
        """Bring what is shown of some lines up to date: first who is gone, then who is there.

        With each line of one that was there comes the host where it was seen last, if it is of any.
        """
        says = {line: self._says(line) for line in lines if not is_keeper(line[-1])}
        fresh: list[Record] = []
        for line, seen in lines.items():
            if line not in says or says[line] is not None or line in self._departed:
                continue
            old = self._present.pop(line, None)
            if old is not None:
                self.space.remove(old)
                gone = (*old.fields[:-1], DEPARTED)
            elif self._looked or seen is None:
                continue  # it was never there for anybody
            else:
                gone = (*line, seen, DEPARTED) if seen else (*line, DEPARTED)
            self._departed[line] = self._record(gone, fresh)
        for line, said in says.items():
            if said is None:
                continue
            shown = self._present.get(line)
            if shown is not None:
                if shown.fields[:-1] == said:
                    continue
                self.space.remove(shown)
            else:
                departed = self._departed.pop(line, None)
                if departed is not None:
                    self._drop(departed, fresh)
            if self._looked:
                self._present[line] = self._record((*said, CONNECTED), fresh)
        while len(self._departed) > DEPARTED_MAX:
            self._drop(self._departed.pop(next(iter(self._departed))), fresh)
        if fresh:
            self._host.outcomes.happened(
                SYSTEM, self.space, self.space.put_many(fresh, now=self._step.now)
            )

    def _record(self, fields: tuple[Term, ...], fresh: list[Record]) -> Record:
        self._count += 1
        record = Record(fields, self._writer, self._count, self._writer, self._writer)
        fresh.append(record)
        return record

    def _drop(self, record: Record, fresh: list[Record]) -> None:
        if record.order > 0:
            self.space.remove(record)
        else:
            fresh.remove(record)


def _only(one: Directory, other: Directory | None) -> Iterator[Line]:
    """The lines that one directory of a peer has and another has not, or not as it has them."""
    if one is other:
        return
    if other is None or one.agents != other.agents or one.away != other.away:
        for agent in one.agents:
            there = other is not None and other.has_agent(agent) and agent not in other.away
            if agent not in one.away and not there:
                yield "agent", agent
    for sharing in one.sharings(beyond=other):
        yield "space", sharing.space, sharing.agent
