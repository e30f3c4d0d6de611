"""Links: who hears whom, who belongs to one component, and the way to everyone in it.

With every heartbeat a host says hello to whoever can hear. A neighbour is heard while a hello of it
came within its loss, which the hello names (`pace`). A link counts when both ends hear each other
and the policies of both accept it: a hello names only those whose link its sender would have, so
one look at a neighbour's hello settles it, and a link that ends is soon unlisted by both ends.

Each host has an *advert*: its links and its installed view, under a version that grows: the time,
or one more than the last, and the life, so that no two lives give the same version. Adverts
are flooded over links when they change. What a flood missed is mended by hellos: each one tells
which versions its sender holds, and a linked neighbour sends the newer ones of its component. An
edge is in the graph when the adverts of both ends list each other. The component of a host is
what it reaches over edges; the next hop to a member is the first step of a shortest way, the
least by name among equals, so everyone with the same adverts draws the same picture.

Bounds. A neighbour that falls silent is unlisted after its loss. A change is known `d` links away
after `d` delays, or with lost frames `d` heartbeats for each loss in a row. A host keeps at most
`HOSTS_MAX` adverts; in a larger group newcomers are not seen. Adverts of hosts that are out of
reach are forgotten after `FORGET`. At most `HOSTS_MAX` neighbours are heard.

LIME 4.2 leaves the detection of links to the network; the rest of this file is what it takes for
hosts without a link of their own to be one group.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.protocols.events import Effect, Transmit
from nomospace.protocols.messages import Advert, Adverts, Hello, Relay, ViewId
from nomospace.protocols.pace import LOSS, USUAL, Pace, believable
from nomospace.protocols.policy import NotAPosition, Policy, Reachable, is_position

FORGET: Final = 600_000_000
"""How long the advert of a host that is out of reach is kept."""
HOSTS_MAX: Final = 1_000
"""The most hosts, and the most neighbours, that a host knows."""
ADVERTS_MAX: Final = 64
"""The most adverts in one frame."""
LIVES: Final = 256
"""Lives in a row whose adverts are told apart by their version alone."""
HOPS_SPARE: Final = 4
"""A relayed body may take this many hops more than there are members, while ways change."""


class Neighbour:
    """What a host knows of one that it hears."""

    __slots__ = ("accepted", "at", "beat", "hears_me", "info", "life", "linked", "loss")

    def __init__(self, life: int) -> None:
        self.life = life
        self.beat = -1
        self.at = 0
        self.info: Any = None
        self.hears_me = False
        self.accepted = False
        self.linked = False
        self.loss = LOSS


class Links:
    """The links of one host and its picture of the component: a part of `Engagement`.

    >>> ann = Links("ann", life=1, view=(1, "ann"), now=0)
    >>> hello = Hello("bob", life=1, beat=1, heard={"ann": 1}, vector={})
    >>> effects = []
    >>> ann.hear_hello("bob", hello, 0, effects)
    True
    >>> ann.adverts["ann"].neighbours
    ('bob',)
    >>> ann.component  # bob's own advert has to say so too
    ('ann',)
    """

    __slots__ = (
        "_beat",
        "_heard",
        "_hello_at",
        "_unreached",
        "_vector",
        "_vector_sent",
        "_ways",
        "adverts",
        "component",
        "host",
        "info",
        "life",
        "neighbours",
        "pace",
        "policy",
        "willing",
    )

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
        self.info: Any = None
        self.neighbours: dict[str, Neighbour] = {}
        version = now * LIVES + life % LIVES
        self.adverts: dict[str, Advert] = {host: Advert(host, version, (), view)}
        self.component: tuple[str, ...] = (host,)
        self._ways: dict[str, str] = {}
        self._unreached: dict[str, int] = {}
        self._vector: dict[str, int] = {host: version}
        self._vector_sent: dict[str, int] | None = None
        self._heard: dict[str, int] | None = None
        self._beat = 0
        self._hello_at = now

    # -- hellos ----------------------------------------------------------------------------

    def _hello(self) -> Hello:
        """The next hello. Its dicts are made anew when they change, never changed."""
        self._beat += 1
        if self._heard is None:
            near = self.neighbours.items()
            self._heard = {name: one.life for name, one in near if one.accepted}
        if self._vector_sent is None:
            self._vector_sent = dict(self._vector)
        return Hello(
            self.host,
            self.life,
            self._beat,
            self._heard,
            self._vector_sent,
            self.info,
            self.pace.loss,
        )

    def hear_hello(self, name: str, hello: Hello, now: int, effects: list[Effect]) -> bool:
        """Take a neighbour's hello in; whether it said anything new."""
        one = self.neighbours.get(name)
        if (
            one is not None
            and hello.beat > one.beat
            and hello.life == one.life
            and (hello.heard.get(self.host) == self.life) is one.hears_me
            and hello.info == one.info
            and hello.vector == self._vector
        ):
            one.beat = hello.beat
            one.at = now
            return False
        return self._take_in(name, hello, now, effects)

    def _take_in(self, name: str, hello: Hello, now: int, effects: list[Effect]) -> bool:
        if name == self.host or hello.host != name:
            return False
        one = self.neighbours.get(name)
        if one is not None and (hello.life, hello.beat) <= (one.life, one.beat):
            return False  # overtaken by a later one, or heard twice
        if one is None or hello.life != one.life:
            if one is None and len(self.neighbours) >= HOSTS_MAX:
                return False
            one = self.neighbours[name] = Neighbour(hello.life)
            self._heard = None
        first = one.beat < 0
        one.beat = hello.beat
        one.at = now
        one.info = hello.info
        one.loss = believable(hello.loss)
        one.hears_me = hello.heard.get(self.host) == self.life
        changed = self._judge(one)
        if first or changed:  # it need not wait for the next heartbeat to know
            effects.append(Transmit(name, self._hello()))
        held = hello.vector.get(self.host, -1)
        mine = self.adverts[self.host]
        if held > mine.version:  # an advert of an earlier life, by a clock that ran ahead
            self._advertise(mine.view, held // LIVES + 1, effects, but=name)
        self._relink(now, effects, but=name)
        if one.linked:
            self._tell_missing(name, hello.vector, effects)
        return True

    def _judge(self, one: Neighbour) -> bool:
        """Ask the policy anew; whether its answer changed."""
        accepted = self.willing and self.policy.accepts(self.info, one.info, accepted=one.accepted)
        if accepted is one.accepted:
            return False
        one.accepted = accepted
        self._heard = None
        return True

    def _relink(self, now: int, effects: list[Effect], *, but: str | None = None) -> None:
        """Advertise anew if the links are no longer those that the advert lists."""
        linked = []
        for name, one in self.neighbours.items():
            one.linked = one.accepted and one.hears_me
            if one.linked:
                linked.append(name)
        mine = self.adverts[self.host]
        if tuple(sorted(linked)) != mine.neighbours:
            self._advertise(mine.view, now, effects, but=but)

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
        self._relink(now, effects)

    # -- adverts ---------------------------------------------------------------------------

    def set_view(self, view: ViewId, now: int, effects: list[Effect]) -> None:
        """Let the advert carry a newly installed view."""
        self._advertise(view, now, effects)

    def _advertise(
        self, view: ViewId, now: int, effects: list[Effect], *, but: str | None = None
    ) -> None:
        stamp = max(self.adverts[self.host].version // LIVES + 1, now)
        linked = tuple(sorted([name for name, one in self.neighbours.items() if one.linked]))
        advert = Advert(self.host, stamp * LIVES + self.life % LIVES, linked, view)
        self._hold(advert)
        self._flood((advert,), but, effects)
        self._draw()

    def hear_adverts(self, name: str, frame: Adverts, now: int, effects: list[Effect]) -> None:
        """Take adverts in, and pass on those that are new."""
        if name not in self.neighbours:
            return
        news = []
        for advert in frame.adverts:
            held = self.adverts.get(advert.host)
            if held is not None and held.version >= advert.version:
                continue
            if advert.host == self.host:
                self._advertise(self.adverts[self.host].view, advert.version // LIVES + 1, effects)
            elif held is not None or self._has_room():
                self._hold(advert)
                news.append(advert)
        if news:
            self._flood(tuple(news), name, effects)
            self._draw()
            self._note_reach(now)

    def _hold(self, advert: Advert) -> None:
        self.adverts[advert.host] = advert
        self._vector[advert.host] = advert.version
        self._vector_sent = None

    def _has_room(self) -> bool:
        """Whether one more advert fits, if need be in place of the one longest out of reach."""
        if len(self.adverts) < HOSTS_MAX:
            return True
        if not self._unreached:
            return False
        self._drop(min(self._unreached, key=lambda name: (self._unreached[name], name)))
        return True

    def _drop(self, name: str) -> None:
        del self.adverts[name]
        del self._vector[name]
        del self._unreached[name]
        self._vector_sent = None

    def _flood(self, news: tuple[Advert, ...], but: str | None, effects: list[Effect]) -> None:
        for name, one in self.neighbours.items():
            if one.linked and name != but:
                effects.append(Transmit(name, Adverts(news)))

    def _tell_missing(self, name: str, vector: dict[str, int], effects: list[Effect]) -> None:
        """Send a neighbour what it lacks.

        Of hosts out of reach, only what is newer than what it has. It may be the trace of a
        former life whose clock ran ahead; the way to its host goes through whoever has less.
        """
        lacks = []
        for host, version in self._vector.items():
            held = vector.get(host)
            if held is None:
                if not self.reaches(host):
                    continue
            elif held >= version:
                continue
            lacks.append(self.adverts[host])
        effects += [
            Transmit(name, Adverts(tuple(lacks[at : at + ADVERTS_MAX])))
            for at in range(0, len(lacks), ADVERTS_MAX)
        ]

    # -- the graph -------------------------------------------------------------------------

    def _draw(self) -> None:
        """Find the component and the ways through it, breadth first and by name."""
        ways: dict[str, str] = {}
        reached = {self.host: None}
        level = [self.host]
        while level:
            further = []
            for host in level:
                for name in self.adverts[host].neighbours:
                    if name in reached:
                        continue
                    other = self.adverts.get(name)
                    if other is None or host not in other.neighbours:
                        continue
                    reached[name] = None
                    ways[name] = ways.get(host, name)
                    further.append(name)
            level = further
        self._ways = ways
        self.component = tuple(sorted(reached))

    def _note_reach(self, now: int) -> None:
        """Since when each host that is known is out of reach."""
        for name in self.adverts:
            if name in self._ways or name == self.host:
                self._unreached.pop(name, None)
            else:
                self._unreached.setdefault(name, now)

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

    def send(self, dst: str, body: Any) -> list[Effect]:
        """Send a body towards a host. Without a way it is dropped: who needs it sends again."""
        hop = self._ways.get(dst)
        if hop is None:
            return []
        ttl = len(self.component) + HOPS_SPARE
        return [Transmit(hop, Relay(self.host, dst, ttl, body))]

    def pass_on(self, relay: Relay) -> list[Effect]:
        """Bring a body that is not for this host one hop further."""
        hop = self._ways.get(relay.dst)
        if hop is None or relay.ttl <= 1:
            return []
        return [Transmit(hop, Relay(relay.src, relay.dst, relay.ttl - 1, relay.body))]

    # -- time ------------------------------------------------------------------------------

    def tick(self, now: int, effects: list[Effect]) -> None:
        """Let go of who fell silent, and say hello when it is time."""
        silent = [name for name, one in self.neighbours.items() if one.at + one.loss <= now]
        if silent:
            for name in silent:
                del self.neighbours[name]
            self._heard = None
            self._relink(now, effects)
        if self._hello_at <= now:
            self._hello_at = now + self.pace.heartbeat
            effects.append(Transmit(None, self._hello()))
            self._note_reach(now)
            for name in [n for n, since in self._unreached.items() if since + FORGET <= now]:
                self._drop(name)

    def deadline(self) -> int:
        """When `tick` is next wanted; there is always a next hello."""
        due = self._hello_at
        for one in self.neighbours.values():
            due = min(due, one.at + one.loss)
        return due
