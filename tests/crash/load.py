"""The load: programs on three hosts that write, take, send and promise all the time.

Each host has

- a writer: tuples for anyone, tuples to be taken under a lease, tuples for one taker elsewhere;
- takers, plain and under leases: those who compete with the takers of all hosts, those who take
  what is meant for their host, wherever it was written, and one for what is addressed to it;
- two members of a community that write letters to each other, across hosts, and have their law
  impose obligations on them; the law counts all that in their control states;
- a walker: such a member that moves from host to host all the time, and its client with it;
- two clerks, who pass tuples through a space under law `mp`, for the addressee only.

What programs are told goes into the `Ledger`, and nothing else does. A program gives up waiting
now and then, so that takes are called off at any moment too. Errors that the API promises for a
host that is away are no faults (a take that found nothing in time; a lease that the crash of its
host ended; a call that its host refused while its database was away, which is made again); any
other error is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

from nomospace import ANY, TimedOut, t
from nomospace.client import Agent, Letter, Membership, Space
from nomospace.client.remote import RemoteHost, connect
from nomospace.errors import NomospaceError
from nomospace.law import load
from nomospace.laws import path
from nomospace.store.interface import StoreUnavailable
from nomospace.terms import Compound
from tests.crash.ledger import (
    GOVERNED,
    LENT,
    MESSAGE,
    OBLIGATION,
    SENT_ON,
    TUPLE,
    Ledger,
)

BOOKS: Final = load(
    """\
law(books).
initialCS([sent(0), got(0), promised(0), fired(0)]).
R1. sent(_, note(_), _) :- do(incr(sent(_), 1)), do(forward).
R2. arrived(_, note(_), _) :- do(incr(got(_), 1)), do(deliver).
R3. sent(_, promise(N, Ms), _) :-
      do(incr(promised(_), 1)), do(imposeObligation(kept(N), Ms, ms)).
R4. obligationDue(kept(N)) :- do(incr(fired(_), 1)), do(deliver(Self, kept(N), Self)).
R5. sent(_, show, _) :-
      sent(S)@CS, got(G)@CS, promised(P)@CS, fired(F)@CS,
      do(deliver(Self, shown(S, G, P, F), Self)).
