"""One Chromium for all browser tests of a process, and windows in it that are logged in.

Whichever Chromium the machine has is used. `./nomospace test` gets one where there is none
(`tests/parts.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect, sync_playwright

from tests.browser.machines import Machine
from tests.browser.site import Site
from tests.parts import chromium as chromium_here, install, missing

WAIT_MS: Final = 60_000
"""How long anything may take to be seen."""
expect.set_options(timeout=WAIT_MS)
CONNECTED: Final = "window.did_handshake"
"""True in a page of the console as soon as what is done in it is heard in order."""
FORGET: Final = 'origin === "null" || (sessionStorage.clear(), localStorage.clear())'
"""Has a page drop what was typed into it; an empty page has no such thing."""

Open = Callable[..., Page]
"""Opens a window: `open(site, "/now")`, logged in unless told `token=False`."""


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """A Chromium, until the last test of this folder has ended.

    Playwright has an event loop running in this thread meanwhile: tests elsewhere that want one
    of their own could not run in the same process.
    """
    if packages := list(missing()):
        pytest.fail(f"this needs more of the system: {install(packages)}", pytrace=False)
    with sync_playwright() as playwright:
        # What Playwright has downloaded itself is found by itself.
        browser = playwright.chromium.launch(
            executable_path=chromium_here(),
            args=["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])],
        )
        yield browser
        browser.close()


class Windows:
    """Windows, each with cookies of its own, that go from test to test.

    To open one takes Chromium two processes more: three times the work of going to a page.
    """

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._free: list[Page] = []

    def take(self) -> Page:
        """A window that has nothing of those before."""
        if self._free:
            return self._free.pop()
        context = self._chromium.new_context(locale="en-GB", timezone_id="UTC")
        context.set_default_timeout(WAIT_MS)
        return context.new_page()

    def give_back(self, page: Page) -> None:
        """Leave nothing in a window, nor beside it: no cookie, nothing typed, no pointer."""
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.evaluate(FORGET)
        page.mouse.move(0, 0)
        page.context.clear_cookies()
        page.goto("about:blank")
        self._free.append(page)


@pytest.fixture(scope="package")
def windows(chromium: Browser) -> Windows:
    """The windows of all tests of this folder."""
    return Windows(chromium)


@pytest.fixture
def open_page(windows: Windows) -> Iterator[Open]:
    """Opens windows, each with cookies of its own, until the end of the test.

    What a page itself logs as an error fails the test: it is how a broken component shows.
    """
    yield from _opening(windows)


@pytest.fixture(scope="module")
def open_lasting(windows: Windows) -> Iterator[Open]:
    """As `open_page`, until the last test of the file: what a window has loaded it keeps."""
    yield from _opening(windows)


def _opening(windows: Windows) -> Iterator[Open]:
    pages: list[Page] = []
    watched: list[Page] = []
    errors: list[str] = []

    def heard(told: ConsoleMessage) -> None:
        if told.type == "error":
            errors.append(told.text)

    def failed(error: Error) -> None:
        errors.append(str(error))

    def opening(
        site: Site | Machine,
        path: str = "/",
        *,
        token: bool = True,
        dark: bool = False,
        errors_wanted: bool = False,
        width: int = 1280,
        height: int = 800,
    ) -> Page:
        page = windows.take()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        if not errors_wanted:
            page.on("console", heard)
            page.on("pageerror", failed)
            watched.append(page)
        page.goto(site.link(path) if token else f"{site.url}{path}")
        if token:
            page.wait_for_function(CONNECTED)
        return page

    yield opening
    for page in watched:
        page.remove_listener("console", heard)
        page.remove_listener("pageerror", failed)
    for page in pages:
        windows.give_back(page)
    assert not errors, "\n".join(errors)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: into the documents when they are asked for, else nowhere lasting."""
    if os.environ.get("NOMOSPACE_PICTURES"):
        folder = Path(__file__).parents[2] / "docs" / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return tmp_path_factory.mktemp("pictures")
