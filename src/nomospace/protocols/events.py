"""Facts that links and engagement are told, and orders that they give back.

Effects come in the order they must be done: what `Floor` says must be on disk before anything
after it is seen by others.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from nomospace.protocols.messages import Frame, Payload, View, ViewId

# -- facts -------------------------------------------------------------------------------------


class Heard(msgspec.Struct, frozen=True, gc=False):
    """A frame came over the link from a neighbour."""

    neighbour: str
    frame: Frame


class Tick(msgspec.Struct, frozen=True, gc=False):
    """Time has passed."""


TICK: Final = Tick()


class Engage(msgspec.Struct, frozen=True, gc=False):
    """The host announces that it would engage with whom it meets."""


class Disengage(msgspec.Struct, frozen=True, gc=False):
    """The host announces that it leaves; it has drained what was under way."""


class Moved(msgspec.Struct, frozen=True, gc=False):
    """The host is at a new position, in metres."""

    position: tuple[float, ...]


class Info(msgspec.Struct, frozen=True, gc=False):
    """The host has stopped, and this is its entry of the directory while it stands still."""

    directory: Payload


class Exchanged(msgspec.Struct, frozen=True, gc=False):
    """What every fresh peer of a view had to send has come."""

    view_id: ViewId


Event: TypeAlias = Heard | Tick | Engage | Disengage | Moved | Info | Exchanged

# -- orders ------------------------------------------------------------------------------------


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Put a frame on the link to a neighbour, or (`None`) to all who can hear."""

    to: str | None
    frame: Frame


class Floor(msgspec.Struct, frozen=True, gc=False):
    """Write down the highest view number that this host has promised itself to."""

    number: int


class Freeze(msgspec.Struct, frozen=True, gc=False):
    """Stop all operations, then tell `Info`. A later one replaces an earlier one."""

    view_id: ViewId


class Thaw(msgspec.Struct, frozen=True, gc=False):
    """The proposal died: go on in the view that was installed before."""

    view_id: ViewId


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """All will come. Send the fresh peers what is theirs, wait for theirs, tell `Exchanged`."""

    view: View
    directories: dict[str, Payload]
    fresh: tuple[str, ...]


class Installed(msgspec.Struct, frozen=True, gc=False):
    """Go on, in the new view."""

    view: View


class DeliverRelayed(msgspec.Struct, frozen=True, gc=False):
    """A body that was relayed to this host."""

    src: str
    body: Payload


Effect: TypeAlias = Transmit | Floor | Freeze | Thaw | Exchange | Installed | DeliverRelayed
