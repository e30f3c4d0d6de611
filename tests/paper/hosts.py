"""Hosts on a calm network, for the papers' tests: cores joined by links that a test cuts and joins.

Time is virtual. No frame is lost on a link that is there, and each takes `DELAY_US`; what is under
way on a link that is cut is lost. Hosts have names of one letter, links are written as pairs:
`Hosts("abc", links="ab bc")`. An agent's id ends with the host it was made on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from nomospace.calls.answers import Found
from nomospace.calls.requests import ONCE_PER_TUPLE, STRONG, WEAK, Open, Out, React, Seek, Share
from nomospace.calls.ways import Mode, Way
from nomospace.control import Ruling
from nomospace.host.calls import (
    Arrive,
    Asked,
    Bundle,
    Call,
    Depart,
    Disengage,
    Engage,
    Event,
    Heard,
    Tick,
)
from nomospace.host.changes import Durable
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Fire, Mail, Note, Packed, Persist, Ruled, Transmit
from nomospace.law import CompiledLaw
from nomospace.protocols.messages import Relay
from nomospace.protocols.policy import Policy
from nomospace.protocols.streams import Data
from nomospace.protocols.transfers import Transfer
from nomospace.terms import Term
from nomospace.terms.templates import Template

DELAY_US: Final = 20_000
"""How long a frame takes over one link."""
WAIT_S: Final = 60.0
"""What has not happened after this long does not happen: the test has failed."""


class Said(NamedTuple):
    """A message of one host to another, when it was first sent. Transfers are shown unwrapped."""

    at: int
    src: str
    dst: str
    body: Any


class Fired(NamedTuple):
    """A weak reaction that fired."""

    at: int
    agent: str
    reaction: str
    found: Found


class Hosts:
    """Some hosts, their disks and the links between them. `now` is in microseconds."""

    def __init__(
        self,
        names: str,
        links: str | None = None,
        *,
        policy: Policy | None = None,
        laws: Sequence[CompiledLaw] = (),
        domain: str | None = None,
        servers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        pairs = [a + b for a in names for b in names if a < b]
        self.now = 0
        self.links: dict[frozenset[str], None] = {}
        self.disks = {name: Durable() for name in names}
        self.hosts: dict[str, Host] = {}
        self.answers: dict[int, Answer] = {}
        self.fired: list[Fired] = []
        self.said: list[Said] = []
        self.notes: list[tuple[str, Note]] = []
        self.ruled: list[tuple[str, Ruling]] = []
        self.mail: list[Mail] = []
        self.bundles: dict[str, Bundle] = {}
        self.after_each: list[Callable[[], None]] = []
        """Called after every event that a host has handled: for what must hold at every step."""
        self._policy = policy
        self._laws = {law.hash: law for law in laws}
        self._domain = domain
        self._servers = servers
        self._lives = dict.fromkeys(names, 0)
        self._frames: list[tuple[int, int, str, str, Any]] = []
        self._order = count()
        self._ops = count(1)
        self._then: dict[int, Callable[[Answer], None]] = {}
        self._listeners: dict[str, Callable[[Found], None]] = {}
        self._sent: dict[tuple[Any, ...], None] = {}
        self.join(" ".join(pairs) if links is None else links)
        for name in names:
            self.start(name)

    # -- hosts and links -------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a host from what is on its disk."""
        self._lives[name] += 1
        self.hosts[name] = Host(
            name,
            life=self._lives[name],
            now=self.now,
            policy=self._policy,
            durable=self.disks[name],
            laws=self._laws,
            domain=self._domain,
            servers=self._servers,
        )

    def stop(self, name: str) -> None:
        """Crash a host: all but its disk is gone."""
        del self.hosts[name]

    def join(self, links: str) -> None:
        """Have these links."""
        for pair in links.split():
            self.links[frozenset(pair)] = None

    def cut(self, links: str) -> None:
        """Have these links no more; what is under way on them is lost."""
        for pair in links.split():
            del self.links[frozenset(pair)]
            self._frames = [one for one in self._frames if {one[2], one[3]} != set(pair)]
        heapq.heapify(self._frames)

    def component(self, name: str) -> tuple[str, ...]:
        """The hosts that can reach each other and this one, over links."""
        found = {name: None}
        for _ in self.hosts:
            for other in self.hosts:
                if any(self._linked(other, known) for known in found):
                    found[other] = None
        return tuple(sorted(found))

    def _linked(self, a: str, b: str) -> bool:
        return a in self.hosts and b in self.hosts and frozenset((a, b)) in self.links

    def engage(self, name: str) -> None:
        """Let a host announce that it joins."""
        self.tell(name, Engage())

    def disengage(self, name: str) -> None:
        """Let a host announce that it leaves."""
        self.tell(name, Disengage())

    # -- time ------------------------------------------------------------------------------

    def tell(self, name: str, event: Event) -> None:
        """Let a host handle an event, and carry its effects out."""
        host = self.hosts[name]
        effects = host.handle(event, now=self.now)
        for place, effect in enumerate(effects):
            if isinstance(effect, Persist):
                assert place == 0, "what must survive stands before what others see"
                for change in effect.changes:
                    self.disks[name].apply(change)
            elif isinstance(effect, Transmit):
                self._transmit(name, effect)
            elif isinstance(effect, Packed):
                self.bundles[effect.bundle.agent] = effect.bundle
            elif isinstance(effect, Note):
                self.notes.append((name, effect))
            elif isinstance(effect, Ruled):
                self.ruled.append((name, effect.ruling))
            elif isinstance(effect, Mail):
                self.mail.append(effect)
        for check in self.after_each:
            check()
        # Programs go on after the step that they hear of.
        for effect in effects:
            if isinstance(effect, Answer):
                assert effect.op not in self.answers, "a call is answered once"
                self.answers[effect.op] = effect
                if effect.op in self._then:
                    self._then.pop(effect.op)(effect)
            elif isinstance(effect, Fire):
                self.fired.append(Fired(self.now, effect.agent, effect.reaction, effect.tuple))
                if effect.reaction in self._listeners:
                    self._listeners[effect.reaction](effect.tuple)

    def _transmit(self, name: str, effect: Transmit) -> None:
        frame = effect.frame
        if isinstance(frame, Relay) and isinstance(frame.body, Data) and frame.src == name:
            data = frame.body
            key = (name, frame.dst, data.session, data.number)
            if key not in self._sent:
                self._sent[key] = None
                body = data.body.what if isinstance(data.body, Transfer) else data.body
                self.said.append(Said(self.now, name, frame.dst, body))
        for other in self.hosts:
            if effect.to in (None, other) and other != name and self._linked(name, other):
                entry = (self.now + DELAY_US, next(self._order), name, other, frame)
                heapq.heappush(self._frames, entry)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + round(seconds * 1_000_000)
        while self._step(end):
            pass
        self.now = end

    def until(self, happened: Callable[[], bool]) -> None:
        """Let time pass until something has happened."""
        end = self.now + round(WAIT_S * 1_000_000)
        while not happened():
            assert self._step(end), "it never happened"

    def _step(self, end: int) -> bool:
        """One frame, or one deadline; false when there is none before the end."""
        due = [(host.next_deadline(), name) for name, host in self.hosts.items()]
        at, name = min([(at, name) for at, name in due if at is not None], default=(end + 1, ""))
        if self._frames and self._frames[0][0] <= at:
            at, _, src, dst, frame = self._frames[0]
            if at > end:
                return False
            heapq.heappop(self._frames)
            self.now = max(self.now, at)
            if dst in self.hosts:
                self.tell(dst, Heard(src, frame))
            return True
        if at > end:
            return False
        self.now = max(self.now, at)
        self.tell(name, Tick())
        return True

    def settle(self) -> None:
        """Let time pass until every host's group is what the links say, and all is said."""
        self.until(
            lambda: all(host.view.members == self.component(n) for n, host in self.hosts.items())
        )
        self.run(0.5)

    # -- agents ----------------------------------------------------------------------------

    def agent(self, id: str, *spaces: str, on: str = "") -> str:
        """Make an agent, which opens and shares some spaces; the id."""
        self.tell(on or id.partition("@")[2], Arrive(id))
        for space in spaces:
            self.do(id, Open(space))
        if spaces:
            self.do(id, Share(spaces))
        return id

    def home(self, agent: str) -> str:
        """The host that an agent is on."""
        return next(name for name, host in self.hosts.items() if agent in host.agents)

    def move(self, agent: str, to: str, *, seconds: float = 0.0) -> None:
        """Let an agent go to another host; the way takes some time."""
        self.tell(self.home(agent), Depart(agent))
        self.until(lambda: agent in self.bundles)
        self.run(seconds)
        self.tell(to, Arrive(agent, self.bundles.pop(agent)))

    def call(self, agent: str, request: Asked, then: Callable[[Answer], None] | None = None) -> int:
        """Begin an operation; its number. `then` is told the answer when it comes."""
        op = next(self._ops)
        if then is not None:
            self._then[op] = then
        self.tell(self.home(agent), Call(op, agent, request))
        return op

    def do(self, agent: str, request: Asked) -> Any:
        """An operation that is answered at once; raises the error it is answered with."""
        return self.value(self.call(agent, request))

    def ask(self, agent: str, request: Asked) -> Any:
        """An operation and its answer, however long that takes."""
        op = self.call(agent, request)
        self.until(lambda: op in self.answers)
        return self.value(op)

    def value(self, op: int) -> Any:
        """What an operation was answered with; raises its error."""
        answer = self.answers[op]
        if answer.error is not None:
            raise answer.error
        return answer.value

    # -- operations ------------------------------------------------------------------------

    def out(self, agent: str, *fields: Term, to: str = "", space: str = "jobs") -> None:
        """Write a tuple."""
        self.do(agent, Out(space, fields, to))

    def begin(
        self, agent: str, how: str, *pattern: Any, at: str = "", dest: str = "", space: str = "jobs"
    ) -> int:
        """Begin a read or a take; its number."""
        return self.call(agent, Seek(space, Way(how), Template.of(pattern), at, dest))

    def seek(
        self, agent: str, how: str, *pattern: Any, at: str = "", dest: str = "", space: str = "jobs"
    ) -> Any:
        """A read or a take: the fields of what it found, or `None`; for the bulk forms a list."""
        return shown(self.ask(agent, Seek(space, Way(how), Template.of(pattern), at, dest)))

    def got(self, op: int) -> Any:
        """What a read or take has found; `None` while it waits."""
        return shown(self.value(op)) if op in self.answers else None

    def held(self, agent: str, *pattern: Any, space: str = "jobs") -> Any:
        """What an agent holds that matches, as it sees it itself."""
        return self.seek(agent, "read_all", *pattern, at=agent, space=space)

    def react(
        self,
        agent: str,
        *pattern: Any,
        space: str = "jobs",
        mode: Mode = ONCE_PER_TUPLE,
        at: str = "",
        dest: str = "",
        then: Callable[[Found], None] | None = None,
    ) -> str:
        """Register a weak reaction; its id. `then` is its listener."""
        # It may fire in the very step that registers it, before its id is known.
        request = React(space, Template.of(pattern), mode, WEAK, at, dest)
        before = len(self.fired)
        id = self.do(agent, request)
        if then is not None:
            self._listeners[id] = then
            for one in self.fired[before:]:
                then(one.found)
        return str(id)

    def strong(
        self,
        agent: str,
        *pattern: Any,
        listener: Callable[[Any], None],
        space: str = "jobs",
        mode: Mode = ONCE_PER_TUPLE,
        at: str = "",
        dest: str = "",
    ) -> str:
        """Register a strong reaction; its id."""
        request = React(space, Template.of(pattern), mode, STRONG, at, dest, listener)
        return str(self.do(agent, request))

    def firings(self, reaction: str) -> list[tuple[Term, ...]]:
        """The tuples that a weak reaction fired for, in order."""
        return [one.found.fields for one in self.fired if one.reaction == reaction]

    def messages(self, kind: type, *, since: int = 0) -> list[str]:
        """Who said messages of a kind to whom, in order: `["ab", "ba"]`."""
        return [
            one.src + one.dst for one in self.said if isinstance(one.body, kind) and one.at >= since
        ]


def shown(value: Any) -> Any:
    """The fields of what was found."""
    if isinstance(value, tuple):
        return [one.fields for one in value]
    return value.fields if isinstance(value, Found) else value
