"""The job that streams: it keeps answering a template over a live journal, and writes answers back.

Spark cuts the journal into batches, writes down where each begins and ends, and has one done after
the other; after a failure it begins with the one that was not done. A batch is done in the driver:
its tuples join those that the stream has seen (`stream.state`), the answers that they bring are
found (`stream.answering`), and an agent writes them into a space (`stream.writing`). Each of these
may be done again, so that a job which is killed anywhere and started again with the same checkpoint
writes each answer once.

Spark's own joins of streams are not used: an answer may take any number of tuples, in any order,
however far apart, and `correlate` looks at all tuples that are there.

    CHECKPOINT/stream.json    whose checkpoint this is: host, question, ontology, where answers go
    CHECKPOINT/spark/         how far Spark is
    CHECKPOINT/state/         the tuples that the stream has seen

What an agent of the stream has written itself is no question for it: its answers lie in the same
journal.
"""

from __future__ import annotations

import fcntl
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from signal import SIGINT, SIGTERM
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
import pyarrow as pa

from nomospace.errors import CallerError, Unavailable
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, session_for
from nomospace.pipeline.segments import ddl
from nomospace.pipeline.stream.answering import AnswerEngine, Answering, as_row
from nomospace.pipeline.stream.state import ROWS, BadCheckpoint, Memory
from nomospace.pipeline.stream.tail import HostPlace, JournalTail, RecordRange
from nomospace.pipeline.stream.writing import ROWS_MAX, Target
from nomospace.store.holds import reading
from nomospace.store.private import make_folder, whole
from nomospace.wire.segments import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

RECORDS: Final = 10_000
"""How many records of the journal a batch has at most, unless it is said otherwise."""
END_S: Final = 60.0
"""How long a batch that is under way may take to end when the job is told to."""
LOOK_S: Final = 0.5
IDENTITY: Final = "stream.json"
_BEFORE: Final = (".lock", f".{IDENTITY}.new")
"""What may be in a checkpoint whose first run has hardly begun."""


class TooManyAnswers(CallerError):
    """A batch has more answers than may be written."""

    code = "pipeline.too-many-answers"
    words = (
        "batch {batch} may have more answers than were found ({why}), and none was "
        "written; raise --limit, or ask for less in a new checkpoint"
    )
    batch: int
    why: str


class StreamFailed(Unavailable):
    """Spark has ended a stream."""

    code = "pipeline.stream-failed"
    words = "the stream has ended: {why}; start it again with the same checkpoint"
    why: str


class StreamPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream does.

    `space` is the one whose tuples count, all if empty; `journal` the folder of the host's
    segments; `since` where it begins: `start`, `now` or the number of a record. `trigger` is
    `once`, `available-now` or seconds between batches. `keep_us` is how long tuples are kept.
    """

    source: HostPlace
    target: Target
    checkpoint: Path
    name: str = "stream"
    space: str = ""
    journal: str = ""
    since: str = "start"
    records: int = RECORDS
    trigger: str | float = 1.0
    ever: bool = False
    keep_us: int = 0
    engine: AnswerEngine = AnswerEngine.AUTO


class Streamed(msgspec.Struct):
    """What a job has done: in this run, not in all that went before."""

    batches: int = 0
    tuples: int = 0
    answers: int = 0
    refused: int = 0
    took_s: float = 0.0


class CheckpointIdentity(msgspec.Struct, frozen=True):
    """Whose checkpoint it is. `stream` is made up when it is begun; keys begin with it."""

    stream: str
    name: str
    host: str
    question: str
    ontology: str
    space: str
    into: str
    agent: str
    ever: bool


def run_stream(
    plan: StreamPlan,
    ontology: Ontology,
    question: Question,
    *,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> Streamed:
    """Answer a question over a journal until its trigger ends it, or Ctrl-C or SIGTERM does.

    Everything is looked at before Spark is started. Raises `HostSilent`, `OtherTail`,
    `BadCheckpoint`, what the host refuses, and what `open_session` does; later `RecordsGone`,
    `StateTooLarge`, `TooManyAnswers`, `TooManyRefused`, `RowHeld` and `StreamFailed`.
    """
    if spark is None:
        check_master(master)
    plan = msgspec.structs.replace(plan, checkpoint=plan.checkpoint.resolve())
    tail = JournalTail(_hurried(plan.source), plan.journal)
    bounds = tail.bounds()
    writer = msgspec.structs.replace(plan.target, place=_hurried(plan.target.place))
    agent = writer.check()
    with _alone(plan.checkpoint):
        identity = _identity(plan, bounds, agent, ontology, question)
        if not (plan.checkpoint / "spark").exists():
            tail.begin(plan.since)
        say(f"{bounds.host} has records {bounds.first:,} to {bounds.last:,}")
        with session_for(spark, master, prepare=prepare, say=say) as used:
            assert used is not None
            return _Job(plan, identity, ontology, question, say).run(used)


def _hurried(place: HostPlace) -> HostPlace:
    """A place that is not waited for: the job has not begun, and somebody sits before it."""
    return msgspec.structs.replace(place, patience_s=0.0)


# -- the checkpoint --------------------------------------------------------------------------------


@contextmanager
def _alone(checkpoint: Path) -> Iterator[None]:
    """Be the only one at work with a checkpoint; raises `BadCheckpoint`."""
    try:
        make_folder(checkpoint)
        lock = (checkpoint / ".lock").open("ab")
    except OSError as error:
        why = f"{error.strerror or error}; name a folder that can be written to"
        raise BadCheckpoint(folder=str(checkpoint), why=why) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            why = "another job is at work with it; wait for it, or name another folder"
            raise BadCheckpoint(folder=str(checkpoint), why=why) from None
        yield


def _identity(
    plan: StreamPlan, bounds: RecordRange, agent: str, ontology: Ontology, question: Question
) -> CheckpointIdentity:
    """Whose checkpoint it is, written down by the first run; raises `BadCheckpoint`."""
    folder = str(plan.checkpoint)
    wanted = CheckpointIdentity(
        uuid4().hex,
        plan.name,
        bounds.host,
        f"{question} {question.correlate} {question.max_set}",
        ontology.hash,
        plan.space,
        plan.target.space,
        agent,
        plan.ever,
    )
    place = plan.checkpoint / IDENTITY
    try:
        found = msgspec.json.decode(place.read_bytes(), type=CheckpointIdentity)
    except FileNotFoundError:
        if any(path.name not in _BEFORE for path in plan.checkpoint.iterdir()):
            why = f"it has files and no {IDENTITY}; name an empty folder"
            raise BadCheckpoint(folder=folder, why=why) from None
        with whole(place) as new:
            new.write_bytes(msgspec.json.encode(wanted))
        return wanted
    except msgspec.MsgspecError as error:
        why = f"{IDENTITY} cannot be read ({error}); name an empty folder"
        raise BadCheckpoint(folder=folder, why=why) from None
    for field in CheckpointIdentity.__struct_fields__[1:]:
        before, now = getattr(found, field), getattr(wanted, field)
        if before != now:
            why = f"it was begun with {field} {before!r}, not {now!r}; name another folder"
            raise BadCheckpoint(folder=folder, why=why)
    return found


# -- at work ---------------------------------------------------------------------------------------


class _Job:
    """One run of a stream."""

    def __init__(
        self,
        plan: StreamPlan,
        identity: CheckpointIdentity,
        ontology: Ontology,
        question: Question,
        say: Say,
    ) -> None:
        self._plan = plan
        self._identity = identity
        self._say = say
        self._objects_only = not question.positional
        self._memory = Memory(plan.checkpoint / "state", ever=plan.ever, keep_us=plan.keep_us)
        self._answering = Answering(
            self._memory, ontology, question, ever=plan.ever, engine=plan.engine
        )
        self._done = Streamed()
        self._error: BaseException | None = None

    def run(self, spark: SparkSession) -> Streamed:
        """Start Spark's query, and see it end."""
        from nomospace.pipeline.stream.source import register

        began = monotonic()
        register(spark)
        plan = self._plan
        options = {
            "url": plan.source.url,
            "token": plan.source.token,
            "identity": plan.source.identity,
            "trust": plan.source.trust,
            "journal": plan.journal,
            "from": plan.since,
            "records": str(plan.records),
            "table": "tuples",
        }
        source = spark.readStream.format("nomospace").schema(ddl(TABLES["tuples"]))
        frame = source.options(**options).load()
        writing = frame.writeStream.foreachBatch(self._batch).option(
            "checkpointLocation", str(plan.checkpoint / "spark")
        )
        if plan.trigger == "once":
            writing = writing.trigger(once=True)
        elif plan.trigger == "available-now":
            writing = writing.trigger(availableNow=True)
        else:
            writing = writing.trigger(processingTime=f"{plan.trigger} seconds")
        held = reading(Path(plan.journal)) if plan.journal else nullcontext(_needs_nothing)
        with _told_to_end() as wanted, held as needs:
            query = writing.start()
            try:
                while query.isActive and not wanted.wait(LOOK_S):
                    needs(_done_upto(query))
                if query.isActive:
                    self._say("ending after this batch")
            finally:
                _end(query)
        if self._error is not None:
            raise self._error
        failed = query.exception()
        if failed is not None:
            raise StreamFailed(why=_reason(str(failed))) from failed
        self._done.took_s = monotonic() - began
        return self._done

    def _batch(self, frame: DataFrame, batch: int) -> None:
        """Do a batch; what goes wrong is kept as it is, as Spark would make text of it."""
        try:
            self._do(frame, batch)
        except BaseException as error:
            self._error = error
            raise

    def _do(self, frame: DataFrame, batch: int) -> None:
        rows = self._rows(frame)
        self._done.batches += 1
        self._done.tuples += rows.num_rows
        if not rows.num_rows:
            return
        step = self._memory.after(batch, rows)
        found = self._answering.answers(step, frame.sparkSession)
        for problem in found.problems:
            self._say(f"{problem}; its object was left out")
        if found.cut or len(found.items) > ROWS_MAX:
            raise TooManyAnswers(batch=batch, why=found.cut or f"{ROWS_MAX:,} is the most")
        stream = self._identity.stream
        keyed = [as_row(answer, self._plan.name, stream) for answer in found.items]
        settled = self._plan.target.write(stream, batch, keyed)
        self._done.answers += settled.written
        self._done.refused += settled.refused
        self._say(
            f"batch {batch}: {rows.num_rows:,} of tuples, {settled.written:,} answers"
            + (f", {settled.refused:,} refused" if settled.refused else "")
        )

    def _rows(self, frame: DataFrame) -> pa.Table:
        """What a batch tells of tuples, of the space that counts and not of our own, in order.

        A question that names classes is answered by tuples that hold objects, and by no others.
        """
        frame = frame.where(frame["writer"] != self._identity.agent)
        if self._objects_only:
            frame = frame.where("size(classes) > 0")
        if self._plan.space:
            frame = frame.where(frame["space"] == self._plan.space)
        columns = [
            "unix_micros(at) AS since" if name == "since" else f"`{name}`" for name in ROWS.names
        ]
        table: pa.Table = frame.orderBy("seq").selectExpr(*columns).toArrow()
        return table.cast(ROWS)


