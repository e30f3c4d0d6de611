"""Templates as SQL for PostgreSQL.

A tuple has its fields twice more beside its body: as keys (`store.keys`) in `f0` to `f3`, which are
indexed, and whole as JSON in `doc`, which a template is decided on:

| term | in `doc` |
| --- | --- |
| none, boolean, string | as it is |
| integer | a number |
| float | `{"d": number}`, the number exact, so that floats and integers compare as they should |
| bytes | `{"y": hexadecimal digits}` |
| list | an array |
| compound | `{"f": name, "a": [arguments]}` |

All of a template is said in SQL over `doc`: actuals, typed formals, ranges, `same(…)`, patterns
inside compounds and lists, classes and predicates. Every expression is true or false and raises
nothing, in whichever order the database looks at its parts.

JSON of PostgreSQL cannot hold the character U+0000, nor terms deeper than Python's own encoder
goes. Tuples with these have no `doc`; the database narrows them by their keys, and
`Template.matches` decides.
"""

from __future__ import annotations

import json
from typing import Any, Final

from nomospace.store.keys import functor_ranges, key
from nomospace.store.schema import COLUMNS
from nomospace.terms import Compound, Template, Term
from nomospace.terms.dicts import dict_items
from nomospace.terms.formals import (
    KINDS,
    Formal,
    bounded_classes,
    has_holes,
    is_formal,
    read_formal,
)
from nomospace.terms.predicate import (
    Among,
    Compare,
    Every,
    Literal,
    Negated,
    Path,
    Predicate,
    Some,
    holds,
)
from nomospace.terms.predicate import parse as parse_predicate
from nomospace.terms.values import ATOMIC, OBJECT

_EXACT: Final = 2**53
"""From here on, floats are whole numbers; below, their shortest text compares as they do."""
_PADDING: Final = (None,) * COLUMNS
_IS: Final[dict[type, str]] = {
    int: "coalesce(jsonb_typeof({0}) = 'number', FALSE)",
    float: "coalesce(jsonb_typeof({0}) = 'object' AND jsonb_exists({0}, 'd'), FALSE)",
    str: "coalesce(jsonb_typeof({0}) = 'string', FALSE)",
    bool: "coalesce(jsonb_typeof({0}) = 'boolean', FALSE)",
    bytes: "coalesce(jsonb_typeof({0}) = 'object' AND jsonb_exists({0}, 'y'), FALSE)",
    tuple: "coalesce(jsonb_typeof({0}) = 'array', FALSE)",
    Compound: "coalesce(jsonb_typeof({0}) = 'object' AND jsonb_exists({0}, 'f'), FALSE)",
}
"""Whether a value is of a kind; false for one that is missing."""
_NUMBER: Final = (
    "CASE jsonb_typeof({0}) WHEN 'number' THEN ({0})::numeric"
    " WHEN 'object' THEN ({0} ->> 'd')::numeric END"
)
_TEXT: Final = "CASE jsonb_typeof({0}) WHEN 'string' THEN ({0} #>> '{{}}') COLLATE \"C\" END"
_HEX: Final = "CASE jsonb_typeof({0}) WHEN 'object' THEN ({0} ->> 'y') COLLATE \"C\" END"
_PROPERTY: Final = (
    "(SELECT e -> 'a' -> 0 FROM (SELECT {0} AS v) AS o,"
    " jsonb_array_elements(CASE WHEN {1} THEN v -> 'a' -> 2 ELSE '[]'::jsonb END)"
    " WITH ORDINALITY AS p(e, at) WHERE {2} ORDER BY at LIMIT 1)"
)
_SIGNS: Final = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def columns(fields: tuple[Term, ...]) -> tuple[Any, ...]:
    """What a tuple is found by: the keys of its first fields, and all of it as JSON.

    >>> columns(("job", 1.5))
    (b's\\xa3job', b'd\\xcb?\\xf8\\x00\\x00\\x00\\x00\\x00\\x00', None, None, '["job",{"d":1.5}]')
    """
    keys = [key(field) for field in fields[:COLUMNS]]
    return (*keys, *_PADDING[len(keys) :], document(fields))


def document(fields: Term) -> str | None:
    """A term as JSON, or `None` where it cannot be."""
    try:
        text = json.dumps(_plain(fields), ensure_ascii=True, separators=(",", ":"))
    except RecursionError:
        return None
    return None if "\\u0000" in text else text


def _plain(term: Term) -> Any:
    kind = term.__class__
    if kind is float:
        return {"d": int(term) if abs(term) >= _EXACT else term}
    if kind is bytes:
        return {"y": term.hex()}
    if kind is tuple:
        return [_plain(part) for part in term]
    if kind is Compound:
        return {"f": term.name, "a": [_plain(part) for part in term.args]}
    return term


