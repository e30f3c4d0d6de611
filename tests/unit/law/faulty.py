"""Laws that have one fault each, beside the nearest law that has none."""

from __future__ import annotations

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
"""A code, a law with the fault, and one without."""
