"""Protocols between hosts, as pure cores: links, engagement, and the messages they use."""

from nomospace.protocols.engagement import Engagement
from nomospace.protocols.events import (
    TICK,
    DeliverRelayed,
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
from nomospace.protocols.rounds import RoundPhase

__all__ = [
    "TICK",
    "Announced",
    "DeliverRelayed",
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
    "Policy",
    "Position",
    "Reachable",
    "RoundPhase",
    "Thaw",
    "Tick",
    "Transmit",
    "View",
    "ViewId",
]
