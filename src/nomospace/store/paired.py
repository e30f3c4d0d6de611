"""A SQLite store that is one of two of a host (`protocols.pair`).

The active one gives each commit away as it stages it (`ship`): the statements by name with their
rows, the very bytes that it writes itself. The other carries the same out in one transaction, so
the two have the same tables, and any commit of the one follows its last in the other. What lies in
the tables and what is put off may differ; that is each one's own business, but for the folding of
rulings, which is told: records are forgotten after it.

The row of `standing` says what a store is of the pair. Whoever commits as standby looks at it in
the same transaction, so a takeover by an operator's command counts from that very commit on,
whether the standby's process runs or not.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote
from zlib import crc32

import msgspec

from nomospace.protocols.births import BEFORE
from nomospace.protocols.lease import FutureToken, OtherHostsStore, TakenOver
from nomospace.protocols.pair import (
    ACTIVE,
    RESTORED,
    STANDBY,
    BadCommit,
    NeverFilled,
    NotAStandby,
    NotPaired,
    PairStand,
    StorePaired,
    next_token,
)
from nomospace.store.backlog import encode_part
from nomospace.store.batch import MemberLog
from nomospace.store.checkpoints import CHECKPOINT_FRAMES
from nomospace.store.guarded import guard
from nomospace.store.interface import Beginning
from nomospace.store.private import make_file, sync
from nomospace.store.schema import FIRST_STANDING, STANDING, STATEMENTS, VERSION, SqlRow
from nomospace.store.sql import Staged
from nomospace.store.sqlite import BUSY_S, SqliteStore

Runs: TypeAlias = list[tuple[str, list[SqlRow]]]

_ENDS: Final = ("", "-wal", "-shm", "-sums")
_OF_AGENTS: Final = frozenset({"agent came", "agent went"})


class PairCommit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One commit, to be carried out by another store."""

    life: int
    number: int
    runs: Runs
    late: bool
    """Whether the tables catch up with what was put off."""
    folds: list[tuple[str, str, int, int, list[int]]]
    """Memberships whose rulings are folded: how many at most, how many are in the table of rulings,
    and which records of the journal are the others."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(PairCommit).decode


class PairRow(NamedTuple):
    """What a store says of itself as one of two."""

    host: str
    role: str
    alone: bool
    """Whether the active one goes on without the other."""
    heard: int
    """The highest token heard of."""
    there: int
    """The last commit that the active one has told of."""
    heard_at: int
    """When the active one was last heard, by this machine's clock (us)."""
    how: str
    """How it said to acknowledge."""
    life: int
    number: int
    last_at: int
    birth: int


_ROW: Final = (
    "SELECT p.host, p.role, p.alone, p.heard, p.there, p.heard_at, p.how,"
    " s.life, s.batch, s.last_at, s.birth FROM standing p, state s"
)


