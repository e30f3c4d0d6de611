"""A law, read and compiled in one process, for another one to have: in parts that load quickly.

Whoever compiles what strangers wrote does it in a process that may be killed (`node.working`). What
comes back is put together between other things, so no part may take long: rules, clauses and
constants go in groups, and a rule that alone is too much for one is a fault in the law's text.

The parts are pickled, so they are for processes of one host, and for nobody else.
"""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from nomospace.errors import LimitReached
from nomospace.law.prices import priced
from nomospace.law.program import CompiledLaw, Prepared, prepare, sound
from nomospace.law.tree import LawTree
from nomospace.terms import Diagnostic, Faulty, Source, Span

LAW_BYTES_MAX: Final = 131_072
"""The longest text of a law that a host takes from others."""
GROUP_BYTES: Final = 32_768
"""Small things go together, up to about this size."""
PART_BYTES_MAX: Final = 131_072
"""The most that one rule, clause or term may come to: it takes a host some milliseconds to load."""
FAULTS_MAX: Final = 100
"""Of a text with more faults, the first are told."""


class LawTooLong(LimitReached):
    """A law's text is longer than a host takes from others."""

    code = "limits.law-text"


def text_bytes(text: str) -> int:
    """How many bytes a law's text has.

    >>> text_bytes("law(café).")
    11
    """
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def check_length(text: str) -> None:
    """Raise `LawTooLong` for a text that is not even read.

    >>> check_length("law(open).")
    """
    size = text_bytes(text)
    if size > LAW_BYTES_MAX:
        raise LawTooLong(
            what=f"a law's text of {size:,} bytes",
            limit=LAW_BYTES_MAX,
            advice="make several laws of it, or keep long lists in a space and not in the law",
        )


def parts_of(source: Source) -> Iterator[bytes]:
    """Read, check and compile a text; the parts, for `Assembly`. Raises `Faulty`.

    >>> assembly = Assembly(Source("law(open). sent(X, M, Y) :- do(forward).", "open.law"))
    >>> for part in parts_of(assembly.source):
    ...     assembly.add(part)
    >>> assembly.made().name
    'open'
    """
    try:
        tree, hash, warnings = sound(source)
    except Faulty as error:
        raise Faulty(source=source, diagnostics=error.errors[:FAULTS_MAX]) from None
    clauses = [clause for found in tree.helpers.values() for clause in found]
    rules = list(_grouped("rules", tree.rules, source))
    helpers = list(_grouped("clauses", clauses, source))
    initial = list(_grouped("initial", tree.initial, source))
    code, growing = prepare(priced(tree), hash)
    bare = replace(tree, source=Source("", source.name), rules=(), helpers={}, initial=())
    frame = Prepared(replace(code, pieces=[], constants={}), growing)
    yield _part("law", (bare, hash, tuple(warnings[:FAULTS_MAX]), frame))
    yield from (*rules, *helpers, *initial)
    yield from _grouped("constants", code.constants.items(), source)
    for piece in code.pieces:
        yield _part("code", marshal.dumps(piece))


def _part(kind: str, value: object) -> bytes:
    return pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)


def _grouped(kind: str, items: Iterable[object], source: Source) -> Iterator[bytes]:
    group: list[Any] = []
    size = 0
    for item in items:
        weight = len(pickle.dumps(item, pickle.HIGHEST_PROTOCOL))
        if weight > PART_BYTES_MAX:
            raise _too_long(getattr(item, "span", Span(0, 1)), source)
        if group and size + weight > GROUP_BYTES:
            yield _part(kind, group)
            group, size = [], 0
        group.append(item)
        size += weight
    if group:
        yield _part(kind, group)


def _too_long(span: Span, source: Source) -> Faulty:
    why = "this is too long for a host to take it from others"
    found = Diagnostic("law-too-long", why, span, "make several rules or terms of it")
    return Faulty(source=source, diagnostics=(found,))


class Assembly:
    """Puts a law together again, one part at a time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._head: tuple[LawTree, str, tuple[Diagnostic, ...], Prepared]
        self._found: dict[str, list[Any]] = {}

    def add(self, part: bytes) -> None:
        """The next part is here."""
        kind, value = pickle.loads(part)
        if kind == "law":
            self._head = value
        elif kind == "code":
            self._found.setdefault(kind, []).append(marshal.loads(value))
        else:
            self._found.setdefault(kind, []).extend(value)

    def made(self) -> CompiledLaw:
        """All parts are here: the law."""
        tree, hash, warnings, prepared = self._head
        found = self._found
        helpers: dict[tuple[str, int], list[Any]] = {}
        for clause in found.get("clauses", ()):
            helpers.setdefault((clause.name, len(clause.args)), []).append(clause)
        tree.source = self.source
        tree.rules = tuple(found.get("rules", ()))
        tree.helpers = {key: tuple(clauses) for key, clauses in helpers.items()}
        tree.initial = tuple(found.get("initial", ()))
        prepared.code.pieces = found.get("code", [])
        prepared.code.constants = dict(found.get("constants", ()))
        return CompiledLaw(tree, hash, warnings, prepared)
