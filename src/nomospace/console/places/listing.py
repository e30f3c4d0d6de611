"""A list that stays quick however long it is, and calm however much happens (`static/listing.js`).

The page holds the lines and shows those that one can see. What is new is told in one message; while
the pointer is over the list nothing moves in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from nicegui.element import Element

from nomospace.console.console import STATIC

ROWS_MAX: Final = 500
"""The most lines of one list."""
FIRST_ROWS: Final = 60
"""How many lines the page itself has: more than one can see. When it stands it is told all."""

Row = dict[str, Any]
"""A line: its `id`, and a value for each column; `<column>_hint` is what hovering shows."""


class ListColumn(NamedTuple):
    """A column: `kind` is `text`, `mono`, `num`, `verdict`, or of times in microseconds `when`
    (seen from now) or `span` (how long from or to then; `<column>_word` stands before it).
    """

    name: str
    label: str
    width: str
    kind: str = "text"
    unknown: str = ""
    """What hovering says where there is no time."""


class ListElement(Element, component=STATIC / "listing.js"):
    """A list. `on_pick` hears the id of a line that is opened."""

    def __init__(
        self,
        columns: Sequence[ListColumn],
        rows: Sequence[Row],
        *,
        label: str,
        none: str,
        now: int,
        on_pick: Callable[[str], None],
        note: str = "",
        on_ready: Callable[[], object] | None = None,
    ) -> None:
        """`on_ready` puts all lines, as they are by then; without it these are put."""
        super().__init__()
        # In tuples: what is in a list here is watched, value by value.
        self._props["columns"] = tuple([column._asdict() for column in columns])
        self._props["rows"] = tuple(rows[:FIRST_ROWS])
        self._props["rest"] = len(rows) > FIRST_ROWS
        self._props["label"] = label
        self._props["none"] = none
        self._props["now"] = now
        self._props["note0"] = note
        self._props["most"] = ROWS_MAX
        self.on("pick", lambda event: on_pick(str(event.args)))
        if on_ready is not None or len(rows) > FIRST_ROWS:
            self.on("ready", on_ready or (lambda: self.put(rows, now, note)))

    def put(
        self,
        rows: Sequence[Row],
        now: int,
        note: str = "",
        *,
        at_once: bool = False,
        columns: Sequence[ListColumn] | None = None,
    ) -> None:
        """Show other lines; `at_once` when somebody asked for them, even under the pointer."""
        shape = None if columns is None else [column._asdict() for column in columns]
        self.run_method("put", list(rows[:ROWS_MAX]), now, note, at_once, shape)

    def add(self, rows: Sequence[Row], now: int, note: str = "") -> None:
        """Put new lines on top, the newest first."""
        self.run_method("add", list(rows[:ROWS_MAX]), now, note)

    def choose(self, id: str) -> None:
        """Mark a line, and have it seen."""
        self.run_method("mark", id)
