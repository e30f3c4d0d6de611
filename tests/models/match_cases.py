"""Generated ontologies, tuples and templates, and every engine against the brute-force oracle.

    python -m tests.models.match_cases --cases 2000 --engines memory
    python -m tests.models.match_cases --seed 17 --show

A case is made from its seed alone. It is small, because the oracle looks at every subset, and
dense, because answers must be common and of every kind: few classes, few ids, objects without ids,
objects that stand in two tuples with different properties, functions with and without ties, inputs
that have to be computed themselves. One case in ten has arrays, and predicates on their elements.

An engine is a function `(question, ontology, facts) -> (all answers, what any gives)`, both in the
form of the oracle; `ENGINES` names them, and a test of another engine adds its own.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from nomospace.meaning.answers import MeaningAnswer
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Dependence, Input, Ontology, OntologyClass, Tie
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import Question, parse_template
from nomospace.terms import show
from nomospace.terms.objects import Object
from nomospace.terms.predicate import Literal
from nomospace.terms.values import Term
from tests.models.matching import Found, Oracle

Engine: TypeAlias = Callable[[Question, Ontology, Sequence[Fact]], tuple[list[Found], Found | None]]


PREDICATES = ("x < 3", "x = 1", "y != 2", "x = y", "v > 1", "k = 1", "not x = 2")
ELEMENT_PREDICATES = (
    "y[0] = 1",
    "any(y) > 1",
    "not any(y) = 2",
    "any(y) = x",
    "k[1] = 2",
    "y[0][0] = 1",
)
ARRAYS: tuple[Term, ...] = ((1, 2), (1, 2), (2, 1.0, "s"), (), ((1,), 3), 2)


class Case(NamedTuple):
    """One question about some tuples."""

    seed: int
    ontology: Ontology
    facts: tuple[Fact, ...]
    template: str
    question: Question

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.question} {self.question[2:]}"]
        for one in self.ontology.classes.values():
            lines.append(f"  {one.name} {list(one.synonyms)} is {list(one.parents)}")
            for name, listed in one.depends.items():
                for made in listed:
                    when = " and ".join(map(str, made.when))
                    lines.append(f"    {name} = {made.text} when {when}")
        lines += [f"  {fact.id} {show(fact.fields)}" for fact in self.facts]
        return "\n".join(lines)


# Making cases.


def case(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(seed)
    ontology = _ontology(rng)
    names = [name for one in ontology.classes.values() for name in one.names]
    inputs = [
        name
        for one in ontology.classes
        for listed in ontology.depends(one).values()
        for made in listed
        for name in made.inputs
    ]
    used = list(dict.fromkeys([*inputs, *rng.sample(names, len(names))]))[: rng.randint(2, 4)]
    computing = bool(inputs) and rng.random() < 0.5  # a case for dependence functions
    if seed % 10 == 9:  # a case for tuples that are bridged by others
        facts = _chain(rng, used)
        template = f"({used[0]}, {used[-1]})"
    else:
        predicates = ELEMENT_PREDICATES if seed % 10 == 3 else PREDICATES
        facts = _facts(rng, used, computing, arrays=seed % 10 == 3)
        template = _template(rng, ontology, names, used, computing, predicates)
    question = parse_template(
        template,
        ontology,
        correlate=rng.choice(["auto", "auto", "always", "always", "always", "never"]),
        max_set=rng.choice([2, 3, 4, 6, 6]),
    )
    return Case(seed, ontology, facts, template, question)


def _ontology(rng: random.Random) -> Ontology:
    count = rng.randint(3, 6)
    names = [chr(ord("A") + n) for n in range(count)]
    classes: list[OntologyClass] = []
    computed = [name for name in names[:-1] if rng.random() < 0.4][:2]
    for at, name in enumerate(names):
        above = [other for other in names[:at] if rng.random() < 0.25][:2]
        synonyms = (f"{name}{name}",) if rng.random() < 0.3 else ()
        depends: dict[str, tuple[Dependence, ...]] = {}
        if name in computed:
            # Only classes further on, so that nothing depends on itself; a parent stands before.
            inputs = names[at + 1 :]
            if inputs:
                depends["v"] = tuple(
                    [_dependence(rng, name, "v", inputs) for _ in range(rng.choice([1, 1, 2]))]
                )
                if rng.random() < 0.3:
                    depends["w"] = (_dependence(rng, name, "w", inputs),)
        properties = {"x": "number", "y": "number", "v": "number", "w": "number"}
        classes.append(OntologyClass(name, synonyms, tuple(above), properties, depends))
    made = Ontology("generated", classes)
    if _circular(made):  # a descendant is among the inputs of what it inherits
        classes = [one._replace(depends={}) for one in classes]
        made = Ontology("generated", classes)
    return made


def _dependence(rng: random.Random, owner: str, name: str, inputs: list[str]) -> Dependence:
    chosen = rng.sample(inputs, min(len(inputs), rng.choice([1, 2, 2])))
    arguments: list[Any] = [Input(one, (rng.choice("xxy"),)) for one in chosen]
    if len(arguments) == 1:
        arguments.append(Literal(rng.choice([1, 2])))
    ties: list[Tie] = []
    if rng.random() < 0.7:
        sides = [Input(one, (rng.choice("yyx"),)) for one in chosen]
        if rng.random() < 0.5:
            sides.insert(rng.randint(0, len(sides)), Input(owner, ("k",)))
        if rng.random() < 0.15:
            sides.append(Input(rng.choice(inputs), ("y",)))
        sign = rng.choice(["=", "=", "=", "<="])
        ties = [Tie(a, sign, b) for a, b in pairwise(sides)]
    function = rng.choice(["plus", "minus", "times", "divide", "min", "max"])
    return Dependence(owner, name, function, tuple(arguments), tuple(ties))


def _circular(ontology: Ontology) -> bool:
    """Whether computing a class could need that class, or one that it accepts or inherits from."""

    def needs(name: str, path: tuple[str, ...]) -> bool:
        if name in path:
            return True
        for listed in ontology.depends(name).values():
            for one in listed:
                for other in one.inputs:
                    if needs(other, (*path, name)):
                        return True
        return False

    return any(needs(name, ()) for name in ontology.classes)


def _facts(
    rng: random.Random, used: list[str], computing: bool, *, arrays: bool
) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    known: dict[tuple[str, str], Term] = {}
    loose = rng.random() < 0.4  # whether one object may be seen with different properties
    ids = rng.choice(["a", "ab", "abc", "abcd"])
    numbers = rng.sample(range(1, 20), rng.choice([2, 3, 4, 5, 6, 7, 8]))
    for number in numbers:
        fields: list[Term] = []
        for _ in range(rng.choice([1, 2, 2, 2, 2, 3])):
            kind = rng.random()
            if kind < 0.12:
                fields.append(rng.choice([1, 2, 1.0, "p", "q", True, None]))
                continue
            name = rng.choice(used)
            properties: dict[str, Term] = {}
            for one in ("x", "y"):
                if rng.random() < (0.97 if computing else 0.85):
                    some: list[Term] = [1, 1, 2, 2.0] if computing else [1, 1, 2, 2, 3, 2.0, "s"]
                    properties[one] = rng.choice(some)
            if arrays:
                properties["y"] = rng.choice(ARRAYS)
            if rng.random() < 0.1:
                fields.append(Object(name, None, properties).term)
                continue
            ident = rng.choice(ids)
            made = Object(name, ident, properties).term
            fields.append(made if loose else known.setdefault((name, ident), made))
        facts.append(Fact(f"t{number}", tuple(fields)))
    return tuple(facts)


def _chain(rng: random.Random, used: list[str]) -> tuple[Fact, ...]:
    """Tuples that each hold objects of two classes that stand side by side."""
    pairs = [*pairwise(used), *pairwise(used), (used[len(used) // 2],) * 2]
    return tuple(
        [
            Fact(f"t{number}", tuple([Object(name, rng.choice("ab"), {}).term for name in pair]))
            for number, pair in enumerate(rng.sample(pairs, len(pairs)))
        ]
    )


def _template(
    rng: random.Random,
    ontology: Ontology,
    names: list[str],
    used: list[str],
    computing: bool,
    predicates: Sequence[str],
) -> str:
    if not computing and rng.random() < 0.03:
        return rng.choice(["(int)", "(1, str)", "(any, any)", "('p')"])
    above = [name for one in used for name in ontology.ancestors(one)]
    computable = [one for one in ontology.classes if ontology.depends(one)]
    fields: list[str] = []
    for number in range(rng.choice([1, 1, 2] if computing else [1, 2, 2, 3, 3, 3, 4])):
        if computing and number == 0:
            away = [one for one in computable if not ontology.accepted(one) & set(used)]
            fields.append(rng.choice(away or computable))
            if predicates is ELEMENT_PREDICATES:
                fields[0] += f" where {rng.choice(predicates)}"
            continue
        kind = rng.random()
        pool = (
            used if kind < 0.6 else above if kind < 0.75 else computable if kind < 0.97 else names
        )
        fields.append(_field(rng, pool or used, predicates))
    if rng.random() < 0.15:
        plain = rng.choice(["int", "str", "1", "'p'", "any", "float"])
        fields.insert(rng.randint(0, len(fields)), plain)
    key = f" key {rng.choice(used + above)}" if rng.random() < 0.2 else ""
    return f"({', '.join(fields)}){key}"


def _field(rng: random.Random, names: list[str], predicates: Sequence[str]) -> str:
    words = rng.choice(names)
    if rng.random() < 0.05:
        words += f" = {rng.choice('abc')}"
    if rng.random() < (0.6 if predicates is ELEMENT_PREDICATES else 0.25):
        words += f" where {rng.choice(predicates)}"
    return words


# Asking engines.


def found(answer: MeaningAnswer) -> Found:
    """An answer in the oracle's form."""
    return Found(answer.kind, answer.tuples, answer.fields)


