"""What sessions of clients ask of their host's driver (`sessions.host_session.Gate`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import AgentAway, HasEnded
from nomospace.client import Report
from nomospace.host.calls import Event
from nomospace.sessions.host_session import Outgoing
from nomospace.store.interface import KeptForClient, Step

if TYPE_CHECKING:
    from nomospace.node.local import Host

SURE_US: Final = 5_000_000
"""So long after a host's start it has what engaged hosts had for it under way."""


def elsewhere(host: Host, agent: str, at: str) -> AgentAway:
    """What is said of an agent that is not at a host; `at` is empty where it is not known."""
    at = "" if at == host.name else at
    address = host._address_of(at) if at else ""
    was_here = host._running().away(agent)
    return AgentAway(agent=agent, host=host.name, at=at, address=address, was_here=was_here)


class HostGate:
    """What sessions of clients ask of their host's driver (see `sessions.host_session.Gate`)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.tell_many = host._tell_many

    def tell(self, event: Event) -> None:
        self._host._tell_or_raise(event)

    def seat(self, agent: str, *, follows: str | None) -> None:
        host, at = self._host, self._host._led_to(agent)
        if at:
            raise elsewhere(host, agent, at)
        if follows and self._forgot(agent, left=follows):
            raise HasEnded(agent=agent)
        host._seat(agent, follows=follows is not None)

    def _forgot(self, agent: str, *, left: str) -> bool:
        """Whether an agent that `left` another host for here has ended with a life of this one.

        This host keeps nothing and alone has its agents on record, and not this one; and the other
        host is there, which would have brought it again if it had not come before.
        """
        host, core = self._host, self._host._running()
        return (
            bool(core.step.era)
            and agent.endswith(f"@{host.domain}")
            and len(host._servers.get(host.domain, ())) < 2
            and left in core.group.view.members
            and not core.has(agent)
            and not core.away(agent)
            and agent not in core.group.where
            and host._now() > core.peers.births.own + SURE_US
        )

    def vacate(self, agent: str) -> None:
        self._host.vacate(agent)

    def keep(self, kept: Sequence[KeptForClient]) -> None:
        keeper = self._host._keeper
        if keeper is not None:
            keeper.put(Step((), tuple(kept)))

    def bring(self, out: Outgoing, kept: Sequence[KeptForClient]) -> None:
        host = self._host
        keeper = host._keeper
        if keeper is None:
            host._do([out])
        else:
            host._behind.append((keeper.last + 1, [out]))
            keeper.put(Step((), tuple(kept)))

    def unreleased(self) -> Iterator[Outgoing]:
        for _, effects in self._host._behind:
            for effect in effects:
                if isinstance(effect, Outgoing):
                    yield effect

    def trim(self, key: str, number: int) -> None:
        keeper = self._host._keeper
        if keeper is not None:
            keeper.store.trim(key, number)

    def note(self, what: str, facts: Mapping[str, object]) -> None:
        self._host._report(Report(what, facts))

    def here(self, agent: str) -> bool:
        return self._host._running().has(agent)

    def held(self, agent: str, law: str) -> bool:
        host = self._host
        return bool(host._local.mailboxes.get((agent, law))) or bool(host.stage.running_as(agent))

    def address_of(self, host: str) -> str:
        return self._host._address_of(host)
