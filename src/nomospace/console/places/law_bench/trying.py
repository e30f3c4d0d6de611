"""The right of the bench, and below: events under the law in virtual time, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import ValueChangeEventArguments

from nomospace.api.benching import recorded_events
from nomospace.console.console import STATIC
from nomospace.console.editor import Editor
from nomospace.console.frame import Frame
from nomospace.console.look import SIGNS, attributes, chip, empty, fault, heading, mono, span
from nomospace.console.places.law_bench.state import FIRST_EVENTS, LawBenchState
from nomospace.console.places.listing import ROWS_MAX, ListColumn, ListElement, Row
from nomospace.console.places.parts import Working, act
from nomospace.console.stage import LawTrials as Tries, TrialFacts
from nomospace.errors import NomospaceError

COLUMNS: Final = (
    ListColumn("number", "", "34px", "num"),
    ListColumn("at", "at", "74px", "num"),
    ListColumn("verdict", "", "100px", "verdict"),
    ListColumn("home", "at whom", "minmax(104px, 1.2fr)", "mono"),
    ListColumn("event", "event", "minmax(160px, 3fr)", "mono"),
    ListColumn("rule", "rule", "44px", "mono"),
)
UNTIL_S_MAX: Final = 1e9


class TimeAxis(Element, component=STATIC / "axis.js"):
    """The steps where they are in time."""

    def __init__(self, steps: Sequence[TrialFacts], at: int) -> None:
        super().__init__()
        self._props["steps"] = [[float(one["at"]), str(one["kind"])] for one in steps]
        self._props["first"] = at


class Trying:
    """A run of events, and the axis of time that goes through its steps."""

    def __init__(self, frame: Frame, bench: LawBenchState, tries: Tries) -> None:
        self._frame = frame
        self._bench = bench
        self._tries = tries

    # -- the scenario ------------------------------------------------------------------------------

    def draw_scenario(self) -> None:
        """The events, and the button that runs them."""
        bench = self._bench
        ui.label(
            "One JSON object a line, in time order, as nomospace law run reads them; "
            "seconds are virtual."
        ).classes("quiet small")
        self._editor = Editor(
            bench.events,
            label="The events to try the law on",
            keep="events",
            first=FIRST_EVENTS,
            language="json",
            on_change=partial(setattr, bench, "events"),
            on_submit=self._run,
        )
        self._editor.classes("bench-editor")
        with ui.element("div").classes("line-up"):
            run = act("Run", self._run, main=True, label="Run the events (Ctrl-Enter)")
            until = ui.number(
                "until second", value=bench.until_s, min=0, max=UNTIL_S_MAX, on_change=self._until
            )
            until.props("dense outlined").classes("number")
            alone = ui.checkbox("each alone", value=bench.isolated, on_change=self._isolated)
            alone.props("dense").tooltip("Forwarded messages arrive nowhere (--isolated)")
            ui.space()
            words = "From the journal"
            act(words, self._fill, label=f"{words}: fill in the latest messages of members")
        said = ui.element("div")
        self._working = Working(run, said)
        if bench.ran_fault is not None:
            with said:
                fault(bench.ran_fault)

    async def _fill(self) -> None:
        """Put in what members of the law's community did last, where there are some."""
        checked = self._bench.checked
        for service in self._frame.console.services.values():
            for one in service.views.communities():
                if checked is not None and one.name == checked.name:
                    text = await recorded_events(service.views, one.law)
                    if text:
                        self._editor.put(text)
                        self._bench.events = text
                        return
        ui.notify("No member of this law's community has sent anything lately.")

    def _until(self, event: ValueChangeEventArguments[float | None]) -> None:
        value = event.value
        self._bench.until_s = None if value is None else max(0.0, min(float(value), UNTIL_S_MAX))

    def _isolated(self, event: ValueChangeEventArguments[bool | None]) -> None:
        self._bench.isolated = bool(event.value)

    async def _run(self) -> None:
        bench = self._bench

        async def work() -> None:
            bench.ran_fault = None
            try:
                bench.ran = await self._tries.run(
                    bench.draft, bench.events, until_s=bench.until_s, isolated=bench.isolated
                )
            except NomospaceError as error:
                bench.ran_fault = error
                raise
            bench.step = 0

        if await self._working(work()):
            self._show()

    # -- the steps ---------------------------------------------------------------------------------

    def draw_steps(self) -> ui.element:
        """The axis of time and what it stands on; gives the element that holds it."""
        section = ui.element("section").classes("card bench-below")
        with attributes(section, aria_label="Steps"):
            self._steps = ui.element("div").classes("bench-steps")
        self._show()
        return section

    def _show(self) -> None:
        if self._steps.is_deleted:
            return
        ran = self._bench.ran
        steps: Sequence[TrialFacts] = () if ran is None else ran["steps"]
        self._steps.clear()
        with self._steps:
            if ran is None:
                empty("Every ruling of a run would be here, step by step.", "Press Run.")
                return
            if ran["fault"]:
                fault(str(ran["fault"]))
            for words in (*ran["notes"], ran["cut"]):
                if words:
                    ui.label(words).classes("held")
            if not steps:
                empty("No event was ruled on.", "Write an event, then press Run.")
                return
            self._bench.step = min(self._bench.step, len(steps) - 1)
            self._draw_axis(steps)
            with ui.element("div").classes("bench-split"):
                self._listing = ListElement(
                    COLUMNS,
                    [_row(number, step) for number, step in enumerate(steps[:ROWS_MAX])],
                    label="Steps of the run",
                    none="",
                    now=0,
                    on_pick=lambda id: self._go(int(id)),
                    note=_more(len(steps)),
                )
                self._listing.classes("bench-list")
                self._told = ui.element("div").classes("bench-told").props("aria-live=polite")
            self._tell()

    def _draw_axis(self, steps: Sequence[TrialFacts]) -> None:
        with ui.element("div").classes("bench-slide"):
            act("←", lambda: self._go(self._bench.step - 1), label="The step before")
            self._axis = TimeAxis(steps, self._bench.step)
            self._axis.on("step", lambda event: self._go(int(event.args)))
            act("→", lambda: self._go(self._bench.step + 1), label="The step after")

    def _go(self, step: int) -> None:
        ran = self._bench.ran
        count = 0 if ran is None else len(ran["steps"])
        step = max(0, min(step, count - 1))
        if step != self._bench.step:
            self._bench.step = step
            self._axis.run_method("go", step)
            self._listing.choose(str(step))
            self._tell()

    def _tell(self) -> None:
        ran = self._bench.ran
        assert ran is not None
        step: TrialFacts = ran["steps"][self._bench.step]
        before = _state_before(ran["steps"], self._bench.step)
        self._told.clear()
        with self._told:
            with ui.element("div").classes("bench-step-head"):
                ui.label(f"{self._bench.step + 1} of {len(ran['steps'])}").classes("quiet num")
                ui.label(f"at {step['at']} s").classes("num")
                mono(str(step["home"]))
                if step["line"]:
                    ui.label(f"line {step['line']}").classes("quiet")
            mono(str(step["event"])).classes("term wrap")
            kind = str(step["kind"])
            sign = f"{SIGNS[kind]} " if kind else ""
            ui.label(f"{sign}{step['verdict']}").classes(f"bench-verdict {kind}")
            _listed("Ruling", step["ruling"], "nothing is done")
            _draw_state(before, step["control_state"])
            _draw_owed(step["owed"], float(step["at"]))
            with ui.expansion("Why").props("dense").classes("bench-why"):
                mono(str(step["why"])).classes("pre")


