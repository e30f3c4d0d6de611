"""A listener that overran leaves the interpreter as it was: what is traced afterwards ends."""

from __future__ import annotations

import subprocess
import sys

OVERRUNS = """
import time
from nomospace import sync
from nomospace.client import ListenerOverran, reactions

reactions.LIMIT_S = 0.05
told = []


def overruns(job, source, handle):
    time.sleep(0.2)
    handle.space.out("late")


with sync.Host("ward", on_report=told.append) as host:
    jobs = host.agent("ann").space("jobs", shared=True)
    jobs.react(("job", int), overruns, strength="strong", at="ward")
    jobs.out("job", 1)
    assert jobs.read_nowait("late") is None
[report] = told
assert isinstance(report.error, ListenerOverran), report
"""

TRACED = """
import sys
sys.settrace(lambda *a: None)
(lambda: 0)()
sys.settrace(None)
print("ended")
"""


def test_what_is_traced_after_a_listener_overran_ends() -> None:
    """In the listener's own thread, too."""
    in_loop = "from nomospace.sync.background import background\nsync.Host('w').__enter__()\n"
    in_loop += f"background.call(lambda: exec({TRACED!r}))\n"
    done = subprocess.run(
        [sys.executable, "-c", OVERRUNS + TRACED + in_loop],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("ended\nended\n", 0), done.stderr
