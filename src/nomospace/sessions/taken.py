"""What was taken for an agent that will never know of it, and how it goes back under its host."""

from __future__ import annotations

from typing import TypeAlias

from nomospace.calls.answers import Found
from nomospace.calls.requests import Seek, Settle
from nomospace.host.calls import Asked, PutBack
from nomospace.terms import Term

TakenRows: TypeAlias = tuple[str, str | None, tuple[tuple[Term, ...], ...]]
"""What a call took: the space, the lease if there is one, and the fields of each tuple."""


def taken_by(seek: Seek, value: Found | tuple[Found, ...]) -> TakenRows:
    """What a take that was answered has taken."""
    founds = value if isinstance(value, tuple) else (value,)
    rows = tuple([fields for found in founds for fields in found.rows])
    return seek.space, founds[0].lease if seek.lease_us else None, rows


def giving_back(taken: TakenRows) -> list[Asked]:
    """What has to be asked so that it is back: a lease is given up, other tuples lie there again.

    >>> giving_back(("jobs", None, (("job", 1),)))
    [PutBack(space='jobs', fields=('job', 1))]
    """
    space, lease, rows = taken
    if lease is not None:
        return [Settle(space, lease, False)]
    return [PutBack(space, fields) for fields in rows]
