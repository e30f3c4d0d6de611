"""Ports of tests: nobody else gets one, and none that is in use is given."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from tests.ports import BEYOND, FIRST, free_port
from tests.repo.rooms import ROOT

OTHER = """
import os
from tests import ports

os.getpid = lambda: int(os.environ["AS_IF"])  # it begins to look where we did
print(*[ports.free_port() for _ in range(5)])
"""


def test_no_port_is_given_twice_to_one_process_or_to_two() -> None:
    mine = {free_port() for _ in range(5)}
    other = subprocess.run(
        [sys.executable, "-c", OTHER],
        cwd=ROOT,
        env=os.environ | {"AS_IF": str(os.getpid())},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    theirs = {int(port) for port in other.stdout.split()}
    assert len(mine) == len(theirs) == 5
    assert not mine & theirs
    assert all(FIRST <= port < BEYOND for port in mine | theirs)


def test_a_port_that_somebody_has_is_passed_over() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port + 1)):
        assert free_port() != port + 1
