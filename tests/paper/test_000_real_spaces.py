"""`000_…` sections 2 and 4 on real spaces: two engaged hosts, agents that call, laws that rule.

The other tests of this paper put laws MP, SB and CC to the question message by message. Here the
messages are what hosts make of their agents' calls.
"""

from typing import Any

import pytest

from nomospace import laws
from nomospace.calls.problems import LeaseLapsed, OtherLaw, Refused
from nomospace.calls.ways import Strength, Way
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, show, t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import DELIVERED, RULED
from nomospace_lab.sim.observed import ANSWERED, FIRED, NOTED
from nomospace_lab.sim.requests import (
    ONCE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    Adopt,
    Answer,
    Open,
    Out,
    React,
    Request,
    Seek,
    Settle,
    Share,
    Tell,
)

ANN, EVE = "ann@x", "eve@x"
BOB, PAT = "bob@y", "pat@y"
HOWS = (TAKE, READ, TAKE_NOWAIT, READ_NOWAIT, TAKE_ALL, READ_ALL)
ROLE = t.role("serviceProvider")


class Pair(Sites):
    """Two engaged hosts, x and y, whose agents share one space under one law."""

    def __init__(self, name: str, space: str) -> None:
        self.law: CompiledLaw = load(laws.text(name), f"{name}.law")
        super().__init__(1, laws=(self.law,), observe=False)
        self.space = space
        for agent in (ANN, EVE, BOB, PAT):
            host = agent.partition("@")[2]
            if host not in self.sites:
                self.site(host)
            self.arrive(agent, host)
            args = ("serviceProvider",) if agent == PAT and name == "sb" else ()
            for request in (Adopt(self.law, args), Open(space, self.law), Share((space,))):
                assert self.ask(agent, request).error is None
        self.connect("x", "y")
        self.pass_s(8)
        self.since = len(self.history)

    def rulings(self, *starts: str) -> list[tuple[str, str, str | None]]:
        """Who ruled on what by which rule, since the hosts were engaged."""
        new = list(self.history)[self.since :]
        found = [(h.who, show(h.what.event.term), h.what.rule) for h in new if h.kind == RULED]
        return [one for one in found if one[1].startswith(starts)] if starts else found

    def fired(self, agent: str) -> list[tuple[Term, ...]]:
        """The tuples that an agent's reactions fired for."""
        return [h.what.found.fields for h in self.history.of(FIRED) if h.who == agent]

    def begin(self, agent: str, request: Request) -> list[Answer]:
        """Call; the answer will be in the list."""
        answers: list[Answer] = []
        assert self.call(agent, request, answers.append) is not None
        self.pass_s(0)
        return answers

    def seconds(self) -> float:
        """The time."""
        return self.clock.now / SECOND_US


# -- secure message passing (section 2) ----------------------------------------------------


def letter(text: Any, sender: Any, to: Any) -> tuple[Compound, ...]:
    return (t.msg(text), Compound("from", (sender,)), t.to(to))


TO_BOB = Template.of(letter(ANY, ANY, BOB))


@pytest.fixture
def post() -> Pair:
    return Pair("mp", "post")


def test_a_letter_is_written_here_and_taken_there(post: Pair) -> None:
    """2: the tuple lies at ann's host, and bob's take waits at his own."""
    waits = post.begin(BOB, Seek("post", TAKE, TO_BOB))
    post.pass_s(1)
    assert waits == []
    assert post.ask(ANN, Out("post", letter("hi", ANN, BOB))).error is None
    post.pass_s(1)
    [answer] = waits
    assert answer.value.fields == letter("hi", ANN, BOB)
    assert answer.value.source == ANN


def test_a_federated_take_is_ruled_on_at_four_points(post: Pair) -> None:
    """3.2: sent and arrived, for the operation and for its answer, each at its own home."""
    post.ask(ANN, Out("post", letter("hi", ANN, BOB)))
    post.since = len(post.history)
    post.ask(BOB, Seek("post", TAKE, TO_BOB))
    operation = f"in([msg(formal(any)),from(formal(any)),to('{BOB}')])"
    found = f"found({operation},[msg(hi),from('{ANN}'),to('{BOB}')])"
    assert post.rulings() == [
        (BOB, f"sent('{BOB}',{operation},post)", "R2"),
        ("post at y", f"arrived('{BOB}',{operation},post)", "R4"),
        ("post at x", f"arrived('{BOB}',{operation},post)", "R4"),
        ("post at x", f"sent(post,{found},'{BOB}')", "R3"),
        (BOB, f"arrived(post,{found},'{BOB}')", "R4"),
    ]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("at", ["", "x", "y", ANN])
