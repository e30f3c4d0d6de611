"""Where the terms of a control state and the pending obligations of a member come from.

The last rulings are in memory with all that they changed, so they tell by themselves whose work a
term is. Only what outlives them is written down here, when they are forgotten, many at a time:
the ruling's number, its time in whole seconds, and its cause (rule, event, whose it was and what it
said), which many terms share. That is 14 bytes a term, in columns, and a ruling pays next to
nothing for it. What has gone since stays in the columns until it is an eighth of them.

A membership from before causes were kept says so of all that it had then.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from itertools import compress
from typing import Final, NamedTuple, TypeAlias

import msgspec

from nomospace.control.events import Ruling
from nomospace.law.bag import Bag
from nomospace.terms import Compound, Term

CAUSES_MAX: Final = 65_535
"""How many causes a member tells apart; what has another knows its ruling's number and time."""
NAME_CHARS: Final = 80
"""How long the name of a message may be to be kept with a cause."""
DEAD_FREE: Final = 64
"""Entries of terms that have gone which are let be, besides an eighth of those that have not."""
_SECOND: Final = 1_000_000
_NARROW: Final = 2**32 - 1


class Cause(NamedTuple):
    """What a ruling was made on: its rule, the event's kind, whose it was, and what it said."""

    rule: str
    kind: str
    by: str
    what: str


UNTOLD: Final = Cause("", "", "", "")


class Origin(NamedTuple):
    """The ruling that put a term where it is: its number, when it was, and its cause.

    Number 0 stands for the start: no ruling put it there. The time is in microseconds, and in
    whole seconds where the ruling is no longer in memory.
    """

    seq: int
    at: int
    cause: Cause


START: Final = Origin(0, 0, UNTOLD)


def origin_of(ruling: Ruling) -> Origin:
    """A ruling as the origin of what it changed."""
    return Origin(ruling.seq, ruling.at, cause_of(ruling))


def cause_of(ruling: Ruling) -> Cause:
    """What a ruling was made on, in few words."""
    kind, args = ruling.event.kind, ruling.event.args
    by = what = ""
    if len(args) == 3:  # sent, arrived, submitted
        by, what = _text(args[0]), _name(args[1])
    elif kind == "certified" or kind == "revoked":
        issuer = _first(args[0])
        by = _text(issuer.args[0]) if type(issuer) is Compound and issuer.args else ""
    elif kind == "exception":
        what = _name(args[1])
    elif args:
        what = _name(_first(args[0]))
    return Cause(ruling.rule or "", kind, by, what)


def _text(term: Term) -> str:
    return term if type(term) is str else ""


def _first(term: Term) -> Term:
    return (term[0] if term else "") if type(term) is tuple else term


def _name(term: Term) -> str:
    """The name of a term: its functor, or an atom that is no text."""
    name = term.name if type(term) is Compound else term
    return name if type(name) is str and len(name) <= NAME_CHARS and name.isidentifier() else ""


