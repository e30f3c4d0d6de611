"""From text to a Python syntax tree, and from places in that tree to places in the text.

Python's own parser stops at the first fault. Here the top-level statement with the fault is
blanked and the text is parsed again, so that one reading reports the faults of all statements.

The tree is only ever looked at: nothing of a law's text is compiled or run.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from keyword import iskeyword
from typing import Final

from nomospace.law.tree import Clause, Goal
from nomospace.terms import Diagnostic, Source, Span
from nomospace.terms.tokens import ERRORS_MAX

NESTING_MAX: Final = 100
"""How many levels the syntax tree may have: brackets, operators in a row, `elif` after `elif`."""
PYTHON_BYTES_MAX: Final = 250_000
"""The longest text that is read: Python's tree takes up to 700 times the memory of its text."""
SIZE_MAX: Final = 250_000
"""How many goals and terms a law may come to; early returns can make many of a short text."""
PARSES_MAX: Final = 20
"""How often a text with faults is parsed again, as long as that is within `PARSED_BYTES_MAX`."""
PARSED_BYTES_MAX: Final = 1_000_000

CODES: Final[dict[str, str]] = {
    "python-arithmetic": "something that cannot be computed",
    "python-assignment": "a value given to something that cannot take it",
    "python-attribute": "an attribute that the language does not have",
    "python-call": "a call of something, or with something, that it does not take",
    "python-condition": "something that is no condition where one is expected",
    "python-cs": "the control state where it was not handed in",
    "python-decorator": "a decorator that the language does not have",
    "python-expression": "an expression that the language does not have",
    "python-label": "a function's name that is taken",
    "python-law": "a law without its opening statement, or one in the wrong form",
    "python-loop": "a loop over no list, or a loop's variable outside it",
    "python-name": "a name that cannot be used",
    "python-nesting": "a law nested too deep",
    "python-operation": "an operation that does not exist",
    "python-parameters": "parameters that are not plain names of variables",
    "python-pattern": "a head that does not fit its event",
    "python-return": "a return that cannot be",
    "python-sense": "sensing something that cannot be in the control state",
    "python-size": "a law that comes to too many goals and terms",
    "python-statement": "a statement that the language does not have",
    "python-syntax": "a text that is not Python",
    "python-term": "a call in a term that could mean two things, or nothing",
    "python-too-long": "a text or a law that is too long",
    "python-unreachable": "a line behind a return",
    "python-value": "a constant that is no value of a law",
}
"""Every code that a fault in a Python law can have; all are errors. A code lasts."""

_NEWLINE = re.compile(r"\r\n?|\n")
_STATEMENT = re.compile(r"(?!(?:else|elif|except|finally)\b)[^\s#)\]}]")  # begins at column 0
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CALLED_WORD = re.compile(r"([a-z]+)\s*\(")


class PythonLawTooLarge(Exception):
    """The law comes to more goals and terms than `SIZE_MAX`."""


class Names:
    """Names in use, and new ones beside them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Keep a name from being given out."""
        self._taken.add(name)

    def fresh(self, stem: str) -> str:
        """A name that is not in use: the stem with the next number."""
        while True:
            count = self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}{count}"
            if name not in self._taken:
                self._taken.add(name)
                return name


