"""A partition: the side that the database is not on serves nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from nomospace.client.remote import connect
from tests.parity.processes import Process
from tests.ports import free_port
from tests.proxy import Proxy
from tests.servers import shared_postgres

RUN_S = 300.0


async def _said(process: Process, what: str) -> dict[str, Any]:
    """What a process says next that has this in it."""
    while line := await asyncio.to_thread(process.child.stdout.readline):
        said: dict[str, Any] = json.loads(line)
        if what in said:
            return said
    raise AssertionError(process.log.read_text()[-3_000:])


def _answers(port: int) -> bool:
    with closing(socket.socket()) as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_the_side_of_a_partition_without_the_database_serves_nothing(tmp_path: Path) -> None:
    """It is cut off in silence: it only finds that its lease is not renewed."""
    server = shared_postgres()
    url = server.fresh()
    ports = {name: free_port() for name in ("cut", "near")}

    def stand(name: str, store: str) -> Process:
        (tmp_path / name).mkdir()
        given = ["--listen", f"127.0.0.1:{ports[name]}", "--store", store, "--insecure"]
        return Process("ward", tmp_path / name, [*given, "--standby", "--takeover-s", "2"])

    async def play() -> None:
        async with asyncio.timeout(RUN_S), AsyncExitStack() as parts:
            link = await parts.enter_async_context(Proxy("127.0.0.1", server.port))
            cut = stand("cut", url.replace(f"127.0.0.1:{server.port}", link.address))
            parts.callback(cut.end, signal.SIGKILL)
            first = await _said(cut, "life")
            near = stand("near", url)
            parts.callback(near.end, signal.SIGKILL)
            await _said(near, "standby")
            assert not _answers(ports["near"]), "a standby serves nobody"
            async with connect(f"nomos+plain://127.0.0.1:{ports['cut']}") as ward:
                await (await (await ward.agent("ann")).space("jobs")).out("job", 1)
            link.cut()
            assert (await _said(near, "life"))["life"] == first["life"] + 1
            await _said(cut, "standby")  # it has begun anew, and is told nothing by anyone
            assert not _answers(ports["cut"])
            async with connect(f"nomos+plain://127.0.0.1:{ports['near']}") as ward:
                jobs = await (await ward.agent("ann")).space("jobs")
                assert await jobs.take_nowait("job", int) == ("job", 1)

    asyncio.run(play())
