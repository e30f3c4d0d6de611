"""A box that terms, templates and laws are typed into, with slips under the caret.

What is typed stays in the box whatever comes of it; the words are those of the command line. A box
with a draft has it again when one comes back from another place, or when the host was restarted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from nicegui.element import Element

from nomospace.api.forms import slip_of
from nomospace.console.console import STATIC
from nomospace.errors import NomospaceError

CHOICES_MAX: Final = 200
"""How many choices a box offers while one types."""
SAID_MAX: Final = 2_000


class Drafts(dict[str, str]):
    """What was typed into the boxes of a window, by their names: for when one comes back."""


class Typed(Element, component=STATIC / "typed.js"):
    """A box. `value` is what was typed; `on_type` hears of changes a moment after the last key."""

    def __init__(
        self,
        label: str,
        *,
        value: str = "",
        placeholder: str = "",
        lines: int = 1,
        choices: Sequence[str] = (),
        draft: tuple[Drafts, str] | None = None,
        on_type: Callable[[], object] | None = None,
        on_enter: Callable[[], object] | None = None,
    ) -> None:
        """`draft` is where what is typed is kept, and under which name."""
        super().__init__()
        self._props["first"] = value
        self._props["keep"] = "" if draft is None else draft[1]
        self._draft = draft
        if draft is not None:
            value = draft[0].get(draft[1], value)
        self.value = value
        self._props["label"] = label
        self._props["placeholder"] = placeholder
        self._props["value0"] = value
        self._props["lines"] = lines
        self._props["choices"] = list(choices[:CHOICES_MAX])
        self._on_type = on_type
        self.on("typed", lambda event: self._typed(str(event.args)))
        if on_enter is not None:
            self.on("enter", on_enter)

    def _keep(self, text: str) -> None:
        self.value = text
        if self._draft is not None:
            self._draft[0][self._draft[1]] = text

    def _typed(self, text: str) -> object:
        self._keep(text)
        return None if self._on_type is None else self._on_type()

    def put(self, text: str) -> None:
        """Have another text in the box."""
        self._keep(text)
        self.run_method("put", text)

    def slip(self, error: Exception | None) -> None:
        """Say what is wrong with the text, and where; or that nothing is."""
        start, end, *words = (0, 0, "", "") if error is None else slip_of(error)
        self.run_method("slip", self.value, start, end, *[one[:SAID_MAX] for one in words])

    def fits(self, read: Callable[[str], object]) -> bool:
        """Whether the text can be read so; a slip in it is said."""
        try:
            read(self.value)
        except NomospaceError as error:
            self.slip(error)
            return False
        self.slip(None)
        return True
