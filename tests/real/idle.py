"""Many connections that say nothing: `python -m tests.real.idle --connections 10000`.

They come from several loopback addresses, as from several machines: one address may have no more
than a part of a host's connections. Every one costs this process a descriptor and the host another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from nomospace.client import own_tokens
from nomospace.node.clients import CLIENTS_MAX
from nomospace.wire.framing import CLIENT, join
from nomospace.wire.talk import VERSION, ClientHello, pack_frame
from tests.real.hosts import RealHost, end, play, seen, start
from tests.real.steady import steady
from tests.real.trust import Trust

SOURCES = 20
"""From how many addresses the crowd comes."""
TOGETHER = 100
"""How many come at the same moment."""
SPARE = 200
"""Descriptors that are needed for all else."""
GONE_S = 120.0
"""Strangers that say nothing are let go after some seconds."""


@dataclass
class Outcome:
    """What a crowd did to a host."""

    connections: int
    held: int
    operations: int
    longest_s: float
    behind_s: float
    rss_before: int
    rss_most: int
    rss_after: int
    descriptors_before: int
    descriptors_most: int
    descriptors_after: int
    took_s: float


async def crowd(
    host: RealHost, trust: Trust | None, connections: int, *, greeted: bool = False
) -> Outcome:
    """Let a crowd come, stay silent and go, beside a client at work.

    Of one that has `greeted` each is a client with an agent of its own, and may stay; others are
    strangers, and the host lets them go.
    """
    begun = time.monotonic()
    async with steady(host, trust) as work:
        before = (host.rss, host.descriptors)
        most = [0, 0]

        def look() -> int:
            held = host.descriptors
            most[:] = max(most[0], host.rss), max(most[1], held)
            return held

        socks: list[socket.socket] = []
        try:
            for first in range(0, connections, TOGETHER):
                numbers = range(first, min(first + TOGETHER, connections))
                socks += await asyncio.gather(*[_come(host, n, greeted) for n in numbers])
                await asyncio.sleep(0.01)
                look()
            if greeted:
                for sock in socks:
                    sock.close()
            await seen(
                lambda: look() <= before[1] + 2,  # a port takes strangers in at its own pace
                lambda: f"{host.descriptors} descriptors are held, {before[1]} were",
                seconds_max=GONE_S,
            )
        finally:
            for sock in socks:
                sock.close()
    return Outcome(
        connections,
        most[1] - before[1],
        work.done,
        round(work.longest_s, 3),
        work.behind_s,
        before[0],
        most[0],
        host.rss,
        before[1],
        most[1],
        host.descriptors,
        round(time.monotonic() - begun, 1),
    )


async def _come(host: RealHost, number: int, greeted: bool) -> socket.socket:
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setblocking(False)
    sock.bind((f"127.0.1.{1 + number % SOURCES}", 0))
    async with asyncio.timeout(120):
        await loop.sock_connect(sock, (host.at, host.port))
        if greeted:
            await loop.sock_sendall(sock, _hello(host, number))
            await loop.sock_recv(sock, 65_536)
    return sock


def _hello(host: RealHost, number: int) -> bytes:
    token = own_tokens.find(host.at, host.port)
    hello = ClientHello(VERSION, f"idle session {number:08}", f"idle-{number}", token=token)
    return join([CLIENT.encode(), pack_frame(hello)])


def allowed() -> int:
    """How many connections this process may have at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard - SPARE


def main() -> None:
    """The long form: strangers over TLS and without, then clients that have greeted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000)
    wanted = parser.parse_args().connections
    count = min(wanted, allowed())
    if count < wanted:
        print(f"this machine allows {count:,} connections, not {wanted:,}")
    with tempfile.TemporaryDirectory(prefix="nomospace-idle-") as place:
        folder = Path(place)
        trust = Trust(folder / "trust")
        trust.member("tls")
        plain = RealHost("plain", folder, "--insecure", "--store", "memory")
        tls = RealHost("tls", folder, "--trust", str(trust.folder), "--store", "memory")
        start(plain, tls)
        try:
            for host, theirs in ((tls, trust), (plain, None)):
                outcome = play(crowd(host, theirs, count), seconds_max=300)
                print(json.dumps({"port": host.name, **asdict(outcome)}), flush=True)
            count = min(count, CLIENTS_MAX - SPARE)  # the client at work is one of them
            outcome = play(crowd(plain, None, count, greeted=True), seconds_max=300)
            print(json.dumps({"port": "plain, greeted", **asdict(outcome)}), flush=True)
        finally:
            end(plain, tls)


if __name__ == "__main__":
    main()
