"""Deliberate bugs in partitioned spaces: what the global model, worlds or tests must notice."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

WORLDS: Final = Worlds("federation", 40)
MODEL: Final = "tests/models/test_federation.py"
TESTS: Final = "tests/unit/host/test_partitioning.py"
PARTITIONING: Final = "host/partitioning.py"
PLACING: Final = "host/placing.py"

PARTITION: Final = (
    Mutant(
        "a key is looked for where another view had it at home",
        PARTITIONING,
        "        sites: dict[str, None] = {part.homes.home(key): None}\n",
        "        sites: dict[str, None] = {next(iter(self._homes.values())).home(key): None}\n",
        MODEL,
    ),
    Mutant(
        "a tuple is at home where another view had its key",
        PARTITIONING,
        "keeper_of(part.homes.home(key))\n",
        "keeper_of(next(iter(self._homes.values())).home(key))\n",
        WORLDS,
    ),
    Mutant(
        "a tuple that moves home stays behind as well",
        PLACING,
        """        level.space.remove(record)
        self._step.forget(level.name, record)
        self._host.group.give(peer, Migrated(level.name, level.law, row_of(record)))
""",
        """        self._host.group.give(peer, Migrated(level.name, level.law, row_of(record)))
""",
        WORLDS,
    ),
    Mutant(
        "a host says that it is settled before it has looked",
        PARTITIONING,
        "        part.swept = not level.space.since(0, 1)\n",
        "        part.swept = True\n",
        WORLDS,
    ),
    Mutant(
        "a host with strays says that it is settled",
        PARTITIONING,
        "return part is not None and part.swept and not level.space.misplaced()\n",
        "return part is not None and part.swept\n",
        TESTS,
    ),
    Mutant(
        "hosts that are not settled are not asked",
        PARTITIONING,
        "        sites.update(dict.fromkeys(part.unsettled))\n",
        "",
        TESTS,
    ),
    Mutant(
        "a tuple that comes back from a lease stays where it was at home",
        PLACING,
        "            self._host.partitioning.aim_again(level, record)  # its home may be",
        "            pass  # its home may be",
        TESTS,
    ),
    Mutant(
        "a share that found no room never moves",
        "host/group.py",
        "            if not self.frozen:\n                self._host.partitioning.taken(peer)\n",
        "",
        TESTS,
    ),
)
