"""The API of an agent's author, over a connection to a host that is near or far.

A program holds an `Agent`, its `Space`s and `Membership`s. This room knows what they mean and
nothing of hosts: `connection.Connection` is all it asks of one.
"""

from nomospace.calls.addresses import BadName as BadName, check_name as check_name
from nomospace.calls.answers import DisclosedRuling as DisclosedRuling, Standing as Standing
from nomospace.client.agent import (
    SYSTEM as SYSTEM,
    Agent as Agent,
    NotALaw as NotALaw,
    NotAProgram as NotAProgram,
)
from nomospace.client.connection import (
    Closed as Closed,
    Connection as Connection,
    Ear as Ear,
    Firing as Firing,
    Law as Law,
    Mailbox as Mailbox,
    NotYetKnown as NotYetKnown,
    Report as Report,
    TimedOut as TimedOut,
)
from nomospace.client.listening import (
    ListenerOverran as ListenerOverran,
    WaitingInListener as WaitingInListener,
)
from nomospace.client.membership import (
    Letter as Letter,
    LetterQueue as LetterQueue,
    Membership as Membership,
)
from nomospace.client.program import (
    BadProgram as BadProgram,
    BadState as BadState,
    Departed as Departed,
    Program as Program,
    program as program,
)
from nomospace.client.reactions import (
    BadListener as BadListener,
    ListenerBehind as ListenerBehind,
    NoSuchWay as NoSuchWay,
    OutsideStep as OutsideStep,
    ReactionHandle as ReactionHandle,
    Step as Step,
)
from nomospace.client.space import Space as Space, TooManyRows as TooManyRows
from nomospace.client.taking import NoLease as NoLease, Taking as Taking
from nomospace.client.tuples import (
    BadDuration as BadDuration,
    BadPlace as BadPlace,
    BadPriority as BadPriority,
    Tuple as Tuple,
)
