"""What a server remembers, and what of it survives a crash.

Records, queues and strays are written down. Guesses, and which posts were passed on, are not:
without them posts take a longer way, once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from copy import copy
from typing import Self, TypeAlias

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import Post, PostId
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits, cache_state
from nomospace.protocols.routing.places import Places, Primaries
from nomospace.protocols.routing.records import ENDED, GONE, MOVING, Kind, LocationRecord

Tickets: TypeAlias = Callable[[str, int, str], str]


def record_put(agent: str, record: LocationRecord) -> written.RecordPut:
    """The change that makes a record."""
    return written.RecordPut(
        agent, record.kind.value, record.where, record.epoch, record.ticket, record.got
    )


"""Gives the ticket of an agent's move, in an epoch, to a site. All servers must have the same."""


def plain_ticket(agent: str, epoch: int, site: str) -> str:
    """A ticket that anybody could write: for worlds in which all hosts are honest."""
    return f"{agent}/{epoch}/{site}"


class ServerMemory:
    """The state of a server: records, queues, strays, guesses."""

    def __init__(
        self,
        site: str,
        domain: str,
        places: Places,
        *,
        limits: RoutingLimits = DEFAULT_LIMITS,
        tickets: Tickets = plain_ticket,
        life: int = 0,
    ) -> None:
        self.site = site
        self.domain = domain
        self.places = places
        self.limits = limits
        self._tickets = tickets
        self._primaries = Primaries(places)
        self._records: dict[str, LocationRecord] = {}
        self._queues: dict[str, list[Post]] = {}
        self._tombs: dict[str, None] = {}
        self._strays: dict[str, dict[tuple[str, int], None]] = {}
        self._stray_count = 0
        self._life = life
        self._guesses: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._passed: OrderedDict[PostId, str] = OrderedDict()

    def _guess(self, agent: str, site: str, epoch: int) -> None:
        record = self._records.get(agent)
        known = self._guesses.get(agent)
        if record is None:
            if self.places.home(agent) == self.domain:
                return  # nobody has this name any more, whatever a late update says
        elif record.kind is not GONE or record.epoch > epoch:
            return
        if known is not None and known[1] >= epoch:
            return
        self._guesses[agent] = (site, epoch)
        self._guesses.move_to_end(agent)
        if len(self._guesses) > self.limits.guesses_max:
            self._guesses.popitem(last=False)

    def _remember(self, post: Post, site: str) -> None:
        """Note where a post was passed on to: an update about it is believed from there."""
        self._passed[post.id] = site
        if len(self._passed) > self.limits.passed_max:
            self._passed.popitem(last=False)

    @property
    def is_empty(self) -> bool:
        """Whether this server knows nobody."""
        return not (self._records or self._strays)

    def record(self, agent: str) -> LocationRecord | None:
        """What this server knows of an agent for sure."""
        return self._records.get(agent)

    def guess(self, agent: str) -> str | None:
        """The site where this server thinks that an agent is which it need not know."""
        known = self._guesses.get(agent)
        return None if known is None else known[0]

    def queue(self, agent: str) -> tuple[Post, ...]:
        """The posts that wait for the end of an agent's move."""
        return tuple(self._queues.get(agent, ()))

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made. Guesses are gone: posts take the longer way once."""
        for change in changes:
            self._redo(change)

    def _redo(self, change: Change) -> None:
        if isinstance(change, written.RecordPut):
            agent, kind = change.agent, Kind(change.kind)
            self._records[agent] = LocationRecord(
                kind, change.where, change.epoch, change.ticket, change.got
            )
            self._stray_count -= len(self._strays.pop(agent, ()))
            if kind is not MOVING:
                self._queues.pop(agent, None)
            if kind is ENDED:
                self._tombs[agent] = None
        elif isinstance(change, written.Queued):
            self._queues.setdefault(change.post.target, []).append(change.post)
        elif isinstance(change, written.StrayNoted):
            strays = self._strays.setdefault(change.agent, {})
            self._stray_count += (change.sender, change.n) not in strays
            strays[change.sender, change.n] = None
        elif isinstance(change, written.StraysForgotten):
            self._life = change.life
            self._stray_count -= len(self._strays.pop(change.agent, ()))
        elif isinstance(change, written.Forgotten):
            self._life = change.life
            self._tombs.pop(change.agent, None)
            self._records.pop(change.agent, None)
        elif isinstance(change, written.PrimaryLearnt):
            self._primaries.learn(change.domain, change.site, change.term)
        else:
            raise TypeError(f"{change!r} is no change of a server")

    def changes(self) -> list[Change]:
        """The shortest list that makes the durable part of this server."""
        made = self._primaries.puts()
        made.append(written.Forgotten("", self._life))
        order = [agent for agent in self._records if agent not in self._tombs]
        made += [record_put(agent, self._records[agent]) for agent in (*order, *self._tombs)]
        for queue in self._queues.values():
            made += [written.Queued(post) for post in queue]
        for agent, strays in self._strays.items():
            made += [written.StrayNoted(agent, sender, n) for sender, n in strays]
        return made

    def state(self) -> tuple[object, ...]:
        """All that the future depends on, in a fixed order."""
        return (
            tuple(
                sorted(
                    (agent, each.kind.value, each.where, each.epoch, each.ticket, each.got)
                    for agent, each in self._records.items()
                )
            ),
            tuple(sorted((agent, tuple(queue)) for agent, queue in self._queues.items())),
            tuple(self._tombs),
            tuple((agent, tuple(strays)) for agent, strays in self._strays.items()),
            self._life,
            cache_state(self._guesses, self.limits.guesses_max),
            cache_state(self._passed, self.limits.passed_max),
            self._primaries.learnt(),
        )

    def fresh(self) -> Self:
        """A server for the same domain that knows nothing yet."""
        return type(self)(
            self.site,
            self.domain,
            self.places,
            limits=self.limits,
            tickets=self._tickets,
            life=self._life,
        )

    def copy(self) -> Self:
        """The same server, apart."""
        twin = copy(self)
        twin._primaries = self._primaries.copy()
        twin._records = dict(self._records)
        twin._queues = {agent: list(queue) for agent, queue in self._queues.items()}
        twin._tombs = dict(self._tombs)
        twin._strays = {agent: dict(strays) for agent, strays in self._strays.items()}
        twin._guesses = self._guesses.copy()
        twin._passed = self._passed.copy()
        return twin
