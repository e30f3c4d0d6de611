"""A public class name stands for one thing; what is left is listed, with reasons."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.repo.rooms import ROOT

SHARED_MAX = 40
"""How many class names may stand for more than one thing."""

_BLOCKING = "`nomospace.sync` mirrors the client's classes, without `async`"
_TOLD = "the host is told a fact, and tells its protocol or its controllers the same"
_ORDERED = "an operator's order, on the wire and as the host's core is told it"
_TOOL = "arguments of an MCP tool: their schema carries the tool's name"
_SIMULATED = "a part of a simulated world, and what it stands for"
_CLIENT = "a name of the client's interface, and what is behind it on the host"

SHARED = {
    "Agent": _BLOCKING,
    "FrontSpace": _BLOCKING,
    "Host": f"{_BLOCKING}; and the core that `nomospace.Host` runs",
    "Membership": f"{_BLOCKING}; its controller's core, and its schema over HTTP",
    "Network": _BLOCKING,
    "ReactionHandle": _BLOCKING,
    "RemoteHost": _BLOCKING,
    "Space": f"{_BLOCKING}; and the engine behind it",
    "Disengage": f"{_TOLD}; {_ORDERED}",
    "Engage": f"{_TOLD}; {_ORDERED}",
    "Event": _TOLD,
    "Heard": _TOLD,
    "Moved": _TOLD,
    "Tick": _TOLD,
    "Transmit": "what a protocol orders, the host orders of its wires",
    "Resume": _ORDERED,
    "Suspend": _ORDERED,
    "Suspending": "its body over HTTP, and the host's part that does it",
    "Fetch": _TOOL,
    "Look": _TOOL,
    "Move": _TOOL,
    "React": _TOOL,
    "Firing": _CLIENT,
    "Found": _CLIENT,
    "Lease": "a tuple on loan, in its space and among the loans of its host",
    "Letter": _CLIENT,
    "NoSuchWay": "an error of the client's, and of the host that checks again",
    "Registered": "a reaction of an agent, and a host in the book of a controller service",
    "Step": "a step of a host: shared by its parts, joined by listeners, kept by a store",
    "TooManyRows": "an error of the client's, and of the host that checks again",
    "Deed": _SIMULATED,
    "Disk": _SIMULATED,
    "Program": _SIMULATED,
    "Server": _SIMULATED,
    "WaitingInListener": "an error of the client's, and of the host that checks again",
}


def _classes() -> dict[str, list[Path]]:
    """All public classes of modules, by name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT))
    return found


def test_a_public_class_name_stands_for_one_thing() -> None:
    shared = {name: paths for name, paths in _classes().items() if len(paths) > 1}
    news = {name: paths for name, paths in shared.items() if name not in SHARED}
    assert not news, f"say in its name what it is, or list it here with a reason: {news}"
    assert len(shared) <= SHARED_MAX


def test_the_names_that_are_shared_are_few_and_have_reasons() -> None:
    assert len(SHARED) <= SHARED_MAX
    assert all(SHARED.values())
