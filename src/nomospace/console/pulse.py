"""What is new at the hosts of a console, read once for all who look, four times a second.

Nothing is read while nobody looks. A beat has at most `RULINGS_MAX` rulings of each host; those
that came in between are folded: counted, and to be read in the journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from nomospace.api.published import RulingView, TopologyView
    from nomospace.console.console import Console

BEATS_S: Final = 4
"""How often a second the eye gets something new."""
RULINGS_MAX: Final = 25
"""The most rulings of one host in one beat."""
KEPT_MAX: Final = 500
"""How many of the latest rulings a page that opens finds."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """A ruling, and at which host."""

    host: str
    ruling: RulingView


@dataclass(frozen=True, slots=True)
class Beat:
    """What one look found. `folded` counts records that were passed over, by host."""

    number: int
    topology: TopologyView
    rulings: tuple[Seen, ...]
    folded: dict[str, int]
    records_s: float


class Pulse:
    """The looks of one console; `listen` begins them, and the last to leave ends them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._listeners: dict[int, Callable[[Beat], None]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._last: dict[str, int] = {}
        self.latest: deque[Seen] = deque(maxlen=KEPT_MAX)
        """The latest rulings, the newest last."""
        self.beat: Beat | None = None

    @property
    def viewers(self) -> int:
        """How many look on."""
        return len(self._listeners)

    def listen(self, tell: Callable[[Beat], None]) -> Callable[[], None]:
        """Have every beat told; what is given back ends it. A listener that fails is dropped."""
        self._count += 1
        number = self._count
        self._listeners[number] = tell
        if self._task is None or self._task.done():
            self._begin()
            self._task = asyncio.get_running_loop().create_task(self._run(), name="pulse")

        def leave() -> None:
            self._listeners.pop(number, None)

        return leave

    def _begin(self) -> None:
        """Begin with the latest of every journal: what was long ago is in the journal."""
        self._last.clear()
        self.latest.clear()
        for name, service in self._console.services.items():
            found = service.views.rulings(limit=KEPT_MAX // len(self._console.services))
            self._last[name] = found.last
            self.latest.extend(Seen(name, ruling) for ruling in found.rulings)
        self.latest = deque(sorted(self.latest, key=lambda one: one.ruling.at), maxlen=KEPT_MAX)

    async def _run(self) -> None:
        while self._listeners:
            beat = self.beat = self._look()
            for number, tell in list(self._listeners.items()):
                try:
                    tell(beat)
                except Exception:
                    _log.exception("a page could not show a beat")
                    self._listeners.pop(number, None)
            await asyncio.sleep(1 / BEATS_S)
        self._task = None

    def _look(self) -> Beat:
        console = self._console
        found: list[Seen] = []
        folded: dict[str, int] = {}
        records = 0
        for name, service in console.services.items():
            views = service.views
            last, newest = self._last.get(name, 0), views.last_record
            records += newest - last
            if newest - last > RULINGS_MAX:
                folded[name] = newest - last - RULINGS_MAX
                last = newest - RULINGS_MAX
            if newest > last:
                told = views.rulings(after=last, limit=RULINGS_MAX)
                last = told.last
                found.extend(Seen(name, ruling) for ruling in told.rulings)
            self._last[name] = last
        found.sort(key=lambda one: one.ruling.at)
        self.latest.extend(found)
        number = 1 if self.beat is None else self.beat.number + 1
        topology = console.service.views.topology()
        return Beat(number, topology, tuple(found), folded, float(records * BEATS_S))
