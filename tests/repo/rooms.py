"""The rooms of the package, and the import contract that guards what each may import.

import-linter's own layers say only which way imports point. `RoomsContract` reads the rest of the
table from pyproject.toml: a row per room with what it may import besides itself and `errors`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "nomospace"
LABORATORY = ROOT / "src" / "nomospace_lab"

# Cores: told facts, answer with orders. No clock, chance, wire or thread of their own.
PURE_ROOMS = (
    "errors",
    "terms",
    "calls",
    "law",
    "meaning",
    "trust",
    "control",
    "scenarios",
    "space",
    "protocols",
    "host",
    "services",
    "sessions",
)
IMPURE_MODULES = frozenset(
    {"asyncio", "logging", "os", "random", "socket", "subprocess", "threading", "time"}
)


def modules_of(room: str) -> list[Path]:
    """The files of a room, which is a folder or a single module; none while it is unbuilt."""
    single = PACKAGE / f"{room}.py"
    return [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.lineno, node.module


def sets_in_loops(tree: ast.AST) -> Iterator[int]:
    """Lines of `for` statements that walk a set written there, in an order that no seed fixes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor):
            walked = node.iter
            named = isinstance(walked, ast.Call) and isinstance(walked.func, ast.Name)
            if isinstance(walked, ast.Set | ast.SetComp) or (
                named and ast.unparse(walked).startswith(("set(", "frozenset("))
            ):
                yield node.lineno


class RoomsContract(Contract):
    """Every import between rooms is one that the importer's row grants."""

    type_name = "rooms"

    rows = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compare each direct import inside the package with the table."""
        rows: list[str] = self.rows  # type: ignore[assignment]  # import-linter fills fields in
        breaches = []
        for importer in sorted(graph.modules):
            for target in sorted(graph.find_modules_directly_imported_by(importer)):
                if not granted(importer, target, rows):
                    lines = graph.get_import_details(importer=importer, imported=target)
                    breaches.append((importer, target, [d["line_number"] for d in lines]))
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name each import that no row grants."""
        for importer, target, lines in check.metadata["breaches"]:
            where = ", ".join(f"l.{n}" for n in lines) or "unknown line"
            output.print_error(f"{importer} may not import {target} ({where})", bold=False)
        output.new_line()


def granted(importer: str, target: str, rows: list[str]) -> bool:
    """Whether a row lets `importer` import `target`; names outside the packages always pass."""
    user, used = _short(importer), _short(target)
    if used is None or user in (None, "", "lab"):
        return True  # a package itself is its face, and may import any room
    of_lab = user.startswith("lab.")
    room = ".".join(user.split(".")[: 1 + of_lab])
    table = dict(row.split(":", 1) for row in rows)
    grants = table.get(room, "").split()
    allowed = [f"{name}." for name in ("errors", room, *grants)]
    if "*" in grants:
        return of_lab or not f"{used}.".startswith("lab.")
    return f"{used}.".startswith(tuple(allowed))


def _short(module: str) -> str | None:
    """A module as rows name it: without its package, or after `lab.`; `None` if it is not ours."""
    package, _, inner = module.partition(".")
    if package == "nomospace_lab":
        return f"lab.{inner}".removesuffix(".")
    return inner if package == "nomospace" else None
