"""Biscuit: Datalog policies and the member's state read once; a request is a fact added to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

POLICY = """
allow if request($sender, "in", $message, $source, $sender);
deny if blocked("kind");
allow if request($sender, "out", $message, $sender, $target);
"""
REQUEST = "request({sender}, {operation}, {message}, {source}, {target})"


def prepare() -> Any:
    """Read the policies once; merging them is quicker than a snapshot or than reading again."""
    from biscuit_auth import (  # type: ignore[import-not-found]
        AuthorizationError,
        AuthorizerBuilder,
        Fact,
    )

    def member(blocked: Sequence[str]) -> Any:
        known = AuthorizerBuilder(POLICY)
        for kind in blocked:
            known.add_fact(Fact("blocked({kind})", {"kind": kind}))

        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            builder = AuthorizerBuilder()
            builder.merge(known)
            request = {
                "sender": sender,
                "operation": operation,
                "message": message,
                "source": source,
                "target": target,
            }
            builder.add_fact(Fact(REQUEST, request))
            try:
                builder.build_unauthenticated().authorize()
            except AuthorizationError:
                return False
            return True

        return decide

    return member