def test_nobody_else_gets_at_a_letter(post: Pair, how: str, at: str) -> None:
    """2: and whoever tries is told which rule failed where."""
    post.ask(ANN, Out("post", letter("hi", ANN, BOB)))
    post.since = len(post.history)
    for whose in (BOB, ANY, str):
        template = Template.of(letter(ANY, ANY, whose))
        error = post.ask(EVE, Seek("post", Way(how), template, at)).error
        assert isinstance(error, Refused)
        assert error.ruling.refused
        assert "Refused: P = [msg(_), from(_), to(Y)] fails in R2" in str(error)
        assert "failed  P = [msg(_), from(_), to(Y)]" in str(error)
    assert {who for who, _, _ in post.rulings()} == {EVE}  # it never came to a space
    assert post.ask(BOB, Seek("post", TAKE_NOWAIT, TO_BOB, at="x")).value is not None


def test_a_letter_is_not_forged(post: Pair) -> None:
    """2: nobody but its writer stands in it."""
    assert isinstance(post.ask(EVE, Out("post", letter("hi", ANN, BOB))).error, Refused)
    assert post.ask(BOB, Seek("post", READ_ALL, TO_BOB, at="x")).value == ()


def test_reactions_are_ways_to_a_tuple(post: Pair) -> None:
    """2, for an operation that the paper does not have: refused, or ruled on firing by firing."""
    for request in (
        React("post", TO_BOB),
        React("post", Template.of((ANY, ANY, ANY))),
        React("post", TO_BOB, strength=STRONG, at="x"),
    ):
        assert isinstance(post.ask(EVE, request).error, Refused)
    assert post.ask(BOB, React("post", TO_BOB)).error is None
    post.pass_s(1)
    post.since = len(post.history)
    post.ask(ANN, Out("post", letter("hi", ANN, BOB)))
    post.pass_s(1)
    assert post.fired(EVE) == []
    assert post.fired(BOB) == [letter("hi", ANN, BOB)]
    pattern = f"[msg(formal(any)),from(formal(any)),to('{BOB}')]"
    reacted = f"reacted({pattern},[msg(hi),from('{ANN}'),to('{BOB}')])"
    assert post.rulings("sent(post", "arrived(post") == [
        ("post at x", f"sent(post,{reacted},'{BOB}')", "R3"),
        (BOB, f"arrived(post,{reacted},'{BOB}')", "R4"),
    ]


def test_a_lease_is_ended_by_its_taker_and_given_back_under_the_law(post: Pair) -> None:
    """2: a letter on loan is as safe as one that lies in the space."""
    post.ask(ANN, Out("post", letter("hi", ANN, BOB)))
    lease = post.ask(BOB, Seek("post", TAKE, TO_BOB, lease_us=60 * SECOND_US)).value.lease
    for thief in (EVE, PAT):
        for done in (True, False):
            assert isinstance(post.ask(thief, Settle("post", lease, done)).error, LeaseLapsed)
    post.since = len(post.history)
    assert post.ask(BOB, Settle("post", lease, done=False)).error is None
    assert (BOB, "R2") in [(who, rule) for who, _, rule in post.rulings(f"sent('{BOB}',returned(")]
    assert post.ask(BOB, Seek("post", TAKE_NOWAIT, TO_BOB, at="x")).value.deliveries == 1


def test_a_space_of_that_name_under_another_law_is_another_space(post: Pair) -> None:
    """3.1: a community is its law. On one host a name has one law; elsewhere nothing is shared."""
    post.ask(ANN, Out("post", letter("hi", ANN, BOB)))
    post.site("z")
    post.connect("z", "x")
    post.arrive("zoe@z", "z")
    post.pass_s(8)
    assert post.ask("zoe@z", Open("post")).error is None
    assert post.ask("zoe@z", Share(("post",))).error is None
    whole = Template.of((ANY, ANY, ANY))
    waits = post.begin("zoe@z", Seek("post", TAKE, whole))
    post.pass_s(2)
    assert waits == []
    for at in ("", "x", ANN):
        assert post.ask("zoe@z", Seek("post", READ_ALL, whole, at)).value == ()
    post.arrive("zed@x", "x")
    post.pass_s(1)
    assert isinstance(post.ask("zed@x", Open("post")).error, OtherLaw)


