"""Hosts of this process for programs without `async`; `nomospace.sync` loads them when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from nomospace import client, node
from nomospace.client.laws import Law
from nomospace.client.reactions import LISTENER_TIMEOUT_S
from nomospace.protocols.messages import View
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.sync import Agent
from nomospace.sync.background import HeldInBackground, asks, background, waits


class Network:
    """Links between hosts of this process; see `nomospace.Network`.

    >>> net = Network()
    >>> net.connect("ward", "icu")
    >>> with Host("ward", network=net) as ward, Host("icu", network=net) as icu:
    ...     ward.wait_engaged("icu", timeout=30)
    ...     ward.view.members
    ('icu', 'ward')
    """

    def __init__(self, *, delay: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        self._it = node.Network(delay=delay, loss=loss, seed=seed)

    def connect(self, a: object, b: object) -> None:
        """Link two hosts, by name or as they are."""
        self._it.connect(a, b)

    def connect_all(self, *hosts: object) -> None:
        """Link every host with every other."""
        self._it.connect_all(*hosts)

    def part(self, a: object, b: object) -> None:
        """Cut a link."""
        self._it.part(a, b)

    def linked(self, a: object, b: object) -> bool:
        """Whether two hosts have a link of their own."""
        return self._it.linked(a, b)


class Host(HeldInBackground):
    """A host in this process; see `nomospace.Host`. `with` starts it and ends it.

    >>> with Host("ward-3") as host:
    ...     host.agent("nurse")
    <agent nurse@ward-3>
    """

    _it: node.Host
    name: str
    programs: tuple[str, ...]
    """The names of the programs that may run here without bringing their code."""
    view: View
    """The group as this host sees it: `view.members` are the names of its hosts."""

    def __init__(
        self,
        name: str,
        *,
        network: Network | None = None,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        store: node.Store | str | Path | None = None,
        laws: Iterable[Law] = (),
        on_report: Callable[[client.Report], None] | None = None,
        listener_timeout: float = LISTENER_TIMEOUT_S,
        programs: Iterable[str] | None = None,
        trusted_publishers: Mapping[str, bytes] | None = None,
        listen: str = "",
        join: Iterable[str] | str = (),
        transport: str = "",
        trust: str | Path | None = None,
        config: str | Path = "",
    ) -> None:
        it = node.Host(
            name,
            network=None if network is None else network._it,
            policy=policy,
            pace=pace,
            store=store,
            laws=laws,
            on_report=on_report,
            listener_timeout=listener_timeout,
            programs=programs,
            trusted_publishers=trusted_publishers,
            listen=listen,
            join=join,
            transport=transport,
            trust=trust,
            config=config,
        )
        super().__init__(it)

    def agent(self, name: str) -> Agent:
        """The agent `name@host`: new, or as it was left."""
        return Agent(background.wait(self._it.agent(name)))

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
