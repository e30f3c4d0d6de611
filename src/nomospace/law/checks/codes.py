"""Every code that a fault in a law can have, from the reader, the parser and the checks.

A code lasts: tools, suppressions and the page `docs/laws/checks.md` refer to it, so it is never
given to something else.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class CheckInfo(NamedTuple):
    """What a code stands for: `error`, `warning` or `note`, of which only errors stop a run."""

    code: str
    severity: str
    title: str


_ERRORS: Final = {
    # the reader of terms and clauses
    "syntax-character": "a character that no word of the language begins with",
    "syntax-clause": "a clause without head or body",
    "syntax-comment": "a comment that is not closed",
    "syntax-depth": "brackets or operators nested too deep",
    "syntax-escape": "an unknown escape in a quoted text",
    "syntax-full-stop": "a last clause without its full stop",
    "syntax-goal": "something that is no goal where one is expected",
    "syntax-head": "a clause that begins with no name",
    "syntax-key": "a dict without a key or its colon, or with a key twice",
    "syntax-label": "a label with no rule after it",
    "syntax-list-name": "a compound with the name that lists have inside",
    "syntax-no-arguments": "empty brackets after a name",
    "syntax-number": "a number that is too long or infinite",
    "syntax-operator": "something that cannot follow a term",
    "syntax-priority": "two operators that need brackets",
    "syntax-quote": "a quoted text that is not closed",
    "syntax-sense": "sensing something that cannot be in the control state",
    "syntax-tail": "a list that ends in something else than a list",
    "syntax-term": "a term that is missing",
    "syntax-too-long": "a text that is too long to be read",
    # the parser of laws
    "goal-depth": "goals nested too deep",
    "law-too-long": "a law with too many clauses",
    "preamble-form": "a clause of the preamble in the wrong form",
    "preamble-later": "a clause of the preamble that is not supported yet",
    "preamble-twice": "a clause of the preamble that stands twice",
    "unknown-event": "a rule for an event that does not exist",
    # the checks
    "bad-counter": "incr or dcr of something that is no counter",
    "deliver-elsewhere": "delivering to another agent than the home",
    "do-inside-not": "an operation inside not or findall",
    "no-message": "a bare forward or deliver on an event without a message",
    "reserved-term": "adding or removing a term that is reserved",
    "unbound-variable": "a variable that has no value where one is needed",
    "unknown-function": "an arithmetic function that does not exist",
    "unknown-operation": "an operation that does not exist",
    "unknown-predicate": "a predicate that does not exist",
    "unknown-unit": "a unit of time that does not exist",
}
_WARNINGS: Final = {
    "bare-id": "an id without quotes",
    "builtin-redefined": "a predicate with the name of a built-in",
    "contradictory-guards": "conditions that cannot hold together",
    "deliver-on-sent": "delivering a message that was only just sent",
    "do-lost": "a predicate with operations, called inside not or findall",
    "duplicate-clause": "a clause that repeats an earlier one",
    "duplicate-label": "a label that an earlier rule has",
    "loose-conditional": "goals that slipped into the condition of a conditional",
    "never-added": "a control-state term that nothing adds",
    "never-imposed": "a rule for an obligation that nothing imposes",
    "never-sensed": "a control-state term that nothing looks at",
    "not-a-number": "arithmetic on something that is no number",
    "possibly-unbound": "a variable that may have no value where one is needed",
    "preamble-no-name": "a law without a name",
    "singleton-variable": "a variable that stands only once",
    "unaccepted-forward": "a forwarded message that no arrived rule accepts",
    "unbound-comparison": "a comparison that a variable without a value decides",
    "unbounded-recursion": "recursion that does not use up a list",
    "unevaluated-arithmetic": "arithmetic where nothing is computed",
    "unhandled-obligation": "an obligation that no rule handles",
    "unreachable-rule": "a rule behind one that always rules first",
    "unused-predicate": "a predicate that no rule calls",
}
_NOTES: Final = {
    "placeholder-key": "a key that a real host does not accept",
}

CODES: Final[dict[str, CheckInfo]] = {
    code: CheckInfo(code, severity, title)
    for severity, titles in (("error", _ERRORS), ("warning", _WARNINGS), ("note", _NOTES))
    for code, title in titles.items()
}
"""Every code with its severity and a title of one line."""
