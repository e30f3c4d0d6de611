"""Facts: what a record of a journal tells a story, and by what it is tied to others.

A fact *makes* things that others *use*, each under a key:

| key | made by | used by |
| --- | --- | --- |
| `m` sender, receiver, digest | a ruling that forwards a message | the ruling on its arrival |
| `t` home, law, place | a ruling that adds a term to a control state | the one that takes it away |
| `o` home, law, place | a ruling that imposes an obligation | the one that it ends in |
| `w` space, agent, digest | the space's ruling that delivers an `out` | the tuple that is written |
| `u` tuple | whatever became of it | whatever became of it next |
| `v` agent, number | its departure | its arrival at another host |
| `p` agent | what is handed to its program | what that sends, writes or takes next |

Places in a control state are given once, so `t` and `o` are certain. Messages and tuples are looked
for by so short a digest that nobody learns the text from it, and their records say which ruling
sent them (`cause`). Those of before it was on record, and answers of spaces at other hosts, go by
the digest and the nearest moment, which is a guess. So is what a program does after it heard
something (`p`): it did so at once, or says a part of what it heard. A story marks guesses.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from nomospace.control import Ruling
from nomospace.control.reasons import verdict_on
from nomospace.store.journal import (
    CAME,
    CAME_BACK,
    DEPARTED,
    CheckpointRecord,
    EventRecord,
    LawRecord,
    LeaseRecord,
    Record,
    TupleRecord,
)
from nomospace.terms import Compound, Term, encode, show
from nomospace.terms.values import parts_of

TEXT_MAX: Final = 400
"""How much of an event, a tuple or an operation is told."""
TIES_MAX: Final = 100
"""How many things a fact makes, or uses."""
PARTS_MAX: Final = 16
OPERATIONS_MAX: Final = 20
BY_CAUSE: Final = ("m", "w")
"""Kinds of keys whose users say which ruling made them."""
MOVES: Final = (DEPARTED, CAME, CAME_BACK)
"""Kinds of facts that tell of an agent where it left, came, or was: its membership is told whole
where it comes, and of one that stays, now and then."""


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
    cause: str = ""
    """Which ruling (`ruling`) sent what it is about, where that is on record."""

    @property
    def id(self) -> str:
        """What no other fact has: its host, and the number of its record there."""
        return f"{self.host}/{self.record}"

    @property
    def ruling(self) -> str:
        """What no other ruling has: whose, under which law, and its number."""
        return _ruling_of(self.lane, self.law, self.seq, self.host)


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
        return _ruled(number, record) if record.community else _moved(number, record)
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


def agent_noted(record: EventRecord) -> str:
    """The agent that a note of the host itself says has moved; empty if it says something else."""
    moved = _noted(record)
    return moved[1] if moved else ""


def _noted(record: EventRecord) -> tuple[str, str, str, int] | None:
    """What a note says of an agent that moves: how, which agent, the other host, and the move."""
    args = record.ruling.event.args
    facts = args[1] if len(args) == 2 and args[0] in MOVES else ()
    values = [fact.args[0] for fact in parts_of(facts) if isinstance(fact, Compound)]
    match values:
        case [str(agent), str(host), int(move)]:
            return str(args[0]), agent, host, move
    return None


def _moved(number: int, record: EventRecord) -> StoryFact | None:
    """What a host itself notes of an agent that departs or comes."""
    moved = _noted(record)
    if moved is None:
        return None
    how, agent, host, move = moved
    key, at = (tie("v", agent, move),), record.ruling.at
    makes, uses = (key, ()) if how == DEPARTED else ((), key)
    return StoryFact(record.host, number, at, agent, how, path=(host,), makes=makes, uses=uses)


def _traced(number: int, record: TupleRecord | LeaseRecord) -> StoryFact:
    """What became of a tuple, or of a lease on it."""
    id = f"{record.writer}#{record.count}"
    until, text, uses, why, cause = 0, "", [tie("u", id)], "", ""
    parts: tuple[str, ...] = ()
    if isinstance(record, LeaseRecord):
        until, why = record.until, record.why
    else:
        text, parts = _shown(record.fields), _parts(record.fields)
        if record.op == "written":
            mark = digest(record.fields)
            uses = [tie("w", record.space, record.agent, mark), tie("p", record.agent)]
            if record.cause:
                cause = _ruling_of(record.space, "", record.cause, record.host)
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
        cause=cause,
    )


def _ruled(number: int, record: EventRecord) -> StoryFact:
    ruling = record.ruling
    kind, args, home = ruling.event.kind, ruling.event.args, ruling.home
    makes, heard = _sent(ruling)
    uses: list[str] = []
    cause = ""
    message: Term = args[1] if len(args) == 3 else None
    if kind == "arrived" and len(args) == 3:
        uses.append(tie("m", args[0], home, digest(message)))
        if record.cause:
            sender, origin = record.by or str(args[0]), (*record.path, record.host)[0]
            cause = _ruling_of(sender, ruling.law, record.cause, origin)
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
        cause=cause,
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
            said = one.args[1] if len(one.args) == 3 else None
            if isinstance(said, Compound) and said.name == "out" and said.args:
                makes.append(tie("w", ruling.home, one.args[0], digest(said.args[0])))
        elif one.name in ("forward", "multicast") and len(one.args) == 3:
            sender, message, to = one.args
            mark = digest(message)
            receivers = to if isinstance(to, tuple) else (to,)
            makes.extend([tie("m", sender, receiver, mark) for receiver in receivers])
    return makes, heard


def _ruling_of(home: str, law: str, number: int, host: str) -> str:
    """Which ruling: an agent's numbers go with it, a space has a manager at each host.

    A space's tuples do not say under which law they were written; few have several.
    """
    return tie("r", home, law, number) if "@" in home else tie("r", home, host, number)


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
