"""Links over TCP: hosts find each other, share, part and merge; strangers get nowhere."""

from __future__ import annotations

import asyncio
import ssl
import struct
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nomospace.node.addresses import NotLoopback
from nomospace.node.framed import BUFFER_BYTES_MAX
from nomospace.node.identity import HOST_ALPN, Identity, NotItsName
from nomospace.node.network import NameTaken
from nomospace.node.peering import LINK_VERSION, LINK_VERSIONS, Greeting, encode_word
from nomospace.node.tcp import PENDING_FRAMES_MAX, TcpLinks
from nomospace.protocols.courier import Receipt
from nomospace.protocols.messages import Advert, Adverts
from nomospace.trust.moments import DAY
from nomospace.wire.framing import HOST, join, preface
from tests.proxy import Proxy
from tests.sites import Site, run_real, site, until
from tests.trust_folder import TrustFolder

LOOPS = ["asyncio", "uvloop"]


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> TrustFolder:
    made = TrustFolder(tmp_path_factory.mktemp("trust"))
    for name in ("a", "b", "c"):
        made.host(name)
    return made


def large(size: int) -> Adverts:
    """A frame of some size."""
    return Adverts((Advert("x", 1, ("y" * size,), (1, "x")),))


async def linked(one: Site, other: Site) -> None:
    """Both ends have the link; what was sent before got lost."""
    await until(
        lambda: other.name in one.links.neighbours() and one.name in other.links.neighbours(),
        f"a link of {one.name} and {other.name}",
    )


# -- hosts -------------------------------------------------------------------------------------


def test_hosts_over_tls_engage_share_part_when_the_link_is_cut_and_merge(
    trust: TrustFolder,
) -> None:
    async def program() -> None:
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(site("a", trust=trust, with_host=True))
            # b and c reach a only through a link that can be cut; they know each other by a.
            link = await stack.enter_async_context(Proxy(*a.port.address))
            a.links.advertise = (link.address,)
            b = await stack.enter_async_context(
                site("b", link.address, trust=trust, with_host=True)
            )
            c = await stack.enter_async_context(
                site("c", link.address, b.address, trust=trust, with_host=True)
            )
            for one in (a, b, c):
                await one.host.wait_engaged("a", "b", "c", timeout=60)
            jobs = {
                one.name: await (await one.host.agent("x")).space("jobs", shared=True)
                for one in (a, b, c)
            }
            await jobs["a"].out("job", 1)
            assert await jobs["c"].take("job", int, timeout=60) == ("job", 1)
            link.cut()
            await a.host.wait_parted("b", "c", timeout=60)
            await b.host.wait_parted("a", timeout=60)
            await jobs["a"].out("job", 2)
            await jobs["b"].out("job", 3)
            assert await jobs["c"].take("job", int, timeout=60) == ("job", 3)
            waiting = asyncio.ensure_future(jobs["c"].take("job", int, timeout=60))
            link.heal()
            await c.host.wait_engaged("a", "b", timeout=60)
            assert await waiting == ("job", 2)

    run_real(program())


# -- connections -------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("secure", [False, True])
def test_frames_go_both_ways_in_order(loop: str, secure: bool, trust: TrustFolder) -> None:
    async def program() -> None:
        with_trust = trust if secure else None
        async with (
            site("a", trust=with_trust) as a,
            site("b", a.address, trust=with_trust) as b,
        ):
            await linked(a, b)
            for n in range(1_000):
                a.send("b", Receipt(n))
                b.send(None, Receipt(n))
            await until(lambda: len(a.heard) == len(b.heard) == 1_000)
            assert a.heard == [("b", Receipt(n)) for n in range(1_000)]
            assert b.heard == [("a", Receipt(n)) for n in range(1_000)]
            counts = a.links.counts()
            assert counts["frames_out"] >= 1_000
            assert counts["dropped"] == 0

    run_real(program(), loop=loop)


