"""The text syntax that terms and laws share: tokens, operators, and a reader with spans.

The reader is an operator-precedence (Pratt) parser with a stack of its own instead of recursion,
so that a thousand levels of brackets cost memory and never Python's stack. It gives nodes
(`terms.tokens`). `terms.text` makes values of them, `law.parse` makes laws.

Operators have the priorities of standard Prolog, with `<-` (as `=`) and `@` (tightest) added:

    1200 :-   1100 ; |   1050 ->   1000 ,   900 \\+ not   700 = \\= == \\== < > =< >= =:= =\\= is <-
    500 + -   400 * / // mod rem   200 ** ^ and prefix + -   150 @

After an error the reader skips to the end of the clause and goes on, so one reading reports all
the errors of a text (up to `ERRORS_MAX`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from nomospace.terms.source import Diagnostic, Source, Span
from nomospace.terms.tokens import (
    ERRORS_MAX,
    Const,
    ListSyntax,
    Node,
    Struct,
    SyntaxFault,
    Token,
    Variable,
    depth_of,
    tokenize,
)
from nomospace.terms.values import FORMAL, OBJECT, PARTIAL, TERM_DEPTH_MAX, Atomic

TEXT_BYTES_MAX: Final = 1_000_000
"""The longest text that is read."""


class Infix(NamedTuple):
    """Priority of the whole, and the highest that its two sides may have."""

    priority: int
    left: int
    right: int


class Prefix(NamedTuple):
    """Priority of the whole, and the highest that its operand may have."""

    priority: int
    right: int


INFIX: Final[dict[str, Infix]] = {
    ":-": Infix(1200, 1199, 1199),
    ";": Infix(1100, 1099, 1100),
    "|": Infix(1100, 1099, 1100),
    "->": Infix(1050, 1049, 1050),
    ",": Infix(1000, 999, 1000),
    **{
        name: Infix(700, 699, 699)
        for name in ("=", "\\=", "==", "\\==", "<", ">", "=<", ">=", "=:=", "=\\=", "is", "<-")
    },
    "+": Infix(500, 500, 499),
    "-": Infix(500, 500, 499),
    **{name: Infix(400, 400, 399) for name in ("*", "/", "//", "mod", "rem")},
    "**": Infix(200, 199, 199),
    "^": Infix(200, 199, 200),
    "@": Infix(150, 149, 149),
}
PREFIX: Final[dict[str, Prefix]] = {
    "\\+": Prefix(900, 900),
    "not": Prefix(900, 900),
    "+": Prefix(200, 200),
    "-": Prefix(200, 200),
}
SPELT_VALUES: Final[dict[str, Atomic]] = {"true": True, "false": False, "null": None}


class _Pending(msgspec.Struct):
    """An operator that waits for its right side."""

    token: Token
    name: str
    priority: int
    right: int
    left: Node | None  # None for a prefix operator


class _Frame(msgspec.Struct):
    """What was opened and not yet closed: the clause itself, a bracket, arguments, a list."""

    kind: str  # "clause", "(", "args", "[" or "{"
    opened: Token
    name: Token | None = None  # of what has arguments; of a dict, the key just read
    ops: list[_Pending] = []
    items: list[Node] = []
    left: Node | None = None  # the operand just read, None while one is expected
    left_priority: int = 0
    at_tail: bool = False
    keys: set[str] = set()


_CLOSERS = {"args": ")", "(": ")", "[": "]", "{": "}"}


_LISTED = ("args", "[", "{")
_LIMITS: Final = {"clause": 1200, "(": 1200, **dict.fromkeys(_LISTED, 999)}
"""The highest priority that what stands there may have."""


def _dict_node(items: list[Node], span: Span) -> Struct:
    """A dict `{key: value, …}` as the term that it stands for (`nomospace.terms.values`)."""
    listed = tuple(sorted(items, key=lambda item: item.name if isinstance(item, Struct) else ""))
    return Struct(
        OBJECT, (Const(None, span), Const(None, span), ListSyntax(listed, None, span)), span
    )


def _shallow(node: Struct | ListSyntax, what: str) -> Node:
    """The node, if it is not too deep."""
    if node.depth > TERM_DEPTH_MAX:
        why = f"the {what} has more than {TERM_DEPTH_MAX:,} levels"
        raise SyntaxFault("syntax-depth", why, node.span)
    return node


class Reader:
    """Reads a text clause by clause. `faults` gathers what was wrong; nothing is raised."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []
        text = source.text
        if len(text) > TEXT_BYTES_MAX or len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
            why = f"the text is longer than {TEXT_BYTES_MAX:,} bytes"
            self.faults.append(Diagnostic("syntax-too-long", why, Span(0, 1), "split it"))
            text = ""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            why, place = "half a surrogate pair is no character", Span(error.start, error.start + 1)
            self.faults.append(
                Diagnostic("syntax-character", why, place, "decode the text as UTF-8")
            )
            text = ""
        self._tokens, faults = tokenize(text)
        self.faults += faults
        self._lexical = [fault.span.start for fault in faults]
        self._next = 0
        self._clause_end = "a full stop"

    # -- clauses ---------------------------------------------------------------------------

    def clauses(self) -> list[Node | None]:
        """All clauses, each ended by a full stop; `None` stands for one with an error."""
        found: list[Node | None] = []
        while self._tokens[self._next].kind != "eof" and len(self.faults) < ERRORS_MAX:
            start = self._tokens[self._next - 1].end if self._next else 0
            try:
                found.append(self._expression(("end",)))
            except SyntaxFault as raised:
                found.append(None)
                self._skip_clause()
                end = self._tokens[self._next].start
                if not any(start <= place < end for place in self._lexical):
                    # In a clause with a bad character, the rest is most likely its consequence.
                    self.faults.append(raised.diagnostic)
        return found

    def single(self) -> Node | None:
        """The one term of a text, with no full stop after it; `None` when it has errors."""
        if self.faults:
            return None
        self._clause_end = "the end of the text"
        try:
            return self._expression(("eof",))
        except SyntaxFault as raised:
            self.faults.append(raised.diagnostic)
            return None

    def _skip_clause(self) -> None:
        """Go on after the clause that has the error.

        Its full stop ends it, unless a bracket left open has run on into the next clause:
        then the fault stands behind that full stop already, and reading goes on from there.
        """
        while self._tokens[self._next].kind not in ("end", "eof"):
            self._next += 1
        if self._tokens[self._next].kind == "end":
            self._next += 1

    # -- expressions -----------------------------------------------------------------------

    def _expression(self, enders: tuple[str, ...]) -> Node:
        """Read up to a token of a kind in `enders`, and past it."""
        frames = [_Frame("clause", self._tokens[self._next])]
        while True:
            frame = frames[-1]
            token = self._tokens[self._next]
            if frame.left is None:
                self._operand(frames, token)
                if len(frames) > TERM_DEPTH_MAX:
                    raise SyntaxFault(
                        "syntax-depth",
                        f"brackets are nested more than {TERM_DEPTH_MAX:,} deep",
                        token.span,
                    )
                continue
            if len(frames) == 1 and token.kind in enders:
                self._next += 1
                self._reduce_all(frame)
                return frame.left
            self._after_operand(frames, token)

    def _operand(self, frames: list[_Frame], token: Token) -> None:
        """An operand is due: a value, something that opens, or a prefix operator."""
        frame = frames[-1]
        kind = token.kind
        following = self._tokens[self._next + 1] if kind != "eof" else token
        if frame.kind == "{" and frame.name is None:
            self._key(frames, token, following)
            return
        self._next += kind not in ("eof", "end")
        if kind in ("name", "quoted", "symbol") and self._opens_arguments(token, following):
            self._next += 1
            name = token.unquoted()
            frames.append(_Frame("args", following, name))
        elif kind == "bracket" and token.text == "(":
            frames.append(_Frame("(", token))
        elif kind == "bracket" and token.text in ("[", "{"):
            if following.text != _CLOSERS[token.text] or following.kind != "bracket":
                frames.append(_Frame(token.text, token))
            else:
                self._next += 1
                span = Span(token.start, following.end)
                empty = ListSyntax((), None, span) if token.text == "[" else _dict_node([], span)
                self._take(frame, empty)
        elif kind == "var":
            self._take(frame, Variable(token.text, token.span))
        elif kind in ("int", "float", "quoted", "bytes"):
            self._take(frame, Const(token.value, token.span))
        elif (
            token.text == "-"
            and following.kind in ("int", "float")
            and following.start == token.end
        ):
            self._next += 1
            span = Span(token.start, following.end)
            self._take(frame, Const(following.negated, span))
        elif token.text in PREFIX and kind in ("name", "symbol") and self._starts_operand():
            self._push_prefix(frame, token)
        elif kind == "name":
            value = SPELT_VALUES.get(token.text, token.text)
            self._take(frame, Const(value, token.span))
        elif (
            kind == "symbol"
            and token.text not in (",", "|", ";", ":-", ":", "->", "@")
            and (following.kind in ("end", "eof") or following.text in (",", ")", "]", "}", "|"))
        ):
            self._take(frame, Const(token.text, token.span))
        else:
            raise self._unexpected_operand(frames, token)

    @staticmethod
    def _opens_arguments(token: Token, following: Token) -> bool:
        return (
            following.kind == "bracket"
            and following.text == "("
            and following.start == token.end
            and token.text not in (",", "|")
        )

    def _starts_operand(self) -> bool:
        """Whether the token after a prefix operator can begin its operand."""
        token = self._tokens[self._next]
        if token.kind in ("eof", "end"):
            return False
        if token.kind == "bracket":
            return token.text in "([{"
        if token.kind == "symbol":
            return token.text in PREFIX
        if token.kind == "name" and token.text in INFIX:
            return self._opens_arguments(token, self._tokens[self._next + 1])
        return True

    def _take(self, frame: _Frame, node: Node) -> None:
        frame.left = node
        frame.left_priority = 0

    def _push_prefix(self, frame: _Frame, token: Token) -> None:
        operator = PREFIX[token.text]
        allowed = frame.ops[-1].right if frame.ops else _LIMITS[frame.kind]
        if operator.priority > allowed:
            raise self._clash(token, frame)
        frame.ops.append(_Pending(token, token.text, operator.priority, operator.right, None))

    def _after_operand(self, frames: list[_Frame], token: Token) -> None:
        """An operand was read: an operator, a comma of arguments, or what closes them."""
        frame = frames[-1]
        text, kind = token.text, token.kind
        if frame.kind in _LISTED and kind == "symbol" and text == "," and not frame.at_tail:
            self._next += 1
            self._finish_item(frame)
        elif frame.kind == "[" and kind == "symbol" and text == "|" and not frame.at_tail:
            self._next += 1
            self._finish_item(frame)
            frame.at_tail = True
        elif kind == "bracket" and text == _CLOSERS.get(frame.kind):
            self._next += 1
            self._close(frames, token)
        elif kind in ("symbol", "name") and text in INFIX:
            operator = INFIX[text]
            if operator.priority > _LIMITS[frame.kind]:
                raise self._unexpected_operator(frames, token)
            self._next += 1
            self._push_infix(frame, token, operator)
        else:
            raise self._unexpected_operator(frames, token)

    def _push_infix(self, frame: _Frame, token: Token, operator: Infix) -> None:
        while frame.ops and frame.ops[-1].priority <= operator.left:
            self._reduce(frame)
        if frame.left_priority > operator.left or (
            frame.ops and frame.ops[-1].right < operator.priority
        ):
            raise self._clash(token, frame)
        name = ";" if token.text == "|" else token.text
        frame.ops.append(_Pending(token, name, operator.priority, operator.right, frame.left))
        frame.left = None

    def _reduce(self, frame: _Frame) -> None:
        pending = frame.ops.pop()
        right = frame.left
        assert right is not None
        first = pending.left or pending.token
        args = (right,) if pending.left is None else (pending.left, right)
        frame.left = self._struct(pending.name, args, Span(first.span.start, right.span.end))
        frame.left_priority = pending.priority

    def _struct(self, name: str, args: tuple[Node, ...], span: Span) -> Node:
        # Long conjunctions nest to the right; they count as one level.
        depth = max(map(depth_of, args)) if name in (",", ";", "->") and len(args) == 2 else 0
        return _shallow(Struct(name, args, span, depth), "term")

    def _reduce_all(self, frame: _Frame) -> None:
        while frame.ops:
            self._reduce(frame)

    def _finish_item(self, frame: _Frame) -> None:
        self._reduce_all(frame)
        assert frame.left is not None
        item = frame.left
        if frame.kind == "{":
            assert frame.name is not None
            item = Struct(frame.name.text, (item,), Span(frame.name.start, item.span.end))
            frame.name = None
        frame.items.append(item)
        frame.left = None

    def _key(self, frames: list[_Frame], token: Token, following: Token) -> None:
        """The key of a dict and its colon are due."""
        frame = frames[-1]
        if token.kind not in ("name", "quoted"):
            raise SyntaxFault(
                "syntax-key",
                f"expected a key, found {token.text!r}" if token.text else "a key is missing",
                token.span,
                "a key is a name or a text in quotes: {n: 1, 'two words': 2}",
                self._opened(frames),
            )
        key = token.unquoted()
        if key.text in (FORMAL, PARTIAL):
            raise SyntaxFault(
                "syntax-key", f"{key.text!r} cannot be a key", token.span, "choose another"
            )
        if key.text in frame.keys:
            raise SyntaxFault("syntax-key", f"the key {key.text!r} stands twice", token.span)
        if following.text not in (":", ":-"):
            raise SyntaxFault(
                "syntax-key",
                f"expected ':' after the key {key.text!r}",
                following.span,
                "write {key: value}",
                self._opened(frames),
            )
        frame.keys.add(key.text)
        frame.name = key
        self._next += 2
        if following.text == ":-":  # {n:-1} has no rule in it
            number = self._tokens[self._next]
            if number.kind not in ("int", "float") or number.start != following.end:
                raise SyntaxFault("syntax-key", "expected ':', found ':-'", following.span)
            self._next += 1
            self._take(frame, Const(number.negated, Span(following.start + 1, number.end)))

    def _close(self, frames: list[_Frame], token: Token) -> None:
        frame = frames.pop()
        if frame.kind == "{":
            self._finish_item(frame)
            node = _dict_node(frame.items, Span(frame.opened.start, token.end))
            self._take(frames[-1], _shallow(node, "dict"))
            return
        self._reduce_all(frame)
        inner = frame.left
        assert inner is not None
        outer = frames[-1]
        if frame.kind == "(":
            span = Span(frame.opened.start, token.end)
            self._take(outer, inner)
            if isinstance(inner, Struct):
                # The brackets belong to what is underlined.
                self._take(outer, Struct(inner.name, inner.args, span, inner.depth))
            return
        if frame.kind == "args":
            assert frame.name is not None
            frame.items.append(inner)
            span = Span(frame.name.start, token.end)
            if frame.name.text == PARTIAL:
                raise SyntaxFault(
                    "syntax-list-name", f"{PARTIAL!r} names no compound", span, "write [a, b | T]"
                )
            self._take(outer, _shallow(Struct(frame.name.text, tuple(frame.items), span), "term"))
            return
        tail = None
        if frame.at_tail:
            tail = inner
        else:
            frame.items.append(inner)
        items = tuple(frame.items)
        if isinstance(tail, Const | Struct):
            raise SyntaxFault(
                "syntax-tail",
                "what stands after '|' is neither a list nor a variable",
                tail.span,
                "put it before the '|', or in a list of its own",
                (("the list was opened here", frame.opened.span),),
            )
        if isinstance(tail, ListSyntax):  # [a|[b,c]] is [a,b,c]
            items, tail = items + tail.items, tail.tail
        listing = ListSyntax(items, tail, Span(frame.opened.start, token.end))
        self._take(outer, _shallow(listing, "list"))

    # -- what went wrong -------------------------------------------------------------------

    def _opened(self, frames: list[_Frame]) -> tuple[tuple[str, Span], ...]:
        frame = frames[-1]
        if frame.kind == "clause":
            return ()
        what = {"[": "the list", "{": "the dict"}.get(frame.kind, "the bracket")
        return ((f"{what} was opened here", frame.opened.span),)

    def _unexpected_operand(self, frames: list[_Frame], token: Token) -> SyntaxFault:
        frame = frames[-1]
        if token.kind == "bracket" and token.text in ")]}":
            if frame.kind == "args" and not frame.items and not frame.ops and token.text == ")":
                assert frame.name is not None
                return SyntaxFault(
                    "syntax-no-arguments",
                    f"{frame.name.text}() has no argument",
                    Span(frame.name.start, token.end),
                    f"write {frame.name.text} without brackets",
                )
            what = f"a term is missing before {token.text!r}"
        elif token.kind == "end":
            what = "the clause ends where a term is missing"
        elif token.kind == "eof":
            what = "the text ends where a term is missing"
        else:
            what = f"expected a term, found {token.text!r}"
        help = ""
        if token.text == "=" and frame.ops and frame.ops[-1].name in ("<", ">"):
            found = frame.ops[-1].name
            help = "write =< for less or equal" if found == "<" else "write >= for greater or equal"
        return SyntaxFault("syntax-term", what, token.span, help, self._opened(frames))

    def _unexpected_operator(self, frames: list[_Frame], token: Token) -> SyntaxFault:
        frame = frames[-1]
        closer = _CLOSERS.get(frame.kind)
        if token.kind == "eof" and closer is None:
            end = self._tokens[self._next - 1].end
            return SyntaxFault(
                "syntax-full-stop",
                "the last clause has no full stop",
                Span(end, end),
                "end it with '.'",
            )
        wanted = {
            "clause": f"an operator or {self._clause_end}",
            "(": "an operator or ')'",
            "args": "',' or ')'",
            "[": "']'" if frame.at_tail else "',', '|' or ']'",
            "{": "',' or '}'",
        }[frame.kind]
        found = {"end": "the clause ends", "eof": "the text ends"}.get(
            token.kind, f"found {token.text!r}"
        )
        help = ""
        if token.kind == "var" or token.kind == "name":
            help = "is a comma missing before it?"
            before = self._tokens[self._next - 1]
            if frame.kind == "clause" and "\n" in self.source.text[before.end : token.start]:
                help = "is a full stop missing on the line before?"
        if frame.kind == "clause" and token.text in (")", "]", "}"):
            help = f"no bracket is open that {token.text!r} could close"
        return SyntaxFault(
            "syntax-operator", f"expected {wanted}, {found}", token.span, help, self._opened(frames)
        )

    def _clash(self, token: Token, frame: _Frame) -> SyntaxFault:
        other = f" beside {frame.ops[-1].name!r}" if frame.ops else ""
        return SyntaxFault(
            "syntax-priority",
            f"{token.text!r} cannot stand here{other} without brackets",
            token.span,
            "put brackets around one of the two",
            tuple((f"{op.name!r} stands here", op.token.span) for op in frame.ops[-1:]),
        )
