"""A membership as it was before a ruling that is long past, or after it has gone: from the journal.

A controller tells why from memory for its latest rulings, and a busy member's memory is seconds
long. The journal has more: a checkpoint of every membership now and then, and every change since.
So the state before any ruling that it still has is put together again, without running a law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from nomospace.control import Membership, redo
from nomospace.store.journal import CHECKPOINT_EVERY, JournalGap, decode_record, replay

if TYPE_CHECKING:
    from nomospace.control import Ruling
    from nomospace.law import CompiledLaw
    from nomospace.store.interface import Store

RECORDS_MAX: Final = 4 * CHECKPOINT_EVERY
"""How many records before a ruling are read at most: the host stands still meanwhile."""


def member_before(store: Store, law: CompiledLaw, record: int, ruling: Ruling) -> Membership | None:
    """The membership of a ruling right before it; `None` if the journal does not tell any more.

    `record` is the number of the ruling's own record. The nearer half is tried first: most often
    the last checkpoint is there.
    """
    for reach in (RECORDS_MAX // 2, RECORDS_MAX):
        begin = max(0, record - 1 - reach)
        entries = store.journal(begin, record - 1 - begin)
        try:
            found = replay([decode_record(one.record) for one in entries if one.seq < record])
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
