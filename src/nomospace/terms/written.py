"""Tuples and templates as people type them, field by field: on a command line, in a box of a page.

A field of a tuple is a ground term in the usual text. A pattern is one too, with holes in it, at
any depth; a hole is a variable, with what must stand in it behind a colon:

| text | asks for |
| --- | --- |
| `17`, `fire`, `room(3)`, `'two words'` | this very value |
| `_` | anything |
| `_:int` | a kind: `int`, `float`, `number`, `str`, `bool`, `bytes`, `list` or `any` |
| `_:1..10`, `_:'a'..'m'` | a number, or a string, from one to the other, both included |
| `_:'> 5'` | a value of which a predicate holds (`formals.where`) |
| `_:Car` | an object of a class, whose name begins with a capital |
| `X` | anything, and the same wherever `X` stands; `X:int` says its kind besides |
| `room(_:int)`, `[_,2]` | a compound, or a list, with such holes inside |
| `{n: _:int, "status": open}` | a dict with at least these keys; `_:dict` is any |

What this cannot say, the term of a formal does: `formal(class('Car'),'price.amount < 5000')`.

Whatever is wrong is shown with a caret (`Faulty`). To keep carets true, a hole with a colon is
masked before the terms' own reader sees it, by a variable of the same length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from nomospace.terms.formals import ANY, KINDS, BadFormal, a, between, is_formal, same, where
from nomospace.terms.match import resolve
from nomospace.terms.predicate import FaultyPredicate
from nomospace.terms.source import Faulty, Source, Span
from nomospace.terms.syntax import Reader
from nomospace.terms.text import from_node, show
from nomospace.terms.tokens import (
    ListSyntax,
    Node,
    Struct,
    SyntaxFault,
    Variable,
    nodes_in,
    tokenize,
)
from nomospace.terms.values import FORMAL, OBJECT, Compound, Term, Var, check_size

_QUOTED: Final = r"""'(?:[^'\\\n]++|\\.|'')*'|"(?:[^"\\\n]++|\\.|"")*\""""
_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_RANGE: Final = re.compile(rf"({_QUOTED}|{_NUMBER})\.\.({_QUOTED}|{_NUMBER})")
_VARIABLE: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")
_PROSE: Final = re.compile(r"[\w .,;!?&/-]+")
_PIECE: Final = re.compile(
    rf"""(?P<hole>[A-Z_][A-Za-z0-9_]*:(?!-[^0-9])(?:{_QUOTED}|[A-Za-z0-9_.+-])*)
        |(?P<other>{_QUOTED}|[A-Za-z0-9_]+|\s{{8,}}+)
        |(?P<colon>(?!(?<==):=):(?!-))  # and no part of =:=""",
    re.VERBOSE,
)


def read_fields(texts: Sequence[str]) -> tuple[Term, ...]:
    """The values of a tuple's fields; raises `Faulty` for the first that is wrong.

    >>> read_fields(["job", "17", "room(3)", "'two words'"])
    ('job', 17, term('room(3)'), 'two words')
    >>> read_fields(["job", "Smith"])
    Traceback (most recent call last):
    nomospace.terms.source.Faulty: field 2:1:1: error [field-variable] Smith is a variable, \
and a tuple holds values
      1 | Smith
        | ^^^^^
          help: write 'Smith' in quotes if a string was meant
    """
    return tuple([_read(text, f"field {i}", holes=False) for i, text in enumerate(texts, 1)])


def read_patterns(texts: Sequence[str]) -> tuple[Term, ...]:
    """The patterns of a template; raises `Faulty` for the first that is wrong.

    >>> read_patterns(["job", "_:int", "room(_:1..10)", "X"])
    ('job', term('formal(int)'), term('room(formal(int,between(1,10)))'), \
term("formal(any,same('X'))"))
    >>> read_patterns(["job", "_:itn"])
    Traceback (most recent call last):
    nomospace.terms.source.Faulty: pattern 2:1:3: error [pattern-kind] there is no kind 'itn'
      1 | _:itn
        |   ^^^
          help: did you mean int?
    """
    return tuple([_read(text, f"pattern {i}", holes=True) for i, text in enumerate(texts, 1)])


def show_pattern(pattern: Term, *, limit: int | None = None) -> str:
    """A pattern as one would type it; one with holes inside, or of no such text, as its term.

    The text of a term has at most `limit` characters (`show`).

    >>> [show_pattern(one) for one in read_patterns(["job", "_", "_:int", "_:1..10", "X", "_:Car"])]
    ['job', '_', '_:int', '_:1..10', 'X', '_:Car']
    """
    if not is_formal(pattern):
        return show(pattern, limit=limit)
    kind, *more = pattern.args
    wanted = more[0] if more else None
    if isinstance(kind, Compound):
        name = str(kind.args[0])
        typed = name.isascii() and name.isidentifier() and name[:1].isupper()
        return f"_:{name}" if typed and not more else show(pattern, limit=limit)
    assert isinstance(kind, str)
    if wanted is None:
        return "_" if kind == "any" else f"_:{kind}"
    if isinstance(wanted, str):
        return (
            f"_:{_quoted(wanted)}"
            if kind == "any" and _plain(wanted)
            else show(pattern, limit=limit)
        )
    assert isinstance(wanted, Compound)
    if wanted.name == "same":
        name = str(wanted.args[0])
        if not _VARIABLE.fullmatch(name):
            return show(pattern, limit=limit)
        return name if kind == "any" else f"{name}:{kind}"
    low, high = wanted.args
    if between(low, high) != pattern or not (_plain(low) and _plain(high)):
        return show(pattern, limit=limit)
    return f"_:{_quoted(low)}..{_quoted(high)}"


