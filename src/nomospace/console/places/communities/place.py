"""The page of the place: a strip of communities, and of the chosen one all there is to see.

Rulings come with every beat; counts, members and obligations once a second, and only what has
changed is sent to the browser.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.console import look
from nomospace.console.frame import Frame
from nomospace.console.places.communities import gathered
from nomospace.console.places.communities.gathered import CommunityEntry
from nomospace.console.places.communities.parts import LawElement, Members, Owed
from nomospace.console.places.listing import ListColumn, ListElement, Row
from nomospace.console.places.parts import card_head
from nomospace.console.pulse import BEATS_S, Beat, SeenRuling

RULINGS: Final = (
    ListColumn("verdict", "verdict", "104px", "verdict"),
    ListColumn("rule", "rule", "52px", "mono"),
    ListColumn("home", "at", "minmax(0, .6fr)", "mono"),
    ListColumn("event", "event", "minmax(0, 1.6fr)", "mono"),
    ListColumn("at", "when", "96px", "when"),
)
NONE_YET: Final = "No ruling yet. One appears here as soon as a member sends or receives."
SHORT_HASH: Final = 12
EVENT_CHARS_MAX: Final = 300


class Communities:
    """The place, in one window: drawn, and told every beat."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._law = ""
        self._tabs: dict[str, Tab] = {}
        self._one: CommunityPane | None = None
        self._strip = ui.element("div").classes("strip").props('role=tablist aria-label="Laws"')
        self._middle = ui.element("div").classes("community")
        self._frame.on_beat(self._beat)
        self._look(self._frame.asked.get("law", ""))

    def _beat(self, beat: Beat) -> None:
        if self._one is not None:
            self._one.rulings(beat)
        if beat.number % BEATS_S == 0:
            self._look(self._law)
            if self._one is not None:
                self._one.second()

    def _look(self, law: str) -> None:
        """See which communities there are; one that was chosen and is gone gives way to another."""
        lines = gathered.communities(self._frame.console.services)
        known = {line.law: line for line in lines}
        named = {line.name: line.law for line in reversed(lines)}
        if law not in known:
            most = max(lines, key=lambda line: line.members).law if lines else ""
            law = named.get(law, most)
        if list(known) != list(self._tabs):
            self._draw_strip(lines)
        for line in lines:
            self._tabs[line.law].tell(line, chosen=line.law == law)
        if law != self._law or (not law and self._one is None):
            self._choose(law)

    def _draw_strip(self, lines: list[CommunityEntry]) -> None:
        self._strip.clear()
        self._tabs = {}
        with self._strip:
            for line in lines:
                self._tabs[line.law] = Tab(line, partial(self._pick, line.law))

    def _pick(self, law: str) -> None:
        self._look(law)
        ui.navigate.history.replace(f"/communities?law={law}")

    def _choose(self, law: str) -> None:
        self._law = law
        self._one = None
        self._middle.clear()
        with self._middle:
            if law:
                self._one = CommunityPane(self._frame, law)
            else:
                look.empty(
                    "No agent of these hosts is under a law.",
                    "Adopt one in “As a member”, or run: nomospace up",
                )


class Tab:
    """A community in the strip. Its figures change in place: a pointer, or the focus, stays."""

    def __init__(self, line: CommunityEntry, pick: Callable[[], None]) -> None:
        with look.plain_button("strip-one", pick, role="tab", data_law=line.law) as self._tab:
            ui.label(line.name).classes("strip-name")
            self._members = ui.label().classes("quiet")
            self._owed = ui.label().classes("obligation").tooltip("pending obligations")
        self._chosen: bool | None = None

    def tell(self, line: CommunityEntry, *, chosen: bool) -> None:
        """Show other figures, and whether it is the one that is looked at."""
        self._members.set_text(f"{line.members} member{'s' * (line.members != 1)}")
        sign = look.SIGNS[look.OBLIGATION]
        self._owed.set_text(f"{sign} {line.obligations:,}" if line.obligations else "")
        if chosen != self._chosen:
            self._chosen = chosen
            look.attributes(self._tab, aria_selected="true" if chosen else "false")


