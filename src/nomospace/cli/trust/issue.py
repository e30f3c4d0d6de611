"""`nomospace trust issue`: certificates and tokens, and the authorities that answer for them."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from nomospace.cli.remote_options import Commands, JsonOption, Unusable, say
from nomospace.cli.trust.files import (
    AUTHORITIES,
    AUTHORITY,
    AUTHORITY_KEY,
    DEPUTY,
    LOOPBACK,
    OPEN,
    REVOKED,
    SECRET,
    SUCCESSOR,
    TRUST,
    AddressOption,
    CertificatePair,
    DaysOption,
    Facts,
    FolderOption,
    TrustFolder,
    elsewhere,
    facts_of,
    facts_of_token,
    now_us,
    part_of,
    read,
    read_certificate,
    tell,
    write,
)
from nomospace.client import check_name
from nomospace.terms import term
from nomospace.trust.authority import Authority, make_authority, new_serial
from nomospace.trust.certificates import AgentCertificate, check_certificate, read_claim
from nomospace.trust.keys import PublicKey, SecretKey
from nomospace.trust.moments import DAY
from nomospace.trust.revocation import LIST_BYTES_MAX
from nomospace.trust.tokens import ID_BYTES, SECRET_BYTES, make_token

app = Commands("Issue a certificate or a token.")

ForceOption = Annotated[bool, typer.Option("--force", help="Replace keys that are there.")]


@dataclass(frozen=True, kw_only=True)
class IssueOptions:
    """How a certificate is issued for a key: for how long, where, and over what is there."""

    days: DaysOption = 365
    folder: FolderOption = TRUST
    renew: Annotated[bool, typer.Option("--renew", help="A new certificate for the same key.")] = (
        False
    )
    force: ForceOption = False
    as_json: JsonOption = False


@app.command()
def host(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The host's name, as in ward-1.")],
    *,
    address: AddressOption = None,
    how: IssueOptions,
) -> None:
    """Certify a host: hosts show this certificate to each other, and to clients.

    Other hosts go by its name; clients by the addresses: one that dials ward-1.example wants a
    certificate for ward-1.example.
    """
    opened = TrustFolder.open(how.folder)
    tell(certify_host(opened, name, address, how), as_json=how.as_json)
    if not how.as_json and not opened.host(name, "controller").certificate.exists():
        print(f"next: nomospace trust issue controller {name}{elsewhere(how.folder)}")


@app.command()
def controller(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The host whose controllers seal.")],
    *,
    how: IssueOptions,
) -> None:
    """Certify the controllers of a host, under laws that name this authority's key as cAuthority.

    Whoever has this key can speak for every member of such a community. Issue it to hosts that you
    answer for, and never to the process of an agent.
    """
    tell(certify_controller(TrustFolder.open(how.folder), host, how), as_json=how.as_json)


@app.command()
def agent(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The agent, as in ann@ward-1.")],
    *,
    how: IssueOptions,
) -> None:
    """Certify an agent: with its key it proves to hosts who it is."""

    def make(by: Authority, public: PublicKey) -> bytes:
        return by.issue_agent(id_, public, serial=new_serial(), now=now_us(), days=how.days)

    _check_agent(id_)
    opened = TrustFolder.open(how.folder)
    tell(_certify(opened, opened.agent(id_), how, make), as_json=how.as_json)


@app.command()
def role(
    id_: Annotated[str, typer.Argument(metavar="AGENT", help="The agent, as in ann@ward-1.")],
    *,
    attribute: Annotated[
        list[str], typer.Option(help="A term, as in 'role(doctor)'; again for more, in order.")
    ],
    authority: Annotated[
        str, typer.Option(metavar="NAME", help="Who says so; the folder's own authority if none.")
    ] = "",
    certificate: Annotated[
        Path | None, typer.Option(help="The agent's agent.pem, if it is not in the folder.")
    ] = None,
    days: DaysOption = 90,
    folder: FolderOption = TRUST,
    as_json: JsonOption = False,
) -> None:
    """Certify what an agent is, for laws that go by it.

    A law that names the authority's key, authority(admin, "ed25519:…"), hears of it as
    certified([issuer(admin), subject(Self), attributes([role(doctor)])]) when the agent presents
    the certificate, and of its end as revoked([…]).
    """
    _check_agent(id_)
    said = tuple([term(text) for text in attribute])
    opened = TrustFolder.open(folder)
    path = certificate or opened.agent(id_).certificate
    if not path.exists():
        why = "a role needs the agent's key: `nomospace trust issue agent` first, or --certificate"
        raise Unusable(what=str(path), why=why)
    claim, judge = read_certificate(path), opened.judge()
    if certificate is None:
        check_certificate(
            claim,
            AgentCertificate,
            issuer=opened.seat().public,
            now=judge.now,
            revocations=judge.revocations,
            subject=id_,
        )
    elif (claim.kind, claim.subject) != ("agent", id_):
        raise Unusable(what=str(path), why=f"it is the {claim.about}")
    serial = new_serial()
    by = opened.seat(authority).open()
    made = by.issue_role(id_, claim.key, said, serial=serial, now=judge.now, days=days)
    target = opened.role(id_, serial)
    write(target, made)
    tell(facts_of(read_claim(made), target), as_json=as_json)


@app.command()
def authority(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The authority's name.")],
    *,
    days: DaysOption = 3650,
    folder: FolderOption = TRUST,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a further authority, with a key of its own, for roles that somebody else answers for.

    Nobody takes its word about hosts, controllers or agents: only a law that names its key does,
    about roles.
    """
    check_name("an authority", name)
    opened = TrustFolder.open(folder)
    if opened.seat().name == name:
        raise Unusable(what=name, why="the folder's own authority has this name already")
    place = opened.path / "authorities" / part_of(name)
    tell(found_authority(place, name, days, force=force), as_json=as_json)


