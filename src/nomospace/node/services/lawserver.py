"""The law server: a library of laws over HTTP.

| request                 | answer                                                             |
| ----------------------- | ------------------------------------------------------------------ |
| `GET /laws`             | what there is, as JSON; `?after=NAME&limit=N` pages on             |
| `GET /laws/NAME`        | the newest text of that name; `?version=N` an older one            |
| `GET /laws/sha256:HASH` | the text of the law with that hash                                 |
| `PUT /laws/NAME`        | the body is the newest text (token); `?expect=HASH` checks its way |

The `ETag` is the hash of the law, so `If-None-Match` saves the way. A client compares the hash
itself: it need not trust the server (`001_…` 3.3).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.node.clock import wall_us
from nomospace.node.services.keeping import ServiceLog
from nomospace.node.services.web import (
    Allows,
    BadRequest,
    body_of,
    caller_of,
    json_answer,
    number_in,
    routes,
)
from nomospace.services.laws import PROLOG, PYTHON, TEXT_BYTES_MAX, Edition, LawShelved, Library

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from nomospace.node.working import Workers

LISTED_MAX: Final = 1_000
"""How many laws one list names."""


class ListedLaw(msgspec.Struct, frozen=True):
    """A law in the list: its name, its newest hash, how many versions there are, since when."""

    name: str
    hash: str
    versions: int
    language: str
    bytes: int
    at_us: int


class LawServer:
    """A library behind HTTP. `path` is the file that keeps it; without one it is forgotten.

    What comes over HTTP is read by `work`, beside the loop; without it, in a thread.
    """

    def __init__(
        self, allows: Allows, path: Path | None = None, *, work: Workers | None = None
    ) -> None:
        self._allows = allows
        self._work = work
        self._log: ServiceLog[LawShelved] | None = (
            None if path is None else ServiceLog(path, LawShelved)
        )
        self.library = Library(() if self._log is None else self._log.begin())
        """What it has."""
        self._writing = asyncio.Lock()

    def close(self) -> None:
        """Let go of the file."""
        if self._log is not None:
            self._log.close()

    async def put(
        self,
        name: str,
        text: str,
        *,
        by: str,
        expect: str = "",
        language: str = "law",
        identity: tuple[str, str] | None = None,
    ) -> bool:
        """Make a text the newest of a name, on disk; false when it was already."""
        async with self._writing:  # what was decided must still hold when it is applied
            change = await asyncio.to_thread(
                self.library.put,
                name,
                text,
                now=wall_us(),
                by=by,
                expect=expect,
                language=language,
                identity=identity,
            )
            if change is None:
                return False
            if self._log is not None:
                await asyncio.to_thread(self._log.write, change)
            self.library.apply(change)
            return True

    # -- HTTP --------------------------------------------------------------------------------

    def routes(self) -> list[Route]:
        """Where it is served."""
        return routes(
            ("GET", "/laws", self._list),
            ("GET", "/laws/{name}", self._get),
            ("PUT", "/laws/{name}", self._put),
        )

    async def _list(self, request: Request) -> Response:
        limit = min(number_in(request, "limit", LISTED_MAX), LISTED_MAX)
        library = self.library
        return json_answer(
            [
                ListedLaw(
                    each.name,
                    each.hash,
                    len(library.versions(each.name)),
                    each.language,
                    len(each.text.encode()),
                    each.at,
                )
                for each in library.editions(request.query_params.get("after", ""), limit)
            ]
        )

    async def _get(self, request: Request) -> Response:
        edition = self.library.get(request.path_params["name"], number_in(request, "version", 0))
        if _tag(edition) in _tags(request.headers.get("if-none-match", "")):
            from starlette.responses import Response

            return Response(None, 304, _headers(edition))
        return _text(edition)

    async def _put(self, request: Request) -> Response:
        caller = caller_of(request, self._allows, "to put a law into the library")
        body = await body_of(request, TEXT_BYTES_MAX)
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadRequest(why=f"the law is not UTF-8 text (byte {error.start})") from None
        name = request.path_params["name"]
        python = "python" in request.headers.get("content-type", "")
        language = PYTHON if python else PROLOG
        identity = None
        if self._work is not None:
            identity = await self._work.identity(text, f"{name}.{language}", caller)
        added = await self.put(
            name,
            text,
            by=caller,
            expect=request.query_params.get("expect", "").removeprefix("sha256:"),
            language=language,
            identity=identity,
        )
        edition = self.library.get(name)
        answer = {"name": name, "hash": edition.hash, "version": edition.version}
        return json_answer(answer, 201 if added else 200, _headers(edition))


def _tag(edition: Edition) -> str:
    return f'"{edition.hash}"'


def _tags(header: str) -> list[str]:
    return [part.strip() for part in header.split(",") if part.strip()]


def _headers(edition: Edition) -> dict[str, str]:
    return {
        "ETag": _tag(edition),
        "X-Law-Name": edition.name,
        "X-Law-Version": str(edition.version),
    }


def _text(edition: Edition) -> Response:
    from starlette.responses import Response

    kind = "text/x-python" if edition.language == PYTHON else "text/plain"
    return Response(edition.text, 200, _headers(edition), kind)
