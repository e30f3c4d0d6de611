"""Files of the pages from memory: as they are on the disk, in the form that a browser takes."""

from __future__ import annotations

import asyncio
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from nomospace.console.files import FILE_MAX, FilesAtHand, SiteFolder

SCRIPT = b"let answer = 42;\n" * 100


class Site:
    """Some files, and whoever comes after them, who has none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "now").mkdir()
        (folder / "now" / "map.js").write_bytes(SCRIPT)
        (folder / "sign.woff2").write_bytes(os.urandom(1_000))
        (folder / "large.js").write_bytes(b" " * (FILE_MAX + 1))
        folders = {"/own": SiteFolder(folder, "max-age=0")}
        folders["/one/7/map.js"] = SiteFolder(folder / "now" / "map.js", "max-age=0")
        self._app = FilesAtHand(self._beyond, folders, {"x-policy": "none"})

    async def _beyond(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"beyond"})

    def ask(
        self, path: str, method: str = "GET", *, near: bool = False, **wishes: str
    ) -> tuple[int, Any, bytes]:
        """The status, the headers and the body of an answer."""
        headers = [(k.replace("_", "-").encode(), v.encode()) for k, v in wishes.items()]
        client = ("127.0.0.1" if near else "192.0.2.7", 50_000)
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": headers,
            "client": client,
        }
        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            raise AssertionError("nothing is read of a request for a file")

        asyncio.run(self._app(scope, receive, send))
        start, body = said
        named = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], named, body["body"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_file_is_packed_for_those_who_can_unpack_it(site: Site) -> None:
    for _ in range(2):  # read, then from memory
        status, headers, body = site.ask("/own/now/map.js", accept_encoding="br, gzip")
        assert (status, headers["content-encoding"]) == (200, "gzip")
        assert gzip.decompress(body) == SCRIPT
        assert int(headers["content-length"]) == len(body) < len(SCRIPT)
    status, headers, body = site.ask("/own/now/map.js")
    assert (status, body) == (200, SCRIPT)
    assert "content-encoding" not in headers
    assert headers["content-type"] == "text/javascript; charset=utf-8"
    assert (headers["cache-control"], headers["vary"]) == ("max-age=0", "accept-encoding")


def test_a_single_file_has_a_path_of_its_own_and_every_answer_the_headers(site: Site) -> None:
    status, headers, body = site.ask("/one/7/map.js")
    assert (status, headers["x-policy"], body) == (200, "none", SCRIPT)
    assert site.ask("/one/7/map.js", if_none_match=headers["etag"])[1]["x-policy"] == "none"
    assert site.ask("/one/7")[2] == b"beyond"


def test_for_those_on_the_same_machine_nothing_is_packed(site: Site) -> None:
    status, headers, body = site.ask("/own/now/map.js", near=True, accept_encoding="gzip")
    assert (status, body) == (200, SCRIPT)
    assert "content-encoding" not in headers


def test_what_packing_makes_no_smaller_is_sent_as_it_is(site: Site) -> None:
    _, headers, body = site.ask("/own/sign.woff2", accept_encoding="gzip")
    assert "content-encoding" not in headers
    assert body == (site.folder / "sign.woff2").read_bytes()


def test_a_browser_that_has_it_is_told_so_until_it_changes(site: Site) -> None:
    tag = site.ask("/own/now/map.js")[1]["etag"]
    status, headers, body = site.ask("/own/now/map.js", if_none_match=tag)
    assert (status, headers["etag"], body) == (304, tag, b"")
    file = site.folder / "now" / "map.js"
    file.write_bytes(b"let answer = 43;")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))  # however coarse the disk's clock is
    status, headers, body = site.ask("/own/now/map.js", if_none_match=tag)
    assert (status, body) == (200, b"let answer = 43;")
    assert headers["etag"] != tag


def test_only_the_head_is_given_to_who_asks_for_it(site: Site) -> None:
    status, headers, body = site.ask("/own/now/map.js", "HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(SCRIPT)), b"")


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/own/large.js", "GET"),
        ("/own/none.js", "GET"),
        ("/own/now", "GET"),
        ("/own/../own/now/map.js", "GET"),
        ("/own/now//map.js", "GET"),
        ("/other/now/map.js", "GET"),
        ("/own/now/map.js", "POST"),
    ],
)
def test_everything_else_is_passed_on(site: Site, path: str, method: str) -> None:
    assert site.ask(path, method)[2] == b"beyond"


def test_a_file_that_is_gone_is_passed_on(site: Site) -> None:
    assert site.ask("/own/sign.woff2")[0] == 200
    (site.folder / "sign.woff2").unlink()
    assert site.ask("/own/sign.woff2")[2] == b"beyond"
