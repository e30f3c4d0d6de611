"""Templates, predicates and questions about sets that take as long as can be for their units.

Each draft names the patterns of a template and the values of tuples by short words; the words are
what is climbed over, beside a few numbers: how many tuples, how many properties, how long texts.
What is searched is a space, as a host does it, slice by slice.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from nomospace.errors import LimitReached, NomospaceError
from nomospace.space import Space
from nomospace.space.asking import SetQuestion
from nomospace.space.records import Record
from nomospace.space.search import SetSearch, Unfinished
from nomospace.space.searching import CANDIDATE_UNITS
from nomospace.terms import Compound, Term, obj, oversize
from nomospace.terms.budget import Budget, Slice
from nomospace.terms.conditions import priced
from nomospace.terms.formals import ANY, a, between, same, where
from nomospace.terms.freezing import TYPE_FORMALS
from nomospace.terms.predicate import PREDICATE_CHARS_MAX, FaultyPredicate, parse
from nomospace.terms.templates import WIDTH_MAX, Template
from nomospace.wire.calls import TEMPLATE_PARTS_MAX
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.generate.shapes import doubled

PRIME: Final = (1 << 61) - 1
"""Python gives all multiples of it the same hash."""
HOME: Final = "ann@x"
WAITED_UNITS: Final = 400_000
"""A search is given up for the purposes of this one after so many units: it goes on alike."""
CHARACTER_UNITS: Final = 4
"""What it costs to read one character of a predicate."""

PLAN_UNITS: Final = 16_000
"""What it costs to plan a question about sets: a slice."""
PATTERN_UNITS: Final = 16
"""What it costs to read one part of a template, and to make its test."""

D = TypeVar("D")


def numbers(rng: Random, draft: D, most: dict[str, int], names: list[str]) -> D:
    """One number of a draft changed: doubled, halved, or by one."""
    name = rng.choice(names)
    value = getattr(draft, name)
    changed = rng.choice((value * 2 + 1, value // 2, value + 1, value - 1, most[name]))
    return replace(draft, **{name: max(0, min(changed, most[name]))})  # type: ignore[type-var]


def words(
    rng: Random, given: tuple[str, ...], known: tuple[str, ...], most: int
) -> tuple[str, ...]:
    """A list of words changed: one more, one less, one other, all alike, or twice as many."""
    made, roll = list(given), rng.random()
    if roll < 0.25 and len(made) > 1:
        made.pop(rng.randrange(len(made)))
    elif roll < 0.5:
        made.insert(rng.randrange(len(made) + 1), rng.choice(known))
    elif roll < 0.75:
        made[rng.randrange(len(made))] = rng.choice(known)
    elif roll < 0.85:
        made = [rng.choice(made)] * rng.choice((len(made), 8, most))
    else:
        made += made
    return tuple(made[:most])


def some(rng: Random, known: tuple[str, ...], most: int) -> tuple[str, ...]:
    """A few words."""
    return tuple(rng.choices(known, k=rng.choice((1, 2, 4, min(12, most)))))


# -- values --------------------------------------------------------------------------------------

_VALUES: Final[dict[str, Callable[[int, int], Term]]] = {
    "int": lambda at, size: at % 7,
    "str": lambda at, size: f"w{at % 5}",
    "text": lambda at, size: "".join(["x" * (40 * size), str(at % 2)]),
    "float": lambda at, size: at / 2 or 1.5,
    "big": lambda at, size: (1 << 4_000) + at % 3,
    "alike": lambda at, size: PRIME * (at + 1),
    "bytes": lambda at, size: bytes(40 * size + at % 2),
    "null": lambda at, size: None,
    "true": lambda at, size: at % 2 == 0,
    "list": lambda at, size: (at % 3, "a", (at % 2,)),
    "wide": lambda at, size: (*[f"i{n}" for n in range(size)], at % 2),
    "deep": lambda at, size: _nested(min(size, 300), at % 2),
    "term": lambda at, size: Compound("room", (at % 3, "a")),
    "shared": lambda at, size: doubled(min(size // 20, 6)),
    "car": lambda at, size: obj("Car", f"c{at % 9}", price=at % 11, make="Fiat"),
    "van": lambda at, size: obj("Van", f"v{at % 3}", price=at % 5),
    "bus": lambda at, size: obj("Bus", None, price=1),
    "rich": lambda at, size: obj("Car", f"c{at % 9}", **{f"p{n:04}": n for n in range(4 * size)}),
    "nested": lambda at, size: obj(
        "Car", "c", p0000=obj("Van", None, p0000=obj("Bus", None, p=at % 2))
    ),
    "twin": lambda at, size: obj(
        "Car", PRIME * (1 + at % 50), p=tuple([str(n) for n in range(size)])
    ),
}
VALUES: Final = tuple(_VALUES)
_VARIANTS: Final = 20
"""So many tuples are made of different values, and then the same again."""


def value(word: str, at: int, size: int) -> Term:
    """The value that a word stands for in the tuple of a number; `size` is how large it may be."""
    return _value(word, at % _VARIANTS, size)


@lru_cache(maxsize=1_024)
def _value(word: str, at: int, size: int) -> Term:
    return _VALUES[word](at, size)


def _nested(levels: int, leaf: Term) -> Term:
    made = leaf
    for _ in range(levels):
        made = (made,)
    return made


# -- predicates ----------------------------------------------------------------------------------

PIECES: Final = (
    *("p0000 = 1", "p0000 < 5", "p0000.p0000.p = 1", "p9 != null", "price >= 3", "'a' < 'b'"),
    *("p0001 in [1, 2, 3]", "not p0000 = 7", "not (p0000 = 1 or p0001 = 2)", "p = p"),
    "p0000 = p0000",
    *("price = null", "a.b.c.d.e.f.g.h = 1", "BIG < p0000", "p0000 in [ALIKE]", "TEXT = make"),
    *("make < TEXT", "p0000 = true", "(((p0000 = 1)))", "p in [TEXT]"),
)  # fmt: skip
JOINS: Final = (" and ", " or ", " or not ", " and (p = 1) or ")


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate and an object that it is tried on."""

    pieces: tuple[str, ...]
    join: str
    value: str
    size: int
    tries: int

    @property
    def text(self) -> str:
        """The predicate, as long as it may be."""
        special = {
            "BIG": str(1 << 1_000),
            "ALIKE": ", ".join([str(PRIME * n) for n in range(1, 40)]),
            "TEXT": "'" + "x" * 300 + "'",
        }
        made = ""
        for piece in self.pieces:
            for name, written in special.items():
                piece = piece.replace(name, written)
            longer = f"{made}{self.join}{piece}" if made else piece
            if len(longer) > PREDICATE_CHARS_MAX:
                break
            made = longer
        return made


