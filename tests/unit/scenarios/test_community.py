"""A community in virtual time: the order of events, what they cause, and where it stops."""

import pytest

from nomospace.control import Deliver, Event, ReservedRole, arrived, certified, sent
from nomospace.law import CompiledLaw, load
from nomospace.law.prelude import MESSAGES_MAX
from nomospace.scenarios.community import (
    CAUSED_MAX,
    Community,
    CommunityRuling,
    Runaway,
    StateTooLate,
    TimeBack,
)
from nomospace.terms import show, t, term

SECOND = 1_000_000


def law(text: str) -> CompiledLaw:
    return load(f"law(l). {text}")


def told(happenings: list[CommunityRuling]) -> list[tuple[int, str, str]]:
    """Time, home and event of each ruling."""
    return [(h.ruling.at, h.ruling.home, show(h.ruling.event.term)) for h in happenings]


def say(
    world: Community, home: str, message: str, to: str = "x", at: int = 0
) -> list[CommunityRuling]:
    return list(world.tell(home, sent(home, term(message), to), at=at))


def test_obligations_of_all_homes_fire_by_due_time_then_by_imposition() -> None:
    world = Community(law("sent(_, do(O, T), _) :- do(imposeObligation(O, T))."))
    for home, message in [
        ("a", "do(o1,2)"),
        ("b", "do(o2,2)"),
        ("a", "do(o3,2)"),
        ("b", "do(o4,1)"),
    ]:
        say(world, home, message)
    assert world.next_deadline() == SECOND
    assert told(list(world.advance(2 * SECOND))) == [
        (SECOND, "b", "obligationDue(o4)"),
        (2 * SECOND, "a", "obligationDue(o1)"),
        (2 * SECOND, "b", "obligationDue(o2)"),
        (2 * SECOND, "a", "obligationDue(o3)"),
    ]
    assert world.next_deadline() is None


def test_what_an_obligation_forwards_arrives_before_the_next_obligation() -> None:
    world = Community(
        law("""sent(_, go, _) :- do(imposeObligation(call, 1)), do(imposeObligation(rest, 1)).
               obligationDue(call) :- do(forward(Self, hi, b)). obligationDue(rest).""")
    )
    say(world, "a", "go")
    assert [event for _, _, event in told(list(world.advance(SECOND)))] == [
        "obligationDue(call)",
        "arrived(a,hi,b)",
        "obligationDue(rest)",
    ]


def test_what_is_due_at_once_waits_for_all_mail_of_the_event() -> None:
    # The second message reaches b while b already owes something that is due.
    world = Community(
        law("""sent(_, two, _) :- do(forward(Self, one, b)), do(forward(Self, two, b)).
               arrived(_, one, _) :- do(imposeObligation(now, 0)).""")
    )
    assert [event for _, _, event in told(say(world, "a", "two"))] == [
        "sent(a,two,x)",
        "arrived(a,one,b)",
        "arrived(a,two,b)",
        "obligationDue(now)",
    ]


def test_each_ruling_comes_with_the_state_right_after_it() -> None:
    world = Community(
        law("""initialCS([n(a)]).
               sent(_, add, _) :- do(+x), do(incr(n(_), 1)).
               exception(_, W) :- do(+W).""")
    )
    first, second = say(world, "a", "add")
    assert (first.ruling.stopped, first.state) == ("typeError", (t.n("a"),))
    assert second.state == (t.n("a"), "typeError")


def test_an_obligation_for_a_time_that_is_past_fires_now() -> None:
    world = Community(law("sent(_, late, _) :- do(+obligation(o, 1))."))
    assert told(say(world, "a", "late", at=5 * SECOND))[1] == (5 * SECOND, "a", "obligationDue(o)")


def test_time_does_not_go_back() -> None:
    world = Community(law("sent(_, _, _)."))
    say(world, "a", "hi", at=5 * SECOND)
    with pytest.raises(TimeBack, match="from 5 to 4; sort by time"):
        say(world, "a", "hi", at=4 * SECOND)


def test_a_starting_state_comes_before_the_first_event() -> None:
    world = Community(law("initialCS([x]). sent(_, _, _) :- do(forward)."))
    world.set_state("a", ("y",))
    assert [h.state for h in say(world, "a", "hi", to="b")] == [("y",), ("x",)]
    with pytest.raises(StateTooLate, match="b has had its first event"):
        world.set_state("b", ())


