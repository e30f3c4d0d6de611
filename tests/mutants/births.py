"""Deliberate bugs in births: what worlds in which hosts forget must notice, or tests."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

WORLDS: Final = Worlds("forgetful", 60)

BIRTHS_FILE: Final = "protocols/births.py"
TRANSFERS: Final = "protocols/transfers.py"
COURIER: Final = "protocols/courier.py"
CHANGES: Final = "host/changes.py"
GROUP: Final = "host/group.py"
HOLDING: Final = "host/holding.py"
POSTING: Final = "host/posting.py"

BIRTHS: Final = (
    Mutant(
        "what has come from a peer counts on when it was born again",
        TRANSFERS,
        "(self.numbers, self.waiting, self.placed)",
        "(self.numbers, self.waiting)",
        WORLDS,
    ),
    Mutant(
        "what is under way to a peer is lost when it was born again",
        TRANSFERS,
        "        waiting = self.waiting.get(peer, {})\n",
        "        waiting = self.waiting.get(peer, {}) and {}\n",
        WORLDS,
    ),
    Mutant(
        "a late frame of a former birth counts",
        BIRTHS_FILE,
        "        if birth < known:\n            return LATE, None\n",
        "        if birth < known:\n            return FITS, None\n",
        WORLDS,
    ),
    Mutant(
        "a frame for a former birth counts",
        BIRTHS_FILE,
        "return (FITS if fits else DEAF), news",
        "return FITS, news",
        WORLDS,
    ),
    Mutant(
        "a frame for nobody in particular counts",
        BIRTHS_FILE,
        "fits = to == own or (own == BEFORE and to <= SILENT)",
        "fits = to in (own, UNKNOWN) or (own == BEFORE and to <= SILENT)",
        "tests/unit/protocols/test_births.py",
    ),
    Mutant(
        "what overtook others is still waited for when a peer was born again",
        COURIER,
        "        route = self._route(peer, now)\n        route.due = now\n",
        "        route = self._routes.get(peer) or self._route(peer, now)\n",
        WORLDS,
    ),
    Mutant(
        "that numbers begin anew is forgotten in a crash",
        CHANGES,
        "            disk.transfers.forget(self.peer)\n",
        "            return\n",
        WORLDS,
    ),
    Mutant(
        "what is given again is not written down",
        POSTING,
        "            self._step.write_down(ParcelGiven(peer, number, what))\n",
        "            pass\n",
        WORLDS,
    ),
    Mutant(
        "agents of a host that has forgotten them count their tuples from 1",
        HOLDING,
        "self._step.era * ERA_STEP",
        "0",
        WORLDS,
    ),
    Mutant(
        "agents of a host that has forgotten them number their posts from 1",
        POSTING,
        "life = 0 if count > 1 else self._step.era",
        "life = 0",
        WORLDS,
    ),
)
