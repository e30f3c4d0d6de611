"""No part of a host reaches through the insides of another, and few call each other both ways."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.repo.rooms import modules_of

BOTH_WAYS: Final = {
    "a step of a space has an outcome, and what is done about it may be another step": (
        "lending outcomes",
        "looking outcomes",
        "outcomes placing",
        "outcomes reacting",
    ),
    "what is at home elsewhere is found, aimed and sent by those that know where it lies": (
        "group partitioning",
        "holding partitioning",
        "partitioning placing",
        "partitioning reacting",
        "partitioning seeking",
    ),
    "an operation under law is a message: asked of its controller, done when that has ruled": (
        "certifying governing",
        "governed governing",
        "governed reacting",
        "governed seeking",
        "governed writing",
        "governing mailing",
        "governing moving",
    ),
    "what is put off is kept by one part, and done by the other when it is time": (
        "deciding governing",
        "deciding suspending",
        "governed suspending",
        "governing suspending",
        "looking system",
        "reacting suspending",
        "serving suspending",
    ),
    "an operation looks at other hosts by turns, and each turn ends with its own next one": (
        "claiming collecting",
        "claiming seeking",
        "collecting seeking",
    ),
    "a birth, a tuple, a letter or an agent goes out by the one and comes in by the other": (
        "group peers",
        "group placing",
        "holding moving",
        "holding placing",
        "mailing posting",
        "moving posting",
        "peers posting",
    ),
}
"""Pairs of modules whose parts call each other, by why. Whoever parts a pair takes it out; whoever
needs another one first looks for a fact that one of the two could be told (`part.GroupFollower`,
the tables of `core`)."""
PUBLISHED: Final = frozenset({"entries", "residents", "view", "where"})
"""Values that a part publishes: a dictionary or a struct, to be read by all."""


def reaches(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Where something of `host.part.inside` is used: lines, and what."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
            continue
        inside, part = node.value, node.value.value
        if not isinstance(part, ast.Attribute) or inside.attr in PUBLISHED:
            continue
        if ast.unparse(part.value) in ("host", "self._host"):
            yield node.lineno, ast.unparse(node)


def test_it_is_seen() -> None:
    code = (
        "def f(self, host):\n    host.group.where.get(1)\n    self._host.posting.courier.tick()\n"
    )
    assert list(reaches(ast.parse(code))) == [(3, "self._host.posting.courier.tick")]


def test_parts_of_a_host_do_not_reach_through_each_other() -> None:
    found: list[str] = []
    for path in modules_of("host"):
        tree = ast.parse(Path(path).read_text("utf-8"))
        found += [f"{path.name}:{line}: {what}" for line, what in reaches(tree)]
    assert not found, "\n".join(found)


def parts_of_a_host() -> dict[str, str]:
    """The modules of a host's parts, by what `core.Host` calls them."""
    homes = {
        node.name: path.stem
        for path in modules_of("host")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    core = next(path for path in modules_of("host") if path.stem == "core")
    made = ast.walk(ast.parse(core.read_text("utf-8")))
    return {
        node.targets[0].attr: homes[node.value.func.id]
        for node in made
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in homes
    }


def asked(tree: ast.AST, parts: dict[str, str]) -> set[str]:
    """The modules whose parts are asked for something, or looked at."""
    return {
        parts[node.attr]
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in parts
        and ast.unparse(node.value) in ("host", "self._host")
    }


def test_few_parts_call_each_other_both_ways() -> None:
    parts = parts_of_a_host()
    assert len(parts) > 25
    trees = {path.stem: ast.parse(path.read_text("utf-8")) for path in modules_of("host")}
    calls = {name: asked(tree, parts) for name, tree in trees.items() if name != "core"}
    both = {
        " ".join(sorted((one, other)))
        for one, others in calls.items()
        for other in others
        if one != other and one in calls.get(other, ())
    }
    assert both == {pair for pairs in BOTH_WAYS.values() for pair in pairs}
