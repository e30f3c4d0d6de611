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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from nomospace.host.part import GroupFollower
from nomospace.host.residents import SYSTEM
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

Line: TypeAlias = tuple[str, ...]


class System(GroupFollower):
    """The system space of one host."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self.space = Space(SYSTEM)
        self._writer = f"{SYSTEM}@{self._step.name}"
        self._count = 0
        self._present: dict[Line, Record] = {}
        self._departed: dict[Line, Record] = {}  # longest gone first

    def _known(self) -> dict[Line, None]:
        """Whatever there may be a line about now."""
        host = self._host
        lines: dict[Line, None] = {("host", name): None for name in host.group.view.members}
        agents, spaces = self._spaces.lines()
        for agent in agents:
            lines["agent", agent] = None
        for space in spaces:
            for agent in space.agents:
                lines["space", space.name, agent] = None
        for directory in host.group.entries.values():
            for agent in directory.agents:
                lines["agent", agent] = None
            for one in directory.sharings():
                lines["space", one.space, one.agent] = None
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
        """Show who is there now, in one step."""
        self._show({**self._known(), **dict.fromkeys(self._present)})

    def shift(self, news: DirectoryChanged) -> None:
        """Show what news of one host's lines have changed, in one step."""
        lines: dict[Line, None] = {}
        for agent in (*news.went, *news.came, *news.away, *news.back):
            lines["agent", agent] = None
        for one in (*news.parted, *news.shared):
            lines["space", one.space, one.agent] = None
        self._show(lines)

    def _show(self, lines: dict[Line, None]) -> None:
        """Bring what is shown of some lines up to date: first who is gone, then who is there."""
        says = {line: self._says(line) for line in lines}
        fresh: list[Record] = []
        for line in [line for line in lines if says[line] is None and line in self._present]:
            old = self._present.pop(line)
            self.space.remove(old)
            self._departed[line] = self._record((*old.fields[:-1], DEPARTED), fresh)
        for line, said in says.items():
            if said is None:
                continue
            shown = self._present.get(line)
            if shown is not None:
                if shown.fields[:-1] == said:
                    continue
                self.space.remove(shown)
            else:
                gone = self._departed.pop(line, None)
                if gone is not None:
                    self._drop(gone, fresh)
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
