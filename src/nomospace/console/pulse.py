"""What is new at the hosts of a console, read once for all who look, four times a second.

Nothing is read while nobody looks; a page that is on its way counts as somebody for a while, so
that it finds what it shows when it stands. Hosts are looked at one after the other, and what else
there is to do is done in between. A beat has at most `RULINGS_MAX` rulings of each host, and
`BEAT_MAX` of all; those that came in between are folded: counted, and to be read in the journal.
Rates do not come from what was read but from what the hosts have counted, so they are exact however
much is folded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from nomospace.api.published import RulingRun, RulingView, TallyView, TopologyView
    from nomospace.console.console import Console

BEATS_S: Final = 4
"""How often a second the eye gets something new."""
RULINGS_MAX: Final = 25
"""The most rulings of one host in one beat, and"""
BEAT_MAX: Final = 100
"""of all hosts: each has its share."""
RUNS_MAX: Final = 500
"""How many more are counted as equal to others, though they are not shown."""
BUSY_MAX: Final = 5_000
"""Of how many agents it is known how busy they are."""
KEPT_MAX: Final = 500
"""How many of the latest rulings a page that opens finds."""
MOMENTS_MAX: Final = 120
"""How many seconds the small lines go back."""
WINDOW_S: Final = 1.0
"""Over how long a rate is taken."""
AWAIT_S: Final = 10.0
"""How long a page that is on its way is waited for."""
PIECE_S: Final = 0.003
"""So long a look goes on before the host does what else there is to do."""
BEGUN_S: Final = 0.5
"""How long a page that is made waits for the first look."""

PastCounts: TypeAlias = list[tuple[list[str], int]]
"""What a second added to the counts of a host."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SeenRuling:
    """A ruling, and at which host."""

    host: str
    ruling: RulingView


class Rates(NamedTuple):
    """What happens in a second just now; `obligations` are those that are pending."""

    sent_s: float = 0.0
    refused_s: float = 0.0
    hops_s: float = 0.0
    obligations: int = 0

    def __add__(self, other: object) -> Rates:
        assert isinstance(other, Rates), other
        return Rates(*[mine + its for mine, its in zip(self, other, strict=True)])  # type: ignore[arg-type]


class Moment(NamedTuple):
    """The rates of all hosts together, at a time of the clock of the console's own host.

    What members owed is not known of a moment that is `past`, from before anybody looked.
    """

    at: int
    rates: Rates
    past: bool = False


@dataclass(frozen=True, slots=True)
class Beat:
    """What one look found.

    `runs` are rulings that were counted and not shown, with their host; `folded` counts records
    that were passed over, `rates` what happens in a second, both by host; `beside` are the
    topologies as the other hosts of this process see them, with their own agents alone. `first` is
    the first that a listener is told.
    """

    number: int
    at: int
    topology: TopologyView
    beside: tuple[TopologyView, ...]
    rulings: tuple[SeenRuling, ...]
    folded: dict[str, int]
    rates: dict[str, Rates]
    runs: tuple[tuple[str, RulingRun], ...] = ()
    first: bool = False

    @property
    def total(self) -> Rates:
        """The rates of all hosts together."""
        return sum(self.rates.values(), Rates())


def rates_between(before: TallyView, now: TallyView) -> Rates:
    """What happened in a second, between two tallies of a host.

    A host that began anew counts from 0; nothing that it does is less than nothing.
    """
    seconds = (now.at - before.at) / 1e6
    if seconds <= 0 or now.rulings < before.rulings:
        return Rates(obligations=now.obligations)
    return Rates(
        (now.sent - before.sent) / seconds,
        (now.refused - before.refused) / seconds,
        (now.hops - before.hops) / seconds,
        now.obligations,
    )


