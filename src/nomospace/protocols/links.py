"""Links: who hears whom, who belongs to one component, and the way to everyone in it.

With every heartbeat a host says hello to whoever can hear. A neighbour is heard while a hello of it
came within its loss, which the hello names (`pace`). A link counts when both ends hear each other
and the policies of both accept it: a hello names only those whose link its sender would have, so
one look at a neighbour's hello settles it, and a link that ends is soon unlisted by both ends.

Each host has an *advert*: its links and its installed view, under a version that grows: the time,
or one more than the last, and the life, so that no two lives give the same version. A new advert
is flooded: each host passes it on once, over links to those who are not told by the one that it
has it from. What a flood missed is mended by hellos: each has a digest of the adverts of its
sender's component. To a linked neighbour whose digest differs a host says which versions it holds
(`KnownVersions`), and is sent the newer ones. An edge is in the graph when the adverts of both ends
list each other. The component of a host is what it reaches over edges; the next hop to a member is
the first step of a shortest way, the least by name among equals, so everyone with the same adverts
draws the same picture.

Work is paced by its size, so that a meeting of many does not drown in its own news: adverts that
come while a host has just passed others on wait for the next frame, and the graph is drawn anew
after a pause that grows with it. A host that knows `FEW` others or less waits for neither.

Bounds. A neighbour that falls silent is unlisted after its loss, or a heartbeat later if it was
this host that did not get to run. A change is known `d` links away
after `d` delays, or with lost frames `d` heartbeats for each loss in a row. A host keeps at most
`HOSTS_MAX` adverts; in a larger group newcomers are not seen. Adverts of hosts that are out of
reach are forgotten after `FORGET`. At most `HOSTS_MAX` neighbours are heard.

LIME 4.2 leaves the detection of links to the network; the rest of this file is what it takes for
hosts without a link of their own to be one group.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final
from zlib import crc32

from nomospace.protocols.events import Effect, Transmit
from nomospace.protocols.messages import Advert, Adverts, HelloFrame, KnownVersions, Relay, ViewId
from nomospace.protocols.pace import FEW, LOSS, LOSS_MAX, USUAL, Pace, believable
from nomospace.protocols.policy import NotAPosition, Policy, Reachable, is_position
from nomospace.terms import Term

FORGET: Final = 600_000_000
"""How long the advert of a host that is out of reach is kept."""
HOSTS_MAX: Final = 4_096
"""The most hosts, and the most neighbours, that a host knows."""
ADVERTS_MAX: Final = 64
"""The most adverts in one frame."""
LIVES: Final = 256
"""Lives in a row whose adverts are told apart by their version alone."""
HOPS_SPARE: Final = 4
"""A relayed body may take this many hops more than there are members, while ways change."""
FLOOD_US: Final = 20_000
"""The least pause between two floods of a host that knows many."""
FRAME_US: Final = 4_000
"""How much time a host takes for each frame of a flood, before it sends more than `BURST`."""
BURST: Final = 32
"""So many frames of floods go out at once; half a heartbeat is the longest pause."""
DRAW_US: Final = 500
"""The pause between two drawings of the graph, for each host past the first `FEW`."""
EDGE_US: Final = 50
"""What each link of each of those adds to it."""
_MASK: Final = (1 << 63) - 1


@lru_cache(maxsize=2 * HOSTS_MAX)
def _mark(host: str, version: int) -> int:
    """What an advert adds to a digest: 63 bits that two different adverts hardly share."""
    mark = (version ^ (crc32(host.encode()) << 32)) & _MASK
    mark = ((mark ^ (mark >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mark = ((mark ^ (mark >> 27)) * 0x94D049BB133111EB) & _MASK
    return mark ^ (mark >> 31)


class Neighbour:
    """What a host knows of one that it hears."""

    __slots__ = ("accepted", "asked_at", "at", "beat", "hears_me", "info", "life", "linked", "loss")

    def __init__(self, life: int) -> None:
        self.life = life
        self.beat = -1
        self.at = 0
        self.asked_at = 0
        self.info: Term = None
        self.hears_me = False
        self.accepted = False
        self.linked = False
        self.loss = LOSS


class Links:
    """The links of one host and its picture of the component: a part of `Engagement`.

    >>> ann = Links("ann", life=1, view=(1, "ann"), now=0)
    >>> hello = HelloFrame("bob", life=1, beat=1, heard={"ann": 1}, digest=0)
    >>> effects = []
    >>> ann.hear_hello("bob", hello, 0, effects)
    True
    >>> ann.adverts["ann"].neighbours
    ('bob',)
    >>> ann.component  # bob's own advert has to say so too
    ('ann',)
    """

    def __init__(
        self,
        host: str,
        *,
        life: int,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        view: ViewId,
        now: int,
    ) -> None:
        self.host = host
        self.life = life
        self.pace = pace
        self.policy: Policy = Reachable() if policy is None else policy
        self.willing = self.policy.willing
        self.info: Term = None
        self.neighbours: dict[str, Neighbour] = {}
        version = now * LIVES + life % LIVES
        self.adverts: dict[str, Advert] = {host: Advert(host, version, (), view)}
        self.edition = 0
        """Counts the adverts that were taken in: while it stays, they are as they were."""
        self.component: tuple[str, ...] = (host,)
        self._ways: dict[str, str] = {}
        self._digest = _mark(host, version)
        self._unreached: dict[str, int] = {}
        self._vector: dict[str, int] | None = None
        self._heard: dict[str, int] | None = None
        self._beat = 0
        self._hello_at = now
        self._silent_at = now + LOSS_MAX
        self._relinked = False
        self._news: dict[str, str] = {}  # whose advert must be passed on, and who said it
        self._news_at = now - pace.settle
        self._asked_at = now - pace.settle
        self._flood_at = now
        self._flooded_until = now
        self._ticked_at = now
        self._stale = False
        self._draw_at = now

    # -- hellos ----------------------------------------------------------------------------

    def _hello(self) -> HelloFrame:
        """The next hello. Its dict is made anew when it changes, never changed."""
        self._beat += 1
        if self._heard is None:
            near = self.neighbours.items()
            self._heard = {name: one.life for name, one in near if one.accepted}
        return HelloFrame(
            self.host,
            self.life,
            self._beat,
            self._heard,
            self._digest,
            self.info,
            self.pace.loss,
        )

    def hear_hello(self, name: str, hello: HelloFrame, now: int, effects: list[Effect]) -> bool:
        """Take a neighbour's hello in; whether it said anything new."""
        one = self.neighbours.get(name)
        if (
            one is not None
            and hello.beat > one.beat
            and hello.life == one.life
            and (hello.heard.get(self.host) == self.life) is one.hears_me
            and hello.info == one.info
            and (hello.digest == self._digest or not self._would_ask(one, now))
        ):
            one.beat = hello.beat
            one.at = now
            return False
        return self._take_in(name, hello, now, effects)

    def _would_ask(self, one: Neighbour, now: int) -> bool:
        """Whether it is time to say what is known, to one who knows something else.

        While news still comes, differences mostly mend themselves; and one answer mends many.
        """
        if self._knows_few() or not one.linked:
            return one.linked
        quiet_at = min(self._news_at + self.pace.settle, one.asked_at + self.pace.loss)
        return now >= max(quiet_at, self._asked_at + self.pace.settle)

    def _knows_few(self) -> bool:
        return len(self.adverts) <= FEW and len(self.neighbours) <= FEW

    def _take_in(self, name: str, hello: HelloFrame, now: int, effects: list[Effect]) -> bool:
        if name == self.host or hello.host != name:
            return False
        one = self.neighbours.get(name)
        if one is not None and (hello.life, hello.beat) <= (one.life, one.beat):
            return False  # overtaken by a later one, or heard twice
        if one is None or hello.life != one.life:
            if one is None and len(self.neighbours) >= HOSTS_MAX:
                return False
            if one is not None and one.linked:
                self._relinked = True
            one = self.neighbours[name] = Neighbour(hello.life)
            self._heard = None
        first = one.beat < 0
        one.beat = hello.beat
        one.at = now
        one.info = hello.info
        one.loss = believable(hello.loss)
        self._silent_at = min(self._silent_at, now + one.loss)
        one.hears_me = hello.heard.get(self.host) == self.life
        changed = self._judge(one)
        if first or changed:  # it need not wait for the next heartbeat to know
            effects.append(Transmit(name, self._hello()))
        self._link(one)
        if hello.digest != self._digest and self._would_ask(one, now):
            self._asked_at = one.asked_at = now
            effects.append(Transmit(name, KnownVersions(self._known())))
        self._spread(now, effects)
        return True

    def _judge(self, one: Neighbour) -> bool:
        """Ask the policy anew; whether its answer changed."""
        accepted = self.willing and self.policy.accepts(self.info, one.info, accepted=one.accepted)
        if accepted is one.accepted:
            return False
        one.accepted = accepted
        self._heard = None
        return True

    def _link(self, one: Neighbour) -> None:
        """Take up or give up a link, as both ends would have it."""
        linked = one.accepted and one.hears_me
        self._relinked |= linked is not one.linked
        one.linked = linked

    def announce(self, willing: bool, now: int, effects: list[Effect]) -> None:
        """Take up links from now on, or give up all there are."""
        self.willing = willing
        self._judge_all(now, effects)

    def move(self, position: tuple[float, ...], now: int, effects: list[Effect]) -> None:
        """Be somewhere else; the next hello says where."""
        if not is_position(position):
            raise NotAPosition(position=position)
        self.info = position
        self._judge_all(now, effects)

    def _judge_all(self, now: int, effects: list[Effect]) -> None:
        """Ask the policy about every neighbour; who is concerned need not wait to be told."""
        if [name for name, one in self.neighbours.items() if self._judge(one)]:
            self._hello_at = now + self.pace.heartbeat
            effects.append(Transmit(None, self._hello()))
        for one in self.neighbours.values():
            self._link(one)
        self._spread(now, effects)

    # -- adverts ---------------------------------------------------------------------------

    def set_view(self, view: ViewId, now: int, effects: list[Effect]) -> None:
        """Let the advert carry a newly installed view."""
        self._advertise(view, now)
        self._spread(now, effects)

    def _advertise(self, view: ViewId, now: int) -> None:
        stamp = max(self.adverts[self.host].version // LIVES + 1, now)
        linked = tuple(sorted([name for name, one in self.neighbours.items() if one.linked]))
        self._relinked = False
        self._hold(Advert(self.host, stamp * LIVES + self.life % LIVES, linked, view), "", now)

    def hear_adverts(self, name: str, frame: Adverts, now: int, effects: list[Effect]) -> None:
        """Take adverts in, and pass on those that are new."""
        if name not in self.neighbours:
            return
        for advert in frame.adverts:
            held = self.adverts.get(advert.host)
            if held is not None and held.version >= advert.version:
                continue
            if advert.host == self.host:
                self._advertise(self.adverts[self.host].view, advert.version // LIVES + 1)
            elif held is not None or self._has_room(now):
                self._hold(advert, name, now)
        self._spread(now, effects)

    def hear_known(self, name: str, frame: KnownVersions, now: int, effects: list[Effect]) -> None:
        """Send a neighbour what it lacks.

        Of hosts out of reach, only what is newer than what it has. It may be the trace of a
        former life whose clock ran ahead; the way to its host goes through whoever has less.
        """
        one = self.neighbours.get(name)
        if one is None or not one.accepted:
            return
        vector = frame.vector
        mine = self.adverts[self.host]
        held = vector.get(self.host, -1)
        if held > mine.version:  # an advert of an earlier life, by a clock that ran ahead
            self._advertise(mine.view, held // LIVES + 1)
        self._spread(now, effects)
        lacks = []
        for host, advert in self.adverts.items():
            held = vector.get(host, -1)
            if held < advert.version and (held >= 0 or self.reaches(host)):
                lacks.append(advert)
        self._tell(name, lacks, effects)

    def _known(self) -> dict[str, int]:
        """The version of each advert that is held; a dict that is never changed."""
        if self._vector is None:
            self._vector = {host: advert.version for host, advert in self.adverts.items()}
        return self._vector

    def _hold(self, advert: Advert, source: str, now: int) -> None:
        host = advert.host
        held = self.adverts.get(host)
        self.adverts[host] = advert
        self.edition += 1
        self._vector = None
        self._news[host] = source
        self._news_at = now
        if held is None or held.neighbours != advert.neighbours:
            self._stale = True
        elif self.reaches(host):
            gone = _mark(host, held.version)
            self._digest = (self._digest - gone + _mark(host, advert.version)) & _MASK

    def _has_room(self, now: int) -> bool:
        """Whether one more advert fits, if need be in place of the one longest out of reach."""
        if len(self.adverts) < HOSTS_MAX:
            return True
        if not self._unreached:
            self._note_reach(now)
        if not self._unreached:
            return False
        self._drop(min(self._unreached, key=lambda name: (self._unreached[name], name)))
        return True

    def _drop(self, name: str) -> None:
        del self.adverts[name]
        del self._unreached[name]
        self._news.pop(name, None)
        self._vector = None

    def _spread(self, now: int, effects: list[Effect]) -> None:
        """Pass news on and draw the graph anew, each when it is time."""
        if (self._relinked or self._news) and now >= self._flood_at:
            if self._relinked:
                self._advertise(self.adverts[self.host].view, now)
            self._flood_at = self._rest_after(self._flood(effects), now)
        if self._stale and now >= self._draw_at:
            self._draw_at = now + self._draw()

    def _flood(self, effects: list[Effect]) -> int:
        """Tell every link the news that it is not told by others; how many frames it took.

        Whoever an advert is about tells it to all its links, and whoever brought it to all others.
        """
        adverts = self.adverts
        news: list[tuple[Advert, Collection[str]]] = []
        near: dict[str, Collection[str]] = {}
        for host, source in self._news.items():
            spared: Collection[str] = ()
            if source:
                if source not in near:
                    known = adverts.get(source)
                    near[source] = {source, *(known.neighbours if known is not None else ())}
                spared = near[source]
            news.append((adverts[host], spared))
        self._news.clear()
        frames = 0
        for name, one in self.neighbours.items():
            if one.linked:
                told = [
                    advert
                    for advert, spared in news
                    if not spared or (name not in spared and name not in advert.neighbours)
                ]
                frames += self._tell(name, told, effects)
        return frames

    def _rest_after(self, frames: int, now: int) -> int:
        """When a host that has sent so many frames of a flood may begin the next."""
        soon = now if self._knows_few() else now + FLOOD_US
        self._flooded_until = max(self._flooded_until, now) + frames * FRAME_US
        rested = max(soon, self._flooded_until - BURST * FRAME_US)
        return min(rested, now + self.pace.heartbeat // 2)

    def _tell(self, name: str, told: list[Advert], effects: list[Effect]) -> int:
        """Send adverts, in as many frames as it takes."""
        frames = [
            Transmit(name, Adverts(tuple(told[at : at + ADVERTS_MAX])))
            for at in range(0, len(told), ADVERTS_MAX)
        ]
        effects += frames
        return len(frames)

    # -- the graph -------------------------------------------------------------------------

    def _draw(self) -> int:
        """Find the component and the ways through it, breadth first and by name.

        The pause until it may be drawn again.
        """
        adverts = self.adverts
        ways: dict[str, str] = {}
        level = [self.host]
        edges = 0
        while level:
            further = []
            for host in level:
                way = ways.get(host)
                near = adverts[host].neighbours
                edges += len(near)
                for name in near:
                    if name in ways or name == self.host:
                        continue
                    other = adverts.get(name)
                    if other is not None and host in other.neighbours:
                        ways[name] = name if way is None else way
                        further.append(name)
            level = further
        self._ways = ways
        component = tuple(sorted([self.host, *ways]))
        if component != self.component:  # else it stays the very same, and is quickly compared
            self.component = component
        marks = [_mark(name, adverts[name].version) for name in component]
        self._digest = sum(marks) & _MASK
        self._stale = False
        more = max(len(adverts) - FEW, 0)
        return more * DRAW_US + (edges * EDGE_US if more else 0)

    def tree(self) -> tuple[tuple[int, ...], int]:
        """For each member of the component the place of its parent in it, and how deep that goes.

        It is a tree of shortest ways from this host, which is its own parent.
        """
        places = {name: place for place, name in enumerate(self.component)}
        root = places[self.host]
        parents = [-1] * len(places)
        parents[root] = root
        level, hops = [self.host], -1
        while level:
            hops += 1
            further = []
            for host in level:
                for name in self.adverts[host].neighbours:
                    place = places.get(name, root)
                    if parents[place] < 0 and host in self.adverts[name].neighbours:
                        parents[place] = places[host]
                        further.append(name)
            level = further
        return tuple(parents), hops

    def _note_reach(self, now: int) -> None:
        """Since when each host that is known is out of reach."""
        unreached = self._unreached
        if len(self.adverts) == len(self.component) and not unreached:
            return
        for name in self.adverts:
            if name in self._ways or name == self.host:
                unreached.pop(name, None)
            else:
                unreached.setdefault(name, now)

    def linked(self, host: str) -> bool:
        """Whether a link leads straight to a host."""
        one = self.neighbours.get(host)
        return one is not None and one.linked

    def direct(self, host: str) -> bool:
        """Whether both ends of a link to a host know of it: what is sent goes straight."""
        return self._ways.get(host) == host

    def reaches(self, host: str) -> bool:
        """Whether a host belongs to the component."""
        return host == self.host or host in self._ways

    # -- relaying --------------------------------------------------------------------------

    def way(self, dst: str, body: object) -> Transmit | None:
        """How a body is sent towards a host; without a way it is dropped, and sent again later."""
        hop = self._ways.get(dst)
        if hop is None:
            return None
        ttl = len(self.component) + HOPS_SPARE
        return Transmit(hop, Relay(self.host, dst, ttl, body))

    def pass_on(self, relay: Relay) -> list[Effect]:
        """Bring a body that is not for this host one hop further."""
        hop = self._ways.get(relay.dst)
        if hop is None or relay.ttl <= 1:
            return []
        return [Transmit(hop, Relay(relay.src, relay.dst, relay.ttl - 1, relay.body))]

    # -- time ------------------------------------------------------------------------------

    def tick(self, now: int, effects: list[Effect]) -> None:
        """Let go of who fell silent, say hello when it is time, and do what waited."""
        stood, self._ticked_at = now - self._ticked_at, now
        if now >= self._silent_at:
            self._let_go(now, stood > 2 * self.pace.heartbeat)
        if self._hello_at <= now:
            self._hello_at = now + self.pace.heartbeat
            effects.append(Transmit(None, self._hello()))
            self._note_reach(now)
            for name in [n for n, since in self._unreached.items() if since + FORGET <= now]:
                self._drop(name)
        self._spread(now, effects)

    def _let_go(self, now: int, stood: bool) -> None:
        """Drop those who fell silent; unless this host itself stood, and has yet to hear them."""
        silent = [name for name, one in self.neighbours.items() if one.at + one.loss <= now]
        if silent and stood:
            self._silent_at = now + self.pace.heartbeat
            return
        for name in silent:
            self._relinked |= self.neighbours.pop(name).linked
            self._heard = None
        ends = [one.at + one.loss for one in self.neighbours.values()]
        self._silent_at = min(ends, default=now + LOSS_MAX)

    def deadline(self) -> int:
        """When `tick` is next wanted; there is always a next hello."""
        due = min(self._hello_at, self._silent_at)
        if self._relinked or self._news:
            due = min(due, self._flood_at)
        if self._stale:
            due = min(due, self._draw_at)
        return due
