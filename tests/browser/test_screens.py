"""Any screen: no page scrolls sideways or hides something, and axe-core finds nothing serious."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.screens import SCREENS, begin, examine, faults, show
from tests.browser.site import Site, site
from tests.browser.ward import HOSTS

ELSEWHERE = {"trial", "report"}
"""What takes long is looked at where it is done anyway."""


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin, hosts=HOSTS) as found:
        yield found


@pytest.fixture(scope="module")
def window(ward: Site, open_lasting: Open) -> Page:
    return open_lasting(ward, "/now")


@pytest.mark.parametrize("name", [name for name in SCREENS if name not in ELSEWHERE])
def test_a_page_is_whole_at_every_width_and_can_be_used_by_all(
    ward: Site, window: Page, name: str
) -> None:
    show(window, ward, name)
    found = faults(window)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["now", "spaces", "bench"])
def test_the_keyboard_begins_with_a_way_to_the_place_and_is_always_seen(
    ward: Site, window: Page, name: str
) -> None:
    show(window, ward, name)
    examine(window)
    window.keyboard.press("Tab")
    skip = window.get_by_role("link", name="To the place")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    window.keyboard.press("Enter")
    expect(window.locator("#place")).to_be_focused()
    for _ in range(8):
        window.keyboard.press("Tab")
        assert window.evaluate("faults.unseen_focus()") == ""


def test_the_rail_is_signs_and_on_a_phone_a_bar_below(ward: Site, window: Page) -> None:
    show(window, ward, "assistants")
    rail = window.get_by_role("navigation", name="Places")
    meaning = rail.get_by_role("link", name="Meaning")
    for width, wide, words in ((1440, 200, True), (1024, 60, False), (390, 390, False)):
        window.set_viewport_size({"width": width, "height": 800})
        box = rail.bounding_box()
        assert box is not None
        assert box["width"] <= wide
        assert (box["y"] > 700) == (width == 390)
        clip = meaning.locator(".rail-title").evaluate("one => getComputedStyle(one).clipPath")
        assert (clip == "none") == words
    meaning.click()
    window.wait_for_selector("main[aria-label=Meaning]")
