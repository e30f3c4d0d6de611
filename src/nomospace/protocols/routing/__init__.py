"""Routing: agents move, and messages find them.

`ALGORITHMS` holds Central, QSC and FQSC behind one face (`interface`). A host makes a daemon, and a
server where it runs one, tells them what happens, and carries their effects out.
"""

from nomospace.protocols.routing.algorithms import (
    ALGORITHMS as ALGORITHMS,
    CENTRAL as CENTRAL,
    FQSC as FQSC,
    QSC as QSC,
    Algorithm as Algorithm,
)
from nomospace.protocols.routing.changes import Change as Change
from nomospace.protocols.routing.daemon import Daemon as Daemon
from nomospace.protocols.routing.frames import (
    Frame as Frame,
    Post as Post,
    PostId as PostId,
    server_of as server_of,
)
from nomospace.protocols.routing.interface import (
    ALREADY_HERE as ALREADY_HERE,
    BUSY as BUSY,
    ENDED as ENDED,
    EXISTS as EXISTS,
    FULL as FULL,
    NO_TICKET as NO_TICKET,
    NOT_HERE as NOT_HERE,
    NOT_HOME as NOT_HOME,
    OVERTAKEN as OVERTAKEN,
    STALE as STALE,
    UNKNOWN as UNKNOWN,
    UNSETTLED as UNSETTLED,
    AgentRefused as AgentRefused,
    Core as Core,
    Created as Created,
    DaemonCore as DaemonCore,
    DeliverPost as DeliverPost,
    Effect as Effect,
    Go as Go,
    MoveSettled as MoveSettled,
    Noted as Noted,
    PersistChange as PersistChange,
    PostFailed as PostFailed,
    ServerCore as ServerCore,
    TransmitFrame as TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits as RoutingLimits
from nomospace.protocols.routing.places import (
    NoServer as NoServer,
    Places as Places,
    Servers as Servers,
)
from nomospace.protocols.routing.seats import Seat as Seat
from nomospace.protocols.routing.server import DomainServer as DomainServer
from nomospace.protocols.routing.server_memory import (
    Tickets as Tickets,
    plain_ticket as plain_ticket,
)
from nomospace.protocols.routing.standby import (
    PairedServer as PairedServer,
    ServerRole as ServerRole,
)
