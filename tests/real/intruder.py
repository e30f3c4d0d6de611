"""An insider: a host with a certificate of its own, that says to other hosts whatever it likes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nomospace.protocols.courier import Courier, Parcel, Receipt
from nomospace.protocols.messages import Adverts, Relay
from nomospace.protocols.routing.frames import Post, RecordAck, Register, SeekAgent
from nomospace.protocols.transfers import Transfers
from tests.real.hosts import RealHost, seen
from tests.real.trust import Trust
from tests.sites import Site, site


class Insider:
    """A linked host that obeys no rule but the transport's: TLS takes it for who it is."""

    def __init__(self, links: Site) -> None:
        self.site = links
        self.name = links.name
        self._courier = Courier(Transfers(), now=0)

    async def reach(self, host: RealHost) -> None:
        """Wait for the link."""
        await seen(
            lambda: host.name in self.site.links.neighbours(),
            lambda: f"no link to {host.name}: {self.site.notes.notes}",
        )
        self.site.send(host.name, Adverts(()))  # a sign of life: what waits for us comes soon

    def say(self, to: RealHost, frame: Any) -> None:
        """Send a frame as it is."""
        self.site.send(to.name, frame)

    def hand(self, to: RealHost, what: Any) -> int:
        """Send a parcel, rightly numbered; its number."""
        number, _ = self._courier.send(to.name, what, now=0)
        self.site.send(to.name, Parcel(number, what))  # as a host does that knows of no births
        return number

    def parcels(self) -> list[Any]:
        """What others have sent by courier, again and again perhaps, each once."""
        found: dict[tuple[str, int], Any] = {}
        for peer, frame in self.site.heard:
            body = frame.body if isinstance(frame, Relay) else frame
            if isinstance(body, Parcel):
                found.setdefault((peer, body.number), body.what)
        return list(found.values())

    async def taken(self, by: RealHost, number: int) -> None:
        """Wait until a parcel was taken, whatever was made of it."""

        def receipts() -> list[int]:
            heard = self.site.heard
            return [frame.number for _, frame in heard if isinstance(frame, Receipt)]

        await seen(lambda: max(receipts(), default=0) >= number, lambda: f"{by.name} is silent")

    def knows(self, *secrets: str) -> list[str]:
        """Which of these words stand in anything that it was ever sent."""
        told = repr(self.site.heard)
        return [secret for secret in secrets if secret in told]

    # -- the part of a domain's server, as far as it is needed to get mail in hand --------------

    def serve(self, host: RealHost) -> None:
        """Let agents of a domain register here: their mail comes this way from then on."""
        for peer, frame in list(self.site.heard):
            body = frame.body if isinstance(frame, Relay) else frame
            if isinstance(body, Parcel) and peer == host.name:
                if not self._courier.book.is_next(peer, body.number):
                    continue
                self._courier.book.place(peer, body.number)
                self.site.send(peer, Receipt(body.number))
                if isinstance(body.what, Register):
                    asked = body.what
                    self.hand(host, RecordAck(asked.domain, asked.agent, asked.epoch))

    def posts(self) -> dict[tuple[str, int], Post]:
        """The mail that came to be passed on, by receiver and number."""
        found = [what.post for what in self.parcels() if isinstance(what, SeekAgent)]
        return {(post.to, post.n): post for post in found}


@asynccontextmanager
async def insider(trust: Trust, name: str, *hosts: RealHost) -> AsyncIterator[Insider]:
    """An insider that is linked with hosts."""
    if not (trust.folder / "hosts" / name).exists():
        trust.host(name)
    async with site(name, *[host.address for host in hosts], trust=trust) as here:
        made = Insider(here)
        for host in hosts:
            await made.reach(host)
        yield made
