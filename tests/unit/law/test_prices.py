"""Prices are charged before the work, in all operands, and are one price for both evaluators.

Time is not measured here: `python -m nomospace_lab.testing.costly law` does that. What an
evaluation costs is counted in units, and one that would take for ever shows by not ending.
"""

from __future__ import annotations

from functools import partial

import pytest

from nomospace.control import TICK, Membership, RecordRuling, explain, sent
from nomospace.control.bounded import Bounded
from nomospace.control.explain import TEXT_CHARS
from nomospace.law import load
from nomospace.law.bag import Bag
from nomospace.law.budget import PRICES, Stop, in_parts
from nomospace.law.prelude import UNITS_MAX
from nomospace.terms import Compound, Term, term
from nomospace_lab.testing.evaluating import evaluate
from nomospace_lab.testing.generate.shapes import doubled

HOME = "ann@x"


def spent(body: str, message: Term = "m", state: tuple[Term, ...] = ()) -> tuple[int, str]:
    """The units that both evaluators spend on a message, and what ended the evaluation."""
    law = load(f"law(l).\nsent(_, M, _) :- {body}")
    asked = ("sent", HOME, (HOME, message, "bob@x"), Bag(state), Bag(), 0)
    found = []
    for ask in (partial(evaluate, law), law.interpreter.rule):
        units, ended = [0], ""
        try:
            outcome = ask(*asked, units)
            ended = "" if outcome is None else "ruled"
        except Stop as stop:
            ended = stop.reason
        found.append((units[0], ended))
    assert found[0] == found[1]
    return found[0]


LOOP = "law(l).\nR1. sent(_, n(N), _) :- p(N), do(forward).\np(0). p(N) :- N > 0, K is N - 1, p(K)."
TEXT = "ab" * 20_000
LIST = tuple(range(4_000))


@pytest.mark.parametrize(
    ("body", "message", "least"),
    [
        ("split_string(M, 'a', _).", TEXT, 20_000),
        ("split_string('a', M, _).", TEXT, 4_000),
        ("append([], M, _).", LIST, 250),
        ("append(M, [], _).", LIST, 250),
        ("append(A, B, M), A = B.", LIST[:1_000], 10_000),
        ("reverse(M, _).", LIST, 250),
        ("sort(M, _).", LIST, 8_000),
        ("sort(M, _).", (doubled(10), doubled(10, leaf=1)), 1_000),
        ("delete(M, f(_, _), _).", LIST, 4_000),
        ("sum_list(M, _).", (2**4_000,) * 100, 800),
        ("upcase_atom(M, _).", TEXT, 1_200),
        ("atom_concat(M, M, _).", TEXT, 800),
        ("atom_concat(_, _, M), fail.", TEXT[:2_000], 40_000),
        ("sub_atom(M, _, _, _, b), fail.", TEXT[:2_000], 5_000),
        ("atom_length(M, _).", 2**4_000, 60),
        ("atom_number(_, M).", 2**4_000, 60),
        ("atom_number(M, _).", "1" * 1_200, 70),
        ("X is M * M, X > 0.", 2**2_000, 10),
        ("X is 2 ** 4000, X > 0.", "m", 16),
        ("( a = b ; a = c ; a = d ).", "m", 3),
        ("M = f(X, Y), X == Y.", Compound("f", (TEXT, "".join([TEXT[:1], TEXT[1:]]))), 20),
    ],
)
def test_what_is_large_is_paid_for(body: str, message: Term, least: int) -> None:
    units, _ = spent(body, message)
    assert units >= least


def test_a_price_is_charged_before_the_work() -> None:
    """A text of a million separators ends for want of units, and its parts are never made."""
    units, ended = spent("split_string(M, ',', _).", "," * 990_000)
    assert ended == "budget"
    assert units < 2_000_000


PAIRS = tuple([Compound("p", (n, "a")) for n in range(8_000)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sort(M, _).", PAIRS),
        ("sort([M, M, M], _).", PAIRS),
        ("sum_list(M, _).", LIST * 5),
        ("delete(M, f(_, _), _).", PAIRS),
        ("delete(M, p(1, a), _).", PAIRS),
        ("split_string(M, '123456789', _).", "é" * 200_000),
    ],
)
def test_what_takes_long_gives_way_on_its_way(body: str, message: Term) -> None:
    """A host that rules in slices hears from it again soon: no piece is paid for as a whole."""
    pieces: list[int] = []

    def give_way() -> bool:
        pieces.append(units[0] - UNITS_MAX)
        return False

    law = load(f"law(l).\nsent(_, M, _) :- {body}")
    units = in_parts(4_000, give_way, whole=1_000_000)
    evaluate(law, "sent", HOME, (HOME, message, "bob@x"), Bag(), Bag(), 0, units)
    assert len(pieces) >= 4
    assert max(pieces) <= 25_000


