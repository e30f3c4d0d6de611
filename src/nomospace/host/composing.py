"""Sets of tuples that another host found, as whoever asked for them is to get them.

Only tuples travel. What a set answers with, and why, is found again here: by this host's reading,
which is that of every host that shares the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nomospace.meaning.ontology import Ontology
from nomospace.space import Gathering, Record, SetQuestion, SetSearch, Slice
from nomospace.space.search import FIRST_UNITS_MAX


def apart(rows: Sequence[Record], sizes: Sequence[int]) -> tuple[list[Record], list[list[Record]]]:
    """Tuples that answer alone, and the sets that come after them.

    >>> one, two, three = [Record((number,), "ann@a", number, "", "") for number in (1, 2, 3)]
    >>> singles, sets = apart([one, two, three], [2])
    >>> singles == [one], sets == [[two, three]]
    (True, True)
    """
    first = max(0, len(rows) - sum(sizes))
    return list(rows[:first]), list(_cut(rows[first:], sizes))


def _cut(rows: Sequence[Record], sizes: Sequence[int]) -> Iterator[list[Record]]:
    at = 0
    for size in sizes:
        yield list(rows[at : at + size])
        at += size


def composed(
    ontology: Ontology, ask: SetQuestion, sets: Sequence[Sequence[Record]]
) -> list[Gathering | None]:
    """What each set answers with; nothing for one that does not, as it is read here.

    Nor for any of them where that costs too much to tell.
    """
    from nomospace.space.correlating import Correlating  # the planner with it: on use

    records = {record.id: record for one in sets for record in one}
    correlating = Correlating(ontology)
    for record in records.values():
        correlating.add(record)
    found = correlating.go_on(SetSearch(ask, every=True), Slice(FIRST_UNITS_MAX)) or []
    known = {frozenset(gathering.ids): gathering for gathering in found}
    return [known.get(frozenset([record.id for record in one])) for one in sets]
