"""Scenario files: what a law's author writes down to be tried, and what is to come of it.

A file is read line by line; how far a line is indented means nothing. `%` begins a comment. Lines
before the first `scenario` belong to every scenario of the file. A term may hold variables: one
is bound by the first expectation that meets it and keeps its value to the end of its scenario;
`_` stands for anything each time.

    scenario "a short story"
    agents ann@ward bob@ward              they adopt the law, one after the other
    spaces jobs                           managers of governed spaces; they hold tupleSpace
    ann@ward adopts [TERM, …]             adopts with arguments
    ann@ward starts with [TERM, …]        a member with this control state, without an adoption

    ann@ward sends TERM to bob@ward       or to a list: to [bob@ward, eve@ward]
    ann@ward receives TERM from bob@ward  as if it came over the network
    ann@ward certified by admin as TERM, …    and `about bob@ward`, if not about herself
    ann@ward revoked by admin as TERM, …
    ann@ward disconnects | reconnects | quits | moves from SITE to SITE
    event TERM at ann@ward                any other regulated event
    after 1 hour 30 min                   units: ms sec min hour day

    expect bob@ward gets TERM [from ann@ward]     each one names another delivery
    expect bob@ward gets nothing
    expect silence                        nobody gets anything
    expect nothing else                   nobody gets more than was expected
    expect forwarded | held | refused [by R1 | by no rule]
    expect rule R1 [at bob@ward]          it fired
    expect no rule                        none applied
    expect ruling [TERM, …]               the operations, in order
    expect [no] event TERM [at bob@ward]
    expect bob@ward signals TERM | releases TERM
    expect bob@ward owes TERM [in 4 min] | owes nothing
    expect state of bob@ward has TERM | lacks TERM | is [TERM, …]

An expectation is about all that happened since the last line that is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from nomospace.law.checks.report import listed
from nomospace.law.tree import EVENTS
from nomospace.scenarios.cursor import Cursor
from nomospace.terms import Compound, Diagnostic, Faulty, Source, Span, Term, Var
from nomospace.terms.syntax import TEXT_BYTES_MAX
from nomospace.terms.tokens import ERRORS_MAX, SyntaxFault

LINE_CHARS_MAX: Final = 10_000
"""The longest line."""

_CODE = re.compile(
    r"""(?:[A-Z_][A-Za-z0-9_]*'*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[^%])*?(?=%|\Z)""",
    re.DOTALL,
)
_TITLE = re.compile(r'"((?:[^"\\]|\\.)+)"\s*\Z')


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Where something stands in the file, and its words."""

    number: int = 0
    text: str = ""


class Join(Line, frozen=True, kw_only=True):
    """Homes adopt the law; a manager holds `tupleSpace`."""

    homes: tuple[str, ...]
    args: Term = ()
    manager: bool = False


class MemberLine(Line, frozen=True, kw_only=True):
    """A home is a member with a control state of its own."""

    home: str
    state: Term


class Act(Line, frozen=True, kw_only=True):
    """A regulated event; its arguments may hold variables that must have values by then."""

    home: str
    kind: str
    args: tuple[Term, ...]


class Wait(Line, frozen=True, kw_only=True):
    """Time passes."""

    micros: int


class Expect(Line, frozen=True, kw_only=True):
    """What is to have happened: `what` is the word that says it, the rest is about that."""

    what: str
    home: str | None = None
    pattern: Term = None
    rule: str | None = None
    sender: str | None = None
    micros: int | None = None


Item: TypeAlias = Join | MemberLine | Act | Wait | Expect


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One story: the lines of the file's beginning, then its own."""

    name: str
    number: int
    items: tuple[Item, ...]


def read_scenarios(source: Source) -> tuple[Scenario, ...]:
    """The scenarios of a file. Raises `Faulty` with every error found.

    >>> text = 'scenario "hi"\\n agents a@w b@w\\n a@w sends hi to b@w\\n expect b@w gets hi'
    >>> (story,) = read_scenarios(Source(text))
    >>> story.name, [item.text for item in story.items][1:]
    ('hi', ['a@w sends hi to b@w', 'expect b@w gets hi'])
    """
    if len(source.text.encode(errors="replace")) > TEXT_BYTES_MAX:
        words = f"the file is longer than {TEXT_BYTES_MAX:,} bytes"
        fault = Diagnostic("scenario-too-long", words, Span(0, 1), "split it")
        raise Faulty(source=source, diagnostics=(fault,))
    return _Parser(source).parse()


