"""A host inside one's own program, in contact with others: one call."""

from pathlib import Path
from typing import Any

import pytest

import nomospace as ns
from nomospace.node.config import BadConfig
from tests.servers import shared_nats
from tests.sites import QUICK, run_real
from tests.trust_folder import TrustFolder


async def _met(one: ns.Host, other: ns.Host) -> None:
    """Two hosts share a space, in both directions."""
    await one.wait_engaged(other.name, timeout=60)
    spaces = []
    for host in (one, other):
        agent = await host.agent("ann")
        spaces.append(await agent.space("jobs", shared=True))
    await spaces[0].out("job", 1)
    assert await spaces[1].take("job", int, timeout=60) == ("job", 1)


def test_over_tcp_with_a_store_and_clients(tmp_path: Path) -> None:
    async def main() -> None:
        store = tmp_path / "ward.db"
        async with ns.Host("ward", listen="127.0.0.1:0", store=store, pace=QUICK) as ward:
            async with ns.Host("icu", join=[ward.address], pace=QUICK) as icu:
                await _met(icu, ward)
            async with ns.connect(ward.url) as far:
                jobs = await (await far.agent("bob")).space("jobs", shared=True)
                await jobs.out("job", 2)
        assert ward.address == ward.url == ""
        async with ward:  # it has kept it, and listens again
            assert ward.life == 2
            jobs = await (await ward.agent("bob")).space("jobs", shared=True)
            assert await jobs.take_nowait("job", int) == ("job", 2)
        async with ns.Host("ward", store=store) as quiet:  # a store needs no door
            assert (quiet.life, quiet.address) == (3, "")

    run_real(main())


def test_with_certificates(tmp_path: Path) -> None:
    trust = TrustFolder(tmp_path)
    for name in ("ward", "icu"):
        trust.host(name)

    async def main() -> None:
        async with (
            ns.Host("ward", listen="127.0.0.1:0", trust=tmp_path, pace=QUICK) as ward,
            ns.Host("icu", join=[ward.address], trust=tmp_path, pace=QUICK) as icu,
        ):
            assert ward.url.startswith("nomos://")
            await _met(icu, ward)

    run_real(main())


def test_over_nats() -> None:
    url = shared_nats().url

    async def main() -> None:
        async with (
            ns.Host("own-ward", transport=url, pace=QUICK) as ward,
            ns.Host("own-icu", transport=url, pace=QUICK) as icu,
        ):
            await _met(icu, ward)

    run_real(main())


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ward.toml"
    file.write_text(f'[host]\ninsecure = true\nlisten = "127.0.0.1:0"\nstore = "{tmp_path}/w.db"\n')

    async def main() -> None:
        async with ns.Host("ward", config=file, join=["127.0.0.1:9"]) as ward:
            assert ward.url.startswith("nomos+plain://")
        assert (tmp_path / "w.db").exists()

    run_real(main())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"listen": "0.0.0.0:0"}, "listens on a loopback address only"),
        ({"listen": "ward"}, "--listen"),
        ({"join": ["127.0.0.1:x"]}, "--join"),
        ({"listen": "127.0.0.1:0", "store": ns.MemoryStore()}, "name it"),
        ({"config": "/nowhere.toml"}, "cannot be read"),
        ({"transport": "pigeon"}, "no transport"),
    ],
)
def test_what_cannot_be(options: dict[str, object], why: str) -> None:
    make: Any = ns.Host
    with pytest.raises(BadConfig, match=why):
        make("ward", **options)
