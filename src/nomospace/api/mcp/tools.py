"""What a model may ask: the table of tools, each with its words, its arguments and what it does.

The words are written for models: what the tool does, how terms look, one example. `call` runs one;
whatever goes wrong that somebody can mend is an answer with `error`, in words that say what next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from nomospace.api.mcp import words
from nomospace.api.mcp.member import WAIT_S_MAX, ModelMember, event_line, letter_line
from nomospace.api.mcp.words import ToolAnswer
from nomospace.calls.addresses import NAME_MAX
from nomospace.calls.ways import PRIORITY_MAX
from nomospace.client import DisclosedRuling, TimedOut, Tuple
from nomospace.client.tuples import Correlation, correlation
from nomospace.errors import Bug, NomospaceError
from nomospace.terms import show, term
from nomospace.terms.templates import ANY, WIDTH_MAX
from nomospace.terms.written import read_fields, read_patterns

TEXT_MAX: Final = 65_536
"""The longest text of one field, pattern or message, in characters."""
SHOWN_MAX: Final = 200
"""The most tuples, firings, letters or lines in one answer."""
SHOWN: Final = 50
RECEIVERS_MAX: Final = 100
LIFE_S_MAX: Final = 366 * 86_400.0
REFUSED: Final = "law.refused"

FIELDS: Final = (
    "Terms: 17, 2.5, fire, true, 'two words', room(3), [1,2], 'nurse@ward-3'. A name that begins "
    "with a capital, and an agent's id, need single quotes. A dict is a JSON object."
)
PATTERNS: Final = (
    "A pattern for each field, as many as the tuple has: a term that must be equal, or a hole: "
    "_ anything, _:int _:str _:list a kind, _:1..10 a range, X the same wherever X stands. Holes "
    "may be inside: room(_), [_,2]."
)

Text = Annotated[str, Meta(max_length=TEXT_MAX)]
Field = Text | int | float | bool | dict[str, Any]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_MAX, description="The space, as in jobs.")]
Patterns = Annotated[list[Field], Meta(min_length=1, max_length=WIDTH_MAX, description=PATTERNS)]
Wait = Annotated[
    float, Meta(ge=0, le=WAIT_S_MAX, description="Seconds to wait if there is nothing yet.")
]
Limit = Annotated[int, Meta(ge=1, le=SHOWN_MAX, description="How many at most.")]
At = Annotated[
    str, Meta(max_length=2 * NAME_MAX, description="Only what this agent or host holds.")
]
Id = Annotated[str, Meta(max_length=2 * NAME_MAX)]


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The arguments of a tool."""


class Write(Arguments):
    """A tuple to write."""

    space: Name
    fields: Annotated[list[Field], Meta(min_length=1, max_length=WIDTH_MAX, description=FIELDS)]
    to: Annotated[Id, Meta(description="The agent that it is for, as in nurse@ward-3.")] = ""
    ttl_s: Annotated[float, Meta(gt=0, le=LIFE_S_MAX)] | None = None
    once: Annotated[
        str, Meta(max_length=NAME_MAX, description="A key: written at most once under it.")
    ] = ""
    priority: Annotated[
        int, Meta(ge=-PRIORITY_MAX, le=PRIORITY_MAX, description="Higher ones are found first.")
    ] = 0


class WatchArguments(Arguments):
    """What to look for."""

    space: Name
    template: Patterns
    at: At = ""
    together: Annotated[
        bool, Meta(description="Several tuples that share objects may answer where no single does.")
    ] = False
    key: Annotated[
        str, Meta(max_length=NAME_MAX, description="A class: all of them hold one object of it.")
    ] = ""
    max_set: (
        Annotated[int, Meta(ge=1, description="How many they are at most; 6 if not said.")] | None
    ) = None

    def correlation(self) -> Correlation:
        """What it says of sets, as the client has it."""
        return correlation("auto" if self.together else None, self.key, self.max_set)


class TemplateArguments(WatchArguments):
    """What to look for, and how long to wait for it."""

    wait_s: Wait = 0.0


