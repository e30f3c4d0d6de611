"""What pages may know of a host, gathered in one place: plain views, and who looks at them.

The console imports from `api` alone, so that all it does could be done over HTTP as well.
"""

from nomospace.api.service import Membership
from nomospace.client.membership import CERTIFICATE_BYTES_MAX, read_certificate
from nomospace.node.principals import NotLetIn, Principal
from nomospace.node.viewed import (
    AgentView,
    CommunityView,
    GoalView,
    HostView,
    LawView,
    LeaseView,
    MemberView,
    ObligationView,
    ReactionView,
    RuleView,
    RulingsView,
    RulingView,
    SetView,
    SpaceInside,
    SpaceView,
    TallyView,
    TopologyView,
    TriedView,
    TupleStep,
    TupleStory,
    TuplesView,
    TupleView,
    WaiterView,
    WhyView,
)
from nomospace.node.views import NotSeen, Views

__all__ = [
    "CERTIFICATE_BYTES_MAX",
    "AgentView",
    "CommunityView",
    "GoalView",
    "HostView",
    "LawView",
    "LeaseView",
    "MemberView",
    "Membership",
    "NotLetIn",
    "NotSeen",
    "ObligationView",
    "Principal",
    "ReactionView",
    "RuleView",
    "RulingView",
    "RulingsView",
    "SetView",
    "SpaceInside",
    "SpaceView",
    "TallyView",
    "TopologyView",
    "TriedView",
    "TupleStep",
    "TupleStory",
    "TupleView",
    "TuplesView",
    "Views",
    "WaiterView",
    "WhyView",
    "read_certificate",
]
