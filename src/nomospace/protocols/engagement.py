"""Engagement: how the hosts of a component come to be one group, atomically for all of them.

A *view* is a group under an id. A host is always in exactly one installed view, at first that of
itself alone. When the component of a leader (the least name in it) is no longer its view, it
proposes another, in two phases (LIME 4.2 and its Figure 9, for whole groups, with losses and
leaders that die), along a tree of shortest ways that the leader draws:

1. `Prepare` goes down to all members. Each stops its operations (`Freeze`). When it has stopped,
   and all below it in the tree are ready, it answers `Ready`: with the view that each of them comes
   from, and its entry of the directory.
2. When all are ready, `Commit` goes down and tells every member the same: members, entries, former
   views. Each exchanges with the peers that come from another view than itself, and goes on
   (`Installed`) when all of that has come.

Each step is sent again until the next host in the tree has said that it has it (`Got`).
A proposal is superseded by a greater id at any time before it is installed. Nobody is ever made
to go back: a view that was committed and then superseded was never seen by the agents of the host
that did not install it, and its next `Ready` still names the view that they saw last. Those who
come while a proposal is under way are for the next one; it dies only when a member leaves or a
lesser name comes.

Bounds, with `D` the time a frame takes across the component and nothing lost:

- loss of contact to a new view: `loss + settle + 4 D` and the exchange, under 4 s on a good
  network at the usual pace; an announced departure needs no `loss`;
- each lost frame of a proposal costs `retry`; a proposal that is not ready after `round`
  is given up and followed by another, after a pause that doubles up to `pause_max`;
- a component that never stands still is proposed as it is `loss` after it began to change;
- a member waits at most `prepared_max` for a commit, and is never frozen for longer than
  `frozen_max` at a stretch: it then goes on in the view it had, and says so when asked.

All these times are the host's `Pace`, and grow with the group (`pace.allowance`).
"""

from __future__ import annotations

from typing import Final

from nomospace.protocols import events, messages
from nomospace.protocols.links import Links
from nomospace.protocols.pace import USUAL, Pace, allowance
from nomospace.protocols.policy import Policy
from nomospace.protocols.rounds import (
    PREPARED,
    STABLE,
    TRANSITIONS,
    Round,
    RoundCause,
    is_sound,
    is_whole,
)

_UNTOLD: Final = object()
POLLS: Final = 4
"""So many times `retry` may lie between two questions of a member that waits for word."""


