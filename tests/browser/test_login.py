"""The door of the console, in a browser and without one."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Open
from tests.browser.site import Site, site


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site() as found:
        yield found


def test_a_link_with_a_token_logs_in_once(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/now")
    page.wait_for_selector("main[aria-label=Now]")
    assert "token" not in page.url
