"""A run of events step by step, with all that a law bench shows of each.

The events are those of `nomospace law run` (`lawrun`), told in the same virtual time and the same
order; a step has the line that `law run` prints, and besides what the home owes then, the verdict
in words and the whole story of the ruling. The first step of a home has the state that it `began`
with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import seconds
from nomospace.scenarios.community import CommunityRuling
from nomospace.scenarios.lawrun import Row, Run, row
from nomospace.terms import show

STEPS_MAX: Final = 2_000
"""How many steps one run shows."""
OWED_MAX: Final = 100
"""How many obligations of a home one step shows."""
CHARS_MAX: Final = 4_000_000
"""How much all steps of a run may say."""


class Steps:
    """The steps of a run; `cut` says, once they are read, why it stopped early."""

    def __init__(
        self, law: CompiledLaw, *, isolated: bool = False, until: float | None = None
    ) -> None:
        self.cut = ""
        self.notes: list[str] = []
        self._homes: dict[str, None] = {}
        self._run = Run(law, isolated=isolated, until=until, say=self.notes.append)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Row]:
        """Every ruling as a step. Raises `BadLine`, `Endless` after what came before it.

        >>> from nomospace.law import load
        >>> law = load("law(l). R1. sent(X,M,Y) :- do(imposeObligation(o, 5)), do(forward).")
        >>> line = b'{"at": 1, "home": "a@w", "event": "sent", "message": "hi", "to": "b@w"}'
        >>> first, second = Steps(law).read([line], "events")
        >>> first["line"], first["verdict"], first["owed"], second["event"]
        (1, 'forwarded by R1', [{'term': 'o', 'at': 6}], "arrived('a@w',hi,'b@w')")
        """
        chars = 0
        for count, (line, happening) in enumerate(self._run.told(lines, name), 1):
            step = self._step(line, happening)
            chars += _size(step)
            if count > STEPS_MAX or chars > CHARS_MAX:
                limit = f"{STEPS_MAX:,} steps" if count > STEPS_MAX else f"{CHARS_MAX:,} characters"
                self.cut = f"the run is longer than the {limit} that are shown here"
                return
            yield step

    def _step(self, line: int, happening: CommunityRuling) -> Row:
        community, ruling = self._run.community, happening.ruling
        story = community.explain(ruling)
        pending = community.members[ruling.home].pending()
        told: Row = {
            **row(happening),
            "line": line,
            "verdict": story.verdict,
            "kind": _kind(happening),
            "owed": [{"term": show(term), "at": seconds(due)} for due, term in pending[:OWED_MAX]],
            "why": story.text,
        }
        if ruling.home not in self._homes:
            self._homes[ruling.home] = None
            state, _ = community.members[ruling.home].before(ruling.seq)
            told["began"] = [show(item) for item in state]
        return told


def _kind(happening: CommunityRuling) -> str:
    """Which of the verdicts that people know a ruling is; empty for one that is none of them."""
    ruling = happening.ruling
    if ruling.event.kind == "obligationDue":
        return "obligation"
    if ruling.event.kind != "sent":
        return ""
    return "refused" if ruling.refused else "held" if ruling.held else "forwarded"


def _size(step: dict[str, Any]) -> int:
    state = sum(map(len, step["control_state"]))
    return len(step["why"]) + len(step["event"]) + state + sum(map(len, step["ruling"]))
