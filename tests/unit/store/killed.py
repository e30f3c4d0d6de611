"""Hosts that are killed while they commit; run as `python -m tests.unit.store.killed URL`.

For each line that it is given, this process begins a host in a child of its own, which costs no
imports, and says its process id; when the child is dead, it says that.

Step `n` of a host puts tuple `n`, keeps push `n` and writes record `n`. The number of the last step
of a commit is printed when the commit has returned: from then on it is acknowledged.
"""

from __future__ import annotations

import os
import sys
from random import Random

from nomospace.host.changes import TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store.interface import KeptForClient, Step
from nomospace.store.opening import open_store
from tests.nursery import end_with_parent


def step(n: int) -> Step:
    """The step of a number; its tuple is large, so that a commit takes some pages."""
    row = Row(("job", n, "x" * 2_000), "ann@x", n, "ann@x", "ann@x")
    kept = KeptForClient("bob@y", n, b"push %d" % n)
    return Step((TuplePut("jobs", row),), (kept,), (b"record %d" % n,))


def main(url: str) -> None:
    """Begin hosts, one after the other."""
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            end_with_parent()
            commit(url)
        os.write(1, b"host %d\n" % child)
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


def commit(url: str) -> None:
    """Commit until killed."""
    store = open_store(url)
    beginning = store.begin()
    n = len(beginning.durable.tuples.get("jobs", {}))
    rng = Random(n)
    while True:
        steps = [step(n + i) for i in range(1, rng.randint(2, 20))]
        store.commit(steps, at=n)
        n += len(steps)
        os.write(1, b"kept %d\n" % n)


if __name__ == "__main__":
    main(sys.argv[1])
