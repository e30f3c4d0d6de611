"""A story over three hosts that are processes: an alarm, a hold, a duty, a move, and the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from nomospace.client.membership import Membership
from nomospace.client.remote import RemoteAgent
from nomospace.law import load
from nomospace.terms import term
from tests.ports import free_port
from tests.real.hosts import RealHost, caller, end, play, seen, start

LAW: Final = load((Path(__file__).parent / "storied.law").read_text(), "storied.law")
HOSTS: Final = {"ward": "outline", "icu": "all", "lab": "outline"}
"""What each tells the others."""


class Sites:
    """Three hosts that keep everything, and can be started again where they were."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = {name: free_port() for name in HOSTS}
        self.hosts: dict[str, RealHost] = {}

    def start(self) -> None:
        for name, peers in HOSTS.items():
            others = [f"127.0.0.1:{port}" for other, port in self._ports.items() if other != name]
            config = self._folder / f"{name}.toml"
            config.write_text(
                f'[host]\njoin = {json.dumps(others)}\nstore = "{name}.db"\n'
                f'[journal]\nfolder = "{name}-journal"\nseconds = 2\npeers = "{peers}"\n'
            )
            words = ("--insecure", "--config", str(config), "--api", "127.0.0.1:0")
            self.hosts[name] = RealHost(name, self._folder, *words, port=self._ports[name])
        start(*self.hosts.values())

    def end(self) -> None:
        end(*self.hosts.values())

    def ask(self, name: str, path: str) -> Any:
        """What the API of a host answers its operator."""
        said = self.hosts[name].said
        headers = {"authorization": f"Bearer {said['api_token']}"}
        with urlopen(Request(f"{said['api']}{path}", headers=headers), timeout=60) as answer:
            return json.load(answer)

    async def engaged(self) -> None:
        """Wait until they are one group."""

        def together() -> bool:
            views = [self.ask(name, "/v1/topology")["hosts"] for name in HOSTS]
            return all(len(hosts) == len(HOSTS) for hosts in views)

        await seen(together, lambda: "the hosts do not engage")

    def story(self, name: str, about: str) -> dict[str, Any]:
        """A story, as a host tells it."""
        told: dict[str, Any] = self.ask(name, f"/v1/story?about={quote(about)}")
        return told

    def forgotten(self, name: str, record: int) -> bool:
        """Whether the store of a host has a record no more: a segment has it."""
        kept = self.ask(name, "/v1/journal?after=1&limit=1")["records"]
        return not kept or kept[0]["seq"] > record

    async def sealed(self, story: dict[str, Any]) -> None:
        """Wait until segments alone have what a story tells of; stores forget as they write."""
        last = {step["host"]: step["record"] for step in story["steps"]}
        for name, record in last.items():
            async with caller(self.hosts[name], None) as host:
                jobs = await (await host.agent("clerk")).space("jobs")
                async with asyncio.timeout(60):
                    # Seldom: what is written is sealed too, each time by a process of its own.
                    while not await asyncio.to_thread(self.forgotten, name, record):
                        await jobs.out("job")
                        await asyncio.sleep(1)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    made = Sites(tmp_path)
    made.start()
    yield made
    made.end()


async def hear(member: Membership, message: str) -> None:
    """Wait for the next letter; it is this one."""
    async with asyncio.timeout(60):
        async for letter in member.inbox():
            assert letter.message == term(message)
            return


async def play_alarm(sites: Sites) -> None:
    """An alarm of ann's at ward, by a mediator at icu, to rita of lab, who answers from ward."""
    hosts = sites.hosts
    async with (
        caller(hosts["ward"], None) as ward,
        caller(hosts["icu"], None) as icu,
        caller(hosts["lab"], None) as lab,
    ):
        ann, med, rita = await ward.agent("ann"), await icu.agent("med"), await lab.agent("rita")
        assert isinstance(rita, RemoteAgent)
        informs = await ann.adopt(LAW)
        passes = await med.adopt(LAW)
        answers = await rita.adopt(LAW)
        await sites.engaged()
        await informs.send("alarm(fire, room(7))", to="med@icu")
        await hear(passes, "alarm(fire, room(7))")
        assert (await passes.send("notify(alarm(fire, room(7)))", to="rita@lab")).held
        await hear(answers, "notify(alarm(fire, room(7)))")
        await rita.move("ward")
        moved = rita.membership(LAW)
        assert moved is not None
        assert (await moved.send("done(alarm(fire, room(7)))", to="ann@ward")).rule == "R5"
        await hear(informs, "done(alarm(fire, room(7)))")


