"""How a client comes to its host: addresses, certificates, and the words before the first call.

`nomos://host:port` is TLS 1.3, and the host must show a certificate of the authority that the
client trusts, made out for that address. `nomos+plain://127.0.0.1:port` is for the same machine and
the same user, whose hosts' own tokens are found (`own_tokens`).
A client that has an identity signs the host's challenge with its key; the host's certificate is
part of what is signed, so an answer is of no use on any other connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, cast
from urllib.parse import urlsplit

import msgspec

from nomospace.errors import CallerError, NomospaceError, PeerError, Unavailable
from nomospace.wire.admin import A, OperatorQuestion, read_answer
from nomospace.wire.framing import CLIENT, Framer, Versions, join, length_of, offered, preface
from nomospace.wire.talk import (
    FAILURE,
    REFUSAL,
    TALK_BYTES_MAX,
    TOLD,
    VERSION,
    VERSIONS,
    Challenge,
    ClientHello,
    Frame,
    HostWelcome,
    Proof,
    pack_frame,
    pack_question,
    read_error,
    unpack_answer,
    unpack_frame,
)

if TYPE_CHECKING:  # it brings X.509 along, which only a client with a key needs
    from nomospace.trust.keys import SecretKey

PORT: Final = 7420
"""The port of hosts, where an address names none."""
DIAL_S: Final = 10.0
"""How long one attempt to reach a host may take, proof of identity included."""
URLS_MAX: Final = 16
"""How many addresses a client may name."""
WORKERS_MAX: Final = 64
"""Of so many workers of hosts it is kept how they are dialled."""
CLOSE_S: Final = 1.0
"""How long a connection may take to end in good order."""
FILE_BYTES_MAX: Final = 1 << 20
ANSWER_S: Final = 30.0
"""How long an answer to an operator's question may take."""


class BadUrl(CallerError):
    """Text that is no address of a host for clients."""

    code = "client.bad-url"
    words = f"{{url!r}} is no address of a host: {{why}}; write nomos://ward-3:{PORT}"
    url: str
    why: str


class BadIdentity(CallerError):
    """What should prove who a client is cannot."""

    code = "client.bad-identity"
    words = "{place} is no identity: {why}; `nomospace trust issue agent` makes one"
    place: str
    why: str


class NoTrust(CallerError):
    """A client does not know which authority to go by."""

    code = "client.no-trust"
    words = (
        "nobody says which authority {url} must be certified by; give trust='…/"
        "authority.pem', the file that `nomospace trust init` made"
    )
    url: str


class Unreachable(Unavailable):
    """A host cannot be reached."""

    code = "client.unreachable"
    words = "{url} cannot be reached: {why}; look whether it runs, and its address"
    url: str
    why: str


class NotItsHost(PeerError):
    """Whoever answers at an address cannot show that it is the host there."""

    code = "client.not-its-host"
    words = (
        "who answers at {url} is not the host there: {why}; have its certificate "
        "issued for this address, or trust the authority that issued it"
    )
    url: str
    why: str


class UnknownVersion(PeerError):
    """A host has answered in a version that this client did not offer."""

    code = "client.unknown-version"
    words = (
        "the host at {url} speaks version {theirs}, this client {ours}; "
        "upgrade the older of the two"
    )
    url: str
    theirs: int
    ours: Versions


@dataclass(frozen=True)
class AgentIdentity:
    """An agent's certificate (PEM) and key."""

    agent: str
    certificate: str
    key: SecretKey

    @classmethod
    def load(cls, place: str | Path) -> AgentIdentity:
        """The identity in a folder with `agent.pem` and `agent.key`; raises `BadIdentity`."""
        from nomospace.trust.certificates import read_claim
        from nomospace.trust.keys import SecretKey

        folder = Path(place)
        try:
            pem = _read(folder / "agent.pem")
            key = SecretKey.from_pem(_read(folder / "agent.key"))
            return cls(read_claim(pem).subject, pem.decode(), key)
        except OSError as error:
            raise BadIdentity(place=str(place), why=error.strerror or str(error)) from None
        except (CallerError, PeerError, UnicodeDecodeError) as error:
            raise BadIdentity(place=str(place), why=str(error)) from None


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(FILE_BYTES_MAX)


