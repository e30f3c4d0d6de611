"""A server with one standby: what one has let out, the other knows (see `replicas`).

| role    | told                    | follows                                        | then    |
| ------- | ----------------------- | ---------------------------------------------- | ------- |
| PRIMARY | a frame, changes follow | `Replicate`; its frames are held               | PRIMARY |
| PRIMARY | `Replicated`            | the frames held up to that step                | PRIMARY |
| STANDBY | `Replicate`             | its changes; its frames are held; `Replicated` | STANDBY |
| STANDBY | `take_over`             | all frames held; `Deposed`                     | PRIMARY |
| PRIMARY | `Deposed`               | what was heard since, passed on; `Rejoin`      | JOINING |
| PRIMARY | `Rejoin`, while alone   | `ServerSnapshot`                               | PRIMARY |
| JOINING | `ServerSnapshot`        | its changes; `Replicated`                      | STANDBY |

The old primary is fenced off when the standby has taken over: its steps are not replicated any
more, so none of their frames leave it. Who may take over, and that a primary told `standby_away`
has no standby that does, is for the host to decide: two sites alone cannot.

The paper asks for replicated servers (section 5) and leaves open how.
"""

from __future__ import annotations

from collections.abc import Iterable

from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import (
    BEATS,
    PAIRS,
    Deposed,
    Frame,
    NotPrimary,
    PrimaryBeat,
    Rejoin,
    Relayed,
    Replicate,
    Replicated,
    ServerSnapshot,
    WhoServes,
)
from nomospace.protocols.routing.interface import Effect, Noted, TransmitFrame
from nomospace.protocols.routing.replicas import JOINING, PRIMARY, STANDBY, ReplicatedServer


class PairedServer(ReplicatedServer):
    """One of the two servers of a domain.

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
    TransmitFrame(site='s', frame=RecordAck(domain='lab', agent='ann@lab', epoch=0, strays=(),
    term=0))
    """

    @property
    def peer(self) -> str:
        """The other one; empty if there is none."""
        return self.others[0] if self.others else ""

    @property
    def leader(self) -> str:
        """The site of the primary."""
        return self.site if self.role is PRIMARY else self.peer

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
        out: list[Effect] = []
        self._paired = True
        self._step += 1
        self._write_role(out)
        changes = tuple(self._inner.changes())
        snapshot = ServerSnapshot(self.domain, self.term, self._step, changes)
        out.append(TransmitFrame(self.peer, snapshot))
        return out

    def restore(self, changes: Iterable[Change], *, now: int) -> None:
        """Become what the changes made; who was the only server yet has to bring all it has."""
        super().restore(changes, now=now)
        if not self._step and not self._inner.is_empty:
            self._paired = False

    # -- what the courier brings ---------------------------------------------------------------

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        """Act on a frame from a daemon, another server or the other one of this pair."""
        if isinstance(frame, Relayed) and src in self.sites:
            return self.hear(frame.src, frame.frame, now=now)
        if isinstance(frame, NotPrimary):
            return self._inner.hear(src, frame, now=now)
        if isinstance(frame, PAIRS):
            return self._hear_peer(src, frame)
        if isinstance(frame, (*BEATS, WhoServes)):  # they think that they are three
            return self._disagree(src, frame.servers if isinstance(frame, PrimaryBeat) else (src,))
        if self.role is PRIMARY:
            return self._take_step(src, frame, now)
        return self._pass_on(src, frame)

    def _hear_peer(self, src: str, frame: Frame) -> list[Effect]:
        out: list[Effect] = []
        if src != self.peer:
            out.append(Noted("not of this pair", (src, frame)))
        elif isinstance(frame, Replicate) and frame.term == self.term and self.role is not PRIMARY:
            if frame.step > self._step:
                self._keep_ahead(frame, out)
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

    def _catch_up(self, out: list[Effect]) -> None:
        if self.role is not JOINING:
            super()._catch_up(out)

    def _start_from(self, snapshot: ServerSnapshot, out: list[Effect]) -> None:
        self._begin_from(snapshot.changes, out)
        self.role, self._step, self._done = STANDBY, snapshot.step, snapshot.step
        self._follow_on(out)

    def _step_down(self, deposed: Deposed, out: list[Effect]) -> None:
        """Give everything to the new primary that it has not got, and begin again as standby."""
        if not self._paired:
            out.append(Noted("deposed while alone", (self.domain, self.term, deposed)))
        heard = [each for number, each in self._held.items() if number > deposed.step]
        self.role, self.term = JOINING, deposed.term
        self._ahead.clear()
        self._step = self._done = 0
        self._begin_from((), out)
        self._write_role(out)
        for each in heard:
            if each.frame is not None:
                out += self._pass_on(each.src, each.frame)
        out.append(TransmitFrame(self.peer, Rejoin(self.domain, self.term)))
