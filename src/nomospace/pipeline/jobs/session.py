"""A Spark session of our own: lean, local to the machine unless told otherwise, quick to start.

Half of a session's start is Java reading its classes. A class-data archive saves most of that: it
is made once, by a session in a process of its own (`make_archive`), and belongs to one Java and one
Spark; Java itself puts it aside when it does not fit. Everything else here is thrift: no web pages,
few partitions, no log lines that nobody asked for. Times are UTC, addresses are loopback unless
the master is elsewhere.

A master that does not answer is told within seconds: first by its port, before any Java is started
(`hello`), then by a small task, because a cluster without workers takes every job and does none.

Spark is started from the folder that pip has installed, without its zipped Python (`spark_home`).
It puts `SPARK_HOME/python/lib/pyspark.zip` before everything else that its Python processes
import, and nothing compiled can be kept of a zip: each process that Spark starts, and a stream has
five, spends most of a second on compiling PySpark. Where these processes have the Python of this
one, PySpark is installed beside it, compiled; so Spark is started from a folder of links in a cache
that has its programs and its jars and no zip.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import TYPE_CHECKING, Final

from nomospace.errors import CallerError, Unavailable
from nomospace.pipeline.java import Java, cache_folder, find_java, put_in_place
from nomospace.pipeline.jobs.hello import greet
from nomospace.pipeline.segments import Folders, count_rows, many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOCAL: Final = "local[*]"
PARTITIONS: Final = 4
"""Partitions after a shuffle, on this machine; a cluster sets its own."""
MEMORY_MB: Final = (1_024, 8_192)
"""The least and the most memory that Java is given on this machine; it takes what it needs."""
CONNECT_S: Final = 3.0
"""How long a master may take to take a connection."""
SMALL_EVENTS: Final = 200_000
"""Journals with fewer events are done in this process before Spark has started."""
ANSWER_S: Final = 60.0
"""How long a cluster may take for its first, empty task."""
ARCHIVE_FORM: Final = 2
"""Counts what makes older archives useless: it belongs to the folder that Spark is started from."""
ARCHIVE_S: Final = 180.0
"""How long making the class archive may take before it is given up."""

Say = Callable[[str], None]


class NoSpark(Unavailable):
    """PySpark is not installed."""

    code = "pipeline.no-spark"
    words = (
        "this needs PySpark, which is not installed here; in a checkout `./nomospace pipeline "
        "setup` brings it, elsewhere pip install 'nomospace[spark]'"
    )


class BadMaster(CallerError):
    """No Spark master can be named like this."""

    code = "pipeline.bad-master"
    words = (
        "{master!r} names no Spark master; give local[2], spark://machine:7077, yarn or "
        "k8s://https://machine:6443"
    )
    master: str


class MasterSilent(CallerError):
    """A Spark master does not answer, or its workers take no work."""

    code = "pipeline.master-silent"
    words = "{master} does not answer: {why}; see that it runs, or name another"
    master: str
    why: str


def open_session(
    master: str = LOCAL,
    *,
    name: str = "nomospace",
    config: Mapping[str, str] | None = None,
    say: Say = lambda words: None,
) -> SparkSession:
    """A session on a master; `config` wins over what is set here.

    Raises `BadMaster`, `MasterSilent`, `NoSpark` and `NoJava`, all within seconds. Where this
    process has a session already, that one is given: Spark has one to a process.
    """
    check_master(master)
    java = find_java()
    if not has_spark():
        raise NoSpark
    from pyspark.sql import SparkSession

    began = monotonic()
    say(f"starting Spark {version('pyspark')} on {master} (Java {java.version}, {java.of})")
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**_settings(master, java), **(config or {})}.items():
        builder = builder.config(key, value)
    with _environment(java, master):
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            if is_local(master):
                raise
            raise MasterSilent(master=master, why=_first_line(error)) from error
    if not is_local(master):
        _see_it_work(spark, master)
    say(f"Spark is ready after {monotonic() - began:.1f} s")
    return spark


@contextmanager
def session_for(
    spark: SparkSession | None,
    master: str,
    *,
    wanted: bool = True,
    prepare: Callable[[], None],
    say: Say,
) -> Iterator[SparkSession | None]:
    """The session of a job: the caller's, or one that ends with the job; none if none is wanted."""
    if not wanted or spark is not None:
        yield spark if wanted else None
        return
    prepare()
    made = open_session(master, say=say)
    try:
        yield made
    finally:
        made.stop()


def has_spark() -> bool:
    """Whether PySpark is installed."""
    try:
        return bool(version("pyspark"))
    except PackageNotFoundError:
        return False


def is_local(master: str) -> bool:
    """Whether a master is this very process.

    >>> is_local("local[2]"), is_local("spark://ward:7077")
    (True, False)
    """
    return master.startswith("local")


def stays_here(master: str) -> bool:
    """Whether nothing of a job leaves this machine.

    >>> stays_here("local[2]"), stays_here("spark://127.0.0.1:7077"), stays_here("yarn")
    (True, True, False)
    """
    return is_local(master) or bool(re.match(r"spark://(127\.\d+\.\d+\.\d+|localhost):", master))


# -- the master ------------------------------------------------------------------------------------

_FORMS: Final = re.compile(
    r"local(\[(\*|\d+)(,\d+)?\])?|yarn|spark://[^/:\s]+:\d+(,[^/:\s]+:\d+)*|k8s://\S+"
)


