"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> dict[str, str | int | float]:
    """Say which machine this is and how busy it was, so that a figure can be judged later.

    >>> sorted(describe())
    ['cores', 'cpu', 'load', 'python', 'system']
    """
    return {
        "cpu": _cpu(),
        "cores": _cores(),
        "load": round(os.getloadavg()[0], 2),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cores() -> int:
    """The cores that this process may use: fewer than the machine has in most containers."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()
