"""Bugs in the lease of a host that several processes stand for."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

STANDING: Final = Worlds("takeover", 60)

LEASE: Final = "protocols/lease.py"

TAKEOVER: Final = (
    Mutant(
        "commits are not fenced",
        LEASE,
        "    if stand.token > token:\n        return Fate.TAKEN_OVER\n",
        "",
        STANDING,
    ),
    Mutant(
        "a commit of unknown outcome is done again",
        LEASE,
        "    return Fate.DONE if stand.number >= number else Fate.OPEN\n",
        "    return Fate.OPEN\n",
        STANDING,
    ),
    Mutant(
        "a standby believes too early that the lease is over",
        LEASE,
        "        return now - self._since >= stand.hold_us + stand.hold_us // DRIFT\n",
        "        return now - self._since >= stand.hold_us // 4\n",
        STANDING,
    ),
    Mutant(
        "a standby counts from when it began to look",
        LEASE,
        "            self._since = now\n",
        "            self._since = self._since or now\n",
        STANDING,
    ),
    Mutant(
        "a process answers when its lease is over",
        LEASE,
        "        return now < self.until\n",
        "        return now < self.until + 60_000_000\n",
        STANDING,
    ),
    Mutant(
        "a lease is never taken from who does not renew it",
        LEASE,
        "        if not stand.holder:\n            return True\n",
        "        if not stand.holder or not self.stand.holder:\n            return True\n"
        "        now = self._since\n",
        STANDING,
    ),
    Mutant(
        "sessions are not taken over",
        "sessions/host_sessions.py",
        "        for key, who in opened.items():\n",
        "        for key, who in ():\n",
        STANDING,
    ),
    Mutant(
        "the token is not in the commit",
        "store/postgres.py",
        "life = CASE WHEN life = %s AND batch = %s THEN life END",
        "life = CASE WHEN %s > 0 AND batch = %s THEN life END",
        "tests/unit/store/test_lease.py",
    ),
)
