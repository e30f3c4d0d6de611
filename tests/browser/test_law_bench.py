"""The law bench: a law is written with checks, tried in virtual time, compared, and adopted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from nomospace.console.places.law_bench.state import FIRST_LAW
from nomospace.law import load
from tests.browser.conftest import Open
from tests.browser.screens import faults
from tests.browser.site import Site, site
from tests.browser.workshop import SENT, begin, laws_of, take_pictures

BENCH = "main[aria-label='Law bench']"
EDITOR = ".bench-law .cm-content"
LAX = "law(quota).\nR1. sent(X, M, Y) :- do(forward).\nR4. arrived(X, M, Y) :- do(deliver)."
PYTHON = 'law = Law("open")\n\n@law.sent(M, to=Y)\ndef all_pass(cs):\n    do(forward)\n'
TRIAL_MS = 60_000
"""How long a child process may take on a busy machine."""
HASH = load(FIRST_LAW).hash
PASTE = """(at, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const pasted = { clipboardData: data, bubbles: true, cancelable: true };
    at.dispatchEvent(new ClipboardEvent("paste", pasted));
}"""
"""What pasting is to an editor: typing 3,000 lines takes a browser minutes."""


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin) as found:
        yield found


def type_law(page: Page, text: str, *, anew: bool = False) -> None:
    page.locator(EDITOR).click()
    page.keyboard.press("Control+a" if anew else "Control+End")
    page.keyboard.insert_text(text)


def test_errors_are_told_with_their_caret_as_one_types(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/bench")
    expect(page.get_by_role("status").first).to_contain_text(f"4 rules, hash {HASH[:8]}")
    type_law(page, "R9. sent(X, '<b>x</b>', Y) :- do(forwrad).\n")
    finding = page.locator("[data-code=unknown-operation]")
    expect(finding).to_contain_text("error [unknown-operation] forwrad/0 is no operation")
    expect(page.locator(".found-error", has_text="forwrad")).to_be_visible()
    inline = page.locator(".editor-said-error")
    expect(inline).to_contain_text("did you mean forward")
    assert page.locator(f"{BENCH} b").count() == 0, "what is typed is text, never markup"
    page.get_by_role("tab", name="Adopt").click()
    expect(page.locator(".bench-adopt")).to_contain_text("cannot be adopted")
    finding.get_by_role("button").first.click()
    expect(page.locator(EDITOR)).to_be_focused()
    page.get_by_role("link", name="Meaning").click()
    page.get_by_role("link", name="Law bench").click()
    expect(page.locator(EDITOR)).to_contain_text("forwrad")
    expect(finding).to_be_visible()
    page.goto(
        f"{ward.url}/pipeline"
    )  # as when the host was started anew: it knows of nothing typed
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_label("Under").click()
    page.get_by_role("option", name="the law on the bench").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown-operation")
    page.get_by_role("link", name="Law bench").click()
    expect(page.locator(EDITOR)).to_contain_text("forwrad")
    finding.get_by_role("button", name="forward: mend line 9").click()
    expect(page.locator(EDITOR)).to_contain_text("do(forward).")
    expect(finding).to_have_count(0)


def test_a_law_of_3000_lines_is_checked_and_mended_like_any_other(
    ward: Site, open_page: Open
) -> None:
    page = open_page(ward, "/bench")
    rules = [f"R{n}. sent(_, m{n}(X), Y) :- X > {n}, do(forward).\n" for n in range(1, 2_998)]
    text = "".join(["law(long).\n", "initialCS([]).\n", *rules])
    page.locator(EDITOR).click()
    page.keyboard.press("Control+a")
    page.locator(EDITOR).evaluate(PASTE, text + "R0. arrived(_, _, _) :- do(delivr).\n")
    finding = page.locator("[data-code=unknown-operation]")
    expect(finding).to_contain_text("line 3000: error", timeout=TRIAL_MS)
    finding.get_by_role("button", name="deliver: mend line 3000").first.click()
    expect(page.get_by_role("status").first).to_contain_text("2998 rules", timeout=TRIAL_MS)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(f"{EDITOR} .cm-line").count() < 300, "what is not seen is not drawn"


def test_events_run_in_virtual_time_and_the_slider_goes_through_them(
    ward: Site, open_page: Open, pictures: Path
) -> None:
    page = open_page(ward, "/bench", height=940)
    page.get_by_role("button", name="Run the events").click()
    told = page.locator(".bench-told:visible")
    expect(told).to_contain_text("1 of 10", timeout=TRIAL_MS)
    expect(told).to_contain_text("forwarded by R1")
    expect(told.locator("[data-change=gone]")).to_have_text("− slot")
    expect(told).to_contain_text("in 1 h 00 min")
    page.get_by_role("option").filter(has_text="help").click()
    expect(told).to_contain_text("Refused by R2: ann has no slot")
    take_pictures(page, pictures, "law-bench")
    assert faults(page) == []
    page.get_by_role("button", name="The step after").click()
    expect(told).to_contain_text("at 3600 s")
    expect(page.get_by_role("option", selected=True)).to_contain_text("obligationDue(slot)")
    expect(told.locator("[data-change=new]")).to_have_text("+ slot")
    page.get_by_text("Why", exact=True).click()
    expect(told).to_contain_text("R3: fired")
    events = page.get_by_label("The events to try the law on").last
    events.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text('{"at": 0, "hoem": "ann@ward", "event": "quit"}\n')
    page.keyboard.press("Control+Enter")
    slip = '✕events: line 1: "home" is missing; is "hoem" a slip for it?'
    expect(page.get_by_role("alert")).to_have_text(slip, timeout=TRIAL_MS)
    expect(events).to_contain_text("hoem")
    page.get_by_role("button", name="Fill in the latest messages").click()
    expect(events).to_contain_text(f"hello({SENT - 1})")
    page.get_by_role("button", name="Run the events").click()
    expect(told).to_contain_text(f"1 of {SENT}", timeout=TRIAL_MS)
    expect(told).to_contain_text("Refused by R2")


def test_a_law_in_python_is_known_when_it_is_pasted(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/bench")
    type_law(page, PYTHON, anew=True)
    expect(page.get_by_label("Language")).to_have_value("Python (.law.py)")
    expect(page.get_by_role("status").first).to_contain_text("law open, 1 rule")
    page.get_by_role("button", name="Run the events").click()
    told = page.locator(".bench-told:visible")
    expect(told).to_contain_text("forwarded by all_pass", timeout=TRIAL_MS)


def test_a_draft_is_compared_with_what_was_in_force(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/bench")
    type_law(page, LAX, anew=True)
    page.get_by_role("tab", name="Compare").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    found = page.get_by_role("region", name="What differs")
    expect(found).to_contain_text(f"{SENT} differ, of 1 member", timeout=TRIAL_MS)
    told = found.locator(".bench-told")
    expect(told).to_contain_text("sent('ann@ward-1',hello(0),'bob@ward-1')")
    expect(told).to_contain_text("imposeObligation(slot,1,hour)")


def test_a_law_is_adopted_once_its_hash_is_confirmed(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/bench")
    page.get_by_role("tab", name="Adopt").click()
    button = page.get_by_role("button", name="Adopt", exact=True)
    page.get_by_label("Agent", exact=True).fill("carl@ward-1")
    page.get_by_label("First 8 characters").fill("00000000")
    expect(button).to_be_disabled()
    page.get_by_label("First 8 characters").fill(HASH[:8])
    button.click()
    expect(page.get_by_text("carl@ward-1 has adopted law quota")).to_be_visible()
    assert ward.do(laws_of, "carl@ward-1") == [HASH]
