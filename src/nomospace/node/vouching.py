"""Seals at work: letters that leave a host are sealed, letters that come in are judged.

`Vouching` is asked by the core which letters to believe; `SealedLinks` stands between the driver
and the wires and puts seals on the letters of this host's agents as they leave. What leaves in one
turn of the event loop shares one signature, so the busier a host is, the less a seal costs.

A law that says `clearMessages` has its letters go without seals. A law with a `cAuthority` believes
controllers that this authority has certified, another law those of the hosts' own authority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from nomospace.calls.addresses import split_key
from nomospace.host.posting import UNSEALED, Letter
from nomospace.law import CompiledLaw
from nomospace.node.identity import Identity
from nomospace.node.links import Hear, HostLinks
from nomospace.protocols.courier import Parcel
from nomospace.protocols.messages import Relay
from nomospace.protocols.routing.frames import Frame, Post, post_in, with_post
from nomospace.trust.certificates import WrongSubject
from nomospace.trust.keys import NotAPublicKey, PublicKey
from nomospace.trust.seals import NotAuthentic, Signer, Verifier, digest_post

VERIFIERS_MAX: Final = 1_000
"""For how many authorities of laws a host keeps what it has checked."""
QUEUE_MAX: Final = 10_000
"""How many frames wait for the end of a turn; past it the turn is cut in two."""


class Vouching:
    """What one host believes, and what it can make others believe."""

    def __init__(self, identity: Identity, now: Callable[[], int]) -> None:
        self._identity = identity
        self._now = now
        self._verifiers: dict[PublicKey, Verifier] = {}
        self._signer: tuple[Any, Signer] | None = None

    # -- what the core asks ------------------------------------------------------------------

    def letter_objection(self, law: CompiledLaw, post: Post) -> NotAuthentic | None:
        """Why a letter from elsewhere is not to be believed, if it is not."""
        letter = post.body
        if law.tree.clear_messages:
            return None
        if letter.seal == UNSEALED:
            why = "it has no seal, and its law does not allow clear messages"
            return NotAuthentic(reason="trust.no-seal", why=why)
        try:
            self._verifier(law).check(_digest(post, letter), letter.seal, now=self._now())
        except NotAuthentic as error:
            return error
        return None

    def own_objection(self, law: CompiledLaw) -> str:
        """Why this host's controllers cannot speak under a law; empty when they can."""
        if law.tree.clear_messages:
            return ""
        signer = self.signer()
        if signer is None:
            return "this host has no certificate of a controller"
        if signer.not_after <= self._now():
            return "the certificate of this host's controllers has run out"
        return ""

    def certificate(self) -> bytes:
        """What this host shows those it engages with: the certificate of its controllers."""
        held = self._identity.papers.controller
        return b"" if held is None else held[1].der

    def host_objection(
        self, law: CompiledLaw, host: str, certificate: bytes
    ) -> NotAuthentic | None:
        """Why a host that shows a certificate over its own link is not believed, if it is not.

        What engaged hosts say to each other has no seals: TLS has proved which host speaks, and
        the certificate says that its controllers may.
        """
        if law.tree.clear_messages:
            return None
        if not certificate:
            why = f"{host} has shown no certificate of controllers over a link of its own"
            return NotAuthentic(reason="trust.no-papers", why=why)
        try:
            found = self._verifier(law).controller(certificate, now=self._now())
        except NotAuthentic as error:
            return error
        if found.subject == host:
            return None
        why = f"{host} shows the certificate of {found.subject}"
        return NotAuthentic(reason=WrongSubject.code, why=why)

    def _verifier(self, law: CompiledLaw) -> Verifier:
        """Who checks what stands under a law; raises `NotAuthentic` where it names no key."""
        text = law.tree.controller_authority
        try:
            key = self._identity.papers.authority if text is None else PublicKey.read(text)
        except NotAPublicKey as error:
            raise NotAuthentic(reason=error.code, why=str(error)) from None
        found = self._verifiers.get(key)
        if found is None:
            if len(self._verifiers) >= VERIFIERS_MAX:
                del self._verifiers[next(iter(self._verifiers))]
            found = self._verifiers[key] = Verifier(key, self._identity.revocations)
        return found

    def signer(self) -> Signer | None:
        """What this host seals with, as its files are now."""
        held = self._identity.papers.controller
        if held is None:
            return None
        if self._signer is None or self._signer[0] is not held:
            key, certificate = held
            self._signer = (held, Signer(key, certificate.der))
        return self._signer[1]


class SealedLinks:
    """Links over which this host's own letters go sealed. Frames to a host keep their order."""

    def __init__(
        self, links: HostLinks, vouching: Vouching, law: Callable[[str], CompiledLaw | None]
    ) -> None:
        self._links = links
        self._vouching = vouching
        self._law = law
        self._queue: list[tuple[str, str | None, Any]] = []
        self._posts: list[tuple[int, Post]] = []

    def join(self, name: str, hear: Hear) -> None:
        """The host of this process hears with this function."""
        self._links.join(name, hear)

    def leave(self, name: str) -> None:
        """The host of this process hears no more."""
        self._links.leave(name)

    def address_of(self, host: str) -> str:
        """Where another host listens, if the wires know."""
        find = getattr(self._links, "address_of", None)
        return "" if find is None else str(find(host))

    def transmit(self, sender: str, to: str | None, frame: object) -> None:
        """Send a frame; one with a letter of this host's waits for the end of the turn."""
        post = own_post(sender, frame)
        if post is not None:
            law = self._law(split_key(post.body.law)[0])
            if law is not None and not law.tree.clear_messages:
                if not self._queue:
                    asyncio.get_running_loop().call_soon(self._flush)
                self._posts.append((len(self._queue), post))
        if not self._queue and not self._posts:
            self._links.transmit(sender, to, frame)
            return
        self._queue.append((sender, to, frame))
        if len(self._queue) >= QUEUE_MAX:
            self._flush()

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        posts, self._posts = self._posts, []
        signer = self._vouching.signer()
        if posts and signer is not None:
            seals = signer.seal([_digest(post, post.body) for _, post in posts])
            for (at, post), seal in zip(posts, seals, strict=True):
                sender, to, frame = queue[at]
                queue[at] = (sender, to, sealed(frame, post, seal))
        for sender, to, frame in queue:
            self._links.transmit(sender, to, frame)


def own_post(host: str, frame: object) -> Post | None:
    """The post in a frame, if it is a letter that a controller of this host sends."""
    parcel = frame.body if isinstance(frame, Relay) and frame.src == host else frame
    if not isinstance(parcel, Parcel):
        return None
    post = post_in(parcel.what)
    if post is None or post.origin != host or post.why:
        return None
    letter = post.body
    return post if isinstance(letter, Letter) and not letter.seal else None


def sealed(frame: Any, post: Post, seal: bytes) -> Any:
    """The same frame with a seal on its letter."""
    letter = msgspec.structs.replace(post.body, seal=seal)
    whole = msgspec.structs.replace(post, body=letter)
    if isinstance(frame, Relay):
        return msgspec.structs.replace(frame, body=_reparcel(frame.body, whole))
    return _reparcel(frame, whole)


def _reparcel(parcel: Parcel, post: Post) -> Parcel:
    what: Frame = with_post(parcel.what, post)
    return msgspec.structs.replace(parcel, what=what)


def _digest(post: Post, letter: Letter) -> bytes:
    return digest_post(post.id, letter.law, letter.sender, letter.message)
