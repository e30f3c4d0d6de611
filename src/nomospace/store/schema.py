"""The tables that SQL engines keep, and the statements that fill them.

One text serves SQLite and PostgreSQL: the few words that differ stand in braces, and `?` becomes
the engine's own placeholder. A body is a record of `wire.changes` with a checksum behind it
(`guarded`). What is looked for stands in columns of its own, beside the body that has it too;
`Store.inspect` compares the two.

| table | a row is |
| --- | --- |
| `state` | the host: birth, life, number and time of its last commit, the floor of views; in |
| | `needed` the first record of the journal that a membership may rest on |
| `agents`, `programs`, `spaces` | an agent, what it runs, an interface space of it |
| `tuples` | a tuple of a space in memory; `n` is the order of writing |
| `stored` | a tuple of the store engine, by its order; a column says nothing that goes without |
| | saying: `cur` is the writer, `dest` is `cur`, it expires never |
| `blocks` | an agent in a block of orders of `stored`: how many of its tuples were written by it, |
| | from which number to which, and how many it holds |
| `members` | a membership as it was at the record `since` of the journal, which has its rulings |
| `rulings` | a ruling since, where the host keeps no journal |
| `given`, `peers` | something under way to a peer; the last numbers given to it and got from it |
| `births` | the birth of a peer that these numbers are for, and the one of this host |
| `routing` | a change of a daemon or server; without a body, its beginning |
| `laws` | a law, or an ontology, that was brought here; small things by other names (`SmallKept`) |
| `outbox` | something for an agent's client |
| `backlog` | what a commit brought for `tuples` and `outbox`, which do not have it yet, with the |
| | last numbers of agents and the journal's counts |
| `journal` | a record that no segment has yet |
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from nomospace.protocols.births import BEFORE

Params: TypeAlias = tuple[str | int | float | bytes | None, ...]
SqlRow: TypeAlias = tuple[Any, ...]
"""A row of a query: what stands in it is known to who has written the query."""
TupleKey: TypeAlias = tuple[str, str, int]
"""What a tuple is known by: its space, its writer, and its number there."""
StoredKey: TypeAlias = tuple[str, int]
"""What a tuple of the store engine is known by: its space, and its order there."""

VERSION: Final = 11
"""The version of the tables that this nomospace writes, and of what they hold."""

LEASE: Final = """
CREATE TABLE IF NOT EXISTS lease (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1), host TEXT NOT NULL, holder TEXT NOT NULL,
    token BIGINT NOT NULL, beat BIGINT NOT NULL, hold_us BIGINT NOT NULL
)
"""
"""Who is active of those that stand for the host (`protocols.lease`); in PostgreSQL alone."""

STANDING: Final = """
CREATE TABLE standing (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), host TEXT NOT NULL, role TEXT NOT NULL,
    alone INTEGER NOT NULL, heard INTEGER NOT NULL, there INTEGER NOT NULL,
    heard_at INTEGER NOT NULL, how TEXT NOT NULL, last BLOB NOT NULL
)
"""
"""What a store is of the two of a host (`store.paired`); in SQLite alone, and only where it is."""
FIRST_STANDING: Final = (
    "INSERT INTO standing (one, host, role, alone, heard, there, heard_at, how, last)"
    " VALUES (1, ?, ?, 1, 0, 0, 0, '', x'')"
)

TUPLES: Final = """
CREATE TABLE tuples (
    n {int} NOT NULL PRIMARY KEY, space TEXT NOT NULL, writer TEXT NOT NULL, count {int} NOT NULL,
    body {blob} NOT NULL
);
CREATE UNIQUE INDEX tuples_id ON tuples (space, writer, count)
"""

STORED: Final = """
CREATE TABLE IF NOT EXISTS stored (
    space TEXT NOT NULL, n {int} NOT NULL, writer TEXT NOT NULL, count {int} NOT NULL,
    width {int} NOT NULL, f0 {int}, f1 {int}, f2 {int}, deep {int}, cur TEXT, dest TEXT,
    expires {int}, body {blob} NOT NULL, PRIMARY KEY (space, n)
) {lean};
CREATE TABLE IF NOT EXISTS blocks (
    space TEXT NOT NULL, agent TEXT NOT NULL, block {int} NOT NULL, written {int} NOT NULL,
    held {int} NOT NULL, low {int}, high {int}, PRIMARY KEY (space, agent, block)
) {lean};
CREATE INDEX IF NOT EXISTS blocks_over ON blocks (block) WHERE written = 0 AND held = 0;
"""
INDEXES: Final = ";".join(
    [
        f"CREATE INDEX IF NOT EXISTS stored_{name} ON stored ({columns}) WHERE {name} IS NOT NULL"
        for name, columns in (
            ("f1", "space, f1, n"),
            ("deep", "space, n"),
            ("dest", "space, dest, n"),
            ("expires", "space, expires"),
        )
    ]
)
"""What tuples of the store engine are found by. A tuple is in few of them, as each is one more
place on the disk to change when it is taken."""
BY_FIELD: Final = (
    "CREATE INDEX IF NOT EXISTS stored_f{0} ON stored (space, f{0}, n) WHERE f{0} IS NOT NULL"
)
"""The index of another field, which is made when searches need it."""
BLOCK: Final = 1_024
"""So many orders of a space are a block."""

BIRTHS: Final = """
CREATE TABLE births (
    peer TEXT NOT NULL PRIMARY KEY, birth {int} NOT NULL, own {int} NOT NULL
) {lean}
"""
BIRTH: Final = f"ALTER TABLE state ADD COLUMN birth {{int}} NOT NULL DEFAULT {BEFORE}"
"""A store that lived before there were births has forgotten nothing since, and says so."""

BACKLOG: Final = "CREATE TABLE backlog (n {int} NOT NULL PRIMARY KEY, body {blob} NOT NULL)"

OTHERS: Final = (
    BACKLOG
    + """;
