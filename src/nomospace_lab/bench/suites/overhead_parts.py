"""The other side of `bench overhead`: an echo without law, and an agent with its own controller.

Run as `python -m nomospace_lab.bench.suites.overhead_parts echo`, or `… agent` with the flags of a
host. It says `{"at": "host:port"}` when it can be reached, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

import msgspec

LAW: Final = """
law(passing).
disclose(none).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
"""
ECHO, PEER, PROBE = "echo", "y", "probe"


class PlainEcho(asyncio.Protocol):
    """Sends back what comes."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


def config_of(name: str, flags: list[str]) -> Any:
    """The configuration of a host from the flags of `bench.processes.host_flags`."""
    from nomospace.node.config import read_config

    told: dict[str, Any] = {"insecure": "--insecure" in flags or None}
    for flag in ("listen", "store", "trust", "join"):
        if f"--{flag}" in flags:
            told[flag] = flags[flags.index(f"--{flag}") + 1]
    if "join" in told:
        told["join"] = (told["join"],)
    return read_config("", "the bench", name=name, **told)


async def answer(member: Any) -> None:
    """Answer each message with itself."""
    async for letter in member.inbox():
        await member.send(letter.message, to=letter.sender)


async def _echo() -> None:
    server = await asyncio.get_running_loop().create_server(PlainEcho, "127.0.0.1", 0)
    _say("{}:{}".format(*server.sockets[0].getsockname()[:2]))
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def _agent(flags: list[str]) -> None:
    from nomospace.law import load
    from nomospace.node.serve import Server

    async with Server(config_of("b", flags)) as server:
        agent = await server.host.agent(PEER)
        member = await agent.adopt(load(LAW))
        await agent.space(PROBE, shared=True)
        answering = asyncio.create_task(answer(member))
        _say(str(server.listener.address))
        await asyncio.to_thread(sys.stdin.read)
        answering.cancel()


def _say(address: str) -> None:
    sys.stdout.buffer.write(msgspec.json.encode({"at": address}) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_echo() if sys.argv[1] == ECHO else _agent(sys.argv[2:]))
