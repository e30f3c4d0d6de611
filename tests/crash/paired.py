"""Two processes keep one host, each with a SQLite store; an operator has one take over.

What an operator does is done by the command that operators have: `nomospace host takeover`.
"""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any, Final

from nomospace.protocols.pair import ACTIVE, STANDBY, SYNC
from nomospace.store import paired as stores
from tests import nursery
from tests.crash.takeover import TAKEN_S, WARD, StandingHosts
from tests.ports import free_port

PLACES: Final = ("ward-1", "ward-2")


async def take_over(store: Path, *more: str) -> dict[str, Any]:
    """Run the operator's command; what it says."""
    given = ["host", "takeover", "--store", str(store), "--json", *more]
    with (store.parent / "takeover.log").open("ab") as log:
        child = nursery.start(given, folder=store.parent, log=log)
    said = await asyncio.to_thread(child.stdout.read)
    code = await asyncio.to_thread(child.wait, TAKEN_S)
    assert code == 0, (store.parent / "takeover.log").read_text()
    child.stdout.close()
    found: dict[str, Any] = json.loads(said)
    return found


class PairedHosts(StandingHosts):
    """The host `ward`, which two processes keep, and `icu` beside it."""

    def __init__(self) -> None:
        super().__init__(None, places=PLACES)
        self._meet = f"127.0.0.1:{free_port()}"
        self.lost: list[int] = []
        """How many commits each takeover said to be behind."""

    def path(self, place: str) -> Path:
        """The store of one of the two."""
        return self.folder / place / "ward.db"

    def store(self, name: str) -> str:
        """Where a host keeps what must survive; `ward`, where it was active last."""
        return str(self.path(self.active or PLACES[0])) if name == WARD else super().store(name)

    def begin_at(self, place: str) -> None:
        """Start one of the two processes."""
        first = place == PLACES[0]
        given = ["--standby-listen" if first else "--of", self._meet]
        self._begin_at(place, str(self.path(place)), given, "run" if first else "standby")

    async def ready(self, name: str) -> None:
        """Wait until a host serves; `ward`, until its standby has joined."""
        await super().ready(name)
        if name == WARD:
            await self.together()

    async def take_over(self, place: str) -> None:
        """Have the other process take over."""
        (other,) = set(PLACES) - {place}
        said = await take_over(self.path(other), "--yes")
        assert said["acknowledged"] == SYNC, said
        self.lost.append(said["behind"])

    async def together(self) -> None:
        """Wait until nothing is acknowledged without the standby."""
        async with asyncio.timeout(TAKEN_S):
            while True:
                await asyncio.sleep(0.05)
                rows = {place: self._look(place) for place in PLACES}
                active, other = [
                    next((row for row in rows.values() if row and row.role == role), None)
                    for role in (ACTIVE, STANDBY)
                ]
                if active is None or other is None or active.alone:
                    continue
                if (other.how, other.life) == (SYNC, active.life):
                    return

    def _look(self, place: str) -> Any:
        try:
            return stores.look(self.path(place))
        except Exception:  # it is being replaced by a copy
            return None

    def end(self) -> dict[str, int]:
        """End the active one first: it has commits for its standby to its end."""
        codes: dict[str, int] = {}
        process = self.standing.pop(self.active, None)
        if process is not None:
            process.child.send_signal(signal.SIGCONT)
            process.child.send_signal(signal.SIGTERM)
            codes[self.active] = process.child.wait(60)
        codes |= super().end()
        if process is not None:
            stores.take_over(self.path(self.active))  # whoever compares opens it alone
        return codes
