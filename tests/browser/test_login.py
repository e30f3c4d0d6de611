"""The door of the console: who is let in, what is seen without a token, and how a session ends."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from nomospace.api.guard import SESSION_ENDED
from nomospace.api.logins import _lasted
from nomospace.node.principals import OpenDoor, Principal
from tests.browser.conftest import Open
from tests.browser.screens import faults
from tests.browser.site import Servers, Site, site

PAGES = ["/", "/now", "/spaces?story=agent/ward-1/ann%40ward-1", "/nowhere"]
FILES = ["/console-static/console.js", "/console-static/now/map.js", "/_nicegui_ws/socket.io/"]
NOW = "main[aria-label=Now]"


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site() as found:
        yield found


def test_a_link_with_a_token_logs_in_once(ward: Site, open_page: Open) -> None:
    link = ward.link("/now")
    page = open_page(ward, "/health", token=False)
    page.goto(link)
    page.wait_for_selector(NOW)
    assert urlsplit(page.url).path == "/now"
    assert "token" not in page.url
    other = open_page(ward, "/health", token=False, errors_wanted=True)
    other.goto(link)
    expect(other.get_by_role("alert")).to_contain_text("an address logs in once")
    expect(other.get_by_label("Token")).to_be_focused()


def test_a_fresh_host_shows_how_to_begin(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/nonsense/there")
    page.get_by_text("There is no place nonsense/there here.").wait_for()
    page.get_by_role("link", name="Go to Now").click()
    page.wait_for_selector(NOW)
    assert faults(page) == []
    page.get_by_text("What the words mean").click()
    expect(page.locator("[data-word=obligation]")).to_contain_text("when its time has come")
    page.keyboard.press("Escape")
    card = page.get_by_label("How to begin")
    expect(card.locator("[data-token]")).to_have_text(ward.token)
    # The five lines do what they say when they are pasted.
    with redirect_stdout(StringIO()) as said:
        exec(card.locator("[data-code]").inner_text(), {})
    assert said.getvalue() == "('job', 17)\n"
    card.get_by_role("button", name="Write").click()
    expect(card.locator("[data-said=tuple]")).to_contain_text("wrote (job, 17, room(3))")
    card.get_by_role("button", name="See it in Spaces").click()
    expect(page.locator(".spaces-table .listing-row")).to_contain_text("job, 17, room(3)")
    page.get_by_role("button", name="Make a space").click()
    page.get_by_label("Its name").fill("beds-3")
    page.get_by_role("button", name="Make it").click()
    made = page.locator("[data-space='beds-3']")
    expect(made).to_have_attribute("aria-pressed", "true")


def test_a_wrong_token_is_said_and_the_right_one_leads_back(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/spaces?template=(job)", token=False, errors_wanted=True)
    assert urlsplit(page.url).path == "/login"
    page.get_by_label("Token").fill("guess")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("nomospace trust issue")
    page.get_by_label("Token").fill(ward.token)
    page.keyboard.press("Enter")
    page.wait_for_selector("main[aria-label=Spaces]")
    page.wait_for_url(lambda url: urlsplit(url)[2:4] == ("/spaces", "template=(job)"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_a_token_is_the_login(ward: Site, path: str) -> None:
    answer = httpx.get(f"{ward.url}{path}", headers={"accept": "text/html"})
    assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, "/login")
    assert answer.content == b""
    for headers in ({}, {"authorization": "Bearer guess"}, {"cookie": "nomospace_session=guess"}):
        assert httpx.get(f"{ward.url}{path}", headers=headers).status_code == 401


def test_a_program_that_asks_for_nothing_there_is_gets_no_page(ward: Site) -> None:
    answer = httpx.put(f"{ward.url}/v1/nonsense", headers=ward.headers, content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (404, "api.no-such-resource")


@pytest.mark.parametrize("path", FILES)
def test_not_even_scripts_are_seen_without_a_token(ward: Site, path: str) -> None:
    assert httpx.get(f"{ward.url}{path}").status_code == 401


def test_sockets_need_a_session_and_a_page_of_this_host(ward: Site) -> None:
    url = f"{ward.url.replace('http', 'ws', 1)}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with httpx.Client() as web:
        answer = web.post(f"{ward.url}/v1/session", json={"token": ward.token})
    cookie = answer.headers["set-cookie"].partition(";")[0]

    for headers in (
        {},
        {"cookie": "nomospace_session=guess", "origin": ward.url},
        {"cookie": cookie, "origin": "http://elsewhere.example"},
    ):
        with pytest.raises(InvalidStatus), connect(url, additional_headers=headers):
            pass
    with connect(url, additional_headers={"cookie": cookie, "origin": ward.url}) as line:
        assert str(line.recv(timeout=60)).startswith("0")


@pytest.mark.parametrize("path", ["/login", "/now"])
def test_no_page_can_be_framed_or_scripted_from_outside(ward: Site, path: str) -> None:
    answer = httpx.get(f"{ward.url}{path}", headers=ward.headers)
    rules = answer.headers["content-security-policy"].split("; ")
    assert answer.status_code == 200
    assert "default-src 'none'" in rules
    assert "frame-ancestors 'none'" in rules
    assert answer.headers["x-frame-options"] == "DENY"
    assert "http" not in answer.headers["content-security-policy"]


def test_the_login_leads_only_to_pages_of_this_host(ward: Site) -> None:
    for to in ("//elsewhere.example", "https://elsewhere.example/", "/\\elsewhere.example"):
        answer = httpx.post(f"{ward.url}/login", data={"token": ward.token, "to": to})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_logging_out_ends_every_window_of_the_session(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/now", errors_wanted=True)
    page.wait_for_selector(NOW)
    other = page.context.new_page()
    other.goto(f"{ward.url}/communities")
    other.wait_for_selector("main[aria-label=Communities]")
    page.get_by_role("button", name="Log out").click()
    for window in (page, other):
        expect(window.get_by_role("alert")).to_contain_text("You are logged out")
        expect(window.locator("main[aria-label]")).to_have_count(0)
        window.wait_for_function("!window.socket.connected")
    page.get_by_role("link", name="Log in").click()
    page.wait_for_selector("#token")


async def anns_token(servers: Servers) -> str:
    """A token for one login of somebody who is no operator."""
    service = next(iter(servers.values())).served.service
    return str(service.logins.token_for(Principal("ann", agents=("ann@ward-1",))))


def test_two_tabs_of_a_browser_never_act_with_different_tokens(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/now", errors_wanted=True)
    page.wait_for_selector(NOW)
    other = page.context.new_page()
    other.goto(ward.link("/now"))  # the same token again: both go on
    other.wait_for_selector(NOW)
    expect(page.locator(NOW)).to_have_count(1)
    assert page.get_by_role("alert").count() == 0
    other.goto(f"{ward.url}/login?token={ward.do(anns_token)}")
    other.wait_for_selector("main[aria-label='As a member']")
    assert other.get_by_role("link", name="Communities").count() == 0
    expect(page.get_by_role("alert")).to_contain_text("You are logged out")
    expect(page.locator(NOW)).to_have_count(0)


def test_logging_out_closes_the_sockets_of_programs_too(ward: Site) -> None:
    url = f"{ward.url.replace('http', 'ws', 1)}/v1/ws?agent=ann@ward-1"
    with httpx.Client() as web:
        web.post(f"{ward.url}/v1/session", json={"token": ward.token})
        own = {"origin": ward.url}
        cookie = f"nomospace_session={web.cookies['nomospace_session']}"
        with connect(url, additional_headers={"cookie": cookie, **own}) as line:
            assert web.delete(f"{ward.url}/v1/session", headers=own).status_code == 204
            with pytest.raises(ConnectionClosedError) as ended:
                line.recv(timeout=60)
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == SESSION_ENDED


async def take_back(servers: Servers) -> None:
    """The token behind all sessions counts no more."""
    door = next(iter(servers.values())).door()
    assert isinstance(door, OpenDoor)
    door.token = "another"


def test_a_session_whose_token_is_taken_back_shows_nothing_more(open_page: Open) -> None:
    with site() as ward:
        page = open_page(ward, "/now", errors_wanted=True)
        page.wait_for_selector(NOW)
        ward.do(take_back)
        expect(page.get_by_role("alert")).to_contain_text("You are logged out")
        expect(page.locator(NOW)).to_have_count(0)


async def twelve_hours_pass(servers: Servers) -> int:
    """The sessions have lasted as long as they may: what their timers do, is done."""
    logins = next(iter(servers.values())).served.service.logins
    hashes = list(logins._sessions)
    for hash in hashes:
        logins._end(hash, _lasted())
    return len(hashes)


async def sleep_for_a_week(servers: Servers) -> None:
    """The sessions are gone, and who slept heard nothing of it."""
    logins = next(iter(servers.values())).served.service.logins
    for held in logins._sessions.values():
        held.watchers.clear()
    logins._sessions.clear()


def test_a_page_left_open_for_a_week_says_what_to_do_and_keeps_what_was_typed(
    open_page: Open,
) -> None:
    with site() as ward:
        page = open_page(ward, "/now", errors_wanted=True)
        field = page.get_by_label("Show only rulings with this text")

        def log_in() -> None:
            expect(page.locator(NOW)).to_have_count(0)
            page.get_by_role("link", name="Log in").click()
            page.get_by_label("Token").fill(ward.token)
            page.keyboard.press("Enter")
            page.wait_for_selector(NOW)

        field.fill("alarm")
        assert ward.do(twelve_hours_pass) == 1
        expect(page.get_by_role("alert")).to_contain_text("has lasted its 12 hours; log in again.")
        log_in()
        expect(field).to_have_value("alarm")
        page.wait_for_function("window.did_handshake")
        # The machine with the browser slept, and its connection ended without a word.
        ward.do(sleep_for_a_week)
        page.evaluate("window.socket.io.engine.close()")
        expect(page.get_by_role("alert")).to_contain_text("does not know this window any more")
        log_in()
        expect(field).to_have_value("alarm")
        # Who logs out leaves nothing for whoever sits down next.
        page.wait_for_function("window.did_handshake")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("alert")).to_contain_text("You are logged out")
        assert page.evaluate("sessionStorage.length") == 0


def test_a_window_says_that_the_host_is_away_and_was_restarted(open_page: Open) -> None:
    with site() as ward:
        page = open_page(ward, "/communities", errors_wanted=True)
        page.wait_for_selector("main[aria-label=Communities]")
        address = urlsplit(ward.url).netloc
    expect(page.locator("#host-banner")).to_contain_text("The host does not answer")
    assert page.locator("main[aria-label=Communities]").count() == 1  # what was seen stays
    expect(page.locator("#place")).to_have_css("filter", "grayscale(1)")
    with site(api=address) as again:
        expect(page.get_by_role("alert")).to_contain_text("the host was restarted without it")
        page.get_by_role("link", name="Log in").click()
        page.get_by_label("Token").fill(again.token)
        page.keyboard.press("Enter")
        page.wait_for_selector("main[aria-label=Communities]")
