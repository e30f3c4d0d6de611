"""The numbers of a journal, counted by pandas, by DuckDB, in a Spark session, and by our audit."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pandas as pd

import nomospace as ns
from nomospace.pipeline.audit import tables
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.segments import list_journal, read_spark

LAW = Path(__file__).with_name("budget.law")
PYTHON = [sys.executable, "-m"]
REFUSED = "event = 'sent' AND ruling_text = '[]' AND octet_length(delta) = 1"


async def work(url: str) -> None:
    """Somebody spends until the law says no; and a queue that is under no law."""
    law = ns.Law.load(str(LAW))
    async with ns.connect(url) as desk:
        await (await desk.agent("shop")).adopt(law)
        buyer = await desk.agent("buyer")
        member = await buyer.adopt(law)
        for _ in range(7):
            try:
                await member.send(ns.t.spend(30, "paper"), to="shop@desk")
            except ns.Refused:
                continue
        jobs = await buyer.space("jobs", shared=True)
        for number in range(5):
            await jobs.out("job", number)
        await jobs.take("job", 3)


def record(folder: Path) -> str:
    """Have a host live for a while, and seal its journal; the folder of the segments."""
    store, journal = str(folder / "desk.db"), str(folder / "journal")
    options = ["--insecure", "--store", store, "--listen", "127.0.0.1:0", "--json"]
    command = [*PYTHON, "nomospace.cli", "host", "run", "desk", *options]
    host = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert host.stdout is not None
    try:
        asyncio.run(work(json.loads(host.stdout.readline())["url"]))
    finally:
        host.terminate()
        host.communicate(timeout=60)
    seal = ["nomospace.store.segments", "--store", store, "--into", journal, "--seconds", "0"]
    subprocess.run([*PYTHON, *seal], check=True, capture_output=True)
    return journal


def by_pandas(journal: str) -> tuple[int, int, int]:
    """Rulings, refusals, and tuples written and taken."""
    events, tuples = (pd.read_parquet(f"{journal}/{name}") for name in ("events", "tuples"))
    still = (events.event == "sent") & (events.ruling_text == "[]") & (events.delta.str.len() == 1)
    ruled = events.community != ""
    return int(ruled.sum()), int(still.sum()), int(tuples.op.isin(["written", "taken"]).sum())


def by_duckdb(journal: str) -> tuple[int, int, int]:
    """The same; `happened_at` is `at` under a name that SQL has no other use for."""
    events, tuples = f"'{journal}/events/*.parquet'", f"'{journal}/tuples/*.parquet'"
    asked = (
        f"SELECT count(*) FROM {events} WHERE community <> ''",
        f"SELECT count(*) FROM {events} WHERE {REFUSED}",
        f"SELECT count(happened_at) FROM {tuples} WHERE op IN ('written', 'taken')",
    )
    rulings, refused, operations = [duckdb.execute(one).fetchall()[0][0] for one in asked]
    return rulings, refused, operations


def by_spark(journal: str) -> tuple[int, int, int]:
    """The same in a session of one's own: Spark's reader, and our functions on its frames."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # before the session is made
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    events = spark.read.parquet(f"{journal}/events")
    tuples = spark.read.parquet(f"{journal}/tuples")
    ours = read_spark(spark, list_journal(journal).sound(), "events")
    ruled = tables.chosen(ours)
    refusals = tables.refusals(ruled, tables.changes(ruled)).agg({"refused": "sum"}).first()
    assert refusals is not None
    counted = events.where(REFUSED).count()
    assert counted == refusals[0]
    operations = tuples.where("op IN ('written', 'taken')").count()
    return events.where("community <> ''").count(), counted, operations


def by_audit(journal: str) -> tuple[int, int, int]:
    """The same by the job, without Spark."""
    found = run_audit(journal, engine=AuditEngine.DUCKDB)
    return found.overview["events"], found.refused, found.tables["spaces"][0]["of_all"]


with TemporaryDirectory() as folder:
    journal = record(Path(folder))
    for count in (by_pandas, by_duckdb, by_spark, by_audit):
        rulings, refused, operations = count(journal)
        name = count.__name__.removeprefix("by_")
        print(f"{name:7}{rulings} rulings, {refused} refused, {operations} operations on tuples")