def is_small(folders: Folders, say: Say, *, hint: bool = False) -> bool:
    """Whether a journal is done before Spark would have started; says which way is taken.

    With `hint` Spark was asked for: then only that there is a quicker way is said.
    """
    events = count_rows(folders, "events")
    small = events < SMALL_EVENTS
    told = many(events, "event")
    if not hint:
        say(f"{told}: {'in this process' if small else 'on Spark'}")
    elif small:
        say(f"{told}: --engine auto is quicker than starting Spark")
    return small


def check_master(master: str) -> None:
    """Raise `BadMaster` for a name that is none, `MasterSilent` where no master answers.

    >>> check_master("local[2]")
    >>> check_master("spork://ward")
    Traceback (most recent call last):
    nomospace.pipeline.jobs.session.BadMaster: 'spork://ward' names no Spark master; give ...
    """
    if not _FORMS.fullmatch(master):
        raise BadMaster(master=master)
    if not master.startswith("spark://"):
        return
    silent: list[str] = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        why = greet(host, int(port), connect_s=CONNECT_S)
        if not why:
            return
        silent.append(f"{place}: {why}")
    raise MasterSilent(master=master, why="; ".join(silent))


def _see_it_work(spark: SparkSession, master: str) -> None:
    """Wait for one empty task: a cluster without free workers would keep jobs for ever."""
    failed: list[Exception] = []

    def ask() -> None:
        try:
            spark.range(1).count()
        except Exception as error:
            failed.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ANSWER_S)
    if not failed and not asking.is_alive():
        return
    why = _first_line(failed[0]) if failed else f"no worker took a task in {ANSWER_S:.0f} s"
    spark.stop()
    raise MasterSilent(master=master, why=why)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


# -- settings --------------------------------------------------------------------------------------


_OPTIONS: Final = (
    f"-XX:+UseParallelGC -Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
)
"""What Java is told; an archive fits only a Java that is told the same."""


def _settings(master: str, java: Java) -> dict[str, str]:
    archive = archive_file(java)
    options = _OPTIONS
    if archive.is_file():
        options += (
            f" -Xlog:disable -Xlog:all=error:stderr -Xshare:auto -XX:SharedArchiveFile={archive}"
        )
    settings = {
        "spark.driver.extraJavaOptions": options,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Nothing is kept there, but Spark makes the folder, and by itself wherever it is called.
        "spark.sql.warehouse.dir": str(cache_folder() / "spark-warehouse"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if is_local(master):
        settings["spark.sql.shuffle.partitions"] = str(PARTITIONS)
        settings["spark.driver.memory"] = f"{_memory_mb()}m"
    if stays_here(master):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings


def _memory_mb() -> int:
    """How much Java may take where all work is done in this process: a quarter of the machine's."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return max(MEMORY_MB[0], min(MEMORY_MB[1], whole // 4))


@contextmanager
def _environment(java: Java, master: str) -> Iterator[None]:
    """What Spark reads from the environment, for as long as it starts."""
    wanted = {"JAVA_HOME": str(java.home)}
    wanted.setdefault("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON", sys.executable))
    wanted["PYSPARK_DRIVER_PYTHON"] = sys.executable
    home = spark_home() if master.startswith(("local", "spark:")) else None
    if home is not None:  # other masters' drivers hand the zipped Python on
        wanted["SPARK_HOME"] = str(home)
    if stays_here(master):
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# -- the class archive -----------------------------------------------------------------------------


def archive_file(java: Java) -> Path:
    """Where the class archive of a Java is, made or not."""
    of = f"spark-{version('pyspark')}-java-{java.version}-{java.of}"
    return cache_folder() / f"{of}-{ARCHIVE_FORM}.jsa"


def make_archive(*, say: Say = lambda words: None) -> Path:
    """Make the class archive, if there is none yet: a small session in a process of its own.

    Whoever starts a session meanwhile starts without; the archive appears whole.
    """
    java = find_java()
    archive = archive_file(java)
    if archive.is_file():
        return archive
    began = monotonic()
    say("making Java's class archive, once, up to a minute: Spark starts in half the time with it")
    archive.parent.mkdir(parents=True, exist_ok=True)
    beside = archive.with_name(f".{archive.name}.{os.getpid()}")
    command = [sys.executable, "-m", "nomospace.pipeline.jobs.session", str(beside)]
    try:
        subprocess.run(
            command, check=True, timeout=ARCHIVE_S, stdin=subprocess.DEVNULL, capture_output=True
        )
        beside.replace(archive)
    except (subprocess.SubprocessError, OSError) as error:
        # Only time is lost: sessions start without it.
        say(f"no class archive ({_first_line(error)}); sessions start slower")
    else:
        say(f"class archive made in {monotonic() - began:.1f} s")
    finally:
        beside.unlink(missing_ok=True)
    return archive


def _train(archive: str) -> None:
    """Run a session that loads what jobs load, and let Java write its classes down as it ends."""
    from pyspark.sql.functions import col

    spark = open_session(
        "local[1]",
        config={"spark.driver.extraJavaOptions": f"{_OPTIONS} -XX:ArchiveClassesAtExit={archive}"},
    )
    frame = spark.range(1_000).withColumn("key", col("id") % 7)
    shuffled = frame.repartition(2, "key").sortWithinPartitions("key", "id")
    shuffled.mapInArrow(lambda batches: batches, shuffled.schema).groupBy("key").count().collect()
    process = spark.sparkContext._gateway.proc
    spark.stop()
    process.stdin.close()  # this is how Spark tells its Java to end
    process.wait(ARCHIVE_S)


if __name__ == "__main__":
    _train(sys.argv[1])


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
