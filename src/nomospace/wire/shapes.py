"""How a class goes onto the wire and comes back, worked out once from its annotations.

Structs are written by native code as they are, and read natively where the annotation of a field is
precise. Two things need more:

- An open field (`object`, a term) holds a term, another struct, or plain data. Which, is said by
  a *slot* in `nomospace.wire.slots`; without one the class does not travel.
- A field that native code cannot write (a template, a listener) makes its class, and every class
  that holds it, go as a *twin*: a struct of the same form with terms in these places.

So a class has a wire form (itself or its twin), a way down to it (`lower`, most often none) and a
way up from it (`read`). New classes need no code here: only slots for their open fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from nomospace.terms.templates import Template
from nomospace.wire.annotations import (
    Step,
    Struct,
    has_any,
    is_listener,
    is_open,
    is_struct,
    is_union,
    structs_in,
    through,
)
from nomospace.wire.kinds import Slot, as_raw, convert
from nomospace.wire.values import thaw_all

_set: Final = msgspec.structs.force_setattr


class Shapes:
    """All classes that travel, with what stands in their open fields.

    Shapes are worked out when they are first needed, and kept: there are as many as classes.
    """

    __slots__ = ("_slots", "_twin", "finish_of", "is_lowered", "lower_of", "reading")

    def __init__(self, slots: Mapping[tuple[Struct, str], Slot]) -> None:
        self._slots = slots
        self._twin = cache(self._make_twin)
        self.reading = cache(self._reading)
        """The type that native code reads a struct as, and what is to be done with that."""
        self.finish_of = cache(self._finish)
        """What is to be done with an instance of a wire form, if anything."""
        self.is_lowered = cache(self._holds_more)
        """Whether instances may hold what native code cannot write."""
        self.lower_of = cache(self._lower)
        """What is to be done with an instance before native code can write it, if anything; with
        `raw`, whatever its terms are."""

    def read(self, struct: Struct, raw: object) -> Any:
        """Make an instance of what was read; raises `Unfit` when that cannot be."""
        wire, finish = self.reading(struct)
        made = convert(raw, wire)
        return made if finish is None else finish(made)

    def _reading(self, struct: Struct) -> tuple[object, Step | None]:
        return self.wire(struct), self.finish_of(struct)

    def lower(self, value: object, *, raw: bool = False) -> Any:
        """What native code can write of an instance: mostly itself.

        With `raw`, terms are written without native code, which has limits that terms have not.
        """
        kind = value.__class__
        step = self.lower_of(kind, raw) if is_struct(kind) else None
        return value if step is None else step(value)

    def reached(self, *structs: Struct) -> list[Struct]:
        """These structs and all that may stand in them, at any depth."""
        found: dict[Struct, None] = {}
        todo = list(structs)
        while todo:
            struct = todo.pop()
            if struct in found:
                continue
            found[struct] = None
            for field in msgspec.structs.fields(struct):
                todo += structs_in(field.type)
                slot = self._slots.get((struct, field.name))
                if slot is not None:
                    todo += slot.holds()
        return list(found)

    # -- wire forms ------------------------------------------------------------------------

    def wire(self, annotation: object) -> Any:
        """The type that native code reads where this one is meant."""
        if annotation is Template:
            return tuple[object, ...]
        if is_struct(annotation):
            return self._twin(annotation) if _is_twinned(annotation) else annotation
        if not any(_is_twinned(each) for each in structs_in(annotation)):
            return annotation
        parts = tuple([part if part is ... else self.wire(part) for part in get_args(annotation)])
        if is_union(annotation):
            return Union[parts]  # noqa: UP007  # made at run time
        origin: Any = get_origin(annotation)
        return origin[parts]

    def _make_twin(self, struct: Struct) -> Struct:
        fields: list[tuple[str, object] | tuple[str, object, object]] = []
        for field in _travelling(struct):
            if field.default is msgspec.NODEFAULT:
                fields.append((field.name, self.wire(field.type)))
            else:
                fields.append((field.name, self.wire(field.type), field.default))
        config = struct.__struct_config__
        name, like, tag = f"{struct.__name__}Twin", config.array_like, config.tag
        return msgspec.defstruct(name, fields, frozen=True, array_like=like, tag=tag)

    def _holds_more(self, struct: Struct) -> bool:
        return any(map(_is_twinned, self.reached(struct)))

    def _steps(self, struct: Struct, make: Callable[[object, Slot | None], Step | None]) -> _Steps:
        """The fields of a struct that something must be done with, and what."""
        steps: _Steps = {}
        for field in _travelling(struct):
            slot = self._slots.get((struct, field.name))
            if slot is None and has_any(field.type):
                raise TypeError(f"nothing says what stands in {struct.__name__}.{field.name}")
            step = make(field.type, slot)
            if step is not None:
                steps[field.name] = step
        return steps

    # -- up --------------------------------------------------------------------------------

    def _finish(self, struct: Struct) -> Step | None:
        steps = self._steps(struct, self._finisher)
        if _is_twinned(struct):
            return _rebuild(struct, struct, steps)
        if not steps:
            return None

        def finish(made: msgspec.Struct) -> msgspec.Struct:
            for name, step in steps.items():
                _set(made, name, step(getattr(made, name)))  # nobody else has it yet
            return made

        return finish

    def _finisher(self, annotation: object, slot: Slot | None) -> Step | None:
        """What is to be done with a value that was read as an annotation says."""

        def at(leaf: object) -> Step | None:
            if is_open(leaf):
                assert slot is not None
                return slot.reader(self)
            if leaf is Template:
                return _read_template
            return self._later(leaf) if is_struct(leaf) else None

        return through(annotation, at, self.wire)

    def _later(self, struct: Struct) -> Step | None:
        """The step of a struct, which may hold itself: looked up when it is first taken."""
        fields = [f for each in self.reached(struct) for f in msgspec.structs.fields(each)]
        if not any(has_any(f.type) or f.type is Template for f in fields):
            return None

        def finish(made: object) -> object:
            step = self.finish_of(struct)
            return made if step is None else step(made)

        return finish

    # -- down ------------------------------------------------------------------------------

    def _lower(self, struct: Struct, raw: bool) -> Step | None:
        if not raw and not self.is_lowered(struct):
            return None
        steps = self._steps(struct, lambda annotation, slot: self.lowerer(annotation, slot, raw))
        if _is_twinned(struct):
            return _rebuild(struct, self._twin(struct), steps)
        if not steps:
            return None

        def lower(value: msgspec.Struct) -> object:
            changed: dict[str, object] = {}
            for name, step in steps.items():
                before = getattr(value, name)
                after = step(before)
                if after is not before:
                    changed[name] = after
            return msgspec.structs.replace(value, **changed) if changed else value

        return lower

    def lowerer(self, annotation: object, slot: Slot | None, raw: bool) -> Step | None:
        """What is to be done with a value of an annotation before native code can write it."""

        def at(leaf: object) -> Step | None:
            if is_open(leaf):
                assert slot is not None
                return slot.lowerer(self, raw)
            if leaf is Template:
                return (lambda template: as_raw(template.term)) if raw else attrgetter("term")
            if not raw and is_struct(leaf) and not self.is_lowered(leaf):
                return None
            return lambda value: self.lower(value, raw=raw)

        return through(annotation, at, lambda struct: struct)


_Steps = dict[str, Step]


def _travelling(struct: Struct) -> list[msgspec.structs.FieldInfo]:
    """The fields of a struct that travel: all but functions."""
    return [field for field in msgspec.structs.fields(struct) if not is_listener(field.type)]


def _is_twinned(struct: Struct, within: tuple[Struct, ...] = ()) -> bool:
    """Whether a precise annotation of a struct leads to what native code cannot write."""
    if struct in within:
        return False
    for field in msgspec.structs.fields(struct):
        if field.type is Template or is_listener(field.type):
            return True
        if any(_is_twinned(each, (*within, struct)) for each in structs_in(field.type)):
            return True
    return False


def _rebuild(struct: Struct, to: Struct, steps: _Steps) -> Step:
    """Makes a struct of its twin, or the other way."""
    names = [field.name for field in _travelling(struct)]

    def rebuild(value: object) -> object:
        values = {name: getattr(value, name) for name in names}
        for name, step in steps.items():
            values[name] = step(values[name])
        return to(**values)

    return rebuild


def _read_template(fields: Collection[object]) -> Template:
    return Template.from_term(thaw_all(fields))
