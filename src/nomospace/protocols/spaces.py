"""What engaged hosts say to each other about spaces. All of it rides in streams.

A waiting operation is *watched* for at every host that may hold a match; hosts tell those that ask
which kinds of tuples they hold (`SpaceDigest`). A host with a match for a read shows it; for a take
it only *offers*, the asking host *claims* one offer at a time, and the tuple comes as a transfer or
is denied because somebody was quicker (LIME 4.2, its Figure 8).

Where several tuples may answer together, the asking host has to see what others hold: it asks for a
*mirror* of a space and is told which tuples come and go there. Of a set that it finds, it *fetches*
what lies at each host, which comes as a transfer, all of it, or is denied.

Keys name an operation or a reaction of the asking host: the host's life, a number or name, and a
generation; so an answer that comes late, or after a restart, is known for what it is.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from nomospace.calls.ways import Mode
from nomospace.protocols.births import SILENT
from nomospace.protocols.messages import Payload, ViewId
from nomospace.terms import Term

Key: TypeAlias = tuple[int, int | str, int]
Id: TypeAlias = tuple[str, int]


class Row(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tuple with all that rides along hidden, as it travels and as it is stored."""

    fields: tuple[Term, ...]
    writer: str
    count: int
    cur: str
    dest: str
    expires: int = 0
    deliveries: int = 0
    lent: tuple[str, str, int] | None = None
    """On disk, of a tuple that is lent out: the lease, its taker, and until when."""
    history: tuple[tuple[str, int, str], ...] = ()
    priority: int = 0


