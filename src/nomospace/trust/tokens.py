"""API tokens: how a script says which agent it is, where keeping a key would be too much.

A token is `ns1.<id>.<secret>`. The secret is 32 bytes that nobody can guess, so a host keeps only
its SHA-256: who reads the host's file cannot speak with what stands there, and nothing slower would
add to it. A check takes the same time whichever part of a token is wrong, and says the same.

Hosts read tokens from a TOML file, one table for each:

    [tokens.6d1f7c0e9a2b4f58]
    agents = ["ann@ward-1"]
    scopes = ["agent"]
    hash = "sha256:…"
    expires = 2027-01-31T12:00:00Z

With the scope `agent` a token lets its bearer act as the agents it names. With the scope `operator`
it lets them look into a host and see whatever the host knows. One scope does not give the other.
"""

from __future__ import annotations

import json
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final, TypeGuard

from nomospace.errors import CallerError, PeerError
from nomospace.trust.moments import DAY, microseconds, moment, shown

SCOPES: Final = ("agent", "operator")
"""What a token may let its bearer do: act as an agent; operate a host."""
SECRET_BYTES: Final = 32
ID_BYTES: Final = 8
TOKENS_MAX: Final = 10_000
"""How many tokens a host knows."""
TOKEN_CHARS_MAX: Final = 256
"""The longest text that is looked at as a token."""
FILE_CHARS_MAX: Final = 16_000_000
"""The longest file that is read for tokens, in characters."""

_VERSION: Final = "ns1"
_HASH: Final = "sha256:"
_SUM: Final = "# Checksum of all above; remove it when you change something: "
_HEAD: Final = "# Tokens of scripts: hashes only. `nomospace trust issue token` adds one.\n"


class BadToken(PeerError):
    """A token that nobody here has issued, or that was taken back."""

    code = "trust.bad-token"
    words = (
        "this token is not known here; look whether it is whole (ns1.<id>.<secret>), "
        "or have one issued with `nomospace trust issue token`"
    )


class TokenExpired(PeerError):
    """A token after its last day."""

    code = "trust.token-expired"
    id: str
    not_after: int

    def __str__(self) -> str:
        return (
            f"token {self.id} ran out on {shown(self.not_after)}; "
            "have one issued with `nomospace trust issue token`"
        )


class TokenRevoked(PeerError):
    """A token that was taken back while its bearer was connected."""

    code = "trust.token-revoked"
    words = "token {id} was taken back; have one issued with `nomospace trust issue token`"
    id: str


class BadTokensFile(CallerError):
    """A file of tokens that cannot be read."""

    code = "trust.bad-tokens-file"
    words = "the file of tokens cannot be used: {why}"
    why: str


class CannotMakeToken(CallerError):
    """A token that would be of no use, or of too much."""

    code = "trust.cannot-make-token"
    words = "no such token can be made: {why}"
    why: str


@dataclass(frozen=True)
class StoredToken:
    """What a host keeps of a token: all but its secret."""

    id: str
    agents: tuple[str, ...]
    scopes: tuple[str, ...]
    digest: bytes
    not_after: int

    @property
    def acts(self) -> tuple[str, ...]:
        """The agents that its bearer may act as: none without the scope `agent`."""
        return self.agents if "agent" in self.scopes else ()

    @property
    def operates(self) -> bool:
        """Whether its bearer may operate the host."""
        return "operator" in self.scopes


def make_token(
    agents: Iterable[str],
    *,
    scopes: Iterable[str] = ("agent",),
    identifier: bytes,
    secret: bytes,
    now: int,
    days: int,
) -> tuple[str, StoredToken]:
    """A token's text, which is shown once, and what hosts keep of it.

    `identifier` and `secret` are bytes that nobody can guess.

    >>> text, kept = make_token(
    ...     ["ann@ward-1"], identifier=bytes(8), secret=bytes(32), now=0, days=30
    ... )
    >>> text
    'ns1.0000000000000000.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    >>> Tokens([kept]).check(text, now=5).acts
    ('ann@ward-1',)
    >>> Tokens([kept]).check(text[:-1] + "B", now=5)
    Traceback (most recent call last):
    nomospace.trust.tokens.BadToken: this token is not known here; ...
    """
    whose, may = tuple(dict.fromkeys(agents)), tuple(dict.fromkeys(scopes))
    if len(identifier) != ID_BYTES or len(secret) != SECRET_BYTES:
        why = f"it takes {ID_BYTES} and {SECRET_BYTES} bytes that nobody can guess"
        raise CannotMakeToken(why=why)
    if not whose or not may or any(scope not in SCOPES for scope in may):
        why = f"it takes agents, and scopes among {', '.join(SCOPES)}"
        raise CannotMakeToken(why=why)
    if days < 1:
        raise CannotMakeToken(why="it would not count for a day")
    end = microseconds(moment(now + days * DAY))
    word = urlsafe_b64encode(secret).decode().rstrip("=")
    kept = StoredToken(identifier.hex(), whose, may, _digest(word), end)
    return f"{_VERSION}.{kept.id}.{word}", kept


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()