class Reading:
    """What one reading of a text shares: its faults, its places, its helpers, its size."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []
        self.syntax_faults = False  # some statements could not be read at all
        self.helpers: dict[tuple[str, int], list[Clause]] = {}
        self.helper_names: dict[tuple[str, int], bool] = {}  # whether it takes `cs`
        self.calls: list[tuple[str, int, bool, Span]] = []  # predicate, arity, with `cs`, place
        self.names = Names()  # of all functions, written and generated
        self._told: set[tuple[str, Span]] = set()
        self._size = 0
        self._places = _Places(source.text)

    def fault(
        self,
        code: str,
        message: str,
        where: ast.expr | ast.stmt | ast.keyword | ast.arg | Span,
        help: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        """Note an error. One place has an error once, however often it is translated."""
        assert code in CODES, code
        span = where if isinstance(where, Span) else self.span(where)
        if (code, span) not in self._told and len(self.faults) < ERRORS_MAX:
            self._told.add((code, span))
            self.faults.append(Diagnostic(code, message, span, help, related))

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> Span:
        """Where a node stands, in characters; Python's tree counts in bytes of UTF-8."""
        start = self._places.offset(node.lineno, node.col_offset)
        if node.end_lineno is None or node.end_col_offset is None:
            return Span(start, start + 1)
        return Span(start, self._places.offset(node.end_lineno, node.end_col_offset))

    def grow(self, count: int = 1) -> None:
        """Count a goal or term, or the work of copying some."""
        self._size += count
        if self._size > SIZE_MAX:
            raise PythonLawTooLarge

    def made(self, goal: Goal) -> Goal:
        """Count a goal, and give it back."""
        self.grow()
        return goal

    # -- parsing ---------------------------------------------------------------------------

    def statements(self) -> list[ast.stmt]:
        """The top-level statements that can be read; faults tell of the others."""
        text = self.source.text
        if not self._readable(text):
            self.syntax_faults = True
            return []
        attempts = max(1, min(PARSES_MAX, PARSED_BYTES_MAX // (len(text) + 1)))
        for _ in range(attempts):
            try:
                body = _parse(text)
            except SyntaxError as error:
                self.syntax_faults = True
                line = self._syntax_fault(error)
                blanked = self._without_statement(text, line)
                if blanked == text:
                    return []
                text = blanked
            except (RecursionError, MemoryError):
                self._too_deep(Span(0, 1))
                return []
            except ValueError as error:  # what Python's parser finds wrong with single values
                self.syntax_faults = True
                words = f"Python cannot read this: {error}"
                self.fault("python-syntax", words, Span(0, 1), "see the guide to Python laws")
                return []
            else:
                return [statement for statement in body if self._shallow(statement)]
        return []

    def _readable(self, text: str) -> bool:
        size = len(text)
        if size > PYTHON_BYTES_MAX or len(text.encode(errors="replace")) > PYTHON_BYTES_MAX:
            self.fault(
                "python-too-long",
                f"the text is longer than {PYTHON_BYTES_MAX:,} bytes",
                Span(0, 1),
                "split the law",
            )
            return False
        for position in (text.find("\0"), *(m.start() for m in _SURROGATE.finditer(text))):
            if position >= 0:
                self.fault(
                    "python-syntax",
                    f"the character {text[position]!r} cannot stand in a law",
                    Span(position, position + 1),
                    "take it out, or write it as an escape in a string",
                )
                return False
        return True

    def _syntax_fault(self, error: SyntaxError) -> int:
        """Report what Python says about a text; gives the line, counted from 1."""
        line = min(max(error.lineno or 1, 1), len(self._places.starts))
        start = self._places.characters(line, (error.offset or 1) - 1)
        end = start + 1
        if error.end_lineno and error.end_offset and error.end_lineno >= line:
            end_line = min(error.end_lineno, len(self._places.starts))
            end = max(end, self._places.characters(end_line, error.end_offset - 1))
        help = "a .law.py file is read as Python 3.11"
        for word in _CALLED_WORD.finditer(self.source.text, start, min(end + 20, start + 200)):
            if iskeyword(word[1]) and word[1] not in ("not", "and", "or", "if", "elif", "return"):
                help = (
                    f"{word[1]} is a word of Python; the term {word[1]}(…) is written {word[1]}_(…)"
                )
                break
        self.fault("python-syntax", f"Python cannot read this: {error.msg}", Span(start, end), help)
        return line

    def _without_statement(self, text: str, line: int) -> str:
        """The text with the top-level statement around a line turned into spaces."""
        starts = self._places.starts
        first, last = line - 1, line
        while first > 0 and not _STATEMENT.match(text, starts[first]):
            first -= 1
        while first > 0 and text.startswith("@", starts[first - 1]):
            first -= 1
        decorated = text.startswith("@", starts[first])
        while last < len(starts):
            if _STATEMENT.match(text, starts[last]) and not decorated:
                break
            decorated = decorated and text.startswith("@", starts[last])
            last += 1
        begin = starts[first]
        end = starts[last] if last < len(starts) else len(text)
        return text[:begin] + re.sub(r"[^\r\n]", " ", text[begin:end]) + text[end:]

    def _shallow(self, statement: ast.stmt) -> bool:
        """Whether a statement stays within `NESTING_MAX`; translation may recurse after this."""
        pending: list[tuple[ast.AST, int]] = [(statement, 1)]
        while pending:
            node, depth = pending.pop()
            if depth > NESTING_MAX:
                placed = node if isinstance(node, ast.expr | ast.stmt) else statement
                self._too_deep(self.span(placed))
                return False
            pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
        return True

    def _too_deep(self, span: Span) -> None:
        self.syntax_faults = True
        self.fault(
            "python-nesting",
            f"the law is nested more than {NESTING_MAX} levels deep",
            span,
            "give the inner part a name of its own, or make it a helper",
        )


class _Places:
    """Lines as Python's tokeniser counts them, and columns in bytes or characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()
        self.starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
        self._ends: dict[int, list[int]] = {}  # of a line: bytes up to and with each character

    def characters(self, line: int, column: int) -> int:
        """The offset of a column in characters, both counted as Python does (line from 1)."""
        return max(0, min(self.starts[line - 1] + column, len(self._text)))

    def offset(self, line: int, column: int) -> int:
        """The offset of a column in bytes of UTF-8."""
        if not self._ascii:
            ends = self._ends.get(line)
            if ends is None:
                start = self.starts[line - 1]
                end = self.starts[line] if line < len(self.starts) else len(self._text)
                ends = list(accumulate(len(c.encode()) for c in self._text[start:end]))
                self._ends[line] = ends
            column = bisect_right(ends, column)
        return self.characters(line, column)


def _parse(text: str) -> list[ast.stmt]:
    """Python's parser, the same on every version: what it would only warn of is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ast.parse(text, feature_version=(3, 11)).body
