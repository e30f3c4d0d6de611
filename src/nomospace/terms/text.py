"""Terms to text and back. Reading what was printed gives an equal term.

The canonical text has no spaces but where two words would run together, quotes atoms only where
they must be quoted, writes operators between their operands, and brackets only what would be
read otherwise: `quota(3)<-quota(2)`, `forward('a@w',m,'b@w')`, `1-(2-3)`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from nomospace.errors import CallerError
from nomospace.terms.freezing import freeze
from nomospace.terms.source import Faulty, Source
from nomospace.terms.syntax import INFIX, PREFIX, SPELT_VALUES, Infix, Prefix, Reader
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable as VariableNode, fold
from nomospace.terms.values import (
    OBJECT,
    PARTIAL as PARTIAL,
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    Term,
    TooLarge,
    Var,
    check_size,
    dict_items,
    weight,
)

KNOWN: Final = 512
"""How many short texts are known again: programs send the same few messages over and over."""
KNOWN_CHARS: Final = 200
"""How long a short text may be."""
_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
QUOTED_CHARS: Final = 32_768
"""So many characters are quoted at a time, in a millisecond: between two, other threads run."""
_HALVES: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final = ("is", "mod", "rem", "not")
_SIGNS: Final = ("+", "-", "\\+")
WHOLE: Final = 1200
"""The priority of a whole clause body: nothing in it needs brackets for where it stands."""
ARGUMENT: Final = 999
"""The highest priority that an argument or an item of a list has without brackets."""
Printed: TypeAlias = Term | Node
Piece: TypeAlias = str | tuple[Printed, int]
"""On a printer's stack: text, or what is yet to be printed with the priority that it may have."""
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", "'": "\\'"}
_UNSEEN: Final = (*range(0x20), *range(0x7F, 0xA1), 0x2028, 0x2029)
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in _UNSEEN} | str.maketrans(_SHORT)


class NotGround(CallerError):
    """A text was read as a value, and it holds a variable."""

    code = "term.not-ground"
    text: str
    variable: str

    def __str__(self) -> str:
        help = f"write '{self.variable}' in quotes if a string was meant"
        if self.variable == "_":
            help = "write a value in its place"
        what = f"the term {self.text[:80]!r} holds the variable {self.variable}"
        return f"{what}, and a value must be ground; {help}"


def term(text: str) -> Term:
    """Read a ground term.

    >>> term("alarm(kind(fire),text('smoke in 3'))")
    term("alarm(kind(fire),text('smoke in 3'))")
    """
    return _known(text) if len(text) <= KNOWN_CHARS else _read(text)


def _read(text: str) -> Term:
    read, variables = pattern(text)
    if variables:
        raise NotGround(text=text, variable=next(iter(variables)).partition("#")[0])
    return read


_known: Final = lru_cache(maxsize=KNOWN)(_read)


def pattern(text: str) -> tuple[Term, dict[str, Var]]:
    """Read a term that may hold variables; gives it with its variables by name."""
    source = Source(text, "<term>")
    reader = Reader(source)
    node = reader.single()
    if node is None:
        raise Faulty(source=source, diagnostics=tuple(reader.faults))
    variables: dict[str, Var] = {}
    read = from_node(node, variables)
    check_size(read)
    return read, variables


def from_node(node: Node, variables: dict[str, Var]) -> Term:
    """The term a node stands for. Variables are looked up by name, and entered when new.

    An anonymous `_` is a new variable each time and is entered under a name of its own.
    """
    if isinstance(node, Const):
        return node.value

    def leaf(item: Const | VariableNode) -> Term:
        return item.value if isinstance(item, Const) else _variable(item.name, variables)

    def join(item: Struct | ListSyntax, parts: tuple[Term, ...]) -> Term:
        if isinstance(item, Struct):
            return Compound(item.name, parts)
        return parts if item.tail is None else list_with_tail(parts[:-1], parts[-1])

    return fold(node, leaf, join)


def list_with_tail(items: tuple[Term, ...], tail: Term) -> Term:
    """`[items | tail]` as a term: a tuple, or a partial list when the tail is no list (yet)."""
    if type(tail) is tuple:
        return items + tail
    if not items:
        return tail
    return Compound(PARTIAL, (*items, tail))


def _variable(name: str, variables: dict[str, Var]) -> Var:
    if name == "_":
        name = f"_#{len(variables)}"
    found = variables.get(name)
    if found is None:
        found = variables[name] = Var("_" if name.startswith("_#") else name)
    return found


