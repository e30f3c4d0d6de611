"""What hosts of a group tell each other of trust: lists of what was revoked, and new certificates.

A host tells those that it is engaged with which lists it has, by their numbers: when they meet, and
when it has a newer one. Who has an older one asks for it. So a list that one host is given is known
to its group within a second or two, and to a host that was away as soon as it is back. A list is
signed, so it does not matter who brings it.

A host asks for a new certificate when less than a third of the time of the one that it has is left.
A host that has the key of a deputy issues it: for the same key, name and addresses, for as long.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from nomospace.errors import NomospaceError
from nomospace.node.peer_questions import ANSWER_BYTES_MAX, PeerSilent
from nomospace.node.workers import WorkerHost
from nomospace.trust.authority import BACKDATE, new_serial
from nomospace.trust.certificates import CERTIFICATE_BYTES_MAX, Certificate
from nomospace.trust.moments import DAY

if TYPE_CHECKING:
    from nomospace.node.identity import Identity
    from nomospace.node.serve import Server

LOOK_S: Final = 0.5
ANSWER_S: Final = 5.0
AGAIN_S: Final = 5.0
"""After so long a host that gave no answer is asked again."""
MARK: Final = b"\0"
"""What questions about trust begin with; those of stories begin otherwise."""

_Raw: TypeAlias = bytes
_Numbers: TypeAlias = dict[_Raw, int]


class WhichLists(msgspec.Struct, frozen=True, array_like=True, tag="lists"):
    """I have these lists, by the keys of their authorities; give me newer ones."""

    numbers: _Numbers


class NewCertificates(msgspec.Struct, frozen=True, array_like=True, tag="renew"):
    """Renew these certificates of mine."""

    host: bytes
    controller: bytes = b""


class GivenLists(msgspec.Struct, frozen=True, array_like=True, tag="given"):
    """Lists, as they were signed."""

    lists: tuple[bytes, ...]


class Renewed(msgspec.Struct, frozen=True, array_like=True, tag="renewed"):
    """New certificates; empty where there is none."""

    host: bytes = b""
    controller: bytes = b""


_asked: Final[msgspec.msgpack.Decoder[WhichLists | NewCertificates]] = msgspec.msgpack.Decoder(
    WhichLists | NewCertificates
)
_given: Final[msgspec.msgpack.Decoder[GivenLists | Renewed]] = msgspec.msgpack.Decoder(
    GivenLists | Renewed
)
_encode = msgspec.msgpack.Encoder().encode


class TrustNews:
    """Asks and answers for one host; what is not about trust others answer."""

    def __init__(self, server: Server) -> None:
        self._identity = server.identity
        self._server = server
        self._note = server.note
        self._told: dict[str, _Numbers] = {}
        """What engaged hosts know of the lists of this one."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tried_at: dict[str, float] = {}

    async def answer(self, peer: str, body: bytes) -> bytes:
        """What a peer is told, of trust, of agents on record or of stories."""
        if body[:1] == MARK and self._identity is not None:
            return self._answer(self._identity, peer, body[1:])
        if isinstance(self._server.host, WorkerHost):
            known = self._server.host.answer(peer, body)
            if known is not None:
                return known
        return await self._server.stories.answer_peer(body)

    async def run(self) -> None:
        """For ever; a host without certificates has no news of them."""
        while self._identity is not None:
            await asyncio.sleep(LOOK_S)
            try:
                self._look(self._identity)
            except Exception as error:  # nobody else would look again
                self._note("look-failed", error=f"{type(error).__name__}: {error}")

    def _look(self, identity: Identity) -> None:
        engaged = self._server.host.core.group.members
        members = [peer for peer in engaged if peer != identity.name]
        self._told = {peer: known for peer, known in self._told.items() if peer in members}
        numbers = _numbers(identity)
        due = _due(identity)
        if due and identity.issuer() is not None:
            self._take(identity, self._renew(identity, identity.name, due))
            due = None
        now = asyncio.get_running_loop().time()
        for peer in members:
            news = self._told.get(peer) != numbers
            if (news or due) and peer not in self._asking and now >= self._tried_at.get(peer, 0):
                self._tried_at[peer] = now + AGAIN_S if not news else now
                task = asyncio.ensure_future(self._ask(identity, peer, numbers, due))
                self._asking[peer] = task
                task.add_done_callback(partial(self._ended, peer))

    def _ended(self, peer: str, _: asyncio.Task[None]) -> None:
        self._asking.pop(peer, None)

    async def _ask(
        self, identity: Identity, peer: str, numbers: _Numbers, due: NewCertificates | None
    ) -> None:
        try:
            given = await self._say(peer, WhichLists(numbers))
            self._told[peer] = numbers
            if isinstance(given, GivenLists):
                for signed in given.lists:
                    if identity.learn(signed):
                        self._note("revocations-learnt", host=peer)
            if due is not None:
                renewed = await self._say(peer, due)
                if isinstance(renewed, Renewed):
                    self._take(identity, renewed)
        except PeerSilent:  # it may be of a version that knows nothing of this
            self._tried_at[peer] = asyncio.get_running_loop().time() + AGAIN_S
        except NomospaceError as error:
            self._told[peer] = numbers
            self._note("trust-not-taken", host=peer, why=str(error))

    async def _say(self, peer: str, word: object) -> GivenLists | Renewed | None:
        answer = await self._server.host.peer_questions.ask(
            peer, MARK + _encode(word), seconds=ANSWER_S
        )
        try:
            return _given.decode(answer)
        except (msgspec.MsgspecError, RecursionError):
            return None

    def _take(self, identity: Identity, renewed: Renewed) -> None:
        for role, pem in (("host", renewed.host), ("controller", renewed.controller)):
            if pem and len(pem) <= CERTIFICATE_BYTES_MAX:
                identity.renew(role, pem)
                self._note("certificate-renewed", role=role)

    def _answer(self, identity: Identity, peer: str, body: bytes) -> bytes:
        try:
            asked = _asked.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return _encode(GivenLists(()))
        if isinstance(asked, NewCertificates):
            return _encode(self._renew(identity, peer, asked))
        newer: list[bytes] = []
        room = ANSWER_BYTES_MAX // 2
        for raw, one in identity.lists().items():
            there = asked.numbers.get(raw, 0)
            if there < one.number and len(one.signed) <= room:
                room -= len(one.signed)
                newer.append(one.signed)
            elif there > one.number:
                self._told.pop(peer, None)  # so it is asked
        return _encode(GivenLists(tuple(newer)))

    def _renew(self, identity: Identity, peer: str, asked: NewCertificates) -> Renewed:
        """New certificates for a host that has some, if this one may issue them."""
        issuer = identity.issuer()
        if issuer is None:
            return Renewed()
        made: dict[str, bytes] = {}
        now = identity.now()
        try:
            found = identity.check_host(asked.host)
            if found.subject == peer:
                made["host"] = issuer.issue_host(
                    peer, found.key, addresses=found.addresses,
                    serial=new_serial(), now=now, days=_days(found),
                )  # fmt: skip
            seals = identity.check_controller(asked.controller) if asked.controller else None
            if seals is not None and seals.subject == peer:
                made["controller"] = issuer.issue_controller(
                    peer, seals.key, serial=new_serial(), now=now, days=_days(seals)
                )
        except NomospaceError as error:
            self._note("certificate-not-renewed", host=peer, why=str(error))
        return Renewed(**made)


def _numbers(identity: Identity) -> _Numbers:
    return {raw: one.number for raw, one in identity.lists().items()}


def _days(certificate: Certificate) -> float:
    """For how long it was made."""
    return (certificate.not_after - certificate.not_before - BACKDATE) / DAY


def _due(identity: Identity) -> NewCertificates | None:
    """The certificates of a host, when one of them is to be renewed."""
    mine, seals = identity.papers.certificate, identity.papers.controller
    ends: list[Certificate] = [mine, *([] if seals is None else [seals[1]])]
    if all(one.not_after - identity.now() > _days(one) * DAY / 3 for one in ends):
        return None
    return NewCertificates(mine.der, b"" if seals is None else seals[1].der)
