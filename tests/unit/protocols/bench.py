"""One host's engagement, with its neighbours played by hand."""

from __future__ import annotations

from typing import Any

from nomospace.protocols.engagement import Engagement
from nomospace.protocols.events import (
    TICK,
    Effect,
    Event,
    Floor,
    Freeze,
    Heard,
    Info,
    Transmit,
)
from nomospace.protocols.links import HOPS_SPARE
from nomospace.protocols.messages import (
    Advert,
    Adverts,
    Commit,
    EngagementBody,
    Got,
    HelloFrame,
    Prepare,
    Ready,
    Relay,
    ViewId,
)
from nomospace.protocols.pace import HEARTBEAT, USUAL
from nomospace.protocols.policy import Policy
from nomospace.protocols.rounds import (
    EXCHANGING,
    STABLE,
    RoundPhase,
)

SETTLE, RETRY, PAUSE_MAX = USUAL.settle, USUAL.retry, USUAL.pause_max
ROUND, PREPARED_MAX = USUAL.round, USUAL.prepared_max
FROZEN_MAX, GRACE = USUAL.frozen_max, USUAL.grace


class Bench:
    """One core, neighbours that are played by hand, and the effects that are not hellos."""

    def __init__(
        self, host: str, *peers: str, floor: int = 0, policy: Policy | None = None
    ) -> None:
        self.now = 0
        self.beat = HEARTBEAT  # when the peers next say hello
        self.core = Engagement(host, life=1, policy=policy, now=0, floor=floor)
        self.peers = peers
        self.versions = 0
        self.tell(TICK)
        for peer in peers:
            self.hear_hello(peer)
            self.show(peer, (1, peer))

    def tell(self, event: Event, *, after: int = 0) -> list[Effect]:
        self.now += after
        return [effect for effect in self.core.handle(event, now=self.now) if not _chatter(effect)]

    def hear_hello(self, peer: str, *, heard: bool = True) -> list[Effect]:
        self.versions += 1
        digest = self.core._links._digest
        frame = HelloFrame(peer, 1, self.versions, {self.core.host: 1} if heard else {}, digest)
        return self.tell(Heard(peer, frame))

    def show(self, peer: str, view: ViewId, *neighbours: str) -> list[Effect]:
        """The peer's advert says that it is linked with us, and in a view."""
        self.versions += 1
        advert = Advert(peer, self.versions, neighbours or (self.core.host,), view)
        return self.tell(Heard(peer, Adverts((advert,))))

    def hear(self, src: str, body: Any) -> list[Effect]:
        return self.tell(Heard(src, Relay(src, self.core.host, 5, body)))

    def wait(self, span: int) -> list[Effect]:
        """Let time pass as a driver does, with every peer alive; all that follows."""
        found: list[Effect] = []
        end = self.now + span
        while True:
            due = self.core.due
            assert due is not None
            at = min(max(due, self.now), self.beat)
            if at > end:
                break
            self.now = at
            if at == self.beat:
                self.beat += HEARTBEAT
                for peer in self.peers:
                    found += self.hear_hello(peer)
            found += self.tell(TICK)
        self.now = end
        return found

    def acks(self, span: int) -> list[Effect]:
        """Let time pass, with nobody else there; all that follows."""
        self.now += span
        return self.core.handle(TICK, now=self.now)

    def says(self, dst: str, body: EngagementBody) -> Transmit:
        ttl = len(self.core.component()) + HOPS_SPARE
        return Transmit(dst, Relay(self.core.host, dst, ttl, body))

    def reach(self, phase: RoundPhase) -> ViewId:
        """Bring a member `bob` of a view that `ann` proposes into a phase."""
        id, members = (5, "ann"), ("ann", "bob")
        if phase is not STABLE:
            self.hear("ann", proposal(id, *members))
        if phase is EXCHANGING:
            self.tell(Info("entry of bob"))
            self.hear("ann", commit(id, {"ann": (1, "ann"), "bob": self.core.view.id}))
        assert self.core.phase is phase
        return id


def _chatter(effect: Effect) -> bool:
    """Hellos, adverts, and that something has come."""
    if not isinstance(effect, Transmit):
        return False
    frame = effect.frame
    return not isinstance(frame, Relay) or isinstance(frame.body, Got)


def proposal(id: ViewId, *members: str) -> Prepare:
    """A proposal in which all are children of the leader."""
    return Prepare(id, 1, members, (members.index(id[1]),) * len(members), 1)


def answer(id: ViewId, host: str, view: ViewId, entry: Any = None) -> Ready:
    return Ready(id, 1, {host: (*view, 1)}, {host: entry or f"entry of {host}"})


def commit(id: ViewId, from_views: dict[str, ViewId]) -> Commit:
    entries = {host: f"entry of {host}" for host in from_views}
    origins = {host: (*view, 1) for host, view in from_views.items()}
    return Commit(id, 1, tuple(from_views), origins, entries)


def ann_leads(*peers: str) -> tuple[Bench, ViewId]:
    """A leader that has just proposed."""
    bench = Bench("ann", *peers)
    effects = bench.wait(SETTLE)
    id = (2, "ann")
    members = ("ann", *peers)
    assert effects == [
        Floor(2),
        Freeze(id),
        *[bench.says(peer, proposal(id, *members)) for peer in peers],
    ]
    return bench, id


def committed(*peers: str) -> tuple[Bench, ViewId, Commit]:
    """A leader that has just committed, and is exchanging itself."""
    bench, id = ann_leads(*peers)
    bench.tell(Info("entry of ann"))
    for peer in peers:
        bench.hear(peer, answer(id, peer, (1, peer)))
    assert bench.core.phase is EXCHANGING
    return bench, id, commit(id, {host: (1, host) for host in ("ann", *peers)})
