"""Hosts of this process for programs without `async`; `nomospace.sync` loads them when asked."""

from __future__ import annotations

from nomospace import node
from nomospace.node import Network as Network
from nomospace.protocols.messages import View
from nomospace.sync import Agent
from nomospace.sync.background import HeldInBackground, asks, gives, made_by, waits


class Host(HeldInBackground):
    """A host in this process; see `nomospace.Host`. `with` starts it and ends it.

    >>> with Host("ward-3") as host:
    ...     host.agent("nurse")
    <agent nurse@ward-3>
    >>> net = Network()
    >>> net.connect("ward", "icu")
    >>> with Host("ward", network=net) as ward, Host("icu", network=net) as icu:
    ...     ward.wait_engaged("icu", timeout=30)
    ...     ward.view.members
    ('icu', 'ward')
    """

    _it: node.Host
    name: str
    programs: tuple[str, ...]
    """The names of the programs that may run here without bringing their code."""
    view: View
    """The group as this host sees it: `view.members` are the names of its hosts."""

    @made_by(node.Host)
    def __init__(self, it: node.Host) -> None:
        super().__init__(it)

    agent = gives(node.Host.agent, Agent)
    launch = waits(node.Host.launch)
    end = waits(node.Host.end)
    suspend = waits(node.Host.suspend)
    resume = waits(node.Host.resume)
    wait_closed = waits(node.Host.wait_closed)
    wait_engaged = waits(node.Host.wait_engaged)
    wait_parted = waits(node.Host.wait_parted)
    law = asks(node.Host.law)
    connected = asks(node.Host.connected)
    engage = asks(node.Host.engage)
    disengage = asks(node.Host.disengage)
    drain = asks(node.Host.drain)
    moved = asks(node.Host.moved)
