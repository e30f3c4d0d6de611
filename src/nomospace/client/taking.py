"""Takes under way, and the leases that they may be on."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nomospace.calls.problems import Refused
from nomospace.client.connection import Report
from nomospace.client.tuples import WHY_CHARS_MAX, Tuple
from nomospace.errors import CallerError, NomospaceError

if TYPE_CHECKING:
    from nomospace.client.space import Space


class NoLease(CallerError):
    """Something that only a lease allows was asked for a tuple without one."""

    code = "client.no-lease"
    words = "{what} needs a lease; take with lease=seconds"
    what: str


def lease_of(what: str, taken: object) -> str:
    """The lease on a tuple; raises `NoLease` where there is none."""
    lease = taken.lease if isinstance(taken, Tuple) else ""
    if not lease:
        raise NoLease(what=what)
    return lease


class Taking(Coroutine[object, None, Tuple]):
    """A take under way: await it for the tuple, or enter it with `async with` for a leased one.

    It is a coroutine, so `asyncio.create_task`, `gather` and `wait_for` take it as it is.
    """

    __slots__ = ("_coroutine", "_lease", "_space", "_taken")
    __name__ = "take"  # what asyncio shows of a task that runs it

    def __init__(
        self, space: Space, coroutine: Coroutine[object, None, Tuple], lease: float | None
    ) -> None:
        self._space = space
        self._coroutine = coroutine
        self._lease = lease

    def __await__(self) -> Generator[object, None, Tuple]:
        return self._coroutine.__await__()

    def send(self, value: None) -> object:
        return self._coroutine.send(value)

    def throw(self, *exception: Any) -> object:
        return self._coroutine.throw(*exception)

    def close(self) -> None:
        self._coroutine.close()

    @property
    def cr_frame(self) -> object:
        """Where it waits: for those who print a task's stack."""
        return getattr(self._coroutine, "cr_frame", None)

    async def renew(self, lease: float | None = None) -> None:
        """Let the lease end so many seconds from now; without any, as many as it began with.

        >>> import asyncio, nomospace as ns
        >>> async def program():
        ...     async with ns.Host("ward-3") as host:
        ...         jobs = await (await host.agent("nurse")).space("jobs", shared=True)
        ...         await jobs.out("job", 17)
        ...         taking = jobs.take("job", int, lease=30)
        ...         async with taking as job:
        ...             await taking.renew()
        >>> asyncio.run(program())
        """
        seconds = lease if lease is not None else self._lease
        if seconds is None:
            raise NoLease(what="renew")
        await self._space.renew(self._taken, seconds)

    async def __aenter__(self) -> Tuple:
        if self._lease is None:
            self._coroutine.close()
            raise NoLease(what="async with space.take(…)")
        self._taken = await self._coroutine
        return self._taken

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            await self._space.acknowledge(self._taken)
            return
        why = f"{type(error).__name__}: {error}"[:WHY_CHARS_MAX]
        try:
            try:
                await self._space.give_back(self._taken, why=why)
            except Refused:  # by a law that knows no reasons
                await self._space.give_back(self._taken)
        except NomospaceError as late:
            # The program's own error must not be hidden; the lease has lapsed or will.
            facts = {
                "agent": self._space.owner,
                "space": self._space.name,
                "tuple": str(self._taken.id),
            }
            self._space._connection.report(Report("a lease could not be given back", facts, late))
