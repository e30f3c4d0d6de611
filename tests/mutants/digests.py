"""Deliberate bugs in digests: hosts that are passed over though they hold a match."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

FEDERATION: Final = Worlds("federation", 25)
TESTS: Final = "tests/unit/host/test_digests.py"
KINDS_TESTS: Final = "tests/unit/space/test_kinds.py"

DIGESTS_FILE: Final = "host/digests.py"
KINDS: Final = "space/kinds.py"
SEEKING: Final = "host/seeking.py"
PLACING: Final = "host/placing.py"
ENGINE: Final = "space/engine.py"

DIGESTS: Final = (
    Mutant(
        "a kind that comes is told to nobody",
        DIGESTS_FILE,
        "SpaceDigest(name, tuple(came), tuple(gone))",
        "SpaceDigest(name, (), tuple(gone))",
        FEDERATION,
    ),
    Mutant(
        "a kind that comes is told some time after its step",
        KINDS,
        "        self._note(width, key)\n        if self._came:\n            self._noted()\n",
        "        self._note(width, key)\n",
        TESTS,
    ),
    Mutant(
        "a kind is told as gone while a tuple of it lies there",
        KINDS,
        "                elif not self._lies(width, key):\n",
        "                else:\n",
        FEDERATION,
    ),
    Mutant(
        "who passed a host over does not ask it when a kind comes there",
        SEEKING,
        "            self._spread_some(self._open.of_kinds(one.space, one.came))\n",
        "            pass\n",
        FEDERATION,
    ),
    Mutant(
        "a tuple that comes by a transfer is of no kind",
        PLACING,
        "        host.outcomes.happened(name, space, space.put(record, now=self._step.now))\n",
        """        if how == MOVED:
            space.ignore_kinds()
        host.outcomes.happened(name, space, space.put(record, now=self._step.now))
""",
        TESTS,
    ),
    Mutant(
        "a tuple that comes back from a lease is of no kind",
        ENGINE,
        "            record.order = -record.order\n            self._store.add(record)\n",
        """            record.order = -record.order
            self.ignore_kinds()
            self._store.add(record)
""",
        TESTS,
    ),
    Mutant(
        "what a host has told is believed after contact was lost",
        DIGESTS_FILE,
        "        self._forget(peer)\n        for name in",
        "        for name in",
        FEDERATION,
    ),
    Mutant(
        "who was told of a space that is shared no more believes it when it is shared again",
        DIGESTS_FILE,
        "            self._say(one, SpaceDigest(name, (ANYTHING,), whole=True))\n",
        "            pass\n",
        TESTS,
    ),
    Mutant(
        "digests that were left out on the way are not missed",
        SEEKING,
        "        if not (news.edition or news.digests):",
        "        if False:",
        TESTS,
    ),
    Mutant(
        "of very many first fields some are told apart",
        KINDS,
        "many_kind(width)]\n        self._gone += gone\n",
        "]\n        self._gone += gone\n",
        KINDS_TESTS,
    ),
)
