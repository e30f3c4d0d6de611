"""`nomospace check` and `nomospace test`: what keeps a source checkout in order.

Both only start the real tools (ruff, mypy, import-linter, pytest) with the interpreter that runs
this, so that the versions are those of the lock. Outside a checkout there is nothing to check.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from nomospace.cli.checkout import checkout

check_app = typer.Typer(add_completion=False)
pytest_app = typer.Typer(add_completion=False)

QUICK: Final = (
    "terms",
    "calls",
    "law",
    "laws",
    "meaning",
    "trust",
    "control",
    "scenarios",
    "space",
    "protocols",
    "host",
    "services",
    "sessions",
    "wire",
)
"""The rooms whose tests start no other process: what most changes break first, they notice."""

WITH_SERVERS: Final = "tests/unit/meaning/sql"
"""What is left out of these: it asks databases."""
_PLACES: Final = ("tests/unit", "src/nomospace")

_LINT_IMPORTS = "from importlinter.cli import lint_imports_command as c; c(['--no-logo'])"


MEMORY_OF_TESTS: Final = 3 * 1024**3
"""What a process of the tests and the servers that it starts may take, in bytes."""


@check_app.command()
def check(
    *, fix: Annotated[bool, typer.Option("--fix", help="Format and mend what can be.")] = False
) -> None:
    """Check format, lint, strict types and import layers; all of them, whatever fails."""
    root = checkout()
    module = [sys.executable, "-P", "-m"]
    steps = {
        "format": [*module, "ruff", "format", "--quiet", *([] if fix else ["--diff"]), "."],
        "lint": [*module, "ruff", "check", "--quiet", *(["--fix"] if fix else []), "."],
        "types": [*module, "mypy", "--no-error-summary", "src", "tests"],
        # without -P: one contract is a class in tests/, found from the root of the tree
        "layers": [sys.executable, "-c", _LINT_IMPORTS],
    }
    if fix:  # mending lint can unsettle the format, so it goes first
        steps = {"lint": steps.pop("lint"), **steps}
    failed = [name for name, command in steps.items() if not _passes(name, command, root)]
    if failed:
        print(f"failed: {', '.join(failed)}")
        raise typer.Exit(1)


def _passes(name: str, command: list[str], root: Path) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    fine = done.returncode == 0
    print(
        f"{name:<7} {'ok' if fine else 'FAILED':<6} {time.monotonic() - began:5.1f} s", flush=True
    )
    if not fine:
        print(done.stdout.rstrip(), flush=True)
    return fine


def _have_spark() -> None:
    """Spark is part of what is tested. Without a network its tests fail, and all others run."""
    from nomospace.cli.spark import NotInstalled, ensure_spark

    try:
        ensure_spark(archive=False)
    except NotInstalled as error:
        print(error, file=sys.stderr, flush=True)


def quick_arguments(root: Path, arguments: list[str]) -> list[str]:
    """What pytest is told for a quick run: the rooms of `QUICK`, or what is named instead.

    >>> quick_arguments(checkout(), ["tests/unit/law", "-x"])
    ['-m', 'not slow', 'tests/unit/law', '-x']
    >>> quick_arguments(checkout(), ["-x"])[-4:]
    ['src/nomospace/sessions', 'tests/unit/wire', 'src/nomospace/wire', '-x']
    """
    if any((root / word.partition("::")[0]).exists() for word in arguments if word):
        return ["-m", "not slow", *arguments]
    places = [f"{where}/{room}" for room in QUICK for where in _PLACES]
    there = [place for place in places if (root / place).exists()]
    return ["-m", "not slow", f"--ignore={WITH_SERVERS}", *there, *arguments]


def processes_for_tests(*, quick: bool = False) -> int:
    """How many processes run the tests: three for each core, where there is memory; two at least.

    Many tests wait for hosts, servers or pages that they have started; those of a quick run do not.

    >>> 2 <= processes_for_tests(quick=True) <= processes_for_tests()
    True
    """
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(2, min(cores if quick else 3 * cores, memory // MEMORY_OF_TESTS))


@pytest_app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_tests(
    context: typer.Context,
    *,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Only the inner rooms: no servers, Spark or browser, about a minute."
        ),
    ] = False,
) -> None:
    """Run the tests and the doctests in several processes; further arguments go to pytest."""
    root = checkout()
    arguments = list(context.args)
    if quick:
        arguments = quick_arguments(root, arguments)
    else:
        _have_spark()
        # What else they want of the system; it lies beside the tests, so it is found from the root.
        subprocess.run([sys.executable, "-m", "tests.parts", *arguments], cwd=root, check=False)
    if not any(a.startswith(("-n", "--numprocesses", "--processes")) for a in arguments):
        arguments = ["--processes", str(processes_for_tests(quick=quick)), *arguments]
    # The tests start hundreds of processes: each would compile what it imports, all over again.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # In the place of this process: whoever ends the run by a signal ends the tests, too.
    words = [sys.executable, "-P", "-m", "pytest", "-p", "nomospace_lab.cli.forks", *arguments]
    os.chdir(root)
    os.execve(sys.executable, words, environment)
