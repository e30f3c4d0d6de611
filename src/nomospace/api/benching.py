"""A law that is still being written: what is wrong with it, its hash, how it differs from another,
and what to try it on.

The words are those of `nomospace law check` and `nomospace law diff`. A text is read by a worker
of the host (`node.working`), because people type while the host works, and some type for hours.

Quick fixes: what the help of a finding says, as a change of the text to be made at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import Field

from nomospace.api.models import Asked
from nomospace.api.routing import PROBLEMS, Caller, TheService
from nomospace.errors import CallerError
from nomospace.node.viewed import RulingView
from nomospace.node.views import Views
from nomospace.node.working import LawFinding, Workers
from nomospace.terms import Compound, Faulty, show, term
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


DRAFT_CHARS_MAX: Final = 400_000
"""The longest text that is checked while it is typed."""
FINDINGS_MAX: Final = 100
"""How many findings are told; the rest is counted."""

EVENTS_MAX: Final = 30
"""How many recorded messages are offered as a scenario."""
RULINGS_MAX: Final = 1_000
"""How many of the latest rulings are looked at for them."""

Language = Literal["law", "python"]
NAMES: Final[dict[str, str]] = {"law": "draft.law", "python": "draft.law.py"}
"""What a draft is called in messages, by its language: the name tells how to read it."""

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["laws"])


class DraftTooLong(CallerError):
    """A law's text is too long to be checked while it is typed."""

    code = "api.draft-too-long"
    words = (
        f"the text has {{chars:,}} characters, and {DRAFT_CHARS_MAX:,} can be checked here; "
        "use `nomospace law check FILE`"
    )
    chars: int


@dataclass(frozen=True, slots=True)
class FindingView:
    """One thing found in a law: where (from 1; offsets from 0), and the words with their caret."""

    severity: str
    code: str
    message: str
    line: int
    column: int
    start: int
    end: int
    text: str
    help: str = ""
    fixes: tuple[FixView, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedView:
    """A text as a law. It has a hash when it has no errors."""

    name: str
    hash: str
    rules: int
    errors: int
    warnings: int
    findings: tuple[FindingView, ...]


class CheckAsked(Asked):
    """A text that is to be a law."""

    text: Annotated[str, Field(max_length=DRAFT_CHARS_MAX)]
    language: Language = "law"


@router.post("/laws/check")
async def check(asked: CheckAsked, caller: Caller, service: TheService) -> CheckedView:
    """All errors and warnings of a text, and the hash of the law that it is without errors."""
    return await check_law(service.work, asked.text, asked.language, who=caller.name)


async def check_law(
    work: Workers, text: str, language: Language = "law", *, who: str = ""
) -> CheckedView:
    """What `nomospace law check` says of a text; raises `DraftTooLong`."""
    found = await work.examined(_checked(text), NAMES[language], FINDINGS_MAX, who)
    findings = tuple([_finding(one, text) for one in found.findings])
    return CheckedView(found.name, found.hash, found.rules, found.errors, found.warnings, findings)


def _finding(found: LawFinding, text: str) -> FindingView:
    said, (line, column), words = found
    start = min(said.span.start, len(text))
    end = min(max(said.span.end, start), len(text))
    known, place = (said.severity, said.code, said.message), (line, column, start, end)
    return FindingView(*known, *place, words, said.help, fixes_of(said, text))


async def lay_out(work: Workers, text: str, *, who: str = "") -> str:
    """A law of the first language in the one layout; raises `Faulty`, `DraftTooLong`."""
    return await work.layout(_checked(text), NAMES["law"], who)


def _checked(text: str) -> str:
    if len(text) > DRAFT_CHARS_MAX:
        raise DraftTooLong(chars=len(text))
    return text


async def recorded_events(views: Views, law: str, *, most: int = EVENTS_MAX) -> str:
    """The latest messages under a law at a host, as lines for `nomospace law run`.

    Each member that sends or gets one begins with the control state that it has now, so a run is
    near to what would happen next, and not a copy of what did. Times begin with 0. What arrived
    from members here is left out: their sending brings it about.
    """
    rulings = await views.latest(law=law, most=RULINGS_MAX, among=RULINGS_MAX)
    here = {one.home: one for one in views.members(law)}
    chosen = [
        one for one in reversed(rulings) if one.kind in ("sent", "arrived") and one.home in here
    ]
    lines: list[tuple[int, dict[str, object]]] = []
    homes: dict[str, None] = {}
    for one in [one for one in chosen if one.kind == "sent" or one.sender not in here][-most:]:
        line = _event_line(one)
        if line is not None:
            homes[one.home] = None
            lines.append((one.at, line))
    begin = lines[0][0] if lines else 0
    told = [{"at": round((at - begin) / 1_000_000, 3), **line} for at, line in lines]
    states = [
        {"home": home, "control_state": list(here[home].state)}
        for home in homes
        if here[home].state_count == len(here[home].state)
    ]
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in [*states, *told])


def _event_line(ruling: RulingView) -> dict[str, object] | None:
    """A message as `law run` reads it; `None` for one that was too long to be shown whole."""
    try:
        found = term(ruling.event)
    except Faulty:
        return None
    if not isinstance(found, Compound) or len(found.args) != 3:
        return None
    sender, message, to = found.args
    line: dict[str, object] = {"home": ruling.home, "event": ruling.kind, "message": show(message)}
    if ruling.kind == "arrived":
        return {**line, "from": sender}
    return {**line, "to": list(to) if isinstance(to, tuple) else to}


async def difference(
    work: Workers, old: tuple[str, Language], new: tuple[str, Language], *, who: str = ""
) -> str:
    """What `nomospace law diff` says of two texts; raises `Faulty` for one that is no law."""
    before, after = [(text, NAMES[language]) for text, language in (old, new)]
    return await work.difference(before, after, who)
