"""What the small languages of templates share: predicates, questions and formulas of ontologies.

Their texts are cut into the same tokens, literals are written alike, and a slip is told in the same
words. A language derives from `Scanner` and says what its faults are called.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar, Final, NamedTuple, TypeAlias

from nomospace.terms.source import Diagnostic, FaultyText, Source, Span
from nomospace.terms.values import INT_BITS_MAX

Plain: TypeAlias = bool | int | float | str | None

_TOKEN: Final = r"""(?P<space>\s+)
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[^\W\d]WORD*)
      | (?P<string>'(?:[^'\\]++|\\.)*'|"(?:[^"\\]++|\\.)*")
      | (?P<sign><=|>=|!=|[=<>])
      | (?P<mark>[()\[\],.])"""
_PLAIN: Final = re.compile(_TOKEN.replace("WORD", r"\w"), re.VERBOSE | re.DOTALL)
_HYPHENED: Final = re.compile(_TOKEN.replace("WORD", r"(?:\w|-(?=\w))"), re.VERBOSE | re.DOTALL)
VALUES: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
"""The words that are values."""
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}


class ScannedWord(NamedTuple):
    """A token: a `number`, `word`, `string`, `sign` or `mark`, or the `end`."""

    kind: str
    text: str
    start: int

    @property
    def span(self) -> Span:
        """Where it stands; the end has the place behind the text."""
        return Span(self.start, self.start + (len(self.text) or 1))


class Scanner:
    """The tokens of a text, and the one that is read next."""

    name: ClassVar[str]
    """What is read, as in "predicate"."""
    error: ClassVar[type[FaultyText]]
    """The language's own error."""
    chars_max: ClassVar[int]
    too_long: ClassVar[str]
    """What to do about a text that is longer."""
    advice: ClassVar[str]
    """How the language is written, for a character that has no meaning in it."""
    hyphens: ClassVar[bool] = False
    """Whether names may have hyphens inside."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        if len(text) > self.chars_max:
            raise self.fault(
                "size",
                f"a {self.name} of {len(text):,} characters is over {self.chars_max:,}",
                Span(self.chars_max, len(text)),
                self.too_long,
            )
        self.tokens = self._scan()

    def fault(self, code: str, message: str, span: Span, help: str = "") -> Exception:
        """What is wrong, where, and what to do about it."""
        found = Diagnostic(f"{self.name}.{code}", message, span, help)
        return self.error(source=Source(self.text, f"<{self.name}>"), diagnostic=found)

    def _scan(self) -> list[ScannedWord]:
        text, at, tokens = self.text, 0, list[ScannedWord]()
        for found in (_HYPHENED if self.hyphens else _PLAIN).finditer(text):
            start, end = found.span()
            if start != at:
                break
            at = end
            kind = found.lastgroup
            if kind is not None and kind != "space":
                tokens.append(ScannedWord(kind, found.group(), start))
        if at < len(text):
            if text[at] in "'\"":
                raise self.fault("string", "this string has no end", Span(at, len(text)))
            shown = text[at] if text[at].isprintable() else ascii(text[at])[1:-1]
            why = f"`{shown}` has no meaning in a {self.name}"
            raise self.fault("character", why, Span(at, at + 1), self.advice)
        tokens.append(ScannedWord("end", "", at))
        return tokens

    @property
    def here(self) -> ScannedWord:
        """The next token."""
        return self.tokens[self.at]

    def next(self) -> ScannedWord:
        """The next token, which is read by that."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def sees(self, text: str) -> bool:
        """Whether a mark or word stands next."""
        token = self.tokens[self.at]
        return token.text == text and token.kind != "string"

    def takes(self, text: str) -> bool:
        """Whether a mark or word stands next, which is read by that."""
        seen = self.sees(text)
        self.at += seen
        return seen

    def skip(self, text: str, why: str = "") -> None:
        """Read a mark or word that must stand next."""
        if not self.takes(text):
            raise self.unexpected(f"`{text}` {why}".rstrip())

    def unexpected(self, wanted: str, help: str = "") -> Exception:
        """The fault of a token that cannot stand where it does."""
        token = self.here
        found = "the end" if token.kind == "end" else f"`{token.text[:40]}`"
        return self.fault("syntax", f"here should stand {wanted}, not {found}", token.span, help)

    def literal(self, wanted: str) -> Plain:
        """Read a number, a string, `true`, `false` or `null`."""
        token = self.here
        if token.kind == "word" and token.text in VALUES:
            self.at += 1
            return VALUES[token.text]
        if token.kind == "string":
            self.at += 1
            return self._unquoted(token)
        if token.kind == "number":
            self.at += 1
            return self._number(token)
        raise self.unexpected(wanted)

    def _number(self, token: ScannedWord) -> int | float:
        if token.text.lstrip("-").isdigit():
            whole = int(token.text)
            if whole.bit_length() <= INT_BITS_MAX:
                return whole
        else:
            real = float(token.text)
            if math.isfinite(real):
                return real or 0.0
        raise self.fault("number", "this number is too large", token.span)

    def _unquoted(self, token: ScannedWord) -> str:
        def plain(found: re.Match[str]) -> str:
            letter = found.group(1)
            if letter not in _ESCAPES:
                start = token.span.start + 1 + found.start()
                raise self.fault(
                    "string",
                    f"`\\{letter}` has no meaning in a string",
                    Span(start, start + 2),
                    "there are \\n, \\t, \\', \\\" and \\\\",
                )
            return _ESCAPES[letter]

        return re.sub(r"\\(.)", plain, token.text[1:-1], flags=re.DOTALL)
