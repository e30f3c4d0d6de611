"""Places in a text, and how a fault in it is shown: the line, a caret, words, a next step."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from nomospace.errors import CallerError, LawError


class Span(NamedTuple):
    """From `start` up to, not including, `end`: character offsets."""

    start: int
    end: int

    def moved(self, by: int) -> Span:
        """The same place in a text in which this one begins at an offset."""
        return Span(self.start + by, self.end + by)


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Source:
    """A text with the name it goes by in messages."""

    text: str
    name: str = "<text>"

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for offset, character in enumerate(self.text):
            if character == "\n":
                starts.append(offset + 1)
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1.

        >>> Source("ab\\ncd").place(4)
        (2, 2)
        """
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def draw(self, span: Span) -> str:
        """The line of a span with carets under it.

        >>> print(Source("do(forwrad).").draw(Span(3, 10)))
          1 | do(forwrad).
            |    ^^^^^^^
        """
        line, column = self.place(span.start)
        first = self._starts[line - 1]
        after = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        text = self.text[first:after]
        width = max(1, min(span.end - span.start, len(text) - column + 1))
        cut = max(0, column - 60)  # a very long line is shown around the fault
        shown = "".join(c if c.isprintable() else " " for c in text[cut : cut + 120])
        number = f"{line:>3}"
        under = " " * (column - 1 - cut) + "^" * min(width, 121 - column + cut)
        return f"{number} | {shown}\n{' ' * len(number)} | {under}"


@dataclass(frozen=True)
class Diagnostic:
    """One thing found in a text: an error, or a warning that stops nothing."""

    code: str
    message: str
    span: Span
    help: str = ""
    related: tuple[tuple[str, Span], ...] = ()
    severity: str = "error"

    def moved(self, by: int) -> Diagnostic:
        """The same in a text in which this one begins at an offset."""
        related = tuple([(words, place.moved(by)) for words, place in self.related])
        return replace(self, span=self.span.moved(by), related=related)

    def render(self, source: Source) -> str:
        """The message with its place drawn, as a person wants to read it."""
        line, column = source.place(self.span.start)
        parts = [
            f"{source.name}:{line}:{column}: {self.severity} [{self.code}] {self.message}",
            source.draw(self.span),
        ]
        for words, span in self.related:
            at_line, at_column = source.place(span.start)
            parts.append(f"      {words} (line {at_line}, column {at_column})")
            if at_line != line:
                parts.append(source.draw(span))
        if self.help:
            parts.append(f"      help: {self.help}")
        return "\n".join(parts)


class FaultyText(CallerError):
    """A text in a small language of templates cannot be read; the kinds below say which."""

    source: Source
    diagnostic: Diagnostic

    def __str__(self) -> str:
        return self.diagnostic.render(self.source)


class Faulty(LawError):
    """A text has errors; all that were found are here, in the order of the text."""

    code = "law.faulty"
    source: Source
    diagnostics: tuple[Diagnostic, ...]

    def __str__(self) -> str:
        return "\n".join(d.render(self.source) for d in self.diagnostics)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are errors, without the warnings."""
        return tuple(d for d in self.diagnostics if d.severity == "error")
