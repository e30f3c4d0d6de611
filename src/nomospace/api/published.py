"""What pages may know of a host, gathered in one place: plain views, and who looks at them.

The console imports from `api` alone, so that all it does could be done over HTTP as well.
"""

from nomospace.api.service import Membership as Membership
from nomospace.calls.requests import CLIENT_PROGRAM as CLIENT_PROGRAM
from nomospace.client import DisclosedRuling as DisclosedRuling, Space as Space
from nomospace.client.membership import (
    CERTIFICATE_BYTES_MAX as CERTIFICATE_BYTES_MAX,
    read_certificate as read_certificate,
)
from nomospace.node.principals import Principal as Principal
from nomospace.node.viewed import (
    CausalStory as CausalStory,
    CommunityView as CommunityView,
    HostView as HostView,
    LawView as LawView,
    MemberView as MemberView,
    RuleView as RuleView,
    RulingRun as RulingRun,
    RulingsView as RulingsView,
    RulingView as RulingView,
    SetView as SetView,
    SpaceInside as SpaceInside,
    SpaceView as SpaceView,
    StoryLink as StoryLink,
    StoryStep as StoryStep,
    TallyView as TallyView,
    TopologyView as TopologyView,
    TupleView as TupleView,
    WhyView as WhyView,
)
from nomospace.node.views import NotSeen as NotSeen, Views as Views
from nomospace.node.within import fields_text as fields_text
from nomospace.wire.admin import (
    AgentLine as AgentLine,
    EndProgram as EndProgram,
    LaunchProgram as LaunchProgram,
)
