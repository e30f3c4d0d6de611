"""The API of an agent's author, over a connection to a host that is near or far.

A program holds an `Agent`, its `Space`s and `Membership`s. This room knows what they mean and
nothing of hosts: `connection.Connection` is all it asks of one.
"""

from nomospace.client.agent import SYSTEM, Agent, BadName, NotAProgram, check_name
from nomospace.client.connection import (
    Closed,
    Connection,
    Ear,
    Firing,
    Found,
    Law,
    Mailbox,
    NotYetKnown,
    Report,
    TimedOut,
)
from nomospace.client.listening import ListenerOverran, WaitingInListener
from nomospace.client.membership import Letter, Membership
from nomospace.client.program import BadProgram, BadState, Departed, Program, program
from nomospace.client.reactions import (
    BadListener,
    ListenerBehind,
    NoSuchWay,
    OutsideStep,
    ReactionHandle,
    Step,
)
from nomospace.client.space import NoLease, Space, Taking, TooManyRows
from nomospace.client.tuples import BadDuration, BadPlace, Tuple

__all__ = [
    "SYSTEM",
    "Agent",
    "BadDuration",
    "BadListener",
    "BadName",
    "BadPlace",
    "BadProgram",
    "BadState",
    "Closed",
    "Connection",
    "Departed",
    "Ear",
    "Firing",
    "Found",
    "Law",
    "Letter",
    "ListenerBehind",
    "ListenerOverran",
    "Mailbox",
    "Membership",
    "NoLease",
    "NoSuchWay",
    "NotAProgram",
    "NotYetKnown",
    "OutsideStep",
    "Program",
    "ReactionHandle",
    "Report",
    "Space",
    "Step",
    "Taking",
    "TimedOut",
    "TooManyRows",
    "Tuple",
    "WaitingInListener",
    "check_name",
    "program",
]