DEAR = (
    "delete([M], p(p(_, X), X), R), R = [].",
    "M = p(p(_, X), X).",
    "M = p(X, Y), X = Y, Y == X.",
    "sort([M, M], _).",
    "twice(30, M, T), twice(30, M, U), T = U.",
    "twice(30, M, T), delete([T], p(p(_, X), X), R), R = [].",
    "twice(30, _, T), twice(30, _, U), T = U.",
    "twice(30, _, T), twice(30, _, U), T == U.",
    "twice(30, X, T), findall(T, true, L), L = [_].",
    "twice(50, M, T), T@CS.",
)
TWICE = " twice(0, T, T). twice(N, A, T) :- N > 0, K is N - 1, twice(K, p(A, A), T)."


@pytest.mark.parametrize("body", DEAR)
def test_terms_that_share_their_parts_take_no_longer_than_their_memory(body: str) -> None:
    """Written out, these terms have more parts than there are atoms in the sea."""
    spent(body + TWICE, doubled(60))


def apart(levels: int) -> Term:
    """`doubled`, with every part an object of its own: as it comes from bytes."""
    return "z" if levels == 0 else Compound("p", (apart(levels - 1), apart(levels - 1)))


LARGE = "f(g(1,h(2)),g(3,h(4)),g(5,h(6)),g(7,h(8)),g(9,h(10)),[i,[j],k(l)])"
COMPARED = (
    "X = LARGE, X == LARGE.",
    "X = LARGE, X \\= LARGE.",
    "X = LARGE, X == M, M == M, M = M.",
    "member(M, [a, LARGE]).",
    "member(X, [M, LARGE]), X == M, fail.",
    "fact(M, _)@CS.",
    "fact(M, 1)@CS.",
    "fact(X, _)@CS, X == M.",
    "X = fact(M, 1), X@CS.",
    "M = f(A,B,C,D,E,F), X = f(A,B,C,D,E,F), M == X.",
    "X = f(Y, LARGE), X = X, Y = M, X = f(M, LARGE), X == f(M, LARGE).",
    "Z = 1, findall(Y, (member(_, [1,2]), Y = h(LARGE, Z)), [A, B]), A == B.",
    "append([M], [M], L), append([M], [LARGE], L), L = [A, B], A == B.",
    "reverse([M], [LARGE]), nth0(0, [M], LARGE), delete([M, LARGE], M, []).",
    "p(M). p(LARGE) :- p(q(LARGE)). p(q(X)) :- X = LARGE.",
)


@pytest.mark.parametrize("body", COMPARED)
def test_comparing_costs_the_same_in_both_and_whichever_objects_are_one(body: str) -> None:
    """`spent` sees to it that the two agree; what is one object here is another in a replay."""
    one, other = term(LARGE), term(LARGE)
    shared = spent(body.replace("LARGE", LARGE), one, (Compound("fact", (one, 1)),))
    assert shared == spent(body.replace("LARGE", LARGE), one, (Compound("fact", (other, 1)),))
    assert shared[0] > 10


@pytest.mark.parametrize("body", ["M = p(X, Y), X == Y.", "fact(M)@CS.", "member(M, [a, M])."])
def test_comparing_costs_the_same_whatever_is_shared(body: str) -> None:
    assert apart(8) == doubled(8)
    costs = {
        spent(body, message, (Compound("fact", (fact,)),))
        for message in (doubled(8), apart(8))
        for fact in (doubled(8), apart(8))
    }
    assert len(costs) == 1
    assert costs.pop()[0] > 200


def test_a_head_is_matched_for_nothing() -> None:
    law = load(f"law(l).\nsent(_, {LARGE}, _) :- do(forward).")
    for ask in (partial(evaluate, law), law.interpreter.rule):
        units = [0]
        args = (HOME, term(LARGE), "b")
        assert ask("sent", HOME, args, Bag(), Bag(), 0, units) is not None
        assert units == [0]