class Url:
    """An address of a host for clients; after `/`, which worker of it.

    >>> Url("nomos://ward-3"), Url("nomos+plain://[::1]:4000").host
    (nomos://ward-3:7420, '::1')
    >>> Url("nomos://ward-3/ward.2")
    nomos://ward-3:7420/ward.2
    >>> Url("nomos+plain://ward-3:7411")
    Traceback (most recent call last):
    nomospace.client.dialling.BadUrl: 'nomos+plain://ward-3:7411' is no address of a host: ...
    """

    __slots__ = ("host", "port", "secure", "worker")

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise BadUrl(url=text[:200], why=str(error)) from None
        if parts.scheme not in ("nomos", "nomos+plain"):
            raise BadUrl(url=text[:200], why="it begins neither with nomos:// nor nomos+plain://")
        self.worker = parts.path.strip("/")
        if not parts.hostname or "/" in self.worker or parts.query or parts.username:
            raise BadUrl(url=text[:200], why="it is a machine, a port, and perhaps a worker")
        self.host = parts.hostname
        self.port = PORT if port is None else port
        self.secure = parts.scheme == "nomos"
        if not self.secure and not _is_loopback(self.host):
            why = "without certificates only this machine can be spoken to, as 127.0.0.1"
            raise BadUrl(url=text[:200], why=why)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        worker = f"/{self.worker}" if self.worker else ""
        return f"{'nomos' if self.secure else 'nomos+plain'}://{host}:{self.port}{worker}"

    __repr__ = __str__

    def at(self, address: str) -> Url:
        """Another host's address, spoken to in the same way; `/ward.2` is a worker of this one."""
        place = str(self).partition("://")[2].partition("/")[0] if address[0] == "/" else ""
        return Url(f"{'nomos' if self.secure else 'nomos+plain'}://{place}{address}")


def read_urls(text: str) -> tuple[Url, ...]:
    """The addresses that a text names, with commas between them.

    >>> read_urls("nomos://ward-3,ward-4:7421")
    (nomos://ward-3:7420, nomos://ward-4:7421)
    """
    scheme, mark, places = text.partition("://")
    if places.count(",") >= URLS_MAX:
        raise BadUrl(url=text[:200], why=f"it names more than {URLS_MAX} machines")
    return tuple([Url(f"{scheme}{mark}{place}") for place in places.split(",")])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def trust_context(authority: Path, worker: str = "") -> ssl.SSLContext:
    """For connections to hosts that an authority (its certificate, or its folder) certifies.

    They are to a `worker` of theirs, if one is named.
    """
    file = authority / "authority.pem" if authority.is_dir() else authority
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(offered(CLIENT, worker))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # deputies are gone by as they stand
    try:
        context.load_verify_locations(file)
        for deputy in sorted(file.parent.glob("authorities/*/deputy.pem")):
            context.load_verify_locations(deputy)
    except OSError as error:  # `ssl.SSLError` is one
        raise BadIdentity(place=str(file), why=error.strerror or str(error)) from None
    return context


