"""What was taken for a program that never got it lies in its space again, laws or not."""

import asyncio
from pathlib import Path

import pytest

from nomospace import ANY, Host, Law, t
from nomospace.calls.problems import NotOpen, Refused
from nomospace.calls.requests import Adopt, Open, Out, Seek, Share
from nomospace.calls.ways import Way
from nomospace.client import Report, Space
from nomospace.host.calls import PutBack
from nomospace.law import load
from nomospace.laws import path
from nomospace.store.opening import open_store
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

MP = load(path("mp").read_text("utf-8"))
ANN, BOB = "ann@a", "bob@a"
LETTER = (t.msg(1), t["from"](ANN), t.to(BOB))
PATTERN = Template.of((t.msg(ANY), t["from"](ANY), t.to(BOB)))


def post_office() -> Hosts:
    net = Hosts("a", laws=[MP])
    for agent in (ANN, BOB):
        net.agent(agent)
        net.ask(agent, Adopt(MP))
        net.ask(agent, Open("post", MP))
        net.ask(agent, Share(("post",), True))
    return net


def test_a_taker_who_could_not_have_written_it_gets_it_again() -> None:
    net = post_office()
    net.ask(ANN, Out("post", LETTER))
    assert net.ask(BOB, Seek("post", Way.TAKE, PATTERN)).fields == LETTER
    with pytest.raises(Refused):
        net.ask(BOB, Out("post", LETTER))
    net.ask(BOB, PutBack("post", LETTER))
    assert net.ask(BOB, Seek("post", Way.TAKE, PATTERN)).fields == LETTER


def test_its_law_may_refuse_that_too() -> None:
    net = post_office()
    with pytest.raises(Refused):
        net.ask(ANN, PutBack("post", LETTER))  # it is for Bob, so it was not taken for Ann
    with pytest.raises(NotOpen):
        net.ask(ANN, PutBack("jobs", LETTER))


def test_a_governed_take_that_is_cancelled_while_its_answer_waits_for_the_disk(
    tmp_path: Path,
) -> None:
    async def program() -> None:
        law = Law.load(path("mp"))
        reports: list[Report] = []
        store = open_store(str(tmp_path / "a.db"))
        async with Host("a", store=store, on_report=reports.append) as host:
            spaces: list[Space] = []
            for name in ("ann", "bob"):
                agent = await host.agent(name)
                await agent.adopt(law)
                spaces.append(await agent.space("post", shared=True, law=law))
            pattern = (t.msg(ANY), t["from"](ANY), t.to(BOB))
            waiting = asyncio.ensure_future(spaces[1].take(*pattern))
            await asyncio.sleep(0.05)
            writing = asyncio.ensure_future(spaces[0].out(*LETTER))
            await asyncio.sleep(0)  # the letter is taken, and nobody may know before it is on disk
            waiting.cancel()
            await writing
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await spaces[1].take(*pattern, timeout=60) == LETTER
        assert not [one for one in reports if "put back" in one.what]

    asyncio.run(program())
