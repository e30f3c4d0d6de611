"""Searches that are cut: what they find is what is there in their last step."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.calls.problems import CorrelationTooDear, SearchTooLong
from nomospace.space import TAKE, Record, Search, SetQuestion, SetSearch, Slice, Space, Unfinished
from nomospace.space.outcomes import Overran
from nomospace.terms import ANY, Term, a, obj, where
from nomospace.terms.templates import Template
from tests.models.late_disk import Disk

TEMPLATES = [
    Template.of((ANY, ANY)),
    Template.of((where("> 6"), ANY)),
    Template.of((where("> 6"), "b")),
    Template.of((where(" or ".join(["> 6"] * 20)), ANY)),
    Template.of((a("Car", "price > 2"),)),
    Template.of((a("Van", "price > 3"),)),
    Template.of((a("Car"), a("Van"))),
]


def _fields(rng: Random) -> tuple[Term, ...]:
    if rng.random() < 0.5:
        return rng.randrange(10), rng.choice("ab")
    kinds = [obj(rng.choice(("Car", "Van")), price=rng.randrange(5)) for _ in range(2)]
    return tuple(kinds[: rng.randint(1, 2)])


@pytest.mark.parametrize("seed", range(240))
def test_a_cut_search_finds_what_is_there_in_its_last_step(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory; in tables, with few rows in a step; and in tables that answer later."""
    rng = Random(seed)
    disk = Disk(rng, at_hand=bool(seed % 4 == 1)) if seed % 2 else None
    monkeypatch.setattr("nomospace.space.pages.STEP_ROWS", 3)
    monkeypatch.setattr("nomospace.space.pages.SCAN_MAX", 3)
    monkeypatch.setattr("nomospace.space.stored.PAGE_MIN", 2)
    monkeypatch.setattr("nomospace.space.searching.BATCH", rng.choice((2, 32)))
    monkeypatch.setattr("nomospace.space.searching.BATCH_UNITS", rng.choice((10, 2_000)))
    space = Space("s", engine=disk.engine if disk else None)
    count = 0

    def put() -> None:
        nonlocal count
        count += 1
        space.put(Record(_fields(rng), "ann", count, rng.choice("xy"), "x"), now=0)

    for _ in range(rng.randrange(60)):
        put()
        if disk is not None:
            disk.write(space)
    lent: list[Record] = []
    template = rng.choice(TEMPLATES)
    at = rng.choice((None, "x"))
    every = rng.random() < 0.5
    search = Search(template, at, None, every=every)
    for _ in range(10_000):
        try:
            found = space.go_on(search, now=0, slice=Slice(rng.choice((1, 10, 60))))
            break
        except Unfinished:
            pass
        if disk is not None:
            disk.write(space)
        lying = space.oldest(100)
        for _ in range(rng.randrange(3)):
            record = rng.choice(lying) if lying else None
            match rng.randrange(5):
                case 0:
                    put()
                case 1 if record and record.order > 0:
                    space.remove(record)
                case 2 if record and record.order > 0:
                    space.lend(record, "bob", 99)
                    lent.append(record)
                case 3 if record and record.order > 0:
                    space.relocate(record, rng.choice("xy"), now=0)
                case 4 if lent:
                    space.give_back(lent.pop(rng.randrange(len(lent))).id, "bob", now=0)
            if disk is not None:
                disk.write(space)
    else:
        pytest.fail("a search has an end")
    expected = space.find_all(template, at=at) if every else [space.find(template, at=at)]
    assert [one.id for one in found] == [one.id for one in expected if one is not None]
    for one in found:
        space.remove(one)


def test_each_tuple_is_paid_for() -> None:
    space = Space("s")
    for count in range(1_000):
        space.put(Record((count,), "ann", count, "ann", "ann"), now=0)
    slice = Slice(100_000)
    assert space.find(Template.of((where("> 2000"),)), slice=slice) is None
    spent = 100_000 - slice.left
    assert 3_000 <= spent <= 5_000  # a candidate, its check and one comparison for each


def test_a_search_without_end_is_stopped_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.space.search.SEARCH_UNITS_MAX", 1_000)
    space = Space("s")
    for count in range(1_000):
        space.put(Record((count,), "ann", count, "ann", "ann"), now=0)
    with pytest.raises(SearchTooLong, match="give a field"):
        space.find(Template.of((where("> 2000"),)))


