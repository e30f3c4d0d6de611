"""`000_…` sections 3.1 to 3.5: what law-governed interaction promises, whatever the law."""

import pytest

from nomospace.control import Event, Ruling, arrived, explain, sent
from nomospace.law import load
from nomospace.terms import Faulty, show, term
from tests.paper.community import Community
from tests.paper.conftest import Found

ANN, BOB, CAT = "ann@x", "bob@x", "cat@x"

QUOTA = """
law(quota).
initialCS([quota(2)]).
R1. sent(_, say(_), _) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. arrived(_, gift(N), _) :- do(incr(quota(_), N)).
R3. arrived(_, _, _) :- do(deliver).
"""


def told(ruling: Ruling) -> list[str]:
    return [show(operation) for operation in ruling.operations]


# -- 3.1: the law, and its locality --------------------------------------------------------


def test_3_1_a_ruling_depends_on_the_event_and_the_home_s_own_state(found: Found) -> None:
    """3.1: what others have done, or who they are, makes no difference."""
    alone, busy = found(QUOTA), found(QUOTA)
    alone.join(ANN)
    busy.join(ANN, BOB, CAT)
    for number in range(5):
        busy.send(BOB, f"say({number})", CAT)
        busy.send(CAT, f"say({number})", ANN)
    for number in range(4):
        here, there = (w.send(ANN, f"say({number})", BOB) for w in (alone, busy))
        assert (here.rule, here.operations, here.delta) == (
            there.rule,
            there.operations,
            there.delta,
        )
    assert alone.state(ANN) == busy.state(ANN) == ["quota(0)"]


def test_3_1_one_member_s_ruling_changes_no_other_s_state(found: Found) -> None:
    """3.1: operations are local to the home of the event."""
    community = found(QUOTA)
    community.join(ANN, BOB)
    community.send(ANN, "say(hello)", BOB)
    assert community.state(ANN) == ["quota(1)"]
    assert community.state(BOB) == ["quota(2)"]


def test_3_1_a_law_cannot_order_what_is_not_local() -> None:
    """3.1: handing a message to another agent than the home is no operation of the home."""
    with pytest.raises(Faulty, match="deliver"):
        load("law(x). R1. sent(X, M, Y) :- do(deliver(X, M, 'bob@x')).")
    with pytest.raises(Faulty, match="teleport"):
        load("law(x). R1. sent(X, M, Y) :- do(teleport(Y)).")


def test_3_1_the_law_is_a_function(found: Found) -> None:
    """3.1: the same event in the same state has the same ruling, every time."""
    first, second = found(QUOTA), found(QUOTA)
    for community in (first, second):
        community.join(ANN, BOB)
        for message in ("say(1)", "other", "say(2)", "say(3)"):
            community.send(ANN, message, BOB)
    assert first.rulings == second.rulings


def test_3_1_an_event_without_a_ruling_has_no_effect(found: Found) -> None:
    """3.1: the empty ruling means that the event is ignored."""
    community = found(QUOTA)
    community.join(ANN, BOB)
    ruling = community.send(ANN, "shout(hello)", BOB)
    assert (ruling.rule, ruling.operations, ruling.refused) == (None, (), True)
    assert community.read(BOB) == []
    assert community.state(ANN) == ["quota(2)"]


def test_3_1_a_control_state_is_a_bag(found: Found) -> None:
    """3.1: a term may be there twice, and goes as often as it came."""
    community = found(
        "law(bag). R1. sent(_, put(T), _) :- do(+T). R2. sent(_, drop(T), _) :- T@CS, do(-T)."
    )
    community.join(ANN)
    for message in ("put(a)", "put(b)", "put(a)", "drop(a)"):
        community.send(ANN, message, BOB)
    assert community.state(ANN) == ["b", "a"]
    community.send(ANN, "drop(a)", BOB)
    assert community.send(ANN, "drop(a)", BOB).refused


def test_3_1_an_agent_does_not_see_its_control_state(found: Found) -> None:
    """3.1: not even through the reasons for a refusal, unless the law discloses it."""
    community = found(
        "law(s). initialCS([pin(4711)]). R1. sent(_, try(P), _) :- pin(P)@CS, do(forward)."
    )
    community.join(ANN)
    ruling = community.send(ANN, "try(1)", BOB)
    assert "4711" not in explain(community.members[ANN], ruling).text


