"""Who a host is, and who it believes others to be: keys and certificates out of a trust folder.

`nomospace trust init` and `trust issue host` make the folder:

    authority.pem                 whom all hosts of this installation go by
    revoked.crl.pem               what the authority has taken back (may be missing)
    hosts/<name>/host.pem, .key   the certificate of this host and its secret key
    hosts/<name>/controller.*     what its controllers seal messages with (may be missing)
    authorities/<name>/           further authorities: for roles; with deputy.pem, which the first
                                  has signed, also for hosts; one that was replaced says in
                                  successor.pem by whom

Connections speak TLS 1.3 and nothing older. Between hosts both sides show a certificate; the name
of a peer is the one in its certificate and never one that it says. TLS proves that the other side
has the key; `check_host` then asks all that `trust` asks of a certificate, revocation included,
since that is the only place that can say why one is refused; `check_again` asks it of those that
are connected.

`poll` looks whether a file has changed and takes the new ones in: a renewed certificate, a longer
revocation list. Files that cannot be used are noted and the old ones stay. There are no session
tickets: a session that was resumed would not show its certificate again.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from nomospace.client import check_name
from nomospace.errors import CallerError, NomospaceError
from nomospace.node.clock import wall_us
from nomospace.node.notes import OnNote
from nomospace.store.private import whole
from nomospace.trust.authority import Authority
from nomospace.trust.certificates import (
    CERTIFICATE_BYTES_MAX,
    AgentCertificate,
    Certificate,
    ControllerCertificate,
    HostCertificate,
    NotACertificate,
    check_again,
    check_certificate,
    read_claim,
    read_deputy,
)
from nomospace.trust.keys import KEY_PEM_BYTES_MAX, PublicKey, SecretKey
from nomospace.trust.revocation import (
    LIST_BYTES_MAX,
    Deputy,
    NotARevocationList,
    RevocationList,
    Revocations,
    RevocationsRolledBack,
    read_list,
)
from nomospace.wire.framing import CLIENT, HOST, offered

HOST_ALPN: Final = HOST
CLIENT_ALPN: Final = CLIENT
WORKERS_MAX: Final = 64
"""Of so many workers of other hosts it is kept how they are dialled."""
AUTHORITY: Final = "authority.pem"
REVOKED: Final = "revoked.crl.pem"
HOSTS: Final = "hosts"
AUTHORITIES: Final = "authorities"
DEPUTY: Final = "deputy.pem"
SUCCESSOR: Final = "successor.pem"
AUTHORITIES_MAX: Final = 1_000
"""How many further authorities of a trust folder are looked at."""

C = TypeVar("C", AgentCertificate, ControllerCertificate, HostCertificate)


class NoIdentity(CallerError):
    """A file of a trust folder is missing or cannot be used."""

    code = "node.no-identity"
    words = "{file}: {why}; {next_step}"
    file: str
    why: str
    next_step: str


class NotItsName(CallerError):
    """A host is to run under a name that its certificate is not about."""

    code = "node.not-its-name"
    words = (
        "the certificate is about host {certified!r}, not {name!r}; run it under "
        "that name, or make one with `nomospace trust issue host {name}`"
    )
    name: str
    certified: str


class Papers:
    """What was read from the files at one time; never changed after."""

    def __init__(self, folder: Path, name: str, now: int, revocations: Revocations) -> None:
        place = folder / HOSTS / name
        authority = _read(folder / AUTHORITY, CERTIFICATE_BYTES_MAX, "nomospace trust init")
        with _usable(folder / AUTHORITY, "nomospace trust init"):
            claim = read_claim(authority)
        if claim.kind != "authority":
            why = f"it is a {claim.about}, not that of an authority"
            raise _useless(folder / AUTHORITY, why, "nomospace trust init")
        if not claim.signed_by(claim.key):
            raise _useless(folder / AUTHORITY, "it is not what was signed", "a copy of it")
        self.authority: PublicKey = claim.key
        """The key of the authority that all hosts go by."""
        if (folder / REVOKED).exists():
            data = _read(folder / REVOKED, LIST_BYTES_MAX, "nomospace trust revoke")
            with _usable(folder / REVOKED, "nomospace trust revoke"):
                revocations.learn(read_list(data, self.authority))
        for found in revocation_lists(folder):
            with suppress(RevocationsRolledBack):  # it is noted where laws hear of roles
                revocations.learn(found)
        self.deputies = dict(_deputies(folder, self.authority))
        revocations.appoint(self.deputies.values())
        self.former = tuple(
            [one.authority for one in self.deputies.values() if one.key == self.authority]
        )
        """The keys of authorities that it has replaced, whose word it still is."""
        by = (self.authority, now, revocations)
        self.key, self.certificate = _keyed(place, "host", HostCertificate, *by)
        self.controller: tuple[SecretKey, ControllerCertificate] | None = None
        """What its controllers seal with, if it may."""
        if (place / "controller.pem").exists():
            self.controller = _keyed(place, "controller", ControllerCertificate, *by)
        self.ends = {"the authority": claim.not_after, "the host": self.certificate.not_after}
        """When certificates end that the host lives by; for `nomospace doctor`."""
        if self.controller is not None:
            self.ends["its controllers"] = self.controller[1].not_after
        trusted = [authority]
        for file, deputy in self.deputies.items():
            if deputy.authority == self.authority:
                self.ends[f"the deputy {file.parent.name}"] = deputy.not_after
                if revocations.deputy(self.authority, deputy.key.identifier, now=now):
                    trusted.append(_read(file, CERTIFICATE_BYTES_MAX, "nomospace trust"))
        pem = b"\n".join(trusted).decode("ascii", "replace")
        self.serving = _context(ssl.PROTOCOL_TLS_SERVER, pem, place)
        """For connections that come in: a certificate is asked for, and checked if shown."""
        self.serving.verify_mode = ssl.CERT_OPTIONAL
        self.serving.num_tickets = 0
        self.serving.set_alpn_protocols([HOST_ALPN, CLIENT_ALPN])
        self.trusted = pem
        self.dialling = {"": _dialling(pem, place, "")}
        """By the worker of a host that is dialled; none, for whoever answers."""


def _keyed(
    place: Path, role: str, kind: type[C], issuer: PublicKey, now: int, revocations: Revocations
) -> tuple[SecretKey, C]:
    """The key of a host's role, and the certificate for it."""
    name = place.name
    again = f"nomospace trust issue {role} {name}"
    secret, pem = place / f"{role}.key", place / f"{role}.pem"
    data = _read(secret, KEY_PEM_BYTES_MAX, again)
    with _usable(secret, again):
        key = SecretKey.from_pem(data)
    data = _read(pem, CERTIFICATE_BYTES_MAX, again)
    with _usable(pem, again):
        found = check_certificate(
            data, kind, issuer=issuer, now=now, revocations=revocations, subject=name
        )
    if found.key != key.public:
        raise _useless(secret, f"it is not the key of {role}.pem", again)
    return key, found