def test_two_that_dial_each_other_end_with_one_connection() -> None:
    async def program() -> None:
        async with site("a") as a, site("b") as b:
            for _ in range(5):
                a.links.hint(b.address)
                b.links.hint(a.address)
                await linked(a, b)
                await until(lambda: a.port.connections + b.port.connections == 1)
                a.send("b", Receipt(1))
                b.send("a", Receipt(2))
                await until(lambda: len(a.heard) == len(b.heard) == 1)
                a.heard.clear()
                b.heard.clear()
                # The lesser name's call is the one that stays, if both calls came through.
                for peer in list(a.links._peers.values()):
                    peer.abort()
                await until(lambda: not a.links.neighbours() and not b.links.neighbours())

    run_real(program())


def test_a_host_that_is_started_again_takes_the_place_of_its_earlier_life() -> None:
    async def program() -> None:
        async with site("a") as a, site("b", a.address, life=1) as old:
            await until(lambda: a.links.neighbours() == ("b",))
            async with site("b", a.address, life=2) as new:
                await until(lambda: bool(new.links.neighbours()))
                await until(lambda: a.links._peers["b"].life == 2)
                a.send("b", Receipt(1))
                await until(lambda: bool(new.heard))
                assert not old.heard
                # The earlier one calls again and is told apart; the later one stays.
                await until(lambda: bool(a.notes.whys("name-twice")))
                assert a.links._peers["b"].life == 2

    run_real(program())


def test_a_connection_that_broke_is_made_again() -> None:
    async def program() -> None:
        async with (
            site("a", known_as="") as a,
            Proxy(*a.port.address) as link,
            site("b", link.address, known_as="") as b,
        ):
            for _ in range(3):
                await linked(a, b)
                b.send("a", Receipt(1))
                await until(lambda: a.heard == [("b", Receipt(1))])
                a.heard.clear()
                link.reset()
                await until(lambda: not a.links.neighbours() and not b.links.neighbours())
            assert link.connections >= 3

    run_real(program())


def test_a_link_that_is_slow_and_flaps_comes_to_rest() -> None:
    async def program() -> None:
        async with (
            site("a", known_as="") as a,
            Proxy(*a.port.address, at="127.0.0.2") as link,
            site("b", link.address, known_as="") as b,
        ):
            link.delay = 0.02
            for n in range(20):
                b.send("a", Receipt(n))
                a.send("b", Receipt(n))
                await asyncio.sleep(0.05)
                link.reset()
            await linked(a, b)
            a.heard.clear()
            b.heard.clear()
            for n in range(10):
                b.send("a", Receipt(n))
                a.send("b", Receipt(n))
            await until(lambda: len(a.heard) == len(b.heard) == 10)
            assert a.heard == [("b", Receipt(n)) for n in range(10)]
            assert b.heard == [("a", Receipt(n)) for n in range(10)]
            assert link.connections > 2

    run_real(program())


def test_a_host_that_is_no_neighbour_is_dialled_when_it_is_wanted(trust: TrustFolder) -> None:
    async def program() -> None:
        async with (
            site("a", trust=trust) as a,
            site("b", a.address, trust=trust) as b,
            site("c", b.address, trust=trust) as c,
        ):
            await until(lambda: any(name == "c" for name, _, _ in a.links._book.known()))
            assert a.links.neighbours() == ("b",)
            for n in range(PENDING_FRAMES_MAX + 10):
                a.send("c", Receipt(n))
            a.send("d", Receipt(0))  # nobody knows where that is
            await until(lambda: len(c.heard) == PENDING_FRAMES_MAX)
            assert c.heard[0] == ("a", Receipt(0))
            assert sorted(a.links.neighbours()) == ["b", "c"]
            assert a.links.counts()["dropped"] == 11

    run_real(program())


def test_who_answers_at_an_address_must_be_the_one_who_was_wanted() -> None:
    async def program() -> None:
        async with site("a") as a, site("b") as b:
            a.links._book.learn("c", 1, (b.address,), sure=True)  # c has moved, b is there now
            a.send("c", Receipt(1))
            await until(lambda: bool(a.notes.whys("name-mismatch")))
            assert a.notes.whys("name-mismatch") == ["'c' was wanted, 'b' answered"]
            assert not b.heard
            assert a.links.neighbours() == ()

    run_real(program())


def test_a_host_that_dials_itself_lets_it_be() -> None:
    async def program() -> None:
        async with site("a") as a:
            a.links.hint(a.address)
            await until(lambda: a.port.accepted == 1 and a.port.connections == 0)
            await asyncio.sleep(0.3)
            assert a.port.accepted == 1

    run_real(program())


