"""Quick fixes: what the help of a finding says, as a change of the text to be made at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nomospace.terms.source import Diagnostic

FIXES_MAX: Final = 3
"""How many are offered for one finding."""
_CODE: Final = r"(?:do\()?[\w+-]+(?:\((?:[^()]|\([^()]*\))*\))?\)?"
_MEANT: Final = re.compile(rf"did you mean ({_CODE})(?: or ({_CODE}))?\?")
_WRITE: Final = re.compile(rf"(?:^|; |: )(?:write|use) ({_CODE}|=<|>=)(?: or (_))?")
_SUCH: Final = re.compile(r"such as (.+\.)$")
_BEFORE: Final = re.compile(r"put it before (\w+)")
_NAME: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FixView:
    """A change: what it is called, from where to where (offsets from 0), and the text put there."""

    label: str
    start: int
    end: int
    text: str


def fixes_of(found: Diagnostic, text: str) -> tuple[FixView, ...]:
    """The changes that the help of a finding names.

    >>> from nomospace.law.program import examine
    >>> from nomospace.terms.source import Source
    >>> text = "law(l). R1. sent(X, M, Y) :- do(forwrad)."
    >>> found = examine(Source(text, "l.law"))[1]
    >>> [one.label for each in found for one in fixes_of(each, text)][:1]
    ['forward']
    """
    return tuple(_fixes(found, text))[:FIXES_MAX]


def _fixes(found: Diagnostic, text: str) -> Iterator[FixView]:
    start, end = found.span.start, min(found.span.end, len(text))
    here, help = text[start:end], found.help
    meant = _MEANT.search(help)
    such = _SUCH.search(help)
    written = _WRITE.search(help)
    if meant:
        for one in filter(None, meant.groups()):
            yield _instead(start, end, here, one)
    elif such:
        yield FixView(f"Add {such[1]}", len(text), len(text), f"{_line(text)}{such[1]}\n")
    elif "add an arrived rule" in help:
        rule = "arrived(X, M, Y) :- do(deliver)."
        yield FixView(f"Add {rule}", len(text), len(text), f"{_line(text)}{rule}\n")
    elif written:
        for one in filter(None, written.groups()):
            inner = one[3:-1] if one.startswith("do(") and not here.startswith("do(") else one
            yield FixView(one, start, end, inner)
    elif "quotes" in help and here and "\n" not in here:
        yield FixView(f"'{here}'", start, end, f"'{here}'")
    elif found.code == "syntax-full-stop":
        at = len(text.rstrip())
        yield FixView("Add the full stop", at, at, ".")
    before = _BEFORE.search(help)
    if before and (place := re.search(rf"^{before[1]}\.", text, re.MULTILINE)):
        begin, stop = _clause(text, start)
        if place.start() < begin:
            moved = f"{text[begin:stop].rstrip()}\n{text[place.start() : begin]}"
            yield FixView(f"Put it before {before[1]}", place.start(), stop, moved)
    if "remove it" in help or "remove one" in help or "leave it out" in help:
        begin, stop = _clause(text, start)
        yield FixView("Remove it", begin, stop, "")


def _instead(start: int, end: int, here: str, meant: str) -> FixView:
    """Another name for what stands here; its arguments stay, where it has some."""
    name = _NAME.match(here)
    if name is not None and "(" in here and name.end() < len(here):
        return FixView(meant, start, start + name.end(), meant.partition("(")[0])
    return FixView(meant, start, end, meant)


def _line(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"


def _clause(text: str, at: int) -> tuple[int, int]:
    """The clause around a place: from the end of the one before to its own full stop.

    >>> _clause("law(l).\\nR1. a :- b.\\nR2. c.", 12)
    (8, 20)
    """
    stops = [one.end() for one in re.finditer(r"[^A-Z\d\s]\.(?=\s|$)\n?", text)]
    begin = max([0, *[one for one in stops if one <= at]])
    stop = min([len(text), *[one for one in stops if one > at]])
    return begin, stop
