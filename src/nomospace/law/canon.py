"""The canonical form of a law, and the hash that names it everywhere.

One clause a line: the preamble in a fixed order, the event rules in the order of the text, then
the helper predicates by name and arity, each with its clauses in order. Where helpers stand
among the rules means nothing, and neither does the order of authorities; what is not said is
written out (`disclose(rules)`, an empty `initialCS`). Terms print as `terms.show` prints them,
variables by name. So layout, comments, needless quotes and brackets, `|` for `;`, `\\+` for
`not` and `clock(T)@CS` for `clock(T)` leave a hash as it is, and nothing else does. The language
a law is written in does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from nomospace.law.render import show_clause
from nomospace.law.tree import LawTree
from nomospace.terms import Compound, Term, show


def law_hash(law: LawTree) -> str:
    """SHA-256 over the canonical form, in hex: the name that controllers compare.

    >>> from nomospace.law.parse import parse
    >>> from nomospace.terms import Source
    >>> one, _ = parse(Source("law(l). sent(X,M,Y) :- do(forward)."))
    >>> other, _ = parse(Source("law('l').  % the same\\n\\nsent(X, M, Y) :-\\n    do(forward)."))
    >>> law_hash(one) == law_hash(other)
    True
    """
    return sha256(canonical(law).encode()).hexdigest()


def canonical(law: LawTree) -> str:
    """The canonical text of a law.

    It is itself a law with the same canonical text, unless a label is a name that only Python
    allows there.

    >>> from nomospace.law.parse import parse
    >>> from nomospace.terms import Source
    >>> law, _ = parse(Source("law(l). R1. sent(X, 'm', Y) :- ok(Y), do(forward). ok(b)."))
    >>> print(canonical(law), end="")
    law(l).
    initialCS([]).
    disclose(rules).
    R1. sent(X,m,Y):-ok(Y),do(forward).
    ok(b).
    """
    lines = [show(clause) + "." for clause in preamble_clauses(law)]
    lines += [show_clause(rule) for rule in law.rules]
    for key in sorted(law.helpers):
        lines += [show_clause(clause) for clause in law.helpers[key]]
    return "\n".join(lines) + "\n"


def preamble_clauses(law: LawTree) -> Iterator[Term]:
    """The clauses of the preamble in their fixed order, with what is not said written out."""
    yield Compound("law", (law.name,))
    for authority in sorted(law.authorities, key=lambda a: a.name):
        yield Compound("authority", (authority.name, authority.key))
    if law.controller_authority is not None:
        yield Compound("cAuthority", (law.controller_authority,))
    yield Compound("initialCS", (law.initial,))
    if law.clear_messages:
        yield "clearMessages"
    yield Compound("disclose", (law.disclose,))
