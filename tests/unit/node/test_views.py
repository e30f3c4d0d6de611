"""Views of a running host: what a console is told, held against what was done there."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from nomospace import ANY, Ontology, a, between, obj
from nomospace.control.membership import TooOld
from nomospace.law import load
from nomospace.meaning.ontology import OntologyClass
from nomospace.node.config import read_config
from nomospace.node.serve import Server
from nomospace.node.stories.telling import NoStory
from nomospace.node.viewed import LawView
from nomospace.node.views import NotSeen, Views
from nomospace.store.opening import open_store
from nomospace.store.segments import SegmentLimits, seal

pytestmark = pytest.mark.usefixtures("born_alike")

LAW = """law(quiet).
R1. sent(_, hum(_), _) :- do(forward), do(+hummed).
R2. sent(_, later(_), _) :- hummed@CS, do(imposeObligation(nag, 1000, sec)).
R3. arrived(_, _, _) :- do(deliver).
R4. sent(_, never(_), _) :- loud@CS, do(forward).
R5. obligationDue(nag) :- do(-hummed), do(+loud).
"""


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    told = read_config("", "test", name="ward", insecure=True, store="memory", listen="127.0.0.1:0")
    async with Server(told) as server:
        yield server


def on_a_host(work: Callable[[Server, Views], Awaitable[None]]) -> None:
    async def program() -> None:
        async with asyncio.timeout(120), running() as server:
            await work(server, Views(server))

    asyncio.run(program())


async def kept(views: Views, at_least: int) -> None:
    while views.last_record < at_least:
        await asyncio.sleep(0.005)


async def hummers(server: Server, views: Views) -> str:
    """Two members: one message forwarded, one held, one refused."""
    law = load(LAW)
    ann = await (await server.host.agent("ann")).adopt(law)
    await (await server.host.agent("bob")).adopt(law)
    await ann.send("hum(a)", to="bob@ward")
    await ann.send("later(a)", to="bob@ward")
    await ann.send("never(a)", to="bob@ward")
    # A law, two adoptions, three messages, one arrival.
    await kept(views, 7)
    return law.hash


def test_topology_has_this_host_and_its_agents() -> None:
    async def work(server: Server, views: Views) -> None:
        await server.host.agent("bob")
        await server.host.agent("ann")
        found = views.topology()
        assert (found.host, found.domain, found.changing) == ("ward", "ward", False)
        (here,) = found.hosts
        assert (here.name, here.here, here.agents) == ("ward", True, ("ann@ward", "bob@ward"))
        (few,) = views.topology(agents_max=1).hosts
        assert (few.agents, few.agents_count) == (("ann@ward",), 2)

    on_a_host(work)


def test_agents_and_tuples_are_listed() -> None:
    async def work(server: Server, views: Views) -> None:
        jobs = await (await server.host.agent("ann")).space("jobs", shared=True)
        await server.host.agent("bob")
        await jobs.out_many([("job", 1), ("job", 2)])
        assert [one.id for one in views.agents()] == ["ann@ward", "bob@ward"]
        assert [one.id for one in views.agents(after="ann@ward")] == ["bob@ward"]
        found = views.tuples("jobs", limit=1)
        assert (found.total, [one.fields for one in found.tuples]) == (2, [("job", 1)])
        assert found.tuples[0].id == "ann@ward#1"
        with pytest.raises(NotSeen, match="no private space"):
            views.tuples("jobs", agent="ann@ward")

    on_a_host(work)


def test_communities_have_members_with_their_states_and_what_they_owe() -> None:
    async def work(server: Server, views: Views) -> None:
        law = await hummers(server, views)
        (community,) = views.communities()
        assert (community.name, community.members, community.obligations) == ("quiet", 2, 1)
        ann, bob = views.members(law)
        assert (ann.home, bob.home) == ("ann@ward", "bob@ward")
        assert ann.state == ("hummed",)
        assert bob.state == ()
        (owed,) = views.obligations()
        assert (owed.home, owed.term) == ("ann@ward", "nag")
        assert ann.obligations == (owed,)
        assert views.members(law, after="ann@ward") == (bob,)
        assert views.members(law, limit=1) == (ann,)
        assert views.obligations(law="0" * 64) == ()
        with pytest.raises(NotSeen, match="no law"):
            views.members("0" * 64)

    on_a_host(work)


def test_a_law_says_how_often_its_rules_ruled_and_never_counts_twice() -> None:
    async def work(server: Server, views: Views) -> None:
        law = await hummers(server, views)
        found = views.law(law)
        hits = {rule.name: rule.hits for rule in found.rules}
        assert hits == {"R1": 1, "R2": 1, "R3": 1, "R4": 0, "R5": 0}
        assert views.law(law) == found
        assert [rule.line for rule in found.rules] == [2, 3, 4, 5, 6]
        assert (found.text, found.uncounted) == (LAW, 0)
        # Two adoptions, and the message that no rule let through.
        assert found.unmatched == 3
        with pytest.raises(NotSeen):
            views.law("0" * 64)

    on_a_host(work)


def test_a_member_is_shown_as_it_was_before_each_of_its_rulings() -> None:
    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        mine = [one for one in views.rulings().rulings if one.home == "ann@ward" and one.community]
        states = {one.event.split(",")[1]: views.standing(one.record).state for one in mine[1:]}
        assert states["hum(a)"] == ()
        assert states["later(a)"] == states["never(a)"] == ("hummed",)
        with pytest.raises(NotSeen):
            views.standing(10_000)

    on_a_host(work)


def test_a_tuple_has_its_story_though_its_records_were_sealed(tmp_path: Path) -> None:
    folder, store = tmp_path / "journal", str(tmp_path / "ward.db")
    told = read_config(
        *("", "t"),
        name="ward",
        insecure=True,
        store=store,
        listen="127.0.0.1:0",
        journal={"folder": str(folder)},
    )

    async def write(server: Server) -> None:
        space = await (await server.host.agent("ann")).space("jobs", shared=True)
        await space.out("job", 1)

    async def take(server: Server) -> None:
        space = await (await server.host.agent("ann")).space("jobs", shared=True)
        await space.take("job", int)
        await asyncio.sleep(0.1)
        told = await Views(server).story("ann@ward#1")
        assert [step.kind for step in told.steps] == ["written", "taken"]
        assert told.left == ()

    async def life(work: Callable[[Server], Awaitable[None]]) -> None:
        async with asyncio.timeout(120), Server(told) as server:
            await work(server)

    asyncio.run(life(write))
    with closing(open_store(store)) as opened:
        opened.attach()
        assert seal(opened, folder, SegmentLimits(seconds=0), now=2**62)
    asyncio.run(life(take))


def test_counts_are_of_all_lives_and_an_older_store_says_since_when(tmp_path: Path) -> None:
    async def life(work: Callable[[Server, Views], Awaitable[None]]) -> None:
        store = str(tmp_path / "ward.db")
        told = read_config("", "t", name="ward", insecure=True, store=store, listen="127.0.0.1:0")
        async with asyncio.timeout(120), Server(told) as server:
            await work(server, Views(server))

    found: list[LawView] = []

    async def first(server: Server, views: Views) -> None:
        law = await hummers(server, views)
        found.append(views.law(law))
        ann = await server.host.agent("ann")
        space = await ann.space("jobs")
        await space.out("job", 1)
        await space.take_nowait("job", int)

    async def second(server: Server, views: Views) -> None:
        assert views.law(found[0].hash) == found[0]
        jobs = next(one for one in views.spaces() if one.name == "jobs")
        assert jobs.counted == {"written": 1, "taken": 1}
        one = {rule.name: rule for rule in found[0].rules}
        assert (one["R1"].forwarded, one["R2"].held, one["R3"].hits) == (1, 1, 1)
        assert (found[0].unmatched_sent, found[0].rulings, found[0].uncounted) == (1, 6, 0)
        await views.recall()
        added = [key for _, more in views.past() for key, _ in more]
        assert [found[0].hash, "R1", "forwarded"] in added  # of the life before

    async def third(server: Server, views: Views) -> None:
        assert views.law(found[0].hash).uncounted == views.last_record

    asyncio.run(life(first))
    asyncio.run(life(second))
    with sqlite3.connect(tmp_path / "ward.db") as old:  # as before there were counts
        old.execute("DELETE FROM laws WHERE hash LIKE 'kept count%'")
    asyncio.run(life(third))


def test_why_tells_which_goal_failed_by_the_record_of_a_ruling() -> None:
    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        found = views.rulings()
        assert found.last == views.last_record
        (refused,) = [one for one in found.rulings if one.refused]
        why = views.why(refused.record)
        assert why.ruling == refused
        tried = {one.rule: one for one in why.tried}
        assert tried["R4"].failed is not None
        assert tried["R4"].failed.goal == "loud@CS"
        assert "Refused: " in why.text
        assert views.rulings(after=found.last).rulings == ()
        (held,) = [one for one in found.rulings if one.held]
        assert views.why(held.record).verdict.startswith("Held by R2")

    on_a_host(work)


def test_why_says_what_is_no_ruling_and_what_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        for record in (0, -1, 10**9):
            with pytest.raises(NotSeen, match="no ruling"):
                views.why(record)
        (*_, last) = views.rulings(limit=1_000).rulings
        member = server.host.core.governing.find(last.home, last.law)
        assert member is not None
        member._history.clear()
        monkeypatch.setattr("nomospace.node.ruling_views.RECORDS_MAX", 0)
        with pytest.raises(TooOld):
            views.why(last.record)

    on_a_host(work)


def test_why_is_told_from_the_journal_when_it_is_forgotten_or_the_member_is_gone() -> None:
    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        rulings = [one for one in views.rulings(limit=1_000).rulings if one.community]
        told = [views.why(one.record) for one in rulings]
        members = server.host.core.governing._members
        for member in members.values():
            member._history.clear()
        assert [views.why(one.record) for one in rulings] == told
        members.clear()
        assert [views.why(one.record) for one in rulings] == told
        assert any(one.held for one in rulings), "a state that changed was put together again"

    on_a_host(work)


def test_the_latest_rulings_of_one_member_or_rule_are_read_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.node.views.READ_AT_ONCE", 3)

    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        all = [one for one in views.rulings(limit=1_000).rulings if one.community][::-1]
        last = all[0]
        of_home = [one for one in all if one.home == last.home]
        assert len(of_home) < len(all), "there are others"
        assert await views.latest(home=last.home, most=100, among=1_000) == of_home
        assert await views.latest(home=last.home, most=1, among=1_000) == of_home[:1]
        rule = next(one.rule for one in all if one.rule)
        ruled = [one for one in all if one.rule == rule]
        told = await views.latest(law=last.law, rule=rule, most=100, among=1_000)
        assert told == ruled
        every = await views.latest(most=1_000, among=1_000)
        assert tuple(every[::-1]) == views.rulings(limit=1_000).rulings
        assert await views.latest(home="nobody@ward", most=9, among=1_000) == []
        assert len(await views.latest(most=9, among=2)) <= 2

    on_a_host(work)


def test_a_page_of_large_records_has_fewer_of_them_and_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand records of a megabyte would be two gigabytes."""
    monkeypatch.setattr("nomospace.wire.admin.ANSWER_BYTES_MAX", 200)
    monkeypatch.setattr("nomospace.node.views.ANSWER_BYTES_MAX", 200)

    async def work(server: Server, views: Views) -> None:
        await hummers(server, views)
        last = views.last_record
        told = [one.seq for one in views.records(limit=1_000)]
        assert told == [last], "the last one alone has that many bytes, or nearly"
        assert [one.seq for one in views.records(after=1, limit=1_000)] == [2, 3]
        assert [one.record for one in views.rulings(limit=1_000).rulings] == [last]
        read, after = list[int](), 0
        while (page := views.rulings(after=after, limit=1_000)).last > after:
            read += [one.record for one in page.rulings]
            after = page.last
        assert after == last, "a reader comes to the end"

    on_a_host(work)


