"""Objects and plain values as JSON has them, and back.

An object is `{"class": …, "id": …, "properties": {…}}`; `id` and `properties` may be left out. A
property may hold an object of that form, or a mapping without a class, `{"amount": 5}`, into which
paths lead just as well. Other values are what JSON calls them; lists are lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

from nomospace.errors import CallerError
from nomospace.meaning.facts import Fact
from nomospace.terms.objects import has_properties
from nomospace.terms.templates import BadWidth, FormalInTuple, freeze_tuple
from nomospace.terms.text import show
from nomospace.terms.values import (
    FORMAL,
    OBJECT,
    PARTIAL,
    Compound,
    NotATerm,
    Term,
    TooLarge,
)

LINE_CHARS_MAX: Final = 4_000_000
"""The longest line of a file of tuples, in characters."""
DEPTH_MAX: Final = 100
"""How deep lists and objects may nest in a field."""
_KEYS: Final = frozenset(("class", "id", "properties"))


class BadTupleLine(CallerError):
    """A line of a file of tuples cannot be used."""

    code = "match.bad-line"
    words = (
        "{name}:{line}: {why}; a line is "
        '{{"id": "t1", "fields": [{{"class": "Car", "id": "A", "properties": {{}}}}, 17]}}'
    )
    name: str
    line: int
    why: str


class _Unfit(Exception):
    """A value is not of the form; its words say why. It never leaves this module."""


def read_facts(lines: Iterable[str], name: str) -> Iterator[Fact]:
    """Tuples from lines of JSON; empty lines are passed over.

    >>> list(read_facts(['{"id": "t1", "fields": [{"class": "Car", "id": "A"}, 17]}'], "f"))
    [Fact(id='t1', fields=(term("object('Car','A',[])"), 17))]
    >>> list(read_facts(['{"id": "t1"}'], "cars.jsonl"))
    Traceback (most recent call last):
    nomospace.meaning.jsonforms.BadTupleLine: cars.jsonl:1: it has no list `fields`; a line is \
{"id": "t1", "fields": [{"class": "Car", "id": "A", "properties": {}}, 17]}
    """
    first: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fact = _fact(line)
            if fact.id in first:
                raise _Unfit(f"the id {fact.id!r} stands in line {first[fact.id]} already")
        except _Unfit as error:
            raise BadTupleLine(name=name, line=number, why=str(error)) from None
        first[fact.id] = number
        yield fact


def _fact(line: str) -> Fact:
    if len(line) > LINE_CHARS_MAX:
        raise _Unfit(f"it is longer than {LINE_CHARS_MAX:,} characters")
    try:
        data = json.loads(line, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _Unfit(f"it is no JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise _Unfit(f"it is no JSON we can hold: {error}") from None
    if not isinstance(data, dict):
        raise _Unfit("it is no JSON object")
    identity = data.get("id")
    if not isinstance(identity, str) or not identity:
        raise _Unfit("it has no `id` that is a string")
    fields = data.get("fields")
    if not isinstance(fields, list):
        raise _Unfit("it has no list `fields`")
    if extra := [key for key in data if key not in ("id", "fields")]:
        raise _Unfit(f"it has a key {extra[0]!r} that means nothing")
    terms = []
    for at, field in enumerate(fields):
        if isinstance(field, dict) and "class" in field and not _is_object(field):
            raise _Unfit(f"field {at} is no object: it has class, perhaps id and properties")
        terms.append(term_of(field))
    try:
        return Fact(identity, freeze_tuple(terms))
    except (BadWidth, FormalInTuple, NotATerm, TooLarge) as error:
        raise _Unfit(str(error)) from None


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Unfit("it has a key twice")
    return made


def _constant(word: str) -> NoReturn:
    raise _Unfit(f"{word} is no number")


def _is_object(data: dict[str, object]) -> bool:
    return (
        isinstance(data.get("class"), str)
        and bool(data["class"])
        and data.keys() <= _KEYS
        and isinstance(data.get("properties", {}), dict)
    )


def term_of(data: object, depth: int = DEPTH_MAX) -> Term:
    """A value of JSON as a term.

    >>> term_of({"class": "Car", "id": "A", "properties": {"price": {"amount": 5}}})
    term("object('Car','A',[price({amount:5})])")
    """
    if depth == 0:
        raise _Unfit(f"it nests over {DEPTH_MAX} deep")
    if isinstance(data, list):
        return tuple([term_of(item, depth - 1) for item in data])
    if not isinstance(data, dict):
        assert data is None or isinstance(data, str | int | float), "JSON has nothing else"
        return data
    class_name, identity, properties = None, None, data
    if _is_object(data):
        class_name, properties = data["class"], data.get("properties", {})
        identity = term_of(data.get("id"), depth - 1)
    if "" in properties:
        raise _Unfit("a property has an empty name")
    if FORMAL in properties or PARTIAL in properties:
        raise _Unfit("`formal` and `[|]` name no property")
    listed = [
        Compound(name, (term_of(properties[name], depth - 1),)) for name in sorted(properties)
    ]
    return Compound(OBJECT, (class_name, identity, tuple(listed)))


def json_of(term: Term) -> object:
    """A term as JSON; what JSON does not know, as its text.

    >>> json_of(term_of({"class": "Car", "id": "A", "properties": {"price": {"amount": 5}}}))
    {'class': 'Car', 'id': 'A', 'properties': {'price': {'amount': 5}}}
    """
    if has_properties(term):
        class_name, identity, listed = term.args
        properties = {item.name: json_of(item.args[0]) for item in listed if type(item) is Compound}
        if not class_name:
            return properties
        return {"class": class_name, "id": json_of(identity), "properties": properties}
    if type(term) is tuple:
        return [json_of(item) for item in term]
    return show(term) if type(term) is Compound or type(term) is bytes else term
