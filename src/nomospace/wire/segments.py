"""What a journal folder holds: the tables of its segments, and the manifest that says which count.

    FOLDER/manifest.json
    FOLDER/events/seg-00000001.parquet      and laws/, checkpoints/, tuples/, leases/

Hosts write segments (`store.segments`), and whoever reads them needs no store and no host: only
the names here. A column's type is a word, so that this room knows neither Arrow nor Spark; each
reader has a table from these words to its own types.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from nomospace.errors import CallerError, Unavailable

JOURNAL_VERSION: Final = 1
"""The version of records and of the tables of segments."""
MANIFEST: Final = "manifest.json"

AT_AGAIN: Final = "happened_at"
"""The column `at` under a second name: the first is a word of SQL's own in some engines. It is the
last of each table, and segments of before have none."""
LATER: Final = frozenset({AT_AGAIN, "path", "cause", "causer"})
"""Columns that segments of before have not."""
_COMMON: Final = {"version": "int16", "host": "string", "seq": "int64", "at": "time"}
TABLES: Final[dict[str, dict[str, str]]] = {
    "events": {
        **_COMMON,
        "due_at": "time",
        "community": "string",
        "law": "string",
        "agent": "string",
        "membership": "string",
        "agent_seq": "int64",
        "event": "string",
        "peer": "string",
        "args": "binary",
        "args_text": "string",
        "message": "binary",
        "message_text": "string",
        "rule": "string",
        "stopped": "string",
        "ruling": "binary",
        "ruling_text": "string",
        "delta": "binary",
        "hops": "int32",
        "took_ns": "int64",
        "body": "binary",
        "path": "strings",
        "cause": "int64",
        "causer": "string",
        AT_AGAIN: "time",
    },
    "laws": {**_COMMON, "law": "string", "community": "string", "text": "string", AT_AGAIN: "time"},
    "checkpoints": {
        **_COMMON,
        "law": "string",
        "agent": "string",
        "membership": "string",
        "agent_seq": "int64",
        "state_text": "string",
        "body": "binary",
        AT_AGAIN: "time",
    },
    "tuples": {
        **_COMMON,
        "space": "string",
        "tuple_id": "string",
        "writer": "string",
        "count": "int64",
        "op": "string",
        "agent": "string",
        "classes": "strings",
        "fields": "binary",
        "fields_text": "string",
        "cause": "int64",
        AT_AGAIN: "time",
    },
    "leases": {
        **_COMMON,
        "space": "string",
        "tuple_id": "string",
        "writer": "string",
        "count": "int64",
        "op": "string",
        "agent": "string",
        "lease": "string",
        "until": "time",
        "why": "string",
        AT_AGAIN: "time",
    },
}
"""The tables with their columns in order; `time` is microseconds in UTC, `strings` a list."""


class Segment(msgspec.Struct, frozen=True):
    """A sealed range of records; `rows` and `bytes` are those of each table.

    `hashes` are the SHA-256 of the tables' files, in hex; segments of before there were any have
    none.
    """

    number: int
    first: int
    last: int
    rows: dict[str, int]
    bytes: dict[str, int]
    hashes: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True):
    """What counts in a journal folder: its segments, in order and without gaps.

    The first may stand for some that were let go: then it has their laws, and no other rows. `host`
    is the one that they are of; manifests of before there was one have none.
    """

    version: int = JOURNAL_VERSION
    segments: tuple[Segment, ...] = ()
    host: str = ""
    check: str = ""
    """In the file: the SHA-256 of the others. Manifests of before there was one have none."""

    @property
    def last(self) -> int:
        """The last record that a segment has."""
        return self.segments[-1].last if self.segments else 0

    @property
    def next_number(self) -> int:
        """The number of the next segment."""
        return 1 + max([one.number for one in self.segments], default=0)

    @property
    def gone(self) -> int:
        """Records up to this one were let go, but for laws; 0 if none were."""
        for one in self.segments[:1]:
            if set(one.rows) <= {"laws"} and sum(one.rows.values()) <= one.last - one.first:
                return one.last
        return 0

    @property
    def first(self) -> int:
        """The first record that can be read; one behind `last`, if there is none."""
        return self.gone + 1 if self.gone or not self.segments else self.segments[0].first


class RecordsLetGo(CallerError):
    """Somebody asks for records that a journal has not kept for so long, or for so many bytes."""

    code = "store.records-let-go"
    words = (
        "record {asked:,} of journal {folder} was let go: it is kept from record {first:,} on; "
        "read from there (--after {before})"
    )
    folder: str
    asked: int
    first: int

    @property
    def before(self) -> int:
        """The record before the first that is there."""
        return self.first - 1


class BadManifest(Unavailable):
    """A journal folder's manifest cannot be read, or is of a later version."""

    code = "store.bad-manifest"
    words = (
        "the manifest of journal {folder} cannot be used: {why}; bring it back from "
        "a copy, or seal into a new folder"
    )
    folder: str
    why: str


