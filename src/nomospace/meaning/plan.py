"""The logical plan: what an engine has to join to find every answer, and nothing about how.

A plan is a list of *networks*. A network says: take so many different tuples (its nodes), which
hang together so, and of which these serve the template's fields. The planner (`planner`) makes all
networks that the shapes of the tuples allow; it never looks at tuples, and no engine enumerates
subsets of them. Engines only have to run networks.

**What a row of a network is.** One tuple for each node, such that

1. the tuples are different;
2. *hubs*: all nodes of a hub hold one same object of the hub's class (canonical class and
   `object_key` are equal); two hubs of one class are two different objects;
3. *needs*: each is served by one field of its node's tuple that it accepts, or, where it has a hub
   instead, by the hub's object (every member holds it with the same properties, so one look is
   enough). A need accepts an object whose class is one of `Need.classes` (canonical names) and for
   which `Need.asks` holds: id, predicate, equal properties. It accepts a plain value as its
   `asks` says. Plain needs of one node are served in the order of their fields;
4. the objects of needs that are template fields differ (by class and `object_key`); in a network of
   `kind` exact or semantic it is enough that they are different fields of the tuple. Inputs of
   computations may be served by any object, also by one that serves a field or another input;
5. *computations* have a value: with the objects of their sources every tie of their steps holds,
   every function has a value, and the computed object is accepted by the template field it is for
   (predicate, equal properties);
6. an object is computed only where none is there: no object in any of the tuples is accepted by the
   template field of a computation (class and predicate); no object is of a class that an input
   accepts whose source is another computation.

**What the rows mean.** Every set of tuples that is a row of some network satisfies conditions 1 and
2 of an answer; every answer is a row of some network. So the answers are the sets that have no
proper subset among the sets of rows, single tuples included. A set may be a row many times. How the
fields of an answer are chosen (the least assignment) is said in `assign`, for all engines at once.

**Why that is all.** Join the tuples of an answer with the objects they share, and with the ties of
the functions in use; the answer hangs together, so there is a tree. A leaf that served nothing
could be left out, and the set would not be minimal. A tuple between two others is there because it
holds two different objects: two that share one object are joined by it anyway. So networks are
trees of nodes and hubs, every leaf serves something, and there are few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from nomospace.meaning.facts import Shape
from nomospace.meaning.ontology import Dependence, Input, Ontology
from nomospace.meaning.question import ClassField as ClassField, Field, Question, field_text

EXACT, SEMANTIC, CORRELATION = "exact", "semantic", "correlation"
"""The kinds of answers, in the order in which `any` prefers them."""


class Need(NamedTuple):
    """What one field of a tuple, or one hub's object, has to serve."""

    number: int
    """Its place in `TupleNetwork.needs`."""
    field: int | None
    """The template field that is served directly; none for the input of a computation."""
    asks: Field
    """What it accepts. An input asks for its class alone."""
    classes: tuple[str, ...]
    """Canonical names of the classes it accepts, sorted; empty for a plain value."""
    node: int | None
    """The node whose tuple serves it; none when a hub does."""
    hub: int | None = None
    apart: tuple[str, ...] = ()
    """Hubs of its node of these classes may be passed over: where the object of one would serve it,
    another network of the plan finds the same set. To look at them all the same is no error."""


class InputSource(NamedTuple):
    """Where the object of an input class comes from: a need, or another computation."""

    class_name: str
    """The canonical name by which the functions call it."""
    need: int | None = None
    computation: int | None = None

    @property
    def of(self) -> tuple[str, int]:
        """Whether it is a `need` or `computed`, and its number."""
        if self.computation is not None:
            return "computed", self.computation
        assert self.need is not None
        return "need", self.need


class Computation(NamedTuple):
    """An object computed by dependence functions."""

    number: int
    """Its place in `TupleNetwork.computations`; its sources stand before it."""
    field: int | None
    """The template field it is for; none when it is an input of another computation."""
    class_name: str
    """Canonical; the computed object has this class and no id."""
    steps: tuple[Dependence, ...]
    """The function chosen for each property that has some, in the order of their names."""
    sources: tuple[InputSource, ...]
    """One for each class that the steps name, in the order of first mention."""


class Hub(NamedTuple):
    """One object that several tuples hold."""

    class_name: str
    nodes: tuple[int, ...]
    """Ascending; a single one only under `key`, where the tuple must hold some key object."""


class Node(NamedTuple):
    """One tuple of a set: the shapes it may have, and how many tuples there are of these."""

    shapes: tuple[Shape, ...]
    rows: int


