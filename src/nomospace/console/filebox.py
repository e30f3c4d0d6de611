"""A file that is chosen in the browser (`static/filebox.js`)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Awaitable, Callable

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from nomospace.console.console import STATIC

Chosen = Callable[[str, int, bytes], Awaitable[None]]
"""Hears the name of a file, its size and its bytes: none of a file that is too large."""


class FileBox(Element, component=STATIC / "filebox.js"):
    """A box to choose a file in."""

    def __init__(self, label: str, *, accept: str, bytes_max: int, on_file: Chosen) -> None:
        super().__init__()
        self._props["label"] = label
        self._props["accept"] = accept
        self._props["most"] = bytes_max
        self._on_file = on_file
        self.on("file", self._file)

    async def _file(self, event: GenericEventArguments) -> None:
        told: dict[str, object] = event.args if isinstance(event.args, dict) else {}
        size = told.get("size")
        await self._on_file(
            str(told.get("name", ""))[:200],
            size if isinstance(size, int) else 0,
            _bytes(str(told.get("data", ""))),
        )


def _bytes(text: str) -> bytes:
    """What a text stands for; nothing, when it stands for nothing.

    >>> _bytes("aGk="), _bytes("no base64!")
    (b'hi', b'')
    """
    try:
        return b64decode(text, validate=True)
    except (BadBase64, ValueError):
        return b""
