"""SWI-Prolog in the same process through pyswip: clauses and state in the Prolog database.

A decision is a `call` of a term built from the arguments, without the rule that allowed: asking for
an answer through a variable or a text query costs several times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def prepare() -> Any:
    """Assert the clauses once."""
    from pyswip import Functor, Prolog, call  # type: ignore[import-not-found]
    from pyswip.core import (  # type: ignore[import-not-found]
        PL_discard_foreign_frame,
        PL_open_foreign_frame,
    )

    list(Prolog.query("dynamic(blocked/2)"))
    Prolog.assertz(r"(allowed(M, out, Sender, _, Sender, _) :- \+ blocked(M, kind))")
    Prolog.assertz("allowed(_, in, Sender, _, _, Sender)")
    allowed, fact = Functor("allowed", 6), Functor("blocked", 2)
    assertz = Functor("assertz", 1)
    members = 0

    def member(blocked: Sequence[str]) -> Any:
        nonlocal members
        members += 1
        number = members
        for kind in blocked:
            call(assertz(fact(number, kind)))

        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            frame = PL_open_foreign_frame()  # without it every term would stay on Prolog's stack
            try:
                return call(allowed(number, operation, sender, message, source, target))
            finally:
                PL_discard_foreign_frame(frame)

        return decide

    return member
