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


# In each pair the first law has the fault and the second does not.
PAIRS: list[tuple[str, str, str]] = [
    # -- names ---------------------------------------------------------------------------------
    ("unknown-predicate", "sent(X, M, Y) :- members(X, [a]).", "sent(X, M, Y) :- member(X, [a])."),
    ("unknown-predicate", "sent(X, M, Y) :- member(X).", "sent(X, M, Y) :- p(X). p(a)."),
    ("unknown-predicate", "sent(X, M, Y) :- p(X, Y). p(a).", "sent(X, M, Y) :- p(X). p(a)."),
    ("unknown-operation", "adopted(_) :- do(impose(o, 1)).", "adopted(_) :- do(signal(o))."),
    (
        "unknown-operation",
        "adopted(_) :- do(forward(a, b)).",
        "adopted(_) :- do(forward(a, b, c)).",
    ),
    ("unknown-operation", "adopted(_) :- do([a]).", "adopted(X) :- do(X)."),
    ("unknown-operation", "adopted(_) :- do(quit(now)).", "adopted(_) :- do(quit)."),
    ("unknown-function", "adopted(X) :- X > foo(1).", "adopted(X) :- X > abs(1)."),
    (
        "unknown-function",
        "adopted(_) :- do(imposeObligation(o, half(3))).",
        "adopted(_) :- do(imposeObligation(half(3), 3 // 2)).",
    ),
    (
        "unknown-function",
        "adopted(X) :- do(incr(n(X), abs(1, 2))).",
        "adopted(X) :- do(incr(n(X), max(1, 2))).",
    ),
    ("not-a-number", "adopted(X) :- X < many.", "adopted(X) :- X = many."),
    ("not-a-number", "adopted(X) :- Y is X + [1], Y > 1.", "adopted([X]) :- Y is X + 1, Y > 1."),
    (
        "bare-id",
        "sent(_, M, bob@ward) :- do(deliver(Self, M, Self)).",
        "sent(_, M, at(bob, ward)) :- do(deliver(Self, M, Self)).",
    ),
    (
        "builtin-redefined",
        "adopted(X) :- length(X, 1). length(X, X).",
        "adopted(X) :- length(X, 1, 2). length(X, Y, X).",
    ),
    # -- operations ----------------------------------------------------------------------------
    ("do-inside-not", "adopted(_) :- not(do(quit)).", "adopted(_) :- not(a@CS), do(quit)."),
    (
        "do-inside-not",
        "adopted(_) :- findall(X, (n(X)@CS, do(-n(X))), _).",
        "adopted(_) :- findall(X, n(X)@CS, L), do(signal(L)).",
    ),
    (
        "do-inside-not",
        "adopted(_) :- not((a@CS ; (b@CS -> do(quit) ; true))).",
        "adopted(_) :- ( not(a@CS) -> do(quit) ; true ).",
    ),
    (
        "do-lost",
        "adopted(X) :- not(p(X)). p(X) :- q(X). q(X) :- do(signal(X)).",
        "adopted(X) :- not(p(X)), q(X). p(a). q(X) :- do(signal(X)).",
    ),
    (
        "deliver-elsewhere",
        "sent(X, M, Y) :- do(deliver(X, M, 'bob@w')).",
        "sent(X, M, Y) :- do(deliver(X, M, Self)).",
    ),
    (
        "deliver-elsewhere",
        "arrived(X, M, Y) :- do(deliver(X, M, [a, b])).",
        "arrived(X, M, Y) :- do(forward(X, M, [a, b])).",
    ),
    (
        "deliver-elsewhere",
        "arrived(X, M, ts) :- do(deliver(X, M, bob)).",
        "arrived(X, M, ts) :- do(deliver(X, M, ts)).",
    ),
    (
        "deliver-elsewhere",
        "obligationDue(o) :- do(deliver(Self, o, boss)).",
        "obligationDue(o) :- Self = boss, do(deliver(Self, o, boss)).",
    ),
    ("deliver-on-sent", "sent(X, M, Y) :- do(deliver(X, M, Y)).", "sent(X, M, X) :- do(deliver)."),
    ("deliver-on-sent", "sent(X, M, _) :- do(deliver).", "sent(X, M, Self) :- do(deliver)."),
    ("no-message", "quit :- do(forward).", "submitted(X, M, Y) :- do(deliver)."),
    (
        "no-message",
        "adopted(_) :- p. p :- do(deliver).",
        "adopted(_) :- p. arrived(X, M, Y) :- p. p :- do(deliver).",
    ),
    ("reserved-term", "adopted(_) :- do(-tupleSpace).", "adopted(_) :- tupleSpace@CS."),
    ("reserved-term", "adopted(_) :- do(+clock(3)).", "adopted(_) :- clock(_)@CS."),
    (
        "reserved-term",
        "adopted(_) :- do(-obligation(o)).",
        "adopted(_) :- do(repealObligation(o)).",
    ),
    ("reserved-term", "adopted(_) :- do(+obligation(o)).", "adopted(_) :- do(+obligation(o, 1))."),
    (
        "reserved-term",
        "adopted(_) :- do(n(_) <- obligation(o, 1)).",
        "adopted(_) :- do(n(_) <- n(obligation)).",
    ),
    (
        "reserved-term",
        "adopted(_) :- do(incr(clock(_), 1)).",
        "adopted(_) :- do(incr(clocks(_), 1)).",
    ),
    (
        "unknown-unit",
        "adopted(_) :- do(imposeObligation(o, 1, s)).",
        "adopted(U) :- do(imposeObligation(o, 1, U)).",
    ),
    (
        "unknown-unit",
        "adopted(_) :- do(imposeObligation(o, 1, 1)).",
        "adopted(_) :- do(imposeObligation(o, 1, ms)).",
    ),
    ("bad-counter", "adopted(_) :- do(dcr(n(1, 2), 1)).", "adopted(_) :- do(dcr(n(_), 1))."),
    ("bad-counter", "adopted(_) :- do(incr([n], 1)).", "adopted(T) :- do(incr(T, 1))."),
    # -- values --------------------------------------------------------------------------------
    (
        "unbound-variable",
        "sent(X, M, Y) :- do(forward(X, N, Y)).",
        "sent(X, M, Y) :- do(forward(X, N, Y)), N = M.",
    ),
    ("unbound-variable", "sent(X, M, Y) :- N > 3.", "sent(X, n(N), Y) :- N > 3."),
    ("unbound-variable", "sent(X, M, Y) :- N > 3, N = M.", "sent(X, M, Y) :- N = M, N > 3."),
    (
        "unbound-variable",
        "sent(X, M, Y) :- A is B + 1, do(signal(A)).",
        "sent(X, M, Y) :- clock(B), A is B + 1, do(signal(A)).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- length(L, N), do(signal(N)).",
        "sent(X, M, Y) :- length([X], N), do(signal(N)).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- append(A, B, C), do(signal(C)).",
        "sent(X, M, Y) :- append(A, B, M), do(signal(f(A, B))).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- length(A, N), do(signal(N)).",
        "sent(X, M, Y) :- length([A, A], N), do(signal(N)).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- not(n(N)@CS), do(+n(N)).",
        "sent(X, M, Y) :- n(N)@CS, do(+n(N)).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- findall(N, n(N)@CS, L), do(+n(N)).",
        "sent(X, M, Y) :- findall(N, n(N)@CS, L), do(+n(L)).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- ( a@CS -> N = 1 ; do(signal(N)) ).",
        "sent(X, M, Y) :- ( n(N)@CS -> do(signal(N)) ; true ).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- n(N)@CS, N > 1 -> do(quit) ; do(signal(N)).",
        "sent(X, M, Y) :- n(N)@CS, ( N > 1 -> do(quit) ; do(signal(N)) ).",
    ),
    (
        "unbound-variable",
        "sent(X, M, Y) :- A = f(B), do(signal(A)).",
        "sent(X, M, Y) :- A = f(B), obligation(A)@CS, do(signal(B)).",
    ),
    (
        "unbound-variable",
        "obligationDue(o) :- do(forward(Self, Msg, bob)).",
        "submitted(_, _, _) :- do(forward(Self, Msg, Peer)).",
    ),
    ("unbound-variable", "adopted(_) :- do(X).", "adopted(X) :- do(X)."),
    (
        "unbound-variable",
        "adopted(_) :- do(imposeObligation(f(X), 1)).",
        "adopted(_) :- do(repealObligation(f(X))).",
    ),
    (
        "unbound-variable",
        "adopted(_) :- do(imposeObligation(o, T)).",
        "adopted(_) :- do(-n(T)), do(n(T) <- n(1)), do(incr(n(T), 1)).",
    ),
    ("unbound-variable", "adopted(_) :- do(n(1) <- n(X)).", "adopted(_) :- do(n(X) <- n(1))."),
    ("unbound-variable", "adopted(_) :- do(incr(X, 1)).", "adopted(_) :- do(incr(n(X), 1))."),
    ("unbound-variable", "adopted(_) :- do(incr(n(_), X)).", "adopted(X) :- do(incr(n(_), X))."),
    (
        "unbound-variable",
        "adopted(_) :- do(+obligation(o, T + 5)).",
        "adopted(_) :- clock(T), do(+obligation(o, T + 5)).",
    ),
    (
        "unbound-variable",
        "adopted(_) :- do(multicast(Self, m, Ys)).",
        "adopted(Ys) :- do(multicast(Self, m, Ys)).",
    ),
    # helper predicates
    (
        "unbound-variable",
        "adopted(_) :- p(X), do(signal(X)). p(_).",
        "adopted(_) :- p(X), do(signal(X)). p(X) :- n(X)@CS.",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p(X). p(X) :- X > 1.",
        "adopted(X) :- p(X). p(X) :- X > 1.",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p(X). p(X) :- do(signal(X)).",
        "adopted(Z) :- p(X), X = Z. p(X) :- do(signal(X)).",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p(X). p(X) :- do(signal(Y)).",
        "adopted(_) :- p(X, Y), X = 1, do(signal(Y)). p(X, X).",
    ),
    (
        "unbound-variable",
        "adopted(L) :- p(L, R), do(signal(R)). p([], _). p([_ | T], R) :- p(T, R).",
        "adopted(L) :- p(L, R), do(signal(R)). p([], []). p([A | T], [A | R]) :- p(T, R).",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p. p :- do(signal(Msg)).",
        "adopted(_) :- p. arrived(_, _, _) :- p. p :- do(signal(Self)).",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p(f(A)). p(f(A)) :- B is A + C, do(signal(B)).",
        "adopted(_) :- p(f(A)), do(signal(A)). p(f(A)) :- n(A)@CS.",
    ),
    (
        "unbound-variable",
        "adopted(_) :- p(X, Y), do(signal(X)). p(A, B) :- A = 1, B > 0.",
        "adopted(_) :- p(X, X), do(signal(X)). p(A, B) :- A = 1, B > 0.",
    ),
    (
        "possibly-unbound",
        "adopted(_) :- ( a@CS, X = 1 ; b@CS ), X > 0.",
        "adopted(_) :- ( a@CS, X = 1 ; b@CS, X = 2 ), X > 0.",
    ),
    (
        "possibly-unbound",
        "adopted(_) :- ( n(X)@CS -> true ; true ), do(signal(X)).",
        "adopted(_) :- ( n(X)@CS -> true ; X = 0 ), do(signal(X)).",
    ),
    (
        "possibly-unbound",
        "adopted(Z) :- p(Z), p(X), do(signal(X)). p(X) :- X > 0.",
        "adopted(Z) :- p(Z), p(X), do(signal(X)). p(X) :- n(X)@CS.",
    ),
    (
        "possibly-unbound",
        "adopted(R) :- ( R = x -> N = 1 ; true ), ( a@CS -> do(signal(N)) ; b@CS ).",
        "adopted(R) :- ( R = x -> N = 1 ; true ), ( R = x -> do(signal(N)) ; do(signal(R)) ).",
    ),
    ("unbound-comparison", "adopted(X) :- X == Y, do(signal(Y)).", "adopted(X) :- X = Y, Y == X."),
    (
        "unbound-comparison",
        "adopted(X) :- X \\= Y, do(signal(X)).",
        "adopted(X) :- n(Y)@CS, X \\= Y, do(signal(X)).",
    ),
    # -- conditions ----------------------------------------------------------------------------
    ("contradictory-guards", "adopted(X) :- X = a, X = b.", "adopted(X) :- ( X = a ; X = b )."),
    ("contradictory-guards", "adopted(X) :- X == a, X == b.", "adopted(X) :- X = f(_), X = f(b)."),
    ("contradictory-guards", "adopted(X) :- X = 1, X = 1.0.", "adopted(X) :- X = 1, X =:= 1.0."),
    ("contradictory-guards", "adopted(N) :- N > 3, N < 2.", "adopted(N) :- N > 2, N < 3."),
    ("contradictory-guards", "adopted(N) :- N > 3, N =< 3.", "adopted(N) :- N >= 3, N =< 3."),
    (
        "contradictory-guards",
        "adopted(N) :- N =:= 3, N =\\= 3.",
        "adopted(N) :- N =:= 3, N =\\= 4.",
    ),
    ("contradictory-guards", "adopted(N) :- 3 < N, 2 > N.", "adopted(N) :- 3 > N, 2 < N."),
    ("contradictory-guards", "adopted(N) :- N > 7, N = 5.", "adopted(N) :- N > 3, N = 5."),
    (
        "contradictory-guards",
        "adopted(f(A, B)) :- A > B, A < B.",
        "adopted(f(A, B)) :- A > B, B < A.",
    ),
    (
        "contradictory-guards",
        "adopted(f(A, B)) :- A == B, A \\== B.",
        "adopted(f(A, B, C)) :- A == B, A \\== C.",
    ),
    (
        "contradictory-guards",
        "adopted(f(A, B)) :- A \\= B, A = B.",
        "adopted(f(A, B)) :- A \\= B, B = 1.",
    ),
    (
        "contradictory-guards",
        "adopted(X) :- not(X = a), X = a.",
        "adopted(X) :- not(X = b), X = a.",
    ),
    ("contradictory-guards", "adopted(_) :- t@CS, not(t@CS).", "adopted(_) :- t@CS, not(u@CS)."),
    (
        "contradictory-guards",
        "adopted(_) :- not(t(_)@CS), t(a)@CS.",
        "adopted(_) :- not(t(a)@CS), t(_)@CS.",
    ),
    (
        "contradictory-guards",
        "adopted(_) :- t(X)@CS, not(t(X)@CS).",
        "adopted(Y) :- t(X)@CS, X \\= Y, not(t(Y)@CS).",
    ),
    (
        "contradictory-guards",
        "adopted(_) :- t(_, _)@CS, not(t(A, B)@CS).",
        "adopted(_) :- t(_, _)@CS, not(t(A, A)@CS).",
    ),
    (
        "contradictory-guards",
        "adopted(_) :- obligation(o)@CS, not(obligation(o)@CS).",
        "adopted(_) :- obligation(o)@CS, not(o@CS).",
    ),
    (
        "contradictory-guards",
        "adopted(N) :- ( N > 5 -> true ; N > 7, do(quit) ).",
        "adopted(N) :- ( N > 5 -> true ; N > 3, do(quit) ).",
    ),
    (
        "contradictory-guards",
        "sent(X, f(A), Y) :- Msg = g(A), do(forward).",
        "sent(X, M, Y) :- Msg = g(A), do(signal(A)).",
    ),
    (
        "contradictory-guards",
        "adopted(X) :- X = a, ( X = b -> do(quit) ; true ).",
        "adopted(X) :- X = a, not(X = b).",
    ),
    # -- clauses -------------------------------------------------------------------------------
    (
        "singleton-variable",
        "sent(X, m(A), Y) :- do(signal(X)).",
        "sent(X, m(A), Y) :- do(forward).",
    ),
    ("singleton-variable", "sent(X, M, Y) :- n(N)@CS.", "sent(X, M, Y) :- n(_N)@CS."),
    ("singleton-variable", "adopted(X) :- p(X). p(f(A)).", "adopted(X) :- p(X). p(A)."),
    ("singleton-variable", "obligationDue(o(K)) :- do(quit).", "obligationDue(o(K)) :- do(-k(K))."),
    (
        "singleton-variable",
        "arrived(X, m(A), Y) :- do(deliver(Self, mgs, Self)).",
        "arrived(X, m(A), Y) :- do(deliver(Self, Msg, Self)).",
    ),
    ("duplicate-label", "A. quit. A. reconnected.", "A. quit. B. reconnected."),
    (
        "duplicate-clause",
        "quit :- do(signal(a)). quit :- do(signal( 'a' )).",
        "quit :- do(signal(a)). quit :- do(signal(b)).",
    ),
    (
        "duplicate-clause",
        "adopted(X) :- p(X). p(f(A, B)) :- A > B. p(f(X, Y)) :- X > Y.",
        "adopted(X) :- p(X). p(f(A, B)) :- A > B. p(f(X, Y)) :- Y > X.",
    ),
    (
        "duplicate-clause",
        "adopted(X) :- X = 1 ; X = 2. adopted(X) :- X = 1 | X = 2.",
        "adopted(X) :- X = 1 ; X = 2. adopted(X) :- X = 1, X = 2.",
    ),
    (
        "duplicate-clause",
        "adopted(_) :- n(1)@CS. adopted(_) :- n(1)@CS.",
        "adopted(_) :- n(1)@CS. adopted(_) :- n(1.0)@CS.",
    ),
    # -- reach ---------------------------------------------------------------------------------
    (
        "unreachable-rule",
        "arrived(_, _, _) :- do(deliver). arrived(X, m, Y) :- do(signal(Y)).",
        "arrived(_, n, _) :- do(deliver). arrived(X, m, Y) :- do(signal(Y)).",
    ),
    (
        "unreachable-rule",
        "sent(X, m(A), Y) :- true. sent(X, m(1), Y) :- do(forward).",
        "sent(X, m(A), Y) :- a@CS. sent(X, m(1), Y) :- do(forward).",
    ),
    (
        "unreachable-rule",
        "sent(Self, Msg, Peer) :- do(forward). sent(X, m, Y) :- do(quit).",
        "sent(Self, m, Self) :- do(forward). sent(X, m, Y) :- do(quit).",
    ),
    (
        "unreachable-rule",
        "adopted([A | B]) :- do(quit). adopted([1, 2]) :- do(signal(x)).",
        "adopted([A | B]) :- do(quit). adopted([]) :- do(signal(x)).",
    ),
    (
        "unreachable-rule",
        "sent(X, _, X) :- do(quit). sent(Y, m, Y) :- do(signal(m)).",
        "sent(X, _, X) :- do(quit). sent(Y, m, Z) :- do(signal(m)).",
    ),
    (
        "unreachable-rule",
        "quit :- ( a@CS -> do(signal(a)) ; do(signal(b)) ). quit :- b@CS.",
        "quit :- ( a@CS -> do(signal(a)) ). quit :- b@CS.",
    ),
    (
        "unused-predicate",
        "quit :- true. p(a) :- q. q :- p(a).",
        "quit :- p(a). p(a) :- q. q :- true.",
    ),
    (
        "unbounded-recursion",
        "adopted(X) :- p(X). p(X) :- p(X).",
        "adopted(X) :- p(X). p([]). p([_ | T]) :- p(T).",
    ),
    (
        "unbounded-recursion",
        "adopted(X) :- p(X, X). p([A | T], _) :- p(A, T).",
        "adopted(X) :- p(X, X). p([A | T], _) :- p(T, A).",
    ),
    (
        "unbounded-recursion",
        "adopted(X) :- p(X). p([A, B | T]) :- p([A, B | T]).",
        "adopted(X) :- p(X). p([_, B | T]) :- p([B | T]).",
    ),
    (
        "unbounded-recursion",
        "adopted(X) :- p(X). p(L) :- L = [A | T], p([A | T]).",
        "adopted(X) :- p(X). p(L) :- L = [_ | T], p(T).",
    ),
    (
        "unbounded-recursion",
        "adopted(X) :- p(X). p([_ | T]) :- q(T). q(X) :- p(X).",
        "adopted(X) :- p(X). p([_ | T]) :- q(a, T). q(_, [_ | T]) :- p(T).",
    ),
    (
        "unaccepted-forward",
        "sent(X, a, Y) :- do(forward). arrived(X, b, Y) :- do(deliver).",
        "sent(X, a, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).",
    ),
    ("unaccepted-forward", "sent(X, M, Y) :- do(forward).", "sent(X, M, Y) :- do(release(M, Y))."),
    (
        "unaccepted-forward",
        "sent(X, M, Y) :- do(forward(X, f(1), Y)). arrived(X, f(2), Y) :- do(deliver).",
        "sent(X, f(A), Y) :- do(forward(X, f(A), Y)). arrived(X, f(2), Y) :- do(deliver).",
    ),
    (
        "unaccepted-forward",
        "sent(X, m, Y) :- do(multicast(X, Msg, [ts, tt])). arrived(_, _, ts) :- do(deliver).",
        "sent(X, m, Y) :- do(multicast(X, Msg, [ts, ts])). arrived(_, _, ts) :- do(deliver).",
    ),
    # -- state ---------------------------------------------------------------------------------
    ("never-added", "adopted(_) :- a@CS.", "initialCS([a]). adopted(_) :- a@CS."),
    (
        "never-added",
        "adopted(_) :- a@CS, do(+a(1)).",
        "initialCS([b]). adopted(_) :- a@CS, do(b <- a).",
    ),
    ("never-added", "adopted(_) :- do(-a).", "adopted(R) :- do(-a), do(+R)."),
    ("never-added", "adopted(_) :- do(incr(a(_), 1)).", "adopted(_) :- tupleSpace@CS."),
    ("never-sensed", "initialCS([a]).", "initialCS([a]). adopted(_) :- not(a@CS)."),
    ("never-sensed", "adopted(_) :- do(+a).", "adopted(_) :- do(+a), do(-a)."),
    ("never-sensed", "adopted(_) :- do(+a(1)).", "adopted(_) :- do(+a(1)), X@CS, do(signal(X))."),
    ("never-sensed", "adopted(_) :- do(b <- a).", "adopted(X) :- do(b <- a), do(X)."),
    (
        "unhandled-obligation",
        "adopted(_) :- do(imposeObligation(o, 1)).",
        "adopted(_) :- do(imposeObligation(o, 1)). obligationDue(_) :- do(quit).",
    ),
    (
        "unhandled-obligation",
        "adopted(_) :- O = f(1), do(+obligation(O, 1)). obligationDue(f(2)).",
        "adopted(O) :- do(+obligation(O, 1)). obligationDue(f(2)).",
    ),
    (
        "never-imposed",
        "obligationDue(o) :- do(quit).",
        "adopted(_) :- do(imposeObligation(o, 1)). obligationDue(o) :- do(quit).",
    ),
    (
        "never-imposed",
        "adopted(_) :- do(imposeObligation(f(1), 1)). obligationDue(f(2)).",
        "adopted(N) :- do(imposeObligation(f(N), 1)). obligationDue(f(2)).",
    ),
    # -- traps ---------------------------------------------------------------------------------
    (
        "unevaluated-arithmetic",
        "adopted(_) :- n(N)@CS, do(n(N) <- n(N - 1)).",
        "adopted(_) :- n(N)@CS, do(imposeObligation(o, N - 1)), do(incr(n(N), N + 1)).",
    ),
    (
        "unevaluated-arithmetic",
        "sent(X, m(N), Y) :- do(forward(X, m(N + 1), Y)).",
        "sent(X, m(N), Y) :- do(forward(X, m(room - N), Y)).",
    ),
    (
        "unevaluated-arithmetic",
        "adopted(f(A, B)) :- X = A * B, do(signal(X)).",
        "adopted(f(A, B)) :- X = A - B, do(signal(X)).",
    ),
    ("unevaluated-arithmetic", "adopted(N) :- p(N - 1). p(0).", "adopted(N) :- p(1 - 2). p(0)."),
    (
        "unevaluated-arithmetic",
        "adopted(T) :- do(+obligation(f(T + 1), 1)).",
        "adopted(T) :- do(+obligation(f(T), T + 1)).",
    ),
    (
        "loose-conditional",
        "adopted(_) :- do(signal(a)), a@CS -> do(signal(b)) ; true.",
        "adopted(_) :- ( do(signal(a)), a@CS -> do(signal(b)) ; true ).",
    ),
    (
        "loose-conditional",
        "adopted(_) :- % no ( bracket\n do(signal(a)), a@CS -> true.",
        "adopted(_) :- a@CS, b@CS -> do(signal(b)) ; true.",
    ),
    ("placeholder-key", "cAuthority(someKey).", 'cAuthority("ed25519:00ff").'),
    ("placeholder-key", 'authority(a, "ed25519:").', 'authority(a, "ed25519:1").'),
]


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
    for name in ("terms/syntax.py", "law/parse.py"):
        for node in ast.walk(ast.parse((SOURCES / name).read_text())):
            if not isinstance(node, ast.Call):
                continue
            given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            function = node.func
            called = getattr(function, "attr", getattr(function, "id", ""))
            if called in ("fault", "_fault"):
                given += node.args[:1]
            found |= {
                one.value
                for one in given
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
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
