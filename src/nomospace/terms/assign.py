"""Templates that name classes: each of their fields is given a different field of a tuple.

A template is *meant* when one of its fields names a class: `a("Car", …)`, or an object. Then it is
no longer read position by position (Definitions 4 to 6 of `004_…` are over sets):

- a field that names a class is given an object of a class that this one accepts, wherever in the
  tuple it stands;
- all other patterns are given plain fields, which keep their relative order; `ANY`, which fits
  everything, may also be given an object that is left over;
- further fields of the tuple do no harm.

An object stands for those of an accepted class that have the same properties, and the same id if
it has one; an object that has only an id, for the one of that id. An object with patterns inside is
looked into.

Which classes are accepted is for whoever compiles a template to say: this room knows no ontology.
A tuple fits *exactly* when it has no further field and every class is the template's own.

Fields that name classes are assigned by augmenting paths, plain ones by a table over positions:
both take a bounded number of tests, about the width of the template times that of the tuple. Only
`same(…)` needs a search. It gives fields away one by one, holds what is tied against what was given
before at once, and goes on only while the fields yet to come can all be served (`_Search`). In
general no search is quick here, whoever writes it: this one pays for every step from the budget of
the test, and stops with `TestTooDear` when that is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from nomospace.terms.budget import Budget, TestTooDear, same_within
from nomospace.terms.conditions import price_of, unpriced
from nomospace.terms.features import Fields, Key, Path, key_of
from nomospace.terms.fit import Check, Test, at_path, check_of
from nomospace.terms.formals import formals_in, is_formal, read_formal
from nomospace.terms.objects import MISSING, Missing, has_properties, is_object
from nomospace.terms.values import ATOMIC, OBJECT, Compound, ObjectTerm, Term, parts_of

Names: TypeAlias = Callable[[str], Container[str]]
View: TypeAlias = Callable[[Term], Term]
_FAR: Final = 1_000


class WantedClass(NamedTuple):
    """A field of a template that names a class."""

    position: int
    class_name: str
    id: Term | Missing
    """The id that the object must have; `MISSING` when any will do."""
    test: Check | None
    """What else must hold of the object."""
    price: int = 0
    """What the test costs, besides what it pays for itself."""


def just_itself(class_name: str) -> frozenset[str]:
    """The names that a class accepts, and that mean it, where no ontology is known."""
    return frozenset((class_name,))


def names_class(pattern: Term) -> TypeGuard[Compound]:
    """Whether a field of a template names a class.

    >>> from nomospace.terms import a, obj, t
    >>> names_class(a("Car")), names_class(obj("Car", "c1")), names_class(t.car(1))
    (True, True, False)
    """
    if type(pattern) is not Compound:
        return False
    if pattern.name == OBJECT:
        return is_object(pattern)
    return is_formal(pattern) and read_formal(pattern).class_name is not None


def wanted(pattern: Compound, position: int, alike: dict[str, list[Path]]) -> WantedClass:
    """Read a field that names a class; `alike` gathers what `same(…)` ties."""
    if is_formal(pattern):
        formal = read_formal(pattern)
        assert formal.class_name is not None
        predicate = formal.predicate
        if predicate is None:
            return WantedClass(position, formal.class_name, MISSING, None)
        test, price = unpriced(predicate, field=False), price_of(predicate, field=False)
        return WantedClass(position, formal.class_name, MISSING, test, price)
    assert is_object(pattern)
    class_name, identity, listed = pattern.args
    if formals_in(pattern):
        first = 2 if identity is None else 1
        inner: dict[str, list[Path]] = {}
        inside = check_of(pattern.args[first:], (position,), inner)
        assert inside is not None, "a list is looked into"
        for name, paths in inner.items():  # what was left out in front moves the rest
            alike.setdefault(name, []).extend([(p[0], p[1] + first, *p[2:]) for p in paths])
        known = MISSING if identity is None or formals_in(identity) else identity
        return WantedClass(
            position, class_name, known, lambda o, budget: inside(parts_of(o)[first:], budget)
        )
    if identity is None:
        return WantedClass(
            position,
            class_name,
            MISSING,
            lambda o, budget: same_within(parts_of(o)[2], listed, budget),
        )
    return WantedClass(
        position,
        class_name,
        identity,
        lambda o, budget: (
            same_within(parts_of(o)[1], identity, budget)
            and (not listed or same_within(parts_of(o)[2], listed, budget))
        ),
    )


def _seen(one: WantedClass, view: View) -> WantedClass:
    test = one.test
    if test is None:
        return one

    def check(value: Term, budget: Budget) -> bool:
        assert has_properties(value)
        budget.spend(1 + len(value.args[2]))
        return test(view(value), budget)

    return one._replace(test=check)


class Assigner:
    """A template that names classes, ready to be fitted to tuples.

    `accepted` gives the class names that a class accepts, `own` those that mean the class itself;
    `view`, where it is given, shows an object as predicates are to see it.

    >>> from nomospace.terms import a, obj
    >>> cars = Assigner(("sale", a("Car")), just_itself, just_itself)
    >>> car = obj("Car", "c1")
    >>> cars.fits((car, "sale", 17), Budget()), cars.fits((car,), Budget())
    (True, False)
    >>> cars.places((car, "sale", 17))
    (1, 0)
    >>> cars.exact((car, "sale"), Budget()), cars.exact((car, "sale", 17), Budget())
    (True, False)
    """

    __slots__ = (
        "_accepted",
        "_own",
        "_patterns",
        "classes",
        "exact",
        "fits",
        "literals",
        "plain",
        "tied",
    )

    def __init__(
        self, patterns: Fields, accepted: Names, own: Names, view: View | None = None
    ) -> None:
        alike: dict[str, list[Path]] = {}
        classes: list[WantedClass] = []
        plain: list[tuple[int, Check | None]] = []
        literals: list[Key] = []
        for position, pattern in enumerate(patterns):
            if names_class(pattern):
                one = wanted(pattern, position, alike)
                classes.append(one if view is None else _seen(one, view))
                continue
            if pattern.__class__ in ATOMIC:
                literals.append(key_of(pattern))
            plain.append((position, check_of(pattern, (position,), alike)))
        self.classes: tuple[WantedClass, ...] = tuple(classes)
        """The fields that name classes."""
        self.literals: tuple[Key, ...] = tuple(literals)
        """The keys of its atomic actuals."""
        self._patterns = len(patterns)
        self.plain = tuple(plain)
        """The other fields, by position, with the check of those that not everything fits."""
        self._accepted = [accepted(one.class_name) for one in classes]
        self._own = [own(one.class_name) for one in classes]
        self.tied: dict[int, list[tuple[str, Path]]] = {}
        """By position in the template: what is tied there, by its name and where inside."""
        for name, paths in alike.items():
            if len(paths) > 1:
                for path in paths:
                    self.tied.setdefault(path[0], []).append((name, path[1:]))
        self.fits: Test = self._fits
        """Whether every field of the template can be given a field of the tuple."""
        checks = [check for _, check in plain if check is not None]
        self.exact: Test = self._exact
        """Whether it also can be with no field left over and no class but the template's own."""
        if len(classes) == 1 and not self.tied and len(checks) == len(plain):
            self.fits = _simply(classes[0], self._accepted[0], checks)
            only_own, width = _simply(classes[0], self._own[0], checks), len(patterns)
            self.exact = lambda fields, budget: len(fields) == width and only_own(fields, budget)

    def _fits(self, fields: Fields, budget: Budget) -> bool:
        return (
            len(fields) >= self._patterns
            and self._assign(fields, self._accepted, budget) is not None
        )

    def _exact(self, fields: Fields, budget: Budget) -> bool:
        return len(fields) == self._patterns and self._assign(fields, self._own, budget) is not None

    def places(self, fields: Fields) -> tuple[int, ...] | None:
        """Which field of the tuple each field of the template is given: the least way.

        That is, for each field of the template in turn, those that name classes first: its own
        class first, then the first position. `None` when the tuple does not fit.
        """
        return self._assign(fields, self._accepted, Budget())

    def _assign(
        self, fields: Fields, names: list[Container[str]], budget: Budget
    ) -> tuple[int, ...] | None:
        budget.spend(len(fields))
        objects = {pos: value for pos, value in enumerate(fields) if is_object(value)}
        others = [pos for pos in range(len(fields)) if pos not in objects]
        spare = len(objects) - len(self.classes)
        if spare < 0:
            return None
        budget.spend(len(self.classes) * len(objects))
        choices = [
            [pos for pos, one in objects.items() if self._takes(nth, one, names[nth], budget)]
            for nth in range(len(self.classes))
        ]
        for nth, found in enumerate(choices):
            own = self._own[nth]
            found.sort(key=lambda pos: (objects[pos].args[0] not in own, pos))
        if self.tied:
            return _Search(self, fields, choices, list(objects), others, budget).found()
        chosen = _least(choices, budget)
        if chosen is None:
            return None
        served = self._serve(fields, others, spare, budget)
        return None if served is None else self.joined(chosen, served, list(objects))

    def _takes(self, nth: int, value: ObjectTerm, names: Container[str], budget: Budget) -> bool:
        if value.args[0] not in names:
            return False
        wanted = self.classes[nth]
        if wanted.test is None:
            return True
        budget.spend(wanted.price)
        return wanted.test(value, budget)

    def joined(
        self, chosen: list[int], served: list[int | None], objects: list[int]
    ) -> tuple[int, ...]:
        """The positions in the template's order; what is open gets the objects left over."""
        made = [0] * self._patterns
        for one, pos in zip(self.classes, chosen, strict=True):
            made[one.position] = pos
        left = iter([pos for pos in objects if pos not in chosen])
        for (position, _), given in zip(self.plain, served, strict=True):
            made[position] = next(left) if given is None else given
        return tuple(made)

    def _serve(
        self, fields: Fields, others: list[int], spare: int, budget: Budget
    ) -> list[int | None] | None:
        """Give plain fields to plain patterns in order; `None` in it where an object must do."""
        plain, width = self.plain, len(others)
        budget.spend(2 * len(plain) * (width + 1))
        # least[n][m]: how many open patterns from the nth on must do without the fields from m on.
        least = [[0] * (width + 1)]
        for _, check in reversed(plain):
            below = least[0]
            row = [_FAR] * (width + 1)
            for m in range(width, -1, -1):
                best = 1 + below[m] if check is None else _FAR
                if m < width:
                    best = min(best, row[m + 1])
                    if below[m + 1] < best and (check is None or check(fields[others[m]], budget)):
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
                    and (check is None or check(fields[others[m]], budget))
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


