"""What is to be run: the job, whose journal, where, and what the job needs besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.benching import Language, check_law
from nomospace.api.forms import BadField
from nomospace.api.meaning import check_question, spoken, text_of
from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.look import attributes, fault, told_in, words_to
from nomospace.console.places.law_bench.sources import communities_of, law_of, sources
from nomospace.console.places.law_bench.state import LawBenchState
from nomospace.console.places.meaning.state import EXAMPLE, MeaningState
from nomospace.console.places.parts import act, card_head, choice, copy, hosts_of
from nomospace.console.places.pipeline.glance import read_glance
from nomospace.console.runs import JobRun, Runs
from nomospace.console.stage import ALL_HOSTS, Pipeline
from nomospace.errors import NomospaceError

ABOUT: Final = {
    "audit": "Who did what under which law: refusals and their rules, rules that rest, "
    "obligations, load, hops, with plots.",
    "replay": "What a law would have made of what happened, told again to the controller's own "
    "code: what comes out otherwise, for whom first, and why.",
    "match": "Which tuples that were written answer a template by meaning, alone or together.",
}
TITLES: Final = {"audit": "Audit", "replay": "Replay", "match": "Match"}
IN_FORCE, ON_BENCH = "", "bench"
QUESTIONS: Final = (
    ("Who was refused, and by which rule?", "audit", IN_FORCE),
    ("Which rules never ruled?", "audit", IN_FORCE),
    ("What would the law on the bench have changed?", "replay", ON_BENCH),
    ("Which tuples answer a template by meaning?", "match", IN_FORCE),
)
"""What one may want to know, with the job that answers it."""
CHECK_S: Final = 0.3
"""How long after the last change what was given is checked."""


@dataclass
class JobRequest:
    """What one window asks for."""

    kind: str = "audit"
    host: str = ""
    engine: str = ""
    law: str = IN_FORCE
    community: str = ""
    ontology: str = "meaning"
    template: str = ""
    space: str = ""


class JobForm:
    """The form, the command line that does the same, and the button."""

    def __init__(
        self, frame: Frame, pipeline: Pipeline, runs: Runs, started: Callable[[JobRun], None]
    ) -> None:
        self._frame = frame
        self._pipeline = pipeline
        self._runs = runs
        self._started = started
        self._asked = asked = kept(frame, JobRequest)
        self._checking: ui.timer | None = None
        card_head("The journal")
        self._glance = ui.element("div").classes("asking").props("data-glance role=region")
        attributes(self._glance, aria_label="The journal at a glance")
        card_head("A new run")
        with ui.element("div").classes("chips"):
            for words, kind, law in QUESTIONS:
                asks = words_to(words, partial(self._ask, kind, law)).classes("chip")
                attributes(asks, data_question=kind)
        kinds = {kind: TITLES.get(kind, kind) for kind in pipeline.kinds()}
        self._toggle = ui.toggle(
            kinds, value=asked.kind, on_change=lambda e: self._kind(str(e.value))
        )
        self._toggle.props("no-caps unelevated dense").classes("kinds")
        attributes(self._toggle, aria_label="Job")
        self._form = ui.element("div").classes("asking")
        self._draw_form()
        self._look()
        ui.timer(0.05, self._recall, once=True)

    async def _recall(self) -> None:
        """The law that was typed in this window is the law on the bench, whatever page it shows."""
        if await kept(self._frame, LawBenchState).recall():
            self._told()

    def _look(self) -> None:
        """Show the journal that is asked."""
        services = self._frame.console.services
        chosen = {
            name: one for name, one in services.items() if self._asked.host in (name, ALL_HOSTS)
        }
        with self._glance:
            reading = partial(read_glance, self._glance, self._frame, chosen)
            ui.timer(0, reading, once=True)

    def _ask(self, kind: str, law: str) -> None:
        self._asked.law = law
        self._toggle.set_value(kind)
        self._kind(kind)

    def _kind(self, kind: str) -> None:
        self._asked.kind = kind
        self._asked.engine = ""
        self._draw_form()

    def _draw_form(self) -> None:
        asked, pipeline = self._asked, self._pipeline
        hosts = hosts_of(pipeline.hosts())
        asked.host = asked.host if asked.host in hosts else next(iter(hosts), "")
        engines = pipeline.engines(asked.kind)
        ready = {one.name: one.name for one in engines if one.ready}
        asked.engine = asked.engine if asked.engine in ready else next(iter(ready), "")
        self._form.clear()
        with self._form:
            ui.label(ABOUT.get(asked.kind, "")).classes("quiet small")
            with ui.element("div").classes("line-up"):
                choice("Journal of", hosts, asked.host, lambda v: self._set("host", v))
                choice("Engine", ready, asked.engine, lambda v: self._set("engine", v))
            for one in engines:
                if not one.ready:
                    ui.label(one.words).classes("quiet small")
            if asked.kind == "match":
                self._draw_match()
            else:
                self._draw_law()
            with ui.element("div").classes("command"):
                self._command = ui.label("").classes("mono pre command-line")
                attributes(self._command, data_command="next")
                act("Copy", self._copy, label="Copy the command line")
            self._button = act("Start", self._start, main=True).classes("start")
            self._said = ui.element("div")
        self._told()

    def _draw_law(self) -> None:
        asked, console = self._asked, self._frame.console
        communities = communities_of(console)
        with ui.element("div").classes("line-up"):
            if asked.kind == "replay":
                laws = {IN_FORCE: "the law in force", ON_BENCH: "the law on the bench"}
                laws |= sources(console)
                choice("Under", laws, asked.law, lambda v: self._set("law", v)).classes("wide")
            any_one = {"": "all that fit", **communities}
            choice("Community", any_one, asked.community, lambda v: self._set("community", v))

    def _draw_match(self) -> None:
        asked, service = self._asked, self._frame.console.service
        offered = {"meaning": "the one in Meaning"}
        offered |= {
            hash: f"{ontology.name} · spoken by {', '.join(spaces)}"
            for hash, (ontology, spaces) in spoken(service).items()
        }
        spaces = {"": "all", **{one.name: one.name for one in service.views.spaces()}}
        asked.template = asked.template or kept(self._frame, MeaningState).template
        with ui.element("div").classes("line-up"):
            choice("Ontology", offered, asked.ontology, lambda v: self._set("ontology", v))
            choice("Space", spaces, asked.space, lambda v: self._set("space", v))
        ui.input(
            "Template", value=asked.template, on_change=lambda e: self._set("template", e.value)
        ).props("dense outlined").classes("meaning-template")

    # -- what was chosen ---------------------------------------------------------------------------

    def _set(self, name: str, value: object) -> None:
        setattr(self._asked, name, str(value or ""))
        if name == "host":
            self._look()
        self._told()

    def _options(self) -> dict[str, str]:
        """What the job is given; raises for a law that is not here any more."""
        asked, console = self._asked, self._frame.console
        found = {"host": asked.host, "engine": asked.engine}
        if asked.kind != "match":
            found["community"] = asked.community
        if asked.kind == "replay" and asked.law:
            bench = asked.law == ON_BENCH
            draft = kept(self._frame, LawBenchState).draft if bench else law_of(console, asked.law)
            found |= {"law": draft.text, "language": draft.language}
        if asked.kind == "match":
            known = spoken(console.service)
            meaning = kept(self._frame, MeaningState)
            text, form = EXAMPLE, "yaml"
            source = meaning.source if asked.ontology == "meaning" else asked.ontology
            if source in known:
                text = text_of(known[source][0])
            elif source == "own":
                text, form = meaning.text, meaning.format
            found |= {"ontology": text, "format": form}
            found |= {"template": asked.template, "space": asked.space}
        return found

    def _told(self) -> None:
        """Say which command would do the same, and check what it is given."""
        try:
            self._command.set_text(self._pipeline.command(self._asked.kind, self._options()))
        except NomospaceError as error:
            self._command.set_text(str(error))
        if self._checking is not None:
            self._checking.cancel(with_current_invocation=True)
        with self._form:
            self._checking = ui.timer(CHECK_S, self._check, once=True)

    async def _check(self) -> None:
        """Say what is wrong with what was given, before anything is started."""
        asked, service, who = self._asked, self._frame.console.service, self._frame.viewer.name
        self._said.clear()
        try:
            options = self._options()
            self._pipeline.command(asked.kind, options)
            if asked.kind == "match":
                text, form = options["ontology"], options.get("format", "yaml")
                await check_question(service.work, text, form, asked.template, who=who)
            elif "law" in options:
                language: Language = "python" if options["language"] == "python" else "law"
                checked = await check_law(service.work, options["law"], language, who=who)
                wrong = next((one for one in checked.findings if one.severity == "error"), None)
                if wrong is not None:
                    raise BadField(where="the law", why=f"has errors:\n{wrong.text}")
        except NomospaceError as error:
            if not self._said.is_deleted:
                self._said.clear()
                with self._said:
                    fault(error)
                self._button.disable()
            return
        if not self._button.is_deleted:
            self._button.enable()

    async def _copy(self) -> None:
        """Copy what the command reads, then the command: so it works when it is pasted."""
        with told_in(self._said):
            line = await self._pipeline.prepare(self._asked.kind, self._options())
            copy(line, "Command line")
            self._told()

    def _start(self) -> None:
        with told_in(self._said):
            kind, options = self._asked.kind, self._options()
            self._started(self._runs.start(self._pipeline, kind, options, self._about()))
            ui.timer(0.2, self._told, once=True)  # it has its folder by then; the next has another

    def _about(self) -> str:
        """What a run is called in the list."""
        asked = self._asked
        where = hosts_of(self._pipeline.hosts()).get(asked.host, asked.host)
        if asked.kind == "match":
            return f"{where}: {asked.template}"
        if asked.kind == "replay" and asked.law:
            names = {ON_BENCH: "the law on the bench", **sources(self._frame.console)}
            return f"{where}, under {names.get(asked.law, 'another law')}"
        return f"{where}, under the law in force" if asked.kind == "replay" else where
