"""Laws as plain tuples without places, so that two of them can be compared."""

from typing import Any

import msgspec

from nomospace.law.tree import LawTree
from nomospace.terms.tokens import Const, ListSyntax, Struct, Variable


def shape(item: Any) -> Any:
    """A node, a goal or a sequence of them as tuples: kinds and contents, no spans."""
    if isinstance(item, Const):
        return type(item.value).__name__, item.value
    if isinstance(item, Variable):
        return "variable", item.name
    if isinstance(item, Struct):
        return "struct", item.name, shape(item.args)
    if isinstance(item, ListSyntax):
        return "list", shape(item.items), shape(item.tail)
    if isinstance(item, tuple):
        return tuple(shape(part) for part in item)
    if isinstance(item, msgspec.Struct):
        parts = (getattr(item, name) for name in item.__struct_fields__ if name != "span")
        return type(item).__name__, *(shape(part) for part in parts)
    return item


def law_shape(law: LawTree) -> dict[str, Any]:
    """What a law says, whatever its rules are called."""
    return {
        "name": law.name,
        "authorities": [(each.name, each.key) for each in law.authorities],
        "controller authority": law.controller_authority,
        "initial": law.initial,
        "clear": law.clear_messages,
        "disclose": law.disclose,
        "said": sorted(law.preamble_spans),
        "rules": [(rule.event, shape(rule.args), shape(rule.body)) for rule in law.rules],
        "helpers": {
            key: [(shape(clause.args), shape(clause.body)) for clause in clauses]
            for key, clauses in law.helpers.items()
        },
    }
