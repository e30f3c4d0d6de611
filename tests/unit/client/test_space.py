"""Spaces as programs use them: writing, reading, taking, waiting, and what is refused."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

import nomospace as ns
from nomospace.calls.problems import LeaseLapsed, PrivateSpace, ReadOnly
from nomospace.client import (
    BadDuration,
    BadName,
    BadPlace,
    Closed,
    NoLease,
    TimedOut,
    TooManyRows,
    Tuple,
    space as space_module,
)
from nomospace.errors import NomospaceError
from nomospace.terms import NotATerm, TooLarge
from nomospace.terms.templates import BadWidth, FormalInTuple, NotAPattern
from tests.unit.client.programs import Ward, in_ward

pytestmark = pytest.mark.usefixtures("born_alike")


def test_a_tuple_compares_unpacks_and_travels() -> None:
    async def program(ward: Ward) -> Tuple:
        await ward.jobs.out("job", 17, ns.t.room(3))
        return await ward.jobs.take("job", int, ns.ANY)

    job = in_ward(program)
    assert tuple(job) == ("job", 17, ns.t.room(3))
    assert hash(job) == hash(tuple(job))
    word, number, _ = job
    assert (word, number) == ("job", 17)
    assert (job.id, job.source, job.deliveries, job.lease) == (("ann@ward", 1), "ann@ward", 0, "")
    again = pickle.loads(pickle.dumps(job))
    assert (tuple(again), again.id, type(again)) == (tuple(job), job.id, Tuple)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ((), BadWidth),
        (tuple(range(65)), BadWidth),
        (("job", object()), NotATerm),
        (("job", {"a": {1}}), NotATerm),
        (("job", float("nan")), NotATerm),
        (("job", "\ud800"), NotATerm),
        (("job", 1 << 5000), TooLarge),
        (("job", "x" * 2_000_000), TooLarge),
        (("job", ns.ANY), FormalInTuple),
        (("job", ns.t.room(ns.between(1, 3))), FormalInTuple),
        (("job", int), NomospaceError),
    ],
)
def test_fields_that_cannot_travel_are_named_and_nothing_is_written(
    fields: tuple[Any, ...], error: type[Exception]
) -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(error):
            await ward.jobs.out(*fields)
        with pytest.raises(error):
            await ward.jobs.out_many([("good", 1), fields])
        assert await ward.jobs.read_all(str, ns.ANY) == []
        await ward.jobs.out("good", 2)  # the space goes on
        assert await ward.jobs.take("good", int) == ("good", 2)

    in_ward(program)


@pytest.mark.parametrize(
    "template", [(), ("job", object), ("job", complex), ("job", set), ("job", {1}), ("job", print)]
)
def test_templates_with_unknown_types_are_refused(template: tuple[Any, ...]) -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises((NotAPattern, NotATerm, BadWidth)):
            await ward.jobs.read_nowait(*template)
        with pytest.raises((NotAPattern, NotATerm, BadWidth)):
            await ward.jobs.take(*template)
        with pytest.raises((NotAPattern, NotATerm, BadWidth)):
            ward.jobs.react(template, print)
        assert ward.jobs.reactions() == []

    in_ward(program)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "5", True, 1e12])
def test_durations_that_cannot_pass_are_refused(value: Any) -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(BadDuration, match="ttl="):
            await ward.jobs.out("job", ttl=value)
        with pytest.raises(BadDuration, match="lease="):
            await ward.jobs.take("job", lease=value)
        assert await ward.jobs.read_all("job") == []

    in_ward(program)


@pytest.mark.parametrize("value", ["ward", "", "@ward", "bob@", 7])
def test_only_agents_hold_tuples(value: Any) -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(BadPlace):
            await ward.jobs.out("job", to=value)
        with pytest.raises(BadPlace):
            await ward.jobs.read_nowait("job", dest=value)

    in_ward(program)


def test_a_take_waits_for_its_tuple() -> None:
    async def program(ward: Ward) -> tuple[Tuple, float]:
        bob = await ward.jobs_of("bob")
        waiting = asyncio.create_task(bob.take("job", int))
        await asyncio.sleep(5)
        assert not waiting.done()
        await ward.jobs.out("job", 17)
        return await waiting, asyncio.get_running_loop().time()

    assert in_ward(program) == (("job", 17), 5.0)


def test_first_come_is_first_served_and_each_tuple_has_one_taker() -> None:
    async def program(ward: Ward) -> list[Tuple]:
        takers = [asyncio.create_task(ward.jobs.take("job", int)) for _ in range(5)]
        await asyncio.sleep(1)
        for n in range(5):
            await ward.jobs.out("job", n)
        return await asyncio.gather(*takers)

    assert in_ward(program) == [("job", n) for n in range(5)]


def test_gather_and_wait_for_take_a_take_as_it_is() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out_many([("job", 1), ("job", 2), ("job", 3)])
        both = await asyncio.gather(ward.jobs.take("job", 2), ward.jobs.read("job", 3))
        assert list(both) == [("job", 2), ("job", 3)]
        assert await asyncio.wait_for(ward.jobs.take("job", int), 1) == ("job", 1)

    in_ward(program)


def test_what_is_there_is_answered_without_the_event_loop() -> None:
    async def program(ward: Ward) -> None:
        for operation in (ward.jobs.out("job", 1), ward.jobs.read("job", int)):
            with pytest.raises(StopIteration):  # it ends at its first step
                operation.send(None)
        with pytest.raises(StopIteration) as ended:
            ward.jobs.take("job", int).send(None)
        assert ended.value.value == ("job", 1)

    in_ward(program)


def test_a_take_past_its_timeout_raises_and_leaves_nothing_waiting() -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(TimedOut, match=r"in 'jobs' within 2\.5 s") as caught:
            await ward.jobs.take("job", int, timeout=2.5)
        assert caught.value.timeout_s == 2.5
        assert asyncio.get_running_loop().time() == 2.5
        with pytest.raises(TimedOut):
            await ward.jobs.read("job", int, timeout=0)
        await ward.jobs.out("job", 1)
        await asyncio.sleep(1)
        assert await ward.jobs.take_nowait("job", int) == ("job", 1)

    in_ward(program)


def test_a_cancelled_take_takes_nothing() -> None:
    async def program(ward: Ward) -> None:
        waiting = asyncio.create_task(ward.jobs.take("job", int))
        await asyncio.sleep(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await ward.jobs.out("job", 1)
        assert await ward.jobs.take_nowait("job", int) == ("job", 1)

    in_ward(program)


@pytest.mark.parametrize("served_first", [True, False])
def test_a_take_cancelled_in_the_instant_it_is_served_gives_the_tuple_back(
    served_first: bool,
) -> None:
    async def program(ward: Ward) -> None:
        bob = await ward.jobs_of("bob")
        waiting = asyncio.create_task(bob.take("job", int))
        await asyncio.sleep(1)
        # No turn of the loop lies between these two: the task hears of both at once.
        if served_first:
            await ward.jobs.out("job", 1)
            waiting.cancel()
        else:
            waiting.cancel()
            await ward.jobs.out("job", 1)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await ward.jobs.read_all("job", int) == [("job", 1)]
        assert ward.reports == []

    in_ward(program)


def test_a_leased_take_cancelled_in_the_instant_it_is_served_keeps_the_tuples_id() -> None:
    async def program(ward: Ward) -> None:
        waiting = asyncio.create_task(ward.jobs.take("job", int, lease=30))
        await asyncio.sleep(1)
        await ward.jobs.out("job", 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        back = await ward.jobs.take_nowait("job", int)
        assert back is not None
        assert back.id == ("ann@ward", 1)

    in_ward(program)


def test_a_take_that_is_never_awaited_warns() -> None:
    async def program(ward: Ward) -> None:
        with pytest.warns(RuntimeWarning, match="was never awaited"):
            ward.jobs.take("job")

    in_ward(program)


def test_waiting_on_a_private_space_is_an_error() -> None:
    async def program(ward: Ward) -> None:
        notes = await (await ward.host.agent("ann")).space("notes")
        await notes.out("note", 1)
        with pytest.raises(PrivateSpace, match="share it"):
            await notes.take("note", int)
        with pytest.raises(PrivateSpace):
            await notes.read("note", int)
        assert await notes.take_nowait("note", int) == ("note", 1)

    in_ward(program)


def test_the_system_space_is_read_only_and_tells_who_is_there() -> None:
    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        assert await ann.space("LimeSystem") is ann.system
        rows = await ann.system.read_all("agent", str, str, str)
        assert ("agent", "ann@ward", "ward", "connected") in rows
        with pytest.raises(ReadOnly):
            await ann.system.take_nowait("agent", str, str, str)
        with pytest.raises(ReadOnly):
            await ann.system.out("agent", "eve@ward", "ward", "connected")

    in_ward(program)


def test_spaces_of_one_agent_are_shared_and_parted_together() -> None:
    async def program(ward: Ward) -> None:
        ann, bob = await ward.host.agent("ann"), await ward.host.agent("bob")
        pens, nibs = await ann.space("pens"), await ann.space("nibs")
        his = await bob.space("pens", shared=True)
        await pens.out("pen", 1)
        assert await his.read_nowait("pen", int) is None
        await ann.share(pens, nibs)
        assert (pens.shared, nibs.shared) == (True, True)
        assert await his.read_nowait("pen", int) == ("pen", 1)
        await ann.unshare(pens, nibs)
        assert (pens.shared, nibs.shared) == (False, False)
        assert await his.read_nowait("pen", int) is None
        await ann.share()  # nothing to share is fine

    in_ward(program)


def test_asking_for_a_space_again_gives_the_same_one() -> None:
    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        assert await ann.space("jobs") is ward.jobs
        assert ward.jobs.shared  # asking without `shared` does not part it
        assert repr(ward.jobs) == "<space 'jobs' of ann@ward, shared>"

    in_ward(program)


@pytest.mark.parametrize("name", ["", "a b", "a@b", "x" * 201, 7, None, "a\n"])
def test_names_that_cannot_be_are_refused(name: Any) -> None:
    async def program(ward: Ward) -> None:
        with pytest.raises(BadName):
            await (await ward.host.agent("ann")).space(name)
        with pytest.raises(BadName):
            await ward.host.agent(name)

    in_ward(program)


def test_out_many_has_a_limit_and_takes_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "ROWS_MAX", 3)

    async def program(ward: Ward) -> None:
        with pytest.raises(TooManyRows, match="more than 3"):
            await ward.jobs.out_many(("job", n) for n in range(10))
        assert await ward.jobs.read_all("job", int) == []
        await ward.jobs.out_many([])
        await ward.jobs.out_many(("job", n) for n in range(3))
        assert len(await ward.jobs.take_all("job", int)) == 3

    in_ward(program)


def test_a_tuple_lives_as_long_as_it_was_given() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1, ttl=10)
        await asyncio.sleep(9.9)
        assert await ward.jobs.read_nowait("job", int) == ("job", 1)
        await asyncio.sleep(0.2)
        assert await ward.jobs.read_nowait("job", int) is None

    in_ward(program)


def test_a_tuple_for_another_agent_moves_to_it() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1, to="bob@ward")
        assert await ward.jobs.read_nowait("job", int, at="ann@ward", dest="bob@ward") is not None
        bob = await ward.jobs_of("bob")
        assert await ward.jobs.read_nowait("job", int, at="ann@ward") is None
        found = await bob.read_nowait("job", int, at="bob@ward")
        assert found is not None
        assert found.source == "bob@ward"

    in_ward(program)


# -- leases --------------------------------------------------------------------------------


def test_a_clean_exit_acknowledges() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1)
        async with ward.jobs.take("job", int, lease=30) as job:
            assert (job, job.deliveries) == (("job", 1), 1)
            assert await ward.jobs.read_nowait("job", int) is None
        await asyncio.sleep(60)
        assert await ward.jobs.read_nowait("job", int) is None

    in_ward(program)


def test_an_exception_gives_the_tuple_back() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1)
        with pytest.raises(ZeroDivisionError):
            async with ward.jobs.take("job", int, lease=30):
                _ = 1 / 0
        async with ward.jobs.take("job", int, lease=30) as job:
            assert job.deliveries == 2

    in_ward(program)


def test_cancellation_inside_the_block_gives_the_tuple_back() -> None:
    async def program(ward: Ward) -> None:
        async def work() -> None:
            async with ward.jobs.take("job", int, lease=1000):
                await asyncio.sleep(500)

        await ward.jobs.out("job", 1)
        worker = asyncio.create_task(work())
        await asyncio.sleep(1)
        assert await ward.jobs.read_nowait("job", int) is None
        worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker
        assert await ward.jobs.read_nowait("job", int) == ("job", 1)

    in_ward(program)


def test_a_lapsed_lease_cannot_be_acknowledged() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1)
        with pytest.raises(LeaseLapsed):
            async with ward.jobs.take("job", int, lease=5):
                await asyncio.sleep(6)
        assert await ward.jobs.read_nowait("job", int) == ("job", 1)

    in_ward(program)


def test_an_error_after_a_lapse_is_the_programs_own_and_the_lapse_is_reported() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1)

        async def work() -> None:
            async with ward.jobs.take("job", int, lease=5):
                await asyncio.sleep(6)
                raise KeyError("the program's own")

        with pytest.raises(KeyError, match="the program's own"):
            await work()
        [report] = ward.reports
        assert report.what == "a lease could not be given back"
        assert isinstance(report.error, LeaseLapsed)

    in_ward(program)


def test_a_tuple_that_nobody_can_finish_goes_to_the_dead_letters() -> None:
    async def program(ward: Ward) -> None:
        dead = await (await ward.host.agent("ann")).space("jobs.dead", shared=True)
        await ward.jobs.out("job", 1)
        for deliveries in range(1, 6):
            job = await ward.jobs.take("job", int, lease=30, timeout=1)
            assert job.deliveries == deliveries
            await ward.jobs.give_back(job)
        assert await ward.jobs.read_nowait("job", int) is None
        assert await dead.read("job", int, timeout=1) == ("job", 1)

    in_ward(program)


def test_only_leased_tuples_are_settled() -> None:
    async def program(ward: Ward) -> None:
        await ward.jobs.out("job", 1)
        with pytest.raises(NoLease, match="async with"):
            async with ward.jobs.take("job", int):
                pass
        job = await ward.jobs.take("job", int)  # the refused one has taken nothing
        with pytest.raises(NoLease, match="acknowledge needs a lease"):
            await ward.jobs.acknowledge(job)
        with pytest.raises(NoLease, match="give_back needs a lease"):
            await ward.jobs.give_back(job)

    in_ward(program)


# -- closing -------------------------------------------------------------------------------


def test_closing_an_agent_ends_what_waits_and_keeps_its_tuples() -> None:
    async def program(ward: Ward) -> None:
        ann = await ward.host.agent("ann")
        await ward.jobs.out("job", 1)
        waiting = asyncio.create_task(ward.jobs.take("other"))
        handle = ward.jobs.react(("job", int), print, mode="once")
        await asyncio.sleep(0)
        await ann.close()
        with pytest.raises(Closed, match="agent ann@ward is closed"):
            await waiting
        with pytest.raises(Closed):
            await ward.jobs.out("job", 2)
        with pytest.raises(Closed):
            ward.jobs.react(("job", int), print)
        assert handle.state == "removed"
        await ann.close()  # twice is harmless
        again = await ward.host.agent("ann")
        assert again is not ann
        jobs = await again.space("jobs", shared=True)
        assert await jobs.take("job", int) == ("job", 1)

    in_ward(program)


def test_errors_say_what_to_do_next() -> None:
    for error in (
        BadDuration(what="lease", value="-1"),
        BadName(what="a space", value="'a b'"),
        BadPlace(what="to", value="'ward'"),
        NoLease(what="acknowledge"),
        Closed(what="host ward"),
        TooManyRows(limit=3),
    ):
        assert isinstance(error, NomospaceError)
        assert ";" in str(error)
        assert type(pickle.loads(pickle.dumps(error))) is type(error)


def test_a_take_cancelled_in_the_instant_its_agent_is_closed_is_cancelled() -> None:
    async def program(ward: Ward) -> None:
        waiting = asyncio.create_task(ward.jobs.take("job"))
        await asyncio.sleep(1)
        await (await ward.host.agent("ann")).close()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    in_ward(program)


def test_a_take_that_is_dropped_while_it_waits_takes_nothing() -> None:
    async def program(ward: Ward) -> None:
        dropped = ward.jobs.take("job", int)
        dropped.send(None)  # it waits, and its program forgets it
        dropped.close()
        await ward.jobs.out("job", 1)
        assert await ward.jobs.take_nowait("job", int) == ("job", 1)

    in_ward(program)
