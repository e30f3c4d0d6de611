"""An interface space: an agent's own window on the spaces of that name (LIME 2.2).

While it is private, it holds just what its agent wrote. While it is shared, it shows what all
connected agents that share the name hold, as one space, and parts again without losing a tuple.

Operations that wait (`take`, `read`) look at the whole group. Those that do not (`_nowait`, `_all`)
look at one host or agent: their own host, unless `at` names another place (LIME, Table I).
Fields are plain values, `t.name(…)` terms and `obj(…)`; patterns besides are types, `ANY`,
`between`, `where`, `same` and `a`. Everything is checked before the host is asked.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final, Literal, Unpack, overload

from nomospace.calls.answers import DisclosedRuling, Found
from nomospace.calls.requests import Out, OutMany, React, Seek, Settle, Share
from nomospace.calls.ways import ONCE_PER_TUPLE, STRONG, WEAK, Mode, Strength, Way
from nomospace.client.connection import Connection
from nomospace.client.listening import LISTENER, refuse_waiting
from nomospace.client.membership import message_of
from nomospace.client.reactions import (
    LISTENER_TIMEOUT_S,
    AnyHandle,
    Listener,
    ReactionHandle,
    Step,
    check_listener,
    read_way,
)
from nomospace.client.taking import Taking, lease_of
from nomospace.client.tuples import (
    Correlation,
    Tuple,
    agent_id,
    as_tuple,
    as_tuples,
    check_key,
    check_priority,
    micros,
    place,
    seconds,
    sets_of,
)
from nomospace.errors import CallerError
from nomospace.terms import Term, show
from nomospace.terms.templates import Template, freeze_tuple
from nomospace.wire.admin import SpaceMonitor, SpaceTell, read_ruling

ROWS_MAX: Final = 2_000
"""The most tuples that one `out_many` writes: they are one step of the host."""


class TooManyRows(CallerError):
    """More tuples at once than one step takes."""

    code = "client.too-many-rows"
    words = "more than {limit:,} tuples in one out_many; write them in several"
    limit: int


def seek_of(
    space: str,
    how: Way,
    template: Sequence[object],
    at: str | None,
    dest: str | None,
    sets: Correlation,
) -> Seek:
    """What asks for tuples that are there now."""
    return Seek(
        space,
        how,
        Template.of(template),
        "" if at is None else place("at", at),
        "" if dest is None else agent_id("dest", dest),
        sets=sets_of(sets) if sets else None,
    )


class Space:
    """An agent's interface space. Made by `Agent.space`."""

    __slots__ = ("_connection", "_handles", "_timeout", "name", "shared")

    def __init__(
        self,
        name: str,
        connection: Connection,
        *,
        shared: bool,
        listener_timeout: float = LISTENER_TIMEOUT_S,
    ) -> None:
        self.name = name
        """The name that it shares with the spaces of other agents."""
        self.shared = shared
        """Whether others see it, and it sees them."""
        self._connection = connection
        self._timeout = listener_timeout
        self._handles: dict[AnyHandle, None] = {}

    @property
    def owner(self) -> str:
        """The id of the agent whose window this is."""
        return self._connection.agent

    def __repr__(self) -> str:
        return f"<space {self.name!r} of {self.owner}, {'shared' if self.shared else 'private'}>"

    # -- writing ---------------------------------------------------------------------------

    async def out(
        self,
        *fields: object,
        to: str | None = None,
        ttl: float | None = None,
        once: str | None = None,
        priority: int = 0,
        once_lasts: bool = False,
    ) -> None:
        """Write a tuple, for the agent `to` when one is named; gone after `ttl` seconds if given.

        With `once` it is written at most once: what this agent has written to the space under the
        same key is not written again, however often it tries, also after crashes. The host
        remembers keys for 30 days (`once_s` in its configuration), and with `once_lasts` for good.

        Of the tuples of one host that match, reads and takes find those of the highest `priority`
        (-100 to 100) first, and the oldest among equals.

        The tuple is this agent's until the agent `to` is connected and shares the space; then it
        moves there, at once or in the very step in which their hosts engage. Raises `Refused` when
        the law of the space refuses it.

        >>> from nomospace import sync, t
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17, t.room(3))
        ...     jobs.out("offer", 40, to="porter@ward-3", ttl=60)
        ...     jobs.read_all("offer", int, dest="porter@ward-3")
        [('offer', 40)]
        """
        if once is not None:
            row, key = (freeze_tuple(fields),), check_key(once)
            how = (agent_id("to", to), micros("ttl", ttl), key, check_priority(priority))
            await self._connection.ask(OutMany(self.name, row, *how, once_lasts))
            return
        frozen = freeze_tuple(fields)
        whom = "" if to is None else agent_id("to", to)
        ttl_us = 0 if ttl is None else micros("ttl", ttl)
        if priority != 0:
            rank = check_priority(priority)
            await self._connection.ask(Out(self.name, frozen, whom, ttl_us, "", rank))
            return
        await self._connection.out(self.name, frozen, whom, ttl_us)

    async def out_many(
        self,
        rows: Iterable[Iterable[object]],
        *,
        to: str | None = None,
        ttl: float | None = None,
        priority: int = 0,
    ) -> None:
        """Write several tuples in one step: nobody sees some of them without the others.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs")
        ...     jobs.out_many(("job", n) for n in range(3))
        ...     jobs.read_all("job", int)
        [('job', 0), ('job', 1), ('job', 2)]
        """
        frozen: list[tuple[Term, ...]] = []
        for row in rows:
            if len(frozen) >= ROWS_MAX:
                raise TooManyRows(limit=ROWS_MAX)
            frozen.append(freeze_tuple(tuple(row)))
        if frozen:
            how = (agent_id("to", to), micros("ttl", ttl), "", check_priority(priority))
            await self._connection.ask(OutMany(self.name, tuple(frozen), *how))

    # -- operations that wait --------------------------------------------------------------

    def take(
        self,
        *template: object,
        timeout: float | None = None,
        at: str | None = None,
        dest: str | None = None,
        lease: float | None = None,
        **sets: Unpack[Correlation],
    ) -> Taking:
        """Wait for a tuple that matches, anywhere in the group, and take it: to be awaited.

        Exactly one taker gets it. Among those who wait for the same tuple, the first come is
        served first. `at` narrows to what an agent or a host holds, `dest` to what is for an
        agent. Past `timeout` seconds it raises `TimedOut`; cancelled, it leaves no tuple behind:
        one that was given in the same instant is written back.

        With `lease` the tuple is lent: use it in `async with`. A clean exit acknowledges it; an
        exception, a crash or `lease` seconds without an exit give it back, for the next taker, who
        sees in `deliveries` how often it was lent. After five it moves to the space named like
        this one with `.dead` added.

        A template that names classes may be answered by several tuples together, if `correlate`,
        `key` or `max_set` say so (see `nomospace.client.tuples`): then all of them are taken
        in one step, or none, the answer has what the template asks for, in its order, and `tuples`
        are those taken. They may lie on several hosts; a lease is on all of them.

        Raises `PrivateSpace` while the space is private, `WaitingInListener` inside a listener,
        `Refused` when the law refuses it; while the law holds it, it waits.

        >>> import asyncio, nomospace as ns
        >>> async def program():
        ...     async with ns.Host("ward-3") as host:
        ...         jobs = await (await host.agent("nurse")).space("jobs", shared=True)
        ...         await jobs.out("job", 17)
        ...         async with jobs.take("job", int, lease=30) as job:
        ...             print(job, job.deliveries)
        ...         await jobs.take("job", int, timeout=0.01)
        >>> asyncio.run(program())
        Traceback (most recent call last):
        nomospace.client.connection.TimedOut: no tuple for ... in 'jobs' within 0.01 s; ...
        """
        if LISTENER.get() is not None:
            refuse_waiting("take", self.name)
        return Taking(self, self._one(Way.TAKE, template, timeout, at, dest, lease, sets), lease)

    def read(
        self,
        *template: object,
        timeout: float | None = None,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Coroutine[object, None, Tuple]:
        """Wait for a tuple that matches, anywhere in the group, and leave it there: to be awaited.

        `at`, `dest`, `timeout`, answers of several tuples and what it raises are as with `take`.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     jobs.read("job", int) == jobs.read("job", int, timeout=5) == ("job", 17)
        True
        """
        if LISTENER.get() is not None:
            refuse_waiting("read", self.name)
        return self._one(Way.READ, template, timeout, at, dest, None, sets)

    async def _one(
        self,
        how: Way,
        template: tuple[object, ...],
        timeout: float | None,
        at: str | None,
        dest: str | None,
        lease: float | None,
        sets: Correlation,
    ) -> Tuple:
        seek = Seek(
            self.name,
            how,
            Template.of(template),
            "" if at is None else place("at", at),
            "" if dest is None else agent_id("dest", dest),
            0 if lease is None else micros("lease", lease),
            sets_of(sets) if sets else None,
        )
        timeout_s = None if timeout is None else seconds("timeout", timeout, zero=True)
        found: Found = await self._connection.seek(seek, timeout_s)
        return as_tuple(found)

    async def acknowledge(self, taken: Tuple) -> None:
        """Say that a tuple taken under a lease is done with: it is gone for good.

        `async with` does this by itself. Raises `LeaseLapsed` when the lease ran out before, and
        the tuple went, or will go, to someone else.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     jobs.acknowledge(jobs.take("job", int, lease=30))
        ...     jobs.take_nowait("job", int)
        """
        lease = lease_of("acknowledge", taken)
        await self._connection.ask(Settle(self.name, lease, True))

    async def renew(self, taken: Tuple, lease: float) -> None:
        """Let the lease on a tuple end `lease` seconds from now.

        Raises `LeaseLapsed` when it ran out before.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     with jobs.lend("job", int, lease=30) as job:
        ...         jobs.renew(job, 600)
        """
        renewed = Settle(self.name, lease_of("renew", taken), False, micros("lease", lease))
        await self._connection.ask(renewed)

    async def give_back(self, taken: Tuple, *, delay: float | None = None, why: str = "") -> None:
        """Give a tuple taken under a lease back before the lease ends.

        With `delay` nobody gets it for so many seconds. The reason `why` stays with it, for its
        next takers and among the dead letters (`Tuple.history`).

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     jobs.give_back(jobs.take("job", int, lease=30))
        ...     jobs.take("job", int, lease=30).deliveries
        2
        """
        lease = lease_of("give_back", taken)
        await self._connection.ask(Settle(self.name, lease, False, 0, micros("delay", delay), why))

    # -- for the operator of a governed space ------------------------------------------------

    async def tell(self, client: str, message: object) -> DisclosedRuling:
        """Let the space itself say something to an agent; gives the ruling, refused or not.

        It is the manager of the space at this agent's host who speaks, under the law of the space:
        what clients of law CC are told so is `changeDelay(Seconds)`. For the operator of that host:
        raises `NotAnOperator`, and `NotGoverned` for a space without a law.

        >>> from nomospace import Law, sync
        >>> law = Law.load("law(free). sent(_,_,_) :- do(forward). arrived(_,_,_) :- do(deliver).")
        >>> with sync.Host("ward-3") as host:
        ...     nurse = host.agent("nurse")
        ...     ward = nurse.adopt(law)
        ...     ruling = nurse.space("jobs", shared=True, law=law).tell("nurse@ward-3", "hurry(1)")
        ...     ruling.refused, ward.receive_nowait()
        (False, Letter(sender='jobs', message=term('hurry(1)')))
        """
        said = show(message_of(message))
        question = SpaceTell(self.name, agent_id("client", client), said)
        return read_ruling(await self._connection.operate(question))

    async def monitor(
        self, most: float | None, *, rest: float = 1.0, longest: float = 60.0
    ) -> None:
        """Have the space watch its load at this agent's host, until that ends; `None` stops it.

        When more than `most` requests a second come, the space tells its clients `changeDelay` (law
        CC), as long as it takes and up to `longest` seconds; when they grow less it lets them be
        quicker again, down to a delay of `rest`. Raises `NotAnOperator`, `NotGoverned`,
        `BadMonitor`.
        """
        await self._connection.operate(SpaceMonitor(self.name, most, rest, longest))

    # -- operations that do not wait ---------------------------------------------------------

    async def take_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple | None:
        """Take a tuple that matches on this host, or at the host or agent `at`; `None` if none.

        A place that is not connected has none. Raises `ContactLost` when contact is lost while
        another host is asked; the tuple is not lost then.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs")
        ...     jobs.out("job", 17)
        ...     jobs.take_nowait("job", int), jobs.take_nowait("job", int)
        (('job', 17), None)
        """
        found = await self._now(Way.TAKE_NOWAIT, template, at, dest, sets)
        return None if found is None else as_tuple(found)

    async def read_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple | None:
        """Read a tuple that matches on this host, or at the host or agent `at`; `None` if none.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs")
        ...     jobs.read_nowait("job", int, at="nowhere@else")
        """
        found = await self._now(Way.READ_NOWAIT, template, at, dest, sets)
        return None if found is None else as_tuple(found)

    async def take_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[Tuple]:
        """Take every tuple that matches on this host, or at the host or agent `at`, in one step.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs")
        ...     jobs.out_many([("job", 1), ("job", 2)])
        ...     jobs.take_all("job", int), jobs.take_all("job", int)
        ([('job', 1), ('job', 2)], [])
        """
        return as_tuples(await self._now(Way.TAKE_ALL, template, at, dest, sets))

    async def read_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[Tuple]:
        """Read every tuple that matches on this host, or at the host or agent `at`, in one step.

        >>> from nomospace import sync, between
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs")
        ...     jobs.out_many(("job", n) for n in range(10))
        ...     jobs.read_all("job", between(2, 4))
        [('job', 2), ('job', 3), ('job', 4)]
        """
        return as_tuples(await self._now(Way.READ_ALL, template, at, dest, sets))

    def _now(
        self,
        how: Way,
        template: tuple[object, ...],
        at: str | None,
        dest: str | None,
        sets: Correlation,
    ) -> Coroutine[object, None, Any]:
        return self._connection.seek(seek_of(self.name, how, template, at, dest, sets))

    # -- reactions ---------------------------------------------------------------------------

    @overload
    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ...,
        strength: Literal["weak"] = ...,
        at: str | None = ...,
        dest: str | None = ...,
        **sets: Unpack[Correlation],
    ) -> ReactionHandle[Space]: ...

    @overload
    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ...,
        strength: Literal["strong"],
        at: str | None = ...,
        dest: str | None = ...,
    ) -> ReactionHandle[Step]: ...

    def react(
        self,
        template: Iterable[object],
        listener: Listener,
        *,
        mode: str = ONCE_PER_TUPLE,
        strength: str = WEAK,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> AnyHandle:
        """Run `listener(tuple, source, handle)` for tuples that match, those there now included.

        A plain call: the reaction is registered before this agent's next operation. With mode
        `"once"` it fires for one tuple and is removed; with `"once-per-tuple"` for each tuple once,
        across migrations and reconnections.

        Weak: the whole group is watched, and the listener runs some time later; it may be `async`.
        Strong: `at` names a host or an agent, and the listener runs in the very step that brings
        the tuple there, before anyone else can take it; it is a plain function and works through
        `handle.space`, a `Step`. Waiting inside a listener raises `WaitingInListener`.

        With `correlate`, a weak one fires for each set of tuples that answers together, too, once;
        `tuple.tuples` has them.

        >>> from nomospace import sync
        >>> def remove(job, source, handle):
        ...     handle.space.take_nowait(*job)
        ...     print("done", job[1], "of", source)
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     _ = jobs.react(("job", int), remove, strength="strong", at="ward-3")
        ...     jobs.out("job", 17)
        ...     jobs.read_all("job", int)
        done 17 of nurse@ward-3
        []
        """
        often, strong = read_way(Mode, mode), read_way(Strength, strength)
        check_listener(listener, strong)
        request = React(
            self.name,
            Template.of(tuple(template)),
            often,
            strong,
            place("at", at),
            agent_id("dest", dest),
            sets=sets_of(sets) if sets else None,
        )
        handle: AnyHandle = ReactionHandle(
            self._connection,
            Step(self.name) if strong == STRONG else self,
            request,
            listener,
            timeout_s=self._timeout,
            forget=self._forget,
        )
        self._handles[handle] = None
        self._connection.react(request, handle)
        if handle.error is not None:
            raise handle.error
        return handle

    def reactions(self) -> list[AnyHandle]:
        """The reactions that this program has on this space, oldest first; removed ones never.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     handle = jobs.react(("job", int), print)
        ...     before = jobs.reactions()
        ...     handle.remove()
        ...     len(before), len(jobs.reactions())
        (1, 0)
        """
        return [handle for handle in self._handles if handle.state != "removed"]

    def handles(self) -> list[AnyHandle]:
        """The reactions, and those that are removed while their listeners are still at work."""
        return list(self._handles)

    def _forget(self, handle: AnyHandle) -> None:
        self._handles.pop(handle, None)

    # -- sharing -----------------------------------------------------------------------------

    async def share(self) -> None:
        """Join the space of this name that the other agents of the group share.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     ann, bob = host.agent("ann"), host.agent("bob")
        ...     hers, his = ann.space("jobs"), bob.space("jobs", shared=True)
        ...     hers.out("job", 17)
        ...     before = his.read_nowait("job", int)
        ...     hers.share()
        ...     before, his.read_nowait("job", int)
        (None, ('job', 17))
        """
        await self._connection.ask(Share((self.name,), True))
        self.shared = True

    async def unshare(self) -> None:
        """Part: what this agent holds stays with it, and nobody else sees it.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     ann, bob = host.agent("ann"), host.agent("bob")
        ...     hers, his = ann.space("jobs", shared=True), bob.space("jobs", shared=True)
        ...     hers.out("job", 17)
        ...     hers.unshare()
        ...     hers.read_nowait("job", int), his.read_nowait("job", int)
        (('job', 17), None)
        """
        await self._connection.ask(Share((self.name,), False))
        self.shared = False
