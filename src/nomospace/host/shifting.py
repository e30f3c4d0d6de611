"""Tuples that follow a space which is shared or parted, some in each step.

There may be a million of them, and others are served between two steps. The spaces themselves say
how far it has come: what lies where its agent has no others is yet to follow (`holding.shift`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nomospace.host.operations import NO_SEARCH, Look
from nomospace.host.residents import Interface, Resident
from nomospace.space import Slice, Unfinished

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Shift(Look):
    """Tuples on their way into spaces that an agent shares, or out of them with it."""

    __slots__ = ("_host", "_interfaces", "_op", "_resident", "_shared", "_step")

    def __init__(
        self,
        host: HostParts,
        op: int,
        resident: Resident,
        interfaces: list[Interface],
        shared: bool,
    ) -> None:
        super().__init__(resident.id, host.system.space, NO_SEARCH, self._moved, self._moved)
        self._host = host
        self._step = host.step
        self._op = op
        self._resident = resident
        self._interfaces = interfaces
        self._shared = shared

    def move(self) -> bool:
        """Move some; whether there may be more. A later call may want it otherwise by now."""
        holding, resident = self._host.holding, self._resident
        if self._host.spaces.residents.get(resident.id) is not resident:
            return False
        for interface in self._interfaces:
            if interface.shared == self._shared and holding.shift(resident, interface):
                return True
        return False

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """Move some more."""
        if self.move():
            raise Unfinished(search=self.search)
        return []

    def _moved(self, _: object) -> None:
        self._step.answer(self._op)
