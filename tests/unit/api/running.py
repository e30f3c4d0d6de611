"""A host with an API, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

END_S = 60.0


@dataclass(frozen=True)
class Running:
    """Where the API of a host is, the token that it printed, and where its own port is."""

    url: str
    token: str
    port: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


@contextmanager
def host(*more: str) -> Iterator[Running]:
    """A host called `ward`, without certificates and without a disk, until the end of the block."""
    options = "--insecure --store memory --listen 127.0.0.1:0 --api 127.0.0.1:0".split()
    with host_run("ward", *options, *more) as line:
        yield Running(line["api"], line["api_token"], line["url"])


@contextmanager
def host_run(*words: str) -> Iterator[dict[str, str]]:
    """What a host of these words says of itself, until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nomospace.cli", "host", "run", *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=END_S)
    assert process.returncode == 0
