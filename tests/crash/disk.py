"""What a disk may hold after a power cut, from a record of writes and syncs (`recorder`).

The rules are POSIX's, with sectors that are written whole or not at all:

- what was written to a file before a sync of it began is there once that sync has returned;
- of all other writes, each sector of 512 bytes is there or not, whatever the order; a file that
  was made longer has zeros where nothing came; a file that was cut short was cut or not;
- a name that was made, moved or removed is so for sure after a sync of its folder, and a sync of
  the file alone does not help; a rename is done or not, and nothing between.

File systems in use permit less: ext4, XFS and Btrfs put names on disk in the order in which they
changed, and a new file's name with the file. Their states are among these.
"""

from __future__ import annotations

import marshal
import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

SECTOR: Final = 512
FOLLOWED: Final = "-shm"
"""Files that a process may map and write: SQLite makes them anew when nobody has them open."""

Event = tuple[Any, ...]
Choice = Callable[[Sequence[Any]], list[bool]]
"""Says of things that were not synced which have reached the disk."""


def read_log(path: Path) -> list[Event]:
    """What a recorder wrote down."""
    events: list[Event] = []
    with path.open("rb") as file:
        while True:
            try:
                events.append(marshal.load(file))
            except EOFError:
                return events


class Unfollowed(AssertionError):
    """A process changed a file in a way that the record does not show."""


class _Change(NamedTuple):
    at: int
    offset: int
    data: bytes | None
    """Nothing where the file was cut at the offset."""


class _Name(NamedTuple):
    at: int
    folder: int
    """The folder whose sync makes it last."""
    gone: tuple[int, str] | None
    made: tuple[int, str, int] | None
    """A folder, a name and what has it."""


@dataclass
class _Node:
    changes: list[_Change] = field(default_factory=list)
    syncs: list[tuple[int, int]] = field(default_factory=list)
    """When each sync had returned, and when it began."""
    is_folder: bool = False

    def synced(self, now: int) -> int:
        """Before which moment all is on disk for sure."""
        done = bisect_right(self.syncs, (now, now))
        return max([began for _, began in self.syncs[:done]], default=0)