# -- secure bidding (section 4.1) ----------------------------------------------------------

REQUEST = (t.requester(ANN), t.service("painting"))
REQUESTS = Template.of((t.requester(ANY), t.service(ANY)))
BID = (t.offerFor(ANN, "painting"), t.fee(90), t.provider(PAT), t.contact("pat"))
BIDS = Template.of((t.offerFor(ANN, ANY), t.fee(ANY), t.provider(ANY), t.contact(ANY)))


@pytest.fixture
def market() -> Pair:
    return Pair("sb", "market")


def test_a_deal_is_made_across_hosts(market: Pair) -> None:
    """4.1, steps (a) to (c): asked for at x, bid for at y, chosen at x."""
    assert market.ask(ANN, Out("market", REQUEST)).error is None
    seen = market.ask(PAT, Seek("market", READ, REQUESTS)).value
    assert seen.fields == REQUEST
    assert market.ask(PAT, Out("market", BID)).error is None
    assert isinstance(market.ask(EVE, Seek("market", TAKE, BIDS)).error, Refused)
    assert market.ask(ANN, Seek("market", TAKE, BIDS)).value.fields == BID


def test_only_providers_react_to_requests(market: Pair) -> None:
    """4.1, constraint 2: to react is to read."""
    assert isinstance(market.ask(BOB, React("market", REQUESTS)).error, Refused)
    assert market.ask(PAT, React("market", REQUESTS)).error is None
    market.pass_s(1)
    market.ask(ANN, Out("market", REQUEST))
    market.pass_s(1)
    assert market.fired(PAT) == [REQUEST]
    assert isinstance(market.ask(PAT, Seek("market", TAKE, REQUESTS)).error, Refused)


@pytest.mark.parametrize("strength", ["weak", STRONG])
def test_who_loses_the_role_loses_the_reaction(market: Pair, strength: str) -> None:
    """R7a: what comes then is not shown, and the reaction is taken back everywhere."""
    at, writer = ("y", BOB) if strength == STRONG else ("", ANN)
    market.ask(PAT, React("market", REQUESTS, strength=Strength(strength), at=at))
    market.pass_s(1)
    assert market.certify(PAT, market.law, "admin", ROLE, held=False)
    market.since = len(market.history)
    market.ask(writer, Out("market", (t.requester(writer), t.service("painting"))))
    market.pass_s(1)
    assert market.fired(PAT) == []
    arrivals = market.rulings("arrived(market,reacted(", "arrived('pat@y',unreact(")
    assert [(who, rule) for who, _, rule in arrivals] == [(PAT, "R7a"), ("market at y", "R7")]
    assert market.certify(PAT, market.law, "admin", ROLE)
    market.ask(writer, Out("market", (t.requester(writer), t.service("plumbing"))))
    market.pass_s(1)
    assert market.fired(PAT) == []


def test_who_loses_the_role_is_shown_nothing_that_was_asked_for_before(market: Pair) -> None:
    """R7b: the answer to a read that waits says none."""
    waits = market.begin(PAT, Seek("market", READ, REQUESTS))
    market.pass_s(1)
    market.certify(PAT, market.law, "admin", ROLE, held=False)
    market.ask(ANN, Out("market", REQUEST))
    market.pass_s(1)
    assert [(answer.value, answer.error) for answer in waits] == [(None, None)]
    assert [rule for _, _, rule in market.rulings("arrived(market,found(rd(")] == ["R7b"]


def test_a_certificate_makes_a_provider(market: Pair) -> None:
    """R9: and no message does."""
    told = t.certified((t.issuer("admin"), t.subject(BOB), t.attributes((ROLE,))))
    for to in (BOB, "market"):
        assert market.ask(BOB, Tell(market.law.hash, told, to)).value.refused
    assert isinstance(market.ask(BOB, React("market", REQUESTS)).error, Refused)
    market.certify(BOB, market.law, "admin", ROLE)
    assert market.ask(BOB, React("market", REQUESTS, mode=ONCE)).error is None


# -- congestion control (section 4.2) ------------------------------------------------------

JOBS = Template.of(("job", ANY))


