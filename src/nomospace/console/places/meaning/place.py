"""The place as a whole: the ontology on the left, the playground on the right."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Final

from nicegui import events, ui
from nicegui.element import Element

from nomospace.api.meaning import (
    CLASSES_MAX,
    TEXT_CHARS_MAX,
    KnownOntology,
    TooMuchToPlay,
    classes_of,
    lines_of,
    play,
    read_text,
    spoken,
)
from nomospace.console.console import STATIC
from nomospace.console.editor import Editor
from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.look import attributes, empty, fault, mono, words_to
from nomospace.console.places.meaning.state import EXAMPLE, TEMPLATES, TUPLES, MeaningState
from nomospace.console.places.parts import Working, act, card_head, choice, submit
from nomospace.errors import NomospaceError

CORRELATE: Final = {
    "auto": "when none answers alone",
    "always": "always",
    "never": "never",
}
FORMATS: Final = {"yaml": "YAML", "ttl": "Turtle"}


class ClassTree(Element, component=STATIC / "ontology.js"):
    """The classes of an ontology."""

    def __init__(self, ontology: KnownOntology) -> None:
        super().__init__()
        self._props["classes"] = classes_of(ontology)
        self._props["label"] = f"Ontology {ontology.name}"


class AnswersElement(Element, component=STATIC / "answers.js"):
    """Answers with their tuples joined."""

    def __init__(self, answers: list[dict[str, object]]) -> None:
        super().__init__()
        self._props["answers"] = answers


class MeaningPlace:
    """The place in one window."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._spoken = spoken(frame.console.service)
        self._state = state = kept(frame, MeaningState)
        if frame.asked.get("ontology") in self._spoken:
            state.source = frame.asked["ontology"]
        if state.source not in ("example", "own", *self._spoken):
            state.source = "example"
        self._ontology: KnownOntology | None = None
        self._faulty: NomospaceError | None = None
        """Why there is none."""
        with ui.element("div").classes("meaning"):
            with ui.element("section").classes("card meaning-left").props('aria-label="Ontology"'):
                self._draw_source()
                self._tree = ui.element("div").classes("meaning-tree")
            with ui.element("section").classes("card meaning-right").props('aria-label="Try it"'):
                self._draw_playground()
        ui.timer(0.05, self._begin, once=True)

    # -- the ontology ------------------------------------------------------------------------------

    def _draw_source(self) -> None:
        state = self._state
        offered = {
            hash: f"{ontology.name} · spoken by {', '.join(spaces)}"
            for hash, (ontology, spaces) in self._spoken.items()
        }
        offered |= {"example": "an example: cars", "own": "one of your own"}
        with card_head("Ontology"):
            choice("Which", offered, state.source, self._choose).classes("wide")
        with ui.element("div").classes("meaning-own") as self._own:
            self._text = Editor(
                state.text,
                label="The text of the ontology",
                keep="ontology",
                first=EXAMPLE,
                language="yaml" if state.format == "yaml" else "",
                on_change=self._typed,
            ).classes("meaning-text")
            with ui.element("div").classes("line-up"):
                choice("Format", FORMATS, state.format, self._format)
                upload = ui.upload(
                    auto_upload=True,
                    max_file_size=4 * TEXT_CHARS_MAX,
                    on_upload=self._uploaded,
                    on_rejected=lambda: ui.notify("That file is too large, or of another kind."),
                )
                upload.props("accept=.yaml,.yml,.ttl").classes("upload")
                file = act("Open a file", lambda: None, label="Open a file (.yaml, .ttl)")
                file.on("click", js_handler=f"() => getElement({upload.id}).pickFiles()")
        self._own.set_visibility(state.source == "own")

    async def _choose(self, source: str) -> None:
        self._state.source = source
        self._own.set_visibility(source == "own")
        await self._read()

    async def _typed(self, text: str) -> None:
        self._state.text = text
        await self._read()

    async def _format(self, format: str) -> None:
        self._state.format = format
        self._text.speak("yaml" if format == "yaml" else "")
        await self._read()

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        data = await event.file.read()
        if len(data) > 4 * TEXT_CHARS_MAX:
            self._fail(TooMuchToPlay(what="bytes of the file", limit=4 * TEXT_CHARS_MAX))
            return
        self._state.text = text = data.decode("utf-8", "replace")
        self._text.put(text)
        await self._format("ttl" if event.file.name.endswith(".ttl") else "yaml")

    async def _read(self) -> None:
        """Read the chosen ontology, show it, and ask again what was asked."""
        state = self._state
        if state.source in self._spoken:
            found = self._spoken[state.source][0]
        else:
            own = state.source == "own"
            text, format = (state.text, state.format) if own else (EXAMPLE, "yaml")
            try:
                work, who = self._frame.console.service.work, self._frame.viewer.name
                found = await read_text(work, text, format, who=who)
            except NomospaceError as error:
                self._ontology, self._faulty = None, error
                self._fail(error)
                return
            if state.source == "own" and text != state.text:
                return  # it has been typed on since
        self._ontology = found
        if self._tree.is_deleted:
            return
        self._tree.clear()
        with self._tree:
            if not len(found):
                empty("This ontology has no classes.", "classes: {Car: {}}", code=True)
                return
            hidden = len(found) - CLASSES_MAX
            more = f", {hidden:,} not shown" if hidden > 0 else ""
            with ui.element("div").classes("meaning-named"):
                ui.label(found.name).classes("story-name")
                ui.label(f"{len(found):,} classes{more}").classes("quiet")
                mono(found.hash[:12]).classes("quiet")
            ClassTree(found)
            ui.label(
                "Dotted lines lead from a property that is computed to the classes it needs."
            ).classes("quiet small")

    def _fail(self, error: NomospaceError) -> None:
        if self._tree.is_deleted:
            return
        self._tree.clear()
        with self._tree:
            fault(error)

    # -- the playground ----------------------------------------------------------------------------

    def _draw_playground(self) -> None:
        state = self._state
        with card_head("Playground"):
            ui.label("Which of these tuples answer a template, alone or together?").classes(
                "quiet small"
            )
        spaces = {"": "those below", **self._spaces()}
        choice("Tuples", spaces, state.space, self._asked).classes("wide")
        self._typed_tuples = Editor(
            state.tuples,
            label="Tuples, a JSON object a line",
            keep="tuples",
            first=TUPLES,
            language="json",
            on_change=partial(setattr, state, "tuples"),
            on_submit=self._match,
        ).classes("meaning-tuples")
        self._typed_tuples.set_visibility(not state.space)
        self._template = ui.input("Template", value=state.template, on_change=self._templated)
        self._template.props("dense outlined").classes("meaning-template mono")
        with ui.element("div").classes("chips"):
            ui.label("try").classes("quiet small")
            for template, about in TEMPLATES.items():
                tries = words_to(about, partial(self._try, template)).classes("chip")
                attributes(tries, title=template)
        with ui.element("div").classes("line-up"):
            correlate = partial(setattr, state, "correlate")
            choice("Several together", CORRELATE, state.correlate, correlate)
            run = act("Match", main=True)
        submit(self._template, run, lambda _: self._match())
        self._working = Working(run, ui.element("div"))
        self._answers = ui.element("div").classes("meaning-answers").props("aria-live=polite")

    def _spaces(self) -> dict[str, str]:
        """The spaces that can be asked, those that speak an ontology first."""
        views = self._frame.console.service.views
        found = sorted(views.spaces(), key=lambda one: (not one.ontology, one.name))
        return {
            one.name: f"the space {one.name}, {one.tuples:,} tuples" for one in found if one.shared
        }

    async def _asked(self, space: str) -> None:
        self._state.space = space
        self._typed_tuples.set_visibility(not space)
        await self._match()

    def _templated(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        self._state.template = str(event.value or "")

    async def _try(self, template: str) -> None:
        self._template.set_value(template)
        await self._match()

    async def _begin(self) -> None:
        await self._read()
        if self._state.played is None:
            await self._match()
        else:
            self._show()

    async def _match(self) -> None:
        if await self._working(self._work()):
            self._show()

    async def _work(self) -> None:
        state, ontology = self._state, self._ontology
        state.played = None
        self._answers.clear()
        if ontology is None:
            if self._faulty is not None:
                raise self._faulty
            return
        tuples = state.tuples
        if state.space:
            tuples = lines_of(self._frame.console.service.views, state.space)
        state.played = await play(ontology, tuples, state.template, correlate=state.correlate)

    def _show(self) -> None:
        played = self._state.played
        if played is None or self._answers.is_deleted:
            return
        self._answers.clear()
        with self._answers:
            for words in (played.cut, *played.problems):
                if words:
                    ui.label(words).classes("held")
            if not played.answers:
                empty("No tuple answers, alone or together.", "Ask for less, or add tuples.")
                for one in played.near:
                    with attributes(ui.element("div"), data_near=one.id).classes("tried"):
                        fields = ", ".join(f"{it.label} {it.more}".strip() for it in one.fields)
                        mono(f"{one.id}: {fields}").classes("wrap")
                        if one.has:
                            ui.label(f"→ has {', '.join(one.has)}").classes("forwarded")
                        if one.lacks:
                            ui.label(f"✕ lacks {', '.join(one.lacks)}").classes("refused")
                return
            count = len(played.answers)
            said = "1 answer" if count == 1 else f"{count} answers"
            ui.label(said).classes("quiet small").props("role=status")
            AnswersElement([asdict(one) for one in played.answers])
