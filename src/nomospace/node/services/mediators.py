"""Mediators: publish and subscribe as programs over the public API, under any law that has them.

A mediator is an agent like others (`001_…` 2). Clients send it `subscribe(alarm([kind(fire)]))` and
`publish(alarm(kind(fire), text(smoke)))`, and it sends `notify(alarm(…))` to those who want it.
What may be published, by whom, and who may hear of it is no matter of the mediator: the law rules
on it at the clients' own controllers, as law AP does, unchanged for either of these:

- `SpaceMediator` works on a tuple space. A subscription is a tuple, `("subscription", client,
  wanted)`, and a reaction keeps the index of them; so mediators that share a space know each
  other's subscriptions. A publication is a tuple, too: `("publication", alarm)`, taken under a
  lease by the mediator that it was sent to, so one that crashes finds it again.
- `NatsMediator` fronts a NATS server. Publications go out on one subject for each kind, and each
  mediator subscribes to the subjects that its own clients need, and filters by the attributes that
  they name. Several mediators on one server are one service. Its space only remembers: what its
  clients want, and what the server has not confirmed yet.

Both pass a publication on at least once: after a crash in the middle some may hear of it twice. On
its way through NATS it may be lost with the server, as core NATS has it.

>>> import asyncio, nomospace as ns
>>> from nomospace.node.services.mediators import SpaceMediator
>>> law = ns.Law.load("law(free). sent(_,_,_) :- do(forward). arrived(_,_,_) :- do(deliver).")
>>> async def program():
...     async with ns.Host("ward") as host:
...         med = await host.agent("med")
...         member = await med.adopt(law)
...         space = await med.space("alarms", shared=True)
...         async with SpaceMediator(member, space):
...             ann = await (await host.agent("ann")).adopt(law)
...             await ann.send("subscribe(alarm([kind(fire)]))", to="med@ward")
...             await ann.send("publish(alarm(kind(fire),text(smoke)))", to="med@ward")
...             async for letter in ann.inbox():
...                 return letter
>>> asyncio.run(program())
Letter(sender='med@ward', message=term('notify(alarm(kind(fire),text(smoke)))'))
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

import msgspec

from nomospace.client import Closed, Membership, ReactionHandle, Space, Tuple
from nomospace.client.reactions import AnyHandle
from nomospace.errors import CallerError, NomospaceError, Unavailable
from nomospace.extras import need
from nomospace.host.shares import USUAL_SHARES
from nomospace.node.loops import cancelled
from nomospace.services.mediator import (
    Published,
    Subscribed,
    Subscriptions,
    Unsubscribed,
    notification,
    read_request,
)
from nomospace.terms import ANY, Compound, Term, encode, show, term

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

SUBSCRIPTION: Final = "subscription"
UNSUBSCRIBED: Final = "unsubscribed"
PUBLICATION: Final = "publication"
LEASE_S: Final = 60.0
"""How long a mediator may take to pass one publication on."""
UNSUBSCRIBED_S: Final = 300.0
"""How long other mediators have to hear that a client wants something no longer."""
RECEIVERS_MAX: Final = USUAL_SHARES.receivers
"""To how many clients one message goes; more get it in several."""
CONNECT_S: Final = 2
"""How long one try to reach a NATS server, or its confirmation, may take."""
PAUSE_S: Final = 0.2
"""Between two tries."""
SEEN_MAX: Final = 10_000
"""How many publications a mediator remembers to have had from NATS."""
SUBJECTS_MAX: Final = 10_000
"""How many subjects of NATS one mediator subscribes to."""
WAITING_MAX: Final = 10_000
"""How many messages of one subject may wait; past it the newest are dropped, as NATS does."""
KEY_BYTES_MIN: Final = 16

_log = logging.getLogger("nomospace.mediator")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class NatsAway(Unavailable):
    """A NATS server cannot be reached."""

    code = "mediator.nats-away"
    words = "NATS at {url} does not answer: {why}; start it, then try again"
    url: str
    why: str


class WeakKey(CallerError):
    """The key that mediators of one NATS server share is too short."""

    code = "mediator.weak-key"
    words = f"a key of {{bytes}} bytes is too short; share one of at least {KEY_BYTES_MIN}"
    bytes: int


class SpaceMediator:
    """A mediator on a space that it shares, from the head of an `async with` to its end.

    Its agent has adopted the law and has what the law wants of mediators (law AP: a certificate).
    Mediators that share the space know each other's subscriptions.
    """

    def __init__(self, member: Membership, space: Space) -> None:
        self._member = member
        self._space = space
        self._book = Subscriptions()
        self._tasks: list[asyncio.Task[None]] = []
        self._handles: list[ReactionHandle[Space]] = []
        self.received = 0
        """How many messages have come from clients."""
        self.passed_on = 0
        """How many publications it has passed on."""

    def __repr__(self) -> str:
        return f"<mediator {self._space.owner}, {len(self._book)} subscriptions>"

    async def __aenter__(self) -> Self:
        try:
            await self._begin()
        except BaseException:
            await self._end()
            raise
        for work, name in ((self._hear(), "hears"), (self._work(), "passes on")):
            self._tasks.append(asyncio.create_task(work, name=f"{self._space.owner} {name}"))
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, []
        await cancelled(*tasks)
        await self._end()

    async def run(self) -> None:
        """Mediate until the agent is closed, or this is cancelled."""
        async with self:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    # -- what clients say --------------------------------------------------------------------

    async def _begin(self) -> None:
        """Know what was subscribed to before, and hear of what other mediators are asked for."""
        for found in await self._space.read_all(SUBSCRIPTION, str, ANY):
            await self._want(found[1], found[2])
        self._handles = [
            self._space.react((SUBSCRIPTION, str, ANY), self._heard_of),
            self._space.react((UNSUBSCRIBED, str, ANY), self._heard_off),
        ]

    async def _end(self) -> None:
        with suppress(NomospaceError):  # the agent may be closed already, and its reactions gone
            for handle in self._handles:
                handle.remove()

    async def _heard_of(self, found: Tuple, source: str, handle: AnyHandle) -> None:
        with suppress(CallerError, Unavailable):  # what one mediator has room for another may not
            await self._want(found[1], found[2])

    async def _heard_off(self, found: Tuple, source: str, handle: AnyHandle) -> None:
        if source != self._space.owner:
            self._book.remove(found[1], found[2])

    async def _hear(self) -> None:
        async for letter in self._member.inbox():
            self.received += 1
            try:
                request = read_request(letter.sender, letter.message)
                if isinstance(request, Published):
                    await self._space.out(PUBLICATION, request.published)
                elif isinstance(request, Subscribed):
                    await self._subscribe(request.client, request.wanted)
                elif isinstance(request, Unsubscribed):
                    await self._unsubscribe(request.client, request.wanted)
            except Closed:
                return
            except (CallerError, Unavailable) as error:
                _log.warning("%s: a message of %s: %s", self._space.owner, letter.sender, error)

    async def _subscribe(self, client: str, wanted: Term) -> None:
        if await self._want(client, wanted):
            await self._space.out(SUBSCRIPTION, client, wanted)

    async def _unsubscribe(self, client: str, wanted: Term) -> None:
        if self._book.remove(client, wanted):
            await self._space.take_all(SUBSCRIPTION, client, wanted)
            await self._space.out(UNSUBSCRIBED, client, wanted, ttl=UNSUBSCRIBED_S)

    async def _want(self, client: str, wanted: Term) -> bool:
        """A client wants something; false when that is known."""
        return self._book.add(client, wanted)

    # -- what clients are told ---------------------------------------------------------------

    async def _work(self) -> None:
        mine = self._space.owner
        while True:
            try:
                await self._ready()
                async with self._space.take(PUBLICATION, ANY, at=mine, lease=LEASE_S) as found:
                    await self._pass_on(found[1])
                self.passed_on += 1
            except Closed:
                return
            except NomospaceError as error:  # the lease gives it back, and it is tried again
                _log.warning("%s: a publication waits: %s", mine, error)
                await asyncio.sleep(PAUSE_S)

    async def _ready(self) -> None:
        """Wait until something can be passed on: a space is always there."""

    async def _pass_on(self, published: Term) -> None:
        await self._notify(published)

    async def _notify(self, published: Term) -> None:
        message = notification(published)
        for clients in _batches(self._book.match(published)):
            ruling = await self._member.send(message, to=clients)
            if ruling.refused:
                _log.warning("%s: the law refuses %s", self._space.owner, show(message, limit=200))


def _batches(clients: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Receivers in parts that one message may have.

    >>> [len(part) for part in _batches(("a",) * 1_200)]
    [500, 500, 200]
    """
    for start in range(0, len(clients), RECEIVERS_MAX):
        yield clients[start : start + RECEIVERS_MAX]


