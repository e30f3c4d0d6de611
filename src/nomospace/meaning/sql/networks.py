"""A network as SQL: one SELECT that gives every set of tuples which is a row of the network.

What a row of a network is stands in `meaning.plan`; the numbers below are its conditions. Each need
and each place of a hub is an *atom*: a source (`sources`) joined to the others,

- by `tuple` to the atoms of its own node, and by `same` to those of its hub (2, 3);
- different from those that must be other tuples (1) or other objects (2, 4);
- by the ties of computations, which become joins where they are equalities (5).

Computations stack on top: a layer of SELECT for the value of each function, and one that keeps the
rows for which all ties hold and the template field's predicate is true (5). Where something may be
computed only because it is not there, the tuples that have it are left out by NOT EXISTS over an
equality (6). In the end the ids of each row stand in order, so that a set is one row however it was
found.

Where only Python can tell (`is_judged`), there are no such layers: the join gives what may be a
row, and Python keeps what is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from sqlglot import exp

from nomospace.errors import CallerError
from nomospace.meaning.joining import grouped
from nomospace.meaning.ontology import Dependence, Input, Operand
from nomospace.meaning.plan import CORRELATION, EXACT, Computation, Need, TupleNetwork
from nomospace.meaning.question import ClassField, Field, PatternField
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.flat import Flat, compare, constant, nothing
from nomospace.meaning.sql.functions import applied, is_built_in
from nomospace.meaning.sql.layout import TUPLES
from nomospace.meaning.sql.predicates import condition, has_elements
from nomospace.meaning.sql.sources import Path, Sources, WantedObjects
from nomospace.meaning.sql.values import SIGNS, TRUE, Value, all_of
from nomospace.terms import predicate
from nomospace.terms.predicate import Element, parse

ATOMS_MAX: Final = 60
"""The most fields that one network may join: SQLite joins 64 tables."""


class TooManyFields(CallerError):
    """A question would join more fields than a database can."""

    code = "match.too-many-fields"

    def __str__(self) -> str:
        return (
            f"an answer would join over {ATOMS_MAX} fields of tuples, the most that a database "
            "joins; ask for fewer, lower --max-set, or match with --engine memory"
        )


def is_judged(network: TupleNetwork, fields: Sequence[Field]) -> bool:
    """Whether only Python can tell which rows of a network's join are its rows.

    So it is with functions registered from Python, with patterns on plain values, and where a
    computed object must equal another, as a database knows 2 and 2.0 as one number, or is asked
    for an element of an array, of which only stored objects have rows.
    """
    for need in network.needs:
        if isinstance(need.asks, PatternField):
            return True
    for one in network.computations:
        asks = fields[one.field] if one.field is not None else None
        if isinstance(asks, ClassField) and (
            asks.equal is not None or has_elements(asks.predicate)
        ):
            return True
        if not all(is_built_in(step.function) for step in one.steps):
            return True
    return False


class Atom:
    """One field of one node's tuple, as a source that others are joined to."""

    def __init__(
        self, number: int, node: int, wanted: WantedObjects | None, need: Need | None
    ) -> None:
        self.alias = f"a{number}"
        self.node = node
        self.wanted = wanted
        """None for a plain field."""
        self.need = need

    def column(self, name: str) -> exp.Column:
        """A column of its source."""
        return parts.column(name, self.alias)


def selected(network: TupleNetwork, sources: Sources) -> exp.Select:
    """The sets of tuples of a network: a row has their ids, `m0` and on, in ascending order."""
    return _Builder(network, sources).whole()


