"""What counts as an answer, read by brute force: every set of tuples, every choice of objects.

It is slow and it is right: nothing here is clever. It knows no plan, no shape and no index, and of
the code under test it uses only what an ontology says about classes, the functions and the meaning
of a predicate on one object. An answer is `(kind, ids, fields, computed)`, where a field is the id
of a tuple and a position, or a computed object.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Dependence, Input, Ontology
from nomospace.meaning.question import ClassField, Question, TypeField, value_test
from nomospace.terms import MISSING, Object, is_object, obj, property_of
from nomospace.terms.conditions import compiled, holds
from nomospace.terms.objects import class_of
from nomospace.terms.values import Term, same


class Found(NamedTuple):
    """An answer of the oracle."""

    kind: str
    tuples: tuple[str, ...]
    fields: tuple[Term, ...]


class Slot(NamedTuple):
    """A field of a tuple of the set."""

    tuple_id: str
    at: int
    value: Term


class Computed(NamedTuple):
    """An object that functions made, with what its ties join."""

    order: tuple[Any, ...]
    value: Term
    me: object
    links: tuple[tuple[Any, Any], ...]


class Oracle:
    """Answers questions about a handful of tuples."""

    def __init__(self, question: Question, ontology: Ontology, facts: Sequence[Fact]) -> None:
        self.question = question
        self.ontology = ontology
        self.facts = {fact.id: fact for fact in facts}

    # The whole.

    def answers(self) -> list[Found]:
        """Every answer, sorted by the ids of its tuples."""
        singles = {ident: found for ident in self.facts if (found := self.single(ident))}
        answers = list(singles.values())
        correlate = self.question.correlate
        if self.question.positional:  # a plain Linda template asks for one tuple
            correlate = "never"
        if correlate == "always" or (correlate == "auto" and not singles):
            answers += self.minimal(singles)
        return sorted(answers, key=lambda found: found.tuples)

    def first(self) -> Found | None:
        """What `any` gives."""
        kinds = ("exact", "semantic", "correlation")
        return min(
            self.answers(),
            key=lambda found: (kinds.index(found.kind), len(found.tuples), found.tuples),
            default=None,
        )

    def minimal(self, singles: dict[str, Found]) -> Iterator[Found]:
        enough = {frozenset([ident]) for ident in singles}
        for size in range(1, self.question.max_set + 1):
            for ids in combinations(sorted(self.facts), size):
                if any(smaller <= frozenset(ids) for smaller in enough):
                    continue
                fields = self.correlated(ids)
                if fields is not None:
                    enough.add(frozenset(ids))
                    yield Found("correlation", ids, fields)

    # One tuple.

    def single(self, ident: str) -> Found | None:
        fact, fields = self.facts[ident], self.question.fields
        if self.question.positional:
            if len(fact.fields) != len(fields):
                return None
            for field, value in zip(fields, fact.fields, strict=True):
                if is_object(value) and field != TypeField("any"):
                    return None
                if not value_test(field)(value):
                    return None
            return Found("exact", (ident,), fact.fields)
        best: tuple[Any, Any] | None = None
        for places in permutations(range(len(fact.fields)), len(fields)):
            slots = [Slot(ident, at, fact.fields[at]) for at in places]
            if not all(self.accepts(f, s.value) for f, s in zip(fields, slots, strict=True)):
                continue
            plain = [slot.at for slot in slots if not is_object(slot.value)]
            if plain != sorted(plain):
                continue
            order = [self.rank(f, s) for f, s in zip(fields, slots, strict=True)]
            if best is None or order < best[0]:
                best = (order, slots)
        if best is None:
            return None
        own = all(rank[0] == 0 for rank in best[0]) and len(fact.fields) == len(fields)
        values = tuple([slot.value for slot in best[1]])
        return Found("exact" if own else "semantic", (ident,), values)

    # Several tuples.

    def correlated(
        self, ids: tuple[str, ...], *, functions: bool = True
    ) -> tuple[Term, ...] | None:
        """What serves the fields, if the set satisfies conditions 1 and 2."""
        slots = [
            Slot(ident, at, value)
            for ident in ids
            for at, value in enumerate(self.facts[ident].fields)
        ]
        options: list[list[tuple[Any, Any]]] = []
        for field in self.question.fields:
            direct = [(self.rank(field, s), s) for s in slots if self.accepts(field, s.value)]
            if direct:
                options.append([(order, slot) for order, slot in direct])
            elif functions and isinstance(field, ClassField) and field.id is MISSING:
                name = self.canonical(field.class_name)
                made = [c for c in self.computed(name, slots) if self.accepts(field, c.value)]
                options.append([(c.order, c) for c in made])
            else:
                return None
        computing = any(isinstance(c, Computed) for option in options for _, c in option)
        if len(ids) == 1 and not computing:
            return None  # one tuple by itself is no set
        best: tuple[Any, Any] | None = None
        for choice in product(*options):
            served = [one for _, one in choice]
            if not self.different(served) or not self.together(ids, served):
                continue
            order = [order for order, _ in choice]
            if best is None or order < best[0]:
                best = (order, served)
        return None if best is None else tuple([one.value for one in best[1]])

    def different(self, served: list[Any]) -> bool:
        slots = [one for one in served if isinstance(one, Slot)]
        for i, one in enumerate(slots):
            for other in slots[i + 1 :]:
                if (one.tuple_id, one.at) == (other.tuple_id, other.at):
                    return False
                if is_object(one.value) and is_object(other.value):
                    if self.same_object(one.value, other.value):
                        return False
                elif (
                    not is_object(one.value)
                    and not is_object(other.value)
                    and one.tuple_id == other.tuple_id
                    and one.at > other.at
                ):
                    return False
        return True

    def together(self, ids: tuple[str, ...], served: list[Any]) -> bool:
        if self.question.key is not None:
            return self.keyed(ids)
        links = [link for one in served if isinstance(one, Computed) for link in one.links]
        for a, b in combinations(ids, 2):
            if self.share(a, b):
                links.append((a, b))
        reached = {ids[0]}
        while True:
            more = {y for x, y in links if x in reached} | {x for x, y in links if y in reached}
            if more <= reached:
                return set(ids) <= reached
            reached |= more

    def keyed(self, ids: tuple[str, ...]) -> bool:
        assert self.question.key is not None
        return any(
            is_object(value)
            and self.ontology.accepts(self.question.key, value.args[0])
            and all(
                any(is_object(v) and self.same_object(v, value) for v in self.facts[i].fields)
                for i in ids
            )
            for value in self.facts[ids[0]].fields
        )

    def share(self, a: str, b: str) -> bool:
        return any(
            is_object(x) and is_object(y) and self.same_object(x, y)
            for x in self.facts[a].fields
            for y in self.facts[b].fields
        )

    # Computing.

    def computed(self, class_name: str, slots: list[Slot]) -> list[Computed]:
        """Every way to compute an object of a class from the fields of a set."""
        found: list[Computed] = []
        depends = self.ontology.depends(class_name)
        if not depends:
            return []
        for vector in product(*[range(len(listed)) for listed in depends.values()]):
            steps = [listed[n] for listed, n in zip(depends.values(), vector, strict=True)]
            names = list(dict.fromkeys(name for step in steps for name in step.inputs))
            if not names:
                continue
            inputs: list[list[tuple[Any, Any]]] = []
            for name in names:
                asked = ClassField(name)
                direct: list[tuple[Any, Any]] = [
                    (self.rank(asked, slot), slot)
                    for slot in slots
                    if self.accepts(asked, slot.value)
                ]
                if not direct:
                    nested = self.computed(self.canonical(name), slots)
                    direct = [(made.order, made) for made in nested]
                inputs.append(direct)
            for choice in product(*inputs):
                bound = dict(zip(names, [one for _, one in choice], strict=True))
                made = self.make(class_name, steps, bound)
                if made is not None:
                    order = (vector, tuple([order for order, _ in choice]))
                    found.append(Computed(order, *made))
        return found

    def make(
        self, class_name: str, steps: list[Dependence], bound: dict[str, Any]
    ) -> tuple[Term, object, tuple[tuple[Any, Any], ...]] | None:
        properties: dict[str, Term] = {}

        def value(side: Any, owner: str) -> Any:
            if not isinstance(side, Input):
                return side.value
            whole: Any
            if side.class_name == owner:
                whole = Object(class_name, None, properties).term
            else:
                whole = bound[side.class_name].value
            for name in side.path:
                whole = property_of(whole, name)
            return whole

        for step in steps:
            given = [value(side, step.owner) for side in step.arguments]
            result = self.ontology.functions.apply(step.function, given)
            if result is MISSING:
                return None
            properties[step.property] = result
        for step in steps:
            for tie in step.when:
                for mine, other in ((tie.left, tie.right), (tie.right, tie.left)):
                    if (
                        tie.sign == "="
                        and isinstance(mine, Input)
                        and mine.class_name == step.owner
                        and len(mine.path) == 1
                        and mine.path[0] not in properties
                        and not (isinstance(other, Input) and other.class_name == step.owner)
                        and value(other, step.owner) is not MISSING
                    ):
                        properties[mine.path[0]] = value(other, step.owner)
        links: list[tuple[Any, Any]] = []
        me = object()
        for step in steps:
            for tie in step.when:
                if not holds(value(tie.left, step.owner), tie.sign, value(tie.right, step.owner)):
                    return None
                sides = [side for side in (tie.left, tie.right) if isinstance(side, Input)]
                if len(sides) == 2 and sides[0].class_name != sides[1].class_name:
                    ends = [
                        me if side.class_name == step.owner else self.end(bound[side.class_name])
                        for side in sides
                    ]
                    links.append((ends[0], ends[1]))
        for one in bound.values():
            if isinstance(one, Computed):
                links += one.links
        return Object(class_name, None, properties).term, me, tuple(links)

    def end(self, one: Any) -> Any:
        """What a tie hangs on: a tuple, or a computed object."""
        return one.tuple_id if isinstance(one, Slot) else one.me

    # Fields and objects.

    def canonical(self, name: str) -> str:
        return self.ontology.canonical(name) or name

    def accepts(self, field: Any, value: Term) -> bool:
        if not isinstance(field, ClassField):
            return not is_object(value) and value_test(field)(value)
        if not is_object(value) or not self.ontology.accepts(field.class_name, value.args[0]):
            return False
        if field.id is not MISSING and not same(value.args[1], field.id):
            return False
        if field.equal is not None and not same(value.args[2], field.equal.args[2]):
            return False
        return not field.predicate or compiled(field.predicate, field=False)(value)

    def rank(self, field: Any, slot: Slot) -> tuple[Any, ...]:
        own = not isinstance(field, ClassField) or self.ontology.same_class(
            field.class_name, class_of(slot.value)
        )
        return (0 if own else 1, slot.tuple_id, slot.at)

    def same_object(self, x: Any, y: Any) -> bool:
        if not self.ontology.same_class(x.args[0], y.args[0]) or not same(x.args[1], y.args[1]):
            return False
        return x.args[1] is not None or same(x.args[2], y.args[2])


def fact(ident: str, *fields: Any) -> Fact:
    """A tuple; `obj(…)` makes its objects."""
    return Fact(ident, tuple(fields))


__all__ = ["Found", "Oracle", "fact", "obj"]
