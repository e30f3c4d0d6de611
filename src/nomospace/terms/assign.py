"""Templates that name classes: each of their fields is given a different field of a tuple.

A template is *meant* when one of its fields names a class: `a("Car", …)`, or an object. Then it is
no longer read position by position (Definitions 4 to 6 of `004_…` are over sets):

- a field that names a class is given an object of a class that this one accepts, wherever in the
  tuple it stands;
- all other patterns are given plain fields, which keep their relative order; `ANY`, which fits
  everything, may also be given an object that is left over;
- further fields of the tuple do no harm.

An object with an id stands for the object of that id, of an accepted class, whatever its
properties; one without stands for those that have the same properties. An object with patterns
inside is looked into.

Which classes are accepted is for whoever compiles a template to say: this room knows no ontology.
A tuple fits *exactly* when it has no further field and every class is the template's own.

Fields that name classes are assigned by augmenting paths, plain ones by a table over positions:
both take a bounded number of tests, about the width of the template times that of the tuple. Only
`same(…)` needs a search, of at most `TRIES_MAX` tries; past it a tuple counts as not fitting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import eq
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.terms.features import Fields, Key, Path, key_of
from nomospace.terms.fit import Check, Test, at_path, check_of
from nomospace.terms.formals import formals_in, is_formal, read_formal
from nomospace.terms.objects import MISSING, OBJECT, is_object
from nomospace.terms.predicate import compiled
from nomospace.terms.values import ATOMIC, Compound, Term, same

TRIES_MAX: Final = 10_000
"""Assignments that are tried where a template ties fields by `same(…)`."""

Names: TypeAlias = Callable[[str], frozenset[str]]
View: TypeAlias = Callable[[Term], Term]
_FAR: Final = 1_000


class Wanted(NamedTuple):
    """A field of a template that names a class."""

    position: int
    class_name: str
    id: Term
    """The id that the object must have; `MISSING` when any will do."""
    test: Check | None
    """What else must hold of the object."""


def just_itself(class_name: str) -> frozenset[str]:
    """The names that a class accepts, and that mean it, where no ontology is known."""
    return frozenset((class_name,))


def names_class(pattern: Term) -> bool:
    """Whether a field of a template names a class.

    >>> from nomospace.terms import a, obj, t
    >>> names_class(a("Car")), names_class(obj("Car", "c1")), names_class(t.car(1))
    (True, True, False)
    """
    if pattern.__class__ is not Compound:
        return False
    if pattern.name == OBJECT:
        return is_object(pattern)
    return is_formal(pattern) and read_formal(pattern).class_name is not None


def wanted(pattern: Compound, position: int, alike: dict[str, list[Path]]) -> Wanted:
    """Read a field that names a class; `alike` gathers what `same(…)` ties."""
    if is_formal(pattern):
        formal = read_formal(pattern)
        assert formal.class_name is not None
        test = None if formal.predicate is None else compiled(formal.predicate, field=False)
        return Wanted(position, formal.class_name, MISSING, test)
    class_name, identity, listed = pattern.args
    if formals_in(pattern):
        first = 2 if identity is None else 1
        inner: dict[str, list[Path]] = {}
        inside = check_of(pattern.args[first:], (position,), inner)
        assert inside is not None, "a list is looked into"
        for name, paths in inner.items():  # what was left out in front moves the rest
            alike.setdefault(name, []).extend([(p[0], p[1] + first, *p[2:]) for p in paths])
        known = MISSING if identity is None or formals_in(identity) else identity
        return Wanted(position, class_name, known, lambda o: inside(o.args[first:]))
    if identity is not None:
        return Wanted(position, class_name, identity, lambda o: same(o.args[1], identity))
    return Wanted(position, class_name, MISSING, lambda o: same(o.args[2], listed))


def _seen(one: Wanted, view: View) -> Wanted:
    test = one.test
    return one if test is None else one._replace(test=lambda value: test(view(value)))


class Assigner:
    """A template that names classes, ready to be fitted to tuples.

    `accepted` gives the class names that a class accepts, `own` those that mean the class itself;
    `view`, where it is given, shows an object as predicates are to see it.

    >>> from nomospace.terms import a, obj
    >>> cars = Assigner(("sale", a("Car")), just_itself, just_itself)
    >>> cars.fits((obj("Car", "c1"), "sale", 17)), cars.fits((obj("Car", "c1"),))
    (True, False)
    >>> cars.places((obj("Car", "c1"), "sale", 17))
    (1, 0)
    >>> cars.exact((obj("Car", "c1"), "sale")), cars.exact((obj("Car", "c1"), "sale", 17))
    (True, False)
    """

    __slots__ = (
        "_accepted",
        "_own",
        "_pairs",
        "_patterns",
        "_plain",
        "classes",
        "fits",
        "literals",
    )

    def __init__(
        self, patterns: Fields, accepted: Names, own: Names, view: View | None = None
    ) -> None:
        alike: dict[str, list[Path]] = {}
        classes: list[Wanted] = []
        plain: list[tuple[int, Check | None]] = []
        literals: list[Key] = []
        for position, pattern in enumerate(patterns):
            if names_class(pattern):
                one = wanted(pattern, position, alike)
                classes.append(one if view is None else _seen(one, view))
                continue
            if pattern.__class__ in ATOMIC:
                literals.append(key_of(pattern))
            if pattern.__class__ is str:  # no other value equals it, and nothing is quicker
                plain.append((position, partial(eq, pattern)))
            else:
                plain.append((position, check_of(pattern, (position,), alike)))
        self.classes: tuple[Wanted, ...] = tuple(classes)
        """The fields that name classes."""
        self.literals: tuple[Key, ...] = tuple(literals)
        """The keys of its atomic actuals."""
        self._patterns = len(patterns)
        self._plain = tuple(plain)
        self._accepted = [accepted(one.class_name) for one in classes]
        self._own = [own(one.class_name) for one in classes]
        self._pairs = [(paths[0], other) for paths in alike.values() for other in paths[1:]]
        self.fits: Test = self._fits
        """Whether every field of the template can be given a field of the tuple."""
        checks = [check for _, check in plain if check is not None]
        if len(classes) == 1 and not self._pairs and len(checks) == len(plain):
            self.fits = _simply(self._accepted[0], classes[0].test, checks)

    def _fits(self, fields: Fields) -> bool:
        return len(fields) >= self._patterns and self._assign(fields, self._accepted) is not None

    def exact(self, fields: Fields) -> bool:
        """Whether it also can be with no field left over and no class but the template's own."""
        return len(fields) == self._patterns and self._assign(fields, self._own) is not None

    def places(self, fields: Fields) -> tuple[int, ...] | None:
        """Which field of the tuple each field of the template is given: the least way.

        That is, for each field of the template in turn: its own class first, then the first
        position. `None` when the tuple does not fit.
        """
        return self._assign(fields, self._accepted)

    def _assign(self, fields: Fields, names: list[frozenset[str]]) -> tuple[int, ...] | None:
        objects = [pos for pos, value in enumerate(fields) if is_object(value)]
        taken = dict.fromkeys(objects)
        others = [pos for pos in range(len(fields)) if pos not in taken]
        choices = [
            [pos for pos in objects if self._takes(nth, fields[pos], names[nth])]
            for nth in range(len(self.classes))
        ]
        for nth, found in enumerate(choices):
            own = self._own[nth]
            found.sort(key=lambda pos: (fields[pos].args[0] not in own, pos))
        spare = len(objects) - len(self.classes)
        if spare < 0:
            return None
        if self._pairs:
            return self._search(fields, choices, objects, others)
        chosen = _least(choices)
        if chosen is None:
            return None
        served = self._serve(fields, others, spare)
        return None if served is None else self._joined(chosen, served, objects)

    def _takes(self, nth: int, value: Compound, names: frozenset[str]) -> bool:
        test = self.classes[nth].test
        return value.args[0] in names and (test is None or test(value))

    def _joined(
        self, chosen: list[int], served: list[int | None], objects: list[int]
    ) -> tuple[int, ...]:
        """The positions in the template's order; what is open gets the objects left over."""
        made = [0] * self._patterns
        for one, pos in zip(self.classes, chosen, strict=True):
            made[one.position] = pos
        left = iter([pos for pos in objects if pos not in chosen])
        for (position, _), given in zip(self._plain, served, strict=True):
            made[position] = next(left) if given is None else given
        return tuple(made)

    def _serve(self, fields: Fields, others: list[int], spare: int) -> list[int | None] | None:
        """Give plain fields to plain patterns in order; `None` in it where an object must do."""
        plain, width = self._plain, len(others)
        # least[n][m]: how many open patterns from the nth on must do without the fields from m on.
        least = [[0] * (width + 1)]
        for _, check in reversed(plain):
            below = least[0]
            row = [_FAR] * (width + 1)
            for m in range(width, -1, -1):
                best = 1 + below[m] if check is None else _FAR
                if m < width:
                    best = min(best, row[m + 1])
                    if below[m + 1] < best and (check is None or check(fields[others[m]])):
                        best = below[m + 1]
                row[m] = best
            least.insert(0, row)
        if least[0][0] > spare:
            return None
        served: list[int | None] = []
        m = 0
        for n, (_, check) in enumerate(plain):
            while True:
                left = least[n][m]
                if (
                    m < width
                    and least[n + 1][m + 1] == left
                    and (check is None or check(fields[others[m]]))
                ):
                    served.append(others[m])
                    m += 1
                    break
                if m < width and least[n][m + 1] == left:
                    m += 1
                    continue
                served.append(None)
                break
        return served

    # -- fields that are tied --------------------------------------------------------------------

    def _search(
        self, fields: Fields, choices: list[list[int]], objects: list[int], others: list[int]
    ) -> tuple[int, ...] | None:
        """Try assignments until the tied fields are equal."""
        tries = TRIES_MAX
        for chosen in _every(choices):
            for served in self._servings(fields, others, 0, 0, len(objects) - len(chosen)):
                made = self._joined(chosen, served, objects)
                given = [fields[pos] for pos in made]
                if all(same(at_path(given, x), at_path(given, y)) for x, y in self._pairs):
                    return made
                tries -= 1
                if not tries:
                    return None
        return None

    def _servings(
        self, fields: Fields, others: list[int], n: int, m: int, spare: int
    ) -> Iterator[list[int | None]]:
        if n == len(self._plain):
            yield []
            return
        check = self._plain[n][1]
        for at in range(m, len(others)):
            if check is None or check(fields[others[at]]):
                for rest in self._servings(fields, others, n + 1, at + 1, spare):
                    yield [others[at], *rest]
        if check is None and spare:
            for rest in self._servings(fields, others, n + 1, m, spare - 1):
                yield [None, *rest]