class _Builder:
    def __init__(self, network: TupleNetwork, sources: Sources) -> None:
        self.network = network
        self.sources = sources
        self.atoms: list[Atom] = []
        self.of_need: dict[int, Atom] = {}
        self.of_hub: list[dict[int, Atom]] = []
        self.canonical = sources.layout.canonical
        self._place()

    def _place(self) -> None:
        """An atom for every place of a hub, and for every need that no hub serves."""
        for number, hub in enumerate(self.network.hubs):
            served = [need for need in self.network.needs if need.hub == number]
            asks = [need.asks for need in served if isinstance(need.asks, ClassField)]
            # One look at the hub's object would do; but who looks at each place joins fewer rows.
            places = {
                node: self._atom(node, WantedObjects((hub.class_name,), list(asks)), None)
                for node in hub.nodes
            }
            for need in served:
                self.of_need[need.number] = places[hub.nodes[0]]
            self.of_hub.append(places)
        for need in self.network.needs:
            if need.hub is None:
                assert need.node is not None
                self.of_need[need.number] = self._atom(need.node, self._wanted(need), need)

    def _wanted(self, need: Need) -> WantedObjects | None:
        if not isinstance(need.asks, ClassField):
            return None
        classes = need.classes
        if self.network.kind == EXACT:
            classes = (self.canonical(need.asks.class_name),)
        return WantedObjects(classes, [need.asks])

    def _atom(self, node: int, wanted: WantedObjects | None, need: Need | None) -> Atom:
        if len(self.atoms) >= ATOMS_MAX:
            raise TooManyFields
        self.atoms.append(Atom(len(self.atoms), node, wanted, need))
        return self.atoms[-1]

    # -- the join ------------------------------------------------------------------------------

    def whole(self) -> exp.Select:
        layers = list(self._layers())  # first: they say which values they need
        stack = parts.Stack(self._join())
        for columns, test in layers:
            stack.put(parts.select([exp.Star(), *columns], stack.top, where=test))
        _put_in_order(stack, self.network.size)
        return stack.whole()

    def _join(self) -> exp.Select:
        ordered = self._in_join_order()
        firsts: dict[int, Atom] = {}
        for atom in ordered:
            firsts.setdefault(atom.node, atom)
        columns: list[exp.Expr] = [
            parts.named(firsts[node].column("tuple"), f"t{node}") for node in sorted(firsts)
        ]
        conditions = [*self._links(firsts), *self._differences(firsts), *self._tie_links()]
        joined: dict[int, None] = {id(ordered[0]): None}
        joins: list[exp.Join] = []
        for atom in ordered[1:]:
            joined[id(atom)] = None
            ready = [
                test for about, test in conditions if id(atom) in about and about <= joined.keys()
            ]
            joins.append(parts.inner(self._source(atom), all_of(ready)))
        for atom in ordered:
            for number in range(len(atom.wanted.paths) if atom.wanted is not None else 0):
                columns += [
                    parts.named(atom.column(part.name), f"{atom.alias}_{part.name}")
                    for part in Flat.at(f"v{number}")
                ]
        source = self._source(ordered[0])
        tests = [*self._absences(firsts), *self._widths(firsts)]
        return parts.select(columns, source, joins=joins, where=all_of(tests))

    def _in_join_order(self) -> list[Atom]:
        """Node by node as the plan says, what ties a node to those before it first."""
        order = self.network.order or tuple(range(self.network.size))
        seen: set[int] = set()
        found: list[Atom] = []
        for node in order:
            mine = [atom for atom in self.atoms if atom.node == node]
            linked = [
                places[node]
                for places in self.of_hub
                if node in places and any(other in seen for other in places)
            ]
            found += linked + [atom for atom in mine if atom not in linked]
            seen.add(node)
        return found

    def _source(self, atom: Atom) -> exp.Table:
        if atom.wanted is not None:
            return self.sources.objects(atom.wanted, atom.alias)
        assert atom.need is not None
        return self.sources.plain(atom.need.asks, atom.alias)

    def _links(self, firsts: dict[int, Atom]) -> Iterator[tuple[set[int], exp.Expr]]:
        for atom in self.atoms:
            yield from _test(firsts[atom.node], "=", atom, "tuple")
        for places in self.of_hub:
            members = list(places.values())
            for one, other in combinations(members, 2):  # all pairs: any may be joined first
                yield from _test(one, "=", other, "same")

    def _differences(self, firsts: dict[int, Atom]) -> Iterator[tuple[set[int], exp.Expr]]:
        for one, other in combinations(firsts.values(), 2):
            yield from _test(one, "!=", other, "tuple")
        for (at, left), (upto, right) in combinations(enumerate(self.network.hubs), 2):
            if left.class_name == right.class_name:
                one = next(iter(self.of_hub[at].values()))
                other = next(iter(self.of_hub[upto].values()))
                yield from _test(one, "!=", other, "same")
        direct = [need for need in self.network.needs if need.field is not None]
        direct.sort(key=lambda need: need.field or 0)
        for before, after in combinations(direct, 2):
            one, other = self.of_need[before.number], self.of_need[after.number]
            objects = bool(before.classes), bool(after.classes)
            if objects == (False, False) and one.node == other.node:
                yield from _test(one, "<", other, "pos")
            elif objects == (True, True) and set(before.classes) & set(after.classes):
                same = "same" if self.network.kind == CORRELATION else "pos"
                yield from _test(one, "!=", other, same)

    def _tie_links(self) -> Iterator[tuple[set[int], exp.Expr]]:
        """Equalities between inputs, said early: by them tuples are joined that share nothing."""
        for one in self.network.computations:
            needs = {
                source.class_name: self.of_need[source.need]
                for source in one.sources
                if source.need is not None
            }
            for step in one.steps:
                for links in _equal_sides(step):
                    atoms = [
                        (needs[side.class_name], side) for side in links if side.class_name in needs
                    ]
                    for (left, mine), (right, other) in combinations(atoms, 2):
                        if left is not right:
                            test = compare(
                                self._joined_value(left, mine.path),
                                "=",
                                self._joined_value(right, other.path),
                            )
                            yield {id(left), id(right)}, test

    def _joined_value(self, atom: Atom, path: Path) -> Flat:
        assert atom.wanted is not None
        number = atom.wanted.value(path)
        return Flat(*(atom.column(part.name) for part in Flat.at(f"v{number}")))

    def _absences(self, firsts: dict[int, Atom]) -> Iterator[exp.Expr]:
        """Nothing is computed where it is there (6)."""
        unwanted: list[WantedObjects] = []
        for one in self.network.computations:
            if one.field is not None:
                asks = self._asked(one)
                unwanted.append(WantedObjects(self._accepted(asks.class_name), [asks]))
            unwanted += [
                WantedObjects(self._accepted(source.class_name))
                for source in one.sources
                if source.computation is not None
            ]
        for wanted in unwanted:
            if not self.sources.has(wanted):
                continue
            for atom in firsts.values():
                there = self.sources.objects(wanted, "w")
                mine = parts.equal(parts.column("tuple", "w"), atom.column("tuple"))
                yield parts.missing(parts.select([parts.number(1)], there, where=mine))

    def _accepted(self, class_name: str) -> tuple[str, ...]:
        ontology = self.sources.layout.ontology
        canonical = self.canonical(class_name)
        return (canonical, *ontology.descendants(canonical))

    def _asked(self, one: Computation) -> ClassField:
        assert one.field is not None
        asks = self.sources.fields[one.field]
        assert isinstance(asks, ClassField)
        return asks

    def _widths(self, firsts: dict[int, Atom]) -> Iterator[exp.Expr]:
        """An exact answer has no further fields."""
        if self.network.kind != EXACT:
            return
        width = parts.equal(parts.column("width", "w"), parts.number(len(self.network.needs)))
        mine = parts.equal(parts.column("tuple", "w"), firsts[0].column("tuple"))
        one = [parts.number(1)]
        found = parts.select(one, parts.table(TUPLES, "w"), where=all_of([mine, width]))
        yield exp.Exists(this=found)

    # -- computing -----------------------------------------------------------------------------

    def _layers(self) -> Iterator[tuple[list[exp.Alias], exp.Expr]]:
        """Columns that are added, and the condition that rows must meet, layer by layer."""
        made: list[_Computed] = []
        if is_judged(self.network, self.sources.fields):
            return
        for one in self.network.computations:
            computed = _Computed(one, self, made)
            yield from computed.layers()
            made.append(computed)

    def value(self, atom: Atom, path: Path) -> Flat:
        """A value of an atom's object, as layers above the join see it."""
        assert atom.wanted is not None
        return Flat.at(f"{atom.alias}_v{atom.wanted.value(path)}")


