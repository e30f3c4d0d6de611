"""Clients prove who they are over TLS, at the real port of a host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nomospace.calls.problems import NotLetIn, NotYourAgent
from nomospace.client.dialling import AgentIdentity, BadIdentity, NotItsHost, NoTrust
from nomospace.client.remote import connect
from nomospace.node.client_link import ClientLink
from nomospace.node.door import TrustDoor
from nomospace.node.identity import Identity
from nomospace.node.listen import Listener
from nomospace.trust.tokens import Tokens, make_token
from nomospace.wire.admin import Stats
from tests.serving import ServedHost
from tests.sites import Nobody, run_real, until
from tests.trust_folder import TrustFolder


def _now() -> int:
    return time.time_ns() // 1000


@asynccontextmanager
async def serving(trust: TrustFolder) -> AsyncIterator[tuple[ServedHost, str]]:
    """The host `ward` at a port with certificates."""
    trust.host("ward")
    identity = Identity(trust.folder, "ward")
    async with ServedHost("ward", door=TrustDoor(identity, _now)) as host:
        port = Listener(
            "127.0.0.1:0",
            identity=identity,
            on_host=lambda _: Nobody(),
            on_client=lambda arrival: ClientLink(host.clients, arrival),
            on_note=lambda what, /, **facts: host.notes.append((what, facts)),
        )
        await port.start()
        try:
            yield host, f"nomos://{port.address}"
        finally:
            await port.stop()
            host.clients.stop()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_an_agent_with_its_key_comes_in_and_stays_itself(tmp_path: Path, loop: str) -> None:
    async def program() -> None:
        trust = TrustFolder(tmp_path)
        trust.agent("nurse@ward")
        place = tmp_path / "agents" / "nurse@ward"
        async with serving(trust) as (host, url), connect(url, identity=place) as far:
            nurse = await far.agent()
            assert nurse.id == "nurse@ward"
            jobs = await nurse.space("jobs", shared=True)
            waiting = asyncio.create_task(jobs.take("job", int))
            await until(lambda: any(session.calls for session in host.served.all))
            for session in list(host.served.all):
                assert session.link is not None
                session.link.drop()  # the host ends the connection: it is made again
            await jobs.out("job", 17)
            assert await waiting == ("job", 17)
            with pytest.raises(NotYourAgent, match="nurse@ward may not speak for porter@ward"):
                await far.agent("porter")
            assert host.notes[-1][1]["code"] == NotYourAgent.code

    run_real(program(), loop=loop)


def test_a_token_lets_a_script_in_and_an_operator_ask(tmp_path: Path) -> None:
    async def program() -> None:
        trust = TrustFolder(tmp_path)
        text, kept = make_token(
            ["cron@ward"],
            scopes=["agent", "operator"],
            identifier=bytes(8),
            secret=bytes(32),
            now=_now(),
            days=1,
        )
        (tmp_path / "tokens.toml").write_text(Tokens([kept]).text())
        async with serving(trust) as (host, url):
            host.clients.answers = lambda question: []
            async with connect(url, token=text, trust=tmp_path) as far:
                cron = await far.agent()
                assert cron.id == "cron@ward"
                with pytest.raises(NotYourAgent):
                    await far.agent("nurse")
            for wrong in (text[:-1] + "B", "ns1", "x" * 5000, ""):
                async with connect(url, token=wrong, trust=tmp_path) as far:
                    with pytest.raises(NotLetIn):
                        await far.agent("cron")
                    with pytest.raises(NotLetIn):
                        await far.ask(Stats())

    run_real(program())


def test_a_certificate_of_another_authority_or_another_key_is_refused(tmp_path: Path) -> None:
    async def program() -> None:
        trust, other = TrustFolder(tmp_path / "ours"), TrustFolder(tmp_path / "theirs", "mallory")
        trust.agent("nurse@ward")
        trust.agent("porter@ward")
        other.agent("nurse@ward")
        good = AgentIdentity.load(trust.folder / "agents" / "nurse@ward")
        porter = AgentIdentity.load(trust.folder / "agents" / "porter@ward")
        forged = AgentIdentity.load(other.folder / "agents" / "nurse@ward")
        stolen = AgentIdentity(good.agent, good.certificate, porter.key)
        async with serving(trust) as (host, url):
            for identity in (forged, stolen):
                async with connect(url, identity=identity, trust=trust.folder) as far:
                    with pytest.raises(NotLetIn):
                        await far.agent("nurse")
            # A host that our authority does not certify gets nothing of us.
            async with connect(url, identity=good, trust=other.folder) as far:
                with pytest.raises(NotItsHost):
                    await far.agent("nurse")
            async with connect(url, identity=good) as far:
                with pytest.raises(NoTrust):
                    await far.agent("nurse")
            plain = url.replace("nomos:", "nomos+plain:")
            async with connect(plain) as far:
                with pytest.raises(NotLetIn, match="speaks TLS, so its address is nomos://"):
                    await far.agent("nurse")
            assert [what for what, _ in host.notes].count("client-refused") == 2
            assert "plain-text" in [what for what, _ in host.notes]
            assert not host.served.all

    run_real(program())


def test_an_identity_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadIdentity, match="No such file"):
        connect("nomos://ward", identity=tmp_path)
    (tmp_path / "agent.pem").write_text("nonsense")
    (tmp_path / "agent.key").write_text("nonsense")
    with pytest.raises(BadIdentity):
        connect("nomos://ward", identity=tmp_path)
    with pytest.raises(BadIdentity):
        connect("nomos://ward", trust=tmp_path)
