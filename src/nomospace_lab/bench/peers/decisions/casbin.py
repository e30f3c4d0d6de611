"""Casbin: a matcher over the request's attributes; the state rides along as one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MODEL = """
[request_definition]
r = sender, operation, message, source, target, blocked

[policy_definition]
p = operation

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = (r.operation == "out" && r.source == r.sender && !("kind" in r.blocked)) || \
    (r.operation == "in" && r.target == r.sender)
"""


def prepare() -> Any:
    """Load the model once."""
    import casbin  # type: ignore[import-not-found]

    model = casbin.Model()
    model.load_model_from_text(MODEL)
    enforce = casbin.Enforcer(model).enforce

    def member(blocked: Sequence[str]) -> Any:
        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            return enforce(sender, operation, message, source, target, blocked)

        return decide

    return member
