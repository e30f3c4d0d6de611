"""Simulated worlds: whole communities under their laws, with chance and time from a seed.

A world runs the very cores that a real host runs. `world` drives them; `clock`, `network`, `disk`
and `faults` are what the real world would do to them; `history` is what happened, `checkers`
judge it, and `workloads` with `runner` put many seeds to the test.
"""

from nomospace.sim.checkers import Checker, Verdict, no, unknown, yes
from nomospace.sim.clock import HOUR_US, MINUTE_US, SECOND_US, Clock, clock_text
from nomospace.sim.faults import Crash, Cut, Fault, Storm, schedule
from nomospace.sim.history import Delivery, Happening, History, Packet, verdict_of
from nomospace.sim.network import Link, Network
from nomospace.sim.runner import Outcome, Report, play, run
from nomospace.sim.simulation import START_US, Simulation
from nomospace.sim.workloads import Workload, find, registry, workload
from nomospace.sim.world import Agent, Certificate, Host, Me, World

__all__ = [
    "HOUR_US",
    "MINUTE_US",
    "SECOND_US",
    "START_US",
    "Agent",
    "Certificate",
    "Checker",
    "Clock",
    "Crash",
    "Cut",
    "Delivery",
    "Fault",
    "Happening",
    "History",
    "Host",
    "Link",
    "Me",
    "Network",
    "Outcome",
    "Packet",
    "Report",
    "Simulation",
    "Storm",
    "Verdict",
    "Workload",
    "World",
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
