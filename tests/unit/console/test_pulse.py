"""The pulse: read once for all, folded but counted, and nothing while nobody looks."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from nomospace.api.published import (
    HostView,
    RulingRun,
    RulingsView,
    RulingView,
    TallyView,
    TopologyView,
)
from nomospace.console.console import Console
from nomospace.console.places.floor import ShownFloor, rooms_of
from nomospace.console.places.now import links_of
from nomospace.console.pulse import RULINGS_MAX, RUNS_MAX, Beat, Pulse, Rates, rates_between
from nomospace.console.stage import ConsolePlugin, FloorPerson, Stages, Ward


def ruling(record: int) -> RulingView:
    event = f"sent('a@w',m({record}),'b@w')"
    return RulingView(
        record, record, "a@w", "0", "law", event, "R1", "", False, False, (), "sent", "a@w", (), 0
    )


class FakeViews:
    """Views of a host whose journal grows when a test says so."""

    def __init__(self, name: str, *others: str) -> None:
        self.name = name
        self.others = others
        self.last_record = 0
        self.now = 0
        self.looks = 0

    def rulings(self, *, after: int = 0, limit: int = 100) -> RulingsView:
        self.looks += 1
        last = min(after + limit, self.last_record)
        return RulingsView(tuple([ruling(n) for n in range(after + 1, last + 1)]), last)

    def runs(self, *, after: int, limit: int) -> list[RulingRun]:
        return (
            [RulingRun("a@w", "sent", "R1", False, False, "law", "m", limit)]
            if after + limit
            else []
        )

    def topology(self, *, elsewhere: bool = True) -> TopologyView:
        del elsewhere
        hosts = [HostView(self.name, True, False, (f"a@{self.name}",), 3)]
        hosts += [HostView(other, False, True, (), 0) for other in self.others]
        return TopologyView(self.name, "", 1, 1, False, tuple(hosts))

    async def recall(self) -> None:
        pass

    def past(self) -> list[tuple[int, list[tuple[list[str], int]]]]:
        return []

    def tally(self) -> TallyView:
        return TallyView(self.now, self.last_record, self.last_record, 0, 0, 0, 2)


def console(*views: FakeViews, stages: Stages | None = None) -> Console:
    services = {one.name: SimpleNamespace(views=one) for one in views}
    fake = SimpleNamespace(services=services, stages=stages or Stages(), name=views[0].name)
    fake.service = services[views[0].name]
    return cast(Console, fake)


def test_what_is_too_much_is_folded_and_the_rate_is_exact() -> None:
    views = FakeViews("ward")
    pulse = Pulse(console(views))
    assert asyncio.run(pulse._look()).rates == {"ward": Rates(obligations=2)}
    assert not pulse.moments  # a rate of nothing is not shown as one of 0
    passed = RUNS_MAX + 75
    views.last_record, views.now = RULINGS_MAX + passed, 500_000
    beat = asyncio.run(pulse._look())
    shown = range(passed + 1, RULINGS_MAX + passed + 1)
    assert [one.ruling.record for one in beat.rulings] == list(shown)
    assert beat.folded == {"ward": 75}
    assert [(host, run.times) for host, run in beat.runs] == [("ward", RUNS_MAX)]
    assert pulse.busy == {"a@w": RULINGS_MAX + RUNS_MAX}
    assert beat.total.sent_s == (RULINGS_MAX + passed) / 0.5
    views.now = 3_000_000
    assert asyncio.run(pulse._look()).total.sent_s < 250  # it looks back for about a second


def test_a_host_that_began_anew_does_not_count_backwards() -> None:
    before, now = TallyView(0, 100, 100, 9, 0, 50, 1), TallyView(1_000_000, 3, 3, 0, 0, 0, 4)
    assert rates_between(before, now) == Rates(obligations=4)
    assert rates_between(now, now) == Rates(obligations=4)


def test_nothing_is_read_while_nobody_looks_and_a_listener_that_fails_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nomospace.console.pulse.BEATS_S", 1_000)

    async def program() -> None:
        views = FakeViews("ward")
        pulse = Pulse(console(views))
        beats: list[Beat] = []

        def fail(beat: Beat) -> None:
            raise ValueError(beat.number)

        pulse.listen(fail)
        leave = pulse.listen(beats.append)
        assert pulse.viewers == 2
        while len(beats) < 3:
            await asyncio.sleep(0.001)
        assert pulse.viewers == 1
        leave()
        leave()  # harmless
        await asyncio.sleep(0.01)
        looks, views.last_record = views.looks, 50
        await asyncio.sleep(0.01)
        assert (pulse.viewers, views.looks) == (0, looks)
        # Who comes again begins with what is there, and hears nothing of it twice.
        pulse.listen(beats.append)
        while not pulse.latest:
            await asyncio.sleep(0.001)
        assert [one.ruling.record for one in pulse.latest] == list(range(1, 51))
        pulse._listeners.clear()
        await asyncio.sleep(0.01)

    asyncio.run(program())
    assert "a page could not show a beat" in caplog.text


def test_a_page_on_its_way_finds_what_it_shows_and_hears_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.console.pulse.BEATS_S", 1_000)

    async def program() -> None:
        views = FakeViews("ward")
        views.last_record = 3
        pulse = Pulse(console(views))
        await pulse.begun()
        assert pulse.beat is not None
        beats: list[Beat] = []
        leave = pulse.listen(beats.append)
        await asyncio.sleep(0)  # at once, not with the next beat
        assert [(one.first, one.rulings) for one in beats] == [(True, ())]
        assert [one.ruling.record for one in pulse.latest] == [1, 2, 3]
        views.last_record = 4
        while not beats[-1].rulings:
            await asyncio.sleep(0.001)
        assert [one.ruling.record for beat in beats for one in beat.rulings] == [4]
        leave()
        pulse._until = 0.0
        while pulse.beat is not None:  # nobody comes: what was found is not kept
            await asyncio.sleep(0.001)

    asyncio.run(program())


class FakeHospital:
    """As much of a hospital as a floor plan asks for."""

    def floor(self) -> list[Ward]:
        return [Ward("ward", "Surgery", (FloorPerson("a@ward", "Ann", "expert"),))]


def test_the_floor_has_titles_roles_links_and_hosts_that_stand_apart() -> None:
    shown = console(
        FakeViews("ward", "icu"),
        FakeViews("icu", "ward"),
        FakeViews("far"),
        stages=Stages(plugin=ConsolePlugin(floor=FakeHospital().floor)),
    )
    beat = Pulse(shown).look_now()
    floor = ShownFloor().plan(rooms_of(shown, beat, "host"), {}, links_of(beat))
    assert [(room["title"], room["engaged"]) for room in floor["rooms"]] == [
        ("Surgery", True),
        ("far", False),
        ("icu", True),
    ]
    assert floor["rooms"][0]["agents"] == [["a@ward", "Ann", "expert", "ward"]]
    assert floor["rooms"][0]["more"] == 2
    assert floor["links"] == [["icu", "ward"]]
    roles = {one.name: len(one.agents) for one in rooms_of(shown, beat, "role")}
    assert roles == {"expert": 1, "no role": 1, "at other hosts": 0}
