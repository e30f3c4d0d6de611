"""What the commands of `nomospace trust` share: their options, and how they tell what they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from nomospace.terms import show
from nomospace.trust.certificates import UncheckedCertificate
from nomospace.trust.moments import shown
from nomospace.trust.tokens import StoredToken

DAYS_MAX = 36_500
TRUST = Path("trust")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

FolderOption = Annotated[
    Path, typer.Option("--folder", envvar="NOMOSPACE_TRUST", help="The trust folder.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
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
    say("\n".join(lines), facts, as_json=as_json)


def say(words: str, facts: Facts, *, as_json: bool) -> None:
    """Say it to people or to programs."""
    print(json.dumps(facts, indent=2) if as_json else words)


def elsewhere(folder: Path) -> str:
    """What a further command needs to find a folder that is not the usual one.

    >>> elsewhere(Path("trust")), elsewhere(Path("keys"))
    ('', ' --folder keys')
    """
    return "" if folder == TRUST else f" --folder {folder}"
