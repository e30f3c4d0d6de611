"""Tuples that are lent out: under lease, neither found nor lost."""

from __future__ import annotations

import msgspec

from nomospace.space.records import Record


class Lease(msgspec.Struct, frozen=True, gc=False):
    """Who has a tuple on loan, and until when."""

    record: Record
    taker: str
    until: int
