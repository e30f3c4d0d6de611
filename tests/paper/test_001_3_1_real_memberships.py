"""`001_…` 3.1 and `000_…` 3.3 on real hosts: who adopts a law twice is a member twice.

Hosts are processes with sockets and stores of their own. Each membership has a control state, a
quota and an address of its own, whoever the agent is; only a secretary keeps a person to one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomospace import Law, sync, t
from nomospace.calls.addresses import IsAnAddress, NoSuchNumber
from nomospace.calls.problems import NotAMember
from tests.nursery import start as nursery
from tests.real.hosts import RealHost, end, start

WAIT_S = 60.0
LAW = Law.load(
    """\
law(quota).
initialCS([left(1)]).
disclose(all).
R1. sent(_, note(M), Y) :- left(N)@CS, N > 0, do(dcr(left(N), 1)), do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. exception(forward(_, M, To), Why) :- do(deliver(Self, lost(M, To, Why), Self)).
R4. submitted(From, M, To) :- do(deliver(From, outside(M, To), Self)).
"""
)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealHost, RealHost]]:
    """Two hosts of one group."""
    assert callable(nursery)
    folder = tmp_path_factory.mktemp("members")
    ward = RealHost("ward", folder, "--insecure", "--api", "127.0.0.1:0", "--no-console")
    icu = RealHost("icu", folder, "--insecure", "--join", ward.address)
    start(ward, icu)
    yield ward, icu
    end(ward, icu)


def url(host: RealHost) -> str:
    return f"nomos+plain://{host.address}"


def http(host: RealHost, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        f"{host.said['api']}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {host.said['token']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


def test_3_1_another_adoption_is_another_membership_with_an_address_of_its_own(
    hosts: tuple[RealHost, RealHost],
) -> None:
    """Mail goes to the address that it names, and so does what comes back; each has its state."""
    ward, icu = hosts
    with sync.connect(url(ward)) as here, sync.connect(url(icu)) as there:
        nurse = here.agent("nurse")
        first, second = nurse.adopt(LAW), nurse.adopt(LAW, another=True)
        assert (first.address, second.address) == ("nurse@ward", "nurse~2@ward")
        assert nurse.adopt(LAW).address == "nurse@ward", "without `another` it finds the first"
        bob = there.agent("bob").adopt(LAW)
        twice = there.agent("twice").adopt(LAW, another=True)
        assert twice.address == "twice@icu", "nobody is the second before the first"

        assert not first.send("note(one)", to="bob@icu").refused
        assert first.send("note(more)", to="bob@icu").refused, "its quota is used up"
        assert not second.send("note(two)", to="bob@icu").refused, "which is not the other's"
        inbox = bob.inbox()
        came = [next(inbox), next(inbox)]
        assert [(one.sender, one.message) for one in came] == [
            ("nurse@ward", t.note("one")),
            ("nurse~2@ward", t.note("two")),
        ]
        bob.send("note(back)", to="nurse~2@ward")
        assert next(second.inbox()).message == t.note("back")
        assert first.receive_nowait() is None
        assert [one.standing().state for one in (first, second)] == [(t.left(0),)] * 2

        third = nurse.adopt(LAW, another=True)
        third.send("note(gone)", to="bob~7@icu")
        lost = t.lost(t.note("gone"), "bob~7@icu", "lawMismatch")
        assert next(third.inbox()).message == lost, (
            "the exception is at the controller that sent it"
        )

        there.agent("stranger").send("hello", to="nurse@ward")
        for one in (first, second, third):  # each law rules on what comes from outside
            assert next(one.inbox()).message == t.outside("hello", one.address)
        third.quit()
        with pytest.raises(NotAMember):
            third.standing()
        assert second.standing().told


def test_3_1_both_memberships_go_along_on_a_move_and_come_back_after_a_crash(
    hosts: tuple[RealHost, RealHost], tmp_path: Path
) -> None:
    """With their states and with the mail that waits for each of them."""
    ward, icu = hosts
    attic = RealHost("attic", tmp_path, "--insecure", "--join", ward.address)
    start(attic)
    with sync.connect(url(icu)) as there:
        with sync.connect(url(attic)) as here:
            nomad = here.agent("nomad")
            nomad.adopt(LAW)
            nomad.adopt(LAW, another=2).send("note(one)", to="bob@icu")
        attic.end(9)
        attic = RealHost("attic", tmp_path, "--insecure", "--join", ward.address, port=attic.port)
        start(attic)
        sender = there.agent("sender").adopt(LAW)
        sender.send("note(waits)", to="nomad~2@attic")
        with sync.connect(url(attic)) as here:
            nomad = here.agent("nomad")
            second = nomad.adopt(LAW, another=2)
            assert second.ruling is None, "it was found again"
            assert second.standing().state == (t.left(0),)
            assert next(second.inbox()).message == t.note("waits")
            assert nomad.adopt(LAW).standing().state == (t.left(1),)
            nomad.system.read("host", "ward", "connected", timeout=WAIT_S)
            nomad.move("ward")
            assert second.standing().state == (t.left(0),)
            other = there.agent("other").adopt(LAW)
            other.send("note(after)", to="nomad~2@attic")
            assert next(second.inbox()).message == t.note("after")
            assert not nomad.adopt(LAW).send("note(first)", to="other@icu").refused
            assert second.send("note(no)", to="other@icu").refused
    end(attic)


def test_3_1_another_membership_over_http_and_on_the_command_line(
    hosts: tuple[RealHost, RealHost],
) -> None:
    ward, _ = hosts
    agent = "/v1/agents/web@ward"
    law = LAW.tree.source.text
    http(ward, f"{agent}/communities", {"text": law})
    told = http(ward, f"{agent}/communities", {"law": LAW.hash, "another": True})
    assert told["address"] == "web~2@ward"
    both = http(ward, f"{agent}/communities")
    assert [(one["address"], one["key"]) for one in both] == [
        ("web@ward", LAW.hash),
        ("web~2@ward", f"{LAW.hash}~2"),
    ]
    sent = http(
        ward, f"{agent}/communities/{LAW.hash}/send", {"message": "note(x)", "to": "web~2@ward"}
    )
    assert not sent["refused"]
    got = http(ward, f"{agent}/communities/{LAW.hash}~2/inbox?wait=20")
    assert [(one["sender"], one["message"]) for one in got["letters"]] == [
        ("web@ward", {"term": "note(x)"})
    ]
    line = [sys.executable, "-m", "nomospace.cli", "agent", "ls", "--host", url(ward)]
    shown = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "quota, quota~2" in next(one for one in shown.splitlines() if "web@ward" in one)


def test_3_1_numbers_and_names_that_cannot_be(hosts: tuple[RealHost, RealHost]) -> None:
    ward, _ = hosts
    with sync.connect(url(ward)) as here:
        with pytest.raises(IsAnAddress):
            here.agent("nurse~2")
        with pytest.raises(NoSuchNumber):
            here.agent("eve").adopt(LAW, another=1_000)
