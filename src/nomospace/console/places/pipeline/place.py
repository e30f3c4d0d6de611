"""The place as a whole: what to run on the left, the runs beside it, the report below them."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.look import attributes, empty, moment, mono, plain_button, span, when
from nomospace.console.places.parts import act, card_head, choice, copy
from nomospace.console.places.pipeline.asking import TITLES, JobForm
from nomospace.console.places.pipeline.reading import draw_compared, draw_report
from nomospace.console.runs import JobRun, Runs

LOOK_S: Final = 0.25
"""How often the page looks how far runs are."""
SIGNS: Final = {"runs": "▸", "done": "✓", "failed": "✕", "cancelled": "–"}
LOOKS: Final = {"runs": "held", "done": "forwarded", "failed": "refused", "cancelled": "quiet"}


class ShownRun:
    """Which run one window reads."""

    def __init__(self) -> None:
        self.number = 0


def show(frame: Frame) -> None:
    """Show the place in a window."""
    pipeline = frame.console.stages.pipeline
    if pipeline is None or not pipeline.hosts():
        empty(
            "Runs of the pipeline over this host's journal would be here.",
            "nomospace host run --api 127.0.0.1:8080",
            code=True,
        )
        return
    runs = kept(frame.console, Runs)
    runs.recall(pipeline)
    place = PipelinePlace(frame, runs)
    with ui.element("div").classes("pipeline"):
        with ui.element("section").classes("card pipeline-ask").props('aria-label="A new run"'):
            JobForm(frame, pipeline, runs, place.read)
        place.draw()


class PipelinePlace:
    """The runs of a console in one window, and the report of one of them."""

    def __init__(self, frame: Frame, runs: Runs) -> None:
        self._runs = runs
        self._shown = kept(frame, ShownRun)
        self._drawn: dict[int, int] = {}
        self._told: dict[int, tuple[ui.label, ui.label, ui.linear_progress]] = {}

    def draw(self) -> None:
        """Draw it."""
        with ui.element("section").classes("card pipeline-runs").props('aria-label="Runs"'):
            card_head("Runs")
            self._list = ui.element("div").classes("runs")
        with ui.element("section").classes("card pipeline-report") as report:
            attributes(report, aria_label="Report")
            self._report = ui.element("div").classes("report")
        self._draw_list()
        self._draw_report()
        ui.timer(LOOK_S, self._look)

    def read(self, run: JobRun) -> None:
        """Read the report of a run."""
        self._shown.number = run.number
        self._draw_list()
        self._draw_report()

    def _look(self) -> None:
        """Show what is new; a run that has ended shows its report."""
        news = {number: run.changes for number, run in self._runs.items.items()}
        going = any(run.going for run in self._runs.items.values())
        if news == self._drawn and not going:
            return
        ended = [
            number
            for number, run in self._runs.items.items()
            if not run.going and self._drawn.get(number) != run.changes
        ]
        if news.keys() != self._drawn.keys() or ended:
            self._draw_list()
        else:
            for number, (words, took, bar) in self._told.items():
                run = self._runs.items[number]
                words.set_text(_words(run))
                bar.set_value(max(0.0, run.progress.done))
                took.set_text(span(round(run.seconds * 1_000_000)))
            self._drawn = news
        if self._shown.number in ended:
            self._draw_report()

    def _draw_list(self) -> None:
        self._drawn = {number: run.changes for number, run in self._runs.items.items()}
        self._told.clear()
        self._list.clear()
        with self._list:
            if not self._runs.items:
                empty("No run has been started yet.", "Choose a job and press Start.")
            for run in reversed(list(self._runs.items.values())):
                self._draw_run(run)

    def _draw_run(self, run: JobRun) -> None:
        with ui.element("div").classes("run") as line:
            attributes(line, data_run=str(run.number), data_state=run.state)
            pressed = str(run.number == self._shown.number).lower()
            with plain_button("run-open", lambda: self.read(run), aria_pressed=pressed):
                with ui.element("span").classes("run-head"):
                    ui.label(f"{SIGNS[run.state]} {run.state}").classes(
                        f"verdict {LOOKS[run.state]}"
                    )
                    ui.label(TITLES.get(run.kind, run.kind)).classes("card-title")
                    ui.label(run.about).classes("quiet wrap")
                with ui.element("span").classes("run-more"):
                    words = ui.label(_words(run)).classes("quiet wrap")
                    took = ui.label(span(round(run.seconds * 1_000_000))).classes("num")
                    when(run.began_us)
            if run.going:
                bar = ui.linear_progress(max(0.0, run.progress.done), show_value=False, size="3px")
                attributes(bar.classes("run-bar"), aria_label=f"How far run {run.number} is")
                self._told[run.number] = (words, took, bar)
                act(
                    "Cancel",
                    lambda: self._runs.cancel(run.number),
                    label=f"Cancel run {run.number}",
                )

    def _draw_report(self) -> None:
        run = self._runs.items.get(self._shown.number)
        self._report.clear()
        with self._report:
            if run is None:
                empty("The report of a run would be here.", "Start a run, or choose one above.")
                return
            with ui.element("div").classes("command"):
                mono(run.command).classes("pre command-line")
                act(
                    "Copy",
                    lambda: copy(run.command, "Command line"),
                    label="Copy the command line of this run",
                )
            self._draw_others(run)
            draw_report(run)

    def _draw_others(self, run: JobRun) -> None:
        """Runs of the same kind to compare it with, and what differs."""
        others = {
            str(one.number): f"{one.about}, {moment(one.began_us)[:8]} UTC"
            for one in self._runs.items.values()
            if one.kind == run.kind and one is not run and one.state == "done"
        }
        if run.state != "done" or not others:
            return
        compared = ui.element("div")

        def compare(number: str) -> None:
            compared.clear()
            with compared:
                draw_compared(self._runs.items[int(number)], run)

        choice("Compare with", others, "", compare).classes("wide")
        compared.move(target_index=-1)


def _words(run: JobRun) -> str:
    if run.going:
        share = f"{run.progress.done:.0%}, " if 0 <= run.progress.done < 1 else ""
        left = run.left_s
        about = "" if left is None else f", about {span(round(left * 1_000_000))} left"
        return f"{share}{run.progress.words.strip()}{about}"
    return ""
