"""Hosts checked from outside: can one history of a transiently shared space explain what was told?

Clients write down what they asked for and what they were told, with the moments of both
(`Operation`). `explain` looks for an order in which each operation takes effect at one moment
between the two, so that every answer is right: a tuple is there from its write until it is taken,
by one taker; a lease holds it until it ends; a set is taken whole; a key writes once; letters of
one sender come once and in order. What nobody knows the outcome of may have been done, then or
later.

All tuples are different, so first each is looked at alone, with what was said of it: what cannot be
explained there cannot be at all. Then those that something ties together are looked at together:
a set, a key, an answer that nothing is there, a take of unknown outcome, which may have been any.
(An answer after all is over is one for each tuple alone.)
Both are searched as Wing and Gong do, with a memory of where the search has been, as Lowe's checker
and Knossos have it; `STEPS_MAX` and `HELD_MAX` bound it, and then the answer is `unknown`. Of a
history that nothing explains the smallest piece is shown: whatever could be doubted without
explaining the rest is left out.

>>> history = [
...     Operation("ann", "out", 1, 2, ids=("a",)),
...     Operation("bob", "take", 3, 6, ids=("a",)),
...     Operation("eve", "take", 4, 5, ids=("a",)),
...     Operation("ann", "read", 7, 8, ids=("b",)),
...     Operation("ann", "out", 5, 9, ids=("b",)),
... ]
>>> print(explain(history))
no: nothing explains 3 operations (5 in all)
  1..2  ann: out a
  3..6  bob: take a
  4..5  eve: take a
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

STEPS_MAX: Final = 50_000
"""The most steps of one search."""
HELD_MAX: Final = 20_000_000
"""How many tuples the spaces have together that one search remembers: about a gigabyte."""
SMALLER_STEPS_MAX: Final = 500_000
"""The most steps of all searches that make a piece smaller."""

Kind: TypeAlias = Literal[
    "out", "read", "take", "lend", "acknowledge", "give back", "lapse", "send", "receive"
]
Outcome: TypeAlias = Literal["done", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What one client asked for, and what it was told.

    | kind | `ids` | what it does |
    | --- | --- | --- |
    | `out` | one tuple | writes it; with a `key` only if nothing was written under that |
    | `read`, `take` | what was found: one, a set that was taken whole, or nothing | |
    | `lend` | one tuple | takes it under `lease`, until that ends |
    | `acknowledge`, `give back` | | ends `lease`: the tuple is gone, or there again |
    | `lapse` | | the same as `give back`, by the host itself |
    | `send`, `receive` | a letter, or nothing | through the queue `topic` |

    `topic` says what was looked for. Found nothing speaks for the whole topic: leave such an
    answer out where a part of the space was out of reach.
    """

    client: str
    kind: Kind
    called: float
    returned: float = inf
    ids: tuple[str, ...] = ()
    topic: str = ""
    key: str = ""
    lease: str = ""
    outcome: Outcome = "done"

    def __str__(self) -> str:
        until = "?" if self.returned == inf else f"{self.returned:g}"
        what = [self.kind, ", ".join(self.ids) or (self.topic and f"nothing of {self.topic}")]
        what += [
            f"under {self.lease}" if self.lease else "",
            f"once {self.key}" if self.key else "",
        ]
        what += ["" if self.outcome == "done" else f"({self.outcome})"]
        return f"{self.called:g}..{until}  {self.client}: {' '.join([one for one in what if one])}"


@dataclass(frozen=True)
class HistoryVerdict:
    """Whether a history can be explained; the smallest piece that cannot."""

    answer: Literal["yes", "no", "unknown"]
    operations: int
    pieces: int = 0
    """How many histories it fell into."""
    proof: tuple[Operation, ...] = ()

    def __str__(self) -> str:
        if self.answer == "yes":
            return f"yes: {self.operations} operations in {self.pieces} pieces are explained"
        said = "nothing explains" if self.answer == "no" else "no answer in time for"
        head = f"{self.answer}: {said} {len(self.proof)} operations ({self.operations} in all)"
        return "\n".join([head, *[f"  {one}" for one in self.proof]])


class _Space(NamedTuple):
    """What is there at one moment."""

    here: frozenset[str] = frozenset()
    lent: frozenset[tuple[str, str]] = frozenset()
    """Leases, and the tuples that they hold."""
    keys: frozenset[str] = frozenset()
    letters: tuple[str, ...] = ()


