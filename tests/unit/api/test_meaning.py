"""The playground: answers with what joins them, bounds, and the ontologies that spaces speak."""

import asyncio
import json
from typing import cast

import pytest

from nomospace.api.matching import TUPLES_MAX
from nomospace.api.meaning import (
    TEXT_CHARS_MAX,
    TooMuchToPlay,
    classes_of,
    play,
    read_text,
    spoken,
    text_of,
)
from nomospace.console.places.meaning.state import EXAMPLE, TEMPLATES, TUPLES
from nomospace.meaning.functions import FUNCTIONS
from nomospace.meaning.jsonforms import BadTupleLine
from nomospace.meaning.reading import read_ontology
from nomospace.meaning.reading.faults import FaultyOntology
from nomospace.node.working import Workers
from tests.unit.api.web import Web, on_the_web


def test_the_example_shows_each_kind_of_answer() -> None:
    async def work() -> None:
        cars = read_ontology(EXAMPLE, "cars.yaml")
        shared, alone, computed = [await play(cars, TUPLES, one) for one in TEMPLATES]
        (answer,) = shared.answers
        assert (answer.kind, [id for id, _ in answer.tuples]) == ("correlation", ["t1", "t2"])
        (join,) = answer.joins
        assert (join.kind, join.words, join.spots) == (
            "shared",
            "SportsCar A",
            (("t1", 0), ("t2", 0)),
        )
        assert answer.served_by == (("t1", 0), ("t1", 1), ("t2", 1))
        assert {one.why for one in alone.answers} == {"SportsCar is a Car", "Automobile means Car"}
        (answer,) = computed.answers
        assert answer.served_by == (None,)
        assert answer.serves[0].more == 'duration 15, shippingID "s1"'
        (join,) = answer.joins
        assert (join.kind, join.words) == ("tied", "Arrival.shippingID = Departure.shippingID")

    asyncio.run(work())


def test_what_is_wrong_is_told_with_its_place() -> None:
    async def work() -> None:
        cars = read_ontology(EXAMPLE, "cars.yaml")
        with pytest.raises(BadTupleLine, match="tuples:2: it is no JSON"):
            await play(cars, TUPLES.partition("\n")[0] + "\n{", "(Car)")

    asyncio.run(work())


def test_an_ontology_is_read_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same as read here, knows this program's functions, and faults are told as here."""
    monkeypatch.setattr(FUNCTIONS, "_by_name", dict(FUNCTIONS._by_name))
    FUNCTIONS.register("twice")(lambda number: 2 * number)
    text = (
        "{name: t, classes: {S: {properties: {a: number}},"
        " T: {properties: {b: number}, depends: {b: twice(S.a)}}}}"
    )

    async def reading(work: Workers) -> None:
        assert await read_text(work, EXAMPLE) == read_ontology(EXAMPLE, "ontology.yaml")
        assert await read_text(work, text) == read_ontology(text, "ontology.yaml")
        with pytest.raises(FaultyOntology, match="did you mean Car"):
            await read_text(work, "classes: {Car: {}, Van: {parents: Carr}}")
        assert (work.jobs, work.started) == (3, 1)
        with pytest.raises(TooMuchToPlay, match="characters of the ontology"):
            await read_text(work, "#" * (TEXT_CHARS_MAX + 1))
        assert work.jobs == 3

    async def all_of_it() -> None:
        work = Workers()
        try:
            await reading(work)
        finally:
            await work.close()

    asyncio.run(all_of_it())


def test_too_much_is_refused_before_any_work() -> None:
    async def work() -> None:
        cars = read_ontology(EXAMPLE, "cars.yaml")
        with pytest.raises(TooMuchToPlay, match="characters of tuples"):
            await play(cars, " " * (TEXT_CHARS_MAX + 1), "(Car)")
        many = "\n".join(json.dumps({"id": str(i), "fields": [i]}) for i in range(TUPLES_MAX + 1))
        with pytest.raises(TooMuchToPlay, match=f"tuples: over {TUPLES_MAX}"):
            await play(cars, many, "(Car)")

    asyncio.run(work())


def test_ontologies_that_spaces_speak_can_be_seen_and_written_down() -> None:
    async def work(web: Web) -> None:
        assert spoken(web.service) == {}
        cars = read_ontology(EXAMPLE, "cars.yaml")
        ann = await web.server.host.agent("ann")
        for name in ("market", "harbour"):
            await ann.space(name, shared=True, ontology=cars)
        await ann.space("plain", shared=True)
        ((hash, (ontology, spaces)),) = spoken(web.service).items()
        assert (hash, sorted(spaces)) == (cars.hash, ["harbour", "market"])
        duration = next(one for one in classes_of(ontology) if one["depends"])
        (made,) = cast("list[dict[str, object]]", duration["depends"])
        assert (duration["name"], made["inputs"]) == (
            "ShippingDuration",
            ("Arrival", "Departure"),
        )
        again = read_ontology(text_of(ontology), "ontology.yaml")
        assert again.hash == cars.hash

    on_the_web(work)
