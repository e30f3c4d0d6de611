"""What an audit found: the answers to its questions, with where they come from."""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.pipeline.segments import JournalFault, Row

REFUSALS_MAX: Final = 1_000
"""How many rows of who was refused what are kept; `reasons` counts all of them."""
SPACES_MAX: Final = 1_000
"""How many spaces are kept, those without law first; how many operations there were, is of all."""
AGENTS_MAX: Final = 6
"""Of how many of the busiest agents the load is told."""
STEPS_MAX: Final = 600
"""Into how many steps the time of a journal is cut at most."""
WIDTHS_S: Final = (60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000)
"""How wide a step may be, from a minute to a month: the first that gives few enough."""


class AuditTables(msgspec.Struct, frozen=True):
    """An audit: tables by name of the question (`audit.questions`), rows as dictionaries.

    Times are microseconds since 1970, UTC.
    """

    journals: tuple[str, ...]
    engine: str
    took_s: float
    width_us: int
    tables: dict[str, list[Row]]
    unreadable: int = 0
    """Rows whose changes cannot be read."""
    faults: tuple[JournalFault, ...] = ()
    lost_laws: tuple[str, ...] = ()
    unhashed: int = 0
    """Files that were sealed without a hash: columns were compared with bodies instead."""

    @property
    def overview(self) -> Row:
        """The one row of the overview."""
        return self.tables["overview"][0]

    @property
    def refused(self) -> int:
        """How many messages were refused."""
        return sum(row["refused"] for row in self.tables["reasons"])

    @property
    def resting(self) -> list[Row]:
        """The rules that never ruled."""
        return [row for row in self.tables["coverage"] if not row["hits"]]


def step_width(first_us: int | None, last_us: int | None) -> int:
    """How wide to cut the steps of a time, in microseconds.

    >>> step_width(0, 3_600_000_000) // 1_000_000, step_width(0, 365 * 86_400_000_000) // 1_000_000
    (60, 86400)
    """
    span = (last_us or 0) - (first_us or 0)
    for width_s in WIDTHS_S:
        if span <= width_s * 1_000_000 * STEPS_MAX:
            return width_s * 1_000_000
    return -(-span // STEPS_MAX)
