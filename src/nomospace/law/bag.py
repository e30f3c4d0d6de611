"""The ordered bag of terms that laws sense: a control state, or the pending obligations.

Terms are kept by functor and arity in the order they came, which is all that most sensing needs.
Where a bucket has grown, sensing with bound arguments goes through an index over just those
argument positions, made on first use. A term that takes another's place keeps its place.

Compiled laws read `buckets` directly: a dictionary from `name/arity` to a `Bucket`, which is a
dictionary from place to term, oldest first. No bucket is ever empty.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import msgspec

from nomospace.law.budget import Units, bulk, rest, spend
from nomospace.terms import Compound, Term, encode, is_ground, match, same
from nomospace.terms.values import PARTIAL, UNBOUND, Var, parts_of

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_values

INDEX_FROM: Final = 6
"""Buckets up to this many terms are walked; larger ones are indexed when sensed."""

KEYED_POSITIONS: Final = 4
"""Indexes go by these first arguments,"""
KEYED_TOGETHER: Final = 2
"""and each by so many of them. What else is sought is compared."""
FEW_BUCKETS: Final = 64
SLOT_FROM: Final = 4_096
"""An index keeps so many terms alike in a list of places too, before one comes late."""
_KEYS: dict[tuple[str, int], str] = {}
_KEYS_MAX: Final = 100_000


Key: TypeAlias = Any
"""What an index goes by: an atom as it is, any other part as its bytes, which are made, hashed and
compared natively; several in a tuple. Two parts are the same exactly when their keys are equal."""


def is_keyed(positions: tuple[int, ...]) -> bool:
    """Whether an index can go by all of these."""
    return 0 < len(positions) <= KEYED_TOGETHER and positions[-1] < KEYED_POSITIONS


class _InOrder(dict[int, Term]):
    """Terms by place of which some came to their places late: `order` has the places as they stand.

    A list of places is put in order by moving what stands behind a new one, natively: among a
    million that takes a third of a millisecond. To put a dictionary in order takes a second.
    """

    __slots__ = ()
    order: list[int]

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.order)

    def values(self) -> dict_values[int, Term]:
        return cast("dict_values[int, Term]", map(self.__getitem__, self.order))

    def items(self) -> dict_items[int, Term]:
        pairs = zip(self.order, map(self.__getitem__, self.order), strict=True)
        return cast("dict_items[int, Term]", pairs)

    def __setitem__(self, place: int, term: Term) -> None:
        if place not in self:
            insort(self.order, place)
        super().__setitem__(place, term)

    def __delitem__(self, place: int) -> None:
        super().__delitem__(place)
        del self.order[bisect_left(self.order, place)]


class LateSlot(_InOrder):
    """Such terms of an index."""

    __slots__ = ("order",)

    def __init__(self, terms: dict[int, Term]) -> None:
        super().__init__(terms)
        self.order = sorted(terms)


class Bucket(dict[int, Term]):
    """Terms of one functor and arity by their place, with indexes over argument positions.

    An index is over one or two of the first positions, so there are few, and each term that comes
    pays for a place in all of them.
    """

    __slots__ = ("indexes", "order")
    order: list[int]

    def __init__(self) -> None:
        self.indexes: dict[tuple[int, ...], dict[Key, dict[int, Term]]] = _NO_INDEXES

    def under(
        self, positions: tuple[int, ...], parts: Sequence[Term], units: Units
    ) -> dict[int, Term]:
        """Terms that may have `parts` at `positions`, by place: all that do.

        Those that an index does not tell apart cost a unit each.
        """
        if len(self) <= INDEX_FROM:
            return self
        used = positions
        if not is_keyed(positions):
            used = tuple([at for at in positions[:KEYED_TOGETHER] if at < KEYED_POSITIONS])
            if not used:
                spend(units, len(self))
                return self
        index = self.indexes.get(used)
        if index is None:
            index = self._index(used, units)
        key = _key_of_parts(parts[: len(used)])
        found = index.get(key, _EMPTY)
        if used is not positions:
            spend(units, len(found))
        return found

    def _index(self, positions: tuple[int, ...], units: Units) -> dict[Key, dict[int, Term]]:
        """Make an index. That has no price: it is made once, and each term has paid for it."""
        index: dict[Key, dict[int, Term]] = {}
        for place, term in self.items():
            key = _key(term, positions)
            rest(units, 1 + len(key) // 64)
            _put(index, key, place, term)
        self.indexes = {**self.indexes, positions: index}
        return index

    def put(self, place: int, term: Term) -> None:
        """Put a term at a place that is free."""
        if self and type(self) is Bucket and place < next(reversed(self)):
            self.order = sorted(self)
            self.__class__ = LateBucket
        self[place] = term
        for positions, index in self.indexes.items():
            _put(index, _key(term, positions), place, term)

    def swap(self, place: int, term: Term) -> None:
        old = self[place]
        self[place] = term  # a dictionary keeps the place of a key that it has
        for positions, index in self.indexes.items():
            before, after = _key(old, positions), _key(term, positions)
            if before == after:
                index[before][place] = term
                continue
            _drop(index, before, place)
            _put(index, after, place, term)

    def drop(self, place: int) -> None:
        term = self[place]
        del self[place]
        for positions, index in self.indexes.items():
            _drop(index, _key(term, positions), place)


class LateBucket(_InOrder, Bucket):
    """A bucket where some came to their places late."""

    __slots__ = ()


def _put(index: dict[Key, dict[int, Term]], key: Key, place: int, term: Term) -> None:
    found = index.get(key)
    if found is None:
        index[key] = {place: term}
    elif place > next(reversed(found)):
        found[place] = term
        if len(found) == SLOT_FROM:
            index[key] = LateSlot(found)
    else:
        if type(found) is dict:
            found = index[key] = LateSlot(found)
        found[place] = term


def _drop(index: dict[Key, dict[int, Term]], key: Key, place: int) -> None:
    found = index[key]
    del found[place]
    if not found:
        del index[key]


_EMPTY: Final[dict[int, Term]] = {}
_NO_INDEXES: Final[dict[tuple[int, ...], dict[Key, dict[int, Term]]]] = {}
"""Most buckets come and go without one."""


def _place(pair: tuple[int, Term]) -> int:
    return pair[0]


def _key(term: Term, positions: tuple[int, ...]) -> Key:
    assert type(term) is Compound, "only compounds are indexed"
    args = term.args
    if len(positions) == 1:
        part = args[positions[0]]
        return index_key(part)
    return _key_of_parts([args[position] for position in positions])


def _key_of_parts(parts: Iterable[Term]) -> Key:
    key = [index_key(part) for part in parts]
    return key[0] if len(key) == 1 else tuple(key)


class _Holed(Exception):
    """A term has a variable in it."""


def _refuse(value: object) -> NoReturn:
    raise _Holed


_pack: Final = msgspec.msgpack.Encoder(enc_hook=_refuse).encode


def index_key(part: Term) -> Key:
    """What an index has a ground term under that is within the limits; raises `_Holed`."""
    if type(part) is str:
        return part
    try:
        return _pack(part)
    except (OverflowError, RecursionError):  # huge integers, deep terms
        if not is_ground(part):
            raise _Holed from None
        return encode(part)


def key_of(term: Term) -> str:
    """The bucket a term belongs to: `name/arity`, or its kind for what is neither."""
    if type(term) is Compound:
        pair = (term.name, len(term.args))
        key = _KEYS.get(pair)
        if key is None:
            if len(_KEYS) >= _KEYS_MAX:
                _KEYS.clear()
            key = _KEYS[pair] = f"{term.name}/{len(term.args)}"
        return key
    if type(term) is str:
        return f"{term}/0"
    return f"#{term.__class__.__name__}"


_Form: TypeAlias = tuple[str, int] | None


def _forms(parts: tuple[Term, ...]) -> list[_Form] | None:
    """The functors of patterns that ask for nothing else: `_`, or `med(_)`. `None` for others."""
    seen: set[int] = set()
    forms: list[_Form] = []
    for part in parts:
        if type(part) is Var:
            holes: tuple[Term, ...] = (part,)
            forms.append(None)
        elif type(part) is Compound and part.name != PARTIAL:
            holes = part.args
            forms.append((part.name, len(holes)))
        else:
            return None
        for hole in holes:
            if type(hole) is not Var or hole.ref is not UNBOUND or id(hole) in seen:
                return None
            seen.add(id(hole))
    return forms


def _have_forms(parts: tuple[Term, ...], forms: list[_Form]) -> bool:
    for part, form in zip(parts, forms, strict=True):
        if form is not None and (
            type(part) is not Compound or part.name != form[0] or len(part.args) != form[1]
        ):
            return False
    return True


class Bag:
    """An ordered bag. `places` given out never repeat, so a change can be told and taken back."""

    __slots__ = ("buckets", "next_place", "size")

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.buckets: dict[str, Bucket] = {}
        self.next_place = 0
        self.size = 0
        for term in terms:
            self.add(term)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Term]:
        return iter([term for _, term in self.items()])

    def items(self) -> list[tuple[int, Term]]:
        """Places and terms, oldest first."""
        found = [pair for bucket in self.buckets.values() for pair in bucket.items()]
        found.sort(key=_place)
        return found

    def stands(self, place: int, term: Term) -> bool:
        """Whether a term like this one is at a place."""
        return place in self.buckets.get(key_of(term), _EMPTY)

    def first_place(self) -> int:
        """The place of the oldest term, or one before it: many buckets are not gone through."""
        if len(self.buckets) > FEW_BUCKETS:
            return 0
        return min([next(iter(one)) for one in self.buckets.values()], default=self.next_place)

    def by_place(self) -> dict[int, Term]:
        """All terms by their places, in no order."""
        found: dict[int, Term] = {}
        for bucket in self.buckets.values():
            found |= bucket
        return found

    def places(self) -> AbstractSet[int]:
        """The places of all terms."""
        return self.by_place().keys()

    def of(self, key: str) -> Iterable[Term]:
        """The terms of one bucket, oldest first."""
        return self.buckets.get(key, _EMPTY).values()

    def add(self, term: Term) -> int:
        """Put a term at a new place, after all others."""
        place = self.next_place
        self.next_place = place + 1
        self.size += 1
        key = _KEYS.get((term.name, len(term.args))) if type(term) is Compound else None
        if key is None:
            key = key_of(term)
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket()
        if bucket.indexes:
            bucket.put(place, term)
        else:
            bucket[place] = term
        return place

    def put(self, place: int, term: Term) -> None:
        """Put a term at a place that is free."""
        key = key_of(term)
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket()
        bucket.put(place, term)
        self.size += 1

    def drop(self, place: int, term: Term) -> None:
        """Take away the term at a place."""
        key = key_of(term)
        bucket = self.buckets[key]
        if bucket.indexes:
            bucket.drop(place)
        else:
            del bucket[place]
        self.size -= 1
        if not bucket:
            del self.buckets[key]

    def swap(self, place: int, old: Term, new: Term) -> None:
        """Put `new` in the place of `old`."""
        key = key_of(old)
        if key == key_of(new):
            self.buckets[key].swap(place, new)
            return
        self.drop(place, old)
        self.put(place, new)

    def disorder(self, place: int, new: Term) -> int:
        """How many terms may have to be put in order again when `new` takes an old one's place.

        By what is in the bag alone: whether there is an index depends on what was sensed before.
        """
        bucket = self.buckets.get(key_of(new))
        return len(bucket) if bucket and place < next(reversed(bucket)) else 0

    def find(self, pattern: Term, units: Units) -> tuple[int, Term] | None:
        """The oldest term that matches a pattern, with its place."""
        return next(self._fitting(pattern, units), None)

    def find_all(self, pattern: Term, units: Units) -> list[tuple[int, Term]]:
        """All terms that match a pattern, with their places, oldest first."""
        return list(self._fitting(pattern, units))

    def _fitting(self, pattern: Term, units: Units) -> Iterator[tuple[int, Term]]:
        """The terms that match a pattern, which is part of a ruling, so within the limits.

        Each that is looked at is paid for: by its weight, and four times that of the pattern's
        parts with variables in them.
        """
        if type(pattern) is Var:
            spend(units, self.size)
            yield from self.items()
            return
        bucket = self.buckets.get(key_of(pattern))
        if bucket is None:
            return
        if type(pattern) is not Compound:
            ground = is_ground(pattern)
            price = 1 + 4 * bulk(pattern)
            for place, term in bucket.items():
                spend(units, price)
                if same(pattern, term) if ground else match(pattern, term):
                    yield place, term
            return
        bound: list[int] = []
        keys: list[Key] = []
        holed: list[int] = []
        size = 0
        for position, part in enumerate(pattern.args):
            if type(part) is Var or (type(part) is Compound and Var in map(type, part.args)):
                holed.append(position)
                continue
            try:
                key = index_key(part)
            except _Holed:
                holed.append(position)
                continue
            size += len(key)
            keys.append(key)
            bound.append(position)
        spend(units, size // 64)
        positions, key = tuple(bound), keys[0] if len(keys) == 1 else tuple(keys)
        found: dict[int, Term] = bucket
        if bound:
            found = bucket.under(positions, [pattern.args[position] for position in bound], units)
        loose = bound and (found is bucket or not is_keyed(positions))
        others = tuple([pattern.args[position] for position in holed])
        forms = _forms(others)
        price = 1 if forms is not None else 1 + 4 * bulk(others)
        for place, term in found.items():
            spend(units, price)
            if loose:
                other = _key(term, positions)
                spend(units, (sum(map(len, other)) if len(bound) > 1 else len(other)) // 64)
                if other != key:
                    continue
            if holed:
                args = parts_of(term)
                parts = tuple([args[position] for position in holed])
                if not (match(others, parts) if forms is None else _have_forms(parts, forms)):
                    continue
            yield place, term

    def copy(self) -> Bag:
        """A bag of its own with the same terms in the same places."""
        twin = Bag()
        for place, term in self.items():
            twin.put(place, term)
        twin.next_place = self.next_place
        return twin
