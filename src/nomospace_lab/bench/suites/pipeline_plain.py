"""One plain process that replays a journal, for `nomospace bench pipeline`.

    python -m nomospace_lab.bench.suites.pipeline_plain JOURNAL

It prints one JSON object: the seconds it took, and those of them that the controller had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter, perf_counter_ns
from typing import Any

import msgspec


class ControllerTime:
    """How long the controllers of this process were at work, in nanoseconds."""

    def __init__(self) -> None:
        from nomospace.control import Membership

        self.spent_ns = 0
        for name in ("rule_on", "fire"):
            setattr(Membership, name, self._timed(getattr(Membership, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            began = perf_counter_ns()
            try:
                return call(*given, **named)
            finally:
                self.spent_ns += perf_counter_ns() - began

        return timed


def main(folder: str) -> None:
    """Replay, and say how long it took."""
    from nomospace.pipeline.jobs.replay import Engine, run_replay

    watched = ControllerTime()
    began = perf_counter()
    report = run_replay(folder, engine=Engine.PROCESS)
    took = perf_counter() - began
    told = {"took_s": took, "controller_s": watched.spent_ns / 1e9, "same": report.same}
    print(msgspec.json.encode(told).decode())


if __name__ == "__main__":
    main(sys.argv[1])
