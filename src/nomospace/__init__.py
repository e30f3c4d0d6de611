"""Nomospace: a tuple space under law, for agents that move.

This module is the face of the package. It owns no behaviour and imports nothing until a name is
used, so that ``import nomospace`` and the command line start at once. A name is added by one line
in `_FACE` and, for type checkers, the same import under `TYPE_CHECKING`.

>>> import nomospace
>>> nomospace.t.room(3) == nomospace.term("room(3)")
True
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# public name -> the module that defines it, and its name there
_FACE = {
    "ANY": ("nomospace.terms.templates", "ANY"),
    "Agent": ("nomospace.client", "Agent"),
    "AgentAway": ("nomospace.calls.problems", "AgentAway"),
    "BadPriority": ("nomospace.client.tuples", "BadPriority"),
    "Bug": ("nomospace.errors", "Bug"),
    "Busy": ("nomospace.calls.problems", "Busy"),
    "CallerError": ("nomospace.errors", "CallerError"),
    "Closed": ("nomospace.client", "Closed"),
    "Compound": ("nomospace.terms", "Compound"),
    "ContactLost": ("nomospace.calls.problems", "ContactLost"),
    "DelayTooLong": ("nomospace.calls.problems", "DelayTooLong"),
    "Departed": ("nomospace.client", "Departed"),
    "Host": ("nomospace.node", "Host"),
    "HostLost": ("nomospace.client.session_driver", "HostLost"),
    "InDoubt": ("nomospace.calls.problems", "InDoubt"),
    "Law": ("nomospace.client.laws", "Law"),
    "LawError": ("nomospace.errors", "LawError"),
    "LeaseLapsed": ("nomospace.calls.problems", "LeaseLapsed"),
    "ListenerOverran": ("nomospace.client", "ListenerOverran"),
    "Membership": ("nomospace.client", "Membership"),
    "MemoryStore": ("nomospace.node", "MemoryStore"),
    "MoveRefused": ("nomospace.calls.problems", "MoveRefused"),
    "Network": ("nomospace.node", "Network"),
    "NoLease": ("nomospace.client.taking", "NoLease"),
    "NomospaceError": ("nomospace.errors", "NomospaceError"),
    "NotAMember": ("nomospace.calls.problems", "NotAMember"),
    "NotAnOperator": ("nomospace.calls.problems", "NotAnOperator"),
    "NotLetIn": ("nomospace.calls.problems", "NotLetIn"),
    "NotYourAgent": ("nomospace.calls.problems", "NotYourAgent"),
    "Ontology": ("nomospace.client.ontologies", "Ontology"),
    "PeerError": ("nomospace.errors", "PeerError"),
    "PrivateSpace": ("nomospace.calls.problems", "PrivateSpace"),
    "Program": ("nomospace.client", "Program"),
    "PublisherKey": ("nomospace.trust.bundles", "PublisherKey"),
    "ReactionHandle": ("nomospace.client", "ReactionHandle"),
    "ReadOnly": ("nomospace.calls.problems", "ReadOnly"),
    "Refused": ("nomospace.calls.problems", "Refused"),
    "Report": ("nomospace.client", "Report"),
    "SessionLost": ("nomospace.sessions.client_session", "SessionLost"),
    "Space": ("nomospace.client", "Space"),
    "SpaceFull": ("nomospace.calls.problems", "SpaceFull"),
    "Suspended": ("nomospace.calls.problems", "Suspended"),
    "TimedOut": ("nomospace.client", "TimedOut"),
    "Tuple": ("nomospace.client", "Tuple"),
    "Unavailable": ("nomospace.errors", "Unavailable"),
    "Unreachable": ("nomospace.client.dialling", "Unreachable"),
    "WaitingInListener": ("nomospace.client", "WaitingInListener"),
    "a": ("nomospace.terms.templates", "a"),
    "between": ("nomospace.terms.templates", "between"),
    "connect": ("nomospace.client.remote", "connect"),
    "dependence_function": ("nomospace.meaning.functions", "dependence_function"),
    "field": ("nomospace.calls.partition", "field"),
    "fetch_law": ("nomospace.client.laws", "fetch_law"),
    "find_controller": ("nomospace.client.controllers", "find_controller"),
    "load_mapping": ("nomospace.client.ontologies", "load_mapping"),
    "make_bundle": ("nomospace.trust.bundles", "make_bundle"),
    "obj": ("nomospace.terms.templates", "obj"),
    "program": ("nomospace.client", "program"),
    "same": ("nomospace.terms.templates", "same"),
    "show": ("nomospace.terms", "show"),
    "t": ("nomospace.terms", "t"),
    "term": ("nomospace.terms", "term"),
    "where": ("nomospace.terms.templates", "where"),
}

if TYPE_CHECKING:
    from nomospace.calls.partition import field as field
    from nomospace.calls.problems import (
        AgentAway as AgentAway,
        Busy as Busy,
        ContactLost as ContactLost,
        DelayTooLong as DelayTooLong,
        InDoubt as InDoubt,
        LeaseLapsed as LeaseLapsed,
        MoveRefused as MoveRefused,
        NotAMember as NotAMember,
        NotAnOperator as NotAnOperator,
        NotLetIn as NotLetIn,
        NotYourAgent as NotYourAgent,
        PrivateSpace as PrivateSpace,
        ReadOnly as ReadOnly,
        Refused as Refused,
        SpaceFull as SpaceFull,
        Suspended as Suspended,
    )
    from nomospace.client import (
        Agent as Agent,
        Closed as Closed,
        Departed as Departed,
        ListenerOverran as ListenerOverran,
        Membership as Membership,
        Program as Program,
        ReactionHandle as ReactionHandle,
        Report as Report,
        Space as Space,
        TimedOut as TimedOut,
        Tuple as Tuple,
        WaitingInListener as WaitingInListener,
        program as program,
    )
    from nomospace.client.controllers import find_controller as find_controller
    from nomospace.client.dialling import Unreachable as Unreachable
    from nomospace.client.laws import fetch_law as fetch_law
    from nomospace.client.ontologies import load_mapping as load_mapping
    from nomospace.client.remote import connect as connect
    from nomospace.client.session_driver import HostLost as HostLost
    from nomospace.client.taking import NoLease as NoLease
    from nomospace.client.tuples import BadPriority as BadPriority
    from nomospace.errors import (
        Bug as Bug,
        CallerError as CallerError,
        LawError as LawError,
        NomospaceError as NomospaceError,
        PeerError as PeerError,
        Unavailable as Unavailable,
    )
    from nomospace.law import CompiledLaw
    from nomospace.meaning.functions import dependence_function as dependence_function
    from nomospace.meaning.ontology import Ontology as Ontology
    from nomospace.node import (
        Host as Host,
        MemoryStore as MemoryStore,
        Network as Network,
    )
    from nomospace.sessions.client_session import SessionLost as SessionLost
    from nomospace.terms import Compound as Compound, show as show, t as t, term as term
    from nomospace.terms.templates import (
        ANY as ANY,
        a as a,
        between as between,
        obj as obj,
        same as same,
        where as where,
    )
    from nomospace.trust.bundles import PublisherKey as PublisherKey, make_bundle as make_bundle

    Law = CompiledLaw


def __getattr__(name: str) -> object:
    """Load a public name on its first use and keep it: the second use is a plain look-up."""
    place = _FACE.get(name)
    if place is None:
        raise AttributeError(f"module 'nomospace' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(place[0]), place[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
