"""The journal: what controllers ruled and what became of tuples, exact enough to replay.

Records ride in the steps that they tell of (`Step.records`), so the journal never says what was
not kept, and never lacks what was. The record of a ruling is also what its membership is restored
from: it is encoded once and kept once (`Step.ruled`). The store holds them until a segment has them
(`store.segments`). There are five kinds, one for each table of the segments:

| record | told when |
| --- | --- |
| `EventRecord` | a controller ruled: the ruling with all its changes of state |
| `LawRecord` | a law is first met in a host's life: its text |
| `CheckpointRecord` | a membership begins, comes with its agent, or had many rulings since |
| `TupleRecord` | a tuple was written, taken, expired or moved |
| `LeaseRecord` | a tuple was lent, and what became of the lease |

A ruling tells every change of state, so checkpoints and events give every control state again
without running a law (`replay`): that is how the journal is checked against the controllers. What
another law would have done is a matter of running it on the same events.

What no law rules on is an event of the host itself, `noted`, under no law: refusals at its port,
and agents that depart and come.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, cast

import msgspec

from nomospace.calls.requests import LawText
from nomospace.control import Event, Ruling, Snapshot, redo
from nomospace.control.events import goes_out
from nomospace.errors import Unavailable
from nomospace.host.changes import LawLearnt, MemberJoined
from nomospace.host.effects import Came, LeaseTraced, Left, Persist, Ruled, Traced
from nomospace.store.interface import StepRecords
from nomospace.terms import Compound, Term, encode
from nomospace.wire.changes import (
    BadRecord,
    NewerRecord,
    decode_ruling,
    decode_snapshot,
    encode_ruling,
    encode_snapshot,
)
from nomospace.wire.packing import Unfit
from nomospace.wire.segments import JOURNAL_VERSION
from nomospace.wire.values import unpack_fields

SMALL: Final = 1_024
"""Records of so many bytes are small: who reads very many of them is bounded by their number."""
CHECKPOINT_EVERY: Final = 1_000
"""So many rulings of a membership, and its whole state is told again."""

_VERSION: Final = bytes([JOURNAL_VERSION])
_EVENT: Final = "event"
_TUPLE: Final = "tuple"
_LEASE: Final = "lease"
NOTED: Final = "noted"
"""The event of what a host itself has to tell, with a word and its facts."""
DEPARTED: Final = "departed"
CAME: Final = "came"
CAME_BACK: Final = "came-back"
"""Such words of an agent that moves."""


class EventRecord(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=_EVENT):
    """A ruling, as `wire.changes` writes it; `community` is the name of its law.

    What it rules on came by way of the hosts in `path`, in `hops` network messages, and was sent by
    the ruling `cause` of its sender's controller, or of that of `by` (`host.effects.Journey`).
    """

    host: str
    community: str
    body: bytes
    hops: int = 0
    took_ns: int = 0
    path: tuple[str, ...] = ()
    cause: int = 0
    by: str = ""

    @property
    def ruling(self) -> Ruling:
        """The ruling; raises `BadRecord`."""
        return decode_ruling(self.body)


class LawRecord(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="law"):
    """A law that rulings name by its hash."""

    host: str
    at: int
    hash: str
    name: str
    text: str


class CheckpointRecord(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="checkpoint"):
    """A membership's whole state, as `wire.changes` writes it."""

    host: str
    at: int
    body: bytes

    @property
    def snapshot(self) -> Snapshot:
        """The state; raises `BadRecord`."""
        return decode_snapshot(self.body)


class TupleRecord(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=_TUPLE):
    """What became of a tuple; `op` is `written`, `taken`, `expired` or `moved`.

    `cause` is the ruling of the space's manager that had it written, by its number.
    """

    host: str
    at: int
    space: str
    writer: str
    count: int
    op: str
    agent: str
    body: bytes
    cause: int = 0

    @property
    def fields(self) -> tuple[Term, ...]:
        """The tuple's fields; raises `BadRecord`."""
        try:
            return unpack_fields(self.body)
        except Unfit as error:
            raise BadRecord(what="tuple of the journal", why=str(error)) from None


class LeaseRecord(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=_LEASE):
    """What became of a lease on a tuple, as `host.effects.LeaseTraced` tells it."""

    host: str
    at: int
    space: str
    writer: str
    count: int
    op: str
    agent: str
    lease: str
    until: int = 0
    why: str = ""


Record: TypeAlias = EventRecord | LawRecord | CheckpointRecord | TupleRecord | LeaseRecord

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def encode_record(record: Record) -> bytes:
    """A record as bytes.

    >>> decode_record(encode_record(LawRecord("ward-3", 17, "4c1f", "AP", "law(ap)."))).name
    'AP'
    """
    return _VERSION + _encode(record)