def _more(count: int) -> str:
    """What the list leaves out.

    >>> _more(3), _more(1_200)
    ('', 'the first 500 of 1,200 steps; the axis has them all')
    """
    if count <= ROWS_MAX:
        return ""
    return f"the first {ROWS_MAX:,} of {count:,} steps; the axis has them all"


def _row(number: int, step: TrialFacts) -> Row:
    return {
        "id": str(number),
        "number": number + 1,
        "at": f"{step['at']:g} s",
        "verdict": step["kind"],
        "home": step["home"],
        "event": step["event"],
        "rule": step["rule"] or "–",
    }


def _listed(title: str, terms: Sequence[str], none: str) -> None:
    heading(title)
    for term in terms:
        mono(term).classes("operation wrap")
    if not terms:
        ui.label(none).classes("quiet")


def _state_before(steps: Sequence[TrialFacts], at: int) -> Sequence[str]:
    """The control state of a home before a step."""
    home = steps[at]["home"]
    earlier = next((step for step in reversed(steps[:at]) if step["home"] == home), None)
    found: Sequence[str] = steps[at]["began"] if earlier is None else earlier["control_state"]
    return found


def changes(before: Sequence[str], now: Sequence[str]) -> list[tuple[str, str]]:
    """What stayed, came and went between two states, as a sign and a term each.

    >>> changes(["slot", "slot", "x"], ["slot", "y"])
    [('', 'slot'), ('+', 'y'), ('−', 'slot'), ('−', 'x')]
    """
    left = list(before)
    found: list[tuple[str, str]] = []
    for term in now:
        if term in left:
            left.remove(term)
            found.append(("", term))
        else:
            found.append(("+", term))
    return [*found, *[("−", term) for term in left]]


def _draw_state(before: Sequence[str], now: Sequence[str]) -> None:
    heading("Control state")
    shown = changes(before, now)
    if not shown:
        ui.label("empty").classes("quiet")
        return
    kinds = {"+": "came", "−": "went", "": ""}
    words = {"+": "new", "−": "gone", "": ""}
    with ui.element("div").classes("chips"):
        for sign, term in shown:
            one = chip(f"{sign} {term}".strip()).classes(kinds[sign])
            if sign:
                attributes(one, title=words[sign], data_change=words[sign])


def _draw_owed(owed: Sequence[TrialFacts], now: float) -> None:
    heading("Obligations")
    if not owed:
        ui.label("none").classes("quiet")
    for one in owed:
        with ui.element("div").classes("duty"):
            ui.label(SIGNS["obligation"]).classes("obligation").props("aria-hidden=true")
            mono(str(one["term"])).classes("wrap")
            ui.label(f"in {span(round((float(one['at']) - now) * 1_000_000))}").classes(
                "obligation"
            )
