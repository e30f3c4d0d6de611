"""Whether a tuple fits a template: patterns compiled to closures.

The parts that are most quickly told apart are not here: a template looks at the number of fields
and at its atomic actuals first. What is left has one check for each field that is no `ANY`. A
pattern with patterns inside looks at functor and width, then inside. Fields under one name of
`same(…)` are compared last, when every place they stand in is known to exist.

Each check is handed a budget (`nomospace.terms.budget`). The checks of a template are counted when
it is compiled and paid for at once, before the first; what hangs on the tuple as well, as the
properties of large objects and terms compared with each other, is paid for as it is met. Where
nothing hangs on the tuple (`Template.steady`) whoever asks knows the price, and nothing is paid.

The patterns have been looked over by the time they come here: formals are well formed, and none
stands so deep that Python's stack would matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nomospace.terms.budget import Budget, TestTooDear, same_within
from nomospace.terms.conditions import Predicates, priced, unpriced
from nomospace.terms.features import Fields, Path
from nomospace.terms.formals import (
    KINDS,
    Formal,
    accepts,
    bounded_classes,
    has_holes,
    is_formal,
    read_formal,
)
from nomospace.terms.objects import MISSING, Missing, is_object, property_of
from nomospace.terms.values import ATOMIC, Compound, Term, dict_items, is_dict, parts_of, same

Check: TypeAlias = Callable[[Term, Budget], bool]
Test: TypeAlias = Callable[[Fields, Budget], bool]


def compile_fit(patterns: Fields, *, steady: bool = False) -> Test:
    """The test of all patterns but the atomic actuals, for tuples of the right width.

    A `steady` one takes nothing from its budget.

    >>> from nomospace.terms import ANY, t
    >>> fits = compile_fit(("job", t.room(ANY)))
    >>> fits(("job", t.room(3)), Budget()), fits(("job", t.hall(3)), Budget())
    (True, False)
    """
    alike: dict[str, list[Path]] = {}
    checks: list[tuple[int, Check]] = []
    for pos, pattern in enumerate(patterns):
        if pattern.__class__ not in ATOMIC:
            check = check_of(pattern, (pos,), alike, unpriced if steady else priced)
            if check is not None:
                checks.append((pos, check))
    if steady:
        if len(checks) == 1:
            at, only = checks[0]
            return lambda fields, budget: only(fields[at], budget)
        return lambda fields, budget: all(check(fields[at], budget) for at, check in checks)
    pairs = [(paths[0], other) for paths in alike.values() for other in paths[1:]]
    price = sum(map(holes_in, patterns)) + 4 * len(pairs)

    def fits(fields: Fields, budget: Budget) -> bool:
        budget.left -= price
        if budget.left < 0:
            raise TestTooDear
        for pos, check in checks:
            if not check(fields[pos], budget):
                return False
        return not pairs or all(
            same_within(at_path(fields, one), at_path(fields, other), budget)
            for one, other in pairs
        )

    return fits


def at_path(value: Term, path: Path) -> Term:
    """What stands at a path inside compounds and lists, and under a key inside dicts."""
    for i in path:
        if type(i) is str:
            found = property_of(value, i)
            assert found is not MISSING
            value = found
        else:
            value = parts_of(value)[i]
    return value


def holes_in(pattern: Term) -> int:
    """The checks that a pattern is made of: a price of it."""
    if pattern.__class__ in ATOMIC or is_formal(pattern):
        return 1
    if not has_holes(pattern):
        return 1
    return 1 + sum(map(holes_in, parts_of(pattern)))


def check_of(
    pattern: Term, path: Path, alike: dict[str, list[Path]], predicates: Predicates = priced
) -> Check | None:
    """The check of one pattern; `None` where everything fits.

    `alike` gathers the paths that `same(…)` ties, by name.
    """
    if is_formal(pattern):
        formal = read_formal(pattern)
        if formal.same is not None:
            alike.setdefault(formal.same, []).append(path)
        return _check_formal(formal, predicates)
    if pattern.__class__ in ATOMIC or not has_holes(pattern):
        if type(pattern) is str:  # no other value equals it
            return lambda value, budget: value == pattern
        if pattern.__class__ in ATOMIC:
            return lambda value, budget: same(pattern, value)
        return lambda value, budget: same_within(pattern, value, budget)
    items = dict_items(pattern)
    if items is not None:
        return _check_dict(items, path, alike)
    inside = _check_parts(parts_of(pattern), path, alike)
    if type(pattern) is not Compound:
        return lambda value, budget: type(value) is tuple and inside(value, budget)
    name = pattern.name
    return lambda value, budget: (
        type(value) is Compound and value.name == name and inside(value.args, budget)
    )


def _check_dict(
    items: tuple[tuple[str, Term], ...], path: Path, alike: dict[str, list[Path]]
) -> Check:
    """A dict fits those that have at least its keys, each with a value that fits."""
    checks = [(key, check_of(value, (*path, key), alike)) for key, value in items]

    def fits(value: Term, budget: Budget) -> bool:
        if not is_dict(value):
            return False
        held = budget.named(value.args[2])
        for key, check in checks:
            found: Term | Missing = held.get(key, MISSING)
            if found is MISSING or (check is not None and not check(found, budget)):
                return False
        return True

    return fits


def _check_parts(parts: Fields, path: Path, alike: dict[str, list[Path]]) -> Test:
    width = len(parts)
    checks: list[tuple[int, Check]] = []
    for i, part in enumerate(parts):
        check = check_of(part, (*path, i), alike)
        if check is not None:
            checks.append((i, check))
    if len(checks) == 1:  # the commonest, without a generator
        at, only = checks[0]
        return lambda values, budget: len(values) == width and only(values[at], budget)
    if not checks:
        return lambda values, budget: len(values) == width
    return lambda values, budget: (
        len(values) == width and all(check(values[i], budget) for i, check in checks)
    )


def _check_formal(formal: Formal, predicates: Predicates) -> Check | None:
    if formal.class_name is not None:
        return _check_class(formal.class_name, formal.predicate)
    classes = KINDS[formal.kind]
    if formal.bounds is not None:
        low, high = formal.bounds
        fitting = tuple([kind for kind in bounded_classes(low) if not classes or kind in classes])
        return lambda value, budget: value.__class__ in fitting and low <= value <= high
    if formal.predicate is not None:
        test = predicates(formal.predicate, field=True)
        if not classes:
            return test
        return lambda value, budget: value.__class__ in classes and test(value, budget)
    if not classes:
        return None
    if len(classes) == 1:
        only = classes[0]
        return lambda value, budget: value.__class__ is only
    return lambda value, budget: value.__class__ in classes


def _check_class(name: str, predicate: str | None) -> Check:
    if predicate is None:
        return lambda value, budget: is_object(value) and accepts(name, value.args[0])
    test = priced(predicate, field=False)
    return lambda value, budget: (
        is_object(value) and accepts(name, value.args[0]) and test(value, budget)
    )
