"""How a model reads its answers: a short text, and the same as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from nomospace.api.forms import json_of
from nomospace.client import DisclosedRuling
from nomospace.client.laws import Law
from nomospace.client.tuples import Tuple
from nomospace.law.tree import lets_out
from nomospace.terms import Term, show
from nomospace.terms.values import is_dict

STORY_CHARS_MAX: Final = 8_000
"""The longest story of a ruling that is told, besides what it was about."""
ABOUT_CHARS_MAX: Final = 1_000
"""How much is told of what a ruling was about, and of each thing that is only listed."""
ANSWER_CHARS_MAX: Final = 200_000
"""About the longest list in an answer; the rest is for the next one. One tuple is told whole."""
OPERATIONS_MAX: Final = 100
"""How many operations of a ruling are told."""
RULES_MAX: Final = 40
"""Of how many rules it is told what they let pass."""
RULE_CHARS_MAX: Final = 300


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool says. An `error` is for the model to mend, and no failure of the protocol."""

    text: str
    data: dict[str, Any]
    error: bool = False


def texts(fields: Iterable[Term]) -> list[object]:
    """The fields of a tuple as they can be written again: dicts as they are, the rest as terms.

    >>> texts(("job", 17, "two words", {"n": 1}))
    ['job', '17', "'two words'", {'n': 1}]
    """
    return [json_of(one) if is_dict(one) or isinstance(one, dict) else show(one) for one in fields]


def line(fields: Iterable[Term]) -> str:
    """A tuple in one line.

    >>> line(("job", 17, "two words"))
    "[job, 17, 'two words']"
    """
    return f"[{', '.join(map(show, fields))}]"


def found(one: Tuple) -> dict[str, object]:
    """A tuple that was found, as data."""
    data: dict[str, object] = {"fields": texts(one), "id": str(one.id), "holder": one.source}
    return data | {"why": one.why} if one.why else data


def cut(text: str, limit: int) -> str:
    """A text of at most so many characters, that says so where it was longer.

    >>> cut("abcdef", 4)
    'abcd… (2 characters more)'
    """
    return (
        text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} characters more)"
    )


def count(number: int, what: str) -> str:
    """So many of something.

    >>> count(1, "event"), count(2_000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def fitting(lines: Sequence[str]) -> int:
    """How many of some lines, from the first on, one answer holds: one at least.

    >>> fitting(["a" * 150_000, "b" * 60_000, "c"]), fitting([]), fitting(["x" * 300_000])
    (1, 0, 1)
    """
    size = 0
    for held, one in enumerate(lines):
        size += len(one)
        if size > ANSWER_CHARS_MAX and held:
            return held
    return len(lines)


def operations(told: DisclosedRuling) -> list[str]:
    """What a ruling ordered, as far as its agent may know."""
    return [show(one, limit=ABOUT_CHARS_MAX) for one in told.operations[:OPERATIONS_MAX]]


def passes(law: Law, told_of: str = "") -> list[str]:
    """What a law says of messages, a line for each rule: its author's own words, or its text.

    Rules that a story tells of already are left out.

    >>> from nomospace.client.laws import load_law
    >>> passes(load_law("law(hum). R1. sent(_, hum, _) :- do(forward). % Anyone may hum."))
    ['R1: Anyone may hum.']
    >>> quota = load_law("law(q). R1. sent(_, _, _) :- slot@CS, do(forward). R2. sent(_, M, _).")
    >>> passes(quota, "...\\n  R1: did not fire\\n  R2: fired")  # what refuses lets nothing pass
    []
    """
    rules = [
        rule
        for rule in law.tree.rules
        if rule.event == "sent"
        and lets_out(rule)
        and f"\n  {rule.name}: did not fire" not in told_of
        and f"\n  {rule.name}: fired" not in told_of
    ]
    lines = []
    for rule in rules[:RULES_MAX]:
        said = rule.comment or law.tree.source.text[rule.span.start : rule.span.end]
        lines.append(cut(f"{rule.name}: {' '.join(said.split())}", RULE_CHARS_MAX))
    if len(rules) > RULES_MAX:
        lines.append(f"and {len(rules) - RULES_MAX} rules more: read nomospace://law")
    return lines


def story(told: DisclosedRuling, number: int, law: Law | None) -> str:
    """A ruling with its reasons, and what would pass where it let nothing through.

    The reasons name each rule that was tried, its author's words and the condition that failed; of
    the rules that were not even tried, the words alone follow.
    """
    why = told.explain()
    head, _, rest = why.partition("\n")
    reasons = f"{cut(head, ABOUT_CHARS_MAX)}\n{cut(rest, STORY_CHARS_MAX)}".rstrip()
    name = law.name if law is not None and law.hash == told.law else told.law[:12]
    if not (told.refused or told.held):
        return f"Ruling {number} of law {name}: {reasons}"
    verb = "refuses this, so nothing was done" if told.refused else "holds this back for now"
    lines = [f"Law {name} {verb} (ruling {number}).", reasons]
    others = passes(law, why) if law is not None and law.hash == told.law else []
    return "\n".join([*lines, *(["It lets pass:", *others] if others else [])])


def until(us: int) -> str:
    """When something is due that is so many microseconds away.

    >>> until(2_460_000_000), until(-5)
    ('in 41 min', 'now')
    """
    seconds = max(0, us) // 1_000_000
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size * (2 if size > 60 else 1):
            return f"in {seconds // size} {name}"
    return "now"


def listing(head: str, lines: Sequence[str], left: int) -> str:
    """A list with a head, and how much of it is not shown.

    >>> print(listing("2 hosts", ["ward-3", "ward-7"], 1))
    2 hosts
    - ward-3
    - ward-7
    and 1 more
    """
    shown = [head, *(f"- {one}" for one in lines)]
    return "\n".join([*shown, f"and {left:,} more"] if left else shown)
