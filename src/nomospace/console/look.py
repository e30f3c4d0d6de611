"""How things look: the four verdicts, terms in a fixed face, times, and the empty state.

Colours live in `static/console.css` as variables, for light and for dark. A verdict is never told
by colour alone: it has its sign and its word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, TypeVar

from nicegui import ui

from nomospace.api.published import RulingRun, RulingView
from nomospace.errors import NomospaceError

FORWARDED, REFUSED, HELD, OBLIGATION = "forwarded", "refused", "held", "obligation"
NOTED = "noted"
SIGNS: Final = {FORWARDED: "→", REFUSED: "✕", HELD: "⏸", OBLIGATION: "⏳", NOTED: "·"}
"""Each verdict's sign; the classes of the style sheet have the same names."""
MESSAGES: Final = frozenset({"sent", "arrived", "submitted"})
"""The kinds of event that a law lets through or not."""


E = TypeVar("E", bound=ui.element)


def attributes(element: E, **values: str) -> E:
    """Give an element attributes whose values may come from outside; `aria_label` is `aria-label`.

    A text of properties is read as a little language, in which a name could say anything; here a
    value is a value.
    """
    for name, value in values.items():
        element.props[name.replace("_", "-")] = value
    return element


def verdict_of(ruling: RulingView | RulingRun) -> str:
    """Which of the four a ruling is; what arrives and meets no rule is refused where it arrives.

    An event that is no message, such as an adoption, is only noted where no rule speaks of it.
    """
    if not ruling.community:
        return NOTED
    if ruling.refused or (ruling.rule is None and ruling.kind in MESSAGES):
        return REFUSED
    if ruling.rule is None:
        return NOTED
    if ruling.held:
        return HELD
    return OBLIGATION if ruling.kind == "obligationDue" else FORWARDED


def gist(kind: str, event: str) -> str:
    """What a line shows of an event: of a message the message alone, as who and whom stand beside.

    >>> gist("sent", "sent('ann@w',publish(alarm(fire)),'med@w')")
    'publish(alarm(fire))'
    >>> gist("arrived", "arrived('med@w',notify(a,[1,2]),['ann@w','bob@w'])")
    'notify(a,[1,2])'
    >>> gist("obligationDue", "obligationDue(forget(a))")
    'forget(a)'
    """
    inner = event[len(kind) + 1 : -1]
    if kind not in ("sent", "arrived"):
        return inner
    message = inner.partition(",")[2]
    end = message.rfind(",[" if message.endswith("]") else ",")
    return message[:end] if end > 0 else message


def verdict_chip(verdict: str) -> None:
    """A verdict with sign, word and colour."""
    with ui.element("span").classes(f"verdict {verdict}"):
        ui.label(SIGNS[verdict]).classes("sign").props("aria-hidden=true")
        ui.label(verdict)


def mono(text: str) -> ui.label:
    """A term, a template, a name: in the fixed face, as text."""
    return ui.label(text).classes("mono")


def when(at_us: int, *, clock: bool = False) -> ui.element:
    """A moment, told from now on and exactly on hover; or as the time of day.

    The browser keeps it up to date, and shows UTC on request.
    """
    element = attributes(ui.element("time"), data_at=str(at_us), title=exactly(at_us))
    if clock:
        attributes(element, data_as="clock")
    return element.classes("num")


def heading(text: str) -> None:
    """The head of a part of a story or a place."""
    ui.label(text).classes("heading").props("role=heading aria-level=3")


def card_title(text: str) -> None:
    """The title of a card."""
    ui.label(text).classes("card-title").props("role=heading aria-level=2")


def fact(name: str) -> ui.element:
    """A line with a name; what it says is put inside."""
    with ui.element("div").classes("fact"):
        ui.label(name).classes("fact-name")
        return ui.element("div").classes("fact-said")


def chip(text: str) -> ui.label:
    """A small term in a frame of its own, as those of a control state."""
    return ui.label(text).classes("chip mono")


def doorway(text: str, go: Callable[[], object], *, label: str = "") -> ui.element:
    """A name to be clicked that leads to its story: a real button that looks like a link."""
    return words_to(text, go, label=label).classes("mono")


def words_to(text: str, go: Callable[[], object], *, label: str = "") -> ui.element:
    """The same in plain words, as one reads them."""
    with plain_button("doorway", go, **({"aria_label": label} if label else {})) as made:
        ui.label(text)
    return made


def plain_button(classes: str, go: Callable[[], object], **values: str) -> ui.element:
    """A real button that looks as its classes say, with attributes; its words are put inside."""
    made = attributes(ui.element("button"), type="button", **values)
    return made.classes(classes).on("click", go)


def sign_button(icon: str, label: str, go: Callable[[], object] | None = None) -> ui.button:
    """A button that shows a sign, and says what it does to who cannot see it."""
    made = ui.button(icon=icon, color=None, on_click=go).props("flat dense round")
    return attributes(made, aria_label=label)


def moment(at_us: int) -> str:
    """A time of day, UTC.

    >>> moment(0)
    '00:00:00.000'
    """
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%H:%M:%S.%f")[:-3]


def exactly(at_us: int) -> str:
    """A moment in full, for a tooltip.

    >>> exactly(0)
    '1970-01-01 00:00:00.000000 UTC'
    """
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")


def span(us: int) -> str:
    """A stretch of time, as one would say it.

    >>> span(192_400_000), span(7_000_000), span(7_300_000_000), span(12_000)
    ('3 min 12 s', '7 s', '2 h 01 min', '12 ms')
    """
    whole = max(0, us) // 1_000_000
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole} s" if whole else f"{max(0, us) // 1000} ms"


def stretch(us: int) -> str:
    """How long something took, exactly enough for what takes little.

    >>> stretch(1_500), stretch(2_500_000), stretch(90_000_000), stretch(7_300_000_000)
    ('1.5 ms', '2.5 s', '1 min 30 s', '2 h 01 min')
    """
    if us < 1_000_000:
        return f"{us / 1_000:.1f} ms"
    return f"{us / 1e6:.1f} s" if us < 60_000_000 else span(us)


def empty(what: str, how: str, *, code: bool = False) -> None:
    """Say what would be here, and what brings it: words, or code to be typed."""
    with ui.element("div").classes("empty"):
        ui.label(what)
        ui.label(how).classes("mono" if code else "")


def fault(error: Exception | str) -> None:
    """An error, or its words, where it happened, as the command line says it."""
    with ui.element("div").classes("fault").props("role=alert"):
        ui.label(SIGNS[REFUSED]).classes("sign refused").props("aria-hidden=true")
        ui.label(str(error)).classes("mono pre")


@contextmanager
def told_in(said: ui.element) -> Iterator[None]:
    """Do something whose outcome is told in an element: what goes wrong, and with that it ends."""
    said.clear()
    try:
        yield
    except NomospaceError as error:
        if not said.is_deleted:
            with said:
                fault(error)
