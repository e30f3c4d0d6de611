"""Predicates: the small language of conditions in templates, as in `price.amount < 5000`.

    predicate  := all { "or" all }
    all        := one { "and" one }
    one        := "not" one | "(" predicate ")" | operand comparison | comparison
    comparison := ("=" | "!=" | "<" | "<=" | ">" | ">=") operand | "in" "[" literal, … "]"
    operand    := path | literal
    path       := name { "." name }
    literal    := number | 'string' | "string" | true | false | null

There are two sorts. An *object* predicate speaks of an object's properties by their paths, which
may begin at its class, as the papers write them: `Car.price.amount < 5000` (`without_class`). A
*field* predicate speaks of the field itself, which is not named: `> 5`, `>= 1 and < 9`.

A predicate is true or false, never an error, whatever it meets. Numbers compare by value,
whole or not; strings and bytes have the order of their characters; all else knows only `=` and
`!=`. A comparison is false where a property is missing and where the kinds differ, whatever its
sign: of the string '7' neither `= 7` nor `!= 7` holds. Only the word `null` compares with every
kind, by `=` and `!=`, so `price != null` asks for a price that is known. `not` turns what it
stands before, so `not (price < 5)` holds where there is no price.

Text becomes a tree (`parse`) and the tree a closure (`priced`); both are remembered for the texts
used most. A fault is shown with its place, as faults of laws are.

A test is paid for (`nomospace.terms.budget`): each comparison and each name of a path costs a unit,
and the properties of a large object are looked through once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from nomospace.errors import CallerError
from nomospace.terms.budget import COMPARED_FREE, Budget, TestTooDear, same_within
from nomospace.terms.objects import MISSING, Missing
from nomospace.terms.scanner import VALUES, Plain, Scanner
from nomospace.terms.source import Diagnostic, Source, Span
from nomospace.terms.values import OBJECT, Compound, Term

PREDICATE_CHARS_MAX: Final = 4_000
"""The longest predicate, in characters; what needs more is a law's business."""
PREDICATE_DEPTH_MAX: Final = 40
"""How deep brackets and `not` may nest."""
_REMEMBERED_MAX: Final = 512
_FEW: Final = 12
"""Properties that are looked through for a name at once; more are noted by their names."""


class Path(NamedTuple):
    """Names that lead from an object to a value; none at all mean the field itself."""

    names: tuple[str, ...]


class Literal(NamedTuple):
    """A value written in the predicate."""

    value: Plain


class PredicateComparison(NamedTuple):
    """One comparison of two operands."""

    left: Path | Literal
    sign: str
    right: Path | Literal


class Among(NamedTuple):
    """Whether an operand is one of some values."""

    left: Path | Literal
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
Test: TypeAlias = Callable[[Term], bool]
Priced: TypeAlias = Callable[[Term, Budget], bool]
"""A test that is paid for."""


class Predicates(Protocol):
    """What makes tests of texts: `priced`, or `unpriced`."""

    def __call__(self, text: str, *, field: bool) -> Priced: ...


ITSELF: Final = Path(())
"""What a field predicate speaks of."""


class FaultyPredicate(CallerError):
    """A predicate's text cannot be read."""

    code = "predicate.faulty"
    source: Source
    diagnostic: Diagnostic

    def __str__(self) -> str:
        return self.diagnostic.render(self.source)


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
        if token.kind == "word" and token.text not in _KEYWORDS and not inside:
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


@lru_cache(maxsize=_REMEMBERED_MAX)
def compiled(text: str, *, field: bool) -> Test:
    """The predicate as a function of the field, or of the object.

    >>> small = compiled("> 5 and <= 9", field=True)
    >>> small(7), small(7.5), small(5), small("7")
    (True, True, False, False)
    """
    test = priced(text, field=field)
    return lambda subject: test(subject, Budget())


def price_of(text: str, *, field: bool) -> int:
    """The units that a test costs, besides what hangs on the value.

    >>> price_of("price.amount < 5000", field=False)
    5
    """
    return _price(parse(text, field=field))


