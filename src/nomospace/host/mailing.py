"""Mail of a host's agents and controllers: what comes for them, and what will never arrive.

Routing (`posting`) brings letters to the agents that they are for. A letter of a community arrives
at the controller of its receiver; one that nobody takes goes back, and is an exception at the
controller that sent it.
"""

from __future__ import annotations

from nomospace.control import arrived
from nomospace.host.part import HostPart
from nomospace.host.posting import Letter, Rejected
from nomospace.protocols.spaces import Mailed
from nomospace.terms import Compound


class Mailing(HostPart):
    """The mail of one host."""

    def mail(self, agent: str, origin: str, body: object, hops: int) -> None:
        """Routing brings a message to an agent here, or the news that one was not taken."""
        if isinstance(body, Rejected):
            self.undelivered(agent, Letter(body.law, agent, body.message), body.to, body.why)
            return
        assert isinstance(body, Letter), body
        host, law = self._host, body.law
        there = host.governing.find(agent, law)
        why = ""
        if there is None:
            why = "lawMismatch" if host.governing.laws_of(agent) else "unknownDestination"
        elif self._full(agent, law):
            why = "mailboxFull"
        if there is None or why:
            host.posting.send(agent, origin, Rejected(law, body.message, agent, why))
            return
        host.governing.arrive(there, arrived(body.sender, body.message, agent), hops)
        host.governing.drain()

    def _full(self, agent: str, law: str) -> bool:
        """Whether no more can wait for a controller."""
        home, suspending, deciding = (agent, law), self._host.suspending, self._host.deciding
        return (suspending.concerned and suspending.full(home)) or (
            bool(deciding.cases) and deciding.full(home)
        )

    def undelivered(self, agent: str, body: object, to: str, why: str) -> None:
        """A message of an agent here will never arrive: an exception at its controller."""
        if not isinstance(body, Letter):
            return
        member = self._host.governing.find(agent, body.law)
        if member is not None:
            forward = Compound("forward", (body.sender, body.message, to))
            self._host.governing.complain(member, forward, why)
            self._host.governing.drain()

    def hear_mailed(self, peer: str, body: Mailed) -> None:
        """A message of a community came from another host."""
        if self._host.group.doubts(peer, body.law):
            return
        there = self._host.governing.find(body.to, body.law)
        if there is not None:
            self._host.governing.rule(there, arrived(body.sender, body.message, body.to))
            self._host.governing.drain()
