"""Every state that a small system can reach, in every order of its steps.

A system is a first state and a function `steps` that gives, for a state, what may happen next:
pairs of a label and the state after it. States are values: hashable, equal when their futures are.
`explore` visits them breadth first, each once, so the story it tells of a state is a shortest one.
It finds

- *wrong* states, those a given property speaks against; nothing is tried beyond them;
- *stuck* states, where nothing can happen although something should;
- *trapped* states (when asked), from which steps never run out, whatever is done: servers that
  ask each other for ever.

An exploration is a proof only if it came to its end. Where a limit stopped it, `unfinished` says
which, and what was found holds all the same.

`Cores` makes states of cores (anything with `copy()` and `state()`) small and steps quick: a core
is kept once for each state that it was ever in, and what an event makes of it is worked out once,
however many states of the whole system have a part in that state. A state of the whole is then a
tuple of small numbers, compared exactly; nothing rests on hashes being different.

Orders of independent steps are not left out: a frame that goes to a place conflicts with every
frame that may still come to that place, which for routing is nearly all of them, so that a sound
choice of orders (persistent sets) saves little. The states that orders share are shared anyway.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")
R = TypeVar("R")

STATES_MAX: Final = 1_000_000
"""How many states are visited unless a caller says otherwise."""
SECONDS_MAX: Final = 60.0
"""How long an exploration takes unless a caller says otherwise."""
FINDINGS_MAX: Final = 20
"""How many findings of a kind are kept, each with another `what`; all of them are counted."""


@dataclass(frozen=True, kw_only=True)
class Story(Generic[S, L]):
    """A way from the first state to another: `states` has one more than `labels`."""

    labels: tuple[L, ...]
    states: tuple[S, ...]

    @property
    def end(self) -> S:
        """The state it leads to."""
        return self.states[-1]

    def __str__(self) -> str:
        return "\n".join(f"{at:3}. {label}" for at, label in enumerate(self.labels, start=1))


@dataclass(frozen=True, kw_only=True)
class Finding(Generic[S, L]):
    """What is the matter with a state, and a shortest story that leads to such a one."""

    what: str
    story: Story[S, L]

    def __str__(self) -> str:
        return f"{self.story}\n  => {self.what}"


@dataclass(frozen=True, kw_only=True)
class Exploration(Generic[S, L]):
    """What there was to see. The findings of a kind differ in `what`; shortest stories first.

    `ends` counts the states that are rightly at rest, `counts` all states found wrong, stuck and
    trapped, and `depth` is the length of the longest of all shortest stories.
    """

    states: int
    transitions: int
    depth: int
    ends: int
    seconds: float
    unfinished: str
    wrong: tuple[Finding[S, L], ...]
    stuck: tuple[Finding[S, L], ...]
    trapped: tuple[Finding[S, L], ...]
    counts: tuple[int, int, int]

    @property
    def findings(self) -> tuple[Finding[S, L], ...]:
        """All of them."""
        return self.wrong + self.stuck + self.trapped

    @property
    def proved(self) -> bool:
        """Whether every state was visited and none was found to be bad."""
        return not self.unfinished and not self.findings

    def __str__(self) -> str:
        wrong, stuck, trapped = self.counts
        line = (
            f"{self.states:,} states, {self.transitions:,} steps, {self.depth} deep, "
            f"{self.ends:,} ends, {self.seconds:.1f} s: "
            f"{wrong:,} wrong, {stuck:,} stuck, {trapped:,} trapped"
        )
        return f"{line}; unfinished: {self.unfinished}" if self.unfinished else line


def fingerprint(state: Any) -> bytes:
    """Sixteen bytes for a state of plain values and structs, for explorations that fill memory.

    Among n states two are taken for one with a chance of about n²/2¹²⁹, once in 10²⁶ for a million.
    A tuple and a list of the same things have the same fingerprint.

    >>> len(fingerprint(("q1", 3))), fingerprint(("q1", 3)) == fingerprint(("q1", True))
    (16, False)
    """
    return blake2b(msgspec.msgpack.encode(state), digest_size=16).digest()


class _Kind:
    """The findings of one kind: all of them by number, and the first of each `what`."""

    __slots__ = ("all", "first")

    def __init__(self) -> None:
        self.all = array("q")
        self.first: dict[str, int] = {}

    def add(self, what: str, at: int) -> None:
        self.all.append(at)
        if len(self.first) < FINDINGS_MAX:
            self.first.setdefault(what, at)


class _Tree(Generic[S, L]):
    """How each state was reached first: from which other, by which of its steps."""

    def __init__(self, initial: S, steps: Callable[[S], Iterable[tuple[L, S]]]) -> None:
        self._initial = initial
        self._steps = steps
        self._parents = array("q", [-1])
        self._choices = array("L", [0])

    def grow(self, parent: int, choice: int) -> None:
        self._parents.append(parent)
        self._choices.append(choice)

    def story(self, at: int) -> Story[S, L]:
        choices = list[int]()
        while at:
            choices.append(self._choices[at])
            at = self._parents[at]
        state, labels, states = self._initial, list[L](), [self._initial]
        for choice in reversed(choices):
            label, state = _nth(self._steps(state), choice)
            labels.append(label)
            states.append(state)
        return Story(labels=tuple(labels), states=tuple(states))

    def tell(self, kind: _Kind) -> tuple[Finding[S, L], ...]:
        return tuple([Finding(what=what, story=self.story(at)) for what, at in kind.first.items()])


def _nth(pairs: Iterable[tuple[L, S]], choice: int) -> tuple[L, S]:
    for at, pair in enumerate(pairs):
        if at == choice:
            return pair
    raise AssertionError("steps() gave fewer steps for the same state than before")


def explore(
    initial: S,
    steps: Callable[[S], Iterable[tuple[L, S]]],
    *,
    wrong: Callable[[S], str] | None = None,
    due: Callable[[S], str] | None = None,
    trapped: bool = False,
    states_max: int = STATES_MAX,
    seconds_max: float = SECONDS_MAX,
    key: Callable[[S], Hashable] | None = None,
) -> Exploration[S, L]:
    """Visit every state that can be reached from `initial`, and tell of the bad ones.

    `wrong(state)` says what must never be, or nothing; it is asked of every state. `due(state)`
    says what should still happen, or nothing; it is asked of states where nothing can. With
    `trapped`, states are sought from which no state can be reached where anything ends; that takes
    the whole graph, so it is done only if the exploration came to its end. `steps` must give the
    same steps in the same order each time. `key` makes what is remembered of a state, say its
    `fingerprint`; without it states are remembered themselves.

    Two who each take a left fork first, then wait for the right one:

    >>> def dine(state):
    ...     for who, (forks, other) in enumerate([state, state[::-1]]):
    ...         free = 2 - forks - other
    ...         if forks < 2 and free:
    ...             taken = [forks + 1, other]
    ...             yield f"{'AB'[who]} takes a fork", tuple(taken[::-1] if who else taken)
    >>> found = explore((0, 0), dine, due=lambda state: "" if 2 in state else "each holds one")
    >>> print(found.stuck[0])
      1. A takes a fork
      2. B takes a fork
      => each holds one
    >>> found.states, found.ends, found.unfinished
    (6, 2, '')
    """
    search = _Search(initial, steps, wrong, due, key, graph=trapped)
    unfinished = search.run(states_max, seconds_max)
    if trapped and not unfinished:
        search.find_traps()
    return search.report(unfinished)


class _Search(Generic[S, L]):
    """One exploration under way. States are known by number, in the order they were met."""

    def __init__(
        self,
        initial: S,
        steps: Callable[[S], Iterable[tuple[L, S]]],
        wrong: Callable[[S], str] | None,
        due: Callable[[S], str] | None,
        key: Callable[[S], Hashable] | None,
        *,
        graph: bool,
    ) -> None:
        self._started = time.monotonic()
        self._steps = steps
        self._wrong = wrong
        self._due = due
        self._key = key
        self._graph = graph
        self._tree = _Tree(initial, steps)
        self._numbers: dict[Hashable, int] = {}
        self._level: list[tuple[int, S]] = []
        self._transitions = 0
        self._depth = -1
        self._ends = array("q")
        self._wrongs, self._stucks, self._traps = _Kind(), _Kind(), _Kind()
        # The steps themselves, from state to state; kept only to look for traps.
        self._sources, self._targets = array("q"), array("q")
        self._meet(initial)

    def _meet(self, state: S) -> tuple[int, bool]:
        """The number of a state, and whether it is new; a new one will be visited, if not wrong."""
        known = state if self._key is None else self._key(state)
        number = self._numbers.get(known)
        if number is not None:
            return number, False
        number = self._numbers[known] = len(self._numbers)
        what = self._wrong(state) if self._wrong else ""
        if what:
            self._wrongs.add(what, number)
        else:
            self._level.append((number, state))
        return number, True

    def run(self, states_max: int, seconds_max: float) -> str:
        """Visit level after level; the limit that stopped it, if one did."""
        met = 0
        while met < len(self._numbers):
            met = len(self._numbers)
            self._depth += 1
            level, self._level = self._level, []
            for number, state in level:
                self._visit(number, state)
                if len(self._numbers) > states_max:
                    return f"more than {states_max:,} states"
                if time.monotonic() - self._started > seconds_max:
                    return f"more than {seconds_max:g} s"
        return ""

    def _visit(self, number: int, state: S) -> None:
        choice = -1
        for choice, (_, after) in enumerate(self._steps(state)):
            target, new = self._meet(after)
            if new:
                self._tree.grow(number, choice)
            if self._graph:
                self._sources.append(number)
                self._targets.append(target)
        self._transitions += choice + 1
        if choice < 0:
            what = self._due(state) if self._due else ""
            if what:
                self._stucks.add(what, number)
            else:
                self._ends.append(number)

    def find_traps(self) -> None:
        """Go back from every state where something ended; those that are not met are trapped."""
        count = len(self._numbers)
        starts = array("q", bytes(8 * (count + 2)))  # a counting sort of steps by where they lead
        for target in self._targets:
            starts[target + 2] += 1
        for at in range(2, count + 2):
            starts[at] += starts[at - 1]
        into = array("q", bytes(8 * len(self._sources)))
        for source, target in zip(self._sources, self._targets, strict=True):
            into[starts[target + 1]] = source
            starts[target + 1] += 1
        free = bytearray(count)
        todo = [*self._ends, *self._wrongs.all, *self._stucks.all]
        for at in todo:
            free[at] = 1
        while todo:
            at = todo.pop()
            for source in into[starts[at] : starts[at + 1]]:
                if not free[source]:
                    free[source] = 1
                    todo.append(source)
        for at in range(count):
            if not free[at]:
                self._traps.add("steps never run out from here", at)

    def report(self, unfinished: str) -> Exploration[S, L]:
        return Exploration(
            states=len(self._numbers),
            transitions=self._transitions,
            depth=self._depth,
            ends=len(self._ends),
            seconds=time.monotonic() - self._started,
            unfinished=unfinished,
            wrong=self._tree.tell(self._wrongs),
            stuck=self._tree.tell(self._stucks),
            trapped=self._tree.tell(self._traps),
            counts=(len(self._wrongs.all), len(self._stucks.all), len(self._traps.all)),
        )


# -- cores -------------------------------------------------------------------------------------


class Copied(Protocol):
    """A core that can be explored."""

    def copy(self) -> Any:
        """The same core, apart."""
        ...

    def state(self) -> Hashable:
        """All that its future depends on."""
        ...


C = TypeVar("C", bound=Copied)


class Cores(Generic[C]):
    """Cores by number, one number for each state; what an event makes of one is found out once.

    >>> class Counter:
    ...     def __init__(self, count=0): self.count = count
    ...     def copy(self): return Counter(self.count)
    ...     def state(self): return self.count
    ...     def add(self, amount): self.count += amount; return [f"now {self.count}"]
    >>> cores = Cores()
    >>> zero = cores.put(Counter())
    >>> two, effects = cores.step(zero, ("add", 2), lambda core: core.add(2))
    >>> effects, cores[two].count, cores[zero].count, len(cores)
    (['now 2'], 2, 0, 2)
    >>> cores.step(two, ("add", -2), lambda core: core.add(-2))[0] == zero
    True
    """

    __slots__ = ("_cores", "_numbers", "_steps")

    def __init__(self) -> None:
        self._cores: list[C] = []
        self._numbers: dict[Hashable, int] = {}
        self._steps: dict[tuple[int, Hashable], tuple[int, Any]] = {}

    def put(self, core: C) -> int:
        """The number of a core's state. The core is kept: it must not be changed any more."""
        state = core.state()
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._cores)
            self._cores.append(core)
        return number

    def step(self, number: int, event: Hashable, act: Callable[[C], R]) -> tuple[int, R]:
        """Do `act` with a copy of a core: the number it has then, and what `act` answered.

        `event` must say all that `act` depends on besides the core: next time it is not done.
        """
        known = self._steps.get((number, event))
        if known is None:
            core: C = self._cores[number].copy()
            answer = act(core)
            known = self._steps[number, event] = (self.put(core), answer)
        return known

    def __getitem__(self, number: int) -> C:
        """A core of this state, to look at."""
        return self._cores[number]

    def __len__(self) -> int:
        return len(self._cores)

    def __iter__(self) -> Iterator[C]:
        return iter(self._cores)
