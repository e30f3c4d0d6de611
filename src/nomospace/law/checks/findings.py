"""What walks through a law's clauses find (`checks.binding`), gathered by place and put in words.

A finding is an error only when it is certain on every path, under every pattern, that reaches
the place. A mixture is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.law.checks.known import FREE
from nomospace.law.checks.report import CheckReport
from nomospace.terms import Span


class WalkFindings(msgspec.Struct):
    """What the walks found at one place: the least and the most of it, and the words for it."""

    least: int
    most: int
    span: Span
    words: tuple[Any, ...]


Log: TypeAlias = dict[tuple[int, str], WalkFindings]


def gather(log: Log, place: tuple[int, str], seen: WalkFindings) -> None:
    """Note what was found at a place, beside what is known of it."""
    known = log.setdefault(place, seen)
    if seen.most > known.most:
        known.words = seen.words
    known.least = min(known.least, seen.least)
    known.most = max(known.most, seen.most)


def tell(report: CheckReport, logs: Iterable[Log]) -> None:
    """Report what all walks together found."""
    places: Log = {}
    for log in logs:
        for place, seen in log.items():
            gather(places, place, seen)
    for (_, kind), seen in places.items():
        if seen.most:
            _REPORTERS[kind](report, seen)


def _tell_need(report: CheckReport, seen: WalkFindings) -> None:
    name, blamed, where = seen.words
    certain = seen.least == FREE.value
    has = "has no value" if certain else "may have no value"
    if blamed not in (name, "_"):
        message = f"{name} holds {blamed}, which {has} {where}"
    else:
        message = f"{name} {has} {where}"
    if certain and name in ("Msg", "Peer"):
        help = f"{name} is there only on sent, arrived and submitted"
    elif certain:
        help = f"give {blamed} a value first: in the head, by term({blamed})@CS or with ="
    else:
        help = f"see that {blamed} gets a value on every way that leads here"
    report.add("unbound-variable" if certain else "possibly-unbound", message, seen.span, help)


def _tell_guard(report: CheckReport, seen: WalkFindings) -> None:
    if seen.least < FREE.value:
        return
    shown, other, span = seen.words
    if other is None:
        report.add(
            "contradictory-guards",
            f"{shown} never holds",
            seen.span,
            "what comes after it is never reached; remove it or mend the condition",
        )
        return
    report.add(
        "contradictory-guards",
        f"{shown} never holds together with {other}",
        seen.span,
        "what comes after it is never reached; mend one of the two",
        ((f"{other} stands here", span),),
    )


def _tell_same(report: CheckReport, seen: WalkFindings) -> None:
    if seen.least < FREE.value:
        return
    shown, name, outcome = seen.words
    report.add(
        "unbound-comparison",
        f"{name} has no value here, so {shown} {outcome} holds",
        seen.span,
        f"give {name} a value first, or is it a slip for another variable?",
    )


_REPORTERS: Final[dict[str, Callable[[CheckReport, WalkFindings], None]]] = {
    "need": _tell_need,
    "guard": _tell_guard,
    "same": _tell_same,
}
