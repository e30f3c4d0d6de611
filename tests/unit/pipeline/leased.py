"""A journal with leases on it, of a host that was a process of its own."""

from pathlib import Path

from nomospace import sync
from nomospace.store.segments import main as seal
from tests.unit.cli.running import running


def record(folder: Path) -> Path:
    """Have jobs done, given back and renewed on a host, and seal its journal; the folder."""
    with running(folder, "ward", "--store", "ward.db") as url, sync.connect(url) as host:
        jobs = host.agent("worker").space("jobs", shared=True)
        for number in range(3):
            jobs.out("job", number)
        done, returned, renewed = (jobs.take("job", n, lease=600) for n in range(3))
        jobs.acknowledge(done)
        jobs.give_back(returned, why="no paper")
        jobs.renew(renewed, 900)
        jobs.acknowledge(renewed)
    journal = folder / "journal"
    store = str(folder / "ward.db")
    assert seal(["--store", store, "--into", str(journal), "--seconds", "0"]) == 0
    return journal


ENDS = {"lent": 3, "acknowledged": 2, "returned": 1, "renewed": 1}
"""How often each `op` is there."""
