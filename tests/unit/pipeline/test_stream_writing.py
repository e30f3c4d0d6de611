"""Rows become tuples under law, each once, through whatever happens in between."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nomospace.client.remote import connect
from nomospace.pipeline.stream import writing
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.pipeline.stream.writing import (
    Keyed,
    Target,
    TooManyRefused,
    TooManyToWrite,
    WrittenBack,
)
from nomospace.terms.templates import ANY
from tests.unit.pipeline.live import served

FEW = """\
law(few).
initialCS([left(12)]).
R1. sent(_, out([job, N], _), _) :- N < 100, left(L)@CS, L > 0, do(incr(left(L), -1)), do(forward).
R2. sent(_, M, _) :- not(M = out(_, _)), do(forward).
R3. arrived(_, _, _) :- do(deliver).
"""
ROWS = [Keyed(f"s/{number}", ("job", number)) for number in (*range(10), 100, 101)]


def look(target: Target) -> tuple[list[Any], list[Any]]:
    """What is in the space, and the letters beside it."""

    async def program() -> tuple[list[Any], list[Any]]:
        async with connect(target.place.url, alongside=True) as host:
            space, letters = await target._open(host)
            jobs = await space.read_all("job", int)
            told = await letters.read_all("refused", str, int, str, str, ANY)
            return sorted(job[1] for job in jobs), sorted(one[5][1] for one in told)

    return asyncio.run(program())


class Killed(BaseException):
    """Nothing catches this, as nothing hears of a kill."""


@pytest.mark.parametrize("after", [0, 4, 11])
def test_killed_in_the_middle_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """A law that counts what it lets through would refuse what it is asked about twice."""
    law = tmp_path / "few.law"
    law.write_text(FEW)
    write_one = writing._write_one

    def work(url: str) -> None:
        target = Target(place=HostPlace(url=url), space="answers", agent="clerk", law=str(law))
        assert target.check() == "clerk@ward"
        left = after

        async def until_killed(space: Any, row: Keyed) -> str | None:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            return await write_one(space, row)

        for _ in range(2):
            monkeypatch.setattr(writing, "_write_one", until_killed)
            monkeypatch.setattr(writing, "_ABREAST", 1)
            with pytest.raises(Killed):
                target.write("s", 0, ROWS)
            monkeypatch.setattr(writing, "_write_one", write_one)
        for _ in range(2):
            assert target.write("s", 0, ROWS) == WrittenBack(10, 2)
            assert look(target) == (list(range(10)), [100, 101])
        assert target.write("s", 1, []) == WrittenBack()

    served(tmp_path, work, jobs=0)


def test_a_row_with_a_letter_is_left_at_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law would let it pass by now; but a row has one fate, and this one is told already."""
    law = tmp_path / "late.law"
    law.write_text(
        """\
law(late).
R1. sent(_, out([job, 1], _), _) :- seen@CS, do(forward).
R2. sent(_, out([job, 2], _), _) :- do(+seen), do(forward).
R3. sent(_, M, _) :- not(M = out(_, _)), do(forward).
R4. arrived(_, _, _) :- do(deliver).
"""
    )
    monkeypatch.setattr(writing, "_ABREAST", 1)
    rows = [Keyed("s/1", ("job", 1)), Keyed("s/2", ("job", 2))]

    def work(url: str) -> None:
        target = Target(place=HostPlace(url=url), space="answers", agent="clerk", law=str(law))
        for _ in range(2):
            assert target.write("s", 0, rows) == WrittenBack(1, 1)
            assert look(target) == ([2], [1])
        assert target.write("s", 1, [Keyed("s/3", ("job", 1))]) == WrittenBack(1, 0)

    served(tmp_path, work, jobs=0)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law = tmp_path / "few.law"
    law.write_text(FEW)

    def work(url: str) -> None:
        target = Target(place=HostPlace(url=url), space="answers", agent="clerk", law=str(law))
        monkeypatch.setattr(writing, "REFUSED_MAX", 1)
        with pytest.raises(TooManyRefused, match=r"(?s)more than 1 rows .* N < 100"):
            target.write("s", 0, ROWS)
        monkeypatch.setattr(writing, "ROWS_MAX", 3)
        with pytest.raises(TooManyToWrite, match="more than 3 rows"):
            target.write("s", 0, ROWS)

    served(tmp_path, work, jobs=0)
