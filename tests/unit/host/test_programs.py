"""What an agent runs, as its host keeps it: durable, handed over, and told to whoever drives it."""

from __future__ import annotations

from typing import Any

from nomospace.calls.problems import AgentLeft, Cancelled, MoveRefused, NoProgram
from nomospace.calls.requests import (
    CLIENT_PROGRAM,
    READ,
    TAKE,
    Adopt,
    Cancel,
    Launch,
    Move,
    Open,
    React,
    Reactions,
    Save,
    Seek,
    Share,
    Tell,
    Unread,
)
from nomospace.host.changes import ProgramKept
from nomospace.host.effects import Answer, Came, Effect, Left, Mail
from nomospace.host.moving import MAIL_MAX
from nomospace.law import load
from nomospace.terms import t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.observed import NOTED
from nomospace_lab.sim.site import Site

LAW = load(
    "law(post). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver). "
    "R3. moved(From, _) :- do(deliver(host, welcome(From), Self)).",
    "post.law",
)
JOB = Template.of(("job", ANY))
BOB = "bob@a"


class Watched(Sites):
    """A world that keeps what its hosts order about programs, in order.

    With a `server` elsewhere it takes a while to be let go.
    """

    def __init__(self, *, server: str = "a") -> None:
        super().__init__(
            1,
            link=Link(delay_min_us=20_000, delay_max_us=20_000),
            laws=(LAW,),
            observe=False,
            servers={"a": (server,)},
        )
        self.orders: list[Effect] = []
        for name in ("a", "b", "c"):
            self.site(name)
            for other in self.sites:
                if other != name:
                    self.connect(other, name)
        self.pass_s(5)
        self.arrive(BOB, "a")

    def _observe(self, site: Site, effect: Effect) -> None:
        super()._observe(site, effect)
        if isinstance(effect, Left | Came | Mail):
            self.orders.append(effect)

    def kept(self, host: str) -> ProgramKept | None:
        """What a disk has of bob, which is what the core says."""
        site = self.sites[host]
        assert site.core is not None
        assert site.core.programs == tuple(site.disk.programs.values())
        return site.disk.programs.get(BOB)


def refused(world: Watched, request: Any) -> Any:
    return world.ask(BOB, request, within_s=20).error


def test_a_launch_is_durable_until_the_program_is_over() -> None:
    world = Watched()
    world.call(BOB, Launch("walk", b"1", b"code"))
    assert world.kept("a") == ProgramKept(BOB, "walk", b"1", b"code")
    world.call(BOB, Save(b"2"))
    assert world.kept("a") == ProgramKept(BOB, "walk", b"2", b"code")
    world.power_cycle()
    assert world.kept("a") == ProgramKept(BOB, "walk", b"2", b"code")
    world.call(BOB, Launch(""))
    assert world.kept("a") is None
    assert isinstance(refused(world, Save(b"3")), NoProgram)


def test_a_program_is_handed_over_with_the_state_of_its_move() -> None:
    world = Watched()
    world.call(BOB, Launch("walk", b"1"))
    world.call(BOB, Move("b", "walk", b"2", b"code"))
    world.pass_s(3)
    assert world.orders == [
        Left(BOB, "b", epoch=1),
        Came(BOB, "a", "walk", b"2", b"code", epoch=1),
    ]
    assert world.kept("a") is None
    assert world.kept("b") == ProgramKept(BOB, "walk", b"2", b"code", "a")


def test_a_state_that_cannot_be_read_is_sent_back_with_its_agent() -> None:
    world = Watched()
    world.call(BOB, Launch("walk", b"1"))
    core = world.sites["b"].core
    assert core is not None
    asked: list[Any] = []

    def reads(*told: Any) -> str:
        asked.append(told)
        return "no such state"

    core.reads = reads
    world.call(BOB, Move("b", "walk", b"2", b"code"))
    world.pass_s(3)
    assert asked == [("walk", b"code", b"2")]
    left, came = world.orders
    assert left == Left(BOB, "b", epoch=1)
    assert isinstance(came, Came)
    assert isinstance(came.error, MoveRefused)
    assert (came.origin, came.state, came.error.why) == ("b", b"2", "no such state")
    assert world.kept("a") == ProgramKept(BOB, "walk", b"2", b"code", "b", "no such state")
    assert world.kept("b") is None
    world.pass_s(3)
    core.reads = lambda *_: ""
    world.call(BOB, Move("b", "walk", b"3"))
    world.pass_s(3)
    assert world.where[BOB] == "b"


def test_what_a_program_waits_for_and_its_reactions_end_where_it_leaves() -> None:
    world = Watched()
    world.call(BOB, Launch("walk"))
    world.call(BOB, Open("jobs"))
    world.call(BOB, Share(("jobs",)))
    answers: list[Answer] = []
    for how in (TAKE, READ):
        world.call(BOB, Seek("jobs", how, JOB), answers.append)
    world.call(BOB, React("jobs", JOB))
    world.call(BOB, Move("b", "walk"))
    world.pass_s(3)
    assert [type(answer.error) for answer in answers] == [AgentLeft, AgentLeft]
    assert world.where[BOB] == "b"
    assert world.ask(BOB, Reactions()).value == ()


