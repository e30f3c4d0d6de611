"""A server that is one of several: the steps that it takes, copies and holds.

The servers of a domain have the same records. One of them is the *primary* and hears everybody. A
step that changes a record or a queue goes to the others first, with its changes and its frames; the
frames leave the primary when enough of them have said that they have the step. Steps that only pass
posts on wait for nobody. Refusals wait too: they might come from a primary that does not know yet
it was deposed. `standby` has the pair, whose roles an operator gives out, `elected` three and more,
which choose among themselves.

Who becomes primary does not know which of the last frames the one before it let out, and lets all
of them out again: daemons drop repeats of posts, and servers and daemons answer or ignore repeats
of the rest. What a server has heard that came to nothing, its daemons ask again (`ASKED`), and
everything else it passes on to the new primary.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from enum import Enum
from typing import Final, Self

import msgspec

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import (
    ASKED,
    Astray,
    Frame,
    Hint,
    MayGo,
    NotPrimary,
    Post,
    QueueFull,
    RecordAck,
    Refuse,
    Relayed,
    Replicate,
    Replicated,
    SeekAgent,
    Update,
)
from nomospace.protocols.routing.interface import Effect, Noted, PersistChange, TransmitFrame
from nomospace.protocols.routing.server import DomainServer

DISAGREED_MAX: Final = 64
"""Sites that name other servers of a domain, which a server tells of."""


class ServerRole(Enum):
    """What a server is among those of its domain."""

    PRIMARY = "PRIMARY"
    STANDBY = "STANDBY"
    JOINING = "JOINING"


PRIMARY, STANDBY, JOINING = ServerRole


def _passes(heard: Frame, frames: tuple[tuple[str, Frame], ...]) -> bool:
    """Whether a step does no harm even if who takes it was deposed and does not know yet.

    It may guess, and pass posts on by what it knew: they find their way. It may not answer, nor
    ignore what it heard.
    """
    if isinstance(heard, Update | Hint):
        return True
    return bool(frames) and all(
        isinstance(f, Post | SeekAgent | QueueFull | Astray) for _, f in frames
    )


class HeldStep(msgspec.Struct, frozen=True, gc=False):
    """A step whose frames wait; the primary of its term also keeps what it heard."""

    src: str
    frame: Frame | None
    frames: tuple[tuple[str, Frame], ...]
    term: int


class ReplicatedServer:
    """What the servers of a domain have in common, around a `DomainServer` just made."""

    def __init__(self, server: DomainServer) -> None:
        self._inner = server
        self.sites = server.places.servers[server.domain]
        self.others = tuple([site for site in self.sites if site != server.site])
        self.role = PRIMARY if server.site == self.sites[0] else STANDBY
        self.term = 0
        self._paired = bool(self.others)
        self._step = 0
        self._done = 0
        self._held: dict[int, HeldStep] = {}
        self._ahead: dict[int, Replicate] = {}
        self._disagreed: dict[str, tuple[str, ...]] = {}
        """Who has said that others serve the domain."""

    @property
    def site(self) -> str:
        """Where it runs."""
        return self._inner.site

    @property
    def domain(self) -> str:
        """What it serves."""
        return self._inner.domain

    @property
    def server(self) -> DomainServer:
        """The records, to be looked at."""
        return self._inner

    @property
    def leader(self) -> str:
        """The site of the primary as this server knows it; empty if it does not."""
        raise NotImplementedError

    @property
    def last(self) -> int:
        """The term of the last step."""
        return self.term

    @property
    def is_misplaced(self) -> bool:
        """Whether it was the only server before, and is not the first one now."""
        return self.role is STANDBY and not self._step and not self._inner.is_empty

    def _copied_to(self) -> tuple[str, ...]:
        """The sites that steps are copied to."""
        return self.others

    def _fits(self, step: Replicate) -> bool:
        """Whether a step that has the next number follows on what this server has."""
        return True

    def primary(self, domain: str, site: str, term: int) -> list[Effect]:
        """Take in which site is the primary of a domain since a term."""
        return self._inner.primary(domain, site, term)

    def _disagree(self, src: str, theirs: tuple[str, ...]) -> list[Effect]:
        """A site names other servers of the domain; that is told once."""
        if self._disagreed.get(src) == theirs or len(self._disagreed) >= DISAGREED_MAX:
            return []
        self._disagreed[src] = theirs
        words = f"the [servers] of {self.domain!r} are not the same at {self.site} and at {src}"
        return [Noted("servers disagree", (words, self.sites, theirs))]

    # -- steps ---------------------------------------------------------------------------------

    def _take_step(self, src: str, frame: Frame, now: int) -> list[Effect]:
        if isinstance(frame, SeekAgent) and len(self._held) >= self._inner.limits.steps_max:
            post = self._inner.stopped(frame.post)
            return [TransmitFrame(post.origin, QueueFull(post))]
        effects = self._inner.hear(src, frame, now=now)
        changes = tuple(each.change for each in effects if isinstance(each, PersistChange))
        frames = tuple(
            (each.site, each.frame) for each in effects if isinstance(each, TransmitFrame)
        )
        out: list[Effect] = [each for each in effects if not isinstance(each, TransmitFrame)]
        if not self._paired or (not changes and _passes(frame, frames)):
            out += self._sent(frames)
        else:
            self._copy(src, frame, changes, frames, out)
        return out

    def _copy(
        self,
        src: str,
        frame: Frame | None,
        changes: tuple[Change, ...],
        frames: tuple[tuple[str, Frame], ...],
        out: list[Effect],
    ) -> None:
        """Let the others have a step, and hold its frames."""
        after = self.last
        self._step += 1
        self._hold(self._step, HeldStep(src, frame, frames, self.term), out)
        copy = Replicate(self.domain, self.term, self._step, changes, frames, self._done, after)
        out += [TransmitFrame(site, copy) for site in self._copied_to()]

    def _hold(self, step: int, held: HeldStep, out: list[Effect]) -> None:
        self._held[step] = held
        taken = written.StepTaken(step, held.src, held.frame, held.frames, held.term)
        out.append(PersistChange(taken))

    def _sent(self, frames: Iterable[tuple[str, Frame]]) -> list[Effect]:
        """Frames that leave, with the term in which they do."""
        return [
            TransmitFrame(
                site,
                msgspec.structs.replace(frame, term=self.term)
                if self.term and isinstance(frame, RecordAck | MayGo | Refuse)
                else frame,
            )
            for site, frame in frames
        ]

    def _let_out(self, step: int, out: list[Effect]) -> None:
        """Send what was held up to a step."""
        if step > self._done:
            self._done = step
            out.append(PersistChange(written.StepsDone(step)))
        for number in [number for number in self._held if number <= step]:
            out += self._sent(self._held.pop(number).frames)

    def _drop_done(self, step: int, out: list[Effect]) -> None:
        """The primary has let out the frames up to a step, so nobody else needs to."""
        if step > self._done:
            self._done = step
            self._held = {number: each for number, each in self._held.items() if number > step}
            out.append(PersistChange(written.StepsDone(step)))

    def _catch_up(self, out: list[Effect]) -> None:
        """Take all steps that are next; they come in any order."""
        taken = False
        while (step := self._ahead.get(self._step + 1)) is not None and self._fits(step):
            taken = True
            del self._ahead[step.step]
            self._inner.restore(step.changes, now=0)
            out += [PersistChange(change) for change in step.changes]
            self._step = step.step
            self._begin_term(step.term, step.step, out)
            self._hold(step.step, HeldStep("", None, step.frames, step.term), out)
            self._drop_done(step.done, out)
        if taken:
            self._say_replicated(out)

    def _begin_term(self, term: int, step: int, out: list[Effect]) -> None:
        """A step was taken, perhaps the first of its term."""

    def _note_follows(self, out: list[Effect]) -> None:
        out.append(Noted("follows", (self.domain, self.site, self.leader, self.term)))

    def _say_replicated(self, out: list[Effect]) -> None:
        has = Replicated(self.domain, self.term, self._step)
        out.append(TransmitFrame(self.leader, has))

    def _keep_ahead(self, frame: Replicate, out: list[Effect]) -> None:
        self._ahead[frame.step] = frame
        out.append(PersistChange(written.StepAhead(frame)))
        self._catch_up(out)

    def _begin_from(self, changes: tuple[Change, ...], out: list[Effect]) -> None:
        """Have what the changes make, and nothing that was before."""
        self._inner = self._inner.fresh()
        self._inner.restore(changes, now=0)
        self._held.clear()
        out.append(PersistChange(written.Emptied()))
        out += [PersistChange(change) for change in changes]

    def _follow_on(self, out: list[Effect]) -> None:
        """All that a snapshot has is here: go on with the steps behind it."""
        self._ahead = {n: each for n, each in self._ahead.items() if n > self._step}
        self._write_role(out)
        self._note_follows(out)
        self._say_replicated(out)
        self._catch_up(out)

    def _pass_on(self, src: str, frame: Frame) -> list[Effect]:
        """Let the primary have what was sent to this server, or its sender ask the primary."""
        out: list[Effect] = []
        if not (self.term and isinstance(frame, ASKED)):
            out.append(TransmitFrame(self.leader, Relayed(self.domain, src, frame)))
        if self.term:
            out.append(TransmitFrame(src, NotPrimary(self.domain, self.leader, self.term)))
        return out

    def _write_role(self, out: list[Effect]) -> None:
        out.append(PersistChange(self._role_put()))

    def _role_put(self) -> written.RolePut:
        return written.RolePut(self.role.value, self.term, self._step, self._done, self._paired)

    # -- keeping and copying -------------------------------------------------------------------

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made; what was held is held again."""
        for change in changes:
            if isinstance(change, written.RolePut):
                self._take_role(change)
            elif isinstance(change, written.StepTaken):
                self._step = change.step
                self._ahead.pop(change.step, None)
                self._held[change.step] = HeldStep(
                    change.src, change.frame, change.frames, change.term
                )
            elif isinstance(change, written.StepsDone):
                self._done = change.step
                self._held = {n: each for n, each in self._held.items() if n > change.step}
            elif isinstance(change, written.StepAhead):
                self._ahead[change.frame.step] = change.frame
            elif isinstance(change, written.Emptied):
                self._inner = self._inner.fresh()
                self._held.clear()
            elif not self._redo(change):
                self._inner.restore((change,), now=now)

    def _redo(self, change: Change) -> bool:
        """Whether a change was one of this kind of server, and is made."""
        return False

    def _take_role(self, put: written.RolePut) -> None:
        self.role, self.term = ServerRole(put.role), put.term
        self._step, self._done, self._paired = put.step, put.done, put.paired
        keep = {} if self.role is PRIMARY else self._ahead
        self._ahead = {n: e for n, e in keep.items() if n > put.step and e.term == put.term}

    def changes(self) -> list[Change]:
        """The shortest list that makes the durable part of this server."""
        made = self._inner.changes()
        made += [
            written.StepTaken(number, each.src, each.frame, each.frames, each.term)
            for number, each in self._held.items()
        ]
        made.append(self._role_put())
        made += [written.StepAhead(frame) for frame in self._ahead.values()]
        return made

    def state(self) -> tuple[object, ...]:
        """All that the future depends on, in a fixed order."""
        return (
            self._inner.state(),
            self._role_put(),
            tuple(self._held.items()),
            tuple(sorted(self._ahead.items())),
        )

    def copy(self) -> Self:
        """The same server, apart."""
        twin = copy(self)
        twin._inner, twin._disagreed = self._inner.copy(), {}
        twin._held, twin._ahead = dict(self._held), dict(self._ahead)
        return twin
