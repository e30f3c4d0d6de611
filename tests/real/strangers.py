"""Strangers that send as much as they are let: `python -m tests.real.strangers --connections 256`.

Each says that a frame of the largest size is coming, as a client or as a host, and sends all of it
but the last byte, so that the host would have to keep it. Some stop after half of what a stranger
may send, and hold on to it. They come from several loopback addresses, as from several machines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from nomospace.node.identity import CLIENT_ALPN, HOST_ALPN
from nomospace.wire.framing import join
from nomospace.wire.talk import TALK_BYTES_MAX
from tests.real.hosts import RealHost, end, play, start
from tests.real.raw import careless_context
from tests.real.steady import steady
from tests.real.trust import Trust

SOURCES = 20
PIECE = bytes(65_536)
HELD = 32_768
LOOK_S = 0.02
BUSY_S = 4.0
"""How long they go on."""


@dataclass
class Outcome:
    """What strangers did to a host."""

    connections: int
    sent: int
    operations: int
    longest_s: float
    rss_before: int
    rss_most: int


async def fill(
    host: RealHost, trust: Trust | None, connections: int, *, seconds: float = BUSY_S
) -> Outcome:
    """Let strangers send as much as they can, beside a client at work."""
    async with steady(host, trust) as work:
        before = most = host.rss
        folder = "" if trust is None else str(trust.folder)
        told = [host.at, str(host.port), str(connections), str(seconds), folder]
        process = await asyncio.create_subprocess_exec(
            *(
                "nice",
                "-n",
                "19",
                sys.executable,
                "-m",
                "tests.real.strangers",
                "--as-strangers",
                *told,
            ),
            stdout=asyncio.subprocess.PIPE,
        )
        sending = asyncio.create_task(process.communicate())
        while not sending.done():
            most = max(most, host.rss)
            await asyncio.sleep(LOOK_S)
        sent = int((await sending)[0])
    return Outcome(connections, sent, work.done, round(work.longest_s, 3), before, most)


def _strangers(at: str, port: str, connections: str, seconds: str, folder: str) -> None:
    """A process of strangers: threads, as each waits for what the host takes from it."""
    until = time.monotonic() + float(seconds)

    def one(number: int) -> int:
        with suppress(OSError), socket.socket() as sock:
            sock.settimeout(1.0)
            sock.bind((f"127.0.1.{1 + number % SOURCES}", 0))
            sock.connect((at, int(port)))
            return _send(sock, number, Path(folder) if folder else None, until)
        return 0

    with ThreadPoolExecutor(int(connections)) as pool:
        print(sum(pool.map(one, range(int(connections)))))


def _send(sock: socket.socket, number: int, folder: Path | None, until: float) -> int:
    """One stranger; how many bytes it got rid of."""
    protocol = HOST_ALPN if number % 4 == 3 else CLIENT_ALPN
    sent = 0
    if folder is None:
        sock.sendall(join([protocol.encode()]))
    else:
        context = careless_context(protocol)
        if protocol == HOST_ALPN:
            place = folder / "hosts" / "eve"
            context.load_cert_chain(place / "host.pem", place / "host.key")
        sock = context.wrap_socket(sock)
    with suppress(OSError), sock:
        holds = number % 2 == 0
        left = HELD if holds else TALK_BYTES_MAX - 1
        sock.sendall((left + 1).to_bytes(4, "big"))
        while left and time.monotonic() < until:
            done = sock.send(PIECE[:left])
            sent += done
            left -= done
        sock.settimeout(max(0.01, until - time.monotonic()))
        sock.recv(1)  # until the host ends it, or the time is up
    return sent


def main() -> None:
    """The long form, on the port with certificates and on the one without."""
    if sys.argv[1:2] == ["--as-strangers"]:
        _strangers(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=256)
    wanted = parser.parse_args().connections
    with tempfile.TemporaryDirectory(prefix="nomospace-strangers-") as place:
        folder = Path(place)
        trust = Trust(folder / "trust")
        trust.member("tls")
        trust.host("eve")
        plain = RealHost("plain", folder, "--insecure", "--store", "memory")
        tls = RealHost("tls", folder, "--trust", str(trust.folder), "--store", "memory")
        start(plain, tls)
        try:
            for host, theirs in ((tls, trust), (plain, None)):
                outcome = play(fill(host, theirs, wanted), seconds_max=120)
                print(json.dumps({"port": host.name, **asdict(outcome)}), flush=True)
        finally:
            end(plain, tls)


if __name__ == "__main__":
    main()
