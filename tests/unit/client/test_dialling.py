"""Dialling a host: what happens to connections that end before they have begun."""

from __future__ import annotations

import asyncio

import pytest

from nomospace.client.dialling import Dialler, HostConnection, Unreachable, Url
from nomospace.wire.talk import VERSION, ClientHello


class _Gone(asyncio.Transport):
    """A connection whose other end is gone: the kernel does not know who that was."""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default


def test_a_connection_that_breaks_at_once_is_tried_again() -> None:
    """Any other error than this one would end a client that reconnects."""

    async def dial() -> None:
        talk = HostConnection(asyncio.get_running_loop())
        talk.transport = _Gone()
        dialler = Dialler(identity=None, token="", trust=None)
        hello = ClientHello(VERSION, "key", "ann@ward")
        await dialler._enter(talk, Url("nomos+plain://127.0.0.1"), hello)

    with pytest.raises(Unreachable, match="broke at once"):
        asyncio.run(dial())
