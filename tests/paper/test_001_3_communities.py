"""`001_…` sections 3.1 to 3.3 and 4.1: adoption, certificates, exceptions, multicast."""

import pytest

from nomospace import laws
from nomospace.control import Event, adopt, certificate, certified, sent
from nomospace.law import load
from nomospace.scenarios.community import Community as Virtual
from nomospace.terms import show, term
from tests.paper.conftest import Found

ANN, BOB = "ann@x", "bob@x"


def test_3_2_each_adoption_is_a_membership_of_its_own() -> None:
    """3.2: one agent, one law, two memberships: two control states."""
    law = load(laws.text("ap"))
    first, _ = adopt(law, ANN, now=0)
    second, _ = adopt(law, ANN, now=0)
    first.handle(certified("admin", ANN, (term("role(mediator)"),)), now=0)
    assert (len(first.state), len(second.state)) == (1, 0)


def test_3_2_adoption_can_bring_arguments(found: Found) -> None:
    """3.2: what an agent says of itself at adoption counts as far as its law accepts it."""
    community = found(
        """
        law(greet).
        initialCS([base]).
        R1. adopted([name(N)]) :- do(+name(N)), do(deliver(Self, welcome(N), Self)).
        """
    )
    community.join(ANN, args=["name(ann)"])
    community.join(BOB, args=["title(king)"])
    assert (community.state(ANN), community.messages(ANN)) == (
        ["base", "name(ann)"],
        ["welcome(ann)"],
    )
    assert (community.state(BOB), community.messages(BOB)) == (["base"], [])


def test_4_1_everyone_starts_with_the_initial_state(found: Found) -> None:
    """4.1, the preamble: `initialCS` is the same for all."""
    community = found("law(i). initialCS([a, b(1)]). R1. sent(_, _, _) :- do(+c).")
    community.join(ANN, BOB)
    community.send(ANN, "go", BOB)
    assert (community.state(ANN), community.state(BOB)) == (["a", "b(1)", "c"], ["a", "b(1)"])


def test_4_1_a_certificate_gives_a_role(found: Found) -> None:
    """4.1, rule 1: an event of its own, whose argument shows the certificate."""
    community = found("ap")
    community.join(ANN)
    ruling = community.certify(ANN, "expert(fire)")
    assert show(ruling.event.term) == (
        "certified([issuer(admin),subject('ann@x'),attributes([role(expert(fire))])])"
    )
    assert community.state(ANN) == ["expert(fire)"]


def test_4_1_a_certificate_by_an_unknown_authority_is_an_exception() -> None:
    """4.1, on rule 1: a certificate that does not check out is an `exception`, not `certified`."""
    community = Virtual(load(laws.text("ap")))
    shown = certificate("mallory", ANN, (term("role(mediator)"),))
    (happening,) = community.tell(ANN, Event("certified", (shown,)), at=0)
    assert show(happening.ruling.event.term) == (
        "exception(certify([issuer(mallory),subject('ann@x'),attributes([role(mediator)])]),"
        "invalidCertificate)"
    )
    assert (happening.ruling.rule, happening.state) == ("R15", ())
    known = certificate("admin", ANN, (term("role(mediator)"),))
    (happening,) = community.tell(ANN, Event("certified", (known,)), at=0)
    assert (happening.ruling.rule, happening.state) == ("R1", ("mediator",))


def test_4_1_an_agent_is_told_of_a_certificate_that_did_not_count(found: Found) -> None:
    """4.1: the paper leaves the exception without a rule; ours tells the agent."""
    community = found("ap")
    community.join(ANN)
    community.tell(ANN, Event("exception", (term("certify(c)"), "invalidCertificate")))
    assert community.messages(ANN) == ["notCertified(c,invalidCertificate)"]


def test_3_1_a_law_can_restrict_transform_reroute_and_emit(found: Found) -> None:
    """3.1: the four things that a law does with messages."""
    community = found(
        """
        law(four).
        R1. sent(_, secret(_), _) :- fail.
        R2. sent(_, price(P), Y) :- P1 is P * 2, do(forward(Self, price(P1), Y)).
        R3. sent(_, help, _) :- do(forward(Self, help, 'desk@x')).
        R4. sent(_, remind(M), _) :- do(imposeObligation(remind(M), 1, hour)).
        R5. obligationDue(remind(M)) :- do(forward(Self, M, 'bob@x')).
        R6. arrived(_, _, _) :- do(deliver).
        """
    )
    community.join(ANN, BOB, "desk@x")
    for message in ("secret(x)", "price(4)", "help", "remind(tea)"):
        community.send(ANN, message, BOB)
    assert community.messages(BOB) == ["price(8)"]
    assert community.messages("desk@x") == ["help"]
    community.advance(3600)
    assert [(one.at, one.message) for one in community.read(BOB)] == [(3600, "tea")]


@pytest.mark.parametrize("operation", ["multicast(X, M, Ys)", "forward(X, M, Ys)", "forward"])
def test_4_1_multicast_reaches_each_of_a_list(found: Found, operation: str) -> None:
    """4.1, rule 5: one operation, a set of recipients."""
    community = found(
        f"law(cast). R1. sent(X, M, Ys) :- do({operation}). R2. arrived(_, _, _) :- do(deliver)."
    )
    community.join(ANN, BOB, "cat@x")
    community.tell(ANN, sent(ANN, "news", (BOB, "cat@x")))
    assert community.messages(BOB) == community.messages("cat@x") == ["news"]


def test_3_1_control_state_is_a_function_of_the_history(found: Found) -> None:
    """3.1: the same events give the same state and the same pending obligations."""
    worlds = [found("ap"), found("ap")]
    for world in worlds:
        world.join(ANN)
        for text in ("a", "b", "a"):
            world.send(ANN, f"publish(alarm(kind(fire), text({text})))", BOB)
            world.advance(200)
    first, second = worlds
    assert first.state(ANN) == second.state(ANN)
    assert first.pending(ANN) == second.pending(ANN)
