"""Garbage on a host's port, with certificates and without: others are served throughout.

Beside each kind of garbage a client goes on with its work, and none of its operations takes long.
Afterwards the host has let go of every connection, and its memory has not grown.
"""

from __future__ import annotations

import asyncio
import hmac
import random
import ssl
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

from nomospace.client import own_tokens
from nomospace.node.identity import CLIENT_ALPN, HOST_ALPN
from nomospace.node.listen import PortLimits
from nomospace.node.peering import LINK_VERSION, Greeting, decode_word, encode_word
from nomospace.wire.framing import FRAME_BYTES_MAX, join
from nomospace.wire.talk import TALK_BYTES_MAX, VERSION, ClientHello, pack_frame
from tests.real.hosts import RealHost, end, play, seen, start
from tests.real.idle import Outcome, crowd
from tests.real.raw import Raw, careless_context
from tests.real.steady import steady
from tests.real.trust import Trust

BEHIND_S = 5.0
"""No operation of the client beside waits while its host works for longer on other things."""
GROWTH_BYTES_MAX = 40 << 20
"""How much memory a host may hold on to after an attack, whatever was sent."""
IDLE = 1_000
TLS, PLAIN = "tls", "plain"


@dataclass
class Target:
    """A host under attack; `trust` is none on the port without certificates."""

    host: RealHost
    trust: Trust | None

    async def open(self, protocol: str) -> Raw:
        """A connection up to where the protocol is agreed on."""
        if self.trust is None:
            raw = await Raw.open(self.host, None)
            raw.send(join([protocol.encode()]))
            return raw
        context = careless_context(protocol)
        if protocol == HOST_ALPN:
            place = self.trust.folder / "hosts" / "eve"
            context.load_cert_chain(place / "host.pem", place / "host.key")
        return await Raw.open(self.host, context)

    async def client(self, agent: str) -> Raw:
        """A client that was let in."""
        raw = await Raw.client(self.host, self.trust)
        if self.trust is None:
            token = own_tokens.find(self.host.at, self.host.port)
        else:
            token = self.trust.token(f"{agent}@{self.host.name}")
        await raw.hello(f"{agent}@{self.host.name}", token=token)
        return raw

    async def peer(self) -> Raw:
        """A host that has greeted."""
        raw = await self.open(HOST_ALPN)
        proof = b""
        if self.trust is None:
            greeted = decode_word(await raw.body())
            assert isinstance(greeted, Greeting)
            proof = hmac.digest(own_tokens.link_key(), greeted.nonce + b"eve", "sha256")
        raw.send(join([encode_word(Greeting(LINK_VERSION, "eve", 1, 1, (), proof=proof))]))
        return raw


Attack = Callable[[Target], Awaitable[None]]


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    folder = tmp_path_factory.mktemp("garbage")
    trust = Trust(folder / "trust")
    trust.member("tls")
    trust.host("eve")
    kept = ("--store", "memory")
    tls = RealHost("tls", folder, "--trust", str(trust.folder), *kept)
    plain = RealHost("plain", folder, "--insecure", *kept)
    start(tls, plain)
    try:
        yield {TLS: Target(tls, trust), PLAIN: Target(plain, None)}
    finally:
        end(tls, plain)


def withstood(attack: Attack, *targets: Target) -> None:
    """Others are served during an attack; nothing of it is left afterwards."""

    async def program() -> None:
        await asyncio.gather(*[_withstand(target, attack) for target in targets])

    play(program())


async def _withstand(target: Target, attack: Attack) -> None:
    host = target.host
    async with steady(host, target.trust) as work:
        rss, descriptors = host.rss, host.descriptors
        await attack(target)
        await seen(
            lambda: host.descriptors <= descriptors,
            lambda: f"{host.descriptors} descriptors are held, {descriptors} were",
        )
        assert host.rss - rss < GROWTH_BYTES_MAX, f"{rss:,} bytes before, {host.rss:,} after"
    assert work.behind_s < BEHIND_S, f"one waited for {work.behind_s:.2f} s, of {work.done}"


both = pytest.mark.parametrize("port", [TLS, PLAIN])


@both
def test_random_bytes(targets: dict[str, Target], port: str) -> None:
    """Before a handshake, instead of a first frame, and after a good beginning."""

    async def attack(target: Target) -> None:
        rng = random.Random(port)
        for size in (1, 17, 300, 5_000, 200_000):
            for seed in (b"", b"\x16\x03\x01", b"\0\0\0\x0c"):
                async with await Raw.open(target.host, None) as raw:
                    raw.send(seed + rng.randbytes(size))
                    raw.close_writing()
                    await raw.rest()
            for protocol in (CLIENT_ALPN, HOST_ALPN):
                async with await target.open(protocol) as raw:
                    raw.send(rng.randbytes(size))
                    if size > 300:  # it cannot be the beginning of anything that is waited for
                        await raw.rest()

    withstood(attack, targets[port])


