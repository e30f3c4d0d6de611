"""Logins of browsers: tokens that are good for one login, and the sessions that these begin.

A session stands for the token that began it, and ends with it, when it is logged out, or after
`SESSION_S`; whoever watches it is told at once. Each principal has a number of its own of both, and
its oldest makes room for its next. So nobody's logins end those of others.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from nomospace.calls.door import NotLetIn
from nomospace.node.principals import Principal

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


@dataclass(slots=True)
class _Held:
    """What stands for a token for some time."""

    token: str
    who: str
    until: float
    watchers: list[LoginListener] = field(default_factory=list)


class Logins:
    """The logins of one host. `who` says whom a token stands for, or raises `NotLetIn`."""

    def __init__(self, who: Callable[[str], Principal]) -> None:
        self._who = who
        self._once: dict[str, _Held] = {}
        self._sessions: dict[str, _Held] = {}

    def token_for(self, token: str) -> str:
        """A token for one login, which is then let in as this one is; raises `NotLetIn`."""
        who = self._who(token).name
        _make_room(self._once, who, LOGINS_EACH_MAX, LOGINS_MAX, self._once.pop)
        return _hold(self._once, _Held(token, who, _time() + LOGIN_S))

    def log_in(self, token: str, *, lasting: bool = True) -> str:
        """Begin a session, with a token for one login or a `lasting` one; gives its key.

        Raises `NotLetIn`. Addresses are kept, sent and shown, so what stands in one is good once.
        """
        found = self._once.pop(token, None)
        if found is not None and found.until > _time():
            token = found.token
        elif not lasting:
            why = "an address logs in once, and with a token for one login; log in with the form"
            raise NotLetIn(why=why)
        who = self._who(token).name
        _make_room(self._sessions, who, SESSIONS_EACH_MAX, SESSIONS_MAX, self.log_out)
        return _hold(self._sessions, _Held(token, who, _time() + SESSION_S))

    def log_out(self, key: str) -> None:
        """End a session; harmless when there is none."""
        ended = self._sessions.pop(key, None)
        for told in [] if ended is None else list(ended.watchers):
            told(_ended())

    def token_of(self, key: str) -> str:
        """The token behind a session; raises `NotLetIn`."""
        found = self._sessions.get(key)
        if found is None or found.until <= _time():
            raise _ended()
        return found.token

    def watch(self, key: str, told: LoginListener) -> End:
        """Tell when a session ends, never at once; gives what ends the watching."""
        loop = asyncio.get_running_loop()
        held = self._sessions.get(key)
        if held is None:
            return loop.call_soon(told, _ended()).cancel
        held.watchers.append(told)
        timer = loop.call_at(held.until, self.log_out, key)

        def end() -> None:
            timer.cancel()
            held.watchers.remove(told)

        return end


def _make_room(
    where: dict[str, _Held], who: str, each_max: int, limit: int, drop: Callable[[str], object]
) -> None:
    """Drop the oldest of one who has as many as it may, or of whoever has the most."""
    for key in [key for key, held in where.items() if held.until <= _time()]:
        drop(key)
    held_by = Counter(held.who for held in where.values())
    if held_by[who] < each_max and len(where) < limit:
        return
    loser = who if held_by[who] >= each_max else held_by.most_common(1)[0][0]
    drop(next(key for key, held in where.items() if held.who == loser))


def _hold(where: dict[str, _Held], held: _Held) -> str:
    key = secrets.token_urlsafe(32)
    where[key] = held
    return key


def _ended() -> NotLetIn:
    return NotLetIn(why="this session has ended; log in again")


def _time() -> float:
    return asyncio.get_running_loop().time()
