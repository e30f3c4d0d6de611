"""One membership: effects by equality, atomic rulings, exceptions, obligations, storing."""

from __future__ import annotations

import gc

import pytest

from nomospace.control import (
    TICK,
    Deliver,
    Event,
    Forward,
    Leave,
    Membership,
    RecordRuling,
    Release,
    ReservedRole,
    Signal,
    TooOld,
    adopt,
    arrived,
    explain,
    sent,
)
from nomospace.law import load
from nomospace.terms import encode, t, term

SECOND = 1_000_000
ANN = "ann@x"


def member(rules: str, state: list[str] | None = None) -> Membership:
    """A member under a law made of these rules."""
    terms = None if state is None else [term(text) for text in state]
    return Membership(load("law(test).\n" + rules), ANN, state=terms)


def test_a_record_stands_before_what_others_may_see() -> None:
    ann = member("sent(X, M, Y) :- do(forward), do(+sent(M)), do(deliver(Self, ok, Self)).")
    record, *rest = ann.handle(sent(ANN, "hi", "bob@x"), now=5)
    assert isinstance(record, RecordRuling)
    assert record.ruling.rule == "#1"
    assert record.ruling.at == 5
    assert rest == [Forward(ANN, "hi", "bob@x"), Deliver(ANN, "ok")]


def test_every_operation_has_its_effect() -> None:
    ann = member(
        "R. sent(X, M, _) :- do(multicast(X, M, ['b@x', 'c@x'])), do(release(M, out)), "
        "do(signal(seen(M))), do(quit)."
    )
    effects = ann.handle(sent(ANN, "hi", "bob@x"), now=0)
    assert effects[1:] == [
        Forward(ANN, "hi", "b@x"),
        Forward(ANN, "hi", "c@x"),
        Release("hi", "out"),
        Signal(term("seen(hi)")),
        Leave(),
    ]
    assert ann.ended
    assert ann.handle(sent(ANN, "hi", "bob@x"), now=1) == []


def test_a_ruling_that_cannot_be_leaves_nothing_behind() -> None:
    ann = member(
        "R. sent(_, go, _) :- do(+x), do(-y), do(incr(n(_), 1)), do(imposeObligation(o, 1)).\n"
        "E. exception(What, Why) :- do(deliver(Self, failed(What, Why), Self)).",
        ["y", "n(text)"],
    )
    before = ann.snapshot()
    first, second, told = ann.handle(sent(ANN, "go", "bob@x"), now=0)
    assert isinstance(first, RecordRuling)
    assert first.ruling.stopped == "typeError"
    assert first.ruling.operations == ()
    assert isinstance(second, RecordRuling)
    assert second.ruling.rule == "E"
    assert told == Deliver(ANN, term("failed(ruling(sent('ann@x',go,'bob@x')),typeError)"))
    after = ann.snapshot()
    assert (after.state, after.obligations) == (before.state, before.obligations)


def test_an_exception_while_ruling_on_an_exception_is_only_recorded() -> None:
    ann = member("sent(_, M, _) :- M > 1.\nexception(E, _) :- E > 1.")
    effects = ann.handle(sent(ANN, "word", "bob@x"), now=0)
    assert [e.ruling.event.kind for e in effects if isinstance(e, RecordRuling)] == [
        "sent",
        "exception",
    ]


def test_what_is_due_fires_before_the_event_and_once() -> None:
    ann = member(
        "A. adopted(_) :- do(imposeObligation(second, 2)), do(imposeObligation(first, 1)), "
        "do(imposeObligation(also, 2)).\n"
        "D. obligationDue(O) :- do(+did(O)).\n"
        "S. sent(_, _, _) :- do(+sent)."
    )
    ann.handle(Event("adopted", ((),)), now=0)
    assert ann.next_deadline() == SECOND
    ann.handle(sent(ANN, "x", "bob@x"), now=2 * SECOND)
    assert [str(t) for t in map(repr, ann.state)] == [
        repr(term(text)) for text in ("did(first)", "did(second)", "did(also)", "sent")
    ]
    assert ann.handle(TICK, now=9 * SECOND) == []


def test_repeal_drops_all_of_a_type() -> None:
    ann = member(
        "A. adopted(_) :- do(imposeObligation(o(1), 5)), do(imposeObligation(o(2), 5)), "
        "do(imposeObligation(p, 5)).\nR. sent(_, _, _) :- do(repealObligation(o(_)))."
    )
    ann.handle(Event("adopted", ((),)), now=0)
    ann.handle(sent(ANN, "x", "bob@x"), now=1)
    assert ann.pending() == [(5 * SECOND, "p")]


def test_unmet_operations_are_told() -> None:
    ann = member("R. sent(_, _, _) :- do(-a), do(b <- c), do(forward), do(repealObligation(o)).")
    (record, _) = ann.handle(sent(ANN, "x", "bob@x"), now=0)
    assert isinstance(record, RecordRuling)
    assert record.ruling.unmet == (0, 1, 3)


def test_refused_and_held() -> None:
    ann = member(
        "sent(_, hold, _) :- do(+held).\nsent(_, talk, _) :- do(deliver(Self, no, Self)).\n"
        "sent(_, go, _) :- do(forward)."
    )
    verdicts = {}
    for message in ("hold", "talk", "go", "other"):
        record = ann.handle(sent(ANN, message, "bob@x"), now=0)[0]
        assert isinstance(record, RecordRuling)
        verdicts[message] = (record.ruling.refused, record.ruling.held)
    assert verdicts == {
        "hold": (False, True),
        "talk": (True, False),
        "go": (False, False),
        "other": (True, False),
    }