TOLD: Final = [
    # lane, host, kind, rule, how it came of the step before, whether that is certain
    ("ann@ward", "ward", "sent", "R1", None, None),
    ("med@icu", "icu", "arrived", "R6", "sent", True),
    ("med@icu", "icu", "sent", "R2", "after", False),
    ("med@icu", "icu", "obligationDue", "R3", "held", True),
    ("rita@lab", "lab", "arrived", "R4", "sent", True),
    ("rita@lab", "lab", "departed", "", "after", False),
    ("rita@lab", "ward", "came", "", "moved", True),
    ("rita@lab", "ward", "sent", "R5", "met", True),
    ("ann@ward", "ward", "arrived", "R6", "sent", True),
]


def outline(story: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The steps of a story in few words."""
    found: list[tuple[Any, ...]] = []
    for step in story["steps"]:
        causes = sorted(step["causes"], key=lambda link: not link["sure"])
        how, sure = (causes[0]["how"], causes[0]["sure"]) if causes else (None, None)
        found.append((step["lane"], step["host"], step["kind"], step["rule"], how, sure))
    return found


def test_a_story_over_three_hosts_survives_sealing_and_a_restart(sites: Sites) -> None:
    play(play_alarm(sites))
    rulings = sites.ask("ward", "/v1/rulings?limit=1000")["rulings"]
    sent = next(one for one in rulings if one["kind"] == "sent" and one["home"] == "ann@ward")
    about = f"ward/{sent['record']}"
    fresh = sites.story("ward", about)
    assert outline(fresh) == TOLD
    assert fresh["hosts"] == ["ward", "icu", "lab"]
    assert fresh["lanes"] == [
        {"name": "ann@ward", "hosts": ["ward"]},
        {"name": "med@icu", "hosts": ["icu"]},
        {"name": "rita@lab", "hosts": ["lab", "ward"]},
    ]
    alarm, came, held, passed, duty, left, moved, done, back = fresh["steps"]
    # icu tells all; lab, whose words are not for other hosts, says who and when.
    assert came["text"] == "arrived('ann@ward',alarm(fire,room(7)),'med@icu')"
    assert (duty["hidden"], duty["text"], duty["operations"]) == (True, "", [])
    assert left["hidden"]
    assert not any(step["hidden"] for step in (alarm, came, held, passed, moved, done, back))
    assert fresh["left"] == [
        "hosts that do not tell others the words of their journals left them out"
    ]
    assert (came["path"], came["hops"]) == (["ward"], 1)
    assert held["held"]
    assert held["until"] == passed["at"] >= held["at"] + 300_000
    assert passed["took"] == passed["at"] - held["at"]
    assert (left["path"], moved["path"], duty["until"]) == (["ward"], ["lab"], done["at"])
    assert moved["took"] == moved["at"] - left["at"]
    # From its end it is the same story, and from another host, to whom others' words are hidden.
    assert outline(sites.story("ward", f"ward/{back['record']}")) == TOLD
    elsewhere = sites.story("lab", about)
    assert outline(elsewhere) == TOLD
    assert [step["hidden"] for step in elsewhere["steps"]] == [
        step["host"] == "ward" for step in elsewhere["steps"]
    ]

    play(sites.sealed(fresh))
    assert sites.story("ward", about) == fresh
    sites.end()
    sites.start()
    play(sites.engaged())
    assert all(sites.forgotten(step["host"], step["record"]) for step in fresh["steps"])
    assert sites.story("ward", about) == fresh
    with pytest.raises(HTTPError, match="404"):
        sites.story("ward", "ward/999999")
