"""The rules of a journal's laws, as a table: what there is that might have ruled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from nomospace.pipeline.laws import compiled, recorded_laws

HEAD_MAX: Final = 120
"""How much is shown of a rule's head."""
_STRING: Final[pa.DataType] = pa.string()
_INT: Final[pa.DataType] = pa.int64()
RULES: Final = pa.schema(
    [
        ("community", _STRING),
        ("law", _STRING),
        ("number", _INT),
        ("rule", _STRING),
        ("event", _STRING),
        ("line", _INT),
        ("text", _STRING),
        ("comment", _STRING),
    ]
)


def rules_of(laws: Iterable[tuple[str, str, str]]) -> tuple[list[dict[str, object]], list[str]]:
    """The rules of laws, from rows `(hash, community, text)`, and the hashes of laws without text.

    >>> from nomospace.law import load
    >>> law = load("law(open). R1. sent(X, M, Y) :- do(forward).")
    >>> (rule,), lost = rules_of([(law.hash, "open", law.tree.source.text)])
    >>> rule["rule"], rule["line"], rule["text"]
    ('R1', 1, 'sent(X, M, Y)')
    """
    told = list(laws)
    names = {hash: community for hash, community, _ in told}
    known, lost = recorded_laws(told)
    rows: list[dict[str, object]] = []
    for hash, source in known.items():
        law = compiled(source)
        for rule in law.tree.rules:
            start, end = rule.head_span.start, rule.head_span.end
            head = " ".join(source.text[start:end].split())
            rows.append(
                {
                    "community": names[hash],
                    "law": hash,
                    "number": rule.number,
                    "rule": rule.name,
                    "event": rule.event,
                    "line": source.text.count("\n", 0, start) + 1,
                    "text": head if len(head) <= HEAD_MAX else head[: HEAD_MAX - 1] + "…",
                    "comment": " ".join(rule.comment.split()),
                }
            )
    return rows, lost
