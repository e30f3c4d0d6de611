"""How often each rule of a law has ruled lately, as small lines: one number a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

SECONDS: Final = 60
"""How far the lines go back."""


class Sparks:
    """The small lines of one law.

    They begin with what the latest rulings tell, so a page that opens is not blank, and go on with
    the differences of what the host has counted, so they are exact however much is folded.

    >>> sparks = Sparks([("R1", 58_500_000), ("R1", 59_500_000), ("R2", 1)], now=60_000_000)
    >>> sparks.lines()["R1"][-3:]
    [0, 1, 1]
    >>> sparks.count({"R1": 5}); sparks.count({"R1": 9})
    >>> sparks.lines()["R1"][-3:]
    [1, 1, 4]
    """

    def __init__(self, lately: Iterable[tuple[str, int]], *, now: int) -> None:
        """`lately` are rules and when they ruled, in microseconds."""
        self._lines: dict[str, deque[int]] = {}
        self._before: dict[str, int] | None = None
        for rule, at in lately:
            ago = (now - at) // 1_000_000
            if 0 <= ago < SECONDS:
                self._line(rule)[SECONDS - 1 - ago] += 1

    def _line(self, rule: str) -> deque[int]:
        return self._lines.setdefault(rule, deque([0] * SECONDS, maxlen=SECONDS))

    def count(self, hits: Mapping[str, int]) -> None:
        """A second has passed: how often each rule has ruled in all."""
        before, self._before = self._before, dict(hits)
        if before is None:
            return
        for rule in hits:
            self._line(rule).append(max(0, hits[rule] - before.get(rule, 0)))

    def lines(self) -> dict[str, list[int]]:
        """For each rule that ruled lately how often it did in each second, the oldest first."""
        return {rule: list(line) for rule, line in self._lines.items() if any(line)}
