"""Every page of the console with something on it, and what is wrong with it on any screen.

    python -m tests.browser.screens FOLDER [NAME ...]

makes a picture of every page, light and dark, in each of `SIZES`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

from nomospace.cli.console import Workshop
from nomospace.client.ontologies import load_ontology
from nomospace.console.stage import Stages
from tests.browser.site import Servers, Site, site
from tests.browser.ward import HOSTS, LAW, FakeHospital
from tests.browser.workshop import CARS
from tests.parts import chromium

SIZES: Final = (
    *((width, 900, str(width)) for width in (1440, 1024, 600, 390, 320)),
    (720, 450, "zoomed"),  # 1440 by 900 at 200 %
)
"""Of the pictures: width, height, and what the size is called."""
WIDTHS: Final = tuple(width for width, _, _ in SIZES)
LONG: Final = "שםארוךמאוד" * 19
"""A name as long as one may be, in a script that runs from right to left."""
CONNECTED: Final = "window.did_handshake"
WAIT_MS: Final = 60_000


class Screen(NamedTuple):
    """Its address, what is there once it is drawn, and what is done to have it show something."""

    path: str
    ready: str
    act: Callable[[Page], object] = lambda page: None


def _play(page: Page) -> None:
    page.get_by_label("Your name").fill("ann")
    page.get_by_role("button", name="Sit down").click()
    page.wait_for_selector("[data-cell]")


def walk(page: Page) -> None:
    """Have a page of RedRover show a game."""
    page.locator(".rover-figure, .game .start").first.wait_for()
    if page.get_by_role("button", name="Begin the game").count():
        page.get_by_role("button", name="Begin the game").click()
    page.wait_for_selector(".rover-figure")


def _join(page: Page) -> None:
    page.get_by_label("Agent", exact=True).fill("mia@ward-1")
    page.get_by_role("button", name="Be this agent").click()
    page.wait_for_selector("[data-who]:has-text('acts on')")
    page.get_by_label("Law, by name or hash").fill(LAW.hash)
    page.get_by_role("button", name="Adopt").click()
    page.get_by_label("Message").fill("flood")
    page.get_by_label("To: an agent").fill("desk@ward-1")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector(".member-ruling")


def _run(page: Page) -> None:
    page.get_by_role("button", name="Run the events").click()
    page.wait_for_selector(".bench-told:has-text('1 of')")


def _audit(page: Page) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_selector("[data-state=done]")
    page.locator("[data-run] button").first.click()
    page.wait_for_selector(".report iframe")


def _find(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("ward")
    page.wait_for_selector(".palette-list li")


def _whole(page: Page) -> None:
    page.locator(".ruling", has_text="desk").first.click()
    page.locator("[data-whole]").click()
    page.wait_for_selector(".story-step")
    page.keyboard.press("Escape")


SCREENS: Final[dict[str, Screen]] = {
    "login": Screen("/login", "#token"),
    "now": Screen("/now", ".ruling"),
    "find": Screen("/member", "[data-who]", _find),
    "agent": Screen("/member?story=agent/ward-1/desk@ward-1", ".story-name"),
    "programs": Screen(
        "/member?story=host/ward-1/ward-1",
        ".programs",
        lambda page: page.get_by_role("button", name="Launch a program").click(),
    ),
    "communities": Screen("/communities", ".listing-row"),
    "words": Screen("/member?story=words/ward-1/all", ".story-body .heading"),
    "law": Screen(f"/member?story=law/ward-1/{LAW.hash}", ".rule-line"),
    "story": Screen("/now", ".ruling", _whole),
    "tuple": Screen(f"/story?about={quote(LONG)}%40ward-1%2341", ".story-step"),
    "spaces": Screen("/spaces?space=jobs", ".spaces-table .listing-row"),
    "bench": Screen("/bench", ".bench-law .cm-content"),
    "trial": Screen("/bench", ".bench-law .cm-content", _run),
    "meaning": Screen("/meaning", ".answer"),
    "pipeline": Screen("/pipeline", "[data-command=next]"),
    "report": Screen("/pipeline", "[data-command=next]", _audit),
    "member": Screen("/member", "[data-who]", _join),
    "table": Screen("/jigsaw", "[maxlength]"),
    "jigsaw": Screen("/jigsaw", "[maxlength]", _play),
    "redrover": Screen("/redrover", ".game", walk),
    "assistants": Screen("/assistants", ".sites-dot"),
}


async def begin(servers: Servers) -> Stages:
    """A hospital on three hosts, a space, a workshop, and all games: every place has something."""
    from nomospace_lab.apps.assistants.live import SITES, Assistants
    from nomospace_lab.apps.jigsaw.live import LiveTable
    from nomospace_lab.apps.jigsaw.puzzle import Puzzle
    from nomospace_lab.apps.redrover.live import Field
    from nomospace_lab.cli.venue import InProcess
    from nomospace_lab.pages import pages
    from nomospace_lab.testing.together import Together

    hospital = FakeHospital(servers)
    await hospital.start()
    hospital.rest()
    for number in range(5):
        await hospital.alarm(number)
    await hospital.refused("flood")
    first = servers[HOSTS[0]]
    writer = await first.host.agent(LONG)
    jobs = await writer.space("jobs", shared=True)
    await jobs.out_many([("job", number) for number in range(40)])
    await jobs.out("note", LONG)
    await writer.space("market", shared=True, ontology=load_ontology(str(CARS)))
    workshop = Workshop(Path(first.config.host.store).parent / "runs")
    workshop.add(first)
    table, field = LiveTable(InProcess(), puzzle=Puzzle(3, 2)), Field(InProcess(), seed=3)
    await table.start()
    await field.start()
    people = Assistants(await Together(list(SITES)).__aenter__())  # until the process ends
    await people.start()
    games = {"jigsaw": table, "redrover": field, "assistants": people}
    plugin = pages(hospital=hospital, games=games)
    return Stages(plugin=plugin, bench=workshop.bench, pipeline=workshop.pipeline)


def show(page: Page, ward: Site, name: str) -> None:
    """Have a window that is logged in show a page."""
    screen = SCREENS[name]
    page.goto(f"{ward.url}{screen.path}")
    page.wait_for_selector(screen.ready, state="attached")
    if name != "login":
        page.wait_for_function(CONNECTED)
    screen.act(page)


# -- what is wrong ---------------------------------------------------------------------------------

_SCRIPTS: Final = (
    files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"),
    (Path(__file__).parent / "faults.js").read_text("utf-8"),
)


def faults(page: Page) -> list[str]:
    """What is cut off or covered at any width; what axe-core finds serious, or out of order.

    axe-core looks at the page light and wide, and dark on a phone.
    """
    before = page.viewport_size
    assert before is not None
    page.emulate_media(color_scheme="light", reduced_motion="reduce")  # nothing is on its way
    examine(page)
    found: list[str] = page.evaluate("faults.hard()")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        found += [f"{width} px: {one}" for one in page.evaluate("faults.whole()")]
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {one}" for one in page.evaluate("faults.hard()")]
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size(before)
    return found


def examine(page: Page) -> None:
    """Give a page what looks for its faults."""
    for script in _SCRIPTS:
        page.evaluate(script)


# -- the pictures ----------------------------------------------------------------------------------


def _pictures(browser: Browser, ward: Site, folder: Path, names: list[str]) -> None:
    page = browser.new_page(locale="en-GB", timezone_id="UTC")
    page.set_default_timeout(WAIT_MS)
    page.goto(ward.link("/now"))
    for name in names:
        page.set_viewport_size({"width": 1440, "height": 900})
        show(page, ward, name)
        for width, height, called in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            for look in ("light", "dark"):
                page.emulate_media(color_scheme="dark" if look == "dark" else "light")
                page.wait_for_timeout(300)
                page.screenshot(path=folder / f"{name}-{called}-{look}.png", full_page=width < 1000)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="which pages; else all")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with site(begin, hosts=HOSTS) as ward, sync_playwright() as playwright:
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=args)
        _pictures(browser, ward, asked.folder, asked.names or list(SCREENS))
        browser.close()


if __name__ == "__main__":
    main()
