"""Which birth of each peer this host deals with, and what follows when a peer has forgotten all.

A frame with a number is looked at here before the number counts (`protocols.births`). When a peer
turns out to be of a later birth, the one that things were under way to is gone, with whatever it
had placed. So everything that is still under way is given to the new one, under new numbers, and
what the new one gives is counted from 1: in the one step that notes its birth. Late frames of the
old one count no more.

Where neighbours have proved who they are, only a host itself says that it was born again: over a
link of its own, and not through others, who could make this host forget what it has got of it. Of
a host that says so from further away a link is asked for.

What else remembers a peer by its name needs nothing here. Streams, and all that rests on them
(watches, mirrors, leases, reactions, lines of the directory), belong to a session, and a host that
starts again has none. Tuples that wait for its agents wait for agents, wherever those come. What
its agents number, tuples and posts, begins above all that a former birth gave (`births.era_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomospace.host.changes import BirthLearnt, Durable
from nomospace.host.part import HostPart
from nomospace.protocols.births import BEFORE, SILENT, BirthNews, Births, Word
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.transfers import Taken, Transfer

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Peers(HostPart):
    """The births that a host knows, and what it does when one is over."""

    def __init__(self, host: HostParts, birth: int, durable: Durable) -> None:
        super().__init__(host)
        pairs = dict(durable.births)
        if birth == BEFORE:  # with whom there are numbers, births were never spoken of
            for book in (durable.transfers, durable.parcels):
                for peer in (*book.numbers, *book.placed):
                    pairs.setdefault(peer, (SILENT, birth))
        self.birth = birth
        """Of this host."""
        self.births = Births(birth, pairs)
        self.stamp = self.births.stamp
        """What a frame for a peer says: the birth of this host, and that of the peer."""

    def hear(
        self, peer: str, frame: Parcel | Receipt | Transfer | Taken, *, straight: bool
    ) -> Word | None:
        """What a frame is worth, once what is news in it is known; `None`: it is not believed."""
        word, news = self.births.weigh(peer, frame.birth, frame.to)
        if news is not None:
            if news.anew and self._host.proven and not straight:
                self._step.note("birth-unproven", peer=peer, birth=frame.birth)
                self._host.group.want_link(peer)
                return None
            self._learn(peer, news)
        return word

    def remembers(self, peer: str) -> bool:
        """Whether there were ever numbers for a peer, or of it."""
        group, posting = self._host.group, self._host.posting
        return peer in self.births.pairs or group.under_way(peer) > 0 or posting.owes(peer)

    def acquaint(self, peer: str) -> None:
        """Before the first number for a peer: know its birth, if the group's directory has it."""
        if peer not in self.births.pairs:
            birth = self._host.group.birth_of(peer)
            if birth is not None:
                self.introduce(peer, birth)

    def introduce(self, peer: str, birth: int) -> None:
        """A group's directory has the birth of a peer; others may have written that."""
        news = self.births.introduce(peer, birth)
        if news is not None and not (news.anew and self._host.proven):
            self._learn(peer, news)

    def _learn(self, peer: str, news: BirthNews) -> None:
        host = self._host
        known = self.births.stamp(peer)[1]
        self.births.learn(peer, news)
        self._step.write_down(BirthLearnt(peer, news.birth, news.own, news.anew))
        if news.anew:
            host.group.renew(peer)
            self._step.note("peer-reborn", peer=peer, known=known, birth=news.birth)
        host.posting.renew(peer, anew=news.anew)
        host.group.retell(peer)
