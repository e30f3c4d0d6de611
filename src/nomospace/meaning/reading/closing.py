"""Checks drafts together and closes them into an ontology, or says everything that is wrong.

First the names (`naming`). A cycle among parents ends it there. Then types: a property that a class
gets from several sides must have types of which one is the narrowest. Then the functions
(`depending`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from nomospace.meaning.functions import Functions
from nomospace.meaning.ontology import CLASSES_MAX, Ontology
from nomospace.meaning.reading.cycles import arrows, cycles
from nomospace.meaning.reading.depending import Depends, check_trees
from nomospace.meaning.reading.drafts import OntologyDraft
from nomospace.meaning.reading.faults import FAULTS_MAX, Faults
from nomospace.meaning.reading.naming import ClassDrafts, Groups


def close(
    draft: OntologyDraft,
    functions: Functions,
    faults: Faults,
    renames: Mapping[str, Mapping[str, str]] | None = None,
) -> Ontology:
    """The ontology that drafts make; `FaultyOntology` with all that was found wrong."""
    if len(draft.classes) > 2 * CLASSES_MAX:  # before the work: drafts may yet be one class
        place = draft.classes[CLASSES_MAX].name.place
        raise faults.stop("limit", f"over {CLASSES_MAX:,} classes", place, "split the ontology")
    groups = Groups(draft, faults)
    order = _parents_first(groups, faults)
    if order is None:
        raise faults.error()
    plain = Ontology(draft.name, [group.plain() for group in order])
    _check_types(plain, order, faults)
    faults.check()  # functions are read against classes that are right
    depends = Depends(plain, groups, functions, faults)
    made = Ontology(
        draft.name,
        [one._replace(depends=depends.of(one.name)) for one in plain.classes.values()],
        functions=functions,
        renames=renames or {},
        warnings=tuple(warning.render("warning") for warning in faults.warnings),
    )
    check_trees(made, depends, faults)
    faults.check()
    return made


# Parents.


def _parents_first(groups: Groups, faults: Faults) -> list[ClassDrafts] | None:
    """All classes, parents before children; none when a class is under itself."""
    named = {group.name: group for group in groups.all}
    above = {group.name: list(group.parents) for group in groups.all}
    with suppress(CycleError):
        return [named[name] for name in TopologicalSorter(above).static_order()]
    for cycle in islice(cycles(above), FAULTS_MAX):
        group, parent = named[cycle[0]], cycle[1 % len(cycle)]
        faults.add(
            "cycle",
            f"{group.name} is under itself: {arrows(cycle)}",
            group.parents[parent].place,
            "take out one of these parents; if all are one class, make them synonyms",
        )
    return None


# Types.


def _check_types(plain: Ontology, order: list[ClassDrafts], faults: Faults) -> None:
    """A property that comes from several sides must have one narrowest type.

    Only properties that are declared with different types are followed, and only down from where
    they are declared; most properties are declared once.
    """
    declared: dict[str, list[ClassDrafts]] = {}
    for group in order:
        for name in group.types:
            declared.setdefault(name, []).append(group)
    place = {group.name: (at, group) for at, group in enumerate(order)}
    narrowest = cache(plain.narrower)  # the same few types meet again and again
    for name, declarers in declared.items():
        if len({group.types[name][0] for group in declarers}) == 1:
            continue
        known: dict[str, tuple[str, str]] = {}  # class -> the type there, and who declares it
        followed = _from(declarers, plain, place)
        faults.spend(len(followed), declarers[0].place)
        for group in followed:
            own = group.types.get(name)
            sides = [known[above] for above in sorted(group.parents) if above in known]
            if own is not None:
                sides.insert(0, (own[0], group.name))
            if not sides:
                continue
            chosen = sides[0]
            for other in sides[1:]:
                narrow = narrowest(chosen[0], other[0])
                if narrow is None:
                    _report_types(group, name, chosen, other, faults)
                    break
                chosen = chosen if narrow == chosen[0] else other
            known[group.name] = chosen


def _from(
    declarers: list[ClassDrafts], plain: Ontology, place: Mapping[str, tuple[int, ClassDrafts]]
) -> list[ClassDrafts]:
    """Some classes and all that is under them, parents first."""
    found: dict[str, None] = {}
    for group in declarers:
        if group.name not in found:
            found[group.name] = None
            found |= dict.fromkeys(plain.descendants(group.name))
    return [group for _, group in sorted((place[name] for name in found), key=lambda one: one[0])]


def _report_types(
    group: ClassDrafts, name: str, one: tuple[str, str], other: tuple[str, str], faults: Faults
) -> None:
    own = group.types.get(name)
    words = f"{group.name}.{name} would be {one[0]}"
    words += " here" if one[1] == group.name else f" by {one[1]}"
    faults.add(
        "type-conflict",
        f"{words} and {other[0]} by {other[1]}, and no value is both",
        group.place if own is None else own[1].place,
        "give them types of which one is under the other, or name one property otherwise",
    )