class _Computed:
    """A computed object: where the values of its properties stand."""

    def __init__(self, one: Computation, builder: _Builder, before: Sequence[_Computed]) -> None:
        self.one = one
        self.builder = builder
        self.before = before
        self.made: dict[str, Flat] = {}
        """Properties that functions give."""
        self.filled: dict[str, tuple[str, Operand]] = {}
        """Properties that ties fill in: the owner of the step, and what they are set equal to."""
        self.ties = [(step.owner, tie) for step in one.steps for tie in step.when]

    def layers(self) -> Iterator[tuple[list[exp.Alias], exp.Expr]]:
        """First what functions give, one after the other, then what ties say."""
        for at, step in enumerate(self.one.steps):
            inputs = [self._operand(side, step.owner) for side in step.arguments]
            prefix = f"c{self.one.number}_{at}"
            yield applied(step.function, inputs).columns(prefix), TRUE.copy()
            self.made[step.property] = Flat.at(prefix)
        for owner, tie in self.ties:
            for name, other in tie.gives(owner):
                self.filled.setdefault(name, (owner, other))
        tests = [value.there for value in self.made.values()]
        for owner, tie in self.ties:
            sides = self._operand(tie.left, owner), self._operand(tie.right, owner)
            tests.append(compare(sides[0], tie.sign, sides[1]))
        if self.one.field is not None:
            tests += self._accepted(self.builder._asked(self.one))
        yield [], all_of(tests)

    def _accepted(self, asks: ClassField) -> list[exp.Expr]:
        if not asks.predicate:
            return []
        return [condition(parse(asks.predicate, field=False), self, self.builder.sources.params)]

    def value(self, operand: predicate.Path | Element, side: str) -> Value:
        """Where a value stands, as a `predicates.Look`."""
        assert isinstance(operand, predicate.Path), "it would be judged"
        return (self.property(operand.names).place,)

    def some(self, element: Element, side: str, test: exp.Expr) -> exp.Expr:
        """What `any` stands for is not looked for here."""
        raise AssertionError("it would be judged")

    def property(self, path: Path) -> Flat:
        """The value at a path of the computed object.

        A property that ties fill in has the value of the first of them: each of these ties must
        hold, so what it is set equal to is there.
        """
        name, deeper = path[0], path[1:]
        if name in self.made:
            return self.made[name] if not deeper else nothing()
        if name not in self.filled:
            return nothing()
        owner, side = self.filled[name]
        if deeper:
            if not isinstance(side, Input):
                return nothing()
            side = Input(side.class_name, (*side.path, *deeper))
        return self._operand(side, owner)

    def _operand(self, side: Operand, owner: str) -> Flat:
        if not isinstance(side, Input):
            return constant(side.value, self.builder.sources.params)
        if side.class_name == owner:
            return self.property(side.path)
        source = next(one for one in self.one.sources if one.class_name == side.class_name)
        if source.computation is not None:
            return self.before[source.computation].property(side.path)
        assert source.need is not None
        return self.builder.value(self.builder.of_need[source.need], side.path)


