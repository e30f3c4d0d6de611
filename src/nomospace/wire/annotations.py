"""Annotations of structs: what they name, what they leave open, and how to walk values by them.

A *step* makes one value of another, as a frame goes down to what native code can write or comes up
from it. Most parts need none; `through` puts the steps of parts together to one for the whole.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeGuard, Union, get_args, get_origin

import msgspec

from nomospace.terms.templates import Template
from nomospace.wire.values import thaw, thaw_all

Step: TypeAlias = Callable[[Any], Any]
Struct: TypeAlias = type[msgspec.Struct]


def is_struct(annotation: object) -> TypeGuard[Struct]:
    """Whether an annotation is a struct."""
    return isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)


def is_union(annotation: object) -> bool:
    """Whether an annotation is one of several, however it is written."""
    return get_origin(annotation) in (Union, types.UnionType)


def is_listener(annotation: object) -> bool:
    """Whether an annotation is a function, or perhaps one: it stays in its process."""
    return any(get_origin(part) is Callable for part in (annotation, *get_args(annotation)))


def is_open(annotation: object) -> bool:
    """Whether an annotation says nothing of what stands there."""
    return annotation is object or annotation is Any


def has_any(annotation: object) -> bool:
    """Whether an annotation leaves something open.

    >>> has_any(tuple[int, object]), has_any(dict[str, int])
    (True, False)
    """
    return is_open(annotation) or any(has_any(part) for part in get_args(annotation))


def structs_in(annotation: object) -> list[Struct]:
    """The structs that an annotation names; a template is none, it goes as its term."""
    if is_struct(annotation):
        return [] if annotation is Template else [annotation]
    found: list[Struct] = []
    for part in get_args(annotation):
        found += structs_in(part)
    return found


def through(
    annotation: object,
    at: Callable[[object], Step | None],
    met: Callable[[Struct], object],
) -> Step | None:
    """One step for a value of an annotation; `None` when no part needs any.

    `at` gives the step of a struct, a template or something open; `met` is the class in which a
    struct of a union is met.

    >>> step = through(dict[str, tuple[object, ...]], lambda leaf: str.upper, lambda struct: struct)
    >>> step({"a": ["x", "y"]})
    {'a': ('X', 'Y')}
    """
    if is_open(annotation) or is_struct(annotation):
        return at(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple and args[-1] is ...:
        return _every(through(args[0], at, met))
    if origin is tuple:
        return _each(tuple([through(part, at, met) for part in args]))
    if origin is dict:
        return _every_value(through(args[1], at, met))
    if is_union(annotation):
        steps = {met(each): at(each) for each in structs_in(annotation)}
        return _either({kind: step for kind, step in steps.items() if step is not None})
    assert not has_any(annotation), f"{annotation} is not walked"
    return None


def _every(step: Step | None) -> Step | None:
    """A step for each item of a tuple."""
    if step is thaw:
        return thaw_all
    return None if step is None else lambda values: tuple([step(each) for each in values])


def _every_value(step: Step | None) -> Step | None:
    """A step for each value of a dictionary."""
    return None if step is None else lambda values: {k: step(v) for k, v in values.items()}


def _each(steps: tuple[Step | None, ...]) -> Step | None:
    """One step for each place of a tuple."""
    if not any(steps):
        return None

    def do(values: Iterable[object]) -> object:
        pairs = zip(steps, values, strict=True)
        return tuple([value if step is None else step(value) for step, value in pairs])

    return do


def _either(steps: dict[object, Step]) -> Step | None:
    """The step of whatever it is."""
    if not steps:
        return None

    def do(value: object) -> object:
        step = steps.get(value.__class__)
        return value if step is None else step(value)

    return do
