"""Shapes: what terms of one sort look like, so that laws, events and states fit each other.

A law's heads and senses are patterns of a shape, and the events and control states drawn for the
law are values of the same shape, from pools so small that things meet. A few values are odd on
purpose: `1.0` where `1` is usual, a list where a number is. Some names look like lists (`'[]'`,
`'.'`) and are none. A few values of events and states are heavy: long texts, long lists, terms with
shared parts. Each heavy one has a twin, equal and yet another object, so that comparing takes time.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from nomospace.terms import Compound, Term
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

HOME: Final = "ann@x"
AGENTS: Final = (HOME, "bob@x", "eve@y", "market")
NUMBERS: Final = (0, 1, 2, 3, 5, 7, -1, 1, 2, 2.5, 1.0)
ATOMS: Final = ("a", "b", "c", "a", "b", "abc", "two words", "12", "a-b-c", "Abc", "")
ODD: Final[tuple[Term, ...]] = (
    *(1.0, True, False, None, 1, "a", "1", (), (1,), b"\x01", 10**30, -0.5),
    Compound("f", (1,)),
    Compound("f", ("a", 1.0)),
    Compound("+", (1, 2)),
    Compound("[]", (1,)),
    Compound(".", (1, ())),
    Compound("", ("a",)),
)
LARGE: Final[tuple[Term, ...]] = (
    tuple([Compound("item", (number, (number, "a"))) for number in range(5)]),
    Compound("f", tuple([Compound("g", (number, Compound("h", (1,)))) for number in range(6)])),
    Compound("[]", (Compound("[]", (((1,), (2,)),)), Compound(".", (1, ())), ((("x",),),))),
    Compound("", tuple([Compound("", (name, 1.0)) for name in ("a", "b", "a", "b", "a", "")])),
)
"""Terms for a law's text that cost something to compare."""
NAMES: Final = ("pay", "bid", "job", "note", "item", "pay", "bid", "[]", ".", "")
HEAVY_SHARE: Final = 0.03
"""How often a part of an event or a state is heavy."""
WORDS: Final = ("ping", "stop", "pay", "flag")


@dataclass(frozen=True, slots=True)
class TermSort:
    """A sort of terms: `number`, `atom`, `agent`, `any`, or made of `parts`: `list`, `struct`.

    A `word` is one atom, its name. The items of a list all have its one part's shape; a `row` is a
    list with a shape for each place.
    """

    sort: str
    name: str = ""
    parts: tuple[TermSort, ...] = ()


NUMBER: Final = TermSort("number")
ATOM: Final = TermSort("atom")
AGENT: Final = TermSort("agent")
ANY: Final = TermSort("any")
NUMBERS_LIST: Final = TermSort("list", parts=(NUMBER,))
ATOMS_LIST: Final = TermSort("list", parts=(ATOM,))
AGENTS_LIST: Final = TermSort("list", parts=(AGENT,))
ANY_LIST: Final = TermSort("list", parts=(ANY,))


def doubled(levels: int, name: str = "p", leaf: Term = "z") -> Term:
    """`p(p(…), p(…))` with as many levels, in a few bytes: both arguments are one object."""
    made = leaf
    for _ in range(levels):
        made = Compound(name, (made, made))
    return made


def _heavy() -> tuple[Term, ...]:
    numbers = list(range(350))
    return (
        doubled(5),
        doubled(10),
        doubled(11, "[]"),
        Compound("f", (doubled(9), doubled(9, leaf=1))),
        tuple(numbers),
        tuple([Compound("item", (number, "a")) for number in numbers[:120]]),
        tuple([(number,) for number in numbers[:40]]),
        "long " * 1_000,
        "a-b-c-" * 400,
        2**4000,
        -(10**300),
    )


HEAVY: Final = (*_heavy(), *_heavy())


def struct(name: str, *parts: TermSort) -> TermSort:
    """The shape of `name(…)`."""
    return TermSort("struct", name, parts)


CERTIFICATE: Final = TermSort(
    "row",
    parts=(
        struct("issuer", ATOM),
        struct("subject", AGENT),
        struct("attributes", TermSort("list", parts=(struct("role", ATOM),))),
    ),
)


def random_shape(rng: Random, depth: int = 2) -> TermSort:
    """Some shape, of at most so many levels."""
    if depth == 0 or rng.random() < 0.6:
        return rng.choice((NUMBER, NUMBER, ATOM, ATOM, AGENT))
    if rng.random() < 0.4:
        return TermSort("list", parts=(random_shape(rng, depth - 1),))
    return random_struct(rng, depth)


def random_struct(rng: Random, depth: int = 2) -> TermSort:
    """The shape of some compound."""
    count = rng.choice((1, 2, 2, 3))
    parts = tuple([random_shape(rng, depth - 1) for _ in range(count)])
    return TermSort("struct", rng.choice(NAMES), parts)


def draw(rng: Random, shape: TermSort, oddity: float = 0.03, heavy: float = 0.0) -> Term:
    """A value of a shape; each part is odd, or heavy, with a small probability."""
    if rng.random() < oddity:
        return rng.choice(ODD)
    if heavy and rng.random() < heavy:
        return rng.choice(HEAVY)
    if shape.sort == "number":
        return rng.choice(NUMBERS)
    if shape.sort == "atom":
        return rng.choice(ATOMS)
    if shape.sort == "agent":
        return rng.choice(AGENTS)
    if shape.sort == "word":
        return shape.name
    if shape.sort == "list":
        return tuple(
            [draw(rng, shape.parts[0], oddity, heavy) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
        )
    if shape.sort in ("struct", "row"):
        parts = tuple([draw(rng, part, oddity, heavy) for part in shape.parts])
        return Compound(shape.name, parts) if shape.sort == "struct" else parts
    return draw(rng, random_shape(rng), oddity, heavy)


def aim(rng: Random, node: Node, shape: TermSort, values: dict[str, Term]) -> Term:
    """A ground term that the pattern `node` takes; its variables get values of the shape."""
    if isinstance(node, Const):
        return node.value
    if isinstance(node, Variable):
        if node.name == "_":
            return draw(rng, shape, heavy=HEAVY_SHARE)
        if node.name not in values:
            values[node.name] = draw(rng, shape, heavy=HEAVY_SHARE)
        return values[node.name]
    if isinstance(node, Struct):
        parts = shape.parts if len(shape.parts) == len(node.args) else (ANY,) * len(node.args)
        args = zip(node.args, parts, strict=True)
        return Compound(node.name, tuple([aim(rng, arg, part, values) for arg, part in args]))
    assert isinstance(node, ListSyntax)
    if shape.sort == "row" and len(shape.parts) == len(node.items):
        pairs = zip(node.items, shape.parts, strict=True)
    else:
        part = shape.parts[0] if shape.sort == "list" else ANY
        pairs = zip(node.items, [part] * len(node.items), strict=True)
    items = tuple([aim(rng, item, part, values) for item, part in pairs])
    if node.tail is None:
        return items
    tail = aim(rng, node.tail, shape if shape.sort == "list" else ANY_LIST, values)
    return items + tail if isinstance(tail, tuple) else items
