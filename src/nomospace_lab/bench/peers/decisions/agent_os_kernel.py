"""Agent Governance Toolkit: rules that compare one field with one constant, by priority.

A rule cannot compare two fields, nor hold two conditions, so the caller says whether the request
stands in the sender's own name; operation and state are left to the rules. The decision carries
the matched rule, the reason and an audit entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def prepare() -> Any:
    """Build the policy document once."""
    from agent_os.policies import (  # type: ignore[import-not-found]
        PolicyAction,
        PolicyCondition,
        PolicyDefaults,
        PolicyDocument,
        PolicyEvaluator,
        PolicyOperator,
        PolicyRule,
    )

    def rule(
        name: str, priority: int, action: Any, field: str, operator: Any, value: object
    ) -> Any:
        condition = PolicyCondition(field=field, operator=operator, value=value)
        return PolicyRule(name=name, priority=priority, action=action, condition=condition)

    own = ["own out", "own in"]
    rules = [
        rule("foreign", 3, PolicyAction.DENY, "request", PolicyOperator.NOT_IN, own),
        rule("R2", 2, PolicyAction.ALLOW, "request", PolicyOperator.EQ, "own in"),
        rule("blocked", 1, PolicyAction.DENY, "blocked", PolicyOperator.CONTAINS, "kind"),
        rule("R1", 0, PolicyAction.ALLOW, "request", PolicyOperator.EQ, "own out"),
    ]
    document = PolicyDocument(
        name="decision", rules=rules, defaults=PolicyDefaults(action=PolicyAction.DENY)
    )
    evaluate = PolicyEvaluator([document]).evaluate

    def member(blocked: Sequence[str]) -> Any:
        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            own = (source if operation == "out" else target) == sender
            request = f"{'own' if own else 'foreign'} {operation}"
            return evaluate({"request": request, "message": message, "blocked": blocked}).allowed

        return decide

    return member
