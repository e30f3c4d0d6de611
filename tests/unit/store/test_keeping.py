"""Class tables that are kept beside a store: what damages, locks, kills and replaces them."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from nomospace.host.changes import TupleGone, TuplePut
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.question import parse_template
from nomospace.meaning.sql.kept import KeptTables
from nomospace.meaning.sql.layout import VERSION, Layout, RowBatch
from nomospace.protocols.spaces import Row
from nomospace.store import keeping_postgres, keeping_sqlite
from nomospace.store.interface import Step, Store, StoreDamaged
from nomospace.store.keeping import KeptPlace, KeptUnusable
from nomospace.store.keeping_sqlite import KeptFolder
from nomospace.store.kept import SpaceKeptTables, kept_place, open_kept
from nomospace.store.kept_changes import Changes
from nomospace.terms import obj
from nomospace.terms.values import parts_of
from tests.servers import shared_postgres
from tests.unit.store.engines import SQL, Engine, fresh

CARS = Ontology(
    "cars",
    [OntologyClass("Car", properties={"doors": "number"}), OntologyClass("Van", parents=("Car",))],
)
WANTED = parse_template("(Car where doors > 2)", CARS)
_spaces = count(1)


class Ward:
    """A space of cars in a store, with its host, and the place of its kept tables."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.host: Store = engine.open()
        self.host.begin()
        self.space = ""
        self.said: list[str] = []

    def move(self) -> None:
        """Go to a space of its own: a store is quick to make, but not that quick."""
        self.space = f"cars {next(_spaces)}"
        self.said.clear()
        self.write(*range(1, 7))

    def again(self) -> None:
        """End the host, and begin it again."""
        self.host.close()
        self.host.begin()

    def write(self, *numbers: int) -> None:
        """Put cars, or take away those that have a negative number."""
        changes = [
            TuplePut(self.space, Row((obj("Car", f"c{n}", doors=n),), "ann@x", n, "", ""))
            if n > 0
            else TupleGone(self.space, ("ann@x", -n))
            for n in numbers
        ]
        self.host.commit([Step(tuple(changes))], at=17)

    @property
    def place(self) -> KeptPlace:
        place = kept_place(self.engine.open())
        assert place is not None
        return place

    @property
    def folder(self) -> KeptFolder:
        place = self.place
        assert isinstance(place, KeptFolder)
        return place

    @property
    def file(self) -> Path:
        (found,) = self.folder.path.glob("*.db")
        return found

    def kept(self, ontology: Ontology = CARS) -> SpaceKeptTables:
        return open_kept(self.place, self.space, ontology, self.said.append)

    def ask(self) -> list[str]:
        """The cars with over two doors, as a process of its own would find them."""
        kept = self.kept()
        try:
            return answers(kept)
        finally:
            kept.close()


def answers(kept: SpaceKeptTables) -> list[str]:
    return [str(parts_of(one.fields[0])[1]) for one in kept.tables.answers(WANTED).items]


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Ward]]:
    with ExitStack() as closing:

        @cache
        def ward_of(kind: str) -> Ward:
            return Ward(closing.enter_context(fresh(kind, tmp_path_factory.mktemp(kind))))

        yield ward_of


@pytest.fixture(params=SQL)
def ward(request: pytest.FixtureRequest, wards: Callable[[str], Ward]) -> Iterator[Ward]:
    yield from _moved(wards(request.param))


@pytest.fixture
def file_ward(wards: Callable[[str], Ward]) -> Iterator[Ward]:
    yield from _moved(wards("sqlite"))


@pytest.fixture
def schema_ward(wards: Callable[[str], Ward]) -> Iterator[Ward]:
    yield from _moved(wards("postgres"))


def _moved(ward: Ward) -> Iterator[Ward]:
    ward.move()
    yield ward
    ward.place.drop()


def sql(statement: str) -> list[Any]:
    """A statement of somebody who has the run of the database."""
    with psycopg.connect(shared_postgres().url, autocommit=True) as session:
        cursor = session.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


# What is kept, and what it costs.


