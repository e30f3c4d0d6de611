"""Hosts in the real world: this process, its event loop, its links.

A driver tells a host's core what happens and carries out what the core orders; it decides nothing.
`local` runs a host in the event loop of this process, `network` links such hosts,
`local_connection` brings answers to the programs that asked, and `programs` runs the programs of
agents that move.
"""

from typing import TYPE_CHECKING

# Loaded on use: an agent's program in a process of its own is driven from here, without a host.
_FACE = {
    "BadLink": "nomospace.node.network",
    "Host": "nomospace.node.local",
    "LocalClients": "nomospace.node.local_connection",
    "LocalConnection": "nomospace.node.local_connection",
    "MemoryStore": "nomospace.store.memory",
    "NameTaken": "nomospace.node.network",
    "Network": "nomospace.node.network",
    "NotInTime": "nomospace.node.grouped",
    "Stage": "nomospace.node.programs",
    "Store": "nomospace.store.interface",
}

if TYPE_CHECKING:
    from nomospace.node.grouped import NotInTime as NotInTime
    from nomospace.node.local import Host as Host
    from nomospace.node.local_connection import (
        LocalClients as LocalClients,
        LocalConnection as LocalConnection,
    )
    from nomospace.node.network import (
        BadLink as BadLink,
        NameTaken as NameTaken,
        Network as Network,
    )
    from nomospace.node.programs import Stage as Stage
    from nomospace.store.interface import Store as Store
    from nomospace.store.memory import MemoryStore as MemoryStore


def __getattr__(name: str) -> object:
    place = _FACE.get(name)
    if place is None:
        raise AttributeError(f"module 'nomospace.node' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(place), name)
    globals()[name] = value
    return value