class Engagement:
    """One host's part in engagement, as a core: told events, answers with effects.

    `life` grows with every restart of the host, `floor` is the greatest number that a `Floor` has
    told (0 if none).

    >>> core = Engagement("ann", life=1, now=0)
    >>> core.view, core.phase.name
    (View(id=(1, 'ann'), members=('ann',)), 'STABLE')
    """

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
        self.view = messages.View((floor + 1, host), (host,))
        self.phase = STABLE
        self.promised: messages.ViewId = self.view.id
        self._links = Links(host, life=life, policy=policy, pace=pace, view=self.view.id, now=now)
        self.way = self._links.way
        """How a body for another host is sent; `None` where there is no way to it."""
        self.linked = self._links.linked
        """Whether a link leads straight to a host."""
        self.direct = self._links.direct
        """Whether both ends of a link to a host know of it: what is sent goes straight."""
        self.reaches = self._links.reaches
        """Whether a host can be reached now."""
        self._life = life
        self._origin: messages.Origin = (*self.view.id, life)
        self._entry: object = _UNTOLD
        self._joining: messages.View | None = None
        self._frozen_at = now
        self._prepared_at = now
        self._round: Round | None = None
        self._number = floor + 1
        self._component = self._links.component
        self._changed_at = now
        self._restless_since: int | None = None
        self._looked_at = -1
        self._failures = 0
        self._owing = False
        self._pause_until = now
        self.due = now
        """When `handle` next wants to hear the time. It may turn out to be early."""

    def __repr__(self) -> str:
        return f"<{self.host} {self.phase.name} in {self.view.id}, promised {self.promised}>"

    # -- what the host asks ----------------------------------------------------------------

    def component(self) -> tuple[str, ...]:
        """The hosts that can be reached now, this one among them, sorted."""
        return self._links.component

    @property
    def willing(self) -> bool:
        """Whether it engages at all: not before it announces so, or after it has left."""
        return self._links.willing

    @property
    def info(self) -> object:
        """What its hellos say of itself: a position, or nothing."""
        return self._links.info

    def believes(self, neighbour: str, src: str) -> bool:
        """Whether a neighbour may pass on what a host has said.

        A host that is linked says it itself. Of others, who are further away, there is no other
        way to hear; so a host on the way is believed about them.
        """
        return neighbour == src or not self._links.linked(src)

    def relay(self, dst: str, body: object) -> list[events.Effect]:
        """Send a body of another protocol to any host of the component.

        It may be lost on its way; without a way it is dropped. Who needs it sends it again.
        """
        if dst == self.host:
            return [events.DeliverRelayed(self.host, body)]
        way = self.way(dst, body)
        return [] if way is None else [way]

    # -- events ----------------------------------------------------------------------------

    def handle(self, event: events.Event, *, now: int) -> list[events.Effect]:
        """Take one fact in and say what must follow, in order. Hearing it twice is harmless.

        >>> from nomospace.protocols.events import TICK
        >>> core = Engagement("ann", life=1, now=0)
        >>> [effect.frame for effect in core.handle(TICK, now=0)]
        [HelloFrame(host='ann', life=1, beat=1, heard={}, digest=..., info=None, loss=3500000)]
        """
        effects: list[events.Effect] = []
        links = self._links
        if event.__class__ is events.Heard:
            assert isinstance(event, events.Heard)
            frame = event.frame
            if frame.__class__ is messages.HelloFrame:
                assert isinstance(frame, messages.HelloFrame)
                if not links.hear_hello(event.neighbour, frame, now, effects) and now < self.due:
                    return effects
            elif isinstance(frame, messages.Adverts):
                links.hear_adverts(event.neighbour, frame, now, effects)
            elif isinstance(frame, messages.KnownVersions):
                links.hear_known(event.neighbour, frame, now, effects)
            elif isinstance(frame, messages.Relay):
                if frame.dst != self.host:
                    return links.pass_on(frame)
                if not isinstance(frame.body, messages.EngagementBody):
                    return [events.DeliverRelayed(frame.src, frame.body)]
                self._hear(frame.src, frame.body, now, effects)
        elif isinstance(event, events.Info):
            self._inform(event.directory, now, effects)
        elif isinstance(event, events.Exchanged):
            self._install(event.view_id, now, effects)
        elif isinstance(event, events.Moved):
            links.move(event.position, now, effects)
        elif isinstance(event, (events.Engage, events.Disengage)):
            links.announce(isinstance(event, events.Engage), now, effects)
        self._advance(now, effects)
        return effects

    def _hear(
        self, src: str, body: messages.EngagementBody, now: int, effects: list[events.Effect]
    ) -> None:
        """A body of this protocol. Only the parent in the tree speaks for a proposal."""
        if isinstance(body, messages.Prepare):
            self._prepare(src, body, now, effects)
        elif isinstance(body, messages.Nack):
            self._number = max(self._number, body.promised[0])
            round = self._led()
            if round is not None and round.id == body.id:
                self._give_up(now, effects)
        elif isinstance(body, messages.Ready):
            self._gather(src, body, now, effects)
        elif isinstance(body, messages.Got):
            self._mark(src, body, effects)
        elif isinstance(body, messages.Commit):
            self._commit(src, body, now, effects)
        elif self._round is not None and self._round.id == body.id and src == self._round.parent:
            self._thaw(RoundCause.ABORTED, now, effects)

    def _say(self, dst: str, body: messages.EngagementBody, effects: list[events.Effect]) -> None:
        way = self.way(dst, body)
        if way is not None:
            effects.append(way)

    # -- a member --------------------------------------------------------------------------

    def _move(self, cause: RoundCause) -> bool:
        """Go where the table says; `False`, and nothing changed, when it says nothing."""
        phase = TRANSITIONS.get((self.phase, cause))
        if phase is None:
            return False
        self.phase = phase
        return True

    def _prepare(
        self, src: str, body: messages.Prepare, now: int, effects: list[events.Effect]
    ) -> None:
        leader = body.id[1]
        if body.id > self.promised:
            if not (is_sound(body) and self.host in body.members and self._links.reaches(leader)):
                return  # adverts may still be on their way; the parent asks again
            round = Round(body, self.host, self._pace.retry, now)
            if src != round.parent:
                return
            if self.phase is STABLE:
                self._frozen_at = now
            self._move(RoundCause.PREPARED_FOR)
            self._prepared_at = now
            self._entry = _UNTOLD
            self._joining = None
            self._round = round
            self.promised = body.id
            effects += [events.Floor(body.id[0]), events.Freeze(body.id)]
            if src != self.host:
                self._say(src, messages.Got(body.id, messages.ASKED), effects)
            for child in round.children:
                self._say(child, body, effects)
        elif body.id == self.view.id or self._is_in(body.id, body.life):
            self._say(src, messages.Got(body.id, messages.ASKED), effects)
        else:
            self._say(leader, messages.Nack(body.id, self.promised), effects)

    def _is_in(self, id: messages.ViewId, life: int) -> bool:
        """Whether a proposal is the one that this host takes part in."""
        return self._round is not None and (self._round.id, self._round.life) == (id, life)

    def _inform(self, directory: object, now: int, effects: list[events.Effect]) -> None:
        if self.phase is PREPARED and self._entry is _UNTOLD:
            self._entry = directory
            self._answer(now, effects)

    def _gather(
        self, src: str, body: messages.Ready, now: int, effects: list[events.Effect]
    ) -> None:
        """A child is ready, with all below it."""
        round = self._round
        if round is None or not self._is_in(body.id, body.life):
            self._say(src, messages.Abort(body.id), effects)
        elif src in round.steps:
            self._say(src, messages.Got(body.id, messages.ANSWERED), effects)
            round.steps[src] = max(round.steps[src], messages.ANSWERED)
            if round.commit is not None:
                self._say(src, round.commit, effects)
            elif src not in round.ready:
                round.ready[src] = body
                self._answer(now, effects)

    def _answer(self, now: int, effects: list[events.Effect]) -> None:
        """Answer when this host and all below it are ready; the leader decides, once."""
        round = self._round
        if (
            round is None
            or round.said is not None
            or self.phase is not PREPARED
            or self._entry is _UNTOLD
            or len(round.ready) < len(round.children)
        ):
            return
        origins, entries = {self.host: self._origin}, {self.host: self._entry}
        for ready in round.ready.values():
            origins |= ready.origins
            entries |= ready.entries
        round.ready.clear()
        round.said = messages.Ready(round.id, round.life, origins, entries)
        if round.parent != self.host:
            self._say(round.parent, round.said, effects)
            self._press_again(round, self._pace.retry, now)
        elif origins.keys() == entries.keys() == set(round.members):
            self._owing = True
            members = round.members
            commit = messages.Commit(
                round.id,
                self._life,
                members,
                {host: origins[host] for host in members},
                {host: entries[host] for host in members},
            )
            self._commit(self.host, commit, now, effects)

    def _mark(self, src: str, body: messages.Got, effects: list[events.Effect]) -> None:
        """One above or below has what it was told; or it asks what was decided.

        A leader asks whether a member is in its view, too: by saying that it has decided.
        """
        round = self._round
        if round is None or round.id != body.id:
            if body.step == messages.ASKED:
                self._say(src, messages.Abort(body.id), effects)
            elif src == body.id[1] and body.id != self.view.id:
                self._say(src, messages.Nack(body.id, self.promised), effects)
        elif src in round.steps:
            round.steps[src] = max(round.steps[src], body.step)
            if round.commit is not None and body.step == messages.ASKED:
                self._say(src, round.commit, effects)
        elif src == round.parent and body.step == messages.ANSWERED:
            round.heard = True

    def _commit(
        self, src: str, body: messages.Commit, now: int, effects: list[events.Effect]
    ) -> None:
        round = self._round
        if round is None or not self._is_in(body.id, body.life):
            if body.id == self.view.id:
                self._say(src, messages.Got(body.id, messages.DECIDED), effects)
            else:
                self._say(body.id[1], messages.Nack(body.id, self.promised), effects)
            return
        if src != round.parent or not is_whole(body) or self.host not in body.entries:
            return
        if src != self.host:
            self._say(src, messages.Got(body.id, messages.DECIDED), effects)
        if round.commit is not None or not self._move(RoundCause.COMMITTED):
            return
        round.commit = body
        round.committed_at = now
        for child in round.children:
            self._say(child, body, effects)
        self._press_again(round, self._pace.retry, now)
        self._joining = messages.View(body.id, body.members)
        fresh = [host for host in body.members if body.origins[host] != self._origin]
        effects.append(events.Exchange(self._joining, body.entries, tuple(fresh)))

    def _install(self, view_id: messages.ViewId, now: int, effects: list[events.Effect]) -> None:
        joining = self._joining
        if joining is None or joining.id != view_id or not self._move(RoundCause.EXCHANGED):
            return
        assert self._round is not None
        self._run_a_little(now)
        self.view = joining
        self._origin = (*view_id, self._round.life)
        self._joining = None
        effects.append(events.Installed(joining))
        self._links.set_view(view_id, now, effects)

    def _thaw(self, cause: RoundCause, now: int, effects: list[events.Effect]) -> None:
        """Go on in the old view, and let those below know that nothing will come from here."""
        if self._move(cause):
            self._run_a_little(now)
            self._joining = None
            round, self._round = self._round, None
            if round is not None and round.commit is None:
                for child in round.children:
                    self._say(child, messages.Abort(round.id), effects)
            effects.append(events.Thaw(self.promised))

    def _run_a_little(self, now: int) -> None:
        """Whatever was held goes on before this host stops itself again."""
        self._pause_until = max(self._pause_until, now + self._pace.settle)

    def _press_again(self, round: Round, wait: int, now: int) -> None:
        round.wait = wait
        round.again_at = now + wait

    def _press(self, round: Round, now: int, effects: list[events.Effect]) -> None:
        """Send again what the next ones in the tree may not have; or ask what was decided."""
        behind = round.behind(self._links.adverts)
        what = round.prepare if round.commit is None else round.commit
        for child in behind:
            self._say(child, what, effects)
        retry = self._pace.retry
        if round.commit is not None:
            patient = self._pace.pause_max + round.room
            if round is self._led() and round.wait == patient:
                for host in round.missing(self._links.adverts):
                    self._say(host, messages.Got(round.id, messages.DECIDED), effects)
            if behind:  # commits are large: pauses grow
                self._press_again(round, min(round.wait * 2, patient), now)
            else:
                self._press_again(round, patient, now)
            if now >= round.ends_at(self._pace) or not (behind or round is self._led()):
                round.again_at = None
        elif round.said is not None and round.parent != self.host:
            if round.heard:
                self._say(round.parent, messages.Got(round.id, messages.ASKED), effects)
                self._press_again(round, min(round.wait * 2, POLLS * retry), now)
            else:
                self._say(round.parent, round.said, effects)
                self._press_again(round, retry, now)
        else:
            self._press_again(round, retry, now)

    # -- a leader --------------------------------------------------------------------------

    def _led(self) -> Round | None:
        """The proposal that this host leads, until all are in its view."""
        round = self._round
        return None if round is None or round.id[1] != self.host or round.home else round

    def _propose(self, now: int, effects: list[events.Effect]) -> None:
        self._drop_round(now, effects)
        adverts = self._links.adverts.values()
        self._number = max(self._number, self.promised[0], *[one.view[0] for one in adverts]) + 1
        self._restless_since = None
        parents, hops = self._links.tree()
        prepare = messages.Prepare(
            (self._number, self.host), self._life, self._component, parents, hops
        )
        self._prepare(self.host, prepare, now, effects)

    def _give_up(self, now: int, effects: list[events.Effect]) -> None:
        """The proposal cannot be: drop it, and try another after a pause."""
        self._failures += 1
        pause = self._pace.retry << min(self._failures, 10)
        self._pause_until = now + min(pause, self._pace.pause_max)
        self._drop_round(now, effects)

    def _drop_round(self, now: int, effects: list[events.Effect]) -> None:
        round = self._led()
        if round is not None:
            if round.commit is None:
                self._thaw(RoundCause.ABORTED, now, effects)
            else:
                round.home = True  # those below may still ask for its commit

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

    def _lead(self, round: Round, now: int, effects: list[events.Effect]) -> None:
        """Drop a proposal that cannot be or is done."""
        if round.commit is not None:
            self._see_home(round, now, effects)
        elif round.broken or self._component[0] != self.host:
            self._drop_round(now, effects)
        elif now >= round.ends_at(self._pace):
            self._give_up(now, effects)

    def _see_home(self, round: Round, now: int, effects: list[events.Effect]) -> None:
        """After the commit, until the adverts of all who can be reached show the view."""
        if self.phase is STABLE and self.view.id != round.id:
            self._give_up(now, effects)  # this very host was frozen for too long
        elif now >= round.ends_at(self._pace):
            self._give_up(now, effects)
        elif self._looked_at != self._links.edition:
            self._looked_at = self._links.edition
            adverts = self._links.adverts
            shown = [adverts[host].view for host in round.members if self.reaches(host)]
            if max(shown) > round.id:
                self._give_up(now, effects)  # one has restarted, or was elsewhere meanwhile
            elif min(shown) == round.id:
                round.home = True
                self._owing = False
                self._failures = 0

    def _propose_at(self) -> int | None:
        """When this host should propose, if it should.

        Members that have left are missed at once; newcomers wait until all are in the view that is
        under way, or for as long as a proposal may take.
        """
        if self._component[0] != self.host:
            return None
        round, after = self._led(), self._pause_until
        if round is not None:
            if round.members == self._component or round.commit is None:
                return None
            if not round.broken:
                after = max(after, round.committed_at + self._pace.round + round.room)
        elif self._agreed():
            return None
        room = allowance(len(self._component), 0)
        at = self._changed_at + self._pace.settle + room // 10
        if self._restless_since is not None:
            at = min(at, self._restless_since + self._pace.loss + room)
        return max(at, after)

    # -- time ------------------------------------------------------------------------------

    def _advance(self, now: int, effects: list[events.Effect]) -> None:
        """Do what is due, and find when something will be."""
        links = self._links
        links.tick(now, effects)
        if links.component is not self._component:
            self._change(links.component, now)
        if self.phase is not STABLE:
            self._watch(now, effects)
        round = self._led()
        if round is not None:
            self._lead(round, now, effects)
        round = self._round
        if round is not None and round.again_at is not None and round.again_at <= now:
            self._press(round, now, effects)
        propose_at = self._propose_at()
        if propose_at is not None and propose_at <= now:
            self._propose(now, effects)
            propose_at = None
        due = [links.deadline(), propose_at]
        if self._round is not None:
            due.append(self._round.again_at)
        round = self._led()
        if round is not None:
            due.append(round.ends_at(self._pace))
        if self.phase is not STABLE:
            due.append(self._frozen_until())
        self.due = min([at for at in due if at is not None])

    def _change(self, component: tuple[str, ...], now: int) -> None:
        """The component is another."""
        self._component = component
        self._changed_at = now
        if self._restless_since is None:
            self._restless_since = now
        self._failures = 0
        self._pause_until = now
        round = self._led()
        if round is not None:
            round.broken = not all(self.reaches(host) for host in round.members)

    def _frozen_until(self) -> int:
        room = self._round.room if self._round is not None else 0
        until = self._frozen_at + self._pace.frozen_max + 6 * room
        if self.phase is PREPARED:
            return min(until, self._prepared_at + self._pace.prepared_max + 2 * room)
        return until

    def _watch(self, now: int, effects: list[events.Effect]) -> None:
        """A frozen host goes on in its old view when nobody will lead it into the new one."""
        if now >= self._frozen_until():
            self._thaw(RoundCause.WAITED, now, effects)
        elif not self._links.reaches(self.promised[1]):
            self._thaw(RoundCause.LEADERLESS, now, effects)