def _needs_nothing(after: int) -> None:
    """Where no folder of segments is named."""


def _done_upto(query: StreamingQuery) -> int:
    """The last record that a stream needs no more, as Spark tells of its last batch."""
    told = query.lastProgress
    offsets = [] if told is None else [str(one["endOffset"]) for one in told["sources"]]
    found = re.search(r"seq\W+(\d+)", " ".join(offsets))  # an object, or its text: versions differ
    return int(found[1]) if found else 0


@contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """Set when the job is told to end, by Ctrl-C or SIGTERM; told twice, it ends at once.

    Spark's own way to hear of Ctrl-C ends what is at work in the middle.
    """
    wanted = threading.Event()

    def heard(number: int, frame: object) -> None:
        if wanted.is_set():
            raise KeyboardInterrupt
        wanted.set()

    before: dict[int, signal._HANDLER] = {}
    if threading.current_thread() is threading.main_thread():  # nobody else hears signals
        before = {number: signal.signal(number, heard) for number in (SIGINT, SIGTERM)}
    try:
        yield wanted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(query: StreamingQuery) -> None:
    """End a query, after the batch that is under way if that does not take too long."""
    until = monotonic() + END_S
    while query.isActive and query.status["isTriggerActive"] and monotonic() < until:
        sleep(LOOK_S)
    query.stop()


def _reason(words: str) -> str:
    """What went wrong in a process of Spark's, of all that it says: the line with the error."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("nomospace.")]
    return (ours or lines or ["it does not say why"])[-1 if ours else 0][:500]
