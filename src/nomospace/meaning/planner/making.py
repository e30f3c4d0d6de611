"""Networks from trees, in the order in which engines should run them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product
from sys import maxsize
from typing import Final

from nomospace.meaning.facts import KnownFacts, Shape
from nomospace.meaning.joining import JoinedSets
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import (
    CORRELATION,
    EXACT,
    SEMANTIC,
    Hub,
    Need,
    Node,
    Plan,
    TupleNetwork,
    tie_links,
)
from nomospace.meaning.planner.connecting import Connector, Effort, Fitting, JoinTree
from nomospace.meaning.planner.deriving import Derivation, Deriver, plain_kinds
from nomospace.meaning.question import ClassField, Question, TypeField
from nomospace.terms.objects import MISSING

NETWORKS_MAX: Final = 2_000
"""The most networks of a plan."""


class Planner:
    """Makes the networks of a question, a size at a time: whoever has enough asks for no more.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.meaning.question import parse_template
    >>> known = KnownFacts(((("Car", "Tax"), 5), (("Car", "Loan"), 7)), {"Car": 2}, frozenset())
    >>> planner = Planner(parse_template("(Car, Tax, Loan)"), PLAIN, known)
    >>> planner.singles, len(planner.sets(1)), len(planner.sets(2))
    ((), 0, 1)
    >>> print(planner.plan().explain())
    question (Car, Tax, Loan)
      correlate auto, at most 6 tuples, at most 100,000 answers
    1. correlation, 2 tuples: A holds Car#1, gives Tax [5 tuples]; B holds Car#1, gives Loan \
[7 tuples]; Car#1 is Car
    """

    def __init__(
        self,
        question: Question,
        ontology: Ontology,
        known: KnownFacts,
        *,
        steps_max: int = maxsize,
        networks_max: int | None = None,
    ) -> None:
        self.question = question
        self.ontology = ontology
        self.complete = question.max_set
        """Up to which size every set is looked for; less than was asked when a limit was met."""
        self._sets: dict[int, tuple[TupleNetwork, ...]] = {}
        self._effort = Effort(steps_max)
        self._networks_max = NETWORKS_MAX if networks_max is None else networks_max
        self._connectors: list[Connector] | None = None
        self._known = known
        self._count = 0
        self._deriver = Deriver(question, ontology, [shape for shape, _ in known.shapes])
        if question.positional:
            self.singles = tuple(_positional(question, known))
        else:
            self.singles = tuple(_singles(question, ontology, self._deriver.direct(), known))

    def sets(self, size: int) -> tuple[TupleNetwork, ...]:
        """The networks for sets of a size; sizes are asked for from the smallest."""
        found = self._sets.get(size)
        if found is None:
            found = self._sets[size] = self._made(size)
        return found

    def _made(self, size: int) -> tuple[TupleNetwork, ...]:
        if self.question.positional or size > self.complete:
            return ()
        if self._connectors is None:
            self._connectors = self._connected()
        networks: list[TupleNetwork] = []
        for connector in self._connectors:
            if size > 1 or connector.derivation.computations:
                left = self._networks_max + 1 - self._count - len(networks)
                networks += islice(_networks(self.question, self.ontology, connector, size), left)
        if self._effort.spent or self._count + len(networks) > self._networks_max:
            self.complete = size - 1
            return ()
        self._count += len(networks)
        return tuple(networks)

    def _connected(self) -> list[Connector]:
        derivations, cut = self._deriver.all()
        if cut:
            self.complete = 0
            return []
        fittings: dict[frozenset[str], Fitting] = {}
        made: list[Connector] = []
        for derivation in derivations:
            fitting = fittings.get(derivation.absent)
            if fitting is None:
                known = _without(self._known, derivation.absent)
                fitting = fittings[derivation.absent] = Fitting(known, self._effort)
            made.append(Connector(derivation, fitting, self._effort))
        return made

    def plan(self) -> Plan:
        """All networks: single tuples, then sets from the smallest size to the largest."""
        networks = [*self.singles]
        if self.question.correlate != "never":
            for size in range(1, self.question.max_set + 1):
                networks += self.sets(size)
        return Plan(self.question, self.ontology, tuple(networks), self.complete)


def _without(known: KnownFacts, absent: frozenset[str]) -> KnownFacts:
    """What is known of tuples that hold no object of some classes."""
    if not absent:
        return known
    return known._replace(
        shapes=tuple([one for one in known.shapes if absent.isdisjoint(one[0])]),
        shared={name: count for name, count in known.shared.items() if name not in absent},
    )


def _positional(question: Question, known: KnownFacts) -> Iterator[TupleNetwork]:
    needs = tuple(
        [Need(number, number, field, (), 0) for number, field in enumerate(question.fields)]
    )
    fitting = [
        (shape, rows)
        for shape, rows in known.shapes
        if len(shape) == len(needs)
        and all(
            need.asks == TypeField("any") or kind in plain_kinds(need.asks)
            for need, kind in zip(needs, shape, strict=True)
        )
    ]
    if fitting:
        yield TupleNetwork(EXACT, (_node(fitting),), needs, order=(0,))


def _node(shapes: list[tuple[Shape, int]]) -> Node:
    return Node(tuple([shape for shape, _ in shapes]), sum(rows for _, rows in shapes))


def _singles(
    question: Question, ontology: Ontology, derivation: Derivation | None, known: KnownFacts
) -> Iterator[TupleNetwork]:
    """One tuple by itself: exact where it has the template's classes and no more fields."""
    if derivation is None:
        return
    needs = tuple([need._replace(node=0) for need in derivation.needs])
    shapes = [known.shapes[number] for number in Fitting(known, Effort()).fits(needs, ())]
    own = sorted(
        ontology.canonical(field.class_name) or field.class_name
        for field in question.fields
        if isinstance(field, ClassField)
    )
    for kind in (EXACT, SEMANTIC):
        chosen = [
            (shape, rows)
            for shape, rows in shapes
            if (kind == EXACT)
            is (
                len(shape) == len(needs)
                and sorted(str(one) for one in shape if type(one) is str) == own
            )
        ]
        if chosen:
            yield TupleNetwork(kind, (_node(chosen),), needs, order=(0,))