@lru_cache(maxsize=_REMEMBERED_MAX)
def priced(text: str, *, field: bool) -> Priced:
    """The same, paid for from a budget: all its steps at once, large objects as they are met.

    >>> budget = Budget()
    >>> priced("> 5 and <= 9", field=True)(7, budget), budget.spent
    (True, 2)
    """
    price, test = price_of(text, field=field), unpriced(text, field=field)

    def check(subject: Term, budget: Budget) -> bool:
        budget.left -= price
        if budget.left < 0:
            raise TestTooDear
        return test(subject, budget)

    return check


@lru_cache(maxsize=_REMEMBERED_MAX)
def unpriced(text: str, *, field: bool) -> Priced:
    """The same, of which only large objects are paid for: whoever tests has paid for the rest."""
    return _test(parse(text, field=field))


# Reading.

_KEYWORDS: Final = ("and", "or", "not", "in", *VALUES)


class _Parser(Scanner):
    language = "a predicate"
    chars_max = PREDICATE_CHARS_MAX
    too_long = "split the template, or let a law decide"
    advice = "write and, or, not, in, = != < <= > >=, brackets, names and values"

    def __init__(self, text: str, field: bool) -> None:
        self.field = field
        self.depth = 0
        super().__init__(text)

    def fault(self, code: str, message: str, span: Span, help: str = "") -> FaultyPredicate:
        found = Diagnostic(code=f"predicate.{code}", message=message, span=span, help=help)
        return FaultyPredicate(source=Source(self.text, "<predicate>"), diagnostic=found)

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
        while self.sees("or"):
            self.at += 1
            parts.append(self.every())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def every(self) -> Predicate:
        parts = [self.one()]
        while self.sees("and"):
            self.at += 1
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def one(self) -> Predicate:
        token = self.here
        if not self.sees("not") and not self.sees("("):
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
        left: Path | Literal = ITSELF
        if not self.field:
            left = self.operand()
        elif self.here.kind != "sign" and not self.sees("in"):
            if self.names:
                raise self.named()
            raise self.unexpected("a comparison such as `> 5`", "the field itself is not named")
        if self.sees("in"):
            self.at += 1
            return Among(left, self.listed())
        if self.here.kind != "sign":
            raise self.unexpected(
                "a comparison such as `= 5` or `in [1, 2]`",
                "for a property that is true or false write `= true`; for `not in`, `not (… in …)`",
            )
        sign = self.next().text
        return PredicateComparison(left, sign, self.operand())

    def operand(self) -> Path | Literal:
        if not self.names:
            return Literal(self.literal("a value" if self.field else "a property or a value"))
        if self.field:
            raise self.named()
        names = [self.next().text]
        while self.sees("."):
            self.at += 1
            if self.here.kind != "word":
                raise self.unexpected("the name of a property")
            names.append(self.next().text)
        return Path(tuple(names))

    def named(self) -> FaultyPredicate:
        return self.fault(
            "name",
            f"a predicate on a field cannot name `{self.here.text[:40]}`",
            self.here.span,
            'put strings in quotes; for properties use a("Class", "…")',
        )

    def listed(self) -> tuple[Plain, ...]:
        self.skip("[", "after `in`")
        values = [self.literal("a value")]
        while self.sees(","):
            self.at += 1
            values.append(self.literal("a value"))
        self.skip("]", "or a comma")
        return tuple(values)


# Deciding.

_SIGNS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED: Final = (int, float, str, bytes)


