"""A process that is one of two for a host, on two machines (`protocols.pair`, `store.paired`).

One machine is told where to listen for the other, and that one where to call. Which of them is
active is another matter, and stands in their stores. The one connection between them is TLS, with
the certificate of the host on both ends; without certificates both are programs of one user.

The active one sends each commit as it stages it, and writes its own meanwhile. The standby writes
it in one transaction and says so. In `sync` nobody is told of a commit before both have it (the
keeper's `Witness`); in `async` the standby may lag. Of what it sent the active one keeps the last
`RECENT_BYTES_MAX`, so that a standby that was away for a moment goes on; any other gets a copy of
the whole store, and then what came after it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.client.own_tokens import link_key
from nomospace.errors import NomospaceError, Unavailable
from nomospace.node.addresses import Address
from nomospace.node.clock import wall_us
from nomospace.node.config import Config
from nomospace.node.identity import Identity
from nomospace.node.logs import note_log
from nomospace.node.pair_link import (
    COMMIT_BYTES_MAX,
    IN,
    PairHello,
    PairLink,
    PairPort,
    RecentCommits,
    send_copy,
)
from nomospace.protocols.lease import OlderStore, OtherHostsStore, TakenOver
from nomospace.protocols.pair import (
    ACTIVE,
    ALONE,
    ASYNC,
    STANDBY,
    SYNC,
    BadCommit,
    Meeting,
    PairStand,
    StandbyAway,
    goes_on,
    meet,
)
from nomospace.store.paired import PairStore
from nomospace.wire.admin import AdminFinding

if TYPE_CHECKING:
    from nomospace.node.local import Host

TICK_S: Final = 0.1
"""How often the row of an operator's takeover is looked at."""
PING_S: Final = 0.5
SILENT_S: Final = 10.0
"""After so long without a word the connection counts as dead."""
DIAL_S: Final = 5.0
RETRY_S: Final = 0.25
"""The pause before the other machine is called again."""
REFUSED_S: Final = 1.0
"""And where it was refused."""
START_S: Final = 1.5
"""So long one that may serve without the other waits for its word all the same: its store may be
an older copy of the one that the other has followed."""
HEARD_S: Final = 2.0
"""How often a standby notes that it has heard the active one."""

_log = logging.getLogger("nomospace.host")


