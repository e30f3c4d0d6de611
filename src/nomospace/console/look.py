"""How things look: the four verdicts, terms in a fixed face, times, and the empty state.

Colours live in `static/console.css` as variables, for light and for dark. A verdict is never told
by colour alone: it has its sign and its word.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nicegui import ui

if TYPE_CHECKING:
    from nomospace.api.published import RulingView

FORWARDED, REFUSED, HELD, OBLIGATION = "forwarded", "refused", "held", "obligation"
SIGNS: Final = {FORWARDED: "→", REFUSED: "✕", HELD: "⏸", OBLIGATION: "⏳"}
"""Each verdict's sign; the classes of the style sheet have the same names."""


def verdict_of(ruling: RulingView) -> str:
    """Which of the four a ruling is."""
    if ruling.refused:
        return REFUSED
    if ruling.held:
        return HELD
    return OBLIGATION if ruling.event.startswith("obligationDue") else FORWARDED


def verdict_chip(verdict: str) -> None:
    """A verdict with sign, word and colour."""
    with ui.element("span").classes(f"verdict {verdict}"):
        ui.label(SIGNS[verdict]).classes("sign").props("aria-hidden=true")
        ui.label(verdict)


def mono(text: str) -> ui.label:
    """A term, a template, a name: in the fixed face, as text."""
    return ui.label(text).classes("mono")


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


def relative(at_us: int, now_us: int) -> str:
    """When something was or will be, seen from now.

    >>> relative(0, 65_000_000), relative(192_000_000, 0)
    ('1 min 05 s ago', 'in 3 min 12 s')
    """
    return f"in {span(at_us - now_us)}" if at_us > now_us else f"{span(now_us - at_us)} ago"


def empty(what: str, how: str) -> None:
    """Say what would be here, and what brings it."""
    with ui.element("div").classes("empty"):
        ui.label(what)
        ui.label(how).classes("mono")


def fault(error: Exception) -> None:
    """An error where it happened, in the words of the command line."""
    with ui.element("div").classes("fault").props("role=alert"):
        ui.label(SIGNS[REFUSED]).classes("sign refused").props("aria-hidden=true")
        ui.label(str(error)).classes("mono pre")