def _after(space: _Space, one: Operation, of: frozenset[str]) -> Iterable[_Space]:
    """What a space may be after an operation; nothing if that could not be. `of` is its topic."""
    here, lent, keys, letters = space
    held = [pair for pair in lent if pair[0] == one.lease]
    match one.kind:
        case "out":
            if one.key in keys:
                return [space]
            found = keys | {one.key} if one.key else keys
            return [_Space(here.union(one.ids), lent, found, letters)]
        case "read" | "take" | "lend" if one.ids and not here.issuperset(one.ids):
            return []
        case "read" if one.ids:
            return [space]
        case "take" if one.ids:
            return [space._replace(here=here.difference(one.ids))]
        case "take" if one.outcome == "unknown":  # it may have been any
            return [space._replace(here=here - {id}) for id in sorted(here & of)]
        case "lend" if one.ids:
            held += [(one.lease, id) for id in one.ids]
            return [_Space(here.difference(one.ids), lent.union(held), keys, letters)]
        case "read" | "take" | "lend":
            return [] if here & of else [space]
        case "acknowledge":
            return [space._replace(lent=lent.difference(held))] if held else []
        case "give back" | "lapse":
            back = here.union([id for _, id in held])
            return [_Space(back, lent.difference(held), keys, letters)] if held else []
        case "send":
            return [space._replace(letters=letters + one.ids)]
        case "receive":
            if not one.ids:
                return [] if letters else [space]
            return [space._replace(letters=letters[1:])] if letters[:1] == one.ids else []


class _State(NamedTuple):
    """Where a search is."""

    first: int = 0
    """All operations that must be done, up to this one, are."""
    done: int = 0
    """Which of those that follow are, as bits."""
    doubtful: int = 0
    """Which of those that may be done are."""
    space: _Space = _Space()


class _Search:
    """An order for a few operations, if there is one; those that are `loose` may be left out."""

    def __init__(
        self, operations: Sequence[Operation], loose: frozenset[int] = frozenset()
    ) -> None:
        self._must: list[Operation] = []
        self._may: list[Operation] = []
        for place in sorted(range(len(operations)), key=lambda place: operations[place].called):
            one = operations[place]
            must = one.outcome == "done" and place not in loose
            (self._must if must else self._may).append(one)
        self._of = topics(operations)
        self.steps = 0

    def run(self) -> bool | None:
        """Whether there is one; `None` when that took too long."""
        if not self._must:
            return True
        most = STEPS_MAX + 4 * len(self._must)
        seen, held = set[_State](), 0
        stack = [self._follow(_State())]
        while stack:
            state = next(stack[-1], None)
            if state is None:
                stack.pop()
                continue
            self.steps += 1
            if state.first == len(self._must):
                return True
            if self.steps > most or held > HELD_MAX:
                return None
            if state not in seen:
                seen.add(state)
                held += sum(map(len, state.space))
                stack.append(self._follow(state))
        return False

    def _follow(self, state: _State) -> Iterator[_State]:
        """What may come next: all that were called before any that must be done had returned.

        An answer that is right now and changes nothing may come at once. Else the earliest to
        return comes first, and what is doubtful last.
        """
        soonest, open_now = inf, list[tuple[float, int, Operation]]()
        for place in range(state.first, len(self._must)):
            one = self._must[place]
            if one.called > soonest:
                break
            if not state.done >> place - state.first & 1:
                open_now.append((one.returned, place, one))
                soonest = min(soonest, one.returned)
        found: list[_State] = []
        for _, place, one in sorted([each for each in open_now if each[2].called <= soonest]):
            for after in self._after(state, one):
                first, done = state.first, state.done | 1 << place - state.first
                while done & 1:
                    first, done = first + 1, done >> 1
                found.append(_State(first, done, state.doubtful, after))
                if after == state.space:
                    yield found[-1]
                    return
        yield from found
        for place, one in enumerate(self._may):
            if one.called > soonest:
                return
            if not state.doubtful >> place & 1:
                for after in self._after(state, one):
                    yield state._replace(doubtful=state.doubtful | 1 << place, space=after)

    def _after(self, state: _State, one: Operation) -> Iterable[_Space]:
        return _after(state.space, one, self._of.get(one.topic, frozenset()))


def topics(operations: Iterable[Operation]) -> dict[str, frozenset[str]]:
    """The tuples that each topic has."""
    found: dict[str, set[str]] = {}
    for one in operations:
        found.setdefault(one.topic, set()).update(one.ids)
    return {topic: frozenset(ids) for topic, ids in found.items()}


def _is_wide(one: Operation) -> bool:
    """Whether it speaks of a whole topic."""
    return not one.ids and not one.lease


class _Ties:
    """What hangs together, by name."""

    def __init__(self) -> None:
        self._root: dict[str, str] = {}

    def top(self, name: str) -> str:
        """The one that stands for all that a name hangs together with."""
        root = self._root
        root.setdefault(name, name)
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    def tie(self, names: Sequence[str]) -> None:
        """These hang together."""
        for other in names[1:]:
            self._root[self.top(other)] = self.top(names[0])


