"""Takes under a lease: acknowledged, given back, lapsed, dead; here and from another host."""

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentLeft, Busy, DelayTooLong, InDoubt, LeaseLapsed, Refused
from nomospace.calls.requests import Adopt, Cancel, Open, Seek, Settle, Share
from nomospace.calls.ways import Way
from nomospace.host import lending
from nomospace.host.calls import Depart
from nomospace.host.holding import DELIVERIES_MAX
from nomospace.host.lending import SETTLED_LEASES
from nomospace.host.shares import USUAL_SHARES
from nomospace.law import load
from nomospace.protocols.spaces import LeaseClosed, LeaseSettled
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"
JOB = Template.of(("job", ANY))
LEASE_US = 30_000_000
AWAY_US = USUAL_SHARES.lease_word_s * 1_000_000


@pytest.fixture
def net() -> Hosts:
    net = Hosts("abc")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.agent("eve@b", "jobs")
    net.settle()
    net.out(BOB, "job", 1)
    return net


def lease(net: Hosts, agent: str, how: str = "take", at: str = "") -> Found:
    found = net.ask(agent, Seek("jobs", Way(how), JOB, at, lease_us=LEASE_US))
    assert isinstance(found, Found)
    return found


TAKERS = pytest.mark.parametrize("taker", ["eve@b", BOB, ANN])


@TAKERS
def test_what_is_lent_is_seen_by_nobody(net: Hosts, taker: str) -> None:
    found = lease(net, taker)
    assert (found.fields, found.source, found.deliveries) == (("job", 1), BOB, 1)
    assert found.lease
    for agent in (BOB, "eve@b", ANN):
        assert net.seek(agent, "read_nowait", "job", ANY, at="b") is None
    waiting = net.begin(CAT, "take", "job", ANY)
    net.run(5)
    assert net.got(waiting) is None
    assert net.disks["b"].tuples["jobs"]  # but a crash brings it back


@TAKERS
def test_done_ends_it_for_good(net: Hosts, taker: str) -> None:
    found = lease(net, taker)
    net.ask(taker, Settle("jobs", found.lease))
    net.run(60)
    assert net.held(BOB, ANY, ANY) == []
    assert net.disks["b"].tuples["jobs"] == {}
    with pytest.raises(LeaseLapsed):
        net.ask(taker, Settle("jobs", found.lease))


@TAKERS
def test_given_back_it_lies_in_its_space_again(net: Hosts, taker: str) -> None:
    found = lease(net, taker)
    net.ask(taker, Settle("jobs", found.lease, done=False))
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    again = lease(net, taker)
    assert again.deliveries == 2
    assert again.lease != found.lease


@TAKERS
def test_a_lease_lapses_and_a_word_after_that_counts_no_more(net: Hosts, taker: str) -> None:
    found = lease(net, taker)
    net.run(LEASE_US / 1e6 - 1)
    assert net.held(BOB, "job", ANY) == []
    net.run(2)
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    for done in (True, False):
        with pytest.raises(LeaseLapsed):
            net.ask(taker, Settle("jobs", found.lease, done=done))
    assert net.held(BOB, "job", ANY) == [("job", 1)]


def test_who_waits_gets_what_comes_back(net: Hosts) -> None:
    found = lease(net, "eve@b")
    waiting = net.begin(ANN, "take", "job", ANY)
    net.run(1)
    net.ask("eve@b", Settle("jobs", found.lease, done=False))
    net.run(1)
    assert net.got(waiting) == ("job", 1)
    assert net.held(BOB, ANY, ANY) == []


def test_a_wait_under_a_lease_is_served_under_a_lease(net: Hosts) -> None:
    for taker in ("eve@b", ANN):
        op = net.call(taker, Seek("jobs", Way.TAKE, Template.of(("late", ANY)), lease_us=LEASE_US))
        net.run(0.5)
        net.out(BOB, "late", 1)
        net.run(0.5)
        found = net.value(op)
        assert found.lease
        net.ask(taker, Settle("jobs", found.lease))
        assert net.held(BOB, "late", ANY) == []


