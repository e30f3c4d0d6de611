"""What a daemon remembers, and what of it survives a crash.

Seats, numbers and posts that wait are written down. Guesses, and which posts were sent, are not:
without them posts take a longer way, once.

Posts that came back to their origin wait there, in line for each target, to be tried again. All of
a line go out together when its pause is over; if they come back, the next pause is twice as long. A
line that stays empty for a pause is forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from typing import Self

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import Post, PostId
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits, cache_state
from nomospace.protocols.routing.places import Places, Primaries
from nomospace.protocols.routing.residents import AWAY, CREATING, HERE, ResidentPhase, RoutedAgent


class DaemonMemory:
    """The state of a daemon: residents, posts that wait, guesses."""

    def __init__(
        self,
        site: str,
        domain: str,
        places: Places,
        *,
        limits: RoutingLimits = DEFAULT_LIMITS,
        eager: bool = False,
    ) -> None:
        self.site = site
        self.eager = eager
        self._domain = domain
        self._places = places
        self._limits = limits
        self._primaries = Primaries(places)
        self._residents: dict[str, RoutedAgent] = {}
        self._guesses: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._asked: OrderedDict[PostId, str] = OrderedDict()
        self.waits = Waits(limits)

    def _guess(self, agent: str, site: str, epoch: int) -> None:
        known = self._guesses.get(agent)
        if known is not None and known[1] >= epoch:
            return
        if site == self.site:  # who is here needs no guess, and who left is not here
            self._guesses.pop(agent, None)
            return
        self._guesses[agent] = (site, epoch)
        self._guesses.move_to_end(agent)
        if len(self._guesses) > self._limits.guesses_max:
            self._guesses.popitem(last=False)

    def _remember(self, post: PostId, site: str) -> None:
        """Note where a post was sent: an update about it is believed from there."""
        self._asked[post] = site
        if len(self._asked) > self._limits.passed_max:
            self._asked.popitem(last=False)

    def phase(self, agent: str) -> ResidentPhase | None:
        """The phase of an agent's seat here, if it has one."""
        resident = self._residents.get(agent)
        return None if resident is None else resident.phase

    def left(self, agent: str) -> tuple[str, str] | None:
        """The site that an agent has left for, and its ticket, until its arrival is known."""
        resident = self._residents.get(agent)
        if resident is None or resident.phase is not AWAY:
            return None
        return resident.to, resident.ticket

    def server_site(self, domain: str) -> str:
        """Where the server of a domain is, as far as is known here."""
        return self._primaries.site(domain)

    def unborn(self) -> list[str]:
        """The agents here that their home has not put on record yet."""
        return [agent for agent, one in self._residents.items() if one.phase is CREATING]

    def foreign(self) -> tuple[str, str] | None:
        """An agent that is settled here and in another domain: no daemon of this one made that."""
        for agent, resident in self._residents.items():
            if resident.phase is HERE and resident.domain != self._domain:
                return agent, resident.domain
        return None

    def guess(self, agent: str) -> str | None:
        """The site where this daemon thinks that an agent is."""
        known = self._guesses.get(agent)
        return None if known is None else known[0]

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made. Guesses are gone; posts that wait are tried soon."""
        for change in changes:
            self._redo(change, now)

    def _redo(self, change: Change, now: int) -> None:
        if isinstance(change, written.SeatPut):
            resident = self._residents[change.agent] = RoutedAgent(
                ResidentPhase(change.phase), change.seat
            )
            resident.to, resident.ticket = change.to, change.ticket
        elif isinstance(change, written.PhasePut):
            resident = self._residents[change.agent]
            resident.phase = ResidentPhase(change.phase)
            resident.epoch, resident.domain = change.epoch, change.domain
            resident.to, resident.ticket = change.to, change.ticket
            resident.ending = change.ending
        elif isinstance(change, written.SeatGone):
            del self._residents[change.agent]
        elif isinstance(change, written.Sent):
            self._residents[change.sender].put_sent(change.to, change.n)
        elif isinstance(change, written.LastGot):
            self._residents[change.agent].put_got(change.sender, change.n)
        elif isinstance(change, written.PostKept):
            self._residents[change.post.to].put_early(change.post)
        elif isinstance(change, written.PostHeld):
            self.waits.add(change.post, now)
        elif isinstance(change, written.PostsReleased):
            self.waits.drop(change.target)
        elif isinstance(change, written.PrimaryLearnt):
            self._primaries.learn(change.domain, change.site, change.term)
        else:
            raise TypeError(f"{change!r} is no change of a daemon")

    def changes(self) -> list[Change]:
        """The shortest list that makes the durable part of this daemon."""
        made = self._primaries.puts()
        for agent, resident in self._residents.items():
            made += seat_puts(agent, resident)
        made += [written.PostHeld(post) for post in self.waits.posts()]
        return made

    def state(self) -> tuple[object, ...]:
        """All that the future depends on, in a fixed order."""
        return (
            tuple(sorted((agent, each.state()) for agent, each in self._residents.items())),
            cache_state(self._guesses, self._limits.guesses_max),
            cache_state(self._asked, self._limits.passed_max),
            self.waits.state(),
            self._primaries.learnt(),
        )

    def copy(self) -> Self:
        """The same daemon, apart."""
        twin = copy(self)
        twin._primaries = self._primaries.copy()
        twin._residents = {agent: each.copy() for agent, each in self._residents.items()}
        twin._guesses = self._guesses.copy()
        twin._asked = self._asked.copy()
        twin.waits = self.waits.copy()
        return twin


def seat_puts(agent: str, resident: RoutedAgent) -> list[Change]:
    """The changes that say all of a resident."""
    phase, seat = resident.phase.value, resident.seat()
    put = written.SeatPut(agent, phase, seat, resident.to, resident.ticket)
    return [put, phase_put(agent, resident)] if resident.ending else [put]


def phase_put(agent: str, resident: RoutedAgent) -> written.PhasePut:
    """The change that says all of a resident's phase."""
    return written.PhasePut(
        agent,
        resident.phase.value,
        resident.epoch,
        resident.domain,
        resident.to,
        resident.ticket,
        resident.ending,
    )


