"""Events in JSON lines against a law, rulings in JSON lines out: what `nomospace law run` does.

A line in is one of

    {"at": 0.0, "home": "a@w", "event": "sent", "message": "term", "to": "b@w" | ["b@w", …]}
    {"at": 0.0, "home": "a@w", "event": "arrived", "message": "term", "from": "b@w"}
    {"at": 0.0, "home": "a@w", "event": "certified", "certificate": "[issuer(i),subject('a@w'),…]"}
    {"at": 0.0, "home": "a@w", "event": "<any other>", "args": ["term", …]}
    {"home": "a@w", "control_state": ["term", …]}

and nothing else: a key that is not known, is missing or stands twice is an error, since a slip in
a hand-written line must not pass for a ruling. Lines that are blank are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple, TypeAlias

from nomospace.control import Event, arrived, sent
from nomospace.errors import CallerError, LawError
from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import seconds
from nomospace.law.runtime import reserved
from nomospace.law.tree import EVENTS, arguments
from nomospace.scenarios.community import Community, CommunityRuling, Runaway
from nomospace.terms import Compound, Faulty, Term, freeze, show, term

LINE_BYTES_MAX: Final = 16_000_000
"""The longest line that is read."""
SECONDS_MAX: Final = 1_000_000_000_000
"""The furthest time from 0, in seconds; about 30,000 years."""

Row: TypeAlias = dict[str, object]
"""One line out, with its keys in the order they are printed."""


class BadLine(CallerError):
    """A line of events cannot be used."""

    code = "lawrun.bad-line"
    words = "{name}: line {line}: {why}"
    name: str
    line: int
    why: str


class BadInput(CallerError):
    """An event, a state or a time that was given by itself cannot be used."""

    code = "lawrun.bad-input"
    words = "{why}"
    why: str


class EventLine(NamedTuple):
    """A line that tells an event."""

    line: int
    at: int
    home: str
    event: Event


class StartLine(NamedTuple):
    """A line that sets a member's starting state; `at` is a time that it may have given."""

    line: int
    at: int | None
    home: str
    terms: tuple[Term, ...]


class _Wrong(Exception):
    """What is wrong with a line, in words."""


# -- reading -------------------------------------------------------------------------------


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[EventLine | StartLine]:
    """The events and starting states of a stream of lines; `BadLine` at the first that is wrong.

    >>> line = b'{"at": 1, "home": "a@w", "event": "sent", "message": "hi", "to": "b@w"}'
    >>> next(read_lines([line], "events")).event.term
    term("sent('a@w',hi,'b@w')")
    """
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            yield _read(number, line)
        except _Wrong as wrong:
            raise BadLine(name=name, line=number, why=str(wrong)) from None


def _read(number: int, line: bytes) -> EventLine | StartLine:
    data = _json(line)
    home = _id(_need(data, "home"), "home")
    if "control_state" in data:
        _known(data, ("at", "home", "control_state"), "a control_state line")
        at = _time(data["at"]) if "at" in data else None
        return StartLine(
            number, at, home, _settable(_terms(data["control_state"], "control_state"))
        )
    at = _time(_need(data, "at"))
    return EventLine(number, at, home, _event(data, home))


