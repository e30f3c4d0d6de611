"""How a console bears a busy host: `python -m tests.browser.load [--seconds N] [--json]`.

Twenty hosts of one process with 1,000 agents, 10,000 tuples and 500 rulings a second, and one who
looks at them. Measured are the first page, the time from a click to its answer, the memory of page
and hosts while the viewer looks on, and what a viewer costs the hosts at full speed. Each has its
goal, and the program ends with 1 if one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from playwright.sync_api import CDPSession, Page, sync_playwright

from nomospace.client import Membership
from nomospace.law import load as load_law
from nomospace.node.serve import Server
from tests.browser.site import Servers, Site, site
from tests.parts import chromium

HOSTS: Final = tuple([f"ward-{number}" for number in range(1, 21)])
AGENTS: Final = 1_000
TUPLES: Final = 10_000
RULINGS_S: Final = 500
BEHIND_S: Final = 0.2
CLICKS: Final = 10
ROUNDS: Final = 4
ROUND_S: Final = 4.0
LAW: Final = load_law(
    "law(busy). R1. sent(_, M, _) :- M \\= no, do(forward). R2. arrived(_, _, _) :- do(deliver)."
)
_busy: list[tuple[list[Membership], asyncio.Task[None]]] = []


# -- in the process of the host ------------------------------------------------------------------


async def begin(servers: dict[str, Server]) -> None:
    """The agents, the tuples, and the rulings: half of them sent, half arrived."""

    async def member(number: int) -> Membership:
        agent = await servers[_home(number)].host.agent(f"agent{number:03}")
        return await agent.adopt(LAW)

    members = await asyncio.gather(*[member(number) for number in range(AGENTS)])
    writer = await servers[HOSTS[0]].host.agent("writer")
    jobs = await writer.space("jobs")
    for start in range(0, TUPLES, 1_000):
        await jobs.out_many([("job", number) for number in range(start, start + 1_000)])
    _busy.append((members, asyncio.create_task(_trickle(members))))


def _home(number: int) -> str:
    return HOSTS[number % len(HOSTS)]


async def _trickle(members: list[Membership]) -> None:
    loop = asyncio.get_running_loop()
    due, number = loop.time(), 0
    while True:
        while due <= loop.time():
            await _say(members, number)
            number += 1
            due += 2 / RULINGS_S
        # What a busy machine kept from being sent is not sent in a heap.
        due = max(due, loop.time() - BEHIND_S)
        await asyncio.sleep(0.02)


async def _say(members: list[Membership], number: int) -> None:
    members[number % AGENTS].drain()
    other = (number * 7 + 1) % AGENTS
    to = f"agent{other:03}@{_home(other)}"
    await members[number % AGENTS].send(f"hello({number})", to=to)


async def throughput(servers: Servers, seconds: float) -> float:
    """Messages in a second of the host's own time, as fast as it goes: others may use the machine.

    The disk's thread is of this process too.
    """
    members = _busy[0][0]
    loop = asyncio.get_running_loop()
    ends, began = loop.time() + seconds, time.process_time()

    async def one(start: int) -> int:
        sent = 0
        while loop.time() < ends:
            await _say(members, start + sent * 8)
            sent += 1
        return sent

    count = sum(await asyncio.gather(*[one(start) for start in range(8)]))
    return count / (time.process_time() - began)


async def viewers(servers: Servers) -> int:
    """How many listen to the pulse."""
    from nomospace.console.console import Console

    return Console.running().pulse.viewers


# -- the measurements ------------------------------------------------------------------------------


def click_ms(page: Page, selector: str, changes: str) -> float:
    """From a click to the change that it brings, in the browser's own time."""
    took = page.evaluate(
        """([selector, changes]) => new Promise((done, fail) => {
            const target = document.querySelector(changes);
            const began = performance.now();
            const watch = new MutationObserver(() => {
                watch.disconnect();
                requestAnimationFrame(() => done(performance.now() - began));
            });
            watch.observe(target, { childList: true, subtree: true, characterData: true });
            const click = new MouseEvent("click", { bubbles: true, cancelable: true });
            document.querySelector(selector).dispatchEvent(click);
            setTimeout(() => fail(new Error("nothing came of it")), 10000);
        })""",
        [selector, changes],
    )
    return float(took)


