"""SWI-Prolog in the same process through janus: clauses and state in the Prolog database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

POLICY = r"""
:- dynamic blocked/2.
allowed(Member, out, Sender, _, Sender, _, 'R1') :- \+ blocked(Member, kind).
allowed(_, in, Sender, _, _, Sender, 'R2').
"""


def prepare() -> Any:
    """Consult the clauses once; a decision answers the rule that allowed."""
    import janus_swi  # type: ignore[import-not-found]

    janus_swi.consult("policy", data=POLICY)
    apply_once = janus_swi.apply_once
    members = 0

    def member(blocked: Sequence[str]) -> Any:
        nonlocal members
        members += 1
        number = members
        for kind in blocked:
            janus_swi.query_once("assertz(blocked(M, K))", {"M": number, "K": kind})

        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            return apply_once(
                "user", "allowed", number, operation, sender, message, source, target, fail=None
            )

        return decide

    return member
