from __future__ import annotations

from pathlib import Path

import pytest

from nomospace.law.parse import GOAL_DEPTH_MAX, parse
from nomospace.law.render import show_clause, show_goal, show_node
from nomospace.law.tree import (
    ClockGoal,
    Compare,
    Conj,
    Disj,
    Do,
    Fail,
    FindAll,
    Goal,
    If,
    Is,
    LawAuthority,
    LawTree,
    Not,
    PredicateCall,
    Same,
    Sense,
    ThisLaw,
    TrueGoal,
    Unify,
    goals_in,
    nodes_of,
    variables_in,
)
from nomospace.terms import Diagnostic, Source, term

FAULTS = Path(__file__).parents[2] / "laws" / "faults.txt"


def law_of(text: str) -> LawTree:
    law, faults = parse(Source(text, "l.law"))
    assert not faults, "\n".join(fault.render(law.source) for fault in faults)
    return law


def faults_of(text: str) -> list[Diagnostic]:
    return parse(Source(text, "l.law"))[1]


def body_of(text: str) -> Goal:
    return law_of(f"law(l). quit :- {text}.").rules[0].body


def test_the_preamble() -> None:
    law = law_of(
        'law(ward). authority(ca, "k1"). authority(board, "k2"). cAuthority("k3"). '
        "initialCS([quota(3), 1.0, [a]]). clearMessages. disclose(none)."
    )
    assert law.name == "ward"
    assert law.authorities == (LawAuthority("ca", "k1"), LawAuthority("board", "k2"))
    assert law.controller_authority == "k3"
    assert law.initial == (term("quota(3)"), 1.0, ("a",))
    assert law.clear_messages
    assert law.disclose == "none"
    assert law.source.text[slice(*law.preamble_spans["disclose"])] == "disclose(none)"


def test_what_a_preamble_leaves_out() -> None:
    law = law_of("law(l).")
    assert (law.initial, law.clear_messages, law.disclose) == ((), False, "rules")
    assert (law.authorities, law.controller_authority) == ((), None)


def test_rules_and_helpers_keep_their_order_and_their_labels() -> None:
    law = law_of(
        "law(l). R1. sent(X, M, Y) :- h(X). h(1). arrived(X, M, Y). "
        "R3'. quit :- h(2). K. h(X) :- X = 3."
    )
    assert [(rule.name, rule.label, rule.number, rule.event) for rule in law.rules] == [
        ("R1", "R1", 1, "sent"),
        ("#2", None, 2, "arrived"),
        ("R3'", "R3'", 3, "quit"),
    ]
    assert [clause.label for clause in law.helpers["h", 1]] == [None, "K"]
    assert law.source.text[slice(*law.rules[0].span)] == "R1. sent(X, M, Y) :- h(X)"
    assert law.source.text[slice(*law.rules[0].head_span)] == "sent(X, M, Y)"


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("true", TrueGoal, "true"),
        ("fail", Fail, "fail"),
        ("false", Fail, "fail"),
        ("quota(N)@CS", Sense, "quota(N)@CS"),
        ("obligation(o(X))@CS", Sense, "obligation(o(X))@CS"),
        ("clock(T)@CS", ClockGoal, "clock(T)"),
        ("clock(T)", ClockGoal, "clock(T)"),
        ("thisLaw(N, H)", ThisLaw, "thisLaw(N,H)"),
        ("X = f(Y)", Unify, "X=f(Y)"),
        ("X \\= Y", Unify, "X\\=Y"),
        ("X == Y", Same, "X==Y"),
        ("X \\== Y", Same, "X\\==Y"),
        ("X < 1 + 2", Compare, "X<1+2"),
        ("X =< 1", Compare, "X=<1"),
        ("X >= 1", Compare, "X>=1"),
        ("X =:= 1", Compare, "X=:=1"),
        ("X =\\= 1", Compare, "X=\\=1"),
        ("X is 2 * (3 + 4)", Is, "X is 2*(3+4)"),
        ("findall(X, (a(X)@CS, X > 1), L)", FindAll, "findall(X,(a(X)@CS,X>1),L)"),
        ("not(a@CS)", Not, "not(a@CS)"),
        ("not a@CS", Not, "not(a@CS)"),
        ("\\+ a@CS", Not, "not(a@CS)"),
        ("\\+ (a@CS, b@CS)", Not, "not((a@CS,b@CS))"),
        ("member(X, [a | T])", PredicateCall, "member(X,[a|T])"),
        ("do(quota(_) <- quota(3))", Do, "do(quota(_)<-quota(3))"),
        ("do(+ a)", Do, "do(+a)"),
        ("a@CS, b@CS, c@CS", Conj, "a@CS,b@CS,c@CS"),
        ("(a@CS, b@CS), c@CS", Conj, "a@CS,b@CS,c@CS"),
        ("a@CS ; b@CS | c@CS", Disj, "a@CS;b@CS;c@CS"),
        ("(a@CS -> b@CS)", If, "a@CS->b@CS"),
        ("(a@CS -> b@CS ; c@CS)", If, "a@CS->b@CS;c@CS"),
        ("((a@CS -> b@CS) ; c@CS)", If, "a@CS->b@CS;c@CS"),
        ("(a@CS -> b@CS ; c@CS -> d@CS ; e@CS)", If, "a@CS->b@CS;c@CS->d@CS;e@CS"),
        ("(a@CS ; b@CS -> c@CS ; d@CS)", Disj, "a@CS;b@CS->c@CS;d@CS"),
        ("(a@CS -> b@CS ; c@CS) ; d@CS", Disj, "(a@CS->b@CS;c@CS);d@CS"),
    ],
)
def test_goals(text: str, kind: type[Goal], shown: str) -> None:
    goal = body_of(text)
    assert isinstance(goal, kind)
    assert show_goal(goal) == shown
    assert show_goal(body_of(shown)) == shown


