"""The layout of `.law` files: one way to write a law down, comments and all.

A clause stands on one line when it fits. Otherwise its head stands alone, each goal on a line of
its own, and conditionals and disjunctions as blocks:

    R1. sent(X, publish(M), Y) :-
        quota(N)@CS,
        ( N > 0 -> do(dcr(quota(N), 1)), do(forward)
        ; do(deliver(Self, refused(quota), Self)) ).

Comments stay with what they precede or trail, and a clause with comments inside is never drawn
together. Between clauses one blank line is kept. Double quotes and numbers stay as the author
wrote them; needless single quotes go. A law keeps its hash: the result is read again to be sure.

How it works: clauses become lines, and each line knows where in the old text its words began.
So every comment finds the line that holds the word before it, or the word after it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

import msgspec

from nomospace.errors import Bug
from nomospace.law.canon import canonical
from nomospace.law.parse import parse
from nomospace.law.render import show_constant, show_node
from nomospace.terms import Diagnostic, Faulty, Source, Span
from nomospace.terms.syntax import TEXT_BYTES_MAX, Infix, Reader
from nomospace.terms.text import WHOLE, functor_text, infix_text, operator_of
from nomospace.terms.tokens import (
    Const,
    ListSyntax,
    Node,
    Struct,
    Token,
    Variable,
    comments,
    tokenize,
)

WIDTH_MAX: Final = 100
"""The longest line that is aimed at; a single word may be longer."""
INDENT: Final = 4
BREAK_COLUMN_MAX: Final = 72
"""Terms that begin further right than this are not broken any more."""
PASSES_MAX: Final = 12


def format_law(text: str, name: str = "<law>") -> str:
    """Lay a law out. Raises `Faulty` when it cannot be read.

    >>> print(format_law("law('l'). R1.   sent(X,M,Y):-do(forward).% all"), end="")
    law(l).
    R1. sent(X, M, Y) :- do(forward).  % all
    """
    meaning = _canonical(text, name)
    done = _Pass(text).run()
    for _ in range(PASSES_MAX):
        _check_length(text, name, done)
        # A comment that moved out of its clause may let the clause be drawn together.
        before, done = done, _Pass(done).run()
        if before == done:
            break
    else:
        raise Bug(story=("formatting does not settle", text[:2_000]))
    if _canonical(done, name) != meaning:
        raise Bug(story=("formatting changed a law's meaning", text[:2_000], done[:2_000]))
    return done


def _check_length(text: str, name: str, done: str) -> None:
    if len(done.encode()) > TEXT_BYTES_MAX:
        why = f"laid out, the law is longer than {TEXT_BYTES_MAX:,} bytes"
        fault = Diagnostic("syntax-too-long", why, Span(0, 1), "split it")
        raise Faulty(source=Source(text, name), diagnostics=(fault,))


def _canonical(text: str, name: str) -> str:
    source = Source(text, name)
    law, faults = parse(source)
    if faults:
        raise Faulty(source=source, diagnostics=tuple(faults))
    return canonical(law)


class _Comment(NamedTuple):
    """One comment, or several on one line with nothing between them."""

    text: str
    start: int
    end: int


class _Line(msgspec.Struct):
    """A line of output. Words of the old text from `start` up to the next line's stand in it."""

    indent: int
    text: str
    start: int
    closing: bool = False  # only brackets: a comment before it belongs to what they hold
    trailing: list[str] = []


class _Clause(msgspec.Struct):
    """A clause with its label, from its first word to its full stop."""

    label: Variable | None
    node: Node
    start: int
    last: int  # where the last word before the full stop ends
    stop: int  # where the full stop ends


