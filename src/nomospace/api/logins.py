"""Logins of browsers: tokens that are good for one login, and the sessions that these begin.

A session stands for whoever showed the token that began it, and ends when that token counts no
more, when it is logged out, or after `SESSION_S`; whoever watches it is told at once. Each
principal has a number of its own of both, and its oldest makes room for its next. So nobody's
logins end those of others.

Sessions outlive the host. What is kept of one is the hash of its key and what its door judges it by
(`Door.kept`), no secret; at the start each is judged again, and one that would not be let in now is
forgotten.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

from nomospace.calls.problems import NotLetIn
from nomospace.node.principals import Door, Principal

LOGIN_S: Final = 300.0
"""How long a token for one login is good."""
LOGINS_MAX: Final = 100
LOGINS_EACH_MAX: Final = 10
"""How many of them one principal has."""
SESSION_S: Final = 12 * 3600.0
"""How long a browser stays logged in."""
SESSIONS_MAX: Final = 1_000
SESSIONS_EACH_MAX: Final = 20
"""How many browsers of one principal are logged in."""

LoginListener = Callable[[NotLetIn], None]
"""Is told that somebody is let in no longer, and why."""
End = Callable[[], None]
_LOGIN: Final = "login "
"""What the names of kept sessions begin with."""


@dataclass(slots=True)
class _Held:
    """What stands for a principal for some time; `until` is in microseconds."""

    who: Principal
    until: int
    watchers: list[LoginListener] = field(default_factory=list)


class _KeptSession(msgspec.Struct, array_like=True):
    """A session as it is kept."""

    proof: str
    until: int


class Logins:
    """The logins of one host. `keep` has something kept by name, and `kept` has what was."""

    def __init__(
        self,
        door: Door,
        now: Callable[[], int],
        *,
        kept: Mapping[str, bytes] | None = None,
        keep: Callable[[str, bytes], None] = lambda name, body: None,
    ) -> None:
        self._door = door
        self._now = now
        self._keep = keep
        self._once: dict[str, _Held] = {}
        self._sessions: dict[str, _Held] = {}
        """By the hashes of their keys."""
        for name, body in list((kept or {}).items()):
            if name.startswith(_LOGIN):
                self._restore(name, body)

    def _restore(self, name: str, body: bytes) -> None:
        """Judge a session of an earlier life again."""
        try:
            told = msgspec.msgpack.decode(body, type=_KeptSession)
            if told.until > self._now():
                held = _Held(self._door.by_kept(told.proof), told.until)
                self._sessions[name.removeprefix(_LOGIN)] = held
                return
        except (NotLetIn, msgspec.MsgspecError, RecursionError):
            pass
        self._keep(name, b"")

    def token_for(self, who: Principal) -> str:
        """A token for one login, which is then let in as this one is; raises `NotLetIn`."""
        self._make_room(self._once, who, LOGINS_EACH_MAX, LOGINS_MAX, self._once.pop)
        token = secrets.token_urlsafe(32)
        self._once[token] = _Held(who, self._now() + round(LOGIN_S * 1e6))
        return token

    def log_in(self, token: str, *, lasting: bool = True, before: str = "") -> str:
        """Begin a session, with a token for one login or a `lasting` one; gives its key.

        Raises `NotLetIn`. Addresses are kept, sent and shown, so what stands in one is good once.

        `before` is the key that the browser has: a browser has one session. It is gone on with for
        who logs in again, and ends for who is another now, or windows of both would act as either.
        """
        found = self._once.pop(token, None)
        if found is not None and found.until > self._now():
            who = self._door.again(found.who)
        elif lasting and token:
            who = self._door.by_token(token)
        else:
            why = "an address logs in once, and with a token for one login; log in with the form"
            raise NotLetIn(why=why)
        now = self._sessions.get(_hash(before))
        if now is not None and now.until > self._now():
            if now.who == who:
                return before
            self._end(_hash(before))
        self._make_room(self._sessions, who, SESSIONS_EACH_MAX, SESSIONS_MAX, self._end)
        key = secrets.token_urlsafe(32)
        held = _Held(who, self._now() + round(SESSION_S * 1e6))
        self._sessions[_hash(key)] = held
        told = _KeptSession(self._door.kept(who), held.until)
        self._keep(_LOGIN + _hash(key), msgspec.msgpack.encode(told))
        return key

    def log_out(self, key: str) -> None:
        """End a session; harmless when there is none."""
        self._end(_hash(key))

    def who_has(self, key: str) -> Principal:
        """Who has the key of a session, as judged now; raises `NotLetIn`."""
        found = self._sessions.get(_hash(key))
        if found is None or found.until <= self._now():
            raise _ended()
        return self._door.again(found.who)

    def watch(self, key: str, told: LoginListener) -> End:
        """Tell when a session ends, never at once; gives what ends the watching."""
        loop = asyncio.get_running_loop()
        held = self._sessions.get(_hash(key))
        if held is None:
            return loop.call_soon(told, _ended()).cancel
        held.watchers.append(told)
        left_s = max(0, held.until - self._now()) / 1e6
        timer = loop.call_later(left_s, self._end, _hash(key), _lasted())

        def end() -> None:
            timer.cancel()
            held.watchers.remove(told)

        return end

    def _end(self, hash: str, why: NotLetIn | None = None) -> None:
        ended = self._sessions.pop(hash, None)
        if ended is not None:
            self._keep(_LOGIN + hash, b"")
            for told in list(ended.watchers):
                told(why or _ended())

    def _make_room(
        self,
        where: dict[str, _Held],
        who: Principal,
        each_max: int,
        limit: int,
        drop: Callable[[str], object],
    ) -> None:
        """Drop the oldest of one who has as many as it may, or of whoever has the most."""
        for key in [key for key, held in where.items() if held.until <= self._now()]:
            drop(key)
        held_by = Counter(held.who.name for held in where.values())
        if held_by[who.name] < each_max and len(where) < limit:
            return
        loser = who.name if held_by[who.name] >= each_max else held_by.most_common(1)[0][0]
        drop(next(key for key, held in where.items() if held.who.name == loser))


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _lasted() -> NotLetIn:
    return NotLetIn(why=f"this session has lasted its {SESSION_S / 3600:g} hours; log in again")


def _ended() -> NotLetIn:
    return NotLetIn(why="this session has ended; log in again")
