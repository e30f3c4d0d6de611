"""Reads what a dependence function is written as: `minus(Arrival.timeStamp, Departure.timeStamp)`.

    function := name "(" operand { "," operand } ")"
    when     := chain { "and" chain }
    chain    := operand sign operand { sign operand }
    operand  := Class "." property { "." property } | literal
    sign     := "=" | "!=" | "<" | "<=" | ">" | ">="

Names of classes may hold hyphens: there is no arithmetic to mistake them for. Literals are those of
predicates. What the names mean is not asked here; `closing` does.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from nomospace.meaning.ontology import Input, Operand
from nomospace.terms.predicate import Compare, FaultyPredicate, Literal, parse
from nomospace.terms.source import Span

FORMULA_CHARS_MAX: Final = 4_000
"""The longest function or `when`, in characters."""
TIES_MAX: Final = 32
"""The most comparisons in one `when`."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[^\W\d](?:[\w]|-(?=\w))*)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign><=|>=|!=|[=<>])
      | (?P<mark>[(),.])""",
    re.VERBOSE | re.DOTALL,
)
_VALUES: Final = ("true", "false", "null")
_REFUSED: Final = ("or", "not", "in")
_QUOTE: Final = "inside [ ] and { } put the function in quotes: YAML ends an item at a comma"
_FORM: Final = "a function is f(Class.property, 5), a tie is Class.property = Other.property"


class NotAFormula(Exception):  # caught by `closing`, which knows the place
    """A text is no function or no `when`; internal to this folder."""

    def __init__(self, message: str, span: Span, help: str = _FORM) -> None:
        super().__init__(message)
        self.message, self.span, self.help = message, span, help


class Part(NamedTuple):
    """An operand with its place in the text."""

    operand: Operand
    span: Span


class Formula(NamedTuple):
    """A function and its arguments."""

    name: str
    name_span: Span
    arguments: tuple[Part, ...]


class Comparison(NamedTuple):
    """One comparison of a `when`."""

    left: Part
    sign: str
    right: Part


def parse_function(text: str) -> Formula:
    """Read a function.

    >>> found = parse_function("minus(Arrival.timeStamp, 5)")
    >>> found.name, [str(part.operand) for part in found.arguments]
    ('minus', ['Arrival.timeStamp', 'Literal(value=5)'])
    """
    reader = _Reader(text)
    name = reader.word("a function, as in minus(Arrival.at, Departure.at)")
    reader.skip("(", f"after {name.text}")
    arguments = [reader.operand()]
    while reader.sees(","):
        reader.at += 1
        arguments.append(reader.operand())
    if reader.here.kind == "end":  # cut off at a comma: the commonest slip in YAML
        raise reader.unexpected("`)` or a comma", _QUOTE)
    reader.skip(")", "or a comma")
    reader.end("nothing stands after a function: its ties go into `when`")
    return Formula(name.text, name.span, tuple(arguments))


def parse_when(text: str) -> tuple[Comparison, ...]:
    """Read the ties of a `when`; a chain becomes pairs.

    >>> [c.sign for c in parse_when("Trip.id = End.id = Start.id and End.at >= Start.at")]
    ['=', '=', '>=']
    """
    reader = _Reader(text)
    found: list[Comparison] = []
    while True:
        left = reader.operand()
        if reader.here.kind != "sign":
            raise reader.unexpected("a comparison such as `= Departure.id`")
        while reader.here.kind == "sign":
            sign = reader.next().text
            right = reader.operand()
            found.append(Comparison(left, sign, right))
            left = right
        if len(found) > TIES_MAX:
            raise NotAFormula(f"over {TIES_MAX} comparisons", left.span, "use a function for it")
        if not reader.sees("and"):
            break
        reader.at += 1
    if reader.here.text in _REFUSED:
        raise reader.unexpected(
            "`and` or the end", "a `when` ties objects: all its comparisons must hold"
        )
    reader.end("join comparisons by `and`")
    return tuple(found)


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[_Token] = []
        if len(text) > FORMULA_CHARS_MAX:
            raise NotAFormula(
                f"{len(text):,} characters are over {FORMULA_CHARS_MAX:,}",
                Span(FORMULA_CHARS_MAX, len(text)),
                "register a function in Python that does the work",
            )
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotAFormula(f"{text[at]!r} has no meaning here", Span(at, at + 1))
            assert found.lastgroup is not None
            if found.lastgroup != "space":
                self.tokens.append(_Token(found.lastgroup, found.group(), Span(at, found.end())))
            at = found.end()
        self.tokens.append(_Token("end", "", Span(len(text), len(text) + 1)))

    @property
    def here(self) -> _Token:
        return self.tokens[self.at]

    def next(self) -> _Token:
        token = self.here
        self.at += 1
        return token

    def sees(self, text: str) -> bool:
        return self.here.text == text and self.here.kind in ("mark", "word")

    def unexpected(self, wanted: str, help: str = _FORM) -> NotAFormula:
        token = self.here
        found = "the end" if token.kind == "end" else f"`{token.text[:40]}`"
        return NotAFormula(f"here should stand {wanted}, not {found}", token.span, help)

    def skip(self, text: str, why: str) -> None:
        if not self.sees(text):
            raise self.unexpected(f"`{text}` {why}")
        self.at += 1

    def end(self, help: str) -> None:
        if self.here.kind != "end":
            raise self.unexpected("the end", help)

    def word(self, wanted: str) -> _Token:
        if self.here.kind != "word":
            raise self.unexpected(wanted)
        return self.next()

    def operand(self) -> Part:
        token = self.here
        if token.kind in ("number", "string") or token.text in _VALUES:
            self.at += 1
            return Part(self.literal(token), token.span)
        if token.kind != "word":
            raise self.unexpected("Class.property or a value")
        name = self.next()
        if self.sees("("):
            raise NotAFormula(
                f"`{name.text}(` is a function in a function",
                name.span,
                "give the inner one a property and a class of its own",
            )
        path: list[str] = []
        last = name.span
        while self.sees("."):
            self.at += 1
            found = self.word("the name of a property")
            path.append(found.text)
            last = found.span
        if not path:
            raise NotAFormula(
                f"`{name.text}` names no property",
                name.span,
                f"write {name.text}.property, and put strings in quotes",
            )
        return Part(Input(name.text, tuple(path)), Span(name.span.start, last.end))

    def literal(self, token: _Token) -> Literal:
        """A literal, by the rules of predicates: escapes and limits are theirs."""
        try:
            read = parse(f"= {token.text}", field=True)
        except FaultyPredicate as error:
            found = error.diagnostic
            raise NotAFormula(found.message, token.span, found.help or _FORM) from None
        assert isinstance(read, Compare)
        assert isinstance(read.right, Literal)
        return read.right
