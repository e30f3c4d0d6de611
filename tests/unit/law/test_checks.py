"""The static checks: for each code laws that have the fault, and near misses that do not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nomospace.law.checks import CODES, FINDINGS_MAX, check
from nomospace.law.parse import GOAL_DEPTH_MAX, RULES_MAX, parse
from nomospace.terms import Diagnostic, Source
from nomospace.terms.syntax import TEXT_BYTES_MAX
from tests.calls import calls
from tests.unit.law.faulty import PAIRS

SOURCES = Path(__file__).resolve().parents[3] / "src" / "nomospace"

RATE = """
law(rate).
authority(admin, "ed25519:…").
cAuthority("ed25519:…").
initialCS([quota(3)]).
R1. sent(X, publish(M), Y) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. sent(X, publish(M), Y) :- do(deliver(Self, refused(quota), Self)).
R3. arrived(X, M, Y) :- do(deliver).
R4. adopted(_) :- do(imposeObligation(refill, 1, hour)).
R5. obligationDue(refill) :- do(quota(_) <- quota(3)), do(imposeObligation(refill, 1, hour)).
"""

ALARMS = """
law(alarms).
initialCS([]).
R1. certified([issuer(admin), subject(Self), attributes([role(R)])]) :-
    ( R = mediator ; R = manager ; R = expert(_) ), do(+R).
R2. sent(C, subscribe(alarm(As)), M) :-
    member(kind(K), As),
    ( expert(K)@CS -> Bs = As
    ; delete(As, status(layman), Cs), append(Cs, [status(expert)], Bs) ),
    ( K = metaAlarm -> expert(K)@CS ; true ),
    do(forward(C, subscribe(alarm(Bs)), M)).
R3. sent(I, publish(alarm(kind(K), text(X))), M) :-
    clock(T)@CS,
    ( expert(K)@CS -> S = expert
    ; S = layman, not(blocked(K)@CS), not(blocked(kind(K), text(X))@CS) ),
    A = alarm(kind(K), time(T), informer(I), status(S), text(X)),
    do(forward(I, publish(A), M)),
    ( S = layman ->
        do(+blocked(kind(K), text(X))),
        do(imposeObligation(release(kind(K), text(X)), 5, min))
    ; true ).
R4. arrived(C, Msg, M) :- ( Msg = subscribe(_) ; Msg = publish(_) ), mediator@CS, do(deliver).
R5. sent(M, notify(A), Cs) :- mediator@CS, do(multicast(M, Msg, Cs)).
R6. arrived(M, notify(A), U) :-
    A = alarm(kind(K), time(_), informer(_), status(S), text(_)),
    ( S = layman -> expert(K)@CS ; true ),
    ( inspector(K)@CS, S = layman -> do(imposeObligation(expire(A, med(M)), 10, min)) ; true ),
    do(deliver).
R7. obligationDue(release(kind(K), text(X))) :- do(-blocked(kind(K), text(X))).
R8. sent(F, duty(kind(K), med(M)), X) :- manager@CS, do(forward).
R9. arrived(F, duty(kind(K), med(M)), X) :-
    expert(K)@CS, do(+inspector(K)), do(+fm(F)), do(forward(X, subscribe(alarm([kind(K)])), M)).
R10. sent(F, block(K), L) :- manager@CS, do(forward).
R11. arrived(F, block(K), L) :- not(expert(K)@CS), do(+blocked(K)), do(deliver).
R12. sent(I, ack(A), F) :-
    fm(F)@CS, Obl = expire(A, med(_)), obligation(Obl)@CS, do(repealObligation(Obl)), do(forward).
R13. arrived(I, ack(A), F) :- manager@CS, do(deliver).
R14. obligationDue(expire(A, med(M))) :-
    clock(T)@CS, do(forward(Self, publish(alarm(kind(metaAlarm), time(T), text(A))), M)).
