"""Protocols between hosts, as pure cores: links, engagement, and the messages they use."""

from nomospace.protocols.engagement import Engagement
from nomospace.protocols.events import (
    TICK,
    Deliver,
    Disengage,
    Effect,
    Engage,
    Event,
    Exchange,
    Exchanged,
    Floor,
    Freeze,
    Heard,
    Info,
    Installed,
    Moved,
    Thaw,
    Tick,
    Transmit,
)
from nomospace.protocols.messages import View, ViewId
from nomospace.protocols.pace import Pace
from nomospace.protocols.policy import Announced, Policy, Position, Reachable
from nomospace.protocols.rounds import Phase

__all__ = [
    "TICK",
    "Announced",
    "Deliver",
    "Disengage",
    "Effect",
    "Engage",
    "Engagement",
    "Event",
    "Exchange",
    "Exchanged",
    "Floor",
    "Freeze",
    "Heard",
    "Info",
    "Installed",
    "Moved",
    "Pace",
    "Phase",
    "Policy",
    "Position",
    "Reachable",
    "Thaw",
    "Tick",
    "Transmit",
    "View",
    "ViewId",
]