def _json(line: bytes) -> dict[str, object]:
    if len(line) > LINE_BYTES_MAX:
        raise _Wrong(f"it is longer than the limit of {LINE_BYTES_MAX:,} bytes")
    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        raise _Wrong(f"it is not UTF-8 text (byte {error.start})") from None
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _Wrong(f"it is no JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise _Wrong("it is no event: brackets are nested too deep") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise _Wrong(f"it is no JSON that can be used: {error}") from None
    if not isinstance(data, dict):
        raise _Wrong(f"it must be a JSON object, and is {_kind(data)}")
    return data


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _Wrong(f'"{key}" stands twice')
        found[key] = value
    return found


def _no_constant(word: str) -> None:
    raise _Wrong(f"{word} is no number that JSON has")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _need(data: dict[str, object], key: str) -> object:
    if key not in data:
        near = get_close_matches(key, data, n=1)
        raise _Wrong(f'"{key}" is missing' + (f'; is "{near[0]}" a slip for it?' if near else ""))
    return data[key]


def _known(data: dict[str, object], keys: tuple[str, ...], what: str) -> None:
    """Refuse what looks like a slip for a key that is not there; anything else is the writer's."""
    for key in data:
        if key not in keys:
            near = [other for other in get_close_matches(key, keys, n=2) if other not in data]
            if near:
                raise _Wrong(f'{what} has no "{key[:80]}"; did you mean "{near[0]}"?')


def _time(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(f'"at" must be a number of seconds, and is {_kind(value)}')
    return micros_at(value, '"at"')


def micros_at(value: float, what: str) -> int:
    """Seconds as microseconds; raises `_Wrong` outside the limit."""
    if not abs(value) <= SECONDS_MAX:
        raise _Wrong(f"{what} is outside the limit of {SECONDS_MAX:,} seconds")
    return round(value * 1_000_000)


def _id(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise _Wrong(f'"{key}" must be an id in a string, and is {_kind(value)}')
    if not value:
        raise _Wrong(f'"{key}" is empty; an id is name@domain, or the name of a space')
    _freeze(value, f'"{key}"')
    return value


def _freeze(value: object, what: str) -> Term:
    try:
        return freeze(value)
    except CallerError as error:  # too large, or half a surrogate pair
        raise _Wrong(f"{what}: {error}") from None


def _term(value: object, what: str) -> Term:
    if not isinstance(value, str):
        raise _Wrong(f"{what} must be a term in a string, and is {_kind(value)}")
    try:
        return freeze(term(value))
    except Faulty as faulty:
        fault = faulty.diagnostics[0]
        drawn = f"\n{faulty.source.draw(fault.span)}" if len(value) <= 1_000 else ""
        help = f"\n      help: {fault.help}" if fault.help else ""
        raise _Wrong(f"{what} is no term: {fault.message}{drawn}{help}") from None
    except CallerError as error:
        raise _Wrong(f"{what}: {error}") from None


def _terms(value: object, key: str) -> tuple[Term, ...]:
    if not isinstance(value, list):
        raise _Wrong(f'"{key}" must be an array of terms in strings, and is {_kind(value)}')
    return tuple([_term(item, f'"{key}" item {at}') for at, item in enumerate(value, 1)])


def _settable(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    for item in terms:
        if reserved(item) and item != "tupleSpace":
            raise _Wrong(
                f"{show(item, limit=80)} cannot be part of a starting state: a law reads the clock "
                "and the pending obligations of its own home"
            )
    return terms


# -- events --------------------------------------------------------------------------------


def _event(data: dict[str, object], home: str) -> Event:
    name = _need(data, "event")
    if not isinstance(name, str):
        raise _Wrong(f'"event" must be the name of an event, and is {_kind(name)}')
    _check_name(name)
    keys = _KEYS.get(name, ("args",))
    _known(data, ("at", "home", "event", *keys), f'a "{name}" line')
    if name == "sent":
        message = _term(_need(data, "message"), '"message"')
        return sent(home, message, _to(_need(data, "to")))
    if name == "arrived":
        message = _term(_need(data, "message"), '"message"')
        return arrived(_id(_need(data, "from"), "from"), message, home)
    if name == "certified":
        return Event(name, (_certificate(_term(_need(data, "certificate"), '"certificate"')),))
    arity = EVENTS[name]
    args = _terms(_need(data, "args") if arity else data.get("args", []), "args")
    if len(args) != arity:
        raise _Wrong(f'{name} has {arguments(arity)}, and "args" has {len(args)}')
    if name == "submitted" and args[2] != home:
        raise _Wrong(
            f'a submitted message is for its home: the third of "args" is '
            f'{show(args[2], limit=80)}, and "home" is {show(home, limit=80)}'
        )
    return Event(name, args)


def _check_name(name: str) -> None:
    if name not in EVENTS:
        near = get_close_matches(name, EVENTS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"events are {', '.join(EVENTS)}"
        raise _Wrong(f"there is no event {name[:80]!r}; {hint}")


_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "sent": ("message", "to"),
    "arrived": ("message", "from"),
    "certified": ("certificate",),
}


def _to(value: object) -> Term:
    if isinstance(value, list):
        return _freeze([_id(item, "to") for item in value], '"to"')
    return _id(value, "to")


def _certificate(value: Term) -> Term:
    names = ("issuer", "subject", "attributes")
    kinds = (str, str, tuple)
    if not (
        type(value) is tuple
        and len(value) == len(names)
        and all(
            type(part) is Compound
            and part.name == name
            and len(part.args) == 1
            and part.args[0].__class__ is kind
            for part, name, kind in zip(value, names, kinds, strict=True)
        )
    ):
        raise _Wrong(
            '"certificate" must be [issuer(I),subject(S),attributes([…])] with names for I and S, '
            f"and is {show(value, limit=200)}"
        )
    return value


def read_event(text: str, *, home: str = "", at: float = 0.0) -> EventLine:
    """An event as laws write it. The home is taken from the event where the event names it.

    >>> read_event("arrived('a@w',hi,'b@w')").home
    'b@w'
    """
    try:
        return EventLine(0, micros_at(at, "--at"), *_written(text, home))
    except _Wrong as wrong:
        raise BadInput(why=str(wrong)) from None


def _written(text: str, home: str) -> tuple[str, Event]:
    value = _term(text, "the event")
    name, args = (value.name, value.args) if type(value) is Compound else (value, ())
    if type(name) is not str:
        name = text
    _check_name(name)
    if len(args) != EVENTS[name]:
        raise _Wrong(f"{name} has {arguments(EVENTS[name])}, and here it has {len(args)}")
    place = {"sent": 0, "arrived": 2, "submitted": 2}.get(name)
    if place is not None:
        own = _id(args[place], "home")
        if home and home != own:
            raise _Wrong(
                f"the event is at {show(own, limit=80)}, and not at {show(home, limit=80)}"
            )
        home = own
    if not home:
        raise _Wrong(f"whose event is {name}? give its home")
    if name == "certified":
        _certificate(args[0])
    return home, Event(name, args)


def read_state(text: str) -> tuple[Term, ...]:
    """A control state as a law writes it: a list of terms."""
    try:
        value = _term(text, "the state")
        if type(value) is not tuple:
            raise _Wrong(f"the state must be a list, [quota(3), …], and is {show(value, limit=80)}")
        return _settable(value)
    except _Wrong as wrong:
        raise BadInput(why=str(wrong)) from None


# -- running -------------------------------------------------------------------------------


class Run:
    """A run of events under a law.

    `rows` gives the result line by line, so that what was ruled on stands before an error does.
    `say` is told what an author should know and no line out can tell.
    """

    def __init__(
        self,
        law: CompiledLaw,
        *,
        isolated: bool = False,
        until: float | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.community = Community(law, isolated=isolated)
        self._say = say
        try:
            self._until = None if until is None else micros_at(until, "--until")
        except _Wrong as wrong:
            raise BadInput(why=str(wrong)) from None

    def rows(self, lines: Iterable[bytes], name: str) -> Iterator[Row]:
        """Every ruling as a line out. Raises `BadLine` or `Endless` after what came before it."""
        for _, happening in self.told(lines, name):
            yield row(happening)

    def told(self, lines: Iterable[bytes], name: str) -> Iterator[tuple[int, CommunityRuling]]:
        """Every ruling with the line that brought it; 0 for what comes after the last."""
        for line in read_lines(lines, name):
            for happening in self.happenings(line, name):
                yield line.line, happening
        for happening in self.rest(name):
            yield 0, happening

    def rest(self, name: str) -> Iterator[CommunityRuling]:
        """What falls due after the last line, as far as time is to pass."""
        now, until = self.community.now, self._until
        if until is not None and (now is None or now <= until):
            try:
                yield from self.community.advance(until)
            except Runaway as runaway:
                raise Endless(where=f"{name}: after the last line", why=str(runaway)) from None

    def happenings(self, told: EventLine | StartLine, name: str) -> Iterator[CommunityRuling]:
        """What one line brings, starting with what falls due before it."""
        community = self.community
        try:
            if told.at is not None:
                yield from community.advance(told.at)
            if isinstance(told, StartLine):
                community.set_state(told.home, told.terms)
                return
            member = community.members.get(told.home)
            if self._say and member is not None and member.ended and told.event.kind != "adopted":
                self._say(
                    f"{name}: line {told.line}: {told.home} has quit the community, so no law "
                    "rules on this event"
                )
            yield from community.tell(told.home, told.event, at=told.at)
        except Runaway as runaway:
            raise Endless(where=f"{name}: line {told.line}", why=str(runaway)) from None
        except CallerError as error:
            raise BadLine(name=name, line=told.line, why=str(error)) from None


class Endless(LawError):
    """A run was stopped: events caused each other without end."""

    code = "lawrun.endless"
    words = "{where}: {why}"
    where: str
    why: str


def row(happening: CommunityRuling) -> Row:
    """A ruling as a line out."""
    ruling = happening.ruling
    found: Row = {
        "at": seconds(ruling.at),
        "home": ruling.home,
        "event": show(ruling.event.term),
        "rule": ruling.rule,
        "ruling": [show(operation) for operation in ruling.operations],
        "control_state": [show(item) for item in happening.state],
    }
    if ruling.unmet:
        found["unmet"] = list(ruling.unmet)
    return found
