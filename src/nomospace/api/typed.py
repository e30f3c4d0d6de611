"""What people type into one box: the fields of a tuple or of a template, with commas between.

Each field is read as the command line reads its arguments (`terms.written`), and whatever is wrong
is said in the same words. The caret points into the whole text, so that a page can draw it under
the very characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from nomospace.api.forms import TEXT_MAX
from nomospace.errors import CallerError
from nomospace.terms import Term, show
from nomospace.terms.source import Diagnostic, Faulty, Source, Span
from nomospace.terms.written import read_fields, read_patterns

_PIECE: Final = re.compile(
    r"""'(?:[^'\\\n]|\\.|'')*'|"(?:[^"\\\n]|\\.|"")*"|[()\[\]{},]|[^'"()\[\]{},]+|.""", re.DOTALL
)


class TooLong(CallerError):
    """A text that was typed is longer than one that is read."""

    code = "api.typed-too-long"
    words = f"{{chars:,}} characters were typed, and {TEXT_MAX:,} can be read; cut it down"
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
    if len(text) > TEXT_MAX:
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
                diagnostics=tuple([_shifted(one, at) for one in error.diagnostics]),
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
    inner = template.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
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


def _shifted(one: Diagnostic, by: int) -> Diagnostic:
    related = tuple([(words, Span(at.start + by, at.end + by)) for words, at in one.related])
    return replace(one, span=Span(one.span.start + by, one.span.end + by), related=related)