# -- 3.2: events and operations ------------------------------------------------------------


def test_3_2_a_message_is_ruled_on_where_it_is_sent_and_where_it_arrives(found: Found) -> None:
    """3.2, events 1 and 2."""
    community = found(
        "law(two). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."
    )
    community.join(ANN, BOB)
    community.send(ANN, "hello", BOB)
    assert [(r.home, show(r.event.term)) for r in community.rulings[-2:]] == [
        (ANN, "sent('ann@x',hello,'bob@x')"),
        (BOB, "arrived('ann@x',hello,'bob@x')"),
    ]


def test_3_2_a_destination_may_be_a_list(found: Found) -> None:
    """3.2, event 1: one message to many; it arrives at each as its own."""
    community = found(
        """
        law(many).
        R1. sent(_, _, _) :- do(forward).
        R2. arrived(_, _, Y) :- Y = Self, do(deliver).
        """
    )
    community.join(ANN, BOB, CAT)
    community.send(ANN, "hello", (BOB, CAT))
    assert community.messages(BOB) == community.messages(CAT) == ["hello"]


def test_3_2_a_law_may_misrepresent_the_sender(found: Found) -> None:
    """3.2, footnote 2: the receiver sees the sender that the ruling named, true or not."""
    community = found(
        """
        law(desk).
        R1. sent(_, complaint(T), Y) :- do(forward('desk@x', complaint(T), Y)).
        R2. sent(_, _, _) :- do(forward).
        R3. arrived(_, _, _) :- do(deliver).
        """
    )
    community.join(ANN, BOB)
    community.send(ANN, "complaint(noise)", BOB)
    community.send(ANN, "hello", BOB)
    assert [(one.sender, one.message) for one in community.read(BOB)] == [
        ("desk@x", "complaint(noise)"),
        (ANN, "hello"),
    ]


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ("do(+d)", ["a(1)", "b", "a(2)", "d"]),
        ("do(-b)", ["a(1)", "a(2)"]),
        ("do(b <- c(3))", ["a(1)", "c(3)", "a(2)"]),
        ("do(a(_) <- c)", ["c", "b", "a(2)"]),
        ("do(incr(a(_), 5))", ["a(6)", "b", "a(2)"]),
        ("do(dcr(a(2), 5))", ["a(1)", "b", "a(-3)"]),
        ("do(-nothing)", ["a(1)", "b", "a(2)"]),
    ],
)
def test_3_2_figure_1_operations_on_the_control_state(
    found: Found, operations: str, after: list[str]
) -> None:
    """3.2, Figure 1: each operation does what it says, to the oldest term that fits."""
    community = found(f"law(op). initialCS([a(1), b, a(2)]). R1. sent(_, go, _) :- {operations}.")
    community.join(ANN)
    community.send(ANN, "go", BOB)
    assert community.state(ANN) == after


def test_3_2_figure_1_sensing_the_control_state(found: Found) -> None:
    """3.2, Figure 1: `t@CS` holds when the term is there, and fails when it is not."""
    community = found("law(see). initialCS([a(1)]). R1. sent(_, is(T), _) :- T@CS, do(forward).")
    community.join(ANN)
    assert community.send(ANN, "is(a(1))", BOB).rule == "R1"
    assert community.send(ANN, "is(a(2))", BOB).refused


# -- 3.3: enforcement ----------------------------------------------------------------------


def test_3_3_events_of_an_agent_are_handled_in_order(found: Found) -> None:
    """3.3: each sees what the ones before it left."""
    community = found(
        """
        law(count).
        initialCS([n(0)]).
        R1. sent(_, M, Y) :- n(N)@CS, do(incr(n(N), 1)), do(forward(Self, m(N, M), Y)).
        R2. arrived(_, _, _) :- do(deliver).
        """
    )
    community.join(ANN, BOB)
    for word in ("a", "b", "c"):
        community.send(ANN, word, BOB)
    assert community.messages(BOB) == ["m(0,a)", "m(1,b)", "m(2,c)"]