def test_an_alternative_with_an_arrow_decides_for_all_after_it() -> None:
    goal = body_of("a@CS ; b@CS -> c@CS ; d@CS ; e@CS")
    assert isinstance(goal, Disj)
    chosen = goal.goals[1]
    assert isinstance(chosen, If)
    assert isinstance(chosen.otherwise, Disj)
    assert len(chosen.otherwise.goals) == 2


def test_the_arrow_binds_tighter_than_the_semicolon_and_looser_than_the_comma() -> None:
    goal = body_of("a@CS, b@CS -> c@CS, d@CS ; e@CS, f@CS")
    assert isinstance(goal, If)
    assert [isinstance(part, Conj) for part in (goal.condition, goal.then, goal.otherwise)] == (
        [True] * 3
    )


def test_walking_a_law_in_the_order_of_its_text() -> None:
    goal = body_of("f(A, [B | C])@CS, (D > 1 -> not(E = _) ; findall(F, g(G), H)), do(+ I)")
    leaves = [node for part in goals_in(goal) for node in nodes_of(part)]
    assert [show_node(node) for node in leaves] == (
        ["f(A,[B|C])", "D", "1", "E", "_", "F", "H", "G", "+I"]
    )
    assert [v.name for v in variables_in(*leaves)] == list("ABCDE_FHGI")


def test_a_clause_prints_as_it_is_read() -> None:
    text = "R1. sent(X, m(X', _), Y) :- quota(N)@CS, N > 0, do(forward)."
    assert show_clause(law_of(f"law(l). {text}").rules[0], spaced=True) == text


def _cases() -> list[tuple[str, str, str]]:
    found = []
    for block in FAULTS.read_text(encoding="utf-8").split("## ")[1:]:
        title, _, rest = block.partition("\n")
        text, _, expected = rest.partition("--\n")
        found.append((title, text, expected.strip("\n")))
    return found


@pytest.mark.parametrize(("title", "text", "expected"), _cases(), ids=[c[0] for c in _cases()])
def test_a_mistake_is_shown_at_its_place_with_a_next_step(
    title: str, text: str, expected: str
) -> None:
    source = Source(text, "l.law")
    _, faults = parse(source)
    assert "\n".join(fault.render(source) for fault in faults) == expected


def test_one_reading_finds_the_errors_of_all_clauses() -> None:
    faults = faults_of(
        "law(l).\nsent(X, M :- do(forward).\narrived(X, M, Y) :- do(deliver).\n"
        "quit :- a b.\nadopted(X) :- 3.\nmoved(X).\nR9."
    )
    assert [fault.code for fault in faults] == [
        "syntax-operator",
        "syntax-operator",
        "syntax-goal",
        "unknown-event",
        "syntax-label",
    ]


def test_a_text_of_errors_only_is_given_up_in_time() -> None:
    assert len(faults_of("quit :- a b.\n" * 5_000)) == 100
    assert len(faults_of("# a " * 5_000)) == 100


def test_a_law_without_a_name() -> None:
    assert faults_of("quit.") == []
    assert faults_of("") == []


def test_goals_nest_to_a_limit() -> None:
    def nested(levels: int) -> str:
        return "law(l). quit :- " + "not(" * levels + "a@CS" + ")" * levels + "."

    assert not faults_of(nested(GOAL_DEPTH_MAX))
    assert [f.code for f in faults_of(nested(GOAL_DEPTH_MAX + 1))] == ["goal-depth"]


def test_a_long_conjunction_of_goals_is_no_deep_term_but_one_inside_a_term_is() -> None:
    chain = ", ".join(["a@CS"] * 2_000)
    assert not faults_of(f"law(l). quit :- {chain}.")
    assert not faults_of(f"law(l). quit :- not(({chain})).")
    assert [f.code for f in faults_of(f"law(l). quit :- do(signal(({chain}))).")] == [
        "syntax-depth"
    ]


def test_a_text_over_the_limit_is_refused_unread() -> None:
    assert [f.code for f in faults_of("%" + "x" * 1_000_000)] == ["syntax-too-long"]
    assert [f.code for f in faults_of("law(l). quit. % " + "\ud800")] == ["syntax-character"]
