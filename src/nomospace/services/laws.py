"""The library of a law server: laws by name and by hash.

A law is named by the hash of its canonical text; that is what controllers compare, so where a text
comes from does not matter to anybody's safety (`001_…` 3.3). A name is for people. It is the one
that the law gives itself, and it has versions: putting another law under it adds one, and older
ones stay. The text that belongs to a hash is never replaced.

Nothing faulty is taken in, and nothing grows without end: `TEXT_BYTES_MAX` for a text, `LAWS_MAX`
laws, `LIBRARY_BYTES_MAX` for all texts, `VERSIONS_MAX` for a name.

>>> library = Library()
>>> change = library.put("echo", "law(echo). R1. sent(_, _, _) :- do(forward).", now=5)
>>> library.apply(change)
>>> library.get("echo").version, library.get(f"sha256:{change.hash}").name
(1, 'echo')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from nomospace.errors import CallerError, Unavailable
from nomospace.law.canon import law_hash
from nomospace.law.program import examine
from nomospace.terms import Faulty, Source

TEXT_BYTES_MAX: Final = 1_000_000
"""The largest text of a law."""
LAWS_MAX: Final = 10_000
"""How many laws a library holds."""
LIBRARY_BYTES_MAX: Final = 256_000_000
"""How large all its texts may be together."""
VERSIONS_MAX: Final = 1_000
"""How many versions a name may have."""
PYTHON: Final = "law.py"
PROLOG: Final = "law"

HASH: Final = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class BadLawName(CallerError):
    """A name that no law in a library can have."""

    code = "laws.bad-name"
    name: str

    def __str__(self) -> str:
        return (
            f"{self.name[:120]!r} cannot name a law in a library; use 1 to 100 letters, digits, "
            "'_', '-' and '.', or sha256: and 64 hexadecimal digits"
        )


class OtherName(CallerError):
    """A law was put under another name than it gives itself."""

    code = "laws.other-name"
    words = "the text says law({own}), not law({name}); put it as {own!r}"
    name: str
    own: str


class OtherHash(CallerError):
    """A text is not of the law that was announced."""

    code = "laws.other-hash"
    words = (
        "the text is of law sha256:{found}, and sha256:{expected} was announced; "
        "send the text that belongs to the hash"
    )
    expected: str
    found: str


class LawTooLarge(CallerError):
    """A text above the limit."""

    code = "laws.too-large"
    words = f"a law of {{bytes:,}} bytes is above the limit of {TEXT_BYTES_MAX:,}; shorten it"
    bytes: int


class LawNotShelved(CallerError):
    """A library does not have this law."""

    code = "laws.no-such-law"
    name: str
    version: int = 0

    def __str__(self) -> str:
        which = f" in version {self.version}" if self.version else ""
        return f"there is no law {self.name!r}{which} here; look at the list of laws"


class LibraryFull(Unavailable):
    """A library is at one of its limits."""

    code = "laws.full"
    words = "no more room for {what}: the limit is {limit:,}; begin another library"
    what: str
    limit: int


class LawShelved(msgspec.Struct, frozen=True, tag=True):
    """A name has a new version; the text is empty when the library has this law already."""

    name: str
    hash: str
    language: str
    text: str
    at: int
    by: str = ""


class Edition(msgspec.Struct, frozen=True):
    """A law as the library hands it out: version `version` of `name`, put there at `at` (µs)."""

    name: str
    version: int
    hash: str
    language: str
    text: str
    at: int
    by: str


class _Text(msgspec.Struct, frozen=True):
    language: str
    text: str
    bytes: int
    name: str
    version: int


class Library:
    """Laws by name and by hash. `put` says what would change; `apply` carries it out."""

    def __init__(self, changes: Iterable[LawShelved] = ()) -> None:
        self._texts: dict[str, _Text] = {}
        self._names: dict[str, list[LawShelved]] = {}
        self._bytes = 0
        for change in changes:
            self.apply(change)

    def __len__(self) -> int:
        return len(self._texts)

    def put(
        self,
        name: str,
        text: str,
        *,
        now: int,
        by: str = "",
        expect: str = "",
        language: str = "",
        identity: tuple[str, str] | None = None,
    ) -> LawShelved | None:
        """What would change if this text became the newest version of a name; nothing, if it is.

        With `expect` the text must be of the law with this hash. `identity` is the hash of the law
        and its own name, where the text was read and checked already. Raises `Faulty` with all that
        is wrong with the text, `OtherName`, `OtherHash`, `LawTooLarge`, `BadLawName`,
        `LibraryFull`.
        """
        if _NAME.fullmatch(name) is None:
            raise BadLawName(name=name)
        size = len(text.encode())
        if size > TEXT_BYTES_MAX:
            raise LawTooLarge(bytes=size)
        language = PYTHON if language == PYTHON else PROLOG
        hash, own = identity or _identify(text, f"{name}.{language}")
        if expect and expect != hash:
            raise OtherHash(expected=expect, found=hash)
        if own != name:
            raise OtherName(name=name, own=own)
        versions = self._names.get(name, [])
        if versions and versions[-1].hash == hash:
            return None
        if len(versions) >= VERSIONS_MAX:
            raise LibraryFull(what=f"versions of {name!r}", limit=VERSIONS_MAX)
        known = hash in self._texts
        if not known and len(self._texts) >= LAWS_MAX:
            raise LibraryFull(what="laws", limit=LAWS_MAX)
        if not known and self._bytes + size > LIBRARY_BYTES_MAX:
            raise LibraryFull(what="texts, in bytes", limit=LIBRARY_BYTES_MAX)
        return LawShelved(name, hash, language, "" if known else text, now, by)

    def apply(self, change: LawShelved) -> None:
        """Carry a change out that has been written down."""
        versions = self._names.setdefault(change.name, [])
        versions.append(msgspec.structs.replace(change, text=""))
        if change.hash not in self._texts:
            size = len(change.text.encode())
            self._texts[change.hash] = _Text(
                change.language, change.text, size, change.name, len(versions)
            )
            self._bytes += size

    def get(self, name: str, version: int = 0) -> Edition:
        """A law by `sha256:…` or name, its newest version unless told; raises `LawNotShelved`."""
        prefix, _, hash = name.partition(":")
        if prefix == "sha256" and HASH.fullmatch(hash):
            text = self._texts.get(hash)
            if text is None:
                raise LawNotShelved(name=name)
            return self._edition(text.name, text.version)
        versions = self._names.get(name, ())
        number = version or len(versions)
        if not 1 <= number <= len(versions):
            raise LawNotShelved(name=name, version=version)
        return self._edition(name, number)

    def _edition(self, name: str, version: int) -> Edition:
        shelved = self._names[name][version - 1]
        text = self._texts[shelved.hash]
        return Edition(
            name, version, shelved.hash, text.language, text.text, shelved.at, shelved.by
        )

    def editions(self, after: str = "", limit: int = 1_000) -> Iterator[Edition]:
        """The newest version of each name past `after`, in the order of names, at most `limit`."""
        names = sorted([name for name in self._names if name > after])
        for name in names[:limit]:
            yield self._edition(name, len(self._names[name]))

    def versions(self, name: str) -> tuple[str, ...]:
        """The hashes that a name has had, the newest last."""
        return tuple([shelved.hash for shelved in self._names.get(name, ())])


def _identify(text: str, name: str) -> tuple[str, str]:
    """Hash and name of the law in a text. It is read and checked, not compiled: nobody runs it."""
    source = Source(text, name)
    tree, found = examine(source)
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise Faulty(source=source, diagnostics=tuple(found))
    return law_hash(tree), tree.name


def name_of(text: str, source: str) -> str:
    """The name that a law gives itself; raises `Faulty`. `source` names its file, in errors.

    >>> name_of("law(echo).", "echo.law")
    'echo'
    """
    return _identify(text, source)[1]
