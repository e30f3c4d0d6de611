"""`000_…` section 6: the policy that needs the client's state, the Chinese Wall (law CW)."""

import pytest

from tests.paper.community import Community
from tests.paper.conftest import Found
from tests.paper.operations import ENDING, GIVING_BACK, READING, TAKING, WRITING

ANN, BEN = "ann@x", "ben@x"
ALPHA = "[company(alpha), class(bank), formal(any)]"
BETA = "[company(beta), class(bank), formal(any)]"
OIL = "[company(omega), class(oil), formal(any)]"


@pytest.fixture
def firm(found: Found) -> Community:
    community = found("cw")
    community.join(ANN, BEN)
    community.join("files", manager=True)
    return community


def test_the_first_access_in_a_class_chooses(firm: Community) -> None:
    """6: one company of each conflict class, and everybody has a wall of its own."""
    for form in TAKING + READING:
        assert firm.send(ANN, form.format(ALPHA), "files").rule == "R1"
        assert firm.send(BEN, form.format(BETA), "files").rule == "R1"
        assert firm.send(ANN, form.format(BETA), "files").refused
        assert firm.send(BEN, form.format(ALPHA), "files").refused
        assert firm.send(ANN, form.format(OIL), "files").rule == "R1"
    assert firm.state(ANN) == ["chosen(bank,alpha)", "chosen(oil,omega)"]
    assert firm.state(BEN) == ["chosen(bank,beta)"]


@pytest.mark.parametrize("form", TAKING + READING)
def test_every_way_to_read_chooses(firm: Community, form: str) -> None:
    """6: whichever operation comes first."""
    firm.send(ANN, form.format(ALPHA), "files")
    assert firm.state(ANN) == ["chosen(bank,alpha)"]


@pytest.mark.parametrize(
    "template",
    [
        "[company(formal(any)), class(bank), formal(any)]",
        "[company(alpha), class(formal(any)), formal(any)]",
        "[company(formal(str, where(\"!= ''\"))), class(bank), formal(any)]",
        "[company(group(formal(any))), class(bank), formal(any)]",
        "[company(alpha), formal(any), formal(any)]",
        "[formal(any), formal(any), formal(any)]",
        "[class(bank), company(alpha)]",
        "[]",
    ],
)
def test_nobody_looks_over_the_wall(firm: Community, template: str) -> None:
    """6: a template that leaves company or class open would see both sides."""
    for form in TAKING + READING + ENDING + GIVING_BACK + WRITING:
        assert firm.send(ANN, form.format(template), "files").refused
    assert firm.read("files") == []
    assert firm.state(ANN) == []


def test_who_knows_one_company_writes_about_it(firm: Community) -> None:
    """6: writing is access too, and keeps to the side that was chosen."""
    for form in WRITING:
        assert firm.send(ANN, form.format("[company(alpha), class(bank), 7]"), "files").rule == "R2"
        assert firm.send(ANN, form.format("[company(beta), class(bank), 7]"), "files").refused
        assert firm.send(ANN, form.format("[company(alpha), class(oil), 7]"), "files").refused
    assert firm.send(ANN, f"rd({BETA})", "files").refused


def test_who_knows_two_companies_tells_neither(firm: Community) -> None:
    """6: or a bank's secrets would reach the other bank through their common oil company."""
    firm.send(ANN, f"rd({ALPHA})", "files")
    firm.send(ANN, f"rd({OIL})", "files")
    assert firm.send(ANN, "out([company(omega), class(oil), 7])", "files").refused
    assert firm.send(ANN, "out([company(alpha), class(bank), 7])", "files").refused
    assert firm.send(ANN, f"rd({ALPHA})", "files").rule == "R1"


def test_what_was_begun_on_the_right_side_is_ended(firm: Community) -> None:
    """6: cancelling, and giving a lease back, follow the operation they undo."""
    firm.send(ANN, f"in({ALPHA})", "files")
    for form in ENDING + GIVING_BACK:
        assert firm.send(ANN, form.format(ALPHA), "files").rule == "R3"
        assert firm.send(ANN, form.format(BETA), "files").refused


def test_answers_are_delivered(firm: Community) -> None:
    """6: the wall stands where one asks."""
    firm.send("files", f"found(rd({ALPHA}), [company(alpha), class(bank), 7])", ANN)
    assert len(firm.read(ANN)) == 1
    assert firm.send(BEN, "found(rd([x]), [y])", ANN).refused