class HostConnection(asyncio.Protocol):
    """One connection to a host: whole frames in, one write for each turn of the loop out."""

    __slots__ = ("_flushing", "_framer", "_gone", "_hear", "_lost", "_out", "frames", "heard_at",
                 "loop", "open", "sent_at", "transport", "waiter")  # fmt: skip

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.open = False
        self.heard_at = self.sent_at = loop.time()
        self.frames: list[bytes] = []
        """What came before anyone wanted to hear it."""
        self.waiter: asyncio.Future[None] | None = None
        self._framer = Framer(TALK_BYTES_MAX)
        self._gone = asyncio.Event()
        self._out: list[bytes] = []
        self._flushing = False
        self._hear: Callable[[list[bytes]], None] | None = None
        self._lost: Callable[[HostConnection], None] | None = None

    def attach(
        self, hear: Callable[[list[bytes]], None], lost: Callable[[HostConnection], None]
    ) -> None:
        """From now on, `hear` gets what comes; `lost` is told when the connection is gone."""
        self._hear, self._lost = hear, lost
        frames, self.frames = self.frames, []
        if frames:
            hear(frames)
        if not self.open:
            lost(self)

    def send(self, body: bytes) -> None:
        """Send a frame, with all others of this turn."""
        self._out.append(body)
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def send_now(self, body: bytes) -> None:
        """Send a frame before this turn is over, as nothing else will be sent in it."""
        if self._out:
            self._out.append(body)
        elif self.open:
            self.sent_at = self.loop.time()
            self.transport.write(length_of(len(body)) + body)

    def _flush(self) -> None:
        self._flushing = False
        out, self._out = self._out, []
        if out and self.open:
            self.sent_at = self.loop.time()
            self.transport.write(join(out))

    async def next_frame(self) -> bytes:
        """The next frame, before `attach`; raises `ConnectionResetError` when there is none."""
        while not self.frames:
            if not self.open:
                raise ConnectionResetError("the connection was closed")
            self.waiter = self.loop.create_future()
            await self.waiter
        return self.frames.pop(0)

    def close(self) -> None:
        """End the connection when what was sent has gone out."""
        self._lost = None
        self._flush()
        if self.open:
            self.open = False
            self.transport.close()

    async def wait_gone(self) -> None:
        """After `close`, wait until the other side agrees; not for long."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._gone.wait()
        except TimeoutError:
            self.transport.abort()

    def abort(self) -> None:
        """End the connection at once."""
        if self.open:
            self.transport.abort()

    # -- what the transport tells ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from the class of that name.
        self.transport = cast("asyncio.Transport", transport)
        self.open = True

    def data_received(self, data: bytes) -> None:
        self.heard_at = self.loop.time()
        try:
            frames = self._framer.feed(data)
            if self._hear is not None:
                self._hear(frames)
                return
        except PeerError:
            self.transport.abort()
            return
        self.frames += frames
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        self._gone.set()
        self._wake()
        if self._lost is not None:
            self._lost(self)

    def _wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class Dialler:
    """Reaches hosts in the name of one client."""

    def __init__(self, *, identity: AgentIdentity | None, token: str, trust: Path | None) -> None:
        self.identity = identity
        self._token = token
        self._authority = trust
        self._trust = {} if trust is None else {"": trust_context(trust)}
        """By worker: whom it goes by, and whom it asks for."""

    async def dial(
        self, url: Url, hello: ClientHello, *, timeout_s: float
    ) -> tuple[HostConnection, HostWelcome]:
        """Connect and be let in; raises `Unreachable`, `NotItsHost`, and what the host refuses."""
        try:
            async with asyncio.timeout(min(timeout_s, DIAL_S)):
                talk = await self._connect(url)
                return talk, await self._enter(talk, url, hello)
        except TimeoutError:
            why = f"no answer within {min(timeout_s, DIAL_S):g} s"
            raise Unreachable(url=str(url), why=why) from None
        except ssl.SSLCertVerificationError as error:
            raise NotItsHost(url=str(url), why=error.verify_message) from None
        except ssl.SSLError as error:
            if error.reason != "WRONG_VERSION_NUMBER":
                raise Unreachable(url=str(url), why=error.reason or str(error)) from None
            why = "it does not speak TLS; a host without certificates is nomos+plain://127.0.0.1:…"
            raise NotItsHost(url=str(url), why=why) from None
        except OSError as error:
            raise Unreachable(url=str(url), why=error.strerror or str(error)) from None

    async def _connect(self, url: Url) -> HostConnection:
        loop = asyncio.get_running_loop()
        if not url.secure:
            _, talk = await loop.create_connection(lambda: HostConnection(loop), url.host, url.port)
            talk.transport.write(preface(CLIENT, url.worker))
            return talk
        if self._authority is None:
            raise NoTrust(url=str(url))
        trust = self._trust.get(url.worker)
        if trust is None:
            if len(self._trust) > WORKERS_MAX:
                self._trust.clear()
            trust = self._trust[url.worker] = trust_context(self._authority, url.worker)
        _, talk = await loop.create_connection(
            lambda: HostConnection(loop), url.host, url.port, ssl=trust
        )
        return talk

    async def _enter(self, talk: HostConnection, url: Url, hello: ClientHello) -> HostWelcome:
        if not (url.secure or hello.token or hello.certificate):
            from nomospace.client import own_tokens  # for the few who have none to show

            where = talk.transport.get_extra_info("peername")
            if where is None:
                raise Unreachable(url=str(url), why="the connection broke at once")
            hello = msgspec.structs.replace(hello, token=own_tokens.find(*where[:2]))
        try:
            talk.send_now(pack_frame(hello))
            answer = unpack_answer(await talk.next_frame())
            if isinstance(answer, Challenge):
                talk.send_now(pack_frame(Proof(self._sign(talk, answer))))
                answer = unpack_answer(await talk.next_frame())
            if isinstance(answer, Challenge):
                raise NotItsHost(url=str(url), why="it challenges without end")
            if not VERSIONS.common(Versions(answer.version, answer.version)):
                raise UnknownVersion(url=str(url), theirs=answer.version, ours=VERSIONS)
        except NomospaceError:
            talk.close()
            await talk.wait_gone()
            raise
        except BaseException:
            talk.close()
            raise
        return answer

    def _sign(self, talk: HostConnection, challenge: Challenge) -> bytes:
        from nomospace.trust.proof import channel_of, prove

        identity = self.identity
        assert identity is not None, "only a certificate brings a challenge"
        tls = talk.transport.get_extra_info("ssl_object")
        shown = tls.getpeercert(binary_form=True) if tls is not None else b""
        return prove(
            identity.key,
            agent=identity.agent,
            host=challenge.host,
            channel=channel_of(shown),
            nonce=challenge.nonce,
        )

    def hello(self, hello: ClientHello) -> ClientHello:
        """A greeting with what proves who this client is."""
        identity = self.identity
        return msgspec.structs.replace(
            hello,
            version=VERSIONS.oldest,
            newest=VERSIONS.newest,
            token=self._token,
            certificate="" if identity is None or self._token else identity.certificate,
        )


class OperatorConnection:
    """A connection for an operator's questions. They change nothing: one that is lost is asked
    again by whoever wants to know.
    """

    def __init__(self, talk: HostConnection, url: Url) -> None:
        self._talk = talk
        self._url = url
        self._seq = 0
        self._waiting: dict[int, asyncio.Future[Frame]] = {}

    @classmethod
    async def begin(cls, dialler: Dialler, url: Url) -> Self:
        """Connect as an operator."""
        hello = dialler.hello(ClientHello(VERSION, "", ""))
        talk, _ = await dialler.dial(url, hello, timeout_s=ANSWER_S)
        made = cls(talk, url)
        talk.attach(made._heard, made._lost)
        return made

    @property
    def open(self) -> bool:
        """Whether the connection is there."""
        return self._talk.open

    async def ask(self, question: OperatorQuestion[A]) -> A:
        """The answer to a question."""
        self._seq = seq = self._seq + 1
        future = self._waiting[seq] = asyncio.get_running_loop().create_future()
        self._talk.send(pack_question(seq, question))
        try:
            async with asyncio.timeout(ANSWER_S):
                frame = await future
        except TimeoutError:
            why = f"no answer to a question within {ANSWER_S:g} s"
            raise Unreachable(url=str(self._url), why=why) from None
        finally:
            self._waiting.pop(seq, None)
        if frame[0] == FAILURE:
            raise read_error(frame[3])
        return read_answer(question, frame[2])

    def _heard(self, frames: list[bytes]) -> None:
        for data in frames:
            frame = unpack_frame(data)
            if frame[0] in (TOLD, FAILURE):
                future = self._waiting.get(frame[1] if frame[0] == TOLD else frame[2])
                if future is not None and not future.done():
                    future.set_result(frame)
            elif frame[0] == REFUSAL and len(frame) == 2:
                self._fail(read_error(frame[1]))
                self._talk.close()  # the next question is asked, and refused, on a new one

    def _lost(self, talk: HostConnection) -> None:
        why = "the connection broke before the answer came"
        self._fail(Unreachable(url=str(self._url), why=why))

    def _fail(self, error: NomospaceError) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)

    async def close(self) -> None:
        """End the connection."""
        self._talk.close()
        await self._talk.wait_gone()