class _Search:
    """The least way to give fields away when some that are given must be equal.

    Values that are tied get numbers, equal ones the same. `bound` is the number that a name of
    `same(…)` has by what was given so far; a field that would give it another is none to choose.
    """

    def __init__(
        self,
        template: Assigner,
        fields: Fields,
        choices: list[list[int]],
        objects: list[int],
        others: list[int],
        budget: Budget,
    ) -> None:
        self.template = template
        self.fields = fields
        self.objects = objects
        self.others = others
        self.spare = len(objects) - len(template.classes)
        self.budget = budget
        self.bound: dict[str, int] = {}
        self._numbers: dict[tuple[type, Term], int] = {}
        self._compounds: list[tuple[Term, int]] = []
        self._signs: dict[tuple[int, int], tuple[tuple[str, int], ...] | None] = {}
        self._choices = [
            [pos for pos in found if self._sign(one.position, pos) is not None]
            for one, found in zip(template.classes, choices, strict=True)
        ]
        self._chosen: list[int] = []
        self._served: list[int | None] = []
        self._table: list[list[bool]] = []

    def found(self) -> tuple[int, ...] | None:
        """Where each field of the template goes; `None` where there is no way."""
        return self._choose() if self._can_go_on() else None

    # -- what is tied ----------------------------------------------------------------------------

    def _number(self, value: Term) -> int:
        """A number of a value: that of all that are equal."""
        kind = value.__class__
        if kind in ATOMIC:
            return self._numbers.setdefault((kind, value), len(self._numbers))
        for known, number in self._compounds:
            self.budget.spend(1)
            if same_within(known, value, self.budget):
                return number
        number = -1 - len(self._compounds)
        self._compounds.append((value, number))
        return number

    def _sign(self, position: int, pos: int) -> tuple[tuple[str, int], ...] | None:
        """What a field of the template, given a field of the tuple, makes the names stand for.

        `None` when it would make one of them stand for two values.
        """
        if (position, pos) in self._signs:
            return self._signs[position, pos]
        found: dict[str, int] = {}
        made: tuple[tuple[str, int], ...] | None = ()
        for name, path in self.template.tied.get(position, ()):
            self.budget.spend(2 + len(path))
            number = self._number(at_path(self.fields[pos], path))
            if found.setdefault(name, number) != number:
                made = None
                break
        if made is not None:
            made = tuple(found.items())
        self._signs[position, pos] = made
        return made

    def _goes(self, position: int, pos: int) -> bool:
        """Whether a field of the tuple goes with what the names stand for."""
        sign = self._sign(position, pos)
        return sign is not None and all(
            self.bound.get(name, number) == number for name, number in sign
        )

    def _bind(self, position: int, pos: int) -> list[str]:
        """Let names stand for what a field gives them; says which did not stand for anything."""
        sign = self._sign(position, pos)
        assert sign is not None, "only what goes is bound"
        new = [name for name, _ in sign if name not in self.bound]
        self.bound.update(sign)
        return new

    def _free(self, names: list[str]) -> None:
        for name in names:
            del self.bound[name]

    # -- fields that name classes ----------------------------------------------------------------

    def _choose(self) -> tuple[int, ...] | None:
        """Give the next field that names a class an object, and so on."""
        nth = len(self._chosen)
        if nth == len(self._choices):
            return self._begin_plain()
        position = self.template.classes[nth].position
        for pos in self._choices[nth]:
            self.budget.spend(4)
            if pos in self._chosen or not self._goes(position, pos):
                continue
            new = self._bind(position, pos)
            self._chosen.append(pos)
            made = self._choose() if not new or self._can_go_on(new) else None
            if made is not None:
                return made
            self._chosen.pop()
            self._free(new)
        return None

    def _can_go_on(self, names: list[str] | None = None) -> bool:
        """Whether the classes yet to come could all be served, each with one that goes.

        With names that stand for something from now on, only those are looked at that are tied by
        them: nothing has changed for the others.
        """
        rest: list[list[int]] = []
        for nth in range(len(self._chosen), len(self._choices)):
            position, found = self.template.classes[nth].position, self._choices[nth]
            if names is not None and not any(
                name in names for name, _ in self.template.tied.get(position, ())
            ):
                continue
            self.budget.spend(2 + 3 * len(found))
            rest.append(
                [pos for pos in found if pos not in self._chosen and self._goes(position, pos)]
            )
            if not rest[-1]:
                return False
        owner: dict[int, int] = {}
        return all(_augment(nth, rest, owner, {}, self.budget) for nth in range(len(rest)))

    # -- plain fields ----------------------------------------------------------------------------

    def _begin_plain(self) -> tuple[int, ...] | None:
        plain, others = self.template.plain, self.others
        if not self._table:  # which plain field passes which check: it is asked again and again
            self.budget.spend(len(plain) * len(others))
            self._table = [
                [check is None or check(self.fields[pos], self.budget) for pos in others]
                for _, check in plain
            ]
        left = [pos for pos in self.objects if pos not in self._chosen]
        self._served = []
        if not self._can_serve(0, 0, left) or not self._serve(0, left):
            return None
        return self.template.joined(self._chosen, self._served, self.objects)

    def _serve(self, m: int, left: list[int]) -> bool:
        """Give the next plain pattern a field from the `m`th on, or an object left over."""
        plain, n = self.template.plain, len(self._served)
        if n == len(plain):
            return True
        position, check = plain[n]
        if len(self.others) - m + len(left) < len(plain) - n:
            return False
        for at in range(m, len(self.others)):
            self.budget.spend(2)
            if self._table[n][at] and self._goes(position, self.others[at]):
                new = self._bind(position, self.others[at])
                self._served.append(self.others[at])
                if (not new or self._can_serve(n + 1, at + 1, left)) and self._serve(at + 1, left):
                    return True
                self._served.pop()
                self._free(new)
        if check is None and left and self._goes(position, left[0]):
            self.budget.spend(2)
            new = self._bind(position, left[0])
            self._served.append(None)
            if self._serve(m, left[1:]):
                return True
            self._served.pop()
            self._free(new)
        return False

    def _can_serve(self, n: int, m: int, left: list[int]) -> bool:
        """Whether the patterns from the `n`th on that need a plain field find some that go."""
        for nth, (position, check) in enumerate(self.template.plain[n:], n):
            if check is None and left:
                continue  # an object may do
            passes = self._table[nth]
            while m < len(self.others):
                self.budget.spend(1)
                m += 1
                if passes[m - 1] and self._goes(position, self.others[m - 1]):
                    break
            else:
                return False
        return True


