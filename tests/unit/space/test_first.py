"""The short search for what is known at once finds what `find` finds, or says nothing."""

from collections.abc import Callable
from random import Random
from sys import maxsize
from typing import Any

import pytest

from nomospace.host.kept_tables import PlainTables
from nomospace.space import Record, Space
from nomospace.space.tables import RowsFound, Wanted
from nomospace.terms.templates import ANY, Template
from tests.models.late_disk import Disk

VALUES: list[Any] = ["job", "a", "b", 0, 1, 2, True, 1.0, None, (1, 2)]


def filled(rng: Random, many: int) -> Space:
    space = Space("jobs")
    for count in range(many):
        fields = tuple([rng.choice(VALUES) for _ in range(rng.randint(1, 3))])
        expires = rng.choice((0, 0, 4, 6))
        space.put(Record(fields, "ann", count + 1, "ann", "ann", expires), now=0)
    return space


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_find_gives(seed: int) -> None:
    rng = Random(seed)
    space = filled(rng, 12)
    hits = 0
    for _ in range(300):
        patterns = [rng.choice((*VALUES[:6], ANY, ANY)) for _ in range(rng.randint(1, 3))]
        template = Template.of(patterns)
        record = space.first(template, now=5)
        hits += record is not None
        assert record is None or record is space.find(template, now=5)
    assert hits


def led(tables: PlainTables) -> Callable[..., RowsFound]:
    """Rows as an index leads to them: what is not wanted is not looked at."""
    whole = tables.rows

    def rows(space: str, wanted: Wanted, after: int, upto: int, limit: int) -> RowsFound:
        found = whole(space, wanted, after, upto, maxsize).records
        upto = found[limit - 1].order if len(found) >= limit else upto
        return RowsFound(found[:limit], upto, len(found[:limit]))

    return rows


def test_it_is_what_find_gives_where_most_lies_in_late_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hits = far = 0
    values = (*VALUES, *range(3, 40))
    for seed in range(20):
        rng = Random(seed)
        disk = Disk(rng)
        monkeypatch.setattr(disk.tables, "rows", led(disk.tables))
        space = Space("s", engine=disk.engine)
        for count in range(120):
            fields = tuple([rng.choice(values) for _ in range(rng.randint(1, 3))])
            expires = rng.choice((0, 0, 4, 6))
            space.put(Record(fields, "ann", count + 1, "ann", "ann", expires), now=0)
            disk.write(space)
            for _ in range(5):
                patterns = [one if rng.random() < 0.8 else rng.choice(values) for one in fields]
                template = Template.of([rng.choice((one, one, ANY)) for one in patterns])
                record = space.first(template, now=5) if template.plain else None
                found = space.find(template, now=5)
                assert record is None or record is found
                hits += record is not None
                near = disk.engine.spaces["s"].near
                far += record is not None and near.get(record.id) is None
                if found is not None and rng.random() < 0.3:
                    space.remove(found)
                    disk.write(space)
    assert hits > far > 0


def test_a_value_of_its_own_is_enough() -> None:
    space = Space("jobs")
    for count in range(50):
        space.put(Record(("job", count), "ann", count + 1, "ann", "ann"), now=0)
    found = space.first(Template.of(("job", 17)), now=0)
    assert found is not None
    assert found.fields == ("job", 17)
    assert space.first(Template.of(("other", 17)), now=0) is None
    oldest = space.first(Template.of(("job", ANY)), now=0)  # many show it
    assert oldest is not None
    assert oldest.fields == ("job", 0)
