"""Tokens: a text of the law language cut into names, numbers, quoted text, symbols and brackets.

A character that begins no token is an error with its place; the cutting goes on behind it.
What the reader (`terms.syntax`) makes of them are nodes, each with its span.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias, TypeVar

from nomospace.terms.source import Diagnostic, Span
from nomospace.terms.values import INT_BITS_MAX, Atomic

T = TypeVar("T")

ERRORS_MAX: Final = 100
"""After so many errors the reader gives up on a text."""

_SYMBOLS = (  # longest first
    r":-|:|->|<-|\\==|\\=|\\\+|=:=|=\\=|==|=<|>=|//|\*\*|/(?!\*)|[=<>+\-*^@;|,]"
)
_TOKEN = re.compile(
    r"""(?P<layout>\s+|%[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
      |(?P<bytes>b'(?:[0-9a-fA-F]{2})*')
      |(?P<name>[a-z][A-Za-z0-9_]*)
      |(?P<var>[A-Z_][A-Za-z0-9_]*'*)
      |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
      |(?P<int>[0-9]+)
      |(?P<quoted>'(?:[^'\\\n]++|\\.|'')*'|"(?:[^"\\\n]++|\\.|"")*")
      |(?P<end>\.(?=\s|%|\Z))
      |(?P<symbol>"""
    + _SYMBOLS
    + r""")
      |(?P<bracket>[()\[\]{}])""",
    re.VERBOSE,
)
_INT_DIGITS_MAX: Final = 1_234  # of the largest integer; longer ones are not even computed
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "/": "/",
    "b": "\b",
    "f": "\f",  # as JSON has them
}
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))",
    re.DOTALL,
)


class Token(NamedTuple):
    """A piece of text. `kind` is a group of the token pattern, or `eof`."""

    kind: str
    text: str
    start: int
    end: int
    value: Atomic = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def negated(self) -> int | float:
        """A number with a minus before it; nought has none."""
        assert isinstance(self.value, int | float)
        return -self.value or self.value

    def unquoted(self) -> Token:
        """A name without its quotes."""
        return self._replace(text=self.value) if isinstance(self.value, str) else self


class SyntaxFault(Exception):
    """An error that ends the reading of one clause, or of one line: a `Diagnostic` to raise."""

    def __init__(
        self,
        code: str,
        message: str,
        span: Span,
        help: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        self.diagnostic = Diagnostic(code, message, span, help, related)


def _unquote(raw: str, span: Span) -> str:
    quote = raw[0]
    body = raw[1:-1].replace(quote * 2, quote)
    if "\\" not in body:
        return body

    def one(match: re.Match[str]) -> str:
        pair, short, long, plain = match.groups()
        if pair is not None:
            return chr(0x10000 + (int(pair[:4], 16) - 0xD800 << 10) + int(pair[6:], 16) - 0xDC00)
        if plain is not None:
            if plain in _ESCAPES:
                return _ESCAPES[plain]
            raise SyntaxFault(
                "syntax-escape",
                f"unknown escape \\{plain}",
                span,
                "known are \\n \\t \\r \\0 \\\\ \\' \\\" \\uXXXX and \\UXXXXXXXX",
            )
        point = int(short or long, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise SyntaxFault("syntax-escape", f"{match[0]} is no character", span)
        return chr(point)

    return _ESCAPE.sub(one, body)


def tokenize(text: str) -> tuple[list[Token], list[Diagnostic]]:
    """Cut a text into tokens, ending with one of kind `eof`; errors go into the second list."""
    tokens: list[Token] = []
    faults: list[Diagnostic] = []
    position, size = 0, len(text)
    match_at = _TOKEN.match
    while position < size:
        match = match_at(text, position)
        if match is None:
            start = position
            bad, position = _bad_character(text, start)
            faults.append(bad)
            if bad.code == "syntax-quote" and text[start:position].rstrip().endswith("."):
                tokens.append(Token("end", ".", position - 1, position))  # the clause's, surely
            if len(faults) >= ERRORS_MAX:
                break
            continue
        start, position = position, match.end()
        kind = match.lastgroup
        if kind == "layout":
            continue
        assert kind is not None
        raw = match.group()
        try:
            tokens.append(Token(kind, raw, start, position, _token_value(kind, raw, start)))
        except SyntaxFault as raised:
            faults.append(raised.diagnostic)
            tokens.append(Token("name", "error", start, position))
    tokens.append(Token("eof", "", size, size))
    return tokens, faults


def comments(text: str) -> list[Span]:
    """Where the comments of a text stand, in order. The text has no errors.

    >>> comments("a. % one\\nb. /* two */")
    [Span(start=3, end=8), Span(start=12, end=21)]
    """
    found: list[Span] = []
    position, size = 0, len(text)
    while position < size:
        match = _TOKEN.match(text, position)
        assert match is not None, "the text was read without errors"
        if match.lastgroup == "layout" and not match.group().isspace():
            found.append(Span(*match.span()))
        position = match.end()
    return found


def _token_value(kind: str, raw: str, start: int) -> Atomic:
    if kind == "quoted":
        return _unquote(raw, Span(start, start + len(raw)))
    if kind == "int":
        if len(raw) > _INT_DIGITS_MAX or int(raw).bit_length() > INT_BITS_MAX:
            raise SyntaxFault(
                "syntax-number",
                f"a number of {len(raw):,} digits is too long",
                Span(start, start + len(raw)),
                f"integers have at most {INT_BITS_MAX:,} bits",
            )
        return int(raw)
    if kind == "float":
        value = float(raw)
        if not math.isfinite(value):
            raise SyntaxFault(
                "syntax-number", "the number is infinite", Span(start, start + len(raw))
            )
        return value or 0.0
    if kind == "bytes":
        return bytes.fromhex(raw[2:-1])
    return None


def _bad_character(text: str, position: int) -> tuple[Diagnostic, int]:
    """Say what is wrong where no token begins, and where to go on."""
    character = text[position]
    if character in "'\"":
        end = text.find("\n", position)
        what = f"the quote {character} opened here is not closed on its line"
        help = "close it, or write a line break as \\n"
        found = Diagnostic("syntax-quote", what, Span(position, position + 1), help)
        return found, len(text) if end < 0 else end
    if text.startswith("/*", position):
        what, help = "the comment opened here is not closed", "close it with */"
        return Diagnostic("syntax-comment", what, Span(position, position + 2), help), len(text)
    end = position + 1
    while end < len(text) and text[end] == character:
        end += 1
    help = "quote it: 'like this'"
    if character == ".":
        help = "a clause ends with a full stop and a space or a line break"
    elif character == "!":
        help = "there is no cut: write ( Condition -> Then ; Else )"
    what = f"{character!r} cannot stand here"
    return Diagnostic("syntax-character", what, Span(position, end), help), end


class Const:
    """A number, a string, `true`, `false`, `null` or bytes."""

    __slots__ = ("span", "value")

    def __init__(self, value: Atomic, span: Span) -> None:
        self.value = value
        self.span = span


class Variable:
    """A name that begins with a capital or `_`; `_` alone is a new variable each time."""

    __slots__ = ("name", "span")

    def __init__(self, name: str, span: Span) -> None:
        self.name = name
        self.span = span


class Struct:
    """`name(arg, …)`, or an operator with its operands."""

    __slots__ = ("args", "depth", "name", "span")

    def __init__(self, name: str, args: tuple[Node, ...], span: Span, depth: int = 0) -> None:
        self.name = name
        self.args = args
        self.span = span
        self.depth = depth or 1 + max(map(depth_of, args))


class ListSyntax:
    """`[item, …]` or `[item, … | tail]`."""

    __slots__ = ("depth", "items", "span", "tail")

    def __init__(self, items: tuple[Node, ...], tail: Node | None, span: Span) -> None:
        self.items = items
        self.tail = tail
        self.span = span
        self.depth = 1 + max(map(depth_of, items), default=0)
        if tail is not None:
            self.depth = max(self.depth, depth_of(tail))


Node: TypeAlias = Const | Variable | Struct | ListSyntax


def depth_of(node: Node) -> int:
    """How many levels a node has."""
    return node.depth if isinstance(node, Struct | ListSyntax) else 1


def inner_nodes(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node: arguments, or items and the tail."""
    if isinstance(node, Struct):
        return node.args
    if isinstance(node, ListSyntax):
        return node.items if node.tail is None else (*node.items, node.tail)
    return ()


def nodes_in(*nodes: Node) -> Iterator[Node]:
    """Nodes and all nodes inside them, in the order of the text."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(inner_nodes(node))


def fold(
    node: Node,
    leaf: Callable[[Const | Variable], T],
    join: Callable[[Struct | ListSyntax, tuple[T, ...]], T],
) -> T:
    """What a node comes to, from the inside out, without recursion.

    `join` is given a node with what the nodes directly inside it have come to.
    """
    done: list[T] = []
    todo: list[tuple[Node, bool]] = [(node, False)]
    while todo:
        item, ready = todo.pop()
        if isinstance(item, Const | Variable):
            done.append(leaf(item))
        elif not ready:
            todo.append((item, True))
            todo.extend([(part, False) for part in reversed(inner_nodes(item))])
        else:
            first = len(done) - len(inner_nodes(item))
            parts = tuple(done[first:])
            del done[first:]
            done.append(join(item, parts))
    return done[0]
