"""Now: the map, the rulings beside it, the small lines, and the first minute."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from nomospace_lab.pages.first_minute import AWAY
from tests.browser.conftest import CONNECTED, Open
from tests.browser.site import Servers, Site, site
from tests.browser.ward import HOSTS, begin, hospital_of

NUMBER = re.compile(r"[1-9]")


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin, hosts=HOSTS) as found:
        yield found


@pytest.fixture(scope="module")
def window(ward: Site, open_lasting: Open) -> Page:
    return open_lasting(ward, "/now")


@pytest.fixture
def page(ward: Site, window: Page) -> Page:
    window.goto(f"{ward.url}/now")
    window.wait_for_selector(".map-agent")
    window.wait_for_selector(".ruling")
    return window


# -- the map ---------------------------------------------------------------------------------------


def test_the_map_has_hosts_as_rooms_and_agents_as_signs(page: Page) -> None:
    titles = page.locator(".map-title")
    expect(titles).to_have_count(3)
    for at, name in enumerate(
        (
            "Surgery, host ward-1, 4 agents",
            "Intensive care, host ward-2, 2 agents",
            "Maternity, host ward-3, 0 agents",
        )
    ):
        expect(titles.nth(at)).to_have_attribute("aria-label", name)
    desk = page.locator("[data-item='agent desk@ward-1']")
    expect(desk).to_have_attribute("aria-label", "desk@ward-1, mediator, at Surgery")
    expect(page.locator(".map-shared")).to_have_count(1)
    expect(page.locator(".map-link").nth(1)).to_be_attached()


def test_what_a_page_begins_with_is_drawn_without_a_socket(ward: Site, chromium: Browser) -> None:
    with chromium.new_context() as context:
        context.route_web_socket("**", lambda _: None)
        page = context.new_page()
        page.goto(ward.link("/now"))
        expect(page.locator("[data-item='agent desk@ward-1']")).to_be_visible()
        expect(page.locator(".ruling").first).to_be_visible()
        assert not page.evaluate(CONNECTED)


def test_messages_are_pulses_that_lead_to_their_story(page: Page) -> None:
    pulse = page.locator(".map-pulse.forwarded[data-host=ward-2]").first
    pulse.wait_for(state="attached")
    record = pulse.get_attribute("data-id")
    pulse.dispatch_event("click")
    expect(page.locator(".story-title")).to_have_text("Ruling")
    expect(page.locator(".story-body")).to_contain_text("sent('ann@ward-2'")
    expect(page).to_have_url(re.compile(f"story=ruling/ward-2/{record}$"))
    # Where it went is part of its story, and leads on.
    arrived = page.locator(".story-body .line").first
    expect(arrived).to_contain_text("desk@ward-1")
    arrived.click()
    expect(page.locator(".story-body")).to_contain_text("arrived('ann@ward-2'")


def test_a_whole_story_has_an_address_and_the_way_back_leads_to_the_one_before(page: Page) -> None:
    pulse = page.locator(".map-pulse.forwarded[data-host=ward-2]").first
    pulse.wait_for(state="attached")
    record = pulse.get_attribute("data-id")
    pulse.dispatch_event("click")
    page.locator("[data-whole]").click()
    expect(page).to_have_url(re.compile(rf"/story\?about=ward-2/{record}$"))
    steps = page.locator(".story-step")
    expect(steps.nth(1)).to_contain_text("desk@ward-1")
    expect(steps.nth(1)).to_contain_text("from ann@ward-2, 1 hop: ward-2 → ward-1")
    expect(page.locator(".story-step.chosen")).to_contain_text("ann@ward-2")
    expect(page.locator(".story-said")).to_contain_text("on 2 hosts")
    assert page.locator(".story-wide circle").count() >= 2
    steps.nth(1).get_by_role("button", name="The story from here").click()
    expect(page.locator(".story-step.chosen")).to_contain_text("desk@ward-1")
    page.go_back()
    expect(page.locator(".story-step.chosen")).to_contain_text("ann@ward-2")
    page.go_back()
    expect(page.locator(".map-title").first).to_be_visible()
    base = page.url.partition("/now")[0]
    page.goto(f"{base}/story?about=ward-2/{record}")
    expect(page.locator(".story-step.chosen")).to_contain_text("ann@ward-2")
    page.goto(f"{base}/story?about=nobody/7")
    expect(page.get_by_role("alert")).to_contain_text("no journal of this group tells of")


def test_the_map_is_walked_by_the_keyboard(page: Page) -> None:
    page.locator(".map-title").first.focus()
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.dataset.item")
    assert first.startswith("agent ")
    page.keyboard.press("Enter")
    expect(page.locator(".story-title")).to_have_text("Agent")
    expect(page.locator(".story-name")).to_have_text(first.removeprefix("agent "))
    expect(page.locator(".story-close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".story-close")).not_to_be_visible()
    expect(page.locator(f"[data-item='{first}']")).to_be_focused()
    expect(page).not_to_have_url(re.compile("story"))


async def move_bot(servers: Servers, to: str) -> None:
    await hospital_of(servers).move_bot(to)


def test_an_agent_that_moves_is_seen_to_move(page: Page, ward: Site) -> None:
    bot = "[data-item='agent bot@ward-1']"
    expect(page.locator(bot)).to_have_attribute("data-host", "ward-1")
    page.evaluate(f'window.bot = document.querySelector("{bot}")')
    ward.do(move_bot, "ward-3")
    page.wait_for_selector(f"{bot}[data-host=ward-3]")
    assert page.evaluate(f'window.bot === document.querySelector("{bot}")'), "it was drawn anew"
    ward.do(move_bot, "ward-1")
    page.wait_for_selector(f"{bot}[data-host=ward-1]")


# -- the rulings -----------------------------------------------------------------------------------


def test_rulings_are_filtered_and_paused(page: Page) -> None:
    page.click("[data-kind=forwarded]")
    expect(page.locator(".ruling.forwarded")).to_have_count(0)
    page.click("[data-kind=forwarded]")
    page.get_by_label("Show only rulings with this text").fill("notify(alarm(expert")
    expect(page.locator(".ruling").filter(has_not_text="notify")).to_have_count(0)
    expect(page.locator(".ruling").first).to_contain_text("notify")
    page.get_by_label("Show only rulings with this text").fill("nothing has this")
    expect(page.locator(".rulings-none")).to_contain_text("matches the filter")
    page.get_by_label("Show only rulings with this text").fill("")
    page.get_by_role("button", name="Pause").click()
    held = page.locator(".rulings-foot")
    expect(held).to_contain_text("held while you look")
    newest = page.locator(".ruling").first.get_attribute("data-record")
    expect(held).to_contain_text(re.compile(r"^\s*[1-9]\d* new"))
    assert page.locator(".ruling").first.get_attribute("data-record") == newest
    page.get_by_role("button", name="Go on").click()
    expect(held).to_contain_text("Live.")


def test_rulings_do_not_jump_under_the_pointer(page: Page) -> None:
    foot = page.locator(".rulings-foot")
    page.locator(".ruling").nth(3).hover()
    # What came before the pointer may be drawn after it; once something is held, nothing is.
    expect(foot).to_contain_text("new, held while you look")
    before, said = page.locator(".ruling").first.get_attribute("data-record"), foot.inner_text()
    expect(foot).not_to_have_text(said)  # more have come
    expect(foot).to_contain_text("new, held while you look")
    assert page.locator(".ruling").first.get_attribute("data-record") == before
    page.locator(".rail-name").hover()
    expect(page.locator(".rulings-foot")).to_contain_text("Live.")


def test_a_refusal_is_explained_in_one_click(page: Page, ward: Site) -> None:
    ward.do(refuse)
    page.click("[data-kind=forwarded]")
    page.locator(".ruling.refused:has-text('unheard_of')").first.click()
    story = page.locator(".story-body")
    expect(story).to_contain_text("Refused: no rule speaks of")
    expect(story).to_contain_text("Heads of other events: R1, R3, R5")


async def refuse(servers: Servers) -> None:
    await hospital_of(servers).refused("unheard_of")


async def send_nasty(servers: Servers) -> None:
    await hospital_of(servers).nasty()


def test_what_comes_from_outside_is_text(page: Page, ward: Site) -> None:
    ward.do(send_nasty)
    line = page.locator(".ruling:has-text('<img src=x')").first
    line.click()
    expect(page.locator(".story-body .term")).to_contain_text("<img src=x onerror=")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("<img src=x onerror='window.hacked=1'>")
    expect(page.locator(".palette-none")).to_contain_text("<img src=x")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


# -- rates -----------------------------------------------------------------------------------------


def test_rates_are_exact_and_equal_rulings_are_one_line(page: Page, ward: Site) -> None:
    sent = ward.do(flood, 600)
    expect(page.locator(".ruling.refused .ruling-count").first).to_contain_text(NUMBER)
    # At least one of its seconds had a quarter of it, whatever was shown of them.
    page.wait_for_function(
        "(most) => Number(document.querySelector('[data-line=refused]').title"
        ".match(/at most ([\\d,.]+)/)[1].replace(',', '')) > most",
        arg=sent / 4,
    )
    expect(page.locator("[data-line=obligations] .spark-value")).to_contain_text(NUMBER)


async def flood(servers: Servers, count: int) -> int:
    hospital = hospital_of(servers)
    for _ in range(count):
        await hospital.refused("flood")
    return count


# -- the first minute ------------------------------------------------------------------------------


def test_the_first_minute_leads_to_each_why(page: Page) -> None:
    page.click("[data-try=alarm]")
    expect(page.locator("[data-said=alarm]")).to_contain_text("experts only")
    story = page.locator(".story-body")
    expect(story).to_contain_text("Laymen's alarms go to experts of that kind.")
    expect(story).to_contain_text("expert@CS")

    page.click("[data-try=rogue]")
    expect(page.locator("[data-try=rogue]")).to_contain_text("off")
    chart = page.locator(".duel")
    expect(chart).to_have_attribute("aria-label", re.compile(r"refused [1-9]\d* times a second"))
    expect(chart).to_contain_text("ms round trip")
    page.click("[data-try=rogue]")
    expect(page.locator("[data-try=rogue]")).to_contain_text("on")

    page.click("[data-try=assistant]")
    expect(page.locator("[data-said=assistant]")).to_contain_text("It is in Intensive care now.")
    page.click("[data-try=message]")
    expect(page.locator("[data-hops]").first).to_contain_text("2 hops")
    page.click("[data-try=message]")
    expect(page.locator("[data-hops]").nth(1)).to_contain_text("1 hop")


def test_the_card_folds_into_the_help_button_and_stays_there(page: Page) -> None:
    card = page.get_by_label("The first minute")
    page.get_by_role("button", name="Put this card away").click()
    expect(card).not_to_be_visible()
    page.wait_for_function(f"document.cookie.includes('{AWAY}')")
    page.reload()
    page.wait_for_selector(".map-agent")
    expect(card).not_to_be_visible()
    page.get_by_role("button", name="Help").click()
    expect(card).to_be_visible()
    page.wait_for_function(f"!document.cookie.includes('{AWAY}')")  # the next test has this browser


def test_what_is_done_in_vain_is_said_in_place(page: Page, ward: Site) -> None:
    ward.do(break_alarm)
    page.click("[data-try=alarm]")
    fault = page.locator("[data-said=alarm] [role=alert]")
    expect(fault).to_contain_text("steps that wait for the disk")


async def break_alarm(servers: Servers) -> None:
    hospital_of(servers).broken = True
