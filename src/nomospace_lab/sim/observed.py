"""What can be seen of hosts from outside: the kinds of happening in a world of `Sites`.

A call and its answer, a firing, a view, a move, a link: each is written down when whoever is
outside could first know of it. What a crash kept from being told but not from being done is
written down too (`UNTOLD`); without it nobody could tell a lost tuple from one that was taken a
moment before the power went.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import Open, Out, OutMany, React, Request, Seek, Settle, Share
from nomospace.errors import NomospaceError
from nomospace.host.calls import PutBack
from nomospace.host.effects import Fire, Mail, Note
from nomospace.terms import Term, show
from nomospace_lab.sim.history import DELIVERED, Happening, tell_as

ASKED: Final = "asked"  # a call; who: the agent
ANSWERED: Final = "answered"  # a call is answered; who: the agent
UNTOLD: Final = "untold"  # an answer that was on disk when its host crashed, and never given
FIRED: Final = "fired"  # a reaction; who: its agent
VIEW: Final = "view"  # a view is installed; who: the host
LEFT: Final = "left"  # an agent is on its way; what: from where
CAME: Final = "came"  # an agent is at a host; what: the host
ENGAGED: Final = "engaged"  # a host announces that it would engage
DISENGAGED: Final = "disengaged"  # a host announces that it leaves its group
LINKED: Final = "linked"  # who: both hosts
UNLINKED: Final = "unlinked"
FROZE: Final = "froze"  # the group is changing, and a host holds what it is asked for
THAWED: Final = "thawed"  # it goes on
NOTED: Final = "noted"  # something a host wanted known

TupleKey: TypeAlias = tuple[str, tuple[Term, ...]]
"""A space's name and the fields: worlds write no tuple twice."""


class ObservedCall(msgspec.Struct, frozen=True, gc=False):
    """A call at a host.

    `round` is 0 for a call of the script. Others only look: above 0, those of one count of the
    whole world; below, those of an agent that sees its host install a view.
    """

    op: int
    host: str
    request: Request | PutBack
    round: int = 0


class Answered(msgspec.Struct, frozen=True, gc=False):
    """The answer to a call, of whatever host gave it."""

    op: int
    host: str
    value: Any
    error: NomospaceError | None


class ObservedFiring(msgspec.Struct, frozen=True, gc=False):
    """A reaction met a tuple. A strong one may have `wrote` or `took` others in the same step."""

    host: str
    reaction: str
    found: Found
    strength: str
    wrote: tuple[TupleKey, ...] = ()
    took: tuple[TupleKey, ...] = ()


class Viewed(msgspec.Struct, frozen=True, gc=False):
    """A view as a host installed it."""

    id: tuple[int, str]
    members: tuple[str, ...]


def seen(effect: Fire | Note | Mail, host: str) -> tuple[str, str, Any]:
    """What a host's order shows to who is outside: the kind of happening, who, and what."""
    if isinstance(effect, Fire):
        fired = ObservedFiring(host, effect.reaction, effect.tuple, "weak")
        return FIRED, effect.agent, fired
    if isinstance(effect, Mail):
        return DELIVERED, effect.agent, effect
    if effect.what == "view":
        return VIEW, host, Viewed(effect.facts["id"], tuple(effect.facts["members"]))
    facts = [
        (name, repr(fact) if isinstance(fact, Exception) else fact)
        for name, fact in effect.facts.items()
    ]
    return NOTED, host, (effect.what, *facts)


def _fields(fields: tuple[Term, ...]) -> str:
    return f"({', '.join(show(field) for field in fields)})"


def request_text(request: Request | PutBack) -> str:
    """A call in a few words.

    >>> request_text(Out("jobs", ("job", 1), to="bob@x"))
    'out jobs(job, 1) to bob@x'
    """
    if isinstance(request, Out):
        to = f" to {request.to}" if request.to else ""
        ttl = f" for {request.ttl_us / 1e6:g} s" if request.ttl_us else ""
        return f"out {request.space}{_fields(request.fields)}{to}{ttl}"
    if isinstance(request, OutMany):
        return f"out {request.space}{' '.join(_fields(row) for row in request.rows)}"
    if isinstance(request, Seek | React):
        how = request.how if isinstance(request, Seek) else f"react {request.strength}ly to"
        at = f" at {request.at}" if request.at else ""
        dest = f" for {request.dest}" if request.dest else ""
        mode = f" {request.mode}" if isinstance(request, React) else ""
        lease = getattr(request, "lease_us", 0)
        until = f" under a lease of {lease / 1e6:g} s" if lease else ""
        return f"{how} {request.space}{_fields(request.template.term)}{at}{dest}{mode}{until}"
    if isinstance(request, Share):
        return f"{'share' if request.shared else 'part'} {', '.join(request.spaces)}"
    if isinstance(request, Settle):
        return f"{'settle' if request.done else 'give back'} {request.lease}"
    if isinstance(request, Open):
        return f"open {request.space}"
    words = [repr(getattr(request, name)) for name in request.__struct_fields__]
    return f"{type(request).__name__.lower()} {' '.join(words)}".strip()


def value_text(value: Any) -> str:
    """An answer's value in a few words."""
    if isinstance(value, Found):
        lease = f" under {value.lease}" if value.lease else ""
        return f"{_fields(value.fields)} of {value.source}{lease}"
    if isinstance(value, tuple) and all(isinstance(one, Found) for one in value):
        return f"[{', '.join(value_text(one) for one in value)}]"
    return repr(value)


def _tell_asked(h: Happening) -> str:
    asked: ObservedCall = h.what
    return f"{h.who} at {asked.host}  #{asked.op} {request_text(asked.request)}"


def _tell_answered(h: Happening) -> str:
    answered: Answered = h.what
    word = "would be answered, but the host crashed" if h.kind == UNTOLD else "answered"
    if answered.error is not None:
        return f"{h.who}  #{answered.op} {word}: {answered.error.code}: {answered.error}"
    return f"{h.who}  #{answered.op} {word}: {value_text(answered.value)}"


def _tell_fired(h: Happening) -> str:
    fired: ObservedFiring = h.what
    wrote = "".join(f", wrote {space}{_fields(fields)}" for space, fields in fired.wrote)
    took = "".join(f", took {space}{_fields(fields)}" for space, fields in fired.took)
    what = f"{fired.strength} {fired.reaction} fires on {value_text(fired.found)}"
    return f"{h.who} at {fired.host}  {what}{wrote}{took}"


def _tell_view(h: Happening) -> str:
    number, leader = h.what.id
    return f"host {h.who} installs view {number} of {leader}: {', '.join(h.what.members)}"


def _tell_move(h: Happening) -> str:
    return f"{h.who} {'leaves' if h.kind == LEFT else 'is at'} {h.what}"


for _kind, _teller in (
    (ASKED, _tell_asked),
    (ANSWERED, _tell_answered),
    (UNTOLD, _tell_answered),
    (FIRED, _tell_fired),
    (VIEW, _tell_view),
    (LEFT, _tell_move),
    (CAME, _tell_move),
):
    tell_as(_kind, _teller)
