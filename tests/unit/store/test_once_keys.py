"""Keys of `out(…, once=key)` are remembered for their time, in every store, and then forgotten."""

import asyncio
from itertools import pairwise

import pytest

import nomospace as ns
from nomospace.calls.requests import Out
from nomospace.host.shares import USUAL_SHARES
from nomospace.host.writing import WRITTEN_ONCE
from nomospace.space.engine import LAPSES_MAX
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts
from tests.unit.store.engines import ENGINES, Engine, MakeEngine, engines

__all__ = ["engines"]

DAY_US = 86_400_000_000
ANN = "ann@a"


def days(engine: Engine, day: float) -> list[int]:
    """A life of a host that begins on a day: what is there once all is written again."""

    async def life() -> list[int]:
        store = engine.open()
        async with ns.Host("ward", store=store, epoch_us=1 + int(day * DAY_US)) as host:
            jobs = await (await host.agent("ann")).space("jobs", shared=True)
            await jobs.out("job", 1, once="a")
            await jobs.out("answer", 1, once="b", once_lasts=True)
            return [len(await jobs.read_all(name, int)) for name in ("job", "answer")]

    return asyncio.run(asyncio.wait_for(life(), 60))


@pytest.mark.parametrize("kind", ENGINES)
def test_a_key_has_its_time_and_one_that_lasts_has_none(engines: MakeEngine, kind: str) -> None:
    engine = engines(kind)
    assert USUAL_SHARES.once_s == 30 * 86_400
    assert [days(engine, day) for day in (0, 29.9, 30.1, 59, 400)] == [
        [1, 1],
        [1, 1],
        [2, 1],
        [2, 1],
        [3, 1],
    ]


def test_a_step_forgets_no_more_than_its_share() -> None:
    """All keys of an hour fall due together, and are gone after several steps."""
    net = Hosts("a")
    net.agent(ANN, "jobs")
    for number in range(LAPSES_MAX + 7):
        net.do(ANN, Out("jobs", ("job", 1), once=f"k{number}"))
    keys = net.disks["a"].tuples["jobs" + WRITTEN_ONCE]
    assert len(keys) == LAPSES_MAX + 7
    left: list[int] = []
    net.after_each.append(lambda: left.append(len(keys)))
    net.now += USUAL_SHARES.once_s * 1_000_000
    # A key whose time is over counts no more, though it was not its turn yet.
    net.do(ANN, Out("jobs", ("late", 1), once=f"k{LAPSES_MAX + 6}"))
    assert net.held(ANN, "late", ANY) == [("late", 1)]
    net.run(1)
    assert len(keys) == 1
    assert max(before - after for before, after in pairwise(left)) <= LAPSES_MAX
