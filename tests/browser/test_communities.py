"""Communities: the law with its counts, members as they change, duties, and why not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Dialog, Page, expect

from nomospace.calls.requests import Tell
from nomospace.law import load
from tests.browser.conftest import Open
from tests.browser.site import Servers, Site, site

NASTY = "<img src=x onerror=alert(1)>"
LAW = f"""% {NASTY}
law(quiet).

R1. sent(_, hum(_), _) :- do(forward), do(+hummed).
R2. sent(_, later(_), _) :- hummed@CS, do(imposeObligation(nag, 1000, sec)).
R3. arrived(_, _, _) :- do(deliver).
R4. sent(_, never(X), _) :- loud@CS, do(forward).
    % Nobody is loud.
R5. obligationDue(nag) :- do(-hummed).
"""
OTHER = "law(other). R1. sent(_, _, _) :- do(forward)."
RULINGS = ".community-rulings .listing-row"
STORY = ".story"


async def begin(servers: Servers) -> None:
    """Ann and Bob on one host, Cem on another, all under one law; Bob is under two."""
    law = load(LAW)
    for host, names in (("ward-1", ("ann", "bob")), ("ward-2", ("cem",))):
        for name in names:
            await (await servers[host].host.agent(name)).adopt(law)
    await (await servers["ward-1"].host.agent("bob")).adopt(load(OTHER))


async def say(servers: Servers, agent: str, message: str, to: str) -> None:
    """Have an agent of the quiet law send something."""
    name, _, host = agent.partition("@")
    line = servers[host].host.line(agent)
    from nomospace.terms import term

    await line.ask(Tell(load(LAW).hash, term(message), to))
    line.shut(name)


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin, hosts=("ward-1", "ward-2")) as found:
        yield found


def opened(ward: Site, open_page: Open) -> Page:
    page = open_page(ward, "/communities?law=quiet")
    expect(page.get_by_role("tab", name="quiet")).to_have_attribute("aria-selected", "true")
    return page


def test_counts_and_states_change_as_one_looks(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page)
    expect(page.locator("[data-member]")).to_have_count(3)  # of both hosts
    ann = page.locator("[data-member='ann@ward-1']")
    expect(ann).not_to_contain_text("hummed")
    ward.do(say, "ann@ward-1", "hum(a)", "cem@ward-2")
    expect(ann).to_contain_text("hummed")
    expect(page.locator(".lawhits[data-rule=R1]")).to_contain_text("1")
    expect(page.locator(".lawhits[data-rule=R3]")).to_contain_text("1")  # at the other host
    expect(page.locator(".lawhits[data-rule=R4]")).to_have_text("never")
    never = page.locator(".lawline.never", has_text="never(")
    expect(never).to_have_count(1)
    expect(page.locator("[data-counted]")).to_contain_text("of 5 rules never ruled")


def test_a_duty_counts_down_on_a_line(ward: Site, open_page: Open) -> None:
    ward.do(say, "bob@ward-1", "hum(b)", "ann@ward-1")
    ward.do(say, "bob@ward-1", "later(b)", "ann@ward-1")
    page = opened(ward, open_page)
    duty = page.locator("[data-owed='bob@ward-1']")
    expect(duty).to_contain_text(re.compile(r"in 1[56] min \d\d s"))
    expect(duty).to_contain_text("nag")
    expect(page.get_by_role("tab", name="quiet")).to_contain_text("1")


def test_a_refused_event_opens_as_the_rules_that_were_tried(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page)
    ward.do(say, "cem@ward-2", "never(c)", "ann@ward-1")
    refused = page.locator(RULINGS, has_text="never(c)").first
    expect(refused).to_contain_text("refused")
    refused.click()
    story = page.locator(STORY)
    expect(story).to_contain_text("R4")
    expect(story).to_contain_text("Nobody is loud.")
    expect(story.locator(".goal", has_text="failed")).to_contain_text("loud@CS")
    expect(page).to_have_url(re.compile("story=ruling/ward-2/"))
    page.keyboard.press("Escape")
    expect(story).not_to_be_visible()


def test_rulings_open_by_keyboard_and_do_not_move_under_the_pointer(
    ward: Site, open_page: Open
) -> None:
    ward.do(say, "ann@ward-1", "never(first)", "bob@ward-1")
    page = opened(ward, open_page)  # what was ruled before one looked is there too
    top = page.locator(RULINGS).first
    expect(top).to_contain_text("never(first)")
    top.hover()
    ward.do(say, "ann@ward-1", "never(second)", "bob@ward-1")
    expect(page.locator(".community-rulings .listing-foot")).to_contain_text("new wait")
    expect(top).to_contain_text("never(first)")
    page.mouse.move(10, 10)
    expect(top).to_contain_text("never(second)")
    page.get_by_role("listbox", name="Rulings").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(STORY)).to_contain_text("never(second)")


def test_another_law_is_chosen_and_texts_are_never_markup(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page)
    page.on("dialog", _fail)
    expect(page.locator(".lawcode").first).to_have_text(f"% {NASTY}")
    assert page.locator(".lawtext img").count() == 0
    page.get_by_role("tab", name="other").click()
    expect(page.locator(".lawcode").first).to_have_text(OTHER)
    expect(page.locator("[data-member]")).to_have_count(1)
    page.get_by_label("Find members").fill("nobody")
    expect(page.locator("[data-member]")).to_have_count(0)


def test_a_rule_has_a_story(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page)
    page.get_by_role("button", name="R4 has never ruled").click()
    expect(page.locator(STORY)).to_contain_text("Nobody is loud.")


def _fail(dialog: Dialog) -> None:
    dialog.dismiss()
    pytest.fail("a text was taken for markup")
