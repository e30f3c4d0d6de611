"""Several hosts in one process: their authority, what survives, what their journals say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nomospace import laws
from nomospace.trust.certificates import BadCertificate
from nomospace_lab.testing.together import NoFolder, NotRecorded, Together

HOSTS = ("ward", "icu")


def test_roles_and_laws_survive_with_the_folder(tmp_path: Path) -> None:
    async def life() -> tuple[str, int, tuple[str, ...]]:
        async with Together(HOSTS, tmp_path) as hosts:
            law = hosts.law(laws.text("ap"))
            await hosts.member("mia@icu", law, "facilityManager")
            member = hosts.host("icu").core.governing.find("mia@icu", law.hash)
            assert member is not None
            state = tuple(str(term) for _, term in member.state.items())
            return law.hash, member.seq, state

    first, second = asyncio.run(life()), asyncio.run(life())
    assert first == second  # one authority, so one law; adopted once, certified once
    assert "facilityManager" in first[2]
    assert (tmp_path / "authority.key").stat().st_mode & 0o077 == 0


def test_what_another_authority_certifies_does_not_count() -> None:
    async def story() -> None:
        async with Together(HOSTS) as hosts, Together(["elsewhere"]) as others:
            law = hosts.law(laws.text("ap"))
            member = await hosts.member("mia@icu", law)
            with pytest.raises(BadCertificate):
                await member.present(others.certify("mia@icu", "facilityManager"))

    asyncio.run(story())


def test_a_message_between_hosts_is_found_in_the_journal_of_each() -> None:
    async def story() -> None:
        async with Together(HOSTS) as hosts:
            await hosts.wait_engaged()
            law = hosts.law(laws.text("ap"))
            mia = await hosts.member("mia@icu", law, "facilityManager")
            await hosts.member("lea@ward", law)
            marks = hosts.marks()
            told = await mia.send("blockLay", to="lea@ward")
            sent = await hosts.find(marks, told)
            assert (sent.host, sent.ruling.rule, sent.hops) == ("icu", "R10a", 0)
            arrived = await hosts.find(marks, lambda ruling: ruling.home == "lea@ward")
            assert (arrived.host, arrived.ruling.rule, arrived.hops) == ("ward", "R11a", 1)
            latest = hosts.latest("ward", lambda ruling: ruling.home == "lea@ward")
            assert latest == arrived
            assert hosts.latest("ward", lambda ruling: ruling.home == "nobody@ward") is None
            assert (hosts.where("lea@ward"), hosts.where("nobody@ward")) == ("ward", "")
            with pytest.raises(NotRecorded, match=r"after 0\.05 s"):
                await hosts.find(hosts.marks(), told, timeout=0.05)

    asyncio.run(story())


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def story() -> None:
        async with Together(HOSTS, tmp_path / "file"):
            pass

    with pytest.raises(NoFolder, match="name another folder"):
        asyncio.run(story())