def test_a_long_name_of_a_sender_is_paid_for_as_any_text() -> None:
    law = load("law(l).\narrived(X, f(X), Self) :- do(deliver).")
    name = "long " * 1_000
    message = Compound("f", ("long " * 1_000,))
    for ask in (partial(evaluate, law), law.interpreter.rule):
        units = [0]
        assert ask("arrived", HOME, (name, message, HOME), Bag(), Bag(), 0, units) is not None
        assert units == [2]


def test_a_value_that_doubles_from_goal_to_goal_is_paid_for() -> None:
    """Written out it has 65,536 ends, each of which is looked at."""
    goals = ", ".join([f"A{n} = p(A{n + 1}, A{n + 1})" for n in range(16)])
    assert spent(f"{goals}, A0 = M.", doubled(16))[0] < 20_000
    assert spent(f"{goals}, A0 = M.", apart(16))[1] == "budget"


def test_a_value_that_doubles_is_loaded_in_no_time() -> None:
    goals = ", ".join([f"A{n} = p(A{n + 1}, A{n + 1})" for n in range(60)])
    assert load(f"law(l).\nsent(_, M, _) :- {goals}, A0 = M.").compiled_rules == [False]


@pytest.mark.parametrize(
    ("clause", "count", "stopped"),
    [
        ("g(N, _, [N|T]) :- N > 0, M is N - 1, g(M, [], T), N > 0.", 400, None),
        ("g(N, _, [N|T]) :- N > 0, M is N - 1, g(M, [], T), N > 0.", 5_000, "budget"),
        ("g(N, A, T) :- N > 0, M is N - 1, g(M, [N|A], T), N > 0.", 2_000, None),  # is paid for
    ],
)
def test_a_list_that_is_given_back_call_by_call(
    clause: str, count: int, stopped: str | None
) -> None:
    """Compiled, each call makes it anew: 20,000 of them took two seconds, for nothing."""
    law = load(f"law(l). R1. sent(_, n(N), _) :- g(N, [], _), do(forward). g(0, A, A). {clause}")
    record = Membership(law, HOME).rule_on(sent(HOME, term(f"n({count})"), "b"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == stopped


def test_alternatives_cannot_multiply_for_nothing() -> None:
    ways = ", ".join(["( 1 < 2 ; 2 < 3 )"] * 40)
    assert spent(f"{ways}, fail.")[1] == "budget"


def test_a_long_clause_costs_more_than_a_short_one() -> None:
    short, _ = spent("p(10). p(0). p(N) :- N > 0, K is N - 1, p(K).")
    tests = ", ".join(["N > 0"] * 200)
    long, _ = spent(f"p(10). p(0). p(N) :- {tests}, K is N - 1, p(K).")
    assert long > 10 * short


def test_goals_behind_each_solution_cost() -> None:
    tests = ", ".join(["N > 0"] * 200)
    few, _ = spent("between(1, 50, N), N > 0, fail.")
    many, _ = spent(f"between(1, 50, N), {tests}, fail.")
    assert many > 10 * few


def test_a_head_that_compares_is_paid_for() -> None:
    law = load("law(l).\nsent(_, f(X, X), _).\nsent(_, f(_, [_|T]), _) :- T = [].")
    one, two = (tuple([Compound("g", (n,)) for n in LIST]) for _ in range(2))
    for ask in (partial(evaluate, law), law.interpreter.rule):
        units = [0]
        ask("sent", HOME, (HOME, Compound("f", (one, (*two, 1))), "b"), Bag(), Bag(), 0, units)
        assert units[0] >= 40
        ask("sent", HOME, (HOME, Compound("f", (one, two)), "b"), Bag(), Bag(), 0, units)
        assert units[0] > 4_000


def test_sensing_costs_the_same_however_many_others_there_are() -> None:
    state = tuple([Compound("item", (n, "a")) for n in range(5_000)])
    assert spent("item(4711, _)@CS.", "m", state) == (1, "ruled")
    assert spent("X = item(4711, a), X@CS.", "m", state)[0] < 10
    assert spent("X@CS, X = item(0, _).", "m", state)[0] > 1_000
    assert spent("X = 4711, X@CS.", "m", tuple(range(5_000)))[0] > 250


@pytest.mark.parametrize("name", ["'[]'", "'.'", "''"])
def test_a_compound_is_no_list_whatever_its_name(name: str) -> None:
    for body in (f"{name}(X) = [Y].", f"X = {name}(Y), X = [_|_].", f"member(_, {name}(_))."):
        assert spent(body)[1] != "ruled", body
    assert spent(f"M = {name}(X), X = 1.", term(f"{name}(1)"))[1] == "ruled"
    assert spent(f"member({name}(X), [M]), X = 1.", term(f"{name}(1)"))[1] == "ruled"
    assert spent("M = [_].", term(f"{name}(1)"))[1] == ""


# -- operations ------------------------------------------------------------------------------


def ruled(law: str, message: str, state: tuple[Term, ...]) -> str | None:
    record = Membership(load(law), HOME, state=state).handle(sent(HOME, term(message), "b"), now=0)
    assert isinstance(record[0], RecordRuling)
    return record[0].ruling.stopped


ITEMS = tuple([Compound("item", (n, n % 7)) for n in range(3_000)])


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("do(-item(_, 9)).", None),
        ("do(-item(_, f(_))).", None),
        ("all(100).\nall(0). all(N) :- do(-item(_, f(_))), K is N - 1, all(K).", "budget"),
        ("all(2000).\nall(0). all(N) :- do(item(N, _) <- item(N, x)), K is N - 1, all(K).",
         "budget"),
        (("findall(b, item(_, _)@CS, L), all(50, L).\n"
         "all(0, _). all(N, L) :- do(multicast(Self, m, L)), K is N - 1, all(K, L)."), "budget"),
    ],
)  # fmt: skip
def test_operations_pay_for_what_they_look_through(body: str, ends: str | None) -> None:
    assert ruled(f"law(l).\nsent(_, go, _) :- {body}", "go", ITEMS) == ends


