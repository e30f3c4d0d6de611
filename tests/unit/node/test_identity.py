"""Who a host is: its files, what is wrong with them, and what changes while it runs."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from nomospace.client import BadName
from nomospace.node.identity import Identity, NoIdentity
from nomospace.trust.authority import new_serial
from nomospace.trust.certificates import CertificateRevoked, NotACertificate, WrongPurpose
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY
from tests.sites import Notebook
from tests.trust_folder import TrustFolder


@pytest.fixture
def trust(tmp_path: Path) -> TrustFolder:
    made = TrustFolder(tmp_path)
    made.host("a")
    return made


def test_an_identity_and_its_contexts(trust: TrustFolder) -> None:
    identity = Identity(trust.folder, "a")
    assert identity.check_host(identity.papers.certificate.der).subject == "a"
    assert identity.papers.authority == trust.authority.public
    assert identity.papers.controller is None
    assert identity.papers.key.public == identity.papers.certificate.key
    for context in (identity.papers.serving, identity.dialling()):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert identity.papers.serving.verify_mode is ssl.CERT_OPTIONAL
    assert identity.dialling().verify_mode is ssl.CERT_REQUIRED
    with pytest.raises(NotACertificate, match="none was shown"):
        identity.check_host(None)
    with pytest.raises(WrongPurpose):
        identity.check_agent(identity.papers.certificate.der)


def test_a_controller_key_is_loaded_when_there_is_one(trust: TrustFolder) -> None:
    place = trust.folder / "hosts" / "a"
    key = SecretKey.generate()
    pem = trust.authority.issue_controller(
        "a", key.public, serial=new_serial(), now=trust.now, days=30
    )
    (place / "controller.pem").write_bytes(pem)
    with pytest.raises(NoIdentity, match=r"controller\.key: it cannot be read"):
        Identity(trust.folder, "a")
    (place / "controller.key").write_bytes(key.pem())
    controller = Identity(trust.folder, "a").papers.controller
    assert controller is not None
    assert controller[0].public == controller[1].key == key.public
    (place / "controller.key").write_bytes(SecretKey.generate().pem())
    with pytest.raises(NoIdentity, match=r"it is not the key of controller\.pem"):
        Identity(trust.folder, "a")
    (place / "controller.pem").write_bytes((place / "host.pem").read_bytes())
    with pytest.raises(NoIdentity, match=r"controller\.pem: .*none of kind 'controller'"):
        Identity(trust.folder, "a")


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("authority.pem", None, "it cannot be read .No such file.*make it with `nomospace trust"),
        ("authority.pem", b"nonsense", "no certificate to go by"),
        ("authority.pem", b"x" * 100_000, "it has more than"),
        ("authority.pem", "hosts/a/host.pem", "not that of an authority"),
        ("hosts/a/host.pem", None, "trust issue host a"),
        ("hosts/a/host.pem", "authority.pem", "none of kind 'host'"),
        ("hosts/a/host.key", None, "cannot be read"),
        ("hosts/a/host.key", b"nonsense", "no Ed25519 secret key"),
        ("revoked.crl.pem", b"nonsense", "no revocation list to go by"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said_of_its_file(
    trust: TrustFolder, file: str, content: bytes | str | None, why: str
) -> None:
    target = trust.folder / file
    if content is None:
        target.unlink()
    elif isinstance(content, str):
        target.write_bytes((trust.folder / content).read_bytes())
    else:
        target.write_bytes(content)
    with pytest.raises(NoIdentity, match=why) as caught:
        Identity(trust.folder, "a")
    assert caught.value.file == str(target)


def test_names_and_certificates_that_do_not_fit(trust: TrustFolder) -> None:
    with pytest.raises(NoIdentity, match="cannot be the name of a folder"):
        Identity(trust.folder, "../a")
    with pytest.raises(BadName):
        Identity(trust.folder, "a b")
    trust.impostor("b", certified="a")
    with pytest.raises(NoIdentity, match="is not about 'b'"):
        Identity(trust.folder, "b")
    (trust.folder / "hosts/a/host.key").write_bytes(SecretKey.generate().pem())
    with pytest.raises(NoIdentity, match=r"host\.key: it is not the key of host\.pem"):
        Identity(trust.folder, "a")
    trust.host("late", now=trust.now - 60 * DAY, days=30)
    with pytest.raises(NoIdentity, match="ran out on"):
        Identity(trust.folder, "late")


def test_files_that_change_are_taken_in(trust: TrustFolder) -> None:
    notes, changes = Notebook(), []
    identity = Identity(trust.folder, "a", on_note=notes)
    identity.watchers.append(lambda: changes.append(identity.papers.certificate.serial))
    assert not identity.poll()
    old, serving = identity.papers.certificate, identity.papers.serving
    trust.host("a")
    assert identity.poll()
    assert not identity.poll()
    assert identity.papers.certificate.serial != old.serial
    assert changes == [identity.papers.certificate.serial]
    assert identity.papers.serving is not serving
    # A file that cannot be used changes nothing, and is noted once.
    (trust.folder / "hosts/a/host.key").write_bytes(b"half a fi")
    assert not identity.poll()
    assert not identity.poll()
    [why] = notes.whys("identity-not-reloaded")
    assert "host.key" in why
    assert identity.check_host(old.der).subject == "a"
    trust.host("b")
    trust.host("a")
    trust.revoke("b")
    assert identity.poll()
    revoked = (trust.folder / "hosts/b/host.pem").read_bytes()
    with pytest.raises(CertificateRevoked):
        identity.check_host(revoked)
    # An earlier list cannot make it good again.
    (trust.folder / "revoked.crl.pem").write_bytes(
        trust.authority.revoke({}, number=0, now=trust.now)
    )
    assert not identity.poll()
    with pytest.raises(CertificateRevoked):
        identity.check_host(revoked)
