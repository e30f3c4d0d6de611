"""Two whole hosts beside each other, whose frames arrive at once: what a step of both costs."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Final

from nomospace.calls.requests import TAKE, Move, Open, Request, Seek, Share
from nomospace.host.calls import Arrive, Call, Engage, Event, Heard, Tick
from nomospace.host.core import Host
from nomospace.host.effects import Transmit
from nomospace.protocols.policy import Announced
from nomospace.terms.templates import ANY, Template

TURN_US: Final = 100_000
"""How much time passes between two ticks while the hosts engage."""
ENGAGED_BY_US: Final = 60_000_000
JOB: Final = Template.of(("job", ANY))


class Pair:
    """Hosts `a` and `b`. Nothing is lost between them, and nothing takes time.

    >>> pair = Pair()
    >>> pair.settle("ann@a", "jobs")
    >>> pair.engage()
    >>> pair.move("ann@a", "a", "b")
    >>> pair.hosts["b"].agents, pair.hosts["a"].connected("ann@a")
    (('ann@a',), True)
    """

    def __init__(self) -> None:
        self.now = 0
        self.hosts = {name: Host(name, life=1, now=0, policy=Announced()) for name in "ab"}
        self._ops = count(1)

    def tell(self, name: str, event: Event) -> None:
        """Let a host handle an event, and both all that follows."""
        waiting: deque[tuple[str, Event]] = deque([(name, event)])
        while waiting:
            at, what = waiting.popleft()
            other = "b" if at == "a" else "a"
            for effect in self.hosts[at].handle(what, now=self.now):
                if isinstance(effect, Transmit) and effect.to in (other, None):
                    waiting.append((other, Heard(at, effect.frame)))

    def call(self, name: str, agent: str, request: Request) -> None:
        """Let an agent ask its host for something."""
        self.tell(name, Call(next(self._ops), agent, request))

    def settle(self, agent: str, space: str) -> None:
        """Make an agent at its home that shares a space and waits for a tuple in it."""
        name = agent.partition("@")[2]
        self.tell(name, Arrive(agent))
        for request in (Open(space), Share((space,)), Seek(space, TAKE, JOB)):
            self.call(name, agent, request)

    def engage(self) -> None:
        """Let the hosts become one group."""
        for name in self.hosts:
            self.tell(name, Engage())
        while any(host.frozen or len(host.view.members) < 2 for host in self.hosts.values()):
            assert self.now < ENGAGED_BY_US, "two hosts beside each other engage soon"
            self.now += TURN_US
            for name in self.hosts:
                self.tell(name, Tick())

    def move(self, agent: str, here: str, there: str) -> None:
        """Let an agent move, and see that it does."""
        self.call(here, agent, Move(there))
        assert agent in self.hosts[there].spaces.residents