def decode_record(data: bytes) -> Record:
    """The record that bytes stand for; raises `BadRecord`, or `NewerRecord`."""
    if data[:1] != _VERSION:
        if data > _VERSION:
            raise NewerRecord(
                what="record of the journal",
                why="it is newer",
                version=data[0],
                known=JOURNAL_VERSION,
            )
        raise BadRecord(what="record of the journal", why="it has no version")
    try:
        record: Record = _decode(data[1:])
    except msgspec.MsgspecError as error:
        raise BadRecord(what="record of the journal", why=str(error)) from None
    return record


COUNTS_MAX: Final = 100_000
"""How many counts a host keeps; what would have one more is counted as `OTHERS`."""
_COUNT: Final = "count\x1f"
SPACE: Final = "space"
OTHERS: Final = f"{_COUNT}\x1f\x1fothers"
HOPS: Final = f"{_COUNT}\x1f\x1fhops"
EARLIER: Final = f"{_COUNT}\x1f\x1fearlier"
"""Records from before anything was counted."""
FORWARDED: Final = "forwarded"
REFUSED: Final = "refused"
HELD: Final = "held"
RULED: Final = "ruled"
VERDICTS: Final = (FORWARDED, REFUSED, HELD, RULED)
"""Verdicts: of messages that agents here sent, and of all other events."""
PAST_S: Final = 120
"""How many seconds the past of counts goes back."""


def count_name(what: str, which: str, how: str) -> str:
    """What is counted: a law's hash, a rule (empty: none), a verdict; or `SPACE`, name, what.

    >>> count_parts(count_name("4c1f", "R1", "refused"))
    ['4c1f', 'R1', 'refused']
    """
    return f"{_COUNT}{what}\x1f{which}\x1f{how}"


def count_parts(name: str) -> list[str]:
    """What `count_name` was given."""
    return name.split("\x1f")[1:]


def verdict_counted(ruling: Ruling) -> str:
    """The verdict that a ruling is counted under."""
    if ruling.event.kind != "sent":
        return RULED
    if goes_out(ruling.operations):
        return FORWARDED
    return HELD if ruling.delta else REFUSED


class RulingCounts:
    """What a scribe has written of, exactly, and cheap to look at.

    Numbers are of this life: `sent` are messages that agents here sent, `refused` and `held` those
    of them that went nowhere; `hops` are all network messages that arrivals took to come. `kept`
    are those of all lives, as the store has them with the records that they count; `past` has what
    each of the last seconds added, the newest last. `earlier` is the last record of earlier lives.
    """

    __slots__ = (
        "earlier",
        "held",
        "hops",
        "kept",
        "lately",
        "past",
        "refused",
        "rulings",
        "second",
        "sent",
    )

    def __init__(self) -> None:
        self.rulings = self.sent = self.refused = self.held = self.hops = self.earlier = 0
        self.kept: dict[str, int] = {}
        """By name (`count_name`)."""
        self.past: deque[tuple[int, dict[str, int]]] = deque(maxlen=PAST_S)
        self.second = -1
        self.lately: dict[str, int] = {}

    def count(self, name: str, now: int, touched: dict[str, int], more: int = 1) -> None:
        """One more of something, or some; those `touched` are to be kept."""
        kept = self.kept
        number = kept.get(name, 0)
        if not number and len(kept) >= COUNTS_MAX:
            name, number = OTHERS, kept.get(OTHERS, 0)
        kept[name] = touched[name] = number + more
        second = now // 1_000_000
        if second != self.second:
            self.second, self.lately = second, {}
            self.past.append((second, self.lately))
        lately = self.lately
        lately[name] = lately.get(name, 0) + more

    def restore(self, small: dict[str, bytes], last: int) -> None:
        """Take what earlier lives have kept; `last` is the last record of theirs."""
        self.earlier = last
        for name in [name for name in small if name.startswith(_COUNT)]:
            self.kept[name] = int(small.pop(name))
        if last and not self.kept:  # a store from before there were any
            self.kept[EARLIER] = last


_NOTHING: Final = StepRecords((), (), {})
_TOLD: Final = frozenset({Traced, LeaseTraced, Persist, Ruled, Left, Came})
_Told: TypeAlias = Traced | LeaseTraced | bytes
_ASIDE: Final = frozenset({Traced, LeaseTraced, bytes})
LOT: Final = 64
"""How many records are written at once, of those that nobody waits for."""


