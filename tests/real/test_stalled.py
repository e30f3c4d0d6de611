"""A host under a lease whose loop stands still: it is known that it serves nobody."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Final

from nomospace.client.remote import connect
from tests.parity.processes import Process
from tests.ports import free_port
from tests.servers import shared_postgres

HANGS: Final = """
import signal, sys, time
from nomospace.cli import main
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3_600))
sys.exit(main(sys.argv[1:]))
"""
"""A host whose loop a signal ends, and no more than that: other threads go on."""
TAKEOVER_S: Final = 2


def test_a_process_whose_loop_stands_still_does_not_keep_the_lease(tmp_path: Path) -> None:
    program, address = tmp_path / "hangs.py", f"127.0.0.1:{free_port()}"
    program.write_text(HANGS)
    told = ["--insecure", "--listen", address, "--store", shared_postgres().fresh()]
    told += ["--standby", "--takeover-s", str(TAKEOVER_S)]
    process = Process("ward", tmp_path, told, program=program)

    async def story() -> None:
        assert "standby" in await process.ready()
        await process.ready()
        async with connect(f"nomos+plain://{address}") as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            await jobs.out("job", 1)
            process.child.send_signal(signal.SIGUSR1)
            assert await jobs.take("job", int) == ("job", 1)

    try:
        asyncio.run(asyncio.wait_for(story(), 60))
    finally:
        process.end(signal.SIGTERM)
    said = process.log.read_text()
    assert "ward: the loop stands still at" in said
    assert "hangs.py" in said
