"""A host of this process, for what speaks with one from threads of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nomospace.client.remote import connect
from nomospace.node.config import read_config
from nomospace.node.serve import Server
from tests.trust_folder import TrustFolder


def served(
    folder: Path,
    then: Callable[[str], Any],
    *,
    jobs: int = 30,
    seal: bool = False,
    trust: TrustFolder | None = None,
) -> Any:
    """What a function in a thread finds at a host where an agent has written some tuples.

    A host with certificates has nobody who could.
    """

    async def program() -> Any:
        text = f'[journal]\nfolder = "{folder / "segments"}"\nseconds = 0.2\nrows = 10\n'
        config = read_config(
            text if seal else "",
            "ward.toml",
            name="ward",
            insecure=trust is None,
            trust="" if trust is None else str(trust.folder),
            listen="127.0.0.1:0",
            store=str(folder / "ward.db"),
        )
        async with Server(config) as server:
            if trust is not None:
                return await asyncio.to_thread(then, f"nomos://{server.listener.address}")
            url = f"nomos+plain://{server.listener.address}"
            async with connect(url) as host:
                ann = await host.agent("ann")
                space = await ann.space("jobs", shared=True)
                for number in range(jobs):
                    await space.out("job", number)
                keeper = server.host.keeper
                assert keeper is not None
                while seal and keeper.store.journal(0, 1)[0].seq <= jobs + 1:
                    await asyncio.sleep(0.1)
                    await space.out("tick")  # what is sealed is forgotten with the commits
                return await asyncio.to_thread(then, url)

    return asyncio.run(asyncio.wait_for(program(), 60))
