"""The attack table: each attack against real processes, refused, noted, and without effect.

Attackers are of three kinds: strangers, who can reach the port; clients, who have a good identity
of their own and would be somebody else; and insiders, hosts with a good certificate that no law
counts among its controllers. `docs/hosts/attacks.md` is the table for those who run hosts.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from copy import copy
from pathlib import Path

import msgspec
import pytest

from nomospace.calls.problems import (
    NotAMember,
    NotAnOperator,
    NotLetIn,
    NotOpen,
    NotYourAgent,
    OtherLaw,
)
from nomospace.calls.requests import Adopt, LawText, Open, Out, Tell
from nomospace.client import Membership
from nomospace.client.dialling import NotItsHost
from nomospace.client.remote import connect
from nomospace.host.moving import MayCome, Unwelcome
from nomospace.law import load
from nomospace.node.identity import CLIENT_ALPN, HOST_ALPN
from nomospace.protocols.courier import Parcel
from nomospace.protocols.routing.frames import Post
from nomospace.terms import term
from nomospace.trust.certificates import (
    BadCertificate,
    CertificateExpired,
    CertificateRevoked,
    NotACertificate,
    UntrustedIssuer,
)
from nomospace.wire.admin import Agents, Tail
from nomospace.wire.calls import LawAltered
from nomospace.wire.frames import encode_frame
from nomospace.wire.framing import join
from nomospace.wire.talk import VERSION, ClientHello, pack_frame
from tests.real.clinic import (
    DOCTOR,
    SECRET,
    WAIT_S,
    Clinic,
    captured,
    next_letter,
    not_in_the_journal,
    only_the_true_one,
)
from tests.real.hosts import RealHost, caller, end, play, seen
from tests.real.intruder import insider
from tests.real.raw import Raw, careless_context, said_to
from tests.real.trust import LONG_AGO, Trust


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    made = Clinic(tmp_path_factory.mktemp("clinic"))
    try:
        yield made
    finally:
        end(made.ward, made.icu, made.lab)


@pytest.fixture(scope="module")
def letters(clinic: Clinic) -> dict[tuple[str, int], Post]:
    return captured(clinic)


# -- insiders ----------------------------------------------------------------------------------


def test_forged_sender(clinic: Clinic, letters: dict[tuple[str, int], Post]) -> None:
    """A sealed letter with another sender's name on it is dropped; the true one still comes."""

    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve1", clinic.icu) as eve:
            bob = await visit.member("sender@icu", clinic.icu)
            true = letters["sender@icu", 1]
            eve.hand(clinic.icu, clinic.letter(true, sender="ann@ward"))
            await clinic.icu.noted("not-authentic", "eve1", "did not sign it as it is")
            as_ann = msgspec.structs.replace(
                clinic.letter(true, sender="ann@ward"), sender="ann@ward"
            )
            eve.hand(clinic.icu, as_ann)
            await clinic.icu.noted("not-authentic", "eve1", "ann@ward")
            eve.hand(clinic.icu, true)
            assert await next_letter(bob) == ("dan@clinic", term("say(1)"))
            await only_the_true_one(clinic, visit, bob, "sender")
            assert not eve.knows(SECRET)

    play(program())


def test_altered_message(clinic: Clinic, letters: dict[tuple[str, int], Post]) -> None:
    """A true seal under other words, another receiver or another number proves nothing."""

    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve2", clinic.icu) as eve:
            bob = await visit.member("words@icu", clinic.icu)
            true = letters["words@icu", 1]
            elsewhere = letters["law@icu", 1]
            forged = [
                clinic.letter(true, message=term("say(9)")),
                msgspec.structs.replace(elsewhere, to="words@icu"),
                msgspec.structs.replace(letters["words@icu", 2], n=1),
            ]
            for count, post in enumerate(forged):
                eve.hand(clinic.icu, post)
                await clinic.icu.noted("not-authentic", "eve2", more_than=count)
            eve.hand(clinic.icu, true)
            assert await next_letter(bob) == ("dan@clinic", term("say(1)"))
            await only_the_true_one(clinic, visit, bob, "words")

    play(program())


