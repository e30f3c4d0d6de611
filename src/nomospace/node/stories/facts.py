"""Facts: what a record of a journal tells a story, and by what it is tied to others.

A fact *makes* things that others *use*, each under a key:

| key | made by | used by |
| --- | --- | --- |
| `m` sender, receiver, digest | a ruling that forwards a message | the ruling on its arrival |
| `t` home, law, place | a ruling that adds a term to a control state | the one that takes it away |
| `o` home, law, place | a ruling that imposes an obligation | the one that it ends in |
| `w` agent, digest | a ruling that lets an `out` through | the tuple that is written |
| `u` tuple | whatever became of it | whatever became of it next |
| `p` agent | what is handed to its program | what that sends, writes or takes next |

Places in a control state are given once, so `t` and `o` are certain. A message goes by its text: so
short a digest that nobody learns the text from it, and equal messages under way at a time are told
apart by their order alone. What a program does after it heard something (`p`) is a guess: it did so
at once, or says a part of what it heard; a story marks it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from nomospace.control import Ruling
from nomospace.control.reasons import verdict_on
from nomospace.store.journal import (
    CheckpointRecord,
    EventRecord,
    LawRecord,
    LeaseRecord,
    Record,
    TupleRecord,
)
from nomospace.terms import Compound, Term, encode, show

TEXT_MAX: Final = 400
"""How much of an event, a tuple or an operation is told."""
TIES_MAX: Final = 100
"""How many things a fact makes, or uses."""
PARTS_MAX: Final = 16
OPERATIONS_MAX: Final = 20
CAME: Final = "came"
"""The kind of a fact that tells of a membership where its agent came, or was."""


class StoryFact(msgspec.Struct, frozen=True, array_like=True):
    """Something that a journal tells; `lane` is the agent, or the space, that it is of.

    `parts` are digests of what the message consists of, `heard` says whether the agent's program
    was handed something. One that is `hidden` is not for who asked: its words are left out.
    """

    host: str
    record: int
    at: int
    lane: str
    kind: str
    verdict: str = ""
    rule: str = ""
    law: str = ""
    community: str = ""
    text: str = ""
    operations: tuple[str, ...] = ()
    hops: int = 0
    path: tuple[str, ...] = ()
    seq: int = 0
    refused: bool = False
    held: bool = False
    until: int = 0
    makes: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    heard: bool = False
    hidden: bool = False
    about: str = ""
    due: int = 0
    """When the last of the duties falls due that it imposed."""

    @property
    def id(self) -> str:
        """What no other fact has: its host, and the number of its record there."""
        return f"{self.host}/{self.record}"


def outline(fact: StoryFact) -> StoryFact:
    """A fact without its words: who, when, which rule, and what it is tied to."""
    return msgspec.structs.replace(fact, text="", operations=(), verdict="", about="", hidden=True)


def digest(term: Term) -> str:
    """A mark of a term that tells few terms apart, and nobody what the term is.

    >>> len(digest("hello")), digest("hello") == digest("hello")
    (4, True)
    """
    return blake2b(encode(term), digest_size=2).hexdigest()


def fact_of(number: int, record: Record) -> StoryFact | None:
    """What a record tells; `None` for what is no part of any story."""
    if isinstance(record, EventRecord):
        return _ruled(number, record)
    if isinstance(record, CheckpointRecord):
        found = record.snapshot
        if not found.seq:
            return None
        return StoryFact(
            record.host, number, record.at, found.home, CAME, law=found.law, seq=found.seq
        )
    if isinstance(record, LawRecord):
        return None
    return _traced(number, record)


def _traced(number: int, record: TupleRecord | LeaseRecord) -> StoryFact:
    """What became of a tuple, or of a lease on it."""
    id = f"{record.writer}#{record.count}"
    until, text, uses, why = 0, "", [tie("u", id)], ""
    parts: tuple[str, ...] = ()
    if isinstance(record, LeaseRecord):
        until, why = record.until, record.why
    else:
        text, parts = _shown(record.fields), _parts(record.fields)
        if record.op == "written":
            uses = [tie("w", record.agent, digest(record.fields)), tie("p", record.agent)]
    heard = record.op in ("taken", "lent")
    return StoryFact(
        record.host,
        number,
        record.at,
        record.agent,
        record.op,
        community=record.space,
        text=text,
        operations=(why[:TEXT_MAX],) if why else (),
        until=until,
        makes=(tie("u", id),),
        uses=tuple(uses),
        parts=parts,
        heard=heard,
        about=id,
    )


def _ruled(number: int, record: EventRecord) -> StoryFact | None:
    ruling = record.ruling
    if not record.community:
        return None  # the host's own notes
    kind, args, home = ruling.event.kind, ruling.event.args, ruling.home
    makes, heard = _sent(ruling)
    uses: list[str] = []
    message: Term = args[1] if len(args) == 3 else None
    if kind == "arrived" and len(args) == 3:
        uses.append(tie("m", args[0], home, digest(message)))
    elif kind == "sent":
        uses.append(tie("p", home))
    for how, place, *_ in ruling.delta:
        if how == "+" or how == "due":
            makes.append(tie("o" if how == "due" else "t", home, ruling.law, place))
        elif how == "-" or how == "undue":
            uses.append(tie("o" if how == "undue" else "t", home, ruling.law, place))
    return StoryFact(
        record.host,
        number,
        ruling.at,
        home,
        kind,
        verdict_on(ruling),
        ruling.rule or "",
        ruling.law,
        record.community,
        _shown(ruling.event.term),
        tuple([_shown(one) for one in ruling.operations[:OPERATIONS_MAX]]),
        record.hops,
        record.path,
        ruling.seq,
        ruling.refused,
        ruling.held,
        0,
        tuple(makes[:TIES_MAX]),
        tuple(uses[:TIES_MAX]),
        _parts(message),
        heard,
        due=max(
            [at for how, _, _, at in ruling.delta if how == "due" and type(at) is int], default=0
        ),
    )


def _sent(ruling: Ruling) -> tuple[list[str], bool]:
    """What a ruling's operations make, and whether its agent's program is told something."""
    makes: list[str] = []
    heard = False
    for one in ruling.operations:
        if not isinstance(one, Compound):
            continue
        if one.name == "deliver":
            heard = True
        elif one.name in ("forward", "multicast") and len(one.args) == 3:
            sender, message, to = one.args
            mark = digest(message)
            receivers = to if isinstance(to, tuple) else (to,)
            makes.extend([tie("m", sender, receiver, mark) for receiver in receivers])
            if isinstance(message, Compound) and message.name == "out" and message.args:
                makes.append(tie("w", sender, digest(message.args[0])))
    return makes, heard


def tie(kind: str, *of: object) -> str:
    """The key of something that one fact makes and another uses."""
    return "\x1f".join([kind, *[str(one) for one in of]])


def _shown(term: Term) -> str:
    return show(term, limit=TEXT_MAX)


def _parts(message: Term) -> tuple[str, ...]:
    """Digests of what a message consists of and few others do: compounds of several arguments."""
    found: list[str] = []
    waiting: list[Term] = [message]
    while waiting and len(found) < PARTS_MAX:
        one = waiting.pop(0)
        if isinstance(one, Compound):
            if len(one.args) > 1:
                found.append(digest(one))
            waiting.extend(one.args[:PARTS_MAX])
        elif isinstance(one, tuple):
            waiting.extend(one[:PARTS_MAX])
    return tuple(found)
