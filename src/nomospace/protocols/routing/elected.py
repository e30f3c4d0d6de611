"""Three or more servers of a domain choose their primary by majority (see `replicas`).

Time is cut into *terms*. In a term at most one server is primary: each gives one vote in it, on its
disk before it is said, and a majority makes the primary. The first server of the list is primary in
term 0. Every copy of a step, every answer and every vote says its term; whoever hears of a later
one follows it, and what is of an earlier one counts for nothing.

| role    | told                         | follows                                      | then    |
| ------- | ---------------------------- | -------------------------------------------- | ------- |
| PRIMARY | a frame, changes follow      | `Replicate` to all; its frames are held      | PRIMARY |
| PRIMARY | `Replicated` by a majority   | the frames held up to that step              | PRIMARY |
| PRIMARY | the time                     | `PrimaryBeat`; a trial if a majority is away | PRIMARY |
| PRIMARY | `BeatHeard`, it has no steps | a first step of its term, `Replicate`        | PRIMARY |
| PRIMARY | `Rejoin`                     | `ServerSnapshot`                             | PRIMARY |
| any     | anything of a later term     | its term; what it holds it goes on holding   | STANDBY |
| STANDBY | `PrimaryBeat`                | `BeatHeard`; `Rejoin`, if it gets no more    | STANDBY |
| STANDBY | `Replicate` that follows     | its changes, frames held; `Replicated`       | STANDBY |
| STANDBY | `Replicate` that does not    | `Rejoin`                                     | STANDBY |
| STANDBY | `ServerSnapshot`             | its changes; what was heard in vain is kept  | STANDBY |
| STANDBY | no `PrimaryBeat` for long    | a trial: `AskVote`, nobody's term changes    | STANDBY |
| STANDBY | `AskVote`, itself in a trial | no vote, if it stands before who asks        | STANDBY |
| any     | a majority would vote for it | the next term, its own vote, `AskVote`       | STANDBY |
| STANDBY | the votes of a majority      | a first step of its term, `Replicate`        | PRIMARY |

A vote goes to who has all that this server has: a last step of a later term, or of the same one and
as late. So a step that a majority has is at every later primary. A new primary lets nothing out
before a majority has its own first step: only then nobody else can win without it. A server that
has no steps gives no vote and is given none: it may have had some, before it lost its store. So the
first server of the list takes a first step, with whatever it has, before it hears anybody else,
when another has said that it has no more: who has steps then got them from one that has a vote.

What a primary heard in a step that no majority got, it *keeps* until a later primary is sure; then
it passes it on, unless that one has the step after all (`lineage`). So does a standby with what it
hears while it knows no primary. In two minds a domain never is: a minority copies its steps to no
majority, so it answers nobody, and lets only posts pass by what it knew.

This is the core of Raft (Ongaro and Ousterhout 2014), with a whole snapshot in the place of the
repair of logs. Beats and votes may get lost; the rest goes by courier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Self

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.changes import Change, FrameKept
from nomospace.protocols.routing.frames import (
    ASKED,
    BEATS,
    PAIRS,
    AskVote,
    BeatHeard,
    Frame,
    Hint,
    NotPrimary,
    PrimaryBeat,
    QueueFull,
    Rejoin,
    Relayed,
    Replicate,
    Replicated,
    SeekAgent,
    ServerSnapshot,
    Update,
    Vote,
    WhoServes,
)
from nomospace.protocols.routing.interface import (
    Effect,
    Noted,
    PersistChange,
    SayFrame,
    TransmitFrame,
)
from nomospace.protocols.routing.replicas import (
    JOINING,
    PRIMARY,
    STANDBY,
    HeldStep,
    ReplicatedServer,
)
from nomospace.protocols.routing.server import DomainServer

BEATS_EACH: Final = 5
"""Beats in the time after which a primary is missed."""
TERMS_AHEAD_MAX: Final = 1_000_000
"""A term so far above one's own comes from no vote."""
LINEAGE_MAX: Final = 1_000
"""Terms of its steps that a server remembers."""


def _has(lineage: tuple[tuple[int, int], ...], last: int, term: int, step: int) -> bool:
    """Whether the steps up to `last` have one that was taken in a term.

    >>> _has(((0, 1), (2, 5)), 9, 0, 4), _has(((0, 1), (2, 5)), 9, 0, 5)
    (True, False)
    """
    ends = (*(first - 1 for _, first in lineage[1:]), last)
    return any(each[0] == term and step <= end for each, end in zip(lineage, ends, strict=True))