def test_a_ruling_that_is_taken_back_leaves_the_state_in_its_order() -> None:
    goals = "do(-item(5, _)), do(item(7, _) <- x), do(-item(9, _)), do(incr(n(_), 1))"
    law = load(f"law(l).\nsent(_, go, _) :- {goals}.")
    ann = Membership(law, HOME, state=(*ITEMS, Compound("n", ("a",))))
    before = ann.snapshot()
    record = ann.handle(sent(HOME, "go", "b"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "typeError"
    assert ann.snapshot().state == before.state
    assert len(ann.state) == len(ITEMS) + 1


# -- explanations ----------------------------------------------------------------------------


def test_an_explanation_is_bounded_by_what_it_tells() -> None:
    ann = Membership(load(f"law(l).\nR1. sent(_, M, _) :- twice(40, M, T), T == a.\n{TWICE}"), HOME)
    record = ann.handle(sent(HOME, doubled(12), "b"), now=0)[0]
    assert isinstance(record, RecordRuling)
    text = explain(ann, record.ruling, disclose="all").text
    assert "R1: did not fire" in text
    assert len(text) <= TEXT_CHARS


def test_an_explanation_has_a_budget_of_its_own() -> None:
    ann = Membership(load(LOOP), HOME)
    record = ann.handle(sent(HOME, term("n(20000)"), "b"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.rule == "R1"
    assert "take too long to tell" in explain(ann, record.ruling, disclose="all").verdict


# -- versions --------------------------------------------------------------------------------


def test_a_ruling_says_under_which_prices_it_was_bounded() -> None:
    record = Membership(load(LOOP), HOME).handle(sent(HOME, term("n(1)"), "b"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.prices == PRICES


@pytest.mark.parametrize(("then", "stopped"), [(None, "budget"), ("budget", "budget")])
def test_prices_of_today_bound_what_is_told_today(then: str | None, stopped: str) -> None:
    ann = Membership(load(LOOP), HOME)
    event = sent(HOME, term("n(90000)"), "b")
    record = ann.rule_on(event, now=0, then=Bounded(PRICES, then))[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == stopped


@pytest.mark.parametrize(("count", "then"), [(90_000, None), (10, "budget")])
def test_under_other_prices_what_ended_then_ends_and_no_other(count: int, then: str | None) -> None:
    ann = Membership(load(LOOP), HOME)
    event = sent(HOME, term(f"n({count})"), "b")
    record = ann.rule_on(event, now=0, then=Bounded(1, then))[0]
    assert isinstance(record, RecordRuling)
    assert (record.ruling.stopped, record.ruling.prices) == (then, 1)


@pytest.mark.parametrize(("prices", "stopped"), [(1, None), (PRICES, "tooLarge")])
def test_how_much_all_copies_may_be_is_of_the_version_too(prices: int, stopped: str | None) -> None:
    ann = Membership(load("law(l). R1. sent(X, M, To) :- do(multicast(X, M, To))."), HOME)
    everybody = tuple([f"a{n}@x" for n in range(100)])
    event = sent(HOME, "m" * 180_000, everybody)
    record = ann.rule_on(event, now=0, then=Bounded(prices, None))[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == stopped


@pytest.mark.parametrize("goal", ["+t(1)", "imposeObligation(t, 5)"])
@pytest.mark.parametrize(
    ("home", "prices", "stopped"),
    [("jobs", PRICES, "tooLarge"), ("jobs", 7, None), (HOME, PRICES, None)],
)
def test_the_state_of_a_space_is_bounded_since_version_8(
    goal: str, home: str, prices: int, stopped: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.control.carrying.SPACE_STATE_MAX", 3)
    held = Membership(load(f"law(l). R1. sent(X, M, To) :- do({goal})."), home, state=())
    kept: list[str | None] = []
    for _ in range(4):
        record = held.rule_on(sent(home, "m", "b"), now=0, then=Bounded(prices, None))[0]
        assert isinstance(record, RecordRuling)
        kept.append(record.ruling.stopped)
    assert kept == [None, None, None, stopped]


KEEPING = "law(k). R1. sent(X, keep(M), Y) :- do(+kept(M)). R2. sent(X, owe(M), Y) :- "
KEEPING += "do(imposeObligation(kept(M), 5)). R3. sent(X, drop, Y) :- do(-kept(_)). "
KEEPING += "R4. sent(X, take(M), Y) :- do(kept(_) <- kept(M)). R5. obligationDue(_) :- true."


@pytest.mark.parametrize(
    ("word", "prices", "stopped"),
    [("keep", PRICES, "tooLarge"), ("owe", PRICES, "tooLarge"), ("keep", 7, None)],
)
def test_the_large_terms_of_a_state_are_bounded_by_their_bytes(
    word: str, prices: int, stopped: str | None
) -> None:
    """A law that keeps what it is sent has four megabytes for it, and gets them back."""
    law = load(KEEPING)

    def told(member: Membership, message: Term, now: int = 0) -> str | None:
        event = sent(HOME, message, "b")
        record = member.rule_on(event, now=now, then=Bounded(prices, None))[0]
        assert isinstance(record, RecordRuling)
        return record.ruling.stopped

    letter = "x" * 500_000
    ann = Membership(law, HOME, state=())
    assert [told(ann, Compound(word, (letter,))) for _ in range(8)] == [None] * 8
    assert told(ann, Compound(word, (letter,))) == stopped
    again = Membership.restore(law, ann.snapshot())  # it is known after a restart, too
    assert told(again, Compound(word, (letter,))) == stopped
    assert told(ann, Compound(word, ("small",))) is None, "small terms do not count"
    if word == "keep" and stopped:
        assert told(ann, Compound("take", (letter + "y" * 300_000,))) == stopped
        assert told(ann, "drop") is None
        assert told(ann, Compound("take", (letter + "y" * 300_000,))) is None
    elif word == "owe":
        ann.handle(TICK, now=5_000_000)
        assert not ann.obligations
        assert told(ann, Compound("keep", (letter,))) is None


NESTED = tuple([(number, (number,)) for number in range(1_000)])
FEW_ITEMS = tuple([Compound("item", (number, number % 5)) for number in range(20)])
WIDE_ITEMS = tuple([Compound("w", (1, 1, 1, number, number, number)) for number in range(20)])


@pytest.mark.parametrize(
    ("body", "message", "state", "least"),
    [
        ("item(_, M)@CS.", NESTED, FEW_ITEMS, 2_500),
        ("item(_, f(M))@CS.", NESTED, FEW_ITEMS, 2_500),
        ("item(_, M)@CS.", b"x" * 64_000, FEW_ITEMS, 1_000),
        (
            "w(_, _, _, _, M, _)@CS.",
            9,
            WIDE_ITEMS,
            20,
        ),  # no index goes by its place: all are looked at
        ("w(M, M, M, _, _, _)@CS, M > 1.", 1, WIDE_ITEMS, 40),  # nor by a third one
    ],
)
def test_what_is_sought_in_a_large_state_is_paid_for(
    body: str, message: Term, state: tuple[Term, ...], least: int
) -> None:
    assert spent(body, message, state)[0] >= least
    assert spent(body, message, state[:3])[0] < least
