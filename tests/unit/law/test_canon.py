from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from nomospace.law.canon import canonical, law_hash
from nomospace.law.parse import parse
from nomospace.law.render import show_goal
from nomospace.law.tree import Conj, Disj, Fail, If, PredicateCall, TrueGoal
from nomospace.terms import Source
from nomospace.terms.source import NOWHERE
from tests.unit.law.test_parse import law_of

CORPUS = sorted((Path(__file__).parents[2] / "laws" / "corpus").glob("*.law"))
BASE = """
law(l). authority(a, "k"). initialCS([q(1)]).
R1. sent(X, m(A), Y) :- q(N)@CS, ( N > 0 ; ok(A) ), not(z@CS), clock(T), do(forward).
arrived(X, M, Y) :- ok(M), do(deliver).
ok(a). ok(b).
"""

SAME: dict[str, Callable[[str], str]] = {
    "layout": lambda s: s.replace(", ", " ,\n\t"),
    "comments": lambda s: s.replace(". ", ". % c\n") + "/* d */",
    "quotes that are not needed": lambda s: s.replace("forward", "'forward'").replace("m(", "'m'("),
    "the other quotes": lambda s: s.replace('"k"', "'k'"),
    "a bar for a semicolon": lambda s: s.replace(" ; ", " | "),
    "the other not": lambda s: s.replace("not(z@CS)", "\\+ z@CS"),
    "the other clock": lambda s: s.replace("clock(T)", "clock(T)@CS"),
    "brackets that mean nothing": lambda s: s.replace(
        "not(z@CS), clock(T)", "(not(z@CS), clock(T))"
    ),
    "brackets around a goal": lambda s: s.replace("N > 0", "((N) > (0))"),
    "helpers elsewhere": lambda s: s.replace("ok(a). ok(b).", "").replace(
        "R1.", "ok(a). ok(b). R1."
    ),
    "the default said": lambda s: s + "disclose(rules).",
    "the preamble at the end": lambda s: s.replace("initialCS([q(1)]).", "") + "initialCS([q(1)]).",
    "a body that is true": lambda s: s.replace("ok(a).", "ok(a) :- true."),
}
OTHER: dict[str, Callable[[str], str]] = {
    "a label": lambda s: s.replace("R1.", "R2."),
    "no label": lambda s: s.replace("R1.", ""),
    "a variable's name": lambda s: s.replace("N", "K"),
    "a number's kind": lambda s: s.replace("N > 0", "N > 0.0"),
    "an operator": lambda s: s.replace("N > 0", "N >= 0"),
    "the order of goals": lambda s: s.replace("not(z@CS), clock(T)", "clock(T), not(z@CS)"),
    "the order of helpers' clauses": lambda s: s.replace("ok(a). ok(b).", "ok(b). ok(a)."),
    "a key": lambda s: s.replace('"k"', '"K"'),
    "the start": lambda s: s.replace("q(1)", "q(2)"),
    "the name": lambda s: s.replace("law(l)", "law(m)"),
    "clear messages": lambda s: s + "clearMessages.",
    "disclosure": lambda s: s + "disclose(all).",
    "a rule more": lambda s: s + "quit.",
    "a rule's place": lambda s: s.replace("R1.", "quit. R1."),
    "a word in quotes": lambda s: s.replace("m(A)", "true").replace("ok(A)", "ok(X)"),
    "the same word quoted": lambda s: s.replace("m(A)", "'true'").replace("ok(A)", "ok(X)"),
}  # fmt: skip


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_a_hash_does_not_see(change: Callable[[str], str]) -> None:
    changed = change(BASE)
    assert changed != BASE
    assert canonical(law_of(changed)) == canonical(law_of(BASE))
    assert law_hash(law_of(changed)) == law_hash(law_of(BASE))


def test_what_a_hash_sees() -> None:
    hashes = {name: law_hash(law_of(change(BASE))) for name, change in OTHER.items()}
    hashes["nothing"] = law_hash(law_of(BASE))
    assert len(set(hashes.values())) == len(OTHER) + 1, hashes


def test_the_hash_is_sha_256_of_the_canonical_text() -> None:
    law = law_of(BASE)
    assert law_hash(law) == sha256(canonical(law).encode()).hexdigest()
    assert canonical(law) == (
        "law(l).\n"
        "authority(a,k).\n"
        "initialCS([q(1)]).\n"
        "disclose(rules).\n"
        "R1. sent(X,m(A),Y):-q(N)@CS,(N>0;ok(A)),not(z@CS),clock(T),do(forward).\n"
        "arrived(X,M,Y):-ok(M),do(deliver).\n"
        "ok(a).\n"
        "ok(b).\n"
    )


def test_a_hash_is_for_ever() -> None:
    """Laws are known by their hash in journals and certificates: this one may never change."""
    assert (
        law_hash(law_of(BASE)) == "05102cc680f422e6d8b35d4522fffbe253add0d31c619d3a9d08b137591dd5d4"
    )


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_canonical_text_is_a_law_with_the_same_canonical_text(path: Path) -> None:
    text = canonical(law_of(path.read_text(encoding="utf-8")))
    assert canonical(law_of(text)) == text
    assert (
        text.count("\n")
        == len(law_of(text).rules)
        + sum(map(len, law_of(text).helpers.values()))
        + len(text[: text.index("disclose(")].splitlines())
        + 1
    )


def test_goals_that_no_text_gives_still_have_one_reading() -> None:
    a, b = PredicateCall("a", (), NOWHERE), PredicateCall("b", (), NOWHERE)
    bare = If(a, b, None, NOWHERE)
    assert show_goal(Disj((bare, b), NOWHERE)) == "(a->b;fail);b"
    assert show_goal(Disj((b, bare), NOWHERE)) == "b;a->b"
    assert show_goal(Conj((), NOWHERE)) == show_goal(TrueGoal(NOWHERE)) == "true"
    assert show_goal(Disj((), NOWHERE)) == show_goal(Fail(NOWHERE)) == "fail"
    assert show_goal(Conj((a,), NOWHERE)) == "a"


def test_long_and_deep_laws_have_a_hash() -> None:
    deep = "f(" * 900 + "a" + ")" * 900
    wide = ", ".join(["a@CS"] * 20_000)
    law, faults = parse(Source(f"law(l). quit :- do(signal({deep})). quit :- {wide}."))
    assert not faults
    assert len(canonical(law)) > 100_000


def test_a_comparison_with_a_negative_sum_does_not_become_an_arrow() -> None:
    law = law_of("law(l). sent(X, M, Y) :- X < -1 * Y, X < -(2) - Y, X < - Y.")
    assert "X< -1*Y,X< -(2)-Y,X<(-Y)." in canonical(law)
    assert canonical(law_of(canonical(law))) == canonical(law)
