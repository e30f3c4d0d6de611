"""Who was let in is judged again when anything that it rests on changes or ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nomospace.calls.problems import NotLetIn
from nomospace.node.client_link import CUT_S
from nomospace.node.door import TOKENS, TrustDoor
from nomospace.node.identity import Identity
from nomospace.node.principals import OpenDoor, Principal, Standings
from nomospace.node.serve import POLL_S
from nomospace.trust.authority import make_authority, new_serial
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY
from nomospace.trust.tokens import StoredToken, Tokens, make_token
from tests.trust_folder import TrustFolder

SECOND = 1_000_000
NOW_S_MAX = 2.0
"""How long who is no longer vouched for may stay."""


class Desk:
    """A trust folder, a door, and a clock that the test sets."""

    def __init__(self, folder: Path) -> None:
        self.trust = TrustFolder(folder)
        self.trust.host("ward")
        self.now = self.trust.now
        self.notes: list[str] = []
        self.identity = Identity(
            folder,
            "ward",
            clock=lambda: self.now,
            on_note=lambda what, /, **facts: self.notes.append(what),
        )
        self.door = TrustDoor(self.identity, lambda: self.now)
        self.standings = Standings(self.door, lambda: self.now)
        self.tokens: dict[str, StoredToken] = {}
        self.count = 0

    def token(self, *scopes: str) -> tuple[str, str]:
        """A new token for ann: its text and its id."""
        self.count += 1
        text, kept = make_token(
            ["ann@ward"],
            scopes=scopes or ("agent",),
            identifier=self.count.to_bytes(8, "big"),
            secret=self.count.to_bytes(32, "big"),
            now=self.now,
            days=1,
        )
        self.tokens[kept.id] = kept
        self.write()
        return text, kept.id

    def write(self) -> None:
        """Put the tokens where hosts find them."""
        new = self.identity.folder / "new"
        new.write_text(Tokens(self.tokens.values()).text())
        new.replace(self.identity.folder / TOKENS)

    def certified(self) -> Principal:
        """Ann, by her certificate."""
        pem, _ = self.trust.agent("ann@ward")
        return self.door.by_handshake(pem.read_bytes())

    def look(self) -> None:
        """What a host does twice a second."""
        self.identity.poll()
        asyncio.run(self.standings.look())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def watched(desk: Desk, principal: Principal) -> list[Principal | NotLetIn]:
    told: list[Principal | NotLetIn] = []
    desk.standings.watch(principal, told.append)
    return told


def revoke_token(desk: Desk) -> None:
    desk.tokens.clear()
    desk.write()


def remove_file(desk: Desk) -> None:
    (desk.identity.folder / TOKENS).unlink()


def new_secret(desk: Desk) -> None:
    desk.tokens = {id: replace(one, digest=bytes(32)) for id, one in desk.tokens.items()}
    desk.write()


def a_day_later(desk: Desk) -> None:
    desk.now += DAY + 2 * SECOND


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (revoke_token, "was taken back"),
        (remove_file, "was taken back"),
        (new_secret, "was taken back"),
        (a_day_later, "ran out on"),
    ],
)
def test_tokens_that_count_no_longer(desk: Desk, change: Callable[[Desk], None], why: str) -> None:
    text, _ = desk.token()
    principal = desk.door.by_token(text)
    told = [watched(desk, principal), watched(desk, principal)]
    desk.look()
    assert told == [[], []]
    change(desk)
    desk.look()
    for one in told:
        [error] = one
        assert isinstance(error, NotLetIn)
        assert why in error.why
    assert len(desk.standings) == 0
    desk.look()
    assert [len(one) for one in told] == [1, 1], "it is said once"


def revoke_certificate(desk: Desk) -> None:
    [pem] = (desk.identity.folder / "agents").rglob("agent.pem")
    (desk.identity.folder / "hosts/ann").mkdir()
    (desk.identity.folder / "hosts/ann/host.pem").write_bytes(pem.read_bytes())
    desk.trust.revoke("ann")


def another_authority(desk: Desk) -> None:
    key = SecretKey.generate()
    desk.trust.authority = made = make_authority(
        "admin", key, serial=new_serial(), now=desk.now, days=9
    )
    (desk.identity.folder / "authority.pem").write_bytes(made.pem)
    desk.trust.host("ward")


def a_month_later(desk: Desk) -> None:
    desk.now += 30 * DAY + 2 * SECOND


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (revoke_certificate, "was revoked"),
        (another_authority, "was not signed by the authority"),
        (a_month_later, "ran out on"),
    ],
)
def test_certificates_that_count_no_longer(
    desk: Desk, change: Callable[[Desk], None], why: str
) -> None:
    told = watched(desk, desk.certified())
    desk.look()
    assert told == []
    change(desk)
    desk.look()
    [error] = told
    assert isinstance(error, NotLetIn)
    assert why in error.why


def test_a_revocation_counts_also_where_the_host_cannot_use_its_own_files(desk: Desk) -> None:
    told = watched(desk, desk.certified())
    (desk.identity.folder / "hosts/ward/host.key").write_text("half a fi")
    revoke_certificate(desk)
    desk.look()
    assert "identity-not-reloaded" in desk.notes
    assert [type(one) for one in told] == [NotLetIn]


def test_scopes_agents_and_ends_that_change(desk: Desk) -> None:
    text, id = desk.token("agent", "operator")
    told = watched(desk, desk.door.by_token(text))
    other = watched(desk, desk.door.by_token(desk.token()[0]))
    for changes, agents, operator in (
        ({"scopes": ("agent",)}, ("ann@ward",), False),
        ({"scopes": ("operator",)}, (), True),
        ({"scopes": ("agent",), "agents": ("bob@ward",)}, ("bob@ward",), False),
    ):
        desk.tokens[id] = replace(desk.tokens[id], **changes)  # type: ignore[arg-type]
        desk.write()
        desk.look()
        now = told.pop()
        assert isinstance(now, Principal)
        assert (now.agents, now.operator) == (agents, operator)
    desk.tokens[id] = replace(desk.tokens[id], not_after=desk.now + SECOND)
    desk.write()
    desk.look()
    told.clear()
    desk.now += 3 * SECOND  # the new end is looked at, not that of the day it came in
    desk.look()
    assert [type(one) for one in told] == [NotLetIn]
    assert other == []


def test_a_file_that_cannot_be_read_lets_nobody_in_and_cuts_nobody(desk: Desk) -> None:
    text, _ = desk.token()
    told = watched(desk, desk.door.by_token(text))
    for garbage in (b"[tokens", b"\xff\xfe", b"[tokens.0]\nagents = 7"):
        (desk.identity.folder / TOKENS).write_bytes(garbage)
        desk.look()
        assert told == []
        for _ in range(2):
            with pytest.raises(NotLetIn, match="file of tokens cannot be used"):
                desk.door.by_token(text)
    assert desk.notes.count("tokens-not-read") == 3
    desk.write()
    desk.look()
    assert told == []
    assert desk.door.by_token(text).agents == ("ann@ward",)


def test_who_has_gone_is_not_told(desk: Desk) -> None:
    told: list[Principal | NotLetIn] = []
    principal = desk.door.by_token(desk.token()[0])
    standing = desk.standings.watch(principal, told.append)
    standing.end()
    standing.end()
    revoke_token(desk)
    desk.look()
    assert told == []
    nobody = OpenDoor().nobody()
    desk.standings.watch(nobody, told.append).end()
    assert len(desk.standings) == 0


def test_who_stands_no_longer_is_gone_in_time() -> None:
    assert POLL_S + CUT_S < NOW_S_MAX