def _equal_sides(step: Dependence) -> Iterator[list[Input]]:
    """The inputs that a step's ties set equal to each other, by way of its own property too."""
    equal = [
        (tie.left, tie.right)
        for tie in step.when
        if tie.sign == "=" and isinstance(tie.left, Input) and isinstance(tie.right, Input)
    ]
    for group in grouped(equal):
        yield [side for side in group if side.class_name != step.owner]


def _test(one: Atom, sign: str, other: Atom, column: str) -> Iterator[tuple[set[int], exp.Expr]]:
    if one is other:
        return
    test = SIGNS[sign](this=one.column(column), expression=other.column(column))
    yield {id(one), id(other)}, test


def _put_in_order(stack: parts.Stack, size: int) -> None:
    """Ids in ascending order: pairs are swapped, layer by layer, until none is out of order."""
    for layer in range(size if size > 2 else size - 1):
        columns: dict[int, exp.Expr] = {at: parts.column(f"t{at}") for at in range(size)}
        for at in range(layer % 2, size - 1, 2):
            low, high = parts.column(f"t{at}"), parts.column(f"t{at + 1}")
            fine = exp.LT(this=low, expression=high)
            columns[at] = parts.case(fine, low.copy(), high.copy())
            columns[at + 1] = parts.case(fine.copy(), high.copy(), low.copy())
        named = [parts.named(column, f"t{at}") for at, column in columns.items()]
        stack.put(parts.select(named, stack.top))
    named = [parts.named(parts.column(f"t{at}"), f"m{at}") for at in range(size)]
    stack.put(parts.select(named, stack.top, distinct=True))