def _plain(value: Term) -> bool:
    """Whether a value can stand behind the colon of a hole as it is."""
    if isinstance(value, str):
        return value.isprintable() and not set(value) & set("'\"\\")
    return re.fullmatch(_NUMBER, show(value)) is not None


def _quoted(value: Term) -> str:
    return f"'{value}'" if isinstance(value, str) else show(value)


def _read(text: str, name: str, *, holes: bool) -> Term:
    source = Source(text, name)
    try:
        return _term(text, _node(source), holes=holes)
    except SyntaxFault as raised:
        raise Faulty(source=source, diagnostics=(raised.diagnostic,)) from None


def _node(source: Source) -> Node:
    """The text as nodes, in which a hole is a variable, named as it is written."""
    text = source.text
    reader = Reader(Source(_mask(text)))
    node = reader.single()
    if node is None:
        found = tuple(reader.faults)
        if _PROSE.fullmatch(text):
            found = (replace(found[0], help="text that is no term needs quotes: 'two words'"),)
        raise Faulty(source=source, diagnostics=found)
    for part in nodes_in(node):
        if isinstance(part, Variable):
            part.name = text[part.span.start : part.span.end]
        elif isinstance(part, Struct) and part.name == "@" and text[part.span.start] not in "'\"":
            written = text[part.span.start : part.span.end]
            raise SyntaxFault(
                "field-at",
                f"{written} is no id of an agent without quotes",
                part.span,
                f"write '{written}'",
            )
    return node


def _mask(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match["colon"] and "{" not in text:  # there it stands behind a key
            raise SyntaxFault(
                "field-colon",
                "a colon stands behind _ or a variable only",
                Span(*match.span()),
                "ask for a kind as in _:int; text with a colon in it needs quotes: '12:30'",
            )
        return "_" * len(match[0]) if match["hole"] else match[0]

    return _PIECE.sub(one, text)


def _term(text: str, node: Node, *, holes: bool) -> Term:
    formals: dict[str, Term] = {}
    for part in nodes_in(node):
        if isinstance(part, Variable):
            if not holes:
                raise _not_a_value(part)
            formals[part.name] = _formal(part)
        elif holes and isinstance(part, ListSyntax) and part.tail is not None:
            raise SyntaxFault(
                "pattern-tail",
                "a list is asked for whole",
                part.tail.span,
                "write as many _ as it has items, or _:list for any list",
            )
    variables: dict[str, Var] = {}
    read = from_node(node, variables)
    for name, variable in variables.items():
        variable.ref = formals["_" if name.startswith("_#") else name]  # each `_` has a number
    read = resolve(read)
    check_size(read)
    return read


def _not_a_value(part: Variable) -> SyntaxFault:
    if part.name[0] == "_":
        why, help = f"{part.name} asks for a value, and a tuple holds values", "write one"
    else:
        why = f"{part.name} is a variable, and a tuple holds values"
        help = f"write '{part.name}' in quotes if a string was meant"
    return SyntaxFault("field-variable", why, part.span, help)


def _formal(part: Variable) -> Compound:
    """What a hole asks for."""
    name, colon, wanted = part.name.partition(":")
    span = Span(part.span.start + len(name) + len(colon), part.span.end)
    if not colon:
        return ANY if name == "_" else same(name)
    ends = _RANGE.fullmatch(wanted)
    try:
        if ends is not None:
            made = between(_constant(ends[1], span), _constant(ends[2], span))
        elif wanted[:1] in ("'", '"'):
            made = where(str(_constant(wanted, span)))
        elif wanted[:1].isupper() and wanted.isidentifier():
            made = a(wanted)
        elif wanted in KINDS:
            kind = Compound(FORMAL, (wanted,))
            return kind if name == "_" else Compound(FORMAL, (wanted, Compound("same", (name,))))
        elif wanted == "dict":
            made = Compound(OBJECT, (None, None, ()))
        else:
            raise _no_kind(wanted, span)
    except BadFormal as error:
        raise SyntaxFault("pattern-range", error.why, span) from None
    except FaultyPredicate as error:
        found = error.diagnostic
        raise SyntaxFault("pattern-predicate", found.message, span, found.help) from None
    if name != "_":
        raise SyntaxFault(
            "pattern-named",
            f"{name} may have a kind behind the colon, and nothing else",
            span,
            f"write _:{wanted}, or {name} alone",
        )
    return made


def _constant(text: str, span: Span) -> Term:
    """A number or a quoted text."""
    tokens, faults = tokenize(text.removeprefix("-"))
    if faults or len(tokens) != 2:
        why = faults[0].message if faults else f"{text} is neither a number nor one quoted text"
        raise SyntaxFault("pattern-constant", why, span)
    value = tokens[0].value
    return -value if text[0] == "-" and isinstance(value, int | float) else value


def _no_kind(wanted: str, span: Span) -> SyntaxFault:
    if not wanted or not wanted.isidentifier():
        what = "nothing" if not wanted else f"{wanted!r}"
        return SyntaxFault(
            "pattern-kind",
            f"behind the colon stands {what}",
            span,
            "write a kind (_:int), a range (_:1..10), a class (_:Car) or a predicate (_:'> 5')",
        )
    near = get_close_matches(wanted, KINDS, n=1)
    help = f"did you mean {near[0]}?" if near else f"there are {', '.join(KINDS)}"
    return SyntaxFault("pattern-kind", f"there is no kind {wanted!r}", span, help)
