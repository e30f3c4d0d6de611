"""The guide to trust names all errors and limits that the code has."""

import re
from importlib import import_module
from inspect import getmembers, isclass

import pytest

from nomospace.errors import NomospaceError
from nomospace.trust import authority, certificates, presented, revocation, seals, tokens
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "hosts" / "trust.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
MODULES = (
    "authority",
    "certificates",
    "channels",
    "keys",
    "presented",
    "proof",
    "revocation",
    "seals",
    "tokens",
)
LIMITS = {
    "certificates that one authority can revoke": revocation.REVOKED_MAX,
    "authorities that a host keeps lists of": revocation.AUTHORITIES_MAX,
    "a certificate, in bytes": certificates.CERTIFICATE_BYTES_MAX,
    "the attributes of a role certificate, in bytes": certificates.ATTRIBUTES_BYTES_MAX,
    "brackets that they open": certificates.ATTRIBUTES_OPEN_MAX,
    "keys that are tried on a role certificate which names none": presented.TRIED_MAX,
    "addresses of a host certificate": authority.ADDRESSES_MAX,
    "tokens that a host knows": tokens.TOKENS_MAX,
    "role certificates of one member under one law": presented.HELD_MAX,
    "messages that share a signature": seals.BATCH_MAX,
    "a seal, in bytes": seals.SEAL_BYTES_MAX,
}


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_errors() -> None:
    raised = {
        kind.code
        for module in MODULES
        for _, kind in getmembers(import_module(f"nomospace.trust.{module}"), isclass)
        if issubclass(kind, NomospaceError) and kind.code.startswith("trust.")
    }
    told = re.findall(r"^\| `(trust\.[a-z-]+)` \|", SECTIONS["Errors"], re.MULTILINE)
    assert len(told) == len(set(told))
    assert set(told) == raised - {certificates.BadCertificate.code}  # which only its kinds are


def test_how_long_before_its_issue_a_certificate_counts() -> None:
    assert authority.BACKDATE == 5 * 60 * 1_000_000
    assert "five minutes before they were issued" in " ".join(TEXT.split())