def test_forged_controller(clinic: Clinic) -> None:
    """No seal, and seals of everyone but a controller that the law's authority has certified."""

    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve3", clinic.icu) as eve:
            bob = await visit.member("forged@icu", clinic.icu)
            lie = clinic.lie("forged@icu")
            mine, _ = clinic.trust.signer("eve3", by=clinic.trust.other_authority())
            theirs, _ = clinic.trust.signer("ward", by=clinic.trust.other_authority())
            for post, why in (
                (lie, "it has no seal"),
                (clinic.letter(lie, seal=b"\0"), "it has no seal"),
                (clinic.letter(lie, seal=b"garbage"), "cannot be read"),
                (clinic.letter(lie, mine), "eve3"),
                (clinic.letter(lie, theirs), "ward"),
            ):
                number = eve.hand(clinic.icu, post)
                await clinic.icu.noted("not-authentic", "eve3", why)
                await eve.taken(clinic.icu, number)
            assert len(clinic.icu.notes("not-authentic")) >= 5
            await only_the_true_one(clinic, visit, bob, "forged")
            assert not eve.knows(SECRET)

    play(program())


def test_controller_that_has_run_out_or_was_revoked(clinic: Clinic) -> None:
    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve4", clinic.icu) as eve:
            bob = await visit.member("late@icu", clinic.icu)
            old, _ = clinic.trust.signer("ward", ago=LONG_AGO)
            eve.hand(clinic.icu, clinic.letter(clinic.lie("late@icu"), old))
            await clinic.icu.noted("not-authentic", "eve4", CertificateExpired.code, "ran out")
            gone, pem = clinic.trust.signer("ward")
            await clinic.revoke(pem)
            eve.hand(clinic.icu, clinic.letter(clinic.lie("late@icu"), gone))
            await clinic.icu.noted("not-authentic", "eve4", CertificateRevoked.code, "revoked")
            await only_the_true_one(clinic, visit, bob, "late")

    play(program())


def test_replayed_message(clinic: Clinic, letters: dict[tuple[str, int], Post]) -> None:
    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve5", clinic.icu) as eve:
            bob = await visit.member("replay@icu", clinic.icu)
            true = letters["replay@icu", 1]
            for _ in range(3):
                eve.hand(clinic.icu, true)
            assert await next_letter(bob) == ("dan@clinic", term("say(1)"))
            await clinic.icu.noted("routing", "repeat dropped", "replay@icu", more_than=1)
            await only_the_true_one(clinic, visit, bob, "replay")

    play(program())


def test_reordered_messages(clinic: Clinic, letters: dict[tuple[str, int], Post]) -> None:
    """What overtook others waits for them; a gap is never skipped."""

    async def program() -> None:
        async with clinic.visit() as visit, insider(clinic.trust, "eve6", clinic.icu) as eve:
            bob = await visit.member("order@icu", clinic.icu)
            for n in (3, 2):
                number = eve.hand(clinic.icu, letters["order@icu", n])
                await eve.taken(clinic.icu, number)
            assert bob.receive_nowait() is None
            eve.hand(clinic.icu, letters["order@icu", 1])
            for n in (1, 2, 3):
                assert await next_letter(bob) == ("dan@clinic", term(f"say({n})"))
            await only_the_true_one(clinic, visit, bob, "order")

    play(program())


def test_other_law_with_the_same_name(clinic: Clinic) -> None:
    """Laws are compared by what they say: a namesake is another community."""

    async def program() -> None:
        async with clinic.visit() as visit:
            bob = await visit.member("namesake@icu", clinic.icu)
            mallory = await visit.agent("mallory1@ward", clinic.ward)
            lax = load(clinic.text.replace("sent(_, say(_), _)", "sent(_, _, _)"))
            assert lax.name == clinic.law.name
            mine = await mallory.adopt(lax)
            ruling = await mine.send("order(morphine)", to="namesake@icu")
            assert not ruling.refused  # its own controller enforces its own law
            told = await next_letter(mine)
            assert told == ("mallory1@ward", term("failed(order(morphine), lawMismatch)"))
            await only_the_true_one(clinic, visit, bob, "namesake")

    play(program())


