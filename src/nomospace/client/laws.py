"""Laws from wherever they are: a text, a file, an address, or a name in a law server.

How an agent gets the text of a law does not matter for its safety: controllers compare hashes. But
it matters to the agent that it adopts what it meant. So a law may be pinned, by `#sha256:…` after
its file, address or name, and a text of any other law is refused. What a law server says about a
text is checked too: the hash in its `ETag` must be that of the text which came.

Importing this module lets `Law.load` take addresses and names; the package's face does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from nomospace.client.http import TIMEOUT_S, BadAnswer, fetch_blocking, in_thread
from nomospace.errors import CallerError, PeerError
from nomospace.law import CompiledLaw, load
from nomospace.law.program import load_source, read_source

PIN: Final = re.compile(r"#(?:sha256:)?([0-9a-f]{64})\Z")
_NAME: Final = re.compile(r"sha256:[0-9a-f]{64}|(?!.*\.law(?:\.py)?\Z)[A-Za-z0-9_][A-Za-z0-9_.-]*")
_BY_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})\Z")
_TEXT: Final = re.compile(r"\s*(?:%[^\n]*\n\s*)*law\s*\(")


class NotThatLaw(PeerError):
    """A text is not of the law that it should be."""

    code = "client.not-that-law"
    words = (
        "{source:.200} gives law sha256:{found}, not sha256:{expected}; "
        "it was changed on its way or replaced there: do not adopt it unseen"
    )
    source: str
    expected: str
    found: str


class NoLawServer(CallerError):
    """A law was asked for by its name or hash, and nobody said where from."""

    code = "client.no-law-server"
    name: str

    def __str__(self) -> str:
        return f"{self.name[:100]!r} is no file; to get it from a law server give server='http://…'"


def load_law(
    source: str | Path,
    *,
    server: str = "",
    authority: str | None = None,
    timeout: float = TIMEOUT_S,
) -> CompiledLaw:
    """A law, checked and compiled: `nomospace.Law.load`.

    `source` is the text of a law, a file (`.law` or `.law.py`), an address (`http://…`), or, with a
    `server`, a name or `sha256:HASH` there. All but a text may be pinned: `ap#sha256:HASH`. Blocks
    while a server answers, at most about `timeout` seconds; see `fetch_law` for `async` programs.

    Raises `Faulty` with all errors in the text, `LawFile`, `NotThatLaw`, `NoLawServer`, and what
    `fetch_blocking` raises.

    >>> load_law("law(echo). R1. sent(_, _, _) :- do(forward).").name
    'echo'
    >>> load_law("ap")
    Traceback (most recent call last):
    nomospace.client.laws.NoLawServer: 'ap' is no file; ...
    """
    if isinstance(source, Path):
        return load_source(read_source(str(source)))
    if "\n" in source or _TEXT.match(source):
        return load(source)
    place, pin = _unpinned(source)
    if urlsplit(place).scheme in ("http", "https"):
        law = _fetched(place, authority, timeout)
    elif not _NAME.fullmatch(place) or (not server and Path(place).exists()):
        law = load_source(read_source(place))
    elif server:
        law = _fetched(f"{server.rstrip('/')}/laws/{quote(place, safe=':')}", authority, timeout)
        by_hash = _BY_HASH.match(place)
        pin = pin or (by_hash[1] if by_hash else "")
    else:
        raise NoLawServer(name=place)
    if pin and law.hash != pin:
        raise NotThatLaw(source=place, expected=pin, found=law.hash)
    return law


fetch_law = in_thread(load_law)


def _unpinned(source: str) -> tuple[str, str]:
    """A place without its pin, and the hash that it is pinned to.

    >>> _unpinned("ap#sha256:" + "0" * 64) == ("ap", "0" * 64)
    True
    >>> _unpinned("notes#1.law")
    ('notes#1.law', '')
    """
    found = PIN.search(source)
    return (source[: found.start()], found[1]) if found else (source, "")


def _fetched(url: str, authority: str | None, timeout: float) -> CompiledLaw:
    answer = fetch_blocking(url, authority=authority, timeout=timeout)
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadAnswer(url=url, why=f"no UTF-8 text (byte {error.start})") from None
    python = "python" in answer.headers.get("content-type", "") or url.endswith(".py")
    law = load(text, url if not python or url.endswith(".py") else f"{url}.law.py")
    tag = _tag(answer.headers.get("etag", ""))
    if tag and tag != law.hash:
        raise NotThatLaw(source=url, expected=tag, found=law.hash)
    return law


def _tag(header: str) -> str:
    """The hash in an `ETag`; a web server that is no law server has tags of another form."""
    tag = header.strip('"')
    return tag if re.fullmatch(r"[0-9a-f]{64}", tag) else ""


Law = CompiledLaw
CompiledLaw.finder = load_law
