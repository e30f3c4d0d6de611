"""Spaces: the table follows the template, slips stand under the caret, tuples have stories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from nomospace import Ontology, obj
from nomospace.law import load
from nomospace.meaning.ontology import OntologyClass
from tests.browser.conftest import Open
from tests.browser.site import Servers, Site, site

NASTY = "<img src=x onerror=alert(1)>"
ROWS = ".spaces-table .listing-row"
FOOT = ".spaces-table .listing-foot"
MANY = 10_000
RULED = """law(ruled).
R1. sent(_, out(Fields), _) :- not(Fields = [secret|_]), do(forward).
    % No secrets here.
R2. arrived(_, _, _) :- do(deliver).
"""


async def begin(servers: Servers) -> None:
    """Jobs on two hosts, cars with an ontology, many tuples, and one that looks like markup."""
    cars = Ontology("cars", [OntologyClass("Car"), OntologyClass("Van", (), ("Car",))])
    ann = await servers["ward-1"].host.agent("ann")
    jobs = await ann.space("jobs", shared=True)
    await jobs.out_many([("job", number) for number in range(3)])
    await jobs.out("note", NASTY)
    theirs = await (await servers["ward-2"].host.agent("bob")).space("jobs", shared=True)
    await theirs.out("job", 7)
    sales = await ann.space("sales", shared=True, ontology=cars)
    await sales.out(obj("Van", "v1"), obj("Tax", "x"))
    await sales.out(obj("Van", "v1"), obj("Loan", "y"))
    law = load(RULED)
    await ann.adopt(law)
    await ann.space("ruled", shared=True, law=law)
    many = await ann.space("many", shared=True)
    for start in range(0, MANY, 2_000):
        await many.out_many([("one", number) for number in range(start, start + 2_000)])


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin, hosts=("ward-1", "ward-2")) as found:
        yield found


def opened(ward: Site, open_page: Open, space: str) -> Page:
    page = open_page(ward, f"/spaces?space={space}")
    expect(page.locator(f"[data-space={space}]")).to_have_attribute("aria-pressed", "true")
    return page


def template(page: Page, text: str) -> None:
    page.get_by_label("Template").press("Control+a")
    page.get_by_label("Template").press_sequentially(text)


def test_the_table_follows_the_template_as_one_types(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "jobs")
    expect(page.locator(ROWS)).to_have_count(5)
    template(page, "job, _:0..1")
    expect(page.locator(ROWS)).to_have_count(2)
    template(page, "job, 7")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(ROWS)).to_contain_text("bob@ward-2 on ward-2")
    expect(page.locator(FOOT)).to_contain_text("1 of 5 tuples match")


def test_a_slip_stands_under_the_caret_and_nothing_is_lost(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "jobs")
    template(page, "job, _:itn")
    expect(page.locator(".spaces-tuples .typed-said")).to_have_text("✕ there is no kind 'itn'")
    expect(page.locator(".spaces-tuples .typed-help")).to_have_text("did you mean int?")
    assert page.locator(".spaces-tuples .typed-caret").inner_text().rstrip() == " " * 7 + "^^^"
    expect(page.get_by_label("Template")).to_have_value("job, _:itn")
    expect(page.locator(ROWS)).to_have_count(5)  # what was found last stays
    page.reload()  # as when the host was restarted
    expect(page.get_by_label("Template")).to_have_value("job, _:itn")
    expect(page.locator(".spaces-tuples .typed-said")).to_be_visible()
    template(page, "job, _:int")
    expect(page.locator(".spaces-tuples .typed-said")).to_have_count(0)
    expect(page.locator(ROWS)).to_have_count(4)


def test_a_tuple_is_written_found_taken_and_has_a_story(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "jobs")
    page.get_by_label("As the agent").fill("eve@ward-1")
    page.get_by_label("Fields").fill("task, 'Two words', Smith")
    page.get_by_role("button", name="Write").click()
    expect(page.locator(".spaces-form .typed-said")).to_contain_text("Smith is a variable")
    expect(page.get_by_label("Fields")).to_have_value("task, 'Two words', Smith")
    page.get_by_label("Fields").fill("task, 'Two words', 5")
    page.get_by_label("For (agent)").fill("bob@ward-2")
    page.get_by_role("button", name="Write").click()
    expect(page.locator("[data-said]")).to_contain_text("eve@ward-1 wrote")
    template(page, "task, _, _")
    expect(page.locator(ROWS)).to_have_count(1)
    page.get_by_role("checkbox", name="wait up to").click()
    page.get_by_role("button", name="Take").click()
    expect(page.locator("[data-said]")).to_contain_text("eve@ward-1 took (task, 'Two words', 5)")
    expect(page.locator(ROWS)).to_have_count(0)
    page.goto(f"{ward.url}/spaces?story=tuple/ward-1/eve%40ward-1%231")
    steps = page.locator(".story .step")
    expect(steps.first).to_contain_text("writes")
    expect(steps.first).to_contain_text("eve@ward-1")
    expect(steps.last).to_contain_text("takes")


def test_a_tuple_that_lies_there_says_where(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "jobs")
    template(page, "note, _")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(ROWS)).to_contain_text(NASTY)
    assert page.locator(f"{ROWS} img").count() == 0
    page.locator(ROWS).click()
    story = page.locator("[data-story=tuple]")
    expect(story).to_contain_text("jobs on ward-1")
    expect(story).to_contain_text(NASTY)
    assert story.locator("img").count() == 0


def test_a_law_refuses_what_is_written_and_says_why(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "ruled")
    page.get_by_label("Fields").fill("secret, 1")
    page.get_by_role("button", name="Write").click()
    fault = page.locator("[data-said] [role=alert]")
    expect(fault).to_contain_text("visitor@ward-1 has not adopted law")
    page.get_by_label("As the agent").fill("ann@ward-1")
    page.get_by_role("button", name="Write").click()
    expect(fault).to_contain_text("No secrets here.")
    expect(page.get_by_label("Fields")).to_have_value("secret, 1")


def test_who_is_there_is_a_space_that_nobody_writes_to(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "LimeSystem")
    template(page, "host, _, connected")
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.get_by_role("button", name="Write")).not_to_be_visible()


def test_answers_by_meaning_say_why_alone_and_together(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "sales")
    template(page, "_:Car")
    expect(page.locator(ROWS).first).to_contain_text("Van is a Car")
    template(page, "_:Tax, _:Loan")
    expect(page.locator(ROWS)).to_have_count(0)
    page.get_by_role("checkbox", name="also answers of several").click()
    expect(page.locator(".spaces-set")).to_contain_text("share Van v1")


def test_ten_thousand_tuples_are_a_few_lines_in_the_page(ward: Site, open_page: Open) -> None:
    page = opened(ward, open_page, "many")
    expect(page.locator(FOOT)).to_contain_text("1 to 500 of 10,000 tuples")
    assert page.locator(ROWS).count() < 60
    page.get_by_role("listbox", name="Tuples of many").focus()
    page.keyboard.press("End")
    expect(page.locator(".listing-row.active")).to_contain_text("one, 499")
    page.get_by_role("button", name="The next 500").click()
    expect(page.locator(FOOT)).to_contain_text("501 to 1,000 of 10,000 tuples")
    template(page, "one, _:9990..20000")
    expect(page.locator(ROWS)).to_have_count(10)


def test_an_agent_that_is_none_and_a_space_that_is_gone(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/spaces?space=nowhere&template=job,%20_")
    expect(page.locator(ROWS).first).to_contain_text("job")  # the first space, then
    page.get_by_label("As the agent").fill("no agent")
    page.get_by_role("button", name="Read").click()
    expect(page.locator("[data-said] [role=alert]")).to_contain_text("is no agent; give its id")
    expect(page.get_by_label("As the agent")).to_have_value("no agent")