@both
def test_truncated_frames(targets: dict[str, Target], port: str) -> None:
    """A frame is begun and the connection ends, at every place of it."""

    async def attack(target: Target) -> None:
        hello = join([pack_frame(ClientHello(VERSION, "s" * 20, "nobody"))])
        greeting = join([encode_word(Greeting(LINK_VERSION, "eve", 1, 1, ()))])
        for protocol, whole in ((CLIENT_ALPN, hello), (HOST_ALPN, greeting)):
            for cut in range(0, len(whole), 3):
                async with await target.open(protocol) as raw:
                    raw.send(whole[:cut])
                    raw.close_writing()

    withstood(attack, targets[port])


@both
def test_oversized_frames(targets: dict[str, Target], port: str) -> None:
    """A length past the limit ends the connection before anything of the frame is read."""

    async def attack(target: Target) -> None:
        too_long = (max(TALK_BYTES_MAX, FRAME_BYTES_MAX) + 1).to_bytes(4, "big")
        for length in (too_long, b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"):
            for raw in (
                await target.open(CLIENT_ALPN),
                await target.open(HOST_ALPN),
                await target.client("long"),
                await target.peer(),
            ):
                async with raw:
                    raw.send(length + bytes(1_000))
                    await raw.rest()
        await target.host.noted("bad-frame", more_than=5)

    withstood(attack, targets[port])


@both
def test_garbage_after_a_good_hello(targets: dict[str, Target], port: str) -> None:
    """Who was let in and then talks nonsense loses its connection, and nobody else does."""

    async def attack(target: Target) -> None:
        rng = random.Random(port)
        nonsense = [
            b"",
            b"\xc1",
            b"\x00",
            b"\x93\x01\x02\x03",
            b"\x91\xff",
            b"\xdd\xff\xff\xff\xff",
        ]
        nonsense += [rng.randbytes(rng.randrange(1, 400)) for _ in range(20)]
        nonsense += [b"\x91" * 5_000, b"\x9f" + bytes(40), b"\x81\xa1a" * 3_000]
        for number, body in enumerate(nonsense):
            async with await target.client(f"babbler-{number}") as raw:
                raw.send(join([body]))
                await raw.rest()
            async with await target.peer() as raw:
                raw.send(join([body or b"\xc1"]))
                await raw.rest()
        await target.host.noted("bad-frame", "babbler")

    withstood(attack, targets[port])


@both
def test_half_open_connections(targets: dict[str, Target], port: str) -> None:
    """The other end is done with sending, or gone without a word."""

    async def attack(target: Target) -> None:
        for protocol in (CLIENT_ALPN, HOST_ALPN):
            raws = [await target.open(protocol) for _ in range(20)]
            for raw in raws[::2]:
                raw.close_writing()
            for raw in raws[1::2]:
                raw.abort()
            for raw in raws[::2]:
                async with raw:
                    await raw.rest()
        for number in range(10):
            async with await target.client(f"half-{number}") as raw:
                raw.close_writing()
                await raw.rest()

    withstood(attack, targets[port])


def test_slow_senders(targets: dict[str, Target]) -> None:
    """A byte a second, or a true beginning and then nothing, keeps nobody a place at the door."""

    async def attack(target: Target) -> None:
        async with asyncio.timeout(120):
            slow = [await Raw.open(target.host, None) for _ in range(30)]
            mute = [await target.open(CLIENT_ALPN) for _ in range(30)]
            begun = [await Raw.open(target.host, None) for _ in range(30)]
            first = client_hello() if target.trust else join([HOST_ALPN.encode()])
            for raw in begun:
                raw.send(first)
            ended = asyncio.gather(*[raw.rest() for raw in (*slow, *mute, *begun)])
            for byte in first[: 2 * int(PortLimits().stranger_s)]:
                for raw in slow:
                    raw.send(bytes([byte]))
                await asyncio.wait([ended], timeout=1.0)
                if ended.done():  # it is the host that ended them
                    break
            await ended
            for raw in (*slow, *mute, *begun):
                raw.abort()
        await target.host.noted("too-slow", "did not say who it is in time", more_than=5)

    withstood(attack, *targets.values())


def client_hello() -> bytes:
    """How TLS begins."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = careless_context(CLIENT_ALPN).wrap_bio(incoming, outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_many_idle_connections(targets: dict[str, Target]) -> None:
    """`python -m tests.real.idle --connections 10000` is the long form of this."""

    async def program() -> list[Outcome]:
        return await asyncio.gather(
            *[crowd(target.host, target.trust, IDLE) for target in targets.values()]
        )

    for outcome in play(program()):
        assert outcome.held > IDLE / 2, "the crowd was not there"
        assert outcome.behind_s < BEHIND_S
        assert outcome.descriptors_after <= outcome.descriptors_before
        assert outcome.rss_most - outcome.rss_before < GROWTH_BYTES_MAX
