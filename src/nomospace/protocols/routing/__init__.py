"""Routing: agents move, and messages find them.

`ALGORITHMS` holds Central, QSC and FQSC behind one face (`interface`). A host makes a daemon, and a
server where it runs one, tells them what happens, and carries their effects out.
"""

from nomospace.protocols.routing.algorithms import ALGORITHMS, CENTRAL, FQSC, QSC, Algorithm
from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Frame, Post, PostId, server_of
from nomospace.protocols.routing.interface import (
    ALREADY_HERE,
    BUSY,
    ENDED,
    EXISTS,
    FULL,
    NO_TICKET,
    NOT_HERE,
    NOT_HOME,
    OVERTAKEN,
    STALE,
    UNKNOWN,
    UNSETTLED,
    AgentRefused,
    Core,
    Created,
    DaemonCore,
    DeliverPost,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PersistChange,
    PostFailed,
    ServerCore,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import NoServer, Places, Servers
from nomospace.protocols.routing.seats import Seat
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.server_memory import Tickets, plain_ticket
from nomospace.protocols.routing.standby import PairedServer, ServerRole

__all__ = [
    "ALGORITHMS",
    "ALREADY_HERE",
    "BUSY",
    "CENTRAL",
    "ENDED",
    "EXISTS",
    "FQSC",
    "FULL",
    "NOT_HERE",
    "NOT_HOME",
    "NO_TICKET",
    "OVERTAKEN",
    "QSC",
    "STALE",
    "UNKNOWN",
    "UNSETTLED",
    "AgentRefused",
    "Algorithm",
    "Change",
    "Core",
    "Created",
    "Daemon",
    "DaemonCore",
    "DeliverPost",
    "DomainServer",
    "Effect",
    "Frame",
    "Go",
    "MoveSettled",
    "NoServer",
    "Noted",
    "PairedServer",
    "PersistChange",
    "Places",
    "Post",
    "PostFailed",
    "PostId",
    "RoutingLimits",
    "Seat",
    "ServerCore",
    "ServerRole",
    "Servers",
    "Tickets",
    "TransmitFrame",
    "plain_ticket",
    "server_of",
]
