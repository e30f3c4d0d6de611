"""A server with a standby: what one has let out, the other knows.

The servers of a pair have the same records. The *primary* hears everybody. A step that changes a
record or a queue goes to the *standby* first, with its changes and its frames; the frames leave the
primary when the standby has said that it has the step. Steps that only pass posts on wait for
nobody. Refusals wait too: they might come from a primary that does not know yet it was deposed.

| role    | told                    | follows                                        | then    |
| ------- | ----------------------- | ---------------------------------------------- | ------- |
| PRIMARY | a frame, changes follow | `Replicate`; its frames are held               | PRIMARY |
| PRIMARY | `Replicated`            | the frames held up to that step                | PRIMARY |
| STANDBY | `Replicate`             | its changes; its frames are held; `Replicated` | STANDBY |
| STANDBY | `take_over`             | all frames held; `Deposed`                     | PRIMARY |
| PRIMARY | `Deposed`               | `Relayed`, what was heard since; `Rejoin`      | JOINING |
| PRIMARY | `Rejoin`, while alone   | `ServerSnapshot`                               | PRIMARY |
| JOINING | `ServerSnapshot`        | its changes; `Replicated`                      | STANDBY |

A standby that takes over does not know which of the last frames its primary let out, and lets all
of them out again: daemons drop repeats of posts, and servers and daemons answer or ignore repeats
of the rest. The old primary is fenced off by that: its steps are not replicated any more, so none
of their frames leave it, and when it hears that it is deposed it passes what it heard on to the new
one. Who may take over, and that a primary told `standby_away` has no standby that does, is for the
host to decide: two sites alone cannot.

The paper asks for replicated servers (section 5) and leaves open how.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Self

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import (
    PAIRS,
    Astray,
    Deposed,
    Frame,
    Hint,
    NotPrimary,
    Post,
    QueueFull,
    Rejoin,
    Relayed,
    Replicate,
    Replicated,
    SeekAgent,
    ServerSnapshot,
    Update,
)
from nomospace.protocols.routing.interface import Effect, Noted, PersistChange, TransmitFrame
from nomospace.protocols.routing.server import DomainServer


class ServerRole(Enum):
    """What a server is in its pair."""

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


class _Step:
    """A step whose frames wait; the primary also keeps what it heard."""

    __slots__ = ("frame", "frames", "src")

    def __init__(
        self, src: str, frame: Frame | None, frames: tuple[tuple[str, Frame], ...]
    ) -> None:
        self.src = src
        self.frame = frame
        self.frames = frames


class PairedServer:
    """One of the two servers of a domain, around a `DomainServer` that has just been made.

    >>> from nomospace.protocols.routing.places import Places
    >>> from nomospace.protocols.routing.server import DomainServer
    >>> from nomospace.protocols.routing.frames import Register
    >>> places = Places({"lab": ("q1", "q2")})
    >>> first, second = (PairedServer(DomainServer(site, "lab", places)) for site in ("q1", "q2"))
    >>> first.role.name, second.role.name
    ('PRIMARY', 'STANDBY')
    >>> *_, sent = first.hear("s", Register("lab", "ann@lab", 0), now=0)
    >>> sent.site, type(sent.frame).__name__  # no answer yet
    ('q2', 'Replicate')
    >>> *_, sent = second.hear("q1", sent.frame, now=0)
    >>> first.hear("q2", sent.frame, now=0)[-1]
    TransmitFrame(site='s', frame=RecordAck(domain='lab', agent='ann@lab', epoch=0, strays=()))
    """

    __slots__ = ("_ahead", "_done", "_held", "_inner", "_paired", "_step", "peer", "role", "term")

    def __init__(self, server: DomainServer) -> None:
        self._inner = server
        sites = server.places.servers[server.domain]
        others = [site for site in sites if site != server.site]
        self.peer = others[0] if others else ""
        self.role = PRIMARY if server.site == sites[0] else STANDBY
        self.term = 0
        self._paired = bool(others)
        self._step = 0
        self._done = 0
        self._held: dict[int, _Step] = {}
        self._ahead: dict[int, Replicate] = {}

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

    # -- what the host asks --------------------------------------------------------------------

    def take_over(self, term: int) -> list[Effect]:
        """Become the primary in a term above all before; only a standby that is up to date can."""
        if self.role is not STANDBY or term <= self.term:
            return [Noted("takeover refused", (self.domain, self.role.value, self.term, term))]
        out: list[Effect] = []
        self.role, self.term, self._paired = PRIMARY, term, False
        self._ahead.clear()  # the old primary knows what it heard there, and passes it on
        self._write_role(out)
        self._let_out(self._step, out)
        out.append(TransmitFrame(self.peer, Deposed(self.domain, term, self._step)))
        return out

    def standby_away(self) -> list[Effect]:
        """The standby is gone, and will not take over: go on alone."""
        if self.role is not PRIMARY or not self._paired:
            return []
        out: list[Effect] = []
        self._paired = False
        self._write_role(out)
        self._let_out(self._step, out)
        return out

    def standby_back(self) -> list[Effect]:
        """The standby is there again: bring it up to date, and wait for it from now on.

        A standby says so when it meets its primary again, which may have gone on alone meanwhile.
        """
        if self.role is not PRIMARY or self._paired or not self.peer:
            return []
        return self._snapshot()

    def primary(self, domain: str, site: str, term: int) -> list[Effect]:
        """Take in which site is the primary of a domain since a term."""
        return self._inner.primary(domain, site, term)

    # -- what the courier brings ---------------------------------------------------------------

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        """Act on a frame from a daemon, another server or the other one of this pair."""
        if isinstance(frame, Relayed) and src == self.peer:
            return self.hear(frame.src, frame.frame, now=now)
        if isinstance(frame, NotPrimary):
            return self._inner.hear(src, frame, now=now)
        if isinstance(frame, PAIRS):
            return self._hear_peer(src, frame)
        if self.role is PRIMARY:
            return self._take_step(src, frame, now)
        out: list[Effect] = [TransmitFrame(self.peer, Relayed(self.domain, src, frame))]
        if self.term:
            out.append(TransmitFrame(src, NotPrimary(self.domain, self.peer, self.term)))
        return out

    def _take_step(self, src: str, frame: Frame, now: int) -> list[Effect]:
        if isinstance(frame, SeekAgent) and len(self._held) >= self._inner.limits.steps_max:
            post = self._inner.stopped(frame.post)
            return [TransmitFrame(post.origin, QueueFull(post))]
        effects = self._inner.hear(src, frame, now=now)
        changes = tuple(each.change for each in effects if isinstance(each, PersistChange))
        frames = tuple(
            (each.site, each.frame) for each in effects if isinstance(each, TransmitFrame)
        )
        if not self._paired or (not changes and _passes(frame, frames)):
            return effects
        out: list[Effect] = [each for each in effects if not isinstance(each, TransmitFrame)]
        self._step += 1
        self._held[self._step] = _Step(src, frame, frames)
        out.append(PersistChange(written.StepTaken(self._step, src, frame, frames)))
        out.append(
            TransmitFrame(
                self.peer,
                Replicate(self.domain, self.term, self._step, changes, frames, self._done),
            )
        )
        return out

    def _hear_peer(self, src: str, frame: Frame) -> list[Effect]:
        out: list[Effect] = []
        if src != self.peer:
            out.append(Noted("not of this pair", (src, frame)))
        elif isinstance(frame, Replicate) and frame.term == self.term and self.role is not PRIMARY:
            if frame.step > self._step:
                self._ahead[frame.step] = frame
                out.append(PersistChange(written.StepAhead(frame)))
                self._catch_up(out)
        elif isinstance(frame, Replicated) and frame.term == self.term and self.role is PRIMARY:
            self._let_out(frame.step, out)
        elif (
            isinstance(frame, ServerSnapshot)
            and frame.term == self.term
            and self.role is not PRIMARY
        ):
            self._start_from(frame, out)
        elif isinstance(frame, Deposed) and frame.term > self.term:
            self._step_down(frame, out)
        elif isinstance(frame, Rejoin) and frame.term == self.term and self.role is PRIMARY:
            out += self.standby_back()
        else:
            out.append(Noted("of another term", (src, frame)))
        return out

    def _let_out(self, step: int, out: list[Effect]) -> None:
        """Send what was held up to a step."""
        if step > self._done:
            self._done = step
            out.append(PersistChange(written.StepsDone(step)))
        for number in [number for number in self._held if number <= step]:
            out += [TransmitFrame(site, frame) for site, frame in self._held.pop(number).frames]

    def _catch_up(self, out: list[Effect]) -> None:
        """Take all steps that are next; they come in any order."""
        if self.role is JOINING or self._step + 1 not in self._ahead:
            return
        while (step := self._ahead.pop(self._step + 1, None)) is not None:
            self._inner.restore(step.changes, now=0)
            out += [PersistChange(change) for change in step.changes]
            self._step = step.step
            self._held[step.step] = _Step("", None, step.frames)
            out.append(PersistChange(written.StepTaken(step.step, "", None, step.frames)))
            self._drop_done(step.done, out)
        out.append(TransmitFrame(self.peer, Replicated(self.domain, self.term, self._step)))

    def _drop_done(self, step: int, out: list[Effect]) -> None:
        """The primary has let out the frames up to a step, so nobody else needs to."""
        if step > self._done:
            self._done = step
            self._held = {number: each for number, each in self._held.items() if number > step}
            out.append(PersistChange(written.StepsDone(step)))

    def _snapshot(self) -> list[Effect]:
        self._paired = True
        self._step += 1
        out: list[Effect] = []
        self._write_role(out)
        changes = tuple(self._inner.changes())
        out.append(
            TransmitFrame(self.peer, ServerSnapshot(self.domain, self.term, self._step, changes))
        )
        return out

    def _start_from(self, snapshot: ServerSnapshot, out: list[Effect]) -> None:
        self._inner = self._inner.fresh()
        self._inner.restore(snapshot.changes, now=0)
        self.role, self._step, self._done = STANDBY, snapshot.step, snapshot.step
        self._held.clear()
        self._ahead = {n: each for n, each in self._ahead.items() if n > snapshot.step}
        out.append(PersistChange(written.Emptied()))
        out += [PersistChange(change) for change in snapshot.changes]
        self._write_role(out)
        out.append(TransmitFrame(self.peer, Replicated(self.domain, self.term, self._step)))
        self._catch_up(out)

    def _step_down(self, deposed: Deposed, out: list[Effect]) -> None:
        """Give everything to the new primary that it has not got, and begin again as standby."""
        if not self._paired:
            out.append(Noted("deposed while alone", (self.domain, self.term, deposed)))
        heard = [each for number, each in self._held.items() if number > deposed.step]
        self.role, self.term = JOINING, deposed.term
        self._inner = self._inner.fresh()
        self._held.clear()
        self._ahead.clear()
        self._step = self._done = 0
        out.append(PersistChange(written.Emptied()))
        self._write_role(out)
        out += [
            TransmitFrame(self.peer, Relayed(self.domain, each.src, each.frame))
            for each in heard
            if each.frame is not None
        ]
        out.append(TransmitFrame(self.peer, Rejoin(self.domain, self.term)))

    def _write_role(self, out: list[Effect]) -> None:
        out.append(PersistChange(self._role_put()))

    def _role_put(self) -> written.RolePut:
        return written.RolePut(self.role.value, self.term, self._step, self._done, self._paired)

    # -- keeping and copying -------------------------------------------------------------------

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made; what was held is held again."""
        for change in changes:
            if isinstance(change, written.RolePut):
                self.role, self.term = ServerRole(change.role), change.term
                self._step, self._done, self._paired = change.step, change.done, change.paired
                keep = {} if self.role is PRIMARY else self._ahead
                self._ahead = {n: each for n, each in keep.items() if n > change.step}
            elif isinstance(change, written.StepTaken):
                self._step = change.step
                self._ahead.pop(change.step, None)
                self._held[change.step] = _Step(change.src, change.frame, change.frames)
            elif isinstance(change, written.StepsDone):
                self._done = change.step
                self._held = {n: each for n, each in self._held.items() if n > change.step}
            elif isinstance(change, written.StepAhead):
                self._ahead[change.frame.step] = change.frame
            elif isinstance(change, written.Emptied):
                self._inner = self._inner.fresh()
                self._held.clear()
            else:
                self._inner.restore((change,), now=now)

    def changes(self) -> list[Change]:
        """The shortest list that makes the durable part of this server."""
        made = self._inner.changes()
        made += [
            written.StepTaken(number, each.src, each.frame, each.frames)
            for number, each in self._held.items()
        ]
        made.append(self._role_put())
        made += [written.StepAhead(frame) for frame in self._ahead.values()]
        return made

    def state(self) -> tuple[object, ...]:
        """All that the future depends on, in a fixed order."""
        return (
            self._inner.state(),
            self.role.value,
            self.term,
            self._paired,
            self._step,
            self._done,
            tuple((n, each.src, each.frame, each.frames) for n, each in self._held.items()),
            tuple(sorted(self._ahead.items())),
        )

    def copy(self) -> Self:
        """The same server, apart."""
        twin = type(self)(self._inner.copy())
        twin.role, twin.term = self.role, self.term
        twin._paired, twin._step, twin._done = self._paired, self._step, self._done
        twin._held, twin._ahead = dict(self._held), dict(self._ahead)
        return twin
