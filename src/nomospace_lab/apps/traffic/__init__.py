"""Traffic of a large community under one law, as fast as controllers can rule on it.

Worlds (`sim.world`) have networks, losses and disks, and tell what a protocol does. This is for
those who want to see millions of rulings: real memberships are told events in virtual time, and
what they order comes to pass, but there is no network between them. Every ruling is what the
controller says; only who does what, and when, is made up, from a seed.

`drive` is the clockwork, `hospital` the people of law AP, `chatter` those of any other law.
"""

from nomospace_lab.apps.traffic.drive import JournalWord, Traffic
from nomospace_lab.apps.traffic.making import make_traffic

__all__ = ["JournalWord", "Traffic", "make_traffic"]