class Read(TemplateArguments, kw_only=True):
    """What to read."""

    limit: Limit = SHOWN


class Take(TemplateArguments, kw_only=True):
    """What to take."""


class React(WatchArguments):
    """What to watch for."""

    mode: Literal["once-per-tuple", "once"] = "once-per-tuple"


class Unreact(Arguments):
    """Which reaction ends."""

    reaction: Annotated[str, Meta(max_length=40, description="Its name, as in r1.")]


class Fetch(Arguments):
    """How many to fetch, and how long to wait."""

    wait_s: Wait = 0.0
    limit: Limit = SHOWN


class Send(Arguments):
    """A message and its receivers."""

    message: Annotated[Text, Meta(min_length=1, description=f"One term. {FIELDS}")]
    to: (
        Annotated[
            list[Id],
            Meta(
                min_length=1, max_length=RECEIVERS_MAX, description="Agents' ids, or spaces' names."
            ),
        ]
        | Id
    )


class Move(Arguments):
    """Where to go."""

    host: Annotated[str, Meta(min_length=1, max_length=NAME_MAX, description="The host's name.")]


class Why(Arguments):
    """Which ruling."""

    ruling: Annotated[int, Meta(ge=1, description="Its number; else the last refusal.")] | None = (
        None
    )


class Look(Arguments):
    """What to list."""

    what: Literal["agents", "hosts", "spaces"]
    limit: Limit = SHOWN


class Tool(msgspec.Struct, frozen=True):
    """A tool: its words, its arguments, what it does, and what a client may think of it."""

    about: str
    arguments: type[Arguments]
    run: Callable[[ModelMember, Any], Awaitable[ToolAnswer]]
    changes: bool = True
    removes: bool = False

    @property
    def schema(self) -> dict[str, object]:
        """The JSON schema of its arguments."""
        _, parts = msgspec.json.schema_components([self.arguments])
        return dict(parts[self.arguments.__name__])


# -- what they do ----------------------------------------------------------------------------------


async def _write(member: ModelMember, asked: Write) -> ToolAnswer:
    fields = read_fields(_texts(asked.fields))
    to, once = asked.to or None, asked.once or None
    async with member.using("write to", asked.space) as space:
        await space.out(*fields, to=to, ttl=asked.ttl_s, once=once, priority=asked.priority)
    return ToolAnswer(
        f"Written to {asked.space}: {words.line(fields)}",
        {"space": asked.space, "fields": words.texts(fields)},
    )


async def _read(member: ModelMember, asked: Read) -> ToolAnswer:
    template, at = read_patterns(_texts(asked.template)), asked.at or None
    got: list[Tuple] = []
    async with member.using("read from", asked.space, asked.wait_s) as space:
        if not asked.wait_s:
            got = await space.read_all(*template, at=at, **asked.correlation())
        else:
            with suppress(TimedOut):
                got = [
                    await space.read(*template, timeout=asked.wait_s, at=at, **asked.correlation())
                ]
    if not got:
        return ToolAnswer(_nothing(asked), {"tuples": [], "more": 0})
    lines = [words.line(one) + (f" ({one.why})" if one.why else "") for one in got[: asked.limit]]
    lines = lines[: words.fitting(lines)]
    shown = got[: len(lines)]
    left = len(got) - len(shown)
    text = words.listing(f"In {asked.space}:", lines, left)
    return ToolAnswer(text, {"tuples": [words.found(one) for one in shown], "more": left})


async def _take(member: ModelMember, asked: Take) -> ToolAnswer:
    template, at = read_patterns(_texts(asked.template)), asked.at or None
    got: Tuple | None = None
    async with member.using("take from", asked.space, asked.wait_s) as space:
        if not asked.wait_s:
            got = await space.take_nowait(*template, at=at, **asked.correlation())
        else:
            with suppress(TimedOut):
                got = await space.take(
                    *template, timeout=asked.wait_s, at=at, **asked.correlation()
                )
    if got is None:
        return ToolAnswer(_nothing(asked), {"tuple": None})
    return ToolAnswer(f"Taken from {asked.space}: {words.line(got)}", {"tuple": words.found(got)})