def test_a_bulk_take_lends_each(net: Hosts) -> None:
    net.out(BOB, "job", 2)
    for taker in ("eve@b", ANN):
        founds = net.ask(taker, Seek("jobs", Way.TAKE_ALL, JOB, "b", lease_us=LEASE_US))
        assert len({found.lease for found in founds}) == 2
        net.ask(taker, Settle("jobs", founds[0].lease, done=False))
        net.ask(taker, Settle("jobs", founds[1].lease, done=False))
        assert net.held(BOB, "job", ANY) == [("job", 1), ("job", 2)]


@pytest.mark.parametrize("lapse", [True, False])
def test_after_so_many_leases_it_is_a_dead_letter(net: Hosts, lapse: bool) -> None:
    for count in range(1, DELIVERIES_MAX + 1):
        found = lease(net, "eve@b")
        assert found.deliveries == count
        if lapse:
            net.run(LEASE_US / 1e6 + 1)
        else:
            net.ask("eve@b", Settle("jobs", found.lease, done=False))
    assert net.held(BOB, ANY, ANY) == []
    assert net.held(BOB, ANY, ANY, space="jobs.dead") == [("job", 1)]
    assert [note.what for _, note in net.notes if note.what != "view"] == ["dead-letter"]
    assert net.disks["b"].tuples["jobs"] == {}
    assert [row.deliveries for row in net.disks["b"].tuples["jobs.dead"].values()] == [0]
    net.agent("fan@b", "jobs.dead")  # shared, as the space was
    assert net.seek("fan@b", "take", "job", ANY, space="jobs.dead") == ("job", 1)


def test_dead_letters_of_a_private_space_are_private() -> None:
    net = Hosts("a")
    net.agent(ANN)
    net.do(ANN, Open("jobs"))
    net.out(ANN, "job", 1)
    for _ in range(DELIVERIES_MAX):
        found = lease(net, ANN, "take_nowait")
        net.do(ANN, Settle("jobs", found.lease, done=False))
    assert net.seek(ANN, "read_nowait", "job", ANY, space="jobs.dead") == ("job", 1)
    net.agent("eve@a", "jobs.dead")
    assert net.seek("eve@a", "read_nowait", "job", ANY, space="jobs.dead") is None


def test_a_leased_take_that_is_called_off_gives_its_tuple_back_at_once(net: Hosts) -> None:
    net.seek(BOB, "take_nowait", "job", ANY)
    op = net.call(ANN, Seek("jobs", Way.TAKE, JOB, lease_us=LEASE_US))
    net.run(0.5)
    net.out(BOB, "job", 2)
    net.run(0.05)  # lent, and on its way
    assert net.held(BOB, "job", ANY) == []
    net.do(ANN, Cancel(op))
    net.run(0.5)
    assert net.held(BOB, "job", ANY) == [("job", 2)]


def test_the_lender_is_gone_before_it_confirms(net: Hosts) -> None:
    found = lease(net, ANN)
    op = net.call(ANN, Settle("jobs", found.lease))
    net.cut("ab bc")
    net.settle()
    late = net.call(ANN, Settle("jobs", found.lease))
    assert {op, late}.isdisjoint(net.answers), "it may come back"
    net.run(AWAY_US / 1e6 + 1)
    with pytest.raises(InDoubt):
        net.value(op)
    with pytest.raises(LeaseLapsed):  # it was never told
        net.value(late)
    assert net.held(BOB, "job", ANY) == [("job", 1)]


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("heard", [True, False])
def test_a_word_waits_for_the_lender_and_counts_once(net: Hosts, done: bool, heard: bool) -> None:
    found = lease(net, ANN)
    if not heard:
        net.cut("ab bc")
    op = net.call(ANN, Settle("jobs", found.lease, done))
    if heard:  # the answer is lost on its way
        net.until(lambda: "ba" in net.messages(LeaseClosed))
        net.cut("ab bc")
    net.settle()
    net.run(10)
    assert op not in net.answers
    net.join("ab bc")
    net.settle()
    net.value(op)
    net.run(60)
    assert net.held(BOB, "job", ANY) == ([] if done else [("job", 1)])


@pytest.mark.parametrize("done", [True, False])
def test_a_word_counts_that_its_lender_wrote_down_and_did_not_confirm(
    net: Hosts, done: bool
) -> None:
    found = lease(net, ANN)
    op = net.call(ANN, Settle("jobs", found.lease, done))
    net.until(lambda: "ba" in net.messages(LeaseClosed))
    net.cut("ab bc")  # the answer is lost, and its host is killed
    net.stop("b")
    net.settle()
    assert op not in net.answers
    net.start("b")
    net.join("ab bc")
    net.settle()
    net.value(op)
    net.run(60)
    assert net.held(BOB, "job", ANY) == ([] if done else [("job", 1)])
    with pytest.raises(LeaseLapsed):  # that is another word
        net.ask(ANN, Settle("jobs", found.lease, done))


