"""The guide to services names the limits that the code has, and the errors that programs meet."""

import re
from importlib import import_module
from inspect import getmembers, isclass

import pytest

from nomospace.client.http import TIMEOUT_S
from nomospace.errors import NomospaceError
from nomospace.node.services import fronts, web_port
from nomospace.node.services.controllers import AGAIN_S
from nomospace.node.services.secretaries import COMMUNITIES_MAX
from nomospace.node.services.web import BODY_S
from nomospace.services.controllers import HOSTS_MAX, LEASE_US
from nomospace.services.laws import LAWS_MAX, TEXT_BYTES_MAX, VERSIONS_MAX
from nomospace.services.mediator import (
    ATTRIBUTES_MAX,
    CRITERIA_MAX,
    OF_CLIENT_MAX,
    SUBSCRIPTIONS_MAX,
)
from nomospace.services.secretary import INITIAL_MAX, MEMBERS_MAX
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "hosts" / "services.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
LIMITS = {
    "a law in a library, in bytes": TEXT_BYTES_MAX,
    "laws in a library": LAWS_MAX,
    "versions of a name": VERSIONS_MAX,
    "hosts in a controller service": HOSTS_MAX,
    "seconds that a registration holds": LEASE_US // 1_000_000,
    "names on a roll, members and others": MEMBERS_MAX,
    "terms that a roll gives to a member": INITIAL_MAX,
    "communities of one service": COMMUNITIES_MAX,
    "subscriptions of a mediator": SUBSCRIPTIONS_MAX,
    "subscriptions of one client": OF_CLIENT_MAX,
    "attributes in a subscription": CRITERIA_MAX,
    "attributes of a publication": ATTRIBUTES_MAX,
    "operations that wait at a front": fronts.WAITING_MAX,
    "operations of one client that wait at a front": fronts.WAITING_EACH_MAX,
    "tuples in one answer of a front": fronts.FOUND_MAX,
    "tuples that a front looks at for one operation: rows whose columns are as named, elements of a"
    " list": fronts.SCAN_MAX,
    "seconds that the engine behind a front has for a step": int(fronts.ENGINE_S),
    "connections to the services at a time": web_port.LIMITS.connections_max,
    "connections that show no token": web_port.LIMITS.strangers_max,
    "seconds for a request's body": int(BODY_S),
}
RAISING = (
    "client.http",
    "client.laws",
    "client.controllers",
    "client.fronts",
    "node.services.fronts",
    "node.services.fronts.lists",
    "node.services.fronts.tables",
    "node.services.keeping",
    "node.services.mediators",
    "node.services.secretaries",
    "node.services.web",
    "node.services.web_port",
)
ANSWERED = {
    "secretary.no-such-community",
    "services.bad-request",
    "services.body-too-large",
    "services.body-too-slow",
    "services.body-too-wide",
    "services.no-token",
    "services.other-host",
    "services.other-site",
}
"""What a service answers: programs meet it as `ServiceRefused`."""


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]
    assert len(LIMITS) == SECTIONS["Limits"].count("\n| ") - 2


def test_times_in_prose() -> None:
    assert (TIMEOUT_S, AGAIN_S) == (10, 20)
    assert "ten seconds by default" in SECTIONS["Where a law comes from"]
    assert "again every twenty seconds" in SECTIONS["Finding a controller"]


def test_errors() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([a-z.-]+)` \|", SECTIONS["Errors"], re.MULTILINE)
    raised = {
        kind.code: name
        for room in RAISING
        for name, kind in getmembers(import_module(f"nomospace.{room}"), isclass)
        if issubclass(kind, NomospaceError) and kind.__module__ == f"nomospace.{room}"
    }
    assert {code: name for name, code in rows} == {
        code: name for code, name in raised.items() if code not in ANSWERED
    }