def holds(
    left: Term | Missing, sign: str, right: Term | Missing, budget: Budget | None = None
) -> bool:
    """One comparison of two values, by the rules above.

    >>> holds(1, "=", 1.0), holds("7", "<", 8), holds("7", "!=", 8), holds(None, "=", None)
    (True, False, False, True)
    """
    if left is MISSING or right is MISSING:
        return False
    kind, other = left.__class__, right.__class__
    if kind is float:
        kind = int
    if other is float:
        other = int
    if kind is other and kind in _ORDERED:
        if budget is not None and isinstance(left, str | bytes) and len(left) > COMPARED_FREE:
            budget.spend(len(left) // COMPARED_FREE)
        return _SIGNS[sign](left, right)
    if kind is not other or sign not in ("=", "!="):  # nothing else has an order
        return False
    return same_within(left, right, budget or Budget()) is (sign == "=")


def _price(node: Predicate) -> int:
    """The steps of a test when all its parts are looked at."""
    match node:
        case PredicateComparison(left, _, right):
            return 1 + _steps(left) + _steps(right)
        case Among(left, _):
            return 2 + _steps(left)
        case Every(parts) | Some(parts):
            return sum(map(_price, parts))
        case Negated(part):
            return _price(part)


def _steps(operand: Path | Literal) -> int:
    return 2 * len(operand.names) if isinstance(operand, Path) else 0


def _test(node: Predicate) -> Priced:
    match node:
        case PredicateComparison(left, sign, right):
            return _comparing(left, sign, right)
        case Among(left, values):
            return _among(left, values)
        case Every(parts):
            return _every([_test(part) for part in parts])
        case Some(parts):
            return _some([_test(part) for part in parts])
        case Negated(part):
            inner = _test(part)
            return lambda subject, budget: not inner(subject, budget)


def _every(tests: list[Priced]) -> Priced:
    if len(tests) == 2:  # the commonest, without a generator
        left, right = tests
        return lambda subject, budget: left(subject, budget) and right(subject, budget)
    return lambda subject, budget: all(test(subject, budget) for test in tests)


def _some(tests: list[Priced]) -> Priced:
    return lambda subject, budget: any(test(subject, budget) for test in tests)


def _comparing(left: Path | Literal, sign: str, right: Path | Literal) -> Priced:
    if isinstance(left, Literal) and (left.value is None or not isinstance(right, Literal)):
        left, sign, right = right, _TURNED[sign], left
    get = _getting(left)
    if not isinstance(right, Literal):
        other = _getting(right)
        return lambda subject, budget: holds(
            get(subject, budget), sign, other(subject, budget), budget
        )
    value = right.value
    if value is None and sign == "!=":
        return lambda subject, budget: (
            (found := get(subject, budget)) is not None and found is not MISSING
        )
    if value is None or type(value) is bool:
        return lambda subject, budget: holds(get(subject, budget), sign, value, budget)
    kinds = (str,) if type(value) is str else (int, float)
    compare = _SIGNS[sign]
    return lambda subject, budget: (
        (found := get(subject, budget)).__class__ in kinds and compare(found, value)
    )


def _among(left: Path | Literal, values: tuple[Plain, ...]) -> Priced:
    get = _getting(left)
    # Python's own equality of numbers is ours here, but for booleans, which stand apart.
    plain = frozenset(value for value in values if type(value) is not bool)
    truths = tuple(value for value in values if type(value) is bool)

    def check(subject: Term, budget: Budget) -> bool:
        found = get(subject, budget)
        kind = found.__class__
        if kind is bool:
            return found in truths
        return kind is not Compound and kind is not tuple and found in plain

    return check


def _getting(operand: Path | Literal) -> Callable[[Term, Budget], Term | Missing]:
    if isinstance(operand, Literal):
        value = operand.value
        return lambda subject, budget: value
    names = operand.names
    if not names:
        return lambda subject, budget: subject

    def walk(subject: Term, budget: Budget) -> Term | Missing:
        # `property_of` at each step, without the calls
        for name in names:
            if type(subject) is not Compound or subject.name != OBJECT:
                return MISSING
            parts = subject.args
            if len(parts) != 3 or type(parts[2]) is not tuple:
                return MISSING
            if type(parts[0]) is not str and not (parts[0] is None and parts[1] is None):
                return MISSING
            if len(parts[2]) > _FEW:
                held = budget.named(parts[2])
                if name not in held:
                    return MISSING
                subject = held[name]
                continue
            for item in parts[2]:
                if type(item) is Compound and item.name == name and len(item.args) == 1:
                    subject = item.args[0]
                    break
            else:
                return MISSING
        return subject

    return walk