def test_3_3_what_is_due_comes_before_a_later_event(found: Found) -> None:
    """3.3: chronological order holds between obligations and messages too."""
    community = found(
        """
        law(order).
        R1. sent(_, later, _) :- do(imposeObligation(mark, 1)).
        R2. sent(_, look, Y) :- ( mark@CS -> M = after ; M = before ), do(forward(Self, M, Y)).
        R3. obligationDue(mark) :- do(+mark).
        R4. arrived(_, _, _) :- do(deliver).
        """
    )
    community.join(ANN, BOB)
    community.send(ANN, "later", BOB)
    community.send(ANN, "look", BOB)
    community.now = 1_000_000  # nobody ticked: the obligation and the message come together
    community.send(ANN, "look", BOB)
    assert community.messages(BOB) == ["before", "after"]


def test_3_3_a_ruling_reads_the_state_before_it(found: Found) -> None:
    """3.3: the operations of one ruling do not see each other's effects."""
    community = found(
        """
        law(before).
        initialCS([n(1)]).
        R1. sent(_, _, _) :- do(n(1) <- n(2)), n(N)@CS, do(+saw(N)).
        """
    )
    community.join(ANN)
    community.send(ANN, "go", BOB)
    assert community.state(ANN) == ["n(2)", "saw(1)"]


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ("do(+a), do(imposeObligation(o, 1)), do(forward), do(incr(n(_), 1))", "typeError"),
        ("do(+a), do(forward), do(+obligation(o, soon))", "typeError"),
        ("do(+a), do(n(_) <- m(2)), do(forward), do(forward(Self, hi, 7))", "typeError"),
        ("do(-n(_)), do(repealObligation(old)), do(forward), do(deliver(Self, hi, M))", "notLocal"),
    ],
)
def test_3_3_a_ruling_that_cannot_be_carried_out_leaves_nothing(
    found: Found, operations: str, why: str
) -> None:
    """3.3: atomically means all of it or none: no term, no obligation, no message."""
    community = found(
        f"""
        law(atom).
        initialCS([n(word)]).
        R1. adopted(_) :- do(imposeObligation(old, 9)).
        R2. sent(_, M, _) :- {operations}.
        R3. arrived(_, _, _) :- do(deliver).
        R4. exception(_, Why) :- do(deliver(Self, failed(Why), Self)).
        """
    )
    community.join(ANN, BOB)
    ruling = community.send(ANN, "cat@x", BOB)
    assert (ruling.rule, ruling.operations, ruling.delta, ruling.stopped) == (None, (), (), why)
    assert community.state(ANN) == ["n(word)"]
    assert community.pending(ANN) == [(9, "old")]
    assert community.sent_to(BOB) == []
    assert community.messages(ANN) == [f"failed({why})"]


def test_3_3_a_controller_is_generic(found: Found) -> None:
    """3.3: any well-formed law; one agent may be under several, with a state in each."""
    strict, open_ = found(QUOTA), found("law(open). R1. sent(_, _, _) :- do(forward).")
    for community in (strict, open_):
        community.join(ANN)
    assert strict.send(ANN, "anything", BOB).refused
    assert open_.send(ANN, "anything", BOB).rule == "R1"
    assert (strict.state(ANN), open_.state(ANN)) == (["quota(2)"], [])


# -- 3.4: how laws are written -------------------------------------------------------------


def test_3_4_do_adds_to_the_ruling_in_order(found: Found) -> None:
    """3.4: the ruling is the sequence of operations on the way to the first solution."""
    community = found(
        """
        law(seq).
        R1. sent(X, M, Y) :- do(+one), ( do(+lost), fail ; do(+two) ), do(forward), do(+three).
        R2. sent(X, M, Y) :- do(+never).
        """
    )
    community.join(ANN)
    assert told(community.send(ANN, "m", BOB)) == [
        "+one",
        "+two",
        "forward('ann@x',m,'bob@x')",
        "+three",
    ]
    assert community.state(ANN) == ["one", "two", "three"]


# -- 3.5: obligations ----------------------------------------------------------------------