"""
)

ANYONE: Final = "anyone"
"""What a tuple says that may be taken at any host; others name the only host for them."""
Call: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
AGAIN_S: Final = 0.1
"""What was refused is asked for again after so long."""
TAKERS: Final = ("taker-1", "taker-2")
BORROWERS: Final = ("borrower-1", "borrower-2")
CLERKS: Final = ("clerk-1", "clerk-2")
MEMBERS: Final = ("member-1", "member-2")
ROLES: Final = (
    "writer",
    *TAKERS,
    *BORROWERS,
    "addressee",
    *CLERKS,
    *MEMBERS,
    "walker",
    "undertaker",
)
"""The programs of each host."""

OPEN_MAX: Final = 200
"""A program that makes things of a kind pauses while so many of them are under way."""
LEASE_S: Final = 3.0
RECONNECT_S: Final = 120.0
"""Longer than any host is away: no program is ever told that its host is lost."""
ANSWER_S: Final = 60.0
"""How long the calls that are under way in the end may take."""
LAPSED: Final = "space.lease-lapsed"
DOUBTFUL: Final = "host.in-doubt"
STAYS: Final = frozenset({"host.move-refused", "store.unavailable"})


class Load:
    """All programs of one run. `urls` says where the hosts are, `access` what clients show."""

    def __init__(
        self, urls: dict[str, str], ledger: Ledger, rng: random.Random, access: dict[str, Any]
    ) -> None:
        self.ledger = ledger
        self.errors: list[tuple[str, BaseException]] = []
        """What programs were told that nobody promised; the program that it befell."""
        self.settled: dict[str, int] = {"acknowledged": 0, "lapsed": 0, "in doubt": 0, "died": 0}
        """How leases ended."""
        self.moves: dict[str, int] = {"moved": 0, "stayed": 0}
        """How often walkers went to another host, and how often they had to stay."""
        self.operations = 0
        """How many calls were answered."""
        self.refused = False
        """Whether calls may be refused for a while, as the database is away."""
        self._hosts = {
            name: connect(url, reconnect_s=RECONNECT_S, hosts=urls, **access)
            for name, url in urls.items()
        }
        self._rng = rng
        self._writing = True
        self._makers: list[asyncio.Task[None]] = []
        self._takers: list[asyncio.Task[None]] = []
        self._members: dict[str, Membership] = {}
        self._shown: dict[str, asyncio.Future[tuple[int, int, int, int]]] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    # -- its life ----------------------------------------------------------------------------

    async def start(self) -> None:
        """Let all programs begin."""
        law = load(path("mp").read_text("utf-8"))
        spaces: dict[str, tuple[Agent, Space]] = {}
        for host in self._hosts.values():
            for role in ("writer", *TAKERS, *BORROWERS, "addressee"):
                agent = await host.agent(role)
                spaces[agent.id] = agent, await agent.space("jobs", shared=True)
            for role in CLERKS:
                agent = await host.agent(role)
                await agent.adopt(law)
                spaces[agent.id] = agent, await agent.space("post", shared=True, law=law)
            for role in MEMBERS:
                await self._enrol(host, role)
            walker = await self._enrol(host, "walker")
            self._begin(self._makers, f"{walker.id} walks", self._walk(walker))
            undertaker = await host.agent("undertaker")
            dead = await undertaker.space("jobs.dead", shared=True)
            self._begin(self._takers, undertaker.id, self._bury(dead))
        others = list(self._hosts)
        for name in self._hosts:
            jobs = spaces[f"writer@{name}"][1]
            self._begin(self._makers, f"writer@{name}", self._write(name, jobs))
            for number, whom in enumerate((ANYONE, name)):
                taker = spaces[f"{TAKERS[number]}@{name}"][1]
                self._begin(self._takers, taker.owner, self._take(taker, whom))
                borrower = spaces[f"{BORROWERS[number]}@{name}"][1]
                self._begin(self._takers, borrower.owner, self._borrow(borrower, whom))
            addressee = spaces[f"addressee@{name}"][1]
            self._begin(self._takers, f"addressee@{name}", self._receive(addressee))
            for role in CLERKS:
                post = spaces[f"{role}@{name}"][1]
                clerks = [f"{one}@{other}" for other in others for one in CLERKS]
                self._begin(self._makers, f"{role}@{name} posts", self._post(post, clerks))
                self._begin(self._takers, f"{role}@{name} fetches", self._fetch(post))
        for member in self._members:
            self._begin(self._makers, f"{member} writes", self._write_letters(member))
            self._begin(self._makers, f"{member} promises", self._promise(member))
            self._begin(self._takers, f"{member} reads", self._read_letters(member))

    async def _enrol(self, host: RemoteHost, role: str) -> Agent:
        agent = await host.agent(role)
        self._members[agent.id] = await agent.adopt(BOOKS)
        return agent

    async def _walk(self, walker: Agent) -> None:
        while self._writing:
            await asyncio.sleep(self._rng.uniform(0.2, 2.0))
            try:
                await walker.move(self._rng.choice(list(self._hosts)))
            except NomospaceError as error:
                if error.code not in STAYS:
                    raise
                self.moves["stayed"] += 1
            else:
                self.moves["moved"] += 1

    async def finish_writing(self) -> None:
        """Make nothing new; wait until all that was asked for is answered."""
        self._writing = False
        loop = asyncio.get_running_loop()
        until = loop.time() + ANSWER_S
        late = set(self._makers)
        while late and not self.errors:
            if loop.time() > until:
                late_one = TimeoutError(f"no answer in {ANSWER_S:g} s")
                self.errors += [
                    (task.get_name(), late_one) for task in self._makers if task in late
                ]
                return
            _, late = await asyncio.wait(late, timeout=0.2)

    async def close(self) -> None:
        """End all programs."""
        for task in (*self._makers, *self._takers):
            task.cancel()
        await asyncio.gather(*self._makers, *self._takers, return_exceptions=True)
        for host in self._hosts.values():
            await host.close()

    def _begin(
        self, among: list[asyncio.Task[None]], who: str, program: Coroutine[Any, Any, None]
    ) -> None:
        async def run() -> None:
            try:
                await program
            except Exception as error:
                self.errors.append((who, error))

        among.append(asyncio.create_task(run(), name=who))

    async def _pause(self, kind: str = "") -> None:
        """Let others have a turn; longer while much of a kind is under way."""
        await asyncio.sleep(self._rng.uniform(0.0, 0.01))
        while self._writing and self.ledger.open[kind] >= OPEN_MAX:
            await asyncio.sleep(0.02)

    async def _make(self, kind: str, id: str, by: str, call: Call, due_s: float = 0.0) -> None:
        """Ask for one thing, and write its acknowledgement down."""
        self.ledger.begin(kind, id, by=by, due_s=due_s)
        await _patiently(call)
        self.operations += 1
        self.ledger.acknowledge(kind, id)

    # -- tuples ------------------------------------------------------------------------------

    async def _write(self, name: str, jobs: Space) -> None:
        number = 0
        addressees = [f"addressee@{other}" for other in self._hosts if other != name]
        while self._writing:
            calls: list[Coroutine[Any, Any, None]] = []
            for _ in range(self._rng.randint(1, 4)):
                number += 1
                id = f"{name}-{number}"
                kind = self._rng.choice((TUPLE, TUPLE, LENT, SENT_ON))
                if self.ledger.open[kind] >= OPEN_MAX:
                    continue
                to = self._rng.choice(addressees) if kind == SENT_ON else None
                whom = self._rng.choice((ANYONE, *self._hosts))
                calls.append(
                    self._make(kind, id, jobs.owner, partial(jobs.out, kind, whom, id, to=to))
                )
            await asyncio.gather(*calls)
            await self._pause()

    async def _take(self, jobs: Space, whom: str) -> None:
        while True:
            try:
                found = await jobs.take(TUPLE, whom, str, timeout=self._rng.uniform(0.05, 2.0))
            except (TimedOut, StoreUnavailable):
                continue
            self.operations += 1
            self.ledger.see(TUPLE, found[2], by=jobs.owner)

    async def _receive(self, jobs: Space) -> None:
        while True:
            try:
                found = await jobs.take(
                    SENT_ON, ANY, str, dest=jobs.owner, timeout=self._rng.uniform(0.05, 2.0)
                )
            except (TimedOut, StoreUnavailable):
                continue
            self.operations += 1
            self.ledger.see(SENT_ON, found[2], by=jobs.owner)

    async def _borrow(self, jobs: Space, whom: str) -> None:
        while True:
            limit = self._rng.uniform(0.05, 2.0)
            try:
                job = await jobs.take(LENT, whom, str, lease=LEASE_S, timeout=limit)
            except (TimedOut, StoreUnavailable):
                continue
            await asyncio.sleep(self._rng.uniform(0.0, 0.02))
            await self._settle(jobs, job[2], partial(jobs.acknowledge, job))

    async def _settle(self, jobs: Space, id: str, call: Call) -> None:
        try:
            await _patiently(call)
        except NomospaceError as error:
            if error.code == DOUBTFUL:
                self.settled["in doubt"] += 1
                self.ledger.doubt(LENT, id, by=jobs.owner)
            elif error.code == LAPSED:
                self.settled["lapsed"] += 1
            else:
                raise
        else:
            self.operations += 1
            self.settled["acknowledged"] += 1
            self.ledger.see(LENT, id, by=jobs.owner)

    async def _bury(self, dead: Space) -> None:
        """Tuples that came back from too many leases: they are not lost."""
        while True:
            found = await _patiently(partial(dead.take, LENT, ANY, str))
            self.operations += 1
            self.settled["died"] += 1
            self.ledger.see(LENT, found[2], by=dead.owner)

    # -- a governed space --------------------------------------------------------------------

    async def _post(self, post: Space, clerks: list[str]) -> None:
        number = 0
        while self._writing:
            number += 1
            id = f"{post.owner}-{number}"
            to = self._rng.choice(clerks)
            call = partial(post.out, t.msg(id), t["from"](post.owner), t.to(to))
            await self._make(GOVERNED, id, post.owner, call)
            await self._pause(GOVERNED)

    async def _fetch(self, post: Space) -> None:
        while True:
            limit = self._rng.uniform(0.05, 2.0)
            try:
                found = await post.take(t.msg(ANY), t["from"](ANY), t.to(post.owner), timeout=limit)
            except (TimedOut, StoreUnavailable):
                continue
            self.operations += 1
            self.ledger.see(GOVERNED, found[0].args[0], by=post.owner)

    # -- members -----------------------------------------------------------------------------

    async def _write_letters(self, me: str) -> None:
        others = [member for member in self._members if member != me]
        while self._writing:
            calls = []
            for _ in range(self._rng.randint(1, 3)):
                to = self._rng.choice(others)
                number = self._numbers[me, to] = self._numbers.get((me, to), 0) + 1
                call = partial(self._ruled, me, t.note(number), to)
                calls.append(self._make(MESSAGE, f"{me}>{to}-{number}", me, call))
                if self.refused:  # one that is refused must not come behind the next
                    await calls.pop()
            await asyncio.gather(*calls)
            await self._pause(MESSAGE)

    async def _promise(self, me: str) -> None:
        number = 0
        while self._writing:
            number += 1
            wait_ms = self._rng.randint(1, 1_500)
            call = partial(self._ruled, me, t.promise(number, wait_ms), me)
            await self._make(OBLIGATION, f"{me}-{number}", me, call, due_s=wait_ms / 1000)
            await self._pause(OBLIGATION)

    async def _ruled(self, me: str, message: Compound, to: str) -> None:
        ruling = await self._members[me].send(message, to=to)
        assert not ruling.refused, ruling.explain()

    async def _read_letters(self, me: str) -> None:
        async for letter in self._members[me].inbox():
            self._read(me, letter)

    def _read(self, me: str, letter: Letter) -> None:
        sender, message = letter.sender, letter.message
        if message.name == "note":
            number = message.args[0]
            self.ledger.see(MESSAGE, f"{sender}>{me}-{number}", by=me)
            self.ledger.see_in_line(sender, me, number)
        elif message.name == "kept":
            self.ledger.see(OBLIGATION, f"{me}-{message.args[0]}", by=me)
        else:
            assert message.name == "shown", message
            future = self._shown[me]
            if not future.done():
                future.set_result(message.args)

    async def states(self) -> dict[str, tuple[int, int, int, int]]:
        """The members' control states: sent, got, promised, fired."""
        loop = asyncio.get_running_loop()
        for me, membership in self._members.items():
            self._shown[me] = loop.create_future()
            await membership.send("show", to=me)
        async with asyncio.timeout(ANSWER_S):
            return {me: await future for me, future in self._shown.items()}

    def expected(self) -> dict[str, tuple[int, int, int, int]]:
        """What the control states must be, after all that programs were told."""
        count = self.ledger.count
        return {
            me: (
                count(MESSAGE, by=me),
                count(MESSAGE, seen_by=me),
                count(OBLIGATION, by=me),
                count(OBLIGATION, seen_by=me),
            )
            for me in self._members
        }


async def _patiently(call: Call) -> Any:
    """Make a call, again and again while the database is away: what is refused is not done."""
    while True:
        try:
            return await call()
        except StoreUnavailable:
            await asyncio.sleep(AGAIN_S)
