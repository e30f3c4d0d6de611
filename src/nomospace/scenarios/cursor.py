"""A cursor over one line of a scenario file: words, ids, rules, times and terms.

Offsets are those of the whole file, so that a fault, also one inside a term, is drawn there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from nomospace.law.checks.report import listed
from nomospace.law.tree import UNITS
from nomospace.terms import Diagnostic, Source, Span, Term, TooLarge, Var, check_size
from nomospace.terms.syntax import Reader
from nomospace.terms.text import from_node
from nomospace.terms.tokens import SyntaxFault, tokenize

DURATION_DAYS_MAX: Final = 36_525
"""The longest time that one line may let pass: a hundred years."""

_BLANK = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z]+(?![\w@])")
_ID = re.compile(r"""'((?:[^'\\]|\\.)+)'|([^\s,\[\]()'"]+)""")
_RULE = re.compile(r"[A-Z][A-Za-z0-9_]*'*|\#[0-9]+")
_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class Cursor:
    """Reads the words, ids and terms of one line. Offsets are those of the whole file."""

    def __init__(self, source: Source, start: int, end: int, variables: dict[str, Var]) -> None:
        self.source = source
        self.text = source.text
        self.end = end
        self.number = source.place(start)[0]
        self.variables = variables
        self.at = self._after_blank(start)
        self.start = self.at

    def _after_blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at, self.end)
        return match.end() if match else at

    @property
    def words(self) -> str:
        return self.text[self.start : self.end].strip()

    def fault(
        self, code: str, message: str, help: str = "", span: Span | None = None
    ) -> SyntaxFault:
        if span is None:
            stop = self.text.find(" ", self.at + 1, self.end)
            span = Span(self.at, stop if stop > 0 else max(self.end, self.at + 1))
        return SyntaxFault(f"scenario-{code}", message, span, help)

    def at_end(self) -> bool:
        return self.at >= self.end

    def take(self, word: str) -> bool:
        """Whether the next word is this one; if so, it is read."""
        match = _WORD.match(self.text, self.at, self.end)
        if match is None or match.group() != word:
            return False
        self.at = self._after_blank(match.end())
        return True

    def need(self, *words: str) -> str:
        """The next word, which must be one of these."""
        for word in words:
            if self.take(word):
                return word
        match = _WORD.match(self.text, self.at, self.end)
        found = "the line ends" if self.at_end() else f"found {self.next_word()!r}"
        near = get_close_matches(match.group(), words, n=1) if match else []
        help = f"did you mean {near[0]!r}?" if near else ""
        raise self.fault("word", f"expected {listed(map(repr, words), 'or')}, {found}", help)

    def next_word(self) -> str:
        return self.text[self.at : self.end].split()[0][:40]

    def id(self, what: str) -> str:
        match = _ID.match(self.text, self.at, self.end)
        if match is None:
            found = "the line ends" if self.at_end() else f"found {self.next_word()!r}"
            raise self.fault("id", f"expected {what}, {found}", "an id is written name@domain")
        self.at = self._after_blank(match.end())
        return re.sub(r"\\(.)", r"\1", match.group(1)) if match.group(1) else match.group(2)

    def ids(self, what: str) -> tuple[str, ...]:
        """Ids up to the end of the line."""
        found = [self.id(what)]
        while not self.at_end():
            found.append(self.id(what))
        return tuple(found)

    def destination(self) -> Term:
        """An id, or a list of ids in brackets."""
        if not self.text.startswith("[", self.at, self.end):
            return self.id("a destination")
        opened = self.at
        self.at = self._after_blank(self.at + 1)
        found: list[str] = []
        while not self.text.startswith("]", self.at, self.end):
            if found:
                if not self.text.startswith(",", self.at, self.end):
                    span = Span(opened, opened + 1)
                    raise self.fault("id", "expected ',' or ']' in this list of ids", span=span)
                self.at = self._after_blank(self.at + 1)
            found.append(self.id("a destination"))
        self.at = self._after_blank(self.at + 1)
        return tuple(found)

    def rule(self) -> str:
        match = _RULE.match(self.text, self.at, self.end)
        if match is None:
            raise self.fault("rule", "expected a rule: its label, or #4 for the fourth rule")
        self.at = self._after_blank(match.end())
        return match.group()

    def duration(self) -> int:
        """`1 hour 30 min` in microseconds."""
        begin, total = self.at, 0.0
        while True:
            match = _AMOUNT.match(self.text, self.at, self.end)
            if match is None:
                if self.at > begin and (self.at_end() or self.text[self.at].isalpha()):
                    break
                raise self.fault("time", "expected a time, such as 90 sec or 1 hour 30 min")
            self.at = self._after_blank(match.end())
            unit = self.need(*UNITS, *(f"{unit}s" for unit in UNITS if unit != "ms"))
            total += float(match.group()) * UNITS[unit if unit in UNITS else unit[:-1]]
        if total > DURATION_DAYS_MAX * UNITS["day"]:
            span = Span(begin, self.at)
            raise self.fault("time", f"that is more than {DURATION_DAYS_MAX:,} days", span=span)
        return round(total)

    def term(self, *stops: str) -> Term:
        """A term, up to one of these words outside all brackets, or to the end of the line."""
        return self._read(self._extent(stops), "", "")

    def terms(self, *stops: str) -> Term:
        """Terms with commas between, as a list."""
        return self._read(self._extent(stops), "[", "]")

    def listing(self, *stops: str) -> Term:
        """A term that is a list."""
        begin = self.at
        found = self.term(*stops)
        if type(found) is not tuple:
            span = Span(begin, max(self.at, begin + 1))
            raise self.fault("list", "expected a list: [quota(3), seen(x)]", span=span)
        return found

    def _extent(self, stops: tuple[str, ...]) -> int:
        depth = 0
        tokens, _ = tokenize(self.text[self.at : self.end])
        for index, token in enumerate(tokens):
            if token.kind == "bracket":
                depth += 1 if token.text in "([" else -1
            elif token.kind == "name" and token.text in stops and depth <= 0 and index:
                return self.at + token.start
        return self.end

    def _read(self, stop: int, before: str, after: str) -> Term:
        offset = self.at - len(before)
        text = self.text[self.at : stop].rstrip()
        reader = Reader(Source(before + text + after))
        node = reader.single()
        if node is None:
            fault = reader.faults[0]
            if after and fault.span.start >= len(
                before + text
            ):  # our own bracket is none of theirs
                fault = replace(fault, message=fault.message.replace(f"found {after!r}", "it ends"))
            raise _shifted(fault, offset, self.at + len(text))
        found = from_node(node, self.variables)
        try:
            check_size(found)
        except TooLarge as error:
            raise self.fault("size", str(error)) from None
        self.at = stop
        return found


def _shifted(fault: Diagnostic, by: int, end: int) -> SyntaxFault:
    """A fault of a part of the file, as one of the whole."""

    def move(span: Span) -> Span:
        start = min(span.start + by, end)
        return Span(start, max(start + 1, min(span.end + by, end)))

    related = tuple((words, move(span)) for words, span in fault.related)
    return SyntaxFault(fault.code, fault.message, move(fault.span), fault.help, related)