class Tokens:
    """The tokens that a host knows."""

    __slots__ = ("_known",)

    def __init__(self, tokens: Iterable[StoredToken] = ()) -> None:
        self._known = {token.id: token for token in tokens}
        if len(self._known) > TOKENS_MAX:
            raise BadTokensFile(why=f"it has more than {TOKENS_MAX:,} tokens")

    def __iter__(self) -> Iterator[StoredToken]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def check(self, text: str, *, now: int) -> StoredToken:
        """The token of this text; raises `BadToken` or `TokenExpired`.

        Whether the id or the secret is wrong is not told, neither in words nor by the time it
        takes: a guess teaches nothing.
        """
        version, _, rest = text[:TOKEN_CHARS_MAX].partition(".")
        name, _, secret = rest.partition(".")
        known = self._known.get(name)
        right = compare_digest(_digest(secret), bytes(32) if known is None else known.digest)
        if known is None or not right or version != _VERSION:
            raise BadToken
        return _in_time(known, now)

    def check_again(self, identifier: str, digest: bytes, *, now: int) -> StoredToken:
        """The token of this id and digest, as it stands now, for one whose bearer was let in.

        Raises `TokenRevoked` or `TokenExpired`.
        """
        known = self._known.get(identifier)
        if known is None or known.digest != digest:
            raise TokenRevoked(id=identifier)
        return _in_time(known, now)

    def with_token(self, token: StoredToken) -> Tokens:
        """These, and one more."""
        return Tokens([*self, token])

    def without(self, identifier: str) -> Tokens:
        """These, but for one."""
        return Tokens([token for token in self if token.id != identifier])

    def text(self) -> str:
        """The file that `read_tokens` reads."""
        parts = [_HEAD]
        for token in self:
            parts += [
                f"\n[tokens.{token.id}]\n",
                f"agents = {_listed(token.agents)}\n",
                f"scopes = {_listed(token.scopes)}\n",
                f'hash = "{_HASH}{token.digest.hex()}"\n',
                f"expires = {moment(token.not_after):%Y-%m-%dT%H:%M:%SZ}\n",
            ]
        text = "".join(parts)
        return f"{text}\n{_SUM}{_sum_of(text)}\n"


def _sum_of(text: str) -> str:
    return sha256(text.strip().encode()).hexdigest()


def _listed(words: tuple[str, ...]) -> str:
    return f"[{', '.join([json.dumps(word, ensure_ascii=False) for word in words])}]"


def _in_time(token: StoredToken, now: int) -> StoredToken:
    if now > token.not_after:
        raise TokenExpired(id=token.id, not_after=token.not_after)
    return token


def read_tokens(text: str) -> Tokens:
    """The tokens in a file; raises `BadTokensFile`, which says where.

    >>> read_tokens("[tokens.0]\\nagents = 7")
    Traceback (most recent call last):
    nomospace.trust.tokens.BadTokensFile: the file of tokens cannot be used: token 0: agents ...
    """
    if len(text) > FILE_CHARS_MAX:
        raise BadTokensFile(why=f"{len(text):,} characters are too many")
    before, mark, told = text.rpartition(_SUM)
    if mark and told.strip() != _sum_of(before):
        why = "it is not what was written; who has changed it by hand removes its last line"
        raise BadTokensFile(why=why)
    try:
        tables = tomllib.loads(text).get("tokens", {})
    except tomllib.TOMLDecodeError as error:
        raise BadTokensFile(why=str(error)) from None
    if not isinstance(tables, dict):
        raise BadTokensFile(why="`tokens` is not a table")
    return Tokens([_token(name, table) for name, table in tables.items()])


def _token(name: str, table: object) -> StoredToken:
    def bad(why: str) -> BadTokensFile:
        return BadTokensFile(why=f"token {name[:80]}: {why}")

    if not isinstance(table, dict):
        raise bad("it is not a table")
    agents, scopes = table.get("agents"), table.get("scopes")
    if not _is_words(agents):
        raise bad('agents are a list such as ["ann@ward-1"]')
    if not _is_words(scopes) or any(scope not in SCOPES for scope in scopes):
        raise bad(f"scopes are among {', '.join(SCOPES)}")
    written, expires = table.get("hash"), table.get("expires")
    try:
        digest = bytes.fromhex(written.removeprefix(_HASH)) if isinstance(written, str) else b""
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise bad(f"its hash is {_HASH} and 64 hexadecimal digits")
    if not isinstance(expires, datetime) or expires.tzinfo is None:
        raise bad("it expires at a time such as 2027-01-31T12:00:00Z")
    return StoredToken(name, tuple(agents), tuple(scopes), digest, microseconds(expires))


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
