"""Signed bundles: the code of a program, the name it goes by, and who answers for it.

An agent may bring the code of its program to a host that does not have it. Python code can do
whatever its host can, so a host takes none but that of publishers it trusts, by their public keys
(Ed25519). A bundle is checked whole before a byte of it is used: its size, its form, who published
it, that the source is the one that was put in, and the signature over publisher, name and source.

The signature covers each part with its length, under a heading of its own: no part can be read as
another, and nothing signed for another purpose passes here. Source travels as text, or as a zip
archive (a wheel is one) that nothing is ever unpacked from: no path in it leads out of it. Nothing
is unpickled; whoever runs it is `node`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import PurePosixPath
from stat import S_ISLNK
from typing import Final

import msgspec

from nomospace.errors import CallerError, PeerError
from nomospace.trust.keys import KEY_BYTES, PublicKey, SecretKey, signed_parts

BUNDLE_BYTES_MAX: Final = 1 << 18
"""The largest bundle that is made or opened, in bytes."""
HEADING: Final = b"nomospace bundle 1\n"
HEADING_ARCHIVE: Final = b"nomospace bundle 2\n"
ARCHIVE_FILES_MAX: Final = 1_000
"""How many files an archive may have."""
ARCHIVE_BYTES_MAX: Final = 1 << 22
"""How large they may be together when they are read, in bytes."""


class NotABundle(PeerError):
    """Bytes that are no bundle."""

    code = "trust.not-a-bundle"
    words = "this is no bundle of code: {why}; make one with make_bundle"
    why: str


class BundleTooLarge(CallerError):
    """A bundle above the limit."""

    code = "trust.bundle-too-large"
    words = (
        f"a bundle of {{bytes:,}} bytes is above the limit of {BUNDLE_BYTES_MAX:,}; "
        "let the program import what its hosts have, and bring the rest"
    )
    bytes: int


class UnknownPublisher(PeerError):
    """A bundle of a publisher that is not trusted here."""

    code = "trust.unknown-publisher"
    words = (
        "publisher {publisher!r} is not trusted here; the host's operator may add it to "
        "[publishers] of the configuration"
    )
    publisher: str


class BundleAltered(PeerError):
    """The source in a bundle is not the one that was put in."""

    code = "trust.bundle-altered"
    words = "the source of program {name!r} was changed after it was bundled; get it again"
    name: str


class BadSignature(PeerError):
    """A bundle that its publisher's key did not sign."""

    code = "trust.bad-signature"
    words = (
        "the key known for publisher {publisher!r} did not sign this bundle of "
        "{name!r}; get the bundle again, or the publisher's new key"
    )
    publisher: str
    name: str


class BadBundleArchive(PeerError):
    """An archive that cannot be the code of a program."""

    code = "trust.bad-archive"
    words = "the archive of program {name!r} is refused: {why}; make it again with `agent bundle`"
    name: str
    why: str


class WrongName(PeerError):
    """A bundle of another program than the one that was asked for."""

    code = "trust.wrong-name"
    words = "the bundle is of program {name!r}, not {wanted!r}; bring the right one"
    name: str
    wanted: str


class NotAKey(CallerError):
    """Bytes that are no key."""

    code = "trust.bad-key"
    words = f"a key has {KEY_BYTES} bytes, not {{bytes}}; use secrets.token_bytes(32)"
    bytes: int


@dataclass(frozen=True)
class PublisherKey:
    """A publisher's name and secret key: any 32 bytes that nobody can guess.

    >>> key = PublisherKey("acme", bytes(32))  # use secrets.token_bytes(32)
    >>> key
    PublisherKey(publisher='acme')
    >>> len(key.public)
    32
    """

    publisher: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise NotAKey(bytes=len(self.secret))

    @property
    def public(self) -> bytes:
        """The public key, for those who trust this publisher."""
        return SecretKey.from_seed(self.secret).public.raw

    def _sign(self, heading: bytes, *parts: bytes) -> bytes:
        signed = signed_parts(heading, self.publisher.encode(), *parts)
        return SecretKey.from_seed(self.secret).sign(signed)


class _Bundle(msgspec.Struct, frozen=True, array_like=True, tag="nomospace-bundle-1"):
    publisher: str
    name: str
    source: str
    digest: bytes
    signature: bytes


class _Archive(msgspec.Struct, frozen=True, array_like=True, tag="nomospace-bundle-2"):
    publisher: str
    name: str
    module: str
    archive: bytes
    digest: bytes
    signature: bytes


def make_bundle(name: str, source: str, publisher_key: PublisherKey) -> bytes:
    """A program's source, signed, as bytes to travel.

    The same three always make the same bytes. Raises `BundleTooLarge`.

    >>> key = PublisherKey("acme", bytes(32))
    >>> bundle = make_bundle("courier", "print('on my way')", key)
    >>> open_bundle(bundle, trusted={"acme": key.public})
    "print('on my way')"
    >>> open_bundle(bundle, trusted={})
    Traceback (most recent call last):
    nomospace.trust.bundles.UnknownPublisher: publisher 'acme' is not trusted here; ...
    """
    code, by = source.encode(), publisher_key
    signature = by._sign(HEADING, name.encode(), code)
    bundle = _Bundle(by.publisher, name, source, sha256(code).digest(), signature)
    made = msgspec.msgpack.encode(bundle)
    if len(made) > BUNDLE_BYTES_MAX:
        raise BundleTooLarge(bytes=len(made))
    return made


