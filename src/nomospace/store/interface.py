"""What a host asks of a store, whichever engine keeps it.

A store keeps three things that must not come apart: the state of a host (`host.changes`), what
waits for agents whose clients are elsewhere (`KeptForClient`), and the records of the journal.
`Step` has all three of one step of the core, and steps are kept whole or not at all.

Calls block, and one is made after the other; only `flush` may run beside those that read. `commit`
(`stage`, then `flush`) returns when its steps are on disk. If it raises `StoreFull` or
`StoreUnavailable`, the same steps must be tried again, and more may follow them; no step is kept
twice, also when the connection broke before the database could say what became of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import maxsize
from typing import Final, NamedTuple, Protocol

import msgspec

from nomospace.errors import CallerError, Unavailable
from nomospace.host.changes import Change, Durable, TuplePut
from nomospace.protocols.births import BEFORE
from nomospace.space.tables import TupleTables

ROWS_MAX: Final = 100_000
"""The most tuples that one call of `rows` gives."""
FEW_RECORDS: Final = 16
"""So many of the last records are read first, where it is not known how large they are."""

TRANSFERS: Final = "transfers"
PARCELS: Final = "parcels"
HELD: Final = "held"
"""The books in which hosts keep what they have given each other (`protocols.transfers.Book`)."""


class KeptForClient(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something for an agent's client that must survive until the client has it."""

    agent: str
    number: int
    body: bytes


class Step(msgspec.Struct, frozen=True, gc=False):
    """What one step of a host's core leaves behind: kept whole, or not at all.

    `ruled` has the places in `records` of its rulings, in the order of its `MemberRuled`: those
    records are the log of the memberships. It is empty where the host keeps no journal.
    """

    changes: tuple[Change, ...] = ()
    outbox: tuple[KeptForClient, ...] = ()
    records: tuple[bytes, ...] = ()
    ruled: tuple[int, ...] = ()
    counts: dict[str, int] = {}
    """Those that its records have changed, by name, as they are now."""


class StepRecords(NamedTuple):
    """What the journal says of a step; `ruled` has the places of its rulings among `records`.

    `counts` are those that have changed by them, as they are now.
    """

    records: tuple[bytes, ...]
    ruled: tuple[int, ...]
    counts: dict[str, int]


class Beginning(msgspec.Struct, frozen=True):
    """What a host that starts again is given.

    `life` is above that of all earlier lives. `last_at` is the time of the last commit, and `clock`
    what was last noted of the machine's clocks (`Store.clock`). `birth` is that of the store
    (`protocols.births`).
    """

    life: int
    durable: Durable
    outbox: tuple[KeptForClient, ...]
    last_at: int
    clock: tuple[int, ...]
    birth: int = BEFORE


class StoreFinding(msgspec.Struct, frozen=True):
    """Something in a store that is not as it should be; `key` is empty for a whole table."""

    table: str
    key: str
    what: str

    def __str__(self) -> str:
        where = f"{self.table} {self.key}" if self.key else self.table
        return f"{where}: {self.what}"


class Header(msgspec.Struct, frozen=True):
    """Where a host is in its life.

    `journal` is the last record that its segments have, and `numbers` are the last numbers given
    to peers that have everything, by book and peer. `birth` is the host's. `paired` names the host
    where the store was one of two. `cut` is the same in all backups of one moment, of workers.
    """

    life: int
    last_at: int
    clock: tuple[int, ...]
    journal: int
    numbers: tuple[tuple[str, str, int], ...] = ()
    birth: int = BEFORE
    paired: str = ""
    cut: str = ""


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """A journal record as the store has it: `seq` counts a host's records from 1."""

    seq: int
    record: bytes