def test_only_what_changed_is_read(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ward.ask() == ["c3", "c4", "c5", "c6"]
    read: list[int] = []
    plainly = KeptTables.change

    def counted(self: KeptTables, **given: Any) -> None:
        read.append(len(given.get("gone", ())) + len(given.get("came", ())))
        plainly(self, **given)

    compared: list[int] = []
    everything = Changes._compare_all

    def noted(self: Changes, there: int) -> None:
        compared.append(there)
        everything(self, there)

    monkeypatch.setattr(KeptTables, "change", counted)
    monkeypatch.setattr(Changes, "_compare_all", noted)
    assert ward.ask() == ["c3", "c4", "c5", "c6"]
    assert read == []
    ward.write(-3, 7)
    assert ward.ask() == ["c4", "c5", "c6", "c7"]
    assert read == [1, 1]
    assert compared == []  # the backlog has told everything
    ward.again()  # its tables catch up: the same tuples, in another place
    assert ward.ask() == ["c4", "c5", "c6", "c7"]
    assert read == [1, 1]
    assert compared == [6]


def test_what_the_store_has_put_off(file_ward: Ward) -> None:
    """What is gone, but not yet from the store's tables, is not there; what came back is."""
    file_ward.again()
    file_ward.write(-3, -4)
    file_ward.write(4, 9)
    assert file_ward.ask() == ["c4", "c5", "c6", "c9"]
    file_ward.again()
    assert file_ward.ask() == ["c4", "c5", "c6", "c9"]


def test_a_class_that_was_not_there_before(file_ward: Ward) -> None:
    """What was planned without it is planned anew."""
    kept = file_ward.kept()
    assert "v1" not in answers(kept)
    van = TuplePut(file_ward.space, Row((obj("Van", "v1", doors=5, seats=9),), "bob@x", 1, "", ""))
    file_ward.host.commit([Step((van,))], at=18)
    assert kept.refresh() == (1, 0)
    assert "v1" in answers(kept)
    kept.close()


def test_a_question_sees_one_moment(ward: Ward) -> None:
    one, other = ward.kept(), ward.kept()
    ward.write(-3, 7)
    assert other.refresh() == (1, 1)
    assert answers(other) == ["c4", "c5", "c6", "c7"]
    assert answers(one) == ["c3", "c4", "c5", "c6"]  # as it was when it was brought up to date
    assert one.refresh() == (0, 0)  # the other has done it
    assert answers(one) == ["c4", "c5", "c6", "c7"]
    one.close()
    other.close()


def test_the_host_does_not_notice(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """It commits while tables are filled and while they are asked; nothing is added to its own."""
    plainly = KeptTables.change

    def beside(self: KeptTables, **given: Any) -> None:
        plainly(self, **given)
        ward.write(8)

    monkeypatch.setattr(KeptTables, "change", beside)
    kept = ward.kept()
    assert answers(kept) == ["c3", "c4", "c5", "c6"]
    ward.write(9)
    kept.refresh()
    assert answers(kept) == ["c3", "c4", "c5", "c6", "c8", "c9"]
    kept.close()
    assert list(ward.host.inspect()) == []


# What ends in the middle.


def test_a_change_that_fails_leaves_nothing(
    file_ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the database nor at hand: the next one begins where the last good one ended."""
    kept = file_ward.kept()
    file_ward.write(-3, 7, 8)
    with monkeypatch.context() as broken:
        broken.setattr(Changes, "end", lambda self: pytest.fail("the disk is full"))
        with pytest.raises(pytest.fail.Exception):
            kept.refresh()
    file_ward.write(-8)
    assert kept.refresh() == (1, 1)
    assert answers(kept) == ["c4", "c5", "c6", "c7"]
    assert kept.tables.tally.tuples == 6
    kept.close()


@pytest.mark.parametrize(
    ("kind", "filled"), [("sqlite", False), ("sqlite", True), ("postgres", True)]
)
def test_killed_in_the_middle(wards: Callable[[str], Ward], kind: str, filled: bool) -> None:
    """What was changed before the end is not there: the set is as it was, or is not there."""
    ward = wards(kind)
    ward.move()
    if filled:
        ward.ask()
    ward.write(-3, 7)
    child = os.fork()
    if child == 0:
        plainly = KeptTables.change

        def dies(self: KeptTables, **given: Any) -> None:
            plainly(self, **given)
            if given.get("came"):  # the last thing before the state is written down
                os.kill(os.getpid(), signal.SIGKILL)

        KeptTables.change = dies  # type: ignore[method-assign]
        try:
            ward.ask()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    told = ward.place.sets()
    assert [one.tuples for one in told if not one.trouble] == ([6] if filled else [])
    assert ward.ask() == ["c4", "c5", "c6", "c7"]
    assert ward.said == []
    ward.place.drop()


# What is damaged, strange, or in use.


def _done(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def _another(path: Path) -> None:
    path.unlink()
    _done(path, "CREATE TABLE accounts (name TEXT)")


def _torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: 4096 * 2] + b"\xff" * (len(data) - 4096 * 2))


def _senseless(path: Path) -> None:
    path.write_bytes(b"tuples " * 1000)


def _altered(statement: str) -> Callable[[Path], None]:
    return lambda path: _done(path, statement)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": lambda path: os.truncate(path, 5000),
    "senseless": _senseless,
    "another's": _another,
    "of a later version": _altered(f"PRAGMA user_version = {VERSION + 1}"),
    "without a table": _altered("DROP TABLE o_Car_rest"),
    "without its state": _altered("DELETE FROM kept_about"),
    "with a bad tally": _altered("UPDATE kept_about SET tally = '[]'"),
    "torn inside": _torn,
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_said_and_made_anew(file_ward: Ward, how: str) -> None:
    file_ward.ask()
    DAMAGES[how](file_ward.file)
    file_ward.write(7)
    assert file_ward.ask() == ["c3", "c4", "c5", "c6", "c7"]
    (said,) = file_ward.said
    assert str(file_ward.file) in said
    assert said.endswith("they are made anew")
    assert file_ward.ask() == ["c3", "c4", "c5", "c6", "c7"]
    assert len(file_ward.said) == 1


def test_a_damaged_schema_is_said_and_made_anew(schema_ward: Ward) -> None:
    schema_ward.ask()
    (one,) = schema_ward.place.sets()
    sql(f"DROP TABLE {one.where}.plain")
    schema_ward.write(7)
    assert schema_ward.ask() == ["c3", "c4", "c5", "c6", "c7"]
    assert [said.endswith("they are made anew") for said in schema_ward.said] == [True]


def test_a_schema_that_is_not_ours_is_left_alone(schema_ward: Ward) -> None:
    schema_ward.ask()
    (one,) = schema_ward.place.sets()
    sql(f"COMMENT ON SCHEMA {one.where} IS 'accounts'")
    with pytest.raises(KeptUnusable, match="somebody else's"):
        schema_ward.ask()
    assert schema_ward.place.drop() == 0
    assert sql(f"SELECT count(*) FROM {one.where}.tuples") == [(6,)]
    sql(f"DROP SCHEMA {one.where} CASCADE")


def test_a_store_that_is_damaged_is_not_taken_for_the_tables(tmp_path: Path) -> None:
    with fresh("sqlite", tmp_path) as engine:
        ward = Ward(engine)
        ward.move()
        ward.host.close()
        _done(Path(engine.url), "UPDATE tuples SET body = x'00' WHERE n = 4")
        with pytest.raises(StoreDamaged, match="tuples 4"):
            ward.ask()
        assert ward.said == []


def test_a_wait_for_another_has_an_end(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (keeping_sqlite, keeping_postgres):
        monkeypatch.setattr(module, "WAIT_S", 0.05)
    ward.ask()
    ward.write(7)
    changing = ward.place.open(ward.space, CARS)
    words = r"somebody else has had them for 0\.05 s"
    with changing.alone(), pytest.raises(KeptUnusable, match=words):
        ward.ask()
    changing.close()
    assert ward.ask() == ["c3", "c4", "c5", "c6", "c7"]


# How much is kept, and how it ends.


def test_the_set_asked_longest_ago_goes(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (keeping_sqlite, keeping_postgres):
        monkeypatch.setattr(module, "SETS_MAX", 2)
    versions = [Ontology("v", [OntologyClass("Car", (f"Car{n}",))]) for n in range(3)]
    for age, ontology in zip((9, 5, 0), versions, strict=True):
        ward.kept(ontology).close()
        for one in ward.place.sets():
            if one.ontology == ontology.hash:
                _grow_older(one.where, age)
    found = [one.ontology for one in ward.place.sets()]
    assert found == [versions[2].hash, versions[1].hash]
    assert ward.place.drop("boats") == 0
    assert ward.place.drop(ward.space) == 2
    assert ward.place.sets() == []


def _grow_older(where: str, seconds: int) -> None:
    if where.startswith("/"):
        at = Path(where).stat().st_mtime - seconds
        os.utime(where, (at, at))
    else:
        sql(f"UPDATE {where}.kept_asked SET at = at - interval '{seconds} seconds'")


def test_nothing_vanishes_under_a_question(
    file_ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping_sqlite, "WAIT_S", 0.05)
    kept = file_ward.kept()
    with pytest.raises(KeptUnusable, match="somebody else has had them"):
        file_ward.place.drop()
    assert answers(kept) == ["c3", "c4", "c5", "c6"]
    kept.close()
    assert file_ward.place.drop() == 1


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    with fresh("sqlite", tmp_path) as engine:
        ward = Ward(engine)
        ward.move()
        folder = ward.folder.path
        folder.write_text("a file")
        with pytest.raises(KeptUnusable, match="File exists"):
            ward.ask()
        folder.unlink()
        if os.geteuid() == 0:
            folder.mkdir()
            os.chown(folder, 17, -1)
        else:
            folder.symlink_to("/")  # which is the administrator's
        with pytest.raises(KeptUnusable, match="the folder belongs to user"):
            ward.ask()


def test_the_layout_is_the_one_of_its_version() -> None:
    """Tables that an earlier nomospace has kept are read as they are: raise `VERSION` with this."""
    batch = RowBatch()
    fields = (
        obj("Car", "A", doors=3, odd=[1, "x"], size=2**70),
        obj("Boat", name="b\0", of=obj("Car", 1.0)),
        17,
        "text",
        None,
    )
    Layout(CARS).add("ann@x/1", fields, batch)
    told = repr((VERSION, batch.rows, batch.open_paths, batch.shapes))
    assert (VERSION, sha256(told.encode()).hexdigest()[:16]) == (2, "e8885e9e8a991f3d")
