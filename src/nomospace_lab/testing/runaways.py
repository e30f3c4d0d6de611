"""Laws that run away: each must end in an `exception` event, soon, and its agent live on."""

from __future__ import annotations

from typing import Final

RUNAWAYS: Final[dict[str, tuple[str, str]]] = {
    "loops for ever": ("budget", "go :- go."),
    "counts without end": ("budget", "go :- up(0). up(N) :- M is N + 1, up(M)."),
    "takes a step and goes on": ("budget", "go :- step, go. step :- 1 < 2."),
    "recurses first": ("budget", "go :- go, 1 < 2."),
    "recurses twice": ("budget", "go :- go, go."),
    "recurses through another": ("budget", "go :- other, 1 < 2. other :- go, 1 < 2."),
    "tries a million numbers": ("budget", "go :- between(1, 1000000, N), N < 0."),
    "tries all pairs": (
        "budget",
        "go :- findall(N, between(1, 900, N), L), member(A, L), member(B, L), A + B < 0.",
    ),
    "doubles a list": ("budget", "go :- grow([a, b, c]). grow(L) :- append(L, L, M), grow(M)."),
    "lengthens a list": ("budget", "go :- grow([]). grow(L) :- grow([a | L])."),
    "doubles a text": ("tooLarge", "go :- grow(ab). grow(A) :- atom_concat(A, A, B), grow(B)."),
    "squares a number": ("tooLarge", "go :- grow(2). grow(N) :- M is N * N, grow(M)."),
    "doubles a term": (
        "tooLarge",
        "go :- grow(a, 60). grow(T, 0) :- do(+big(T)). grow(T, N) :- M is N - 1, grow(f(T, T), M).",
    ),
    "compares doubled terms": (
        "budget",
        """go :- two(a, a, 60).
        two(A, B, 0) :- A == B, two(A, B, 0).
        two(A, B, N) :- N > 0, M is N - 1, two(f(A, A), f(B, B), M).""",
    ),
    "orders without end": ("tooLarge", "go :- do(+one), go."),
}
"""What each does: how it is stopped, and the predicate `go` that does it."""


def law_text(predicate: str) -> str:
    """A law whose members run away when they send `go`, and may send anything else."""
    return (
        "law(runaway).\n"
        f"R1. sent(_, go, _) :- go, do(forward).\n{predicate}\n"
        "R2. sent(_, M, _) :- M \\= go, do(forward).\n"
        "R3. arrived(_, _, _) :- do(deliver).\n"
        "R4. exception(ruling(_), Why) :- do(deliver(Self, stopped(Why), Self)).\n"
    )
