"""`000_…` sections 2 and 3.4: letters through a shared space, safe from others (law MP)."""

import pytest

from nomospace.control import ReservedRole
from tests.paper.community import Community
from tests.paper.conftest import Found
from tests.paper.operations import ACCESS, ENDING, GIVING_BACK, READING, TAKING, WRITING

ALICE, BOB, EVE = "alice@x", "bob@x", "eve@x"
LETTER = "[msg(hello), from('alice@x'), to('bob@x')]"
FOR_BOB = "[msg(formal(any)), from(formal(any)), to('bob@x')]"


@pytest.fixture
def post(found: Found) -> Community:
    community = found("mp")
    community.join(ALICE, BOB, EVE)
    community.join("post", manager=True)
    return community


def test_a_letter_that_names_its_writer_is_posted(post: Community) -> None:
    """3.4, rule 1: anyone may post in its own name."""
    for form in WRITING:
        assert post.send(ALICE, form.format(LETTER), "post").rule == "R1"
    assert [letter.sender for letter in post.read("post")] == [ALICE, ALICE]


@pytest.mark.parametrize("writer", ["'alice@x'", "formal(any)", "[]", "eve", "'EVE@x'"])
def test_a_letter_cannot_be_forged(post: Community, writer: str) -> None:
    """2, the second danger: a letter that names another writer never reaches the space."""
    for form in WRITING:
        forged = f"[msg(hello), from({writer}), to('bob@x')]"
        assert post.send(EVE, form.format(forged), "post").refused
    assert post.read("post") == []


def test_the_addressee_gets_at_its_letters(post: Community) -> None:
    """3.4, rule 2: by every operation, with and without options."""
    for form in ACCESS:
        assert post.send(BOB, form.format(FOR_BOB), "post").rule == "R2"
    assert len(post.read("post")) == len(ACCESS)


@pytest.mark.parametrize("template", [FOR_BOB, LETTER])
def test_nobody_else_reads_or_steals_a_letter(post: Community, template: str) -> None:
    """2, the first danger: eavesdropping and stealing, by whatever operation."""
    for form in TAKING + READING:
        for stranger in (EVE, ALICE):  # its writer cannot take it back either: it is on its way
            assert post.send(stranger, form.format(template), "post").refused
    assert post.read("post") == []


def test_nobody_else_ends_or_gives_back_what_is_not_theirs(post: Community) -> None:
    """2: what undoes an operation is bound as the operation is."""
    for form in ENDING + GIVING_BACK:
        assert post.send(EVE, form.format(FOR_BOB), "post").refused


@pytest.mark.parametrize(
    "template",
    [
        "[msg(formal(any)), from(formal(any)), to(formal(any))]",
        "[msg(formal(any)), from(formal(any)), to(formal(str, where(\"!= ''\")))]",
        "[msg(formal(any)), from(formal(any)), formal(any)]",
        "[formal(any), formal(any), formal(any)]",
        "[msg(formal(any)), to('eve@x'), from(formal(any))]",
        "[msg(formal(any)), from('eve@x'), to('bob@x'), to('eve@x')]",
        "formal(list)",
    ],
)
def test_an_open_template_is_refused(post: Community, template: str) -> None:
    """2: a formal where the reader's own name must stand would catch everybody's letters."""
    for form in ACCESS:
        assert post.send(EVE, form.format(template), "post").refused
    assert post.read("post") == []


def test_a_space_answers_and_its_answer_is_delivered(post: Community) -> None:
    """3.4, rules 3 and 4."""
    answer = f"found(in({FOR_BOB}), {LETTER})"
    assert post.send("post", answer, BOB).rule == "R3"
    (letter,) = post.read(BOB)
    assert letter.sender == "post"


def test_a_client_cannot_answer_in_a_space_s_place(post: Community) -> None:
    """3.4, rule 3: only who holds `tupleSpace` may say what it likes."""
    for message in ("found(in([x]), [y])", "reacted([x], [y])", "none(in([x]))", "hello"):
        assert post.send(EVE, message, BOB).refused
    assert post.read(BOB) == []


def test_nobody_claims_the_role_of_a_space(post: Community) -> None:
    """3.4: `tupleSpace` is there from the start or never."""
    with pytest.raises(ReservedRole):
        post.join("mallory@x", args=["tupleSpace"])