class PairStore(SqliteStore):
    """A store of a pair. `ship` is given each commit of the active one, `unship` what was dropped.

    `open` is called before all else; then `begin` (the active one) or `follow` (the standby).
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.fenced = self.paired = True
        self.ship: Callable[[int, bytes], None] = lambda number, body: None
        self.unship: Callable[[int], None] = lambda number: None
        self._ran: Runs = []

    def open(self, host: str, role: str) -> PairRow:
        """Take the store for one of two of a host; a new one gets this role.

        Raises `OtherHostsStore`, `FutureToken`, and `NotAStandby` for a store that has had a life
        and is to follow.
        """
        try:
            return self._opened(host, role)
        except BaseException:
            self.close()
            raise

    def _opened(self, host: str, role: str) -> PairRow:
        self._open(alone=True)
        try:
            row = self.look()
        except NotPaired:
            ((life, number),) = self._ask_inside("SELECT life, batch FROM state")
            if role == STANDBY and life:
                raise NotAStandby(where=self.where, found=f"{life}.{number}") from None
            with self._transaction():
                self._script(STANDING)
                self._do(FIRST_STANDING, (host, role))
            row = self.look()
        if row.host != host:
            raise OtherHostsStore(host=host, other=row.host)
        if row.role == RESTORED:
            raise StorePaired(where=self.where, host=host, role=row.role)
        if row.role == ACTIVE and row.heard > row.life:
            raise FutureToken(leased=row.heard, token=row.life)
        return row

    def look(self) -> PairRow:
        """How it stands now, whoever has it open; raises `NotPaired`."""
        with self._told():
            return look(self.path)

    def stand(self) -> PairStand:
        """How it stands, as the other machine is told."""
        row = self.look()
        return PairStand(
            *(row.host, row.role, row.birth, row.life, row.number, row.heard),
            tables=VERSION,
            last=crc32(self.last()),
        )

    def last(self) -> bytes:
        """The last commit that came from the other machine, as it came."""
        with _aside(self.path) as aside:
            ((body,),) = aside.execute("SELECT last FROM standing")
        return bytes(body)

    def settle(self, **columns: str | int) -> None:
        """Note something about the pair, beside whatever the store is doing."""
        names = ", ".join([f"{name} = ?" for name in columns])
        with self._told(), _aside(self.path, "rw") as aside:
            aside.execute(f"UPDATE standing SET {names}", tuple(columns.values()))

    # -- giving commits away -------------------------------------------------------------------

    def _carry_out(self, runs: Runs) -> None:
        super()._carry_out(runs)
        self._ran = runs

    def _write(self, staged: Staged) -> None:
        super()._write(staged)
        runs, number = self._ran, self._batch + 1
        late = staged.late is not None
        if late and staged.rows:
            put_off = guard(encode_part(staged.batch.part))
            runs = [*runs, ("put off", [(number, put_off)])]
        folds = []
        for (home, law), most in staged.folds.items():
            log = self._logs.get(home, {}).get(law)
            if log is not None:
                folds.append((home, law, most, log.plain, list(log.records[:most])))
        self.ship(number, _encode(PairCommit(self._life, number, runs, late, folds)))

    def _dropped(self) -> None:
        if self._staged is not None:
            self.unship(self._batch + 1)
        super()._dropped()

    # -- following -----------------------------------------------------------------------------

    def follow(self, bodies: Sequence[bytes], *, there: int, at: int, how: str) -> int:
        """Carry commits out in one transaction; on disk when it returns. The last one's number.

        Raises `TakenOver` when this store has become the active one, and `BadCommit`.
        """
        with self._transaction():
            ((life, here, role),) = self._ask_inside(
                "SELECT s.life, s.batch, p.role FROM state s, standing p"
            )
            if role != STANDBY:
                raise TakenOver(token=life, mine=life)
            for body in bodies:
                life, here = self._apply(body, here, life)
            self._do("UPDATE state SET life = ? WHERE one = 1", (life,))
            self._do(
                "UPDATE standing SET heard = max(heard, ?), there = max(there, ?), heard_at = ?,"
                " how = ?, last = ?",
                (life, max(there, here), at, how, bodies[-1]),
            )
        return int(here)

    def fetch(self, body: bytes) -> None:
        """Take over the one commit that the standby has more, before this store begins."""
        with self._transaction():
            ((life, here),) = self._ask_inside("SELECT life, batch FROM state")
            self._apply(body, here, life)

    def _apply(self, body: bytes, here: int, life: int) -> tuple[int, int]:
        """Carry one commit out, inside a transaction; its life and number."""
        try:
            commit = _decode(body)
        except (msgspec.MsgspecError, ValueError) as error:
            raise BadCommit(number=0, here=here, why=str(error)) from None
        unknown = [name for name, _ in commit.runs if name not in STATEMENTS]
        if commit.number != here + 1 or commit.life < life or unknown:
            why = f"of token {commit.life}, here {life}{'; unknown statements' * bool(unknown)}"
            raise BadCommit(number=commit.number, here=here, why=why)
        if any(name in _OF_AGENTS for name, _ in commit.runs):
            # What was counted of them before may be put off here, and not there.
            self._catch_up_inside()
        self._carry_out(commit.runs)
        for home, law, most, plain, records in commit.folds:
            self._logs = {home: {law: MemberLog(plain, array("q", records))}}
            self._fold(home, law, most)
        self._logs = {}
        if commit.late:
            self._catch_up_inside()
        return commit.life, commit.number

    # -- copies --------------------------------------------------------------------------------

    def copy_to(self, path: Path) -> PairRow:
        """Write a copy of the store as it is at one moment into a file; its host goes on."""
        path.unlink(missing_ok=True)
        make_file(path)
        with (
            self._told(),
            closing(self._connected()) as source,
            closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        return look(path)

    def take_copy(self, path: Path, *, surplus: bool) -> Path | None:
        """Have a copy in the place of what is here; what was here is kept aside, or forgotten.

        The copy was received whole. Gives the name of what was kept aside.
        """
        here = self.look()
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            copy.execute(
                "UPDATE standing SET role = ?, alone = 0, heard = ?, there = 0, last = x''",
                (STANDBY, here.heard),
            )
        sync(path)
        self._disconnect()
        aside = None
        if surplus:
            aside = self.path.with_name(f"{self.path.name}.surplus-{here.life}.{here.number}")
            for end in reversed(_ENDS):
                with suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + end).replace(f"{aside}{end}")
        else:
            for end in reversed(_ENDS[1:]):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        path.replace(self.path)
        sync(self.path.parent)
        self._open(alone=True)
        self.stand_by()
        return aside

    def begin(self, *, tuples: bool = True, birth: int = BEFORE) -> Beginning:
        """Begin a new life; the file is looked at again, as others may have written to it."""
        self._disconnect()
        return super().begin(tuples=tuples, birth=birth)

    def stand_by(self) -> None:
        """It is a standby's from now on: checksums of its pages are made when it takes over."""
        self._sums.path.unlink(missing_ok=True)
        self._sums.known = False
        self._write_with.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_FRAMES}")

    def _disconnect(self) -> None:
        """Close the connections, and keep the lock."""
        self._checkpoints.disconnect()
        self._let_go()
        for connection in (self._writer, self._reader, self._asker):
            if connection is not None:
                connection.close()
        self._writer = self._reader = self._asker = None
        self._checkpoints.close()