def quote(text: str) -> str:
    """An atom as it must be written: bare where that reads back, quoted otherwise.

    >>> quote("fire"), quote("alice@train"), quote("true")
    ('fire', "'alice@train'", "'true'")
    """
    if _PLAIN.match(text) and text not in SPELT_VALUES:
        return text
    if len(text) <= QUOTED_CHARS:
        made = text.translate(_ESCAPES)
    else:
        parts = [text[at : at + QUOTED_CHARS] for at in range(0, len(text), QUOTED_CHARS)]
        made = "".join([part.translate(_ESCAPES) for part in parts])
    if not made.isascii():
        made = _HALVES.sub(lambda found: f"\\u{ord(found.group()):04x}", made)
    return f"'{made}'"


def show(value: Any, *, spaced: bool = False, limit: int | None = None) -> str:
    """The canonical text of a term; `spaced` is for people's eyes.

    Unbound variables print as `_`. A text for people to read has a `limit`: what is longer ends in
    `…`, and no more of the term is looked at than is printed. A term made of shared parts may be
    exponentially longer than its memory: without a limit, one that is too large raises `TooLarge`
    instead of being printed (of a list, one with such an item).

    >>> show(Compound("<-", (Compound("quota", (3,)), Compound("quota", (2,)))))
    'quota(3)<-quota(2)'
    >>> show(tuple(range(1_000_000)), limit=12)
    '[0,1,2,3,4,…'
    """
    if limit is not None:
        return _show_whole(value, spaced, limit)
    if not spaced:
        try:
            return _show_light(value, _LEVELS, [_MANY])
        except _Many:
            pass
    for part in value if type(value) is tuple else (value,):
        if weight(part) > TERM_BYTES_MAX:
            raise TooLarge(what="its size in bytes", limit=TERM_BYTES_MAX)
    return _show_whole(value, spaced, sys.maxsize)


class _Many(Exception):
    """A term has more parts than most."""


def _show_light(value: Term, levels: int, left: list[int]) -> str:
    """`show` for terms as most are: not deep or large. What has operators is shown apart.

    Several times as quick as the other way; journals show each ruling thrice. `left` counts the
    compounds and lists that may still come.
    """
    if type(value) is str:
        return quote(value)
    if type(value) is not Compound and type(value) is not tuple:
        return _atomic(value)
    left[0] -= 1
    if left[0] < 0:
        raise _Many
    if levels and type(value) is tuple:
        return f"[{','.join([_show_light(part, levels - 1, left) for part in value])}]"
    if levels and type(value) is Compound and value.name == OBJECT:
        items = dict_items(value)
        if items is not None:
            left[0] -= len(items)
            shown = [f"{quote(key)}:{_show_light(part, levels - 1, left)}" for key, part in items]
            return f"{{{','.join(shown)}}}"
    if levels and type(value) is Compound and value.name not in _SPECIAL:
        parts = [_show_light(part, levels - 1, left) for part in value.args]
        return f"{functor_text(value.name)}({','.join(parts)})"
    left[0] -= weight(value) >> 3
    if left[0] < 0:
        raise _Many
    return _show_whole(value, False, sys.maxsize)


def _show_whole(value: Term, spaced: bool, limit: int) -> str:
    """`show` with a stack of its own, for terms of any depth; at most `limit` characters.

    Of a wide term only so many parts are taken as could be printed.
    """
    out: list[str] = []
    size = 0
    opened = 0
    todo: list[Piece] = [(value, ARGUMENT)]
    while todo:
        piece = todo.pop()
        if type(piece) is tuple:
            item, allowed = piece
            if type(item) is Compound or type(item) is tuple:
                opened += 1
                if opened > limit + TERM_DEPTH_MAX:  # operators open many before they print one
                    return "".join(out)[: limit - 1] + "…"
            if type(item) is Compound:
                todo.extend(reversed(_compound_pieces(item, allowed, spaced, limit)))
                continue
            if type(item) is tuple:
                todo.append("]")
                for index in range(min(len(item), limit) - 1, -1, -1):
                    todo.append((item[index], ARGUMENT))
                    if index:
                        todo.append(", " if spaced else ",")
                text = "["
            elif type(item) is str:
                text = quote(item if len(item) <= limit else item[: limit + 1])
            elif type(item) is bytes:
                text = _atomic(item[:limit])
            else:
                text = apart(out, _atomic(item))
        else:
            assert type(piece) is str
            text = piece if piece[0] != "-" else apart(out, piece)
        out.append(text)
        size += len(text)
        if size > limit:
            return "".join(out)[: limit - 1] + "…"
    return "".join(out)


_LEVELS: Final = 16
_MANY: Final = 10_000
_SPECIAL: Final = frozenset((*INFIX, *PREFIX, PARTIAL))
"""Functors that may be written otherwise than before brackets."""


