"""Predicates: the small language of conditions in templates, as in `price.amount < 5000`.

    predicate  := all { "or" all }
    all        := one { "and" one }
    one        := "not" one | "(" predicate ")" | operand comparison | comparison
    comparison := ("=" | "!=" | "<" | "<=" | ">" | ">=") operand | "in" "[" literal, … "]"
    operand    := path | "any" "(" path ")" { "." name } | literal
    path       := name { "." name | "[" index "]" }
    literal    := number | 'string' | "string" | true | false | null

There are two sorts. An *object* predicate speaks of an object's properties by their paths, which
may begin at its class, as the papers write them: `Car.price.amount < 5000` (`without_class`). A
*field* predicate speaks of the field itself, which is not named: `> 5`, `>= 1 and < 9`.

An array's elements are counted from 0: `dimensions[0] < 200`. `any(tags) = 'red'` holds where it
holds for some element, and `any(parts).weight > 5` where some element has such a weight; of two
arrays it is enough that one pair does.

A predicate is true or false, never an error, whatever it meets. Numbers compare by value,
whole or not; strings and bytes have the order of their characters; all else knows only `=` and
`!=`. A comparison is false where a property is missing and where the kinds differ, whatever its
sign: of the string '7' neither `= 7` nor `!= 7` holds. Only the word `null` compares with every
kind, by `=` and `!=`, so `price != null` asks for a price that is known. `not` turns what it
stands before, so `not (price < 5)` holds where there is no price.

Text becomes a tree (`parse`), and the tree a closure (`conditions`); both are remembered for the
texts used most. A fault is shown with its place, as faults of laws are.

A test is paid for (`nomospace.terms.budget`): each comparison and each name of a path costs a unit,
and so does each element that `any` looks at; the properties of a large object are looked through
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from nomospace.terms.scanner import VALUES, Plain, ScannedWord, Scanner
from nomospace.terms.source import FaultyText, Span

PREDICATE_CHARS_MAX: Final = 4_000
"""The longest predicate, in characters; what needs more is a law's business."""
PREDICATE_DEPTH_MAX: Final = 40
"""How deep brackets and `not` may nest."""
INDEX_MAX: Final = 999_999
"""The last element that can be named; no array that a tuple has room for is longer."""
_REMEMBERED_MAX: Final = 512


class Path(NamedTuple):
    """Names that lead from an object to a value; none at all mean the field itself."""

    names: tuple[str, ...]


class Element(NamedTuple):
    """A path that leads through arrays: numbers are places, `None` stands for any of them."""

    steps: tuple[str | int | None, ...]

    @property
    def several(self) -> bool:
        """Whether it may stand for more values than one."""
        return None in self.steps


class Literal(NamedTuple):
    """A value written in the predicate."""

    value: Plain


Operand: TypeAlias = Path | Element | Literal


class PredicateComparison(NamedTuple):
    """One comparison of two operands."""

    left: Operand
    sign: str
    right: Operand


class Among(NamedTuple):
    """Whether an operand is one of some values."""

    left: Operand
    values: tuple[Plain, ...]


class Every(NamedTuple):
    """All parts hold: `and`."""

    parts: tuple[Predicate, ...]


class Some(NamedTuple):
    """At least one part holds: `or`."""

    parts: tuple[Predicate, ...]


class Negated(NamedTuple):
    """The part does not hold: `not`."""

    part: Predicate


Predicate: TypeAlias = PredicateComparison | Among | Every | Some | Negated


ITSELF: Final = Path(())
"""What a field predicate speaks of."""


class FaultyPredicate(FaultyText):
    """A predicate's text cannot be read."""

    code = "predicate.faulty"


@lru_cache(maxsize=_REMEMBERED_MAX)
def parse(text: str, *, field: bool) -> Predicate:
    """Read a predicate on a field, or else on an object.

    >>> parse("price.amount < 5000", field=False)
    PredicateComparison(left=Path(names=('price', 'amount')), sign='<', right=Literal(value=5000))
    >>> parse("> five", field=True)
    Traceback (most recent call last):
    nomospace.terms.predicate.FaultyPredicate: <predicate>:1:3: error [predicate.name] \
a predicate on a field cannot name `five`
      1 | > five
        |   ^^^^
          help: put strings in quotes; for properties use a("Class", "…")
    """
    return _Parser(text, field).whole()


class PathStart(NamedTuple):
    """Where a path begins in the text of an object predicate."""

    name: str
    span: Span
    next: Span | None
    """The name behind it, if the path goes on."""


@lru_cache(maxsize=_REMEMBERED_MAX)
def path_starts(text: str) -> tuple[PathStart, ...]:
    """The first name of every path of an object predicate, from left to right.

    >>> [one.name for one in path_starts("price.amount < 5 and not maker = 'Fiat'")]
    ['price', 'maker']
    """
    tokens = _Parser(text, field=False).tokens
    found = []
    for at, token in enumerate(tokens):
        inside = at > 0 and tokens[at - 1].text == "."
        if token.kind == "word" and not inside and not _is_word(tokens, at):
            goes_on = tokens[at + 1].text == "."
            found.append(
                PathStart(token.text, token.span, tokens[at + 2].span if goes_on else None)
            )
    return tuple(found)