def _simply(wanted: WantedClass, names: Container[str], checks: list[Check]) -> Test:
    """The test for one class, and plain patterns that only plain fields can be given."""
    test, price, end = wanted.test, wanted.price, len(checks)

    def fits(fields: Fields, budget: Budget) -> bool:
        budget.left -= len(fields)
        missing, at = True, 0
        for value in fields:
            if type(value) is Compound and value.name == OBJECT and is_object(value):
                if missing and value.args[0] in names:
                    budget.left -= price
                    if budget.left < 0:
                        raise TestTooDear
                    missing = test is not None and not test(value, budget)
            elif at < end and checks[at](value, budget):
                at += 1
        return at == end and not missing

    return fits


def _least(choices: list[list[int]], budget: Budget) -> list[int] | None:
    """A different choice for each, each the first that leaves the later ones one; or `None`."""
    owner: dict[int, int] = {}  # position -> which field has it
    for nth in range(len(choices)):
        if not _augment(nth, choices, owner, {}, budget):
            return None
    chosen: list[int] = []
    for nth, wishes in enumerate(choices):
        now = next(pos for pos, n in owner.items() if n == nth)
        for pos in wishes:
            if pos in chosen:
                continue
            if pos != now:
                budget.spend(1 + len(owner) // 4)
                holder = owner.get(pos)
                trial = {p: n for p, n in owner.items() if n != nth and p != pos}
                trial[pos] = nth
                fixed = dict.fromkeys((*chosen, pos))
                if holder is not None and not _augment(holder, choices, trial, fixed, budget):
                    continue
                owner = trial
            chosen.append(pos)
            break
    return chosen


def _augment(
    nth: int,
    choices: list[list[int]],
    owner: dict[int, int],
    visited: dict[int, Any],
    budget: Budget,
) -> bool:
    """Find a position for one more field, moving others where that helps."""
    for pos in choices[nth]:
        if pos in visited:
            continue
        budget.spend(2)
        visited[pos] = None
        if pos not in owner or _augment(owner[pos], choices, owner, visited, budget):
            owner[pos] = nth
            return True
    return False