class Tried(NamedTuple):
    """A predicate's text, and what it is tried on."""

    text: str
    value: Term
    tries: int


def _condition(rng: Random) -> Condition:
    return Condition(
        some(rng, PIECES, 200),
        rng.choice(JOINS),
        rng.choice(VALUES),
        rng.choice((0, 3, 100, 1_000)),
        rng.choice((0, 1, 50)),
    )


def _change_condition(rng: Random, one: Condition) -> Condition:
    roll = rng.random()
    if roll < 0.5:
        return replace(one, pieces=words(rng, one.pieces, PIECES, 400))
    if roll < 0.7:
        return replace(one, join=rng.choice(JOINS), value=rng.choice((one.value, *VALUES)))
    return numbers(rng, one, {"size": 1_000, "tries": 200}, ["size", "tries"])


def _try(tried: Tried) -> Spent:
    """Read a predicate anew, and try it: its characters are paid for, and each test."""
    for known in (parse, priced):
        known.cache_clear()
    price, test = CHARACTER_UNITS * len(tried.text), None
    began = time.thread_time_ns()
    with suppress(FaultyPredicate):
        test = priced(tried.text, field=False)
    longest = time.thread_time_ns() - began
    if test is not None and tried.tries:
        budget, began = Budget(), time.thread_time_ns()
        for _ in range(tried.tries):
            budget.renew()
            with suppress(LimitReached):
                test(tried.value, budget)
            price += CANDIDATE_UNITS + budget.spent
        longest = max(longest, (time.thread_time_ns() - began) // tried.tries)
    return Spent(price, longest)


# -- templates -----------------------------------------------------------------------------------


def _dear(size: int) -> str:
    """A predicate on an object of about as many comparisons."""
    return " and ".join(["(p0000 = 0 or p0001 = 1)"] * max(1, min(size, 130)))


_PATTERNS: Final[dict[str, Callable[[int], Any]]] = {
    "any": lambda size: ANY,
    "int": lambda size: int,
    "str": lambda size: str,
    "number": lambda size: between(0, 10**9),
    "between": lambda size: between("a", "z"),
    "where": lambda size: where(" or ".join(["> 5 and < 3"] * max(1, min(size, 200)))),
    "among": lambda size: where("in [" + ", ".join(map(str, range(min(size, 500) + 1))) + "]"),
    "same": lambda size: same("x"),
    "tied": lambda size: same("y"),
    "list": lambda size: list,
    "Car": lambda size: a("Car"),
    "Van": lambda size: a("Van"),
    "Bus": lambda size: a("Bus"),
    "CarWhere": lambda size: a("Car", _dear(size)),
    "CarId": lambda size: obj("Car", "c3"),
    "CarLike": lambda size: obj("Car", None, p=tuple([str(n) for n in range(size)])),
    "CarSame": lambda size: Compound("object", ("Car", same("x"), ANY)),
    "VanSame": lambda size: Compound("object", ("Van", same("y"), same("x"))),
    "inside": lambda size: tuple([same("x")] * (size % 30 + 1)),
    "terms": lambda size: Compound("room", (same("y"), ANY)),
}
PATTERNS: Final = (*_PATTERNS, *[f"={word}" for word in VALUES])


def pattern(word: str, size: int) -> Any:
    """What a word stands for in a template."""
    made = value(word[1:], 1, size) if word.startswith("=") else _PATTERNS[word](size)
    return TYPE_FORMALS.get(made, made) if isinstance(made, type) else made


@dataclass(frozen=True, slots=True)
class TemplateCase:
    """A template, and the tuples of a space that it is asked of."""

    patterns: tuple[str, ...]
    values: tuple[str, ...]
    tuples: int
    size: int
    every: bool


def _asked(rng: Random) -> TemplateCase:
    values = some(rng, VALUES, WIDTH_MAX)
    patterns = tuple([rng.choice(PATTERNS) for _ in values])
    return TemplateCase(
        patterns,
        values,
        rng.choice((1, 5, 20, 100)),
        rng.choice((0, 3, 30, 200)),
        rng.random() < 0.5,
    )


def _change_asked(rng: Random, one: TemplateCase) -> TemplateCase:
    roll = rng.random()
    if roll < 0.35:
        return replace(one, patterns=words(rng, one.patterns, PATTERNS, WIDTH_MAX))
    if roll < 0.6:
        return replace(one, values=words(rng, one.values, VALUES, WIDTH_MAX))
    if roll < 0.7:
        both = zip(one.patterns, one.values, strict=False)
        pairs = (list(both) * 4)[:WIDTH_MAX]
        return replace(
            one,
            patterns=tuple([each for each, _ in pairs]),
            values=tuple([each for _, each in pairs]),
        )
    if roll < 0.75:
        return replace(one, every=not one.every)
    return numbers(rng, one, {"tuples": 600, "size": 1_000}, ["tuples", "size"])


class Laid(NamedTuple):
    """A space with tuples in it, what it is asked for, and what it costs to read that."""

    space: Space
    term: tuple[Term, ...]
    every: bool
    price: int


def _lay(asked: TemplateCase) -> Laid:
    space = Space("s")
    for at in range(asked.tuples):
        made = [value(word, at + nth, asked.size) for nth, word in enumerate(asked.values)]
        laid = tuple(made)
        if oversize(laid) is None:  # one that is too large is none
            space.put(Record(laid, HOME, at + 1, HOME, HOME), now=1)
    term = tuple([pattern(word, asked.size) for word in asked.patterns])
    return Laid(space, term, asked.every, parts_of(term))


def parts_of(term: Term) -> int:
    """What it costs to read a template: its parts, and the characters of predicates."""
    todo, parts = [term], 0
    while todo:
        item = todo.pop()
        parts += PATTERN_UNITS
        if type(item) is Compound:
            todo += item.args
        elif type(item) is tuple:
            todo += item
        elif type(item) is str:
            parts += CHARACTER_UNITS * len(item) if len(item) > 16 else 0
    return parts


def _ask(laid: Laid) -> Spent:
    """Read the template anew and search the space for it, slice by slice."""
    for known in (parse, priced):
        known.cache_clear()
    space, term, every, price = laid
    if price > TEMPLATE_PARTS_MAX * PATTERN_UNITS:
        return Spent(price)  # no frame brings it: its parts are counted before they are read
    began = time.thread_time_ns()
    try:
        template = Template.of_terms(term)  # as frames bring them
    except NomospaceError:
        return Spent(price)
    longest = time.thread_time_ns() - began

    def begin(slice: Slice) -> object:
        if every:
            return space.find_all(template, now=1, slice=slice)
        return space.find(template, now=1, slice=slice)

    spent = sliced(begin, lambda search, slice: space.go_on(search, now=1, slice=slice))
    return Spent(price + spent.price, max(longest, spent.slice_ns))


def sliced(begin: Callable[[Slice], object], go_on: Callable[[Any, Slice], object]) -> Spent:
    """Work that is cut: what all its slices cost together, and the longest of them."""
    price, longest, search = 0, 0, None
    while price < WAITED_UNITS:
        slice = Slice()
        whole, began = slice.left, time.thread_time_ns()
        try:
            if search is None:
                begin(slice)
            else:
                go_on(search, slice)
        except Unfinished as cut:
            search = cut.search
            continue
        except NomospaceError:
            pass
        finally:
            longest = max(longest, time.thread_time_ns() - began)
            price += whole - slice.left
        break
    return Spent(price, longest)


# -- questions about sets ------------------------------------------------------------------------

CLASSES: Final = ("Car", "Van", "Bus", "Tax", "Loan", "Shop")
ASKS: Final = (
    *CLASSES,
    *(
        "Car:price < 5",
        "Van:price = 3",
        "Bus:price != null and not price = 1",
        "Car#c1",
        "int",
        "'a'",
    ),
)


IDS: Final[dict[str, Callable[[str, int], Term]]] = {
    "names": lambda letter, number: f"{letter.lower()}{number}",
    "alike": lambda letter, number: PRIME * (1 + number),
    "terms": lambda letter, number: Compound("id", (PRIME * (1 + number), "a")),
    "none": lambda letter, number: None,
}


@dataclass(frozen=True, slots=True)
class SetsCase:
    """A question about sets of tuples, and the tuples."""

    asks: tuple[str, ...]
    shapes: tuple[str, ...]
    """Letters of the classes that a tuple has: tuples have these in turn."""
    tuples: int
    ids: int
    max_set: int
    every: bool
    key: bool
    props: int
    named: str
    """What ids are."""


SHAPES: Final = (
    "CV",
    "CC",
    "VB",
    "CVB",
    "TL",
    "CT",
    "LS",
    "SC",
    "CCC",
    "C",
    "VVT",
    "SSSS",
    "BTLSC",
)


def _sets(rng: Random) -> SetsCase:
    return SetsCase(
        some(rng, ASKS, 8),
        some(rng, SHAPES, 12),
        rng.choice((2, 20, 200)),
        rng.choice((1, 3, 20, 200)),
        rng.choice((2, 3, 6)),
        rng.random() < 0.5,
        rng.random() < 0.2,
        rng.choice((0, 3, 30)),
        rng.choice(tuple(IDS)),
    )


def _change_sets(rng: Random, one: SetsCase) -> SetsCase:
    roll = rng.random()
    if roll < 0.35:
        return replace(one, asks=words(rng, one.asks, ASKS, 10))
    if roll < 0.65:
        return replace(one, shapes=words(rng, one.shapes, SHAPES, 40))
    if roll < 0.75:
        named = rng.choice(tuple(IDS))
        return replace(one, every=not one.every, key=rng.random() < 0.3, named=named)
    most = {"tuples": 1_000, "ids": 1_000, "max_set": 8, "props": 1_000}
    made = numbers(rng, one, most, list(most))
    return replace(made, max_set=max(1, made.max_set), ids=max(1, made.ids))


def _field(word: str) -> Any:
    name, _, rest = word.partition(":")
    if rest:
        return a(name, rest)
    name, _, rest = word.partition("#")
    if rest:
        return obj(name, rest)
    return a(word) if word in CLASSES else int if word == "int" else "a"


class SharedObjectsCase(NamedTuple):
    """A space with tuples that share objects, and a question about sets of them."""

    space: Space
    ask: SetQuestion
    every: bool


def _gather(sets: SetsCase) -> SharedObjectsCase:
    importlib.import_module("nomospace.space.correlating")  # which a space does on use
    space = Space("s")
    for at in range(sets.tuples):
        shape = sets.shapes[at % len(sets.shapes)]
        made: list[Term] = []
        for nth, letter in enumerate(shape):
            name = next(one for one in CLASSES if one.startswith(letter))
            more = {f"p{n:03}": n for n in range(sets.props)}
            identity = IDS[sets.named](letter, (at * 7 + nth) % sets.ids)
            made.append(obj(name, identity, price=at % 7, **more))
        space.put(Record((*made, "a", at % 3), HOME, at + 1, HOME, HOME), now=1)
    template = Template.of([_field(word) for word in sets.asks])
    key = "Car" if sets.key else ""
    return SharedObjectsCase(space, SetQuestion(template, "always", key, sets.max_set), sets.every)


def _look(gathered: SharedObjectsCase) -> Spent:
    space, ask, every = gathered
    spent = sliced(
        lambda slice: space.sets.go_on(SetSearch(ask, every=every), now=1, slice=slice),
        lambda search, slice: space.sets.go_on(search, now=1, slice=slice),
    )
    return Spent(spent.price + PLAN_UNITS, spent.slice_ns)


def _show(draft: Any) -> str:
    return ", ".join([f"{one.name} {getattr(draft, one.name)!r}" for one in fields(draft)])[:900]


def _ready_condition(one: Condition) -> Tried:
    return Tried(one.text, value(one.value, 1, one.size), one.tries)


case(
    CostlyCase(
        "predicate",
        _condition,
        _change_condition,
        _try,
        _show,
        _ready_condition,
        unit="a character read, a name or comparison tried",
        unit_ns=250,
    )
)
case(
    CostlyCase(
        "template",
        _asked,
        _change_asked,
        _ask,
        _show,
        _lay,
        unit="a tuple, or a step of its test",
        unit_ns=250,
        cold=True,
    )
)
case(
    CostlyCase(
        "correlation",
        _sets,
        _change_sets,
        _look,
        _show,
        _gather,
        unit="a tuple looked at in a join",
        unit_ns=250,
        cold=True,
    )
)
