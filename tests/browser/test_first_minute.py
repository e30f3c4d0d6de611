"""The first minute with the real thing: `nomospace up`, its hospital, and a browser.

With `NOMOSPACE_PICTURES=1` this makes the pictures of the documents, of every place.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from nomospace.console.pages import PLACES
from tests.browser.conftest import Open
from tests.browser.site import END_S, Site

BEGIN_MS = 60_000
"""How long people may take to come in, on a machine that does other things too."""
ANYWHERE = r"""() => {
    for (const one of document.querySelectorAll("[data-command] *, [data-command]"))
        if (!one.children.length) one.textContent = one.textContent
            .replaceAll(/\S+\/python -m nomospace\.cli/g, "nomospace")
            .replaceAll(/\/\S+?\/runs\//g, "runs/");
}"""
"""Takes out of commands where on this machine things are: pictures of documents are for all."""
REFUSED_S = re.compile(r"refused [1-9][\d,]* times a second")


class Up(Site):
    """The command at work; with the token beside its data one gets others, for one login each."""

    def link(self, path: str = "/") -> str:
        headers = {"authorization": f"Bearer {self.token}"}
        asked = httpx.post(f"{self.url}/v1/login-tokens", headers=headers, trust_env=False)
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={asked.json()['token']}"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    data = tmp_path_factory.mktemp("up")
    command = "-m nomospace.cli up --no-browser --port 0 --for 120 --data".split()
    process = subprocess.Popen(
        [sys.executable, *command, str(data)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            address = re.search(r"(http://\S+?)/\?token=", line)
            if address:
                break
        else:
            pytest.fail("it printed no address")
        token = (data / "token").read_text("utf-8").strip()
        yield Up(address[1], token, process.pid, None)  # type: ignore[arg-type]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=END_S)
    assert process.returncode == 0


@pytest.fixture(scope="module")
def page(hospital: Up, open_lasting: Open) -> Page:
    page = open_lasting(hospital, "/now")
    page.wait_for_selector("[data-role=rogue]", timeout=BEGIN_MS)
    return page


def test_alarms_go_through_by_themselves(page: Page) -> None:
    expect(page.locator(".map-title")).to_have_count(3)
    expect(page.locator("[data-role=mediator]")).to_have_count(1)
    page.locator(".ruling:has-text('notify(')").first.wait_for()
    page.locator(".map-pulse.forwarded").first.wait_for(state="attached")


def test_a_layman_raises_an_alarm_and_its_why_opens(
    page: Page, hospital: Up, pictures: Path
) -> None:
    page.click("[data-try=alarm]")
    expect(page.locator("[data-said=alarm]")).to_contain_text("a layman, raised")
    story = page.locator(".story-body")
    expect(story).to_contain_text("forwarded by R3")
    expect(story).to_contain_text("S = layman")
    expect(story).to_contain_text("status(layman)")
    page.locator("[data-whole]").click()
    steps = page.locator(".story-step")
    expect(steps.filter(has_text="arrived publish(").first).to_contain_text(" from ")
    told = steps.filter(has_text="arrived notify(").first
    for _ in range(100):  # what comes of it takes a moment
        if told.count():
            break
        page.locator("[data-again]").click()
        page.wait_for_timeout(500)
    expect(steps.filter(has_text="sent notify(").first).to_contain_text("it seems")
    expect(told).to_contain_text("from med@emergency")
    for look in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if look == "dark" else "light")
        page.wait_for_selector(f"body.body--{look}", state="attached")
        if os.environ.get("NOMOSPACE_PICTURES"):
            page.wait_for_timeout(2_000)
            page.screenshot(path=pictures / f"story-{look}.png")
    page.emulate_media(color_scheme="light")
    page.goto(f"{hospital.url}/now")
    page.wait_for_selector("[data-role=rogue]", timeout=BEGIN_MS)


def test_the_rogue_dies_at_its_own_edge_while_the_informer_goes_on(page: Page) -> None:
    page.click("[data-try=rogue]")
    chart = page.locator(".duel")
    expect(chart).to_have_attribute("aria-label", REFUSED_S, timeout=BEGIN_MS)
    expect(chart).to_have_attribute("aria-label", re.compile(r"takes [\d.,]+ milliseconds"))
    expect(page.locator(".map-badge.refused").first).to_contain_text("✕")
    expect(page.locator("[data-folded]")).to_contain_text("folded")
    page.locator(".rulings-list").hover()  # so that it holds still
    page.locator(".ruling.refused:has-text('rolf')").first.click()
    story = page.locator(".story-body")
    expect(story).to_contain_text(re.compile(r"Refused: rolf .* since .*\(R\w+\)"))
    expect(story).to_contain_text("not(blocked")
    page.keyboard.press("Escape")
    page.click("[data-try=rogue]")
    expect(page.locator("[data-try=rogue]")).to_contain_text("on")


def test_a_message_follows_the_assistant_in_two_hops_and_then_one(page: Page) -> None:
    page.click("[data-try=assistant]")
    page.click("[data-try=message]")
    expect(page.locator("[data-hops]").first).to_contain_text("2 hops")
    page.click("[data-try=message]")
    expect(page.locator("[data-hops]").nth(1)).to_contain_text("1 hop")


def test_every_place_shows_itself_light_and_dark(
    hospital: Up, open_page: Open, pictures: Path
) -> None:
    page = open_page(hospital, "/now")
    for path, place in PLACES.items():
        page.click(f"[data-place='{path}']")
        page.wait_for_selector(f"main[aria-label='{place.title}']")
        for look in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if look == "dark" else "light")
            page.wait_for_selector(f"body.body--{look}", state="attached")
            if os.environ.get("NOMOSPACE_PICTURES"):
                page.wait_for_timeout(4_000)  # for something to be seen
                page.evaluate(ANYWHERE)
                page.screenshot(path=pictures / f"{path.strip('/')}-{look}.png")