def _simply(names: frozenset[str], test: Check | None, checks: list[Check]) -> Test:
    """The test for one class, and plain patterns that only plain fields can be given."""
    end = len(checks)

    def fits(fields: Fields) -> bool:
        missing, at = True, 0
        for value in fields:
            if value.__class__ is Compound and value.name == OBJECT and is_object(value):
                if missing and value.args[0] in names and (test is None or test(value)):
                    missing = False
            elif at < end and checks[at](value):
                at += 1
        return at == end and not missing

    return fits


def _least(choices: list[list[int]]) -> list[int] | None:
    """A different choice for each, each the first that leaves the later ones one; or `None`."""
    owner: dict[int, int] = {}  # position -> which field has it
    for nth in range(len(choices)):
        if not _augment(nth, choices, owner, {}):
            return None
    chosen: list[int] = []
    for nth, wishes in enumerate(choices):
        now = next(pos for pos, n in owner.items() if n == nth)
        for pos in wishes:
            if pos in chosen:
                continue
            if pos != now:
                holder = owner.get(pos)
                trial = {p: n for p, n in owner.items() if n != nth and p != pos}
                trial[pos] = nth
                fixed = dict.fromkeys((*chosen, pos))
                if holder is not None and not _augment(holder, choices, trial, fixed):
                    continue
                owner = trial
            chosen.append(pos)
            break
    return chosen


def _augment(
    nth: int, choices: list[list[int]], owner: dict[int, int], visited: dict[int, Any]
) -> bool:
    """Find a position for one more field, moving others where that helps."""
    for pos in choices[nth]:
        if pos in visited:
            continue
        visited[pos] = None
        if pos not in owner or _augment(owner[pos], choices, owner, visited):
            owner[pos] = nth
            return True
    return False


def _every(choices: list[list[int]], used: tuple[int, ...] = ()) -> Iterator[list[int]]:
    """All ways to choose different positions, in order."""
    if not choices:
        yield []
        return
    for pos in choices[0]:
        if pos not in used:
            for rest in _every(choices[1:], (*used, pos)):
                yield [pos, *rest]
