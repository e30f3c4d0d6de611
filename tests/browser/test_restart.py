"""A restart is a pause: windows come back by themselves, and go on where they were."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from nomospace.console.stage import Stages
from tests.browser.conftest import CONNECTED, Open
from tests.browser.site import Servers, site

MINE = "law(mine).\n% typed before"


async def begin(servers: Servers) -> Stages:
    """Somebody under a law, and a table for a game, all on disk."""
    from nomospace_lab.apps.jigsaw.live import LiveTable
    from nomospace_lab.apps.jigsaw.puzzle import Puzzle
    from nomospace_lab.cli.venue import Stations
    from nomospace_lab.pages import pages
    from tests.browser.workshop import begin as workshop

    (server,) = servers.values()
    stages = await workshop(servers)
    table = LiveTable(Stations(Path(server.config.host.store).parent), puzzle=Puzzle(3, 2))
    return Stages(bench=stages.bench, plugin=pages(games={"jigsaw": table}))


async def a_refusal(servers: Servers) -> int:
    """The record of a ruling."""
    views = servers["ward-1"].served.service.views
    return int(next(one.record for one in views.rulings().rulings if one.rule == "R2"))


def second(page: Page, url: str) -> Page:
    """Another tab of the same session."""
    tab = page.context.new_page()
    tab.goto(url)
    tab.wait_for_function(CONNECTED)
    return tab


def test_three_windows_go_on_when_their_host_is_started_anew(
    tmp_path: Path, open_page: Open
) -> None:
    with site(begin, folder=tmp_path) as up:
        bench = open_page(up, "/bench", errors_wanted=True)
        address = f"/communities?story=ruling/ward-1/{up.do(a_refusal)}"
        story = second(bench, up.url + address)
        game = second(bench, f"{up.url}/jigsaw")
        law = bench.locator(".cm-content").first
        law.click()
        bench.keyboard.press("Control+a")
        bench.keyboard.type(MINE)
        told = story.locator(".story-body .term").first
        expect(told).to_be_visible()
        event = told.inner_text()
        game.get_by_label("Your name").fill("ann")
        game.get_by_role("button", name="Sit down").click()
        piece = game.locator(".jigsaw-piece[data-cell='0']")
        piece.click()
        expect(piece).to_have_attribute("data-holder", "ann")
    for page in (bench, story, game):
        expect(page.locator("#host-banner")).to_contain_text("The host does not answer")
        page.evaluate("window.before = true")
    law.click()
    bench.keyboard.press("Control+End")
    bench.keyboard.type(" and after")  # nobody hears it yet
    with site(begin, folder=tmp_path, api=urlsplit(up.url).netloc) as again:
        assert (again.url, again.token != up.token) == (up.url, True)
        for page in (bench, story, game):
            page.wait_for_function(f"!window.before && {CONNECTED}")
            expect(page.locator("#host-banner:not([hidden])")).to_have_count(0)
        expect(law).to_have_text(f"{MINE} and after".replace("\n", ""))
        expect(told).to_have_text(event)
        assert parse_qs(urlsplit(story.url).query) == parse_qs(urlsplit(address).query)
        expect(piece).to_have_attribute("data-holder", "ann")
        other = game.locator(".jigsaw-piece[data-cell='1']")
        other.click()
        expect(other).to_have_attribute("data-holder", "ann")