def _networks(
    question: Question, ontology: Ontology, connector: Connector, size: int
) -> Iterator[TupleNetwork]:
    fitting = connector.fitting
    trees: Iterator[JoinTree]
    if question.key is None:
        trees = connector.trees(size)
    else:
        names = ontology.accepting(question.key)
        there = {str(kind) for shape in fitting.shapes for kind in shape if type(kind) is str}
        keys = sorted([name for name in there if name in names])
        trees = (tree for name in keys for tree in connector.keyed(name, size))
    for tree in trees:
        for served in _served(connector.needs, tree):
            network = _network(connector, tree, served)
            if network is not None:
                yield network


def _served(needs: tuple[Need, ...], tree: JoinTree) -> Iterator[dict[int, int]]:
    """Every way to let hubs serve the needs left to them; fields get different hubs."""
    fields = [number for number in tree.floating if needs[number].field is not None]
    inputs = [number for number in tree.floating if needs[number].field is None]
    numbers = range(len(tree.hubs))
    for first in permutations(numbers, len(fields)):
        for second in product(numbers, repeat=len(inputs)):
            served = dict(zip([*fields, *inputs], [*first, *second], strict=True))
            if all(
                tree.hubs[hub].class_name in needs[number].apart for number, hub in served.items()
            ):
                yield served


def _network(connector: Connector, tree: JoinTree, served: dict[int, int]) -> TupleNetwork | None:
    fitting = connector.fitting
    nodes: list[Node] = []
    for at in range(len(tree.groups) + tree.bridges):
        group = tree.groups[at] if at < len(tree.groups) else ()
        held = [hub.class_name for hub in tree.hubs if at in hub.nodes]
        shapes = [fitting.known.shapes[number] for number in connector.fits(group, held)]
        if not shapes:
            return None
        nodes.append(_node(shapes))
    place = {number: at for at, group in enumerate(tree.groups) for number in group}
    needs = tuple(
        [
            need._replace(node=place.get(need.number), hub=served.get(need.number))
            for need in connector.needs
        ]
    )
    made = TupleNetwork(
        CORRELATION, tuple(nodes), needs, tree.hubs, connector.derivation.computations
    )
    return made._replace(order=_order(made, fitting.known))


def _order(network: TupleNetwork, known: KnownFacts) -> tuple[int, ...]:
    """The rarest node first, then always the rarest that hangs on one before it."""

    def rows(at: int) -> int:
        count = network.nodes[at].rows
        for need in network.needs:
            asks = need.asks
            named = isinstance(asks, ClassField) and asks.id is not MISSING
            if named and network.serves(at, need):
                count = min(count, max(known.shared.get(name, 1) for name in need.classes))
        return count

    place = {need.number: need.node for need in network.needs if need.node is not None}
    ties = JoinedSets(tie_links(network.computations, place))
    order = [min(range(network.size), key=lambda at: (rows(at), at))]
    while len(order) < network.size:
        left = [at for at in range(network.size) if at not in order]
        near = [at for at in left if _hangs(at, order, network.hubs)]
        reached = [ties.find(("node", one)) for one in order]  # perhaps by a computed object
        tied = [at for at in left if ties.find(("node", at)) in reached]
        order.append(min(near or tied or left, key=lambda at: (rows(at), at)))
    return tuple(order)


def _hangs(at: int, order: list[int], hubs: tuple[Hub, ...]) -> bool:
    return any(at in hub.nodes and any(one in hub.nodes for one in order) for hub in hubs)