def look(path: Path) -> PairRow:
    """How a store stands as one of two; raises `NotPaired`."""
    with _aside(path) as aside:
        try:
            rows = aside.execute(_ROW).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            rows = []
    for row in rows:
        return PairRow(*row)
    raise NotPaired(where=str(path))


def take_over(path: Path) -> PairRow:
    """Let a store be that of the active one, without the other; raises `NotPaired`.

    One that was not gets a token above all that it has heard of. A standby may have put a copy in
    the place of its file meanwhile; then that one is meant.
    """
    before = row = look(path)
    if not row.life:
        raise NeverFilled(where=str(path))
    while row.role != ACTIVE or not row.alone:
        store = SqliteStore(path)
        store.attach()
        with store._transaction():
            if row.role != ACTIVE:
                token = next_token(max(row.life, row.heard))
                store._do("UPDATE state SET life = max(life, ?)", (token,))
            store._do("UPDATE standing SET role = ?, alone = 1, heard = 0", (ACTIVE,))
        store.close()
        row = look(path)
    return before


@contextmanager
def _aside(path: Path, mode: str = "ro") -> Iterator[sqlite3.Connection]:
    """A connection of its own, for a moment."""
    there = f"file:{quote(str(path))}?mode={mode}"
    with closing(sqlite3.connect(there, uri=True, timeout=BUSY_S, isolation_level=None)) as made:
        made.execute("PRAGMA synchronous = FULL")
        made.execute("PRAGMA wal_autocheckpoint = 0")
        yield made