def test_altered_law_text(clinic: Clinic, letters: dict[tuple[str, int], Post]) -> None:
    """A text that is not of the hash it goes by is refused wherever it comes from."""

    async def program() -> None:
        altered = clinic.text.replace("quota(3)", "quota(9)")
        shown = LawText("0" * 64, "clinic", altered)
        async with clinic.visit() as visit, insider(clinic.trust, "eve7", clinic.icu) as eve:
            bob = await visit.member("law@icu", clinic.icu)
            # A client would adopt it under a hash that is not its own.
            async with await Raw.client(clinic.icu, clinic.trust) as mallory:
                await mallory.hello("m@icu", token=clinic.trust.token("m@icu"))
                disguised = copy(load(altered))
                disguised.hash = "0" * 64
                refused = await mallory.call(Adopt(disguised, ()), texts=True)
                assert isinstance(refused, LawAltered)
                assert refused.code == "wire.law-altered"
            # A host would send an agent that brings it along.
            eve.hand(clinic.icu, MayCome(1, "mule@eve7", (shown,)))
            await seen(
                lambda: any(isinstance(what, Unwelcome) for what in eve.parcels()),
                lambda: f"no answer: {eve.parcels()}",
            )
            (no,) = [what for what in eve.parcels() if isinstance(what, Unwelcome)]
            assert "is of another law" in no.why
            # A letter that was ruled on under the one law is shown as one under the other.
            other = clinic.letter(letters["law@icu", 1], law=load(altered).hash)
            number = eve.hand(clinic.icu, other)
            await eve.taken(clinic.icu, number)
            await only_the_true_one(clinic, visit, bob, "law")
            assert not eve.knows(SECRET)

    play(program())


def test_host_certificate_that_has_run_out(clinic: Clinic) -> None:
    async def program() -> None:
        clinic.trust.host("old", now=clinic.trust.now - LONG_AGO)
        await refused_handshake(clinic, "old")
        note = await clinic.icu.noted("certificate-refused", "expired")
        assert note["ip"] == "127.0.0.1"

    play(program())


def test_host_certificate_that_was_revoked(clinic: Clinic) -> None:
    """Its link ends at once, and it gets none any more."""

    async def program() -> None:
        async with insider(clinic.trust, "eve8", clinic.icu) as eve:
            pem = (clinic.trust.folder / "hosts" / "eve8" / "host.pem").read_bytes()
            await clinic.revoke(pem)
            await clinic.icu.noted("certificate-refused", "eve8", "revoked")
            await clinic.icu.noted("link-down", "eve8")
            await seen(lambda: not eve.site.links.neighbours(), lambda: "the link is still there")
            await clinic.icu.noted("certificate-refused", "eve8", "revoked", more_than=1)

    play(program())


def test_host_that_certified_itself(clinic: Clinic, tmp_path: Path) -> None:
    """It is no peer of ours, and clients do not fall for it either."""

    async def program() -> None:
        fake = Trust(tmp_path / "fake", "admin")
        fake.member("icu")
        await refused_handshake(clinic, "icu", trust=fake)
        await clinic.icu.noted("certificate-refused")
        impostor = RealHost("icu", tmp_path, "--trust", str(fake.folder), "--store", "memory")
        with closing(Ending(impostor)):
            await impostor.ready()
            token = clinic.trust.token("nurse@icu")
            async with caller(impostor, clinic.trust, token=token) as far:
                with pytest.raises(NotItsHost):
                    await far.agent()

    play(program())


class Ending:
    """Ends a host with the block."""

    def __init__(self, host: RealHost) -> None:
        self._host = host

    def close(self) -> None:
        end(self._host)


