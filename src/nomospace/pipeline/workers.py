"""Whether the Python of a session's workers knows nomospace, asked before work is given to them.

A session that somebody else has made runs its workers with the `python3` of the path, unless
`PYSPARK_PYTHON` says otherwise. Where that is another Python than the caller's, every function of
ours fails there, in words of Spark's. One empty task tells beforehand, once a session.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from nomospace.errors import CallerError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_SIGNS: Final = ("ModuleNotFoundError", "PYTHON_VERSION_MISMATCH")
_able: Final[WeakSet[SparkSession]] = WeakSet()


class OtherPython(CallerError):
    """The workers of a Spark session run a Python that nomospace is not installed in."""

    code = "pipeline.other-python"
    words = (
        "the workers of this Spark session cannot run nomospace: {why}; on this machine say "
        "os.environ['PYSPARK_PYTHON'] = {python!r} before the session is made, and on a cluster "
        "install nomospace in its workers' Python, or send it along (spark.archives)"
    )
    why: str
    python: str


def check_workers(spark: SparkSession) -> None:
    """Raise `OtherPython` unless a session's workers can run our functions."""
    if spark in _able:
        return
    try:
        spark.range(1).mapInArrow(_nothing, "id long").collect()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()]
        why = next((line for line in lines if any(sign in line for sign in _SIGNS)), "")
        if not why:
            raise
        raise OtherPython(why=why[:300], python=sys.executable) from None
    _able.add(spark)


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the task does: that it can be loaded is all that is asked."""
    for _ in batches:
        yield from ()
