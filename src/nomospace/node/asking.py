"""Questions to the tables of a host's store, asked beside the event loop.

Spaces that lie in a database on another machine are searched so (`space.pages`): a round trip, or
a server that is slow, keeps nobody waiting but who asked. Each thread has a connection of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Final

from nomospace.errors import Unavailable
from nomospace.host.calls import TablesAnswered
from nomospace.space.pages import RowsPage, page_of
from nomospace.space.tables import RowsQuestion, TupleTables

THREADS: Final = 4
"""Questions that are asked at a time; the others queue."""


class TableAsker:
    """Asks one host's tables; `answered` is called in the event loop, `broken` for a bug there."""

    def __init__(
        self,
        tables: TupleTables,
        answered: Callable[[TablesAnswered], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self._tables = tables
        self._answered = answered
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[RowsQuestion | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def ask(self, question: RowsQuestion) -> None:
        """Have a question answered some time later."""
        self._queue.put(question)
        if len(self._threads) < THREADS:
            # Daemons: a process that is told to end does not wait for a database that is away.
            thread = threading.Thread(target=self._run, name="nomospace-asker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Ask no more."""
        for _ in self._threads:
            self._queue.put(None)

    def _run(self) -> None:
        while (question := self._queue.get()) is not None:
            then: Callable[[], None]
            try:
                then = self._told(question)
            except BaseException as error:
                then = partial(self._broken, error)
            with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self._loop.call_soon_threadsafe(then)

    def _told(self, question: RowsQuestion) -> Callable[[], None]:
        applied = self._tables.applied  # before: what the tables get meanwhile is no harm
        page: RowsPage | Unavailable
        try:
            page = page_of(self._tables.rows(*question[:5]), applied)
        except Unavailable as error:
            page = error
        return partial(self._answered, TablesAnswered(question, page))
