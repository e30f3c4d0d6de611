"""What every part of a host has at hand: the step, who is here with which spaces, other parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class HostPart:
    """A part of one host."""

    def __init__(self, host: HostParts) -> None:
        self._host = host
        self._step = host.step
        self._spaces = host.spaces
