"""Spaces that watch their load and set their clients' pace (`000_…` 4.2).

An operator switches the monitor of a space on. Once a second, or once in a delay if that is longer,
it looks how many requests came to the manager of the space here. When they were more than the space
is to bear, it tells every client that asks `changeDelay(Seconds)`: so long that all of them
together ask no more than that. When less than half of it comes, the delay is halved, down to what
it is at rest. Between the two nothing changes, so a pace that fits stays.

A client is told its delay when it is first heard of, and when it changes; so one that an earlier
life of this host had slowed down is told anew. What a delay does is for the law to say (law CC).
The monitors of several hosts that share a space do not know of each other: a client keeps to what
it was told last.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import BadMonitor, NotGoverned
from nomospace.control import sent
from nomospace.host.calls import MonitorSpace, PaceLimits
from nomospace.host.part import HostPart
from nomospace.terms import Compound

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts

PERIOD_US: Final = 1_000_000
"""How long requests are counted at least before they are judged."""
CLIENTS_MAX: Final = 10_000
"""How many clients of a space one monitor knows; of others the requests are counted, no more."""
TOLD_IN_STEP: Final = 32
"""To how many clients a space speaks in one step."""
MONITORS_MAX: Final = 1_000
"""How many spaces of one host may be watched."""
LONGEST_MAX_S: Final = 86_400.0


def check_limits(space: str, limits: PaceLimits) -> PaceLimits:
    """The limits, if they can be kept; raises `BadMonitor`.

    >>> check_limits("jobs", PaceLimits(0.0))
    Traceback (most recent call last):
    nomospace.calls.problems.BadMonitor: a monitor of space 'jobs': most is 0, and must be a \
number of requests a second above 0
    """
    most, rest, longest = limits.most, limits.rest, limits.longest
    if not (math.isfinite(most) and most > 0):
        why = f"most is {most:g}, and must be a number of requests a second above 0"
    elif not 0 <= rest <= longest <= LONGEST_MAX_S:
        why = (
            f"rest is {rest:g} and longest {longest:g}; they are delays in seconds, with "
            f"0 <= rest <= longest <= {LONGEST_MAX_S:,.0f}"
        )
    else:
        return limits
    raise BadMonitor(space=space, why=why)


class LoadMonitor:
    """What came to one space, what its clients were told, and what they are to be told."""

    def __init__(self, limits: PaceLimits) -> None:
        self.limits = limits
        self.delay = limits.rest
        """The delay of all clients, in seconds."""
        self.began = 0
        self.asked: dict[Home, int] = {}
        """How often each client (and its law) has asked since then."""
        self.others = 0
        self.active: dict[Home, None] = {}
        """Who has asked since the space was last at rest."""
        self.told: dict[Home, float] = {}
        self.untold: dict[Home, None] = {}
        """Who does not know its delay."""

    @property
    def due(self) -> int:
        """When to judge: no client that waits its delay may seem to have fallen silent."""
        return self.began + max(PERIOD_US, round(self.delay * 1e6))

    def judge(self, now: int) -> None:
        """Set the delay by what came since the last time."""
        most, rest, longest = self.limits.most, self.limits.rest, self.limits.longest
        rate = (sum(self.asked.values()) + self.others) * 1e6 / (now - self.began)
        room = max(0, CLIENTS_MAX - len(self.active))
        self.active.update(dict.fromkeys(islice(self.asked, room)))
        if rate > most:
            self.delay = round(min(longest, max(self.delay, len(self.active) / most)), 3)
        elif rate <= most / 2:
            half = self.delay / 2
            self.delay = round(half, 3) if half > max(rest, 0.5 / most) else rest
        if self.delay <= rest:
            self.active.clear()
        self.announce()
        self.asked.clear()
        self.others, self.began = 0, now

    def announce(self) -> None:
        """Have all clients told that do not know their delay."""
        known = {**dict.fromkeys(self.asked, math.nan), **self.told}
        self.untold = {home: None for home, delay in known.items() if delay != self.delay}

    @property
    def idle(self) -> bool:
        """Whether nothing is to be judged: nobody asks, and the pace is that at rest."""
        at_rest = self.delay <= self.limits.rest and not self.untold
        return at_rest and not self.asked and not self.others


class Monitoring(HostPart):
    """The monitors of one host's spaces."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self.spaces: dict[str, LoadMonitor] = {}
        """The monitors by the names of their spaces."""
        self.timed: dict[str, LoadMonitor] = {}
        """Those that count, or have something to say; an ended one until it has said it."""

    def switch(self, event: MonitorSpace) -> None:
        """Switch a monitor on, with other limits, or off: then all are told to be at rest."""
        space, limits = event.space, event.limits
        if limits is None:
            ended = self.spaces.pop(space, None)
            if ended is not None:
                ended.delay, ended.asked, ended.others = ended.limits.rest, {}, 0
                ended.announce()
                self.timed[space] = ended
        elif (known := self.spaces.get(space)) is not None:
            known.limits = limits
            known.delay = min(max(known.delay, limits.rest), limits.longest)
        elif event.op and not any(home == space for home, _ in self._host.governing.managed()):
            self._step.fail(event.op, NotGoverned(space=space, host=self._step.name))
            return
        elif len(self.spaces) >= MONITORS_MAX:
            why = f"this host watches {MONITORS_MAX:,} spaces already; switch another one off"
            self._step.fail(event.op, BadMonitor(space=space, why=why))
            return
        else:
            self.spaces[space] = LoadMonitor(limits)
        self._step.answer(event.op)

    def count(self, space: str, law: str, client: str) -> None:
        """A request of a client has come to a space."""
        monitor = self.spaces.get(space)
        if monitor is None:
            return
        home = client, law
        if home in monitor.told or len(monitor.told) + len(monitor.asked) < CLIENTS_MAX:
            monitor.asked[home] = monitor.asked.get(home, 0) + 1
        else:
            monitor.others += 1
        if space not in self.timed:
            monitor.began = self._step.now
            self.timed[space] = monitor

    def next_deadline(self) -> int | None:
        """When the next monitor judges; at once while clients are to be told."""
        return min(
            [self._step.now if monitor.untold else monitor.due for monitor in self.timed.values()],
            default=None,
        )

    def tick(self) -> None:
        """Judge what is due, and let spaces speak to some of their clients."""
        now = self._step.now
        for space, monitor in list(self.timed.items()):
            if now >= monitor.due:
                monitor.judge(now)
            for home in list(islice(monitor.untold, TOLD_IN_STEP)):
                self._tell(space, monitor, home)
            if monitor.idle:
                del self.timed[space]
        self._host.governing.drain()

    def _tell(self, space: str, monitor: LoadMonitor, home: Home) -> None:
        client, law = home
        host = self._host
        del monitor.untold[home]
        if client not in self._spaces.residents and client not in host.group.where:
            monitor.told.pop(home, None)  # it is told when it asks again
            return
        monitor.told[home] = monitor.delay
        message = Compound("changeDelay", (monitor.delay,))
        host.governing.rule(host.governing.manager(space, law), sent(space, message, client))
