"""Hosts in the real world: this process, its event loop, its links.

A driver tells a host's core what happens and carries out what the core orders; it decides nothing.
`local` runs a host in the event loop of this process, `network` links such hosts,
`local_connection` brings answers to the programs that asked, and `programs` runs the programs of
agents that move.
"""

from nomospace.node.grouped import NotInTime
from nomospace.node.local import AgentAway, Host
from nomospace.node.local_connection import LocalClients, LocalConnection
from nomospace.node.network import BadLink, NameTaken, Network
from nomospace.node.programs import NoSuchProgram, RunsAlready, Stage
from nomospace.store.interface import Store
from nomospace.store.memory import MemoryStore

__all__ = [
    "AgentAway",
    "BadLink",
    "Host",
    "LocalClients",
    "LocalConnection",
    "MemoryStore",
    "NameTaken",
    "Network",
    "NoSuchProgram",
    "NotInTime",
    "RunsAlready",
    "Stage",
    "Store",
]
