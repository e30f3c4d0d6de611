"""A box to write laws, events, tuples or ontologies in (`static/editor.js`).

It stands on the editor that comes with NiceGUI, so it works offline. What is typed is told a moment
after the last key; the element's own value is kept up to date, so a window that lost its connection
comes back with what was typed. A window keeps it besides, for when its host is started anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final, Literal

from nicegui.element import Element
from nicegui.elements.codemirror import CodeMirror
from nicegui.events import GenericEventArguments

from nomospace.api.benching import FindingView
from nomospace.console.console import STATIC

TEXT_CHARS_MAX: Final = 400_000
"""How much of what a window sends is taken."""

Language = Literal["law", "python", "json", "yaml", ""]

# Its module is what our own editor imports; naming the class has NiceGUI serve it.
BASE: Final = CodeMirror


class Editor(Element, component=STATIC / "editor.js"):
    """An editor. `on_change` hears the text when it was changed by whoever looks."""

    def __init__(
        self,
        value: str,
        *,
        label: str,
        keep: str = "",
        first: str = "",
        language: Language = "",
        on_change: Callable[[str], object] | None = None,
        on_submit: Callable[[], object] | None = None,
    ) -> None:
        """`keep` is the name under which the window keeps what is typed; it has it come back when
        `value` is but the `first` text that there is for everyone. `on_submit` is Ctrl-Enter.
        """
        super().__init__()
        self.value = value
        self._on_change = on_change
        self._props["value"] = value
        self._props["language"] = language
        self._props["label"] = label
        self._props["keep"] = keep
        self._props["first"] = first
        self.on("change", self._changed)
        if on_submit is not None:
            self.on("submit", on_submit)

    async def _changed(self, event: GenericEventArguments) -> None:
        self._keep(str(event.args)[:TEXT_CHARS_MAX])
        if self._on_change is not None:
            made = self._on_change(self.value)
            if hasattr(made, "__await__"):
                await made

    def _keep(self, text: str) -> None:
        self.value = text
        with self._props.suspend_updates():
            self._props["value"] = text

    def put(self, text: str) -> None:
        """Write another text into it."""
        self._keep(text)
        self.run_method("put", text)

    def speak(self, language: Language) -> None:
        """Colour it as another language."""
        self._props["language"] = language

    def show_findings(self, findings: Sequence[FindingView]) -> None:
        """Show what was found in the text as it is now."""
        self.run_method("mark", self.value, [asdict(one) for one in findings])

    def mend(self, start: int, end: int, text: str) -> None:
        """Put a text in the place of another, as if it had been typed."""
        self.run_method("mend", self.value, start, end, text)

    def reveal(self, line: int) -> None:
        """Go to a line, counted from 1."""
        self.run_method("reveal", line)
