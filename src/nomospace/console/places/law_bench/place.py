"""The bench as a whole: the law on the left, what to do with it on the right, steps below."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.look import empty
from nomospace.console.places.law_bench.adopting import Adopting
from nomospace.console.places.law_bench.comparing import Comparing
from nomospace.console.places.law_bench.state import LawBenchState
from nomospace.console.places.law_bench.trying import Trying
from nomospace.console.places.law_bench.writing import Writing

COMMAND: Final = "nomospace host run --api 127.0.0.1:8080"
TABS: Final = {"scenario": "Scenario", "compare": "Compare", "adopt": "Adopt"}


def show(frame: Frame) -> None:
    """Show the place in a window."""
    bench = kept(frame, LawBenchState)
    tries = frame.console.stages.bench
    adopting = Adopting(frame, bench)
    below: dict[str, ui.element] = {}

    def turn(tab: str) -> None:
        bench.tab = tab
        for name, section in below.items():
            section.set_visibility(name == tab)

    with ui.element("div").classes("bench"):
        Writing(frame, bench, adopting.show)
        with ui.element("section").classes("card bench-side").props('aria-label="Try it"'):
            with ui.tabs().props("dense no-caps align=left") as tabs:
                for name, title in TABS.items():
                    ui.tab(name, title)
            tabs.on_value_change(lambda event: turn(str(event.value)))
            with ui.tab_panels(tabs, value=bench.tab, animated=False).classes("bench-panels"):
                panels = {name: ui.tab_panel(name).classes("bench-panel") for name in TABS}
        with panels["adopt"]:
            adopting.draw()
        if tries is None:
            for name in ("scenario", "compare"):
                with panels[name]:
                    empty("This console was started without a bench.", COMMAND, code=True)
            return
        trying, comparing = Trying(frame, bench, tries), Comparing(frame, bench, tries)
        with panels["scenario"]:
            trying.draw_scenario()
        with panels["compare"]:
            comparing.draw()
        below.update(scenario=trying.draw_steps(), compare=comparing.draw_found())
        turn(bench.tab)
