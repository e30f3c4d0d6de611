"""Digests: which kinds of tuples hosts hold of a space, so that only those are asked who may.

A host that watches for an operation of a peer tells it, once, the kinds of tuples it holds of that
space (`space.kinds`), and from then on what changes: a kind that comes, at the end of the step in
which its first tuple came; one that is gone, some seconds later. Who does not wait is told nothing.

    asking host                          host that shares the space
    ----------- Watch ----------------->
    <-- DirectoryChanged(0, digests) --  all kinds that lie there
         ... operations of other kinds set no watch there ...
    <-- DirectoryChanged(0, digests) --  a tuple of a new kind has come
    ----------- Watch ----------------->  for those operations that wait for it

A digest that is behind may cost a question, never an answer: a peer of which nothing is known may
hold anything, and an operation that passed a peer over is spread to it when a kind comes there.
Reactions are not passed over: a watchdog that came after the news would miss what was taken before.

Digests ride in the stream of two hosts, so none is lost or overtaken in a session; both ends forget
them with it. They go to hosts that share the space under the same law, and are believed under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.host.part import GroupFollower
from nomospace.protocols.spaces import DirectoryChanged, SpaceDigest
from nomospace.space.kinds import ANYTHING, Kinds, asked_kind, many_kind

if TYPE_CHECKING:
    from nomospace.host.operations import Op
    from nomospace.host.ports import HostParts
    from nomospace.host.residents import Level
    from nomospace.terms.templates import Template

SWEEP_US: Final = 2_000_000
"""How often it is seen which kinds are gone: one is told as gone after once or twice as long."""
SWEPT_IN_STEP: Final = 4_096
"""How many first fields of tuples are gone through for that in one step, or those of one space."""
DIGESTS_MAX: Final = 256
"""Spaces of which a host tells digests."""
KNOWN_MAX: Final = 4_096
"""Kinds of one space that are known of a peer; past it, it may hold anything."""
UNASKED_MAX: Final = 64
"""How often a peer is told what changed since it last had something watched for."""


class Digest:
    """The digest of one space of this host, and the peers that are told it."""

    __slots__ = ("hearers", "kinds", "level")

    def __init__(self, level: Level, kinds: Kinds) -> None:
        self.level = level
        self.kinds = kinds
        self.hearers: dict[str, int] = {}
        """How often each was told since it last had something watched for."""


class Digests(GroupFollower):
    """What this host may hold of its shared spaces, as peers are told; and what these have told."""

    timed = False
    """It wants to hear the time only when others do."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self._told: dict[str, Digest] = {}
        self._known: dict[str, dict[str, set[int]]] = {}
        self._sweep_at = 0
        self._unswept: dict[str, None] = {}
        """Digests that are still to be swept, before the time comes again."""
        self.fresh: dict[str, None] = {}
        """Spaces of which there is something to tell at the end of this step."""
        self.heard = 0
        """Operations of peers that were to be watched for here, and """
        self.spared = 0
        """hosts that operations here passed over, since they could hold nothing that fits."""

    def figures(self) -> dict[str, float]:
        """Both, for who measures."""
        return {"heard": self.heard, "spared": self.spared}

    # -- what others are told --------------------------------------------------------------

    def watched(self, peer: str, level: Level, template: Template) -> None:
        """A peer has something watched for: it is told what lies there, and from now on changes."""
        self.heard += 1
        if template.meant or level.partition is not None:
            return  # it would ask all the same, or go by the key
        digest = self._told.get(level.name)
        if digest is not None and digest.level is not level:
            self._end(level.name)
            digest = None
        if digest is None:
            noted = partial(self.fresh.__setitem__, level.name, None)
            kinds = None if len(self._told) >= DIGESTS_MAX else level.space.follow_kinds(noted)
            if kinds is None:
                return
            digest = self._told[level.name] = Digest(level, kinds)
        if peer not in digest.hearers and self._shares(peer, level):
            self._say(peer, SpaceDigest(level.name, tuple(digest.kinds.whole()), whole=True))
            digest.hearers[peer] = 0
        elif peer in digest.hearers:
            digest.hearers[peer] = 0
        self._drop_idle(level.name)

    def tell(self) -> None:
        """Tell the peers which kinds came in this step, and which are gone."""
        for name in self.fresh:
            digest = self._told.get(name)
            if digest is None:
                continue
            came, gone = digest.kinds.news()
            news = SpaceDigest(name, tuple(came), tuple(gone))
            for peer, unasked in list(digest.hearers.items()):
                if unasked < UNASKED_MAX and self._shares(peer, digest.level):
                    digest.hearers[peer] = unasked + 1
                    self._say(peer, news)
                else:
                    self._end(name, peer)
        self.fresh.clear()

    def _shares(self, peer: str, level: Level) -> bool:
        lines = self._host.group.entries.get(peer)
        return lines is not None and lines.shares(level.name, level.law, ontology=level.ontology)

    def _say(self, peer: str, digest: SpaceDigest) -> None:
        self._host.group.tell(peer, DirectoryChanged(0, digests=(digest,)))

    def _end(self, name: str, peer: str | None = None) -> None:
        """Tell a peer no more, or nobody; it counts this host as one that may hold anything."""
        digest = self._told[name]
        for one in list(digest.hearers) if peer is None else [peer]:
            del digest.hearers[one]
            self._say(one, SpaceDigest(name, (ANYTHING,), whole=True))
        self._drop_idle(name)

    def _drop_idle(self, name: str) -> None:
        if not self._told[name].hearers:
            self._told.pop(name).level.space.ignore_kinds()

    def tick(self) -> None:
        """Time has passed: see which kinds are gone."""
        if self._unswept:
            self._sweep_some()
            return
        if self._step.now < self._sweep_at or not (self._told or self._known):
            return
        self._sweep_at = self._step.now + SWEEP_US
        for name in [name for name in self._known if name not in self._spaces.levels]:
            del self._known[name]
        self._unswept = dict.fromkeys(self._told)
        self._sweep_some()

    def _sweep_some(self) -> None:
        """Sweep some digests; the rest when time has passed again."""
        left = SWEPT_IN_STEP
        while self._unswept and left > 0:
            name, _ = self._unswept.popitem()
            digest = self._told.get(name)
            if digest is not None and not self._ended(name):
                left -= 1 + digest.kinds.size
                digest.kinds.sweep()

    def next_deadline(self) -> int | None:
        """It has none of its own: hosts hear the time with each of their heartbeats."""
        return None

    def shift(self, host: str, news: DirectoryChanged) -> None:
        for one in news.parted:
            if one.space in self._told:
                self._ended(one.space)

    def _ended(self, name: str) -> bool:
        """Whether a space that was told of is shared here no more; then that is told."""
        level = self._told[name].level
        if self._spaces.levels.get(name) is level and level.sharers:
            return False
        self._end(name)
        return True

    # -- what others have told -------------------------------------------------------------

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        """A peer may have told what it holds; `Seeking`, which hears it next, goes by that."""
        if not (news.edition or news.digests):
            self._forget(peer)  # an older host on the way has left them out
        for one in news.digests:
            if one.space not in self._spaces.levels:
                self._known.pop(one.space, None)
                continue
            known = self._known.setdefault(one.space, {})
            kinds = set() if one.whole else known.get(peer)
            if kinds is None:
                continue
            kinds.difference_update(one.gone)
            kinds.update(one.came)
            if ANYTHING in kinds or len(kinds) > KNOWN_MAX:
                known.pop(peer, None)
            else:
                known[peer] = kinds

    def hopeful(self, one: Op, sites: Mapping[str, None]) -> Iterable[str]:
        """Those of some hosts that may hold something for an operation, or all: the same object."""
        seek = one.seek
        known = self._known.get(seek.space)
        if not known or seek.sets is not None or seek.template.meant:
            return sites
        kind = one.kind = one.kind or asked_kind(seek.template)
        many = many_kind(seek.template.arity)
        found = [
            site
            for site in sites
            if (kinds := known.get(site)) is None or kind in kinds or many in kinds
        ]
        self.spared += len(sites) - len(found)
        return found if len(found) < len(sites) else sites

    def lost(self, peer: str) -> None:
        """Contact with a peer is lost: what either told the other is forgotten at both ends."""
        self._forget(peer)
        for name in [name for name, digest in self._told.items() if peer in digest.hearers]:
            del self._told[name].hearers[peer]
            self._drop_idle(name)

    def _forget(self, peer: str) -> None:
        for known in self._known.values():
            known.pop(peer, None)
