"""What hosts say to each other: one frozen, tagged struct for each kind of frame.

Frames hold plain values, terms and other frames, so that the wire can write them without knowing
any protocol. They are never changed after they were made: in one process the sender and its
receivers may hold the same object. A protocol has a section of its own here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nomospace.protocols.pace import LOSS

# -- engagement --------------------------------------------------------------------------------

ViewId: TypeAlias = tuple[int, str]
"""The number of a view and the host that led it; later views are greater."""


class View(msgspec.Struct, frozen=True, gc=False):
    """A group as all its members see it: sorted hosts under an id that is given once."""

    id: ViewId
    members: tuple[str, ...]


class Hello(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="hello"):
    """A sign of life, to whoever can hear it.

    `beat` counts the hellos of one life. `heard` names those whose link the sender would have,
    with the life it heard them in. `vector` says which advert of each host the sender holds, so
    that a neighbour knows what to tell. `info` is for the policy: a position, or nothing. `loss`
    is how long the sender may be silent before it is to be taken for gone, in microseconds; hosts
    that do not say so keep the usual pace.
    """

    host: str
    life: int
    beat: int
    heard: dict[str, int]
    vector: dict[str, int]
    info: Any = None
    loss: int = LOSS


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
    body: Any


class Prepare(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="prepare"):
    """The leader asks the members of a view to come: stop, and say that you are ready."""

    id: ViewId
    members: tuple[str, ...]


class Ready(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ready"):
    """A member has stopped. It comes from an installed view, with its entry of the directory."""

    id: ViewId
    from_view: ViewId
    entry: Any


class Nack(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="nack"):
    """A member will not come: it has promised itself to `promised`, or has given up waiting."""

    id: ViewId
    promised: ViewId


class Commit(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="commit"):
    """All are ready. Every member gets the same words: each one's last view and entry."""

    id: ViewId
    members: tuple[str, ...]
    from_views: dict[str, ViewId]
    entries: dict[str, Any]


class Abort(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="abort"):
    """The proposal is dead; go on in the view you had."""

    id: ViewId


Frame: TypeAlias = Hello | Adverts | Relay
"""What crosses one link; everything else rides in a `Relay`."""
EngagementBody: TypeAlias = Prepare | Ready | Nack | Commit | Abort
