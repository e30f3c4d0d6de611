"""What may stand in an open field: a term, a struct with a tag, a value of one type.

Each is a slot: it knows how to make the value of what was read, and what native code can write of
it. `nomospace.wire.slots` says which slot each open field has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from nomospace.wire.annotations import Step, Struct, is_struct, structs_in
from nomospace.wire.packing import Unfit, pack_deep
from nomospace.wire.values import thaw, thaw_data, thaw_operation, thaw_said

if TYPE_CHECKING:
    from nomospace.wire.shapes import Shapes


class Slot(Protocol):
    """What may stand in an open field."""

    def reader(self, shapes: Shapes) -> Step:
        """Makes the value of what was read; raises `Unfit`."""

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        """Makes what native code can write of the value; with `raw`, whatever its terms are."""

    def holds(self) -> tuple[Struct, ...]:
        """The structs that may stand here."""


class PlainData:
    """A term or other plain data, which one function makes of what was read."""

    __slots__ = ("_read",)

    def __init__(self, read: Step) -> None:
        self._read = read

    def reader(self, shapes: Shapes) -> Step:
        return self._read

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        return as_raw if raw else None

    def holds(self) -> tuple[Struct, ...]:
        return ()


def as_raw(value: object) -> msgspec.Raw:
    """A value written without native code's limits, for native code to copy."""
    return msgspec.Raw(pack_deep(value))


TERM: Final = PlainData(thaw)
"""A term of an agent: a field, a template, a message."""
SAID: Final = PlainData(thaw_said)
"""A term that hosts made of agents' terms."""
OPERATION: Final = PlainData(thaw_operation)
"""The same, which may hold variables."""
DATA: Final = PlainData(thaw_data)
"""What a term may be, and dictionaries with names as keys."""


class Tagged:
    """One of several structs, told apart by their tags; or nothing, if `none`."""

    __slots__ = ("_by_tag", "_classes", "_none", "_what")

    def __init__(self, what: str, *classes: Struct, none: bool = False) -> None:
        self._what = what
        self._classes = classes
        self._none = none
        self._by_tag: dict[str, Struct] = {}
        for each in classes:
            tag = each.__struct_config__.tag
            assert isinstance(tag, str), f"{each.__name__} needs a tag to be told from others"
            assert each.__struct_config__.array_like, f"the tag of {each.__name__} stands first"
            assert tag not in self._by_tag, f"two kinds of {what} have the tag {tag!r}"
            self._by_tag[tag] = each

    def kind(self, raw: object) -> Struct:
        """The struct that something read is, by its tag; raises `Unfit`."""
        tag = raw[0] if isinstance(raw, list) and raw else None
        found = self._by_tag.get(tag) if isinstance(tag, str) else None
        if found is None:
            raise Unfit(f"{_brief(tag)} is no known kind of {self._what}")
        return found

    def reader(self, shapes: Shapes) -> Step:
        known: dict[str, tuple[object, Step | None]] = {}

        def read(raw: Any) -> Any:
            tag: Any = raw[0] if raw.__class__ is list and raw else None
            if tag.__class__ is not str or tag not in known:
                if raw is None and self._none:
                    return None
                known[tag] = shapes.reading(self.kind(raw))
            wire, finish = known[tag]
            try:
                made = msgspec.convert(raw, wire)
            except (msgspec.ValidationError, OverflowError) as error:
                raise Unfit(str(error)) from None
            return made if finish is None else finish(made)

        return read

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        if not raw and not any(shapes.is_lowered(each) for each in self._classes):
            return None
        known = frozenset(self._classes)
        steps: dict[Struct, Step | None] = {}

        def lower(value: Any) -> Any:
            struct = value.__class__
            if struct not in steps:
                if struct not in known:
                    if value is None and self._none:
                        return None
                    raise TypeError(f"a {type(value).__name__} is no {self._what}")
                steps[struct] = shapes.lower_of(struct, raw)
            step = steps[struct]
            return value if step is None else step(value)

        return lower

    def holds(self) -> tuple[Struct, ...]:
        return self._classes


def _brief(tag: object) -> str:
    """A few words for what a peer sent as a tag, whatever it is."""
    if not isinstance(tag, str):
        return f"a {type(tag).__name__}"
    return repr(tag) if len(tag) <= 40 else f"{tag[:37]!r}..."


class Of:
    """Always a value of one precise type: a struct, or something without structs."""

    __slots__ = ("type",)

    def __init__(self, type: object) -> None:
        assert is_struct(type) or not structs_in(type)
        self.type = type

    def reader(self, shapes: Shapes) -> Step:
        wanted = self.type
        if is_struct(wanted):
            return lambda raw: shapes.read(wanted, raw)
        return lambda raw: convert(raw, wanted)

    def lowerer(self, shapes: Shapes, raw: bool) -> Step | None:
        return shapes.lowerer(self.type, None, raw)

    def holds(self) -> tuple[Struct, ...]:
        return tuple(structs_in(self.type))


def convert(raw: object, wanted: object) -> Any:
    """A value of a type, made natively of what was read; raises `Unfit`.

    Quick for structs, whose types native code has worked out before; unions it works out anew.
    """
    try:
        return msgspec.convert(raw, wanted)
    except (msgspec.ValidationError, OverflowError) as error:
        raise Unfit(str(error)) from None
