"""Logs: for people as lines of text, for programs as one JSON object a line.

What is worth a log is a short sentence and facts. Facts go along as `extra={"facts": {…}}`; as text
they follow the sentence, in JSON they are fields of their own, so that nobody has to take sentences
apart. `note_log` makes of a logger somebody who takes notes.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

from nomospace.node.notes import OnNote

FACT_CHARS_MAX: Final = 1_000
"""The longest fact in a log; strangers may have a say in what is logged."""

_QUIET: Final = frozenset(
    """
    started stopped link-up link-down link-wanted server-reached identity-reloaded handshake-failed
    agents-spread pair-met standby-joined copied copy-taken
    """.split()
)
"""Notes that are no trouble."""


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts = getattr(record, "facts", None)
    return facts if isinstance(facts, dict) else {}


def _bounded(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= FACT_CHARS_MAX else text[:FACT_CHARS_MAX] + "…"


class JsonForm(logging.Formatter):
    """One JSON object a line: `at`, `level`, `from`, `what`, the facts, and `error`."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "what": record.getMessage(),
        }
        for name, value in _facts(record).items():
            fields.setdefault(name, _bounded(value))
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


class TextForm(logging.Formatter):
    """A line for people: time, level, what, facts."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(" ", "milliseconds")[:23]
        words = [at, f"{record.levelname.lower():7}", _one_line(record.getMessage())]
        words += [
            f"{name}={_one_line(str(_bounded(value)))}" for name, value in _facts(record).items()
        ]
        line = " ".join(words)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _one_line(text: str) -> str:
    """A text that cannot begin a line of its own: what a stranger sent must not look like a log."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def configure(
    form: Literal["text", "json"] = "text", *, stream: TextIO | None = None
) -> logging.Handler:
    """Log what nomospace has to say to a stream, `stderr` by default; calling again replaces it."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonForm() if form == "json" else TextForm())
    logger = logging.getLogger("nomospace")
    for old in [h for h in logger.handlers if isinstance(h.formatter, JsonForm | TextForm)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return handler


def note_log(host: str) -> OnNote:
    """Somebody who takes notes of a host by logging them."""
    logger = logging.getLogger("nomospace.node")

    def note(what: str, /, **facts: object) -> None:
        level = logging.INFO if what in _QUIET else logging.WARNING
        if logger.isEnabledFor(level):
            logger.log(level, "%s", what, extra={"facts": {"host": host, **facts}})

    return note