CREATE TABLE state (
    one {int} NOT NULL PRIMARY KEY CHECK (one = 1), version {int} NOT NULL, life {int} NOT NULL,
    batch {int} NOT NULL, last_at {int} NOT NULL, clock TEXT NOT NULL, floor {int} NOT NULL,
    journal {int} NOT NULL, birth {int} NOT NULL, needed {int} NOT NULL
);
CREATE TABLE agents (agent TEXT NOT NULL PRIMARY KEY, count {int} NOT NULL) {lean};
CREATE TABLE programs (
    agent TEXT NOT NULL PRIMARY KEY, body {blob} NOT NULL, state {blob} NOT NULL
);
CREATE TABLE spaces (
    agent TEXT NOT NULL, space TEXT NOT NULL, body {blob} NOT NULL, PRIMARY KEY (agent, space)
) {lean};
CREATE TABLE members (
    home TEXT NOT NULL, law TEXT NOT NULL, body {blob} NOT NULL, since {int} NOT NULL,
    PRIMARY KEY (home, law)
);
CREATE TABLE rulings (
    home TEXT NOT NULL, law TEXT NOT NULL, seq {int} NOT NULL, body {blob} NOT NULL,
    PRIMARY KEY (home, law, seq)
) {lean};
CREATE TABLE given (
    book TEXT NOT NULL, peer TEXT NOT NULL, number {int} NOT NULL, body {blob} NOT NULL,
    PRIMARY KEY (book, peer, number)
) {lean};
CREATE TABLE peers (
    book TEXT NOT NULL, peer TEXT NOT NULL, given {int}, got {int}, PRIMARY KEY (book, peer)
) {lean};
CREATE TABLE routing (
    core TEXT NOT NULL, n {int} NOT NULL, body {blob}, PRIMARY KEY (core, n)
) {lean};
CREATE TABLE laws (hash TEXT NOT NULL PRIMARY KEY, body {blob} NOT NULL);
CREATE TABLE outbox (
    agent TEXT NOT NULL, number {int} NOT NULL, body {blob} NOT NULL, PRIMARY KEY (agent, number)
) {lean};
CREATE TABLE journal (seq {int} NOT NULL PRIMARY KEY, body {blob} NOT NULL);
"""
    + BIRTHS
)

LOGS: Final = """
ALTER TABLE members ADD COLUMN since {int} NOT NULL DEFAULT 0;
ALTER TABLE state ADD COLUMN needed {int} NOT NULL DEFAULT 0;
UPDATE members SET since = (SELECT journal FROM state);
UPDATE state SET needed = journal + 1
"""
"""Before version 7 `rulings` had all rulings; what it has still counts."""

ALL: Final = f"{OTHERS};{TUPLES};{STORED}{INDEXES}"
"""The tables that a new store begins with."""

FIRST_STATE: Final = (
    "INSERT INTO state (one, version, life, batch, last_at, clock, floor, journal, birth, needed)"
    f" VALUES (1, {VERSION}, 0, 0, 0, '', 0, 0, 0, 1)"
)


def _put(table: str, columns: str, key: str) -> str:
    """A row that takes the place of an older one."""
    names = columns.split()
    news = [f"{name} = excluded.{name}" for name in names if name not in key.split()]
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        f" ON CONFLICT ({', '.join(key.split())}) DO UPDATE SET {', '.join(news)}"
    )


_BY_TABLE: Final[dict[str, dict[str, str]]] = {
    "agents": {
        "agent came": (
            "INSERT INTO agents (agent, count) VALUES (?, ?) ON CONFLICT (agent) DO UPDATE"
            " SET count = excluded.count WHERE excluded.count > agents.count"
        ),
        "agent counts": "UPDATE agents SET count = ? WHERE agent = ? AND count < ?",
        "agent went": "DELETE FROM agents WHERE agent = ?",
    },
    "programs": {
        "program kept": _put("programs", "agent body state", "agent"),
        "program gone": "DELETE FROM programs WHERE agent = ?",
        "state kept": "UPDATE programs SET state = ? WHERE agent = ?",
    },
    "spaces": {
        "space opened": _put("spaces", "agent space body", "agent space"),
        "spaces gone": "DELETE FROM spaces WHERE agent = ?",
    },
    "tuples": {
        # A tuple that is replaced keeps its place.
        "tuple put": _put("tuples", "n space writer count body", "space writer count").replace(
            "n = excluded.n, ", "", 1
        ),
        "tuple gone": "DELETE FROM tuples WHERE space = ? AND writer = ? AND count = ?",
    },
    "stored": {
        "tuple stored": (
            "INSERT INTO stored (space, n, writer, count, width, f0, f1, f2, deep, cur, dest,"
            f" expires, body) VALUES ({', '.join('?' * 13)})"
        ),
        "tuple marked": "UPDATE stored SET f0 = ?, f1 = ?, f2 = ? WHERE space = ? AND n = ?",
    },
    "blocks": {
        "block counted": (
            "INSERT INTO blocks (space, agent, block, written, held, low, high)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (space, agent, block) DO UPDATE SET"
            " written = blocks.written + excluded.written, held = blocks.held + excluded.held,"
            " low = CASE WHEN blocks.low IS NULL OR excluded.low < blocks.low THEN excluded.low"
            " ELSE blocks.low END,"
            " high = CASE WHEN blocks.high IS NULL OR excluded.high > blocks.high"
            " THEN excluded.high ELSE blocks.high END"
        ),
        "blocks over": "DELETE FROM blocks WHERE written = 0 AND held = 0",
    },
    "members": {
        "member joined": _put("members", "home law body since", "home law"),
        "members gone": "DELETE FROM members WHERE home = ?",
    },
    "rulings": {
        "ruled": "INSERT INTO rulings (home, law, seq, body) VALUES (?, ?, ?, ?)",
        "rulings over": "DELETE FROM rulings WHERE home = ? AND law = ?",
        "rulings gone": "DELETE FROM rulings WHERE home = ?",
    },
    "given": {
        "given": _put("given", "book peer number body", "book peer number"),
        "taken": "DELETE FROM given WHERE book = ? AND peer = ? AND number <= ?",
        "given to nobody": "DELETE FROM given WHERE peer = ?",
    },
    "peers": {
        "last given": _put("peers", "book peer given", "book peer"),
        "last got": _put("peers", "book peer got", "book peer"),
        "peer forgotten": "DELETE FROM peers WHERE peer = ?",
    },
    "births": {"birth learnt": _put("births", "peer birth own", "peer")},
    "routing": {
        "routing changed": "INSERT INTO routing (core, n, body) VALUES (?, ?, ?)",
        "routing over": "DELETE FROM routing WHERE core = ?",
    },
    "laws": {
        "law learnt": _put("laws", "hash body", "hash"),
        "law gone": "DELETE FROM laws WHERE hash = ?",
    },
    "outbox": {
        "kept": _put("outbox", "agent number body", "agent number"),
        "trimmed": "DELETE FROM outbox WHERE agent = ? AND number <= ?",
    },
    "state": {
        "committed": (
            "UPDATE state SET batch = ?, last_at = ?, clock = ?, floor = ?, journal = ?,"
            " needed = ? WHERE one = 1"
        )
    },
    "backlog": {"put off": "INSERT INTO backlog (n, body) VALUES (?, ?)"},
    "journal": {
        "recorded": "INSERT INTO journal (seq, body) VALUES (?, ?)",
        "forgotten": "DELETE FROM journal WHERE seq <= ?",
    },
}

STATEMENTS: Final = {name: sql for names in _BY_TABLE.values() for name, sql in names.items()}
"""What a batch (`store.batch`) may ask for, by name."""
TABLE_OF: Final = {name: table for table, names in _BY_TABLE.items() for name in names}
"""The table that a statement is about."""
