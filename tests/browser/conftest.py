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
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.site import Site
from tests.parts import chromium as chromium_here, install, missing

WAIT_MS: Final = 15_000
"""How long anything may take to be seen."""
expect.set_options(timeout=WAIT_MS)
CONNECTED: Final = "window.did_handshake"
"""True in a page of the console as soon as what is done in it is heard in order."""

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


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens windows, each with cookies of its own, and closes them at the end of the test.

    What a page itself logs as an error fails the test: it is how a broken component shows.
    """
    yield from _opening(chromium)


@pytest.fixture(scope="module")
def open_lasting(chromium: Browser) -> Iterator[Open]:
    """As `open_page`, until the last test of the file: what a window has loaded it keeps."""
    yield from _opening(chromium)


def _opening(chromium: Browser) -> Iterator[Open]:
    contexts = []
    errors: list[str] = []

    def heard(told: ConsoleMessage) -> None:
        if told.type == "error":
            errors.append(told.text)

    def opening(
        site: Site,
        path: str = "/",
        *,
        token: bool = True,
        dark: bool = False,
        errors_wanted: bool = False,
        width: int = 1280,
        height: int = 800,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        page = context.new_page()
        if not errors_wanted:
            page.on("console", heard)
            page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(site.link(path) if token else f"{site.url}{path}")
        if token:
            page.wait_for_function(CONNECTED)
        return page

    yield opening
    for context in contexts:
        context.close()
    assert not errors, "\n".join(errors)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: into the documents when they are asked for, else nowhere lasting."""
    if os.environ.get("NOMOSPACE_PICTURES"):
        folder = Path(__file__).parents[2] / "docs" / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return tmp_path_factory.mktemp("pictures")