class HostPair:
    """The part that this process has of the two; `wait`, then serve.

    `standing` is told the store whenever it begins to stand by.
    """

    def __init__(self, config: Config, standing: Callable[[str], None]) -> None:
        told = config.standby
        self.name = config.host.name
        self.store = PairStore(Path(config.store.removeprefix("sqlite:").removeprefix("//")))
        self.note = note_log(self.name)
        self._standing = standing
        self._told = told
        self._insecure, self._trust = config.host.insecure, config.host.trust
        self.sync = told.mode == SYNC
        self.role = ""
        self.alone = True
        self._identity: Identity | None = None
        self._key = b""
        self._loop = asyncio.get_running_loop()
        self._link: PairLink | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._leading: asyncio.Task[None] | None = None
        self._port: PairPort | None = None
        self._news = asyncio.Event()
        self._error: BaseException | None = None
        self._met = False
        """Whether the other machine has said that this one may go on as active."""
        self._host: Host | None = None
        self._began = 0
        self._shipped = 0
        self._acked = 0
        self._recent = RecentCommits()
        self._how = ""
        self._there = 0
        self._noted_at = 0.0
        self._joining = False
        self._pause_s = RETRY_S
        self.store.ship = self._ship
        self.store.unship = self._dropped

    # -- its life ------------------------------------------------------------------------------

    async def wait(self) -> None:
        """Stand by until an operator has this one take over, or wait until it may serve.

        Raises why it never will, in words; nothing is written then.
        """
        if not self._insecure:
            self._identity = Identity(self._trust, self.name, on_note=self.note)
        self._key = link_key() if self._insecure else b""
        row = self.store.open(self.name, STANDBY if self._told.of else ACTIVE)
        if self._told.alone and row.role == ACTIVE and not row.alone:
            self.store.settle(alone=1)
            row = row._replace(alone=True)
        self.role, self.alone = row.role, bool(row.alone)
        if self._told.listen:
            self._port = PairPort(Address.parse(self._told.listen), self, self._identity)
            await self._port.start()
        if self._told.of:
            self._tasks.append(self._loop.create_task(self._call(), name="call the other machine"))
        self._tasks.append(self._loop.create_task(self._look(), name="look after the pair"))
        began, was = self._loop.time(), ""
        while True:
            if self.role == STANDBY and was != STANDBY:
                self.store.stand_by()
                self._standing(self.store.where)
            elif was != self.role and self.sync and not self.alone:
                self.note("pair-waits", why="it does not serve before its standby is there")
            was = self.role
            may = self.alone or not self.sync
            if self.role == ACTIVE and (self._met or (may and self._loop.time() - began > START_S)):
                return
            await self._stir()

    async def _stir(self) -> None:
        """Wait for news, some time; raises why this process must end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TICK_S):
                await self._news.wait()
        self._news.clear()
        if self._error is not None:
            raise self._error

    def link_life(self, now: int) -> int:
        """What peers know this life's links by: later than all that they know of the host."""
        return max(now, self.store.look().last_at + 1)

    def serves(self, host: Host) -> None:
        """The host has begun with the store: its commits go to the other machine."""
        keeper = host.keeper
        assert keeper is not None, "it has a store"
        self._host = host
        self._began = self._shipped = self._recent.last = self.store.look().number
        keeper.witness = self
        if self._link is not None and self._link.stand is not None:
            self._greet(self._link)
            if self._link.stand.role == STANDBY:
                self._lead(self._link)

    async def watch(self) -> None:
        """End this life when another has taken over."""
        while True:
            try:
                await self._stir()
            except NomospaceError as error:
                self.lost(error)
                return

    def lost(self, error: BaseException) -> None:
        """Begin anew, as standby, if another has taken over; other errors end the host anyway."""
        from nomospace.node.standby import begin_anew

        if isinstance(error, TakenOver):
            with suppress(NomospaceError):  # it will be told again
                self.store.settle(role=STANDBY, heard=error.token)
        if isinstance(error, TakenOver | OlderStore):
            _log.warning("%s: %s", self.name, error)
            begin_anew()

    def findings(self) -> list[AdminFinding]:
        """How the standby is, for the doctor."""
        keeper = None if self._host is None else self._host.keeper
        stuck = keeper is not None and isinstance(keeper.trouble, StandbyAway)
        behind = f"{self.lag:,} commits behind" if self.lag else "up to date"
        said = f"{'follows' if self.follows else 'is away'}, {behind}, mode {self.how}"
        mend = "" if self.follows else "start it again"
        if stuck:
            said += "; durable work is refused"
            mend = f"start it again, or: nomospace host takeover --store {self.store.where}"
        return [AdminFinding("standby", self.follows and not stuck, said, mend)]

    def figures(self) -> dict[str, float]:
        """For metrics: whether the standby follows, and how many commits it is behind."""
        return {"follows": float(self.follows), "lag": float(self.lag)}

    async def close(self) -> None:
        """Let go of the other machine and of the store."""
        tasks = [*self._tasks, *([self._leading] if self._leading else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._link is not None:
            self._link.abort()
        if self._port is not None:
            await self._port.stop()
        self.store.close()

    # -- as the keeper sees it -----------------------------------------------------------------

    def has_all(self) -> bool:
        """Whether the standby has all commits, or is not waited for."""
        return not self.sync or self.alone or self._acked >= self._shipped

    def away(self, after_s: float) -> Unavailable:
        """Why nothing durable is acknowledged."""
        return StandbyAway(
            host=self.name, number=self._shipped, after_s=after_s, where=self.store.where
        )

    @property
    def how(self) -> str:
        """How the active one acknowledges now."""
        return ASYNC if not self.sync else ALONE if self.alone else SYNC

    @property
    def follows(self) -> bool:
        """Whether the standby receives commits as they are made."""
        return self._link is not None and self._link.streams

    @property
    def lag(self) -> int:
        """How many commits the standby is behind."""
        return max(0, self._shipped - self._acked)

    def _ship(self, number: int, body: bytes) -> None:
        """A commit was staged: send it, and keep it for who comes back."""
        self._shipped = number
        self._recent.add(number, body)
        if self._link is not None and self._link.streams:
            self._link.post_commit(body)

    def _dropped(self, number: int) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._unship, number)

    def _unship(self, number: int) -> None:
        """A commit was not kept here: whoever has it copies anew."""
        if self._recent.take_back(number):
            self._shipped = number - 1
            if self._link is not None:
                self._link.abort()

    def _acknowledged(self, number: int) -> None:
        """The standby has all commits up to a number."""
        self._acked = min(max(self._acked, number), self._shipped)
        if self._host is None:
            return
        if self.alone and self.sync and self._acked >= self._shipped and not self._joining:
            self._joining = True
            self._tasks.append(self._loop.create_task(self._join(), name="the standby has joined"))
        if self._host.keeper is not None:
            self._host.keeper.witnessed()

    async def _join(self) -> None:
        """From now on nothing is acknowledged without the standby; that is noted first."""
        try:
            await asyncio.to_thread(self.store.settle, alone=0)
            if self.follows:
                self.alone = False
                self.note("standby-joined", number=self._acked)
                self._ping()
            else:
                await asyncio.to_thread(self.store.settle, alone=1)
        finally:
            self._joining = False

    # -- the connection ------------------------------------------------------------------------

    async def _call(self) -> None:
        """Call the other machine, for ever."""
        place = Address.parse(self._told.of)
        while True:
            if self._link is None:
                with suppress(OSError, TimeoutError, ssl.SSLError):
                    async with asyncio.timeout(DIAL_S):
                        await self._loop.create_connection(
                            lambda: PairLink(self),
                            *place,
                            ssl=None if self._identity is None else self._identity.dialling(),
                        )
            await asyncio.sleep(self._pause_s)

    async def _look(self) -> None:
        """Look whether an operator has spoken, and say that this one is there."""
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            try:
                row = self.store.look()
            except Unavailable as error:
                self.note("pair-trouble", why=str(error))
                continue
            if row.role == ACTIVE and self.role == STANDBY:
                self.role, self.alone, self._met = ACTIVE, True, True
                if self._link is not None:
                    self._greet(self._link)
                self._news.set()
            elif row.role == ACTIVE and row.alone and not self.alone and not self._joining:
                self.alone = True
                self.note("goes-on-alone")
                if self._host is not None and self._host.keeper is not None:
                    self._host.keeper.witnessed()
            if ticks % round(PING_S / TICK_S) == 0:
                self._ping()

    def _ping(self) -> None:
        link, now = self._link, self._loop.time()
        if self._identity is not None:
            self._identity.poll()
        if link is None:
            return
        if now - link.heard_at > SILENT_S:
            self.note("pair-silent", seconds=SILENT_S)
            link.abort()
        elif self.role == STANDBY:
            link.acknowledge(self.store.look().number)
            if now - self._noted_at > HEARD_S and self._how:
                self._noted_at = now
                self._hear_of()
        elif link.streams:
            link.post(b"P", msgspec.msgpack.encode((self._shipped, self.how)))

    def _hear_of(self) -> None:
        """Note what the active one has told of itself, and when."""
        self.store.settle(heard_at=wall_us(), there=self._there, how=self._how)

    def opened(self, link: PairLink) -> None:
        """A connection is there: see whose it is, and say how this store stands."""
        if self._identity is not None:
            tls = link.transport.get_extra_info("ssl_object")
            try:
                shown = self._identity.check_host(tls.getpeercert(binary_form=True))
                if shown.subject != self.name:
                    raise OtherHostsStore(host=self.name, other=shown.subject)
            except NomospaceError as error:
                self._refuse(link, error)
                if link.arrival is None and isinstance(error, OtherHostsStore):
                    self._fail(error)
                return
        if link.arrival is not None:
            link.nonce = secrets.token_bytes(32)
            link.post(b"N", link.nonce)
        elif self._identity is None:
            link.post(b"?")

    def _greet(self, link: PairLink) -> None:
        hello = PairHello(self._stand(), self._prove(link, self.name) if self._key else b"")
        link.post(b"H", msgspec.msgpack.encode(hello))

    def _prove(self, link: PairLink, name: str) -> bytes:
        """What shows that a caller of this name has the key, on this connection alone."""
        return hmac.digest(self._key, link.nonce + name.encode(), "sha256")

    def _stand(self) -> PairStand:
        stand = self.store.stand()
        if self._host is None:
            return stand
        more = {"number": self._shipped, "began": self._began, "serves": True}
        return msgspec.structs.replace(stand, **more)

    def closed(self, link: PairLink) -> None:
        """The connection is gone."""
        if link is not self._link:
            return
        self._link = None
        if self._leading is not None:
            self._leading.cancel()
        if self.role == STANDBY and self._how:
            with suppress(NomospaceError):
                self._hear_of()
        self.note("pair-parted")

    def heard(self, link: PairLink, frames: list[bytes]) -> None:
        """Frames came."""
        commits: list[bytes] = []
        try:
            for frame in frames:
                letter, body = frame[:1], frame[1:]
                if letter == b"+":
                    link.pieces += body
                    if len(link.pieces) > COMMIT_BYTES_MAX:
                        raise BadCommit(number=0, here=0, why="it is too large")
                elif letter == b"C":
                    commits.append(bytes(link.pieces) + body if link.pieces else body)
                    link.pieces.clear()
                else:
                    self._apply(link, commits)
                    commits = []
                    self._word(link, letter, body)
            self._apply(link, commits)
        except TakenOver:  # the operator has just said so; `_look` sees it too
            link.abort()
        except (NomospaceError, msgspec.MsgspecError, OSError, ValueError) as error:
            self.note("pair-trouble", why=str(error))
            link.abort()

    def _apply(self, link: PairLink, commits: list[bytes]) -> None:
        if commits and self.role == STANDBY and link.stand is not None:
            number = self.store.follow(commits, there=self._there, at=wall_us(), how=self._how)
            link.acknowledge(number)

    def _word(self, link: PairLink, letter: bytes, body: bytes) -> None:
        if letter == b"N":
            link.nonce = body
            self._greet(link)
        elif letter == b"?":
            return
        elif letter == b"H":
            self._greeted(link, msgspec.msgpack.decode(body, type=PairHello))
        elif letter == b"R":
            self._pause_s = REFUSED_S
            self.note("pair-refused", why=body.decode(errors="replace")[:1000])
        elif link.stand is None:
            raise ValueError("it has not said how it stands")
        elif letter == b"A":
            number, copies = msgspec.msgpack.decode(body, type=tuple[int, int])
            if link.streams and copies == link.copies:
                self._acknowledged(number)
        elif letter == b"P":
            before = self._how
            self._there, self._how = msgspec.msgpack.decode(body, type=tuple[int, str])
            if before != self._how:
                self._hear_of()
        elif letter == b"G":
            link.post(b"L", self.store.last())
        elif letter == b"L" and self._host is None:
            self.store.fetch(body)
            self._met = True
            self._news.set()
        elif letter in b"SDE" and self.role == STANDBY:
            self._receive(link, letter, body)

    def _greeted(self, link: PairLink, hello: PairHello) -> None:
        """The other machine has said how its store stands."""
        if link.arrival is not None and link.stand is None:
            if self._key and not hmac.compare_digest(
                hello.proof, self._prove(link, hello.stand.host)
            ):
                link.arrival.refuse("not-let-in", why="it is no host of the user who runs this one")
                return
            link.arrival.proven()
            link.known()
            self._greet(link)
        elif link.stand is None:
            link.known()
        link.stand = theirs = hello.stand
        mine = self._stand()
        try:
            meeting = meet(mine, theirs)
        except NomospaceError as error:
            self._refuse(link, error)
            self._fail(error)
            return
        if meeting is Meeting.SHUN:
            known = f"{mine.top}.{mine.number}"
            self._refuse(link, OlderStore(there=str(theirs), known=known))
            return
        if self._link is not link:
            old, self._link = self._link, link
            if old is not None:
                old.abort()
            self._pause_s = RETRY_S
            self.note("pair-met", other=theirs.role, at=str(theirs))
        if meeting is Meeting.YIELD:
            self._yield(theirs)
        elif meeting is Meeting.FETCH:
            link.post(b"G")
        elif meeting is Meeting.FOLLOW:
            self.store.settle(heard=max(mine.top, theirs.token), heard_at=wall_us())
        elif meeting is Meeting.LEAD:
            self._met = True
            self._news.set()
            if self._host is not None and theirs.role == STANDBY:
                self._lead(link)

    def _refuse(self, link: PairLink, error: NomospaceError) -> None:
        """Tell the other machine why this one does not go on with it."""
        self._pause_s = REFUSED_S
        self.note("pair-not-met", why=str(error))
        link.post(b"R", str(error).encode())
        link.transport.close()

    def _fail(self, error: NomospaceError) -> None:
        self._error = error
        self._news.set()

    def _yield(self, theirs: PairStand) -> None:
        """The other has taken over: stand by, or begin anew to do so."""
        error = TakenOver(token=theirs.token, mine=self.store.look().life)
        if self._host is not None:
            self._fail(error)
            return
        self.note("taken-over", why=str(error))
        self.store.settle(role=STANDBY, heard=theirs.token)
        self.role = STANDBY
        self._news.set()
        if self._link is not None:
            self._greet(self._link)

    # -- leading -------------------------------------------------------------------------------

    def _lead(self, link: PairLink) -> None:
        if self._leading is not None:
            self._leading.cancel()
        link.streams = False
        self._leading = self._loop.create_task(self._stream(link), name="lead the standby")

    async def _stream(self, link: PairLink) -> None:
        """Bring the standby up to date, and let commits go to it from then on."""
        theirs = link.stand
        assert theirs is not None, "it has said how it stands"
        at = theirs.number
        try:
            if not goes_on(self._stand(), theirs, self._recent.first, self._recent.sums):
                at = await send_copy(self.store, link, self._began)
                while self._recent.first > at + 1:  # more came than is kept
                    at = await send_copy(self.store, link, self._began)
                self.note("copied", number=at)
        except OSError as error:
            self.note("copy-broken", why=str(error))
            link.abort()
            return
        for body in self._recent.after(at):
            link.post_commit(body)
        link.streams = True
        self._acked = 0
        if not link.copies:
            self._acknowledged(at)
        self._ping()

    # -- following -----------------------------------------------------------------------------

    def _receive(self, link: PairLink, letter: bytes, body: bytes) -> None:
        """A copy of the active one's store comes."""
        path = self.store.path.with_name(IN.format(self.store.path.name))
        head = link.receive(path, letter, body)
        if head is None:
            return
        here = self.store.look()
        if here.role != STANDBY:
            raise TakenOver(token=here.life, mine=head.token)
        most = head.began if here.life < head.token else head.number
        aside = self.store.take_copy(path, surplus=here.number > most)
        if aside is not None:
            self.note("surplus-kept", file=str(aside), commits=here.number - most)
        self.note("copy-taken", number=head.number)
        link.copies += 1
        link.acknowledge(head.number)
