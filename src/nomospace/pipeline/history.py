"""One membership's history told again to a controller, under the law that was or under another.

`Replay` is told the rows of one membership in their order (`agent_seq`; a checkpoint after the
ruling of its number) and keeps a real `control.Membership` beside the record. Replay is open-loop:
what came from outside (`sent`, `arrived`, `certified`, …) is told as it was recorded, whatever the
other law might have made of its causes. What came from inside is not told but made:

| recorded | replayed |
| --- | --- |
| an event from outside | told to the controller, at its recorded moment |
| an obligation that fell due | fires at its recorded moment, if the replayed state owes it then |
| an exception of a ruling that stopped | follows of itself, or does not |

What the replayed state owes and the record never saw fire fires at the moment it is due, before the
next recorded event. So under the recorded law every ruling comes out as it was, byte for byte, and
under another one differs where the laws do, and where an earlier difference leads to it.

Rows that are missing are not guessed: the gap is noted, and the replay goes on from the next
checkpoint. Rows before the first checkpoint, of a journal whose beginning was dropped, are passed
over and counted. An agent that moved brought its obligations as time left; the checkpoint that its
new host wrote tells by how much they were shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from nomospace.control import Event, Membership, RecordRuling, Ruling, Snapshot
from nomospace.control.bounded import Bounded
from nomospace.control.events import goes_out
from nomospace.law import CompiledLaw
from nomospace.pipeline.report import (
    Kind,
    MemberHistory,
    ReplayVerdict,
    RuleCount,
    reason,
    ruling_text,
    shown,
)
from nomospace.terms import Term
from nomospace.terms.values import same
from nomospace.wire.changes import BadRecord, decode_ruling, decode_snapshot, encode_ruling
from nomospace.wire.packing import pack, unpack
from nomospace.wire.rulings import (
    NOTHING,
    Recorded,
    operations_of,
    pack_operations,
    read_recorded,
    says_the_same,
)

FIRED_MAX: Final = 10_000
"""How many obligations may fire between two recorded events that the record does not have."""
REMEMBERED: Final = 4
"""How many of its last rulings the replayed member keeps: a ruling is explained as it is made."""
GAPS_MAX: Final = 100
"""How many gaps of one history are told one by one; the rest is counted."""


class Replay:
    """The replay of one membership: `ruling` and `checkpoint` tell rows, `end` what was found.

    `recorded_law` is the law that was in force, where it is known: a member begins with what its
    host gave it besides the law's own first state. `on_verdict` hears of every event.
    """

    def __init__(
        self,
        law: CompiledLaw,
        *,
        recorded_law: CompiledLaw | None = None,
        on_verdict: Callable[[ReplayVerdict], None] | None = None,
    ) -> None:
        self._law = law
        self._recorded_law = recorded_law
        self._on_verdict = on_verdict
        self._member: Membership | None = None
        self._exact = False
        self._found = MemberHistory("", "")
        self._last = -1  # the number of the last row; -1 before the first
        self._last_body = b""
        self._derived = False  # whether the next row is the exception of the last one
        self._dues: dict[int, int] = {}  # what the record owed at its last checkpoint, and where
        self._owing: list[bytes] = []  # how that changed since; read only when it is asked for
        self._run: list[tuple[Recorded, bytes]] = []  # firings since the last event from outside
        self._later: dict[int, None] = {}  # imposed in this run: they wait for the next one
        self._ensued: list[Ruling] = []  # exceptions that followed now
        self._now = 0
        self._as_before: dict[tuple[str | None, bool, bool, bool], int] = {}
        """How many came out as they were: by rule, whether sent, forwarding, changing the state."""

    # -- rows --------------------------------------------------------------------------------------

    def ruling(self, seq: int, body: bytes) -> None:
        """A recorded ruling."""
        found = self._found
        if seq == self._last and self._last_body:
            found.doubled += body != self._last_body
            return
        try:
            recorded = read_recorded(body)
        except BadRecord:  # it is missed by the rows that follow, as if it were not there
            found.unreadable += 1
            return
        if not found.agent:
            found.agent, found.law = recorded.home, recorded.law
            self._exact = recorded.law == self._law.hash
        member = self._member
        if member is None and seq == 1 and self._last == -1:
            member = self._begin(Snapshot(recorded.home, recorded.law, 0, 0, 0, (), (), False))
        elif member is not None and seq != self._last + 1:
            self._gap(seq)
            member = None
        self._last, self._last_body = seq, body
        if member is None:
            found.passed_over += 1
            return
        derived = self._derived
        kind = recorded.event[0]
        self._derived = recorded.stopped is not None and kind != "exception"
        if kind == "obligationDue" or (derived and self._run):
            self._run.append((recorded, body))
        elif derived:
            self._follow(recorded, body)
        else:
            if self._run or self._ensued or not self._exact:
                self._settle(recorded.at)
                member = self._member
                assert member is not None
            self._tell(member, recorded, body)
        if len(recorded.delta) > len(NOTHING):
            delta = bytes(recorded.delta)
            if b"due" in delta:
                self._owing.append(delta)

    def checkpoint(self, seq: int, body: bytes) -> None:
        """A recorded state, as it was after ruling `seq`."""
        found = self._found
        try:
            snapshot = decode_snapshot(body)
        except BadRecord:
            found.unreadable += 1
            return
        if not found.agent:
            found.agent, found.law = snapshot.home, snapshot.law
            self._exact = snapshot.law == self._law.hash
        if self._member is not None and seq == self._last:
            self._flush()
            self._shift(snapshot)
        else:
            if self._member is not None:
                self._gap(seq + 1)
            self._begin(snapshot)
            self._last, self._last_body, self._derived = seq, b"", False
        self._dues = {place: due for place, _, due in snapshot.obligations}
        self._owing.clear()

    def end(self) -> MemberHistory:
        """What was found."""
        self._flush()
        found = self._found
        for (rule, sent, forwards, changes), count in self._as_before.items():
            found.events += count
            found.same += count
            counts = found.rules.setdefault(rule or "", RuleCount())
            counts.before += count
            counts.now += count
            if forwards:
                found.forwarded += count
                found.forwarded_before += count
            elif sent and not changes:
                found.refused += count
                found.refused_before += count
        self._as_before.clear()
        return found

    # -- beginnings --------------------------------------------------------------------------------

    def _begin(self, snapshot: Snapshot) -> Membership:
        """A member as it was at a checkpoint; one that was just born, as the law has it born."""
        law, before = self._law, self._recorded_law
        if snapshot.seq == 0 and (before is not None or not snapshot.state):
            own = len(before.initial) if before is not None else 0
            given = [term for _, term in snapshot.state[own:]]
            member = Membership(law, snapshot.home, state=(*law.initial, *given))
        else:
            member = Membership.restore(law, msgspec.structs.replace(snapshot, law=law.hash))
        self._member = member
        member.remember(REMEMBERED)
        self._run, self._later, self._ensued = [], {}, []
        return member

    def _gap(self, found: int) -> None:
        """Rows are missing: nothing is known until the next checkpoint."""
        self._flush()
        self._found.gap_count += 1
        if len(self._found.gaps) < GAPS_MAX:
            self._found.gaps = [*self._found.gaps, (self._last, found)]
        self._member = None

    def _shift(self, snapshot: Snapshot) -> None:
        """The agent has come to another host, whose clock its obligations now follow."""
        member = self._member
        assert member is not None
        if not snapshot.obligations:
            return
        for delta in self._owing:
            for kind, place, _, due in unpack(delta):
                if kind == "due":
                    self._dues[place] = due
        for place, _, due in snapshot.obligations:
            before = self._dues.get(place)
            if before is not None and before != due:
                moved = member.snapshot().shifted(due - before)
                self._member = member = Membership.restore(self._law, moved)
                member.remember(REMEMBERED)
                return

    # -- telling -----------------------------------------------------------------------------------

    def _tell(self, member: Membership, recorded: Recorded, body: bytes) -> None:
        """An event from outside."""
        if self._later:
            self._later.clear()
        if member.ended:
            self._without(recorded, body, "ended")
            return
        self._now = at = recorded.at
        then = self._then(recorded) if self._exact else None
        effects = member.rule_on(Event(*recorded.event), now=at, then=then)
        first = effects[0]
        assert isinstance(first, RecordRuling)
        self._compare(recorded, body, first.ruling, then)
        if first.ruling.stopped is not None:
            self._ensued += [e.ruling for e in effects[1:] if isinstance(e, RecordRuling)]

    @staticmethod
    def _then(recorded: Recorded) -> Bounded:
        """What the record says of how an event was ruled on; another law is not told that."""
        return Bounded(recorded.prices, recorded.stopped, bytes(recorded.operations), pack)

    def _follow(self, recorded: Recorded, body: bytes) -> None:
        """An exception that followed of a ruling, and perhaps follows now."""
        if self._ensued:
            self._compare(recorded, body, self._ensued.pop(0), None)
        else:
            self._without(recorded, body, "lapses")

    def _settle(self, until: int) -> None:
        """All that fires before an event from outside: what the record has, and what it has not."""
        if self._run:
            self._flush(more=True)
        member = self._member
        assert member is not None
        # Under the recorded law the record has it all: what is owed and fires later was put off
        # by its host, which has a pace for obligations.
        due = None if self._exact else member.next_deadline()
        if due is not None and due <= until:
            self._fire_unrecorded(until, [])
        if self._ensued:
            self._drop_ensued()

    def _flush(self, *, more: bool = False) -> None:
        """The firings that the record has, each at its moment; `more` of the record follows."""
        run, self._run = self._run, []
        member = self._member
        if member is None:
            return
        for index, (recorded, body) in enumerate(run):
            if recorded.event[0] != "obligationDue":
                self._follow(recorded, body)
                continue
            self._drop_ensued()
            due = None if self._exact else member.next_deadline()
            if due is not None and due < recorded.at:
                ahead = [(one.due_at, one.event[1][0]) for one, _ in run[index:]]
                self._fire_unrecorded(recorded.at, ahead)
            place = self._owed(member, recorded)
            if place is None:
                self._without(recorded, body, "ended" if member.ended else "lapses")
                continue
            self._now = recorded.at
            before = member.obligations.next_place
            self._fire(member, place, recorded.at, recorded, body)
            for new in range(before, member.obligations.next_place):
                self._later[new] = None
        if not more:
            if self._derived:  # the record breaks off before an exception that it must have had
                self._ensued.clear()
            self._drop_ensued()

    def _owed(self, member: Membership, recorded: Recorded) -> int | None:
        """The obligation that a recorded firing is of, if it is owed by now."""
        if member.ended:
            return None
        term = recorded.event[1][0]
        first = member.obligations.soonest()
        if first is not None:
            due, place, owed = first
            if due == recorded.due_at and due <= recorded.at and same(owed, term):
                return place  # nearly always
        best: tuple[bool, int, int] | None = None
        for due, place, owed in member.obligations.due_by(recorded.at):
            if same(owed, term):
                rank = (due != recorded.due_at, due, place)
                best = rank if best is None else min(best, rank)
        return None if best is None else best[2]

    def _fire_unrecorded(self, until: int, ahead: list[tuple[int | None, Term]]) -> None:
        """What is owed until a moment and the record never saw, each when it is due.

        `ahead` are the firings that the record has next, with the time that they were due.
        """
        member = self._member
        assert member is not None
        waiting = list(ahead)
        passed: dict[int, None] = dict(self._later)
        for _ in range(FIRED_MAX):
            if member.ended:
                return
            owed = member.obligations.due_by(until)
            chosen = None
            for due, place, term in owed:
                if place in passed:
                    continue
                if (due, term) in waiting:  # the record has its firing, at a moment to come
                    waiting.remove((due, term))
                    passed[place] = None
                    continue
                chosen = due, place
                break
            if chosen is None:
                return
            self._now = max(self._now, chosen[0])
            self._fire(member, chosen[1], self._now, None, b"")
            self._drop_ensued()

    def _fire(
        self, member: Membership, place: int, now: int, recorded: Recorded | None, body: bytes
    ) -> None:
        then = None if recorded is None or not self._exact else self._then(recorded)
        effects = member.fire(place, now=now, then=then)
        first = effects[0]
        assert isinstance(first, RecordRuling)
        if recorded is None:
            self._arise(first.ruling)
        else:
            self._compare(recorded, body, first.ruling, then)
        if first.ruling.stopped is not None:
            self._ensued += [e.ruling for e in effects[1:] if isinstance(e, RecordRuling)]

    def _drop_ensued(self) -> None:
        """Exceptions that follow now, and that the record does not have."""
        ensued, self._ensued = self._ensued, []
        for ruling in ensued:
            self._arise(ruling)

    # -- comparing ---------------------------------------------------------------------------------

    def _compare(
        self, recorded: Recorded, body: bytes, ruling: Ruling, then: Bounded | None
    ) -> None:
        """A recorded ruling beside the one that is made now.

        With `then` the event is known to be the recorded one: it was told, or is owed alike.
        """
        operations, outgoing = ruling.operations, recorded.event[0] == "sent"
        forwards = goes_out(operations)
        same = then is not None and says_the_same(ruling, recorded, then.alike)
        if same and self._on_verdict is None:
            key = (ruling.rule, outgoing, forwards, bool(ruling.delta))
            self._as_before[key] = self._as_before.get(key, 0) + 1
            return
        found = self._found
        found.events += 1
        refuses = outgoing and not forwards and not ruling.delta
        found.forwarded += forwards
        found.refused += refuses
        rules = found.rules
        name = ruling.rule or ""
        count = rules.get(name)
        if count is None:
            count = rules[name] = RuleCount()
        count.now += 1
        if then is not None:
            pass
        elif self._exact:
            same = encode_ruling(ruling) == body
            if not same and recorded.prices == 1:  # from before prices had a version
                same = encode_ruling(ruling) == encode_ruling(decode_ruling(body))
        else:
            same = (
                pack_operations(operations) == bytes(recorded.operations)
                and ruling.stopped == recorded.stopped
            )
        before = recorded.rule or ""
        if before != name:
            count = rules.get(before)
            if count is None:
                count = rules[before] = RuleCount()
        count.before += 1
        if same:
            found.same += 1
            found.forwarded_before += forwards
            found.refused_before += outgoing and not forwards and bytes(recorded.delta) == NOTHING
            if self._on_verdict is not None:
                self._hear(recorded, body, "same", ruling)
            return
        count.changed += 1
        found.changed += 1
        forwarded, refused = self._count_before(recorded)
        kind: Kind = "differs"
        if forwards and not forwarded:
            kind = "forwards"
        elif refuses and not refused:
            kind = "refuses"
        self._hear(recorded, body, kind, ruling)

    def _count_before(self, recorded: Recorded) -> tuple[bool, bool]:
        """Whether a recorded ruling forwarded something, and whether it refused."""
        forwarded = goes_out(operations_of(recorded))
        sent = recorded.event[0] == "sent"
        refused = sent and not forwarded and bytes(recorded.delta) == NOTHING
        self._found.forwarded_before += forwarded
        self._found.refused_before += refused
        return forwarded, refused

    def _without(self, recorded: Recorded, body: bytes, kind: Kind) -> None:
        """A recorded ruling that has no counterpart now."""
        found = self._found
        found.events += 1
        found.changed += 1
        self._count_before(recorded)
        count = found.rules.setdefault(recorded.rule or "", RuleCount())
        count.before += 1
        count.changed += 1
        self._hear(recorded, body, kind, None)

    def _arise(self, ruling: Ruling) -> None:
        """A ruling that the record does not have."""
        found = self._found
        found.changed += 1
        found.forwarded += ruling.forwards
        found.rules.setdefault(ruling.rule or "", RuleCount()).now += 1
        self._hear(None, b"", "arises", ruling)

    def _hear(
        self, recorded: Recorded | None, body: bytes, kind: Kind, ruling: Ruling | None
    ) -> None:
        """Note a verdict; the first one that differs with its reason."""
        found = self._found
        if kind != "same":
            found.kinds[kind] = found.kinds.get(kind, 0) + 1
        first = kind != "same" and found.first is None
        if not first and self._on_verdict is None:
            return
        was = decode_ruling(body) if recorded is not None else None
        either = was or ruling
        assert either is not None
        verdict = ReplayVerdict(
            0 if recorded is None else recorded.seq,
            self._now if recorded is None else recorded.at,
            kind,
            shown(either.event.term),
            None if was is None else was.rule,
            None if ruling is None else ruling.rule,
            "nothing was ruled" if was is None else ruling_text(was),
            "nothing is ruled" if ruling is None else ruling_text(ruling),
        )
        if first:
            assert self._member is not None
            why = reason(kind, was, ruling, self._member)
            verdict = msgspec.structs.replace(verdict, reason=why)
            found.first = verdict
        if self._on_verdict is not None:
            self._on_verdict(verdict)


def replay_history(
    rows: Iterable[tuple[int, bool, bytes]],
    law: CompiledLaw,
    *,
    recorded_law: CompiledLaw | None = None,
    on_verdict: Callable[[ReplayVerdict], None] | None = None,
) -> MemberHistory:
    """What a law makes of one membership's history.

    Rows are `(agent_seq, whether it is a checkpoint, body)`, in this order.

    >>> from nomospace.control import adopt, sent
    >>> from nomospace.law import load
    >>> law = load("law(open). R1. sent(X, M, Y) :- do(forward).")
    >>> ann, effects = adopt(law, "ann@x", now=0)
    >>> effects += ann.handle(sent("ann@x", "hi", "bob@x"), now=1)
    >>> rulings = [effect.ruling for effect in effects if isinstance(effect, RecordRuling)]
    >>> rows = [(ruling.seq, False, encode_ruling(ruling)) for ruling in rulings]
    >>> replay_history(rows, law).same
    2
    >>> mute = load("law(open). R1. sent(X, M, Y) :- loud@CS, do(forward).")
    >>> replay_history(rows, mute).first.reason
    'was forwarded by R1; now refused: ann has no loud'
    """
    replay = Replay(law, recorded_law=recorded_law, on_verdict=on_verdict)
    for seq, is_checkpoint, body in rows:
        if is_checkpoint:
            replay.checkpoint(seq, body)
        else:
            replay.ruling(seq, body)
    return replay.end()
