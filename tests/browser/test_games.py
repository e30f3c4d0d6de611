"""The games in real windows: a jigsaw through a disconnection, a ghost on the field, and letters
that follow an assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from nomospace.console.stage import Stages
from tests.browser.conftest import Open
from tests.browser.site import Servers, Site, site


async def begin(servers: Servers) -> Stages:
    """A small puzzle, a field, and people with assistants, each on hosts of their own."""
    from nomospace_lab.apps.assistants.live import SITES, Assistants
    from nomospace_lab.apps.jigsaw.live import LiveTable
    from nomospace_lab.apps.jigsaw.puzzle import Puzzle
    from nomospace_lab.apps.redrover.live import Field
    from nomospace_lab.cli.venue import InProcess
    from nomospace_lab.pages import pages
    from nomospace_lab.testing.together import Together

    del servers  # the games have hosts of their own
    table, field = LiveTable(InProcess(), puzzle=Puzzle(3, 2)), Field(InProcess(), seed=3)
    await table.start()
    await field.start()
    people = Assistants(await Together(list(SITES)).__aenter__())  # until the process ends
    await people.start()
    return Stages(plugin=pages(games={"jigsaw": table, "redrover": field, "assistants": people}))


@pytest.fixture(scope="module")
def table() -> Iterator[Site]:
    with site(begin) as found:
        yield found


def sit(table: Site, open_page: Open, name: str) -> Page:
    page = open_page(table, "/jigsaw")
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Sit down").click()
    expect(page.locator("[data-cell]").first).to_be_visible()
    return page


def piece(page: Page, cell: int) -> str:
    return f".jigsaw-piece[data-cell='{cell}']"


def take(page: Page, cell: int, name: str) -> None:
    page.click(piece(page, cell))
    expect(page.locator(piece(page, cell))).to_have_attribute("data-holder", name)


def join(page: Page, one: int, other: int) -> None:
    page.click(piece(page, one))
    expect(page.locator(piece(page, one))).to_have_attribute("aria-pressed", "true")
    page.click(piece(page, other))


def test_two_windows_play_through_a_disconnection(
    table: Site, open_page: Open, pictures: Path
) -> None:
    ann, bob = sit(table, open_page, "ann"), sit(table, open_page, "bob")
    for cell in (0, 1):
        take(ann, cell, "ann")
    take(bob, 4, "bob")
    expect(ann.locator(piece(ann, 4))).to_have_attribute("data-holder", "bob")

    ann.get_by_role("switch", name="Offline").click()
    expect(ann.locator(piece(ann, 4))).to_have_attribute("data-at-hand", "false")
    expect(bob.locator(piece(bob, 0))).to_have_attribute("data-at-hand", "false")
    ann.click(piece(ann, 4))
    expect(ann.get_by_text("bob holds this piece and is out of reach")).to_be_visible()
    join(ann, 0, 1)
    expect(ann.locator(".jigsaw-assembly")).to_have_attribute("data-cells", "2")
    ann.screenshot(path=pictures / "jigsaw.png")
    assert bob.locator(".jigsaw-assembly").count() == 0, "bob cannot know of it yet"
    take(bob, 5, "bob")
    join(bob, 4, 5)

    ann.get_by_role("switch", name="Offline").click()
    for page in (ann, bob):
        expect(page.locator(".jigsaw-assembly")).to_have_count(2)
    take(bob, 3, "bob")
    bob.click(piece(bob, 3))
    bob.locator(".jigsaw-assembly[data-holder=bob]").first.press("Enter")
    expect(ann.locator(".jigsaw-assembly[data-holder=bob]")).to_have_attribute("data-cells", "3")


def test_a_name_that_is_taken_is_refused_and_stays_in_its_box(table: Site, open_page: Open) -> None:
    sit(table, open_page, "cem")
    page = open_page(table, "/jigsaw")
    page.get_by_label("Your name").fill("cem")
    page.get_by_label("Your name").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("somebody called 'cem' plays already")
    expect(page.get_by_label("Your name")).to_have_value("cem")


def test_a_name_that_is_typed_while_the_page_connects_counts(table: Site, open_page: Open) -> None:
    page = open_page(table, "/jigsaw")
    page.evaluate("window.did_handshake = false")  # from here on events wait, each by itself
    page.get_by_label("Your name").fill("Dag Ove")
    page.evaluate("""() => {
        const box = document.querySelector("input[maxlength]");
        window.did_handshake = true;
        box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
    }""")
    expect(page.locator("[data-cell]").first).to_be_visible()
    expect(page.get_by_text("Dag Ove (you)")).to_be_visible()


def test_redrover_shows_a_ghost(table: Site, open_page: Open, pictures: Path) -> None:
    ann = open_page(table, "/redrover")
    ann.get_by_role("button", name="Begin the game").click()
    expect(ann.locator(".rover-figure").first).to_be_attached()
    bob = open_page(table, "/redrover")
    bob.get_by_label("Look through the device of").click()
    bob.get_by_role("option", name="bob").click()
    for page in (ann, bob):  # both to one place
        page.locator(".rover-field").click(position={"x": 200, "y": 200})
    expect(ann.locator("[data-name=bob][data-ghost=false]")).to_be_attached(timeout=60_000)
    bob.get_by_role("switch", name="Put the device away").click()
    expect(ann.locator("[data-name=bob][data-ghost=true]")).to_be_attached()
    expect(ann.get_by_role("status")).to_contain_text(re.compile("bob|wins"))  # whoever was first
    ann.screenshot(path=pictures / "redrover.png")
    bob.get_by_role("switch", name="Put the device away").click()
    expect(ann.locator("[data-name=bob][data-ghost=false]")).to_be_attached(timeout=60_000)


def test_a_letter_follows_an_assistant_to_the_experts(table: Site, open_page: Open) -> None:
    page = open_page(table, "/assistants")
    work = page.get_by_label("Work for the experts")
    work.fill("a riddle")
    work.press("Enter")
    told = page.get_by_role("log")
    expect(told).to_contain_text("took “a riddle” to the institute")
    page.get_by_role("button", name="Write to it").click()
    expect(page.get_by_role("status")).to_contain_text("hop")
    expect(told).to_contain_text("is back: “a riddle” is mended")
