"""A take is one span, from the asking to the answer, and calls are counted by kind."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nomospace.calls.requests import Out, Seek
from nomospace.node import Host, telemetry


def test_the_span_of_a_take_covers_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def look(self: telemetry.Tracing) -> None:
        self._tracer = provider.get_tracer("nomospace")
        self.on = True

    monkeypatch.setattr(telemetry.Tracing, "look", look)

    async def program() -> None:
        async with Host("ward") as host:
            nurse, porter = await host.agent("nurse"), await host.agent("porter")
            mine = await nurse.space("jobs", shared=True)
            theirs = await porter.space("jobs", shared=True)
            waiting = asyncio.ensure_future(theirs.take("job", int, timeout=60))
            while not host.calls[Seek]:  # a busy machine may let it begin late
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.15)
            await mine.out("job", 1)
            await waiting
            assert host.calls[Seek] >= 1
            assert host.calls[Out] == 1

    asyncio.run(program())
    [span] = [span for span in exporter.get_finished_spans() if span.name == "take"]
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time - span.start_time >= 0.14e9
    assert span.attributes is not None
    assert span.attributes["nomospace.agent"] == "porter@ward"
    assert span.attributes["nomospace.space"] == "jobs"
