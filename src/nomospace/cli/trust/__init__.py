"""`nomospace trust`: an authority, and the certificates and tokens that it answers for.

Everything lives in one folder (`files` has its layout), given by `--folder` or by the variable
NOMOSPACE_TRUST. The room `nomospace.trust` makes and checks certificates; chance, the clock and the
files are here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Commands, JsonOption, Unusable, print_json, say
from nomospace.cli.trust import issue
from nomospace.cli.trust.files import (
    DAYS_MAX,
    REVOKED,
    TOKENS,
    TRUST,
    AddressOption,
    AuthorityFiles,
    DaysOption,
    Facts,
    FolderOption,
    TrustFolder,
    elsewhere,
    facts_of,
    facts_of_token,
    now_us,
    read_certificate,
    tell,
)
from nomospace.client import check_name
from nomospace.trust.authority import read_address
from nomospace.trust.moments import shown

app = Commands(
    """Keys and certificates: who is a host, who may enforce laws, who has which role.

    Begin with `nomospace trust init`, which makes an authority; then issue a certificate to each
    host. docs/hosts/trust.md says what each certificate is good for.
    """
)
app.add_typer(issue.app, name="issue")


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to make it.")] = TRUST,
    *,
    name: Annotated[str, typer.Option(help="The authority's name.")] = "admin",
    host: Annotated[
        list[str] | None,
        typer.Option(help="Issue what this host needs as well, in the same go; may be repeated."),
    ] = None,
    address: AddressOption = None,
    days: DaysOption = 3650,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an authority: all that it issued is void.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make an authority: whom the hosts of an installation go by.

    Its key, authority.key, can issue anything in its name. Keep it where the operator is; hosts
    need authority.pem only.
    """
    hosts = host or []
    if address and len(hosts) != 1:
        raise Unusable(what="--address", why="say with one --host which host is found there")
    for one_host in hosts:  # before anything is made
        check_name("a host", one_host)
    for text in address or ():
        read_address(text)
    facts = issue.found_authority(folder, name, days, force=force)
    opened = TrustFolder.open(folder)
    opened.write_tokens(opened.tokens())
    issued: list[Facts] = []
    how = issue.IssueOptions(force=force)
    for one_host in hosts:
        issued.append(issue.certify_host(opened, one_host, address, how))
        issued.append(issue.certify_controller(opened, one_host, how))
    if as_json:
        print_json({**facts, "issued": issued})
        return
    for one in (facts, *issued):
        tell(one, as_json=False)
    print(f"keep {folder / 'authority.key'} to yourself: whoever has it can issue anything")
    if hosts:
        print(f"next: nomospace host run {hosts[0]} --trust {folder}")
    else:
        print(f"next: nomospace trust issue host NAME{elsewhere(folder)}")


