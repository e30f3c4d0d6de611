"""Values inside SQL: how a path of an object is compared, whichever columns it stands in.

A value may stand in one of several places (`ValuePlace`): a typed column, or the four columns of
the open remainder. Where it is missing, it stands in none. A comparison of two values is then the
disjunction over the pairs of their places. Every expression made here is TRUE or FALSE, never
NULL, so `NOT` turns it as `not` turns a predicate.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlglot import exp

from nomospace.meaning.sql.coding import EXACT, ORDERED, Coded, coded
from nomospace.terms import Term

SIGNS: Final[dict[str, type[exp.Binary]]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
"""What the signs of predicates are in SQL."""
TRUE: Final = exp.true()
FALSE: Final = exp.false()


class Params:
    """The values that a statement is given beside its text, by name.

    No value stands in the text itself: a database would read numbers in its own way.

    >>> params = Params()
    >>> params.add(5000.0).sql("sqlite"), params.values
    (':p0', {'p0': 5000.0})
    """

    def __init__(self) -> None:
        self.values: dict[str, float | str] = {}
        self._known: dict[tuple[type, float | str], str] = {}

    def add(self, value: float | str) -> exp.Placeholder:
        """A placeholder for a value; equal values share one."""
        name = self._known.setdefault((value.__class__, value), f"p{len(self._known)}")
        self.values[name] = value
        return exp.Placeholder(this=name)


class ValuePlace(NamedTuple):
    """Where a value may stand. `kind` is a letter of `coding` or, where it varies, a column."""

    kind: str | exp.Expr
    num: exp.Expr | None = None
    ext: exp.Expr | None = None
    text: exp.Expr | None = None

    def is_kind(self, kinds: str) -> exp.Expr:
        """Whether a value of one of these kinds stands here."""
        if isinstance(self.kind, str):
            return self.there if self.kind in kinds else FALSE.copy()
        letters = [exp.Literal.string(letter) for letter in kinds]
        return known(exp.In(this=self.kind.copy(), expressions=letters))

    @property
    def there(self) -> exp.Expr:
        """Whether any value stands here."""
        if not isinstance(self.kind, str):
            return _is_there(self.kind)
        column = self.num if self.kind == "n" else self.text
        assert column is not None
        return _is_there(column)

    def may_be(self, kind: str) -> bool:
        """Whether a value of a kind can stand here at all."""
        return not isinstance(self.kind, str) or self.kind == kind


Value = tuple[ValuePlace, ...]
"""The places of which at most one has the value; it is missing when none has."""


def constant(value: Term, params: Params) -> ValuePlace:
    """A value that a question names."""
    found: Coded = coded(value)
    return ValuePlace(
        found.kind,
        None if found.num is None else params.add(found.num),
        None if found.ext is None else params.add(found.ext),
        None if found.text is None else params.add(found.text),
    )


def compare(left: Value, sign: str, right: Value) -> exp.Expr:
    """Whether a comparison holds, by the rules of `terms.predicate.holds`."""
    return any_of([_pair(one, sign, other) for one in left for other in right])


def is_none(value: Value) -> exp.Expr:
    """Whether a value is there, and is none."""
    return any_of([place.is_kind("z") for place in value if place.may_be("z")])


def is_something(value: Value) -> exp.Expr:
    """Whether a value is there, and is not none."""
    tests: list[exp.Expr] = []
    for place in value:
        if isinstance(place.kind, str):
            tests.append(FALSE.copy() if place.kind == "z" else place.there)
        else:
            tests.append(known(exp.NEQ(this=place.kind.copy(), expression=exp.Literal.string("z"))))
    return any_of(tests)


def _pair(left: ValuePlace, sign: str, right: ValuePlace) -> exp.Expr:
    tests: list[exp.Expr] = []
    if left.may_be("n") and right.may_be("n") and left.num is not None and right.num is not None:
        tests.append(known(numbers(left, sign, right)))
    if left.text is not None and right.text is not None:
        tests.append(_texts(left, sign, right))
    return any_of(tests)


def numbers(left: ValuePlace, sign: str, right: ValuePlace) -> exp.Expr:
    """Two numbers by value; NULL where one is none."""
    assert left.num is not None
    assert right.num is not None
    if left.ext is None and right.ext is None:
        return SIGNS[sign](this=left.num.copy(), expression=right.num.copy())
    return pairs((left.num, _ext(left)), sign, (right.num, _ext(right)))


def pairs(left: tuple[exp.Expr, exp.Expr], sign: str, right: tuple[exp.Expr, exp.Expr]) -> exp.Expr:
    """Two numbers, each with what is left to say of it, which decides between equal ones."""
    equal = exp.EQ(this=left[0].copy(), expression=right[0].copy())
    rest = SIGNS[sign](this=left[1].copy(), expression=right[1].copy())
    if sign == "=":
        return both(equal, rest)
    strict = SIGNS[sign if sign == "!=" else sign[0]]
    first = strict(this=left[0].copy(), expression=right[0].copy())
    return exp.Paren(this=either(first, both(equal, rest)))


def _ext(place: ValuePlace) -> exp.Expr:
    if place.ext is None:
        return exp.Literal.string(EXACT)
    if isinstance(place.ext, exp.Placeholder):
        return place.ext
    return exp.Coalesce(this=place.ext.copy(), expressions=[exp.Literal.string(EXACT)])


def _texts(left: ValuePlace, sign: str, right: ValuePlace) -> exp.Expr:
    """Two values that are no numbers: of one kind, and one with an order unless it is equality."""
    assert left.text is not None
    assert right.text is not None
    test: exp.Expr = SIGNS[sign](this=left.text.copy(), expression=right.text.copy())
    fixed = [place.kind for place in (left, right) if isinstance(place.kind, str)]
    varying = [place.kind for place in (left, right) if not isinstance(place.kind, str)]
    if len(set(fixed)) > 1 or "n" in fixed:
        return FALSE.copy()
    ordered = sign not in ("=", "!=")
    if fixed:
        if ordered and fixed[0] not in ORDERED:
            return FALSE.copy()
        for kind in varying:
            test = both(test, exp.EQ(this=kind.copy(), expression=exp.Literal.string(fixed[0])))
        return known(test)
    test = both(test, exp.EQ(this=varying[0].copy(), expression=varying[1].copy()))
    if ordered:
        letters = [exp.Literal.string(kind) for kind in ORDERED]
        test = both(test, exp.In(this=varying[0].copy(), expressions=letters))
    return known(test)


def known(test: exp.Expr) -> exp.Expr:
    """A condition in which what is not known counts as false."""
    return exp.Coalesce(this=test, expressions=[FALSE.copy()])


def any_of(tests: list[exp.Expr]) -> exp.Expr:
    """Some of these hold; those that cannot are left out."""
    return _joined(exp.Or, tests, FALSE, TRUE)


def all_of(tests: list[exp.Expr]) -> exp.Expr:
    """All of these hold; those that always do are left out."""
    return _joined(exp.And, tests, TRUE, FALSE)


def both(left: exp.Expr, right: exp.Expr) -> exp.And:
    """Two conditions at once, neither copied nor looked at."""
    return exp.And(this=left, expression=right)


def either(left: exp.Expr, right: exp.Expr) -> exp.Or:
    """One of two conditions, neither copied nor looked at; the second may be a conjunction."""
    return exp.Or(this=left, expression=right)


def _joined(
    kind: type[exp.Connector], tests: list[exp.Expr], nothing: exp.Expr, decided: exp.Expr
) -> exp.Expr:
    """Conditions in a row, without those that change `nothing`; one may have `decided` it."""
    open_ = [test for test in tests if test != nothing]
    if any(test == decided for test in open_):
        return decided.copy()
    if len(open_) < 2:
        return open_[0] if open_ else nothing.copy()
    found = open_[0]
    for test in open_[1:]:
        found = kind(this=found, expression=test)
    return exp.Paren(this=found)


def _is_there(column: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