async def _react(member: ModelMember, asked: React) -> ToolAnswer:
    typed = _texts(asked.template)
    name = await member.react(
        asked.space,
        read_patterns(typed),
        f"[{', '.join(typed)}]",
        mode=asked.mode,
        at=asked.at,
        **asked.correlation(),
    )
    text = f"Reaction {name} watches {asked.space}; fetch what it sees with events."
    return ToolAnswer(text, {"reaction": name})


async def _unreact(member: ModelMember, asked: Unreact) -> ToolAnswer:
    member.unreact(asked.reaction)
    return ToolAnswer(f"Reaction {asked.reaction} has ended.", {"reaction": asked.reaction})


async def _events(member: ModelMember, asked: Fetch) -> ToolAnswer:
    got, lost = await member.fetch_events(asked.limit, asked.wait_s)
    left = len(member.events)
    lines = [event_line(one) for one in got]
    head = words.count(len(got), "event") if got else "No events yet."
    if lost:
        head += f" ({lost:,} older ones were forgotten: read the space for what is there)"
    data = [
        {"reaction": one.reaction, "space": one.space, "tuple": words.found(one.tuple)}
        for one in got
    ]
    return ToolAnswer(
        words.listing(head, lines, left), {"events": data, "more": left, "lost": lost}
    )


async def _send(member: ModelMember, asked: Send) -> ToolAnswer:
    to = [asked.to] if isinstance(asked.to, str) else asked.to
    entry = await member.send(term(asked.message), to[0] if len(to) == 1 else tuple(to))
    told = entry.told
    data = _ruling(entry.number, told)
    if told.refused or told.held:
        return ToolAnswer(words.story(told, entry.number, member.law), data, error=told.refused)
    return ToolAnswer(f"Sent. Ruling {entry.number}: {told.verdict}.", data)


async def _inbox(member: ModelMember, asked: Fetch) -> ToolAnswer:
    got = await member.fetch_letters(asked.limit, asked.wait_s)
    left = len(member.letters)
    lines = [letter_line(one) for one in got]
    head = words.count(len(got), "message") if got else "No messages yet."
    data = [{"from": one.sender, "message": show(one.message)} for one in got]
    return ToolAnswer(words.listing(head, lines, left), {"messages": data, "more": left})


async def _move(member: ModelMember, asked: Move) -> ToolAnswer:
    async with member.timed(f"move to {asked.host}"):
        await member.agent.move(asked.host)
    return ToolAnswer(f"{member.agent.id} is at {asked.host} now.", {"host": asked.host})


async def _why(member: ModelMember, asked: Why) -> ToolAnswer:
    entry = member.ruling(asked.ruling)
    text = f"You asked: {entry.what}\n{words.story(entry.told, entry.number, member.law)}"
    return ToolAnswer(text, _ruling(entry.number, entry.told) | {"asked": entry.what})


async def _look(member: ModelMember, asked: Look) -> ToolAnswer:
    shape, columns = _LOOKS[asked.what]
    async with member.timed("look"):
        rows = await member.agent.system.read_all(*shape)
    shown = [dict(zip(columns, row[1:], strict=True)) for row in rows[: asked.limit]]
    left = len(rows) - len(shown)
    lines = [", ".join(f"{name} {value}" for name, value in row.items()) for row in shown]
    return ToolAnswer(
        words.listing(words.count(len(rows), asked.what[:-1]), lines, left), {asked.what: shown}
    )


_LOOKS: Final[Mapping[str, tuple[Sequence[object], Sequence[str]]]] = {
    "agents": (("agent", ANY, ANY, ANY), ("agent", "host", "status")),
    "hosts": (("host", ANY, ANY), ("host", "status")),
    "spaces": (("space", ANY, ANY, ANY, ANY), ("space", "agent", "host", "status")),
}


def _texts(fields: Sequence[Field]) -> list[str]:
    """Fields as texts of terms: models write numbers both ways."""
    return [field if isinstance(field, str) else show(field) for field in fields]


