"""The law bench of a console (`console.stage.Bench`): each trial in a child process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.cli.console.children import CompareLaws, RunEvents, Work, have_done
from nomospace.cli.console.tails import copy_journals
from nomospace.console.stage import ALL_HOSTS, LawDraft, TrialFacts
from nomospace.errors import CallerError, Unavailable

if TYPE_CHECKING:
    from nomospace.node.serve import Server

RUN_S: Final = 20.0
"""How long a run of events may take."""
COMPARE_S: Final = 90.0
"""How long a comparison may take."""
TRIALS_MAX: Final = 4
"""How many trials there are at a time."""


class NoSuchServer(CallerError):
    """A host was named that this process does not run."""

    code = "console.no-such-host"
    host: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"host {self.host[:100]!r} does not run here; choose {' or '.join(self.known)}"


def chosen(servers: Mapping[str, Server], name: str) -> list[Server]:
    """The server of a name, or all of them."""
    if name == ALL_HOSTS:
        return list(servers.values())
    found = servers.get(name)
    if found is None:
        raise NoSuchServer(host=name, known=tuple(servers))
    return [found]


class BenchBusy(Unavailable):
    """More trials are under way than there may be."""

    code = "console.bench-busy"
    words = f"{TRIALS_MAX} trials are under way already; try again in a moment"


class TrialBench:
    """Tries laws beside the hosts of this process."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self._servers = servers
        self._trials = 0

    async def run(
        self, law: LawDraft, events: str, *, until_s: float | None, isolated: bool
    ) -> TrialFacts:
        """Events under a law in virtual time."""
        work = RunEvents(law, events, until_s, isolated)
        return await self._ask(work, "the run", RUN_S)

    async def compare(
        self, host: str, community: str, before: LawDraft | None, after: LawDraft, *, newest: int
    ) -> TrialFacts:
        """Two laws over the newest records of hosts."""
        servers = chosen(self._servers, host)
        with tempfile.TemporaryDirectory(prefix="nomospace-compare-") as folder:
            async for _ in copy_journals(servers, Path(folder), newest=newest):
                pass
            work = CompareLaws(folder, community, before, after)
            return await self._ask(work, "the comparison", COMPARE_S)

    async def _ask(self, work: Work, what: str, seconds: float) -> TrialFacts:
        if self._trials >= TRIALS_MAX:
            raise BenchBusy
        self._trials += 1
        try:
            answer = await have_done(work, what, seconds)
            found: TrialFacts = await asyncio.to_thread(msgspec.json.decode, answer)
            return found
        finally:
            self._trials -= 1