@app.command()
def revoke(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="A serial, a certificate file, or a token's id.")
    ],
    *,
    authority: Annotated[
        str, typer.Option(metavar="NAME", help="Whose serial, where the folder cannot tell.")
    ] = "",
    folder: FolderOption = TRUST,
    force: Annotated[
        bool, typer.Option("--force", help="Also a serial that no file here has.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Take a certificate or a token back, for good.

    Hosts go by it once they have the new revoked.crl.pem (or tokens.toml); copy it to them.
    """
    opened = TrustFolder.open(folder)
    tokens = opened.tokens()
    if any(one.id == what for one in tokens):
        opened.write_tokens(tokens.without(what))
        path = opened.path / TOKENS
        facts: Facts = {"token": what, "file": str(path), "already": False}
        say(facts, f"token {what} counts no longer; give hosts the new {path}", as_json=as_json)
        return
    seat, serial, about = _meant(opened, what, authority, force=force)
    held, path = seat.revoked(), seat.folder / REVOKED
    already = held.revoked.get(serial)
    if already is None:
        held = seat.revoke(serial, now=now_us())
        words = f"the {about} (serial {serial:x}) counts no longer; give hosts the new {path}"
    else:
        words = f"the {about} (serial {serial:x}) was revoked on {shown(already)}"
    facts = {
        "serial": f"{serial:x}",
        "number": held.number,
        "file": str(path),
        "already": already is not None,
    }
    say(facts, words, as_json=as_json)


@app.command()
def replace(
    *,
    beside: Annotated[
        int, typer.Option(min=1, max=DAYS_MAX, help="Days for which the old key counts, too.")
    ] = 30,
    days: DaysOption = 3650,
    folder: FolderOption = TRUST,
    as_json: JsonOption = False,
) -> None:
    """Replace the authority's key; the old one and the new one stand side by side for a time.

    First give all hosts and clients the new authority.pem, revoked.crl.pem and the folder below
    authorities/, without its authority.key. Then renew their certificates (trust issue --renew).
    """
    facts, former = issue.replace_authority(TrustFolder.open(folder), days, beside)
    if as_json:
        print_json({**facts, "former": str(former)})
        return
    tell(facts, as_json=False)
    print(f"the old one counts for {beside} days more; its files are in {former}")
    print("next: give them to all hosts and clients, then renew certificates")


def _meant(
    opened: TrustFolder, what: str, authority: str, *, force: bool
) -> tuple[AuthorityFiles, int, str]:
    """The authority, the serial and a few words of the certificate that is to be revoked."""
    path, judge = Path(what), opened.judge()
    if path.is_file():
        claim = read_certificate(path)
        seat = judge.issuer(claim)
        if seat is None or claim.signed_by(claim.key):
            raise Unusable(what=what, why=f"no authority of {opened.path} can take it back")
        return seat, claim.serial, claim.about
    try:
        serial = int(what, 16)
    except ValueError:
        raise Unusable(what=what, why="there is no such file, serial or token") from None
    for _, claim in opened.certificates():
        seat = judge.issuer(claim) if claim.serial == serial else None
        if seat is not None and authority in ("", seat.name):
            return seat, serial, claim.about
    if not force or serial <= 0:
        why = f"no certificate in {opened.path} has this serial; --force revokes it nevertheless"
        raise Unusable(what=what, why=why)
    return opened.seat(authority), serial, "certificate"


@app.command()
def show(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A certificate; none shows the folder.")
    ] = None,
    *,
    folder: FolderOption = TRUST,
    as_json: JsonOption = False,
) -> None:
    """Say what a certificate says and whether it counts, or what a folder holds.

    Exit code 1 when the certificate does not count: it ran out, was revoked, or no authority of
    the folder has issued it.
    """
    opened = TrustFolder.open(folder)
    if file is None:
        _show_folder(opened, as_json=as_json)
        return
    claim = read_certificate(file)
    state = opened.judge().state(claim)
    facts = {**facts_of(claim, file), "state": state}
    lines = [
        f"{name.replace('_', ' '):<11} {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
    ]
    say(facts, "\n".join(lines), as_json=as_json)
    if state != "counts":
        raise typer.Exit(SAID_NO)


def _show_folder(opened: TrustFolder, *, as_json: bool) -> None:
    judge = opened.judge()
    authorities = []
    for seat in judge.seats:
        held = seat.revoked()
        facts = facts_of(seat.claim, seat.folder / "authority.pem")
        facts |= {"fingerprint": seat.public.fingerprint, "revoked": len(held.revoked)}
        authorities.append({**facts, "list_number": held.number})
    rows = [
        {**facts_of(claim, path), "state": judge.state(claim)}
        for path, claim in opened.certificates()
    ]
    tokens = [facts_of_token(token, now=judge.now) for token in opened.tokens()]
    if as_json:
        print_json({"authorities": authorities, "certificates": rows, "tokens": tokens})
        return
    for one in authorities:
        print(f"authority {one['subject']}: until {one['not_after']}, {one['revoked']} revoked")
        print(f"  {one['key']}")
    for row in rows:
        about = f"{row['kind']:<10}  {row['subject']:<20}  {row['state']:<8}"
        said = f"  {', '.join(row['attributes'])}" if "attributes" in row else ""
        print(f"{about}  until {row['not_after']}  {row['serial']}{said}")
    for token in tokens:
        about = f"{'token':<10}  {', '.join(token['agents']):<20}  {token['state']:<8}"
        print(f"{about}  until {token['not_after']}  {token['id']}  {', '.join(token['scopes'])}")
