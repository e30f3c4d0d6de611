"""The files of a trust folder, as `nomospace trust` keeps them.

    authority.pem, authority.key     whom all go by, and what it signs with
    revoked.crl.pem                  what it has taken back
    tokens.toml                      tokens of scripts, as hashes
    authorities/<name>/              further authorities, each with the three files above; with
                                     deputy.pem one certifies hosts in the place of the first, and
                                     successor.pem says who has replaced one
    hosts/<name>/                    host.pem, host.key, controller.pem, controller.key
    agents/<id>/                     agent.pem, agent.key, and roles/<serial>.pem

Secret keys and tokens can be read by their owner only. Nothing that is there is overwritten unless
the caller says so, and a file is written whole or not at all.

What the commands of `nomospace trust` share: their options, and how they tell what they did.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import typer

from nomospace.cli.remote_options import Unusable, say, usable
from nomospace.errors import NomospaceError
from nomospace.store.private import make_folder, open_file, whole
from nomospace.terms import show
from nomospace.trust.authority import Authority
from nomospace.trust.certificates import CERTIFICATE_BYTES_MAX, UncheckedCertificate, read_claim
from nomospace.trust.keys import KEY_PEM_BYTES_MAX, PublicKey, SecretKey
from nomospace.trust.moments import shown
from nomospace.trust.revocation import LIST_BYTES_MAX, RevocationList, Revocations, read_list
from nomospace.trust.tokens import FILE_CHARS_MAX, StoredToken, Tokens, read_tokens

AUTHORITY: Final = "authority.pem"
AUTHORITY_KEY: Final = "authority.key"
AUTHORITIES: Final = "authorities"
DEPUTY: Final = "deputy.pem"
SUCCESSOR: Final = "successor.pem"
REVOKED: Final = "revoked.crl.pem"
TOKENS: Final = "tokens.toml"
SECRET: Final = 0o600
OPEN: Final = 0o644


def now_us() -> int:
    """The machine's time."""
    return time.time_ns() // 1_000


def part_of(name: str) -> str:
    """A name as a folder's name, which not every name can be."""
    if "/" in name or name in (".", ".."):
        raise Unusable(what=name, why="this cannot be the name of a folder; choose another")
    return name


def read(path: Path, limit: int) -> bytes:
    """The bytes of a file that is not larger than such a file can be."""
    with usable(path, "cannot be read"), path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Unusable(what=str(path), why=f"it is larger than {limit:,} bytes")
    return data


def read_certificate(path: Path) -> UncheckedCertificate:
    """The certificate in a file; nothing of it is believed yet."""
    data = read(path, CERTIFICATE_BYTES_MAX)
    try:
        return read_claim(data)
    except NomospaceError as error:
        raise Unusable(what=str(path), why=str(error)) from None