DUTY = """
law(duty).
R1. sent(_, owe(O, Dt), _) :- do(imposeObligation(O, Dt)).
R2. sent(_, repeal(O), _) :- do(repealObligation(O)).
R3. sent(_, repeal, _) :- do(repealObligation(pay(_, _))).
R4. sent(_, pardon, _) :- do(+pardoned).
R5. obligationDue(O) :- not(pardoned@CS), clock(T)@CS, do(deliver(Self, due(O, T), Self)).
"""


@pytest.fixture
def debtor(found: Found) -> Community:
    community = found(DUTY)
    community.join(ANN)
    return community


def test_3_5_an_obligation_comes_due_after_its_time(debtor: Community) -> None:
    """3.5: at t0 + dt by the home's clock, not before, and once."""
    debtor.advance(100)
    debtor.send(ANN, "owe(pay(bob, 5), 30)", BOB)
    debtor.advance(29.999999)
    assert debtor.read(ANN) == []
    debtor.advance(0.000001)
    assert debtor.messages(ANN) == ["due(pay(bob,5),130)"]
    debtor.advance(1000)
    assert debtor.read(ANN) == []


def test_3_5_a_repealed_obligation_does_not_come_due(debtor: Community) -> None:
    """3.5: repealed in time, it is as if it had never been."""
    debtor.send(ANN, "owe(pay(bob, 5), 30)", BOB)
    debtor.advance(29)
    debtor.send(ANN, "repeal(pay(bob, 5))", BOB)
    debtor.advance(1000)
    assert debtor.read(ANN) == []


def test_3_5_repeal_drops_every_obligation_of_the_type(debtor: Community) -> None:
    """3.5: all pending ones at once, however often and for whenever they were imposed."""
    for seconds in (10, 20, 30):
        debtor.send(ANN, f"owe(pay(bob, 5), {seconds})", BOB)
    debtor.send(ANN, "owe(pay(cat, 5), 15)", BOB)
    debtor.send(ANN, "repeal(pay(bob, 5))", BOB)
    assert debtor.pending(ANN) == [(15, "pay(cat,5)")]


def test_3_5_a_type_may_be_a_pattern(debtor: Community) -> None:
    """3.5: a type names obligations, not necessarily in a unique way."""
    for owed in ("pay(bob, 5)", "pay(cat, 7)", "visit(bob)"):
        debtor.send(ANN, f"owe({owed}, 10)", BOB)
    debtor.send(ANN, "repeal", BOB)
    assert debtor.pending(ANN) == [(10, "visit(bob)")]


def test_3_5_the_sanction_depends_on_the_state_when_it_is_due(debtor: Community) -> None:
    """3.5: provided that conditions on the control state hold at that time."""
    debtor.send(ANN, "owe(visit(bob), 10)", BOB)
    debtor.send(ANN, "pardon", BOB)
    debtor.advance(20)
    assert debtor.read(ANN) == []
    assert debtor.pending(ANN) == []


def test_3_5_of_two_due_at_once_the_first_imposed_comes_first(debtor: Community) -> None:
    """3.5: and due times go before the order of imposition."""
    debtor.send(ANN, "owe(third, 20)", BOB)
    debtor.send(ANN, "owe(first, 10)", BOB)
    debtor.send(ANN, "owe(second, 10)", BOB)
    debtor.advance(30)
    assert debtor.messages(ANN) == ["due(first,10)", "due(second,10)", "due(third,20)"]


def test_3_5_obligations_are_each_home_s_own(debtor: Community) -> None:
    """3.5: who imposed nothing owes nothing."""
    debtor.join(BOB)
    debtor.send(ANN, "owe(visit(bob), 10)", BOB)
    assert debtor.pending(BOB) == []
    debtor.tell(BOB, sent(BOB, term("repeal(visit(bob))"), ANN))
    assert debtor.pending(ANN) == [(10, "visit(bob)")]


def test_3_2_an_event_of_no_rule_s_kind_passes(debtor: Community) -> None:
    """3.2: a law need not rule on every event."""
    for event in (
        arrived(BOB, "hello", ANN),
        Event("disconnected", ()),
        Event("moved", ("a", "b")),
    ):
        assert debtor.tell(ANN, event).rule is None
