"""The page of the place: the spaces, the tuples that a template matches, and what goes on there.

The table follows the template as it is typed, and the space as it changes: once a second, and only
what is other than before is sent to the browser.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import quote

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from nomospace.api.forms import typed_template
from nomospace.api.published import SpaceInside, fields_text
from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.keeping import kept
from nomospace.console.places.listing import ROWS_MAX, ListColumn, ListElement, Row
from nomospace.console.places.spaces import gathered
from nomospace.console.places.spaces.forms import Forms
from nomospace.console.places.spaces.gathered import SpaceEntry, SpaceName, SpaceTuples
from nomospace.console.places.spaces.making import MakeSpace
from nomospace.console.places.typed import Drafts, Typed
from nomospace.console.pulse import BEATS_S, Beat
from nomospace.errors import NomospaceError

LINES_MAX: Final = 50
"""How many waiters, or reactions, are shown."""
COLUMNS: Final = (
    ListColumn("tuple", "tuple", "minmax(0, 2.5fr)", "mono"),
    ListColumn("at", "held by", "minmax(0, 1.4fr)", "mono"),
    ListColumn("to", "for", "minmax(0, 1fr)", "mono"),
    ListColumn("written", "age", "76px", "span", "written before the records that were looked at"),
    ListColumn("until", "lease", "118px", "span"),
    ListColumn("why", "why", "minmax(0, 1fr)"),
)
ALWAYS: Final = ("tuple", "at", "written")
"""The columns that are there even if no line has anything in them."""
EXAMPLES: Final = (
    "job, _:int, room(_)   ·   _ is anything, _:int a kind, _:1..10 a range, _:Car a class"
)


class SpacesPlace:
    """The place, in one window: drawn, and told every beat."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._services = frame.console.services
        self._lines: dict[SpaceName, SpaceRow] = {}
        self._which = SpaceName("")
        self._found = SpaceTuples([], 0, True, [])
        self._inside: list[tuple[str, SpaceInside]] = []
        self._together = False
        self._after = 0
        self._template = typed_template("")
        asked, drafts = self._frame.asked, kept(self._frame, Drafts)
        if "template" in asked:
            drafts["spaces.template"] = asked["template"]
        with ui.element("div").classes("spaces"):
            with ui.element("nav").classes("card spaces-list").props('aria-label="Spaces"'):
                look.card_title("Spaces")
                self._list = ui.element("div").classes("spaces-all")
                MakeSpace(self._frame, self._pick, shown="make" in asked)
            with ui.element("section").classes("card spaces-tuples").props('aria-label="Tuples"'):
                self._box = Typed(
                    "Template",
                    draft=(drafts, "spaces.template"),
                    placeholder="everything; or  job, _:int, room(_)",
                    on_type=self._typed,
                )
                self._hint = ui.label(EXAMPLES).classes("quiet spaces-hint")
                self._switch = ui.checkbox(
                    "also answers of several tuples together", on_change=self._switched
                ).props("dense")
                self._table = ui.element("div").classes("spaces-table")
                with ui.element("div").classes("spaces-pages"):
                    self._earlier = self._turn(f"The {ROWS_MAX} before", -1)
                    self._later = self._turn(f"The next {ROWS_MAX}", 1)
                self._sets = ui.element("div").classes("spaces-sets")
            with ui.element("aside").classes("spaces-side"):
                self._forms = Forms(self._frame, self._box, self._look)
                with ui.element("section").classes("card"):
                    look.card_title("Who waits, what reacts")
                    self._beside = ui.element("div").props("data-inside")
        self._look_around(SpaceName(asked.get("space", ""), asked.get("agent", "")))
        self._frame.on_beat(self._beat)
        ui.timer(1.0, self._read_ages)

    def _turn(self, title: str, more: int) -> ui.button:
        """A button to another page of tuples."""
        button = ui.button(title, color=None, on_click=partial(self._page, more))
        button.props("flat dense no-caps").set_visibility(False)
        return button

    # -- which space -------------------------------------------------------------------------------

    def _beat(self, beat: Beat) -> None:
        if beat.number % BEATS_S == 0:
            self._look_around(self._which)
            self._look()

    async def _read_ages(self) -> None:
        """Learn how old the tuples are, some more each time: the next look tells it."""
        for service in self._services.values():
            await service.views.read_ages()

    def _look_around(self, which: SpaceName) -> None:
        """See which spaces there are; one that is gone gives way to the first."""
        entries = gathered.entries(self._services)
        known = {entry.which: entry for entry in entries}
        which = which if which in known else entries[0].which
        if list(known) != list(self._lines):
            self._draw_list(entries)
        for entry in entries:
            self._lines[entry.which].tell(entry, chosen=entry.which == which)
        if which != self._which:
            self._choose(known[which])

    def _draw_list(self, entries: list[SpaceEntry]) -> None:
        self._list.clear()
        self._lines = {}
        with self._list:
            for entry in entries:
                self._lines[entry.which] = SpaceRow(entry, partial(self._pick, entry.which))

    def _pick(self, which: SpaceName) -> None:
        self._look_around(which)
        agent = f"&agent={quote(which.agent, safe='')}" if which.agent else ""
        ui.navigate.history.replace(f"/spaces?space={quote(which.name, safe='')}{agent}")

    def _choose(self, entry: SpaceEntry) -> None:
        self._which = entry.which
        self._after = 0
        self._inside = []
        self._forms.space(entry)
        self._switch.set_visibility(bool(entry.ontology))
        self._read_template()
        self._found = self._find()
        self._table.clear()
        with self._table:
            self._listing = ListElement(
                _columns(self._found.rows),
                self._found.rows,
                label=f"Tuples of {entry.which.name}",
                none="No tuple matches. Write one here, or: nomospace tuple out SPACE FIELD …",
                now=self._now,
                on_pick=self._open,
                note=self._note(),
                on_ready=self._show_rows,
            )
        self._show_sets()
        self._show_inside()

    # -- what lies in it ---------------------------------------------------------------------------

    @property
    def _now(self) -> int:
        return self._frame.console.service.views.now

    def _typed(self) -> None:
        if self._read_template():
            self._after = 0
            self._look(at_once=True)

    def _switched(self, event: ValueChangeEventArguments[bool | None]) -> None:
        self._together = bool(event.value)
        self._look(at_once=True)

    def _read_template(self) -> bool:
        """Read the box; what was found last stays while there is a slip in it."""
        fits = self._box.fits(typed_template)
        if fits:
            self._template = typed_template(self._box.value)
        self._hint.set_visibility(fits)
        return fits

    def _find(self) -> SpaceTuples:
        try:
            return gathered.tuples(
                self._services,
                self._which,
                self._template,
                together=self._together,
                after=self._after,
            )
        except NomospaceError as error:  # a template that is well written and means nothing here
            self._box.slip(error)
            return self._found

    def _look(self, *, at_once: bool = False) -> None:
        found = self._find()
        if found != self._found or at_once:
            self._found = found
            self._show_rows(at_once=at_once)
            self._show_sets()
        self._show_inside()

    def _show_rows(self, *, at_once: bool = False) -> None:
        rows = self._found.rows
        self._listing.put(rows, self._now, self._note(), at_once=at_once, columns=_columns(rows))

    def _note(self) -> str:
        found = self._found
        count, after = len(found.rows), self._after
        self._earlier.set_visibility(bool(after))
        self._later.set_visibility(not found.whole)
        if found.whole and not self._template and not after:
            return f"{count:,} tuple{'s' * (count != 1)}"
        if found.whole and not after:
            return f"{count:,} of {found.total:,} tuples match"
        which = f"{after + 1:,} to {after + count:,}" if count else "none"
        of = "of those that match among" if self._template else "of"
        return f"{which} {of} {found.total:,} tuples, the oldest first"

    def _page(self, more: int) -> None:
        self._after = max(0, self._after + more * ROWS_MAX)
        self._look(at_once=True)

    def _show_sets(self) -> None:
        self._sets.clear()
        if not (self._together and self._template):
            return
        with self._sets:
            look.heading("Together")
            if not self._found.sets:
                ui.label("No tuples answer it together.").classes("quiet")
            for one in self._found.sets:
                with ui.element("div").classes("spaces-set"):
                    look.mono(fields_text(one.fields))
                    ui.label(one.why).classes("quiet")

    def _open(self, id: str) -> None:
        host, _, tuple_id = id.partition("/")
        self._frame.open("tuple", host, tuple_id)

    # -- what goes on in it ------------------------------------------------------------------------

    def _show_inside(self) -> None:
        inside = gathered.inside(self._services, self._which)
        if [one[1:] for one in inside] == [one[1:] for one in self._inside] and inside:
            return
        self._inside = inside
        waiters = [(host, one) for host, it in inside for one in it.waiters]
        reactions = [(host, one) for host, it in inside for one in it.reactions]
        self._beside.clear()
        with self._beside:
            _head("waiting", len(waiters))
            for host, waiter in waiters[:LINES_MAX]:
                more = [f"at {waiter.at}"] * bool(waiter.at) + [f"for {waiter.dest}"] * bool(
                    waiter.dest
                )
                from_ = "from another host" if waiter.remote else f"on {host}"
                _line(f"⏸ {waiter.how}", waiter.template, ", ".join([from_, *more]))
            _head("reactions", len(reactions))
            for host, reaction in reactions[:LINES_MAX]:
                on = "" if reaction.enabled else ", switched off"
                strength = "strong" if reaction.strong else "weak"
                about = f"{strength}, {reaction.mode}, fired {reaction.fired:,} times{on}"
                _line("⟳", reaction.template, f"{about}, on {host}")


