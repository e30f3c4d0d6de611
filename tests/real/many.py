"""Many real hosts that join one address at once: how long until they are one group.

Each is a process of its own, over TLS, at the usual pace. `python -m tests.real.many --hosts 40`
tells how long it took to start them, and how long after the last had started all were in one view.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from nomospace.client.dialling import Unreachable
from nomospace.client.remote import RemoteHost
from nomospace.protocols.pace import USUAL
from nomospace.wire.admin import Stats
from tests.ports import free_port
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.trust import Trust

WAIT_S = 120.0
"""When they are not one group by then, they never are."""
LOOK_S = 0.2
PACE = (f"--heartbeat-ms={USUAL.heartbeat // 1000}", f"--loss-ms={USUAL.loss // 1000}")


@dataclass(frozen=True)
class Meeting:
    """How a meeting went."""

    hosts: int
    starting_s: float
    group_s: float
    """From the start of the last until all were in one view."""
    processor_s: float
    """Of all hosts together, meanwhile."""


def meet(count: int, folder: Path) -> Meeting:
    """Start hosts that all join the address of one of them, and wait until they are one group."""
    trust = Trust(folder / "trust")
    names = [f"h{number:03}" for number in range(count)]
    for name in names:
        trust.host(name)
    token = trust.token("chief@h000", operator=True)
    hub, port = names[count // 2], free_port()
    told = ("--trust", str(trust.folder), *PACE)
    begun = monotonic()
    hosts = [
        RealHost(name, folder, *told, port=port)
        if name == hub
        else RealHost(name, folder, *told, "--join", f"127.0.0.1:{port}")
        for name in names
    ]
    try:
        start(*hosts)
        started, used = monotonic(), sum(host.processor_s for host in hosts)
        play(_one_group(hosts, trust, token), seconds_max=WAIT_S)
        met = monotonic()
        used = sum(host.processor_s for host in hosts) - used
    finally:
        end(*hosts)
    return Meeting(count, started - begun, met - started, used)


async def _one_group(hosts: list[RealHost], trust: Trust, token: str) -> None:
    async with AsyncExitStack() as stack:

        async def there(host: RealHost) -> None:
            """Ask a host until it is in a view of all."""
            remote: RemoteHost | None = None
            while remote is None:
                try:
                    remote = await stack.enter_async_context(caller(host, trust, token=token))
                except Unreachable:  # its door is crowded
                    await asyncio.sleep(LOOK_S)
            while len((await remote.ask(Stats())).members) < len(hosts):
                await asyncio.sleep(LOOK_S)

        await asyncio.gather(*[there(host) for host in hosts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nomospace-many-") as folder:
        met = meet(given.hosts, Path(folder))
    print(
        f"{met.hosts} hosts started in {met.starting_s:.1f} s; one group {met.group_s:.1f} s after "
        f"the last of them ({met.processor_s:.1f} s of processor in all hosts)"
    )


if __name__ == "__main__":
    main()
