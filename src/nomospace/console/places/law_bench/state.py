"""What lies on the bench of one window."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from nicegui import ui

from nomospace.api.benching import CheckedView
from nomospace.console.editor import TEXT_CHARS_MAX
from nomospace.console.stage import LawDraft, TrialFacts

KEEP: Final = "law"
"""Under which name a window keeps the law that is typed."""
PYTHON: Final = re.compile(r"^law = Law\(", re.MULTILINE)
"""How every law in Python begins, and no other: a text that is pasted tells its language."""
FIRST_LAW: Final = """\
% At most three messages in any hour. What is too much comes back to its sender.
law(quota).
initialCS([slot, slot, slot]).

R1. sent(X, M, Y) :- slot@CS, do(-slot), do(imposeObligation(slot, 1, hour)), do(forward).
R2. sent(X, M, Y) :- do(deliver(Self, refused(M), Self)).
R3. obligationDue(slot) :- do(+slot).
R4. arrived(X, M, Y) :- do(deliver).
"""
FIRST_EVENTS: Final = """\
{"at": 0, "home": "ann@ward", "event": "sent", "message": "hello", "to": "bob@ward"}
{"at": 1, "home": "ann@ward", "event": "sent", "message": "are(you, there)", "to": "bob@ward"}
{"at": 2, "home": "ann@ward", "event": "sent", "message": "anyone", "to": "bob@ward"}
{"at": 3, "home": "ann@ward", "event": "sent", "message": "help", "to": "bob@ward"}
"""


@dataclass
class LawBenchState:
    """The law that is being written, the events it is tried on, and what came of that."""

    draft: LawDraft = field(default_factory=lambda: LawDraft(FIRST_LAW))
    checked: CheckedView | None = None
    events: str = FIRST_EVENTS
    until_s: float | None = 7200.0
    isolated: bool = False
    ran: TrialFacts | None = None
    """What the last run told (`console.stage.Bench.run`)."""
    ran_fault: Exception | None = None
    step: int = 0
    tab: str = "scenario"
    before: str = ""
    """What the draft is compared with: a key of `sources`; empty is what was in force."""
    host: str = ""
    community: str = ""
    newest: str = "20000"
    compared: TrialFacts | None = None
    compared_fault: Exception | None = None
    difference: str = ""
    agent: str = ""
    confirmed: str = ""

    async def recall(self) -> bool:
        """Take the law that this window has kept, where the host knows of none; whether it did."""
        if self.draft.text != FIRST_LAW:
            return False
        kept = await ui.run_javascript(f"sessionStorage.getItem('nomospace.typed.{KEEP}')")
        if not isinstance(kept, str) or kept == FIRST_LAW:
            return False
        self.draft = drafted(kept[:TEXT_CHARS_MAX])
        return True


def drafted(text: str) -> LawDraft:
    """A text as a law in the language that it is written in.

    >>> drafted('law = Law("open")').language, drafted(FIRST_LAW).language
    ('python', 'law')
    """
    return LawDraft(text, "python" if PYTHON.search(text) else "law")
