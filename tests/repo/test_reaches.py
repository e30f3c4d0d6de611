"""No part of a host reaches through the insides of another."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.repo.rooms import modules_of

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
