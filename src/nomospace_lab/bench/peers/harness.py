"""The loop that times, in a peer's child process and in ours.

Run as `python harness.py DRIVER`, it speaks JSON lines on its standard streams:

    {"cases": [[sender, operation, message, from, to, [blocked, …]], …]}  ->  {"answers": [bool, …]}
    {"seconds": 0.05}                                                     ->  {"ns": 81.3}

and ends with its input. DRIVER is a file with `prepare() -> Engine`. Whatever it prints goes to the
error stream. What goes wrong is answered as `{"error": "…"}`.

This file needs the standard library only: in the child nothing of ours is on the path.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import timeit
from collections.abc import Callable, Sequence
from typing import IO, Any, TypeAlias

Decide: TypeAlias = Callable[[str, str, str, str, str], object]
"""(sender, operation, message, from, to) to something true when allowed."""
Engine: TypeAlias = Callable[[Sequence[str]], Decide]
"""The kinds blocked in a member's state to that member's `Decide`."""
Case: TypeAlias = tuple[str, str, str, str, str, Sequence[str]]

BATCHES = 25
"""Into so many parts the time of a sample is cut: short ones slip between what else is running."""


def stopwatch(statement: str, scope: dict[str, Any], *, calls: int = 1) -> Callable[[float], float]:
    """Prepare to time a statement that makes so many calls: seconds to spend in, ns a call out.

    The time is spent in batches and the best counts; a call that takes all of it is made once. The
    collector is off meanwhile, as `timeit` has it.

    >>> stopwatch("f(1); f(2)", {"f": abs}, calls=2)(0.001) > 0
    True
    """
    timer = timeit.Timer(statement, globals=scope)
    passes = 0

    def sample(seconds: float) -> float:
        nonlocal passes
        if not passes:
            if (once := timer.timeit(1)) > seconds:  # too slow for batches
                return once * 1e9 / calls
            passes = 1
            while timer.timeit(passes) < seconds / (2 * BATCHES):
                passes *= 2
        return min(timer.repeat(BATCHES, passes)) * 1e9 / (passes * calls)

    return sample


def answers(engine: Engine, cases: Sequence[Case]) -> list[bool]:
    """What an engine says to each case."""
    return [bool(engine(case[5])(*case[:5])) for case in cases]


def decisions(engine: Engine, cases: Sequence[Case]) -> Callable[[float], float]:
    """Prepare to time one decision, averaged over the cases.

    The calls are written out one after the other with plain arguments, as a user would write them;
    a loop over cases would cost a third of the fastest engine's time.
    """
    scope: dict[str, Any] = {}
    calls: list[str] = []
    for i, case in enumerate(cases):
        scope[f"decide{i}"] = engine(case[5])
        names = [f"{part}{i}" for part in ("sender", "operation", "message", "from", "to")]
        scope.update(zip(names, case[:5], strict=True))
        calls.append(f"decide{i}({', '.join(names)})")
    return stopwatch("; ".join(calls), scope, calls=len(cases))


def _load(driver: str) -> Engine:
    spec = importlib.util.spec_from_file_location("driver", driver)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    engine: Engine = module.prepare()
    return engine


def _serve(driver: str, requests: IO[str], replies: IO[str]) -> None:
    engine: Engine | None = None
    sample: Callable[[float], float] | None = None
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any]
        try:
            if "cases" in request:
                engine = engine or _load(driver)
                reply = {"answers": answers(engine, request["cases"])}
                sample = decisions(engine, request["cases"])
            elif sample is not None:
                reply = {"ns": sample(request["seconds"])}
            else:
                reply = {"error": "send the cases first"}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _main() -> None:
    # Engines may print; the protocol keeps the real output stream to itself.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _serve(sys.argv[1], sys.stdin, replies)


if __name__ == "__main__":
    _main()