class TupleNetwork(NamedTuple):
    """A way in which tuples may answer together; see the module for what its rows are."""

    kind: str
    nodes: tuple[Node, ...]
    needs: tuple[Need, ...]
    hubs: tuple[Hub, ...] = ()
    computations: tuple[Computation, ...] = ()
    order: tuple[int, ...] = ()
    """The nodes in the order in which to join them: the rarest first, then along links."""

    @property
    def size(self) -> int:
        """How many tuples a row has."""
        return len(self.nodes)

    def serves(self, node: int, need: Need) -> bool:
        """Whether a node's tuple serves a need, or holds the object that does."""
        return need.node == node or (need.hub is not None and node in self.hubs[need.hub].nodes)

    def explain(self) -> str:
        """The network in words.

        >>> need = Need(0, 0, ClassField("Car", predicate="price < 5"), ("Car", "SportsCar"), 0)
        >>> print(TupleNetwork("semantic", (Node((("Car", "Owner"),), 7),), (need,)).explain())
        semantic, 1 tuple: A gives Car where price < 5 [7 tuples]
        """
        parts: list[str] = []
        for at in self.order or range(self.size):
            given = [_need_text(need) for need in self.needs if need.node == at]
            held = [
                f"{hub.class_name}#{number + 1}"
                for number, hub in enumerate(self.hubs)
                if at in hub.nodes
            ]
            words = chr(ord("A") + at)
            if held:
                words += f" holds {' and '.join(held)}"
            if given:
                words += f"{',' if held else ''} gives {', '.join(given)}"
            parts.append(f"{words} [{_counted(self.nodes[at].rows)}]")
        for need in self.needs:
            if need.hub is not None:
                name = self.hubs[need.hub].class_name
                parts.append(f"{name}#{need.hub + 1} is {_need_text(need)}")
        for one in self.computations:
            made = ", ".join(f"{step.property} = {step.text}" for step in one.steps)
            ties = [str(tie) for step in one.steps for tie in step.when]
            when = f" when {' and '.join(dict.fromkeys(ties))}" if ties else ""
            parts.append(f"{one.class_name} is computed: {made}{when}")
        return f"{self.kind}, {_counted(self.size)}: {'; '.join(parts)}"


class Plan(NamedTuple):
    """All networks for a question, the smallest first, single tuples before sets."""

    question: Question
    ontology: Ontology
    networks: tuple[TupleNetwork, ...]
    complete: int = 0
    """The largest size of which every set is looked for. It is less than `question.max_set` where
    there are more networks than a plan may have; then there are none for larger sets."""

    @property
    def cut(self) -> str:
        """Why answers may be missing; empty when none are."""
        return why_cut(self.question, self.complete)

    def explain(self) -> str:
        """The plan as text: what `nomospace match --explain` prints."""
        lines = [f"question {self.question}"]
        options = f"correlate {self.question.correlate}, at most {self.question.max_set} tuples"
        lines.append(f"  {options}, at most {self.question.limit:,} answers")
        if not self.networks:
            lines.append("no shape of tuple can take part in an answer")
        for number, network in enumerate(self.networks, 1):
            lines.append(f"{number}. {network.explain()}")
        if self.cut:
            lines.append(f"cut: {self.cut}")
        return "\n".join(lines)


def why_cut(question: Question, complete: int) -> str:
    """Why answers may be missing where sets are looked for up to a size only; empty if none are.

    >>> why_cut(Question((), max_set=6), 3)
    'sets of more than 3 tuples hang together in too many ways to look at'
    >>> why_cut(Question((), max_set=3), 3)
    ''
    """
    if question.correlate == "never" or complete >= question.max_set:
        return ""
    return f"sets of more than {complete} tuples hang together in too many ways to look at"


class TiedProperty(NamedTuple):
    """A property that a comparison names: of the object of a need, or of a computed one."""

    kind: str
    """`need`, or `computed`."""
    number: int
    path: tuple[str, ...]


def tied_properties(
    computations: tuple[Computation, ...],
) -> Iterator[tuple[str, TiedProperty, TiedProperty]]:
    """The comparisons of computations that name two classes: the sign, and both sides."""
    for one in computations:
        where = {source.class_name: source.of for source in one.sources}
        for step in one.steps:
            owned = {**where, step.owner: ("computed", one.number)}
            for left, sign, right in step.when:
                if isinstance(left, Input) and isinstance(right, Input):
                    mine = TiedProperty(*owned[left.class_name], left.path)
                    yield sign, mine, TiedProperty(*owned[right.class_name], right.path)


Vertex: TypeAlias = tuple[str, int]
"""`("node", 2)`, or `("computed", 0)`: what ties hang on."""


def tie_links(
    computations: tuple[Computation, ...], place: dict[int, int]
) -> list[tuple[Vertex, Vertex]]:
    """What the ties of computations link; `place` is the node of each need that has one.

    A comparison that names two classes ties their objects. The computed object may be one of the
    two: so tuples hang together that are tied to it, and not to each other.
    """
    links: list[tuple[Vertex, Vertex]] = []
    for _, *sides in tied_properties(computations):
        ends: list[Vertex] = []
        for kind, number, _ in sides:
            if kind == "computed":
                ends.append((kind, number))
            elif number in place:
                ends.append(("node", place[number]))
        if len(ends) == 2 and ends[0] != ends[1]:
            links.append((ends[0], ends[1]))
    return links


def _counted(tuples: int) -> str:
    return f"{tuples:,} tuple{'' if tuples == 1 else 's'}"


def _need_text(need: Need) -> str:
    words = field_text(need.asks)
    return words if need.field is not None else f"input {words}"
