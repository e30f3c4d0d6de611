"""The games on two machines: two `nomospace up` on two loopback addresses, a window at each, and
one link between them that the test can cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.machines import Machine, machine
from tests.browser.screens import walk
from tests.browser.test_games import join, piece, take
from tests.ports import free_port
from tests.proxy import Proxy

SEEN_MS = 60_000
START_S = 60
GAMES = ("--demo", "jigsaw", "--demo", "redrover")


class Link:
    """What lies between two machines: each is dialled through it, whichever way."""

    def __init__(self, *behind: tuple[str, int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._ways = [Proxy(host, port, at=host) for host, port in behind]
        self._thread = Thread(target=self._loop.run_forever)

    def __enter__(self) -> list[str]:
        self._thread.start()
        for way in self._ways:
            self._run(way.__aenter__())
        return [way.address for way in self._ways]

    def __exit__(self, *_: object) -> None:
        for way in self._ways:
            self._run(way.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    def cut(self) -> None:
        for way in self._ways:
            self._loop.call_soon_threadsafe(way.cut)

    def heal(self) -> None:
        for way in self._ways:
            self._loop.call_soon_threadsafe(way.heal)


Machines = tuple[Machine, Machine, Link]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    places = [("127.0.0.1", free_port()), ("127.0.0.2", free_port())]
    link = Link(*places)
    with link as seen_at:
        flags = [
            ["--listen", f"{host}:{port}", "--advertise", seen]
            for (host, port), seen in zip(places, seen_at, strict=True)
        ]
        one, other = (tmp_path_factory.mktemp(name) for name in ("one", "other"))
        with (
            machine(one, *GAMES, *flags[0]) as first,
            machine(other, *GAMES, *flags[1], "--join", seen_at[0]) as second,
        ):
            yield first, second, link


@pytest.fixture(scope="module")
def windows_at(machines: Machines, open_lasting: Open) -> tuple[Page, Page]:
    return open_lasting(machines[0], "/jigsaw"), open_lasting(machines[1], "/jigsaw")


def test_two_machines_play_one_puzzle_through_a_cut(
    machines: Machines, windows_at: tuple[Page, Page], pictures: Path
) -> None:
    link = machines[2]
    for page, name in zip(windows_at, ("ann", "bob"), strict=True):
        page.get_by_label("Your name").fill(name)
        page.get_by_role("button", name="Sit down").click()
        expect(page.locator("[data-cell]").first).to_be_visible(timeout=SEEN_MS)
    ann, bob = windows_at
    for cell in (0, 1):
        take(ann, cell, "ann")
    for cell in (14, 15):
        take(bob, cell, "bob")
    expect(ann.locator(piece(ann, 15))).to_have_attribute("data-holder", "bob")
    expect(bob.get_by_text("ann", exact=True)).to_be_visible()

    link.cut()
    for page, cell in ((ann, 14), (bob, 0)):
        expect(page.locator(piece(page, cell))).to_have_attribute(
            "data-at-hand", "false", timeout=SEEN_MS
        )
    join(ann, 0, 1)
    expect(ann.locator(".jigsaw-assembly")).to_have_attribute("data-cells", "2")
    join(bob, 14, 15)
    expect(bob.locator(".jigsaw-assembly")).to_have_attribute("data-cells", "2")
    bob.click(piece(bob, 2))
    expect(bob.get_by_text("box holds this piece and is out of reach")).to_be_visible()
    bob.screenshot(path=pictures / "jigsaw-cut.png")

    link.heal()
    for page in windows_at:
        expect(page.locator(".jigsaw-assembly")).to_have_count(2, timeout=SEEN_MS)
    take(bob, 2, "bob")
    expect(ann.locator(piece(ann, 2))).to_have_attribute("data-holder", "bob")

    bob.get_by_role("button", name="Leave").click()  # the box is at the other machine
    expect(ann.locator(piece(ann, 2))).to_have_attribute("data-holder", "box", timeout=SEEN_MS)
    expect(ann.get_by_text("bob", exact=True)).to_have_count(0)


def test_two_machines_walk_one_field(machines: Machines, windows_at: tuple[Page, Page]) -> None:
    ann, gil = windows_at
    for page, at in zip(windows_at, machines[:2], strict=True):
        page.goto(f"{at.url}/redrover")
        walk(page)  # a game that is joined may have begun by itself
        expect(page.locator(".rover-field")).to_be_visible(timeout=SEEN_MS)
        page.locator(".rover-field").click(position={"x": 200, "y": 200})
    near = ann.locator("[data-name=gil][data-ghost=false]")
    expect(near).to_be_attached(timeout=SEEN_MS)
    expect(gil.locator("[data-name=ann][data-ghost=false]")).to_be_attached(timeout=SEEN_MS)
    gil.get_by_role("switch", name="Put the device away").click()
    expect(ann.locator("[data-name=gil][data-ghost=true]")).to_be_attached(timeout=SEEN_MS)
    gil.get_by_role("switch", name="Put the device away").click()
    expect(near).to_be_attached(timeout=SEEN_MS)
