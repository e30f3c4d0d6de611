"""A client whose agent moves: it goes after it when the host that the agent left has said so.

The hosts are played here, so that the moments are those that kills make.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any, Final, cast

from nomospace.client.dialling import Dialler, HostConnection, Unreachable, Url
from nomospace.client.remote_connection import RemoteConnection
from nomospace.client.session_driver import RECONNECT_S
from nomospace.wire import talk

ANN: Final = "ann@ward"
WARD, ICU = Url("nomos+plain://127.0.0.1:1"), Url("nomos+plain://127.0.0.1:2")


class Talk:
    """A connection to a host that is played."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.sent: list[talk.Frame] = []
        self.open = True
        self.heard_at = self.sent_at = asyncio.get_running_loop().time()
        self.hear: Callable[[list[bytes]], None] = lambda frames: None
        self.lost: Callable[[Any], None] = lambda talk: None

    def attach(self, hear: Callable[[list[bytes]], None], lost: Callable[[Any], None]) -> None:
        self.hear, self.lost = hear, lost

    def send(self, body: bytes) -> None:
        self.sent.append(talk.unpack_frame(body))

    send_now = send

    def close(self) -> None:
        self.open = False

    def cut(self) -> None:
        self.open = False
        self.lost(self)

    async def wait_gone(self) -> None:
        self.open = False


class Hosts:
    """Two hosts with an agent; `at` says which of them lets its client in, at which address."""

    def __init__(self) -> None:
        self.at: dict[str, str] = {}
        self.hellos: list[tuple[str, int, str]] = []
        self.talks: list[Talk] = []
        self.changed = asyncio.Event()

    def hello(self, hello: talk.ClientHello) -> talk.ClientHello:
        return hello

    async def dial(
        self, url: Url, hello: talk.ClientHello, *, timeout_s: float
    ) -> tuple[HostConnection, talk.HostWelcome]:
        host = self.at.get(str(url))
        self.hellos.append((host or "", hello.seen, hello.seen_of))
        self.changed.set()
        if host is None:
            raise Unreachable(url=str(url), why="nobody listens")
        self.talks.append(Talk(host))
        welcome = talk.HostWelcome(talk.VERSION, host, 1, ANN, True, 600, 100)
        return cast("HostConnection", self.talks[-1]), welcome

    async def until(self, met: Callable[[], object]) -> None:
        """Wait until the client has dialled so that something holds."""
        async with asyncio.timeout(60):
            while not met():
                self.changed.clear()
                await self.changed.wait()
                await asyncio.sleep(0)


async def _client(hosts: Hosts) -> RemoteConnection:
    hosts.at = {str(WARD): "ward"}
    client = RemoteConnection(
        cast("Dialler", hosts),
        (WARD, ICU),
        ANN,
        alongside=False,
        reconnect_s=RECONNECT_S,
        window=talk.WINDOW,
        hosts={"ward": (WARD,), "icu": (ICU,)},
        on_report=lambda report: None,
    )
    await client.start(timeout_s=60)
    return client


def test_a_client_hears_its_host_before_it_goes_on_elsewhere() -> None:
    """What the host that was killed has done, and answered on disk, must not be asked again."""

    async def play() -> None:
        hosts = Hosts()
        client = await _client(hosts)
        going = asyncio.create_task(client.move("icu"))
        out = asyncio.create_task(client.out("jobs", ("job",), "", 0))
        await asyncio.sleep(0)
        hosts.at = {str(ICU): "icu"}  # the agent is there, and ward is away
        hosts.talks[0].cut()
        await hosts.until(lambda: len(hosts.talks) > 1)
        assert (hosts.talks[1].host, hosts.talks[1].open) == ("icu", False)
        assert (client.host, hosts.talks[1].sent, out.done()) == ("ward", [], False)
        hosts.at[str(WARD)] = "ward"
        await hosts.until(lambda: hosts.talks[-1].host == "ward")
        hosts.talks[-1].hear([talk.pack_reply(1, 2, None), talk.pack_left(2, "icu", "")])
        await out
        await going
        assert client.host == "icu"
        asked = [frame for frame in hosts.talks[-1].sent if frame[0] == talk.OUT]
        assert asked == []
        await client.close()

    asyncio.run(play())


def test_hosts_are_told_what_was_seen_of_themselves() -> None:
    """Numbers of one host say nothing at another: it would forget what the client has not seen."""

    async def play() -> None:
        hosts = Hosts()
        client = await _client(hosts)
        hosts.at[str(ICU)] = "icu"
        for number, (here, there) in enumerate([("ward", "icu"), ("icu", "ward"), ("ward", "icu")]):
            going = asyncio.create_task(client.move(there))
            await asyncio.sleep(0)
            assert hosts.talks[-1].host == here
            hosts.talks[-1].hear([talk.pack_left(10 * (number + 1), there, "")])
            await going
        assert hosts.hellos == [("ward", 0, ""), ("icu", 0, "icu"), ("ward", 10, "ward"),
                                ("icu", 20, "icu")]  # fmt: skip
        await client.close()

    asyncio.run(play())


def test_another_host_behind_an_address_is_greeted_anew() -> None:
    """The client was at icu before: icu is told again, with what was seen of it."""

    async def play() -> None:
        hosts = Hosts()
        client = await _client(hosts)
        hosts.at[str(ICU)] = "icu"
        for number, there in enumerate(("icu", "ward")):
            going = asyncio.create_task(client.move(there))
            await asyncio.sleep(0)
            hosts.talks[-1].hear([talk.pack_left(7 + number, there, "")])
            await going
        hosts.at[str(WARD)] = "icu"
        hosts.talks[-1].cut()
        await hosts.until(lambda: len(hosts.hellos) > 4)
        assert hosts.hellos[3:5] == [("icu", 7, "ward"), ("icu", 8, "icu")]
        await client.close()

    asyncio.run(play())


def test_a_move_that_nobody_waits_for_any_more_complains_to_nobody() -> None:
    async def play() -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about))
        client = await _client(Hosts())
        going = asyncio.create_task(client.move("icu"))
        await asyncio.sleep(0)
        going.cancel()
        await asyncio.wait([going])
        await client.close()
        del going, client
        gc.collect()
        await asyncio.sleep(0)
        assert told == []

    asyncio.run(play())
