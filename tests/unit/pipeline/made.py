"""Journals made for tests, each once a run; tests that damage one damage a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace_lab.cli.journal_make import write_journal

AP = load(laws.text("ap"), "ap.law")


def stricter() -> CompiledLaw:
    """Law AP with two changes: five minutes for ten, and laymen limited by kind and not by text."""
    text = laws.text("ap")
    for before, after in (
        ("handlingExpire(A, med(M)), 10, min", "handlingExpire(A, med(M)), 5, min"),
        ("not(blocked(kind(K), text(X))@CS)", "not(blocked(kind(K), text(_))@CS)"),
    ):
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return load(text, "stricter.law")


def damage(path: Path, column: str = "body") -> None:
    """Flip some bytes in the middle of a column of a segment; its outline stays as it is."""
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    (chunk,) = [one for one in columns if one.path_in_schema == column]
    first = chunk.dictionary_page_offset or chunk.data_page_offset
    middle = first + chunk.total_compressed_size // 2
    data = bytearray(path.read_bytes())
    for at in range(middle, middle + 64):
        data[at] ^= 0xFF
    path.write_bytes(data)


class Journals:
    """Journals under law AP, below a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def made(
        self, events: int = 3_000, agents: int = 60, *, hosts: int = 1, law: CompiledLaw = AP
    ) -> Path:
        """A journal in segments of 1,000 records or 5,000; not to be written to."""
        folder = self._root / f"{law.hash[:8]}-{events}-{agents}-{hosts}"
        if not folder.exists():
            rows = 1_000 if events < 10_000 else 5_000
            write_journal(folder, law, events=events, agents=agents, seed=1, hosts=hosts, rows=rows)
        return folder

    def copied(self, to: Path, events: int = 3_000, agents: int = 60, *, hosts: int = 1) -> Path:
        """One that a test may damage."""
        shutil.copytree(self.made(events, agents, hosts=hosts), to)
        return to
