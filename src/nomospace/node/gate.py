"""What sessions of clients ask of their host's driver (`sessions.host_session.Gate`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nomospace.calls.problems import AgentAway
from nomospace.client import Report
from nomospace.host.calls import Event
from nomospace.sessions.host_session import Outgoing
from nomospace.store.interface import KeptForClient, Step

if TYPE_CHECKING:
    from nomospace.node.local import Host


def elsewhere(host: Host, agent: str, at: str) -> AgentAway:
    """What is said of an agent that is not at a host; `at` is empty where it is not known."""
    address = host._address_of(at) if at else ""
    was_here = host._running().away(agent)
    return AgentAway(agent=agent, host=host.name, at=at, address=address, was_here=was_here)


class HostGate:
    """What sessions of clients ask of their host's driver (see `sessions.host_session.Gate`)."""

    __slots__ = ("_host", "tell_many")

    def __init__(self, host: Host) -> None:
        self._host = host
        self.tell_many = host._tell_many

    def tell(self, event: Event) -> None:
        self._host._tell_or_raise(event)

    def seat(self, agent: str, *, follows: bool) -> None:
        host, at = self._host, self._host._led_to(agent)
        if at:
            raise elsewhere(host, agent, at)
        host._seat(agent, follows=follows)

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