class Question:
    """A template as a condition on rows of `tuples`, with its parameters in order.

    >>> asked = Question(Template.of(["job", int]))
    >>> asked.sql
    "arity = %s AND f0 = %s AND (doc IS NULL OR ((coalesce(jsonb_typeof((doc -> 1)) = 'number', \
FALSE))))"
    >>> asked.params
    [2, b's\\xa3job']
    """

    def __init__(self, template: Template) -> None:
        if template.meant:  # width and order do not count; Python decides
            self.params: list[Any] = []
            self.sql = "TRUE"
            return
        self.params = [template.arity]
        parts = ["arity = %s"]
        for pos, pattern in enumerate(template.term[:COLUMNS]):
            parts += self._key(f"f{pos}", pattern)
        self._alike: dict[str, list[str]] = {}
        tests = []
        for pos, pattern in enumerate(template.term):
            if pos < COLUMNS and not is_formal(pattern) and not has_holes(pattern):
                continue  # its key has said it
            tests.append(self._fits(pattern, f"(doc -> {pos})"))
        for first, *others in self._alike.values():
            tests += [f"coalesce({first} = {other}, FALSE)" for other in others]
        tests = [test for test in tests if test != "TRUE"]
        if tests:
            parts.append(f"(doc IS NULL OR ({' AND '.join(tests)}))")
        self.sql = " AND ".join(parts)

    def _param(self, value: Any) -> str:
        self.params.append(value)
        return "%s"

    def _key(self, column: str, pattern: Term) -> list[str]:
        """What an index can tell of a field."""
        if is_formal(pattern):
            return []
        if pattern.__class__ in ATOMIC or not has_holes(pattern):
            return [f"{column} = {self._param(key(pattern))}"]
        is_list = pattern.__class__ is tuple
        name, parts = (None, pattern) if is_list else (pattern.name, pattern.args)
        sides = [
            f"{column} >= {self._param(first)} AND {column} < {self._param(after)}"
            for first, after in functor_ranges(name, len(parts))
        ]
        return [f"({' OR '.join(sides)})"]

    def _fits(self, pattern: Term, x: str) -> str:
        """Whether a value, given as an expression, is what a pattern asks for."""
        if is_formal(pattern):
            return self._formal(read_formal(pattern), x)
        if pattern.__class__ in ATOMIC or not has_holes(pattern):
            return self._equal(pattern, x)
        if pattern.__class__ is tuple:
            return self._parts(pattern, x, [])
        if dict_items(pattern) is not None:
            return "TRUE"  # looked at again by whoever asked
        if "\0" in pattern.name:  # no `doc` holds it
            return "FALSE"
        named = f"coalesce({x} ->> 'f' = {self._param(pattern.name)}::text, FALSE)"
        return self._parts(pattern.args, f"({x} -> 'a')", [_IS[Compound].format(x), named])

    def _parts(self, parts: tuple[Term, ...], x: str, tests: list[str]) -> str:
        tests.append(
            f"CASE WHEN {_IS[tuple].format(x)} THEN jsonb_array_length({x}) = {len(parts)}"
            " ELSE FALSE END"
        )
        tests += [self._fits(part, f"({x} -> {i})") for i, part in enumerate(parts)]
        return f"({' AND '.join(tests)})"

    def _equal(self, value: Term, x: str) -> str:
        text = document(value)
        if text is None:  # no `doc` holds it
            return "FALSE"
        return f"coalesce({x} = {self._param(text)}::jsonb, FALSE)"

    def _formal(self, formal: Formal, x: str) -> str:
        if formal.class_name is not None:
            test = f"{_is_object(x)} AND {self._equal(formal.class_name, f'({x} -> {_A} -> 0)')}"
            if formal.predicate is not None:
                tree = parse_predicate(formal.predicate, field=False)
                test += f" AND {self._holds(tree, x)}"
            return f"({test})"
        classes = KINDS[formal.kind]
        if formal.bounds is not None:
            return self._between(x, formal.bounds, classes)
        tests = []
        if classes:
            tests.append(" OR ".join(_IS[kind].format(x) for kind in classes))
        if formal.predicate is not None:
            tests.append(self._holds(parse_predicate(formal.predicate, field=True), x))
        if formal.same is not None:
            self._alike.setdefault(formal.same, []).append(x)
        return " AND ".join(f"({test})" for test in tests) if tests else "TRUE"

    def _between(self, x: str, bounds: tuple[Any, Any], classes: tuple[type, ...]) -> str:
        low, high = bounds
        both = [kind for kind in bounded_classes(low) if not classes or kind in classes]
        if not both:
            return "FALSE"
        test = " OR ".join(_IS[kind].format(x) for kind in both)
        value = (_TEXT if str in both else _NUMBER).format(x)
        sides = [
            f"coalesce(({value}) {sign} {self._bound(end)}, FALSE)"
            for sign, end in (_without_nul(">=", low), _without_nul("<=", high))
        ]
        return f"(({test}) AND {' AND '.join(sides)})"

    def _bound(self, value: Any) -> str:
        """A number or a string to compare with, by value or by code points."""
        if value.__class__ is str:
            return f"{self._param(value)}::text"
        exact = int(value) if value.__class__ is float and abs(value) >= _EXACT else value
        return f"{self._param(repr(exact))}::numeric"

    # -- predicates ----------------------------------------------------------------------------

    def _holds(self, node: Predicate, x: str) -> str:
        match node:
            case Compare(left, sign, right):
                return self._compares(left, sign, right, x)
            case Among(left, values):
                tests = [self._compares(left, "=", Literal(value), x) for value in values]
                return f"({' OR '.join(tests)})"
            case Every(parts):
                return f"({' AND '.join(self._holds(part, x) for part in parts)})"
            case Some(parts):
                return f"({' OR '.join(self._holds(part, x) for part in parts)})"
            case Negated(part):
                return f"(NOT {self._holds(part, x)})"

    def _compares(self, left: Path | Literal, sign: str, right: Path | Literal, x: str) -> str:
        if isinstance(left, Literal):
            if isinstance(right, Literal):
                return "TRUE" if _holds_of(left.value, sign, right.value) else "FALSE"
            left, sign, right = right, _TURNED[sign], left
        if isinstance(right, Literal):
            if right.value is None and sign == "!=":  # `null` compares with every kind
                return f"coalesce(jsonb_typeof({self._operand(left, x)}) <> 'null', FALSE)"
            if right.value.__class__ is str and "\0" in right.value:
                if sign == "=":
                    return "FALSE"
                if sign == "!=":
                    found = f"SELECT {self._operand(left, x)} AS v"
                    return f"(SELECT {_IS[str].format('v')} FROM ({found}) AS o)"
                sign, value = _without_nul(sign, right.value)
                right = Literal(value)
        sides = f"SELECT {self._operand(left, x)} AS l, {self._operand(right, x)} AS r"
        sql = _SIGNS[sign]
        cases = []
        for kinds, value in (((int, float), _NUMBER), ((str,), _TEXT), ((bytes,), _HEX)):
            of_kind = " AND ".join(
                "(" + " OR ".join(_IS[kind].format(side) for kind in kinds) + ")" for side in "lr"
            )
            cases.append(f"WHEN {of_kind} THEN ({value.format('l')}) {sql} ({value.format('r')})")
        if sign in ("=", "!="):
            alike = "jsonb_typeof(l) = jsonb_typeof(r)"
            for kind in (float, bytes):  # objects that are no compounds
                alike += f" AND NOT {_IS[kind].format('l')} AND NOT {_IS[kind].format('r')}"
            cases.append(f"WHEN {alike} THEN l {sql} r")
        return (
            f"(SELECT coalesce(CASE WHEN l IS NULL OR r IS NULL THEN FALSE {' '.join(cases)}"
            f" ELSE FALSE END, FALSE) FROM ({sides}) AS sides)"
        )

    def _operand(self, operand: Path | Literal, x: str) -> str:
        if isinstance(operand, Literal):
            text = document(operand.value)
            return "NULL::jsonb" if text is None else f"{self._param(text)}::jsonb"
        for name in operand.names:
            test = (
                f"{_IS[Compound].format('e')} AND coalesce(e ->> 'f' = %s::text, FALSE)"
                f" AND jsonb_array_length(e -> 'a') = 1"
            )
            x = _PROPERTY.format(x, _is_object("v"), test)
            self.params.append(name)
        return x


