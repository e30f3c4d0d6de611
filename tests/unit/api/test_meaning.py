"""The playground: answers with what joins them, bounds, and the ontologies that spaces speak."""

import asyncio
import json

import pytest

from nomospace.api.matching import TUPLES_MAX
from nomospace.api.meaning import (
    TEXT_CHARS_MAX,
    TooMuchToPlay,
    play,
    read_text,
    spoken,
    text_of,
    view_of,
)
from nomospace.console.places.meaning.state import EXAMPLE, TEMPLATES, TUPLES
from nomospace.meaning.jsonforms import BadTupleLine
from nomospace.meaning.reading.faults import FaultyOntology
from tests.unit.api.test_http import Web, on_the_web


def test_the_example_shows_each_kind_of_answer() -> None:
    async def work() -> None:
        cars = await read_text(EXAMPLE)
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
        cars = await read_text(EXAMPLE)
        with pytest.raises(BadTupleLine, match="tuples:2: it is no JSON"):
            await play(cars, TUPLES.partition("\n")[0] + "\n{", "(Car)")
        with pytest.raises(FaultyOntology, match="did you mean Car"):
            await read_text("classes: {Car: {}, Van: {parents: Carr}}")

    asyncio.run(work())


def test_too_much_is_refused_before_any_work() -> None:
    async def work() -> None:
        cars = await read_text(EXAMPLE)
        with pytest.raises(TooMuchToPlay, match="characters of tuples"):
            await play(cars, " " * (TEXT_CHARS_MAX + 1), "(Car)")
        with pytest.raises(TooMuchToPlay, match="characters of the ontology"):
            await read_text("#" * (TEXT_CHARS_MAX + 1))
        many = "\n".join(json.dumps({"id": str(i), "fields": [i]}) for i in range(TUPLES_MAX + 1))
        with pytest.raises(TooMuchToPlay, match=f"tuples: over {TUPLES_MAX}"):
            await play(cars, many, "(Car)")

    asyncio.run(work())


def test_ontologies_that_spaces_speak_can_be_seen_and_written_down() -> None:
    async def work(web: Web) -> None:
        assert spoken(web.service) == {}
        cars = await read_text(EXAMPLE)
        ann = await web.server.host.agent("ann")
        for name in ("market", "harbour"):
            await ann.space(name, shared=True, ontology=cars)
        await ann.space("plain", shared=True)
        ((hash, (ontology, spaces)),) = spoken(web.service).items()
        assert (hash, sorted(spaces)) == (cars.hash, ["harbour", "market"])
        duration = next(one for one in view_of(ontology).classes if one.depends)
        assert (duration.name, duration.depends[0].inputs) == (
            "ShippingDuration",
            ("Arrival", "Departure"),
        )
        again = await read_text(text_of(ontology))
        assert again.hash == cars.hash

    on_the_web(work)
