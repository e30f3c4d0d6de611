"""`002_…` section 3.2, Figure 3: a producer and two consumers, with jobs of high priority.

The figure's reaction only performs the job; the prose says that the consumer removes the tuple and
performs it. We follow the prose, as two consumers would otherwise both do every such job.
"""

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.requests import Adjust, Out, Seek
from nomospace.calls.ways import Way
from nomospace.host.effects import Answer
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

PRODUCER, FIRST, SECOND = "producer@p", "consumer@a", "consumer@b"


class Consumer:
    """The figure's consumer: one job of its name at a time, and every priority job it can get."""

    def __init__(self, net: Hosts, id: str, name: str) -> None:
        self.net = net
        self.id = net.agent(id, "jobs")
        self.name = name
        self.done: list[str] = []
        self.reaction = net.react(id, "PRIORITY", str, then=self.react)
        self.next_job()

    def next_job(self) -> None:
        seek = Seek("jobs", Way.TAKE, Template.of((self.name, str)))
        self.net.call(self.id, seek, then=self.work)

    def work(self, answer: Answer) -> None:
        self.done.append(answer.value.fields[1])
        self.next_job()

    def react(self, found: Found) -> None:
        """Remove the tuple where it is; who has it performs the job."""
        seek = Seek("jobs", Way.TAKE_NOWAIT, Template.of(found.fields), at=found.source)
        self.net.call(self.id, seek, then=self.perform)

    def perform(self, answer: Answer) -> None:
        if answer.value is not None:
            self.done.append(answer.value.fields[1])
        elif answer.error is not None:
            # Contact was lost, and the tuple may be there still: react to it again.
            self.net.call(self.id, Adjust(self.reaction, "disable"))
            self.net.call(self.id, Adjust(self.reaction, "enable"))


@pytest.fixture
def net() -> Hosts:
    net = Hosts("pab", links="")
    net.agent(PRODUCER, "jobs")
    return net


def test_consumers_get_the_jobs_of_their_name_while_connected(net: Hosts) -> None:
    """The jobs written alone wait for a connection; each is done once, by who does its kind."""
    first, second = Consumer(net, FIRST, "A"), Consumer(net, SECOND, "B")
    for number in range(4):
        net.out(PRODUCER, "AB"[number % 2], f"job {number}")
    net.run(5)
    assert first.done == second.done == []
    net.join("pa ab")
    net.settle()
    for number in range(4, 8):
        net.out(PRODUCER, "AB"[number % 2], f"job {number}")
    net.run(2)
    assert sorted(first.done) == ["job 0", "job 2", "job 4", "job 6"]
    assert sorted(second.done) == ["job 1", "job 3", "job 5", "job 7"]
    net.cut("pa")
    net.settle()
    net.out(PRODUCER, "A", "job 8")
    net.run(5)
    assert "job 8" not in first.done


def test_a_job_sent_to_a_consumer_can_be_done_after_parting(net: Hosts) -> None:
    """`out[Consumer(1)]`: the migration lets it be processed when the producer is gone."""
    net.agent(FIRST, "jobs")
    net.out(PRODUCER, "A", "sent early", to=FIRST)
    net.join("pa")
    net.settle()
    net.out(PRODUCER, "A", "sent", to=FIRST)
    net.out(PRODUCER, "A", "kept")
    net.run(1)
    net.cut("pa")
    net.settle()
    assert sorted(net.seek(FIRST, "take_all", "A", str)) == [("A", "sent"), ("A", "sent early")]


def test_priority_jobs_are_removed_and_performed_once(net: Hosts) -> None:
    """By either consumer, as soon as connectivity allows, and never by both."""
    first, second = Consumer(net, FIRST, "A"), Consumer(net, SECOND, "B")
    net.join("pa pb")
    net.settle()
    urgent = [f"urgent {number}" for number in range(10)]
    for name in urgent:
        net.out(PRODUCER, "PRIORITY", name)
        net.run(0.1)
    net.run(1)
    assert sorted(first.done + second.done) == sorted(urgent)
    assert net.held(PRODUCER, "PRIORITY", str) == []


def test_priority_jobs_written_alone_are_performed_when_connectivity_is_back(net: Hosts) -> None:
    """Once, too, when both consumers meet the producer in the same engagement."""
    first, second = Consumer(net, FIRST, "A"), Consumer(net, SECOND, "B")
    urgent = [f"urgent {number}" for number in range(10)]
    for name in urgent:
        net.out(PRODUCER, "PRIORITY", name)
    net.run(5)
    assert first.done == second.done == []
    net.join("pa ab")
    net.settle()
    net.run(1)
    assert sorted(first.done + second.done) == sorted(urgent)
    assert net.held(PRODUCER, "PRIORITY", str) == []


def test_priority_jobs_survive_links_that_come_and_go(net: Hosts) -> None:
    """What is removed is performed by the one that removed it, however often contact breaks."""
    first, second = Consumer(net, FIRST, "A"), Consumer(net, SECOND, "B")
    urgent: list[str] = []
    net.join("pa")
    for turn in range(6):
        links = ("pa", "pb")
        net.cut(links[turn % 2])
        net.join(links[1 - turn % 2])
        for number in range(3):
            urgent.append(f"urgent {turn}.{number}")
            net.call(PRODUCER, Out("jobs", ("PRIORITY", urgent[-1])))
            net.run(1.7)
    net.join("ab")
    net.settle()
    net.run(1)
    assert sorted(first.done + second.done) == sorted(urgent)
    assert net.held(PRODUCER, "PRIORITY", str) == []
    assert first.done
    assert second.done
