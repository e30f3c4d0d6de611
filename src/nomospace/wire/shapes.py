"""How a class goes onto the wire and comes back, worked out once from its annotations.

Structs are written by native code as they are, and read natively where the annotation of a field is
precise. Two things need more:

- A field that is `Any` holds a term, another struct, or plain data. Which, is said by a *slot* in
  `nomospace.wire.slots`; without one the class does not travel.
- A field that native code cannot write (a template, a listener) makes its class, and every class
  that holds it, go as a *twin*: a struct of the same form with terms in these places.

So a class has a wire form (itself or its twin), a way down to it (`lower`, most often none) and a
way up from it (`read`). New classes need no code here: only slots for what is `Any` in them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, Union, get_args, get_origin

import msgspec

from nomospace.terms.templates import Template
from nomospace.wire.packing import Unfit, pack_deep
from nomospace.wire.values import thaw, thaw_all, thaw_data, thaw_operation, thaw_said

Step: TypeAlias = Callable[[Any], Any]
Struct: TypeAlias = type[msgspec.Struct]

_make: Final = msgspec.convert
_set: Final = msgspec.structs.force_setattr
_ATOMS: Final = (str, int, float, bool, bytes, type(None))


class Slot(Protocol):
    """What may stand in a field that is `Any`."""

    def reader(self, shapes: Shapes) -> Step | None:
        """Makes the value of what was read; `None` when nothing is to be done."""

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        """Makes what native code can write of the value; with `raw`, whatever its terms are."""

    def holds(self) -> tuple[Struct, ...]:
        """The structs that may stand here."""


class Plain:
    """A term or other plain data, which one function makes of what was read."""

    __slots__ = ("_read",)

    def __init__(self, read: Step) -> None:
        self._read = read

    def reader(self, shapes: Shapes) -> Step:
        return self._read

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        return _raw if raw else None

    def holds(self) -> tuple[Struct, ...]:
        return ()


def _raw(value: Any) -> msgspec.Raw:
    """A value written without native code's limits, for native code to copy."""
    return msgspec.Raw(pack_deep(value))


TERM: Final = Plain(thaw)
"""A term of an agent: a field, a template, a message."""
SAID: Final = Plain(thaw_said)
"""A term that hosts made of agents' terms."""
OPERATION: Final = Plain(thaw_operation)
"""The same, which may hold variables."""
DATA: Final = Plain(thaw_data)
"""What a term may be, and dictionaries with names as keys."""


class Tagged:
    """One of several structs, told apart by their tags; or nothing, if `none`."""

    __slots__ = ("_by_tag", "_classes", "_none", "_what")

    def __init__(self, what: str, *classes: Struct, none: bool = False) -> None:
        self._what = what
        self._classes = classes
        self._none = none
        self._by_tag: dict[Any, Struct] = {}
        for each in classes:
            tag = each.__struct_config__.tag
            assert isinstance(tag, str), f"{each.__name__} needs a tag to be told from others"
            assert each.__struct_config__.array_like, f"the tag of {each.__name__} stands first"
            assert tag not in self._by_tag, f"two kinds of {what} have the tag {tag!r}"
            self._by_tag[tag] = each

    def kind(self, raw: Any) -> Struct:
        """The struct that something read is, by its tag."""
        tag = raw[0] if raw.__class__ is list and raw else None
        found = self._by_tag.get(tag) if tag.__class__ is str else None
        if found is None:
            raise Unfit(f"{brief(tag)} is no known kind of {self._what}")
        return found

    def reader(self, shapes: Shapes) -> Step:
        def read(raw: Any) -> Any:
            if raw is None and self._none:
                return None
            return shapes.read(self.kind(raw), raw)

        return read

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        if not raw and not any(shapes.is_lowered(each) for each in self._classes):
            return None
        known = dict.fromkeys(self._classes)

        def lower(value: Any) -> Any:
            if value.__class__ in known:
                return shapes.lower(value, raw=raw)
            if value is None and self._none:
                return None
            raise TypeError(f"a {type(value).__name__} is no {self._what}")

        return lower

    def holds(self) -> tuple[Struct, ...]:
        return self._classes


