"""A network as nested loops over the indexes of facts.

One loop a node, from a start node outwards. A node that hangs on a hub is found by its object, one
that only ties join, by the value of a property; one that nothing joins, by its shapes. What a
tuple must fulfil is checked in the loop where it becomes known. The loops are Python source, made
once for a plan and a start: there is nothing to interpret for each tuple, and most questions look
at a great many. What each loop is about to look at is paid for when it begins, so that a search
that finds nothing for long still gives way to others.

The source calls nothing but what is handed in here, and names come from numbers: no text of a
question gets into it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from heapq import merge
from operator import attrgetter
from types import CodeType
from typing import Any, Final, NamedTuple, TypeAlias

from nomospace.meaning.facts import FactRow, Facts, id_key, join_key, value_at
from nomospace.meaning.joining import grouped
from nomospace.meaning.plan import (
    CORRELATION,
    Need,
    TiedProperty,
    TupleNetwork,
    tied_properties,
)
from nomospace.meaning.planner.placing import placements
from nomospace.meaning.question import ClassField, Question, object_test, value_test
from nomospace.terms.conditions import Test, price_of
from nomospace.terms.objects import MISSING
from nomospace.terms.predicate import Literal, Path, PredicateComparison, parse
from nomospace.terms.values import Term

Loops: TypeAlias = Callable[[Iterable[FactRow]], Iterator[tuple[FactRow, ...] | None]]
"""From tuples for the start node to the rows of the network, each sorted by the order of facts.

`None` among them is no row: there the slice is used up (`Facts.paced`)."""
_order_of: Final = attrgetter("order")


ROW_UNITS: Final = 3
"""What it costs to look at one tuple in a loop, besides tests."""
_PLACE: Final = re.compile(r"\b(?:p[0-9]+|q[0-9]+_[0-9]+)\b")
"""The names of positions in the source."""


_SHORT: Final = re.compile(r"\b[ks][0-9]+\b")
"""The names of a tuple's keys and values."""


class _Tie(NamedTuple):
    """How a node is found by the value of a property: equal to one that is known."""

    known: int
    known_path: tuple[str, ...]
    wanted: int
    wanted_path: tuple[str, ...]