def test_inside_a_space_are_waiters_leases_and_reactions() -> None:
    async def work(server: Server, views: Views) -> None:
        ann = await server.host.agent("ann")
        jobs = await ann.space("jobs", shared=True)
        await ann.space("notes")
        await jobs.out("job", 17)
        lent = await jobs.take("job", int, lease=30)
        jobs.react(("alarm", ANY), print)
        waiting = asyncio.create_task(jobs.take("never", int, timeout=60))
        await asyncio.sleep(0)
        found = views.inside("jobs")
        assert found.space in views.spaces()
        assert [(one.how, one.template) for one in found.waiters] == [("take", "never, _:int")]
        assert [one.fields for one in found.leases] == [("job", 17)]
        assert found.leases[0].lease == lent.lease
        assert [one.template for one in found.reactions] == ["alarm, _"]
        assert (found.space.tuples, found.space.lent, found.space.waiting) == (1, 1, 1)
        waiting.cancel()
        await jobs.acknowledge(lent)
        assert views.inside("notes", agent="ann@ward").space.shared is False
        assert [one.name for one in views.spaces()] == ["jobs", "notes", "LimeSystem"]
        assert views.spaces(after=1) == views.spaces()[1:]
        for name, agent in (("notes", ""), ("jobs", "ann@ward"), ("other", "")):
            with pytest.raises(NotSeen, match="space"):
                views.inside(name, agent=agent)

    on_a_host(work)


