"""The people of any law: they send what its rules on `sent` seem to be about, and some nonsense.

What a law is about only its author knows; but the heads of its rules say what messages look like.
"""

from __future__ import annotations

from typing import Final

from nomospace.terms import Term
from nomospace.terms.tokens import Node
from nomospace_lab.apps.traffic.drive import MOVES, Traffic
from nomospace_lab.testing.generate.shapes import ANY, aim

PAUSE_US: Final = 60_000_000
NONSENSE: Final = 0.03
"""The share of messages that no rule is about."""


class Talker:
    """Sends something now and then, and presents nothing."""

    def __init__(self, talk: Chatter, home: str) -> None:
        self.talk = talk
        self.home = home

    def begin(self) -> None:
        """Join, and begin to talk."""
        self.talk.traffic.join(self.home, self)
        self._pause()

    def receive(self, sender: str, message: Term) -> None:
        """Hear a message out."""

    def _pause(self) -> None:
        traffic = self.talk.traffic
        traffic.after(traffic.rng.expovariate(1 / PAUSE_US), self._again)

    def _again(self) -> None:
        traffic = self.talk.traffic
        rng = traffic.rng
        if len(traffic.hosts) > 1 and rng.random() < MOVES:
            traffic.move(self.home, rng.choice(traffic.hosts))
        else:
            traffic.send(self.home, self.talk.message(), rng.choice(self.talk.homes))
        self._pause()


class Chatter:
    """Everybody who talks."""

    def __init__(self, traffic: Traffic, agents: int) -> None:
        self.traffic = traffic
        self._heads: list[Node] = [
            rule.args[1] for rule in traffic.law.tree.rules if rule.event == "sent"
        ]
        self.homes = [f"a{i}@{traffic.hosts[i % len(traffic.hosts)]}" for i in range(agents)]
        for home in self.homes:
            traffic.after(traffic.rng.uniform(0, PAUSE_US), Talker(self, home).begin)

    def message(self) -> Term:
        """Something to say."""
        rng = self.traffic.rng
        if not self._heads or rng.random() < NONSENSE:
            return f"nonsense {rng.randrange(100)}"
        return aim(rng, rng.choice(self._heads), ANY, {})
