"""`nomospace backup` and `nomospace restore`: a store into one file, and back into any store.

Nothing that is there is lost by a slip: a backup replaces no file and a restore no store unless
`--force` says so, and even then the old store is put aside, not removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nomospace.cli.remote_options import Commands, JsonOption, Unusable, say
from nomospace.cli.stores import opened

if TYPE_CHECKING:
    from nomospace.store.backup import BackupSummary
    from nomospace.store.sqlite import SqliteStore

backup_app = Commands()
restore_app = Commands()

StoreOption = Annotated[
    str, typer.Option("--store", metavar="URL", help="A file, or postgresql://…?schema=NAME.")
]

_BESIDE = ("", "-wal", "-shm", "-sums")
"""The files of a store in SQLite: what was not yet moved into the first is in the second."""


@backup_app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to write.")],
    *,
    store: StoreOption,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write all of a store, as it is at one moment, into a file; its host may go on running.

    The stores of all workers of a host go into as many files, as they are at one moment.
    """
    from nomospace.node.workers import store_of
    from nomospace.store.backup import write_backup
    from nomospace.store.cut import backup_of, workers_in, write_cut

    with ExitStack() as held:
        source = held.enter_context(opened(store))
        count = workers_in(source)
        files = [backup_of(file, number) for number in range(1, count + 1)]
        for one in files:
            if one.exists() and not force:
                raise Unusable(what=str(one), why="it is there already; --force replaces it")
        held.enter_context(_files(file))
        if count == 1:
            _tell("wrote", file, source.where, write_backup(source, file), as_json=as_json)
            return
        numbers = range(2, count + 1)
        stores = [held.enter_context(opened(store_of(store, number))) for number in numbers]
        done = write_cut([source, *stores], file)
        for one, its, summary in zip(files, [source, *stores], done, strict=True):
            _tell("wrote", one, its.where, summary, as_json=as_json)


@restore_app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to read.")],
    *,
    store: StoreOption,
    force: Annotated[
        bool, typer.Option("--force", help="Put a store aside that is there (files only).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a store of a backup; a host that is run with it goes on where the other one stood.

    The backup may come from another kind of store. It is looked at whole before anything is made.
    Run one host with it only: two that believe to be the same would confuse their peers.
    """
    from nomospace.node.workers import WORKERS_MAX, store_of
    from nomospace.store.backup import restore_backup
    from nomospace.store.cut import read_cut
    from nomospace.store.interface import StoreNotEmpty
    from nomospace.store.opening import open_store
    from nomospace.store.private import sync
    from nomospace.store.sqlite import SqliteStore

    if not isinstance(open_store(store), SqliteStore):
        _refuse_force(store, force=force)
    with _files(file):
        parts = read_cut(file)
        places = [open_store(store_of(store, number)) for number in range(1, WORKERS_MAX + 1)]
        there = [one for one in places if isinstance(one, SqliteStore) and one.path.exists()]
        if there and not force:  # all of them, or none
            raise StoreNotEmpty(where=there[0].where)
        targets = places[: len(parts)]
        for late in [one for one in there if one not in targets]:
            _put_aside(late)  # of a worker that the backup knows nothing of
            late.path.unlink()
            sync(late.path.parent)
        for part, target in zip(parts, targets, strict=True):
            if isinstance(target, SqliteStore):
                summary = _restore_file(part, target, force=force)
            else:
                summary = restore_backup(part, target)
            _tell("restored", part, target.where, summary, as_json=as_json)


def _refuse_force(store: str, *, force: bool) -> None:
    if store == "memory":
        raise Unusable(what=store, why="a store in memory ends with this command; name another")
    if force:
        why = "a database is not put aside; name another schema with ?schema=NAME"
        raise Unusable(what="--force", why=why)


def _restore_file(file: Path, target: SqliteStore, *, force: bool) -> BackupSummary:
    """Restore beside the place, then let the new store appear there, whole."""
    from nomospace.store.backup import restore_backup
    from nomospace.store.interface import StoreNotEmpty
    from nomospace.store.private import sync
    from nomospace.store.sqlite import SqliteStore

    path = target.path
    if path.exists() and not force:
        raise StoreNotEmpty(where=target.where)
    beside = path.with_name(f".{path.name}.restoring")
    try:
        _remove(beside)
        summary = restore_backup(file, SqliteStore(beside))
        if path.exists():
            _put_aside(target)
        else:
            _put_remains_aside(path)
        beside.replace(path)
        sync(path.parent)
    finally:
        _remove(beside)
    return summary


def _put_aside(store: SqliteStore) -> None:
    """Give a store that no host has open another name, with all its files.

    It has its old one until the new store takes that; its log does not: that would be read as the
    new store's.
    """
    from nomospace.store.interface import StoreDamaged
    from nomospace.store.private import sync

    try:
        with suppress(StoreDamaged):  # which may be just why it is replaced
            store.begin(tuples=False)
    finally:
        store.close()
    path, aside = store.path, _aside(store.path)
    files = [file for ending in _BESIDE if (file := path.with_name(path.name + ending)).exists()]
    for file in files:
        aside.with_name(aside.name + file.name.removeprefix(path.name)).hardlink_to(file)
    sync(path.parent)
    for file in files[1:]:
        file.unlink()
    sync(path.parent)


def _put_remains_aside(path: Path) -> None:
    """Give what is left of a store that somebody removed, as its log, another name.

    It would be read as the new store's.
    """
    aside = _aside(path)
    for ending in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))


def _aside(path: Path) -> Path:
    number = 1
    while any(path.with_name(f"{path.name}.replaced-{number}{one}").exists() for one in _BESIDE):
        number += 1
    return path.with_name(f"{path.name}.replaced-{number}")


def _remove(path: Path) -> None:
    for ending in (*_BESIDE, ".lock"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@contextmanager
def _files(file: Path) -> Iterator[None]:
    """What the system says of a file, in our words."""
    try:
        yield
    except OSError as error:
        what = str(error.filename or file)
        raise Unusable(what=what, why=error.strerror or str(error)) from None


def _tell(did: str, file: Path, store: str, summary: BackupSummary, *, as_json: bool) -> None:
    from nomospace.trust.moments import shown

    facts: dict[str, object] = {
        "file": str(file),
        "store": store,
        "life": summary.life,
        "at": shown(summary.last_at),
        "changes": summary.changes,
        "kept": summary.kept,
        "records": summary.records,
    }
    way = f"{store} into {file}" if did == "wrote" else f"{store} from {file}"
    parts = f"{summary.changes:,} changes, {summary.kept:,} answers under way"
    words = f"{did} {way}: {parts}, {summary.records:,} records; as of {facts['at']}"
    say(facts, words, as_json=as_json)
