"""The static checks: what can be said about a law before it rules on anything.

Errors are what certainly goes wrong: names that do not exist, and values that are certainly
missing where they are needed. Everything else is a warning and stops nothing. Each finding has
a lasting code; `docs/laws/checks.md` has a section for each.

One file a family: `names` and `operations` (what exists and what form it has), `binding` (which
variables have values, and which conditions contradict each other), `clauses`, `reach`, `state`
and `traps`. `known`, `guards` and `shapes` are what they stand on. Nothing here raises on any law
that the parser gave, and nothing recurses over terms.
"""

from __future__ import annotations

from nomospace.law.checks import binding, clauses, names, operations, reach, state, traps
from nomospace.law.checks.codes import CODES, CheckInfo
from nomospace.law.checks.report import FINDINGS_MAX, CheckReport
from nomospace.law.tree import LawTree
from nomospace.terms import Diagnostic

__all__ = ["CODES", "FINDINGS_MAX", "CheckInfo", "check"]


def check(law: LawTree) -> list[Diagnostic]:
    """Everything the checks find in a law, in the order of its text.

    >>> from nomospace.law.parse import parse
    >>> from nomospace.terms import Source
    >>> law, _ = parse(Source("law(l). sent(X, M, Y) :- do(forward(X, N, Y)). arrived(_, _, _)."))
    >>> [(found.severity, found.code) for found in check(law)]
    [('error', 'unbound-variable')]
    """
    report = CheckReport(law)
    for family in (names, operations, binding, clauses, reach, state, traps):
        family.check(report)
    return report.findings()