def _atomic(value: object) -> str:
    if type(value) is str:
        return quote(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is bytes:
        return f"b'{value.hex()}'"
    if type(value) is float:
        return _float(value)
    if type(value) is int:
        return str(value)
    if isinstance(value, Var):
        return "_"
    if isinstance(value, dict):
        return show(freeze(value))  # as a program sees it
    raise TypeError(f"not a term: {value!r}")


def _float(value: float) -> str:
    text = repr(value)
    if "e" in text and "." not in text:
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}.0e{exponent}"
    return text


def _compound_pieces(item: Compound, allowed: int, spaced: bool, limit: int) -> list[Piece]:
    if item.name == OBJECT:
        items = dict_items(item, limit)
        if items is not None:
            return _dict_pieces(items, spaced)
    parts = item.args[:limit]
    if item.name == PARTIAL and len(parts) > 1 and type(parts[-1]) is not tuple:
        return ["[", *separated(parts[:-1], spaced), "|", (parts[-1], ARGUMENT), "]"]
    if item.name in _SPECIAL:
        pieces = operator_pieces(item, allowed, spaced)
        if pieces:
            return pieces
    return [f"{functor_text(item.name)}(", *separated(parts, spaced), ")"]


def _dict_pieces(items: tuple[tuple[str, Term], ...], spaced: bool) -> list[Piece]:
    comma, colon = (", ", ": ") if spaced else (",", ":")
    pieces: list[Piece] = ["{"]
    for index, (key, value) in enumerate(items):
        pieces += [f"{comma if index else ''}{quote(key)}{colon}", (value, ARGUMENT)]
    return [*pieces, "}"]


# -- compounds and operators, of terms and of the nodes that terms are read from -----------------


def apart(out: list[str], text: str) -> str:
    """`a< -1*b` would read as `a<-(1*b)` without the space."""
    return " " + text if text[0] == "-" and out and out[-1] == "<" else text


def separated(parts: Sequence[Printed], spaced: bool) -> list[Piece]:
    """Arguments or items, with commas between."""
    pieces: list[Piece] = []
    for index, part in enumerate(parts):
        if index:
            pieces.append(", " if spaced else ",")
        pieces.append((part, ARGUMENT))
    return pieces


def functor_text(name: str) -> str:
    """The name of a compound as it stands before its bracket."""
    return name if _PLAIN.match(name) else quote(name)


def infix_text(name: str, spaced: bool) -> str:
    """An infix operator with the space around it."""
    if name == ",":
        return ", " if spaced else ","
    return f" {name} " if name in _WORDS or (spaced and name != "@") else name


def operator_of(item: Printed) -> Infix | Prefix | None:
    """The operator that something is printed with, if it is."""
    if type(item) is not Compound and type(item) is not Struct:
        return None
    if len(item.args) == 2:  # reading makes `;` of `|`; a quoted '|' is a name like any other
        return INFIX.get(item.name) if item.name != "|" else None
    return PREFIX[item.name] if len(item.args) == 1 and item.name in _SIGNS else None


def operator_pieces(
    item: Compound | Struct, allowed: int, spaced: bool, *, signs: bool = True
) -> list[Piece]:
    """Something as an operator with its operands, in brackets if need be; nothing where it is none.

    With `signs`, what has a sign stands in brackets behind an infix operator.
    """
    if not item.args:
        return []
    name, first, last = item.name, item.args[0], item.args[-1]
    if len(item.args) == 2 and name in INFIX and name != "|":
        infix = INFIX[name]
        right = operand(last, infix.right, signs=signs)
        pieces = [*operand(first, infix.left), infix_text(name, spaced), *right]
        return bracketed(pieces) if infix.priority > allowed else pieces
    if len(item.args) != 1 or name not in _SIGNS:
        return []
    value = first.value if type(first) is Const else first
    if type(value) is int or type(value) is float or operator_of(first) is not None:
        # -(5) is not -5, -(1^2) is not -1^2, \\+(a,b) has two arguments: keep the brackets.
        return [f"{name}(", (first, ARGUMENT), ")"]
    pieces = [name, *operand(first, 0)]
    return bracketed(pieces) if PREFIX[name].priority > allowed else pieces


def operand(item: Printed, allowed: int, *, signs: bool = False) -> list[Piece]:
    """What stands beside an operator; with `signs`, in brackets if it has one: 1-(-1), a-(-b)."""
    value = item.value if type(item) is Const else item
    if type(value) is str and value in _WORDS:
        return [f"'{value}'"]  # beside an operator the bare word would be read as another
    if signs:
        if type(value) is int or type(value) is float:
            signed = value < 0
        else:
            signed = isinstance(operator_of(item), Prefix)
        if signed:
            return bracketed([(item, WHOLE)])
    return [(item, allowed)]


def bracketed(pieces: list[Piece]) -> list[Piece]:
    """Pieces in brackets."""
    return ["(", *pieces, ")"]