class _Columns:
    """Places in their order, and of each the ruling's number, its time and its cause's number."""

    __slots__ = ("causes", "places", "seconds", "seqs", "unknown")

    def __init__(self) -> None:
        self.places = array("I")
        self.seqs = array("I")
        self.seconds = array("I")
        self.causes = array("H")
        self.unknown = 0
        """Nothing is known of a place below this one that is not in the columns."""

    def at(self, place: int) -> int:
        """Where a place stands in the columns, or would."""
        return bisect_left(self.places, place)

    def enter(self, put: dict[int, Ruling], number: Callable[[Ruling], int]) -> None:
        """Note rulings as the origins of what is at places."""
        order = sorted(put)
        rulings = [put[place] for place in order]
        if order[-1] > _NARROW and self.places.typecode == "I":
            self.places = array("Q", self.places)
        if max([ruling.seq for ruling in rulings]) > _NARROW and self.seqs.typecode == "I":
            self.seqs = array("Q", self.seqs)
        old = 0 if not self.places else bisect_right(order, self.places[-1])
        for place, ruling in zip(order[:old], rulings, strict=False):
            index = self.at(place)
            if self.places[index] != place:
                for column in (self.places, self.seqs, self.seconds, self.causes):
                    column.insert(index, 0)
                self.places[index] = place
            self.seqs[index] = ruling.seq
            self.seconds[index] = _second(ruling)
            self.causes[index] = number(ruling)
        self.places.extend(order[old:])
        self.seqs.extend([ruling.seq for ruling in rulings[old:]])
        self.seconds.extend(map(_second, rulings[old:]))
        self.causes.extend(map(number, rulings[old:]))

    def cut(self, first: int) -> None:
        """Leave out what was at places before the first that there is."""
        count = self.at(first)
        for column in (self.places, self.seqs, self.seconds, self.causes):
            del column[:count]

    def keep(self, live: Collection[int]) -> None:
        """Leave out what has gone."""
        kept = bytes(map(live.__contains__, self.places))
        if not all(kept):
            self.places = array(self.places.typecode, compress(self.places, kept))
            self.seqs = array(self.seqs.typecode, compress(self.seqs, kept))
            self.seconds = array(self.seconds.typecode, compress(self.seconds, kept))
            self.causes = array("H", compress(self.causes, kept))

    def packed(self) -> tuple[object, ...]:
        columns = (self.places, self.seqs, self.seconds, self.causes)
        return (self.unknown, *[_little(column) for column in columns])

    @classmethod
    def unpacked(cls, packed: _Packed) -> _Columns:
        """Columns from their bytes; raises `ValueError` for what are none."""
        found = cls()
        count = len(packed[4]) // 2
        found.unknown = packed[0]
        found.places, found.seqs, found.seconds = [_read(part, count) for part in packed[1:4]]
        found.causes.frombytes(packed[4])
        if sys.byteorder == "big":
            found.causes.byteswap()
        return found


_NAMES: Final = ("places", "seqs", "seconds", "causes")
_Column: TypeAlias = "array[int]"
_Packed: TypeAlias = tuple[int, bytes, bytes, bytes, bytes]


def _last_due(rulings: Sequence[Ruling]) -> int:
    """The place of the last obligation that rulings have put, or -1."""
    for ruling in reversed(rulings):
        for kind, place, _, _ in reversed(ruling.delta):
            if kind == "due":
                return place
    return -1


def _stands(state: Bag, place: int, ruling: Ruling) -> bool:
    """Whether what a ruling put at a place is still there."""
    for kind, at, old, new in reversed(ruling.delta):
        if at == place and (kind == "+" or kind == "<-"):
            return state.stands(place, old if new is None else new)
    return False