def test_a_template_chooses_tuples_and_says_whether_these_are_all() -> None:
    async def work(server: Server, views: Views) -> None:
        jobs = await (await server.host.agent("ann")).space("jobs", shared=True)
        await jobs.out_many([("job", 1), ("alarm", "fire"), ("job", 2), ("job", 3)])
        await jobs.out("job", 4, ttl=60, to="bob@ward")
        await jobs.take("job", 1, lease=30)
        await kept(views, 5)
        await views.read_ages()
        found = views.tuples("jobs", template=("job", int), limit=2)
        assert [one.fields for one in found.tuples] == [("job", 2), ("job", 3)]
        assert (found.total, found.whole) == (5, False)
        found = views.tuples("jobs", template=("job", int))
        assert found.whole
        assert [one.fields[1] for one in found.tuples] == [2, 3, 4, 1]
        misplaced, lent = found.tuples[-2:]
        assert (misplaced.holder, misplaced.dest) == ("ann@ward", "bob@ward")
        assert misplaced.expires > misplaced.written_at > 0 == misplaced.lent_until
        assert lent.lent_until > views.now

    on_a_host(work)


def test_a_template_is_tried_on_so_many_tuples_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.node.within.TRIES_MAX", 3)

    async def work(server: Server, views: Views) -> None:
        jobs = await (await server.host.agent("ann")).space("jobs", shared=True)
        await jobs.out_many([("job", number) for number in range(5)])
        found = views.tuples("jobs", template=(ANY, between(2, 9)))
        assert [one.fields[1] for one in found.tuples] == [2]
        assert not found.whole

    on_a_host(work)


