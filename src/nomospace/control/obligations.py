"""The pending obligations of one membership: the terms that laws sense, each with its due time."""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet
from heapq import heapify, heappop, heappush

from nomospace.control.events import Change
from nomospace.law.bag import Bag
from nomospace.terms import Term


class Obligations(Bag):
    """A bag of obligations that knows when each is due.

    >>> owed = Obligations()
    >>> place = owed.impose("check", due=5)
    >>> owed.next_deadline(), owed.pop_due(4), owed.pop_due(5), owed.lift(place)
    (5, None, (5, 0), (5, 'check'))
    """

    __slots__ = ("_due", "heap", "withdrawn")

    def __init__(self) -> None:
        super().__init__()
        self._due: dict[int, tuple[int, Term]] = {}
        """Place of a pending obligation: when it is due, and what it is."""
        self.heap: list[tuple[int, int]] = []
        """Due times and places, the soonest first, with some that are gone."""
        self.withdrawn: tuple[int, Term, int] | None = None
        """One that is due and is being decided on: its place, what it is and when it was due."""

    def impose(self, term: Term, due: int) -> int:
        """Add one; its place."""
        place = self.add(term)
        self._due[place] = (due, term)
        heap = self.heap
        heappush(heap, (due, place))
        if len(heap) > 64 and len(heap) > 4 * len(self._due):
            self._make_heap()
        return place

    def lift(self, place: int) -> tuple[int, Term]:
        """Take one away: when it was due, and what it is."""
        due, term = self._due.pop(place)
        self.drop(place, term)
        return due, term

    def reinstate(self, place: int, term: Term, due: int) -> None:
        """Put one back that was lifted."""
        self.put(place, term)
        self._due[place] = (due, term)
        heappush(self.heap, (due, place))

    def load(self, pending: tuple[tuple[int, Term, int], ...]) -> None:
        """Take in what `pending_by_place` told."""
        for place, term, due in pending:
            self.put(place, term)
            self._due[place] = (due, term)
        self._make_heap()

    def withdraw(self, place: int) -> None:
        """Lift one that is due, until it is decided on."""
        due, term = self.lift(place)
        self.withdrawn = (place, term, due)

    def give_back(self) -> None:
        """Put back what is withdrawn: it is not decided on after all."""
        if self.withdrawn is not None:
            self.reinstate(*self.withdrawn)
            self.withdrawn = None

    def places(self) -> AbstractSet[int]:
        """The places of all that are pending."""
        return self._due.keys()

    def owes(self, place: int) -> bool:
        """Whether the one at a place is pending."""
        return place in self._due

    def at(self, place: int) -> Term:
        """What is pending at a place."""
        return self._due[place][1]

    def next_deadline(self) -> int | None:
        """When the next one is due, or `None`."""
        heap = self.heap
        while heap and heap[0][1] not in self._due:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: int) -> tuple[int, int] | None:
        """Due time and place of the next one that is due; it is pending, and comes no more.

        `lift` takes it away, and `put_off` lets it come again.
        """
        due = self.next_deadline()
        return None if due is None or due > now else heappop(self.heap)

    def put_off(self, entry: tuple[int, int]) -> None:
        """Let one that was popped come again."""
        heappush(self.heap, entry)

    def soonest(self) -> tuple[int, int, Term] | None:
        """What is due next: when, its place, and the obligation."""
        if self.next_deadline() is None:
            return None
        due, place = self.heap[0]
        return due, place, self._due[place][1]

    def pending(self) -> list[tuple[int, Term]]:
        """All with their due times, soonest first."""
        found = sorted((due, place) for place, (due, _) in self._due.items())
        return [(due, self._due[place][1]) for due, place in found]

    def pending_by_place(self) -> tuple[tuple[int, Term, int], ...]:
        """All by place, with what is withdrawn: place, obligation and due time."""
        found = [(place, term, self._due[place][0]) for place, term in self.items()]
        if self.withdrawn is not None:
            found.append(self.withdrawn)
            found.sort(key=_place)
        return tuple(found)

    def due_by(self, until: int) -> list[tuple[int, int, Term]]:
        """What is due until a moment, soonest first: due time, place and obligation."""
        heap, todo = self.heap, [0]
        found: dict[tuple[int, int], None] = {}
        while todo:  # what lies below an entry is due no sooner
            at = todo.pop()
            if at < len(heap) and heap[at][0] <= until:
                if heap[at][1] in self._due:
                    found[heap[at]] = None
                todo += (2 * at + 1, 2 * at + 2)
        return [(due, place, self._due[place][1]) for due, place in sorted(found)]

    def copy(self) -> Obligations:
        """The same at the same places, to change by itself."""
        copy = Obligations()
        copy.load(tuple([(place, term, self._due[place][0]) for place, term in self.items()]))
        copy.next_place = self.next_place
        return copy

    def _make_heap(self) -> None:
        self.heap = [(due, place) for place, (due, _) in self._due.items()]
        heapify(self.heap)


def _place(pending: tuple[int, Term, int]) -> int:
    return pending[0]


def revert(state: Bag, obligations: Obligations, delta: Iterable[Change]) -> None:
    """Undo changes, last first."""
    for kind, place, old, new in reversed(tuple(delta)):
        if kind == "+":
            state.drop(place, old)
        elif kind == "-":
            state.put(place, old)
        elif kind == "<-":
            state.swap(place, new, old)
        elif kind == "due":
            obligations.lift(place)
        elif kind == "undue":
            assert type(new) is int
            obligations.reinstate(place, old, new)