def test_mail_comes_after_the_program_and_what_was_not_read_with_it() -> None:
    world = Watched()
    world.call(BOB, Adopt(LAW))
    world.call(BOB, Launch("walk"))
    world.arrive("ann@b", "b")
    world.call("ann@b", Adopt(LAW))
    unread = Unread(LAW.hash, "eve@a", t.old(1))
    world.call(BOB, Move("b", "walk", None, None, (unread,)))
    for n in range(20):
        world.call("ann@b", Tell(LAW.hash, t.note(n), BOB))
        world.pass_s(0.01)
    world.pass_s(3)
    left, came, *mail = world.orders
    assert isinstance(left, Left)
    assert isinstance(came, Came)
    assert came.mail == (unread,)
    told = [one.message for one in mail if isinstance(one, Mail)]
    assert [each for each in told if each != t.welcome("a")] == [t.note(n) for n in range(20)]


def test_a_client_is_told_at_once_while_its_agent_is_about_to_leave() -> None:
    """Its host keeps what the client has not seen; what waited here would die with the host."""
    world = Watched()
    world.arrive("eve@a", "a")
    for agent in (BOB, "eve@a"):
        world.call(agent, Adopt(LAW))
    world.call(BOB, Move("nowhere", CLIENT_PROGRAM))
    world.call("eve@a", Tell(LAW.hash, t.note(1), BOB))
    world.pass_s(1)
    assert world.orders == [Mail(BOB, LAW.hash, "eve@a", t.note(1))]


def test_mail_that_waited_is_told_when_the_program_stays() -> None:
    world = Watched()
    world.arrive("eve@a", "a")
    for agent in (BOB, "eve@a"):
        world.call(agent, Adopt(LAW))
    world.call(BOB, Launch("walk"))
    world.call(BOB, Move("nowhere", "walk"))
    world.call("eve@a", Tell(LAW.hash, t.note(1), BOB))
    world.pass_s(5)
    assert not world.orders
    world.pass_s(10)
    assert world.orders == [Mail(BOB, LAW.hash, "eve@a", t.note(1))]
    assert world.where[BOB] == "a"


def test_mail_that_waits_has_a_limit() -> None:
    world = Watched()
    core = world.sites["a"].core
    assert core is not None
    world.call(BOB, Launch("walk"))
    world.call(BOB, Move("nowhere", "walk"))
    for n in range(MAIL_MAX + 3):
        core.moving.deliver(Mail(BOB, LAW.hash, "eve@a", n))
    world.pass_s(15)
    assert len(world.orders) == MAIL_MAX
    lost = [h for h in world.history if h.kind == NOTED and h.what[0] == "mail-lost"]
    assert len(lost) == 3


def test_a_move_is_called_off_before_the_destination_said_yes_and_not_after() -> None:
    world = Watched(server="c")
    world.call(BOB, Launch("walk"))
    answers: list[Answer] = []
    op = world.call(BOB, Move("nowhere", "walk"), answers.append)
    assert op is not None
    assert world.ask(BOB, Cancel(op)).value is True
    assert isinstance(answers[0].error, Cancelled)
    op = world.call(BOB, Move("b", "walk"), answers.append)
    assert op is not None
    core = world.sites["a"].core
    assert core is not None
    while core.moving._asking[BOB].until:
        world.pass_s(0.001)
    assert world.ask(BOB, Cancel(op), within_s=0.01).value is False
    world.pass_s(3)
    assert world.where[BOB] == "b"


def test_a_program_that_hops_at_once_waits_for_its_last_move_to_settle() -> None:
    world = Watched()
    world.call(BOB, Launch("walk"))
    hosts = ["b", "a", "b", "a", "b"]

    def hop() -> None:
        if hosts:
            answers: list[Answer] = []
            assert world.call(BOB, Move(hosts.pop(0), "walk"), answers.append) is not None

    seen = world._observe

    def observe(site: Site, effect: Effect) -> None:
        seen(site, effect)
        if isinstance(effect, Came):
            world.clock.after(0, hop)

    world._observe = observe  # type: ignore[method-assign]
    hop()
    world.pass_s(20)
    assert not hosts
    assert [order.to for order in world.orders if isinstance(order, Left)] == list("babab")
    assert world.where[BOB] == "b"


def test_a_move_of_an_earlier_life_is_not_made_in_a_later_one() -> None:
    world = Watched(server="c")
    world.call(BOB, Launch("walk", b"1"))
    world.call(BOB, Move("b", "walk", b"2"))
    core = world.sites["a"].core
    assert core is not None
    while core.moving._asking[BOB].until:
        world.pass_s(0.001)
    world.crash(Crash(world.clock.now, "a", 1_000_000, 0))
    world.pass_s(2)
    world.orders.clear()
    world.call(BOB, Move("c", "walk", b"3"))
    world.pass_s(20)
    assert world.where[BOB] == "c"
    assert [order.to for order in world.orders if isinstance(order, Left)] == ["c"]
    assert world.kept("c") == ProgramKept(BOB, "walk", b"3", None, "a")


def test_who_is_away_is_known() -> None:
    world = Watched()
    core = world.sites["a"].core
    assert core is not None
    assert not core.away("nobody@a")
    assert not core.away(BOB)
    world.call(BOB, Launch("walk"))
    world.call(BOB, Move("b", "walk"))
    world.pass_s(3)
    assert core.away(BOB)
