"""Of hosts that share a space, those that hold nothing of a kind are not asked for it."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from nomospace.terms.templates import ANY
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play, seen, start

HOSTS = ("ward", "icu", "lab")
PAIRS = 30
WAIT_S = 60.0


def watches(host: RealHost, what: str) -> int:
    """What a host says of its watches on its page of metrics."""
    page = httpx.get(f"{host.said['http']}/metrics", trust_env=False).text
    found = re.search(rf'nomospace_watches_total{{host="{host.name}",what="{what}"}} (\d+)', page)
    assert found, page
    return int(found[1])


def test_hosts_that_hold_nothing_of_a_kind_are_not_asked_for_it(tmp_path: Path) -> None:
    given = ["--insecure", "--store", "memory", "--http", "127.0.0.1:0"]
    hosts = {HOSTS[0]: RealHost(HOSTS[0], tmp_path, *given)}
    start(hosts[HOSTS[0]])
    for name in HOSTS[1:]:
        hosts[name] = RealHost(name, tmp_path, *given, "--join", hosts[HOSTS[0]].address)
    start(*[hosts[name] for name in HOSTS[1:]])

    async def program() -> None:
        async with AsyncExitStack() as stack:
            spaces = {}
            for name, host in hosts.items():
                client = await stack.enter_async_context(caller(host, None))
                agent = await client.agent("ann")
                spaces[name] = await agent.space("jobs", shared=True, durable=False)
                for each in HOSTS:
                    await see(agent, each)
            taker, writer, other = [spaces[name] for name in HOSTS]
            await writer.out("job", -1)
            assert await taker.take("job", ANY, timeout=WAIT_S) == ("job", -1)
            await seen(lambda: watches(hosts["lab"], "heard") > 0, lambda: "lab was never asked")
            for number in range(PAIRS):
                await writer.out("job", number)
                assert await taker.take("job", ANY, timeout=WAIT_S) == ("job", number)
            assert watches(hosts["icu"], "heard") > PAIRS
            assert watches(hosts["lab"], "heard") < PAIRS // 2  # once, unless contact was lost
            assert watches(hosts["ward"], "spared") > PAIRS // 2
            await other.out("mail", 1)  # of a new kind, from the host that was passed over
            assert await taker.take("mail", ANY, timeout=WAIT_S) == ("mail", 1)

    try:
        play(program())
    finally:
        end(*hosts.values())
