"""What agents may ask of a host, and when hosts engage, for the scripts of worlds.

Scripts need not know the host.
"""

from nomospace.calls.addresses import address_of, key_of
from nomospace.calls.answers import Found
from nomospace.calls.problems import ContactLost
from nomospace.calls.requests import (
    ONCE,
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Adjust,
    Adopt,
    Cancel,
    End,
    Move,
    Open,
    Out,
    OutMany,
    React,
    Request,
    Seek,
    Settle,
    Share,
    Tell,
    Way,
)
from nomospace.calls.ways import DEAD
from nomospace.host.calls import Call, Drain
from nomospace.host.effects import Answer
from nomospace.protocols.births import BEFORE, ERAS_FROM
from nomospace.protocols.policy import Announced, Policy, Position
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits

__all__ = [
    "BEFORE",
    "DEAD",
    "DEFAULT_LIMITS",
    "ERAS_FROM",
    "ONCE",
    "ONCE_PER_TUPLE",
    "READ",
    "READ_ALL",
    "READ_NOWAIT",
    "STRONG",
    "TAKE",
    "TAKE_ALL",
    "TAKE_NOWAIT",
    "WEAK",
    "Adjust",
    "Adopt",
    "Announced",
    "Answer",
    "Call",
    "Cancel",
    "ContactLost",
    "Drain",
    "End",
    "Found",
    "Move",
    "Open",
    "Out",
    "OutMany",
    "Policy",
    "Position",
    "React",
    "Request",
    "RoutingLimits",
    "Seek",
    "Settle",
    "Share",
    "Tell",
    "Way",
    "address_of",
    "key_of",
]
