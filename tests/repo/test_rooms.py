"""The rooms keep their walls: pure rooms stay pure, and the import contract sees a breach."""

import ast
import tomllib
from functools import cache

import grimp
import pytest

from tests.repo.rooms import (
    IMPURE_MODULES,
    LABORATORY,
    PACKAGE,
    PURE_ROOMS,
    ROOT,
    granted,
    imported,
    modules_of,
    sets_in_loops,
)

ROWS: list[str] = next(
    contract["rows"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    if contract["type"] == "rooms"
)


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_pure_rooms_own_no_clock_chance_wire_or_thread(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules_of(room)
        for line, name in imported(ast.parse(path.read_text("utf-8")))
        if name.partition(".")[0] in IMPURE_MODULES
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_pure_rooms_do_not_loop_over_sets(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} loops over a set; sort it first"
        for path in modules_of(room)
        for line in sets_in_loops(ast.parse(path.read_text("utf-8")))
    ]
    assert not found, "\n".join(found)


def test_the_guards_see_what_they_guard_against() -> None:
    tree = ast.parse("def f():\n    from os import path\nfor x in {1, 2}:\n    pass\n")
    assert list(imported(tree)) == [(2, "os")]
    assert list(sets_in_loops(tree)) == [3]
    assert not list(sets_in_loops(ast.parse("for x in sorted({1, 2}):\n    pass\n")))


@pytest.mark.parametrize(
    ("importer", "target", "allowed"),
    [
        ("nomospace.law.parse", "nomospace.terms", True),
        ("nomospace.law.parse", "nomospace.errors", True),
        ("nomospace.terms.text", "nomospace.law", False),
        ("nomospace.space.index", "nomospace.law.parse", False),
        ("nomospace.wire.frames", "nomospace.protocols.messages", True),
        ("nomospace.wire.frames", "nomospace.store", False),
        ("nomospace_lab.sim.world", "nomospace.store.memory", True),
        ("nomospace_lab.sim.world", "nomospace.store.sqlite", False),
        ("nomospace_lab.apps.wall.world", "nomospace_lab.sim", True),
        ("nomospace_lab.sim.world", "nomospace_lab.apps", False),
        ("nomospace_lab.bench.run", "nomospace.node", True),
        ("nomospace.cli.law", "nomospace_lab.sim", False),
        ("nomospace.law.parse", "nomospace_lab.sim", False),
        ("nomospace.law.parse", "nomospace.lawless", False),
        ("nomospace.law.parse", "nomospace", False),
        ("nomospace.cli.law", "nomospace", True),
        ("nomospace", "nomospace.law", True),
        ("nomospace.law.parse", "msgspec", True),
    ],
)
def test_a_room_imports_only_what_its_row_grants(importer: str, target: str, allowed: bool) -> None:
    assert granted(importer, target, ROWS) is allowed


def test_every_room_that_exists_has_a_row() -> None:
    rooms = {
        f"{before}{p.stem}"
        for before, package in (("", PACKAGE), ("lab.", LABORATORY))
        for p in package.iterdir()
        if p.suffix == ".py" or any(p.rglob("*.py"))
    }
    assert rooms - {"__init__", "lab.__init__"} <= {row.partition(":")[0] for row in ROWS}


@cache
def graph_of_imports() -> grimp.ImportGraph:
    return grimp.build_graph("nomospace", "nomospace_lab", cache_dir=None)


def test_the_runtime_never_imports_the_laboratory() -> None:
    graph = graph_of_imports()
    users = {
        importer
        for importer in graph.modules
        if f"{importer}.".startswith("nomospace.")
        and any(
            f"{target}.".startswith("nomospace_lab.")
            for target in graph.find_modules_directly_imported_by(importer)
        )
    }
    assert not users


def in_cycles(imports: dict[str, set[str]]) -> set[str]:
    """The modules that lead back to themselves, and those on the way between two that do."""
    left = dict(imports)
    while True:
        wanted = {target for targets in left.values() for target in targets}
        ends = {m for m, targets in left.items() if m not in wanted or not targets & left.keys()}
        if not ends:
            return set(left)
        left = {m: targets - ends for m, targets in left.items() if m not in ends}


def test_the_parts_of_a_host_know_no_part_that_knows_them() -> None:
    """Imports for the type checker alone count too: 24 files could only be read together."""
    graph = graph_of_imports()
    host = {"nomospace.host", *graph.find_descendants("nomospace.host")}
    imports = {m: graph.find_modules_directly_imported_by(m) & host for m in host}
    assert sorted(in_cycles(imports)) == []
    chain = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert in_cycles(chain) == {"b", "c"}


def test_every_import_in_the_package_is_granted() -> None:
    graph = graph_of_imports()
    breaches = [
        f"{importer} imports {target}"
        for importer in sorted(graph.modules)
        for target in sorted(graph.find_modules_directly_imported_by(importer))
        if not granted(importer, target, ROWS)
    ]
    assert not breaches, "\n".join(breaches)
