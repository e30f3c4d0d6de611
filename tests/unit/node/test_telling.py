"""What a host tells of itself: metrics, traces and logs."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
import timeit
from pathlib import Path
from typing import Any

import pytest

import nomospace as ns
from nomospace.node import metrics as metrics_module
from nomospace.node.logs import configure, note_log
from nomospace.node.metrics import KNOWN, Metrics, Times
from nomospace.node.telemetry import Tracing
from tests.sites import run_real

# -- metrics -----------------------------------------------------------------------------------


def test_numbers_are_counted_and_read() -> None:
    metrics = Metrics("ward-3")
    metrics.count("calls", "take")
    metrics.count("calls", "take", 2)
    metrics.count("steps")
    commits = Times()
    commits.observe(0.00002)
    commits.observe(99.0)
    metrics.watch_times("commit_seconds", commits.read)
    metrics.watch("frames_in", lambda: 7)
    metrics.watch("queue", lambda: {"keeper": 3, "inbox": 0})
    text = metrics.render().decode()
    for line in (
        'nomospace_calls_total{host="ward-3",kind="take"} 3.0',
        'nomospace_steps_total{host="ward-3"} 1.0',
        'nomospace_frames_in_total{host="ward-3"} 7.0',
        'nomospace_queue{host="ward-3",what="keeper"} 3.0',
        'nomospace_commit_seconds_bucket{host="ward-3",le="3e-05"} 1.0',
        'nomospace_commit_seconds_bucket{host="ward-3",le="+Inf"} 2.0',
        'nomospace_commit_seconds_count{host="ward-3"} 2.0',
    ):
        assert line in text
    for name, meaning in KNOWN.items():
        assert f"# HELP nomospace_{name}" in text
        assert meaning.help in text
    with pytest.raises(KeyError):
        metrics.count("never heard of")
    with pytest.raises(AssertionError, match="has no meaning yet"):
        metrics.watch("never heard of", lambda: 1)


def test_labels_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "SERIES_MAX", 3)
    metrics = Metrics("a")
    for n in range(10):
        metrics.count("notes", f"kind {n}")
    assert 'what="other"} 7.0' in metrics.render().decode()


# -- traces ------------------------------------------------------------------------------------


def test_tracing_is_off_without_a_provider_and_costs_next_to_nothing() -> None:
    script = (
        "import sys; from nomospace.node.telemetry import Tracing; t = Tracing('a'); "
        "t.begin(1, 'take'); t.end(1); t.stop(); "
        "assert not t.on and 'opentelemetry' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    tracing = Tracing("a")
    assert not tracing.on
    each = min(timeit.repeat(lambda: tracing.on and None, number=10_000, repeat=5)) / 10_000
    assert each < 1e-6


def test_a_span_covers_the_wait_of_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    tracing = Tracing("ward-3")
    assert tracing.on
    tracing.begin(1, "take", agent="ann", space="jobs")
    tracing.begin(2, "out", agent="ann", space="jobs")
    tracing.end(2, ValueError("no room"))
    tracing.end(2)  # twice is harmless
    tracing.end(1)
    tracing.begin(3, "read", agent="ann", space="jobs")
    tracing.stop()
    out, take, read = kept.get_finished_spans()
    assert [out.name, take.name, read.name] == ["out", "take", "read"]
    assert take.attributes == {
        "nomospace.host": "ward-3",
        "nomospace.agent": "ann",
        "nomospace.space": "jobs",
    }
    assert take.start_time is not None
    assert out.start_time is not None
    assert out.end_time is not None
    assert take.end_time is not None
    assert take.start_time <= out.start_time <= out.end_time <= take.end_time
    assert out.status.description == "no room"
    assert (out.attributes or {})["nomospace.error"] == "ValueError"


# -- logs --------------------------------------------------------------------------------------


@pytest.fixture
def logged() -> Any:
    stream = io.StringIO()
    logger = logging.getLogger("nomospace")
    before = (list(logger.handlers), logger.level, logger.propagate)

    def begin(form: Any) -> io.StringIO:
        configure(form, stream=stream)
        return stream

    yield begin
    logger.handlers[:], _, logger.propagate = before
    logger.setLevel(before[1])


def test_logs_as_json(logged: Any) -> None:
    stream = logged("json")
    logged("json")  # again: it replaces the first
    note_log("ward-3")("certificate-refused", ip="10.0.0.3", why="it ran out", count=3)
    note_log("ward-3")("link-up", peer="icu", long="x" * 5_000, what="hidden")
    try:
        raise OSError("the disk is gone")
    except OSError:
        logging.getLogger("nomospace.host").exception("stopped %s", "ward-3")
    first, second, third = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "level": "warning",
        "from": "nomospace.node",
        "what": "certificate-refused",
        "host": "ward-3",
        "ip": "10.0.0.3",
        "why": "it ran out",
        "count": 3,
    }
    assert second["level"] == "info"
    assert second["what"] == "link-up"  # a fact cannot take the place of what happened
    assert len(second["long"]) == 1_001
    assert third["what"] == "stopped ward-3"
    assert "OSError: the disk is gone" in third["error"]


def test_logs_as_text_stay_on_their_line(logged: Any) -> None:
    stream = logged("text")
    note_log("ward-3")("garbage", why="evil\n2026-01-01 fake info line\x1b[2J")
    [line] = stream.getvalue().splitlines()
    assert "warning garbage host=ward-3 why=evil\\n2026-01-01 fake info line\\x1b[2J" in line


def test_backlog_and_commits_of_a_host(tmp_path: Path) -> None:
    async def program() -> None:
        async with ns.Host("ward", listen="127.0.0.1:0", store=tmp_path / "ward.db") as host:
            server = host._server
            assert server is not None
            server.metrics.render()
            nurse = await host.agent("nurse")
            jobs, desk = await nurse.space("jobs", shared=True), await nurse.space("desk")
            await desk.out("note")
            for number in range(3):
                await jobs.out("job", number)
            async with jobs.take("job", 0, lease=60):
                late = asyncio.create_task(jobs.take("none"))
                await asyncio.sleep(0.02)
                text = server.metrics.render().decode()
                for line in (
                    'nomospace_tuples{host="ward",space="jobs"} 3.0',
                    'nomospace_lent{host="ward",space="jobs"} 1.0',
                    'nomospace_waiting{host="ward",space="jobs"} 1.0',
                    'nomospace_tuples{host="ward",space="(private)"} 1.0',
                ):
                    assert line in text
                ages = re.findall(r'oldest_seconds{host="ward",space="jobs"} ([\d.]+)', text)
                assert 0.02 <= float(ages[0]) < 30
                assert 'wait_seconds_count{host="ward",space="jobs"} 1.0' in text
                assert 'wait_seconds_bucket{host="ward",le="+Inf",space="jobs"} 1.0' in text
                count = re.findall(r"commit_seconds_count{[^}]*} ([\d.]+)", text)
                assert float(count[0]) >= 4
                late.cancel()

    run_real(program())
