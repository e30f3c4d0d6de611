"""Deliberate bugs in collecting tuples of several hosts that answer together."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

HOSTS: Final = "tests/unit/host/test_collecting.py"
MARKETS: Final = Worlds("correlation", 6)

FILE: Final = "host/collecting.py"
MIRRORING: Final = "host/mirroring.py"
WIDE: Final = "host/mirroring.py"

COLLECTING: Final = (
    Mutant(
        "what was collected in vain is not given back",
        FILE,
        "        for record in attempt.escrow.values() if attempt.one.takes else ():\n",
        "        for record in ():\n",
        MARKETS,
    ),
    Mutant(
        "a tuple of another host in escrow is not on disk",
        FILE,
        "                if one.takes:\n                    self._keep(attempt)\n",
        "",
        HOSTS,
    ),
    Mutant(
        "half of what is fetched is given",
        MIRRORING,
        "                host.group.tell(peer, frames.Denied(key, (writer, count)))\n"
        "                return\n",
        "                continue\n",
        MARKETS,
    ),
    Mutant(
        "a lost host's tuples are still seen",
        FILE,
        "        for id in list(mirror.rows):\n",
        "        for id in ():\n",
        HOSTS,
    ),
    Mutant(
        "two who wait at one host run after the same set",
        WIDE,
        "            self.reserved[id] = None\n            self.leave_out(id)\n",
        "            self.reserved[id] = None\n",
        HOSTS,
    ),
    Mutant(
        "who was busy does not look at what came meanwhile",
        FILE,
        "        if wide is not None and one.number in wide.ops:\n"
        "            wide.unlooked[one.number] = None\n",
        "        if wide is None:\n            return\n",
        HOSTS,
    ),
)