class CommunityPane:
    """One community, as the middle of the place shows it."""

    def __init__(self, frame: Frame, law: str) -> None:
        self._frame = frame
        self._law = law
        services = frame.console.services
        views = list(gathered.laws(services, law))
        hits = gathered.hits_of(views)
        now = frame.console.service.views.now
        self._hits = hits
        self._members = gathered.members(services, law)
        self._owed = gathered.owed(services, law)
        self._folded = 0
        with ui.element("section").classes("card community-law").props('aria-label="The law"'):
            with card_head(views[0].name):
                look.mono(law[:SHORT_HASH]).classes("quiet").tooltip(f"sha256:{law}")
                ui.label(f"discloses {views[0].disclose}").classes("quiet")
            self._text = LawElement(views[0], hits, self._lines(), self._open_rule)
            self._counted = ui.label().classes("listing-foot").props("data-counted role=status")
        with ui.element("section").classes("card community-members"):
            card_head("Members and their control states")
            self._shown = Members(list(self._members.values()), self._open_agent)
        with ui.element("section").classes("card community-owed"):
            card_head("Obligations")
            self._line = Owed(*self._owed, now, self._open_agent)
        with ui.element("section").classes("card community-rulings"):
            with card_head("Rulings"):
                ui.label("open one to see why").classes("quiet")
            self._list = ListElement(
                RULINGS,
                self._latest(),
                label="Rulings, the newest first",
                none=NONE_YET,
                now=now,
                on_pick=self._open_ruling,
                on_ready=lambda: self._list.put(self._latest(), frame.console.service.views.now),
            )
        self._tell_counts()
        self._tell_again()

    def _tell_again(self) -> None:
        """Have each part told all when it stands: what came before that it did not hear."""
        views = self._frame.console.service.views
        self._text.on("ready", lambda: self._text.tell(self._hits, self._lines()))
        self._shown.on("ready", lambda: self._shown.tell(list(self._members.values()), []))
        self._line.on("ready", lambda: self._line.tell(*self._owed, views.now))

    def _lines(self) -> dict[str, list[int]]:
        return gathered.lines(self._frame.console.services, self._law)

    def _latest(self) -> list[Row]:
        """The latest rulings of the community, the newest first."""
        latest = self._frame.console.pulse.latest
        return [_row(one) for one in reversed(latest) if one.ruling.law == self._law]

    # -- live ------------------------------------------------------------------------------------

    def rulings(self, beat: Beat) -> None:
        """What was ruled since the last beat; with the first, what was ruled before it."""
        if beat.first:
            self._list.put(self._latest(), beat.at)
            return
        mine = [_row(one) for one in beat.rulings if one.ruling.law == self._law]
        folded = sum(beat.folded.values())
        self._folded += folded
        if mine or folded:
            note = f"{self._folded:,} records were folded" if self._folded else ""
            self._list.add(mine[::-1], beat.at, note)

    def second(self) -> None:
        """A second has passed: counts, members, obligations."""
        services = self._frame.console.services
        hits = gathered.hits_of(list(gathered.laws(services, self._law)))
        self._text.tell(hits, self._lines())
        if hits != self._hits:
            self._hits = hits
            self._tell_counts()
        members = gathered.members(services, self._law)
        changed, gone = gathered.changed(self._members, members)
        if changed or gone:
            self._members = members
            self._shown.tell(changed, gone)
        owed = gathered.owed(services, self._law)
        if owed != self._owed:
            self._owed = owed
            self._line.tell(*owed, self._frame.console.service.views.now)

    def _tell_counts(self) -> None:
        hits = self._hits
        never = sum(not count for count in hits.rules.values())
        ruled = sum(hits.rules.values()) + hits.unmatched
        words = [f"{ruled:,} rulings", f"{hits.refused:,} refused", f"{hits.held:,} held"]
        words.append(
            f"{never} of {len(hits.rules)} rules never ruled" if never else "every rule ruled"
        )
        if hits.unmatched:
            words.append(f"{hits.unmatched:,} events met no rule")
        if hits.uncounted:
            words.append(f"counted since record {hits.uncounted + 1:,}, and not before")
        self._counted.set_text(" · ".join(words))

    # -- stories ---------------------------------------------------------------------------------

    def _open_ruling(self, id: str) -> None:
        host, _, rest = id.partition("/")
        record, _, rule = rest.partition("/")
        if rule:
            self._text.show_rule(rule)
        self._frame.open("ruling", host, record)

    def _open_agent(self, id: str) -> None:
        host, _, home = id.partition("/")
        self._frame.open("agent", host, home)

    def _open_rule(self, rule: str) -> None:
        self._text.show_rule(rule)
        self._frame.open("rule", self._frame.console.name, f"{self._law}:{rule}")


def _row(seen: SeenRuling) -> Row:
    ruling = seen.ruling
    return {
        "id": f"{seen.host}/{ruling.record}/{ruling.rule or ''}",
        "verdict": look.verdict_of(ruling),
        "rule": ruling.rule or "—",
        "rule_hint": ruling.verdict,
        "home": ruling.home,
        "event": look.gist(ruling.kind, ruling.event)[:EVENT_CHARS_MAX],
        "event_hint": gathered.cut(ruling.event, EVENT_CHARS_MAX),
        "at": ruling.at,
    }