_A: Final = "'a'"
_TURNED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _holds_of(left: Any, sign: str, right: Any) -> bool:
    """A comparison of two literals, which needs no database."""
    if sign == "!=" and (left is None or right is None):
        return left is not right
    return holds(left, sign, right)


def _without_nul(sign: str, end: Any) -> tuple[str, Any]:
    """A bound without U+0000 that says the same of all strings that have none.

    Of these, exactly those up to `a` are below `a\\0…`, whatever follows.

    >>> _without_nul(">=", "a\\0b"), _without_nul("<", "a\\0b"), _without_nul("<", "a")
    (('>', 'a'), ('<=', 'a'), ('<', 'a'))
    """
    if end.__class__ is str and "\0" in end:
        return (">" if sign in (">", ">=") else "<="), end.partition("\0")[0]
    return sign, end


def _is_object(x: str) -> str:
    """Whether a value has an object's functor, a class and a list."""
    args = f"({x} -> 'a')"
    tests = [
        _IS[Compound].format(x),
        f"coalesce({x} ->> 'f' = '{OBJECT}', FALSE)",
        f"CASE WHEN {_IS[tuple].format(args)} THEN jsonb_array_length({args}) = 3 ELSE FALSE END",
        f"({_IS[str].format(f'({args} -> 0)')} OR ({args} -> 0) = 'null')",
        _IS[tuple].format(f"({args} -> 2)"),
    ]
    return f"({' AND '.join(tests)})"