def _second(ruling: Ruling) -> int:
    return min(max(0, ruling.at // _SECOND), _NARROW)


def _little(column: _Column) -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def _read(data: bytes, count: int) -> _Column:
    column = array("I" if len(data) == 4 * count else "Q", data)
    if len(column) != count:
        raise ValueError("columns of different lengths")
    if sys.byteorder == "big":
        column.byteswap()
    return column


class Origins:
    """The origins of what one member has, as far as its rulings are forgotten.

    >>> from nomospace.control import sent
    >>> told = Ruling(7, 5_000_000, "ann@x", "4c1f", sent("ann@x", "hi", "bob@x"), "R1",
    ...               delta=(("+", 3, "slot", None),))
    >>> origins = Origins()
    >>> origins.fold([told], {3: "slot"}, set())
    >>> origins.of(3)
    Origin(seq=7, at=5000000, cause=Cause(rule='R1', kind='sent', by='ann@x', what='hi'))
    """

    __slots__ = ("_causes", "_numbers", "owed", "state")

    def __init__(self) -> None:
        self.state = _Columns()
        self.owed = _Columns()
        self._causes: list[Cause] = [UNTOLD]
        self._numbers: dict[tuple[object, ...], int] = {UNTOLD: 0}

    def __sizeof__(self) -> int:
        """Bytes in memory, with all that only this has."""
        columns = [getattr(one, name) for one in (self.state, self.owed) for name in _NAMES]
        told = [part for cause in self._causes for part in (cause, *cause)]
        return sum(map(sys.getsizeof, [*columns, self._causes, self._numbers, *told]))

    def of(self, place: int, *, owed: bool = False) -> Origin | None:
        """Whose work a term of the state is, or an obligation; `None` where nobody knows."""
        columns = self.owed if owed else self.state
        index = columns.at(place)
        if index == len(columns.places) or columns.places[index] != place:
            return None if place < columns.unknown else START
        cause = self._causes[columns.causes[index]]
        return Origin(columns.seqs[index], columns.seconds[index] * _SECOND, cause)

    def fold(
        self, rulings: Sequence[Ruling], state: Mapping[int, Term] | Bag, owed: AbstractSet[int]
    ) -> None:
        """Take in what rulings put that still stands; they are the next after those before.

        `state` is what stands by its place, or all of it where it is much; `owed` are places. Most
        of what rulings put has gone again, mostly, and is passed over quickly.
        """
        put: dict[int, Ruling] = {}
        if isinstance(state, Bag):
            for ruling in rulings:
                for change in ruling.delta:
                    if change[0] == "+" or change[0] == "<-":
                        put[change[1]] = ruling
            put = {place: ruling for place, ruling in put.items() if _stands(state, place, ruling)}
        else:
            known = [(one, ruling) for ruling in rulings for one in ruling.delta if one[1] in state]
            for (kind, place, _, new), ruling in known:
                if kind == "+" or (kind == "<-" and state[place] is new):
                    put[place] = ruling
        due: dict[int, Ruling] = {}
        if owed and min(owed) <= _last_due(rulings):
            due = {
                one[1]: ruling
                for ruling in rulings
                for one in ruling.delta
                if one[0] == "due" and one[1] in owed
            }
        if put:
            self.state.enter(put, self._number)
        if due:
            self.owed.enter(due, self._number)

    def crowded(self, terms: int, obligations: int) -> bool:
        """Whether too much is kept of what has gone."""
        return len(self.state.places) > DEAD_FREE + terms + terms // 8 or (
            len(self.owed.places) > DEAD_FREE + obligations + obligations // 8
        )

    def cut(self, state: int, owed: int) -> None:
        """Leave out what was before the first places that there are."""
        self.state.cut(state)
        self.owed.cut(owed)

    def keep(self, state: Collection[int], owed: Collection[int]) -> None:
        """Leave out what has gone, and the causes that nothing has any more."""
        self.state.keep(state)
        self.owed.keep(owed)
        used = dict.fromkeys([0, *self.state.causes, *self.owed.causes])
        if list(used) != list(range(len(self._causes))):
            again = {number: index for index, number in enumerate(used)}
            for columns in (self.state, self.owed):
                columns.causes = array("H", map(again.__getitem__, columns.causes))
            self._causes = [self._causes[number] for number in used]
            self._numbers = {cause: number for number, cause in enumerate(self._causes)}

    def after(self, rulings: Sequence[Ruling], state: dict[int, Term], owed: set[int]) -> Origins:
        """The origins of all that a member has: those here, and what rulings put since."""
        found = Origins.decode(self.encode(), (0, 0))
        found.fold(rulings, state, owed)
        found.keep(state, owed)
        return found

    def _number(self, ruling: Ruling) -> int:
        """The number of a ruling's cause."""
        args, number = ruling.event.args, None
        if len(args) == 3 and type(args[1]) is Compound:  # known already, mostly
            number = self._numbers.get((ruling.rule, ruling.event.kind, args[0], args[1].name))
        if number is not None:
            return number
        cause = cause_of(ruling)
        number = self._numbers.get(cause)
        if number is None:
            if len(self._causes) > CAUSES_MAX:
                return 0
            number = self._numbers[cause] = len(self._causes)
            self._causes.append(cause)
        return number

    def encode(self) -> bytes:
        """All of it as bytes."""
        told = (self._causes[1:], self.state.packed(), self.owed.packed())
        return msgspec.msgpack.encode(told)

    @classmethod
    def decode(cls, data: bytes, unknown: tuple[int, int]) -> Origins:
        """The origins that bytes stand for.

        Bytes that are none, of a hand that does not keep them, leave all below the places
        `unknown` without an origin.
        """
        found = cls()
        found.state.unknown, found.owed.unknown = unknown
        if not data:
            return found
        try:
            causes, state, owed = _DECODER.decode(data)
            columns = [_Columns.unpacked(part) for part in (state, owed)]
            numbers = [max(one.causes, default=0) for one in columns]
            if not max(numbers) <= len(causes) <= CAUSES_MAX:
                raise ValueError("causes are missing")
        except (msgspec.MsgspecError, ValueError):
            return found
        found.state, found.owed = columns
        found._causes += causes
        found._numbers = {cause: number for number, cause in enumerate(found._causes)}
        return found


_DECODER: Final = msgspec.msgpack.Decoder(tuple[list[Cause], _Packed, _Packed])