async def refused_handshake(clinic: Clinic, name: str, *, trust: Trust | None = None) -> None:
    """A host with bad papers calls, and is not spoken to."""
    place = (trust or clinic.trust).folder / "hosts" / name
    context = careless_context(HOST_ALPN)
    context.load_cert_chain(place / "host.pem", place / "host.key")
    assert await said_to(clinic.icu, b"", context) == b""


# -- clients -----------------------------------------------------------------------------------


def test_agent_with_bad_papers(clinic: Clinic) -> None:
    """Expired, revoked, of another authority; each is told why, and the log has it."""

    async def program() -> None:
        trust = clinic.trust
        old = trust.visitor("nurse@ward", ago=LONG_AGO)
        gone = trust.visitor("nurse@ward")
        await clinic.revoke((gone / "agent.pem").read_bytes())
        alien = trust.visitor("nurse@ward", by=trust.other_authority())
        for place, word in ((old, "ran out"), (gone, "revoked"), (alien, "not signed by")):
            async with caller(clinic.ward, trust, identity=place) as far:
                with pytest.raises(NotLetIn, match=word):
                    await far.agent()
            note = await clinic.ward.noted("client-refused", word)
            assert note["code"] == "node.not-let-in"

    play(program())


def test_agent_that_speaks_to_anothers_controller(clinic: Clinic) -> None:
    """A good identity speaks for its own agent: not for another, nor in another's session."""

    async def program() -> None:
        trust = clinic.trust
        async with clinic.visit() as visit:
            ann = await visit.member("ann2@ward", clinic.ward)
            bob = await visit.member("victim@icu", clinic.icu)
            mallory = trust.visitor("mallory3@ward")
            async with caller(clinic.ward, trust, identity=mallory) as far:
                with pytest.raises(NotYourAgent) as refused:
                    await far.agent("ann2")
                assert refused.value.code == "node.not-your-agent"
                assert SECRET not in str(refused.value)
                note = await clinic.ward.noted("client-refused", "mallory3@ward", "ann2@ward")
                assert note["code"] == "node.not-your-agent"
            # Its own agent is no member, whatever it knows of the law.
            async with await Raw.client(clinic.ward, trust) as own:
                await own.hello("mallory3@ward", token=trust.token("mallory3@ward"))
                lie = Tell(clinic.law.hash, term("say(lie)"), "victim@icu")
                assert isinstance(await own.call(lie), NotAMember)
            await ann.send("say(mine)", to="victim@icu")
            assert await next_letter(bob) == ("ann2@ward", term("say(mine)"))
            await only_the_true_one(clinic, visit, bob, "victim")

    play(program())


def test_agent_that_takes_anothers_session(clinic: Clinic) -> None:
    """Who knows the name of a session still does not have it."""

    async def program() -> None:
        trust = clinic.trust
        async with (
            await Raw.client(clinic.ward, trust) as ann,
            await Raw.client(clinic.ward, trust) as mallory,
        ):
            await ann.hello("ann3@ward", token=trust.token("ann3@ward"))
            assert await ann.call(Open("notes")) is None
            welcome = await mallory.hello("mallory4@ward", token=trust.token("mallory4@ward"))
            assert welcome[4:6] == ["mallory4@ward", False], "another's session was given away"
            assert isinstance(await mallory.call(Out("notes", ("mine", 1))), NotOpen)
            assert await ann.call(Out("notes", ("mine", 1))) is None

    play(program())


