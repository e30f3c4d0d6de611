"""What a host keeps through a crash: its memberships, its unfinished orders, what it has received.

A membership is stored as it was at adoption and as the changes that its rulings told since.
`write` is one atomic step: the ruling, the orders that must follow it, and the packet that caused
it. So a crash leaves each ruling whole or not at all; orders not yet carried out are carried out
after the restart; and a packet that comes again is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nomospace.control import Effect, Membership, Ruling, Snapshot, redo
from nomospace.law import CompiledLaw

PacketId = tuple[str, int, int]

RECEIVED_MAX: Final = 10_000
"""So many packets are remembered for each member; one that comes again after more is taken."""
COMPACT_FROM: Final = 256
"""So many rulings are kept as changes before they are folded into the base."""


class DiskMember:
    """One membership on disk."""

    def __init__(self, base: Snapshot, law: CompiledLaw) -> None:
        self.base = base
        self.law = law
        self.born = tuple([term for _, term in base.state])  # the state before the first ruling
        self.log: list[Ruling] = []
        self.unfinished: tuple[Ruling, Sequence[Effect], int] | None = None  # and the next order
        self.received: dict[PacketId, None] = {}  # oldest first
        self.memory: dict[str, Any] = {}  # the agent's own

    @property
    def seq(self) -> int:
        """The number of the last ruling on disk."""
        return self.log[-1].seq if self.log else self.base.seq

    def restore(self) -> Membership:
        """The membership as the disk has it."""
        return Membership.restore(self.law, redo(self.base, self.log))


class Disk:
    """The disk of one host."""

    def __init__(self) -> None:
        self.members: dict[str, DiskMember] = {}

    def adopt(self, member: Membership) -> DiskMember:
        """Store a membership at its birth, before its first ruling."""
        stored = self.members[member.home] = DiskMember(member.snapshot(), member.law)
        return stored

    def write(
        self, home: str, ruling: Ruling, orders: Sequence[Effect], cause: PacketId | None
    ) -> None:
        """Store a ruling, what must follow it, and what caused it, in one step."""
        stored = self.members[home]
        assert stored.unfinished is None, "orders of one ruling come before the next ruling"
        stored.log.append(ruling)
        if orders:
            stored.unfinished = (ruling, orders, 0)
        if cause is not None:
            stored.received[cause] = None
            if len(stored.received) > RECEIVED_MAX:
                del stored.received[next(iter(stored.received))]
        if len(stored.log) >= COMPACT_FROM:
            stored.base = redo(stored.base, stored.log)
            stored.log.clear()

    def carried_out(self, home: str, upto: int) -> None:
        """Note that the orders of the last ruling are done up to a place."""
        stored = self.members[home]
        assert stored.unfinished is not None
        ruling, orders, _ = stored.unfinished
        stored.unfinished = (ruling, orders, upto) if upto < len(orders) else None