def write(path: Path, data: bytes, *, mode: int = OPEN) -> None:
    """Write a file whole or not at all, readable for its owner only from the first byte on."""
    with usable(path, "cannot be written"):
        make_folder(path.parent)
        with whole(path) as new, open_file(new, "xb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)


class CertificatePair(msgspec.Struct, frozen=True):
    """A certificate and its key in a folder, which may not be there yet."""

    certificate: Path
    key: Path

    @classmethod
    def at(cls, folder: Path, stem: str) -> CertificatePair:
        """The pair of files with this stem."""
        return cls(folder / f"{stem}.pem", folder / f"{stem}.key")

    def free(self, *, force: bool, renew: bool = False) -> SecretKey | None:
        """Make sure that nothing is overwritten unasked; the key to go on with when renewing."""
        if renew:
            if not self.key.exists():
                raise Unusable(what=str(self.key), why="nothing to renew; leave --renew out")
            return SecretKey.from_pem(read(self.key, KEY_PEM_BYTES_MAX))
        for path in (self.certificate, self.key):
            if path.exists() and not force:
                why = (
                    "it is there already; --renew makes a new certificate for the key that is "
                    "there, --force replaces the key as well"
                )
                raise Unusable(what=str(path), why=why)
        return None

    def write(self, certificate: bytes, key: SecretKey) -> None:
        """Write both, the key first: a certificate without its key helps nobody."""
        write(self.key, key.pem(), mode=SECRET)
        write(self.certificate, certificate)


class AuthorityFiles(msgspec.Struct, frozen=True):
    """An authority of a folder: its certificate, and the key where this machine has it."""

    folder: Path
    claim: UncheckedCertificate

    @classmethod
    def read(cls, folder: Path) -> AuthorityFiles:
        """The authority whose files are in this folder."""
        path = folder / AUTHORITY
        claim = read_certificate(path)
        if claim.kind != "authority":
            raise Unusable(what=str(path), why=f"it is the {claim.about}")
        if not claim.signed_by(claim.key):
            raise Unusable(what=str(path), why="it is not what was signed; bring it back")
        return cls(folder, claim)

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self.claim.subject

    @property
    def public(self) -> PublicKey:
        """The key that laws name it by."""
        return self.claim.key

    def open(self) -> Authority:
        """The authority with its key, to sign with."""
        path = self.folder / AUTHORITY_KEY
        if not path.exists():
            why = f"the key of {self.name!r} is not on this machine; go where it is kept"
            raise Unusable(what=str(path), why=why)
        data = read(path, KEY_PEM_BYTES_MAX)
        try:
            return Authority.open(read(self.folder / AUTHORITY, CERTIFICATE_BYTES_MAX), data)
        except NomospaceError as error:
            raise Unusable(what=str(path), why=str(error)) from None

    def revoked(self) -> RevocationList:
        """What it has taken back; nothing, with number 0, if it has no list."""
        path = self.folder / REVOKED
        if not path.exists():
            return RevocationList(self.public, 0, {})
        data = read(path, LIST_BYTES_MAX)
        try:
            return read_list(data, self.public)
        except NomospaceError as error:
            raise Unusable(what=str(path), why=str(error)) from None

    def revoke(self, serial: int, *, now: int) -> RevocationList:
        """Take one certificate back, and write the list down."""
        held = self.revoked()
        after = RevocationList(self.public, held.number + 1, {**held.revoked, serial: now})
        signed = self.open().revoke(after.revoked, number=after.number, now=now)
        write(self.folder / REVOKED, signed)
        return after


class Judge(msgspec.Struct, frozen=True):
    """The authorities of a folder and what they have taken back, at one time."""

    seats: list[AuthorityFiles]
    revocations: Revocations
    now: int

    def issuer(self, claim: UncheckedCertificate) -> AuthorityFiles | None:
        """The authority that signed a certificate."""
        return next((seat for seat in self.seats if claim.signed_by(seat.public)), None)

    def state(self, claim: UncheckedCertificate) -> str:
        """Whether a certificate counts, in a word or two."""
        seat = self.issuer(claim)
        if seat is None:
            return "by a stranger"
        if self.revocations.revoked(seat.public, claim.serial):
            return "revoked"
        if self.now > claim.not_after:
            return "expired"
        return "counts" if self.now >= claim.not_before else "not yet"


class TrustFolder(msgspec.Struct, frozen=True):
    """A trust folder that has an authority."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> TrustFolder:
        """The folder at a path; one without an authority is none."""
        if not (path / AUTHORITY).exists():
            why = f"this is no trust folder; `nomospace trust init {path}` makes one"
            raise Unusable(what=str(path), why=why)
        return cls(path)

    def seats(self) -> list[AuthorityFiles]:
        """The authorities, the folder's own first."""
        further = sorted((self.path / "authorities").glob(f"*/{AUTHORITY}"))
        return [
            AuthorityFiles.read(folder)
            for folder in (self.path, *[path.parent for path in further])
        ]

    def seat(self, name: str = "") -> AuthorityFiles:
        """An authority by its name; the folder's own if none is given."""
        seats = self.seats()
        for seat in seats:
            if name in ("", seat.name):
                return seat
        known = ", ".join([seat.name for seat in seats])
        why = (
            f"no authority {name!r} here, only {known}; `nomospace trust issue authority` adds one"
        )
        raise Unusable(what=str(self.path), why=why)

    def revocations(self) -> Revocations:
        """The lists of all authorities."""
        known = Revocations()
        for seat in self.seats():
            known.learn(seat.revoked())
        return known

    def judge(self) -> Judge:
        """Tells which certificates count, as the folder is now."""
        return Judge(self.seats(), self.revocations(), now_us())

    def host(self, name: str, stem: str) -> CertificatePair:
        """Where the files of a host are: `host`, or `controller`."""
        return CertificatePair.at(self.path / "hosts" / part_of(name), stem)

    def agent(self, agent: str) -> CertificatePair:
        """Where the files of an agent are."""
        return CertificatePair.at(self.path / "agents" / part_of(agent), "agent")

    def role(self, agent: str, serial: int) -> Path:
        """Where a role certificate is."""
        return self.path / "agents" / part_of(agent) / "roles" / f"{serial:x}.pem"

    def certificates(self) -> Iterator[tuple[Path, UncheckedCertificate]]:
        """All certificates of hosts and agents, with their files."""
        for pattern in ("hosts/*/*.pem", "agents/*/*.pem", "agents/*/roles/*.pem"):
            for path in sorted(self.path.glob(pattern)):
                yield path, read_certificate(path)

    def tokens(self) -> Tokens:
        """The tokens of scripts."""
        path = self.path / TOKENS
        if not path.exists():
            return Tokens()
        try:
            return read_tokens(read(path, FILE_CHARS_MAX).decode())
        except (NomospaceError, UnicodeDecodeError) as error:
            raise Unusable(what=str(path), why=str(error)) from None

    def write_tokens(self, tokens: Tokens) -> None:
        """Write the tokens of scripts."""
        write(self.path / TOKENS, tokens.text().encode(), mode=SECRET)


DAYS_MAX = 36_500
TRUST = Path("trust")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

FolderOption = Annotated[
    Path, typer.Option("--folder", envvar="NOMOSPACE_TRUST", help="The trust folder.")
]
DaysOption = Annotated[int, typer.Option(min=1, max=DAYS_MAX, help="How long it counts.")]
AddressOption = Annotated[
    list[str] | None,
    typer.Option(
        "--address",
        help="A DNS name or IP address at which clients find it; again for more. "
        "The loopback if none is given.",
    ),
]


Facts: TypeAlias = dict[str, Any]
"""What is told of a certificate or a token, for programs."""


def facts_of(claim: UncheckedCertificate, *paths: Path) -> Facts:
    """What a certificate says, for programs, and where it was written."""
    facts: Facts = {
        "kind": claim.kind,
        "subject": claim.subject,
        "issuer": claim.issuer,
        "serial": f"{claim.serial:x}",
        "key": claim.key.text,
        "not_before": shown(claim.not_before),
        "not_after": shown(claim.not_after),
        "files": [str(path) for path in paths],
    }
    if claim.addresses:
        facts["addresses"] = list(claim.addresses)
    if claim.attributes:
        facts["attributes"] = [show(attribute) for attribute in claim.attributes]
    return facts


def facts_of_token(token: StoredToken, *, now: int) -> Facts:
    """What is known of a token, for programs."""
    return {
        "id": token.id,
        "agents": list(token.agents),
        "scopes": list(token.scopes),
        "not_after": shown(token.not_after),
        "state": "counts" if now <= token.not_after else "expired",
    }


def tell(facts: Facts, *, as_json: bool) -> None:
    """Say which certificate was made, and where it is."""
    words = f"issued the {facts['kind']} certificate of {facts['subject']!r}"
    if facts["kind"] == "authority":
        words = f"made the authority {facts['subject']!r}"
    lines = [f"{words}, until {facts['not_after']}", f"  serial {facts['serial']}"]
    if facts["kind"] == "authority":
        lines.append(f"  {facts['key']}")
    lines += [f"  {path}" for path in facts["files"]]
    say(facts, "\n".join(lines), as_json=as_json)


def elsewhere(folder: Path) -> str:
    """What a further command needs to find a folder that is not the usual one.

    >>> elsewhere(Path("trust")), elsewhere(Path("keys"))
    ('', ' --folder keys')
    """
    return "" if folder == TRUST else f" --folder {folder}"