def test_what_answers_by_meaning_says_why_alone_and_together() -> None:
    cars = Ontology("cars", [OntologyClass("Car"), OntologyClass("Van", (), ("Car",))])

    async def work(server: Server, views: Views) -> None:
        sales = await (await server.host.agent("ann")).space("sales", shared=True, ontology=cars)
        await sales.out(obj("Van", "v1"), obj("Tax", "x"))
        await sales.out(obj("Van", "v1"), obj("Loan", "y"))
        assert views.inside("sales").space.ontology == "cars"
        found = views.tuples("sales", template=(a("Car"),))
        assert [one.why for one in found.tuples] == ["Van is a Car"] * 2
        found = views.tuples("sales", template=(a("Tax"), a("Loan")), together=True)
        assert found.tuples == ()
        (together,) = found.sets
        assert together.ids == ("ann@ward#1", "ann@ward#2")
        assert "share" in together.why

    on_a_host(work)


def test_a_tuple_has_a_story_from_writer_to_taker() -> None:
    async def work(server: Server, views: Views) -> None:
        jobs = await (await server.host.agent("ann")).space("jobs", shared=True)
        theirs = await (await server.host.agent("bob")).space("jobs", shared=True)
        await jobs.out("job", 1)
        await jobs.out("job", 2)
        job = await theirs.take("job", 1, lease=60)
        await theirs.give_back(job, why="no paper")
        await theirs.take("job", 1)
        await kept(views, 5)
        story = await views.story("ann@ward#1")
        assert [(step.kind, step.lane, step.text) for step in story.steps] == [
            ("written", "ann@ward", "[job,1]"),
            ("lent", "bob@ward", ""),
            ("returned", "bob@ward", ""),
            ("taken", "bob@ward", "[job,1]"),
        ]
        assert story.left == ()
        assert [link.how for step in story.steps for link in step.causes] == ["then"] * 3
        assert [step.operations for step in story.steps] == [(), (), ("no paper",), ()]
        assert (story.space, story.lies) == ("", None)
        second = await views.story("ann@ward#2")
        assert (second.space, second.lies) == ("jobs", views.tuples("jobs").tuples[0])
        for nonsense in ("nonsense", "ann@ward#", f"ann@ward#{'9' * 5_000}"):
            with pytest.raises(NoStory):
                await views.story(nonsense)

    on_a_host(work)
