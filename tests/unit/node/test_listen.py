"""The port of a host: what it takes in, what it refuses, and how little strangers cost."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from nomospace.node.addresses import Address, BadHostAddress, NotLoopback
from nomospace.node.identity import CLIENT_ALPN, HOST_ALPN, Identity
from nomospace.node.listen import Arrival, Listener, PortLimits, PortUnavailable
from nomospace.wire.framing import join
from tests.sites import Notebook, run_real, until
from tests.trust_folder import TrustFolder

HOST_PREFACE = join([HOST_ALPN.encode()])
CLIENT_PREFACE = join([CLIENT_ALPN.encode()])


class Echo(asyncio.Protocol):
    """Proves itself with the first bytes, and sends all back with the kind it was taken for."""

    def __init__(self, arrival: Arrival) -> None:
        self.arrival = arrival

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.arrival.proven()
        self.transport.write(self.arrival.kind.encode() + b" " + data)  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        self.arrival.ended()


class Port:
    """A listener whose guests are echoed."""

    def __init__(self, identity: Identity | None = None, limits: PortLimits | None = None) -> None:
        self.notes = Notebook()
        self.arrivals: list[Arrival] = []
        self.listener = Listener(
            "127.0.0.1:0",
            identity=identity,
            on_host=self.receive,
            on_client=self.receive,
            on_note=self.notes,
            limits=limits,
        )

    def receive(self, arrival: Arrival) -> Echo:
        self.arrivals.append(arrival)
        return Echo(arrival)

    async def __aenter__(self) -> Port:  # noqa: PYI034
        await self.listener.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.listener.stop()
        for arrival in self.arrivals:
            arrival.refuse("over")
        await asyncio.sleep(0.01)

    async def ask(self, said: bytes, context: ssl.SSLContext | None = None) -> bytes:
        """Say something and read what comes back, to the end or to a pause."""
        try:
            reader, writer = await asyncio.open_connection(*self.listener.address, ssl=context)
        except OSError:
            return b"refused"
        try:
            writer.write(said)
            async with asyncio.timeout(120):
                return await reader.read(1_000)
        except OSError:
            return b"reset"
        finally:
            writer.close()


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> TrustFolder:
    made = TrustFolder(tmp_path_factory.mktemp("trust"))
    made.host("a")
    made.host("b")
    return made


def client_context(trust: TrustFolder, *alpn: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(trust.folder / "authority.pem")
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_plain_port_goes_by_the_first_frame(loop: str) -> None:
    async def program() -> None:
        async with Port() as port:
            assert port.listener.advertised == f"127.0.0.1:{port.listener.address.port}"
            assert await port.ask(HOST_PREFACE + b"hi") == b"nomos-host/1 hi"
            assert await port.ask(CLIENT_PREFACE + b"hi") == b"nomos-client/1 hi"
            assert port.arrivals[0].host is None
            # The name of the protocol may come byte by byte.
            reader, writer = await asyncio.open_connection(*port.listener.address)
            for byte in CLIENT_PREFACE + b"!":
                writer.write(bytes([byte]))
                await asyncio.sleep(0.001)
            assert await reader.read(100) == b"nomos-client/1 !"
            writer.close()
            await until(lambda: port.listener.connections == 0)
            assert port.listener.accepted == 3

    run_real(program(), loop=loop)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_tls_port_goes_by_the_protocol_that_was_agreed_on(loop: str, trust: TrustFolder) -> None:
    async def program() -> None:
        async with Port(Identity(trust.folder, "a")) as port:
            as_host = Identity(trust.folder, "b").dialling()
            assert await port.ask(b"hi", as_host) == b"nomos-host/1 hi"
            host = port.arrivals[-1].host
            assert host is not None
            assert host.subject == "b"
            assert [bool(arrival.certificate) for arrival in port.arrivals] == [True]
            bare = client_context(trust, CLIENT_ALPN)
            assert await port.ask(b"hi", bare) == b"nomos-client/1 hi"
            assert [bool(arrival.certificate) for arrival in port.arrivals] == [True, False]
            bare.load_cert_chain(*trust.agent("ann@a"))
            assert await port.ask(b"hi", bare) == b"nomos-client/1 hi"
            shown = port.arrivals[-1].certificate
            assert Identity(trust.folder, "a").check_agent(shown).subject == "ann@a"

    run_real(program(), loop=loop)


def test_what_a_tls_port_refuses(trust: TrustFolder, tmp_path: Path) -> None:
    other = TrustFolder(tmp_path)

    async def program() -> None:
        async with Port(Identity(trust.folder, "a")) as port:
            assert b"its address is nomos://" in await port.ask(CLIENT_PREFACE + b"hi")
            assert port.notes.whys("plain-text") == ["this port speaks TLS 1.3 only"]
            assert await port.ask(b"hi", client_context(trust)) in (b"", b"reset")
            assert len(port.notes.whys("no-protocol")) == 1
            assert await port.ask(b"hi", client_context(trust, "h2")) != b"hi"
            old = client_context(trust, CLIENT_ALPN)
            old.maximum_version = ssl.TLSVersion.TLSv1_2
            assert await port.ask(b"hi", old) == b"refused"
            stranger = client_context(trust, CLIENT_ALPN)
            stranger.load_cert_chain(*other.agent("ann@a"))
            assert await port.ask(b"hi", stranger) in (b"", b"reset")
            assert port.notes.whys("certificate-refused")
            assert port.arrivals == []
            await until(lambda: port.listener.connections == 0)

    run_real(program())


def test_a_port_on_all_addresses_is_told_without_a_machine(trust: TrustFolder) -> None:
    async def program() -> None:
        port = Port()
        everywhere = Listener(
            "0.0.0.0:0",
            identity=Identity(trust.folder, "a"),
            on_host=port.receive,
            on_client=port.receive,
        )
        await everywhere.start()
        assert everywhere.advertised == f":{everywhere.address.port}"
        assert everywhere.address.port > 0
        await everywhere.stop()

    run_real(program())


def test_where_it_listens_is_told_before_anybody_can_connect() -> None:
    told: list[Address] = []

    def bound(*addresses: Address) -> None:
        for address in addresses:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address)
        told.extend(addresses)

    async def program() -> None:
        port = Port()
        await port.listener.start(bound)
        assert told == [port.listener.address]
        assert await port.ask(HOST_PREFACE + b"hi") == b"nomos-host/1 hi"
        await port.listener.stop()

    run_real(program())


def test_tls_on_a_plain_port_is_told_apart(trust: TrustFolder) -> None:
    async def program() -> None:
        async with Port() as port:
            assert await port.ask(b"hi", client_context(trust, CLIENT_ALPN)) == b"refused"
            assert "nomos+plain" in port.notes.whys("tls-on-plain")[0]

    run_real(program())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_who_is_too_slow_is_dropped_whatever_it_has_said(loop: str, trust: TrustFolder) -> None:
    async def program() -> None:
        limits = PortLimits(stranger_s=0.1)
        for identity in (None, Identity(trust.folder, "a")):
            async with Port(identity, limits) as port:
                silent, half = [
                    await asyncio.open_connection(*port.listener.address) for _ in range(2)
                ]
                half[1].write(CLIENT_PREFACE[:5] if identity is None else b"\x16\x03\x01")
                for reader, writer in (silent, half):
                    with suppress(ConnectionResetError):
                        assert await reader.read() == b""
                    writer.close()
                await until(lambda port=port: port.listener.connections == 0)  # type: ignore[misc]
                told = port.notes.whys("too-slow") + port.notes.whys("handshake-failed")
                assert len(told) == 2

    run_real(program(), loop=loop)


def test_a_crowd_of_idle_connections_pushes_out_itself() -> None:
    crowd, strangers_max = 2_000, 200
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < crowd + 500:
        crowd = 300

    async def program() -> None:
        limits = PortLimits(strangers_max=strangers_max, stranger_s=0.5)
        async with Port(limits=limits) as port:
            place, counts = port.listener.address, port.listener.notes.counts
            reader, writer = await asyncio.open_connection(*place)
            writer.write(CLIENT_PREFACE + b"0")
            assert await reader.read(100) == b"nomos-client/1 0"

            def ended() -> int:
                return counts.get("pushed-out", 0) + counts.get("too-slow", 0)

            with ExitStack() as idle:
                for n in range(crowd):
                    sock = idle.enter_context(socket.socket())
                    sock.setblocking(False)
                    sock.connect_ex(place)
                    if n % 50 == 0:
                        # More than the system lets wait would be tried again after seconds.
                        await until(lambda: ended() + port.listener.strangers == n + 1)  # noqa: B023
                        writer.write(b"x")
                        assert await reader.read(100) == b"nomos-client/1 x"
                        assert port.listener.strangers <= strangers_max
                # A newcomer gets in while the crowd is there, and is not pushed out.
                assert await port.ask(CLIENT_PREFACE + b"new") == b"nomos-client/1 new"
                await until(lambda: port.listener.strangers == 0)
                writer.write(b"x")
                assert await reader.read(100) == b"nomos-client/1 x"
            writer.close()
            # All were counted, and the record did not grow with them.
            assert ended() == crowd
            assert len(port.notes.notes) < 400

    run_real(program())


def test_connections_are_counted_by_address_and_in_all() -> None:
    async def program() -> None:
        async with Port(limits=PortLimits(per_address_max=2)) as port:
            held = []
            for _ in range(2):
                reader, writer = await asyncio.open_connection(*port.listener.address)
                writer.write(CLIENT_PREFACE + b"x")
                await reader.read(100)
                held.append(writer)
            # Who is proven is never pushed out: the third is refused.
            assert await port.ask(CLIENT_PREFACE + b"x") in (b"", b"reset")
            assert [what for what, _ in port.notes.notes] == ["too-many"]
            held.pop().close()
            await until(lambda: port.listener.connections == 1)
            assert await port.ask(CLIENT_PREFACE + b"x") == b"nomos-client/1 x"
            held.pop().close()

    run_real(program())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_who_is_dropped_before_its_handshake_begins_is_closed(loop: str) -> None:
    """A task that is cancelled before its first step never runs: nobody else has the socket."""

    async def program() -> None:
        async with Port() as port:
            first, dropped = port.listener._first, list[socket.socket]()

            def drop(arrival: Arrival, sock: socket.socket) -> None:
                first(arrival, sock)
                dropped.append(sock)
                arrival.refuse("dropped")

            port.listener._first = drop  # type: ignore[method-assign]
            assert await port.ask(CLIENT_PREFACE) in (b"", b"reset")
            await until(lambda: port.listener.connections == 0)
            assert [sock.fileno() for sock in dropped] == [-1]

    run_real(program(), loop=loop)


def test_a_port_that_cannot_be_had() -> None:
    async def program() -> None:
        async with Port() as port:
            with pytest.raises(PortUnavailable, match="Address already in use; free it"):
                await Listener(
                    str(port.listener.address),
                    identity=None,
                    on_host=port.receive,
                    on_client=port.receive,
                ).start()

    run_real(program())


def test_without_certificates_only_the_loopback_is_listened_on() -> None:
    port = Port()
    for address in ("0.0.0.0:0", "10.0.0.3:7411", "ward.example:7411"):
        with pytest.raises(NotLoopback):
            Listener(address, identity=None, on_host=port.receive, on_client=port.receive)
    with pytest.raises(BadHostAddress):
        Listener("7411", identity=None, on_host=port.receive, on_client=port.receive)


def _from(place: tuple[str, int], source: str) -> socket.socket:
    sock = socket.socket()
    sock.bind((source, 0))
    sock.connect(place)
    sock.setblocking(False)
    return sock


def test_one_address_cannot_keep_out_others() -> None:
    """Neither by connections that say nothing, nor by such as begin and do not go on."""

    async def program() -> None:
        limits = PortLimits(
            strangers_max=20,
            strangers_per_address_max=15,
            proving_max=6,
            proving_per_address_max=4,
            hurry_s=60.0,
            stranger_s=60.0,
        )
        async with Port(limits=limits) as port:
            place = port.listener.address
            with ExitStack() as crowd:
                patient = crowd.enter_context(_from(place, "127.0.0.3"))
                await until(lambda: port.listener.strangers == 1)
                for _ in range(60):
                    crowd.enter_context(_from(place, "127.0.0.2"))
                await until(lambda: port.listener.accepted == 61)
                assert port.listener.strangers == 16
                for _ in range(10):  # they push out the address with the most, not each other
                    crowd.enter_context(_from(place, "127.0.0.4"))
                await until(lambda: port.listener.accepted == 71)
                assert port.listener.strangers == 20
                begun = [crowd.enter_context(_from(place, "127.0.0.2")) for _ in range(8)]
                await until(lambda: port.listener.accepted == 79)
                for sock in begun:
                    sock.send(CLIENT_PREFACE[:5])
                patient.send(CLIENT_PREFACE + b"x")
                loop = asyncio.get_running_loop()
                async with asyncio.timeout(120):
                    assert await loop.sock_recv(patient, 100) == b"nomos-client/1 x"
                await until(lambda: len(port.listener._proving) == 4)  # the last may begin behind
                assert set(port.listener._proving_from) == {"127.0.0.2"}

    run_real(program())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_who_takes_long_makes_room_for_who_waits(loop: str, trust: TrustFolder) -> None:
    async def program() -> None:
        limits = PortLimits(proving_max=2, hurry_s=0.0)
        async with Port(Identity(trust.folder, "a"), limits) as port:
            with ExitStack() as crowd:
                for _ in range(10):
                    sock = crowd.enter_context(_from(port.listener.address, "127.0.0.1"))
                    sock.send(b"\x16\x03\x01\x02\x00")
                said = await port.ask(b"x", client_context(trust, CLIENT_ALPN))
                assert said == b"nomos-client/1 x"
                await until(lambda: len(port.notes.whys("pushed-out")) >= 8)
                assert "others wait" in port.notes.whys("pushed-out")[0]

    run_real(program(), loop=loop)
