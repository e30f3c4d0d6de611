"""Deliberate bugs in streams: what is written twice, lost, or seen as new once more."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

WRITING: Final = "tests/unit/pipeline/test_stream_writing.py"
STATE: Final = "tests/unit/pipeline/test_stream_state.py"
HELD: Final = "tests/unit/pipeline/test_stream_held.py"
FOLLOWING: Final = "tests/unit/meaning/test_following.py"
SOURCE: Final = "tests/unit/pipeline/test_stream_source.py"

STREAMS: Final = (
    Mutant(
        "a law is asked again about what was written",
        "host/governed.py",
        "        if request.once and self._host.writing.has_written(",
        "        if not op and self._host.writing.has_written(",
        WRITING,
    ),
    Mutant(
        "a row is written without its key",
        "pipeline/stream/writing.py",
        "            await space.out(*row.fields, once=row.key, once_lasts=True)",
        "            await space.out(*row.fields)",
        WRITING,
    ),
    Mutant(
        "a row that has its letter is tried again",
        "pipeline/stream/writing.py",
        "        todo = [row for row in rows if row.key not in settled]",
        "        todo = list(rows)",
        WRITING,
    ),
    Mutant(
        "a batch that is done again begins where it ended",
        "pipeline/stream/state.py",
        "        earlier = [number for number in self._numbers() if number < batch]",
        "        earlier = [number for number in self._numbers() if number <= batch]",
        STATE,
    ),
    Mutant(
        "an end is forgotten before its tuple",
        "pipeline/stream/state.py",
        "                return not self._ever and not (all_of_it or row.one in begun)",
        "                return False",
        STATE,
    ),
    Mutant(
        "a tuple that has moved is new",
        "pipeline/stream/state.py",
        "            mask.append(op != _MOVED or not is_known)",
        "            mask.append(True)",
        STATE,
    ),
    Mutant(
        "a batch that is done again goes on from what is in memory",
        "pipeline/stream/answering.py",
        "        if known == step.before:",
        "        if known is not None:",
        HELD,
    ),
    Mutant(
        "what failed in the middle stays in memory",
        "pipeline/stream/answering.py",
        "        known, self._of = self._of, None",
        "        known = self._of",
        HELD,
    ),
    Mutant(
        "what is too old answers from memory",
        "pipeline/stream/answering.py",
        """            else:
                self._following.drop(name_of(row.one))
""",
        """            else:
                pass
""",
        HELD,
    ),
    Mutant(
        "an end is not remembered after a start",
        "pipeline/stream/answering.py",
        "            self._ended = {row.one: None for row in told(rows) if row.ends}",
        "            self._ended = {}",
        HELD,
    ),
    Mutant(
        "a new tuple with an old answer is an answer",
        "meaning/memory/matcher.py",
        "        some = [rows for rows in some if not self._has_old(rows, new, judged)]",
        "        some = list(some)",
        FOLLOWING,
    ),
    Mutant(
        "what shares nothing is a set, where one of its classes could be computed",
        "meaning/assign.py",
        "        if not (single or hang or keyed or ties or self.hangs(rows, ())):",
        "        if not (single or hang or keyed or ties or rows):",
        FOLLOWING,
    ),
    Mutant(
        "a batch has all that there is",
        "pipeline/stream/source.py",
        "        most = limit.max_rows if isinstance(limit, ReadMaxRows) else RECORDS_MAX",
        "        most = RECORDS_MAX",
        SOURCE,
    ),
)
