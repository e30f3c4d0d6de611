"""`LimeSystem`: the space in which a host shows its agents who is there (LIME 2.2.5, 4.2).

Every agent has it open and shared from the start and may read it and react to it; only hosts write
it. Each host keeps its own and brings it up to date in the step in which its group changes:

| tuple                                         | means                                   |
| --------------------------------------------- | --------------------------------------- |
| `("host", name, status)`                      | a host of the group, or one that was    |
| `("agent", id, host, status)`                 | an agent, and the host it was last seen |
| `("space", name, agent, host, status)`        | an agent shares a space of this name    |

`status` is `"connected"` or `"departed"`. A change is a new tuple in the place of the old one, so a
once-per-tuple reaction meets every arrival and every departure. Private spaces are never shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from nomospace.space import Record, Space
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.core import Host

SYSTEM: Final = "LimeSystem"
CONNECTED: Final = "connected"
DEPARTED: Final = "departed"
DEPARTED_MAX: Final = 10_000
"""How many that are gone are still shown, the latest ones."""

Line: TypeAlias = tuple[str, ...]


class System:
    """The system space of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.space = Space(SYSTEM)
        self._writer = f"{SYSTEM}@{host.name}"
        self._count = 0
        self._present: dict[Line, Record] = {}
        self._departed: dict[Line, Record] = {}  # longest gone first

    def _lines(self) -> dict[Line, tuple[Term, ...]]:
        """Who is there now: what a line is about, and all that it says but the status."""
        host = self._host
        lines: dict[Line, tuple[Term, ...]] = {}
        for name in host.view.members:
            lines["host", name] = ("host", name)
        known = [(host.name, *host.holding.lines())]
        known += [(peer, entry.agents, entry.spaces) for peer, entry in host.group.entries.items()]
        for name, agents, spaces in known:
            for agent in agents:
                lines["agent", agent] = ("agent", agent, name)
            for space in spaces:
                for agent in space.agents:
                    lines["space", space.name, agent] = ("space", space.name, agent, name)
        return lines

    def refresh(self) -> None:
        """Show who is there now, in one step."""
        lines = self._lines()
        fresh: list[Record] = []
        for line in [line for line in self._present if line not in lines]:
            old = self._present.pop(line)
            self.space.remove(old)
            self._departed[line] = self._record((*old.fields[:-1], DEPARTED), fresh)
        for line, says in lines.items():
            shown = self._present.get(line)
            if shown is not None:
                if shown.fields[:-1] == says:
                    continue
                self.space.remove(shown)
            else:
                gone = self._departed.pop(line, None)
                if gone is not None:
                    self._drop(gone, fresh)
            self._present[line] = self._record((*says, CONNECTED), fresh)
        while len(self._departed) > DEPARTED_MAX:
            self._drop(self._departed.pop(next(iter(self._departed))), fresh)
        if fresh:
            self._host.happened(SYSTEM, self.space, self.space.put_many(fresh, now=self._host.now))

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
