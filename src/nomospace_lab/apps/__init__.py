"""The papers' applications: populations of agents under their laws, each with its worlds.

`load` imports them all, which registers their workloads; nothing here runs by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

WORKLOADS: Final = (
    "hospital",
    "bidding",
    "congestion",
    "messages",
    "wall",
    "federation",
    "jigsaw",
    "leases",
    "redrover",
    "routing",
    "members",
    "assistants",
    "correlation",
    "forgetful",
    "sessions",
    "takeover",
)
"""The applications that have simulated worlds, in the order a newcomer may want to see them."""


def load() -> None:
    """Register every application's workload.

    >>> from nomospace_lab.sim.workloads import registry
    >>> load()
    >>> set(WORKLOADS) <= set(registry)
    True
    """
    for name in WORKLOADS:
        import_module(f"nomospace_lab.apps.{name}.world")
