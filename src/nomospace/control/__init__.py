"""Controllers: one membership's control state, obligations and rulings, as a pure core."""

from nomospace.calls.answers import DisclosedRuling as DisclosedRuling, Standing as Standing
from nomospace.control.adopting import (
    ReservedRole as ReservedRole,
    SpaceRoll as SpaceRoll,
    adopt as adopt,
    adoption as adoption,
    first_state as first_state,
)
from nomospace.control.deciding import Decision as Decision
from nomospace.control.disclosure import standing as standing, tell as tell
from nomospace.control.events import (
    TICK as TICK,
    Change as Change,
    Deliver as Deliver,
    Effect as Effect,
    Event as Event,
    Forward as Forward,
    Leave as Leave,
    RecordRuling as RecordRuling,
    Release as Release,
    Ruling as Ruling,
    Signal as Signal,
    Tick as Tick,
    Undecided as Undecided,
    arrived as arrived,
    certificate as certificate,
    certified as certified,
    sent as sent,
)
from nomospace.control.explain import Explanation as Explanation, explain as explain
from nomospace.control.membership import (
    Membership as Membership,
    TooMuchState as TooMuchState,
    TooOld as TooOld,
)
from nomospace.control.redo import redo as redo
from nomospace.control.snapshot import Snapshot as Snapshot
