"""What pages may know of a host, gathered in one place: plain views, and who looks at them.

The console imports from `api` alone, so that all it does could be done over HTTP as well.
"""

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
    SpaceInside,
    SpaceView,
    TopologyView,
    TriedView,
    TuplesView,
    TupleView,
    WaiterView,
    WhyView,
)
from nomospace.node.views import NotSeen, Views

__all__ = [
    "AgentView",
    "CommunityView",
    "GoalView",
    "HostView",
    "LawView",
    "LeaseView",
    "MemberView",
    "NotLetIn",
    "NotSeen",
    "ObligationView",
    "Principal",
    "ReactionView",
    "RuleView",
    "RulingView",
    "RulingsView",
    "SpaceInside",
    "SpaceView",
    "TopologyView",
    "TriedView",
    "TupleView",
    "TuplesView",
    "Views",
    "WaiterView",
    "WhyView",
]
