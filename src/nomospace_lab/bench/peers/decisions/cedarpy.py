"""Cedar: policies and the member's entity, which holds its state, as handles parsed once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

POLICY = """
@id("R1") permit(principal, action == Action::"out", resource)
  when { context.source == context.sender && !principal.blocked.contains("kind") };
@id("R2") permit(principal, action == Action::"in", resource)
  when { context.target == context.sender };
"""


def prepare() -> Any:
    """Parse the policies once."""
    import cedarpy  # type: ignore[import-not-found]

    policies = cedarpy.PolicySet.from_str(POLICY)
    is_authorized = cedarpy.is_authorized

    def member(blocked: Sequence[str]) -> Any:
        uid = {"type": "Member", "id": "self"}
        entity = {"uid": uid, "attrs": {"blocked": list(blocked)}, "parents": []}
        entities = cedarpy.Entities.from_json_str(json.dumps([entity]))
        space = {"type": "Space", "id": "jobs"}

        def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
            request = {
                "principal": uid,
                "action": {"type": "Action", "id": operation},
                "resource": space,
                "context": {
                    "sender": sender,
                    "message": message,
                    "source": source,
                    "target": target,
                },
            }
            return is_authorized(request, policies, entities).allowed

        return decide

    return member