# -- the whole file ------------------------------------------------------------------------


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []
        self.known: dict[str, None] = {}  # the homes of the scenario being read, in order

    def parse(self) -> tuple[Scenario, ...]:
        spans = list(self._spans())
        first = next((i for i, span in enumerate(spans) if self._is_title(span)), len(spans))
        self._items(spans[:first], {})
        shared = [] if self.faults else spans[:first]
        scenarios: list[Scenario] = []
        while first < len(spans) and len(self.faults) < ERRORS_MAX:
            after = first + 1
            while after < len(spans) and not self._is_title(spans[after]):
                after += 1
            scenarios.append(self._scenario(spans[first], shared, spans[first + 1 : after]))
            first = after
        if not scenarios and not self.faults:
            words = "there is no scenario in this file"
            help = 'begin one with: scenario "what it shows"'
            self.faults.append(Diagnostic("scenario-none", words, Span(0, 1), help))
        if self.faults:
            raise Faulty(source=self.source, diagnostics=tuple(self.faults[:ERRORS_MAX]))
        return tuple(scenarios)

    def _spans(self) -> Iterator[Span]:
        """Where the lines with words in them stand, without their comments."""
        start = 0
        for line in self.source.text.split("\n"):
            match = _CODE.match(line) if len(line) <= LINE_CHARS_MAX else None
            words = match.group() if match else line
            if words.strip():
                yield Span(start, start + len(words.rstrip()))
            start += len(line) + 1

    def _is_title(self, span: Span) -> bool:
        return Cursor(self.source, *span, {}).take("scenario")

    def _scenario(self, title: Span, shared: list[Span], own: list[Span]) -> Scenario:
        cursor = Cursor(self.source, *title, {})
        cursor.take("scenario")
        match = _TITLE.match(self.source.text, cursor.at, title.end)
        name = ""
        if match is None:
            fault = cursor.fault("title", "expected the scenario's name in double quotes")
            self.faults.append(fault.diagnostic)
        else:
            name = re.sub(r"\\(.)", r"\1", match.group(1))
        items = self._items([*shared, *own], {})
        return Scenario(name=name, number=cursor.number, items=items)

    def _items(self, spans: list[Span], variables: dict[str, Var]) -> tuple[Item, ...]:
        self.known = {}
        items: list[Item] = []
        for span in spans:
            if len(self.faults) >= ERRORS_MAX:
                break
            if span.end - span.start > LINE_CHARS_MAX:
                words = f"the line is longer than {LINE_CHARS_MAX:,} characters"
                self.faults.append(Diagnostic("scenario-too-long", words, span, "split it"))
                continue
            cursor = Cursor(self.source, *span, variables)
            try:
                item = self._item(cursor)
                if not cursor.at_end():
                    raise cursor.fault("word", f"the line should end before {cursor.next_word()!r}")
                items.append(replace(item, number=cursor.number, text=cursor.words))
            except SyntaxFault as fault:
                self.faults.append(fault.diagnostic)
        return tuple(items)

    def _item(self, line: Cursor) -> Item:
        if line.take("agents") or line.take("agent"):
            return Join(homes=self._join(line.ids("an agent's id")))
        if line.take("spaces") or line.take("space"):
            return Join(homes=self._join(line.ids("a space's name")), manager=True)
        if line.take("after"):
            return Wait(micros=line.duration())
        if line.take("expect"):
            return self._expect(line)
        if line.take("event"):
            return self._event(line)
        return self._deed(line)

    def _join(self, homes: tuple[str, ...]) -> tuple[str, ...]:
        self.known.update(dict.fromkeys(homes))
        return homes

    def _home(self, line: Cursor) -> str:
        """The id of a home that takes part."""
        begin = line.at
        home = line.id("an agent")
        if home not in self.known:
            near = get_close_matches(home, self.known, n=1)
            help = f"did you mean {near[0]}?" if near else f"bring it in with: agents {home}"
            span = Span(begin, begin + len(line.text[begin : line.at].rstrip()))
            raise line.fault("stranger", f"{home} is not in this scenario", help, span)
        return home

    def _deed(self, line: Cursor) -> Item:
        """A line that begins with an id, and the verb after it."""
        begin = line.at
        home = line.id("an agent, or one of 'agents', 'spaces', 'event', 'after', 'expect'")
        if line.take("adopts"):
            args = line.listing() if not line.at_end() else ()
            self._join((home,))
            return Join(homes=(home,), args=args)
        if line.take("starts"):
            line.need("with")
            state = line.listing()
            self._join((home,))
            return MemberLine(home=home, state=state)
        line.at = begin
        if home not in self.known and not _VERBS & set(line.words.split()):
            words = f"a line cannot begin with {home!r}"
            known = ("agents", "spaces", "event", "after", "expect", "scenario")
            near = get_close_matches(home, known, n=1)
            begins = f"lines begin with {listed(map(repr, known), 'or')} or with an agent's id"
            help = f"did you mean {near[0]!r}?" if near else begins
            raise line.fault("word", words, help)
        home = self._home(line)
        line.take("is")
        verb = line.need(*_DEEDS)
        kind, args = _DEEDS[verb](line, home)
        return Act(home=home, kind=kind, args=args)

    def _event(self, line: Cursor) -> Item:
        begin = line.at
        event = line.term("at")
        span = Span(begin, max(line.at, begin + 1))
        kind, args = (event.name, event.args) if type(event) is Compound else (event, ())
        if type(kind) is not str or len(args) != EVENTS.get(kind):
            raise line.fault("event", f"there is no such event: {_events()}", span=span)
        line.need("at")
        return Act(home=self._home(line), kind=kind, args=args)

    # -- expectations ----------------------------------------------------------------------

    def _expect(self, line: Cursor) -> Expect:
        for word in ("silence", "forwarded", "held", "refused", "rule", "ruling", "event"):
            if line.take(word):
                return self._plain(line, word)
        if line.take("nothing"):
            line.need("else")
            return Expect(what="nothing else")
        if line.take("no"):
            if line.need("rule", "event") == "rule":
                return Expect(what="no rule")
            return self._plain(line, "no event")
        if line.take("state"):
            line.need("of")
            home = self._home(line)
            verb = line.need("has", "lacks", "is")
            pattern = line.listing() if verb == "is" else line.term()
            return Expect(what=verb, home=home, pattern=pattern)
        home = self._home(line)
        return _about(line, home, line.need("gets", "owes", "signals", "releases"))

    def _plain(self, line: Cursor, what: str) -> Expect:
        """What follows a word that is about a ruling or an event."""
        if what == "ruling":
            return Expect(what=what, pattern=line.listing())
        if what == "rule":
            return Expect(what=what, rule=line.rule(), home=self._place(line))
        if what in ("event", "no event"):
            return Expect(what=what, pattern=line.term("at"), home=self._place(line))
        if what == "silence" or not line.take("by"):
            return Expect(what=what)
        if line.take("no"):
            line.need("rule")
            return Expect(what=what, rule="")
        return Expect(what=what, rule=line.rule())

    def _place(self, line: Cursor) -> str | None:
        """Where something happens, if that is said."""
        return self._home(line) if line.take("at") else None