class Scribe:
    """Writes the journal of a host: what the effects of its core say, step by step.

    `law` gives the text of a law, and `member` the state of a membership, both as they are after
    the step; `None` for what is not known here any more.

    >>> from nomospace.host.effects import Traced
    >>> scribe = Scribe("ward-3", law=lambda hash: None, member=lambda home, law: None)
    >>> written = Traced("written", "jobs", ("job", 1), "ann@x", 1, "ann@x")
    >>> told = scribe.records([written], 17)
    >>> decode_record(told.records[0]).fields
    ('job', 1)
    """

    def __init__(
        self,
        host: str,
        *,
        law: Callable[[str], LawText | None],
        member: Callable[[str, str], Snapshot | None],
        every: int = CHECKPOINT_EVERY,
    ) -> None:
        self.host = host
        self.tally = RulingCounts()
        self._law = law
        self._member = member
        self._every = every
        self._aside: list[tuple[list[_Told], int]] = []  # not written yet, and when it happened
        self._waiting = 0  # how many of them
        self._told: list[bytes] = []  # records that are not given yet
        self._counts: defaultdict[str, int] = defaultdict(int)  # what they add, by name
        self._touched: dict[str, int] = {}  # counts that are to be kept with the next records
        self._notes = 0
        self._names: dict[str, str] = {}  # laws that this life has told of

    def set_aside(self, effects: Iterable[object], now: int) -> int:
        """Take in what a step says that nobody waits for, or a record; how many are not given yet.

        They are written some at a time, which costs half as much.
        """
        aside = [cast("_Told", effect) for effect in effects if type(effect) in _ASIDE]
        if aside:
            self._aside.append((aside, now))
            self._waiting += len(aside)
            if self._waiting >= LOT:
                self._write_aside()
        return len(self._told) + self._waiting

    def records(self, effects: Iterable[object], now: int) -> StepRecords:
        """What the journal says of a step, and before it of all that was set aside."""
        if self._aside:
            self._write_aside()
        told, self._told = self._told, []
        ruled: list[int] = []
        traced: list[_Told] = []  # what was traced in a row is written together
        for effect in effects:
            if type(effect) not in _TOLD:
                continue
            if type(effect) is Traced or type(effect) is LeaseTraced:
                traced.append(effect)
                continue
            if traced:
                self._write(((traced, now),), told)
                traced.clear()
            if isinstance(effect, Ruled):
                ruled.append(self._ruled(effect, told, now))
            elif isinstance(effect, Persist):
                for change in effect.changes:
                    if change.__class__ is MemberJoined:
                        self._checkpoint(change.snapshot, told, now)
                    elif change.__class__ is LawLearnt:
                        self._learnt(self._law(change.text.hash) or change.text, told, now)
            elif isinstance(effect, Left):
                moved = (effect.agent, effect.to, effect.epoch)
                told.append(self._moved(DEPARTED, *moved, now))
            elif isinstance(effect, Came):
                how = CAME if effect.error is None else CAME_BACK
                moved = (effect.agent, effect.origin, effect.epoch)
                told.append(self._moved(how, *moved, now))
        if traced:
            self._write(((traced, now),), told)
        if not told:
            return _NOTHING
        touched, self._touched = self._touched, {}
        tally = self.tally
        for name, more in self._counts.items():
            number = tally.kept.get(name)
            if number is None or tally.second != now // 1_000_000:
                tally.count(name, now, touched, more)
            else:  # the same, without a call
                tally.kept[name] = touched[name] = number + more
                tally.lately[name] = tally.lately.get(name, 0) + more
        self._counts.clear()
        return StepRecords(tuple(told), tuple(ruled), touched)

    def _moved(self, what: str, agent: str, host: str, epoch: int, now: int) -> bytes:
        return self.note(what, {"agent": agent, "host": host, "move": epoch}, now)

    def note(self, what: str, facts: Mapping[str, Term], now: int) -> bytes:
        """What the journal says of something that no law rules on."""
        self._notes += 1
        told = tuple([Compound(name, (fact,)) for name, fact in facts.items()])
        event = Event(NOTED, (what, told))
        ruling = Ruling(self._notes, now, self.host, "", event, None)
        return encode_record(EventRecord(self.host, "", encode_ruling(ruling)))

    def _write_aside(self) -> None:
        aside, self._aside, self._waiting = self._aside, [], 0
        self._write(aside, self._told)

    def _write(self, lots: Iterable[tuple[list[_Told], int]], told: list[bytes]) -> None:
        """Tell what became of tuples and leases, and when; records are told as they are."""
        host, counts = self.host, self._counts
        last_space = last_op = ""
        alike = 0  # so many in a row count under one name
        for some, at in lots:
            for one in some:
                if isinstance(one, bytes):
                    told.append(one)
                    continue
                space, writer, count = one.space, one.writer, one.count
                op, agent = one.op, one.agent
                if space != last_space or op != last_op:
                    if alike:
                        counts[f"{_COUNT}{SPACE}\x1f{last_space}\x1f{last_op}"] += alike
                    last_space, last_op, alike = space, op, 0
                alike += 1
                if type(one) is Traced:
                    try:
                        body = _encode(one.fields)
                    except (OverflowError, RecursionError):  # huge integers, deep terms
                        body = encode(one.fields)
                    # A `TupleRecord`, as `encode_record` would write it.
                    record = (_TUPLE, host, at, space, writer, count, op, agent, body)
                    told.append(_VERSION + _encode((*record, one.cause) if one.cause else record))
                elif type(one) is LeaseTraced:  # a `LeaseRecord`, likewise
                    rest = (op, agent, one.lease, one.until, one.why)
                    told.append(_VERSION + _encode((_LEASE, host, at, space, writer, count, *rest)))
        if alike:
            counts[f"{_COUNT}{SPACE}\x1f{last_space}\x1f{last_op}"] += alike

    def restore(self, small: dict[str, bytes], last: int) -> None:
        """Go on counting from what was kept."""
        self.tally.restore(small, last)
        if EARLIER in self.tally.kept:
            self._touched[EARLIER] = self.tally.kept[EARLIER]

    def _ruled(self, effect: Ruled, told: list[bytes], now: int) -> int:
        """Tell of a ruling, and count it; gives the place of its record."""
        ruling, tally = effect.ruling, self.tally
        home, law = ruling.home, ruling.law
        tally.rulings += 1
        came = effect.came
        if came.hops:
            tally.hops += came.hops
            self._counts[HOPS] += came.hops
        verdict = RULED  # as `verdict_counted` says
        if ruling.event.kind == "sent":
            tally.sent += 1
            verdict = FORWARDED
            if not goes_out(ruling.operations):
                if ruling.delta:
                    verdict = HELD
                    tally.held += 1
                else:
                    verdict = REFUSED
                    tally.refused += 1
        self._counts[f"{_COUNT}{law}\x1f{ruling.rule or ''}\x1f{verdict}"] += 1
        name = self._names.get(law)
        if name is None:
            name = self._name(law, told, now)
        body = encode_ruling(ruling)
        # An `EventRecord`, as `encode_record` would write it, without what was never on its way.
        place, host, took = len(told), self.host, effect.took_ns
        if came.cause:
            how = (came.hops, took, came.path, came.cause, came.by)
            told.append(_VERSION + _encode((_EVENT, host, name, body, *how)))
        else:
            told.append(_VERSION + _encode((_EVENT, host, name, body, came.hops, took, came.path)))
        if ruling.seq % self._every == 0:  # whatever this life has seen: it may be a short one
            snapshot = self._member(home, law)
            if snapshot is not None:
                self._checkpoint(snapshot, told, now)
        return place

    def _checkpoint(self, snapshot: Snapshot, told: list[bytes], now: int) -> None:
        self._name(snapshot.law, told, now)
        told.append(encode_record(CheckpointRecord(self.host, now, encode_snapshot(snapshot))))

    def _name(self, law: str, told: list[bytes], now: int) -> str:
        """The name of a law, which is told of before anything under it is."""
        name = self._names.get(law)
        if name is None:
            text = self._law(law)
            if text is None:
                return ""
            self._learnt(text, told, now)
            name = text.name
        return name

    def _learnt(self, text: LawText, told: list[bytes], now: int) -> None:
        if text.hash not in self._names:
            self._names[text.hash] = text.name
            record = LawRecord(self.host, now, text.hash, text.name, text.text)
            told.append(encode_record(record))


