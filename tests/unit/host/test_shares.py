"""What one agent and one community may have of a host: past it they are told, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.requests import (
    TAKE,
    TAKE_NOWAIT,
    Adopt,
    Open,
    Out,
    OutMany,
    React,
    Seek,
    Share,
    Tell,
)
from nomospace.host.calls import Arrive, Call
from nomospace.host.core import Host
from nomospace.host.effects import Answer
from nomospace.host.shares import (
    CHECK_EVERY,
    Shares,
    TooManyLaws,
    TooManyMemberships,
    TooManyReactions,
    TooManyReceivers,
    TooManyRowsAtOnce,
    TooManyTuples,
    TooManyWaiting,
)
from nomospace.law import load
from nomospace.terms.templates import ANY, Template

OPEN = "R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."
LAWS = [load(f"law(l{n}). {OPEN}", f"l{n}.law") for n in range(3)]
JOB = Template.of(("job", ANY))


class Shared:
    """A host with narrow shares and two agents."""

    def __init__(self, **shares: int) -> None:
        self.core = Host("a", life=1, now=0, shares=Shares(**shares))
        self.op = 0
        for agent in ("ann@a", "bob@a"):
            self.core.handle(Arrive(agent), now=0)
            self.ask(agent, Open("jobs"))
            self.ask(agent, Share(("jobs",)))

    def ask(self, agent: str, request: Any) -> Any:
        """The error that a call is answered with, or its value; nothing while it waits."""
        self.op += 1
        for effect in self.core.handle(Call(self.op, agent, request), now=0):
            if isinstance(effect, Answer) and effect.op == self.op:
                return effect.error or effect.value
        return None


def test_tuples_of_an_agent() -> None:
    host = Shared(agent_tuples=2 * CHECK_EVERY)
    for number in range(2 * CHECK_EVERY):
        assert host.ask("ann@a", Out("jobs", ("job", number))) is None
    refused = [host.ask("ann@a", Out("jobs", ("job", n))) for n in range(CHECK_EVERY)]
    assert isinstance(refused[-1], TooManyTuples)
    assert refused[-1].code == "limits.tuples"
    assert "take some of them" in str(refused[-1])
    assert isinstance(host.ask("ann@a", OutMany("jobs", (("job", 0),))), TooManyTuples)
    assert host.ask("bob@a", Out("jobs", ("job", 0))) is None
    while True:  # what others take is no longer hers
        if host.ask("bob@a", Seek("jobs", TAKE_NOWAIT, JOB)) is None:
            break
    assert host.ask("ann@a", Out("jobs", ("job", 0))) is None


def test_bytes_of_an_agent() -> None:
    host = Shared(agent_bytes=1_000_000)
    found: Any = None
    written = 0
    while found is None:
        found = host.ask("ann@a", Out("jobs", ("job", "x" * 100_000)))
        written += 1
    assert isinstance(found, TooManyTuples)
    assert "bytes" in str(found)
    assert 10 <= written <= 13
    assert host.ask("bob@a", Out("jobs", ("job", "x" * 100_000))) is None


def test_waiting_operations_and_reactions_of_an_agent() -> None:
    host = Shared(agent_waiting=3, agent_reactions=2)
    asked = [host.ask("ann@a", Seek("jobs", TAKE, JOB)) for _ in range(4)]
    assert asked[:3] == [None] * 3
    assert isinstance(asked[3], TooManyWaiting)
    made = [host.ask("ann@a", React("jobs", JOB)) for _ in range(3)]
    assert isinstance(made[2], TooManyReactions)
    assert host.ask("bob@a", Seek("jobs", TAKE, JOB)) is None
    assert isinstance(host.ask("bob@a", React("jobs", JOB)), str)


def test_communities_of_an_agent_and_members_of_a_community() -> None:
    host = Shared(agent_memberships=2, law_members=1)
    told = [host.ask("ann@a", Adopt(law)) for law in LAWS]
    assert isinstance(told[2], TooManyMemberships)
    assert "of ann@a" in str(told[2])
    full = host.ask("bob@a", Adopt(LAWS[0]))
    assert isinstance(full, TooManyMemberships)
    assert "members of l0" in str(full)
    assert not isinstance(host.ask("bob@a", Adopt(LAWS[2])), Exception)


def test_laws_of_a_host() -> None:
    host = Shared(laws=2)
    told = [host.ask("ann@a", Adopt(law)) for law in LAWS]
    assert isinstance(told[2], TooManyLaws)
    assert not isinstance(host.ask("bob@a", Adopt(LAWS[1])), Exception)


@pytest.mark.parametrize(
    ("share", "of"), [("agent_law_bytes", "laws of ann@a"), ("law_bytes", "laws at this host")]
)
def test_bytes_of_laws(share: str, of: str) -> None:
    texts = [len(law.tree.source.text) for law in LAWS[:2]]
    host = Shared(**{share: sum(texts)})
    told = [host.ask("ann@a", Adopt(law)) for law in LAWS]
    assert not isinstance(told[1], Exception)
    assert isinstance(told[2], TooManyLaws)
    assert of in str(told[2])
    other = host.ask("bob@a", Adopt(LAWS[2]))
    assert isinstance(other, TooManyLaws) == (share == "law_bytes")
    assert not isinstance(host.ask("bob@a", Adopt(LAWS[1])), Exception)  # it is at hand


def test_tuples_that_a_law_rules_on_in_one_call() -> None:
    host = Shared(batch_rows=3)
    host.ask("ann@a", Adopt(LAWS[0]))
    host.ask("ann@a", Open("ruled", LAWS[0]))
    rows = tuple([("job", n) for n in range(4)])
    refused = host.ask("ann@a", OutMany("ruled", rows))
    assert isinstance(refused, TooManyRowsAtOnce)
    assert refused.code == "limits.rows"
    assert host.ask("ann@a", OutMany("ruled", rows[:3])) is None
    assert host.ask("ann@a", OutMany("jobs", rows)) is None


def test_receivers_of_a_message() -> None:
    host = Shared(receivers=3, message_bytes=1_000)
    host.ask("ann@a", Adopt(LAWS[0]))
    law = LAWS[0].hash
    four = tuple([f"a{n}@a" for n in range(4)])
    assert isinstance(host.ask("ann@a", Tell(law, "hello", four)), TooManyReceivers)
    assert not isinstance(host.ask("ann@a", Tell(law, "hello", four[:3])), Exception)
    assert isinstance(host.ask("ann@a", Tell(law, "x" * 600, four[:2])), TooManyReceivers)
    assert not isinstance(host.ask("ann@a", Tell(law, "x" * 600, four[0])), Exception)
