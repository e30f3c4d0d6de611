"""`002_…` 4.1 with a host inside one's own program: over TLS with a host that is a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nomospace as ns
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.trust import Trust


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[tuple[RealHost, Trust]]:
    trust = Trust(tmp_path / "trust")
    for name in ("ward", "icu"):
        trust.member(name)
    host = RealHost("ward", tmp_path, "--trust", str(trust.folder))
    start(host)
    yield host, trust
    end(host)


def test_it_listens_joins_keeps_and_trusts(ward: tuple[RealHost, Trust], tmp_path: Path) -> None:
    host, trust = ward

    def inside() -> ns.Host:
        return ns.Host(
            "icu",
            listen="127.0.0.2:0",
            join=[host.address],
            store=tmp_path / "inside.db",
            trust=trust.folder,
        )

    async def story() -> None:
        async with caller(host, trust, token=trust.token("ann@ward")) as remote:
            far = await (await remote.agent("ann")).space("jobs", shared=True)
            async with inside() as icu:
                await icu.wait_engaged("ward", timeout=60)
                near = await (await icu.agent("bob")).space("jobs", shared=True)
                await far.out("job", 1)
                assert await near.take("job", int, timeout=60) == ("job", 1)
                await near.out("job", 2)
                assert await far.read("job", 2, at="icu", timeout=60) == ("job", 2)
            async with inside() as icu:
                assert icu.life == 2
                assert await far.take("job", 2, timeout=60) == ("job", 2)

    play(story())
