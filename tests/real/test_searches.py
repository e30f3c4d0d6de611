"""Searches that would have a host to themselves: priced, cut into slices, and stopped in words.

A well-behaved client works beside each of them, and what it gets done meanwhile is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomospace.calls.requests import Open, Out, OutMany, React, Seek, Sets
from nomospace.calls.ways import Way
from nomospace.errors import NomospaceError
from nomospace.terms import ANY, Compound, Term, a, obj
from nomospace.terms.templates import Template, same as same_as
from tests.real.hosts import RealHost, end, play, start
from tests.real.raw import Raw
from tests.real.steady import steady
from tests.real.test_tenants import tenant_of


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHost]:
    folder: Path = tmp_path_factory.mktemp("searches")
    made = RealHost("ward", folder, "--insecure", "--store", "memory")
    start(made)
    yield made
    end(made)


async def _open(tenant: Raw, *rows: tuple[Term, ...]) -> None:
    """A private space with some tuples in it."""
    assert await tenant.call(Open("s")) is None
    for at in range(0, len(rows), 1_000):
        assert await tenant.call(OutMany("s", rows[at : at + 1_000])) is None


def _code(error: NomospaceError | None) -> str:
    return "" if error is None else error.code


def test_read_that_ties_many_classes(host: RealHost) -> None:
    """Ten fields were tried in all their orders; and no search is fit for some templates."""
    tied = [obj("C", same_as("x") if n in (0, 9) else ANY) for n in range(10)]
    walk = [obj("E", same_as(f"n{n}"), to=same_as(f"n{n + 1}")) for n in range(14)]
    graph = tuple([obj("E", n, to=m) for n in range(6) for m in range(6) if n != m])
    ten = tuple([obj("C", n) for n in range(10)])

    async def program() -> None:
        async with tenant_of(host, "mallory") as tenant, steady(host, None):
            await _open(tenant, ten, (*graph, obj("E", 8, to=7)))
            assert await tenant.call(Seek("s", Way.READ_NOWAIT, Template.of(tied))) is None
            path = Template.of([*walk, obj("E", same_as("n14"), to=7)])
            assert _code(await tenant.call(Seek("s", Way.READ_NOWAIT, path))) == "limits.test"

    play(program())


def test_read_with_dear_predicates(host: RealHost) -> None:
    """Each tuple is looked at for long, and there are many: others have their turn between them."""
    dear = a("D", " or ".join([f"p{n} = -1" for n in range(300)]))
    rows = [(obj("D", n, v=n),) for n in range(1_000)]
    huge = Compound("object", ("D", None, tuple([Compound(f"p{n}", (n,)) for n in range(4_200)])))

    async def program() -> None:
        async with tenant_of(host, "trudy") as tenant, steady(host, None) as work:
            await _open(tenant, *rows)
            wide = _code(await tenant.call(Out("s", (huge,))))
            assert wide in ("term.too-large", "limits.call-parts")
            done = work.done
            assert await tenant.call(Seek("s", Way.READ_NOWAIT, Template.of([dear]))) is None
            assert work.done > done + 2, "others had their turn"

    play(program())


def test_correlation_of_few_tuples(host: RealHost) -> None:
    """All of 240 tuples share an object, so that they can be joined in four billion ways."""
    star = [(obj("Hub", "h"), obj(f"C{n % 6}", n, v=n)) for n in range(240)]
    classes = [a(f"C{n}") for n in range(6)]
    odd = [a("C0", f"v != {n}") for n in range(5)]
    hub = obj("Hub", "h")
    broad = [(hub, *[obj("W", f"{n}.{m}") for m in range(30)]) for n in range(4)]

    async def program() -> None:
        async with tenant_of(host, "oscar") as tenant, steady(host, None) as work:
            await _open(tenant, *star)
            one = Seek("s", Way.READ_NOWAIT, Template.of(classes), sets=Sets())
            assert await tenant.call(one) is None
            none = [*classes[:5], a("C5", "v > 1000")]
            assert (
                await tenant.call(Seek("s", Way.READ_NOWAIT, Template.of(none), sets=Sets()))
                is None
            )
            every = Seek("s", Way.READ_ALL, Template.of(classes[:3]), sets=Sets())
            assert _code(await tenant.call(every)) == "limits.correlation"
            done = work.done
            endless = Template.of([*odd, a("C1", "v = 1"), a("C2", "v = 2 and v != 2")])
            asked = asyncio.create_task(
                tenant.call(Seek("s", Way.READ_ALL, endless, sets=Sets(max_set=8)))
            )
            while work.done < done + 20 and not asked.done():
                await asyncio.sleep(0.01)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        async with tenant_of(host, "peggy") as tenant:
            await _open(tenant, *broad)
            wide = Template.of([*[a("W")] * 6, a("Hub", "v > 1")])
            asked_wide = Seek("s", Way.READ_NOWAIT, wide, sets=Sets())
            assert _code(await tenant.call(asked_wide)) == "limits.plan"

    play(program())


def test_reactions_that_make_writes_dear(host: RealHost) -> None:
    """Every write pays for those who wait for it: what they may cost is bounded as they begin."""
    tied = Template.of([a("C"), a("C"), same_as("x"), same_as("x")])

    async def program() -> None:
        async with tenant_of(host, "victor") as tenant, steady(host, None):
            await _open(tenant)
            codes = [_code(await tenant.call(React("s", tied))) for _ in range(60)]
            assert "" in codes
            assert codes[-1] == "limits.watchers"

    play(program())
