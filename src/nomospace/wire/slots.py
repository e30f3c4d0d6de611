"""What stands in every open field (`object`, a term) of every struct that travels or is stored.

This table is all that the wire knows of the protocols. A class that is not here and has an open
field cannot be sent, and a test walks all that can be: a new frame is not forgotten.
"""

from __future__ import annotations

from typing import Final, get_args

from nomospace.control import Event, Ruling, Snapshot
from nomospace.host import calls, changes
from nomospace.host.moving import Back, Coming, MayCome, There, Unwelcome, Welcome
from nomospace.host.operations import Carried
from nomospace.host.posting import Letter, Rejected
from nomospace.protocols import messages, spaces
from nomospace.protocols.courier import Aside, Parcel, Receipt
from nomospace.protocols.questions import PeerTalk
from nomospace.protocols.routing import changes as routed, frames as posts
from nomospace.protocols.streams import Ack, Data
from nomospace.protocols.transfers import Taken, Transfer
from nomospace.wire.annotations import Struct
from nomospace.wire.forms import CALL_SLOTS
from nomospace.wire.kinds import DATA, OPERATION, SAID, TERM, Of, Slot, Tagged
from nomospace.wire.shapes import Shapes

GIVEN: Final = Tagged("transfer", spaces.Migrated, spaces.Given, spaces.Returned, spaces.Handed)
"""What a `Transfer` brings."""
STREAMED: Final = Tagged(
    "message",
    spaces.DirectoryChanged,
    spaces.Met,
    spaces.Watch,
    spaces.Unwatch,
    spaces.Ask,
    spaces.Shown,
    spaces.TupleOffer,
    spaces.Claim,
    spaces.Denied,
    spaces.Lent,
    spaces.LeaseSettled,
    spaces.LeaseClosed,
    spaces.Mirror,
    spaces.Mirrored,
    spaces.Unmirror,
    spaces.Fetch,
    spaces.ReactWatch,
    spaces.UnreactWatch,
    spaces.Reacted,
    spaces.Mailed,
    Transfer,
    Taken,
)
"""What engaged hosts say to each other in streams."""
ROUTED: Final = Tagged("post", *get_args(posts.Frame), none=True)
"""What daemons and servers say to each other; a step of a standby may have heard nothing."""
ROUTING: Final = Tagged("change of routing", *get_args(routed.Change))
CARRIED: Final = Tagged(
    "parcel", *get_args(posts.Frame), MayCome, Welcome, Unwelcome, Coming, There, Back
)
"""What the courier brings."""
SAID_ONCE: Final = Tagged("aside", *posts.BEATS, posts.WhoServes, posts.NotPrimary)
"""What is told past the courier."""
RELAYED: Final = Tagged(
    "body",
    *get_args(messages.EngagementBody),
    Data,
    Ack,
    Parcel,
    Receipt,
    *get_args(PeerTalk),
    Aside,
)
"""What rides in a `Relay`."""
FRAMES: Final = Tagged("frame", *get_args(messages.Frame), Parcel, Receipt, Aside)
"""What goes from host to host: all that `host.effects.Transmit` may hold."""
CHANGES: Final = Tagged("change", *get_args(changes.Change))
"""What a host writes down."""

_ENTRY: Final = Of(spaces.DirectoryEntry)

SLOTS: Final[dict[tuple[Struct, str], Slot]] = {
    # -- engagement
    (messages.HelloFrame, "info"): TERM,
    (messages.Relay, "body"): RELAYED,
    (messages.Ready, "entries"): _ENTRY,
    (messages.Commit, "entries"): _ENTRY,
    # -- streams, transfers, parcels
    (Data, "body"): STREAMED,
    (Transfer, "what"): GIVEN,
    (Parcel, "what"): CARRIED,
    (Aside, "what"): SAID_ONCE,
    # -- spaces
    (spaces.Row, "fields"): TERM,
    (spaces.Watch, "pattern"): TERM,
    (spaces.Watch, "message"): SAID,
    (spaces.Ask, "pattern"): TERM,
    (spaces.Ask, "message"): SAID,
    (spaces.Shown, "message"): SAID,
    (spaces.Lent, "message"): SAID,
    (spaces.LeaseClosed, "fields"): TERM,
    (spaces.Fetch, "answer"): SAID,
    (spaces.ReactWatch, "pattern"): TERM,
    (spaces.ReactWatch, "spans"): Of(dict[str, list[tuple[int, int]]]),
    (spaces.ReactWatch, "message"): SAID,
    (spaces.Reacted, "message"): SAID,
    (spaces.Mailed, "message"): SAID,
    (spaces.Given, "message"): SAID,
    # -- routing
    (posts.Post, "body"): Tagged("letter", Letter, Rejected),
    (posts.Replicate, "changes"): ROUTING,
    (posts.Replicate, "frames"): ROUTED,
    (posts.ServerSnapshot, "changes"): ROUTING,
    (posts.Relayed, "frame"): ROUTED,
    (routed.StepTaken, "frame"): ROUTED,
    (routed.StepTaken, "frames"): ROUTED,
    (routed.FrameKept, "frame"): ROUTED,
    (Letter, "message"): SAID,
    (Rejected, "message"): SAID,
    # -- agents on the move
    (MayCome, "code"): DATA,
    (Coming, "state"): DATA,
    (Coming, "code"): DATA,
    (calls.Waiting, "message"): SAID,
    (calls.Bundle, "reactions"): Of(Carried),
    (calls.Bundle, "memberships"): Of(Snapshot),
    (Carried, "message"): SAID,
    # -- rulings
    (Event, "args"): SAID,
    (Ruling, "operations"): OPERATION,
    (Ruling, "delta"): SAID,
    (Snapshot, "state"): SAID,
    (Snapshot, "obligations"): SAID,
    # -- what is stored
    (changes.ProgramKept, "state"): DATA,
    (changes.ProgramKept, "code"): DATA,
    (changes.StateKept, "state"): DATA,
    (changes.TransferGiven, "what"): GIVEN,
    (changes.ParcelGiven, "what"): CARRIED,
    (changes.RoutingChanged, "change"): ROUTING,
    (changes.RoutingFolded, "changes"): ROUTING,
    # -- calls and answers
    **CALL_SLOTS,
}

SHAPES: Final = Shapes(SLOTS)
