"""Terms as JSON, and back.

| JSON | as a field | as a pattern |
| --- | --- | --- |
| `17`, `2.5`, `true`, `null`, `"fire"` | that value | the same value |
| `[1, 2]` | a list | a list, whose parts are patterns |
| `{"term": "room(3)"}` | any term, in the text of laws | the same |
| `{"n": 1, "status": "open"}` | a dict | a dict with at least these keys; values are patterns |
| `{"class": "Car", "id": "c1", "properties": {"price": 5}}` | an object | the same |
| `{"pattern": "_:int"}` | | a term with holes (`nomospace.terms.written`) |

What comes out reads the same as what goes in: compounds and bytes are `{"term": …}`. A dict that
would be read as one of the other forms is `{"dict": {"term": "winter"}}`, in and out.

What people type into one box: the fields of a tuple or of a template, with commas between.

Each field is read as the command line reads its arguments (`terms.written`), and whatever is wrong
is said in the same words. The caret points into the whole text, so that a page can draw it under
the very characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.errors import CallerError
from nomospace.terms import Compound, Term, freeze, show
from nomospace.terms.freezing import named_parts
from nomospace.terms.objects import is_object
from nomospace.terms.source import Faulty, Source
from nomospace.terms.values import OBJECT, Atomic, dict_items
from nomospace.terms.written import read_fields, read_patterns

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

DEPTH_MAX: Final = 100
"""How deep lists and objects may nest."""
_OBJECT_KEYS: Final = ("class", "id", "properties")
_RESERVED: Final = (["term"], ["pattern"], ["dict"])
TEXT_MAX: Final = 100_000
"""The longest text of a term, in characters."""
PARTS_MAX: Final = 6_000
"""What one tuple, template or message may have: all others wait while it is read, about 2 µs for
each. A plain value is one; other things count as `_PARTS` says."""
_PARTS: Final = {"list": 3, "dict": 6, "key": 3, "huge": 4, "word": 6}
WORDS_MAX: Final = PARTS_MAX // _PARTS["word"]
"""Words and signs in the texts of terms of one tuple, template or message. A text in quotes is one
of them, and so are eight blanks or more."""
SMALL: Final = 4_096
"""What is so small is written at once: characters, and 16 for each part."""
_CHARS: Final = 32
"""Characters of a text of a term that are a part. An escape, which has two, is `_ESCAPE` more."""
_ESCAPE: Final = 8
_BITS: Final = 256
"""Bits of a huge integer that are one more part."""
_HUGE: Final = 64
"""An integer of more bits is no plain value."""
_WORD: Final = re.compile(
    r"""'(?:[^'\\]++|\\.|'')*+'?|"(?:[^"\\]++|\\.|"")*+"?|\w+|[^\w\s]|\s{8,}+""", re.DOTALL
)


class BadField(CallerError):
    """A value of JSON that is no field of a tuple."""

    code = "api.bad-field"
    words = (
        "{where} {why}; give a plain value, a list, a dict, "
        '{{"term": "room(3)"}}, {{"class": "Car"}}, or in a template {{"pattern": "_:int"}}'
    )
    where: str
    why: str


def fields_of(data: Sequence[object], what: str = "field") -> tuple[Term, ...]:
    """The fields of a tuple; raises `BadField`, or `Faulty` for a text with a slip.

    >>> fields_of(["job", 17, {"term": "room(3)"}])
    ('job', 17, term('room(3)'))
    >>> fields_of([{"n": 3}, {"dict": {"term": "winter"}}])
    (term('{n:3}'), term('{term:winter}'))
    >>> fields_of([{"class": "Car", "propertes": {}}])
    Traceback (most recent call last):
    nomospace.api.forms.BadField: field 1 has a key 'propertes' beside its class ...
    """
    parts = [0]
    return tuple([_term(one, f"{what} {at}", False, parts) for at, one in enumerate(data, 1)])


def template_of(data: Sequence[object]) -> tuple[Term, ...]:
    """The patterns of a template.

    >>> template_of(["job", {"pattern": "_:int"}])
    ('job', term('formal(int)'))
    """
    parts = [0]
    return tuple([_term(one, f"pattern {at}", True, parts) for at, one in enumerate(data, 1)])


def message_of(data: object) -> Term:
    """A message: like a field, but a string is the text of a term, as in `Membership.send`.

    >>> message_of("publish(alarm(fire))")
    term('publish(alarm(fire))')
    """
    message = {"term": data} if isinstance(data, str) else data
    return freeze(_term(message, "the message", False, [0]))


def words_in(text: str) -> int:
    """How many words and signs a text has; of many, more than `WORDS_MAX`.

    >>> words_in("room(3, 'it''s, so')"), words_in(50_000 * "1,")
    (6, 1001)
    """
    return sum(1 for _ in islice(_WORD.finditer(text), WORDS_MAX + 1))


