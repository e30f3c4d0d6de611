"""A host that cannot go on ends, and says what failed: its store, or a check of its own."""

from __future__ import annotations

import asyncio

import pytest

from nomospace.node.config import read_config
from nomospace.node.serve import HostEnded, Server
from nomospace.store.interface import StoreFull


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (AssertionError("a tuple lies twice"), "a check of its own failed (AssertionError('a tup"),
        (StoreFull(where="ward.db", why="no space left"), "ward.db"),
    ],
)
def test_it_says_why(error: BaseException, why: str) -> None:
    config = read_config("", "ward.toml", name="ward", insecure=True, listen="127.0.0.1:0")
    server = Server(config)

    def ready(server: Server) -> None:
        asyncio.get_running_loop().call_soon(server.host._broken, error)

    with pytest.raises(HostEnded) as ended:
        asyncio.run(asyncio.wait_for(server.run(ready), 60))
    assert str(ended.value).startswith("host ward has ended: ")
    assert why in str(ended.value)
