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

from typing import Final, NamedTuple

from nomospace.meaning.ontology import Input, Operand
from nomospace.terms.predicate import Literal
from nomospace.terms.scanner import VALUES, ScannedWord, Scanner
from nomospace.terms.source import Span

FORMULA_CHARS_MAX: Final = 4_000
"""The longest function or `when`, in characters."""
TIES_MAX: Final = 32
"""The most comparisons in one `when`."""

_REFUSED: Final = ("or", "not", "in")
_QUOTE: Final = "inside [ ] and { } put the function in quotes: YAML ends an item at a comma"
_FORM: Final = "a function is f(Class.property, 5), a tie is Class.property = Other.property"


class NotAFormula(Exception):  # caught by `closing`, which knows the place
    """A text is no function or no `when`; internal to this folder."""

    def __init__(self, message: str, span: Span, help: str = _FORM) -> None:
        super().__init__(message)
        self.message, self.span, self.help = message, span, help


class FormulaPart(NamedTuple):
    """An operand with its place in the text."""

    operand: Operand
    span: Span


class Formula(NamedTuple):
    """A function and its arguments."""

    name: str
    name_span: Span
    arguments: tuple[FormulaPart, ...]


class FormulaComparison(NamedTuple):
    """One comparison of a `when`."""

    left: FormulaPart
    sign: str
    right: FormulaPart


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


def parse_when(text: str) -> tuple[FormulaComparison, ...]:
    """Read the ties of a `when`; a chain becomes pairs.

    >>> [c.sign for c in parse_when("Trip.id = End.id = Start.id and End.at >= Start.at")]
    ['=', '=', '>=']
    """
    reader = _Reader(text)
    found: list[FormulaComparison] = []
    while True:
        left = reader.operand()
        if reader.here.kind != "sign":
            raise reader.unexpected("a comparison such as `= Departure.id`")
        while reader.here.kind == "sign":
            sign = reader.next().text
            right = reader.operand()
            found.append(FormulaComparison(left, sign, right))
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


class _Reader(Scanner):
    language = "a function or tie"
    chars_max = FORMULA_CHARS_MAX
    too_long = "register a function in Python that does the work"
    advice = _FORM
    hyphens = True

    def fault(self, code: str, message: str, span: Span, help: str = "") -> NotAFormula:
        return NotAFormula(message, span, help or _FORM)

    def end(self, help: str) -> None:
        if self.here.kind != "end":
            raise self.unexpected("the end", help)

    def word(self, wanted: str) -> ScannedWord:
        if self.here.kind != "word":
            raise self.unexpected(wanted)
        return self.next()

    def operand(self) -> FormulaPart:
        token = self.here
        if token.kind in ("number", "string") or token.text in VALUES:
            return FormulaPart(Literal(self.literal("a value")), token.span)
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
        return FormulaPart(Input(name.text, tuple(path)), Span(name.span.start, last.end))
