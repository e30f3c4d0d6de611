"""Hosts in the real world: this process, its event loop, its links.

A driver tells a host's core what happens and carries out what the core orders; it decides nothing.
`local` runs a host in the event loop of this process, `network` links such hosts, and `desk` brings
answers to the programs that asked.
"""

from nomospace.node.desk import Desk, Line
from nomospace.node.local import Host, MemoryStore, NotInTime, Store
from nomospace.node.network import BadLink, NameTaken, Network

__all__ = [
    "BadLink",
    "Desk",
    "Host",
    "Line",
    "MemoryStore",
    "NameTaken",
    "Network",
    "NotInTime",
    "Store",
]
