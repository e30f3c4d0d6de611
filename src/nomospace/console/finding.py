"""The command box: finds agents, spaces, rules, laws and tuples by what they are called.

`find` looks through what the hosts have in memory and reads no journal, so it answers while one
types. Each kind gives at most `EACH_MAX` answers. A text in brackets is a template: it leads to the
place of spaces. The number of a ruling's record leads to its story, as does the id of a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from nicegui import ui
from nicegui.events import GenericEventArguments

from nomospace.console.stories import StoryAddress

if TYPE_CHECKING:
    from nomospace.console.console import Console
    from nomospace.console.frame import Frame

TEXT_MAX: Final = 2_000
EACH_MAX: Final = 7
"""How many of each kind are shown."""
PLACES: Final = {
    "Now": "/now",
    "Communities": "/communities",
    "Spaces": "/spaces",
    "Law bench": "/bench",
    "Meaning": "/meaning",
    "Pipeline": "/pipeline",
    "As a member": "/member",
}
_TUPLE: Final = re.compile(r"\S+@\S+#\d+")


class Hit(NamedTuple):
    """Something that was found: where it leads is a story, or the path of a place."""

    kind: str
    what: str
    where: str
    to: StoryAddress | str


def find(console: Console, text: str) -> list[Hit]:
    """What a text may mean, the likeliest kinds first."""
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
    for hits in (_places(low), _agents(console, low), _spaces(console, low), _laws(console, low)):
        found += islice(hits, EACH_MAX)
    found += islice(_rules(console, low), EACH_MAX)
    return found


def _places(low: str) -> Iterator[Hit]:
    for title, path in PLACES.items():
        if low in title.lower():
            yield Hit("place", title, "", path)


def _agents(console: Console, low: str) -> Iterator[Hit]:
    if not low:
        return
    for host in console.service.views.topology().hosts:
        at = host.name if host.name in console.services else console.name
        for agent in host.agents:
            if low in agent.lower():
                yield Hit("agent", agent, host.name, StoryAddress("agent", at, agent))


def _spaces(console: Console, low: str) -> Iterator[Hit]:
    if not low:
        return
    for name, service in console.services.items():
        for space in service.views.spaces():
            if low in space.name.lower():
                path = f"/spaces?space={quote(space.name, safe='')}"
                yield Hit("space", space.name, f"{space.tuples:,} tuples, {name}", path)


def _laws(console: Console, low: str) -> Iterator[Hit]:
    if not low:
        return
    for name, service in console.services.items():
        for law in service.views.communities():
            if low in law.name.lower() or law.law.startswith(low):
                where = f"{law.law[:8]}, {law.members:,} members, {name}"
                yield Hit("law", law.name, where, StoryAddress("law", name, law.law))


def _rules(console: Console, low: str) -> Iterator[Hit]:
    if not low:
        return
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

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self._frame = frame
        self._number = 0
        self._found: list[Hit] = []
        self.on("ask", self._ask)
        self.on("choose", self._choose)
        self.on("escape", frame.shut)

    def _ask(self, event: GenericEventArguments) -> None:
        asked = event.args
        self._number = int(asked["number"])
        text = str(asked["text"])
        self._found = find(self._frame.console, text)
        lines = [{"kind": one.kind, "what": one.what, "where": one.where} for one in self._found]
        said = f"Nothing here is called {text.strip()[:60]!r}; a template begins with a bracket."
        self.run_method("answer", self._number, lines, said)

    def _choose(self, event: GenericEventArguments) -> None:
        chosen = event.args
        index = int(chosen["index"])
        if int(chosen["number"]) != self._number or not 0 <= index < len(self._found):
            return
        to = self._found[index].to
        if isinstance(to, StoryAddress):
            self._frame.open(*to)
        else:
            self._frame.go(to)
