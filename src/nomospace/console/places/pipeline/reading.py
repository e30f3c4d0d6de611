"""What a run has found, to be read in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nicegui import ui

from nomospace.console.look import attributes, empty, exactly, fact, fault, heading, mono
from nomospace.console.runs import JobRun
from nomospace.console.stage import TrialFacts

ANSWERS_SHOWN: Final = 200
"""How many answers of a match are shown; the rest is counted."""
LINES_MAX: Final = 100
"""How many lines of a list are compared, and how many figures are shown."""
KINDS: Final = {
    "forwards": "would be forwarded",
    "refuses": "would be refused",
    "differs": "have other operations",
    "arises": "are new: the record has no such event",
    "lapses": "fall away: what led to them does not happen",
    "ended": "come after the agent would have quit",
}


def draw_report(run: JobRun) -> None:
    """What a run has found."""
    progress = run.progress
    if run.state == "cancelled":
        empty("This run was cancelled.", "Start it again to see what it finds.")
    elif run.going:
        empty("The report will be here when the run has ended.", progress.words)
    elif progress.failed:
        fault(progress.failed)
    elif progress.report:
        # The page has no scripts of its own, and in its frame it may not have any.
        frame = attributes(ui.element("iframe"), title="The report", sandbox="")
        attributes(frame, srcdoc=progress.report).classes("report-page")
    elif run.kind == "match":
        _draw_answers(progress.answer.get("answers", ()))
    else:
        _draw_replay(progress.answer)


def figures(answer: object, at: str = "") -> dict[str, float]:
    """The numbers of an answer by where they stand; lists by what names their lines.

    >>> figures({"refused": 3, "rules": [{"rule": "R1", "now": 2}, {"rule": None, "now": 1}]})
    {'refused': 3, 'rules R1 now': 2, 'rules (none) now': 1}
    """
    found: dict[str, float] = {}
    if isinstance(answer, Mapping):
        for name, value in answer.items():
            found |= figures(value, f"{at} {name}".strip())
    elif isinstance(answer, list | tuple):
        for number, line in enumerate(answer[:LINES_MAX]):
            named = (
                [v for v in line.values() if isinstance(v, str | None)]
                if isinstance(line, dict)
                else []
            )
            found |= figures(line, f"{at} {(named[0] or '(none)') if named else number}")
    elif isinstance(answer, int | float) and not isinstance(answer, bool):
        found[at] = answer
    return found


def draw_compared(before: JobRun, now: JobRun) -> None:
    """The numbers in which two runs differ, those that differ most first."""
    one, other = figures(before.progress.answer), figures(now.progress.answer)
    differ = [
        (name, one.get(name, 0), other.get(name, 0))
        for name in {**one, **other}
        if one.get(name) != other.get(name)
    ]
    differ.sort(key=lambda line: -abs(line[2] - line[1]) / (abs(line[1]) + abs(line[2]) or 1))
    if not differ:
        ui.label("All figures are the same.").classes("quiet").props("data-compared")
        return
    ui.label(f"{len(differ):,} figures differ").classes("story-name").props("data-compared")
    rows = [(name, f"{a:,}", f"{b:,}", f"{b - a:+,}") for name, a, b in differ[:LINES_MAX]]
    _table(("figure", "the other", "this run", "difference"), rows)


def _draw_replay(found: TrialFacts) -> None:
    said = f"{found['events']:,} rulings of {found['members']:,} members under {found['law']}"
    ui.label(said).classes("story-name")
    with fact("the same"):
        ui.label(f"{found['same']:,}").classes("num")
    with fact("changed"):
        whose = f"for {found['diverged']:,} of {found['members']:,} members"
        ui.label(f"{found['changed']:,} {whose}").classes("num")
        for kind, count in found["kinds"].items():
            ui.label(f"{count:,} {KINDS.get(kind, kind)}").classes("quiet")
    for name in ("forwarded", "refused"):
        with fact(name):
            ui.label(f"{found[name]:,}").classes(f"num {name}")
            ui.label(f"was {found[f'{name}_before']:,}").classes("quiet num")
    if found["passed_over"]:
        with fact("passed over"):
            ui.label(f"{found['passed_over']:,} rulings, for want of a checkpoint before them")
    heading("Rules")
    rows = [
        (one["rule"] or "(none)", *[f"{one[name]:,}" for name in ("before", "now", "changed")])
        for one in found["rules"]
    ]
    _table(("rule", "before", "now", "changed"), rows)
    if found["first"]:
        heading("First divergences")
        for one in found["first"]:
            with ui.element("div").classes("tried"):
                with ui.element("div").classes("tried-head"):
                    ui.label(exactly(one["at"])).classes("num quiet")
                    mono(one["agent"])
                mono(one["event"]).classes("wrap")
                ui.label(one["reason"]).classes("pre")


def _draw_answers(answers: Sequence[TrialFacts]) -> None:
    if not answers:
        empty("No tuple answers, alone or together.", "Ask for less.")
        return
    ui.label(f"{len(answers):,} answers" if len(answers) > 1 else "1 answer").classes("story-name")
    for one in answers[:ANSWERS_SHOWN]:
        with ui.element("div").classes("tried"):
            with ui.element("div").classes("tried-head"):
                ui.label(str(one["kind"])).classes(f"answer-kind kind-{one['kind']}")
                mono(" + ".join(map(str, one["tuples"]))).classes("wrap")
            ui.label(str(one["why"])).classes("pre")
    if len(answers) > ANSWERS_SHOWN:
        ui.label(f"and {len(answers) - ANSWERS_SHOWN:,} more").classes("quiet")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with ui.element("table").classes("figures"):
        with ui.element("thead"), ui.element("tr"):
            for at, head in enumerate(heads):
                with ui.element("th").classes("num" if at else ""):
                    ui.label(head)
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for at, cell in enumerate(row):
                        with ui.element("td").classes("num" if at else "mono"):
                            ui.label(cell)
