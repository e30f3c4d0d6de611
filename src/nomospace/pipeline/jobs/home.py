"""The folder that Spark is started from: the one that pip has installed, without its zipped Python.

Spark puts `SPARK_HOME/python/lib/pyspark.zip` before everything else that its Python processes
import, and nothing compiled can be kept of a zip: each process that Spark starts, and a stream has
five, spends most of a second on compiling PySpark. Where these processes have the Python of this
one, PySpark is installed beside it, compiled; so Spark is started from a folder of links in a cache
that has its programs and its jars and no zip.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from nomospace.pipeline.java import cache_folder, put_in_place

_LINKED: Final = ("bin", "sbin", "jars")


def spark_home(
    environment: Mapping[str, str] | None = None, *, cache: Path | None = None
) -> Path | None:
    """Where to start Spark from; none where that is somebody else's to say, or to find.

    That is so if a `SPARK_HOME` is set, and if the Python of Spark's processes is another.
    """
    environment = os.environ if environment is None else environment
    if environment.get("SPARK_HOME"):
        return None
    if environment.get("PYSPARK_PYTHON", sys.executable) != sys.executable:
        return None
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    return _linked(Path(found.origin).parent, cache or cache_folder())


def _linked(installed: Path, cache: Path) -> Path | None:
    made = cache / f"spark-{sha256(str(installed).encode()).hexdigest()[:16]}"
    if made.is_dir():
        return made
    if not all((installed / name).is_dir() for name in _LINKED):
        return None
    cache.mkdir(parents=True, exist_ok=True)
    beside = Path(mkdtemp(dir=cache, prefix=".spark-"))
    for name in _LINKED:
        (beside / name).symlink_to(installed / name)
    put_in_place(beside, made)
    return made
