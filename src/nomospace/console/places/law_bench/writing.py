"""The left of the bench: the law as it is written, and what is found in it as one types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.benching import CheckedView, FindingView, check_law, lay_out
from nomospace.console.editor import Editor
from nomospace.console.frame import Frame
from nomospace.console.look import attributes, doorway, fault, told_in
from nomospace.console.places.law_bench.sources import law_of, sources
from nomospace.console.places.law_bench.state import FIRST_LAW, KEEP, PYTHON, LawBenchState
from nomospace.console.places.parts import act, card_head, choice
from nomospace.console.stage import LawDraft
from nomospace.errors import NomospaceError

SHOWN_MAX: Final = 40
"""How many findings are listed; the editor marks more."""
FIX_MAX: Final = 60
"""How much of a quick fix its button says."""
LANGUAGES: Final = {"law": "Rules (.law)", "python": "Python (.law.py)"}


class Writing:
    """The editor with its findings. `on_checked` hears what each text turned out to be."""

    def __init__(self, frame: Frame, bench: LawBenchState, on_checked: Callable[[], None]) -> None:
        self._frame = frame
        self._bench = bench
        self._on_checked = on_checked
        with ui.element("section").classes("card bench-law").props('aria-label="Law"'):
            with card_head("Law"):
                known = sources(self._frame.console)
                if known:
                    choice("Start from", known, "", self._load).classes("wide")
                else:
                    ui.space()
                self._language = choice("Language", LANGUAGES, bench.draft.language, self._speak)
                act("Lay out", self._lay_out, label="Lay out the law in the one way")
            self._editor = Editor(
                bench.draft.text,
                label="The text of the law",
                keep=KEEP,
                first=FIRST_LAW,
                language=bench.draft.language,
                on_change=self._typed,
            )
            self._editor.classes("bench-editor")
            self._said = ui.label("").classes("bench-said").props("role=status")
            self._findings = ui.element("div").classes("bench-findings")
            attributes(self._findings, aria_label="Findings", role="region")
        ui.timer(0.05, self._check, once=True)

    # -- what was done ---------------------------------------------------------------------------

    async def _typed(self, text: str) -> None:
        draft = LawDraft(text, self._bench.draft.language)
        if draft.language == "law" and PYTHON.search(text):
            await self._write(LawDraft(text, "python"))
            return
        self._bench.draft = draft
        await self._check()

    async def _speak(self, language: str) -> None:
        if language in LANGUAGES and language != self._bench.draft.language:
            draft = LawDraft(self._bench.draft.text, "python" if language == "python" else "law")
            self._bench.draft = draft
            self._editor.speak(draft.language)
            await self._check()

    async def _load(self, key: str) -> None:
        with told_in(self._findings):
            await self._write(law_of(self._frame.console, key))

    async def _lay_out(self) -> None:
        draft = self._bench.draft
        if draft.language == "python":
            ui.notify("A law in Python is laid out by Python's formatters.")
            return
        try:
            text = await lay_out(
                self._frame.console.service.work, draft.text, who=self._frame.viewer.name
            )
        except NomospaceError:
            ui.notify("A law with errors is not laid out; the findings say what they are.")
            return
        await self._write(LawDraft(text))

    async def _write(self, draft: LawDraft) -> None:
        self._bench.draft = draft
        if draft.text != self._editor.value:
            self._editor.put(draft.text)
        self._editor.speak(draft.language)
        self._language.set_value(draft.language)
        await self._check()

    async def _check(self) -> None:
        draft = self._bench.draft
        try:
            checked = await check_law(
                self._frame.console.service.work,
                draft.text,
                draft.language,
                who=self._frame.viewer.name,
            )
        except NomospaceError as error:
            self._bench.checked = None
            self._findings.clear()
            with self._findings:
                fault(error)
            return
        if draft is not self._bench.draft or self._editor.is_deleted:
            return  # it has been typed on since, or the place was left
        self._bench.checked = checked
        self._editor.show_findings(checked.findings)
        self._said.set_text(summary(checked))
        self._said.classes(replace="bench-said " + ("refused" if checked.errors else "forwarded"))
        self._findings.clear()
        with self._findings:
            worst_first = sorted(checked.findings, key=lambda one: one.severity != "error")
            for one in worst_first[:SHOWN_MAX]:
                self._finding(one)
            more = checked.errors + checked.warnings - SHOWN_MAX
            if more > 0:
                ui.label(f"and {more} more").classes("quiet")
        self._on_checked()

    def _finding(self, one: FindingView) -> None:
        line = attributes(ui.element("div"), data_code=one.code)
        with line.classes(f"finding finding-{one.severity}"):
            sign = "✕" if one.severity == "error" else "!"
            ui.label(sign).classes("sign").props("aria-hidden=true")
            said = f"line {one.line}: {one.severity} [{one.code}] {one.message}"
            doorway(said, lambda: self._editor.reveal(one.line))
            for fix in one.fixes:
                mend = partial(self._editor.mend, fix.start, fix.end, fix.text)
                act(fix.label[:FIX_MAX], mend, label=f"{fix.label[:FIX_MAX]}: mend line {one.line}")


def summary(checked: CheckedView) -> str:
    """What a text is, in one line.

    >>> summary(CheckedView("quota", "4c1f0000", 4, 0, 1, ()))
    '✓ law quota, 4 rules, hash 4c1f0000, 1 warning'
    >>> summary(CheckedView("quota", "", 4, 2, 0, ()))
    '✕ 2 errors'
    """
    if checked.errors:
        return f"✕ {_counted(checked.errors, 'error')}"
    warned = f", {_counted(checked.warnings, 'warning')}" if checked.warnings else ""
    rules = _counted(checked.rules, "rule")
    return f"✓ law {checked.name[:40]}, {rules}, hash {checked.hash[:8]}{warned}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