class _Pass:
    """One reading and writing of a law that has no errors."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.tokens, _ = tokenize(self.text)
        self.starts = [token.start for token in self.tokens]
        self.comments = self._comments()
        self.comment_starts = [comment.start for comment in self.comments]
        self.out: list[str] = []
        self.end = 0  # up to where the old text has been written

    def run(self) -> str:
        waiting = self.comments[:]
        waiting.reverse()
        for clause in self._clauses():
            while waiting and waiting[-1].start < clause.start:
                self._free_comment(waiting.pop())
            inside: list[_Comment] = []
            while waiting and waiting[-1].start < clause.last:
                inside.append(waiting.pop())
            lines = self._lines(clause, inside)
            below: list[_Comment] = []
            self._gap(clause.start)
            self.end = clause.last
            while waiting and self._belongs(waiting[-1], clause):
                comment = waiting.pop()
                if below or "\n" in self.text[self.end : comment.start]:
                    below.append(comment)
                else:
                    lines[-1].trailing.append(comment.text)
                self.end = comment.end
            self.end = max(self.end, clause.stop)
            for line in lines:
                self._write(line)
            for comment in below:
                self.out.append(" " * INDENT + comment.text)
        while waiting:
            self._free_comment(waiting.pop())
        return "\n".join(self.out) + "\n"

    # -- the old text ----------------------------------------------------------------------

    def _comments(self) -> list[_Comment]:
        found: list[_Comment] = []
        for start, end in comments(self.text):
            text = "\n".join(line.rstrip() for line in self.text[start:end].split("\n"))
            if found:
                between = self.text[found[-1].end : start]
                if not between.strip() and "\n" not in between:
                    last = found.pop()
                    text, start = f"{last.text} {text}", last.start
            found.append(_Comment(text, start, end))
        return found

    def _clauses(self) -> list[_Clause]:
        nodes = Reader(Source(self.text)).clauses()
        found: list[_Clause] = []
        label: Variable | None = None
        start, first = 0, True
        nodes.reverse()
        before: Token | None = None
        for token in self.tokens:
            if first and token.kind != "eof":
                if label is None:
                    start = token.start
                first = False
            if token.kind == "end":
                node = nodes.pop()
                assert node is not None, "the text has no errors"
                assert before is not None, "no clause is empty"
                first = True
                if isinstance(node, Variable):
                    label = node
                else:
                    found.append(_Clause(label, node, start, before.end, token.end))
                    label = None
            before = token
        return found

    def _token_before(self, offset: int) -> Token:
        return self.tokens[bisect_right(self.starts, offset) - 1]

    def _token_after(self, offset: int) -> Token:
        return self.tokens[bisect_right(self.starts, offset)]

    def _own_line(self, comment: _Comment) -> bool:
        return "\n" in self.text[self._token_before(comment.start).end : comment.start]

    def _column(self, offset: int) -> int:
        return offset - (self.text.rfind("\n", 0, offset) + 1)

    def _belongs(self, comment: _Comment, clause: _Clause) -> bool:
        """Whether a comment after the last word of a clause trails it or stands right below."""
        if comment.start < clause.stop:
            return True
        if comment.start > self._token_after(clause.stop - 1).start:
            return False
        breaks = self.text[max(self.end, clause.stop) : comment.start].count("\n")
        if not breaks:
            return True
        return breaks == 1 and self._column(comment.start) > self._column(clause.start)

    def commented(self, start: int, end: int) -> bool:
        """Whether a comment begins between two places."""
        place = bisect_right(self.comment_starts, start)
        return place < len(self.comments) and self.comments[place].start < end

    # -- the new text ----------------------------------------------------------------------

    def _gap(self, start: int) -> None:
        """At most one blank line, where the old text had any."""
        if self.out and self.text[self.end : start].count("\n") > 1:
            self.out.append("")

    def _free_comment(self, comment: _Comment) -> None:
        self._gap(comment.start)
        self.out.append(comment.text)
        self.end = comment.end

    def _write(self, line: _Line) -> None:
        # After `%` nothing can follow, so only the last comment trails.
        self.out.extend(" " * line.indent + comment for comment in line.trailing[:-1])
        text = " " * line.indent + line.text
        self.out.append(text + "  " + line.trailing[-1] if line.trailing else text)

    def _lines(self, clause: _Clause, inside: list[_Comment]) -> list[_Line]:
        lines = _Layout(self, clause).lines(whole=not inside)
        starts = [line.start for line in lines]
        before: dict[int, list[_Line]] = {}
        for comment in inside:
            if self._own_line(comment):
                place = bisect_right(starts, self._token_after(comment.start).start) - 1
                line = lines[max(place, 0)]
                indent = line.indent + (INDENT if line.closing else 0)
                before.setdefault(max(place, 0), []).append(_Line(indent, comment.text, 0))
            else:
                place = bisect_right(starts, self._token_before(comment.start).start) - 1
                lines[max(place, 0)].trailing.append(comment.text)
        return [
            found for place, line in enumerate(lines) for found in (*before.get(place, ()), line)
        ]


class _Layout:
    """One clause as lines."""

    def __init__(self, reading: _Pass, clause: _Clause) -> None:
        self.text = reading.text
        self.commented = reading.commented
        self.clause = clause
        self.out: list[_Line] = []
        self.texts: dict[tuple[int, int], str] = {}

    def lines(self, *, whole: bool) -> list[_Line]:
        """On one line if `whole` allows it and it fits."""
        clause, node = self.clause, self.clause.node
        label = f"{clause.label.name}. " if clause.label is not None else ""
        one = f"{label}{self._flat(node, WHOLE)}."
        if whole and len(one) <= WIDTH_MAX:
            return [_Line(0, one, clause.start)]
        if isinstance(node, Struct) and node.name == ":-" and len(node.args) == 2:
            head, body = node.args
            self._term(head, 0, 0, label, " :-", clause.start)
            self._goals(body, INDENT, INDENT, "", ".", body.span.start)
        else:
            self._term(node, 0, 0, label, ".", clause.start)
        return self.out

    def _flat(self, node: Node, allowed: int = 999) -> str:
        key = id(node), allowed
        if key not in self.texts:
            self.texts[key] = show_node(node, spaced=True, allowed=allowed, lexeme=self._lexeme)
        return self.texts[key]

    def _lexeme(self, node: Const) -> str:
        written = self.text[node.span.start : node.span.end]
        return written if written[:1] in '"-0123456789' and written != "-" else show_constant(node)

    def _add(self, indent: int, text: str, start: int, *, closing: bool = False) -> None:
        if self.out:  # what comes later in the new text came later in the old
            start = max(start, self.out[-1].start)
        self.out.append(_Line(indent, text, start, closing))

    # In what follows, a line begins at `indent` with `lead`, and `column` is where the words
    # after `lead` hang: inner lines are indented from there.

    def _goals(
        self, node: Node, indent: int, column: int, lead: str, suffix: str, start: int
    ) -> None:
        """A conjunction, a goal a line; `suffix` ends the last."""
        goals = _conjuncts(node)
        for index, goal in enumerate(goals):
            ending = suffix if index + 1 == len(goals) else ","
            if index:
                indent, lead, start = column, "", goal.span.start
            if isinstance(goal, Struct) and goal.name in (";", "->") and len(goal.args) == 2:
                self._block(goal, indent, column, lead, ending, start)
            else:
                self._term(goal, indent, column, lead, ending, start)

    def _block(
        self, node: Struct, indent: int, column: int, lead: str, suffix: str, start: int
    ) -> None:
        """`( C -> A` and `; B )`, a branch a line where it fits."""
        branches = _branches(node)
        lead += "( "
        for index, (condition, body) in enumerate(branches):
            if index:
                indent, lead, start = column, "; ", branches[index - 1][1].span.end
            last = index + 1 == len(branches)
            closing = f" ){suffix}" if last else ""
            one = self._flat(body, 1099)
            if condition is not None:
                one = f"{self._flat(condition, 1049)} -> {self._flat(body, 1050)}"
            one = lead + one + closing
            fits = indent + len(one) <= WIDTH_MAX and not self.commented(start, body.span.end)
            if fits and not _has_block(body) and (condition is None or not _has_block(condition)):
                self._add(indent, one, start)
                continue
            hang = column + 2
            if condition is None:
                self._goals(body, indent, hang, lead, "", start)
            else:
                self._goals(condition, indent, hang, lead, " ->", start)
                inner = column + INDENT
                self._goals(body, inner, inner, "", "", body.span.start)
            if last:
                self._add(column, f"){suffix}", node.span.end - 1, closing=True)

    def _term(
        self, node: Node, indent: int, column: int, lead: str, suffix: str, start: int
    ) -> None:
        """A term on one line, or its arguments on lines of their own when it must be broken."""
        one = lead + self._flat(node) + suffix
        fits = indent + len(one) <= WIDTH_MAX and not self.commented(node.span.start, node.span.end)
        if fits or column > BREAK_COLUMN_MAX or not self._breaks(node):
            self._add(indent, one, start)
        elif isinstance(node, ListSyntax):
            self._items(node, indent, column, lead + "[", "]" + suffix, start)
        elif isinstance(node, Struct) and isinstance(allowed := operator_of(node), Infix):
            left, right = node.args
            operator = infix_text(node.name, spaced=True)
            if self._breaks(right):
                opened, closed = _brackets(right, allowed.right)
                lead += self._flat(left, allowed.left) + operator + opened
                self._term(right, indent, column, lead, closed + suffix, start)
            else:
                opened, closed = _brackets(left, allowed.left)
                suffix = closed + operator + self._flat(right, allowed.right) + suffix
                self._term(left, indent, column, lead + opened, suffix, start)
        elif isinstance(node, Struct):
            opening = f"{lead}{functor_text(node.name)}("
            if len(node.args) == 1 and self._breaks(node.args[0]):
                self._term(node.args[0], indent, column, opening, ")" + suffix, start)
            else:
                self._items(node, indent, column, opening, ")" + suffix, start)

    def _breaks(self, node: Node) -> bool:
        """Whether a term has brackets of its own to break at, down to where breaking ends."""
        for _ in range(3):
            if isinstance(node, ListSyntax):
                return bool(node.items)
            if not isinstance(node, Struct):
                return False
            operator = operator_of(node)
            if not isinstance(operator, Infix):
                return operator is None
            if operator.priority > 700:
                return False
            node = node.args[0] if node.name == "@" else node.args[1]
        return False

    def _items(
        self,
        node: Struct | ListSyntax,
        indent: int,
        column: int,
        opening: str,
        ending: str,
        start: int,
    ) -> None:
        items = node.args if isinstance(node, Struct) else node.items
        tail = node.tail if isinstance(node, ListSyntax) else None
        self._add(indent, opening, start)
        inner = column + INDENT
        for index, item in enumerate(items):
            comma = "," if index + 1 < len(items) else ""
            self._item(item, inner, "", comma)
        if tail is not None:
            self._item(tail, inner, "| ", "")
        self._add(column, ending, node.span.end - 1, closing=True)

    def _item(self, node: Node, column: int, lead: str, suffix: str) -> None:
        start, end = node.span
        one = lead + self._flat(node) + suffix
        fits = column + len(one) <= WIDTH_MAX and not self.commented(start, end)
        operator = ""
        if isinstance(node, Struct) and isinstance(operator_of(node), Infix):
            operator = node.name
        if operator == "," and not fits:  # goals inside `not` and `findall`
            self._goals(node, column, column + 2, lead + "( ", " )" + suffix, start)
        elif isinstance(node, Struct) and operator in (";", "->") and not fits:
            self._block(node, column, column, lead, suffix, start)
        elif operator == ":-":
            self._add(column, one, start)
        else:
            self._term(node, column, column, lead, suffix, start)


def _brackets(node: Node, allowed: int) -> tuple[str, str]:
    """The brackets an operand needs: its operator may bind less tightly than its place allows."""
    operator = operator_of(node)
    needed = isinstance(operator, Infix) and operator.priority > allowed
    return ("(", ")") if needed else ("", "")


def _conjuncts(node: Node) -> list[Node]:
    """The goals of a conjunction, however it is bracketed."""
    found: list[Node] = []
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, Struct) and item.name == "," and len(item.args) == 2:
            pending.extend(reversed(item.args))
        else:
            found.append(item)
    return found


def _branches(node: Node) -> list[tuple[Node | None, Node]]:
    """The branches of a block: condition and body, or a body alone."""
    found: list[tuple[Node | None, Node]] = []
    while isinstance(node, Struct) and node.name == ";" and len(node.args) == 2:
        found.append(_branch(node.args[0]))
        node = node.args[1]
    found.append(_branch(node))
    return found


def _branch(node: Node) -> tuple[Node | None, Node]:
    if isinstance(node, Struct) and node.name == "->" and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None, node


def _has_block(node: Node) -> bool:
    return any(
        isinstance(goal, Struct) and goal.name in (";", "->") and len(goal.args) == 2
        for goal in _conjuncts(node)
    )
