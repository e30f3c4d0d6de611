"""Controllers: one membership's control state, obligations and rulings, as a pure core."""

from nomospace.calls.answers import Standing, Told
from nomospace.control.adopting import ReservedRole, adopt, adoption, first_state
from nomospace.control.deciding import Decision
from nomospace.control.events import (
    TICK,
    Change,
    Deliver,
    Effect,
    Event,
    Forward,
    Leave,
    RecordRuling,
    Release,
    Ruling,
    Signal,
    Tick,
    Undecided,
    arrived,
    certificate,
    certified,
    sent,
)
from nomospace.control.explain import Explanation, explain
from nomospace.control.membership import Membership, Snapshot, TooMuchState, TooOld
from nomospace.control.redo import redo
from nomospace.control.told import standing, tell

__all__ = [
    "TICK",
    "Change",
    "Decision",
    "Deliver",
    "Effect",
    "Event",
    "Explanation",
    "Forward",
    "Leave",
    "Membership",
    "RecordRuling",
    "Release",
    "ReservedRole",
    "Ruling",
    "Signal",
    "Snapshot",
    "Standing",
    "Tick",
    "Told",
    "TooMuchState",
    "TooOld",
    "Undecided",
    "adopt",
    "adoption",
    "arrived",
    "certificate",
    "certified",
    "explain",
    "first_state",
    "redo",
    "sent",
    "standing",
    "tell",
]
