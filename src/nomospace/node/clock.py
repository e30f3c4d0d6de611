"""A host's clock: microseconds, UTC, that never go back and never jump.

A machine's clock is set by people and by other machines; obligations and leases must not fall due
because of that. So the machine's clock is asked once, when the host starts, and from then on time
passes as the kernel counts it since the machine was started, sleep included.

After a restart of the host the kernel's count tells how long it was away, if the machine has been
up all the time (`boot` names one start of the machine). Otherwise the machine's clock is believed,
but never back behind what the host has seen.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from nomospace.protocols.births import ERA_US

BORN_MAX: Final = 10_000
"""So many names are remembered that hosts of this process were born under."""
_born: Final[dict[str, int]] = {}
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class ClockMark(msgspec.Struct, frozen=True, array_like=True):
    """A moment on both clocks: the host's, and the kernel's since `boot`."""

    at: int = 0
    kernel: int = 0
    boot: int = 0


_kernel_ns: Final = (
    partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic_ns
)
"""Nanoseconds since the machine was started, also while it slept."""


def steady_us() -> int:
    """Microseconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    return _kernel_ns() // 1000


def wall_us() -> int:
    """Microseconds of the machine's clock, UTC, which people and other machines set."""
    return time.time_ns() // 1000


def _boot() -> int:
    """A number for this start of the machine; 0 when it cannot be told apart from others."""
    try:
        return int(_BOOT_ID.read_text("ascii").replace("-", "")[:15], 16)
    except (OSError, ValueError):
        return 0


def draw_birth(name: str) -> int:
    """A birth for a host: now, and an era at least after the last one here under its name.

    Another process takes longer than that to start.
    """
    birth = max(wall_us(), _born.pop(name, 0) + ERA_US)
    _born[name] = birth
    if len(_born) > BORN_MAX:
        del _born[next(iter(_born))]
    return birth


class Clock:
    """The clock of one life of a host, going on from the last mark of the life before.

    >>> clock = Clock(ClockMark(at=10**18))  # the machine's clock was set back since
    >>> 10**18 <= clock.now() <= clock.now()
    True
    """

    def __init__(self, last: ClockMark = ClockMark()) -> None:  # noqa: B008 - a mark never changes
        kernel, boot = _kernel_ns() // 1000, _boot()
        if boot and boot == last.boot and kernel >= last.kernel:
            begins = last.at + kernel - last.kernel
        else:
            begins = max(wall_us(), last.at)
        self._boot = boot
        self._offset = begins - kernel

    def now(self) -> int:
        """The time."""
        return self._offset + _kernel_ns() // 1000

    def mark(self) -> ClockMark:
        """This moment, to be kept for the next life."""
        kernel = _kernel_ns() // 1000
        return ClockMark(self._offset + kernel, kernel, self._boot)
