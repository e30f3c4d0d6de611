"""`000_…` sections 3.2 and 3.3 on real hosts: a community and those outside of it.

Hosts are processes with sockets and stores of their own. What a law releases really leaves; what an
outsider sends to a member is for the law of that member.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from nomospace import Law, sync, t
from nomospace.calls.problems import NotAMember
from nomospace.client import Letter
from tests.nursery import start as nursery
from tests.real.hosts import RealHost, end, start

WAIT_S = 60.0
LAW = Law.load(
    """\
law(outside).
R1. sent(_, tell(M, To), _) :- do(release(M, To)).
R2. sent(_, _, _) :- do(forward).
R3. arrived(_, _, _) :- do(deliver).
R4. submitted(From, ask(M), _) :- do(deliver(From, asked(M), Self)), do(release(heard(M), From)).
R6. quit :- do(release(bye, 'porter@icu')).
R5. exception(release(M, To), Why) :- do(deliver(Self, stays(M, To, Why), Self)).
"""
)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealHost, RealHost]]:
    """Two hosts of one group."""
    assert callable(nursery)
    folder = tmp_path_factory.mktemp("outside")
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


def test_3_2_release_brings_a_message_to_an_agent_outside_the_community(
    hosts: tuple[RealHost, RealHost],
) -> None:
    """And what cannot be released is an exception: nobody is told more than is so."""
    ward, icu = hosts
    with sync.connect(url(ward)) as here, sync.connect(url(icu)) as there:
        member, ann = here.agent("ann").adopt(LAW), there.agent("out")
        ruling = member.send("tell(hello, 'out@icu')", to="ann@ward")
        assert (ruling.refused, ruling.verdict) == (False, "released by R1")
        assert next(ann.inbox()) == Letter("ann@ward", "hello")
        member.send("tell(hello, 'nobody@icu')", to="ann@ward")
        stays = t.stays("hello", "nobody@icu", "unknownDestination")
        assert next(member.inbox()).message == stays


def test_3_3_a_message_of_an_outsider_is_submitted_to_the_law_of_the_member(
    hosts: tuple[RealHost, RealHost],
) -> None:
    """What the law does not let in is not delivered, neither to the membership nor as mail."""
    ward, icu = hosts
    with sync.connect(url(ward)) as here, sync.connect(url(icu)) as there:
        bob = here.agent("bob")
        member, out = bob.adopt(LAW), there.agent("guest")
        out.send("secret(1)", to="bob@ward")
        out.send("ask(2)", to="bob@ward")
        assert next(member.inbox()) == Letter("guest@icu", t.asked(2))
        assert next(out.inbox()) == Letter("bob@ward", t.heard(2))
        assert bob.receive_nowait() is None
        assert member.receive_nowait() is None


def test_3_2_a_member_that_quits_is_heard_once_more_and_comes_back_as_a_new_one(
    hosts: tuple[RealHost, RealHost],
) -> None:
    ward, icu = hosts
    with sync.connect(url(ward)) as here, sync.connect(url(icu)) as there:
        dan, porter = here.agent("dan"), there.agent("porter")
        member = dan.adopt(LAW)
        assert member.quit().rule == "R6"
        assert next(porter.inbox()) == Letter("dan@ward", "bye")
        assert list(member.inbox()) == []
        with pytest.raises(NotAMember):
            member.send("hello", to="ann@ward")
        porter.send("ask(1)", to="dan@ward")  # to no member: plain mail
        assert next(dan.inbox()).message == t.ask(1)
        assert dan.adopt(LAW).ruling is not None


def test_plain_mail_waits_for_its_agent_follows_it_and_comes_back_if_nobody_is_there(
    hosts: tuple[RealHost, RealHost],
) -> None:
    ward, icu = hosts
    with sync.connect(url(ward)) as here:
        eve = here.agent("eve")
        eve.send("hello(1)", to="nobody@ward")
        lost = t.undelivered(t.hello(1), "nobody@ward", "unknownDestination")
        assert next(eve.inbox()) == Letter("", lost)
        with sync.connect(url(icu), hosts={"ward": url(ward)}) as there:
            kim = there.agent("kim")
            eve.send("hello(1)", to="kim@icu")
            assert next(kim.inbox()) == Letter("eve@ward", t.hello(1))
            kim.move("ward")
            eve.send("hello(2)", to="kim@icu")
            assert next(kim.inbox()) == Letter("eve@ward", t.hello(2))
        eve.send("hello(3)", to="kim@icu")  # nobody speaks for kim now
    sent = http(ward, "/v1/agents/web@ward/send", {"to": "kim@icu", "message": "hello(4)"})
    assert sent == {"to": "kim@icu"}
    line = ["agent", "inbox", "kim@icu", "--wait", "10", "--host", url(ward)]
    done = subprocess.run(
        [sys.executable, "-m", "nomospace.cli", *line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "eve@ward: hello(3)\nweb@ward: hello(4)\n", done.stderr
    line = ["agent", "send", "kim@icu", "web@ward", "thanks", "--host", url(ward)]
    subprocess.run([sys.executable, "-m", "nomospace.cli", *line], timeout=60, check=True)
    letters = http(ward, "/v1/agents/web@ward/inbox?wait=10")["letters"]
    assert [(one["sender"], one["message"]) for one in letters] == [("kim@icu", "thanks")]
