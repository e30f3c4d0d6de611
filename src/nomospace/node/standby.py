"""A process that stands for a host: it waits for the lease, and serves while it has it.

Any number of them, on several machines, stand for one host (`protocols.lease`). One that stands by
looks at the lease and serves nobody. When it may, it takes the lease and is the host: with its
name, birth, sessions, leases, obligations and mail, as after a restart.

The lease is renewed in a thread of its own, while the loop goes on: one that stands still for the
time to take over serves nobody. Then, or when the lease ends, or another has taken it, the process
begins anew in its own place (`exec`): whatever it had under way is gone, as after a crash, and
nothing of it can be answered any more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from nomospace.errors import NomospaceError, Unavailable
from nomospace.node.clock import steady_us
from nomospace.node.config import Config
from nomospace.node.fencing import StandingPart
from nomospace.node.serve import PLANNER, Server
from nomospace.protocols.lease import (
    HeldLease,
    HostLeaseEnded,
    LeaseClaim,
    LeaseWatch,
    OlderStore,
    TakenOver,
    hold_us,
)
from nomospace.store.interface import StoreUnavailable
from nomospace.store.opening import open_store
from nomospace.wire.admin import AdminFinding

if TYPE_CHECKING:
    from nomospace.node.local import Host
    from nomospace.store.postgres import PostgresStore

NEEDED: Final = ("nomospace.node.tcp", "nomospace.node.vouching", PLANNER)
"""What a host that serves loads besides."""
FOLLOWED: Final = "NOMOSPACE_FOLLOWED"
"""What tells a process that begins anew which timeline of the database it has followed."""
RETRY_S: Final = 0.1
"""A database that did not answer is asked again after so long."""

_log = logging.getLogger("nomospace.host")


class StandIn:
    """The part that one process has in standing for a host."""

    def __init__(self, config: Config, standing: Callable[[str], None]) -> None:
        self.name = config.host.name
        self._standing = standing
        from nomospace.store.postgres import PostgresStore  # an extra, which pairs do without

        store = open_store(config.store)
        assert isinstance(store, PostgresStore), "others were refused when it was told"
        self.store: PostgresStore = store
        self.store.on_life = self._claimed
        self.store.servers.followed = os.environ.get(FOLLOWED, self.store.servers.followed)
        self.lease: HeldLease | None = None
        self._takeover_us = round(config.host.takeover_s * 1e6)
        self._hold_us = hold_us(config.host.takeover_s)
        self._watch = LeaseWatch(self.name)
        self._asked_at = 0
        self._went_on_at = 0
        """When the loop was last seen to go on; 0 until the host serves."""
        self._over = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def wait(self) -> None:
        """Stand by until the lease may be taken; `store` then has what takes it.

        Raises `OtherHostsStore`, `FutureToken`, `OlderStore` and `StoreTooNew`.
        """
        self._standing(self.store.holder)
        for needed in NEEDED:  # so that none of it is read when the host is waited for
            await asyncio.to_thread(import_module, needed)
        timeline = 0
        while True:
            try:
                stand = await asyncio.to_thread(self.store.look)
            except Unavailable as error:
                _log.debug("%s: %s", self.name, error)
                await asyncio.sleep(RETRY_S)
                continue
            before, timeline = timeline, self.store.servers.timeline
            if self._watch.saw(stand, now=steady_us(), failed_over=0 < before < timeline):
                self.store.claim = LeaseClaim(stand, self.name, self._hold_us)
                self._asked_at = steady_us()
                return
            await asyncio.sleep(self._watch.look_us(self._hold_us) / 1e6)

    def link_life(self, now: int) -> int:
        """What peers know this life's links by: later than all that they know of the host."""
        return max(now, self._watch.stand.last_at + 1)

    def _claimed(self) -> None:
        """The store is this process's: from now on it renews the lease."""
        self.lease = HeldLease(self.store.token, hold_us=self._hold_us, asked_at=self._asked_at)
        threading.Thread(target=self._renew, name="nomospace-lease", daemon=True).start()

    def _renew(self) -> None:
        lease = self.lease
        assert lease is not None, "it was taken"
        pause_s = 0.0
        while not self._over.wait(pause_s):
            asked_at = steady_us()
            if asked_at - (self._went_on_at or asked_at) > self._takeover_us:
                frame = sys._current_frames()[threading.main_thread().ident or 0]
                self._begin_anew(f"the loop stands still at {frame.f_code}, line {frame.f_lineno}")
            try:
                self.store.renew()
            except Unavailable:
                pause_s = RETRY_S
            except NomospaceError as error:
                with suppress(RuntimeError):  # the loop is closed: it is over anyway
                    self._loop.call_soon_threadsafe(self.lost, error)
                return
            else:
                lease.renewed(asked_at=asked_at)
                pause_s = max(0.0, (lease.renew_at - steady_us()) / 1e6)

    def serves(self, host: Host) -> None:
        """The host has begun with the store: it answers for as long as it has the lease."""
        host.lease = self.lease

    async def watch(self) -> None:
        """End with the lease, also when nobody asks for anything."""
        lease = self.lease
        assert lease is not None, "it was taken"
        try:
            while (left := lease.until - steady_us()) > 0:
                self._went_on_at = steady_us()
                await asyncio.sleep(left / 1e6)
        finally:
            self._went_on_at = 0  # a host that ends may take its time
        self.lost(HostLeaseEnded(host=self.name, late_ms=-left // 1000))

    def lost(self, error: BaseException) -> None:
        """The lease is gone: stand by anew, at once. Other errors are for who caused them."""
        if isinstance(error, TakenOver | HostLeaseEnded):
            self._begin_anew(error)
        if isinstance(error, OlderStore):
            self.lease = None  # nothing is written to it

    def _begin_anew(self, why: object) -> NoReturn:
        _log.warning("%s: %s", self.name, why)
        os.environ[FOLLOWED] = self.store.servers.followed
        begin_anew()

    def findings(self) -> list[AdminFinding]:
        """The database knows who stands by."""
        return []

    def figures(self) -> dict[str, float]:
        """For metrics: none."""
        return {}

    async def close(self) -> None:
        """Let another have the lease at once, if the database can be told."""
        await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        self._over.set()
        if self.lease is not None:
            with suppress(NomospaceError):
                self.store.let_go()
        self.store.close()


def begin_anew() -> NoReturn:
    """Put a new process in the place of this one, as it was started."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    safe = ["-P"] if sys.flags.safe_path else []
    os.execv(sys.executable, [sys.executable, *safe, "-m", "nomospace.cli", *sys.argv[1:]])


async def stand(
    config: Config,
    *,
    beside: Callable[[Server], AbstractAsyncContextManager[object]] | None,
    ready: Callable[[Server], None],
    standing: Callable[[str], None],
) -> None:
    """Stand for a host until the process is told to end; `standing` is told as what, each time."""
    loop = asyncio.get_running_loop()
    me = asyncio.current_task()
    assert me is not None, "it runs in one"
    told = False

    def end() -> None:
        nonlocal told
        told = True
        me.cancel()

    while True:
        part: StandingPart
        if config.paired:
            from nomospace.node.pairing import HostPair

            part = HostPair(config, standing)
        else:
            part = StandIn(config, standing)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, end)
            await part.wait()
            await Server(config, beside=beside, standing=part).run(ready)
        except (TakenOver, StoreUnavailable) as error:  # another was quicker, or it is away
            _log.info("%s: %s", config.host.name, error)
            if isinstance(part, StandIn):
                os.environ[FOLLOWED] = part.store.servers.followed
            await asyncio.sleep(RETRY_S)
            continue
        except asyncio.CancelledError:
            if not told:
                raise
        finally:
            await part.close()
        return
