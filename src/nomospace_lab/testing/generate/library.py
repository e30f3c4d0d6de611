"""Helper predicates for generated laws: recursion, accumulators, several solutions, loose ends.

Each is a text with a *call*: what stands at each argument. `+` is a value, `-` an unknown that the
helper binds, `?` one that it may leave open or half open.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from nomospace_lab.testing.generate.shapes import (
    AGENT,
    ANY,
    ANY_LIST,
    ATOM,
    NUMBER,
    NUMBERS_LIST,
    TermSort,
    struct,
)


class Helper(NamedTuple):
    """A predicate that generated rules may call.

    `acts` says that it has operations; `hungry`, that it may eat any budget.
    """

    name: str
    modes: str
    shapes: tuple[TermSort, ...]
    text: str
    acts: bool = False
    hungry: bool = False


LIBRARY: Final = (
    Helper("len", "+-", (ANY_LIST, NUMBER), "len([], 0). len([_|T], N) :- len(T, M), N is M + 1."),
    Helper(
        "total",
        "++-",
        (NUMBERS_LIST, NUMBER, NUMBER),
        "total([], S, S). total([X|T], A, S) :- B is A + X, total(T, B, S).",
    ),
    Helper(
        "turned",
        "++-",
        (ANY_LIST, ANY_LIST, ANY_LIST),
        "turned([], A, A). turned([H|T], A, R) :- turned(T, [H|A], R).",
    ),
    Helper("among", "-+", (ANY, ANY_LIST), "among(X, [X|_]). among(X, [_|T]) :- among(X, T)."),
    Helper(
        "even",
        "+",
        (NUMBER,),
        "even(0). even(N) :- N > 0, M is N - 1, odd(M). odd(N) :- N > 0, M is N - 1, even(M).",
    ),
    Helper(
        "upto",
        "+-",
        (NUMBER, NUMBERS_LIST),
        "upto(N, []) :- N =< 0. upto(N, [N|T]) :- N > 0, M is N - 1, upto(M, T).",
    ),
    Helper(
        "joined",
        "++-",
        (ANY_LIST, ANY_LIST, ANY_LIST),
        "joined([], L, L). joined([H|T], L, [H|R]) :- joined(T, L, R).",
    ),
    Helper(
        "cut",
        "--+",
        (ANY_LIST, ANY_LIST, ANY_LIST),
        "cut([], L, L). cut([H|T], L, [H|R]) :- cut(T, L, R).",
    ),
    Helper("half", "+?", (ANY, struct("pair", ANY, ANY)), "half(X, pair(X, _))."),
    Helper("blank", "?", (ANY,), "blank(_)."),
    Helper("twin", "??", (ANY, ANY), "twin(X, X)."),
    Helper("mirror", "+?", (struct("f", ANY, ANY), ANY), "mirror(f(X, Y), f(Y, X))."),
    Helper("opened", "+?", (ANY, ANY_LIST), "opened(X, [X|_]). opened(X, [_, X|_])."),
    Helper("pick", "-", (NUMBER,), "pick(1). pick(2). pick(3)."),
    Helper(
        "grade",
        "+-",
        (NUMBER, ATOM),
        "grade(N, high) :- N > 2. grade(N, low) :- N =< 2. grade(_, none).",
    ),
    Helper(
        "chosen",
        "+-",
        (ATOM, NUMBER),
        "chosen(X, Y) :- ( X = a -> Y = 1 ; X = b -> ( Y = 2 ; Y = 3 ) ; Y = 0 ).",
    ),
    Helper(
        "sorted",
        "+-",
        (NUMBERS_LIST, NUMBERS_LIST),
        "sorted([], []). sorted([H|T], S) :- sorted(T, R), put(H, R, S)."
        " put(X, [], [X]). put(X, [Y|T], [X, Y|T]) :- X =< Y."
        " put(X, [Y|T], [Y|R]) :- X > Y, put(X, T, R).",
    ),
    Helper(
        "paired",
        "+-",
        (NUMBER, ANY_LIST),
        "paired(N, L) :- findall(p(X, N), between(1, N, X), L).",
    ),
    Helper(
        "walk",
        "+-+",
        (ATOM, ATOM, NUMBER),
        "step(a, b). step(b, c). step(c, a). step(b, a). walk(X, Y, _) :- step(X, Y)."
        " walk(X, Z, N) :- N > 0, step(X, Y), M is N - 1, walk(Y, Z, M).",
    ),
    Helper(
        "doubled",
        "+-",
        (ANY, ANY),
        "doubled(X, T) :- twice(30, X, T). twice(0, T, T)."
        " twice(N, A, T) :- N > 0, M is N - 1, twice(M, p(A, A), T).",
    ),
    Helper(
        "tangled",
        "+?",
        (ANY, ANY),
        "tangled(X, q(A, B, C)) :- tangle(25, _, A), tangle(25, C, B), ( A = B ; A == B ; C = X )."
        " tangle(0, T, T). tangle(N, A, T) :- N > 0, M is N - 1, tangle(M, '[]'(A, A), T).",
    ),
    Helper(
        "sifted",
        "+?",
        (ANY_LIST, ANY_LIST),
        "sifted(L, R) :- delete(L, p(p(_, X), X), A), delete(A, '[]'(_), B), delete(B, [_|_], R).",
    ),
    Helper("mine", "-", (AGENT,), "mine(X) :- X = Self."),
    Helper("told", "?", (ANY,), "told(X) :- X = Msg."),
    Helper("from", "?", (ANY,), "from(Peer)."),
    Helper("held", "?", (ANY,), "held(X) :- X@CS."),
    Helper("unlike", "++", (ANY, ANY), "unlike(X, Y) :- not(X = Y). unlike(X, X) :- \\+ X == a."),
    Helper("each", "+", (ANY_LIST,), "each([]). each([H|T]) :- do(signal(H)), each(T).", acts=True),
    Helper(
        "tried",
        "+",
        (NUMBER,),
        "tried(X) :- do(+mark(X)), X > 2. tried(X) :- do(signal(low(X))).",
        acts=True,
    ),
    Helper(
        "later",
        "+-",
        (ANY, NUMBER),
        "later(X, N) :- do(imposeObligation(late(X, N), N)), ( N = 1 ; N = 2 ).",
        acts=True,
    ),
    Helper("passed", "", (), "passed :- do(forward). passed :- do(quit).", acts=True),
    Helper("ordered", "+", (ANY,), "ordered(X) :- O = signal(X), do(O).", acts=True),
)

HUNGRY: Final = (
    Helper("spin", "+", (ANY,), "spin(X) :- spin(X).", hungry=True),
    Helper("swell", "+", (ANY_LIST,), "swell(L) :- swell([x|L]).", hungry=True),
    Helper(
        "split",
        "+",
        (ANY,),
        "split(X) :- split(X), split(X). split(X) :- X = none.",
        hungry=True,
    ),
    Helper(
        "lost",
        "+-",
        (NUMBER, NUMBER),
        "lost(N, X) :- between(1, 900000, X), Y is X * X, Y =:= N + 7.",
        hungry=True,
    ),
    Helper(
        "tick",
        "+",
        (NUMBER,),
        "tick(N) :- do(signal(N)), M is N + 1, tock(M). tock(N) :- N < 700, tick(N)."
        " tock(N) :- N >= 700.",
        acts=True,
        hungry=True,
    ),
    Helper(
        "sunk",
        "+-",
        (NUMBER, NUMBER),
        "sunk(N, R) :- D is (N mod 3) * 1000 + 500, down(D, R)."
        " down(0, 0). down(N, R) :- N > 0, M is N - 1, down(M, S), R is S + 1.",
        hungry=True,
    ),
    Helper(
        "nested",
        "+-",
        (NUMBER, ANY),
        "nested(N, T) :- D is (N mod 4) * 400 + 100, dig(D, T)."
        " dig(0, z). dig(N, s(T)) :- N > 0, M is N - 1, dig(M, T).",
        hungry=True,
    ),
    Helper(
        "folded",
        "+-",
        (NUMBER, ANY),
        "folded(N, T) :- fold(N, z, T). fold(N, T, T) :- N =< 0."
        " fold(N, A, T) :- N > 0, M is N - 1, fold(M, p(A, A), T).",
        hungry=True,
    ),
    Helper(
        "counted",
        "+-",
        (NUMBER, NUMBER),
        "counted(N, K) :- D is (N mod 3) * 150 + 20,"
        " findall(X, (between(1, D, X), X mod 2 =:= 0), L), length(L, K).",
        hungry=True,
    ),
)
