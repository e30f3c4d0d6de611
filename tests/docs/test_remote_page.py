"""The page on hosts elsewhere names the limits of the code, and the errors that clients meet."""

import re
from importlib import import_module
from inspect import getmembers, isclass

import pytest

from nomospace.client.session_driver import RECONNECT_S
from nomospace.client.watching import WATCHED_MAX
from nomospace.errors import NomospaceError
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.sessions.host_session import OUTBOX_BYTES_MAX
from nomospace.sessions.host_sessions import SESSIONS_MAX
from nomospace.wire.calls import CALL_PARTS_MAX, HUGE_MAX
from nomospace.wire.talk import BATCH_PARTS_MAX, CALL_BYTES_MAX, TALK_BYTES_MAX, WINDOW
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "spaces" / "remote.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
LIMITS = {
    "calls of an agent under way; more wait for their turn": WINDOW,
    "a frame, in bytes": TALK_BYTES_MAX,
    "a call, in bytes": CALL_BYTES_MAX,
    "lists, strings and numbers in one call": CALL_PARTS_MAX,
    "integers past 64 bits in one call": HUGE_MAX,
    "the same in one `out_many`": BATCH_PARTS_MAX,
    "firings and letters that wait for a client": Shares().agent_letters,
    "bytes that wait for a client before new calls are put off": OUTBOX_BYTES_MAX,
    "sessions of a host": SESSIONS_MAX,
    "agents and hosts whose presence a client follows": WATCHED_MAX,
}
RAISING = (
    "calls.problems",
    "client.dialling",
    "client.session_driver",
    "client.watching",
    "node.client_link",
    "node.entrance",
    "sessions.client_session",
    "sessions.host_session",
    "sessions.host_sessions",
    "sessions.pushing",
)
ELSEWHERE = (
    *("client.closed", "client.not-yet-known", "client.timed-out"),
    *("node.agent-away", "node.no-such-program", "node.runs-already"),
)
"""Errors that all agents meet: the guides have them."""
INSIDE = ("node.window-broken",)
"""What no client of ours does."""


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_times() -> None:
    assert f"({RECONNECT_S:g} s unless you say otherwise)" in TEXT
    assert f"after {USUAL_SHARES.session_s} s." in TEXT


def test_errors() -> None:
    raised = {}
    for room in RAISING:
        module = import_module(f"nomospace.{room}")
        kinds = [
            kind for _, kind in getmembers(module, isclass) if kind.__module__ == module.__name__
        ]
        for kind in kinds:
            at_door = room != "calls.problems" or str(getattr(kind, "code", "")).startswith("node.")
            if issubclass(kind, NomospaceError) and at_door:
                raised[kind.code] = kind.__name__
    rows = re.findall(r"^\| `(\w+)` \| `([a-z.-]+)` \|", SECTIONS["Errors"], re.MULTILINE)
    wanted = {
        code: name for code, name in raised.items() if code not in ELSEWHERE and code not in INSIDE
    }
    assert {code: name for name, code in rows} == wanted
