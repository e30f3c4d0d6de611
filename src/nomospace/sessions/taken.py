"""What was taken for an agent that will never know of it, and how it goes back under its host."""

from __future__ import annotations

from typing import TypeAlias

from nomospace.calls.answers import Found
from nomospace.calls.requests import Seek, Settle
from nomospace.host.calls import Asked, PutBack

Taken: TypeAlias = tuple[Seek, Found | tuple[Found, ...]]
"""What a call took: the call, and its answer."""


def giving_back(taken: Taken) -> list[Asked]:
    """What has to be asked so that it is back: a lease is given up, other tuples lie there again.

    >>> from nomospace.calls.ways import TAKE
    >>> from nomospace.terms.templates import ANY, Template
    >>> seek = Seek("jobs", TAKE, Template.of(("job", ANY)))
    >>> giving_back((seek, Found(("job", 1), "ann@x", 3, "ann@x")))
    [PutBack(space='jobs', fields=('job', 1), priority=0)]
    """
    seek, value = taken
    founds = value if isinstance(value, tuple) else (value,)
    if seek.lease_us:
        return [Settle(seek.space, founds[0].lease, False)]
    return [
        PutBack(seek.space, fields, found.priority) for found in founds for fields in found.rows
    ]
