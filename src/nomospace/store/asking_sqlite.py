"""Templates as SQL for SQLite.

A column of SQLite holds a value of any type, so most fields stand in `f0` to `f3` as they are:
short strings, floats, and integers of 64 bits. All others stand there as their keys (`store.keys`)
in blobs. SQLite compares numbers of both types by value and exactly, strings by code points; both
is what templates mean. So actuals, typed formals, ranges and `same(…)` are said in SQL.

What SQL cannot say is left to the function `fits`, which the store registers: patterns inside
compounds and lists, predicates, classes, fields after the fourth, and ranges where the field is a
huge integer or a long string. SQL narrows by functor and range before it is called.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.store.keys import functor_ranges, key, kind_ranges
from nomospace.store.schema import COLUMNS
from nomospace.terms import Template, Term
from nomospace.terms.formals import (
    KINDS,
    Formal,
    bounded_classes,
    has_holes,
    is_formal,
    read_formal,
)
from nomospace.terms.values import ATOMIC, OBJECT

TEXT_CHARS_MAX: Final = 64
"""The longest string that stands in a column as it is."""
_INT64: Final = range(-(2**63), 2**63)
_NATIVE: Final = {int: "typeof({0}) = 'integer'", float: "typeof({0}) = 'real'"}
_PADDING: Final = (None,) * COLUMNS


def columns(fields: tuple[Term, ...]) -> tuple[Any, ...]:
    """What the first fields of a tuple are found by.

    >>> columns(("job", 17, True))
    ('job', 17, b'b\\xc3', None)
    """
    found = []
    for field in fields[:COLUMNS]:
        kind = field.__class__
        if kind is str:
            found.append(field if len(field) <= TEXT_CHARS_MAX else key(field))
        elif kind is int:
            found.append(field if field in _INT64 else key(field))
        else:
            found.append(field if kind is float else key(field))
    return (*found, *_PADDING[len(found) :])


class Condition:
    """What must hold of a row: parts that are all necessary, and when they are not enough."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.params: list[Any] = []
        self.unsure: list[str] = []
        """Conditions under which only `fits` can tell; `TRUE` where it always must."""

    def need(self, sql: str, *params: Any) -> None:
        """One more part."""
        self.parts.append(sql)
        self.params.extend(params)

    @property
    def sql(self) -> str:
        """All of it, with `fits` only where it is needed."""
        parts = list(self.parts)
        if "TRUE" in self.unsure:
            parts.append("fits(body)")
        elif self.unsure:
            parts.append(f"(NOT ({' OR '.join(self.unsure)}) OR fits(body))")
        return " AND ".join(parts)


def condition(space: str, template: Template) -> Condition:
    """The rows of `tuples` that a template asks for.

    >>> asked = condition("jobs", Template.of(["job", int]))
    >>> asked.sql, asked.params
    ("space = ? AND arity = ? AND f0 = ? AND (typeof(f1) = 'integer' OR f1 >= x'69' AND f1 < \
x'6a' OR f1 >= x'49' AND f1 < x'4a')", ['jobs', 2, 'job'])
    """
    found = Condition()
    found.need("space = ?", space)
    if template.meant:  # width and order do not count
        found.unsure.append("TRUE")
        return found
    found.need("arity = ?", template.arity)
    alike: dict[str, list[int]] = {}
    for pos, pattern in enumerate(template.term):
        if pos >= COLUMNS:
            if not (is_formal(pattern) and read_formal(pattern) == Formal("any")):
                found.unsure.append("TRUE")
        elif is_formal(pattern):
            _formal(found, f"f{pos}", read_formal(pattern), pos, alike)
        elif pattern.__class__ in ATOMIC or not has_holes(pattern):
            _actual(found, f"f{pos}", pattern)
        else:
            is_list = pattern.__class__ is tuple
            name, parts = (None, pattern) if is_list else (pattern.name, pattern.args)
            found.need(_within(f"f{pos}", functor_ranges(name, len(parts))))
            found.unsure.append("TRUE")
    for first, *others in alike.values():
        for other in others:
            found.need(f"f{first} = f{other} AND typeof(f{first}) = typeof(f{other})")
    for pos, low, high in template.ranges:
        if pos < COLUMNS and read_formal(template.term[pos]).bounds is None:
            _narrow(found, f"f{pos}", low, high)
    return found


def _actual(found: Condition, column: str, value: Term) -> None:
    stored = columns((value,))[0]
    found.need(f"{column} = ?", stored)
    if stored.__class__ in _NATIVE:
        found.need(_NATIVE[stored.__class__].format(column))


def _formal(
    found: Condition, column: str, formal: Formal, pos: int, alike: dict[str, list[int]]
) -> None:
    if formal.class_name is not None:
        found.need(_within(column, functor_ranges(OBJECT, 3)))
        found.unsure.append("TRUE")
        return
    classes = KINDS[formal.kind]
    if formal.bounds is not None:
        low, high = formal.bounds
        both = [kind for kind in bounded_classes(low) if not classes or kind in classes]
        found.need(_of_kinds(column, both))
        if _narrow(found, column, low, high):
            found.unsure.append(f"typeof({column}) = 'blob'")
        else:
            found.unsure.append("TRUE")
        return
    if classes:
        found.need(_of_kinds(column, classes))
    if formal.same is not None:
        alike.setdefault(formal.same, []).append(pos)
    if formal.predicate is not None:
        found.unsure.append("TRUE")


def _of_kinds(column: str, kinds: Any) -> str:
    tests = []
    for kind in kinds:
        if kind in _NATIVE:
            tests.append(_NATIVE[kind].format(column))
        elif kind is str:
            tests.append(f"typeof({column}) = 'text'")
        if kind is not float:
            tests.append(_within(column, kind_ranges(kind))[1:-1])
    return f"({' OR '.join(tests)})" if tests else "FALSE"


def _narrow(found: Condition, column: str, low: Term, high: Term) -> bool:
    """Necessary bounds of a field that stands as it is; whether that was possible."""
    ends = [end for end in (low, high) if end is not None]
    if any(columns((end,))[0].__class__ is bytes for end in ends):
        return False
    sides = []
    params = []
    for sign, end in ((">=", low), ("<=", high)):
        if end is not None:
            sides.append(f"{column} {sign} ?")
            params.append(end)
    found.need(f"({' AND '.join(sides)} OR typeof({column}) = 'blob')", *params)
    return True


def _within(column: str, ranges: tuple[tuple[bytes, bytes], ...]) -> str:
    tests = [
        f"{column} >= x'{first.hex()}' AND {column} < x'{after.hex()}'" for first, after in ranges
    ]
    return f"({' OR '.join(tests)})"
