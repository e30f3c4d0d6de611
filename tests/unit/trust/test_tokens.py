"""Tokens: only the one that was issued opens, and a guess teaches nothing."""

from __future__ import annotations

from hmac import compare_digest

import pytest
from hypothesis import given, strategies as st

from nomospace.trust import tokens as room
from nomospace.trust.moments import DAY
from nomospace.trust.tokens import (
    TOKEN_CHARS_MAX,
    BadToken,
    BadTokensFile,
    CannotMakeToken,
    StoredToken,
    TokenExpired,
    Tokens,
    make_token,
    read_tokens,
)
from tests.unit.trust.parties import NOW


def issue(number: int = 1, *agents: str, scope: str = "agent") -> tuple[str, StoredToken]:
    return make_token(
        agents or ("ann@ward-1",),
        scopes=(scope,),
        identifier=bytes([number] * 8),
        secret=bytes([number] * 32),
        now=NOW,
        days=30,
    )


TEXT, KEPT = issue()
OTHER, OTHER_KEPT = issue(2, "bob@ward-1", "öde@ward-1", scope="operator")
KNOWN = Tokens([KEPT, OTHER_KEPT])


def test_a_token_speaks_for_its_agents() -> None:
    found = KNOWN.check(TEXT, now=NOW)
    assert found.acts == ("ann@ward-1",)
    assert not found.operates
    operator = KNOWN.check(OTHER, now=NOW)
    assert operator.operates
    assert operator.acts == (), "an operator is no agent"


def test_the_host_keeps_nothing_that_opens() -> None:
    secret = TEXT.rpartition(".")[2]
    assert secret not in KNOWN.text()
    assert secret not in repr(KEPT)
    for line in KNOWN.text().splitlines():
        with pytest.raises(BadToken):
            KNOWN.check(f"ns1.{KEPT.id}.{line.rpartition(':')[2].strip(chr(34))}", now=NOW)


@pytest.mark.parametrize(
    "guess",
    [
        "",
        "ns1",
        "ns1..",
        f"ns1.{KEPT.id}.",
        f"ns1.{KEPT.id}",
        TEXT[:-1],
        TEXT + "A",
        TEXT + " ",
        TEXT.replace("ns1", "ns2"),
        TEXT.replace("ns1", "NS1"),
        f"ns1.{OTHER_KEPT.id}.{TEXT.rpartition('.')[2]}",
        f"ns1.{'0' * 16}.{TEXT.rpartition('.')[2]}",
        f"ns1.{KEPT.id}.{KEPT.digest.hex()}",
        f"ns1.{KEPT.id}.\udcff",
        TEXT + "." * TOKEN_CHARS_MAX,
    ],
)
def test_guesses_are_told_nothing(guess: str) -> None:
    with pytest.raises(BadToken) as caught:
        KNOWN.check(guess, now=NOW)
    assert str(caught.value) == str(BadToken())


def test_every_guess_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known id or not, right form or not: the same comparison of two digests is made."""
    compared: list[tuple[int, int]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return compare_digest(a, b)

    monkeypatch.setattr(room, "compare_digest", compare)
    for guess in ("", f"ns1.{KEPT.id}.wrong", "ns1.unknown.wrong", f"ns9.{KEPT.id}.x"):
        with pytest.raises(BadToken):
            KNOWN.check(guess, now=NOW)
    assert compared == [(32, 32)] * 4


def test_an_unknown_id_with_a_secret_whose_hash_is_the_stand_in() -> None:
    """For an unknown id some digest has to stand in; it opens nothing, whatever it is."""
    with pytest.raises(BadToken):
        Tokens().check(TEXT, now=NOW)


def test_out_of_time() -> None:
    assert KNOWN.check(TEXT, now=KEPT.not_after) == KEPT
    with pytest.raises(TokenExpired, match=f"token {KEPT.id} ran out on 2024-"):
        KNOWN.check(TEXT, now=KEPT.not_after + 1)
    with pytest.raises(BadToken):  # who has not the secret is not told that it ran out
        KNOWN.check(TEXT[:-1], now=NOW + 365 * DAY)


def test_the_file_comes_back_as_it_was() -> None:
    again = read_tokens(KNOWN.text())
    assert list(again) == list(KNOWN)
    assert again.text() == KNOWN.text()
    assert list(read_tokens("")) == []
    assert list(read_tokens(Tokens().text())) == []


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_agents_of_any_name(names: list[str]) -> None:
    quoted = [name for name in names if name.isprintable()] or ["ann@x"]
    kept = issue(3, *quoted)[1]
    assert list(read_tokens(Tokens([kept]).text())) == [kept]


def test_added_and_taken_back() -> None:
    more = Tokens([KEPT]).with_token(OTHER_KEPT)
    assert [token.id for token in more] == [KEPT.id, OTHER_KEPT.id]
    fewer = more.without(KEPT.id)
    assert len(fewer) == 1
    with pytest.raises(BadToken):
        fewer.check(TEXT, now=NOW)


def _by_hand(before: str, after: str) -> str:
    """The file as somebody leaves it who has changed it."""
    return KNOWN.text().rpartition("# Checksum")[0].replace(before, after)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tokens = !", "at line 1, column 10"),
        ("x = 1\n\n[tokens.a\n", "at line 3"),
        ("tokens = 1", "not a table"),
        ("tokens.a = 1", "token a: it is not a table"),
        ("[tokens.a]\nagents = []", "agents are a list"),
        ("[tokens.a]\nagents = ['x', 1]", "agents are a list"),
        ("[tokens.a]\nagents = ['x']", "scopes are among agent, operator"),
        ("[tokens.a]\nagents = ['x']\nscopes = ['king']", "scopes are among"),
        ("[tokens.a]\nagents = ['x']\nscopes = ['agent']\nhash = 'zz'", "64 hexadecimal"),
        ("[tokens.a]\nagents = ['x']\nscopes = ['agent']\nhash = 7", "64 hexadecimal"),
        (_by_hand("Z\n", "\n"), "expires at a time"),
        (_by_hand("expires", "ends"), "expires at a time"),
        (KNOWN.text().replace("expires", "ends"), "removes its last line"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(text: str, why: str) -> None:
    with pytest.raises(BadTokensFile, match=why):
        read_tokens(text)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TOKENS_MAX", 1)
    with pytest.raises(BadTokensFile, match="more than 1 tokens"):
        Tokens([KEPT, OTHER_KEPT])
    monkeypatch.setattr(room, "FILE_CHARS_MAX", 3)
    with pytest.raises(BadTokensFile, match="4 characters are too many"):
        read_tokens("    ")


def test_what_is_no_token() -> None:
    def refused(why: str, **options: object) -> None:
        plain: dict[str, object] = {
            "agents": ["a@b"],
            "identifier": bytes(8),
            "secret": bytes(32),
            "now": NOW,
            "days": 1,
        }
        with pytest.raises(CannotMakeToken, match=why):
            make_token(**{**plain, **options})  # type: ignore[arg-type]

    refused("8 and 32 bytes", secret=bytes(31))
    refused("8 and 32 bytes", identifier=b"")
    refused("scopes among agent, operator", scopes=["root"])
    refused("scopes among", scopes=[])
    refused("it takes agents", agents=[])
    refused("for a day", days=0)
