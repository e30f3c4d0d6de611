"""Hosts in the real world: this process, its event loop, its links.

A driver tells a host's core what happens and carries out what the core orders; it decides nothing.
`local` runs a host in the event loop of this process, `network` links such hosts, `desk` brings
answers to the programs that asked, and `programs` runs the programs of agents that move.
"""

from nomospace.node.desk import Desk, Line
from nomospace.node.grouped import NotInTime
from nomospace.node.local import AgentAway, Host
from nomospace.node.network import BadLink, NameTaken, Network
from nomospace.node.programs import NoSuchProgram, RunsAlready, Stage
from nomospace.store.interface import Store
from nomospace.store.memory import MemoryStore

__all__ = [
    "AgentAway",
    "BadLink",
    "Desk",
    "Host",
    "Line",
    "MemoryStore",
    "NameTaken",
    "Network",
    "NoSuchProgram",
    "NotInTime",
    "RunsAlready",
    "Stage",
    "Store",
]
