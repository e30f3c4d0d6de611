"""The journals of hosts that were killed, told again to controllers: every ruling comes out alike.

The pipeline replays what segments hold; here it is given what segments and stores hold together,
so that nothing is left out which a kill kept from being sealed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from nomospace.pipeline.history import replay_history
from nomospace.pipeline.laws import compiled, recorded_laws
from nomospace.store.journal import CheckpointRecord, EventRecord, LawRecord
from nomospace.store.opening import open_store
from nomospace.store.segments import read_journal
from nomospace.wire.segments import membership


@dataclass
class Retold:
    """How many rulings came out as they were, and what did not."""

    same: int = 0
    wrong: list[str] = field(default_factory=list)


def retell(places: Iterable[tuple[str, Path | None]]) -> Retold:
    """Replay the histories of all hosts together: agents have walked between them."""
    rows: dict[str, list[tuple[int, bool, bytes]]] = {}
    texts: list[tuple[str, str, str]] = []
    whole = True  # a journal without segments keeps its last records only
    for url, folder in places:
        store = open_store(url)
        try:
            store.attach()
            for at, (number, record) in enumerate(read_journal(folder, store)):
                whole = whole and (at > 0 or number == 1)
                if isinstance(record, LawRecord):
                    texts.append((record.hash, record.name, record.text))
                elif isinstance(record, EventRecord):
                    ruling = record.ruling
                    if ruling.law:  # notes of a host itself are under no law
                        row = (ruling.seq, False, record.body)
                        name = membership(ruling.home, ruling.law, record.host)
                        rows.setdefault(name, []).append(row)
                elif isinstance(record, CheckpointRecord):
                    state = record.snapshot
                    row = (state.seq, True, record.body)
                    name = membership(state.home, state.law, record.host)
                    rows.setdefault(name, []).append(row)
        finally:
            store.close()
    laws, lost = recorded_laws(texts)
    retold = Retold(wrong=[f"no text of law {hash}" for hash in lost])
    for name, listed in rows.items():
        law = compiled(laws[name.rpartition("/")[2]])
        listed.sort(key=lambda row: row[:2])
        found = replay_history(listed, law, recorded_law=law)
        retold.same += found.same
        passed_over = found.passed_over if whole else 0
        if found.changed or found.gap_count or found.doubled or passed_over:
            retold.wrong.append(f"{name}: {found}")
    return retold
