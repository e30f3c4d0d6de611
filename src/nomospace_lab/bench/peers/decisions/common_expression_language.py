"""CEL, in Rust: one compiled expression; the state rides along as a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

POLICY = """
operation == "out" ? source == sender && !("kind" in blocked)
                   : operation == "in" && target == sender
"""


def prepare() -> Any:
    """Compile the expression once."""
    import cel  # type: ignore[import-not-found]

    execute = cel.compile(POLICY).execute

    def member(blocked: Sequence[str]) -> Any:
        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            return execute(
                {
                    "sender": sender,
                    "operation": operation,
                    "message": message,
                    "source": source,
                    "target": target,
                    "blocked": blocked,
                }
            )

        return decide

    return member
