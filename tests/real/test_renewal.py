"""Certificates, an authority's key and a revocation change under hosts that go on serving.

Each host has a trust folder of its own, as on a machine of its own. What the operator gives to a
host is copied there; all else hosts get from each other.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nomospace.cli.trust import app
from nomospace.cli.trust.files import now_us
from nomospace.client.remote import connect
from nomospace.errors import NomospaceError
from nomospace.trust.authority import Authority, new_serial
from nomospace.trust.certificates import read_claim
from nomospace.trust.moments import DAY, SECOND
from nomospace.wire.admin import Doctor
from tests.ports import free_port
from tests.real.hosts import RealHost, end, play, seen, start

NAMES = ("ward", "icu", "lab")
LEFT_S = 60
"""How long the first certificates count still: a third of their time, so a host wants new ones."""


class Office:
    """Where the authority is, and what it has given to whom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "office"
        self._root = folder
        self.trust("init", str(self.folder), at=False)
        self.trust("issue", "deputy", "renewer")
        words = ("issue", "token", "ann@ward", "bob@icu", "--scope", "agent", "--scope", "operator")
        self.token = self.trust(*words).splitlines()[0]
        for name in NAMES:
            self.trust("issue", "host", name)
            self.trust("issue", "controller", name)
        for who in (*NAMES, "client"):
            self.give(who)

    def trust(self, *words: str, at: bool = True) -> str:
        """What `nomospace trust` prints."""
        given = [*words, "--folder", str(self.folder)] if at else list(words)
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, done.output
        return done.output

    def at(self, who: str) -> Path:
        """The folder that somebody has."""
        return self._root / f"trust-{who}"

    def give(self, who: str) -> None:
        """Give somebody all that is for them; the key of the deputy goes to ward alone."""
        secret = ["authority.key"] if who != "ward" else []
        for path in sorted(self.folder.rglob("*")):
            part = path.relative_to(self.folder)
            mine = part.parts[0] not in ("hosts", "agents") or who in part.parts
            if path.is_dir() or not mine or path.name in secret or str(part) == "authority.key":
                continue
            target = self.at(who) / part
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name(f".{target.name}")
            shutil.copyfile(path, beside)
            beside.rename(target)

    def shorten(self) -> None:
        """Have all hosts begin with certificates that end soon."""
        by = Authority.open(
            (self.folder / "authority.pem").read_bytes(),
            (self.folder / "authority.key").read_bytes(),
        )
        left = LEFT_S * SECOND
        for name in NAMES:
            place = self.at(name) / "hosts" / name
            for role in ("host", "controller"):
                claim = read_claim((place / f"{role}.pem").read_bytes())
                now, days = now_us() - 2 * left, 3 * left / DAY
                if role == "host":
                    places = claim.addresses
                    pem = by.issue_host(
                        name, claim.key, addresses=places, serial=new_serial(), now=now, days=days
                    )
                else:
                    pem = by.issue_controller(
                        name, claim.key, serial=new_serial(), now=now, days=days
                    )
                (place / f"{role}.pem").write_bytes(pem)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def hosts_of(office: Office, folder: Path) -> dict[str, RealHost]:
    ports = {name: free_port() for name in NAMES}
    return {name: started(office, folder, name, ports) for name in NAMES}


def started(office: Office, folder: Path, name: str, ports: dict[str, int]) -> RealHost:
    words = ["--trust", str(office.at(name)), "--store", str(folder / f"{name}.db")]
    for other, port in ports.items():
        if other != name:
            words += ["--join", f"127.0.0.1:{port}"]
    return RealHost(name, folder, *words, port=ports[name])


