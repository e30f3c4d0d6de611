"""Searches that take longer than a slice: parked here, and gone on with in turns.

A search that has used up its slice gives its host back (`space.search`). It is parked, and the
host wants to hear the time at once (`next_deadline`); whoever drives it serves others before. Each
tick is one slice. Those who have searches parked have it in turns, and so have the searches of one,
so nobody's searches wait for all of another's.

The slice is one for the whole host and is renewed by ticks alone: who asks for much a hundred times
over between two ticks gets no more searched than who asks once. A search that needs few looks is
not held up by that (`searching.VAIN_MAX`).

A search that waits for rows of a table (`space.pages`) stands aside until they have come.

When a search ends, whoever parked it is told in that same step, with what is there then. Spaces
that have tuples to show to more than one step has time for are parked in the same way (`Serve`).

Work of very many equal pieces, done some in each step: others are served between two steps.

Tuples follow a space that is shared or parted, an agent ends with all its tuples, calls of a client
that is gone are called off. There may be a million of them. Whoever hands such work over says how
to do some of it; what is left tells how far it has come, so nothing is remembered here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.problems import Busy
from nomospace.errors import LimitReached, NomospaceError, Unavailable
from nomospace.host.calls import TablesAnswered
from nomospace.host.operations import NO_SEARCH, Look
from nomospace.host.part import HostPart
from nomospace.space import Fired, Gathered, Reaction, Slice, Space, Unfinished, Woken
from nomospace.space.pages import Key as RowsKey
from nomospace.space.search import SEARCH_UNITS_MAX

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Pieces(Look):
    """Work that an agent has caused: `some` does a part and says whether there may be more."""

    __slots__ = ("_some",)

    def __init__(
        self,
        owner: str,
        space: Space,
        some: Callable[[], bool],
        then: Callable[[], None],
        failed: Callable[[NomospaceError], None],
    ) -> None:
        super().__init__(owner, space, NO_SEARCH, lambda _: then(), failed)
        self._some = some

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """Do some more."""
        if self._some():
            raise Unfinished(search=self.search)
        return []


PARKED_MAX: Final = 10_000
"""How many searches may be parked at a host."""
PARKED_EACH_MAX: Final = 256
"""How many of them may be one agent's, or one peer's."""


UNRULED_MAX: Final = 10_000
"""How much of one governed space may wait to be ruled on; what comes then is ruled on at once."""
WATCHERS_UNITS_MAX: Final = 100_000
"""What a tuple may cost at most for all that wait and react for one agent, if all had to test it.

