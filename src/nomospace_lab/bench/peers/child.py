"""A peer at work in a child process, spoken to in JSON lines (see `harness`).

The child lives through all rounds, so that starting it is not part of any figure, and sleeps while
others are measured.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nomospace_lab.bench.peers import harness
from nomospace_lab.bench.peers.install import PeerMissing, PeerPackage

REPLY_S_MAX = 60
REPLY_BYTES_MAX = 1_000_000
END_S_MAX = 5


class Child:
    """One peer's process, from `start` to `close`. Every trouble with it is a `PeerMissing`.

    `loop` is the file that times it there and speaks the lines.
    """

    def __init__(self, peer: PeerPackage, packages: Path, loop: str = harness.__file__) -> None:
        self.peer = peer
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment["PYTHONPATH"] = str(packages)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        # -S and -P: neither our environment's packages nor the drivers' folder, whose files
        # bear the names of the packages they drive.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-P", loop, str(peer.driver)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            bufsize=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def answers(self, cases: Sequence[object]) -> list[bool]:
        """Let the engine decide every case once, and make ready to time them."""
        reply: list[bool] = self._ask({"cases": cases})["answers"]
        return reply

    def sample(self, seconds: float) -> float:
        """Time the cases for about so long; nanoseconds a decision."""
        return float(self._ask({"seconds": seconds})["ns"])

    def close(self) -> None:
        """End the child; one that does not go by itself is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            reply: dict[str, Any] = json.loads(self._read_line())
        except BrokenPipeError:
            raise self._missing(f"its process ended: {self._last_words()}") from None
        if "error" in reply:
            raise self._missing(f"it failed: {reply['error']}")
        return reply

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        line = b""
        deadline = time.monotonic() + REPLY_S_MAX
        while not line.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._process.stdout], [], [], left)[0]:
                raise self._missing(f"it did not answer within {REPLY_S_MAX} s")
            piece = os.read(self._process.stdout.fileno(), 65_536)
            if not piece:
                raise self._missing(f"its process ended: {self._last_words()}")
            line += piece
            if len(line) > REPLY_BYTES_MAX:
                raise self._missing(f"its answer is over {REPLY_BYTES_MAX:,} bytes")
        return line

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it said nothing"

    def _missing(self, why: str) -> PeerMissing:
        return PeerMissing(peer=self.peer.name, why=why, remedy="")
