"""`nomospace trust`, as an operator meets it."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main
from nomospace.cli.trust.files import TrustFolder, now_us
from nomospace.cli.trust.issue import found_authority
from nomospace.node.identity import Identity, NoIdentity
from nomospace.terms import term
from nomospace.trust.certificates import (
    AgentCertificate,
    ControllerCertificate,
    HostCertificate,
    RoleCertificate,
    check_certificate,
    read_claim,
)
from nomospace.trust.keys import PublicKey, SecretKey
from nomospace.trust.moments import DAY
from nomospace.trust.revocation import Revocations
from nomospace.trust.tokens import Tokens, read_tokens

NONE = Revocations()
Say = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOMOSPACE_TRUST", raising=False)
    return tmp_path


@pytest.fixture
def folder() -> Path:
    """A trust folder with the authority admin."""
    path = Path("trust")
    found_authority(path, "admin", 3650, force=False)
    TrustFolder.open(path).write_tokens(Tokens())
    return path


def run(capsys: Say, *words: str, code: int = 0) -> str:
    """What a command prints, on stdout when it went well and on stderr otherwise."""
    got = main(["trust", *words])
    told = capsys.readouterr()
    assert got == code, told
    return told.out if code == 0 else told.err


def data(capsys: Say, *words: str) -> dict[str, Any]:
    found = json.loads(run(capsys, *words, "--json"))
    assert isinstance(found, dict)
    return found


def authority(folder: Path, name: str = "") -> PublicKey:
    return TrustFolder.open(folder).seat(name).public


def later(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    there = now_us() + days * DAY
    for module in ("files", "issue"):
        monkeypatch.setattr(f"nomospace.cli.trust.{module}.now_us", lambda: there)
    monkeypatch.setattr("nomospace.cli.trust.now_us", lambda: there)


# -- init --------------------------------------------------------------------------------------


def test_init_makes_an_authority_and_says_what_is_next(capsys: Say) -> None:
    said = run(capsys, "init", "keys", "--name", "board")
    assert "made the authority 'board', until 20" in said
    assert f"  {authority(Path('keys')).text}\n" in said
    assert said.endswith("next: nomospace trust issue host NAME --folder keys\n")
    assert sorted(path.name for path in Path("keys").iterdir()) == [
        "authority.key",
        "authority.pem",
        "revoked.crl.pem",
        "tokens.toml",
    ]
    assert TrustFolder.open(Path("keys")).seat().revoked().number == 1


def test_init_for_a_first_host_makes_all_that_it_needs(capsys: Say) -> None:
    said = run(capsys, "init", "--host", "ward-1", "--address", "ward-1.example")
    assert said.endswith("next: nomospace host run ward-1 --trust trust\n")
    identity = Identity("trust", "ward-1")
    assert identity.papers.certificate.addresses == ("ward-1.example",)
    assert identity.papers.controller is not None
    assert identity.papers.controller[1].subject == "ward-1"
    run(capsys, "init", "both", "--host", "ward-1", "--host", "ward-2")
    assert Identity("both", "ward-2").papers.controller is not None


def test_secrets_can_be_read_by_their_owner_only(capsys: Say) -> None:
    run(capsys, "init", "--host", "ward-1")
    run(capsys, "issue", "agent", "ann@ward-1")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in Path("trust").rglob("*.*")}
    secret = {path for path in modes if path.suffix == ".key" or path.name == "tokens.toml"}
    assert len(secret) == 5
    assert {modes[path] for path in secret} == {0o600}
    assert {mode for path, mode in modes.items() if path.suffix == ".pem"} == {0o644}


def test_an_authority_is_not_replaced_unasked(capsys: Say, folder: Path) -> None:
    before = authority(folder)
    said = run(capsys, "init", code=2)
    assert "trust/authority.pem: an authority is there already; --force makes all void" in said
    (folder / "authority.pem").unlink()
    assert "an authority is there already" in run(capsys, "init", code=2)
    run(capsys, "init", "--force")
    assert authority(folder) != before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--host", "ward 1"], "'ward 1' is no name of a host"),
        (["--host", "w", "--address", "w:7420"], "without a port"),
        (["--address", "w"], "say with one --host"),
        (["--host", "v", "--host", "w", "--address", "w"], "say with one --host"),
        (["--name", "x" * 65], "1 to 64 bytes"),
        (["--days", "0"], "--days"),
    ],
)
def test_a_wrong_word_leaves_nothing_behind(capsys: Say, words: list[str], why: str) -> None:
    assert why in run(capsys, "init", *words, code=2)
    assert not Path("trust").exists()


def test_programs_get_json(capsys: Say) -> None:
    made = data(capsys, "init", "--host", "ward-1")
    assert made["key"] == authority(Path("trust")).text
    assert made["fingerprint"] == authority(Path("trust")).fingerprint
    assert [one["kind"] for one in made["issued"]] == ["host", "controller"]
    assert made["issued"][0]["addresses"] == ["localhost", "127.0.0.1", "::1"]


# -- issue -------------------------------------------------------------------------------------


def test_each_kind_is_what_it_says(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "host", "ward-1", "--address", "10.1.0.4", "--address", "w.example")
    run(capsys, "issue", "controller", "ward-1")
    run(capsys, "issue", "agent", "ann@ward-1")
    run(
        capsys, "issue", "role", "ann@ward-1", "--attribute", "role(doctor)", "--attribute", "on(3)"
    )
    known: dict[str, Any] = {"issuer": authority(folder), "now": now_us(), "revocations": NONE}
    hosts, ann = folder / "hosts" / "ward-1", folder / "agents" / "ann@ward-1"
    host = check_certificate((hosts / "host.pem").read_bytes(), HostCertificate, **known)
    assert (host.subject, host.addresses) == ("ward-1", ("w.example", "10.1.0.4"))
    controller = (hosts / "controller.pem").read_bytes()
    assert check_certificate(controller, ControllerCertificate, **known).subject == "ward-1"
    agent = check_certificate((ann / "agent.pem").read_bytes(), AgentCertificate, **known)
    assert agent.key == SecretKey.from_pem((ann / "agent.key").read_bytes()).public
    (path,) = (ann / "roles").iterdir()
    role = check_certificate(path.read_bytes(), RoleCertificate, **known)
    assert (role.subject, role.key) == ("ann@ward-1", agent.key)
    assert role.attributes == (term("role(doctor)"), term("on(3)"))


def test_what_is_next_after_a_host(capsys: Say, folder: Path) -> None:
    said = run(capsys, "issue", "host", "ward-1")
    assert said.endswith("next: nomospace trust issue controller ward-1\n")
    run(capsys, "issue", "controller", "ward-1")
    assert "next:" not in run(capsys, "issue", "host", "ward-1", "--renew")


@pytest.mark.parametrize("words", [("host", "ward-1"), ("controller", "w"), ("agent", "ann@w")])
def test_keys_are_kept_renewed_or_replaced(
    capsys: Say, folder: Path, words: tuple[str, str]
) -> None:
    first = data(capsys, "issue", *words)
    said = run(capsys, "issue", *words, code=2)
    assert "it is there already; --renew makes a new certificate" in said
    renewed = data(capsys, "issue", *words, "--renew", "--days", "9")
    assert renewed["key"] == first["key"]
    assert renewed["serial"] != first["serial"]
    assert renewed["not_after"] != first["not_after"]
    replaced = data(capsys, "issue", *words, "--force")
    assert replaced["key"] != first["key"]


def test_a_renewed_host_keeps_its_addresses(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "host", "w", "--address", "w.example", "--address", "::2")
    again = data(capsys, "issue", "host", "w", "--renew")
    assert again["addresses"] == ["w.example", "::2"]
    again = data(capsys, "issue", "host", "w", "--renew", "--address", "v.example")
    assert again["addresses"] == ["v.example"]
    assert "nothing to renew" in run(capsys, "issue", "host", "other", "--renew", code=2)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["host", "../x"], "cannot be the name of a folder"),
        (["host", ".."], "cannot be the name of a folder"),
        (["host", "a@b"], "no name of a host"),
        (["agent", "ann"], "an agent's id is name@domain"),
        (["agent", "ann@"], "no name of a domain"),
        (["agent", "@ward"], "no name of an agent"),
        (["agent", "ann@../../x"], "cannot be the name of a folder"),
        (["role", "ann@w", "--attribute", "a"], "needs the agent's key"),
        (["token", "ann"], "an agent's id is name@domain"),
        (["token", "ann@w", "--scope", "root"], "scopes among agent, operator"),
        (["authority", "admin"], "has this name already"),
        (["authority", ".."], "cannot be the name of a folder"),
    ],
)
def test_what_is_not_issued(capsys: Say, folder: Path, words: list[str], why: str) -> None:
    before = sorted(folder.rglob("*"))
    assert why in run(capsys, "issue", *words, code=2)
    assert sorted(folder.rglob("*")) == before


def test_an_attribute_that_is_no_term_is_shown_with_its_place(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "agent", "ann@w")
    said = run(capsys, "issue", "role", "ann@w", "--attribute", "role(doctor", code=2)
    assert "  1 | role(doctor\n    |            ^" in said


def test_a_further_authority_says_what_agents_are(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "agent", "ann@w")
    made = data(capsys, "issue", "authority", "board")
    assert made["key"] == authority(folder, "board").text != authority(folder).text
    role = data(capsys, "issue", "role", "ann@w", "--attribute", "a", "--authority", "board")
    claim = read_claim(Path(role["files"][0]).read_bytes())
    assert claim.signed_by(authority(folder, "board"))
    assert not claim.signed_by(authority(folder))
    said = run(capsys, "issue", "role", "ann@w", "--attribute", "a", "--authority", "king", code=2)
    assert "no authority 'king' here, only admin, board" in said
    assert "an authority is there already" in run(capsys, "issue", "authority", "board", code=2)


def test_a_role_for_an_agent_of_another_folder(capsys: Say, folder: Path) -> None:
    run(capsys, "init", "theirs")
    run(capsys, "issue", "agent", "bob@v", "--folder", "theirs")
    run(capsys, "issue", "agent", "eve@v", "--folder", "theirs")
    pem = Path("theirs/agents/bob@v/agent.pem")
    words = ("issue", "role", "bob@v", "--attribute", "a", "--certificate")
    made = data(capsys, *words, str(pem))
    assert made["key"] == read_claim(pem.read_bytes()).key.text
    other = str(pem).replace("bob", "eve")
    assert "it is the agent certificate of 'eve@v'" in run(capsys, *words, other, code=2)


def test_no_role_for_an_identity_that_counts_no_longer(
    capsys: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "issue", "agent", "ann@w", "--days", "30")
    run(capsys, "issue", "agent", "bob@w", "--days", "300")
    run(capsys, "revoke", "trust/agents/bob@w/agent.pem")
    words = ("issue", "role", "--attribute", "a")
    assert "was revoked; have a new one issued" in run(capsys, *words, "bob@w", code=1)
    later(monkeypatch, 40)
    assert "ran out on" in run(capsys, *words, "ann@w", code=1)


def test_a_token_is_shown_once_and_kept_as_a_hash(capsys: Say, folder: Path) -> None:
    assert main(["trust", "issue", "token", "ann@w", "bob@w", "--scope", "operator"]) == 0
    told = capsys.readouterr()
    text = told.out.removesuffix("\n")
    assert "it is not shown again" in told.err
    assert text not in told.err
    kept = (folder / "tokens.toml").read_text()
    assert text.rpartition(".")[2] not in kept
    found = read_tokens(kept).check(text, now=now_us())
    assert (found.agents, found.scopes) == (("ann@w", "bob@w"), ("operator",))
    more = data(capsys, "issue", "token", "ann@w")
    known = TrustFolder.open(folder).tokens()
    assert known.check(more["token"], now=now_us()).agents == ("ann@w",)
    assert len(known) == 2


# -- revoke ------------------------------------------------------------------------------------


def test_revoked_by_file_and_by_serial(capsys: Say, folder: Path) -> None:
    first = data(capsys, "issue", "host", "ward-1")
    second = data(capsys, "issue", "agent", "ann@ward-1")
    said = run(capsys, "revoke", "trust/hosts/ward-1/host.pem")
    assert f"the host certificate of 'ward-1' (serial {first['serial']}) counts no longer" in said
    assert "give hosts the new trust/revoked.crl.pem" in said
    told = data(capsys, "revoke", second["serial"])
    assert (told["number"], told["already"]) == (3, False)
    held = TrustFolder.open(folder).seat().revoked()
    assert list(held.revoked) == [int(first["serial"], 16), int(second["serial"], 16)]
    again = run(capsys, "revoke", second["serial"])
    assert "the agent certificate of 'ann@ward-1'" in again
    assert "was revoked on 20" in again
    assert TrustFolder.open(folder).seat().revoked() == held


def test_a_host_learns_of_it(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "host", "ward-1")
    assert Identity(folder, "ward-1").name == "ward-1"
    run(capsys, "revoke", "trust/hosts/ward-1/host.pem")
    with pytest.raises(NoIdentity, match="was revoked"):
        Identity(folder, "ward-1")


def test_a_serial_that_nobody_has(capsys: Say, folder: Path) -> None:
    assert "--force revokes it nevertheless" in run(capsys, "revoke", "abc", code=2)
    assert "no such file, serial or token" in run(capsys, "revoke", "nobody", code=2)
    assert "--force" in run(capsys, "revoke", "--force", "--", "-1", code=2)
    assert "the certificate (serial abc) counts no longer" in run(
        capsys, "revoke", "abc", "--force"
    )


def test_only_what_was_issued_here_is_revoked(capsys: Say, folder: Path) -> None:
    run(capsys, "init", "theirs", "--host", "v")
    said = run(capsys, "revoke", "theirs/hosts/v/host.pem", code=2)
    assert "no authority of trust can take it back" in said
    assert "can take it back" in run(capsys, "revoke", "trust/authority.pem", code=2)


def test_each_authority_has_its_own_list(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "agent", "ann@w")
    run(capsys, "issue", "authority", "board")
    role = data(capsys, "issue", "role", "ann@w", "--attribute", "a", "--authority", "board")
    wrong = run(capsys, "revoke", role["serial"], "--authority", "admin", code=2)
    assert "no certificate in trust has this serial" in wrong
    told = data(capsys, "revoke", role["serial"])
    assert told["file"] == "trust/authorities/board/revoked.crl.pem"
    assert TrustFolder.open(folder).seat().revoked().revoked == {}
    assert (
        TrustFolder.open(folder)
        .revocations()
        .revoked(authority(folder, "board"), int(role["serial"], 16))
    )


def test_a_token_is_taken_back(capsys: Say, folder: Path) -> None:
    made = data(capsys, "issue", "token", "ann@w")
    assert f"token {made['id']} counts no longer" in run(capsys, "revoke", made["id"])
    assert len(TrustFolder.open(folder).tokens()) == 0


# -- show --------------------------------------------------------------------------------------


def test_the_folder_at_a_glance(capsys: Say, folder: Path) -> None:
    host = data(capsys, "issue", "host", "ward-1")
    run(capsys, "issue", "agent", "ann@w")
    run(capsys, "issue", "role", "ann@w", "--attribute", "role(doctor)")
    run(capsys, "issue", "token", "ann@w")
    run(capsys, "revoke", host["serial"])
    said = run(capsys, "show")
    assert "authority admin: until 20" in said
    assert ", 1 revoked\n" in said
    assert "host        ward-1                revoked   until" in said
    assert "agent       ann@w                 counts    until" in said
    assert said.count("role(doctor)\n") == 1
    assert "token       ann@w                 counts    until" in said
    told = data(capsys, "show")
    assert [one["state"] for one in told["certificates"]] == ["revoked", "counts", "counts"]
    assert told["authorities"][0]["list_number"] == 2
    assert told["tokens"][0]["agents"] == ["ann@w"]


def test_one_certificate_and_whether_it_counts(
    capsys: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "issue", "host", "ward-1", "--days", "30")
    said = run(capsys, "show", "trust/hosts/ward-1/host.pem")
    assert "kind        host\nsubject     ward-1\nissuer      admin\n" in said
    assert "addresses   localhost, 127.0.0.1, ::1\n" in said
    assert said.endswith("state       counts\n")
    later(monkeypatch, 31)
    assert main(["trust", "show", "trust/hosts/ward-1/host.pem"]) == 1
    assert capsys.readouterr().out.endswith("state       expired\n")
    later(monkeypatch, -31)
    assert main(["trust", "show", "trust/hosts/ward-1/host.pem", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "not yet"


def test_a_strangers_certificate(capsys: Say, folder: Path) -> None:
    run(capsys, "init", "theirs", "--host", "v")
    assert main(["trust", "show", "theirs/hosts/v/host.pem"]) == 1
    assert capsys.readouterr().out.endswith("state       by a stranger\n")


# -- files -------------------------------------------------------------------------------------


def test_a_folder_that_is_none(capsys: Say) -> None:
    for words in (["show"], ["issue", "host", "w"], ["revoke", "1"], ["issue", "token", "a@b"]):
        said = run(capsys, *words, code=2)
        assert "trust: this is no trust folder; `nomospace trust init trust` makes one" in said


def test_the_folder_by_a_variable(capsys: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "init", "keys")
    monkeypatch.setenv("NOMOSPACE_TRUST", "keys")
    assert "keys/hosts/w/host.pem" in run(capsys, "issue", "host", "w")


def test_a_machine_without_the_authoritys_key(capsys: Say, folder: Path) -> None:
    run(capsys, "issue", "host", "w")
    (folder / "authority.key").unlink()
    run(capsys, "show")
    for words in (["issue", "host", "v"], ["revoke", "trust/hosts/w/host.pem"]):
        assert "the key of 'admin' is not on this machine" in run(capsys, *words, code=2)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("authority.pem", b"nothing", "no certificate to go by"),
        ("authority.key", b"nothing", "no Ed25519 secret key"),
        ("revoked.crl.pem", b"nothing", "no revocation list"),
        ("tokens.toml", b"[tokens\n", "line 1"),
        ("tokens.toml", b"\xff", "can't decode"),
        ("hosts/w/host.pem", b"nothing", "no certificate to go by"),
        ("hosts/w/host.pem", bytes(70_000), "larger than 16,384 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    capsys: Say, folder: Path, name: str, content: bytes, why: str
) -> None:
    run(capsys, "issue", "host", "w")
    (folder / name).write_bytes(content)
    said = run(capsys, "revoke", "abc", "--force", code=2)
    assert said.startswith(f"trust/{name}: ")
    assert why in said


def test_a_key_of_somebody_else(capsys: Say, folder: Path) -> None:
    (folder / "authority.key").write_bytes(SecretKey.from_seed(bytes(32)).pem())
    assert "the key is not that of the certificate" in run(capsys, "issue", "host", "w", code=2)
    run(capsys, "init", "theirs", "--host", "v")
    (folder / "authority.pem").write_bytes(Path("theirs/hosts/v/host.pem").read_bytes())
    assert "it is the host certificate of 'v'" in run(capsys, "show", code=2)


def test_a_full_disk_leaves_the_old_list(
    capsys: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = (folder / "revoked.crl.pem").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    said = run(capsys, "revoke", "abc", "--force", code=2)
    assert "trust/revoked.crl.pem: cannot be written: No space left on device" in said
    assert (folder / "revoked.crl.pem").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "authority.key",
        "authority.pem",
        "revoked.crl.pem",
        "tokens.toml",
    ]
