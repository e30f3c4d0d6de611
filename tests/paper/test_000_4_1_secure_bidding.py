"""`000_…` section 4.1: requests and bids through a shared space (law SB)."""

import pytest

from tests.paper.community import Community
from tests.paper.conftest import Found
from tests.paper.operations import ENDING, GIVING_BACK, READING, TAKING, WRITING

ALICE, CAROL = "alice@x", "carol@x"
PAT, QUINN = "pat@x", "quinn@x"
REQUEST = "[requester('alice@x'), service(painting)]"
REQUESTS = "[requester(formal(any)), service(formal(any))]"
BID = "[offerFor('alice@x', painting), fee(90), provider('pat@x'), contact('pat@mail')]"
BIDS = (
    "[offerFor('alice@x', formal(any)), fee(formal(int)), provider(formal(any)), "
    "contact(formal(any))]"
)


@pytest.fixture
def market(found: Found) -> Community:
    community = found("sb")
    community.join(ALICE, CAROL)
    community.join(PAT, QUINN, args=["serviceProvider"])
    community.join("market", manager=True)
    return community


def test_a_service_is_asked_for_bid_for_and_chosen(market: Community) -> None:
    """4.1, steps (a) to (c)."""
    market.send(ALICE, f"out({REQUEST})", "market")
    market.send(PAT, f"react({REQUESTS}, once)", "market")
    market.send("market", f"reacted({REQUESTS}, {REQUEST})", PAT)
    market.send(PAT, f"out({BID})", "market")
    market.send(ALICE, f"in({BIDS})", "market")
    market.send("market", f"found(in({BIDS}), {BID})", ALICE)
    assert [letter.sender for letter in market.read("market")] == [ALICE, PAT, PAT, ALICE]
    assert [message[:7] for message in market.messages(PAT)] == ["reacted"]
    assert [message[:5] for message in market.messages(ALICE)] == ["found"]


def test_constraint_1_requests_are_not_forged(market: Community) -> None:
    """4.1, constraint 1: a request names the agent that made it."""
    nobody = "[requester(formal(any)), service(painting)]"
    for form in WRITING:
        assert market.send(ALICE, form.format(REQUEST), "market").rule == "R1"
        assert market.send(CAROL, form.format(REQUEST), "market").refused
        assert market.send(PAT, form.format(REQUEST), "market").refused
        assert market.send(CAROL, form.format(nobody), "market").refused
    assert {letter.sender for letter in market.read("market")} == {ALICE}


def test_constraint_1_bids_are_not_forged(market: Community) -> None:
    """4.1, constraint 1: a bid names the provider that made it, and only providers bid."""
    for form in WRITING:
        assert market.send(PAT, form.format(BID), "market").rule == "R4"
        assert market.send(QUINN, form.format(BID), "market").refused
        assert market.send(CAROL, form.format(BID.replace("pat@x", CAROL)), "market").refused
    assert {letter.sender for letter in market.read("market")} == {PAT}


@pytest.mark.parametrize("template", [REQUESTS, REQUEST])
def test_constraint_2_providers_read_requests_and_clients_do_not(
    market: Community, template: str
) -> None:
    """4.1, constraint 2: any provider reads any request, in every way there is to read."""
    for form in READING:
        assert market.send(QUINN, form.format(template), "market").rule == "R3"
        assert market.send(CAROL, form.format(template), "market").refused
    assert {letter.sender for letter in market.read("market")} == {QUINN}


def test_constraint_2_only_its_client_removes_a_request(market: Community) -> None:
    """4.1, constraint 2: removed by its requester, by nobody else, providers included."""
    mine = "[requester('alice@x'), service(formal(any))]"
    for form in TAKING + GIVING_BACK:
        assert market.send(ALICE, form.format(mine), "market").rule == "R2"
        for template in (mine, REQUEST, REQUESTS):
            assert market.send(CAROL, form.format(template), "market").refused
            assert market.send(PAT, form.format(template), "market").refused
    assert {letter.sender for letter in market.read("market")} == {ALICE}


def test_constraint_3_a_bid_is_for_its_client_alone(market: Community) -> None:
    """4.1, constraint 3: a bid is a secure message, so its own provider cannot reach it either."""
    anyone = BIDS.replace("'alice@x'", "formal(any)")
    for form in TAKING + READING + ENDING + GIVING_BACK:
        assert market.send(ALICE, form.format(BIDS), "market").rule == "R5"
        assert market.send(ALICE, form.format(anyone), "market").refused
        for other in (CAROL, PAT):
            for template in (BIDS, BID, anyone):
                assert market.send(other, form.format(template), "market").refused
    assert {letter.sender for letter in market.read("market")} == {ALICE}


@pytest.mark.parametrize(
    "template",
    ["[formal(any), formal(any)]", "[formal(any), formal(any), formal(any), formal(any)]", "[]"],
)
def test_templates_of_another_shape_are_refused(market: Community, template: str) -> None:
    """4.1: an open template would match requests and bids alike."""
    for form in TAKING + READING + GIVING_BACK:
        assert market.send(ALICE, form.format(template), "market").refused
        assert market.send(PAT, form.format(template), "market").refused


def test_a_certificate_makes_a_provider(market: Community) -> None:
    """4.1, initially: the role of a provider; here also by certificate, and taken away again."""
    assert market.send(CAROL, f"rd({REQUESTS})", "market").refused
    market.certify(CAROL, "serviceProvider")
    market.certify(CAROL, "serviceProvider")
    assert market.send(CAROL, f"rd({REQUESTS})", "market").rule == "R3"
    market.revoke(CAROL, "serviceProvider")
    assert market.state(CAROL) == []
    assert market.send(CAROL, f"rd({REQUESTS})", "market").refused


def test_a_certificate_about_another_makes_no_provider(market: Community) -> None:
    """4.1, initially: the role is its holder's."""
    market.certify(CAROL, "serviceProvider", subject=PAT)
    market.certify(CAROL, "serviceProvider", issuer="carol")
    market.certify(CAROL, "tupleSpace")
    assert market.state(CAROL) == []


def test_who_is_a_provider_no_longer_sees_no_more_requests(market: Community) -> None:
    """4.1, constraint 2, when a role ends while a reaction and a read are out."""
    market.send(PAT, f"react({REQUESTS}, 'once-per-tuple')", "market")
    market.send(PAT, f"rd({REQUESTS})", "market")
    market.revoke(PAT, "serviceProvider")
    market.read("market")
    market.send("market", f"reacted({REQUESTS}, {REQUEST})", PAT)
    market.send("market", f"found(rd({REQUESTS}), {REQUEST})", PAT)
    assert [message[:8] for message in market.messages(PAT)] == ["none(rd("]
    assert [message[:8] for message in market.messages("market")] == ["unreact("]
    for form in ENDING:
        assert market.send(PAT, form.format(REQUESTS), "market").rule == "R5a"
    market.send("market", f"found(in({BIDS}), {BID})", ALICE)
    assert len(market.read(ALICE)) == 1
