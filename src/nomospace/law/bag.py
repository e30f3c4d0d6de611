"""The ordered bag of terms that laws sense: a control state, or the pending obligations.

Terms are kept by functor and arity in the order they came, which is all that most sensing needs.
Where a bucket has grown, sensing with bound arguments goes through an index over just those
argument positions, made on first use. A term that takes another's place keeps its place.

Compiled laws read `buckets` directly: a dictionary from `name/arity` to a `Bucket`, which is a
dictionary from place to term, oldest first. No bucket is ever empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set as AbstractSet
from typing import Any, Final, NoReturn, TypeAlias

import msgspec

from nomospace.law.budget import Units, bulk, spend
from nomospace.terms import Compound, Term, encode, is_ground, match, oversize, same
from nomospace.terms.values import PARTIAL, UNBOUND, Var, parts_of

INDEX_FROM: Final = 6
"""Buckets up to this many terms are walked; larger ones are indexed when sensed."""

FEW_BUCKETS: Final = 64
_KEYS: dict[tuple[str, int], str] = {}
_KEYS_MAX: Final = 100_000


Key: TypeAlias = Any
"""What an index goes by: an atom as it is, any other part as its bytes, which are made, hashed and
compared natively; several in a tuple. Two parts are the same exactly when their keys are equal."""


class Bucket(dict[int, Term]):
    """Terms of one functor and arity by their place, with indexes over argument positions."""

    __slots__ = ("indexes",)

    def __init__(self) -> None:
        self.indexes: dict[tuple[int, ...], dict[Key, dict[int, Term]]] = _NO_INDEXES

    def lookup(self, positions: tuple[int, ...], key: tuple[Term, ...]) -> Iterable[Term]:
        """Terms that may have `key` at `positions`, oldest first: all that do, few that do not."""
        return self.places(positions, key).values()

    def places(self, positions: tuple[int, ...], key: tuple[Term, ...]) -> dict[int, Term]:
        """The same by place."""
        if len(self) <= INDEX_FROM:
            return self
        for part in key:
            if not _is_flat(part) and oversize(part) is not None:
                return _EMPTY  # no term of a control state is that large
        return self.under(positions, _key_of_parts(key))

    def under(self, positions: tuple[int, ...], key: Key) -> dict[int, Term]:
        """What an index has under a key, by place."""
        index = self.indexes.get(positions)
        if index is None:
            index = {}
            for place, term in self.items():
                index.setdefault(_key(term, positions), {})[place] = term
            self.indexes = {**self.indexes, positions: index}
        return index.get(key, _EMPTY)

    def put(self, place: int, term: Term) -> None:
        for positions, index in self.indexes.items():
            key = _key(term, positions)
            found = index.get(key)
            if found is None:
                index[key] = {place: term}
            else:
                found[place] = term
        self[place] = term

    def swap(self, place: int, term: Term) -> None:
        old = self[place]
        self[place] = term  # a dictionary keeps the place of a key that it has
        for positions, index in self.indexes.items():
            before, after = _key(old, positions), _key(term, positions)
            if before == after:
                index[before][place] = term
                continue
            del index[before][place]
            if not index[before]:
                del index[before]
            found = index.get(after)
            if found is None:
                index[after] = {place: term}
            elif place > next(reversed(found)):
                found[place] = term
            else:
                index[after] = dict(sorted([*found.items(), (place, term)], key=_place))

    def drop(self, place: int) -> None:
        term = self.pop(place)
        for positions, index in self.indexes.items():
            key = _key(term, positions)
            found = index[key]
            del found[place]
            if not found:
                del index[key]


_EMPTY: Final[dict[int, Term]] = {}
_NO_INDEXES: Final[dict[tuple[int, ...], dict[Key, dict[int, Term]]]] = {}
"""Most buckets come and go without one."""


def _place(pair: tuple[int, Term]) -> int:
    return pair[0]


def _is_flat(part: Term) -> bool:
    """Whether a term is atomic, or a compound of atomic terms: cheap to hash, whatever it is."""
    if type(part) is tuple:
        return False
    if type(part) is Compound:
        for arg in part.args:
            if type(arg) is Compound or type(arg) is tuple:
                return False
    return True


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

    __slots__ = ("buckets", "loose", "next_place", "size")

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.buckets: dict[str, Bucket] = {}
        self.loose: dict[str, None] = {}  # buckets that are out of order: see `put_back`
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
        elif bucket and place < next(reversed(bucket)):
            # It takes an older place: the bucket is made again, in order.
            terms = sorted([*bucket.items(), (place, term)], key=_place)
            bucket = self.buckets[key] = Bucket()
            bucket.update(terms)
            self.size += 1
            return
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

    def put_back(self, place: int, old: Term, new: Term | None = None) -> None:
        """Undo a change: `old` stands at a place again, where `new` stands or nothing does.

        One that was amid others comes to its place when `reorder` is called, once for all of them.
        """
        key = key_of(old)
        if new is not None and key_of(new) != key:
            self.drop(place, new)
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket()
        if place not in bucket:
            self.size += 1
            if bucket and place < next(reversed(bucket)):
                self.loose[key] = None
        bucket.indexes = _NO_INDEXES
        bucket[place] = old

    def reorder(self) -> None:
        """Bring what was put back to its places."""
        for key in self.loose:
            bucket = self.buckets.get(key)
            if bucket is not None:
                terms = sorted(bucket.items(), key=_place)
                bucket.clear()
                bucket.update(terms)
        self.loose = {}

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
        if bound and len(bucket) > INDEX_FROM:
            found = bucket.under(positions, key)
        rest = tuple([pattern.args[position] for position in holed])
        forms = _forms(rest)
        price = 1 if forms is not None else 1 + 4 * bulk(rest)
        for place, term in found.items():
            spend(units, price)
            if found is bucket and bound:
                other = _key(term, positions)
                spend(units, (sum(map(len, other)) if len(bound) > 1 else len(other)) // 64)
                if other != key:
                    continue
            if holed:
                args = parts_of(term)
                parts = tuple([args[position] for position in holed])
                if not (match(rest, parts) if forms is None else _have_forms(parts, forms)):
                    continue
            yield place, term

    def copy(self) -> Bag:
        """A bag of its own with the same terms in the same places."""
        twin = Bag()
        for place, term in self.items():
            twin.put(place, term)
        twin.next_place = self.next_place
        return twin