class Of:
    """Always a value of one precise type."""

    __slots__ = ("type",)

    def __init__(self, type: Any) -> None:
        self.type = type

    def reader(self, shapes: Shapes) -> Step:
        if isinstance(self.type, type) and issubclass(self.type, msgspec.Struct):
            return lambda raw: shapes.read(self.type, raw)
        assert not structs_in(self.type)
        return lambda raw: _convert(raw, self.type)

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        return shapes.lowerer(self.type, None, raw)

    def holds(self) -> tuple[Struct, ...]:
        return tuple(structs_in(self.type))


class _Patterns:
    """A template: its list term."""

    __slots__ = ()

    def read(self, fields: Any) -> Template:
        return Template.from_term(thaw_all(fields))

    def lower(self, template: Template) -> Any:
        return template.term

    def lower_raw(self, template: Template) -> Any:
        return _raw(template.term)


_PATTERNS: Final = _Patterns()


def _convert(raw: Any, wanted: Any) -> Any:
    try:
        return msgspec.convert(raw, wanted)
    except (msgspec.ValidationError, OverflowError) as error:
        raise Unfit(str(error)) from None


def brief(value: Any) -> str:
    """A few words for something that a peer sent, whatever it is."""
    if value.__class__ is not str:
        return f"a {type(value).__name__}"
    return repr(value) if len(value) <= 40 else f"{value[:37]!r}..."