class _Line:
    __slots__ = ("at", "pause", "posts")

    def __init__(self, at: int, pause: int, posts: list[Post]) -> None:
        self.at = at
        self.pause = pause
        self.posts = posts


class Waits:
    """The lines of one daemon.

    >>> waits = Waits(RoutingLimits(pause_min=10, pause_max=15))
    >>> post = Post("ann@lab", "bob@lab", 1, "hello", "s1")
    >>> waits.add(post, 100); waits.deadline, waits.queues("bob@lab")
    (110, True)
    >>> [(target, len(posts)) for target, posts in waits.due(110)]
    [('bob@lab', 1)]
    >>> waits.add(post, 111); waits.deadline  # it came back: twice as long, up to the limit
    126
    """

    __slots__ = ("_limits", "_lines", "count", "deadline")

    def __init__(self, limits: RoutingLimits) -> None:
        self._limits = limits
        self._lines: dict[str, _Line] = {}
        self.count = 0
        self.deadline: int | None = None

    def queues(self, target: str) -> bool:
        """Whether posts for a target wait, so that another must wait behind them."""
        line = self._lines.get(target)
        return line is not None and bool(line.posts)

    def add(self, post: Post, now: int) -> None:
        """Let a post wait at the end of its line."""
        line = self._lines.get(post.target)
        if line is None:
            pause = self._limits.pause_min
            line = self._lines[post.target] = _Line(now + pause, pause, [])
        elif not line.posts:
            line.at = now + line.pause
            self._find_deadline()
        line.posts.append(post)
        self.count += 1
        self.deadline = line.at if self.deadline is None else min(self.deadline, line.at)

    def due(self, now: int) -> list[tuple[str, list[Post]]]:
        """Take out the lines whose pause is over, each in the order of numbers."""
        ready: list[tuple[str, list[Post]]] = []
        for target, line in list(self._lines.items()):
            if line.at > now:
                continue
            if not line.posts:
                del self._lines[target]
                continue
            ready.append((target, sorted(line.posts, key=lambda post: post.n)))
            self.count -= len(line.posts)
            line.posts = []
            line.pause = min(2 * line.pause, self._limits.pause_max)
            line.at = now + line.pause
        self._find_deadline()
        return ready

    def drop(self, target: str) -> None:
        """Forget a line that was let go before a restart."""
        line = self._lines.pop(target, None)
        if line is not None:
            self.count -= len(line.posts)
        self._find_deadline()

    def posts(self) -> list[Post]:
        """All that waits."""
        return [post for line in self._lines.values() for post in line.posts]

    def _find_deadline(self) -> None:
        self.deadline = min((line.at for line in self._lines.values()), default=None)

    def state(self) -> tuple[object, ...]:
        """All of it, in a fixed order."""
        return tuple(
            sorted(
                (target, line.at, line.pause, tuple(line.posts))
                for target, line in self._lines.items()
            )
        )

    def copy(self) -> Waits:
        """The same lines, apart."""
        twin = copy(self)
        twin._lines = {
            target: _Line(line.at, line.pause, list(line.posts))
            for target, line in self._lines.items()
        }
        return twin
