"""Hosts that are believed over a link of their own only, and how they come by one."""

import asyncio
from typing import Any, Self

import pytest

import nomospace as ns
from nomospace.host.trust import Trusting
from nomospace.law import CompiledLaw, load
from nomospace.trust.seals import NotAuthentic
from nomospace_lab.testing.loop import run

LAW = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")
GOOD = b"good certificate"


class GoodCertificates(Trusting):
    """Believes those who have a good certificate, and shows one."""

    def __init__(self, certificate: bytes) -> None:
        self._certificate = certificate

    def certificate(self) -> bytes:
        return self._certificate

    def host_objection(
        self, _law: CompiledLaw, _host: str, certificate: bytes
    ) -> NotAuthentic | None:
        if certificate == GOOD:
            return None
        return NotAuthentic(reason="trust.no-papers", why=repr(certificate))


class Row:
    """Three hosts in a row: the outer ones have no link with each other."""

    def __init__(self, certificate: bytes) -> None:
        self.network = ns.Network()
        self.network.connect("a", "b")
        self.network.connect("b", "c")
        self.wanted: list[Any] = []
        self.hosts = [
            ns.Host(
                name,
                network=self.network,
                trust=GoodCertificates(certificate),
                on_report=self._report,
            )
            for name in "abc"
        ]

    def _report(self, report: Any) -> None:
        if report.what == "link-wanted":
            self.wanted.append(report.facts["peer"])

    async def __aenter__(self) -> Self:
        for host in self.hosts:
            await host.start()
        for name in "bc":
            await self.hosts[0].wait_engaged(name, timeout=60)
        return self

    async def __aexit__(self, *_: object) -> None:
        for host in self.hosts:
            await host.close()

    async def spaces(self) -> list[ns.Space]:
        """The same governed space, at the outer hosts."""
        made = []
        for host, name in ((self.hosts[0], "ann"), (self.hosts[2], "bob")):
            agent = await host.agent(name)
            await agent.adopt(LAW)
            made.append(await agent.space("jobs", shared=True, law=LAW))
        return made


def test_who_has_good_certificate_and_no_link_is_called_and_then_believed() -> None:
    async def program() -> None:
        async with Row(GOOD) as row:
            ann, bob = await row.spaces()
            await ann.out("job", 1)
            taking = asyncio.create_task(bob.take("job", int, timeout=60))
            await asyncio.sleep(10)
            assert not taking.done()
            assert row.wanted == ["a"]  # noted once, however often it is called
            row.network.connect("a", "c")
            assert await taking == ("job", 1)

    run(program())


def test_who_has_no_good_certificate_is_not_called() -> None:
    async def program() -> None:
        async with Row(b"bad certificate") as row:
            ann, bob = await row.spaces()
            await ann.out("job", 1)
            with pytest.raises(ns.TimedOut):
                await bob.take("job", int, timeout=60)
            assert row.wanted == []

    run(program())