class NewerManifest(BadManifest):
    """A journal folder was written by a later version than this one."""

    code = "store.newer-manifest"
    version: int


class OtherJournal(CallerError):
    """A journal folder has segments that were not sealed from this store."""

    code = "store.other-journal"
    words = (
        "the segments in {folder} are not of this store: {why}; give each host a "
        "folder of its own, and a store that was brought back a new one"
    )
    folder: str
    why: str


def check_last(manifest: Manifest, last: int, folder: str) -> None:
    """Raise `OtherJournal` when a folder is ahead of a store whose last record this is."""
    if manifest.last > last:
        why = f"they have {manifest.last:,} records, and it has written {last:,}"
        raise OtherJournal(folder=folder, why=why)


def check_host(sealed: str, here: str, folder: str) -> None:
    """Raise `OtherJournal` when a folder is of another host than a store; empty is not known."""
    if sealed and here and sealed != here:
        why = f"they are of host {sealed!r}, and it is of {here!r}"
        raise OtherJournal(folder=folder, why=why)


def file_of(table: str, number: int) -> str:
    """Where a segment has the rows of a table, within the journal folder.

    >>> file_of("events", 17)
    'events/seg-00000017.parquet'
    """
    return f"{table}/seg-{number:08d}.parquet"


def membership(home: str, law: str, host: str) -> str:
    """The name of a membership among all that journals tell of.

    Agents take theirs along. The manager of a governed space stays where it is, and every host that
    has the space has a manager of its own.

    >>> membership("ann@ward-3", "4c1f", "icu"), membership("jobs", "4c1f", "icu")
    ('ann@ward-3/4c1f', 'jobs@icu/4c1f')
    """
    return f"{home}/{law}" if "@" in home else f"{home}@{host}/{law}"


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as it stands in its file, for people too."""
    checked = msgspec.structs.replace(manifest, check=_check_of(manifest))
    return msgspec.json.format(msgspec.json.encode(checked), indent=1)


def _check_of(manifest: Manifest) -> str:
    return sha256(msgspec.json.encode(msgspec.structs.replace(manifest, check=""))).hexdigest()


def decode_manifest(data: bytes, folder: str) -> Manifest:
    """The manifest in a file; raises `BadManifest`, or `NewerManifest`.

    >>> decode_manifest(encode_manifest(Manifest()), "journal").last
    0
    """
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadManifest(folder=folder, why=str(error)) from None
    if manifest.version > JOURNAL_VERSION:
        why = f"it has version {manifest.version}, and this nomospace knows {JOURNAL_VERSION}"
        raise NewerManifest(folder=folder, why=why, version=manifest.version)
    if manifest.check and manifest.check != _check_of(manifest):
        why = "it is not what was written; who has changed it by hand removes `check`"
        raise BadManifest(folder=folder, why=why)
    return msgspec.structs.replace(manifest, check="")