@lru_cache(maxsize=_REMEMBERED_MAX)
def without_class(text: str, *names: str) -> str:
    """An object predicate whose paths begin at the object, also where they began at its class.

    >>> without_class("Car.price.amount < 5000 and maker != 'Car.x'", "Car")
    "price.amount < 5000 and maker != 'Car.x'"
    """
    for start in reversed(path_starts(text)):
        if start.name in names and start.next is not None:
            text = text[: start.span.start] + text[start.next.start :]
    return text


# Reading.

_KEYWORDS: Final = ("and", "or", "not", "in", *VALUES)


def _is_word(tokens: Sequence[ScannedWord], at: int) -> bool:
    """Whether a word is one of the language's; `any` is, before a bracket."""
    return tokens[at].text in _KEYWORDS or (tokens[at].text == "any" and tokens[at + 1].text == "(")


class _Parser(Scanner):
    name = "predicate"
    error = FaultyPredicate
    chars_max = PREDICATE_CHARS_MAX
    too_long = "split the template, or let a law decide"
    advice = "write and, or, not, in, = != < <= > >=, brackets, names and values"

    def __init__(self, text: str, field: bool) -> None:
        self.field = field
        self.depth = 0
        super().__init__(text)

    def unexpected(self, wanted: str, help: str = "") -> Exception:
        if self.here.text == "=" and self.at and self.tokens[self.at - 1].text == "=":
            help = "equality is a single ="
        return super().unexpected(wanted, help)

    @property
    def names(self) -> bool:
        """Whether a name stands next, and no word of the language."""
        return self.here.kind == "word" and self.here.text not in _KEYWORDS

    def whole(self) -> Predicate:
        found = self.some()
        if self.here.kind != "end":
            raise self.unexpected("`and`, `or` or the end")
        return found

    def some(self) -> Predicate:
        parts = [self.every()]
        while self.takes("or"):
            parts.append(self.every())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def every(self) -> Predicate:
        parts = [self.one()]
        while self.takes("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def one(self) -> Predicate:
        token = self.here
        if token.text not in ("not", "("):
            return self.comparison()
        self.depth += 1
        if self.depth > PREDICATE_DEPTH_MAX:
            raise self.fault(
                "depth",
                f"brackets and `not` are nested over {PREDICATE_DEPTH_MAX} deep",
                token.span,
                "write it flatter",
            )
        self.at += 1
        found: Predicate
        if token.text == "not":
            found = Negated(self.one())
        else:
            found = self.some()
            self.skip(")", "for the bracket that was opened")
        self.depth -= 1
        return found

    def comparison(self) -> Predicate:
        left: Operand = ITSELF
        if not self.field:
            left = self.operand()
        elif self.here.kind != "sign" and not self.sees("in"):
            if self.names:
                raise self.named()
            raise self.unexpected("a comparison such as `> 5`", "the field itself is not named")
        if self.takes("in"):
            return Among(left, self.listed())
        if self.here.kind != "sign":
            raise self.unexpected(
                "a comparison such as `= 5` or `in [1, 2]`",
                "for a property that is true or false write `= true`; for `not in`, `not (… in …)`",
            )
        sign = self.next().text
        return PredicateComparison(left, sign, self.operand())

    def operand(self) -> Operand:
        if not self.names:
            return Literal(self.literal("a value" if self.field else "a property or a value"))
        if self.field:
            raise self.named()
        if not _is_word(self.tokens, self.at):
            steps = self.path()
        else:
            self.at += 2
            if self.here.kind != "word" or _is_word(self.tokens, self.at):
                raise self.unexpected("the property that has the array", "as in any(tags) = 'red'")
            steps = [*self.path(), None]
            self.skip(")", "behind the array of `any`")
            self.follow(steps)
        names = tuple([step for step in steps if isinstance(step, str)])
        return Path(names) if len(names) == len(steps) else Element(tuple(steps))

    def path(self) -> list[str | int | None]:
        steps: list[str | int | None] = [self.next().text]
        self.follow(steps)
        return steps

    def follow(self, steps: list[str | int | None]) -> None:
        """Read what stands behind a name: further names, and places in arrays."""
        while self.sees(".") or self.sees("["):
            if self.next().text == "[":
                steps.append(self.index(behind_any=None in steps))
                continue
            if self.here.kind != "word":
                raise self.unexpected("the name of a property")
            steps.append(self.next().text)

    def index(self, *, behind_any: bool) -> int:
        token = self.next()
        fine = token.text.isdecimal() and len(token.text) <= len(str(INDEX_MAX))
        if not fine or behind_any:
            raise self.fault(
                "index",
                "behind any(…) no place in an array can be named"
                if behind_any
                else f"`{token.text[:40]}` is no place in an array",
                token.span,
                f"elements are counted from 0 to {INDEX_MAX:,}; for all of them write any(…) = …",
            )
        self.skip("]", "behind the place in the array")
        return int(token.text)

    def named(self) -> Exception:
        return self.fault(
            "name",
            f"a predicate on a field cannot name `{self.here.text[:40]}`",
            self.here.span,
            'put strings in quotes; for properties use a("Class", "…")',
        )

    def listed(self) -> tuple[Plain, ...]:
        self.skip("[", "after `in`")
        values = [self.literal("a value")]
        while self.takes(","):
            values.append(self.literal("a value"))
        self.skip("]", "or a comma")
        return tuple(values)