def test_a_membership_comes_back_as_it_was() -> None:
    law = load(
        "law(test).\nsent(_, M, _) :- do(+got(M)), do(imposeObligation(o(M), 3)).\n"
        "obligationDue(o(M)) :- do(-got(M))."
    )
    ann = Membership(law, ANN)
    for number in range(3):
        ann.handle(sent(ANN, number, "bob@x"), now=number * SECOND)
    twin = Membership.restore(law, ann.snapshot())
    assert twin.snapshot() == ann.snapshot()
    assert twin.handle(TICK, now=4 * SECOND) == ann.handle(TICK, now=4 * SECOND)
    assert twin.snapshot() == ann.snapshot()


def test_roles_that_only_a_host_may_give() -> None:
    law = load("law(test).\nadopted(_) :- tupleSpace@CS, do(+manager).")
    manager, _ = adopt(law, "jobs", now=0, manager=True)
    assert list(manager.state) == ["tupleSpace", "manager"]
    with pytest.raises(ReservedRole, match="leave it out"):
        adopt(law, ANN, ("tupleSpace",), now=0)


def test_a_growing_law_is_measured_before_it_is_carried_out() -> None:
    ann = member("sent(_, M, _) :- double(M, 30).\ndouble(M, 0) :- do(+big(M)).\n"
                 "double(M, N) :- N > 0, K is N - 1, double(f(M, M), K).")  # fmt: skip
    record = ann.handle(sent(ANN, "x", "bob@x"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "tooLarge"
    assert len(ann.state) == 0


class TestExplain:
    LAW = (
        "R1. sent(_, publish(M), _) :- quota(N)@CS, N > 0, not(blocked(M)@CS), "
        "do(dcr(quota(N), 1)), do(forward).\n    % A member may publish while it has quota.\n"
        "R2. sent(_, other, _) :- do(forward)."
    )

    def test_a_refusal_names_the_first_goal_that_failed(self) -> None:
        ann = member(self.LAW, ["quota(1)", "blocked(x)"])
        ann.handle(sent(ANN, term("publish(x)"), "bob@x"), now=0)
        told = explain(ann, ann.history()[-1], disclose="all")
        assert told.text.split("\n") == [
            "sent('ann@x',publish(x),'bob@x')",
            "  Refused: ann has blocked(x)",
            "  R1: did not fire",
            "    % A member may publish while it has quota.",
            "    failed  not(blocked(M)@CS) where M = x",
            "  R2: its head does not match the event",
        ]

    def test_a_ruling_tells_what_held_with_which_facts(self) -> None:
        ann = member(self.LAW, ["quota(2)"])
        ann.handle(sent(ANN, term("publish(x)"), "bob@x"), now=0)
        ann.handle(sent(ANN, term("publish(y)"), "bob@x"), now=1)
        first = explain(ann, ann.history()[0], disclose="all")
        assert first.verdict == "forwarded by R1"
        assert [(s.goal, s.with_values) for s in first.rules[0].held] == [
            ("quota(N)@CS", "N = 2"),  # as it was then, not as it is now
            ("N > 0", "N = 2"),
            ("not(blocked(M)@CS)", "M = x"),
        ]

    def test_disclosure_hides_facts_of_the_state(self) -> None:
        ann = member(self.LAW, ["quota(7)"])
        ann.handle(sent(ANN, term("publish(x)"), "bob@x"), now=0)
        ruling = ann.history()[-1]
        assert "7" in explain(ann, ruling, disclose="all").text
        assert "7" not in explain(ann, ruling).text
        assert explain(ann, ruling, disclose="none").rules == ()

    def test_what_is_too_old_is_said(self) -> None:
        ann = member("sent(_, _, _) :- do(forward).")
        for at in range(300):
            ann.handle(sent(ANN, "x", "bob@x"), now=at)
        with pytest.raises(TooOld, match="journal"):
            ann.before(1)


def test_a_message_is_delivered_only_at_home() -> None:
    ann = member("R. arrived(X, to(Z, M), _) :- do(deliver(X, M, Z)).")
    record = ann.handle(arrived("bob@x", term("to('cy@x',m)"), ANN), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "notLocal"
    assert ann.handle(arrived("bob@x", term("to('ann@x',m)"), ANN), now=0)[1:] == [
        Deliver("bob@x", "m")
    ]


def test_an_operation_that_cannot_be_and_is_too_large_is_told_as_its_event() -> None:
    doubling = ", ".join(f"X{i + 1} = t(X{i}, X{i})" for i in range(40))
    ann = member(
        "sent(X, X0, Y) :- " + doubling + ", do(deliver(X, X40, Y)).\n"
        "exception(Op, Why) :- do(deliver(Self, why(Why), Self))."
    )
    effects = ann.handle(sent(ANN, "a", "bob@x"), now=0)
    rulings = [effect.ruling for effect in effects if isinstance(effect, RecordRuling)]
    assert [ruling.event.kind for ruling in rulings] == ["sent", "exception"]
    assert rulings[1].event.args[0] == term("ruling(sent('ann@x',a,'bob@x'))")
    assert len(encode(rulings[1].event.args)) < 1_000


def test_a_ruling_that_stopped_leaves_nothing_for_the_collector() -> None:
    """Lists that its helpers made would else wait in memory, a message after the other."""
    law = load(
        """\
law(l).
R1. sent(_, many(L), _) :- longer(L, 100000), do(forward).
longer(_, 0).
longer(L, N) :- append(L, L, _), K is N - 1, longer(L, K).
"""
    )
    ann, _ = adopt(law, "ann@w", now=0)
    message = sent("ann@w", t.many(tuple(range(500))), "bob@w")
    ann.handle(message, now=0)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        record = ann.handle(message, now=0)[0]
        gc.collect()
        doubled = [left for left in gc.garbage if isinstance(left, tuple) and len(left) == 1_000]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not doubled
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "budget"