class Identity:
    """The identity of one host, kept up to date with its files.

    `clock` gives microseconds, UTC; the machine's by default. Whoever wants to know of a change
    puts a function into `watchers`.
    """

    def __init__(
        self,
        folder: Path | str,
        name: str,
        *,
        clock: Callable[[], int] | None = None,
        on_note: OnNote | None = None,
    ) -> None:
        self.name = check_name("a host", name)
        self.folder = Path(folder)
        self.revocations = Revocations()
        self.watchers: list[Callable[[], None]] = []
        self.on_note = on_note
        self.now = clock or wall_us
        """The time that it goes by."""
        if "/" in name or name in (".", ".."):
            why = f"{name!r} cannot be the name of a folder"
            raise _useless(self.folder / HOSTS, why, "nomospace trust issue host NAME")
        self._seen = self._stamps()
        self.papers = Papers(self.folder, name, self.now(), self.revocations)
        """What its files have now."""

    def dialling(self, worker: str = "") -> ssl.SSLContext:
        """For connections to one worker of another host, or to whoever answers there."""
        known = self.papers.dialling
        if worker not in known:
            if len(known) > WORKERS_MAX:
                del known[next(name for name in known if name)]
            known[worker] = _dialling(self.papers.trusted, self.folder / HOSTS / self.name, worker)
        return known[worker]

    def check_host(self, certificate: bytes | None) -> HostCertificate:
        """The certificate of a host, if it counts now; raises `BadCertificate`."""
        return self._checked(certificate, HostCertificate)

    def check_agent(self, certificate: bytes | None) -> AgentCertificate:
        """The certificate of an agent, if it counts now; raises `BadCertificate`."""
        return self._checked(certificate, AgentCertificate)

    def check_controller(self, certificate: bytes | None) -> ControllerCertificate:
        """The certificate of a host's controllers, if it counts now; raises `BadCertificate`."""
        return self._checked(certificate, ControllerCertificate)

    def check_again(self, certificate: Certificate) -> None:
        """Raise `BadCertificate` unless one that was checked before still counts; it is cheap."""
        check_again(
            certificate,
            issuer=self.papers.authority,
            now=self.now(),
            revocations=self.revocations,
        )

    def _checked(self, certificate: bytes | None, kind: type[C]) -> C:
        if certificate is None:
            raise NotACertificate(why="none was shown")
        return check_certificate(
            certificate,
            kind,
            issuer=self.papers.authority,
            now=self.now(),
            revocations=self.revocations,
        )

    # -- changes -----------------------------------------------------------------------------

    def lists(self) -> dict[bytes, RevocationList]:
        """What the authorities of its folder have taken back, by their keys."""
        return {one.authority.raw: one for one in self.revocations}

    def learn(self, signed: bytes) -> bool:
        """Go by a list that another host had, and keep it; whether it was news.

        Only one of an authority of this folder counts. Raises `NotARevocationList`, or
        `RevocationsRolledBack`.
        """
        for place in (self.folder, *_authorities(self.folder)):
            pem = _read(place / AUTHORITY, CERTIFICATE_BYTES_MAX, "nomospace trust init")
            with suppress(NotARevocationList):
                found = read_list(signed, read_claim(pem).key)
                known = self.lists().get(found.authority.raw)
                if known is not None and known.number >= found.number:
                    return False
                self.revocations.learn(found)
                with suppress(OSError), whole(place / REVOKED) as new:
                    new.write_bytes(signed)  # else it has it until it ends
                for watcher in self.watchers:
                    watcher()
                return True
        raise NotARevocationList(why="no authority of this folder signed it")

    def renew(self, role: str, pem: bytes) -> None:
        """Take in a new certificate for a key of this host; raises what is wrong with it."""
        now = self.papers
        key = now.key if role == "host" or now.controller is None else now.controller[0]
        check = self.check_host if role == "host" else self.check_controller
        found: Certificate = check(pem)
        if (found.subject, found.key) != (self.name, key.public):
            raise NotACertificate(why="it is about another host, or another key")
        with whole(self.folder / HOSTS / self.name / f"{role}.pem") as new:
            new.write_bytes(pem)
        self.poll()

    def issuer(self) -> Authority | None:
        """The deputy whose key this host has, if it may issue now."""
        authority = self.papers.authority
        for file, one in self.papers.deputies.items():
            key = file.parent / "authority.key"
            if one.authority == authority and key.exists():
                counts = self.revocations.deputy(authority, one.key.identifier, now=self.now())
                if counts is not None and counts.key == one.key:
                    pem = _read(file, CERTIFICATE_BYTES_MAX, "nomospace trust issue deputy")
                    return Authority.open(pem, _read(key, KEY_PEM_BYTES_MAX, "a copy of it"))
        return None

    def poll(self) -> bool:
        """Take in files that have changed since; whether they have. Costs a few microseconds."""
        stamps = self._stamps()
        if stamps == self._seen:
            return False
        self._seen = stamps
        return self.reload()

    def reload(self) -> bool:
        """Read all files again; False, a note and the old ones when they cannot be used."""
        note = "identity-reloaded"
        why: dict[str, str] = {}
        try:
            self.papers = Papers(self.folder, self.name, self.now(), self.revocations)
        except NomospaceError as error:
            note, why = "identity-not-reloaded", {"why": str(error)}
        if self.on_note is not None:
            self.on_note(note, host=self.name, **why)
        # Also when they cannot be used: what the new list revokes counts by then.
        for watcher in self.watchers:
            watcher()
        return not why

    def _stamps(self) -> tuple[tuple[int, int, int] | None, ...]:
        place = self.folder / HOSTS / self.name
        files = [self.folder / AUTHORITY, self.folder / REVOKED]
        further = (REVOKED, DEPUTY, SUCCESSOR)
        files += [one / name for one in _authorities(self.folder) for name in further]
        files += [place / f"{what}.{end}" for what in ("host", "controller") for end in _ENDS]
        return tuple(stamp_of(file) for file in files)