Those that a tuple cannot concern, by its width, its values or its classes, are not asked."""
SETS_PRICE: Final = 2_000
"""What counts for one who waits for several tuples together."""


class WatchersTooDear(LimitReached):
    """The waiting operations and reactions of an agent would make writes too dear for others."""

    code = "limits.watchers"
    what: str = "what one tuple may cost for all that wait and react for one agent, in units,"
    limit: int = WATCHERS_UNITS_MAX
    advice: str = "let fewer wait at a time, or with shorter predicates and fewer ties"


class Scan(Look):
    """A reaction that has not yet met all that was there before it."""

    __slots__ = ("_host", "_name", "reaction")

    def __init__(
        self, host: HostParts, owner: str, name: str, space: Space, reaction: Reaction
    ) -> None:
        assert reaction.search is not None, "what is left to meet is searched for"
        super().__init__(owner, space, reaction.search, _nothing, _nothing)
        self.reaction = reaction
        self._host = host
        self._name = name

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """Let it meet some more, unless it is gone."""
        reaction = self.reaction
        if reaction.search is self.search:
            told = self.space.scan(reaction, now=now, slice=slice)
            self._host.outcomes.happened(self._name, self.space, told)
            if reaction.search is self.search:
                raise Unfinished(search=self.search)
        return []


class Serve(Look):
    """A space that has tuples to show to the rest of those who wait and react."""

    __slots__ = ("_host", "_name", "_parked")

    def __init__(self, host: HostParts, parked: ParkedSearches, name: str, space: Space) -> None:
        super().__init__(f"space {name}", space, NO_SEARCH, _nothing, _nothing)
        self._host = host
        self._parked = parked
        self._name = name

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """Let the law rule on some more of what waits for it, then show tuples to some more."""
        if self._parked.go_on_ruling(self._name, self.space):
            raise Unfinished(search=self.search)
        told = self.space.go_on_serving(now=now, slice=slice)
        self._host.outcomes.happened(self._name, self.space, told)
        if self._parked.is_busy(self.space):
            raise Unfinished(search=self.search)
        return []


def _nothing(_: object) -> None:
    """Whatever there is to tell has been told."""


def _done() -> None:
    """Nobody waits for it."""


class ParkedSearches(HostPart):
    """The searches that are parked at one host, by whom they are for."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._parked: dict[str, deque[Look]] = {}
        self.timed = self._parked
        self._away: dict[RowsKey, list[Look]] = {}
        """Those that wait for rows."""
        self._count = 0
        self._each: dict[str, int] = {}
        self._watchers: dict[str, int] = {}
        self._serving: dict[Space, Serve] = {}
        self._unruled: dict[Space, deque[Woken | Gathered | Fired]] = {}
        """What governed spaces have for those who wait and react, and no law has ruled on yet."""
        self._finishing = False
        self.slice = Slice()
        self.whole = False
        """Whether all work is done to its end now, as a listener asks for it."""
        """What may be searched until the next tick."""

    def watch(self, agent: str, price: int, *, check: bool = True) -> None:
        """Let one more wait or react for an agent; raises `WatchersTooDear` past its share.

        Every tuple that comes may have to be tested for all of them.
        """
        price += self._watchers.get(agent, 0)
        if check and price > WATCHERS_UNITS_MAX:
            raise WatchersTooDear
        self._watchers[agent] = price

    def unwatch(self, agent: str, price: int) -> None:
        """One of them is over."""
        left = self._watchers[agent] - price
        if left:
            self._watchers[agent] = left
        else:
            del self._watchers[agent]

    def serve(self, name: str, space: Space) -> None:
        """Go on in later slices with what a space has yet to show; harmless when that is so."""
        if space not in self._serving:
            look = self._serving[space] = Serve(self._host, self, name, space)
            self.park(look)

    def is_busy(self, space: Space) -> bool:
        """Whether a space has something left for those who wait and react."""
        return space.is_serving or space in self._unruled

    def postpones(self, space: Space, outcome: Woken | Gathered | Fired) -> bool:
        """Let what a governed space has for one who waits or reacts be ruled on later, if need be.

        That is when this step has ruled on much already, or others wait before it. One who waits
        is awake meanwhile, so it misses nothing that comes.
        """
        unruled = self._unruled.get(space)
        if unruled is None:
            if not self._host.deciding.late or self._finishing:
                return False
            unruled = self._unruled[space] = deque()
        elif len(unruled) >= UNRULED_MAX:
            return False
        unruled.append(outcome)
        if not isinstance(outcome, Fired):
            space.rearm(outcome.ticket)
        return True

    def go_on_ruling(self, name: str, space: Space) -> bool:
        """Have some of that ruled on; whether there is more."""
        unruled = self._unruled.get(space)
        if unruled is None:
            return False
        while True:
            outcome = unruled.popleft()
            if not unruled:
                del self._unruled[space]
            if isinstance(outcome, Fired):
                self._host.outcomes.reached(name, space, outcome)
            elif space.is_armed(outcome.ticket):  # else it is over, or has something under way
                space.disarm(outcome.ticket)
                self._host.outcomes.reached(name, space, outcome)
            if not unruled:
                return False
            if self._host.deciding.left <= 0 and not self._finishing:
                return True

    def finish(self, name: str, space: Space) -> None:
        """Do all of it at once: reactions are about to leave the space."""
        self._finishing = True
        try:
            self.go_on_ruling(name, space)
            if space.is_serving:
                self._host.outcomes.happened(name, space, space.go_on_serving(now=self._step.now))
        finally:
            self._finishing = False

    @contextmanager
    def uncut(self) -> Iterator[None]:
        """Search to the end for a listener: it is part of the step that it runs in."""
        outer, self.slice = self.slice, Slice(SEARCH_UNITS_MAX)
        cuts, self.whole = self.whole, True
        try:
            with self._step.engine.pages.at_once():
                yield
        finally:
            self.slice, self.whole = outer, cuts

    def park(self, look: Look) -> Look:
        """Go on with a search in later slices; raises `Busy` where there are too many."""
        full = self._count >= PARKED_MAX or self._each.get(look.owner, 0) >= PARKED_EACH_MAX
        if full and look.search is not NO_SEARCH and not isinstance(look, Scan):  # as reactions
            look.space.give_up(look.search)
            limit = PARKED_MAX if self._count >= PARKED_MAX else PARKED_EACH_MAX
            raise Busy(what="long searches that go on at once", limit=limit)
        self._count += 1
        self._each[look.owner] = self._each.get(look.owner, 0) + 1
        self._queue(look)
        return look

    def in_pieces(
        self, agent: str, some: Callable[[], bool], then: Callable[[], None] = _done, op: int = 0
    ) -> None:
        """Do work of many pieces: some now, and the rest in later slices; `then` after the last.

        What `then` raises in a later step is the answer of a call.
        """
        if some():
            fail = partial(self._step.fail, op)
            self.park(Pieces(agent, self._host.system.space, some, then, fail))
        else:
            then()

    def later(self, owner: str, some: Callable[[], bool]) -> None:
        """Do such work, for nobody who waits, from the next slice on."""
        self.park(Pieces(owner, self._host.system.space, some, _done, _nothing))

    def _queue(self, look: Look) -> None:
        """Let a search go on in its turn, or when the rows that it waits for have come."""
        key = look.awaits
        if key is not None and self._step.engine.pages.is_pending(key):
            self._away.setdefault(key, []).append(look)
        else:
            self._parked.setdefault(look.owner, deque()).append(look)

    def answered(self, event: TablesAnswered) -> None:
        """Rows have come: who waits for them goes on."""
        key = self._step.engine.pages.answer(event.question, event.page)
        if key is not None:
            for look in self._away.pop(key, ()):
                self._queue(look)
            self.tick()

    def drop(self, look: Look) -> None:
        """Nobody wants to know any more; harmless when the search is over."""
        queue = self._parked.get(look.owner, deque())
        away = self._away.get(look.awaits, []) if look.awaits is not None else []
        if look in queue:
            queue.remove(look)
            if not queue:
                del self._parked[look.owner]
        elif look in away:
            away.remove(look)
        else:
            return
        look.space.give_up(look.search)
        self._left(look)

    def _left(self, look: Look) -> None:
        owner = look.owner
        self._count -= 1
        self._each[owner] -= 1
        if not self._each[owner]:
            del self._each[owner]
        if isinstance(look, Serve):
            del self._serving[look.space]

    def next_deadline(self) -> int | None:
        """At once, while a search is parked."""
        return self._step.now if self._parked else None

    def tick(self) -> None:
        """Go on for a slice: with one search, or with several that end soon."""
        self.slice.renew()
        while self._parked and self.slice.left > 0:
            owner, queue = next(iter(self._parked.items()))
            del self._parked[owner]  # it is the last one now
            look = queue.popleft()
            if queue:
                self._parked[owner] = queue
            try:
                found = look.go_on(self._step.now, self.slice)
            except Unfinished:
                self._queue(look)
                if look.awaits is None:
                    self.slice.left = 0  # it has used the slice up, whatever it says
                continue
            except (LimitReached, Unavailable) as error:
                self._left(look)
                self.slice.left = 0  # what stopped it has cost as much, though it was not told
                look.failed(error)
                continue
            self._left(look)
            try:
                look.found(found)
            except NomospaceError as error:
                look.failed(error)
            if isinstance(look, Pieces):
                return  # its last piece has cost what any does, and is not counted
