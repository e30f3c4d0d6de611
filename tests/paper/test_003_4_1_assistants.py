"""`003_…` 2 and 4.1 on hosts of their own: documents that go to other people's agents and back.

Three hosts, programs in processes of their own. Ann's assistant takes a document of several pieces
to an expert at the institute, whose program knows nothing of assistants, and brings the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from hashlib import sha256

import pytest

import nomospace as ns
from nomospace import t
from nomospace.cli import main
from nomospace.client import Agent
from nomospace.errors import CallerError
from nomospace_lab.apps.assistants.errands import (
    DOCUMENT_BYTES_MAX,
    PIECE_BYTES,
    put_document,
    take_document,
)
from tests.real.hosts import RealHost, caller, end, play, start

REPORT = b"one line of a long report\n" * 100_000
SEEN_S = 60.0
Hosts = dict[str, RealHost]
SITES = ("office", "institute", "lab")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("errands")
    config = folder / "sites.toml"
    served = "".join([f'{site} = ["{site}"]\n' for site in SITES])
    config.write_text(
        f'[programs]\nmodules = ["nomospace_lab.apps.assistants.errands"]\n[servers]\n{served}'
    )
    told = ("--insecure", "--config", str(config))
    office = RealHost("office", folder, *told)
    others = [RealHost(name, folder, *told, "--join", office.address) for name in SITES[1:]]
    found = {one.name: one for one in (office, *others)}
    start(*found.values())
    yield found
    end(*found.values())


def agent(host: RealHost, *words: str) -> int:
    """`nomospace agent`."""
    return main(["agent", *words, "--host", f"nomos+plain://{host.address}"])


async def told(who: Agent) -> str:
    async with asyncio.timeout(SEEN_S):
        return ns.show((await anext(aiter(who.inbox()))).message)


def test_4_1_an_assistant_takes_a_document_to_an_expert_and_brings_the_result(
    hosts: Hosts,
) -> None:
    assert len(REPORT) > 2 * PIECE_BYTES
    state = '{"person": "ann@office", "home": "office"}'
    assert agent(hosts["office"], "launch", "pa", "errands", "--state", state) == 0
    assert agent(hosts["institute"], "launch", "expert", "reader") == 0

    async def story() -> None:
        async with caller(hosts["office"], None) as office:
            ann = await office.agent("ann")
            desk = await ann.space("desk", shared=True)
            with pytest.raises(CallerError) as refused:  # in one piece no tuple holds it
                await desk.out("report", REPORT)
            assert "limit" in str(refused.value)
            with pytest.raises(CallerError) as refused:
                await put_document(desk, "archive", bytes(DOCUMENT_BYTES_MAX + 1))
            assert refused.value.code == "assistants.document-too-large"

            await put_document(desk, "report", REPORT, to="pa@office")
            order = t.delegate("institute", "expert@institute", "report")
            await (await office.agent("mallory")).send(order, to="pa@office")  # is not obeyed
            await ann.send(order, to="pa@office")
            assert await told(ann) == "done(report,institute)"
            async with asyncio.timeout(SEEN_S):
                found = await take_document(desk, "report", dest="ann@office")
            digest = sha256(REPORT).hexdigest()
            said = f"100000 lines, 600000 words, sha256 {digest}"
            assert found == ("report", "pa@office", said.encode())
            assert await desk.read_all("document", str, str, int, int, bytes) == []

            await ann.send("summon(nowhere)", to="pa@office")
            assert (await told(ann)).startswith("stuck(office,nowhere,")

    play(story())


def test_4_1_only_if_it_is_here_on_the_command_line(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    async def arrive() -> None:
        async with caller(hosts["lab"], None) as lab:
            await lab.agent("lea")
            await lab.agent("leo")

    play(arrive())
    assert agent(hosts["lab"], "send", "lea@lab", "leo@lab", "near", "--here") == 0
    assert agent(hosts["lab"], "send", "lea@lab", "ann@office", "far", "--here") != 0
    assert "ann@office is not at lab" in capsys.readouterr().err
    assert agent(hosts["lab"], "inbox", "leo@lab", "--wait", "60") == 0
    assert "lea@lab: near" in capsys.readouterr().out