class Store(Protocol):
    """Where a host keeps what must survive it."""

    clock: tuple[int, ...]
    """A reading of the machine's clocks; rides with the next commit."""

    @property
    def where(self) -> str:
        """The store as an operator knows it, without secrets."""

    @property
    def lasts(self) -> bool:
        """Whether what is kept outlives this process."""

    @property
    def tables(self) -> TupleTables:
        """The tuples of spaces that lie in the store (`space.stored`); those are not in `rows`."""

    def begin(self, *, tuples: bool = True, birth: int = BEFORE) -> Beginning:
        """Begin a new life; an older store is brought up to date first.

        A new store keeps `birth` for all its lives. Without `tuples` they are left for `rows`, so
        that a large store is quick to open. Raises `StoreInUse`, `StoreDamaged`, `StoreTooNew`,
        `StoreUnavailable`.
        """

    def attach(self) -> None:
        """Look at a store that a host may have open: to read, to `dump`, to `prune`."""

    def rows(self, after: int, limit: int) -> tuple[list[TuplePut], int | None]:
        """The tuples that were there when this life began and still are, chunk by chunk.

        They come in the order they were first written. Begin with `after=0`, go on with the number
        that comes back, and stop at `None`.
        """

    @property
    def immediate(self) -> bool:
        """Whether `flush` never waits for anything."""

    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        """Write these steps in one transaction that only `flush` makes durable.

        It says how many: once there are more than `bytes_max`, the rest is for another transaction.
        It is quick and is called on the event loop's thread; `flush` waits for the disk and is
        called in another, and the two never overlap. (A thread that wrote row by row would wait
        for the interpreter's lock at each row.) An engine that is elsewhere only gathers here.
        When either raises, nothing of the transaction is kept.
        """

    def flush(self) -> None:
        """Make what was staged durable; on disk when it returns."""

    @property
    def untidy(self) -> bool:
        """Whether `tidy` has something to do that takes a while."""

    def tidy(self) -> None:
        """Do what can wait until everybody was told of a commit, before the next one is staged.

        It is called where `flush` is, or not at all.
        """

    def commit(self, steps: Sequence[Step], *, at: int) -> None:
        """Keep all these steps in one transaction; on disk when it returns: `stage`, `flush`."""

    def trim(self, agent: str, number: int) -> None:
        """Forget what was kept for an agent up to a number; rides with the next commit."""

    @property
    def last_record(self) -> int:
        """The number of the journal's last record."""

    def keep_records(self, limit: int) -> None:
        """Forget records of the journal past a limit, with the commits that follow.

        None that a membership rests on is forgotten, here or by `prune`: it is folded first.
        """

    def journal(self, after: int, limit: int, bytes_max: int = maxsize) -> list[JournalEntry]:
        """Records that no segment has yet, from the one after a number, until they have so many
        bytes.
        """

    def prune(self, upto: int) -> None:
        """Forget journal records up to a number: a sealed segment has them.

        A store that has begun forgets them with the commits that follow, some at a time.
        """

    def dump(self) -> Iterator[Header | Step]:
        """Everything as it was at one moment: a header, then steps that make it."""

    def found(self, header: Header) -> None:
        """Let an empty store go on from a header, in its first life; raises `StoreNotEmpty`."""

    def inspect(self) -> Iterator[StoreFinding]:
        """Look at everything, and tell what is not as it should be."""

    def close(self) -> None:
        """Let go of the store; twice is harmless."""


def newest(store: Store, upto: int, limit: int, bytes_max: int) -> list[JournalEntry]:
    """The last records up to a number that no segment has yet, fewer where they are large.

    At least one, and about as many as have so many bytes. They are read in lots that grow from the
    end on, as nobody knows how large a record is before it is read.
    """
    found: list[JournalEntry] = []
    lot = FEW_RECORDS
    while len(found) < limit and bytes_max > 0:
        begin = max(0, upto - min(lot, limit - len(found)))
        some = [one for one in store.journal(begin, upto - begin, bytes_max) if one.seq <= upto]
        size = sum([len(one.record) for one in some])
        if lot > 1 and size >= bytes_max and some[-1].seq < upto:  # they are large
            if found:
                break
            lot = 1
            continue
        found = some + found
        bytes_max -= size
        if not some or begin == 0:
            break
        upto, lot = begin, 4 * lot
    return found


class StoreFull(Unavailable):
    """There is no room on the disk; nothing of the commit was kept."""

    code = "store.full"
    words = (
        "the store {where} is full ({why}); nothing is acknowledged until there is "
        "room: free some, and the host goes on by itself"
    )
    where: str
    why: str


class StoreUnavailable(Unavailable):
    """The store does not answer just now."""

    code = "store.unavailable"
    words = (
        "the store {where} cannot be reached ({why}); nothing is acknowledged until "
        "it answers: look at its server or disk, and the host goes on by itself"
    )
    where: str
    why: str


class StoreDamaged(Unavailable):
    """A store holds something that cannot be read; nothing of it is dropped."""

    code = "store.damaged"
    where: str
    table: str
    key: str
    why: str

    def __str__(self) -> str:
        what = f"{self.table} {self.key}" if self.key else self.table
        return (
            f"the store {self.where} is damaged at {what}: {self.why}; see all of it with "
            "`nomospace doctor`, and restore a backup"
        )


class StoreTooNew(CallerError):
    """A store was written by a later nomospace than this one."""

    code = "store.too-new"
    words = (
        "the store {where} has version {version}, and this nomospace knows versions "
        "up to {known}; upgrade nomospace, then open it again"
    )
    where: str
    version: int
    known: int


class StoreInUse(CallerError):
    """Another host has the store open, or has taken it over."""

    code = "store.in-use"
    words = (
        "the store {where} is in use by {holder}; stop that host, or give this one "
        "a store of its own"
    )
    where: str
    holder: str


class StoreLeased(CallerError):
    """A host without a standby was given a store that a host with one has, or had."""

    code = "store.leased"
    words = (
        "the store {where} is under the lease of {holder}; start this host with --standby, and it "
        "takes over when that one is gone"
    )
    where: str
    holder: str


class StoreNotEmpty(CallerError):
    """A store that was to be filled from a backup has something in it."""

    code = "store.not-empty"
    words = (
        "the store {where} is not empty, and a backup is restored into an empty one; "
        "name a new store"
    )
    where: str


class BadStoreUrl(CallerError):
    """A store was named in a way that none has."""

    code = "store.bad-url"
    words = (
        "{url!r} names no store: {why}; give memory, sqlite:PATH, a path, or "
        "postgresql://USER@HOST:PORT/DATABASE?schema=NAME"
    )
    url: str
    why: str


def check_limit(limit: int) -> int:
    """A limit that may be asked for: from 1 to `ROWS_MAX`."""
    return max(1, min(limit, ROWS_MAX))