def _count(parts: list[int], more: int, where: str) -> None:
    parts[0] += more
    if parts[0] > PARTS_MAX:
        told = ", ".join([f"a {name} as {count}" for name, count in _PARTS.items()])
        more_told = f"{told}, and {_CHARS} characters of a text as one"
        why = f"has more parts than {PARTS_MAX:,}, which are read at once, counting {more_told}"
        raise BadField(where=where, why=why)


def _term(data: Any, where: str, holes: bool, parts: list[int], depth: int = DEPTH_MAX) -> Term:
    """A value as a term that is yet to be frozen: once, as a whole, by whoever is given it.

    `parts` are those of the tuple so far.
    """
    if depth == 0:
        raise BadField(where=where, why=f"nests over {DEPTH_MAX} deep")
    if isinstance(data, list):
        _count(parts, _PARTS["list"], where)
        return tuple([_term(one, where, holes, parts, depth - 1) for one in data])
    if not isinstance(data, dict):
        bits = data.bit_length() if type(data) is int else 0
        _count(parts, _PARTS["huge"] + bits // _BITS if bits > _HUGE else 1, where)
        value: Atomic = data
        return value
    _count(parts, _PARTS["dict"] + _PARTS["key"] * len(data), where)
    (key, text), *more = data.items() or [("", "")]
    if key in ("term", "pattern") and not more:
        if not isinstance(text, str) or len(text) > TEXT_MAX:
            why = f"has a {key} that is no string of at most {TEXT_MAX:,} characters"
            raise BadField(where=where, why=why)
        if key == "pattern" and not holes:
            raise BadField(where=where, why="is a pattern, and here a value is wanted")
        chars = len(text) + _ESCAPE * text.count("\\")
        _count(parts, chars // _CHARS + _PARTS["word"] * words_in(text), where)
        return (read_patterns if key == "pattern" else read_fields)([text])[0]
    if "class" in data:
        return _object(data, where, parts, depth)
    if key == "dict" and not more:
        if not isinstance(text, dict):
            raise BadField(where=where, why="has a dict that is none")
        data = text
        _count(parts, _PARTS["key"] * len(data), where)
    held = {k: _term(one, where, holes, parts, depth - 1) for k, one in data.items()}
    return Compound(OBJECT, (None, None, named_parts(held)))


def _object(data: dict[str, object], where: str, parts: list[int], depth: int) -> Term:
    properties = data.get("properties", {})
    class_name = data.get("class")
    if not isinstance(class_name, str) or not class_name:
        why = 'has a class that is no name (for a dict, write {"dict": …})'
        raise BadField(where=where, why=why)
    if not isinstance(properties, dict) or "" in properties:
        raise BadField(where=where, why="has properties that are no object with names")
    if extra := [key for key in data if key not in _OBJECT_KEYS]:
        why = f'has a key {extra[0][:60]!r} beside its class (for a dict, write {{"dict": …}})'
        raise BadField(where=where, why=why)
    _count(parts, _PARTS["key"] * len(properties), where)
    held = {name: _term(one, where, False, parts, depth - 1) for name, one in properties.items()}
    identity = _term(data.get("id"), where, False, parts, depth - 1)
    return Compound(OBJECT, (class_name, identity, named_parts(held)))


def json_of(term: Any) -> Any:
    """A term as JSON.

    >>> json_of(("job", 17, fields_of([{"term": "room(3)"}])[0]))
    ['job', 17, {'term': 'room(3)'}]
    >>> car = {"class": "Car", "id": "c1", "properties": {"price": 5}}
    >>> json_of(fields_of([car])[0]) == car
    True
    >>> json_of(fields_of([{"n": 3}, {"dict": {"term": "winter"}}]))
    [{'n': 3}, {'dict': {'term': 'winter'}}]
    """
    if isinstance(term, dict):  # as programs see it
        made = {key: json_of(one) for key, one in term.items()}
        return {"dict": made} if "class" in made or list(made) in _RESERVED else made
    if (items := dict_items(term)) is not None:
        return json_of(dict(items))
    if is_object(term) and term.args[0]:
        class_name, identity, listed = term.args
        properties = {
            item.name: json_of(item.args[0]) for item in listed if isinstance(item, Compound)
        }
        return {"class": class_name, "id": json_of(identity), "properties": properties}
    if isinstance(term, tuple):
        return [json_of(one) for one in term]
    return {"term": show(term)} if isinstance(term, Compound | bytes) else term


def is_small(term: object) -> bool:
    """Whether a term, as programs see it, has few parts and characters: it is soon written.

    >>> is_small(("job", {"rooms": [1, 2]})), is_small(("job", "x" * 5_000)), is_small([[]] * 300)
    (True, False, False)
    """
    todo: list[object] = [term]
    left = SMALL
    while todo and left >= 0:
        part = todo.pop()
        left -= 16
        if isinstance(part, str | bytes):
            left -= len(part)
        elif isinstance(part, Compound):
            todo += part.args[:SMALL]
        elif isinstance(part, list | tuple):
            todo += part[:SMALL]
        elif isinstance(part, dict):
            left -= sum(map(len, islice(part, SMALL)))
            todo += islice(part.values(), SMALL)
    return left >= 0


_PIECE: Final = re.compile(
    r"""(?s)'(?:[^'\\\n]++|\\.|'')*'|"(?:[^"\\\n]++|\\.|"")*"|[()\[\]{},]|[^'"()\[\]{},]+|."""
)


class TooLong(CallerError):
    """A text that was typed is longer than one that is read."""

    code = "api.typed-too-long"
    words = (
        f"{{chars:,}} characters were typed, and {TEXT_MAX:,} can be read, "
        f"with {WORDS_MAX:,} words and signs; cut it down"
    )
    chars: int


class Slip(NamedTuple):
    """What is wrong with a line that was typed: where, what, and what helps."""

    start: int
    end: int
    message: str
    help: str


def typed_fields(text: str) -> tuple[Term, ...]:
    """The fields of a tuple; raises `Faulty` with a caret in the text.

    >>> typed_fields("job, 17, room(3, 4), 'two, words'")
    ('job', 17, term('room(3,4)'), 'two, words')
    >>> typed_fields("job, Smith")
    Traceback (most recent call last):
    nomospace.terms.source.Faulty: tuple:1:6: error [field-variable] Smith is a variable, \
and a tuple holds values
      1 | job, Smith
        |      ^^^^^
          help: write 'Smith' in quotes if a string was meant
    """
    return _read(text, "tuple", read_fields)


def typed_template(text: str) -> tuple[Term, ...]:
    """The patterns of a template; none at all when nothing was typed.

    >>> typed_template("(job, _:int)"), typed_template(" ")
    (('job', term('formal(int)')), ())
    """
    return _read(text, "template", read_patterns)


def typed_message(text: str) -> Term:
    """One term: a message, or an argument.

    >>> typed_message("publish(alarm(fire))")
    term('publish(alarm(fire))')
    """
    _check(text)
    try:
        return read_fields([text])[0]
    except Faulty as error:
        raise Faulty(source=Source(text, "message"), diagnostics=error.diagnostics) from None


def words_of(fields: Sequence[Term]) -> str:
    """Fields as one would type them.

    >>> words_of(typed_fields("job, 'Two words'"))
    "job, 'Two words'"
    """
    return ", ".join(map(show, fields))


def slip_of(error: Exception) -> Slip:
    """The first fault of a text, for a page that draws the caret itself; others have no place.

    >>> try:
    ...     typed_template("job, _:itn")
    ... except Faulty as error:
    ...     slip_of(error)
    Slip(start=7, end=10, message="there is no kind 'itn'", help='did you mean int?')
    """
    if not isinstance(error, Faulty):
        return Slip(0, 0, str(error), "")
    first = error.diagnostics[0]
    start, end = first.span
    return Slip(start, max(end, start + 1), first.message, first.help)


def _check(text: str) -> None:
    if len(text) > TEXT_MAX or words_in(text) > WORDS_MAX:
        raise TooLong(chars=len(text))


def _read(
    text: str, what: str, read: Callable[[Sequence[str]], tuple[Term, ...]]
) -> tuple[Term, ...]:
    _check(text)
    inner, begin = _bared(text)
    if not inner.strip():
        return ()
    found: list[Term] = []
    for start, part in _parts(inner):
        blank = len(part) - len(part.lstrip())
        try:
            found += read([part.strip()])
        except Faulty as error:
            at = begin + start + blank
            raise Faulty(
                source=Source(text, what),
                diagnostics=tuple([one.moved(at) for one in error.diagnostics]),
            ) from None
    return tuple(found)


def _bared(text: str) -> tuple[str, int]:
    """A text without brackets around the whole of it, and where the rest begins."""
    stripped = text.strip()
    if stripped.startswith("(") and stripped.endswith(")"):
        inner = stripped[1:-1]
        if _closed(inner):
            return inner, text.index("(") + 1
    return text, 0


def _closed(text: str) -> bool:
    """Whether no bracket of a text is shut before it was opened, so the outer ones are a pair."""
    depth = 0
    for piece in _PIECE.findall(text):
        depth += (piece == "(") - (piece == ")")
        if depth < 0:
            return False
    return depth == 0


def pieces_of(template: str) -> list[str]:
    """The fields of a template as they are written, brackets around them or not.

    >>> pieces_of("(Car where f(a, b) > 1, Loan)")
    ['Car where f(a, b) > 1', 'Loan']
    """
    inner, _ = _bared(template)
    return [piece.strip() for _, piece in _parts(inner)]


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The fields as they are written, each with where it begins."""
    depth, start = 0, 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece in "([{":
            depth += 1
        elif piece in ")]}":
            depth -= 1
        elif piece == "," and depth <= 0:
            yield start, text[start : match.start()]
            start = match.end()
    yield start, text[start:]
