"""Instances of everything that travels, made from annotations and the table of slots."""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from nomospace.terms import Compound
from nomospace.terms.templates import ANY, Template, between
from nomospace.wire.kinds import DATA, OPERATION, SAID, TERM, Of, Slot, Tagged
from nomospace.wire.slots import SLOTS

TEXTS = st.text(max_size=6)
NAMES = st.sampled_from(["ann@ward", "bob@lab", "ward", ""])
NUMBERS = st.integers(-(2**63), 2**63 - 1)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0),
    TEXTS,
    st.binary(max_size=6),
)
FUNCTORS = TEXTS.filter(lambda name: name not in ("[|]", "formal"))
TERMS = st.recursive(
    ATOMS,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map(tuple),
        st.builds(Compound, FUNCTORS, st.lists(parts, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
FIELDS = st.lists(TERMS, min_size=1, max_size=4).map(tuple)
PATTERNS = st.lists(
    st.one_of(ATOMS, st.just(ANY), st.sampled_from([int, str, list]), st.just(between(1, 9))),
    min_size=1,
    max_size=4,
)
PLAIN = st.one_of(
    st.none(),
    st.binary(max_size=20),
    TERMS,
    st.dictionaries(st.text(min_size=2), TERMS, max_size=3),
)


def of(annotation: Any, slot: Slot | None = None, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that an annotation allows, with what a slot says in the place of `Any`."""
    if annotation is Any:
        assert slot is not None
        return in_slot(slot, depth)
    if annotation is Template:
        return PATTERNS.map(Template.of)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return instances(annotation, depth)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):  # a named tuple
        parts = [of(part, slot, depth) for part in get_type_hints(annotation).values()]
        return st.tuples(*parts).map(annotation._make)  # type: ignore[attr-defined]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple and args[-1] is ...:
        return st.lists(of(args[0], slot, depth), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*[of(part, slot, depth) for part in args])
    if origin is list:
        return st.lists(of(args[0], slot, depth), max_size=2)
    if origin is dict:
        return st.dictionaries(of(args[0]), of(args[1], slot, depth), max_size=2)
    if origin in (Union, types.UnionType):
        if any(get_origin(part) is Callable for part in args):
            return st.none()
        return st.one_of(*[of(part, slot, depth) for part in args])
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: st.one_of(NAMES, TEXTS),
        int: NUMBERS,
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        bytes: st.binary(max_size=8),
        type(None): st.none(),
    }
    return plain[annotation]


def in_slot(slot: Slot, depth: int) -> st.SearchStrategy[Any]:
    """Values that a slot allows; frames in frames only so deep."""
    if slot in (TERM, SAID, OPERATION):
        return TERMS
    if slot is DATA:
        return PLAIN
    if isinstance(slot, Of):
        return of(slot.type, None, depth + 1)
    assert isinstance(slot, Tagged)
    kinds = [each for each in slot.holds() if depth < 3 or not opens_again(each)]
    return st.sampled_from(kinds).flatmap(lambda kind: instances(kind, depth + 1))


def opens_again(struct: type[msgspec.Struct]) -> bool:
    """Whether a struct may hold structs without end."""
    return any(
        isinstance(SLOTS.get((struct, f.name)), Tagged) for f in msgspec.structs.fields(struct)
    )


@cache
def instances(struct: type[msgspec.Struct], depth: int = 0) -> st.SearchStrategy[Any]:
    """Instances of a struct, as they may travel."""
    parts = [
        of(field.type, SLOTS.get((struct, field.name)), depth)
        for field in msgspec.structs.fields(struct)
    ]
    return st.builds(struct, *parts)


LEAF = Compound("leaf", ("fire", 7, 2.5, None, True, b"\0", ("a",)))
"""A term with a part of each kind."""


def example(struct: type[msgspec.Struct]) -> Any:
    """One instance of a struct, the same whenever and wherever it is made."""
    return struct(
        *[
            example_of(field.type, SLOTS.get((struct, field.name)), field.name)
            for field in msgspec.structs.fields(struct)
        ]
    )


def example_of(annotation: Any, slot: Slot | None, word: str) -> Any:
    """One value that an annotation allows; texts are the word."""
    if annotation is Any:
        return _example_in(slot)
    if annotation is Template:
        return Template.of(("job", ANY, LEAF))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return example(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        parts = args[:1] if args[-1] is ... else args
        return tuple([example_of(part, slot, word) for part in parts])
    if origin is list:
        return [example_of(args[0], slot, word)]
    if origin is dict:
        return {word: example_of(args[1], slot, word)}
    if origin in (Union, types.UnionType):
        if any(get_origin(part) is Callable for part in args):
            return None
        return example_of(args[0], slot, word)
    plain = {str: word, int: len(word), float: 0.5, bool: True, bytes: word.encode()}
    return plain[annotation]


def _example_in(slot: Slot | None) -> Any:
    if slot is DATA:
        return {"left": (1, LEAF)}
    if isinstance(slot, Of):
        return example_of(slot.type, None, "of")
    if isinstance(slot, Tagged):
        return example(next(kind for kind in slot.holds() if not opens_again(kind)))
    return LEAF