def test_a_slow_reader_loses_frames_and_nobody_else_does() -> None:
    async def program() -> None:
        async with (
            site("a") as a,
            Proxy(*a.port.address) as link,
            site("b", link.address) as b,
            site("c", a.address) as c,
        ):
            await until(lambda: len(a.links.neighbours()) == 2)
            link.cut()
            heavy = large(100_000)
            for _ in range(200):  # 20 MB; the sockets and the proxy take a few of them
                a.send("b", heavy)
                await asyncio.sleep(0)
            dropped = a.links.counts()["dropped"]
            assert dropped > 50
            peer = a.links._peers["b"]
            held = peer.transport.get_write_buffer_size() + peer._waiting
            assert held <= BUFFER_BYTES_MAX + 200_000
            a.send(None, Receipt(7))
            await until(lambda: c.heard == [("a", Receipt(7))])
            link.heal()
            await until(lambda: b.heard.count(("a", heavy)) == 200 - dropped)

    run_real(program())


def test_a_frame_that_is_too_large_is_dropped_and_noted() -> None:
    async def program() -> None:
        async with site("a") as a, site("b", a.address) as b:
            await until(lambda: bool(a.links.neighbours()))
            a.send("b", large(17 << 20))
            a.send("b", Receipt(1))
            await until(lambda: b.heard == [("a", Receipt(1))])
            [why] = a.notes.whys("frame-dropped")
            assert "over the limit" in why

    run_real(program())


# -- who may speak -----------------------------------------------------------------------------


def refused(trust: TrustFolder, rogue: Identity, *, by_server: bool) -> list[str]:
    """Why host a refuses somebody with this identity who dials it, or whom it dials."""

    async def program() -> list[str]:
        async with site("a", trust=trust) as a, site(rogue.name, identity=rogue) as x:
            if by_server:
                x.links.hint(a.address)
            else:
                a.links.hint(x.address)
            kinds = ("certificate-refused", "handshake-failed", "name-mismatch")
            await until(lambda: any(a.notes.whys(kind) for kind in kinds))
            await asyncio.sleep(0.05)
            assert a.links.neighbours() == x.links.neighbours() == ()
            assert a.port.connections == 0
            return [why for kind in kinds for why in a.notes.whys(kind)]

    return run_real(program())


@pytest.mark.parametrize("by_server", [True, False])
def test_another_authority_is_refused(trust: TrustFolder, tmp_path: Path, by_server: bool) -> None:
    other = TrustFolder(tmp_path)
    other.host("x")
    whys = refused(trust, Identity(tmp_path, "x"), by_server=by_server)
    assert whys


@pytest.mark.parametrize("by_server", [True, False])
def test_an_expired_certificate_is_refused(trust: TrustFolder, by_server: bool) -> None:
    trust.host("late", now=trust.now - 60 * DAY, days=30)
    rogue = Identity(trust.folder, "late", clock=lambda: trust.now - 50 * DAY)
    rogue.check_host = Identity(trust.folder, "a").check_host  # type: ignore[method-assign]
    rogue.check_again = lambda certificate: None  # type: ignore[method-assign]
    whys = refused(trust, rogue, by_server=by_server)
    assert any("expired" in why for why in whys)


@pytest.mark.parametrize("by_server", [True, False])
def test_a_revoked_certificate_is_refused(tmp_path: Path, by_server: bool) -> None:
    trust = TrustFolder(tmp_path)
    trust.host("a")
    trust.host("gone")
    rogue = Identity(trust.folder, "gone")
    trust.revoke("gone")
    rogue.poll = lambda: False  # type: ignore[method-assign]
    whys = refused(trust, rogue, by_server=by_server)
    assert any("was revoked" in why for why in whys)


