"""A space that lies in a PostgreSQL which answers late: nobody waits for it but who asked."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from nomospace import ANY
from nomospace.client.remote import RemoteHost
from tests.proxy import Proxy
from tests.real.hosts import RealHost, caller, end, play
from tests.servers import shared_postgres


def test_a_lookup_that_takes_long_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """Two takes wait for one row; others are served meanwhile; then one of the two has it."""
    server = shared_postgres()

    async def run(url: str) -> RealHost:
        host = RealHost("ward", tmp_path, "--store", url, "--insecure")
        await host.ready()
        return host

    async def fill(remote: RemoteHost) -> None:
        ann = await remote.agent("ann")
        archive = await ann.space("archive", engine="store")
        await archive.out_many([("job", n, n % 2) for n in range(300)])
        await (await ann.space("desk", shared=True)).out("note", 1)

    async def use(remote: RemoteHost, proxy: Proxy) -> None:
        ann, bob = [await remote.agent(name) for name in ("ann", "bob")]
        archive, other = [await one.space("archive") for one in (ann, bob)]
        desk = await bob.space("desk", shared=True)
        assert await archive.take("job", 3, ANY, timeout=60) == ("job", 3, 1)
        proxy.cut()
        asked = [asyncio.create_task(one.take_nowait("job", 7, ANY)) for one in (archive, other)]
        asked.append(asyncio.create_task(archive.read_nowait("none", ANY, ANY)))
        for _ in range(20):
            assert await desk.read_nowait("note", ANY) == ("note", 1)
        assert not any(one.done() for one in asked)
        proxy.heal()
        async with asyncio.timeout(60):
            found = await asyncio.gather(*asked)
        assert found[2] is None
        assert sorted(found[:2], key=str) == [("job", 7, 1), None]
        assert len(await archive.read_all("job", ANY, 1)) == 148
        assert len(await other.take_all("job", ANY, 0)) == 150
        assert await archive.take("job", ANY, ANY, timeout=60) == ("job", 1, 1)

    async def story() -> None:
        schema = f"late_{os.getpid()}"
        host = await run(f"{server.url}?schema={schema}")
        async with caller(host, None) as remote:
            await fill(remote)
        end(host)
        async with Proxy("127.0.0.1", server.port) as proxy:
            base = server.url.replace(f"127.0.0.1:{server.port}", proxy.address)
            host = await run(f"{base}?schema={schema}")  # all of it is in the tables now
            async with caller(host, None) as remote:
                await use(remote, proxy)
            await asyncio.to_thread(end, host)

    play(story(), seconds_max=120)