@pytest.fixture
def jobs() -> Pair:
    return Pair("cc", "jobs")  # the delay of a space that has set none is one second


def answered_after(world: Pair, began: float, *requests: Request) -> list[float]:
    """Let bob ask for several things at once; how long after `began` each was answered."""
    ops = [world.call(BOB, request) for request in requests]
    world.pass_s(30)
    at = {h.what.op: h.at / SECOND_US - began for h in world.history.of(ANSWERED)}
    return [round(at[op], 3) for op in ops if op is not None]


def test_what_is_asked_too_early_is_answered_later(jobs: Pair) -> None:
    """4.2: the first passes at once, the others wait at their client and leave by themselves."""
    began = jobs.seconds()
    writes = [Out("jobs", ("job", number)) for number in range(4)]
    assert answered_after(jobs, began, *writes) == [0, 1, 2, 3]
    sent = [rule for who, _, rule in jobs.rulings("sent(") if who == BOB]
    assert sent == ["R1", "R1", "R2", "R2"]
    assert [rule for _, _, rule in jobs.rulings("obligationDue(")] == ["R3"] * 3
    held = jobs.ask(ANN, Seek("jobs", READ_ALL, JOBS, at="y")).value
    assert [one.fields for one in held] == [("job", number) for number in range(4)]


def test_a_take_that_is_held_back_takes_when_it_is_let_go(jobs: Pair) -> None:
    """4.2, point 3: until then the tuple is anybody's, here on the other host."""
    jobs.ask(ANN, Out("jobs", ("job", 1)))
    jobs.ask(BOB, Out("jobs", ("note", 0)))
    waits = jobs.begin(BOB, Seek("jobs", TAKE, JOBS))
    jobs.pass_s(0.5)
    assert jobs.rulings(f"arrived('{BOB}',in(") == []
    assert waits == []
    jobs.pass_s(1)
    assert [answer.value.fields for answer in waits] == [("job", 1)]


def test_the_space_sets_the_pace_from_any_host(jobs: Pair) -> None:
    """4.2, point 2: the manager at x speaks, and bob's controller at y heeds it, unseen by bob."""
    jobs.speak("x", "jobs", jobs.law, t.changeDelay(3), BOB)
    jobs.pass_s(1)
    assert jobs.rulings("sent(jobs,changeDelay", "arrived(jobs,changeDelay") == [
        ("jobs at x", f"sent(jobs,changeDelay(3),'{BOB}')", "R4"),
        (BOB, f"arrived(jobs,changeDelay(3),'{BOB}')", "R5"),
    ]
    assert list(jobs.history.of(DELIVERED)) == []
    began = jobs.seconds()
    writes = [Out("jobs", ("job", number)) for number in range(3)]
    assert answered_after(jobs, began, *writes) == [0, 3, 6]


@pytest.mark.parametrize("to", [BOB, EVE, "jobs"])
def test_nobody_else_sets_the_pace(jobs: Pair, to: str) -> None:
    """4.2, point 2."""
    assert jobs.ask(EVE, Tell(jobs.law.hash, t.changeDelay(0), to)).value.refused
    about = Template.of((t.changeDelay(ANY),))
    for request in (Out("jobs", (t.changeDelay(0),)), Seek("jobs", TAKE, about)):
        assert isinstance(jobs.ask(EVE, request).error, Refused)


def test_what_is_held_back_survives_a_crash(jobs: Pair) -> None:
    """3.3, 4.2: control state and obligations are on disk; only who would be told is gone."""
    waits = [jobs.begin(BOB, Out("jobs", ("job", number))) for number in range(3)]
    jobs.crash(Crash(0, "y", down_us=5 * SECOND_US))
    jobs.pass_s(20)
    assert [len(answers) for answers in waits] == [1, 0, 0]
    held = jobs.ask(ANN, Seek("jobs", READ_ALL, JOBS, at="y")).value
    assert [one.fields for one in held] == [("job", number) for number in range(3)]


def test_a_space_that_is_not_here_says_nothing(jobs: Pair) -> None:
    """Not in the paper: only the host of a manager can let it speak."""
    jobs.speak("x", "elsewhere", jobs.law, t.changeDelay(0), BOB)
    assert [h.what[0] for h in jobs.history.of(NOTED)] == ["no-such-space"]
    assert jobs.rulings() == []