def test_agent_that_skips_its_controller(clinic: Clinic) -> None:
    """Neither the hosts' own protocol nor a bare operation leads around the law."""

    async def program() -> None:
        trust = clinic.trust
        async with clinic.visit() as visit:
            ann = await visit.agent("ann4@ward", clinic.ward)
            await ann.adopt(clinic.law)
            chart = await ann.space("chart", shared=True, law=clinic.law)
            await chart.out("chart of", "bob")
            # Not a member: the space is closed to it, with the law and without.
            async with await Raw.client(clinic.ward, trust) as mallory:
                await mallory.hello("mallory5@ward", token=trust.token("mallory5@ward"))
                refusals = [
                    await mallory.call(Open("chart", clinic.law), texts=True),
                    await mallory.call(Open("chart")),
                    await mallory.call(Out("chart", ("chart of", "eve"))),
                    await mallory.call(Tell(clinic.law.hash, term("out([lie])"), "chart")),
                ]
                kinds = [NotAMember, OtherLaw, NotOpen, NotAMember]
                assert [type(refusal) for refusal in refusals] == kinds
                assert SECRET not in "".join(map(str, refusals))
                # What hosts say to each other is no word of a client.
                mallory.send(join([encode_frame(Parcel(1, clinic.lie("ann4@ward")))]))
                assert await mallory.rest() == b""
            await clinic.ward.noted("bad-frame", "mallory5@ward")
            # A space of the same name at another host, without a law, is another space.
            other = await visit.agent("mallory6@icu", clinic.icu)
            bare = await other.space("chart", shared=True)
            assert await bare.read_nowait("chart of", str) is None
            # Its certificate is an agent's: as a host it is not spoken to.
            place = trust.visitor("mallory5@ward")
            context = careless_context(HOST_ALPN)
            context.load_cert_chain(place / "agent.pem", place / "agent.key")
            assert await said_to(clinic.ward, b"", context) == b""
            note = await clinic.ward.noted("certificate-refused", "mallory5@ward")
            assert "agent certificate" in note["why"]

    play(program())


def test_client_without_a_token(clinic: Clinic) -> None:
    async def program() -> None:
        trust = clinic.trust
        for given, word in (
            ("", "nothing was shown"),
            ("ns1.0000000000000000." + "A" * 43, "not known here"),
            (trust.token("nurse@ward")[:-2] + "zz", "not known here"),
            (trust.token("nurse@ward", ago=LONG_AGO), "ran out"),
        ):
            async with caller(clinic.ward, trust, token=given) as far:
                with pytest.raises(NotLetIn, match=word) as refused:
                    await far.agent("nurse")
                assert refused.value.code == "node.not-let-in"
                with pytest.raises(NotLetIn):
                    await far.ask(Agents())
            note = await clinic.ward.noted("client-refused", word)
            assert note["code"] == "node.not-let-in"
            assert given[-43:] not in json.dumps(note) or not given
        # A token for one agent is no token for another, and none of an operator.
        async with caller(clinic.ward, trust, token=trust.token("nurse@ward")) as far:
            with pytest.raises(NotYourAgent):
                await far.agent("ann")
            with pytest.raises(NotAnOperator):
                await far.ask(Agents())

    play(program())


def test_role_certificates_that_do_not_count(clinic: Clinic) -> None:
    """Run out, taken back, another authority's, garbage: an error in words, and no role."""

    async def program() -> None:
        trust = clinic.trust
        async with clinic.visit() as visit:
            ann = await visit.member("ann5@ward", clinic.ward)
            gone = trust.role("ann5@ward", DOCTOR)
            await clinic.revoke(gone)
            old = trust.role("ann5@ward", DOCTOR, ago=LONG_AGO)
            alien = trust.role("ann5@ward", DOCTOR, by=trust.other_authority())
            kind: type[BadCertificate]
            for shown, kind, why in (
                (old, CertificateExpired, "invalidCertificate"),
                (gone, CertificateRevoked, "revoked"),
                (alien, UntrustedIssuer, "invalidCertificate"),
                (b"no certificate", NotACertificate, "invalidCertificate"),
            ):
                with pytest.raises(kind) as refused:
                    await ann.present(shown)
                assert SECRET not in str(refused.value)
                await clinic.ward.noted("bad-certificate", "ann5@ward", str(refused.value)[:40])
                assert await next_letter(ann) == ("ann5@ward", term(f"uncertified({why})"))
            await ordered(ann, refused=True)
            await ann.present(trust.role("ann5@ward", DOCTOR))
            await ordered(ann, refused=False)

    play(program())


