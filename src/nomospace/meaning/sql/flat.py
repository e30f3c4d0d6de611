"""Values in four columns that are never NULL: what sources hand on, and functions compute.

Where `values` leaves a value in the column that has it, here it stands in one set of columns,
whichever place it came from: `kind` is empty where there is no value, `num` is 0 and `text` empty
where the kind has none, `ext` is `EXACT` where there is nothing to say. So equality is that of the
four columns, which every database can join by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlglot import exp

from nomospace.meaning.sql import parts
from nomospace.meaning.sql.coding import EXACT, ORDERED, coded
from nomospace.meaning.sql.values import SIGNS, Params, ValuePlace, all_of, any_of, pairs
from nomospace.terms import Term

PARTS: Final = ("kind", "num", "ext", "text")
"""The columns of a value."""
MISSING_KIND: Final = ""


class Flat(NamedTuple):
    """A value as expressions for its four columns."""

    kind: exp.Expr
    num: exp.Expr
    ext: exp.Expr
    text: exp.Expr

    @classmethod
    def at(cls, prefix: str) -> Flat:
        """The value in the columns with a prefix."""
        return cls(*(parts.column(f"{prefix}_{part}") for part in PARTS))

    def columns(self, prefix: str) -> list[exp.Alias]:
        """The four columns, with a prefix to their names."""
        return [
            parts.named(value.copy(), f"{prefix}_{part}")
            for part, value in zip(PARTS, self, strict=True)
        ]

    @property
    def there(self) -> exp.Expr:
        """Whether there is a value."""
        return exp.NEQ(this=self.kind.copy(), expression=string(MISSING_KIND))

    def is_kind(self, letter: str) -> exp.Expr:
        """Whether it is a value of a kind."""
        return exp.EQ(this=self.kind.copy(), expression=string(letter))

    @property
    def place(self) -> ValuePlace:
        """The value for predicates, which expect NULL where there is none."""
        absent = exp.Nullif(this=self.kind.copy(), expression=string(MISSING_KIND))
        number = parts.case(self.is_kind("n"), self.num.copy())
        text = parts.case(self.is_kind("n"), exp.Null(), self.text.copy())
        return ValuePlace(absent, number, self.ext.copy(), text)


def constant(value: Term, params: Params) -> Flat:
    """A value that a question or an ontology names."""
    found = coded(value)
    return Flat(
        string(found.kind),
        params.add(found.num or 0.0),
        string(EXACT) if found.ext is None else params.add(found.ext),
        string("") if found.text is None else params.add(found.text),
    )


def nothing() -> Flat:
    """No value."""
    return Flat(string(MISSING_KIND), zero(), string(EXACT), string(""))


def chosen(cases: Sequence[tuple[exp.Expr, Flat]], otherwise: Flat) -> Flat:
    """The value beside the first condition that holds."""
    made: list[exp.Expr] = []
    for part in range(len(PARTS)):
        ifs = [exp.If(this=test.copy(), true=value[part].copy()) for test, value in cases]
        made.append(exp.Case(ifs=ifs, default=otherwise[part].copy()))
    return Flat(*made)


def compare(left: Flat, sign: str, right: Flat) -> exp.Expr:
    """Whether a comparison holds (`terms.predicate.holds`); equality is one of columns."""
    alike = exp.EQ(this=left.kind.copy(), expression=right.kind.copy())
    if sign == "=" and left == right:
        return left.there
    if sign == "=":
        tests = [
            exp.EQ(this=one.copy(), expression=other.copy())
            for one, other in zip(left[1:], right[1:], strict=True)
        ]
        return all_of([alike, left.there, *tests])
    number = left.is_kind("n")
    kind = left.kind.copy()
    if sign == "!=":
        nothing_else = exp.In(this=kind, expressions=[string("n"), string(MISSING_KIND)])
        other: exp.Expr = exp.Not(this=nothing_else)
    else:
        other = exp.In(this=kind, expressions=[string(letter) for letter in ORDERED])
    return all_of(
        [
            alike,
            any_of(
                [
                    all_of([number, numbers(left, sign, right)]),
                    all_of([other, texts(left, sign, right)]),
                ]
            ),
        ]
    )


def numbers(left: Flat, sign: str, right: Flat) -> exp.Expr:
    """Whether a comparison of two numbers holds."""
    return pairs((left.num, left.ext), sign, (right.num, right.ext))


def texts(left: Flat, sign: str, right: Flat) -> exp.Expr:
    """Whether a comparison of two texts holds."""
    return SIGNS[sign](this=left.text.copy(), expression=right.text.copy())


def flattened(value: Sequence[ValuePlace]) -> Flat:
    """A value in one set of columns, whichever of its places it stands in."""
    kinds: list[exp.Expr] = []
    columns: dict[str, list[exp.Expr]] = {"num": [], "ext": [], "text": []}
    for place in value:
        if isinstance(place.kind, str):
            kinds.append(parts.case(place.there, string(place.kind)))
        else:
            kinds.append(place.kind.copy())
        for part, found in columns.items():
            column = getattr(place, part)
            if column is not None:
                found.append(column.copy())
    return Flat(
        _filled(kinds, string(MISSING_KIND)),
        _filled(columns["num"], zero()),
        _filled(columns["ext"], string(EXACT)),
        _filled(columns["text"], string("")),
    )


def _filled(columns: list[exp.Expr], otherwise: exp.Expr) -> exp.Expr:
    if not columns:
        return otherwise
    return exp.Coalesce(this=columns[0], expressions=[*columns[1:], otherwise])


def string(text: str) -> exp.Literal:
    """A text that we write ourselves."""
    return exp.Literal(this=text, is_string=True)


def zero() -> exp.Literal:
    """A double; a bare 0 would be a whole number to some."""
    return double(0.0)


def double(value: float) -> exp.Literal:
    """A number that we write ourselves; without an exponent it would be a decimal to some."""
    text = repr(value)
    return exp.Literal(this=text if "e" in text else f"{text}e0", is_string=False)