def past_rates(hosts: Iterable[list[tuple[int, PastCounts]]]) -> dict[int, Rates]:
    """What happened in each second at all hosts, as they have counted it.

    >>> past_rates([[(7, [(["4c1f", "R1", "refused"], 2), (["", "", "hops"], 1)])]])[7]
    Rates(sent_s=2.0, refused_s=2.0, hops_s=1.0, obligations=0)
    """
    found: dict[int, Rates] = {}
    for seconds in hosts:
        for second, added in seconds:
            sent = refused = hops = 0
            for (what, _, verdict), number in added:
                if what in ("", "space"):
                    hops += number if verdict == "hops" else 0
                    continue
                sent += number if verdict != "ruled" else 0
                refused += number if verdict == "refused" else 0
            found[second] = found.get(second, Rates()) + Rates(sent, refused, hops)
    return found


class _Pieces:
    """A long piece of work in short ones: on a busy host a rest takes as long as one of these."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    async def rest(self) -> None:
        """Let the host do what else there is to do, if it has waited long."""
        if time.perf_counter() - self._since >= PIECE_S:
            await asyncio.sleep(0)
            self._since = time.perf_counter()


class Pulse:
    """The looks of one console; `listen` begins them, and the last to leave ends them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._listeners: dict[int, Callable[[Beat], None]] = {}
        self._new: set[int] = set()
        """Those that were told nothing yet."""
        self._until = 0.0
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._last: dict[str, int] = {}
        self._tallies: dict[str, deque[TallyView]] = {}
        """The tallies of the last second, the oldest first, by host."""
        self.latest: deque[SeenRuling] = deque(maxlen=KEPT_MAX)
        """The latest rulings, the newest last."""
        self.moments: deque[Moment] = deque(maxlen=MOMENTS_MAX)
        """The rates of the last seconds, one each, the newest last."""
        self.beat: Beat | None = None
        self._looked = asyncio.Event()
        self.busy: dict[str, float] = {}
        """How much agents have done lately, of what was seen."""

    @property
    def viewers(self) -> int:
        """How many look on."""
        return len(self._listeners)

    def listen(self, tell: Callable[[Beat], None]) -> Callable[[], None]:
        """Have every beat told; what is given back ends it. A listener that fails is dropped.

        The `first` has no rulings of its own: they are among the `latest`, where one begins.
        """
        self._count += 1
        number = self._count
        self._listeners[number] = tell
        self._new.add(number)
        self.expect(0.0)
        if self.beat is not None:
            asyncio.get_running_loop().call_soon(self._tell, self.beat, (number,))

        def leave() -> None:
            self._listeners.pop(number, None)
            self._new.discard(number)

        return leave

    def expect(self, seconds: float = AWAIT_S) -> None:
        """Begin to look: somebody will listen soon."""
        loop = asyncio.get_running_loop()
        self._until = max(self._until, loop.time() + seconds)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run(), name="pulse")

    async def begun(self) -> None:
        """Begin to look, and wait for the first `beat`; without one, not for long."""
        self.expect()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._looked.wait(), BEGUN_S)

    async def _begin(self) -> None:
        """Begin with the latest of every journal: what was long ago is in the journal."""
        self._last.clear()
        self._tallies.clear()
        self.moments.clear()
        found: list[SeenRuling] = []
        pieces = _Pieces()
        for name, service in self._console.services.items():
            told = service.views.rulings(limit=KEPT_MAX // len(self._console.services))
            self._last[name] = told.last
            found.extend(SeenRuling(name, ruling) for ruling in told.rulings)
            await pieces.rest()
        self.latest = deque(sorted(found, key=lambda one: one.ruling.at), maxlen=KEPT_MAX)

    async def _recall(self) -> None:
        """Have the rates of the last seconds."""
        views = [service.views for service in self._console.services.values()]
        for one in views:
            await one.recall()
        now = self._console.service.views.now // 1_000_000
        past = past_rates([one.past() for one in views])
        before = [
            Moment(second * 1_000_000, past.get(second, Rates()), past=True)
            for second in range(now - MOMENTS_MAX, now)
        ]
        self.moments = deque([*before, *self.moments], maxlen=MOMENTS_MAX)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        await self._begin()
        while self._listeners or loop.time() < self._until:
            first = self.beat is None
            self.beat = await self._look()
            self._looked.set()
            if first:  # a page that is made meanwhile does not wait for the past
                await self._recall()
            self._tell(self.beat, tuple(self._listeners))
            await asyncio.sleep(1 / BEATS_S)
        self.beat = self._task = None
        self._looked.clear()

    def _tell(self, beat: Beat, listeners: tuple[int, ...]) -> None:
        for number in listeners:
            tell = self._listeners.get(number)
            if tell is None:
                continue
            try:
                if number in self._new:
                    self._new.remove(number)
                    tell(replace(beat, rulings=(), folded={}, runs=(), first=True))
                else:
                    tell(beat)
            except Exception:
                _log.exception("a page could not show a beat")
                self._listeners.pop(number, None)

    async def _look(self) -> Beat:
        console = self._console
        found: list[SeenRuling] = []
        folded: dict[str, int] = {}
        rates: dict[str, Rates] = {}
        runs: list[tuple[str, RulingRun]] = []
        most = max(1, min(RULINGS_MAX, BEAT_MAX // len(console.services)))
        pieces = _Pieces()
        for name, service in console.services.items():
            views = service.views
            last, newest = self._last.get(name, 0), views.last_record
            if newest - last > most:
                passed = newest - last - most
                last = newest - most
                more = min(passed, RUNS_MAX // len(console.services))
                runs += [(name, one) for one in views.runs(after=last - more, limit=more)]
                folded[name] = passed - more
            if newest > last:
                told = views.rulings(after=last, limit=most)
                last = told.last
                found.extend(SeenRuling(name, ruling) for ruling in told.rulings)
            self._last[name] = last
            rates[name] = self._rates(name, views.tally())
            await pieces.rest()
        topologies: list[TopologyView] = []
        for service in console.services.values():
            # One tells of the agents of all.
            topologies.append(service.views.topology(elsewhere=not topologies))
            await pieces.rest()
        # From here to the telling nobody comes in between, who would hear something twice.
        found.sort(key=lambda one: one.ruling.at)
        self.latest.extend(found)
        self._count_busy(found, runs)
        number = 1 if self.beat is None else self.beat.number + 1
        at = console.service.views.now
        own, *others = topologies
        beat = Beat(number, at, own, tuple(others), tuple(found), folded, rates, tuple(runs))
        # The first look has nothing to hold its counts against, and is no moment.
        if self.beat is not None and (not self.moments or at - self.moments[-1].at >= 1e6):
            self.moments.append(Moment(at, beat.total))
        return beat

    def look_now(self) -> Beat:
        """What the last look found; if there was none lately, who is where."""
        if self.beat is not None:
            return self.beat
        views = [service.views for service in self._console.services.values()]
        own, *others = [one.topology(elsewhere=not at) for at, one in enumerate(views)]
        return Beat(0, views[0].now, own, tuple(others), (), {}, {})

    def _count_busy(self, found: list[SeenRuling], runs: list[tuple[str, RulingRun]]) -> None:
        """Add what was seen, and forget the half of what was before when there is too much."""
        for seen in found:
            self.busy[seen.ruling.home] = self.busy.get(seen.ruling.home, 0.0) + 1
        for _, run in runs:
            self.busy[run.home] = self.busy.get(run.home, 0.0) + run.times
        if len(self.busy) > BUSY_MAX:
            most = sorted(self.busy.items(), key=lambda one: -one[1])[: BUSY_MAX // 2]
            self.busy = {name: count / 2 for name, count in most}

    def _rates(self, name: str, now: TallyView) -> Rates:
        tallies = self._tallies.setdefault(name, deque())
        tallies.append(now)
        while len(tallies) > 2 and now.at - tallies[1].at >= WINDOW_S * 1e6:
            tallies.popleft()
        return rates_between(tallies[0], now)
