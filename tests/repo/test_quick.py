"""`./nomospace test --quick`: the rooms that it runs, and that these start no server."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from nomospace_lab.cli import repo
from tests.repo.rooms import PURE_ROOMS, ROOT

SERVERS = frozenset(
    {"playwright", "psycopg", "pyspark", "tests.nursery", "tests.parity.processes", "tests.servers"}
)


@cache
def imports(file: Path) -> frozenset[str]:
    """What a test imports, and what the helpers do that it imports."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(name.name for name in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
            found.update(dict.fromkeys([node.module, *names]))
    helpers = [ROOT / f"{name.replace('.', '/')}.py" for name in found if name.startswith("tests.")]
    return frozenset(found).union(*[imports(one) for one in helpers if one.exists()])


def test_every_pure_room_is_in_it() -> None:
    assert {*repo.QUICK} >= {*PURE_ROOMS} - {"errors"}
    told = repo.quick_arguments(ROOT, [])
    assert told[:2] == ["-m", "not slow"]
    for place in told[3:]:
        assert (ROOT / place).is_dir()


def test_no_test_in_it_starts_a_server() -> None:
    files = [file for room in repo.QUICK for file in (ROOT / "tests/unit" / room).rglob("*.py")]
    left_out = ROOT / repo.WITH_SERVERS
    assert left_out.is_dir()
    assert len(files) > 100
    starts = {file for file in files if imports(file) & SERVERS}
    assert {file for file in starts if not file.is_relative_to(left_out)} == set()


def test_what_is_named_is_run_instead() -> None:
    told = repo.quick_arguments(ROOT, ["tests/repo/test_quick.py::test_a", "-x"])
    assert told == ["-m", "not slow", "tests/repo/test_quick.py::test_a", "-x"]
