"""Rulings as a console shows them, and memberships as they were right before one.

A controller tells why from memory for its latest rulings, and a busy member's memory is seconds
long. The journal has more: a checkpoint of every membership now and then, and every change since.
So the state before any ruling that it still has is put together again, without running a law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from nomospace.control import Membership, redo
from nomospace.control.reasons import verdict_on
from nomospace.node import viewed
from nomospace.node.within import shown
from nomospace.store.journal import (
    CHECKPOINT_EVERY,
    EventRecord,
    JournalGap,
    decode_record,
    replay,
)
from nomospace.terms import Compound

if TYPE_CHECKING:
    from nomospace.control import Ruling
    from nomospace.control.explain import Explanation
    from nomospace.law import CompiledLaw
    from nomospace.store.interface import Store

OPERATIONS_MAX: Final = 200
"""How many operations of one ruling are shown."""
RECEIVERS_MAX: Final = 50
"""How many receivers of one message are named."""
OUTGOING: Final = ("forward", "multicast", "release")
"""Operations that send something on; their last argument says to whom."""
RECORDS_MAX: Final = 4 * CHECKPOINT_EVERY
"""How many records before a ruling are read at most: the host stands still meanwhile."""
RECORDS_BYTES_MAX: Final = 16 << 20
"""And how many bytes of them; where there are more, nothing is told of the member before it."""
PAGE_BYTES: Final = 1 << 20
"""So many are read at once."""


def ruling_view(number: int, record: EventRecord) -> viewed.RulingView:
    """A ruling, by the number of its record."""
    community, ruling = record.community, record.ruling
    # What the host itself notes stands under no law, and no rule ever lets it through.
    verdict = verdict_on(ruling) if community else "noted"
    args = ruling.event.args
    return viewed.RulingView(
        number,
        ruling.at,
        ruling.home,
        ruling.law,
        community,
        shown(ruling.event.term),
        ruling.rule,
        verdict,
        ruling.refused,
        ruling.held,
        tuple([shown(operation) for operation in ruling.operations[:OPERATIONS_MAX]]),
        ruling.event.kind,
        args[0] if args and isinstance(args[0], str) else "",
        _receivers(ruling),
        record.hops,
        record.path,
    )


def ruling_run(record: EventRecord) -> viewed.RulingRun:
    """What a ruling has in common with those that count as equal."""
    ruling = record.ruling
    args = ruling.event.args
    message = args[1] if len(args) == 3 else args[0] if args else ""
    head = message.name if isinstance(message, Compound) else message
    return viewed.RulingRun(
        ruling.home,
        ruling.event.kind,
        ruling.rule,
        ruling.refused,
        ruling.held,
        record.community,
        head if isinstance(head, str) else "",
    )


def _receivers(ruling: Ruling) -> tuple[str, ...]:
    """Whom a ruling sends something to; without one, whom the message was meant for."""
    found: dict[str, None] = {}
    outgoing = [one for one in ruling.operations if getattr(one, "name", "") in OUTGOING]
    meant = [ruling.event.term] if ruling.event.kind == "sent" else []
    for one in outgoing or meant:
        last = one.args[-1] if isinstance(one, Compound) and one.args else ()
        for name in last if isinstance(last, tuple) else (last,):
            if isinstance(name, str) and len(found) < RECEIVERS_MAX:
                found[name] = None
    return tuple(found)


def why_view(ruling: viewed.RulingView, story: Explanation) -> viewed.WhyView:
    """Why a ruling is as it is."""
    tried = [
        viewed.TriedView(
            one.rule,
            one.outcome,
            one.about,
            tuple([viewed.GoalView(goal.goal, goal.with_values) for goal in one.held]),
            None
            if one.failed is None
            else viewed.GoalView(one.failed.goal, one.failed.with_values),
        )
        for one in story.rules
    ]
    why, text = story.reason, story.text
    origin = None if why is None else why.origin
    remedy = None if why is None else why.remedy
    return viewed.WhyView(
        ruling,
        story.verdict,
        tuple(tried),
        text,
        0 if origin is None else origin.seq,
        0 if origin is None else origin.at // 1_000_000 * 1_000_000,
        None if remedy is None else remedy.at,
    )


def _mine(store: Store, name: bytes, begin: int, end: int) -> list[bytes] | None:
    """The records before one that have a name in them; `None` where they are too large."""
    mine: list[bytes] = []
    size = 0
    while begin < end - 1 and (some := store.journal(begin, end - 1 - begin, PAGE_BYTES)):
        mine += [one.record for one in some if one.seq < end and name in one.record]
        size += sum([len(one.record) for one in some])
        begin = some[-1].seq
        if size > RECORDS_BYTES_MAX:
            return None
    return mine


def member_before(store: Store, law: CompiledLaw, record: int, ruling: Ruling) -> Membership | None:
    """The membership of a ruling right before it; `None` if the journal does not tell any more.

    `record` is the number of the ruling's own record. The nearer half is tried first: most often
    the last checkpoint is there. What does not have the member's name in it is not of it, and is
    not even decoded.
    """
    name = ruling.home.encode()
    for reach in (RECORDS_MAX // 2, RECORDS_MAX):
        begin = max(0, record - 1 - reach)
        mine = _mine(store, name, begin, record)
        try:
            found = {} if mine is None else replay([decode_record(one) for one in mine])
        except JournalGap:
            return None  # records that it rests on are gone
        snapshot = found.get((ruling.home, ruling.law))
        if snapshot is not None and snapshot.seq == ruling.seq - 1:
            if ruling.due_at is not None:
                # A due obligation is gone before its event is ruled on.
                gone = redo(snapshot, [replace(ruling, delta=ruling.delta[:1])])
                snapshot = replace(gone, seq=snapshot.seq)
            return Membership.restore(law, snapshot)
        if begin == 0:
            break
    return None
