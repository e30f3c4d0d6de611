"""What a template that names classes matches, by trying every way to give it a tuple's fields."""

from __future__ import annotations

from itertools import permutations

from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import ANY, Compound, Term, is_object, same
from nomospace.terms.conditions import compiled
from nomospace.terms.templates import Template

CARS = Ontology(
    "cars",
    [
        OntologyClass("Thing"),
        OntologyClass("Car", ("Automobile",), ("Thing",)),
        OntologyClass("SportsCar", (), ("Car", "Toy")),
        OntologyClass("Toy", (), ("Thing",)),
    ],
)
MEANS = {"Automobile": "Car"}
ACCEPTS = {
    "Thing": ("Thing", "Car", "SportsCar", "Toy"),
    "Car": ("Car", "SportsCar"),
    "SportsCar": ("SportsCar",),
    "Toy": ("Toy", "SportsCar"),
}


def wants(pattern: Term) -> tuple[str, str] | None:
    """The class that a pattern names, and the predicate beside it."""
    if is_object(pattern):
        return pattern.args[0], ""
    if pattern.__class__ is Compound and pattern.name == "formal":
        kind, *rest = pattern.args
        if kind.__class__ is Compound:
            return str(kind.args[0]), str(rest[0]) if rest else ""
    return None


def takes(pattern: Term, value: Term, exact: bool) -> bool:
    """Whether one field of a template may be given one value."""
    wanted = wants(pattern)
    if wanted is None:
        if is_object(value):
            return bool(pattern == ANY)
        return Template.of((pattern,)).matches((value,))
    if not is_object(value):
        return False
    asked, there = (MEANS.get(name, name) for name in (wanted[0], value.args[0]))
    if asked != there and (exact or there not in ACCEPTS.get(asked, ())):
        return False
    if is_object(pattern):
        _, id, properties = pattern.args
        if id is not None and not same(id, value.args[1]):
            return False
        return (id is not None and not properties) or same(properties, value.args[2])
    return not wanted[1] or compiled(wanted[1], field=False)(value)


def fits(template: Template, fields: tuple[Term, ...], *, exact: bool = False) -> bool:
    """Whether a tuple answers a template; exactly so, if that is asked."""
    patterns = template.term
    if not any(wants(pattern) for pattern in patterns):
        return template.matches(fields)
    if exact and len(patterns) != len(fields):
        return False
    for places in permutations(range(len(fields)), len(patterns)):
        given = [(pattern, fields[place]) for pattern, place in zip(patterns, places, strict=True)]
        plain = [
            place for (_, value), place in zip(given, places, strict=True) if not is_object(value)
        ]
        if plain == sorted(plain) and all(takes(*pair, exact) for pair in given):
            return True
    return False
