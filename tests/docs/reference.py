"""The reference pages, written from the code: `python -m tests.docs.reference` rewrites them.

Four pages: the commands with their options, the names of the package, the errors with their codes,
and the HTTP routes. A test holds them to the code, so they never lag behind it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

from typer.main import get_command

import nomospace
from nomospace.cli import commands as all_commands
from nomospace.errors import NomospaceError
from tests.repo.rooms import ROOT

FOLDER: Final = ROOT / "docs" / "reference"
NOTE: Final = "<!-- Written from the code: python -m tests.docs.reference -->"


# -- commands ------------------------------------------------------------------------------------


def commands() -> str:
    """Every command, with its arguments and options."""
    parts = [
        "# The commands",
        NOTE,
        (
            "`nomospace NAME --help` says the same in the terminal. Exit codes: 0 fine; 1 a check "
            "or a run said no, or a part is not available; 2 bad input or usage; 70 a bug of ours; "
            "130 interrupted."
        ),
    ]
    for name, command in all_commands().items():
        app = getattr(import_module(command.module), command.attribute)
        parts.append(f"## {name}\n\n{command.help}")
        parts.extend(_command(f"nomospace {name}", get_command(app)))
    return _page(parts)


def _command(path: str, command: Any) -> Iterator[str]:
    inside = getattr(command, "commands", None)
    if inside:
        for name, one in inside.items():
            yield from _command(f"{path} {name}", one)
        return
    wanted = [one for one in command.params if one.param_type_name == "argument"]
    given = " ".join(_argument(one) for one in wanted)
    yield f"### `{f'{path} {given}'.strip()}`"
    if command.help:
        yield _flat(command.help)
    rows = [
        f"| `{_option(one)}` | {_flat(one.help or '')} |"
        for one in command.params
        if one.param_type_name == "option" and not one.hidden and one.name != "help"
    ]
    if rows:
        yield "\n".join(["| option | what it does |", "| --- | --- |", *rows])


def _argument(one: Any) -> str:
    name = (one.metavar or one.name).strip("[]").upper()
    more = "…" if one.nargs == -1 else ""
    return f"{name}{more}" if one.required else f"[{name}{more}]"


def _option(one: Any) -> str:
    names = ", ".join([*one.opts, *one.secondary_opts])
    if one.is_flag:
        return names
    return f"{names} {(one.metavar or one.name).upper()}"


# -- names ---------------------------------------------------------------------------------------


def names() -> str:
    """The public names of the package, with the methods of its classes."""
    parts = [
        "# The names of the package",
        NOTE,
        (
            "`import nomospace as ns`, then `ns.Host` and so on. `help(ns.Host)` has the examples; "
            "`nomospace.sync` has the same classes without `async`."
        ),
    ]
    for name in sorted(nomospace._FACE, key=lambda one: (one.lower(), one)):
        value = getattr(nomospace, name)
        if inspect.isclass(value) and issubclass(value, NomospaceError):
            continue  # they have a page of their own
        plain = not inspect.isclass(value) and not inspect.isroutine(value)
        parts.append(f"## `{name}`\n\n{_value(value) if plain else _first(value)}")
        if inspect.isclass(value):
            rows = [f"| `{_signature(key, one)}` | {_first(one)} |" for key, one in _methods(value)]
            if rows:
                parts.append("\n".join(["| name | what it does |", "| --- | --- |", *rows]))
        elif not plain:
            parts.append(f"`{_signature(name, value)}`")
    return _page(parts)


def _value(value: Any) -> str:
    """A value in words: as it is written, or what it is when that says nothing."""
    shown = repr(value)
    return _first(type(value)) if " at 0x" in shown else f"The value `{shown}`."


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind):
        if name.startswith("_") or not (callable(value) or isinstance(value, property)):
            continue
        if getattr(value, "__name__", name) != name:
            continue  # a function of another room, which is put there when that room is read
        if (getattr(value, "__doc__", None) or "") and _own(kind, name):
            yield name, value


def _own(kind: type, name: str) -> bool:
    """Whether a name comes from us: dictionaries and tuples have methods of their own."""
    owner = next((one for one in kind.__mro__ if name in vars(one)), None)
    return owner is not None and owner.__module__.startswith("nomospace")


def _signature(name: str, value: Any) -> str:
    if isinstance(value, property) or not callable(value):
        return name
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(…)"
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in found.parameters.values()
        if one.name not in ("self", "cls")
    ]
    return f"{name}{inspect.Signature(bare)}"


# -- errors --------------------------------------------------------------------------------------


def errors() -> str:
    """Every error with its lasting code, by whose move it is."""
    rows = [
        f"| `{kind.code}` | `{kind.name}` | {_whose(kind)} | {kind.about} |" for kind in _kinds()
    ]
    head = ["| code | error | whose move | when |", "| --- | --- | --- | --- |"]
    return _page(
        [
            "# The errors",
            NOTE,
            (
                "Codes last; words may change. Over HTTP the code is in `code` of the problem, and "
                "in `type` behind `urn:nomospace:error:`. *Yours* is a `CallerError`, *later* an "
                "`Unavailable`, *theirs* a `PeerError`, *the law's* a `LawError`, *ours* a `Bug`."
            ),
            "\n".join([*head, *rows]),
        ]
    )


class Kind(NamedTuple):
    """A class of errors as its source has it."""

    name: str
    bases: tuple[str, ...]
    code: str
    about: str


def _kinds() -> list[Kind]:
    """The errors, read from the source: what a part needs to be imported may not be installed."""
    found: list[Kind] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        found += [_kind(node) for node in nodes if isinstance(node, ast.ClassDef)]
    bases = {kind.name: kind.bases for kind in found}
    return [
        kind._replace(bases=tuple(_ancestors(kind.name, bases)))
        for kind in sorted(found, key=lambda kind: (kind.code, kind.name))
        if "." in kind.code and kind.name not in _WHOSE
    ]


def _kind(node: ast.ClassDef) -> Kind:
    codes = [
        one.value.value
        for one in node.body
        if isinstance(one, ast.Assign | ast.AnnAssign)
        and ast.unparse(one.targets[0] if isinstance(one, ast.Assign) else one.target) == "code"
        and isinstance(one.value, ast.Constant)
        and isinstance(one.value.value, str)
    ]
    bases = tuple(getattr(base, "id", getattr(base, "attr", "")) for base in node.bases)
    about = _flat((ast.get_docstring(node) or "").split("\n\n")[0])
    return Kind(node.name, bases, str(codes[0]) if codes else "", about)


def _ancestors(name: str, bases: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for base in bases.get(name, ()):
        yield base
        if base != name:
            yield from _ancestors(base, bases)


_WHOSE: Final = {
    "CallerError": "yours",
    "Unavailable": "later",
    "PeerError": "theirs",
    "LawError": "the law's",
    "Bug": "ours",
}


def _whose(kind: Kind) -> str:
    return next((_WHOSE[base] for base in kind.bases if base in _WHOSE), "")


# -- routes --------------------------------------------------------------------------------------


def routes() -> str:
    """The routes of the HTTP API."""
    from unittest.mock import Mock

    from nomospace.api.http import application

    document = application(Mock()).app.openapi()
    rows = []
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            scope = "" if one.get("security") != [] else " (no token)"
            about = _flat((one.get("description") or one.get("summary") or "").split("\n\n")[0])
            rows.append(f"| `{method.upper()} {path}` | {about}{scope} |")
    return _page(
        [
            "# The HTTP routes",
            NOTE,
            (
                "A running host has the whole document at `/v1/openapi.json`; "
                "[the guide](../api/guide.md) has examples, the WebSocket and the live events."
            ),
            "\n".join(["| route | what it does |", "| --- | --- |", *rows]),
        ]
    )


# -- pages ---------------------------------------------------------------------------------------

PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": commands,
    "names.md": names,
    "errors.md": errors,
    "http.md": routes,
}


def _first(value: Any) -> str:
    """The promise of a docstring: its first sentence, or line."""
    text = inspect.getdoc(value) or ""
    return _flat(text.split("\n\n")[0])


def _flat(text: str) -> str:
    # Brackets of terms are no links.
    return " ".join(text.split()).replace("|", "\\|").replace("](", "]\u200b(")


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, write in PAGES.items():
        (FOLDER / file).write_text(write(), "utf-8")
