"""Spaces that speak an ontology, as programs use them: in the host's process and from another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import nomospace as ns
from nomospace import a, obj, sync
from nomospace.calls.problems import OntologyUnknown
from nomospace.client.remote import connect
from nomospace.client.tuples import sets_of
from nomospace.host.speaking import OtherOntology
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms.templates import ANY
from tests.serving import ServedHost, serve

pytestmark = pytest.mark.usefixtures("born_alike")

CARS = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",)),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Insurance"),
        OntologyClass("Finance"),
    ],
)
PAPERS = (a("Car"), a("Insurance"), a("Finance"))
Program = Callable[[Any], Awaitable[None]]


async def near(program: Program) -> None:
    async with ns.Host("ward") as host:
        await program(host)


async def far(program: Program) -> None:
    async with ServedHost("ward") as host, serve(host) as url, connect(url) as elsewhere:
        await program(elsewhere)


@pytest.fixture(params=[near, far], ids=["in process", "remote"])
def run(request: pytest.FixtureRequest) -> Callable[[Program], None]:
    return lambda program: asyncio.run(request.param(program))


def test_templates_match_by_meaning(run: Callable[[Program], None]) -> None:
    async def program(host: Any) -> None:
        sales = await (await host.agent("ann")).space("sales", shared=True, ontology=CARS)
        await sales.out("sale", obj("SportsCar", "s1", price=400))
        found = await sales.read(a("Automobile", "price < 500"), timeout=60)
        assert (found.id, found.why) == (("ann@ward", 1), "SportsCar is a Automobile")
        assert found.tuples == (found,)
        assert len(await sales.read_all(a("Car"))) == 1
        bob = await host.agent("bob")
        named = await bob.space("sales", shared=True, ontology=CARS.hash)
        assert await named.take_nowait(a("Car")) == found
        assert (await sales.read_nowait(a("Car"))) is None
        with pytest.raises(OntologyUnknown):
            await bob.space("more", ontology="f00d")
        with pytest.raises(OtherOntology):
            await bob.space("sales", ontology=Ontology("none", [OntologyClass("X")]))

    run(program)


def test_several_tuples_answer_together(run: Callable[[Program], None]) -> None:
    async def program(host: Any) -> None:
        sales = await (await host.agent("ann")).space("sales", shared=True, ontology=CARS)
        taking = asyncio.create_task(sales.take(*PAPERS, correlate="auto", timeout=60))
        await sales.out(obj("SportsCar", "s1"), obj("Insurance", "i1"))
        assert await sales.read_nowait(*PAPERS, correlate="auto") is None
        await sales.out("loan", obj("SportsCar", "s1"), obj("Finance", "f1"))
        found = await taking
        assert found == (obj("SportsCar", "s1"), obj("Insurance", "i1"), obj("Finance", "f1"))
        assert [one.id for one in found.tuples] == [("ann@ward", 1), ("ann@ward", 2)]
        assert found.tuples[1][0] == "loan"
        assert "share SportsCar s1" in found.why
        assert await sales.read_all(ANY, ANY) == []
        with pytest.raises(TypeError, match="no option"):
            await sales.read_nowait(*PAPERS, corelate="auto")

    run(program)


def test_a_cancelled_take_leaves_all_its_tuples_behind(run: Callable[[Program], None]) -> None:
    """Whether it was too late or not: what was given in the same instant is written back."""

    async def program(host: Any) -> None:
        sales = await (await host.agent("ann")).space("sales", shared=True, ontology=CARS)
        for n in range(5):
            await sales.out(obj("SportsCar", f"s{n}"), obj("Insurance", f"i{n}"))
            taking = asyncio.create_task(sales.take(*PAPERS, correlate="auto", key="Car"))
            for _ in range(n):
                await asyncio.sleep(0)
            await sales.out(obj("SportsCar", f"s{n}"), obj("Finance", f"f{n}"))
            if not taking.done():
                taking.cancel()
            await asyncio.wait([taking])
            await asyncio.sleep(0.05)
            left = await sales.take_all(ANY, ANY)
            assert len(left) == (2 if taking.cancelled() else 0)

    run(program)


def test_the_blocking_face() -> None:
    with sync.Host("ward") as host:
        sales = host.agent("ann").space("sales", shared=True, ontology=CARS)
        sales.out(obj("SportsCar", "s1"), obj("Insurance", "i1"))
        sales.out(obj("SportsCar", "s1"), obj("Finance", "f1"))
        assert len(sales.read_all(*PAPERS, correlate="auto")) == 1
        assert sales.read(*PAPERS, correlate="auto", max_set=2).why
        assert sales.take(*PAPERS, correlate="auto").tuples
        assert sales.take_nowait(*PAPERS, correlate="auto") is None


@pytest.mark.parametrize(
    "options", [{"correlate": True}, {"key": 3}, {"max_set": "6"}, {"corelate": "auto"}]
)
def test_options_of_sets_are_looked_at_before_anything_is_asked(options: Any) -> None:
    # A host would take them for a broken frame, and the client would ask again and again.
    with pytest.raises(TypeError):
        sets_of(options)
