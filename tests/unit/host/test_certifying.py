"""Certificates that agents present: when they count, when they end, and where they go along."""

import pytest

from nomospace.calls.requests import Adopt, Show
from nomospace.control import DisclosedRuling, Ruling
from nomospace.host.calls import RevocationsLearnt
from nomospace.law import load
from nomospace.terms import show, t
from nomospace.trust.authority import make_authority
from nomospace.trust.certificates import CertificateExpired, UntrustedIssuer
from nomospace.trust.keys import SecretKey
from nomospace.trust.revocation import read_list
from tests.paper.hosts import Hosts

DAY = 86_400_000_000
ADMIN = make_authority("admin", SecretKey.from_seed(bytes(32)), serial=1, now=0, days=90)
OTHER = make_authority("other", SecretKey.from_seed(bytes(31) + b"9"), serial=1, now=0, days=90)
KEY = SecretKey.from_seed(bytes(31) + b"1").public
LAW = load(
    f"""\
law(roles).
authority(admin, "{ADMIN.public.text}").
R1. certified([issuer(admin), subject(Self), attributes([role(R)])]) :- do(+role(R)).
R2. revoked([issuer(admin), subject(_), attributes([role(R)])]) :- do(-role(R)).
R3. exception(certify(_), Why) :- do(+refused(Why)).
R4. moved(_, _) :- true.
"""
)


def certificate(subject: str = "ann@a", *, days: int = 1, serial: int = 7) -> bytes:
    return ADMIN.issue_role(subject, KEY, (t.role("doctor"),), serial=serial, now=0, days=days)


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", laws=[LAW])
    net.agent("ann@a")
    net.do("ann@a", Adopt(LAW))
    net.settle()
    return net


def later(net: Hosts) -> None:
    """Two days on; nobody has to beat all the time."""
    net.now += 2 * DAY
    net.run(1)


def rulings(net: Hosts, kind: str) -> list[Ruling]:
    return [one for _, one in net.ruled if one.event.kind == kind]


def test_a_certificate_that_checks_out_is_told_to_the_law(net: Hosts) -> None:
    told = net.do("ann@a", Show(LAW.hash, certificate()))
    assert isinstance(told, DisclosedRuling)
    assert (told.kind, told.rule) == ("certified", "R1")


def test_one_by_an_authority_that_the_law_does_not_name_is_refused(net: Hosts) -> None:
    forged = OTHER.issue_role("ann@a", KEY, (t.role("doctor"),), serial=7, now=0, days=1)
    with pytest.raises(UntrustedIssuer):
        net.do("ann@a", Show(LAW.hash, forged))
    [ruling] = rulings(net, "exception")
    assert show(ruling.event.args[1]) == "invalidCertificate"
    assert [note.what for _, note in net.notes if note.what == "bad-certificate"] != []


def test_one_about_somebody_else_gives_no_role(net: Hosts) -> None:
    told = net.do("ann@a", Show(LAW.hash, certificate("bob@b")))
    assert told.rule is None


def test_one_that_has_run_out_is_refused(net: Hosts) -> None:
    later(net)
    with pytest.raises(CertificateExpired):
        net.do("ann@a", Show(LAW.hash, certificate()))


def test_when_it_runs_out_the_law_hears_it_once(net: Hosts) -> None:
    net.do("ann@a", Show(LAW.hash, certificate()))
    later(net)
    later(net)
    [ruling] = rulings(net, "revoked")
    assert [show(op) for op in ruling.operations] == ["-role(doctor)"]


def test_one_that_ran_out_while_the_host_was_down_ends_when_it_is_back(net: Hosts) -> None:
    net.do("ann@a", Show(LAW.hash, certificate()))
    net.stop("a")
    net.now += 2 * DAY
    net.start("a")
    net.run(1)
    assert len(rulings(net, "revoked")) == 1
    net.run(5)
    net.stop("a")
    net.start("a")
    net.run(5)
    assert len(rulings(net, "revoked")) == 1  # and not again in the next life


def test_a_revocation_ends_it(net: Hosts) -> None:
    net.do("ann@a", Show(LAW.hash, certificate(days=30)))
    data = ADMIN.revoke({7: net.now}, number=1, now=net.now)
    net.tell("a", RevocationsLearnt(read_list(data, ADMIN.public)))
    assert len(rulings(net, "revoked")) == 1


def test_it_moves_along_and_runs_out_there(net: Hosts) -> None:
    net.do("ann@a", Show(LAW.hash, certificate()))
    net.move("ann@a", "b")
    later(net)
    where = [host for host, one in net.ruled if one.event.kind == "revoked"]
    assert where == ["b"]
