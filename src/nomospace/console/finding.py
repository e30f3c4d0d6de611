"""The command box: finds whatever has a name, and does things.

`find` looks through what the hosts have in memory and reads no journal, so it answers while one
types. Each kind gives at most `EACH_MAX` answers. A text in brackets is a template: it leads to the
place of spaces. The number of a ruling's record leads to its story, as does the id of a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from nicegui import ui
from nicegui.events import GenericEventArguments

from nomospace.api.meaning import spoken
from nomospace.console.glossary import GLOSSARY
from nomospace.console.stage import ConsoleAction, ConsolePlace
from nomospace.console.stories import StoryAddress
from nomospace.errors import NomospaceError

if TYPE_CHECKING:
    from nomospace.console.console import Console
    from nomospace.console.frame import Frame

TEXT_MAX: Final = 2_000
EACH_MAX: Final = 7
"""How many of each kind are shown."""
DOORS: Final = {
    "Make a space": "/spaces?make=1",
    "Write a tuple": "/spaces",
    "Try a law": "/bench",
    "Ask by meaning": "/meaning",
    "Audit the journal": "/pipeline",
    "Join a community": "/member",
}
"""Things to do that a place is for."""
_TUPLE: Final = re.compile(r"\S+@\S+#\d+")


class Hit(NamedTuple):
    """Something that was found: the story or the path of a place it leads to; or what it does."""

    kind: str
    what: str
    where: str
    to: StoryAddress | str | ConsoleAction


def find(console: Console, text: str, places: Mapping[str, ConsolePlace]) -> list[Hit]:
    """What a text may mean, the likeliest kinds first; `places` are those on the rail."""
    text = text.strip()[:TEXT_MAX]
    if text.startswith(("(", "[")):
        return [Hit("template", text, "run in Spaces", f"/spaces?template={quote(text, safe='')}")]
    low = text.lower()
    found: list[Hit] = []
    if _TUPLE.fullmatch(text):
        found += [
            Hit("tuple", text, at, StoryAddress("tuple", at, text)) for at in console.services
        ]
    if text.isdecimal():
        found += [
            Hit("ruling", text, at, StoryAddress("ruling", at, text)) for at in console.services
        ]
    for hits in (_places(places, low), _actions(console, places, low)):
        found += islice(hits, len(places) if not low else EACH_MAX)
    for kind in (_hosts, _agents, _spaces, _laws, _rules, _ontologies, _words) if low else ():
        found += islice(kind(console, low), EACH_MAX)
    return found


def _places(places: Mapping[str, ConsolePlace], low: str) -> Iterator[Hit]:
    for path, place in places.items():
        if low in place.title.lower():
            yield Hit("game" if place.group == "games" else "place", place.title, "", path)


def _actions(console: Console, places: Mapping[str, ConsolePlace], low: str) -> Iterator[Hit]:
    for action in console.stages.plugin.actions():
        if low in action.title.lower():
            yield Hit("action", action.title, "", action)
    for title, path in DOORS.items():
        if low in title.lower() and path.partition("?")[0] in places:
            yield Hit("action", title, "", path)


def _hosts(console: Console, low: str) -> Iterator[Hit]:
    titles = {ward.host: ward.title for ward in console.stages.plugin.floor()}
    for host in console.service.views.topology().hosts:
        if low in f"{host.name} {titles.get(host.name, '')}".lower():
            where = f"{titles.get(host.name, '')} {host.agents_count:,} agents".strip()
            yield Hit("host", host.name, where, StoryAddress("host", console.name, host.name))


def _agents(console: Console, low: str) -> Iterator[Hit]:
    people = {one.agent: one for ward in console.stages.plugin.floor() for one in ward.people}
    for host in console.service.views.topology().hosts:
        at = host.name if host.name in console.services else console.name
        for agent in host.agents:
            person = people.get(agent)
            called = f"{agent} {person.name} {person.role}" if person else agent
            if low in called.lower():
                where = f"{person.role}, {host.name}" if person else host.name
                yield Hit("agent", agent, where, StoryAddress("agent", at, agent))


def _spaces(console: Console, low: str) -> Iterator[Hit]:
    for name, service in console.services.items():
        for space in service.views.spaces():
            if low in space.name.lower():
                path = f"/spaces?space={quote(space.name, safe='')}"
                yield Hit("space", space.name, f"{space.tuples:,} tuples, {name}", path)


def _laws(console: Console, low: str) -> Iterator[Hit]:
    for name, service in console.services.items():
        for law in service.views.communities():
            if low in law.name.lower() or law.law.startswith(low):
                where = f"{law.law[:8]}, {law.members:,} members, {name}"
                yield Hit("law", law.name, where, StoryAddress("law", name, law.law))


def _ontologies(console: Console, low: str) -> Iterator[Hit]:
    for ontology, spaces in spoken(console.service).values():
        if low in ontology.name.lower():
            where = f"spoken by {', '.join(spaces)}"
            yield Hit("ontology", ontology.name, where, f"/meaning?ontology={ontology.hash}")


def _words(console: Console, low: str) -> Iterator[Hit]:
    for word, meaning in GLOSSARY.items():
        if word.startswith(low):
            yield Hit("word", word, meaning, StoryAddress("words", console.name, word))


def _rules(console: Console, low: str) -> Iterator[Hit]:
    for name, service in console.services.items():
        for law in service.views.communities():
            for rule in service.views.rules(law.law):
                if rule.name.lower().startswith(low) or (
                    len(low) > 2 and low in rule.event.lower()
                ):
                    at = StoryAddress("rule", name, f"{law.law}:{rule.name}")
                    yield Hit("rule", rule.name, f"{rule.event}, {law.name}, {name}", at)


class Palette(ui.element, component="static/palette.js"):
    """The command box of a window; what it has found stays here, and the browser names a line."""

    def __init__(self, frame: Frame, places: Mapping[str, ConsolePlace]) -> None:
        super().__init__()
        self._frame = frame
        self._places = places
        self._number = 0
        self._found: list[Hit] = []
        self.on("ask", self._ask)
        self.on("choose", self._choose)
        self.on("escape", frame.shut)

    def _ask(self, event: GenericEventArguments) -> None:
        asked = event.args
        self._number = int(asked["number"])
        text = str(asked["text"])
        self._found = find(self._frame.console, text, self._places)
        lines = [{"kind": one.kind, "what": one.what, "where": one.where} for one in self._found]
        said = f"Nothing here is called {text.strip()[:60]!r}; a template begins with a bracket."
        self.run_method("answer", self._number, lines, said)

    async def _choose(self, event: GenericEventArguments) -> None:
        chosen = event.args
        index = int(chosen["index"])
        if int(chosen["number"]) != self._number or not 0 <= index < len(self._found):
            return
        to = self._found[index].to
        if isinstance(to, StoryAddress):
            self._frame.open(*to)
        elif isinstance(to, ConsoleAction):
            try:
                await to.do(self._frame)
            except NomospaceError as error:
                ui.notify(str(error), type="negative")
        else:
            self._frame.go(to)