def _nothing(asked: Read | Take) -> str:
    if asked.wait_s:
        return f"Nothing in {asked.space} matches, and nothing came within {asked.wait_s:g} s."
    return f"Nothing in {asked.space} here matches; wait_s looks on all hosts, and waits."


def _ruling(number: int, told: DisclosedRuling) -> dict[str, object]:
    return {
        "ruling": number,
        "verdict": told.verdict,
        "rule": told.rule,
        "refused": told.refused,
        "held": told.held,
        "operations": words.operations(told),
    }


# -- the table -------------------------------------------------------------------------------------

TOOLS: Final[Mapping[str, Tool]] = {
    "write": Tool(
        "Write a tuple into a shared space, for others to read or take. "
        'Example: {"space": "jobs", "fields": ["job", "17", "room(3)"]}',
        Write,
        _write,
    ),
    "read": Tool(
        "Read tuples that match a template, and leave them there. Without wait_s: all on this "
        "host. With wait_s: one, from any host in touch, as soon as it is there. "
        'Example: {"space": "jobs", "template": ["job", "_:int", "room(_)"]}',
        Read,
        _read,
        changes=False,
    ),
    "take": Tool(
        "Take one tuple that matches a template: it is removed, and nobody else gets it. Without "
        "wait_s: from this host, or nothing. With wait_s: from any host in touch. "
        'Example: {"space": "jobs", "template": ["job", "_", "_"], "wait_s": 20}',
        Take,
        _take,
        removes=True,
    ),
    "react": Tool(
        "Watch a space for tuples that match a template, those there now included. What is seen "
        "waits for events; nothing is removed. "
        'Example: {"space": "jobs", "template": ["alarm", "_"]}',
        React,
        _react,
    ),
    "unreact": Tool('End a reaction. Example: {"reaction": "r1"}', Unreact, _unreact),
    "events": Tool(
        "Fetch what your reactions have seen, oldest first; each is told once. "
        'Example: {"wait_s": 20}',
        Fetch,
        _events,
    ),
    "send": Tool(
        "Send a message to members of your community. The law rules on it; the answer says what "
        'became of it. Example: {"message": "publish(alarm(fire))", "to": ["mediator@ward"]}',
        Send,
        _send,
    ),
    "inbox": Tool(
        'Fetch messages for you, oldest first; each is told once. Example: {"wait_s": 20}',
        Fetch,
        _inbox,
    ),
    "move": Tool(
        "Go to another host with your spaces, tuples and memberships. "
        'Example: {"host": "ward-7"}; look at hosts for names.',
        Move,
        _move,
    ),
    "why": Tool(
        "Say why something was refused, held back or let through: which rules were tried, what "
        "failed, what would pass. Without a number: the last refusal.",
        Why,
        _why,
        changes=False,
    ),
    "look": Tool(
        "List the agents, the hosts or the shared spaces that are known here.",
        Look,
        _look,
        changes=False,
    ),
}


async def call(member: ModelMember, name: str, arguments: Mapping[str, object]) -> ToolAnswer:
    """Run a tool. What somebody can mend is answered; a bug of ours is raised."""
    tool = TOOLS.get(name)
    if tool is None:
        known = ", ".join(TOOLS)
        return ToolAnswer(f"There is no tool {name[:60]!r}; there are {known}.", {}, error=True)
    try:
        asked = msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        text = f"{error}. {tool.about}"
        return ToolAnswer(text, {"code": "mcp.bad-arguments"}, error=True)
    try:
        return await tool.run(member, asked)
    except Bug:
        raise
    except NomospaceError as error:
        if error.code != REFUSED:
            return ToolAnswer(str(error), {"code": error.code}, error=True)
        told = getattr(error, "ruling")  # noqa: B009 (rulings are the host's; this room has no word of it)
        entry = member.note(_asked(name, arguments), told)
        text = words.story(told, entry.number, member.law)
        return ToolAnswer(text, {"code": error.code, **_ruling(entry.number, told)}, error=True)


def _asked(name: str, arguments: Mapping[str, object]) -> str:
    return words.cut(f"{name} {msgspec.json.encode(arguments).decode()}", 500)