class JournalGap(Unavailable):
    """Records are missing in a journal."""

    code = "store.journal-gap"
    words = (
        "the journal has {found} after {after} of {what}, and what is between "
        "is missing; look for segments that were moved away"
    )
    what: str
    after: int
    found: int


def replay(records: Iterable[Record]) -> dict[tuple[str, str], Snapshot]:
    """Control states by agent and law, as checkpoints and rulings tell them, in their order.

    Rulings before the first checkpoint of a membership are passed over: the journal's beginning
    may have been dropped. Raises `JournalGap` where rulings are missing later.
    """
    bases: dict[tuple[str, str], Snapshot] = {}
    logs: dict[tuple[str, str], list[Ruling]] = {}
    for record in records:
        if isinstance(record, CheckpointRecord):
            snapshot = record.snapshot
            key = (snapshot.home, snapshot.law)
            bases[key], logs[key] = snapshot, []
        elif isinstance(record, EventRecord):
            ruling = record.ruling
            key = (ruling.home, ruling.law)
            base = bases.get(key)
            if base is None:
                continue
            log = logs[key]
            last = log[-1].seq if log else base.seq
            if ruling.seq <= last:  # the checkpoint was made later in the same step
                continue
            if ruling.seq > last + 1:
                raise JournalGap(what=f"the rulings of {ruling.home}", after=last, found=ruling.seq)
            log.append(ruling)
            if len(log) >= CHECKPOINT_EVERY:
                bases[key], logs[key] = redo(base, log), []
    return {key: redo(base, logs[key]) for key, base in bases.items()}