class _Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A publication on NATS: its number, itself as text, and the proof that a mediator sent it."""

    id: str
    text: str
    proof: bytes


class NatsMediator(SpaceMediator):
    """A mediator before a NATS server, from the head of an `async with` to its end.

    All mediators of one server share a `key`: what comes without its mark was not published under
    the law, and is dropped. `space` is its own, shared with nobody else's mediator.
    """

    def __init__(
        self,
        member: Membership,
        space: Space,
        url: str,
        *,
        key: bytes,
        prefix: str = "nomospace",
    ) -> None:
        super().__init__(member, space)
        if len(key) < KEY_BYTES_MIN:
            raise WeakKey(bytes=len(key))
        self._url = url
        self._key = key
        self._prefix = prefix
        self._client: Client | None = None
        self._subjects: dict[str, Subscription] = {}
        self._seen: dict[str, None] = {}
        self._numbers = 0
        self._name = secrets.token_hex(8)
        self.dropped = 0
        """How many messages on NATS were not a mediator's, or could not be read."""

    # -- NATS --------------------------------------------------------------------------------

    async def _begin(self) -> None:
        need("nats", "a mediator that forwards to NATS")
        import nats
        from nats.errors import Error

        try:
            self._client = await asyncio.wait_for(
                nats.connect(
                    self._url,
                    name=self._space.owner,
                    connect_timeout=CONNECT_S,
                    reconnect_time_wait=PAUSE_S,
                    max_reconnect_attempts=-1,
                    error_cb=self._failed,
                ),
                2 * CONNECT_S,
            )
        except (OSError, TimeoutError, Error) as error:
            raise NatsAway(url=self._url, why=str(error) or type(error).__name__) from None
        await super()._begin()

    async def _end(self) -> None:
        await super()._end()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _failed(self, error: Exception) -> None:
        _log.info("%s: NATS: %s", self._space.owner, error)

    async def _ready(self) -> None:
        """Wait while the server is away: a publication stays where a crash does not reach it."""
        while self._client is not None and not self._client.is_connected:
            await asyncio.sleep(PAUSE_S)

    # -- subscriptions -----------------------------------------------------------------------

    async def _want(self, client: str, wanted: Term) -> bool:
        new = await super()._want(client, wanted)
        assert isinstance(wanted, Compound), "what is in the book was read as a subscription"
        attributes = wanted.args[0]
        assert isinstance(attributes, tuple), "so was what it wants"
        kinds = _kinds(attributes) or ["*"]
        subject = f"{self._prefix}.{_word(wanted.name)}.{kinds[0]}"
        if subject not in self._subjects and len(self._subjects) < SUBJECTS_MAX:
            assert self._client is not None, "a mediator is connected before it hears of wishes"
            self._subjects[subject] = await self._client.subscribe(
                subject, cb=self._came, pending_msgs_limit=WAITING_MAX
            )
        return new

    # -- publications ------------------------------------------------------------------------

    async def _pass_on(self, published: Term) -> None:
        """Have the server confirm a publication, or raise: then its lease gives it back."""
        from nats.errors import Error, MaxPayloadError

        client = self._client
        assert client is not None, "a mediator is connected while it works"
        assert isinstance(published, Compound), "it was read as a publication"
        self._numbers += 1
        id = f"{self._name}.{self._numbers}"
        text = show(published)
        envelope = msgspec.msgpack.encode(_Envelope(id, text, self._proof(id, text)))
        try:
            for kind in _kinds(published.args) or ["-"]:
                subject = f"{self._prefix}.{_word(published.name)}.{kind}"
                await client.publish(subject, envelope)
            await client.flush(CONNECT_S)
        except MaxPayloadError:
            self.dropped += 1
            _log.warning("%s: too large for NATS: %s", self._space.owner, text[:200])
        except (OSError, TimeoutError, Error) as error:
            raise NatsAway(url=self._url, why=str(error) or type(error).__name__) from None

    def _proof(self, id: str, text: str) -> bytes:
        words = f"nomospace publication 1\n{self._prefix}\n{id}\n{text}".encode()
        return hmac.digest(self._key, words, sha256)

    async def _came(self, message: Msg) -> None:
        try:
            envelope = msgspec.msgpack.decode(message.data, type=_Envelope)
            proof = self._proof(envelope.id, envelope.text)
            if not hmac.compare_digest(proof, envelope.proof):
                raise ValueError("it has not the mark of a mediator")
            published = term(envelope.text)
        except (msgspec.DecodeError, ValueError, NomospaceError, RecursionError) as error:
            self.dropped += 1
            _log.warning("%s: dropped from %s: %s", self._space.owner, message.subject, error)
            return
        if envelope.id in self._seen:  # two subjects of ours may bring one publication
            return
        self._seen[envelope.id] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        try:
            await self._notify(published)
        except NomospaceError as error:
            _log.warning("%s: cannot notify: %s", self._space.owner, error)


def _kinds(attributes: tuple[Term, ...]) -> list[str]:
    """The kinds among attributes, as words of subjects, each once.

    >>> _kinds(term("[status(expert), kind(fire), kind('no smoke')]"))
    ['fire', '_...']
    """
    kinds = [
        _word(each.args[0])
        for each in attributes
        if each.__class__ is Compound and each.name == "kind" and len(each.args) == 1
    ]
    return list(dict.fromkeys(kinds))


def _word(name: Term) -> str:
    """A term as one word of a subject: itself where it can be, else a hash of it."""
    if isinstance(name, str) and _PLAIN.fullmatch(name):
        return name
    return f"_{sha256(encode(name)).hexdigest()[:32]}"
