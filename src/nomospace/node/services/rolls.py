"""Where the rolls of communities are kept: with the store of a host, or in files.

A host keeps the rolls of its secretary in its own store, a row for each entry, so they follow it
wherever the store goes: to a process that takes over, to a standby with a store of its own, into
backups. A change is answered when its commit counts: that carries the token of the host, so what a
process writes that was taken over counts for nothing, and nobody is told that it does. Who asks
hears the `life` of the host with each answer, and refuses a lower one than it has heard.

A program that runs the services without a host has a file for each community (`RollFiles`). Hosts
of earlier versions had them too: what is in such a file, and not in the store, goes over into it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from nomospace.node.services.keeping import ServiceLog
from nomospace.node.small import keep_all
from nomospace.services.laws import HASH
from nomospace.services.secretary import Change, Enrolled, Joined, Quitted, Secretary, Struck

if TYPE_CHECKING:
    from nomospace.node.local import Host

WASTE_MAX: Final = 10_000
"""So many void lines may be in a file, besides as many as count, before it is written anew."""
_ROLL: Final = "roll "
"""Before the hash of a law, in the names of what a store has of its roll."""
_decode: Final = msgspec.json.Decoder(Change).decode


class Rolls(Protocol):
    """What keeps rolls."""

    @property
    def life(self) -> int:
        """That of the host; raises `Closed` when another process may have taken over."""

    def found(self) -> dict[str, list[Change]]:
        """What is kept, by the hash of the law."""

    async def write(self, secretary: Secretary, *changes: Change) -> None:
        """Keep what is about to change in a roll; it counts when this returns."""

    def close(self) -> None:
        """Let go of what is open."""


class RollFiles:
    """Rolls in files of a folder, named by the hashes of their laws; without one, forgotten."""

    life: Final = 0

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._logs: dict[str, ServiceLog[Change]] = {}

    def found(self) -> dict[str, list[Change]]:
        """Open the files that are there."""
        if self._folder is None or not self._folder.is_dir():
            return {}
        names = sorted([path.name for path in self._folder.iterdir()])
        return {law: self._open(law) for law in names if HASH.fullmatch(law)}

    def _open(self, law: str) -> list[Change]:
        assert self._folder is not None, "whose file it is"
        log = ServiceLog[Change](self._folder / law, Change)
        changes = log.begin()
        self._logs[law] = log
        return changes

    async def write(self, secretary: Secretary, *changes: Change) -> None:
        """Write lines, and the file anew when most of its lines are void."""
        if self._folder is None:
            return
        if secretary.law not in self._logs:
            self._open(secretary.law)
        log = self._logs[secretary.law]
        needed = [*secretary.changes(), *changes] if log.lines > WASTE_MAX else []
        if needed and log.lines > 2 * len(needed) + WASTE_MAX:
            await asyncio.to_thread(log.rewrite, needed)
        else:
            await asyncio.to_thread(log.write, *changes)

    def close(self) -> None:
        """Let go of the files."""
        for log in self._logs.values():
            log.close()


class StoredRolls:
    """Rolls in the store of a host that has begun; `former` is a folder that may have files."""

    def __init__(self, host: Host, former: Path | None) -> None:
        self._host = host
        self._former = former

    @property
    def life(self) -> int:
        """The life of the store: it grows with every takeover."""
        assert self._host.core is not None, "it raises when the lease is over"
        return self._host.life

    def found(self) -> dict[str, list[Change]]:
        """What the store has; members in the order in which they joined."""
        rolls: dict[str, list[Change]] = {}
        for name, body in self._host.small.items():
            if name.startswith(_ROLL):
                rolls.setdefault(name.split(" ")[1], []).append(_decode(body))
        for changes in rolls.values():
            changes.sort(key=lambda change: getattr(change, "at", 0))
        return rolls

    async def bring_in(self) -> None:
        """Take what files have and the store has not; they are put aside as `LAW.in-store`."""
        files, known = RollFiles(self._former), self.found()
        try:
            for law, changes in files.found().items():
                if law not in known:
                    await self.write(Secretary(law), *Secretary(law, changes).changes())
                assert self._former is not None, "which has the file"
                (self._former / law).rename(self._former / f"{law}.in-store")
        finally:
            files.close()

    async def write(self, secretary: Secretary, *changes: Change) -> None:
        """Commit them, all or none; raises why the store takes nothing now."""
        kept: dict[str, bytes] = {}
        law = _ROLL + secretary.law
        for change in changes:
            body = msgspec.json.encode(change)
            if isinstance(change, Enrolled):
                kept[f"{law} has {change.agent}"] = body
            elif isinstance(change, Joined | Quitted):
                kept[f"{law} knows {change.agent}"] = body
            elif isinstance(change, Struck):
                kept[f"{law} has {change.agent}"] = b""
                if change.agent in secretary.gone:
                    kept[f"{law} knows {change.agent}"] = b""
            else:
                kept[law] = body
        await keep_all(self._host, kept)

    def close(self) -> None:
        """The store is the host's."""
