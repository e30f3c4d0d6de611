"""Two hosts with certificates that attacks are tried on, and what is known of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from nomospace.client import Agent, Membership
from nomospace.host.posting import Letter
from nomospace.law import load
from nomospace.protocols.routing.frames import Post
from nomospace.terms import show, term
from nomospace.trust.seals import Signer, digest_post
from nomospace.wire.admin import JournalRecord
from tests.real.hosts import RealHost, caller, play, seen, start
from tests.real.intruder import insider
from tests.real.trust import Trust

SECRET = "hush4711"
"""Stands in every member's control state, and must never leave its host."""
RULES = """\
initialCS([secret(hush4711), quota(3)]).
R1. sent(_, say(_), _) :- do(forward).
R2. sent(_, order(_), _) :- doctor@CS, do(forward).
R3. arrived(_, _, _) :- do(deliver).
R4. certified([issuer(admin), subject(Self), attributes([role(doctor)])]) :- do(+doctor).
R5. revoked([issuer(admin), subject(Self), attributes([role(doctor)])]) :- do(-doctor).
R6. exception(forward(_, M, _), Why) :- do(deliver(Self, failed(M, Why), Self)).
R7. exception(certify(_), Why) :- do(deliver(Self, uncertified(Why), Self)).
R8. sent(_, out(_), _) :- do(forward).
"""
DOCTOR = term("role(doctor)")
CAPTURED = ("replay", "order", "sender", "words", "law")
"""To whom the insider holds letters back."""
WAIT_S = 60.0

REFUSALS = (
    "not-authentic client-refused certificate-refused bad-certificate plain-text bad-frame routing "
    "handshake-failed no-protocol"
).split()


class Clinic:
    """Two hosts under one authority, and a third whose mail an insider passes on."""

    def __init__(self, folder: Path) -> None:
        self.trust = trust = Trust(folder / "trust")
        for name in ("ward", "icu", "lab"):
            trust.member(name)
        trust.host("eve")
        head = f'law(clinic). cAuthority("{trust.key}"). authority(admin, "{trust.key}").\n'
        self.text = head + RULES
        self.law = load(self.text)
        served = folder / "lab.toml"
        served.write_text('[host]\ndomain = "clinic"\n[servers]\nclinic = ["eve"]\n')

        def shared(name: str) -> tuple[str, ...]:
            return ("--trust", str(trust.folder), "--store", str(folder / f"{name}.db"))

        self.ward = RealHost("ward", folder, *shared("ward"))
        self.icu = RealHost("icu", folder, *shared("icu"), "--join", self.ward.address)
        self.lab = RealHost("lab", folder, *shared("lab"), "--config", str(served))
        start(self.ward, self.icu, self.lab)
        self.letters: dict[tuple[str, int], Post] = {}

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[Visit]:
        """Clients that end with the test."""
        async with AsyncExitStack() as stack:
            yield Visit(self, stack)

    async def revoke(self, pem: bytes) -> None:
        """Take a certificate back, and wait until the hosts go by that."""
        hosts = (self.ward, self.icu)
        before = [len(host.notes("identity-reloaded")) for host in hosts]
        self.trust.take_back(pem)
        for host, count in zip(hosts, before, strict=True):
            await host.noted("identity-reloaded", more_than=count)

    def letter(self, post: Post, signer: Signer | None = None, **changes: Any) -> Post:
        """A post with another letter in it, sealed by someone or by nobody."""
        letter = msgspec.structs.replace(post.body, **changes)
        if signer is not None:
            digest = digest_post(post.id, letter.law, letter.sender, letter.message)
            letter = msgspec.structs.replace(letter, seal=signer.seal([digest])[0])
        return msgspec.structs.replace(post, body=letter)

    def lie(self, to: str, n: int = 1, *, origin: str = "ward", seal: bytes = b"") -> Post:
        """A letter that `ann@ward` never wrote."""
        letter = Letter(self.law.hash, "ann@ward", term("say(lie)"), seal)
        return Post("ann@ward", to, n, letter, origin)


class Visit:
    """Agents of one test."""

    def __init__(self, clinic: Clinic, stack: AsyncExitStack) -> None:
        self._clinic = clinic
        self._stack = stack

    async def agent(self, agent: str, host: RealHost) -> Agent:
        """An agent with a token of its own."""
        trust = self._clinic.trust
        client = caller(host, trust, token=trust.token(agent))
        await self._stack.enter_async_context(client)
        return await client.agent()

    async def member(self, agent: str, host: RealHost) -> Membership:
        """An agent under the clinic's law."""
        return await (await self.agent(agent, host)).adopt(self._clinic.law)


async def next_letter(membership: Membership) -> tuple[str, Any]:
    async with asyncio.timeout(WAIT_S):
        async for letter in membership.inbox():
            return letter.sender, letter.message
    raise AssertionError("the inbox ended")


async def only_the_true_one(clinic: Clinic, visit: Visit, bob: Membership, name: str) -> None:
    """What an attack wanted to bring is not in the inbox: the next letter is a true one."""
    ann = await visit.member(f"true-{name}@ward", clinic.ward)
    await ann.send("say(true)", to=f"{name}@icu")
    assert await next_letter(bob) == (f"true-{name}@ward", term("say(true)"))
    assert bob.receive_nowait() is None


def captured(clinic: Clinic) -> dict[tuple[str, int], Post]:
    """True letters with true seals, in the hands of the insider that should pass them on."""

    async def program() -> dict[tuple[str, int], Post]:
        async with insider(clinic.trust, "eve", clinic.lab) as eve, clinic.visit() as visit:
            dan = await visit.member("dan@clinic", clinic.lab)

            async def serve() -> None:
                while True:
                    eve.serve(clinic.lab)
                    await asyncio.sleep(0.01)

            serving = asyncio.create_task(serve())
            try:
                while not eve.posts():  # it has no seat before its server knows it
                    await dan.send("say(0)", to="nobody@icu")
                    await asyncio.sleep(0.02)
                wanted = [(f"{who}@icu", n) for who in CAPTURED for n in (1, 2, 3)]
                for to, n in wanted:
                    await dan.send(f"say({n})", to=to)
                await seen(
                    lambda: all(one in eve.posts() for one in wanted),
                    lambda: f"mail that came: {list(eve.posts())}",
                )
            finally:
                serving.cancel()
            assert not eve.knows(SECRET)
            return eve.posts()

    return play(program())


def not_in_the_journal(host: RealHost, records: list[JournalRecord]) -> list[dict[str, Any]]:
    """The refusals in a host's log that its journal does not have."""
    journal = [record.columns["event"] for record in records if record.table == "events"]
    logged = [note for kind in REFUSALS for note in host.notes(kind)]
    assert len(logged) >= 3
    missing = []
    for note in logged:
        words = (note["what"], show(str(note.get("why", note["what"]))[:200])[1:-1])
        if not any(all(word in event for word in words) for event in journal):
            missing.append(note)
    return missing
