"""What hosts say to each other: one frozen, tagged struct for each kind of frame.

Frames hold plain values, terms and other frames, so that the wire can write them without knowing
any protocol. They are never changed after they were made: in one process the sender and its
receivers may hold the same object. A protocol has a section of its own here.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from nomospace.protocols.pace import LOSS
from nomospace.terms import Term

Payload: TypeAlias = Any
"""What a protocol carries and does not look into: who gave it knows what it is."""

# -- engagement --------------------------------------------------------------------------------

ViewId: TypeAlias = tuple[int, str]
"""The number of a view and the host that led it; later views are greater."""
Origin: TypeAlias = tuple[int, str, int]
"""The view that a host comes from, and the life in which its leader led it.

A host that keeps nothing may give a number twice, in two lives.
"""


class View(msgspec.Struct, frozen=True, gc=False):
    """A group as all its members see it: sorted hosts under an id that is given once."""

    id: ViewId
    members: tuple[str, ...]


class HelloFrame(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="hello"):
    """A sign of life, to whoever can hear it.

    `beat` counts the hellos of one life. `heard` names those whose link the sender would have,
    with the life it heard them in. `digest` stands for the adverts of the sender's component, so
    that a neighbour knows whether both hold the same. `info` is for the policy: a position, or
    nothing. `loss` is how long the sender may be silent before it is to be taken for gone, in
    microseconds; hosts that do not say so keep the usual pace.
    """

    host: str
    life: int
    beat: int
    heard: dict[str, int]
    digest: int
    info: Term = None
    loss: int = LOSS


class KnownVersions(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="known"):
    """Which version of each host's advert the sender holds; it wants the newer ones."""

    vector: dict[str, int]


class Advert(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="advert"):
    """A host's links and its installed view, as of a version; the newest one counts."""

    host: str
    version: int
    neighbours: tuple[str, ...]
    view: ViewId


class Adverts(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="adverts"):
    """Adverts that a neighbour seems to lack."""

    adverts: tuple[Advert, ...]


class Relay(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="relay"):
    """A body on its way to a host that may be several links away."""

    src: str
    dst: str
    ttl: int
    body: Payload


class Prepare(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="prepare"):
    """The leader asks the members of a view to come: stop, and say that you are ready.

    It goes down a tree, `hops` deep: `parents` has for each member the place of its parent among
    the members. `life` is the leader's.
    """

    id: ViewId
    life: int
    members: tuple[str, ...]
    parents: tuple[int, ...]
    hops: int


class Ready(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ready"):
    """A member has stopped, and all below it; it goes up the tree.

    Each comes from an installed view (`origins`), with its entry of the directory.
    """

    id: ViewId
    life: int
    origins: dict[str, Origin]
    entries: dict[str, Payload]


class Got(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="got"):
    """The sender has what its parent or child in the tree said last, up to this step.

    One that waits for word says `ASKED` again from time to time: it is told what was decided.
    """

    id: ViewId
    step: int


class Nack(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="nack"):
    """A member will not come: it has promised itself to `promised`, or has given up waiting."""

    id: ViewId
    promised: ViewId


class Commit(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="commit"):
    """All are ready. Every member gets the same words: each one's last view and entry."""

    id: ViewId
    life: int
    members: tuple[str, ...]
    origins: dict[str, Origin]
    entries: dict[str, Payload]


class Abort(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="abort"):
    """The proposal is dead; go on in the view you had."""

    id: ViewId


ASKED: Final = 1
"""A step of a member in a proposal: it was asked."""
ANSWERED: Final = 2
"""It and all below it have answered, and its parent has that."""
DECIDED: Final = 3
"""It has the commit."""

Frame: TypeAlias = HelloFrame | KnownVersions | Adverts | Relay
"""What crosses one link; everything else rides in a `Relay`."""
EngagementBody: TypeAlias = Prepare | Ready | Got | Nack | Commit | Abort