class ElectedServer(ReplicatedServer):
    """One of three or more servers of a domain.

    >>> from nomospace.protocols.routing.places import Places
    >>> places = Places({"lab": ("q1", "q2", "q3")})
    >>> first, second, third = (
    ...     ElectedServer(DomainServer(site, "lab", places)) for site in places.servers["lab"]
    ... )
    >>> beat = first.tick(now=first.next_deadline())[0]
    >>> beat.site, second.hear("q1", beat.frame, now=0)[-1].frame
    ('q2', BeatHeard(domain='lab', term=0, step=0, last=0))
    >>> asked = second.tick(now=second.next_deadline())[-1]
    >>> asked.frame
    AskVote(domain='lab', term=1, step=0, last=0, trial=True)
    >>> third.hear("q2", asked.frame, now=0)[-1].frame.given  # it has no steps
    False
    """

    def __init__(self, server: DomainServer, *, now: int = 0) -> None:
        super().__init__(server)
        self._leader = self.sites[0]
        self._voted = ""
        self._lineage: tuple[tuple[int, int], ...] = ()
        self._kept: list[FrameKept] = []
        # What follows is not written down.
        self._silence = server.limits.silence
        self._slot = self._silence // (2 * len(self.sites))
        self._rank = self.sites.index(server.site)
        self._acked: dict[str, int] = {}
        self._since = 0
        """The last step when this server began to be primary: others may have it."""
        self._heard = dict.fromkeys(self.others, now)
        self._lost: set[str] = set()
        """Who is so far behind that it is sent no steps."""
        self._votes: set[str] = set()
        self._trial = False
        self._beat_at = now
        self._got_on = (now, 0, 0)
        """When this server last had more than before, and its last step then."""
        self._rejoined = 0
        """The last term in which it has asked for everything."""
        self._due = now
        self._put_off(now)

    # -- what it is ----------------------------------------------------------------------------

    @property
    def leader(self) -> str:
        """The site of the primary of this term; empty if it is not known."""
        return self._leader

    @property
    def last(self) -> int:
        """The term of the last step."""
        return self._lineage[-1][0] if self._lineage else 0

    @property
    def _quorum(self) -> int:
        return len(self.sites) // 2 + 1

    @property
    def _sure(self) -> bool:
        """Whether no other primary can come that has not the steps of this term's."""
        if not self._lineage or self.last != self.term:
            return False
        return self._done >= self._lineage[-1][1]

    def _copied_to(self) -> tuple[str, ...]:
        late = self._step - 1 - self._inner.limits.steps_max
        if late > 0:
            had = {site: self._acked.get(site, self._since) for site in self.others}
            self._lost |= {site for site, step in had.items() if step < late}
        return tuple([site for site in self.others if site not in self._lost])

    def _fits(self, step: Replicate) -> bool:
        return step.after == self.last

    def _majority_heard(self, now: int) -> bool:
        heard = [site for site, at in self._heard.items() if now - at < self._silence]
        return len(heard) + 1 >= self._quorum

    # -- the time ------------------------------------------------------------------------------

    def next_deadline(self) -> int:
        """When it next wants to hear the time."""
        return self._due

    def _put_off(self, now: int) -> None:
        """The primary is there, or will be: one after the other the rest begin to miss it."""
        wait = self._silence // BEATS_EACH
        if self.role is not PRIMARY:
            wait = self._silence + self._rank * self._slot
        self._due = now + wait

    def tick(self, *, now: int) -> list[Effect]:
        """Say that the primary lives, or see to it that there is one."""
        if now < self._due:
            return []
        if self.role is PRIMARY and self._majority_heard(now):
            self._put_off(now)
            beat = PrimaryBeat(self.domain, self.term, self._step, self._done, self.sites)
            return [SayFrame(site, beat) for site in self.others]
        self._due = now + (1 + self._rank) * self._slot
        if not self._trial:  # else votes of a trial that is asked for again count still
            self._votes, self._trial = set(), True
        self._votes.add(self.site)
        return self._ask_votes(self.term + 1)

    def _ask_votes(self, term: int) -> list[Effect]:
        ask = AskVote(self.domain, term, self._step, self.last, self._trial)
        return [SayFrame(site, ask) for site in self.others]

    # -- what is heard -------------------------------------------------------------------------

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        """Act on a frame from a daemon, or from another server of this domain or another one."""
        if isinstance(frame, Relayed) and src in self.sites:
            return self.hear(frame.src, frame.frame, now=now)
        if isinstance(frame, NotPrimary):
            return self._inner.hear(src, frame, now=now)
        if isinstance(frame, WhoServes):
            return self._say_who_serves(src, frame)
        if isinstance(frame, (*PAIRS, *BEATS)):
            return self._hear_server(src, frame, now)
        if self.role is PRIMARY and self._step:
            return self._take_step(src, frame, now)
        if self._leader and self._sure:
            return self._pass_on(src, frame)
        if self.role is PRIMARY:
            self._due = now
        return self._keep(src, frame)

    def _say_who_serves(self, src: str, asked: WhoServes) -> list[Effect]:
        if not self._leader or asked.term >= self.term:
            return []
        return [SayFrame(src, NotPrimary(self.domain, self._leader, self.term))]

    def _keep(self, src: str, frame: Frame) -> list[Effect]:
        if isinstance(frame, Update | Hint):
            return []
        if isinstance(frame, SeekAgent) and len(self._kept) >= self._inner.limits.steps_max:
            post = self._inner.stopped(frame.post)
            return [TransmitFrame(post.origin, QueueFull(post))]
        self._kept.append(kept := FrameKept(src, frame))
        return [PersistChange(kept)]

    def _hear_server(self, src: str, frame: Frame, now: int) -> list[Effect]:
        out: list[Effect] = []
        term: int = getattr(frame, "term", 0)
        if src not in self.others:
            theirs = frame.servers if isinstance(frame, PrimaryBeat) else (src,)
            out += self._disagree(src, theirs)
        elif term > self.term + TERMS_AHEAD_MAX:
            out.append(Noted("a term of the future", (self.domain, self.term, src, frame)))
        elif isinstance(frame, AskVote):
            self._asked_for_vote(src, frame, now, out)
        elif isinstance(frame, Vote):
            self._given_vote(src, frame, now, out)
        elif isinstance(frame, PrimaryBeat):
            self._hear_beat(src, frame, now, out)
        else:
            if term > self.term:
                self._enter(term, now, out)
            if term < self.term:
                out.append(Noted("of another term", (src, frame)))
            elif self.role is PRIMARY:
                self._hear_standby(src, frame, now, out)
            else:
                self._hear_primary(src, frame, now, out)
        return out

    # -- as the primary ------------------------------------------------------------------------

    def _hear_standby(self, src: str, frame: Frame, now: int, out: list[Effect]) -> None:
        if isinstance(frame, BeatHeard):
            self._heard[src] = now
            if frame.last != self.term:
                return
            if frame.step > self._step:  # they were this server's own: its store is another
                out.append(Noted("forgot its steps", (self.domain, self._step, src, frame)))
                self.role, self._leader = STANDBY, ""
                self._put_off(now)
                self._write_role(out)
                return
            if not self._step:  # if it served alone, it has something
                self._begin_steps(tuple(self._inner.changes()), out)
            self._acknowledged(src, frame.step, now, out)
        elif isinstance(frame, Replicated):
            self._acknowledged(src, frame.step, now, out)
        elif isinstance(frame, Rejoin):
            self._lost.discard(src)
            held = tuple(
                [
                    Replicate(self.domain, each.term, step, (), each.frames, self._done)
                    for step, each in self._held.items()
                ]
            )
            changes = tuple(self._inner.changes())
            snapshot = ServerSnapshot(
                self.domain, self.term, self._step, changes, self._done, held, self._lineage
            )
            out.append(TransmitFrame(src, snapshot))
        else:
            out.append(Noted("two primaries in a term", (self.domain, src, frame)))

    def _acknowledged(self, src: str, step: int, now: int, out: list[Effect]) -> None:
        self._acked[src] = max(step, self._acked.get(src, 0))
        has = sorted([self._step, *self._acked.values()], reverse=True)
        if len(has) >= self._quorum and has[self._quorum - 1] >= self._lineage[-1][1]:
            self._let_out(has[self._quorum - 1], out)
            self._release(now, out)

    # -- as a standby --------------------------------------------------------------------------

    def _hear_beat(self, src: str, beat: PrimaryBeat, now: int, out: list[Effect]) -> None:
        if beat.servers != self.sites:
            out += self._disagree(src, beat.servers)
            return
        if beat.term > self.term:
            self._enter(beat.term, now, out)
        if beat.term == self.term and self.role is PRIMARY:
            out.append(Noted("two primaries in a term", (self.domain, src, beat)))
            return
        if beat.term == self.term:
            self._follow(src, out)
            self._beat_at, self._votes = now, set()
            self._put_off(now)
            if self.last == self.term:
                self._drop_done(min(beat.done, self._step), out)
            self._release(now, out)
            has = (self.last, self._step)
            if has == (self.term, beat.step) or has != self._got_on[1:]:
                self._got_on = (now, *has)
            elif now - self._got_on[0] >= self._silence:
                self._rejoin(now, out)
        heard = BeatHeard(self.domain, self.term, self._step, self.last)
        out.append(SayFrame(src, heard))

    def _rejoin(self, now: int, out: list[Effect]) -> None:
        """Ask the primary for all that it has."""
        self._got_on, self._rejoined = (now, self.last, self._step), self.term
        out.append(TransmitFrame(self._leader, Rejoin(self.domain, self.term)))

    def _hear_primary(self, src: str, frame: Frame, now: int, out: list[Effect]) -> None:
        if isinstance(frame, Replicate):
            self._follow(src, out)
            follows = (frame.after, frame.step) == (self.last, self._step + 1)
            if self.last < self.term and not follows and self._rejoined < self.term:
                self._rejoin(now, out)
            if frame.step > self._step or self.last < self.term:
                self._keep_ahead(frame, out)
        elif isinstance(frame, ServerSnapshot):
            self._follow(src, out)
            if self.last < self.term or frame.step > self._step:
                self._start_from(frame, out)
        self._release(now, out)

    def _start_from(self, snapshot: ServerSnapshot, out: list[Effect]) -> None:
        vain = [
            FrameKept(each.src, each.frame, each.term, step)
            for step, each in self._held.items()
            if each.frame is not None and not _has(snapshot.lineage, snapshot.step, each.term, step)
        ]
        self._kept += vain
        self._begin_from(snapshot.changes, out)
        out += [PersistChange(kept) for kept in vain]
        for one in snapshot.held:
            self._hold(one.step, HeldStep("", None, one.frames, one.term), out)
        self._step, self._done, self._lineage = snapshot.step, snapshot.done, snapshot.lineage
        self._follow_on(out)

    def _follow(self, src: str, out: list[Effect]) -> None:
        """A server is the primary of this term."""
        if self._leader == src:
            return
        self._leader = src
        self._write_role(out)
        out.append(TransmitFrame(self.site, NotPrimary(self.domain, src, self.term)))

    def _release(self, now: int, out: list[Effect]) -> None:
        """Give what was kept to a primary that is sure, or let those who ask it do so."""
        if not self._kept or not self._leader or not self._sure:
            return
        kept, self._kept = self._kept, []
        out.append(PersistChange(written.KeptGone()))
        for each in kept:
            if each.step and _has(self._lineage, self._step, each.term, each.step):
                continue
            if self.role is PRIMARY and not (self.term and isinstance(each.frame, ASKED)):
                out += self._take_step(each.src, each.frame, now)
            else:
                out += self._pass_on(each.src, each.frame)

    # -- votes ---------------------------------------------------------------------------------

    def _enter(self, term: int, now: int, out: list[Effect]) -> None:
        """Begin a later term, whose primary is not known yet."""
        self.term, self.role = term, STANDBY
        self._leader = self._voted = ""
        self._ahead.clear()
        self._votes = set()
        self._put_off(now)
        self._write_role(out)

    def _asked_for_vote(self, src: str, ask: AskVote, now: int, out: list[Effect]) -> None:
        mine, its = (self.last, self._step), (ask.last, ask.step)
        fit = its >= mine and self._step > 0
        if ask.trial:
            missed = (
                not self._majority_heard(now)
                if self.role is PRIMARY
                else self._leader == src or now - self._beat_at >= self._silence
            )
            # Of two that try at once one stands back, or both would stand, and have a vote each.
            before = self._votes and self._rank < self.sites.index(src) and its == mine
            given = fit and missed and ask.term > self.term and not before
        else:
            if ask.term > self.term:
                self._enter(ask.term, now, out)
            given = fit and ask.term == self.term and self._voted in ("", src)
            if given and not self._voted:
                self._voted = src
                self._write_role(out)
        out.append(SayFrame(src, Vote(self.domain, ask.term, ask.trial, given, self.term)))

    def _given_vote(self, src: str, vote: Vote, now: int, out: list[Effect]) -> None:
        self._heard[src] = now
        if vote.own > self.term + TERMS_AHEAD_MAX:
            out.append(Noted("a term of the future", (self.domain, self.term, src, vote)))
        elif vote.own > self.term:
            self._enter(vote.own, now, out)
        elif vote.given and self._votes and vote.trial is self._trial:
            if vote.term != self.term + self._trial:
                return
            self._votes.add(src)
            if len(self._votes) < self._quorum:
                return
            if self._trial:
                self._stand(now, out)
            else:
                self._win(now, out)

    def _stand(self, now: int, out: list[Effect]) -> None:
        """Begin the next term, with this server's own vote for itself."""
        self._enter(self.term + 1, now, out)
        self._voted = self.site
        self._write_role(out)
        self._votes, self._trial = {self.site}, False
        out += self._ask_votes(self.term)

    def _win(self, now: int, out: list[Effect]) -> None:
        self.role, self._leader, self._votes = PRIMARY, self.site, set()
        self._acked.clear()
        self._lost.clear()
        self._since = self._step
        self._heard = dict.fromkeys(self.others, now)
        self._due = now
        self._begin_steps((), out)
        out.append(Noted("elected", (self.domain, self.site, self.term)))
        out.append(TransmitFrame(self.site, NotPrimary(self.domain, self.site, self.term)))

    def _begin_steps(self, changes: tuple[Change, ...], out: list[Effect]) -> None:
        """Take the first step of the term."""
        self._copy("", None, changes, (), out)
        self._begin_term(self.term, self._step, out)

    def _begin_term(self, term: int, step: int, out: list[Effect]) -> None:
        if term != self.last or not self._lineage:
            self._lineage = (*self._lineage, (term, step))[-LINEAGE_MAX:]
            self._write_role(out)
            if self.role is not PRIMARY:
                self._note_follows(out)

    # -- keeping and copying -------------------------------------------------------------------

    def _role_put(self) -> written.RolePut:
        return written.RolePut(
            self.role.value,
            self.term,
            self._step,
            self._done,
            self._paired,
            self._leader,
            self._voted,
            self._lineage,
            member=self._step > 0,
        )

    def _take_role(self, put: written.RolePut) -> None:
        super()._take_role(put)
        if self.role is JOINING:  # it was one of two
            self.role = STANDBY
        self._leader = self.site if self.role is PRIMARY else put.leader
        self._voted, self._lineage = put.voted, put.lineage

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made; all others are given time to be heard."""
        super().restore(changes, now=now)
        self._paired = True
        if self._step and not self._lineage:  # it was one of two, perhaps alone for a while
            self._lineage = ((self.term, 1),)
            self._step += self.role is PRIMARY  # so that the other asks for all that it has
        self._since = self._step
        self._put_off(now)

    def _redo(self, change: Change) -> bool:
        if isinstance(change, FrameKept):
            self._kept.append(change)
        elif isinstance(change, written.KeptGone):
            self._kept = []
        else:
            return False
        return True

    def changes(self) -> list[Change]:
        """The shortest list that makes the durable part of this server."""
        return [*super().changes(), *self._kept]

    def state(self) -> tuple[object, ...]:
        """All that the future depends on, in a fixed order; but for times."""
        votes = (tuple(sorted(self._votes)), self._trial, tuple(sorted(self._acked.items())))
        return (*super().state(), tuple(self._kept), votes, tuple(sorted(self._lost)))

    def copy(self) -> Self:
        """The same server, apart."""
        twin = super().copy()
        twin._kept = list(self._kept)
        twin._votes, twin._lost = set(self._votes), set(self._lost)
        twin._acked, twin._heard = dict(self._acked), dict(self._heard)
        return twin
