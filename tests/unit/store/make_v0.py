"""Makes `v0.sql`: a store as version 0 wrote it. Run as `python -m tests.unit.store.make_v0`.

Version 0 had no columns to match tuples by, and no note of clocks. Its records were as today's.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nomospace.calls.requests import LawText
from nomospace.control import Event, Ruling, Snapshot
from nomospace.host.changes import LawLearnt, Opened
from nomospace.protocols.spaces import Row
from nomospace.store.guarded import guard
from nomospace.terms import t
from nomospace.wire.changes import encode_change, encode_row, encode_ruling, encode_snapshot

V0 = Path(__file__).with_name("v0.sql")
TABLES = """
CREATE TABLE state (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
    life INTEGER NOT NULL, batch INTEGER NOT NULL, last_at INTEGER NOT NULL,
    floor INTEGER NOT NULL, journal INTEGER NOT NULL
);
CREATE TABLE agents (agent TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE programs (
    agent TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL, state BLOB NOT NULL
);
CREATE TABLE spaces (
    agent TEXT NOT NULL, space TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (agent, space)
) WITHOUT ROWID;
CREATE TABLE tuples (
    n INTEGER NOT NULL PRIMARY KEY, space TEXT NOT NULL, writer TEXT NOT NULL,
    count INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX tuples_id ON tuples (space, writer, count);
CREATE TABLE members (
    home TEXT NOT NULL, law TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (home, law)
);
CREATE TABLE rulings (
    home TEXT NOT NULL, law TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (home, law, seq)
) WITHOUT ROWID;
CREATE TABLE given (
    book TEXT NOT NULL, peer TEXT NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (book, peer, number)
) WITHOUT ROWID;
CREATE TABLE peers (
    book TEXT NOT NULL, peer TEXT NOT NULL, given INTEGER, got INTEGER, PRIMARY KEY (book, peer)
) WITHOUT ROWID;
CREATE TABLE routing (
    core TEXT NOT NULL, n INTEGER NOT NULL, body BLOB, PRIMARY KEY (core, n)
) WITHOUT ROWID;
CREATE TABLE laws (hash TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE outbox (
    agent TEXT NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (agent, number)
) WITHOUT ROWID;
CREATE TABLE journal (seq INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL);
INSERT INTO state VALUES (1, 0, 3, 8, 1700000000000000, 5, 2);
"""


def main() -> None:
    """Write the fixture."""
    db = sqlite3.connect(":memory:")
    db.executescript(TABLES)
    db.execute("INSERT INTO agents VALUES ('ann@x', 4)")
    opened = guard(encode_change(Opened("ann@x", "jobs", "", True, True)))
    db.execute("INSERT INTO spaces VALUES ('ann@x', 'jobs', ?)", (opened,))
    for n, fields in enumerate([("job", 1, t.room(3)), ("job", 2.5, None), ("x" * 100,)], 1):
        row = Row(fields, "ann@x", n, "ann@x", "ann@x")
        put = (n, "jobs", "ann@x", n, guard(encode_row(row)))
        db.execute("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", put)
    base = Snapshot("ann@x", "4c1f", 7, 1, 0, ((0, "tupleSpace"),), (), False)
    joined = guard(encode_snapshot(base))
    db.execute("INSERT INTO members VALUES ('ann@x', '4c1f', ?)", (joined,))
    event = Event("sent", ("ann@x", "hi", "bob@x"))
    ruling = Ruling(8, 17, "ann@x", "4c1f", event, "r", (), (("+", 1, "busy", None),))
    db.execute(
        "INSERT INTO rulings VALUES ('ann@x', '4c1f', 8, ?)", (guard(encode_ruling(ruling)),)
    )
    law = guard(encode_change(LawLearnt(LawText("4c1f", "AP", "% a law"))))
    db.execute("INSERT INTO laws VALUES ('4c1f', ?)", (law,))
    db.execute("INSERT INTO outbox VALUES ('ann@x', 6, ?)", (guard(b"push"),))
    db.executemany("INSERT INTO journal VALUES (?, ?)", [(1, guard(b"one")), (2, guard(b"two"))])
    V0.write_text("\n".join(db.iterdump()) + "\n")
    db.close()


if __name__ == "__main__":
    main()