@app.command()
def deputy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The deputy's name.")],
    *,
    how: IssueOptions,
) -> None:
    """Name a deputy: a key that renews the certificates of hosts, so that authority.key stays away.

    Give its folder with its key to a host; all others get it without authority.key. That host
    renews what it has itself and what the hosts of its group ask for, in good time.
    """
    check_name("an authority", name)
    opened = TrustFolder.open(how.folder)
    place = opened.path / AUTHORITIES / part_of(name)
    seat = opened.seat()
    if seat.name == name:
        raise Unusable(what=name, why="the folder's own authority has this name already")
    by = seat.open()
    if not how.renew:
        found_authority(place, name, how.days, force=how.force)
    tell(name_deputy(by, place, how.days, hosts_only=True), as_json=how.as_json)


@app.command()
def publisher(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publisher's name, as in acme.")],
    *,
    file: Annotated[
        Path | None, typer.Option(help="Where its key goes; by default NAME.key here.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the key of a publisher: who signs the code of programs, and answers for it.

    It needs no authority. Hosts trust it by what is printed, in their configuration;
    `nomospace agent bundle` signs with the key.
    """
    check_name("a publisher", name)
    place = file or Path(f"{part_of(name)}.key")
    if place.exists() and not force:
        raise Unusable(what=str(place), why="is there already; --force replaces it")
    key = SecretKey.generate()
    write(place, key.pem(), mode=SECRET)
    facts: Facts = {"publisher": name, "key": key.public.text, "file": str(place)}
    table = f'[publishers.{name}]\nkey = "{key.public.text}"'
    words = f"{place} is the key of {name}. For hosts:\n\n{table}"
    say(facts, words, as_json=as_json)


@app.command()
def token(
    agents: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="The agents it may speak for.")
    ],
    *,
    scope: Annotated[
        list[str] | None, typer.Option(help="agent (if none is given) or operator; again for both.")
    ] = None,
    days: DaysOption = 90,
    folder: FolderOption = TRUST,
    as_json: JsonOption = False,
) -> None:
    """Make a token for a script, and show it once.

    Hosts keep its hash only. With --scope operator its bearer may look into a host and see
    whatever the host knows.
    """
    for one in agents:
        _check_agent(one)
    opened, now = TrustFolder.open(folder), now_us()
    text, kept = make_token(
        agents,
        scopes=scope or ("agent",),
        identifier=secrets.token_bytes(ID_BYTES),
        secret=secrets.token_bytes(SECRET_BYTES),
        now=now,
        days=days,
    )
    opened.write_tokens(opened.tokens().with_token(kept))
    facts = facts_of_token(kept, now=now)
    say({"token": text, **facts}, text, as_json=as_json)
    if not as_json:  # apart from the token, which goes into a pipe or a variable
        what = f"token {kept.id} for {', '.join(kept.agents)} ({', '.join(kept.scopes)})"
        print(f"{what}, until {facts['not_after']}; it is not shown again", file=sys.stderr)


# -- making ------------------------------------------------------------------------------------


def found_authority(folder: Path, name: str, days: int, *, force: bool) -> Facts:
    """Make an authority with its files in a folder; what was made."""
    pair = CertificatePair.at(folder, "authority")
    if (pair.certificate.exists() or pair.key.exists()) and not force:
        why = "an authority is there already; --force makes all void that it has issued"
        raise Unusable(what=str(pair.certificate), why=why)
    now, key = now_us(), SecretKey.generate()
    made = make_authority(name, key, serial=new_serial(), now=now, days=days)
    pair.write(made.pem, key)
    write(folder / REVOKED, made.revoke({}, number=1, now=now))
    facts = facts_of(read_claim(made.pem), pair.certificate, pair.key, folder / REVOKED)
    return {**facts, "fingerprint": made.public.fingerprint}


def name_deputy(by: Authority, place: Path, days: int, *, hosts_only: bool) -> Facts:
    """Let an authority name the one of a folder its deputy; what was made."""
    claim = read_certificate(place / AUTHORITY)
    made = by.name_deputy(
        claim.subject,
        claim.key,
        hosts_only=hosts_only,
        serial=new_serial(),
        now=now_us(),
        days=days,
    )
    write(place / DEPUTY, made)
    return facts_of(read_claim(made), place / DEPUTY)


def replace_authority(opened: TrustFolder, days: int, beside: int) -> tuple[Facts, Path]:
    """Put a new authority into the place of the folder's own, and the old one beside it."""
    seat = opened.seat()
    old, now, key = seat.open(), now_us(), SecretKey.generate()
    former = opened.path / AUTHORITIES / f"former-{seat.public.fingerprint[:8]}"
    made = make_authority(seat.name, key, serial=new_serial(), now=now, days=days)
    # First what hosts go by besides, and the new certificate last: they look at any moment.
    for name, mode in ((AUTHORITY_KEY, SECRET), (REVOKED, OPEN), (AUTHORITY, OPEN)):
        if (opened.path / name).exists():
            write(former / name, read(opened.path / name, LIST_BYTES_MAX), mode=mode)
    left = max(1, int((seat.claim.not_after - now) // DAY))
    successor = old.name_deputy(
        made.name, made.public, hosts_only=False, serial=new_serial(), now=now, days=left
    )
    write(former / SUCCESSOR, successor)
    deputies = [path.parent for path in sorted(opened.path.glob(f"{AUTHORITIES}/*/{DEPUTY}"))]
    kept = {place: read_certificate(place / DEPUTY) for place in deputies}
    name_deputy(made, former, beside, hosts_only=False)
    (opened.path / REVOKED).unlink(missing_ok=True)
    write(opened.path / AUTHORITY, made.pem)
    write(opened.path / AUTHORITY_KEY, key.pem(), mode=SECRET)
    write(opened.path / REVOKED, made.revoke({}, number=1, now=now))
    for place, claim in kept.items():
        if (rest := int((claim.not_after - now) // DAY)) > 0:
            name_deputy(made, place, rest, hosts_only=not place.name.startswith("former-"))
    facts = facts_of(read_claim(made.pem), opened.path / AUTHORITY, opened.path / AUTHORITY_KEY)
    return {**facts, "fingerprint": made.public.fingerprint}, former


def certify_host(
    opened: TrustFolder, name: str, addresses: list[str] | None, how: IssueOptions
) -> Facts:
    """Issue a host certificate; what was made. A renewed one keeps its addresses."""
    check_name("a host", name)
    pair = opened.host(name, "host")

    def make(by: Authority, public: PublicKey) -> bytes:
        kept = read_certificate(pair.certificate).addresses if how.renew else LOOPBACK
        where, now = tuple(addresses or kept), now_us()
        serial = new_serial()
        return by.issue_host(name, public, addresses=where, serial=serial, now=now, days=how.days)

    return _certify(opened, pair, how, make)


def certify_controller(opened: TrustFolder, name: str, how: IssueOptions) -> Facts:
    """Issue a controller certificate; what was made."""
    check_name("a host", name)

    def make(by: Authority, public: PublicKey) -> bytes:
        return by.issue_controller(name, public, serial=new_serial(), now=now_us(), days=how.days)

    return _certify(opened, opened.host(name, "controller"), how, make)


def _certify(
    opened: TrustFolder,
    pair: CertificatePair,
    how: IssueOptions,
    make: Callable[[Authority, PublicKey], bytes],
) -> Facts:
    """Let the folder's authority certify a key: a new one, or where it is renewed the same."""
    key = pair.free(force=how.force, renew=how.renew) or SecretKey.generate()
    made = make(opened.seat().open(), key.public)
    pair.write(made, key)
    return facts_of(read_claim(made), pair.certificate, pair.key)


def _check_agent(text: str) -> None:
    name, at, domain = text.rpartition("@")
    if not at:
        raise Unusable(what=text, why="an agent's id is name@domain, as in ann@ward-1")
    check_name("an agent", name)
    check_name("a domain", domain)