def test_so_many_words_are_on_disk_and_no_more(net: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "SETTLED_MAX", 2)
    for number in range(2, 6):
        net.ask(ANN, Settle("jobs", lease(net, ANN).lease))
        net.out(BOB, "job", number)
    assert len(net.disks["b"].tuples[SETTLED_LEASES]) == 2


@pytest.mark.parametrize("away_s", [5, 40])
def test_a_word_waits_for_the_restart_of_the_lender(net: Hosts, away_s: int) -> None:
    found = lease(net, ANN)
    net.stop("b")
    net.settle()
    op = net.call(ANN, Settle("jobs", found.lease))
    net.run(away_s)
    net.start("b")
    net.settle()
    if away_s * 1_000_000 < AWAY_US:
        net.value(op)
        assert net.held(BOB, "job", ANY) == []
    else:
        with pytest.raises(LeaseLapsed):
            net.value(op)
        assert net.held(BOB, "job", ANY) == [("job", 1)]


def test_nobody_waits_for_a_host_that_no_lease_can_be_of(net: Hosts) -> None:
    for name in ("", "b", "b/1", "b/one/1", "a/1/1/1", "a/9/9"):
        with pytest.raises(LeaseLapsed):
            net.do(ANN, Settle("jobs", name))


def test_one_agent_can_make_up_so_many_leases_and_leaves_room_for_others(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease names its host, and that one may be away."""
    net.cut("ab bc")
    net.settle()
    monkeypatch.setattr(lending, "AGENT_PARKED_MAX", 3)
    made_up = [net.call(ANN, Settle("jobs", f"b/1/{number}")) for number in range(3)]
    with pytest.raises(Busy):
        net.do(ANN, Settle("jobs", "b/1/9"))
    net.run(AWAY_US / 1e6 + 1)
    for op in made_up:
        with pytest.raises(LeaseLapsed):
            net.value(op)
    op = net.call(ANN, Settle("jobs", "b/1/9"))  # there is room again
    assert op not in net.answers


def test_a_host_that_was_never_met_is_not_waited_for(net: Hosts) -> None:
    with pytest.raises(LeaseLapsed):
        net.do(ANN, Settle("jobs", "nowhere/1/1"))
    net.stop("a")
    net.start("a")  # what its agents had before it does not know
    net.settle()
    op = net.call(ANN, Settle("jobs", "nowhere/1/1"))
    assert op not in net.answers


def test_a_word_that_waits_ends_with_its_agent(net: Hosts) -> None:
    found = lease(net, ANN)
    net.cut("ab bc")
    net.settle()
    op = net.call(ANN, Settle("jobs", found.lease))
    net.tell("a", Depart(ANN))
    with pytest.raises(AgentLeft):
        net.value(op)


def test_who_was_done_and_lost_its_host_before_it_knew_is_told_so_again(net: Hosts) -> None:
    found = lease(net, ANN)
    net.ask(ANN, Settle("jobs", found.lease))
    net.stop("a")
    net.start("a")
    net.settle()
    net.ask(ANN, Settle("jobs", found.lease))  # the client never had the answer, and asks again
    net.agent("eve@a", "jobs")
    with pytest.raises(LeaseLapsed):
        net.ask("eve@a", Settle("jobs", found.lease))
    with pytest.raises(LeaseLapsed):
        net.ask(ANN, Settle("jobs", found.lease, False))


def test_a_lease_of_a_private_space_outlasts_its_sharing(net: Hosts) -> None:
    net.do(BOB, Share(("jobs",), shared=False))
    found = lease(net, BOB, "take_nowait")
    net.do(BOB, Share(("jobs",)))
    net.ask(BOB, Settle("jobs", found.lease, done=False))
    assert net.seek("eve@b", "read_nowait", "job", ANY) == ("job", 1)
    found = lease(net, "eve@b")
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(LEASE_US / 1e6 + 1)
    assert net.seek("eve@b", "read_nowait", "job", ANY) is None
    assert net.seek(BOB, "read_nowait", "job", ANY) == ("job", 1)


def test_what_is_lent_follows_its_holder_when_it_comes_back(net: Hosts) -> None:
    """Its holder moved meanwhile: the tuple is handed on to where it is."""
    lease(net, "eve@b")
    net.move(BOB, "c", seconds=1)
    net.run(0.5)
    assert net.held(BOB, ANY, ANY) == []
    net.run(LEASE_US / 1e6)
    assert net.held(BOB, ANY, ANY) == [("job", 1)]
    assert net.disks["b"].tuples["jobs"] == {}
    assert [row.cur for row in net.disks["c"].tuples["jobs"].values()] == [BOB]


@TAKERS
@pytest.mark.parametrize("done", [True, False])
def test_a_lease_goes_on_when_its_host_starts_again(net: Hosts, taker: str, done: bool) -> None:
    found = lease(net, taker)
    net.stop("b")
    net.run(10)
    net.start("b")
    net.settle()
    assert net.held(BOB, "job", ANY) == [], "it is lent for another twenty seconds"
    net.ask(taker, Settle("jobs", found.lease, done))
    net.run(60)
    assert net.held(BOB, "job", ANY) == ([] if done else [("job", 1)])


def test_after_a_restart_a_lease_has_the_time_that_was_left(net: Hosts) -> None:
    found = lease(net, ANN)
    began = net.now
    net.stop("b")
    net.run(10)
    net.start("b")
    net.settle()
    net.run((began + LEASE_US - net.now) / 1e6 - 1)
    assert net.held(BOB, "job", ANY) == []
    net.run(2)
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    with pytest.raises(LeaseLapsed):
        net.ask(ANN, Settle("jobs", found.lease))
    assert lease(net, ANN).deliveries == 2


def test_a_lease_that_ended_while_its_host_was_down_lapses_at_the_start(net: Hosts) -> None:
    found = lease(net, ANN)
    net.stop("b")
    net.run(LEASE_US / 1e6 + 1)
    net.start("b")
    net.settle()
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    with pytest.raises(LeaseLapsed):
        net.ask(ANN, Settle("jobs", found.lease))
    assert lease(net, ANN).deliveries == 2


def test_what_comes_back_to_a_space_that_was_parted_serves_nobody_who_waits_there() -> None:
    """Found by the worlds: whoever was woken for it found it gone home."""
    net = Hosts("a")
    for agent in ("ann@a", "bob@a", "cat@a"):
        net.agent(agent, "jobs")
    net.out("ann@a", "job", 1)
    template = Template.of(("job", int))
    net.do("bob@a", Seek("jobs", Way.TAKE, template, lease_us=1_000_000))
    net.do("ann@a", Share(("jobs",), shared=False))
    waiting = net.call("cat@a", Seek("jobs", Way.TAKE, template, lease_us=1_000_000))
    net.run(2)
    assert waiting not in net.answers
    assert net.held("ann@a", "job", int) == [("job", 1)]


# -- renewed, kept back, and how it went ----------------------------------------------------


@TAKERS
def test_a_lease_that_is_renewed_ends_later(net: Hosts, taker: str) -> None:
    found = lease(net, taker)
    net.run(20)
    net.ask(taker, Settle("jobs", found.lease, False, LEASE_US))
    net.run(20)
    net.stop("b")
    net.start("b")
    net.settle()
    assert net.held(BOB, "job", ANY) == []
    net.run(20)
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    with pytest.raises(LeaseLapsed):
        net.ask(taker, Settle("jobs", found.lease, False, LEASE_US))


@TAKERS
@pytest.mark.parametrize("restart", [False, True])
def test_what_is_given_back_with_a_delay_is_for_nobody_before(
    net: Hosts, taker: str, restart: bool
) -> None:
    found = lease(net, taker)
    net.ask(taker, Settle("jobs", found.lease, False, 0, 20_000_000, "no paper"))
    began = net.now
    if restart:
        net.stop("b")
        net.start("b")
        net.settle()
    waiting = net.begin("eve@b", "take", "job", ANY)
    net.run((began - net.now) / 1e6 + 18)
    assert net.got(waiting) is None
    net.run(3)
    assert net.got(waiting) == ("job", 1)
    assert [(end[0], end[2]) for end in net.value(waiting).history] == [(taker, "no paper")]
    with pytest.raises(LeaseLapsed):
        net.ask(taker, Settle("jobs", found.lease, False))


def test_a_dead_letter_tells_how_its_leases_ended(net: Hosts) -> None:
    for number in range(DELIVERIES_MAX):
        found = lease(net, ANN)
        if number % 2:
            net.run(LEASE_US / 1e6 + 1)
        else:
            net.ask(ANN, Settle("jobs", found.lease, False, why=f"fault {number}"))
            net.run(1)
    net.do(BOB, Open("jobs.dead"))
    net.do(BOB, Share(("jobs.dead",)))
    dead = net.ask(BOB, Seek("jobs.dead", Way.TAKE_NOWAIT, JOB))
    assert [end[2] for end in dead.history] == ["fault 0", "lapsed", "fault 2", "lapsed", "fault 4"]
    assert {end[0] for end in dead.history} == {ANN}


def test_a_delay_of_a_year_is_refused(net: Hosts) -> None:
    found = lease(net, ANN)
    with pytest.raises(DelayTooLong, match="at most for a week"):
        net.ask(ANN, Settle("jobs", found.lease, False, 0, 365 * 86_400_000_000))
    net.ask(ANN, Settle("jobs", found.lease))


LENDS = load("""law(lends).
R1. sent(_, renewed(_, [lease(S)]), _) :- S < 60, do(forward).
R2. sent(_, returned([job, _], [delay(5), why(paper)]), _) :- do(forward).
R3. sent(_, out(_), _) :- do(forward).
R4. sent(_, in(_, _), _) :- do(forward).
R5. sent(_, found(_, _, _), _) :- do(forward).
R6. sent(_, found(_, _), _) :- do(forward).
R7. arrived(_, _, _) :- do(deliver).
""")


def test_a_law_rules_on_what_is_renewed_and_sees_how_it_is_given_back() -> None:
    net = Hosts("b", laws=[LENDS])
    net.agent(BOB)
    for request in (Adopt(LENDS), Open("jobs", LENDS), Share(("jobs",))):
        net.do(BOB, request)
    net.out(BOB, "job", 1)
    found = lease(net, BOB)
    with pytest.raises(Refused):
        net.ask(BOB, Settle("jobs", found.lease, False, 90_000_000))
    net.ask(BOB, Settle("jobs", found.lease, False, 50_000_000))
    with pytest.raises(Refused):
        net.ask(BOB, Settle("jobs", found.lease, False))
    net.run(40)
    net.ask(BOB, Settle("jobs", found.lease, False, 0, 5_000_000, "paper"))
    with pytest.raises(LeaseLapsed):
        net.ask(BOB, Settle("jobs", found.lease, False))


@pytest.mark.parametrize("moves", [True, False])
def test_a_law_sees_what_another_host_lent_after_a_restart_or_a_move(moves: bool) -> None:
    net = Hosts("abc", laws=[LENDS])
    for agent in (ANN, BOB, "eve@a"):
        net.agent(agent)
        for request in (Adopt(LENDS), Open("jobs", LENDS), Share(("jobs",))):
            net.do(agent, request)
    net.settle()
    net.out(BOB, "job", 1)
    found = lease(net, ANN)
    if moves:
        net.move(ANN, "c", seconds=1)
    else:
        net.stop("a")
        net.start("a")
    net.settle()
    net.ask(ANN, Settle("jobs", found.lease, False, 50_000_000))
    with pytest.raises(LeaseLapsed):  # it is not hers
        net.ask("eve@a", Settle("jobs", found.lease, False, 50_000_000))
    with pytest.raises(Refused):
        net.ask(ANN, Settle("jobs", found.lease, False))
    net.ask(ANN, Settle("jobs", found.lease, False, 0, 5_000_000, "paper"))
    net.run(6)
    assert lease(net, BOB).deliveries == 2


def test_what_is_lent_is_shown_to_the_host_of_its_taker_only(net: Hosts) -> None:
    found = lease(net, ANN)
    key = (net.hosts["a"].step.life, 99, 0)
    for peer, closed in (("c", LeaseClosed(key, False)), ("a", LeaseClosed(key, True, ("job", 1)))):
        net.hosts[peer].group.tell("b", LeaseSettled(key, found.lease, False, ANN))
        net.run(1)
        told = [(one.dst, one.body) for one in net.said if isinstance(one.body, LeaseClosed)]
        assert told[-1] == (peer, closed)