@pytest.mark.parametrize("more", [0, 1])
def test_one_event_may_cause_ten_thousand_and_no_more(more: int) -> None:
    """As many hear of it as one ruling may tell, and each tells nine others, one of them `more`."""
    others = [f"c{n}" for n in range(CAUSED_MAX // MESSAGES_MAX - 1)]
    world = Community(
        law(
            f"""sent(_, go, Y) :- do(forward(Self, m, Y)).
                arrived(_, m, 'b0@w') :- do(forward(Self, n, [{", ".join(others + ["z"] * more)}])).
                arrived(_, m, _) :- do(forward(Self, n, [{", ".join(others)}]))."""
        )
    )
    event = Event("sent", ("a@w", "go", tuple(f"b{n}@w" for n in range(MESSAGES_MAX))))
    seen: list[CommunityRuling] = []
    if not more:
        seen.extend(world.tell("a@w", event, at=0))
    else:
        with pytest.raises(Runaway, match="caused more than 10,000 events at one instant"):
            seen.extend(world.tell("a@w", event, at=0))
    assert len(seen) == 1 + CAUSED_MAX


@pytest.mark.parametrize(
    "rules",
    [
        """sent(_, go, _) :- do(forward(Self, m, b)).
           arrived(X, M, _) :- do(forward(Self, M, X)).""",
        """sent(_, go, _) :- do(imposeObligation(o, 0)).
           obligationDue(o) :- do(imposeObligation(o, 0)).""",
        """sent(_, go, _) :- do(forward(Self, m, [b, c])).
           arrived(_, _, _) :- do(forward(Self, m, [b, c])).""",
    ],
)
def test_events_that_cause_each_other_without_end_are_stopped(rules: str) -> None:
    seen: list[CommunityRuling] = []
    with pytest.raises(Runaway):
        seen.extend(Community(law(rules)).tell("a", sent("a", "go", "x"), at=0))
    assert len(seen) == 1 + CAUSED_MAX


def test_many_obligations_at_one_instant_are_no_runaway() -> None:
    world = Community(law("sent(_, go, _) :- do(imposeObligation(o, 1))."))
    for number in range(CAUSED_MAX + 10):
        say(world, f"a{number}", "go")
    assert len(list(world.advance(SECOND))) == CAUSED_MAX + 10


def test_a_repeating_obligation_is_no_runaway_while_time_passes() -> None:
    world = Community(
        law("""sent(_, go, _) :- do(imposeObligation(o, 1)).
               obligationDue(o) :- do(imposeObligation(o, 1)).""")
    )
    say(world, "a", "go")
    assert sum(1 for _ in world.advance(12_000 * SECOND)) == 12_000


def test_only_issuers_that_the_law_names_can_certify() -> None:
    world = Community(law('authority(admin, "key"). certified(_) :- do(+yes). exception(_, _).'))
    (good,) = world.tell("a", certified("admin", "a", ()), at=0)
    (bad,) = world.tell("a", certified("mallory", "a", ()), at=0)
    assert good.ruling.event.kind == "certified"
    assert show(bad.ruling.event.term) == (
        "exception(certify([issuer(mallory),subject(a),attributes([])]),invalidCertificate)"
    )


def test_who_has_quit_is_ruled_on_no_more_until_it_adopts_anew() -> None:
    world = Community(
        law("""initialCS([fresh]).
               sent(_, pledge, _) :- do(-fresh), do(imposeObligation(o, 1)).
               sent(_, bye, _) :- do(quit). sent(_, _, _) :- do(forward).
               adopted(_) :- do(imposeObligation(late, 5)).""")
    )
    say(world, "a", "pledge")
    say(world, "a", "bye")
    assert not list(world.advance(2 * SECOND))
    assert not say(world, "a", "hi", at=2 * SECOND)
    failed = say(world, "b", "hi", to="a", at=2 * SECOND)[1]
    assert show(failed.ruling.event.term) == "exception(forward(b,hi,a),unknownDestination)"
    (again,) = world.tell("a", Event("adopted", ((),)), at=3 * SECOND)
    assert again.state == ("fresh",)
    assert told(list(world.advance(9 * SECOND))) == [(8 * SECOND, "a", "obligationDue(late)")]


def test_an_exception_that_forwards_to_nobody_does_not_go_on_for_ever() -> None:
    world = Community(
        law(
            """sent(_, _, _) :- do(forward). exception(_, _) :- do(forward(Self, help, nobody))."""
        ),
        closed=True,
    )
    assert [event for _, _, event in told(say(world, "a", "hi", to="stranger"))] == [
        "sent(a,hi,stranger)",
        "exception(forward(a,hi,stranger),unknownDestination)",
    ]


def test_isolated_members_get_no_mail_but_do_what_they_owe() -> None:
    rules = "sent(_, _, _) :- do(forward), do(imposeObligation(o, 1))."
    world = Community(law(rules), isolated=True)
    assert len(say(world, "a", "hi", to="b")) == 1
    assert len(list(world.advance(SECOND))) == 1


def test_a_role_that_only_a_host_gives_is_refused() -> None:
    with pytest.raises(ReservedRole):
        list(Community(law("adopted(_).")).tell("a", Event("adopted", (("tupleSpace",),)), at=0))


def test_deliveries_are_among_the_effects() -> None:
    world = Community(law("arrived(_, _, _) :- do(deliver)."))
    (got,) = world.tell("b", arrived("a", "hi", "b"), at=0)
    assert got.effects == (Deliver("a", "hi"),)