class Disk:
    """All that happened in a folder; `state` says what a power cut may leave of it."""

    def __init__(self, folder: Path, events: Iterable[Event]) -> None:
        self._root = os.path.realpath(folder)
        self._nodes: list[_Node] = [_Node(is_folder=True)]
        self._names: list[_Name] = []
        self._now: dict[int, dict[str, int]] = {0: {}}  # what each folder lists in the end
        self.moments: list[int] = []
        """When something changed or was synced."""
        self.sent: list[int] = []
        """When bytes left."""
        inodes = {Path(self._root).stat().st_ino: 0}
        for event in sorted(events, key=lambda event: event[0]):
            at, kind, *facts = event
            if kind == "sent":
                self.sent.append(at)
                continue
            if kind == "unseen":
                if not str(facts[0]).endswith(FOLLOWED):
                    raise Unfollowed(f"{facts[1]} on {facts[0]}")
                continue
            self.moments.append(at)
            getattr(self, f"_{kind}")(at, inodes, *facts)

    # -- what happened ---------------------------------------------------------------------------

    def _place(self, path: str) -> tuple[int, str] | None:
        """The folder and the name of a path; nothing, if the folder is none of ours."""
        parts = os.path.relpath(path, self._root).split("/")
        folder = 0
        for part in parts[:-1]:
            found = self._now[folder].get(part)
            if found is None:
                return None
            folder = found
        return folder, parts[-1]

    def _new(self, at: int, inodes: dict[int, int], inode: int, path: str) -> None:
        place = self._place(path)
        assert place is not None, f"{path} is in a folder that nobody made"
        known = inodes.get(inode)
        listed = any(known in names.values() for names in self._now.values())
        if not listed:  # else it is a second name
            inodes[inode] = len(self._nodes)
            self._nodes.append(_Node(is_folder=Path(path).is_dir()))
            self._now[inodes[inode]] = {}
        node = inodes[inode]
        self._now[place[0]][place[1]] = node
        self._names.append(_Name(at, place[0], None, (*place, node)))

    def _write(self, at: int, inodes: dict[int, int], inode: int, place: int, data: bytes) -> None:
        self._nodes[inodes[inode]].changes.append(_Change(at, place, data))

    def _cut(self, at: int, inodes: dict[int, int], inode: int, size: int) -> None:
        self._nodes[inodes[inode]].changes.append(_Change(at, size, None))

    def _sync(self, at: int, inodes: dict[int, int], inode: int, began: int) -> None:
        self._nodes[inodes[inode]].syncs.append((at, began))

    def _unlink(self, at: int, _: dict[int, int], path: str) -> None:
        place = self._place(path)
        if place is not None and self._now[place[0]].pop(place[1], None) is not None:
            self._names.append(_Name(at, place[0], place, None))

    def _rename(self, at: int, _: dict[int, int], path: str, new: str) -> None:
        place, to = self._place(path or "/"), self._place(new or "/")
        assert place is not None, f"{path or new} crosses the edge of the folder"
        assert to is not None, f"{path or new} crosses the edge of the folder"
        node = self._now[place[0]].pop(place[1])
        self._now[to[0]][to[1]] = node
        self._names.append(_Name(at, to[0], place, (*to, node)))

    # -- what a power cut leaves -----------------------------------------------------------------

    def state(self, now: int, rng: random.Random) -> dict[str, bytes | None]:
        """What a power cut at a moment may leave: files by their paths, folders as `None`."""
        chosen = _chosen(rng)
        listed: dict[int, dict[str, int]] = {0: {}}
        names = [one for one in self._names if one.at <= now]
        synced = [node.synced(now) for node in self._nodes]
        loose = [one for one in names if one.at >= synced[one.folder]]
        stays = dict(zip(loose, chosen(loose), strict=True))
        for one in names:
            if stays.get(one, True):
                if one.gone is not None:
                    folder, name = one.gone
                    left = listed.get(folder, {})
                    if one.made is None or left.get(name) == one.made[2]:
                        left.pop(name, None)
                if one.made is not None:
                    folder, name, node = one.made
                    listed.setdefault(folder, {})[name] = node
        found: dict[str, bytes | None] = {}
        self._gather(0, "", listed, found, now, chosen, rng)
        return found

    def _gather(
        self,
        folder: int,
        under: str,
        listed: dict[int, dict[str, int]],
        found: dict[str, bytes | None],
        now: int,
        chosen: Choice,
        rng: random.Random,
    ) -> None:
        for name, number in listed.get(folder, {}).items():
            node, path = self._nodes[number], under + name
            if node.is_folder:
                found[path] = None
                self._gather(number, path + "/", listed, found, now, chosen, rng)
            elif name.endswith(FOLLOWED):
                found[path] = rng.randbytes(32_768)
            else:
                found[path] = self._content(node, now, chosen, rng)

    def _content(self, node: _Node, now: int, chosen: Choice, rng: random.Random) -> bytes:
        synced = node.synced(now)
        changes = [one for one in node.changes if one.at <= now]
        loose = [one for one in changes if one.at >= synced]
        stays = chosen(loose)
        kept = bytearray()
        for one in changes[: len(changes) - len(loose)]:
            _apply(kept, one.offset, one.data)
        for one, whole in zip(loose, stays, strict=True):
            if whole:
                _apply(kept, one.offset, one.data)
            elif one.data is not None and rng.random() < 0.5:  # some sectors of it, or none
                _tear(kept, one.offset, one.data, rng)
        return bytes(kept)


def _apply(kept: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del kept[offset:]
        kept.extend(bytes(offset - len(kept)))
        return
    kept.extend(bytes(max(0, offset - len(kept))))
    kept[offset : offset + len(data)] = data


def _tear(kept: bytearray, offset: int, data: bytes, rng: random.Random) -> None:
    at = offset
    while at < offset + len(data):
        upto = min(at - at % SECTOR + SECTOR, offset + len(data))
        if rng.random() < 0.5:
            _apply(kept, at, data[at - offset : upto - offset])
        at = upto


def _chosen(rng: random.Random) -> Choice:
    """One way for a disk to lose things: all, none, the later ones, or any."""
    way = rng.randrange(4)

    def choose(things: Sequence[Any]) -> list[bool]:
        if way == 0:
            return [False] * len(things)
        if way == 1:
            return [True] * len(things)
        if way == 2:
            kept = rng.randint(0, len(things))
            return [at < kept for at in range(len(things))]
        return [rng.random() < 0.5 for _ in things]

    return choose


def lay_out(state: dict[str, bytes | None], folder: Path) -> None:
    """Write a state down."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in state.items():
        place = folder / path
        if data is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_bytes(data)
