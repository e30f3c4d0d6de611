"""Programs of a host, launched and ended in its story; the host is a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CONNECTED, Open
from tests.browser.machines import Machine
from tests.real.hosts import RealHost, end, start

PORTER = """
import asyncio
import msgspec
import nomospace as ns

class Round(msgspec.Struct):
    stops: list[str] = []

@ns.program("porter")
class Porter(ns.Program[Round]):
    async def run(self):
        desk = await self.agent.space("desk", shared=True)
        await desk.out("stops", *self.state.stops)
        await asyncio.sleep(600)
"""
SEEN_MS = 60_000


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHost]:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "porters.py").write_text(PORTER)
    config = folder / "ward.toml"
    config.write_text(f'[programs]\nmodules = ["porters"]\npath = ["{folder}"]\n')
    flags = ("--insecure", "--config", str(config), "--api", "127.0.0.1:0")
    host = RealHost("ward", folder, *flags)
    with ThreadPoolExecutor(1) as aside:  # Playwright has a loop in this thread
        aside.submit(start, host).result()
    yield host
    end(host)


def test_a_program_is_launched_and_ended_in_the_story_of_its_host(
    ward: RealHost, open_page: Open, pictures: Path, tmp_path: Path
) -> None:
    page = open_page(
        Machine(ward.said["api"], ""), "/now?story=host/ward/ward", token=False, errors_wanted=True
    )
    page.get_by_label("Token").fill(ward.said["api_token"])
    page.get_by_label("Token").press("Enter")
    page.wait_for_selector("main[aria-label=Now]")
    page.wait_for_function(CONNECTED)
    expect(page.get_by_text("No agent of this host runs one.")).to_be_visible()
    page.get_by_role("button", name="Launch a program").click()
    form = page.get_by_role("form", name="Launch a program at ward")
    expect(form.get_by_text("This host has porter.")).to_be_visible()
    form.get_by_label("Agent").fill("pat")
    form.get_by_label("Program").fill("porter")
    state, launch = form.get_by_label("State"), form.get_by_role("button", name="Launch")

    state.fill("[1]")
    launch.click()
    expect(form.get_by_role("alert")).to_contain_text("the state is no JSON object (it is a list)")
    strange = tmp_path / "strange.bundle"
    strange.write_bytes(b"no bundle")
    form.get_by_label("Its code").set_input_files(strange)
    expect(form.get_by_text("strange.bundle, 9 bytes")).to_be_visible()
    form.get_by_label("Program").fill("courier")
    state.fill('{"stops": ["icu"]}')
    launch.click()
    expect(form.get_by_role("alert")).to_contain_text("no publisher is trusted here")
    form.get_by_label("Program").fill("porter")
    launch.click()
    expect(form.get_by_role("status")).to_have_text("pat runs porter.", timeout=SEEN_MS)
    page.screenshot(path=pictures / "programs.png")

    page.get_by_role("button", name="End pat@ward", exact=True).click()
    page.get_by_role("button", name="Keep pat@ward").click()
    page.get_by_role("button", name="End pat@ward", exact=True).click()
    page.get_by_role("button", name="End pat@ward for good").click()
    expect(page.get_by_text("No agent of this host runs one.")).to_be_visible(timeout=SEEN_MS)
