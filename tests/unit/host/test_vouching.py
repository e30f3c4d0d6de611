"""Whose word counts: letters that prove who sent them, certificates, programs that go away."""

from typing import Any

import pytest

from nomospace.calls.requests import Adopt, Open, Share, Tell
from nomospace.control import Ruling
from nomospace.host.calls import Absent, Arrive, Call, Certified, Present, Uncertified
from nomospace.host.changes import Durable, LawLearnt
from nomospace.host.core import Host
from nomospace.host.effects import Persist
from nomospace.host.trust import Trusting
from nomospace.law import CompiledLaw, load
from nomospace.protocols.routing.frames import Post
from nomospace.terms import show, t
from nomospace.trust.seals import NotAuthentic
from tests.paper.hosts import Hosts

LAW = load(
    """\
law(told).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. exception(Op, Why) :- do(+failed(Op, Why)).
R4. certified([issuer(I), subject(S), attributes(_)]) :- do(+shown(I, S)).
R5. disconnected :- do(+away).
R6. reconnected :- do(-away).
"""
)


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", laws=[LAW])
    for agent in ("ann@a", "bob@b"):
        net.agent(agent)
        net.do(agent, Adopt(LAW))
    net.settle()
    return net


def tell(net: Hosts, agent: str, what: str, to: str) -> None:
    net.do(agent, Tell(LAW.hash, what, to))
    net.run(3)


def rulings(net: Hosts, home: str, kind: str) -> list[Ruling]:
    return [one for _, one in net.ruled if one.home == home and one.event.kind == kind]


def test_a_letter_nobody_vouches_for_is_dropped_and_noted(net: Hosts) -> None:
    asked: list[Post] = []
    doubt = NotAuthentic(reason="trust.wrong-subject", why="no such controller")

    class Doubting(Trusting):
        def letter_objection(self, _law: CompiledLaw, post: Post) -> NotAuthentic | None:
            asked.append(post)
            return None if post.body.message == "true" else doubt

    net.hosts["b"].trust = Doubting()
    tell(net, "ann@a", "forged", "bob@b")
    assert net.mail == []
    [(where, note)] = [(host, note) for host, note in net.notes if note.what == "not-authentic"]
    assert where == "b"
    assert (note.facts["code"], note.facts["why"]) == (doubt.reason, doubt.why)
    assert note.facts["post"] == ("ann@a", "bob@b", 1)
    assert asked[0].body.law == LAW.hash


def test_letters_inside_a_host_need_no_seal(net: Hosts) -> None:
    class Doubting(Trusting):
        def letter_objection(self, _law: CompiledLaw, _post: Post) -> NotAuthentic | None:
            return NotAuthentic(reason="x", why="nobody is")

    net.hosts["a"].trust = Doubting()
    net.agent("cid@a")
    net.do("cid@a", Adopt(LAW))
    net.run(3)
    tell(net, "ann@a", "near", "cid@a")
    assert [mail.message for mail in net.mail] == ["near"]


def test_a_host_whose_controllers_nobody_believes_says_so_to_the_sender(net: Hosts) -> None:
    class Expired(Trusting):
        def own_objection(self, _law: CompiledLaw) -> str:
            return "the certificate has expired"

    net.hosts["a"].trust = Expired()
    tell(net, "ann@a", "hello", "bob@b")
    assert net.mail == []
    [ruling] = rulings(net, "ann@a", "exception")
    assert show(ruling.event.term) == "exception(forward('ann@a',hello,'bob@b'),notAuthentic)"


def test_a_certificate_that_does_not_check_out_is_an_exception(net: Hosts) -> None:
    net.tell("a", Uncertified("ann@a", LAW.hash, "admin", (t.role("doctor"),)))
    [ruling] = rulings(net, "ann@a", "exception")
    assert show(ruling.event.args[0]) == (
        "certify([issuer(admin),subject('ann@a'),attributes([role(doctor)])])"
    )
    assert ruling.event.args[1] == "invalidCertificate"


def test_a_certificate_about_somebody_else_says_so(net: Hosts) -> None:
    net.tell("a", Certified("ann@a", LAW.hash, "admin", (), subject="bob@b"))
    [ruling] = rulings(net, "ann@a", "certified")
    assert [show(op) for op in ruling.operations] == ["+shown(admin,'bob@b')"]


def test_a_program_that_goes_away_and_comes_back_is_told_to_its_law(net: Hosts) -> None:
    net.tell("a", Absent("ann@a"))
    net.tell("a", Present("ann@a"))
    assert [show(op) for one in rulings(net, "ann@a", "disconnected") for op in one.operations] == [
        "+away"
    ]
    assert len(rulings(net, "ann@a", "reconnected")) == 1


def test_a_law_is_kept_with_the_first_membership_under_it() -> None:
    """So a host that starts again needs nobody to bring it the laws of its members."""
    host, disk = Host("a", life=1, now=0), Durable()

    def tell_host(event: Any) -> None:
        for effect in host.handle(event, now=0):
            if isinstance(effect, Persist):
                for change in effect.changes:
                    disk.apply(change)
                    learnt.extend([change] if isinstance(change, LawLearnt) else [])

    learnt: list[LawLearnt] = []
    for op, agent in enumerate(("ann@a", "bob@a"), 1):
        tell_host(Arrive(agent))
        tell_host(Call(op, agent, Adopt(LAW)))
    assert [one.text.hash for one in learnt] == [LAW.hash]
    again = Host("a", life=2, now=0, durable=disk)
    assert [law.hash for law in again.laws_of("bob@a")] == [LAW.hash]


class Dated(Trusting):
    """Shows a certificate, and believes those that are not called old."""

    def __init__(self, shows: bytes) -> None:
        self.shows = shows

    def certificate(self) -> bytes:
        return self.shows

    def host_objection(
        self, _law: CompiledLaw, _host: str, certificate: bytes
    ) -> NotAuthentic | None:
        old = NotAuthentic(reason="trust.expired", why="it has run out")
        return old if certificate in (b"", b"old") else None


def test_a_renewed_certificate_is_told_to_the_group_at_once() -> None:
    """Nobody comes or goes: peers would go by the one that runs out."""
    net = Hosts("abc", laws=[LAW])
    shown = {name: Dated(b"old" if name == "a" else b"good") for name in "abc"}
    for name, trust in shown.items():
        net.hosts[name].trust = trust
    for agent in ("ann@a", "bob@b", "cat@c"):
        net.agent(agent, on=agent[-1])
        net.do(agent, Adopt(LAW))
        net.do(agent, Open("jobs", LAW))
        net.do(agent, Share(("jobs",)))
    net.settle()
    view = net.hosts["b"].view.id
    assert not net.hosts["b"].group.entries["a"].shares("jobs", LAW.hash)
    shown["a"].shows = b"renewed"
    net.run(3)
    assert net.hosts["b"].view.id == view
    for name in "bc":
        lines = net.hosts[name].group.entries["a"]
        assert lines.certificate == b"renewed"
        assert lines.shares("jobs", LAW.hash)
        assert not net.hosts[name].group.doubts("a", LAW.hash)
    editions = [net.hosts[name].group.entries["a"].edition for name in "bc"]
    net.run(5)  # and once only
    assert [net.hosts[name].group.entries["a"].edition for name in "bc"] == editions
