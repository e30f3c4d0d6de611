"""The law beside another over the same recorded events: only what comes out otherwise."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.benching import difference
from nomospace.console.frame import Frame
from nomospace.console.look import attributes, empty, exactly, fault, heading, moment, mono
from nomospace.console.places.law_bench.sources import communities_of, law_of, sources
from nomospace.console.places.law_bench.state import LawBenchState
from nomospace.console.places.listing import ListColumn, ListElement, Row
from nomospace.console.places.parts import Working, act, choice, hosts_of
from nomospace.console.stage import LawTrials as Tries, TrialFacts
from nomospace.errors import NomospaceError

NEWEST: Final = {"2000": "2,000 records", "20000": "20,000 records", "200000": "200,000 records"}
IN_FORCE: Final = "what was in force"
WORDS_MAX: Final = 4_000
"""How much of a ruling is compared word by word."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
COLUMNS: Final = (
    ListColumn("at", "time (UTC)", "98px", "num"),
    ListColumn("agent", "member", "minmax(80px, 1fr)", "mono"),
    ListColumn("event", "event", "minmax(120px, 2fr)", "mono"),
    ListColumn("before", "before", "minmax(110px, 2fr)", "mono"),
    ListColumn("after", "with this law", "minmax(110px, 2fr)", "mono"),
)


class Comparing:
    """Two laws over what a host recorded."""

    def __init__(self, frame: Frame, bench: LawBenchState, tries: Tries) -> None:
        self._frame = frame
        self._bench = bench
        self._tries = tries

    def draw(self) -> None:
        """What is to be compared, and the button that does it."""
        console, bench = self._frame.console, self._bench
        ui.label(
            "The law on the left over what members really did, beside another law. "
            "Only rulings that differ are shown, the first one first."
        ).classes("quiet small")
        into = partial(partial, setattr, bench)  # keeps a choice under a name
        before = {"": IN_FORCE, **sources(console)}
        hosts = hosts_of(list(console.services))
        bench.host = bench.host if bench.host in hosts else next(iter(hosts))
        with ui.element("div").classes("line-up"):
            choice("Compare with", before, bench.before, into("before")).classes("wide")
            if len(hosts) > 1:
                choice("Host", hosts, bench.host, into("host"))
            communities = {"": "that of the law's name", **communities_of(console)}
            choice("Community", communities, bench.community, into("community"))
            choice("Over the newest", NEWEST, bench.newest, into("newest"))
            run = act("Compare", self._compare, main=True)
        said = ui.element("div")
        self._working = Working(run, said)
        if bench.compared_fault is not None:
            with said:
                fault(bench.compared_fault)

    def draw_found(self) -> ui.element:
        """What comes out otherwise; gives the element that holds it."""
        section = ui.element("section").classes("card bench-below")
        with attributes(section, aria_label="What differs"):
            self._found = ui.element("div").classes("bench-compared")
        self._show()
        return section

    async def _compare(self) -> None:
        if await self._working(self._work()):
            self._show()

    async def _work(self) -> None:
        bench, draft = self._bench, self._bench.draft
        bench.compared_fault = None
        try:
            before = law_of(self._frame.console, bench.before) if bench.before else None
            community = bench.community or (bench.checked.name if bench.checked else "")
            words = ""
            if before is not None:
                words = await difference(
                    self._frame.console.service.work,
                    (before.text, before.language),
                    (draft.text, draft.language),
                    who=self._frame.viewer.name,
                )
            bench.compared = await self._tries.compare(
                bench.host, community, before, draft, newest=int(bench.newest)
            )
            bench.difference = words
        except NomospaceError as error:
            bench.compared_fault = error
            raise

    def _show(self) -> None:
        found = self._bench.compared
        if self._found.is_deleted:
            return
        self._found.clear()
        with self._found:
            if found is None:
                empty("Rulings that come out otherwise would be here.", "Press Compare.")
                return
            ui.label(told(found)).classes("bench-said").props("role=status")
            first = found["first"]
            if first:
                with ui.element("div").classes("bench-split"):
                    ListElement(
                        COLUMNS,
                        [_row(number, one) for number, one in enumerate(first)],
                        label="Rulings that differ",
                        none="",
                        now=0,
                        on_pick=lambda id: self._tell(first[int(id)]),
                        note=_more(found),
                    ).classes("bench-list")
                    self._one = ui.element("div").classes("bench-told").props("aria-live=polite")
                self._tell(first[0])
            if self._bench.difference:
                with ui.expansion("The two texts, rule by rule").props("dense"):
                    mono(self._bench.difference).classes("pre")

    def _tell(self, one: TrialFacts) -> None:
        self._one.clear()
        with self._one:
            with ui.element("div").classes("bench-step-head"):
                ui.label(exactly(int(one["at"]))).classes("num")
                mono(str(one["agent"]))
            mono(str(one["event"])).classes("term wrap")
            before, after = one["before"], one["after"]
            words = word_changes(str(before["ruling"]), str(after["ruling"]))
            for title, side, left_out in (("Before", before, "+"), ("With this law", after, "−")):
                heading(f"{title}, by {side['rule'] or 'no rule'}")
                with ui.element("div").classes("operation wrap mono"):
                    for sign, part in words:
                        if sign != left_out:
                            tag = {"+": "ins", "−": "del", "": "span"}[sign]
                            with ui.element(tag):
                                ui.label(part).classes("in-words")


def word_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Two texts word by word: what both have, and what only the one (−) or the other (+) has.

    >>> word_changes("forward(a, x, b)", "forward(a, y, b)")
    [('', 'forward(a, '), ('−', 'x'), ('+', 'y'), ('', ', b)')]
    """
    one, other = _WORD.findall(before[:WORDS_MAX]), _WORD.findall(after[:WORDS_MAX])
    found: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(("", "".join(one[a:b])))
            continue
        found += [("−", "".join(one[a:b]))] * (b > a) + [("+", "".join(other[c:d]))] * (d > c)
    return found


def told(found: TrialFacts) -> str:
    """A comparison in one line.

    >>> counts = {"events": 1200, "members": 4, "differing": 2, "members_differing": 1}
    >>> told({**counts, "passed_over": 0})
    '1,200 rulings of 4 members: 2 differ, of 1 member'
    >>> told({**counts, "differing": 0, "passed_over": 7})
    '1,200 rulings of 4 members: none differs. 7 older ones could not be told again'
    """
    said = f"{found['events']:,} rulings of {_members(found['members'])}: "
    if found["differing"]:
        said += f"{found['differing']:,} differ, of {_members(found['members_differing'])}"
    else:
        said += "none differs"
    if found["passed_over"]:
        said += f". {found['passed_over']:,} older ones could not be told again"
    return said


def _members(number: int) -> str:
    return f"{number:,} member" if number == 1 else f"{number:,} members"


def _more(found: TrialFacts) -> str:
    shown = len(found["first"])
    return f"{found['differing'] - shown:,} more" if found["differing"] > shown else ""


def _row(number: int, one: TrialFacts) -> Row:
    return {
        "id": str(number),
        "at": moment(one["at"]),
        "agent": one["agent"],
        "event": one["event"],
        "before": one["before"]["ruling"],
        "after": one["after"]["ruling"],
    }