def make_archive(name: str, module: str, archive: bytes, publisher_key: PublisherKey) -> bytes:
    """A zip archive (a wheel, say) whose `module` has the program `name`, signed, to travel.

    Raises `BundleTooLarge` and `BadBundleArchive`.
    """
    check_archive(name, module, archive)
    made = sign_archive(name, module, archive, publisher_key)
    if len(made) > BUNDLE_BYTES_MAX:
        raise BundleTooLarge(bytes=len(made))
    return made


def sign_archive(name: str, module: str, archive: bytes, publisher_key: PublisherKey) -> bytes:
    """The same without a look inside; who opens it looks anyway."""
    signature = publisher_key._sign(HEADING_ARCHIVE, name.encode(), module.encode(), archive)
    digest, publisher = sha256(archive).digest(), publisher_key.publisher
    return msgspec.msgpack.encode(_Archive(publisher, name, module, archive, digest, signature))


def check_archive(name: str, module: str, archive: bytes) -> None:
    """Raise `BadBundleArchive` for one that is none, too large, or that leads out of itself."""

    from zipfile import BadZipFile, ZipFile

    def refused(why: str) -> BadBundleArchive:
        return BadBundleArchive(name=name, why=why)

    try:
        with ZipFile(BytesIO(archive)) as opened:
            files = opened.infolist()
    except (BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise refused(f"it is no zip archive ({error})") from None
    if len(files) > ARCHIVE_FILES_MAX:
        raise refused(f"{len(files):,} files are above the limit of {ARCHIVE_FILES_MAX:,}")
    if sum(one.file_size for one in files) > ARCHIVE_BYTES_MAX:
        raise refused(f"its files have more than {ARCHIVE_BYTES_MAX:,} bytes")
    for one in files:
        path = one.orig_filename
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or "\\" in path or ":" in path or "\0" in path:
            raise refused(f"{path[:100]!r} is a path outside it")
        if S_ISLNK(one.external_attr >> 16):
            raise refused(f"{path[:100]!r} is a link")
    place = module.replace(".", "/")
    if not {f"{place}.py", f"{place}/__init__.py"} & {one.filename for one in files}:
        raise refused(f"it has no module {module!r}")


@dataclass(frozen=True)
class OpenedBundle:
    """A bundle that was checked: its code is `source`, or `module` in `archive`."""

    publisher: str
    name: str
    source: str = ""
    module: str = ""
    archive: bytes = field(default=b"", repr=False)


def open_bundle(bundle: bytes, *, trusted: Mapping[str, bytes], name: str | None = None) -> str:
    """The source in a bundle of a trusted publisher, of the program `name` if one is given.

    As `read_bundle`, for a bundle that is one text.
    """
    found = read_bundle(bundle, trusted=trusted, name=name)
    if found.archive:
        raise NotABundle(why="its code is an archive, which is run in a process of its own")
    return found.source


def read_bundle(
    bundle: bytes, *, trusted: Mapping[str, bytes], name: str | None = None
) -> OpenedBundle:
    """What is in a bundle of a trusted publisher, of the program `name` if one is given.

    `trusted` has public keys by publisher. Nothing of the bundle is believed before the signature
    is checked. Raises `NotABundle`, `BundleTooLarge`, `UnknownPublisher`, `BundleAltered`,
    `BadSignature`, `WrongName` or `BadBundleArchive`.
    """
    if len(bundle) > BUNDLE_BYTES_MAX:
        raise BundleTooLarge(bytes=len(bundle))
    try:
        found = _DECODER.decode(bundle)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotABundle(why=str(error)) from None
    public = trusted.get(found.publisher)
    if public is None:
        raise UnknownPublisher(publisher=found.publisher)
    if len(public) != KEY_BYTES:
        raise NotAKey(bytes=len(public))
    parts = (found.publisher.encode(), found.name.encode())
    if isinstance(found, _Archive):
        code = found.archive
        signed = signed_parts(HEADING_ARCHIVE, *parts, found.module.encode(), code)
    else:
        code = found.source.encode()
        signed = signed_parts(HEADING, *parts, code)
    if sha256(code).digest() != found.digest:
        raise BundleAltered(name=found.name)
    if not PublicKey(public).signed(signed, found.signature):
        raise BadSignature(publisher=found.publisher, name=found.name)
    if name is not None and found.name != name:
        raise WrongName(name=found.name, wanted=name)
    if isinstance(found, _Archive):
        check_archive(found.name, found.module, found.archive)
        return OpenedBundle(found.publisher, found.name, module=found.module, archive=found.archive)
    return OpenedBundle(found.publisher, found.name, found.source)


_DECODER: Final = msgspec.msgpack.Decoder(_Bundle | _Archive)
