"""`nomospace doctor`: what is missing on this machine, and the command that mends it."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import typer

from nomospace.cli.repo import NoCheckout, checkout

app = typer.Typer(add_completion=False)

PYTHON_MIN = (3, 11)
FREE_MB_MIN = 500


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `mend` is a command to run, and empty when nothing needs mending."""

    what: str
    state: Literal["ok", "missing", "optional"]
    found: str
    mend: str = ""


@app.command()
def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Say what is missing here and what mends it; exit code 1 when something needed is."""
    findings = list(examine())
    ok = all(f.state != "missing" for f in findings)
    if as_json:
        print(json.dumps({"ok": ok, "findings": [asdict(f) for f in findings]}, indent=2))
    else:
        for f in findings:
            print(f"{f.state:<8} {f.what:<9} {f.found}")
            if f.mend:
                print(f"{'':<18} mend: {f.mend}")
    if not ok:
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    """Look at each thing once, in the order in which they build on each other."""
    yield _python()
    yield _packages()
    yield _disk()
    yield _tool("git", "to fetch changes", "sudo apt-get install -y git")
    yield _tool("uv", "makes the environment in a second or two", "pipx install uv")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        return Finding("python", "missing", version, "install Python 3.11, set NOMOSPACE_PYTHON")
    return Finding("python", "ok", f"{version} at {sys.executable}")


def _packages() -> Finding:
    """Compare what is installed with the lock, or without one with what the wheel asks for."""
    try:
        from packaging.requirements import Requirement
    except ImportError:  # part of the lock, but nothing that the wheel itself needs
        return Finding("packages", "optional", "cannot be compared", "pip install packaging")
    try:
        lines = (checkout() / "requirements.lock").read_text("utf-8").splitlines()
        wanted = [line.rstrip(" \\") for line in lines if line[:1].isalnum()]
        mend = "rm -r .venv && ./nomospace doctor"
    except NoCheckout:
        wanted = metadata.requires("nomospace") or []
        mend = "pip install --force-reinstall nomospace"
    here = [r for r in map(Requirement, wanted) if r.marker is None or r.marker.evaluate()]
    wrong = []
    for requirement in here:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is not installed")
            continue
        if version not in requirement.specifier:
            wrong.append(f"{requirement.name} is {version}, not {requirement.specifier}")
    if wrong:
        return Finding("packages", "missing", "; ".join(wrong), mend)
    return Finding("packages", "ok", f"all {len(here)} as asked for")


def _disk() -> Finding:
    free_mb = shutil.disk_usage(Path.cwd()).free // 2**20
    found = f"{free_mb} MB free in {Path.cwd()}"
    if free_mb < FREE_MB_MIN:
        return Finding("disk", "missing", f"{found}, {FREE_MB_MIN} MB needed", "df -h .")
    return Finding("disk", "ok", found)


def _tool(name: str, use: str, mend: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, "optional", f"not found; {use}", mend)
    return Finding(name, "ok", path)