"""


def findings(text: str) -> list[Diagnostic]:
    """What the checks find in a law, which must be free of faults of form."""
    law, faults = parse(Source(text if "law(" in text else f"law(l).\n{text}"))
    assert not faults, faults
    return check(law)


def codes(text: str) -> set[str]:
    return {one.code for one in findings(text)}


@pytest.mark.parametrize(("code", "bad", "good"), PAIRS)
def test_fault_and_near_miss(code: str, bad: str, good: str) -> None:
    assert code in codes(bad)
    assert code not in codes(good)


def test_every_code_of_the_checks_has_a_pair() -> None:
    of_the_reader = ("syntax-", "preamble-", "goal-", "law-", "unknown-event")
    wanted = {code for code in CODES if not code.startswith(of_the_reader)}
    assert wanted == {code for code, _, _ in PAIRS}


def test_near_misses_of_errors_have_no_error_at_all() -> None:
    for code, _, good in PAIRS:
        if CODES[code].severity == "error":
            wrong = [one for one in findings(good) if one.severity == "error"]
            assert not wrong or code == "no-message", (good, wrong)


def test_findings_come_in_the_order_of_the_text_with_the_severity_of_their_code() -> None:
    found = findings("sent(X, M, Y) :- foo(Z), do(bar). quit :- do(forward). p(A).")
    assert [one.span for one in found] == sorted(one.span for one in found)
    assert {one.severity for one in found} == {"error", "warning"}
    assert all(one.severity == CODES[one.code].severity for one in found)
    assert all(one.help for one in found)


@pytest.mark.parametrize(
    ("law", "message", "help"),
    [
        (
            "sent(X, M, Y) :- memebr(X, [a]).",
            "memebr/2 is no predicate",
            "did you mean member(A, B)?",
        ),
        (
            "sent(X, M, Y) :- forward.",
            "forward/0 is no predicate",
            "operations stand in do: do(forward)",
        ),
        (
            "quit :- do(imposeObligations(o, 1)).",
            "imposeObligations/2 is no operation",
            "did you mean imposeObligation(What, After, Unit)?",
        ),
        (
            "quit :- a@CS, b. arrived(_, _, _) :- do(+b).",
            "b/0 is no predicate",
            "to look at the control state, write b@CS",
        ),
        ("adopted(X) :- X > flor(1).", "flor/1 is no arithmetic function", "did you mean floor?"),
    ],
)
def test_a_slip_is_met_with_what_was_meant(law: str, message: str, help: str) -> None:
    assert (message, help) in [(one.message, one.help) for one in findings(law)]


def test_a_finding_points_at_its_place_and_at_what_it_is_about() -> None:
    text = "law(l). adopted(N) :- N > 3, N < 2."
    (found,) = [one for one in findings(text) if one.code == "contradictory-guards"]
    assert text[slice(*found.span)] == "N < 2"
    assert [text[slice(*span)] for _, span in found.related] == ["N > 3"]
    assert found.message == "N < 2 never holds together with N > 3"


def test_a_missing_value_inside_a_structure_is_named() -> None:
    (found,) = [
        one
        for one in findings("adopted(_) :- A = f(g(B)), do(signal(A)).")
        if one.code == "unbound-variable"
    ]
    assert found.message == "A holds B, which has no value when the operation is carried out"


def test_good_laws_are_quiet() -> None:
    assert codes(RATE) == {"singleton-variable"}  # M of R2: the message is dropped, not passed on
    assert codes(ALARMS) == set()


def test_the_codes_cover_reader_and_parser() -> None:
    found: set[str] = set()
    for name in ("terms/tokens.py", "terms/syntax.py", "law/parse.py"):
        for node in ast.walk(ast.parse((SOURCES / name).read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            called = getattr(function, "attr", getattr(function, "id", ""))
            if called in ("fault", "Diagnostic", "SyntaxFault"):
                code = node.args[0]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    found.add(code.value)
    assert len(found) > 20
    assert found <= CODES.keys()


def faults(text: str) -> set[str]:
    return {one.code for one in parse(Source(text))[1]}


def test_limits_of_the_reader_have_their_codes() -> None:
    assert faults("law(l). adopted(" + "f(" * 1_001 + "x" + ")" * 1_001 + ").") == {"syntax-depth"}
    assert "syntax-too-long" in faults("law(l)." + " " * TEXT_BYTES_MAX)
    nested = "not(" * (GOAL_DEPTH_MAX + 1) + "true" + ")" * (GOAL_DEPTH_MAX + 1)
    assert faults(f"law(l). quit :- {nested}.") == {"goal-depth"}
    assert "law-too-long" in faults("law(l). " + "quit. " * (RULES_MAX + 1))


def test_more_findings_than_the_limit_are_cut_and_errors_stay() -> None:
    rules = "".join(f"adopted(m({n})) :- n(N{n})@CS. " for n in range(FINDINGS_MAX + 5))
    found = findings(rules + "quit :- foo.")
    assert len(found) == FINDINGS_MAX
    assert [one.code for one in found if one.severity == "error"] == ["unknown-predicate"]


# -- size --------------------------------------------------------------------------------------

DEEP = "f(" * 990 + "A" + ")" * 990
DEEP_LIST = "[" * 990 + "A" + "]" * 990


def doubling(name: str) -> str:
    """Goals that make a term with 2 ** 300 leaves."""
    return ", ".join(f"{name}{n} = f({name}{n + 1}, {name}{n + 1})" for n in range(300))


@pytest.mark.parametrize(
    "law",
    [
        f"sent(X, {DEEP}, Y) :- B = {DEEP}, B == {DEEP}, {DEEP}@CS, not({DEEP}@CS), do(+{DEEP}).",
        f"sent(X, M, Y) :- p({DEEP}, B), B > {DEEP}, do(signal(B)). p({DEEP}, {DEEP_LIST}).",
        f"sent(X, {DEEP_LIST}, Y) :- B = {DEEP_LIST}, do(forward(X, B, Y)). arrived(X, {DEEP}, Y).",
        f"obligationDue({DEEP}) :- do(imposeObligation({DEEP}, 1)). obligationDue({DEEP_LIST}).",
        "adopted(_) :- " + ", ".join(f"A{n} = f(A{n + 1})" for n in range(3_000)) + ".",
        f"adopted(_) :- {doubling('A')}, {doubling('B')}, A0 = B0, do(signal(A0)).",
        "adopted(X) :- " + ", ".join(f"(a@CS, A{n} = 1 ; A{n} = X)" for n in range(500)) + ".",
        "adopted(X) :- p0(X). " + " ".join(f"p{n}(X) :- p{n + 1}(X)." for n in range(2_000)),
        "adopted(X) :- A = f(A), A = f(f(A)), do(signal(A)).",
    ],
)
def test_large_laws_are_checked_in_calls_by_their_length(law: str) -> None:
    assert calls(lambda: findings(law)) < 100 * len(law)


def checked(text: str) -> int:
    """In how many calls a law is checked."""
    law, wrong = parse(Source(text))
    assert not wrong
    return calls(lambda: check(law))


def test_what_a_rule_costs_is_the_same_in_a_law_of_hundreds_and_few_in_a_usual_one() -> None:
    quotas, always = (
        [checked(begin + "".join(rule % n for n in range(count))) for count in (30, 300)]
        for begin, rule in (
            (
                "law(l). initialCS([quota(1)]). ",
                "sent(X, m(%d, A), Y) :- quota(N)@CS, N > 1, do(dcr(quota(N), 1)), do(forward). ",
            ),
            ("law(l). ", "sent(X, m(A, [%d | B]), Y) :- do(forward). "),
        )
    )
    for few, many in (quotas, always):
        assert many < 11 * few
    assert checked(ALARMS) < 10_000