def page_mb(cdp: CDPSession) -> float:
    """The page's heap without garbage."""
    cdp.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in cdp.send("Performance.getMetrics")["metrics"]}
    return float(metrics["JSHeapUsedSize"]) / 1e6


def host_mb(pid: int) -> float:
    """The host's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1e3
    return 0.0


def measure(ward: Site, page: Page, look_s: float) -> list[dict[str, Any]]:
    """All of it; what each was, and what it had to be."""
    rows: list[dict[str, Any]] = []

    def row(what: str, unit: str, value: float, goal: float, good: Callable[[float], bool]) -> None:
        met = good(value)
        rows.append(
            {"what": what, "unit": unit, "value": round(value, 1), "goal": goal, "met": met}
        )
        print(f"{'met ' if met else 'MISS'} {what}: {value:.1f} {unit} (goal {goal:g})")

    link = ward.link("/now")
    began = time.perf_counter()
    page.goto(link)
    page.wait_for_selector(".map-agent")
    page.wait_for_selector(".ruling")
    first_ms = (time.perf_counter() - began) * 1e3
    row("first page", "ms", first_ms, 1_000, lambda ms: ms < 1_000)

    clicks = []
    drawn = "all => all.map((one) => one.dataset.item)"
    items = page.locator("[data-item^='agent ']").evaluate_all(drawn)
    for number in range(CLICKS):
        agent = f"[data-item='{items[number * len(items) // CLICKS]}']"
        clicks.append(click_ms(page, agent, ".story-body"))
        page.wait_for_timeout(50)
        clicks.append(click_ms(page, ".ruling", ".story-body"))
    row("click to answer, median", "ms", median(clicks), 150, lambda ms: ms < 150)
    row("click to answer, worst of 20", "ms", max(clicks), 400, lambda ms: ms < 400)
    page.keyboard.press("Escape")
    places = [click_ms(page, f"[data-place='{path}']", "#place") for path in ("/spaces", "/now")]
    row("click to another place", "ms", max(places), 150, lambda ms: ms < 150)
    page.wait_for_selector(".map-agent")

    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable")
    page.wait_for_timeout(3_000)
    before = page_mb(cdp), host_mb(ward.pid)
    page.wait_for_timeout(look_s * 1e3)
    after = page_mb(cdp), host_mb(ward.pid)
    row("page heap", "MB", after[0], 30, lambda mb: mb < 30)
    row(f"page heap growth in {look_s:g} s", "MB", after[0] - before[0], 5, lambda mb: mb < 5)
    row(f"host memory growth in {look_s:g} s", "MB", after[1] - before[1], 20, lambda mb: mb < 20)

    with_, without = [], []
    for _ in range(ROUNDS):
        with_.append(ward.do(throughput, ROUND_S))
        page.goto(f"{ward.url}/health")
        while ward.do(viewers):
            page.wait_for_timeout(200)
        without.append(ward.do(throughput, ROUND_S))
        page.goto(f"{ward.url}/now")
        page.wait_for_selector(".ruling")
    cost = 100 * (1 - median(with_) / median(without))
    alone, seen = median(without), median(with_)
    print(f"     {alone:,.0f} messages in a second of CPU alone, {seen:,.0f} with a viewer")
    row("cost of one viewer", "%", cost, 10, lambda percent: percent < 10)
    return rows


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to look on")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with site(begin, hosts=HOSTS) as ward, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        rows = measure(ward, page, asked.seconds)
        browser.close()
    if asked.json:
        print(json.dumps({"rows": rows}))
    return 0 if all(one["met"] for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
