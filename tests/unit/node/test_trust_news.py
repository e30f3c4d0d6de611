"""Lists of what was revoked that other hosts bring: their signatures count, not who has them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from nomospace.node.identity import REVOKED, Identity
from nomospace.node.trust_news import GivenLists, TrustNews
from nomospace.trust.revocation import NotARevocationList, RevocationsRolledBack
from tests.sites import Notebook
from tests.trust_folder import TrustFolder


@pytest.fixture
def trust(tmp_path: Path) -> TrustFolder:
    made = TrustFolder(tmp_path / "mine")
    made.host("a")
    return made


def _signed(trust: TrustFolder, number: int, *serials: int) -> bytes:
    return trust.authority.revoke(dict.fromkeys(serials, trust.now), number=number, now=trust.now)


def _by_another(trust: TrustFolder) -> bytes:
    """By an authority of the same name, with a key of its own."""
    return _signed(TrustFolder(trust.folder.parent / "other"), 9, 1, 2)


def _unsigned(trust: TrustFolder) -> bytes:
    """What the authority has signed, with another signature."""
    signed = x509.load_pem_x509_crl(_signed(trust, 9, 1, 2))
    der = signed.public_bytes(Encoding.DER)
    return der.replace(signed.signature, bytes(len(signed.signature)))


def _shortened(trust: TrustFolder) -> bytes:
    """A newer list that the authority has signed, and that takes a revocation back."""
    return _signed(trust, 9, 1)


@pytest.mark.parametrize(
    ("forged", "error"),
    [
        (_by_another, NotARevocationList),
        (_unsigned, NotARevocationList),
        (lambda _: b"nonsense", NotARevocationList),
        (_shortened, RevocationsRolledBack),
    ],
)
def test_lists_that_the_authority_did_not_sign_so_are_refused(
    trust: TrustFolder, forged: Callable[[TrustFolder], bytes], error: type[Exception]
) -> None:
    notes = Notebook()
    identity = Identity(trust.folder, "a")
    mine = _signed(trust, 2, 1, 2)
    assert identity.learn(mine)
    with pytest.raises(error):
        identity.learn(forged(trust))
    asyncio.run(_asked(identity, notes, forged(trust)))
    assert [what for what, _ in notes.notes] == ["trust-not-taken"]
    _goes_by(identity, mine)


def test_a_list_that_is_older_than_the_one_there_is_changes_nothing(trust: TrustFolder) -> None:
    notes = Notebook()
    identity = Identity(trust.folder, "a")
    older, mine = _signed(trust, 1, 1), _signed(trust, 2, 1, 2)
    assert identity.learn(mine)
    assert not identity.learn(older)
    assert not identity.learn(mine)
    asyncio.run(_asked(identity, notes, older))
    assert [what for what, _ in notes.notes] == []
    _goes_by(identity, mine)
    newer = _signed(trust, 3, 1, 2, 3)
    asyncio.run(_asked(identity, notes, newer))
    assert [what for what, _ in notes.notes] == ["revocations-learnt"]
    _goes_by(identity, newer)


async def _asked(identity: Identity, notes: Notebook, given: bytes) -> None:
    """Let a host ask another which lists it has."""

    async def ask(_peer: str, _body: bytes, *, seconds: float) -> bytes:
        return msgspec.msgpack.encode(GivenLists((given,)))

    members = {"a", "b"}
    group = SimpleNamespace(members=members)
    host = SimpleNamespace(
        core=SimpleNamespace(group=group), peer_questions=SimpleNamespace(ask=ask)
    )
    server: Any = SimpleNamespace(identity=identity, note=notes, host=host)
    news = TrustNews(server)
    news._look(identity)
    await asyncio.gather(*news._asking.values())


def _goes_by(identity: Identity, signed: bytes) -> None:
    """It has this list, in memory and in its folder."""
    assert [one.signed for one in identity.lists().values()] == [signed]
    assert (identity.folder / REVOKED).read_bytes() == signed