class Compiler:
    """Makes the loops of one network over facts."""

    def __init__(self, question: Question, network: TupleNetwork, facts: Facts) -> None:
        self.question = question
        self.network = network
        self.facts = facts
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.depth = 1
        self._forms = {shape: form for form, shape in enumerate(facts.shapes)}

    def forms(self, node: int) -> list[int]:
        """The numbers of the shapes that a node may have."""
        return [self._forms[shape] for shape in self.network.nodes[node].shapes]

    def needs_of(self, node: int) -> list[Need]:
        """The needs that a node serves."""
        return [need for need in self.network.needs if need.node == node]

    def tested(self, node: int) -> bool:
        """Whether a predicate speaks of what a node serves."""
        asked = [need.asks for need in self.needs_of(node)]
        return any(isinstance(one, ClassField) and one.predicate for one in asked)

    def price(self, node: int) -> int:
        """What it costs to look at one tuple for a node, in units."""
        price = ROW_UNITS
        for need in self.network.needs:
            if self.network.serves(node, need) and isinstance(need.asks, ClassField):
                if need.asks.predicate:
                    price += price_of(need.asks.predicate, field=False) + self.facts.widest // 8
            elif need.node == node:
                price += ROW_UNITS
        return price

    def hubs_of(self, node: int) -> list[int]:
        """The hubs that a node is in."""
        return [at for at, hub in enumerate(self.network.hubs) if node in hub.nodes]

    def start_rows(self, node: int) -> Iterable[FactRow]:
        """Tuples that may stand at a node, in their order; few where an id says which."""
        best: list[FactRow] | None = None
        for need in self.network.needs:
            if self.network.serves(node, need) and isinstance(need.asks, ClassField):
                if need.asks.id is MISSING:
                    continue
                key = id_key(need.asks.id)
                found = {
                    row.order: row for name in need.classes for row in self.facts.holding(name, key)
                }
                if best is None or len(found) < len(best):
                    best = [found[order] for order in sorted(found)]
        if best is not None:
            return best
        return in_turn([self.facts.by_form[form] for form in self.forms(node)])

    def count(self, node: int) -> int:
        """How many tuples may stand at a node now; the plan only knew how many there were."""
        rows = self.start_rows(node)
        if isinstance(rows, list):
            return len(rows)
        return sum([len(self.facts.by_form[form]) for form in self.forms(node)])

    def loops(self, start: int) -> Loops:
        """The loops from a start node outwards."""
        order = self._order(start)
        self.names = {}
        self.known = {}
        self.lines = ["def run(rows):"]
        self.depth = 1
        bound_hubs: dict[int, int] = {}
        placed: list[int] = []
        for node in order:
            self._node(node, placed, bound_hubs)
            placed.append(node)
        self._yield(order)
        exec(_code(_without_unused(self.lines)), self.names)
        loops: Loops = self.names["run"]
        return loops

    def _order(self, start: int) -> list[int]:
        rank = {node: at for at, node in enumerate(self.network.order)}
        order = [start]
        while len(order) < self.network.size:
            # What is tested comes early: where a test holds of few tuples, all behind it is saved.
            left = sorted(
                set(range(self.network.size)) - set(order),
                key=lambda node: (not self.tested(node), rank[node]),
            )
            near = [
                node
                for node in left
                if any(
                    node in hub.nodes and any(one in hub.nodes for one in order)
                    for hub in self.network.hubs
                )
            ]
            tied = [node for node in left if self._tie(node, order) is not None]
            order.append((near or tied or left)[0])
        return order

    # Source.

    def _add(self, line: str) -> None:
        line = _PLACE.sub(lambda found: self.known.get(found.group(), found.group()), line)
        self.lines.append("    " * self.depth + line)

    def _loop(self, line: str) -> None:
        self._add(line)
        self.depth += 1

    def _node(self, node: int, placed: list[int], bound: dict[int, int]) -> None:
        needs, hubs = self.needs_of(node), self.hubs_of(node)
        variants = self._variants(node, needs, hubs)
        self._candidates(node, placed, [hub for hub in hubs if hub in bound])
        for other in placed:
            self._add(f"if r{node} is r{other}: continue")
        places = [f"p{need.number}" for need in needs] + [f"q{node}_{hub}" for hub in hubs]
        classes = [f"c{need.number}" for need in needs]
        if len(variants) == 1 and len(next(iter(variants.values()))) == 1:
            self._only(node, places, variants)
        else:
            self.names[f"V{node}"] = variants
            named = ", ".join([*places, *classes])
            self._loop(f"for {named}, in V{node}.get(r{node}.form, ()):")
        self._add(f"k{node} = r{node}.keys")
        self._add(f"s{node} = r{node}.seen")
        for hub in hubs:
            if hub in bound and not self._certain(node, hub):
                self._add(f"if k{node}[q{node}_{hub}] != h{hub}: continue")
        for hub in hubs:
            if hub not in bound:
                self._add(f"h{hub} = k{node}[q{node}_{hub}]")
                for other in bound:
                    mine, its = self.network.hubs[hub], self.network.hubs[other]
                    if mine.class_name == its.class_name:
                        self._add(f"if h{hub} == h{other}: continue")
                bound[hub] = node
                for need in self.network.needs:
                    if need.hub == hub:
                        name = self.network.hubs[hub].class_name
                        self._test(need, f"s{node}[q{node}_{hub}]", f"h{hub}", name)
        for need in needs:
            self._test(need, f"s{node}[p{need.number}]", f"k{node}[p{need.number}]")
        self._different(node, placed, bound)

    def _only(
        self, node: int, places: list[str], variants: dict[int, list[tuple[Any, ...]]]
    ) -> None:
        """A node of one shape in which everything has one place: no loop, and numbers for names."""
        form, (only,) = next(iter(variants.items()))
        self._add(f"if r{node}.form != {form}: continue")
        for name, at in zip(places, only, strict=False):
            self.known[name] = str(at)
        for need, class_name in zip(self.needs_of(node), only[len(places) :], strict=True):
            self.names[f"c{need.number}"] = class_name

    def _certain(self, node: int, hub: int) -> bool:
        """Whether a tuple found by a hub's object holds it in the one field that can."""
        name = self.network.hubs[hub].class_name
        return (
            f"q{node}_{hub}" in self.known
            and all(shape.count(name) == 1 for shape in self.network.nodes[node].shapes)
            and len(self.hubs_of(node)) == 1
        )

    def _variants(
        self, node: int, needs: list[Need], hubs: list[int]
    ) -> dict[int, list[tuple[Any, ...]]]:
        """By form: positions of needs, positions of hubs, and the classes of the needs."""
        variants: dict[int, list[tuple[Any, ...]]] = {}
        names = [self.network.hubs[hub].class_name for hub in hubs]
        for form, shape in zip(self.forms(node), self.network.nodes[node].shapes, strict=True):
            if self.question.positional:
                every = tuple(range(len(shape)))
                variants[form] = [(*every, *shape)]
                continue
            found = [
                (*one.needs, *one.hubs, *[shape[at] for at in one.needs])
                for one in placements(shape, needs, names)
            ]
            if not needs and len(found) > 1:
                found = list(dict.fromkeys(found))
            variants[form] = found
        return variants

    def _candidates(self, node: int, placed: list[int], hubs: list[int]) -> None:
        self.names["paced"] = self.facts.paced
        price = self.price(node)
        if not placed:
            self._loop(f"for r{node} in paced(rows, {price}):")
        elif hubs:
            hub = min(hubs, key=lambda one: len(self.network.hubs[one].nodes))
            held = self.facts.objects.setdefault(self.network.hubs[hub].class_name, {})
            self.names[f"O{hub}"] = held.get
            self._add(f"b{node} = O{hub}(h{hub})")
            self._add(f"if b{node} is None: continue")
            self._loop(f"for r{node} in paced(b{node}, {price}):")
        else:
            tie = self._tie(node, placed)
            if tie is None:
                self.names[f"A{node}"] = lambda: list(self.start_rows(node))
                self._loop(f"for r{node} in paced(A{node}(), {price}):")
            else:
                need = self.network.needs[tie.known]
                self.names[f"L{node}"] = self._lookup(tie)
                self._loop(f"for r{node} in paced(L{node}(s{need.node}[p{need.number}]), {price}):")
        self._add(f"if r{node} is None:")
        self._add("    yield None")
        self._add("    continue")

    def _lookup(self, tie: _Tie) -> Callable[[Term], Iterable[FactRow]]:
        columns = [
            self.facts.column(name, tie.wanted_path)
            for name in self.network.needs[tie.wanted].classes
        ]
        path = tie.known_path

        def rows(known: Term) -> Iterable[FactRow]:
            value = value_at(known, path)
            if value is MISSING:
                return ()
            key = join_key(value)
            found: dict[int, FactRow] = {}
            for column in columns:
                found.update(column.get(key, {}))
            return found.values()

        return rows

    def _test(self, need: Need, value: str, key: str, class_name: str = "") -> None:
        asks = need.asks
        test: Test | None
        if isinstance(asks, ClassField):
            if asks.id is not MISSING:
                self.names[f"I{need.number}"] = id_key(asks.id)
                self._add(f"if {key} != I{need.number}: continue")
            elif class_name and asks.predicate and self._compared(need, key, class_name):
                return
            test = object_test(asks._replace(id=MISSING))
        else:
            test = value_test(asks)
        if test is not None:
            self.names[f"T{need.number}"] = test
            self._add(f"if not T{need.number}({value}): continue")

    def _compared(self, need: Need, key: str, class_name: str) -> bool:
        """A comparison of a property with a number or string, by an index of values.

        All tuples that hold a hub's object hold it with the same properties, so its key will do.
        To walk into the object would cost several times as much, most of it waiting for memory.
        """
        assert isinstance(need.asks, ClassField)
        tree = parse(need.asks.predicate, field=False)
        if not isinstance(tree, PredicateComparison) or not isinstance(tree.left, Path):
            return False
        if not isinstance(tree.right, Literal) or need.asks.equal is not None:
            return False
        wanted = tree.right.value
        if wanted.__class__ not in (int, float, str):
            return False
        values = self.facts.values(class_name, tree.left.names)
        if values is None:
            return False
        number = need.number
        self.names[f"G{number}"] = values.get
        self.names[f"W{number}"] = wanted
        self.names[f"K{number}"] = (str,) if type(wanted) is str else (int, float)
        sign = "==" if tree.sign == "=" else tree.sign
        self._add(f"x{number} = G{number}({key})")
        self._add(
            f"if x{number}.__class__ not in K{number} or not x{number} {sign} W{number}: continue"
        )
        return True

    def _different(self, node: int, placed: list[int], bound: dict[int, int]) -> None:
        """Template fields get different objects; a need of this node against those before it."""
        if self.network.kind != CORRELATION:
            return
        ready = [
            need
            for need in self.network.needs
            if need.field is not None
            and need.classes
            and (need.node in (*placed, node) or (need.hub is not None and need.hub in bound))
        ]
        for at, one in enumerate(ready):
            for other in ready[:at]:
                if not set(one.classes) & set(other.classes):
                    continue
                if node in (one.node, other.node) or node in (
                    bound.get(one.hub) if one.hub is not None else None,
                    bound.get(other.hub) if other.hub is not None else None,
                ):
                    left, right = self._object(one), self._object(other)
                    self._add(f"if {left[1]} == {right[1]} and {left[0]} == {right[0]}: continue")

    def _object(self, need: Need) -> tuple[str, str]:
        """The class and the key of what serves a need, as source."""
        if need.hub is not None:
            self.names[f"C{need.hub}"] = self.network.hubs[need.hub].class_name
            return f"C{need.hub}", f"h{need.hub}"
        return f"c{need.number}", f"k{need.node}[p{need.number}]"

    def _yield(self, order: list[int]) -> None:
        if len(order) == 1:
            self._add(f"yield (r{order[0]},)")
        elif len(order) == 2:
            a, b = order
            self._add(f"yield (r{a}, r{b}) if r{a}.order < r{b}.order else (r{b}, r{a})")
        else:
            self.names["sorted_rows"] = _sorted
            self._add(f"yield sorted_rows(({', '.join(f'r{node}' for node in order)}))")

    # Ties.

    def _tie(self, node: int, placed: list[int]) -> _Tie | None:
        """A property of a node's need that must equal one of a node before it."""
        for group in self._equal():
            known = [one for one in group if self._at(one) in placed]
            wanted = [one for one in group if self._at(one) == node]
            if known and wanted:
                return _Tie(known[0].number, known[0].path, wanted[0].number, wanted[0].path)
        return None

    def _at(self, one: TiedProperty) -> int | None:
        return self.network.needs[one.number].node if one.kind == "need" else None

    def _equal(self) -> list[list[TiedProperty]]:
        """Properties that ties set equal, computed objects' among them, in groups."""
        compared = tied_properties(self.network.computations)
        return grouped([sides for sign, *sides in compared if sign == "="])


@lru_cache(maxsize=1_024)
def _code(source: str) -> CodeType:
    """Loops made ready; networks of one form, over whatever classes, have the same."""
    return compile(source, "<network>", "exec")


def _without_unused(lines: list[str]) -> str:
    """The source without names that are set and never used."""
    source = "\n".join(lines)
    uses = Counter(_SHORT.findall(source))

    def cut(line: re.Match[str]) -> str:
        uses.subtract(_SHORT.findall(line[0]))
        return ""

    for name in list(uses):
        if uses[name] == 1:
            source = re.sub(rf"\n +{name} = [^\n]*", cut, source)
    return source


def _sorted(rows: tuple[FactRow, ...]) -> tuple[FactRow, ...]:
    return tuple(sorted(rows, key=_order_of))


def in_turn(shelves: list[dict[int, FactRow]]) -> Iterable[FactRow]:
    """Tuples of several shapes in the order of facts."""
    if len(shelves) == 1:
        return shelves[0].values()
    return merge(*[shelf.values() for shelf in shelves], key=_order_of)
