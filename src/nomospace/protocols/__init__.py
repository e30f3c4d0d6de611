"""Protocols between hosts, as pure cores: links, engagement, and the messages they use.

Here is what authors set a host up with; all else is imported from its module.
"""

from nomospace.protocols.pace import Pace
from nomospace.protocols.policy import Announced, Policy, Position, Reachable

__all__ = ["Announced", "Pace", "Policy", "Position", "Reachable"]