def _events() -> str:
    return "events are " + ", ".join(f"{name}/{arity}" for name, arity in EVENTS.items())


def _about(line: Cursor, home: str, verb: str) -> Expect:
    """What a home gets, owes, signals or releases."""
    begin = line.at
    if verb in ("gets", "owes") and line.take("nothing") and line.at_end():
        return Expect(what=f"{verb} nothing", home=home)
    line.at = begin
    last = {"gets": "from", "owes": "in"}.get(verb, "")
    found = Expect(what=verb, home=home, pattern=line.term(last))
    if not last or not line.take(last):
        return found
    if verb == "gets":
        return replace(found, sender=line.id("a sender"))
    return replace(found, micros=line.duration())


# -- what agents do ------------------------------------------------------------------------

Deed: TypeAlias = tuple[str, tuple[Term, ...]]


def _sends(line: Cursor, home: str) -> Deed:
    message = line.term("to")
    line.need("to")
    return "sent", (home, message, line.destination())


def _receives(line: Cursor, home: str) -> Deed:
    message = line.term("from")
    line.need("from")
    return "arrived", (line.id("a sender"), message, home)


def _certificate(line: Cursor, home: str) -> Term:
    line.need("by")
    issuer = line.id("an authority")
    line.need("as")
    attributes = line.terms("about")
    subject = line.id("whom it is about") if line.take("about") else home
    return (
        Compound("issuer", (issuer,)),
        Compound("subject", (subject,)),
        Compound("attributes", (attributes,)),
    )


def _moves(line: Cursor, home: str) -> Deed:
    line.need("from")
    here = line.id("a site")
    line.need("to")
    return "moved", (here, line.id("a site"))


_DEEDS: Final[dict[str, Callable[[Cursor, str], Deed]]] = {
    "sends": _sends,
    "receives": _receives,
    "certified": lambda line, home: ("certified", (_certificate(line, home),)),
    "revoked": lambda line, home: ("revoked", (_certificate(line, home),)),
    "disconnects": lambda line, home: ("disconnected", ()),
    "reconnects": lambda line, home: ("reconnected", ()),
    "quits": lambda line, home: ("quit", ()),
    "moves": _moves,
}
_VERBS: Final = frozenset(_DEEDS)
