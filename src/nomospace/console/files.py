"""Files of the pages, from memory.

A first page asks for some twenty files in one breath, and a host that is busy has better things to
do than to open, read and pack them for every window. So what was asked for once is at hand, in the
form it is sent in, and one message answers. A file that changed meanwhile is read again.

Who looks from the same machine gets files as they are: packing them would take longer than sending
them. For all others they are packed, once. (A proxy on this machine packs for its own.)

Only files that lie in the folders when the pages begin are answered, by their exact names: no path
that is asked for is ever made into one of the disk. Everything else is passed on.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

FILE_MAX: Final = 1_000_000
"""Larger files, in bytes, are not kept: the pages have few, and ask for them seldom."""
LEVEL: Final = 6
"""How tightly files are packed. It is done once, and beside the host's own thread."""
PACKED_MAX: Final = 0.9
"""A file that packing makes no smaller than this share is sent as it is: fonts, pictures."""
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript"}
"""What systems disagree about, and browsers insist on."""


class SiteFolder(NamedTuple):
    """Files under one path of the site, or one file, and how long browsers may keep them."""

    path: Path
    cache: str


class _Kept(NamedTuple):
    changed: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    tag: bytes


class FilesAtHand:
    """Answers for files of some folders, and passes everything else on to `app`."""

    def __init__(
        self,
        app: ASGIApp,
        folders: Mapping[str, SiteFolder],
        headers: Mapping[str, str] | None = None,
        early: Iterable[str] = (),
    ) -> None:
        """`folders` may be single files too; `headers` go with every answer.

        Files that every page asks for are read `early`: else the first who looks waits for them.
        """
        self._app = app
        self._files = {
            path: (file, cache)
            for at, (folder, cache) in folders.items()
            for path, file in _within(at, folder)
            if file.is_file() and file.stat().st_size <= FILE_MAX
        }
        self._headers = [(name.encode(), said.encode()) for name, said in (headers or {}).items()]
        self._kept: dict[str, _Kept] = {}
        for path in early:
            if (known := self._files.get(path)) is not None:
                self._kept[path] = _read(*known)
        self._packed: dict[bytes, bytes] = {}  # by tag; empty where packing gains nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file that is known."""
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        found = await self._find(scope["path"]) if asked else None
        if found is None:
            await self._app(scope, receive, send)
            return
        wishes = dict(scope["headers"])
        status, body, headers = 200, found.body, [*found.headers, *self._headers]
        if wishes.get(b"if-none-match") == found.tag:
            status, body = 304, b""
        else:
            if not _is_near(scope) and b"gzip" in wishes.get(b"accept-encoding", b""):
                packed = await self._pack(found)
                if packed:
                    body = packed
                    headers.append((b"content-encoding", b"gzip"))
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": body if scope["method"] == "GET" else b""}
        )

    async def _find(self, path: str) -> _Kept | None:
        known = self._files.get(path)
        if known is None:
            return None
        kept = self._kept.get(path)
        try:
            if kept is None or kept.changed != known[0].stat().st_mtime_ns:
                if kept is not None:
                    self._packed.pop(kept.tag, None)
                kept = self._kept[path] = await asyncio.to_thread(_read, *known)
        except OSError:
            return None  # it is gone: whoever comes next says so
        return kept

    async def _pack(self, found: _Kept) -> bytes:
        packed = self._packed.get(found.tag)
        if packed is None:
            packed = await asyncio.to_thread(gzip.compress, found.body, LEVEL, mtime=0)
            if len(packed) >= len(found.body) * PACKED_MAX:
                packed = b""
            self._packed[found.tag] = packed
        return packed


def _within(at: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder with their paths on the site, or the one that it is."""
    if folder.is_file():
        yield at, folder
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        yield f"{at}/{file.relative_to(folder).as_posix()}", file


def _is_near(scope: Scope) -> bool:
    """Whether somebody asks from this machine."""
    client = scope.get("client")
    return client is not None and (client[0] == "::1" or client[0].startswith("127."))


def _read(file: Path, cache: str) -> _Kept:
    changed = file.stat().st_mtime_ns  # before it is read: what changes now is read again
    body = file.read_bytes()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
    kind = _KINDS.get(file.suffix) or guess_type(file.name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return _Kept(
        changed,
        body,
        (
            (b"content-type", kind.encode()),
            (b"cache-control", cache.encode()),
            (b"etag", tag),
            (b"vary", b"accept-encoding"),
        ),
        tag,
    )