def memory(
    question: Question, ontology: Ontology, facts: Sequence[Fact]
) -> tuple[list[Found], Found | None]:
    """The engine in memory."""
    matcher = Matcher(question, Facts.of(facts, ontology))
    answers = matcher.all()
    first = matcher.first()
    return [found(one) for one in answers.items], None if first is None else found(first)


ENGINES: dict[str, Engine] = {"memory": memory}


def differs(made: Case, engine: Engine) -> str:
    """How an engine's answers differ from the oracle's; empty when they do not."""
    oracle = Oracle(made.question, made.ontology, made.facts)
    expected = oracle.answers()
    answers, first = engine(made.question, made.ontology, made.facts)
    plan = Planner(made.question, made.ontology, Facts.of(made.facts, made.ontology).known()).plan()
    if plan.cut:  # what is said to be missing may be missing
        expected = [one for one in expected if len(one.tuples) <= plan.complete]
    lines: list[str] = []
    lines += [f"missing: {one}" for one in expected if one not in answers]
    lines += [f"too much: {one}" for one in answers if one not in expected]
    if not lines and answers != expected:
        lines.append(f"order: {[one.tuples for one in answers]}")
    least = oracle.first()
    if least not in expected:
        least = None
    if first != least:
        lines.append(f"any: {first} instead of {least}")
    return "\n".join(lines)


