"""Acting on spaces as an agent: which agents a viewer may be, and at which host they are."""

from __future__ import annotations

from itertools import islice
from typing import Final

from nomospace.api.published import Principal
from nomospace.api.service import AgentSeat, Service
from nomospace.console.console import Console

CHOICES_MAX: Final = 200
"""How many agents are offered."""


def choices(console: Console, viewer: Principal) -> list[str]:
    """The agents that a viewer may act as: those of its token, or any that is here."""
    if not viewer.anyone:
        return list(viewer.agents[:CHOICES_MAX])
    hosts = console.service.views.topology(agents_max=CHOICES_MAX).hosts
    return list(islice((agent for host in hosts for agent in host.agents), CHOICES_MAX))


def usual(console: Console, viewer: Principal) -> str:
    """The agent to begin with."""
    if viewer.agents:
        return viewer.agents[0]
    return f"visitor@{console.service.views.topology().domain}" if viewer.anyone else ""


def service_of(console: Console, agent: str) -> Service:
    """The service of the host where an agent is, if it is one of the console's; else its own."""
    for name, service in console.services.items():
        if service.where(agent).host == name:
            return service
    return console.service


def seat_of(console: Console, viewer: Principal, agent: str) -> AgentSeat:
    """An agent to act as; raises what `Service.seat` does."""
    return service_of(console, agent).seat(viewer, agent)