def test_role_certificate_about_someone_else(clinic: Clinic) -> None:
    """It is true, and says nothing of who shows it."""

    async def program() -> None:
        async with clinic.visit() as visit:
            mallory = await visit.member("mallory7@ward", clinic.ward)
            ruling = await mallory.present(clinic.trust.role("ann6@ward", DOCTOR))
            assert ruling.rule is None, "a rule took it for its own"
            assert SECRET not in ruling.explain()
            await ordered(mallory, refused=True)

    play(program())


def test_role_that_is_taken_back_while_it_counts(clinic: Clinic) -> None:
    async def program() -> None:
        async with clinic.visit() as visit:
            ann = await visit.member("ann7@ward", clinic.ward)
            shown = clinic.trust.role("ann7@ward", DOCTOR)
            await ann.present(shown)
            await ordered(ann, refused=False)
            await clinic.revoke(shown)
            async with asyncio.timeout(WAIT_S):
                while not (await ann.send("order(x)", to="nobody@ward")).refused:
                    await asyncio.sleep(0.05)

    play(program())


async def ordered(member: Membership, *, refused: bool) -> None:
    """Only doctors order; the ruling does not say what else is known of one."""
    ruling = await member.send("order(aspirin)", to="nobody@ward")
    assert ruling.refused is refused, ruling.explain()
    assert SECRET not in ruling.explain()


# -- strangers ---------------------------------------------------------------------------------


def test_plain_tcp_to_a_tls_port(clinic: Clinic) -> None:
    async def program() -> None:
        hello = join([CLIENT_ALPN.encode(), pack_frame(ClientHello(VERSION, "s" * 20, "nurse"))])
        for data in (hello, b"GET / HTTP/1.1\r\n\r\n"):
            assert b"its address is nomos://" in await said_to(clinic.ward, data, None)
        note = await clinic.ward.noted("plain-text", more_than=1)
        assert "TLS 1.3 only" in note["why"]
        async with connect(f"nomos+plain://{clinic.ward.address}", reconnect_s=0.2) as far:
            with pytest.raises(NotLetIn, match="speaks TLS"):
                await far.agent("nurse")

    play(program())


def test_older_tls_and_unknown_protocols(clinic: Clinic) -> None:
    async def program() -> None:
        older = careless_context(CLIENT_ALPN)
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await said_to(clinic.ward, b"", older) == b""
        await clinic.ward.noted("handshake-failed", "UNSUPPORTED_PROTOCOL")
        for context in (careless_context(), careless_context("h2")):
            assert await said_to(clinic.ward, b"hello", context) == b""
        # A stranger that would be a host has no certificate to show.
        assert await said_to(clinic.ward, b"", careless_context(HOST_ALPN)) == b""
        await clinic.ward.noted("certificate-refused", "none was shown")

    play(program())


# -- the record --------------------------------------------------------------------------------


def test_all_of_it_is_in_the_journal(clinic: Clinic) -> None:
    """Every refusal that the log has, with its reason; and the journal is the operator's alone."""

    async def program() -> None:
        trust, icu = clinic.trust, clinic.icu
        async with clinic.visit() as visit, insider(trust, "eve10", icu) as eve:
            await visit.member("record@icu", icu)
            eve.hand(icu, clinic.lie("record@icu"))
            await icu.noted("not-authentic", "eve10")
        await said_to(icu, b"hello", None)
        await icu.noted("plain-text")
        async with caller(icu, trust, token="ns1.x.y") as far:
            with pytest.raises(NotLetIn):
                await far.agent("nurse")
        await icu.noted("client-refused")
        async with caller(icu, trust, token=trust.token("nurse@icu")) as far:
            with pytest.raises(NotAnOperator):
                await far.ask(Tail())
        async with caller(icu, trust, token=trust.token("chief@icu", operator=True)) as far:
            async with asyncio.timeout(WAIT_S):
                while not_in_the_journal(icu, await far.ask(Tail(limit=10_000))):
                    await asyncio.sleep(0.1)  # what nobody waits for is kept with what comes next

    play(program())
