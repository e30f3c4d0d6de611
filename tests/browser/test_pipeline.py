"""The pipeline: a replay and an audit are started, watched and read; one is cancelled."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.screens import faults
from tests.browser.site import Site, site
from tests.browser.test_law_bench import LAX, type_law
from tests.browser.workshop import SENT, begin, take_pictures

RUN_MS = 60_000
"""How long a job may take on a busy machine."""


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin) as found:
        yield found


def test_a_replay_and_an_audit_are_watched_and_read(
    ward: Site, open_page: Open, pictures: Path
) -> None:
    page = open_page(ward, "/bench", height=1100)
    type_law(page, LAX, anew=True)
    page.get_by_role("link", name="Pipeline").click()
    glance = page.get_by_label("The journal at a glance")
    expect(glance).to_contain_text("ann@ward-1")
    start = page.get_by_role("button", name="Start", exact=True)
    start.click()
    first = page.locator("[data-run='1']")
    expect(first).to_have_attribute("data-state", "runs")
    page.get_by_role("button", name="What would the law on the bench have changed?").click()
    command = page.locator("[data-command=next]")
    expect(command).to_contain_text("nomospace.cli pipeline replay")
    expect(command).to_contain_text("draft.law")
    start.click()
    second = page.locator("[data-run='2']")
    expect(second).to_have_attribute("data-state", "done", timeout=RUN_MS)
    report = page.get_by_role("region", name="Report")
    expect(report).to_contain_text(f"{SENT} for 1 of")
    expect(report).to_contain_text("First divergences")
    expect(first).to_have_attribute("data-state", "done", timeout=RUN_MS)
    first.get_by_role("button").first.click()
    page_read = report.frame_locator("iframe").get_by_role("heading", name="What happened")
    expect(page_read).to_be_visible()
    expect(report.frame_locator("iframe").locator("svg").first).to_be_visible()
    take_pictures(page, pictures, "pipeline-report")
    assert faults(page) == []
    frame = report.locator("iframe")
    assert frame.get_attribute("sandbox") == "", "a report may run nothing"


def test_a_run_is_cancelled_and_another_window_sees_it(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/pipeline")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Cancel run").first.click()
    latest = page.locator("[data-run]").first
    expect(latest).to_have_attribute("data-state", "cancelled", timeout=RUN_MS)
    other = open_page(ward, "/pipeline")
    expect(other.locator("[data-run]").first).to_have_attribute("data-state", "cancelled")


def test_a_match_without_a_template_says_what_is_missing(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/pipeline")
    page.get_by_role("button", name="Match", exact=True).click()
    page.get_by_label("Template").fill("")
    expect(page.get_by_role("alert")).to_contain_text("needs an ontology and a template")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
