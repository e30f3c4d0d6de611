"""What stays while places change: the rail, the command box, light and dark, the stories."""

from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.site import Servers, Site, site
from tests.browser.ward import HOSTS, LAW, at_rest


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(at_rest, hosts=HOSTS) as found:
        yield found


@pytest.fixture(scope="module")
def window(ward: Site, open_lasting: Open) -> Page:
    return open_lasting(ward, "/communities")


@pytest.fixture
def page(ward: Site, window: Page) -> Page:
    window.goto(f"{ward.url}/communities")
    window.wait_for_selector("main[aria-label=Communities]")
    return window


def find(page: Page, text: str, *, key: str = "Control+k") -> None:
    """Open the command box and type."""
    page.keyboard.press(key)
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(text)
    # What was found for the letters before counts no more, and Enter waits for nobody.
    expect(page.locator(".palette-list")).to_have_attribute("aria-busy", "false")


# -- the rail --------------------------------------------------------------------------------------


def test_the_rail_has_six_places_the_member_and_the_host(page: Page, ward: Site) -> None:
    links = page.get_by_role("navigation", name="Places").get_by_role("link")
    six = "Now, Communities, Spaces, Law bench, Meaning, Pipeline".split(", ")
    expect(links.locator(".rail-title")).to_have_text([*six, "As a member"])
    current = page.locator("[aria-current=page]")
    expect(current).to_contain_text("Communities")
    expect(page.locator(".dots")).to_contain_text("3 engaged")
    expect(page.locator(".dot")).to_have_count(len(HOSTS))
    for at, host in enumerate(HOSTS):
        expect(page.locator(".dot").nth(at)).to_have_attribute("title", host)
    links.nth(0).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("main[aria-label=Now]")
    expect(current).to_contain_text("Now")
    expect(page).to_have_title("Now · ward-1")
    page.go_back()
    page.wait_for_selector("main[aria-label=Communities]")
    expect(current).to_contain_text("Communities")


def test_the_clock_shows_utc_on_request_and_remembers_it(page: Page) -> None:
    clock = page.locator("#rail-clock")
    expect(clock).not_to_have_text("")
    clock.click()
    expect(clock).to_contain_text("UTC")
    page.reload()
    expect(clock).to_contain_text("UTC")


def test_light_and_dark_are_chosen_and_remembered(page: Page) -> None:
    look = page.locator("#rail-look")
    expect(page.locator("body.body--light")).to_be_visible()
    look.click()  # light, whatever the system says
    look.click()
    expect(page.locator("body.body--dark")).to_be_visible()
    expect(look).to_have_attribute("aria-label", "Look: dark. Change")
    page.reload()
    expect(page.locator("body.body--dark")).to_be_visible()
    look.click()
    expect(page.locator("body.body--light")).to_be_visible()  # as the system again


# -- the command box -------------------------------------------------------------------------------


def test_the_command_box_finds_an_agent_by_keyboard_alone(page: Page) -> None:
    find(page, "doc@")
    expect(page.locator(".palette-list li")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".story-name")).to_have_text("doc@ward-1")
    expect(page.locator(".story-body .chip")).to_have_text(["expert"])
    page.keyboard.press("Escape")
    expect(page.locator(".story-body")).not_to_be_visible()


@pytest.mark.parametrize(
    ("text", "title", "has"),
    [
        ("R4", "Rule", "Laymen's alarms go to experts of that kind."),
        ("ward", "Law", "on 2 hosts"),
        (LAW.hash[:10], "Law", LAW.hash),
        ("1", "Ruling", "The host itself noted this"),
    ],
)
def test_the_command_box_leads_to_stories(page: Page, text: str, title: str, has: str) -> None:
    find(page, text)
    kind = {"Law": "law", "Rule": "rule", "Ruling": "ruling"}[title]
    found = page.locator(f".palette-list li:has(.palette-kind:text-is('{kind}'))").first
    found.wait_for()
    while found.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".story-title")).to_have_text(title)
    expect(page.locator(".story-body")).to_contain_text(has)


def test_the_story_of_a_law_counts_what_ruled_at_any_host(page: Page) -> None:
    """R1 lets alarms out at ward-2 alone."""
    page.goto(f"{page.url.partition('?')[0]}?story=law/ward-1/{LAW.hash}")
    rule = page.locator(".rule-line", has_text="R1")
    expect(rule).not_to_contain_text("never")
    rule.get_by_role("button").click()
    expect(page.locator(".story-body")).to_contain_text("has ruled")
    expect(page.locator(".story-body .line").first).to_contain_text("ann@ward-2")


def test_a_template_goes_to_the_spaces(page: Page) -> None:
    find(page, "(alarm, _)", key="/")
    expect(page.locator(".palette-list li").first).to_contain_text("run in Spaces")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[aria-label=Spaces]")
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("template") == ["(alarm, _)"])


def test_a_slash_in_a_field_is_a_slash(page: Page) -> None:
    page.click("[data-place='/now']")
    field = page.get_by_label("Show only rulings with this text")
    field.focus()
    page.keyboard.type("a/b")
    expect(field).to_have_value("a/b")
    assert page.locator(".palette").count() == 0


# -- stories ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "has"),
    [
        ("host/ward-1/ward-2", "engaged with ward-1, ward-3"),
        ("agent/ward-1/ann@ward-2", "Under ward"),
        (f"law/ward-1/{LAW.hash}", "R1"),
        (f"rule/ward-1/{LAW.hash}:R1", "Alarms go to the desk"),
        ("ruling/ward-1/999999", "there is no ruling with the record '999999'"),
        ("agent/ward-1/nobody@ward-1", "not in this group now"),
        ("nonsense/ward-1/1", "There is no such story here."),
        ("host/nowhere/1", "There is no such story here."),
    ],
)
def test_a_story_has_an_address(ward: Site, window: Page, story: str, has: str) -> None:
    kind, host, id = story.split("/")
    window.goto(f"{ward.url}/communities?story={kind}/{host}/{quote(id, safe='')}")
    expect(window.locator(".story-body")).to_contain_text(has)


async def an_arrival(servers: Servers) -> int:
    """The record of an alarm that has come from another host."""
    views = servers["ward-1"].served.service.views
    found = [one for one in views.rulings().rulings if one.kind == "arrived" and one.hops]
    return int(found[-1].record)


def test_an_arrival_leads_to_what_was_sent_and_the_way_back_leads_back(
    ward: Site, window: Page
) -> None:
    window.goto(f"{ward.url}/communities?story=ruling/ward-1/{ward.do(an_arrival)}")
    event = window.locator(".story-body .term").first
    expect(event).to_contain_text("arrived(")
    arrived = event.inner_text()
    expect(window.locator(".story-body")).to_contain_text("earlier")
    window.locator(".story-body .line").first.click()
    expect(event).to_contain_text("sent(")
    expect(window.locator(".story-body")).to_contain_text("later")
    window.go_back()
    expect(event).to_have_text(arrived)


async def next_duty(servers: Servers) -> str:
    duty = servers["ward-1"].served.service.views.obligations()[0]
    return f"{duty.law}:{duty.due_at}:{duty.home}"


def test_a_duty_has_a_story(ward: Site, window: Page) -> None:
    duty = quote(ward.do(next_duty), safe="")
    window.goto(f"{ward.url}/communities?story=obligation/ward-1/{duty}")
    expect(window.locator(".story-body .term").first).to_have_text("handle")
    expect(window.locator("time[data-at]").first).to_contain_text("in ")
