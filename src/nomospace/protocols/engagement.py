"""Engagement: how the hosts of a component come to be one group, atomically for all of them.

A *view* is a group under an id. A host is always in exactly one installed view, at first that of
itself alone. When the component of a leader (the least name in it) is no longer its view, it
proposes another, in two phases (LIME 4.2 and its Figure 9, for whole groups, with losses and
leaders that die):

1. `Prepare` goes to all members. Each stops its operations (`Freeze`) and answers `Ready` with the
   view it comes from and its entry of the directory.
2. When all are ready, `Commit` tells every member the same: members, entries, former views. Each
   exchanges with the peers that come from another view than itself, and goes on (`Installed`)
   when all of that has come.

A proposal is superseded by a greater id at any time before it is installed. Nobody is ever made
to go back: a view that was committed and then superseded was never seen by the agents of the host
that did not install it, and its next `Ready` still names the view that they saw last.

Bounds, with `D` the time a frame takes across the component and nothing lost:

- loss of contact to a new view: `loss + settle + 4 D` and the exchange, under 4 s on a good
  network at the usual pace; an announced departure needs no `loss`;
- each lost frame of a proposal costs `retry`; a proposal that is not ready after `round`
  is given up and followed by another, after a pause that doubles up to `pause_max`;
- a member waits at most `prepared_max` for a commit, and is never frozen for longer than
  `frozen_max` at a stretch: it then goes on in the view it had, and says so when asked.

All these times are the host's `Pace`.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from nomospace.protocols.events import (
    Deliver,
    Disengage,
    Effect,
    Engage,
    Event,
    Exchange,
    Exchanged,
    Floor,
    Freeze,
    Heard,
    Info,
    Installed,
    Moved,
    Thaw,
)
from nomospace.protocols.links import Links
from nomospace.protocols.messages import (
    Abort,
    Adverts,
    Commit,
    EngagementBody,
    Hello,
    Nack,
    Prepare,
    Ready,
    Relay,
    View,
    ViewId,
)
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy


class Phase(Enum):
    """Where a host stands between the view it has and the next."""

    STABLE = "STABLE"
    PREPARED = "PREPARED"
    EXCHANGING = "EXCHANGING"


class Cause(Enum):
    """What may move a host from one phase to another."""

    PREPARED_FOR = "a greater proposal came"
    COMMITTED = "all members are ready"
    ABORTED = "the leader gave the proposal up"
    LEADERLESS = "the leader left the component"
    WAITED = "the host has been frozen for too long"
    EXCHANGED = "all that the fresh peers had to send has come"


STABLE, PREPARED, EXCHANGING = Phase
TRANSITIONS: Final[dict[tuple[Phase, Cause], Phase]] = {
    (STABLE, Cause.PREPARED_FOR): PREPARED,  # Floor, Freeze
    (PREPARED, Cause.PREPARED_FOR): PREPARED,  # Floor, Freeze: for the greater one
    (EXCHANGING, Cause.PREPARED_FOR): PREPARED,  # Floor, Freeze: the committed one is skipped
    (PREPARED, Cause.COMMITTED): EXCHANGING,  # Exchange
    (PREPARED, Cause.ABORTED): STABLE,  # Thaw
    (PREPARED, Cause.LEADERLESS): STABLE,  # Thaw
    (PREPARED, Cause.WAITED): STABLE,  # Thaw
    (EXCHANGING, Cause.LEADERLESS): STABLE,  # Thaw
    (EXCHANGING, Cause.WAITED): STABLE,  # Thaw
    (EXCHANGING, Cause.EXCHANGED): STABLE,  # Installed
}
"""Every way from phase to phase, with its orders. What is not here moves nothing."""

_UNTOLD: Final = object()


class Round:
    """A proposal, as its leader knows it."""

    __slots__ = (
        "again_at",
        "commit",
        "committed_at",
        "id",
        "members",
        "ready",
        "started_at",
        "wait",
    )

    def __init__(self, id: ViewId, members: tuple[str, ...], retry: int, now: int) -> None:
        self.id = id
        self.members = members
        self.ready: dict[str, Ready] = {}
        self.commit: Commit | None = None
        self.started_at = now
        self.committed_at = now
        self.wait = retry
        self.again_at = now + retry


def _is_whole(commit: Commit) -> bool:
    """Whether a commit speaks of each of its members; a peer may send anything."""
    return tuple(commit.from_views) == commit.members == tuple(commit.entries)


class Engagement:
    """One host's part in engagement, as a core: told events, answers with effects.

    `life` grows with every restart of the host, `floor` is the greatest number that a `Floor` has
    told (0 if none).

    >>> core = Engagement("ann", life=1, now=0)
    >>> core.view, core.phase.name
    (View(id=(1, 'ann'), members=('ann',)), 'STABLE')
    """

    __slots__ = (
        "_ask_at",
        "_changed_at",
        "_component",
        "_due",
        "_entry",
        "_failures",
        "_frozen_at",
        "_joining",
        "_links",
        "_number",
        "_owing",
        "_pace",
        "_pause_until",
        "_prepared_at",
        "_round",
        "host",
        "phase",
        "promised",
        "view",
    )

    def __init__(
        self,
        host: str,
        *,
        life: int,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        now: int,
        floor: int = 0,
    ) -> None:
        self.host = host
        self._pace = pace
        self.view = View((floor + 1, host), (host,))
        self.phase = STABLE
        self.promised: ViewId = self.view.id
        self._links = Links(host, life=life, policy=policy, pace=pace, view=self.view.id, now=now)
        self._entry: Any = _UNTOLD
        self._ask_at = now
        self._joining: View | None = None
        self._frozen_at = now
        self._prepared_at = now
        self._round: Round | None = None
        self._number = floor + 1
        self._component = self._links.component
        self._changed_at = now
        self._failures = 0
        self._owing = False
        self._pause_until = now
        self._due = now

    def __repr__(self) -> str:
        return f"<{self.host} {self.phase.name} in {self.view.id}, promised {self.promised}>"

    # -- what the host asks ----------------------------------------------------------------

    def component(self) -> tuple[str, ...]:
        """The hosts that can be reached now, this one among them, sorted."""
        return self._links.component

    def reaches(self, host: str) -> bool:
        """Whether a host can be reached now."""
        return self._links.reaches(host)

    def linked(self, host: str) -> bool:
        """Whether a link leads straight to a host."""
        return self._links.linked(host)

    def direct(self, host: str) -> bool:
        """Whether both ends of a link to a host know of it: what is sent goes straight."""
        return self._links.direct(host)

    def believes(self, neighbour: str, src: str) -> bool:
        """Whether a neighbour may pass on what a host has said.

        A host that is linked says it itself. Of others, who are further away, there is no other
        way to hear; so a host on the way is believed about them.
        """
        return neighbour == src or not self._links.linked(src)

    def relay(self, dst: str, body: Any) -> list[Effect]:
        """Send a body of another protocol to any host of the component.

        It may be lost on its way; without a way it is dropped. Who needs it sends it again.
        """
        if dst == self.host:
            return [Deliver(self.host, body)]
        return self._links.send(dst, body)

    def next_deadline(self) -> int | None:
        """When `handle` next wants to hear the time. It may turn out to be early."""
        return self._due

    # -- events ----------------------------------------------------------------------------

    def handle(self, event: Event, *, now: int) -> list[Effect]:
        """Take one fact in and say what must follow, in order. Hearing it twice is harmless.

        >>> from nomospace.protocols import TICK
        >>> core = Engagement("ann", life=1, now=0)
        >>> [effect.frame for effect in core.handle(TICK, now=0)]
        [Hello(host='ann', life=1, beat=1, heard={}, vector={'ann': 1}, info=None, loss=3500000)]
        """
        effects: list[Effect] = []
        links = self._links
        if event.__class__ is Heard:
            assert isinstance(event, Heard)
            frame = event.frame
            if frame.__class__ is Hello:
                assert isinstance(frame, Hello)
                if not links.hear_hello(event.neighbour, frame, now, effects) and now < self._due:
                    return effects
            elif isinstance(frame, Adverts):
                links.hear_adverts(event.neighbour, frame, now, effects)
            elif isinstance(frame, Relay):
                if frame.dst != self.host:
                    return links.pass_on(frame)
                if not isinstance(frame.body, EngagementBody):
                    return [Deliver(frame.src, frame.body)]
                self._hear(frame.src, frame.body, now, effects)
        elif isinstance(event, Info):
            self._inform(event.directory, now, effects)
        elif isinstance(event, Exchanged):
            self._install(event.view_id, now, effects)
        elif isinstance(event, Moved):
            links.move(event.position, now, effects)
        elif isinstance(event, (Engage, Disengage)):
            links.announce(isinstance(event, Engage), now, effects)
        self._advance(now, effects)
        return effects

    def _hear(self, src: str, body: EngagementBody, now: int, effects: list[Effect]) -> None:
        """A body of this protocol. Only a leader speaks for its own proposals."""
        if isinstance(body, Ready):
            self._gather(src, body, now, effects)
        elif isinstance(body, Nack):
            self._number = max(self._number, body.promised[0])
            if self._round is not None and self._round.id == body.id:
                self._give_up(now, effects)
        elif src == body.id[1]:
            if isinstance(body, Prepare):
                self._prepare(body, now, effects)
            elif isinstance(body, Commit):
                self._commit(body, effects)
            elif body.id == self.promised:
                self._thaw(Cause.ABORTED, effects)

    def _say(self, dst: str, body: EngagementBody, effects: list[Effect]) -> None:
        effects += self._links.send(dst, body)

    # -- a member --------------------------------------------------------------------------

    def _move(self, cause: Cause) -> bool:
        """Go where the table says; `False`, and nothing changed, when it says nothing."""
        phase = TRANSITIONS.get((self.phase, cause))
        if phase is None:
            return False
        self.phase = phase
        return True

    def _prepare(self, body: Prepare, now: int, effects: list[Effect]) -> None:
        leader = body.id[1]
        if body.id > self.promised:
            if not self._links.reaches(leader) or self.host not in body.members:
                return  # adverts are still on their way; the leader asks again
            if self.phase is STABLE:
                self._frozen_at = now
            self._move(Cause.PREPARED_FOR)
            self._prepared_at = now
            self._entry = _UNTOLD
            self._joining = None
            self.promised = body.id
            effects += [Floor(body.id[0]), Freeze(body.id)]
        elif body.id == self.promised and self.phase is PREPARED:
            if self._entry is not _UNTOLD:
                self._say(leader, self._ready(), effects)
        elif not self._is_past(body.id):
            self._say(leader, Nack(body.id, self.promised), effects)

    def _is_past(self, id: ViewId) -> bool:
        """Whether a proposal has got as far with this host as it can."""
        return id == self.view.id or (self._joining is not None and id == self._joining.id)

    def _inform(self, directory: Any, now: int, effects: list[Effect]) -> None:
        if self.phase is not PREPARED or self._entry is not _UNTOLD:
            return
        self._entry = directory
        self._ask_at = now + self._pace.retry
        if self.promised[1] == self.host:
            self._gather(self.host, self._ready(), now, effects)
        else:
            self._say(self.promised[1], self._ready(), effects)

    def _ready(self) -> Ready:
        return Ready(self.promised, self.view.id, self._entry)

    def _commit(self, body: Commit, effects: list[Effect]) -> None:
        if self._is_past(body.id) or not _is_whole(body):
            return
        if body.id != self.promised or not self._move(Cause.COMMITTED):
            self._say(body.id[1], Nack(body.id, self.promised), effects)
            return
        self._joining = View(body.id, body.members)
        fresh = [host for host in body.members if body.from_views[host] != self.view.id]
        effects.append(Exchange(self._joining, body.entries, tuple(fresh)))

    def _install(self, view_id: ViewId, now: int, effects: list[Effect]) -> None:
        joining = self._joining
        if joining is None or joining.id != view_id or not self._move(Cause.EXCHANGED):
            return
        self.view = joining
        self._joining = None
        effects.append(Installed(joining))
        self._links.set_view(view_id, now, effects)

    def _thaw(self, cause: Cause, effects: list[Effect]) -> bool:
        if not self._move(cause):
            return False
        self._joining = None
        effects.append(Thaw(self.promised))
        return True

    # -- a leader --------------------------------------------------------------------------

    def _propose(self, now: int, effects: list[Effect]) -> None:
        self._drop_round(effects)
        adverts = self._links.adverts.values()
        self._number = max(self._number, self.promised[0], *[one.view[0] for one in adverts]) + 1
        id = (self._number, self.host)
        self._round = Round(id, self._component, self._pace.retry, now)
        prepare = Prepare(id, self._component)
        self._prepare(prepare, now, effects)
        for host in self._component:
            self._say(host, prepare, effects)

    def _gather(self, src: str, body: Ready, now: int, effects: list[Effect]) -> None:
        """A member is ready. When all are, the commit is made, once."""
        round = self._round
        if round is None or round.id != body.id:
            self._say(src, Abort(body.id), effects)
        elif round.commit is not None:
            self._say(src, round.commit, effects)
        elif src in round.members:
            round.ready[src] = body
            if len(round.ready) == len(round.members):
                ready = [(host, round.ready[host]) for host in round.members]
                round.commit = commit = Commit(
                    round.id,
                    round.members,
                    {host: one.from_view for host, one in ready},
                    {host: one.entry for host, one in ready},
                )
                self._owing = True
                round.committed_at = now
                round.again_at = now + self._pace.retry
                for host in round.members:
                    self._say(host, commit, effects)
                self._commit(commit, effects)

    def _give_up(self, now: int, effects: list[Effect]) -> None:
        """The proposal cannot be: drop it, and try another after a pause."""
        self._failures += 1
        pause = self._pace.retry << min(self._failures, 10)
        self._pause_until = now + min(pause, self._pace.pause_max)
        self._drop_round(effects)

    def _drop_round(self, effects: list[Effect]) -> None:
        round = self._round
        self._round = None
        if round is not None and round.commit is None:
            for host in round.members:
                self._say(host, Abort(round.id), effects)
            if self.promised == round.id:
                self._thaw(Cause.ABORTED, effects)

    def _agreed(self) -> bool:
        """Whether the component is the view of this host and of all in it.

        A view that this host has committed and not seen home may have left members waiting for
        an exchange that will not come, while all adverts show the view before it: one more
        proposal frees them.
        """
        if self._owing or self.view.members != self._component:
            return False
        adverts = self._links.adverts
        return all(adverts[host].view == self.view.id for host in self._component)

    # -- time ------------------------------------------------------------------------------

    def _advance(self, now: int, effects: list[Effect]) -> None:
        """Do what is due, and find when something will be."""
        links = self._links
        links.tick(now, effects)
        if links.component != self._component:
            self._component = links.component
            self._changed_at = now
            self._failures = 0
            self._pause_until = now
        if self.phase is not STABLE:
            self._watch(now, effects)
        if self._round is not None:
            self._press_on(self._round, now, effects)
        propose_at = self._propose_at()
        if propose_at is not None and propose_at <= now:
            self._propose(now, effects)
            propose_at = None
        due = links.deadline()
        if propose_at is not None:
            due = min(due, propose_at)
        if self._round is not None:
            due = min(due, self._round.again_at)
        if self.phase is not STABLE:
            due = min(due, self._frozen_until())
            if self._waits_for_word():
                due = min(due, self._ask_at)
        self._due = due

    def _frozen_until(self) -> int:
        until = self._frozen_at + self._pace.frozen_max
        if self.phase is PREPARED:
            return min(until, self._prepared_at + self._pace.prepared_max)
        return until

    def _watch(self, now: int, effects: list[Effect]) -> None:
        """A frozen host goes on in its old view when nobody will lead it into the new one."""
        if now >= self._frozen_until():
            self._thaw(Cause.WAITED, effects)
        elif not self._links.reaches(self.promised[1]):
            self._thaw(Cause.LEADERLESS, effects)
        elif self._waits_for_word() and now >= self._ask_at:
            self._ask_at = now + self._pace.retry  # the leader answers with what it decided
            self._say(self.promised[1], self._ready(), effects)

    def _waits_for_word(self) -> bool:
        """Whether this host is ready and another leads."""
        told = self.phase is PREPARED and self._entry is not _UNTOLD
        return told and self.promised[1] != self.host

    def _press_on(self, round: Round, now: int, effects: list[Effect]) -> None:
        """Send again what was not answered; drop a proposal that cannot be or is done."""
        if self.promised != round.id:
            self._drop_round(effects)
        elif round.commit is not None:
            self._see_home(round, round.commit, now, effects)
        elif round.members != self._component:
            self._drop_round(effects)
        elif now >= round.started_at + self._pace.round:
            self._give_up(now, effects)
        elif now >= round.again_at:
            round.again_at = min(now + self._pace.retry, round.started_at + self._pace.round)
            prepare = Prepare(round.id, round.members)
            for host in round.members:
                if host not in round.ready:
                    self._say(host, prepare, effects)

    def _see_home(self, round: Round, commit: Commit, now: int, effects: list[Effect]) -> None:
        """After the commit, until the adverts of all who can be reached show the view."""
        adverts = self._links.adverts
        shown = [(host, adverts[host].view) for host in round.members if self.reaches(host)]
        behind = [host for host, view in shown if view < round.id]
        if any(view > round.id for _, view in shown):
            self._give_up(now, effects)  # one has restarted, or was elsewhere meanwhile
        elif not behind:
            self._round = None
            self._owing = False
            self._failures = 0
        elif self.phase is STABLE and self.view.id != round.id:
            self._give_up(now, effects)  # this very host was frozen for too long
        elif now >= round.committed_at + self._pace.grace:
            self._give_up(now, effects)
        elif now >= round.again_at:
            # Commits are large, and exchanges take time.
            round.wait = min(round.wait * 2, self._pace.pause_max)
            round.again_at = now + round.wait
            for host in behind:
                self._say(host, commit, effects)

    def _propose_at(self) -> int | None:
        """When this host should propose, if it should."""
        if self._component[0] != self.host:
            return None
        if self._round is not None:
            if self._round.members == self._component:
                return None
        elif self._agreed():
            return None
        return max(self._changed_at + self._pace.settle, self._pause_until)