class SharedSpace(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A space that agents of a host share; `law` and `ontology` are hashes, or empty."""

    name: str
    law: str
    agents: tuple[str, ...]
    ontology: str = ""


class Sharing(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An agent shares a space; `law` and `ontology` are hashes, or empty."""

    space: str
    law: str
    agent: str
    ontology: str = ""


class DirectoryEntry(msgspec.Struct, frozen=True, gc=False):
    """A host's lines in the directory of its group: its agents, and the spaces they share.

    `owes` names the agents and the hosts that it has tuples for; `None` says that it may have some
    for anyone. `edition` counts the changes of these lines in the host's life. `certificate` is for
    those who ask whether its controllers may take part in a community. `birth` is the host's
    (`births`). `away` are those of its agents that no program speaks for. `capacity` is its weight
    among the homes of partitioned spaces, and `settled` says of each such space for which homes
    (`homes.Homes.digest`) it holds nothing that is at home elsewhere; 0, while it may.

    >>> DirectoryEntry(owes=("bob@b", "z")).has_for("b", DirectoryEntry(("bob@b",)))
    True
    """

    agents: tuple[str, ...] = ()
    spaces: tuple[SharedSpace, ...] = ()
    owes: tuple[str, ...] | None = ()
    edition: int = 0
    certificate: bytes = msgspec.field(default=b"", name="papers")
    birth: int = SILENT
    away: tuple[str, ...] = ()
    capacity: float = 1.0
    settled: tuple[tuple[str, int], ...] = ()

    def has_for(self, host: str, entry: DirectoryEntry) -> bool:
        """Whether this host may have tuples for another, of which the entry is."""
        owes = self.owes
        return owes is None or host in owes or any(agent in owes for agent in entry.agents if owes)


class SpaceDigest(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a host may hold of a space, as kinds of tuples (`space.kinds`).

    These are `gone`, and then these `came`; or the `whole` is told, which is what came. Kind 0
    stands for anything: nothing more is told then until it is asked for.
    """

    space: str
    came: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    whole: bool = False


class DirectoryChanged(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="announced"):
    """What has changed in the sender's lines since the edition before this one.

    Only what is different in the end is told: who came and left again in one step is not in it. In
    a session every edition follows that the entry at its beginning did not have, in order. What an
    entry of a later view contains may come after it, and is skipped. No program speaks any more for
    agents that are `away`, and one speaks again for those that are `back`. `certificate` is that of
    the host's controllers, when it has another. `capacity` is -1 where it is as before, and
    `settled` has what is different about that.

    With `digests` it is about tuples only, and its edition is 0: older hosts skip it. One that is
    on the way may leave them out; then 0 alone says that some were told.
    """

    edition: int
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
    shared: tuple[Sharing, ...] = ()
    parted: tuple[Sharing, ...] = ()
    away: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    certificate: bytes = b""
    digests: tuple[SpaceDigest, ...] = ()
    capacity: float = -1.0
    settled: tuple[tuple[str, int], ...] = ()


class Met(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="met"):
    """The sender has said all that a view calls for; what follows is daily business.

    `birth` is the sender's. One of another birth than the directory says has started again since,
    and may have led two views of one id.
    """

    view: ViewId
    birth: int = SILENT


class _ForAgent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the agent of another host asks of a space, under its law."""

    key: Key
    space: str
    law: str
    agent: str


class Watch(_ForAgent, frozen=True, gc=False, array_like=True, tag="watch"):
    """An agent waits for a tuple: to read it, or to take it (perhaps under a lease).

    `message` is the operation as laws see it, for a governed space; else `None`. With `sole` no
    other host is watched: a tuple for a take is given at once, and need not be offered.
    """

    takes: bool
    pattern: tuple[Term, ...]
    at: str
    dest: str
    lease_us: int
    message: Term = None
    sole: bool = False


class Unwatch(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="unwatch"):
    """The agent waits no longer."""

    key: Key


class Ask(_ForAgent, frozen=True, gc=False, array_like=True, tag="ask"):
    """Read or take at once what there is, one or all.

    With `sets` several tuples may answer together: how, by which key, and how many at most.
    """

    takes: bool
    all: bool
    pattern: tuple[Term, ...]
    at: str
    dest: str
    lease_us: int
    message: Term = None
    sets: tuple[str, str, int] | None = None


class Shown(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="shown"):
    """What a read found; nothing for an `Ask` that found none, whatever it was for.

    `message` is the answer as the manager's law let it go. With `why` there was something, and it
    could not be sent. The last of the rows are sets of tuples that answer together, of so many
    tuples each as `sets` says.
    """

    key: Key
    rows: tuple[Row, ...] = ()
    message: Term = None
    why: str = ""
    sets: tuple[int, ...] = ()


class TupleOffer(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="offer"):
    """There is a tuple for a waiting take; it stays free until it is claimed."""

    key: Key
    id: Id


class Claim(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="claim"):
    """Give the offered tuple."""

    key: Key
    id: Id


class Denied(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="denied"):
    """Somebody was quicker, or a law has `kept` a set; the watch goes on."""

    key: Key
    id: Id
    kept: bool = False


class Lent(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="lent"):
    """The claimed tuple, under a lease that runs at its host."""

    key: Key
    rows: tuple[Row, ...]
    leases: tuple[str, ...]
    message: Term = None


class LeaseSettled(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="settled"):
    """A tuple under a lease is done with, comes back, or stays lent; see `requests.Settle`.

    `key` is `None` when nobody asks.

    `agent` and `space` are the taker's: who guesses the name of a lease has no say in it. Without a
    space nothing is done: the tuple is asked for. Hosts that do not know this find no such lease.
    """

    key: Key | None
    lease: str
    done: bool
    agent: str = ""
    space: str = ""
    renew_us: int = 0
    delay_us: int = 0
    why: str = ""


class LeaseClosed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="closed"):
    """The lease was ended as `LeaseSettled` asked (`counts`), or was over before.

    `fields` are those of the tuple, if it was asked for.
    """

    key: Key
    counts: bool
    fields: tuple[Term, ...] = ()


class Mirror(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="mirror"):
    """Show which tuples that hold objects lie in a space, and tell of those that come and go."""

    key: Key
    space: str
    law: str = ""


class Mirrored(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="mirrored"):
    """Tuples of a mirrored space: these are `gone`, and then those in `rows` have come.

    With `more` the rest of what came with them follows at once. With `why` they cannot be shown,
    and nothing follows.
    """

    key: Key
    rows: tuple[Row, ...] = ()
    gone: tuple[Id, ...] = ()
    more: bool = False
    why: str = ""


class Unmirror(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="unmirror"):
    """Show and tell no more."""

    key: Key


class Fetch(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="fetch"):
    """Give these tuples, all in one step; if one is not there, it is `Denied`, and none is given.

    `key` names the operation, and in its last place the attempt, which is never 0. Under a law the
    manager rules on the `answer`, as those before it have let it go; for a read that is all. For a
    reaction, `reaction` is the key of its watch.
    """

    key: Key
    space: str
    ids: tuple[Id, ...]
    law: str = ""
    answer: Term = None
    takes: bool = True
    reaction: Key | None = None


class ReactWatch(_ForAgent, frozen=True, gc=False, array_like=True, tag="react"):
    """Tell of every tuple that a weak reaction is for; `spans` are those it knows."""

    pattern: tuple[Term, ...]
    mode: Mode
    at: str
    dest: str
    spans: Payload
    message: Term = None


class UnreactWatch(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="unreact"):
    """Tell no more."""

    key: Key


class Reacted(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="reacted"):
    """A tuple for a weak reaction."""

    key: Key
    row: Row
    message: Term = None


class Mailed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="mailed"):
    """A message of a community for a member at the receiver's.

    `cause` is the number of the ruling that sent it, at the manager of the space `by`.
    """

    law: str
    sender: str
    message: Term
    to: str
    cause: int = 0
    by: str = ""


class _OfRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A transfer of one tuple."""

    space: str
    law: str
    row: Row


class Migrated(_OfRow, frozen=True, gc=False, array_like=True, tag="migrated"):
    """A transfer: a tuple for an agent of the receiver's."""


class Given(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="given"):
    """A transfer: tuples that a take of the receiver's asked for; `sets` are as in `Shown`."""

    key: Key
    space: str
    law: str
    rows: tuple[Row, ...]
    message: Term = None
    sets: tuple[int, ...] = ()


class Returned(_OfRow, frozen=True, gc=False, array_like=True, tag="returned"):
    """A transfer: a tuple that the sender could not place, back where it came from."""


class Handed(_OfRow, frozen=True, gc=False, array_like=True, tag="handed"):
    """A transfer: a tuple that follows its holder, who moved on."""
