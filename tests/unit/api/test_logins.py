"""Logins: what is good once, how long a session lasts, and whose makes room."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from nomospace.api import logins
from nomospace.api.logins import Logins
from nomospace.calls.door import NotLetIn
from nomospace.node.principals import Principal


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(program)


def who(token: str) -> Principal:
    if token == "bad":
        raise NotLetIn(why="it is not known")
    return Principal(f"token {token}", (f"{token}@ward",))


def test_a_token_for_one_login_is_good_once_and_a_lasting_one_where_it_may() -> None:
    async def program() -> None:
        known = Logins(who)
        once = known.token_for("ann")
        assert known.token_of(known.log_in(once, lasting=False)) == "ann"
        for token, lasting in ((once, False), ("ann", False), ("bad", True)):
            with pytest.raises(NotLetIn):
                known.log_in(token, lasting=lasting)
        assert known.token_of(known.log_in("ann")) == "ann"

    run(program())


def test_nobody_pushes_out_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "SESSIONS_EACH_MAX", 3)
    monkeypatch.setattr(logins, "SESSIONS_MAX", 5)

    async def program() -> None:
        known = Logins(who)
        ann = known.log_in("ann")
        bobs = [known.log_in("bob") for _ in range(5)]
        assert known.token_of(ann) == "ann"
        left = [key for key in bobs if _is_there(known, key)]
        assert left == bobs[2:]  # his own oldest have made room
        once = known.token_for("ann")
        for _ in range(logins.LOGINS_EACH_MAX + 5):
            known.token_for("bob")
        known.log_in(once)
        known.log_in("cleo")  # all together are too many: who has the most makes room
        assert [_is_there(known, key) for key in (ann, *left)] == [True, False, True, True]

    run(program())


def _is_there(known: Logins, key: str) -> bool:
    try:
        known.token_of(key)
    except NotLetIn:
        return False
    return True


def test_who_watches_a_session_is_told_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        known = Logins(who)
        told: list[str] = []
        key = known.log_in("ann")
        end = known.watch(key, lambda error: told.append(error.why))
        known.watch(key, lambda error: told.append("no"))()
        known.log_out(key)
        end()
        known.watch("gone", lambda error: told.append(error.why))
        assert len(told) == 1
        await asyncio.sleep(0)
        assert told == ["this session has ended; log in again"] * 2
        monkeypatch.setattr(logins, "SESSION_S", 0.01)
        over = asyncio.Event()
        known.watch(known.log_in("ann"), lambda _: over.set())
        await over.wait()

    run(program())
