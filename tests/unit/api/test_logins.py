"""Logins: what is good once, how long a session lasts, and whose makes room."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from nomospace.api import logins
from nomospace.api.logins import Logins
from nomospace.calls.problems import NotLetIn
from nomospace.node.principals import OpenDoor, Principal


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(program)


class NamesDoor(OpenDoor):
    """Lets in whoever shows a name, but those that are `bad`."""

    def __init__(self, *bad: str) -> None:
        super().__init__()
        self.bad = bad

    def by_token(self, token: str) -> Principal:
        if token in self.bad:
            raise NotLetIn(why="it is not known")
        return Principal(token, (f"{token}@ward",), proof=token)

    def again(self, principal: Principal) -> Principal:
        return self.by_token(principal.name)

    def kept(self, principal: Principal) -> str:
        return f"hash of {principal.name}"

    def by_kept(self, kept: str) -> Principal:
        return self.by_token(kept.removeprefix("hash of "))


def made(kept: dict[str, bytes] | None = None, *, bad: str = "bad") -> Logins:
    """Logins that keep what they keep in a dictionary."""
    kept = {} if kept is None else kept

    def keep(name: str, body: bytes) -> None:
        kept[name] = body
        if not body:
            del kept[name]

    return Logins(NamesDoor(bad), lambda: time.time_ns() // 1000, kept=kept, keep=keep)


def ask(known: Logins, token: str) -> str:
    """A token for one login, for a name."""
    return known.token_for(NamesDoor().by_token(token))


def test_a_token_for_one_login_is_good_once_and_a_lasting_one_where_it_may() -> None:
    async def program() -> None:
        known = made()
        once = ask(known, "ann")
        assert known.who_has(known.log_in(once, lasting=False)).name == "ann"
        for token, lasting in ((once, False), ("ann", False), ("bad", True)):
            with pytest.raises(NotLetIn):
                known.log_in(token, lasting=lasting)
        assert known.who_has(known.log_in("ann")).name == "ann"

    run(program())


def test_nobody_pushes_out_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "SESSIONS_EACH_MAX", 3)
    monkeypatch.setattr(logins, "SESSIONS_MAX", 5)

    async def program() -> None:
        known = made()
        ann = known.log_in("ann")
        bobs = [known.log_in("bob") for _ in range(5)]
        assert known.who_has(ann).name == "ann"
        left = [key for key in bobs if _is_there(known, key)]
        assert left == bobs[2:]  # his own oldest have made room
        once = ask(known, "ann")
        for _ in range(logins.LOGINS_EACH_MAX + 5):
            ask(known, "bob")
        known.log_in(once)
        known.log_in("cleo")  # all together are too many: who has the most makes room
        assert [_is_there(known, key) for key in (ann, *left)] == [True, False, True, True]

    run(program())


def _is_there(known: Logins, key: str) -> bool:
    try:
        known.who_has(key)
    except NotLetIn:
        return False
    return True


def test_who_watches_a_session_is_told_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        known = made()
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

        def ended(error: NotLetIn) -> None:
            told.append(error.why)
            over.set()

        known.watch(known.log_in("ann"), ended)
        await over.wait()
        assert told[-1].startswith("this session has lasted its ")

    run(program())


def test_sessions_outlive_their_host_without_a_secret_and_are_judged_again() -> None:
    async def program() -> None:
        kept: dict[str, bytes] = {}
        known = made(kept)
        ann, bob, cleo = (known.log_in(name) for name in ("ann", "bob", "cleo"))
        known.log_out(bob)
        for key in (ann, cleo):
            assert not any(key in name or key.encode() in body for name, body in kept.items())
        assert len(kept) == 2
        again = made(kept, bad="cleo")  # whose token was taken back meanwhile
        assert again.who_has(ann).agents == ("ann@ward",)
        assert [_is_there(again, key) for key in (bob, cleo)] == [False, False]
        assert len(kept) == 1  # what counts no more is kept no longer
        kept["login damaged"] = b"?"
        assert not _is_there(made(kept), "damaged")
        assert len(kept) == 1

    run(program())
