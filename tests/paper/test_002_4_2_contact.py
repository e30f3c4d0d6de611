"""`002_…` 4.2 on hosts of their own: groups by position and by announcement, from outside.

Three processes: `ward` and `icu` engage by position, `lab` by announcement. They are told where
they are, to engage and to leave, by clients, over HTTP and on the command line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from nomospace import sync
from nomospace.cli import main
from nomospace.client.remote import RemoteHost
from nomospace.errors import CallerError
from nomospace.wire.admin import Doctor
from tests.real.hosts import RealHost, caller, end, play, start

WALKS = ("--policy", "position", "--range-m", "100", "--speed-max", "2")
"""With a loss of one second this is a safe distance of 70 m, and links are taken up at 66.5."""
SEEN_S = 60.0
Hosts = dict[str, RealHost]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("contact")
    ward = RealHost("ward", folder, "--insecure", *WALKS, "--position", "0,0")
    icu = RealHost(
        "icu", folder, "--insecure", *WALKS, "--join", ward.address, "--api", "127.0.0.1:0"
    )
    lab = RealHost(
        "lab", folder, "--insecure", "--policy", "announced", "--position", "0,5", "--join",
        ward.address,
    )  # fmt: skip
    all_three = {"ward": ward, "icu": icu, "lab": lab}
    start(*all_three.values())
    yield all_three
    end(*all_three.values())


def post(host: RealHost, what: str, body: object = None) -> Any:
    """What a device posts to its host over HTTP."""
    request = Request(
        f"{host.said['api']}/v1/contact/{what}",
        json.dumps(body).encode() if body is not None else b"",
        {"Authorization": f"Bearer {host.said['api_token']}", "Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=SEEN_S) as answer:
            return json.load(answer)
    except HTTPError as error:
        with error:
            return json.load(error)


async def one_group(host: RemoteHost, *members: str) -> None:
    """Wait until a host's group is this one."""
    async with asyncio.timeout(SEEN_S):
        while (await host.contact()).members != members:
            await asyncio.sleep(0.02)


async def linked(host: RemoteHost, *others: str) -> None:
    """Wait until frames go to and fro: who does not engage then does not want to."""
    async with asyncio.timeout(SEEN_S):
        while True:
            found = next(one.found for one in await host.ask(Doctor()) if one.what == "links")
            if all(name in found for name in others):
                return
            await asyncio.sleep(0.02)


def test_4_2_hosts_engage_within_the_safe_distance_and_part_before_they_are_out_of_range(
    hosts: Hosts,
) -> None:
    async def story() -> None:
        async with caller(hosts["ward"], None) as ward, caller(hosts["icu"], None) as icu:
            await linked(ward, "icu")
            here = await (await ward.agent("ann")).space("jobs", shared=True)
            there = await (await icu.agent("bob")).space("jobs", shared=True)
            await there.out("job", 17)
            far = await asyncio.to_thread(post, hosts["icu"], "position", {"position": [500, 0]})
            assert far == {"host": "icu", "willing": True, "position": [500, 0], "members": ["icu"]}
            assert await here.read_nowait("job", int) is None  # in range of TCP, not of the policy

            waits = asyncio.create_task(here.read("job", int, timeout=SEEN_S))
            await asyncio.to_thread(post, hosts["icu"], "position", {"position": [60, 0]})
            await one_group(ward, "icu", "ward")
            assert await waits == ("job", 17)

            await icu.moved(69, 0)  # a link is held a little longer than it would be taken up
            assert (await icu.contact()).members == ("icu", "ward")
            await icu.moved(75, 0)
            await one_group(ward, "ward")
            await one_group(icu, "icu")
            assert await here.read_nowait("job", int) is None

    play(story())


def test_4_2_hosts_engage_and_leave_by_announcement(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def host(what: str, name: str, *words: str) -> str:
        assert main(["host", what, "--host", f"nomos+plain://{hosts[name].address}", *words]) == 0
        return capsys.readouterr().out

    assert host("contact", "lab") == (
        "lab is in contact with nobody; it is at 0, 5; it engages when it is told to\n"
    )
    host("engage", "lab")

    async def story() -> None:
        async with caller(hosts["ward"], None) as ward, caller(hosts["lab"], None) as lab:
            await one_group(ward, "lab", "ward")
            jobs = await (await lab.agent("cid")).space("jobs", shared=True)
            await jobs.out("job", 18)
            here = await (await ward.agent("ann")).space("jobs", shared=True)
            assert await here.read("job", 18, timeout=SEEN_S) == ("job", 18)

            left = await ward.disengage()  # also one that engages by position leaves by its will
            assert (left.willing, left.members) == (False, ("ward",))
            await one_group(lab, "lab")
            assert await here.read_nowait("job", 18) is None
            await ward.engage()
            await one_group(ward, "lab", "ward")

    play(story())
    assert host("disengage", "lab").startswith("lab is in contact with nobody")
    assert json.loads(host("contact", "ward", "--json"))["members"] == ["ward"]


def test_4_2_a_position_that_is_no_place(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for place in (["here", "there"], ["1"], ["1", "2", "3", "4"], ["nan", "1"], ["1e13", "0"]):
        url = f"nomos+plain://{hosts['ward'].address}"
        assert main(["host", "position", "--host", url, *place]) == 2
        assert "is no position; give two or three finite numbers" in capsys.readouterr().err
    answer = post(hosts["icu"], "position", {"position": [1]})
    assert answer["code"] == "policy.not-a-position"

    async def story() -> None:
        async with caller(hosts["ward"], None) as ward:
            with pytest.raises(CallerError) as refused:
                await ward.moved(float("inf"), 0)
            assert refused.value.code == "policy.not-a-position"
            assert (await ward.contact()).position == (0, 0)
            assert (await ward.moved(-1, 2, 3)).position == (-1, 2, 3)
            assert (await ward.moved(0, 0)).position == (0, 0)

    play(story())
    told = ("run", "x", "--insecure", "--policy")
    for flags, words in (
        (("near",), "--policy: 'near' is no policy; use reachable, announced, position"),
        (("position",), "leaves a safe distance of 0 m"),
        (("announced", "--position", "1"), "--position: (1.0,) is no position"),
    ):
        assert main(["host", *told, *flags]) == 2
        assert words in capsys.readouterr().err


def test_4_2_a_host_says_where_it_is_through_the_blocking_client(hosts: Hosts) -> None:
    with sync.connect(f"nomos+plain://{hosts['lab'].address}") as lab:
        assert lab.moved(3, 4).position == (3, 4)
        assert lab.contact().host == "lab"
