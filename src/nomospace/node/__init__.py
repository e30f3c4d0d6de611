"""Hosts in the real world: this process, its event loop, its links.

A driver tells a host's core what happens and carries out what the core orders; it decides nothing.
`local` runs a host in the event loop of this process, `network` links such hosts,
`local_connection` brings answers to the programs that asked, and `programs` runs the programs of
agents that move.
"""

from nomospace.node.grouped import NotInTime as NotInTime
from nomospace.node.local import Host as Host
from nomospace.node.local_connection import (
    LocalClients as LocalClients,
    LocalConnection as LocalConnection,
)
from nomospace.node.network import BadLink as BadLink, NameTaken as NameTaken, Network as Network
from nomospace.node.programs import (
    NoSuchProgram as NoSuchProgram,
    RunsAlready as RunsAlready,
    Stage as Stage,
)
from nomospace.store.interface import Store as Store
from nomospace.store.memory import MemoryStore as MemoryStore