def _columns(rows: list[Row]) -> list[ListColumn]:
    """The columns in which some line has something: the tuple gets the room of the others.

    >>> [one.name for one in _columns([{"to": "bob@ward", "until": 0}])]
    ['tuple', 'at', 'to', 'written']
    """
    return [one for one in COLUMNS if one.name in ALWAYS or any(row.get(one.name) for row in rows)]


class SpaceRow:
    """A space in the list. Its figures change in place, so a pointer or a focus stays on it."""

    def __init__(self, entry: SpaceEntry, pick: Callable[[], None]) -> None:
        with look.plain_button("spaces-one", pick, data_space=entry.which.name) as self._button:
            ui.label(entry.which.name).classes("mono spaces-name")
            self._count = ui.label().classes("num")
            self._about = ui.label().classes("quiet spaces-about")
        self._chosen: bool | None = None

    def tell(self, entry: SpaceEntry, *, chosen: bool) -> None:
        """Show other figures, and whether it is the one that is looked at."""
        self._count.set_text(f"{entry.tuples:,}")
        self._about.set_text(_about(entry))
        if chosen != self._chosen:
            self._chosen = chosen
            look.attributes(self._button, aria_pressed="true" if chosen else "false")


def _head(what: str, count: int) -> None:
    ui.label(f"{what}: {count:,}").classes("spaces-head")


def _line(sign: str, template: str, about: str) -> None:
    with ui.element("div").classes("spaces-line"):
        ui.label(sign).classes("held")
        look.mono(template).classes("spaces-template")
        ui.label(about).classes("quiet spaces-about")


def _about(entry: SpaceEntry) -> str:
    words = [f"of {entry.which.agent}" if entry.which.agent else "shared"]
    if entry.which.name == gathered.SYSTEM:
        words = ["who is there"]
    if entry.law:
        words.append(f"under law {entry.law[:8]}")
    if entry.ontology:
        words.append(f"speaks {entry.ontology}")
    if entry.hosts > 1:
        words.append(f"on {entry.hosts} hosts")
    if entry.waiting:
        words.append(f"{entry.waiting} waiting")
    return ", ".join(words)