def test_a_certificate_that_is_revoked_or_renewed_later(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    for name in ("a", "b", "c"):
        trust.host(name)

    async def program() -> None:
        async with (
            site("a", trust=trust) as a,
            site("b", a.address, trust=trust) as b,
            site("c", a.address, trust=trust) as c,
        ):
            await linked(a, b)
            await linked(a, c)
            trust.revoke("b")
            await until(lambda: a.links.neighbours() == ("c",), seconds_max=60)
            assert "was revoked" in a.notes.whys("certificate-refused")[0]
            c.send("a", Receipt(1))
            await until(lambda: a.heard == [("c", Receipt(1))])
            trust.host("b")  # a new one: b takes it in and is back
            await until(lambda: bool(b.notes.whys("identity-reloaded")), seconds_max=60)
            await until(lambda: "b" in a.links.neighbours())

    run_real(program())


def test_a_link_ends_with_the_certificate_behind_it(trust: TrustFolder) -> None:
    """It is not asked for again, but it runs out."""

    async def program() -> None:
        async with site("a", trust=trust) as a, site("b", a.address, trust=trust) as b:
            await linked(a, b)
            identity = a.links.identity
            assert identity is not None
            later = trust.now + 31 * DAY
            identity.now = lambda: later
            await until(
                lambda: any("ran out" in why for why in a.notes.whys("certificate-refused"))
            )
            await until(lambda: b.name not in a.links.neighbours())

    run_real(program())


def test_a_host_is_who_its_certificate_says(trust: TrustFolder) -> None:
    """With the certificate of b somebody greets as c."""

    async def program() -> None:
        async with site("a", trust=trust) as a:
            b = Identity(trust.folder, "b")
            reader, writer = await asyncio.open_connection(*a.port.address, ssl=b.dialling())
            greeting = Greeting(LINK_VERSION, "c", 1, 1, ())
            writer.write(join([encode_word(greeting)]))
            assert await _drained(reader)
            assert a.notes.whys("name-mismatch") == [
                "it calls itself 'c', and its certificate says 'b'"
            ]
            writer.close()

    run_real(program())


def test_hosts_that_have_no_version_in_common_part_and_both_are_named() -> None:
    async def program() -> None:
        async with site("a") as a:
            for oldest, newest in ((1, 0), (99, 100)):
                reader, writer = await asyncio.open_connection(*a.port.address)
                word = encode_word(Greeting(oldest, "x", 1, 1, (), newest=newest))
                writer.write(preface(HOST) + join([word]))
                assert await _drained(reader)
                writer.close()
            assert a.notes.whys("other-version") == [
                f"it speaks version 1, this host {LINK_VERSIONS}; upgrade it",
                f"it speaks version 99 to 100, this host {LINK_VERSIONS}; upgrade this host",
            ]

    run_real(program())


def test_a_host_that_speaks_later_versions_too_is_linked() -> None:
    async def program() -> None:
        async with site("a") as a:
            _, writer = await asyncio.open_connection(*a.port.address)
            word = encode_word(Greeting(LINK_VERSION, "x", 1, 1, (), newest=99))
            writer.write(preface(HOST) + join([word]))
            await until(lambda: a.links.neighbours() == ("x",))
            writer.close()

    run_real(program())


def test_the_certificate_of_an_agent_makes_no_host(trust: TrustFolder) -> None:
    async def program() -> None:
        async with site("a", trust=trust) as a:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(trust.folder / "authority.pem")
            context.load_cert_chain(*trust.agent("ann@a"))
            context.set_alpn_protocols([HOST_ALPN])
            reader, writer = await asyncio.open_connection(*a.port.address, ssl=context)
            assert await _drained(reader)
            [why] = a.notes.whys("certificate-refused")
            assert "none of kind 'host'" in why
            writer.close()

    run_real(program())


def test_without_a_certificate_nobody_is_a_host(trust: TrustFolder) -> None:
    async def program() -> None:
        async with site("a", trust=trust) as a:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(trust.folder / "authority.pem")
            context.set_alpn_protocols([HOST_ALPN])
            reader, writer = await asyncio.open_connection(*a.port.address, ssl=context)
            assert await _drained(reader)
            assert "none was shown" in a.notes.whys("certificate-refused")[0]
            writer.close()

    run_real(program())


def test_links_check_what_they_are_made_with(trust: TrustFolder) -> None:
    with pytest.raises(NotItsName, match="about host 'b', not 'a'"):
        TcpLinks("a", identity=Identity(trust.folder, "b"))
    with pytest.raises(NotLoopback, match=r"10\.0\.0\.3:7411 can be reached"):
        TcpLinks("a", identity=None, seeds=["10.0.0.3:7411"])
    links = TcpLinks("a", identity=None)
    links.join("a", lambda *_: None)
    with pytest.raises(NameTaken):
        links.join("a", lambda *_: None)
    with pytest.raises(NameTaken):
        links.join("b", lambda *_: None)


# -- bad manners -------------------------------------------------------------------------------


async def _drained(reader: asyncio.StreamReader) -> bool:
    """Read to the end, whichever way it ends."""
    try:
        async with asyncio.timeout(120):
            await reader.read()
    except OSError:
        pass
    return True


GARBAGE: dict[str, bytes] = {
    "random": Random(7).randbytes(1_000),
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "frames-without-greeting": preface(HOST) + join([b"\x01\x92"]),
    "oversized": preface(HOST) + struct.pack(">I", 0xFFFF_FFFF) + b"x" * 100,
    "words-that-are-none": preface(HOST) + join([b"\0\xc1\xc1"]),
    "greeting-of-wrong-types": preface(HOST) + join([b"\0\x95\xa8greeting\x01\x02\x03\x04"]),
    "an-endless-name": preface(HOST)
    + join([encode_word(Greeting(LINK_VERSION, "x" * 5_000, 1, 1, ()))]),
    "another-version": preface(HOST) + join([encode_word(Greeting(99, "x", 1, 1, ()))]),
    "bad-frame-after-greeting": preface(HOST)
    + join([encode_word(Greeting(LINK_VERSION, "x", 1, 1, ())), b"\x01\xc1"]),
    "empty-frame-after-greeting": preface(HOST)
    + join([encode_word(Greeting(LINK_VERSION, "x", 1, 1, ())), b""]),
}


def test_garbage_ends_its_own_connection_and_disturbs_nobody(trust: TrustFolder) -> None:
    async def attack(place: Any, data: bytes) -> None:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(data)
        assert await _drained(reader)
        writer.close()

    async def program() -> None:
        for with_trust in (None, trust):
            async with (
                site("a", trust=with_trust) as a,
                site("b", a.address, trust=with_trust) as b,
            ):
                await linked(a, b)
                sent: list[tuple[str, Receipt]] = []
                for data in GARBAGE.values():
                    going = asyncio.ensure_future(attack(a.port.address, data))
                    while not going.done():
                        sent.append(("b", Receipt(len(sent))))
                        b.send("a", sent[-1][1])
                        await asyncio.sleep(0.001)
                    await going
                await until(lambda sent=sent: len(a.heard) == len(sent))  # type: ignore[misc]
                assert a.heard == sent
                assert a.links.neighbours() == ("b",)
                await until(lambda: a.port.connections == 1)
                noted = [what for what, _ in a.notes.notes if what != "link-up"]
                assert len(noted) >= len(GARBAGE), noted

    run_real(program())


def test_a_peer_that_falls_silent_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.node.tcp.SILENT_S", 0.2)
    monkeypatch.setattr("nomospace.node.tcp.PING_S", 10.0)
    monkeypatch.setattr("nomospace.node.tcp.TICK_S", 0.1)

    async def program() -> None:
        async with site("a") as a:
            _, writer = await asyncio.open_connection(*a.port.address)
            writer.write(preface(HOST) + join([encode_word(Greeting(LINK_VERSION, "x", 1, 1, ()))]))
            await until(lambda: bool(a.notes.whys("silent")))
            assert a.notes.whys("link-up")
            await until(lambda: a.links.neighbours() == ())
            writer.close()

    run_real(program())


def test_a_frame_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.node.framed.FRAME_S", 0.2)
    monkeypatch.setattr("nomospace.node.tcp.TICK_S", 0.1)

    async def program() -> None:
        async with site("a") as a:
            reader, writer = await asyncio.open_connection(*a.port.address)
            writer.write(preface(HOST) + join([encode_word(Greeting(LINK_VERSION, "x", 1, 1, ()))]))
            writer.write(struct.pack(">I", 1_000))
            for _ in range(100):  # a byte now and then does not help
                writer.write(b"x")
                await asyncio.sleep(0.01)
                if a.notes.whys("slow-frame"):
                    break
            assert a.notes.whys("slow-frame")
            assert await _drained(reader)
            writer.close()

    run_real(program())
