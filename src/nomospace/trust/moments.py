"""Time as certificates write it, and as cores count it: microseconds, UTC.

Certificates know whole seconds. What is asked for in between is rounded down.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
_FIRST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _US
_LAST: Final = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // _US


def moment(us: int) -> datetime:
    """A time of ours as certificates have it; outside of the years 1 to 9999, the nearest in them.

    Times come over the wire, and whoever shows one must not fall over it.

    >>> moment(1_500_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    >>> moment(-(10**18)).year, moment(10**18).year
    (1, 9999)
    """
    return _EPOCH + timedelta(seconds=max(_FIRST, min(us, _LAST)) // SECOND)


def microseconds(at: datetime) -> int:
    """The time of a certificate as we count it.

    >>> microseconds(moment(5_000_000))
    5000000
    """
    return (at - _EPOCH) // _US


def shown(us: int) -> str:
    """A time in words.

    >>> shown(0)
    '1970-01-01 00:00:00 UTC'
    """
    return f"{moment(us):%Y-%m-%d %H:%M:%S} UTC"