def _names(one: Operation) -> list[str]:
    """What an operation is about."""
    if _is_wide(one):
        return [f"topic {one.topic}"]
    said = [f"lease {one.lease}"] if one.lease else []
    return [*said, *[f"key {one.key}"] * bool(one.key), *[f"id {id}" for id in one.ids]]


def alone(operations: Sequence[Operation]) -> list[list[Operation]]:
    """Each tuple or letter with what was said of it, also where that was said of others too."""
    ties, wide = _Ties(), dict[str, list[Operation]]()
    for one in operations:
        if _is_wide(one):
            wide.setdefault(one.topic, []).append(one)
        elif len(one.ids) < 2:
            ties.tie(_names(one))
    found: dict[str, list[Operation]] = {}
    within: dict[str, dict[str, None]] = {}
    for one in operations:
        if _is_wide(one):
            continue
        parts = [replace(one, ids=(id,)) for id in one.ids] if len(one.ids) > 1 else [one]
        for part in parts:
            top = ties.top(_names(part)[0])
            found.setdefault(top, []).append(part)
            within.setdefault(top, {})[one.topic] = None
    for top, listed in found.items():
        first = min(one.called for one in listed)
        for topic in within.get(top, ()):
            listed += [one for one in wide.get(topic, ()) if one.returned > first]
    return list(found.values())


def _is_last(operations: Sequence[Operation]) -> Callable[[Operation], bool]:
    """Says of an answer for a whole topic whether all about that was over before it was asked for.

    Then it is right if it is right for each tuple alone.
    """
    over: dict[str, float] = {}
    for one in operations:
        if not _is_wide(one) or one.outcome != "done":
            ended = max(one.called, one.returned if one.outcome == "done" else one.called)
            over[one.topic] = max(over.get(one.topic, 0.0), ended)
    leases = over.get("", 0.0)  # the end of a lease names no topic
    return lambda one: (
        _is_wide(one)
        and one.outcome == "done"
        and bool(one.topic)
        and max(leases, over.get(one.topic, 0.0)) <= one.called
    )


def pieces(operations: Sequence[Operation]) -> list[list[Operation]]:
    """The histories that a history falls into: what has nothing to do with each other."""
    is_last = _is_last(operations)
    operations = [one for one in operations if not is_last(one)]
    ties, told = _Ties(), topics(operations)
    for one in operations:
        others = [f"id {id}" for id in told[one.topic]] if _is_wide(one) else []
        queue = [f"topic {one.topic}"] if one.kind in ("send", "receive") else []
        ties.tie([*_names(one), *queue, *others])
    found: dict[str, list[Operation]] = {}
    for one in operations:
        found.setdefault(ties.top(_names(one)[0]), []).append(one)
    return list(found.values())


def explain(history: Iterable[Operation]) -> HistoryVerdict:
    """Look for one history of a space that explains what clients were told.

    What was refused has not been done, and explains nothing.
    """
    operations = [one for one in history if one.outcome != "refused"]
    parts = pieces(operations)
    doubtful: tuple[Operation, ...] = ()
    for part in chain(alone(operations), parts):
        found = _Search(part).run()
        if found is False:
            return HistoryVerdict("no", len(operations), len(parts), smallest(part))
        if found is None and not doubtful:
            doubtful = tuple(part)
    answer: Literal["yes", "unknown"] = "unknown" if doubtful else "yes"
    return HistoryVerdict(answer, len(operations), len(parts), doubtful)


def smallest(part: Sequence[Operation]) -> tuple[Operation, ...]:
    """Of operations that nothing explains, those that matter.

    One after the other is let be: it may have been done or not. If they still cannot be explained
    it does not matter. Writes come last, and those that the others speak of stay in the story.
    """
    loose: frozenset[int] = frozenset()
    steps = 0
    for place in sorted(range(len(part)), key=lambda place: part[place].kind in ("out", "send")):
        search = _Search(part, loose | {place})
        if steps < SMALLER_STEPS_MAX and search.run() is False:
            loose |= {place}
        steps += search.steps
    core = [one for place, one in enumerate(part) if place not in loose]
    leases = {one.lease for one in core if one.lease}
    core = [one for one in part if one in core or (one.kind == "lend" and one.lease in leases)]
    spoken = set(chain.from_iterable([one.ids for one in core]))
    core += [
        one
        for one in part
        if one.kind in ("out", "send") and spoken.intersection(one.ids) and one not in core
    ]
    return tuple(sorted(core, key=lambda one: (one.called, one.returned)))


def unanswered(one: Operation) -> Operation:
    """An operation of which nobody was told what became of it."""
    return replace(one, returned=inf, outcome="unknown")