def shrunk(made: Case, engine: Engine) -> Case:
    """A case with fewer tuples that still differs."""
    for fact in made.facts:
        fewer = made._replace(facts=tuple([one for one in made.facts if one is not fact]))
        if differs(fewer, engine):
            return shrunk(fewer, engine)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases and say which differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engines", default="memory", help="names, with commas")
    parser.add_argument("--show", action="store_true", help="print the first case and its answers")
    chosen = parser.parse_args(arguments)
    if chosen.show:
        made = case(chosen.seed)
        print(made)
        for one in Oracle(made.question, made.ontology, made.facts).answers():
            print(one)
        chosen.cases = 1
    failed = 0
    kinds: dict[str, int] = {}
    for seed in range(chosen.seed, chosen.seed + chosen.cases):
        made = case(seed)
        for one in Oracle(made.question, made.ontology, made.facts).answers():
            name = f"{one.kind} of {len(one.tuples)}"
            kinds[name] = kinds.get(name, 0) + 1
        for name in chosen.engines.split(","):
            if differs(made, ENGINES[name]):
                failed += 1
                small = shrunk(made, ENGINES[name])
                print(f"{name} differs\n{small}\n{differs(small, ENGINES[name])}\n")
                if failed >= 5:
                    return 1
    counted = ", ".join(f"{count} {name}" for name, count in sorted(kinds.items()))
    print(f"{chosen.cases} cases, {failed} differ; answers: {counted}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