def test_rows_that_are_walked_past_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tuple is looked at, and yet the search is cut, and has an end."""
    disk = Disk(Random(1))
    space = Space("s", engine=disk.engine)
    for count in range(1, 400):
        space.put(Record((count,), "ann", count, "ann", "ann"), now=0)
        disk.write(space)
    monkeypatch.setattr("nomospace.space.pages.STEP_ROWS", 1)
    search = Search(Template.of((ANY, ANY)), None, None)
    for _ in range(3):
        disk.engine.end_step()
        with pytest.raises(Unfinished):
            space.go_on(search, now=0, slice=Slice())
    monkeypatch.setattr("nomospace.space.search.SEARCH_UNITS_MAX", search.spent)
    disk.engine.end_step()
    with pytest.raises(SearchTooLong, match="give a field"):
        space.go_on(search, now=0, slice=Slice())


def test_a_cheap_search_with_few_candidates_needs_no_slice() -> None:
    space = Space("s")
    for count in range(20):
        space.put(Record(("job", count), "ann", count, "ann", "ann"), now=0)
    used_up = Slice(0)
    assert space.find(Template.of(("job", 7)), slice=used_up) is not None
    assert space.find(Template.of(("job", where("= 7"))), slice=used_up) is not None
    dear = Template.of(("job", where(" or ".join(["= 7"] * 20))))
    with pytest.raises(Unfinished):
        space.find(dear, slice=used_up)


class TestSets:
    """Sets of tuples: looked for in slices, anew where facts change meanwhile, and not for ever."""

    @pytest.fixture
    def space(self) -> Space:
        """A star: forty tuples for each of six classes, all of which share one object."""
        space = Space("s")
        for count in range(240):
            fields = (obj("Hub", "h"), obj(f"C{count % 6}", count, v=count))
            space.put(Record(fields, "ann", count, "ann", "ann"), now=0)
        return space

    def _slices(self, space: Space, search: SetSearch, units: int = 200) -> int:
        count = 0
        while True:
            count += 1
            try:
                self.found = space.sets.go_on(search, now=0, slice=Slice(units))
            except Unfinished:
                continue
            return count

    def test_the_first_is_found_though_there_are_four_billion(self, space: Space) -> None:
        template = Template.of([a(f"C{n}") for n in range(6)])
        found = space.sets.gather(SetQuestion(template), now=0)
        assert found is not None
        assert [count for _, count in found.ids] == [0, 1, 2, 3, 4, 5]

    @pytest.mark.parametrize("classes", [("C0", "C1", "C2"), ("C0",) * 5])
    def test_that_there_is_none_is_seen_before_everything_is_joined(
        self, space: Space, classes: tuple[str, ...]
    ) -> None:
        last = a(classes[-1], "v > 1000")
        search = SetSearch(SetQuestion(Template.of([*[a(name) for name in classes], last])))
        assert self._slices(space, search, 16_000) < 10
        assert self.found == []

    def test_slices_find_what_one_piece_does(self, space: Space) -> None:
        ask = SetQuestion(
            Template.of([a("C0", "v < 12"), a("C1", "v > 200"), a("C2", "v in [2, 62]")])
        )
        whole = space.sets.gather_all(ask, now=0)
        assert len(whole) > 10
        assert self._slices(space, SetSearch(ask, every=True)) > 3
        assert self.found == whole
        first = SetSearch(ask)
        self._slices(space, first)
        assert self.found == [space.sets.gather(ask, now=0)]

    def test_a_tuple_that_goes_meanwhile_is_in_no_set(self, space: Space) -> None:
        ask = SetQuestion(
            Template.of([a("C0", "v < 12"), a("C1", "v > 200"), a("C2", "v in [2, 62]")])
        )
        search = SetSearch(ask, every=True)
        for _ in range(3):
            with pytest.raises(Unfinished):
                space.sets.go_on(search, now=0, slice=Slice(200))
        record = space.get(("ann", 2))
        assert record is not None
        space.remove(record)
        self._slices(space, search)
        assert self.found == space.sets.gather_all(ask, now=0)
        assert all(("ann", 2) not in one.ids for one in self.found)

    def test_what_comes_to_no_end_is_stopped(
        self, space: Space, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nomospace.space.search.SETS_UNITS_MAX", 50_000)
        odd = [a("C0", f"v != {n}") for n in range(4)]  # four numbers, and no two tuples have one
        template = Template.of([*odd, a("C0", "v.w = 1 or v > 1000"), a("C1", "v > 1000")])
        with pytest.raises(CorrelationTooDear, match="by its id"):
            space.sets.gather_all(SetQuestion(template), now=0)

    def test_facts_are_taken_in_slice_by_slice(self) -> None:
        space = Space("s")
        for count in range(1_000):
            fields = (obj("Car", count % 500), obj("Tax" if count % 2 else "Loan", count))
            space.put(Record(fields, "ann", count, "ann", "ann"), now=0)
        ask = SetQuestion(Template.of([a("Car", "v != 1 or v = null"), a("Tax"), a("Loan")]))
        search = SetSearch(ask)
        with pytest.raises(Unfinished):
            space.sets.go_on(search, now=0, slice=Slice(100))
        gone = space.get(("ann", 3))
        assert gone is not None
        space.remove(gone)
        space.put(Record((obj("Car", 3), obj("Tax", "new")), "bob", 1, "bob", "bob"), now=0)
        self._slices(space, search)
        assert space.sets.gather_all(ask, now=0) == []  # no car has both: their numbers are apart

    def test_a_waiter_for_whom_a_tuple_is_too_dear_is_told(
        self, space: Space, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nomospace.space.correlating.COMPLETED_UNITS_MAX", 20)
        template = Template.of([*[a(f"C{n}") for n in range(5)], a("C5", "v > 1000")])
        assert space.sets.gather(SetQuestion(template), now=0) is None
        space.wait("bob", template, TAKE, ask=SetQuestion(template))
        fields = (obj("Hub", "h"), obj("C0", "new", v=1))
        told = space.put(Record(fields, "ann", 999, "ann", "ann"), now=0)
        assert [one.ticket for one in told if isinstance(one, Overran)] == ["bob"]
        assert space.stats()["waiters"] == 0


@pytest.mark.parametrize("template", [TEMPLATES[0], TEMPLATES[1]])
def test_a_slice_however_small_brings_a_search_on(template: Template) -> None:
    space = Space("s")
    for count in range(200):
        space.put(Record((count, "a"), "ann", count, "ann", "ann"), now=0)
    search = Search(template, None, None, every=True)
    for _ in range(200):
        slice = Slice(1)
        try:
            space.go_on(search, now=0, slice=slice)
        except Unfinished:
            assert slice.left <= 0
        else:
            break
    else:
        pytest.fail("it looks at one tuple at least in each")
