"""Work on what others wrote: within limits, in turns, beside the loop."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from nomospace.calls.requests import LawText
from nomospace.host.calls import Event, Heard
from nomospace.host.moving import MayCome
from nomospace.law import load
from nomospace.law.canon import law_hash
from nomospace.law.parts import LAW_BYTES_MAX, LawTooLong
from nomospace.law.program import known
from nomospace.laws import path
from nomospace.node import Host, worker
from nomospace.node.driver import brought
from nomospace.node.working import TooManyJobs, WorkerLost, Workers, WorkTooLarge
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.messages import Relay
from nomospace.terms import Faulty, Source

T = TypeVar("T")


def run(ask: Callable[[Workers], Awaitable[T]], **limits: int) -> T:
    async def asking() -> T:
        work = Workers(**{"wall_s": 600, **limits})
        try:
            return await ask(work)
        finally:
            await work.close()

    return asyncio.run(asking())


def fresh(text: str) -> Source:
    """A text that nobody in this process has read: whose result is remembered for all."""
    fresh.count += 1  # type: ignore[attr-defined]
    return Source(f"{text} % {fresh.count}", "fresh.law")  # type: ignore[attr-defined]


fresh.count = 0  # type: ignore[attr-defined]


def test_a_law_is_the_same_as_one_compiled_here_and_costs_one_job() -> None:
    text = path("ap").read_text("utf-8") + "% once more"

    async def ask(work: Workers) -> None:
        law, again = await asyncio.gather(
            work.law(text, "ap.law", "ann"), work.law(text, "ap.law", "bob")
        )
        here = load(text, "other name")
        assert law is again is known(Source(text, "ap.law")) is load(text, "ap.law")
        assert law.hash == here.hash == law_hash(law.tree)
        assert (law.rule_names, law.initial) == (here.rule_names, here.initial)
        assert law.compiled_rules == here.compiled_rules
        assert list(law.rulers) == list(here.rulers)
        assert (work.jobs, work.started) == (1, 1)

    run(ask)


def test_the_loop_goes_on_between_parts() -> None:
    rules = [f"sent(X, m{n}(A), Y) :- own(A)@CS, do(forward).\n" for n in range(100)]
    source = fresh(f"law(many).\n{''.join(rules)}")

    async def ask(work: Workers) -> int:
        turns = 0
        task = asyncio.ensure_future(work.law(source.text, source.name, "ann"))
        while not task.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert len((await task).tree.rules) == 100
        return turns

    assert run(ask) > 5


def test_a_process_stands_back_further_once_a_job_takes_long() -> None:
    goals = ", ".join(["(X = a ; Y = b)"] * 7)
    rules = [f"sent(X, m{n}, Y) :- {goals}, do(forward).\n" for n in range(320)]
    short, long = fresh("law(l)."), fresh(f"law(dear).\n{''.join(rules)}")

    async def ask(work: Workers) -> None:
        for source, stands_back in ((short, worker.NICE), (long, worker.NICE_LONG)):
            await work.law(source.text, source.name, "ann")
            (one,) = work._idle
            nice = os.getpriority(os.PRIO_PROCESS, one._process.pid)
            assert nice == min(19, os.getpriority(os.PRIO_PROCESS, 0) + stands_back)

    run(ask)


def test_what_a_text_is_found_to_be_is_remembered_also_when_it_is_no_law() -> None:
    source = fresh("law(l). sent(X, M, Y) :- do(forwrad).")

    async def ask(work: Workers) -> None:
        for _ in range(3):
            with pytest.raises(Faulty, match="forwrad"):
                await work.law(source.text, source.name, "ann")
        assert work.jobs == 1
        with pytest.raises(Faulty):
            load(source.text, source.name)

    run(ask)


def test_a_text_that_is_too_long_is_not_even_read() -> None:
    async def ask(work: Workers) -> None:
        with pytest.raises(LawTooLong, match=f"{LAW_BYTES_MAX:,}") as caught:
            await work.law("%" * (LAW_BYTES_MAX + 1), "long.law", "ann")
        assert caught.value.code == "limits.law-text"
        assert work.jobs == 0

    run(ask)


def test_a_rule_that_is_too_long_is_a_fault_with_its_place() -> None:
    goals = ", ".join([f"Z{n} = X" for n in range(3_000)])
    source = fresh(f"law(l).\nsent(X, M, Y) :- {goals}, do(forward).")

    async def ask(work: Workers) -> None:
        with pytest.raises(Faulty, match=r"fresh.law:2:1: error \[law-too-long\]"):
            await work.law(source.text, source.name, "ann")

    run(ask)


def test_a_job_that_takes_too_much_costs_its_process_and_nothing_else() -> None:
    rules = [f"sent(X, m{n}(A), Y) :- own(A)@CS, do(forward).\n" for n in range(2_000)]
    large, small = fresh(f"law(many).\n{''.join(rules)}"), fresh("law(l). quit.")

    async def ask(work: Workers) -> None:
        with pytest.raises(WorkTooLarge) as caught:
            await work.law(large.text, large.name, "ann")
        assert caught.value.code == "limits.work"
        with pytest.raises(WorkTooLarge):
            await work.law(large.text, large.name, "ann")
        assert (await work.law(small.text, small.name, "ann")).name == "l"
        assert (work.jobs, work.started) == (2, 2)

    run(ask, memory=40 << 20)


def test_who_waits_gets_a_process_in_turns() -> None:
    done: list[str] = []

    async def ask(work: Workers) -> None:
        async def one(who: str) -> None:
            source = fresh("law(l). quit.")
            await work.law(source.text, source.name, who)
            done.append(who)

        hasty = [asyncio.create_task(one("hasty")) for _ in range(5)]
        await asyncio.sleep(0)
        await one("ann")
        assert done.count("hasty") <= 2
        await asyncio.gather(*hasty)
        assert work.started == 1

    run(ask, workers_max=1)


def test_too_many_jobs_are_refused_and_all_end_with_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.node.working.JOBS_WAITING_MAX", 2)

    async def ask(work: Workers) -> None:
        sources = [fresh("law(l). quit.") for _ in range(4)]
        tasks = [asyncio.create_task(work.law(one.text, one.name, "ann")) for one in sources]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(TooManyJobs, match="wait for answers"):
            await tasks[3]
        await work.close()
        for task in tasks[:3]:
            with pytest.raises((WorkerLost, WorkTooLarge, asyncio.CancelledError)):
                await task

    run(ask)


def test_frames_of_other_hosts_wait_for_the_laws_that_they_bring() -> None:
    """An agent that would come is answered when its laws were read, beside the loop."""
    good, bad = fresh("law(l). quit."), fresh("law(l). sent(X, M, Y) :- do(forwrad).")
    told: list[str] = []

    class Driven(Host):
        def _tell(self, event: Event) -> None:
            if isinstance(event, Heard):
                told.append(event.frame.what.agent)
            super()._tell(event)

    def comes(agent: str, source: Source) -> Parcel:
        return Parcel(1, MayCome(1, agent, (LawText("0" * 64, source.name, source.text),)))

    async def ask(work: Workers) -> None:
        assert brought(Relay("a", "b", 1, comes("x@a", good))) == brought(comes("x@a", good))
        assert brought(Receipt(1)) == ()
        async with Driven("b") as host:
            host.work = work
            for agent, source in (("good@a", good), ("bad@a", bad), ("again@a", good)):
                host._hear("a", comes(agent, source))
            host._hear("a", Parcel(1, MayCome(1, "plain@a", ())))
            assert told == ["plain@a"]
            while len(told) < 4:
                await asyncio.sleep(0.01)
            assert sorted(told[1:]) == ["again@a", "bad@a", "good@a"]
            assert known(good) is not None
            assert isinstance(known(bad), Faulty)
        assert work.jobs == 2

    run(ask)
