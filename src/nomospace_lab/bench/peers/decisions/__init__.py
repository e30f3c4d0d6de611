"""One decision of a small stateful policy: the policy, its cases, its floor, its peers.

The policy: `out([msg(M),from(X),to(Y)])` is allowed if X is the sender and the sender's state has
no `blocked(kind)`; `in([msg(M),from(X),to(Y)])` is allowed if Y is the sender; nothing else is.
It is laws MP and SB in little: a name that cannot be forged, and a state that can shut one up.

A driver's `prepare()` compiles the policy once, as far as its engine allows, and gives an `Engine`:
from a member's state to a function that decides one request. Where an engine can hold state it is
handed over there; where it cannot, it rides along as attributes or facts of each request. What a
decision takes are plain strings: turning them into the engine's own values is part of its cost.
Drivers import their engine inside `prepare`, because it is installed only where they run.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from nomospace_lab.bench.peers.harness import Case, Decide
from nomospace_lab.bench.peers.install import PeerPackage

CASES: tuple[tuple[Case, bool], ...] = (
    (("alice", "out", "hello", "alice", "bob", []), True),
    (("alice", "out", "hello", "alice", "bob", ["kind"]), False),
    (("alice", "out", "hello", "carol", "bob", []), False),
    (("alice", "out", "hello", "alice", "bob", ["noise", "gossip"]), True),
    (("bob", "in", "hello", "alice", "bob", []), True),
    (("carol", "in", "hello", "alice", "bob", []), False),
    (("bob", "in", "hello", "alice", "bob", ["noise", "kind"]), True),
    (("bob", "rd", "hello", "alice", "bob", []), False),
)
"""Each request with the right answer: half are allowed, and every reason to refuse occurs."""


def floor(blocked: Sequence[str]) -> Decide:
    """The policy as a closure by hand, answering the rule that allowed: nothing can be quicker.

    >>> floor([])("alice", "out", "hello", "alice", "bob")
    'R1'
    >>> floor(["kind"])("alice", "out", "hello", "alice", "bob") is None
    True
    """
    state = set(blocked)

    def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
        if operation == "out":
            if source == sender and "kind" not in state:
                return "R1"
        elif operation == "in" and target == sender:
            return "R2"
        return None

    return decide


def _swi_prolog(least: int, remedy: str) -> Callable[[], tuple[str, str] | None]:
    """Ask for a SWI-Prolog of at least this version, written as SWI does: 90112 is 9.1.12."""

    def needs() -> tuple[str, str] | None:
        if shutil.which("swipl") is None:
            return "it needs SWI-Prolog, and there is no `swipl` on the path", remedy
        told = subprocess.run(
            ["swipl", "--dump-runtime-variables"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        ).stdout
        variables = dict(line.rstrip(";").split("=", 1) for line in told.splitlines())
        version = int(variables.get("PLVERSION", "0").strip('"') or 0)
        if version < least:
            return f"it needs SWI-Prolog {_dotted(least)}; `swipl` is {_dotted(version)}", remedy
        return None

    return needs


def _dotted(version: int) -> str:
    return f"{version // 10_000}.{version // 100 % 100}.{version % 100}"


def _driver(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.py")


PEERS: tuple[PeerPackage, ...] = (
    PeerPackage(
        name="janus-swi",
        version="1.5.3",
        driver=_driver("janus_swi"),
        needs=_swi_prolog(90112, "build a newer one: https://www.swi-prolog.org/Download.html"),
    ),
    PeerPackage(
        name="agent-os-kernel",
        version="3.7.0",
        driver=_driver("agent_os_kernel"),
        besides=("pyyaml==6.0.3",),
    ),
    PeerPackage(
        name="common-expression-language",
        version="0.10.0",
        driver=_driver("common_expression_language"),
    ),
    PeerPackage(
        name="pyswip",
        version="0.3.3",
        driver=_driver("pyswip"),
        needs=_swi_prolog(90004, "run: apt-get install swi-prolog-nox"),
    ),
    PeerPackage(name="biscuit-python", version="0.4.0", driver=_driver("biscuit_python")),
    PeerPackage(name="casbin", version="1.43.0", driver=_driver("casbin")),
    PeerPackage(name="cedarpy", version="4.12.2", driver=_driver("cedarpy")),
    PeerPackage(name="regopy", version="1.5.2", driver=_driver("regopy")),
)
"""Who else could decide this; the newest versions on the day they were pinned."""
