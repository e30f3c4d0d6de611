"""Commands of the laboratory, the package `nomospace_lab`, which may be missing.

It plugs them in by tables in `nomospace_lab.commands`. Their names stand here too, so that somebody
without it is told what brings it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from nomospace.extras import ExtraMissing, is_here

if TYPE_CHECKING:
    import typer

    from nomospace.cli import Command

PACKAGE: Final = "nomospace_lab"
COMMANDS: Final = ("up", "sim", "bench")
"""What it has of its own."""
FOR_CLONES: Final = ("test", "check")
"""What it has for clones, where it is always there."""
PARTS: Final = {"journal": ("make",), "pipeline": ("sweep",)}
"""What it adds to commands of the runtime."""


def commands() -> dict[str, Command]:
    """Its commands; none where it is missing.

    >>> sorted(commands()) == sorted(COMMANDS + FOR_CLONES)
    True
    """
    found: dict[str, Command] = _tables().COMMANDS if is_here("lab") else {}
    return found


def missing(what: str) -> ExtraMissing:
    """The sentence for a command that the laboratory has.

    >>> print(missing("nomospace up"))
    nomospace up needs nomospace_lab, which is not installed; bring it with: pip install
    'nomospace[lab]'
    """
    return ExtraMissing(what=what, module=PACKAGE, extra="lab")


def plug(app: typer.Typer, name: str) -> None:
    """Add the parts that the laboratory has of a command; without it they say what brings it."""
    for part in PARTS[name]:
        path = f"{name} {part}"
        if is_here("lab"):
            module, function = _tables().PARTS[path]
            app.command(part)(getattr(import_module(module), function))
        else:
            _refuse(app, part, path)


def _refuse(app: typer.Typer, part: str, path: str) -> None:
    # Whatever follows its name: the sentence is about the command, not about its options.
    @app.command(
        part,
        hidden=True,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def refuse() -> NoReturn:
        raise missing(f"nomospace {path}")


def _tables() -> Any:
    return import_module(f"{PACKAGE}.commands")
