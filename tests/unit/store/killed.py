"""A host that is killed while it commits; run as `python -m tests.unit.store.killed URL`.

Step `n` puts tuple `n`, keeps push `n` and writes record `n`. The number of the last step of a
commit is printed when the commit has returned: from then on it is acknowledged.
"""

from __future__ import annotations

import os
import sys
from random import Random

from nomospace.host.changes import TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store import Kept, Step, open_store


def step(n: int) -> Step:
    """The step of a number; its tuple is large, so that a commit takes some pages."""
    row = Row(("job", n, "x" * 2_000), "ann@x", n, "ann@x", "ann@x")
    kept = Kept("bob@y", n, b"push %d" % n)
    return Step((TuplePut("jobs", row),), (kept,), (b"record %d" % n,))


def main(url: str) -> None:
    """Commit until killed."""
    store = open_store(url)
    beginning = store.begin()
    n = len(beginning.durable.tuples.get("jobs", {}))
    rng = Random(n)
    while True:
        steps = [step(n + i) for i in range(1, rng.randint(2, 20))]
        store.commit(steps, at=n)
        n += len(steps)
        os.write(1, b"%d\n" % n)


if __name__ == "__main__":
    main(sys.argv[1])
