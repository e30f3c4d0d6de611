"""Searches that take longer than a slice: parked here, and gone on with in turns.

A search that has used up its slice gives its host back (`space.searching`). It is parked, and the
host wants to hear the time at once (`next_deadline`); whoever drives it serves others before. Each
tick is one slice. Those who have searches parked have it in turns, and so have the searches of one,
so nobody's searches wait for all of another's.

The slice is one for the whole host and is renewed by ticks alone: who asks for much a hundred times
over between two ticks gets no more searched than who asks once. A search that needs few looks is
not held up by that (`searching.VAIN_MAX`).

When a search ends, whoever parked it is told in that same step, with what is there then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from nomospace.errors import LimitReached, NomospaceError
from nomospace.host.problems import Busy
from nomospace.space import Search, SetSearch, Slice, Space, Unfinished
from nomospace.space.searching import SEARCH_UNITS_MAX

if TYPE_CHECKING:
    from nomospace.host.core import Host

PARKED_MAX: Final = 10_000
"""How many searches may be parked at a host."""
PARKED_EACH_MAX: Final = 256
"""How many of them may be one agent's, or one peer's."""


class Look:
    """A search that is parked. `found` or `failed` is called when it ends, unless it is dropped."""

    __slots__ = ("failed", "found", "owner", "search", "space")

    def __init__(
        self,
        owner: str,
        space: Space,
        search: Search | SetSearch,
        found: Callable[[list[Any]], None],
        failed: Callable[[NomospaceError], None],
    ) -> None:
        self.owner = owner
        self.space = space
        self.search = search
        self.found = found
        self.failed = failed

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """One slice more: tuples, or sets of them."""
        if isinstance(self.search, SetSearch):
            return self.space.go_on_sets(self.search, now=now, slice=slice)
        return self.space.go_on(self.search, now=now, slice=slice)


class Looking:
    """The searches that are parked at one host, by whom they are for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parked: dict[str, deque[Look]] = {}
        self._count = 0
        self.slice = Slice()
        """What may be searched until the next tick."""

    @contextmanager
    def uncut(self) -> Iterator[None]:
        """Search to the end for a listener: it is part of the step that it runs in."""
        outer, self.slice = self.slice, Slice(SEARCH_UNITS_MAX)
        try:
            yield
        finally:
            self.slice = outer

    def park(self, look: Look) -> Look:
        """Go on with a search in later slices; raises `Busy` where there are too many."""
        queue = self._parked.get(look.owner)
        if self._count >= PARKED_MAX or (queue is not None and len(queue) >= PARKED_EACH_MAX):
            look.space.give_up(look.search)
            limit = PARKED_MAX if self._count >= PARKED_MAX else PARKED_EACH_MAX
            raise Busy(what="long searches that go on at once", limit=limit)
        if queue is None:
            queue = self._parked[look.owner] = deque()
        queue.append(look)
        self._count += 1
        return look

    def drop(self, look: Look) -> None:
        """Nobody wants to know any more; harmless when the search is over."""
        queue = self._parked.get(look.owner)
        if queue is None or look not in queue:
            return
        queue.remove(look)
        look.space.give_up(look.search)
        self._left(look.owner, queue)

    def _left(self, owner: str, queue: deque[Look]) -> None:
        self._count -= 1
        if not queue:
            del self._parked[owner]

    def next_deadline(self) -> int | None:
        """At once, while a search is parked."""
        return self._host.now if self._parked else None

    def tick(self) -> None:
        """Go on for a slice: with one search, or with several that end soon."""
        self.slice.renew()
        while self._parked and self.slice.left > 0:
            owner, queue = next(iter(self._parked.items()))
            del self._parked[owner]  # it is the last one now
            self._parked[owner] = queue
            look = queue.popleft()
            try:
                found = look.go_on(self._host.now, self.slice)
            except Unfinished:
                queue.append(look)
                continue
            except LimitReached as error:
                self._left(owner, queue)
                look.failed(error)
                continue
            self._left(owner, queue)
            try:
                look.found(found)
            except NomospaceError as error:
                look.failed(error)
