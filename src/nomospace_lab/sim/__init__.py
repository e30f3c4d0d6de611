"""Simulated worlds: whole communities under their laws, with chance and time from a seed.

A world runs the very cores that a real host runs. `world` drives them; `clock`, `network`, `disk`
and `faults` are what the real world would do to them; `history` is what happened, `checkers`
judge it, and `workloads` with `runner` put many seeds to the test.
"""

from nomospace_lab.sim.checkers import Checker, Verdict, no, unknown, yes
from nomospace_lab.sim.clock import HOUR_US, MINUTE_US, SECOND_US, VirtualClock, clock_text
from nomospace_lab.sim.faults import Crash, Cut, Fault, Storm, schedule
from nomospace_lab.sim.history import Delivery, Happening, History, Packet, verdict_of
from nomospace_lab.sim.network import Link, SimNetwork
from nomospace_lab.sim.runner import Outcome, SeedReport, play, run
from nomospace_lab.sim.simulation import START_US, Simulation
from nomospace_lab.sim.workloads import Workload, find, registry, workload
from nomospace_lab.sim.world import ProgramContext, World, WorldAgent, WorldCertificate, WorldHost

__all__ = [
    "HOUR_US",
    "MINUTE_US",
    "SECOND_US",
    "START_US",
    "Checker",
    "Crash",
    "Cut",
    "Delivery",
    "Fault",
    "Happening",
    "History",
    "Link",
    "Outcome",
    "Packet",
    "ProgramContext",
    "SeedReport",
    "SimNetwork",
    "Simulation",
    "Storm",
    "Verdict",
    "VirtualClock",
    "Workload",
    "World",
    "WorldAgent",
    "WorldCertificate",
    "WorldHost",
    "clock_text",
    "find",
    "no",
    "play",
    "registry",
    "run",
    "schedule",
    "unknown",
    "verdict_of",
    "workload",
    "yes",
]