_ENDS: Final = ("pem", "key")


def stamp_of(file: Path) -> tuple[int, int, int] | None:
    """What changes when a file does; `None` when there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def revocation_lists(folder: Path, on_note: OnNote | None = None) -> list[RevocationList]:
    """What the authorities of a trust folder have revoked: its own, and those for roles beside it.

    A list that cannot be used is noted and passed over: the others still count.
    """
    found: list[RevocationList] = []
    for place in (folder, *_authorities(folder)):
        if not (place / REVOKED).exists():
            continue
        try:
            pem = _read(place / AUTHORITY, CERTIFICATE_BYTES_MAX, "nomospace trust issue authority")
            data = _read(place / REVOKED, LIST_BYTES_MAX, "nomospace trust revoke")
            found.append(read_list(data, read_claim(pem).key))
        except NomospaceError as error:
            if on_note is not None:
                on_note("revocations-not-read", file=str(place / REVOKED), why=str(error))
    return found


def _deputies(folder: Path, authority: PublicKey) -> Iterator[tuple[Path, Deputy]]:
    """Who may certify in the place of an authority, or of one that it has replaced."""
    for place in _authorities(folder):
        for name in (DEPUTY, SUCCESSOR):
            file = place / name
            if not file.exists():
                continue
            try:
                known = [authority]
                if name == SUCCESSOR:
                    pem = _read(place / AUTHORITY, CERTIFICATE_BYTES_MAX, "nomospace trust replace")
                    known = [read_claim(pem).key]
                found = read_deputy(_read(file, CERTIFICATE_BYTES_MAX, "nomospace trust"), known)
            except NomospaceError:  # `trust show` says what is wrong with it
                continue
            yield file, found


def _authorities(folder: Path) -> list[Path]:
    """The folders of further authorities."""
    place = folder / AUTHORITIES
    if not place.is_dir():
        return []
    return sorted(one for one in place.iterdir() if one.is_dir())[:AUTHORITIES_MAX]


def _read(file: Path, bytes_max: int, remedy: str) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(bytes_max + 1)
    except OSError as error:
        why = f"it cannot be read ({error.strerror})"
        raise _useless(file, why, remedy) from error
    if len(data) > bytes_max:
        raise _useless(file, f"it has more than {bytes_max:,} bytes", remedy)
    return data


@contextmanager
def _usable(file: Path, remedy: str) -> Iterator[None]:
    """Say of a file what is wrong with what it has."""
    try:
        yield
    except NomospaceError as error:
        raise _useless(file, str(error), remedy) from error


def _useless(file: Path, why: str, remedy: str) -> NoIdentity:
    return NoIdentity(file=str(file), why=why, next_step=f"make it with `{remedy}`")


def _dialling(authority: str, place: Path, worker: str) -> ssl.SSLContext:
    context = _context(ssl.PROTOCOL_TLS_CLIENT, authority, place)
    context.set_alpn_protocols(offered(HOST, worker))
    return context


def _context(protocol: int, authority: str, place: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # hosts go by the name in the certificate, not by address
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # deputies are gone by as they stand
    try:
        context.load_cert_chain(place / "host.pem", place / "host.key")
    except (OSError, ssl.SSLError) as error:
        why = f"OpenSSL cannot use it ({error})"
        raise _useless(place / "host.pem", why, "nomospace trust issue host") from error
    return context
