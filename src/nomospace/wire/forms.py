"""Requests and answers in forms that native code can write, where the real ones are not.

A template goes as the bytes of its list term, a law as its hash or with its text, and several
tuples or reactions in a struct of their own, so that every answer has a tag (see `calls`).

`CALL_SLOTS` says what stands in the open fields of requests and answers. `slots` has all that
travels; a client has nothing of what hosts say to each other or write down.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.calls import answers, requests
from nomospace.calls.answers import Found
from nomospace.calls.requests import LawText, OntologyText, Sets
from nomospace.calls.ways import Mode, Strength
from nomospace.terms import Term
from nomospace.wire.annotations import Struct
from nomospace.wire.kinds import DATA, OPERATION, SAID, TERM, Slot
from nomospace.wire.shapes import Shapes


class WireSeek(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="seek"):
    """A `Seek`, with the bytes of its template."""

    space: str
    how: str
    pattern: bytes
    at: str = ""
    dest: str = ""
    lease_us: int = 0
    sets: Sets | None = None


class WireReact(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="react"):
    """A `React`, with the bytes of its template and without a listener."""

    space: str
    pattern: bytes
    mode: str
    strength: str
    at: str = ""
    dest: str = ""
    sets: Sets | None = None


class WireOpen(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="open"):
    """An `Open`, with the hash of its law, or with its text too."""

    space: str
    law: str | LawText | None
    durable: bool
    ontology: OntologyText | None = None
    engine: str = ""
    partition: str = ""


class WireAdopt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="adopt"):
    """An `Adopt`, with the hash of its law, or with its text too."""

    law: str | LawText
    args: tuple[Term, ...]
    number: int = 1


class WireFounds(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="founds"):
    """All that a bulk form found."""

    founds: tuple[Found, ...]


class WireListed(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A `Listed`, with the bytes of its template."""

    id: str
    space: str
    pattern: bytes
    mode: Mode
    strength: Strength
    at: str
    dest: str
    enabled: bool
    fired: int


class WireListing(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="listing"):
    """The reactions of an agent."""

    reactions: tuple[WireListed, ...]


CALL_SLOTS: Final[dict[tuple[Struct, str], Slot]] = {
    (requests.OutMany, "rows"): TERM,
    (requests.Tell, "message"): TERM,
    (requests.SendPlain, "message"): TERM,
    (requests.Move, "state"): DATA,
    (requests.Move, "code"): DATA,
    (requests.Launch, "state"): DATA,
    (requests.Launch, "code"): DATA,
    (requests.Save, "state"): DATA,
    (WireAdopt, "args"): TERM,
    (answers.Found, "fields"): TERM,
    (answers.Member, "fields"): TERM,
    (requests.Unread, "message"): SAID,
    (requests.Out, "fields"): TERM,
    (answers.DisclosedRuling, "operations"): OPERATION,
    (answers.Standing, "state"): SAID,
    (answers.Standing, "owed"): SAID,
}

SHAPES: Final = Shapes(CALL_SLOTS)
