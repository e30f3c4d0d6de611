"""Meaning: the ontology as a tree that folds, and a playground that shows what joins answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.site import Site, site
from tests.browser.workshop import begin, take_pictures


@pytest.fixture(scope="module")
def ward() -> Iterator[Site]:
    with site(begin) as found:
        yield found


def test_the_tree_folds_by_keyboard_and_computed_properties_are_dotted(
    ward: Site, open_page: Open
) -> None:
    page = open_page(ward, "/meaning")
    tree = page.get_by_role("tree")
    car = tree.locator("[data-class=Car]")
    expect(car).to_contain_text("Automobile")
    expect(tree.get_by_text("duration = minus(")).to_be_visible()
    expect(page.locator("path.onto-needs")).to_have_count(2)
    car.click()
    expect(car).to_contain_text("maker: string")
    page.keyboard.press("Tab")
    tree.locator("[data-class=Car]").focus()
    page.keyboard.press("ArrowLeft")
    expect(car).to_have_attribute("aria-expanded", "false")
    expect(tree.locator("[data-class=SportsCar]")).to_have_count(0)
    expect(car).to_contain_text("1 below")
    page.keyboard.press("ArrowRight")
    expect(tree.locator("[data-class=SportsCar]")).to_be_visible()


def test_answers_are_joined_by_the_object_they_share(
    ward: Site, open_page: Open, pictures: Path
) -> None:
    page = open_page(ward, "/meaning")
    answer = page.locator(".answer")
    expect(answer).to_have_attribute("data-kind", "correlation")
    expect(answer).to_contain_text("t1 and t2 share SportsCar A")
    expect(answer.locator("path.join-shared")).to_have_count(1)
    expect(page.locator("path.onto-needs")).to_have_count(2)
    take_pictures(page, pictures, "meaning-answers")
    page.get_by_role("button", name="a computed property").click()
    expect(answer).to_contain_text("duration 15")
    expect(answer.locator("path.join-tied")).to_have_count(1)
    page.get_by_label("Template").fill("(Car where price.amount < 10, CarInsurance = B)")
    page.get_by_role("button", name="Match", exact=True).click()
    near = page.locator("[data-near=t1]")
    expect(near).to_contain_text("has Car, CarInsurance, = B")
    expect(near).to_contain_text("lacks where price.amount < 10")
    page.get_by_label("Tuples", exact=True).first.click()
    page.get_by_role("option", name="the space market").click()
    expect(near).to_have_count(0)
    page.get_by_label("Template").fill("(Car whre x)")
    page.get_by_role("button", name="Match", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("here should stand `,` or `)`, not `whre`")
    expect(alert).to_contain_text("^^^^")
    expect(page.get_by_label("Template")).to_have_value("(Car whre x)")


def test_an_ontology_of_ones_own_is_read_as_it_is_typed(ward: Site, open_page: Open) -> None:
    page = open_page(ward, "/meaning")
    which = page.get_by_label("Which")
    which.click()
    page.get_by_role("option", name="spoken by market").click()
    expect(page.get_by_role("tree").locator("[data-class=CarInsurance]")).to_have_count(0)
    which.click()
    page.get_by_role("option", name="one of your own").click()
    text = page.get_by_label("The text of the ontology").last
    _write(page, text, "classes: {Ship: {parents: Vesel}, Vessel: {}}")
    expect(page.get_by_role("alert")).to_contain_text("did you mean Vessel?")
    _write(page, text, "classes: {Ship: {parents: Vessel}, Vessel: {synonyms: <i>}}")
    vessel = page.get_by_role("tree").locator("[data-class=Vessel]")
    expect(vessel).to_contain_text("<i>")
    page.get_by_role("link", name="Law bench").click()
    page.get_by_role("link", name="Meaning").click()
    expect(vessel).to_be_visible()


def _write(page: Page, box: Locator, words: str) -> None:
    """Write into an editor. A choice whose list has just gone may take the keyboard back once."""
    for _ in range(5):
        box.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(words)
        if box.inner_text() == words:
            return
    raise AssertionError(f"the editor has {box.inner_text()!r}")
