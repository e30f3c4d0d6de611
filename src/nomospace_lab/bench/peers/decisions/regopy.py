"""Rego, in C++: a bundle compiled once; request and state are the input document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

POLICY = """
package decision

default allow := false

allow if {
    input.operation == "out"
    input.source == input.sender
    not "kind" in input.blocked
}

allow if {
    input.operation == "in"
    input.target == input.sender
}
"""


def prepare() -> Any:
    """Compile the policy into a bundle once."""
    import regopy  # type: ignore[import-not-found]

    rego = regopy.Interpreter()
    rego.add_module("decision.rego", POLICY)
    bundle = rego.build(None, ["decision/allow"])

    def member(blocked: Sequence[str]) -> Any:
        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            rego.set_input(
                {
                    "sender": sender,
                    "operation": operation,
                    "message": message,
                    "source": source,
                    "target": target,
                    "blocked": blocked,
                }
            )
            return rego.query_bundle_entrypoint(bundle, "decision/allow")[0][0]

        return decide

    return member