class Visits:
    """A client that comes anew all the time, and writes at one host what it takes at another."""

    def __init__(self, office: Office, hosts: dict[str, RealHost]) -> None:
        self.count = 0
        self.refused: list[str] = []
        self._office = office
        self._hosts = hosts
        self._on = True

    async def work(self) -> None:
        while self._on:
            try:
                await asyncio.gather(self._visit("ward", "ann@ward"), self._visit("icu", "bob@icu"))
                self.count += 1
            except NomospaceError as error:
                self.refused.append(f"{type(error).__name__}: {error}")

    async def _visit(self, name: str, agent: str) -> None:
        url = f"nomos://{self._hosts[name].address}"
        trust, token = self._office.at("client"), self._office.token
        async with connect(url, trust=trust, token=token) as host:
            jobs = await (await host.agent(agent)).space("jobs", shared=True)
            if name == "ward":
                await jobs.out("job", self.count)
            else:
                await jobs.take("job", self.count, timeout=60)

    async def stop(self, task: asyncio.Task[None]) -> None:
        self._on = False
        await task
        assert self.refused == []
        assert self.count > 2


@pytest.mark.slow
def test_certificates_and_the_authoritys_key_are_replaced_while_clients_come_and_go(
    office: Office, tmp_path: Path
) -> None:
    office.shorten()
    hosts = hosts_of(office, tmp_path)

    async def story() -> None:
        visits = Visits(office, hosts)
        task = asyncio.create_task(visits.work())
        for host in hosts.values():  # by the deputy, whose key ward has
            await host.noted("certificate-renewed", "controller")
        # Nobody has come or gone. Who renewed before the group was one told it as it came.
        await seen(
            lambda: any(host.notes("certificate-heard") for host in hosts.values()),
            lambda: "\n".join([host.story() for host in hosts.values()]),
        )
        begun = {name: len(host.notes("identity-reloaded")) for name, host in hosts.items()}
        office.trust("replace", "--beside", "20")
        for who in (*NAMES, "client"):
            office.give(who)
        for name, host in hosts.items():
            await host.noted("identity-reloaded", more_than=begun[name])
        for name in NAMES:
            office.trust("issue", "host", name, "--renew")
            office.trust("issue", "controller", name, "--renew")
            office.give(name)
        serials = {name: _serial(office.at(name), name) for name in NAMES}
        before = visits.count
        await seen(lambda: visits.count > before + 2, lambda: "nobody comes any more")
        await visits.stop(task)
        assert {name: _serial(office.folder, name) for name in NAMES} == serials
        for host in hosts.values():
            assert not host.notes("certificate-refused"), host.story()
        async with connect(
            f"nomos://{hosts['icu'].address}", trust=office.at("client"), token=office.token
        ) as icu:
            (found,) = [one for one in await icu.ask(Doctor()) if one.what == "trust"]
            assert not found.good, "the former authority ends in 20 days"

    start(*hosts.values())
    try:
        play(story())
    finally:
        end(*hosts.values())


def _serial(folder: Path, name: str) -> int:
    return read_claim((folder / "hosts" / name / "host.pem").read_bytes()).serial


def test_a_revocation_reaches_a_host_that_was_away(office: Office, tmp_path: Path) -> None:
    hosts = hosts_of(office, tmp_path)
    ports = {name: host.port for name, host in hosts.items()}
    start(*hosts.values())
    try:

        async def story() -> None:
            await hosts["lab"].noted("link-up", "icu")
            assert hosts["lab"].end() == 0
            pem = office.folder / "hosts" / "icu" / "host.pem"
            office.trust("revoke", str(pem))
            office.give("ward")
            await hosts["ward"].noted("certificate-refused", "icu")
            hosts["lab"] = started(office, tmp_path, "lab", ports)
            await hosts["lab"].ready()
            await hosts["lab"].noted("revocations-learnt")  # by any that has it, icu too
            await hosts["lab"].noted("certificate-refused", "icu")
            kept = office.at("lab") / "revoked.crl.pem"
            assert kept.read_bytes() == (office.folder / "revoked.crl.pem").read_bytes()

        play(story())
    finally:
        end(*hosts.values())