def structs_in(annotation: Any) -> list[Struct]:
    """The structs that an annotation names; a template is none, it goes as its term."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [] if annotation is Template else [annotation]
    found: list[Struct] = []
    for part in get_args(annotation):
        found += structs_in(part)
    return found


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _is_listener(annotation: Any) -> bool:
    """A function, or perhaps one: it stays in its process."""
    return any(get_origin(part) is Callable for part in (annotation, *get_args(annotation)))


class Shapes:
    """All classes that travel, with what stands in their open fields.

    Shapes are worked out when they are first needed, and kept: there are as many as classes.
    """

    __slots__ = ("_finishers", "_is_lowered", "_lowerers", "_readers", "_slots", "_twins")

    def __init__(self, slots: Mapping[tuple[Struct, str], Slot]) -> None:
        self._slots = slots
        self._twins: dict[Struct, Struct] = {}
        self._readers: dict[Struct, tuple[Any, Step | None]] = {}
        self._finishers: dict[Struct, Step | None] = {}
        self._lowerers: dict[tuple[Struct, bool], Step | None] = {}
        self._is_lowered: dict[Struct, bool] = {}

    # -- what others ask -------------------------------------------------------------------

    def read(self, struct: Struct, raw: Any) -> Any:
        """Make an instance of what was read; raises `Unfit` when that cannot be."""
        known = self._readers.get(struct)
        if known is None:
            known = self._readers[struct] = self.wire(struct), self.finish_of(struct)
        wire, finish = known
        try:
            made = _make(raw, wire)
        except (msgspec.ValidationError, OverflowError) as error:
            raise Unfit(str(error)) from None
        return made if finish is None else finish(made)

    def lower(self, value: Any, *, raw: bool = False) -> Any:
        """What native code can write of an instance: mostly itself."""
        step = self.lower_of(value.__class__, raw)
        return value if step is None else step(value)

    def is_lowered(self, struct: Struct) -> bool:
        """Whether instances may hold what native code cannot write."""
        known = self._is_lowered.get(struct)
        if known is None:
            reached = self.reached(struct)
            known = self._is_lowered[struct] = any(self._is_twinned(each) for each in reached)
        return known

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

    def wire(self, annotation: Any) -> Any:
        """The type that native code reads where this one is meant."""
        if annotation is Template:
            return tuple[Any, ...]
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            return self._twin(annotation) if self._is_twinned(annotation) else annotation
        args = get_args(annotation)
        if not args or not any(self._is_twinned(each) for each in structs_in(annotation)):
            return annotation
        parts = tuple([part if part is ... else self.wire(part) for part in args])
        if _is_union(annotation):
            return Union[parts]  # noqa: UP007  # made at run time
        return get_origin(annotation)[parts]

    def _is_twinned(self, struct: Struct, within: tuple[Struct, ...] = ()) -> bool:
        """Whether a precise annotation of a struct leads to what native code cannot write."""
        if struct in within:
            return False
        for field in msgspec.structs.fields(struct):
            if field.type is Template or _is_listener(field.type):
                return True
            for each in structs_in(field.type):
                if self._is_twinned(each, (*within, struct)):
                    return True
        return False

    def _twin(self, struct: Struct) -> Struct:
        twin = self._twins.get(struct)
        if twin is None:
            config = struct.__struct_config__
            fields: list[Any] = []
            for field in msgspec.structs.fields(struct):
                if _is_listener(field.type):
                    continue
                one: list[Any] = [field.name, self.wire(field.type)]
                if field.default is not msgspec.NODEFAULT:
                    one.append(field.default)
                fields.append(tuple(one))
            twin = self._twins[struct] = msgspec.defstruct(
                f"{struct.__name__}Twin",
                fields,
                frozen=True,
                array_like=config.array_like,
                tag=config.tag,
            )
        return twin

    # -- up --------------------------------------------------------------------------------

    def finish_of(self, struct: Struct) -> Step | None:
        """What is to be done with an instance of a wire form, if anything."""
        if struct not in self._finishers:
            self._finishers[struct] = self._finish(struct)
        return self._finishers[struct]

    def _finish(self, struct: Struct) -> Step | None:
        fields = [f for f in msgspec.structs.fields(struct) if not _is_listener(f.type)]
        steps: list[tuple[str, Step]] = []
        for field in fields:
            step = self.finisher(field.type, self._slot(struct, field.name, field.type))
            if step is not None:
                steps.append((field.name, step))
        if self._is_twinned(struct):
            names = [field.name for field in fields]
            by_name = dict(steps)

            def rebuild(twin: Any) -> Any:
                values = {name: getattr(twin, name) for name in names}
                for name, step in by_name.items():
                    values[name] = step(values[name])
                return struct(**values)

            return rebuild
        if not steps:
            return None
        if len(steps) == 1:
            ((only, fix),) = steps

            def finish_one(made: Any) -> Any:
                _set(made, only, fix(getattr(made, only)))
                return made

            return finish_one

        def finish(made: Any) -> Any:
            for name, step in steps:
                _set(made, name, step(getattr(made, name)))
            return made

        return finish

    def _slot(self, struct: Struct, name: str, annotation: Any) -> Slot | None:
        slot = self._slots.get((struct, name))
        if slot is None and has_any(annotation):
            raise TypeError(f"nothing says what stands in {struct.__name__}.{name}")
        return slot

    def finisher(self, annotation: Any, slot: Slot | None) -> Step | None:
        """What is to be done with a value that was read as an annotation says."""
        if annotation is Any:
            assert slot is not None
            return slot.reader(self)
        if annotation is Template:
            return _PATTERNS.read
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            return self._later(annotation)
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is tuple and args[-1] is ...:
            if args[0] is Any and slot is TERM:
                return thaw_all
            return _every(self.finisher(args[0], slot))
        if origin is tuple:
            return _each(tuple([self.finisher(part, slot) for part in args]))
        if origin is dict:
            return _every_value(self.finisher(args[1], slot))
        if _is_union(annotation):
            return self._either(args)
        assert annotation in _ATOMS or not has_any(annotation), annotation
        return None

    def _later(self, struct: Struct) -> Step | None:
        """The step of a struct that may hold itself: looked up when it is first taken."""
        if not self._is_twinned(struct) and not self._has_steps(struct):
            return None

        def finish(made: Any) -> Any:
            step = self.finish_of(struct)
            return made if step is None else step(made)

        return finish

    def _has_steps(self, struct: Struct) -> bool:
        return any(
            has_any(field.type) or field.type is Template
            for each in self.reached(struct)
            for field in msgspec.structs.fields(each)
        )

    def _either(self, parts: tuple[Any, ...]) -> Step | None:
        steps = {
            self.wire(each): step
            for part in parts
            for each in structs_in(part)
            if (step := self._later(each)) is not None
        }
        if not steps:
            return None

        def finish(made: Any) -> Any:
            step = steps.get(made.__class__)
            return made if step is None else step(made)

        return finish

    # -- down ------------------------------------------------------------------------------

    def lower_of(self, struct: Struct, raw: bool) -> Step | None:
        """What is to be done with an instance before native code can write it, if anything."""
        key = (struct, raw)
        if key not in self._lowerers:
            self._lowerers[key] = self._lower(struct, raw)
        return self._lowerers[key]

    def _lower(self, struct: Struct, raw: bool) -> Step | None:
        if not raw and not self.is_lowered(struct):
            return None
        fields = [f for f in msgspec.structs.fields(struct) if not _is_listener(f.type)]
        steps: dict[str, Step] = {}
        for field in fields:
            slot = self._slot(struct, field.name, field.type)
            step = self.lowerer(field.type, slot, raw)
            if step is not None:
                steps[field.name] = step
        if self._is_twinned(struct):
            twin = self._twin(struct)
            names = [field.name for field in fields]

            def rebuild(value: Any) -> Any:
                values = {name: getattr(value, name) for name in names}
                for name, step in steps.items():
                    values[name] = step(values[name])
                return twin(**values)

            return rebuild
        if not steps:
            return None

        def lower(value: Any) -> Any:
            changed: dict[str, Any] = {}
            for name, step in steps.items():
                before = getattr(value, name)
                after = step(before)
                if after is not before:
                    changed[name] = after
            return msgspec.structs.replace(value, **changed) if changed else value

        return lower

    def lowerer(self, annotation: Any, slot: Slot | None, raw: bool) -> Step | None:
        """What is to be done with a value of an annotation before native code can write it."""
        if annotation is Any:
            assert slot is not None
            return slot.lowerer(self, raw)
        if annotation is Template:
            return _PATTERNS.lower_raw if raw else _PATTERNS.lower
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            if not raw and not self.is_lowered(annotation):
                return None
            return lambda value: self.lower(value, raw=raw)
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is tuple and args[-1] is ...:
            return _every(self.lowerer(args[0], slot, raw))
        if origin is tuple:
            return _each(tuple([self.lowerer(part, slot, raw) for part in args]))
        if origin is dict:
            return _every_value(self.lowerer(args[1], slot, raw))
        if _is_union(annotation) and any(raw or self.is_lowered(s) for s in structs_in(annotation)):
            known = dict.fromkeys(structs_in(annotation))
            return lambda value: self.lower(value, raw=raw) if value.__class__ in known else value
        return None


def _every(step: Step | None) -> Step | None:
    """A step for each item of a tuple."""
    return None if step is None else lambda values: tuple([step(each) for each in values])


def _every_value(step: Step | None) -> Step | None:
    """A step for each value of a dictionary."""
    return None if step is None else lambda values: {k: step(v) for k, v in values.items()}


def _each(steps: tuple[Step | None, ...]) -> Step | None:
    """One step for each place of a tuple."""
    if not any(steps):
        return None

    def do(values: Any) -> Any:
        return tuple(
            [
                value if step is None else step(value)
                for step, value in zip(steps, values, strict=True)
            ]
        )

    return do


def has_any(annotation: Any) -> bool:
    """Whether an annotation leaves something open.

    >>> has_any(tuple[int, Any]), has_any(dict[str, int])
    (True, False)
    """
    return annotation is Any or any(has_any(part) for part in get_args(annotation))
