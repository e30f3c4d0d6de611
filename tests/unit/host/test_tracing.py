"""What a host writes down of its tuples, and what it tells the journal."""

from typing import Any

from nomospace.calls.problems import LeaseLapsed
from nomospace.calls.requests import TAKE_NOWAIT, Open, Out, OutMany, Seek, Settle, Share
from nomospace.host.calls import Arrive, Call, Tick
from nomospace.host.changes import Durable, TupleGone, TuplePut
from nomospace.host.core import Host
from nomospace.host.effects import Answer, LeaseTraced, Persist, Traced
from nomospace.terms.templates import Template

JOB = Template.of(("job", int))


class Desk:
    """One host, its disk, and what it said."""

    def __init__(self, *, durable: bool, traces: bool = True) -> None:
        self.host = Host("a", life=1, now=0, traces=traces)
        self.disk = Durable()
        self.traced: list[Traced] = []
        self.leases: list[LeaseTraced] = []
        self.persisted = 0
        self.answers: list[Any] = []
        self.op = 0
        self.tell(Arrive("ann@a"))
        self.ask(Open("jobs", durable=durable))
        self.persisted = 0

    def tell(self, event: Any, now: int = 0) -> None:
        for effect in self.host.handle(event, now=now):
            if isinstance(effect, Persist):
                for change in effect.changes:
                    self.disk.apply(change)
                    self.persisted += isinstance(change, TuplePut | TupleGone)
            elif isinstance(effect, Traced):
                self.traced.append(effect)
            elif isinstance(effect, LeaseTraced):
                self.leases.append(effect)
            elif isinstance(effect, Answer):
                assert effect.error is None
                self.answers.append(effect.value)

    def ask(self, request: Any, now: int = 0) -> Any:
        self.op += 1
        self.tell(Call(self.op, "ann@a", request), now)
        return self.answers[-1]


def test_what_is_not_durable_never_waits_for_the_disk() -> None:
    desk = Desk(durable=False)
    desk.ask(Share(("jobs",)))
    desk.ask(Out("jobs", ("job", 1)))
    desk.ask(OutMany("jobs", (("job", 2), ("job", 3))))
    desk.ask(Seek("jobs", TAKE_NOWAIT, JOB))
    lent = desk.ask(Seek("jobs", TAKE_NOWAIT, JOB, lease_us=9))
    desk.ask(Settle("jobs", lent.lease))
    assert desk.persisted == 0
    assert len(desk.disk.tuples.get("jobs", {})) == 0


def test_what_is_durable_is_written_down_and_taken_off_again() -> None:
    desk = Desk(durable=True)
    desk.ask(Out("jobs", ("job", 1)))
    assert len(desk.disk.tuples["jobs"]) == 1
    again = Host("a", life=2, now=0, durable=desk.disk, traces=True)
    desk.host = again
    desk.ask(Seek("jobs", TAKE_NOWAIT, JOB))
    assert desk.disk.tuples["jobs"] == {}


def test_the_journal_hears_of_every_tuple_in_order() -> None:
    desk = Desk(durable=True)
    desk.ask(Out("jobs", ("job", 1)))
    desk.ask(OutMany("jobs", (("job", 2), ("job", 3))))
    desk.ask(Seek("jobs", TAKE_NOWAIT, JOB))
    lent = desk.ask(Seek("jobs", TAKE_NOWAIT, JOB, lease_us=1_000_000))
    desk.ask(Settle("jobs", lent.lease))
    desk.ask(Out("jobs", ("job", 4), ttl_us=5))
    desk.tell(Tick(), now=10)
    told = [(one.op, one.fields[1], one.writer, one.count, one.agent) for one in desk.traced]
    assert told == [
        ("written", 1, "ann@a", 1, "ann@a"),
        ("written", 2, "ann@a", 2, "ann@a"),
        ("written", 3, "ann@a", 3, "ann@a"),
        ("taken", 1, "ann@a", 1, "ann@a"),
        ("taken", 2, "ann@a", 2, "ann@a"),
        ("written", 4, "ann@a", 4, "ann@a"),
        ("expired", 4, "ann@a", 4, "ann@a"),
    ]
    assert {one.space for one in desk.traced} == {"jobs"}


def test_the_journal_hears_what_becomes_of_leases() -> None:
    desk = Desk(durable=True)
    desk.ask(Out("jobs", ("job", 1)))
    take = Seek("jobs", TAKE_NOWAIT, JOB, lease_us=10)
    first = desk.ask(take).lease
    desk.ask(Settle("jobs", first, renew_us=50), now=5)
    desk.ask(Settle("jobs", first, done=False, delay_us=20, why="no paper"), now=6)
    desk.tell(Tick(), now=30)
    second = desk.ask(take, now=30).lease
    desk.tell(Tick(), now=40)
    third = desk.ask(take, now=41).lease
    # The host starts again with the third lease, which ran out while it was down.
    desk.host = Host("a", life=2, now=60, durable=desk.disk, traces=True)
    desk.tell(Tick(), now=60)
    fourth = desk.ask(take, now=61).lease
    desk.ask(Settle("jobs", fourth), now=62)
    assert [(one.op, one.lease, one.until, one.why) for one in desk.leases] == [
        ("lent", first, 10, ""),
        ("renewed", first, 55, ""),
        ("returned", first, 26, "no paper"),
        ("lent", second, 40, ""),
        ("lapsed", second, 0, ""),
        ("lent", third, 51, ""),
        ("lapsed", third, 0, ""),
        ("lent", fourth, 71, ""),
        ("acknowledged", fourth, 0, ""),
    ]
    who = {(one.space, one.writer, one.count, one.agent) for one in desk.leases}
    assert who == {("jobs", "ann@a", 1, "ann@a")}


def test_a_lease_is_over_at_its_end_before_the_host_hears_the_time() -> None:
    desk = Desk(durable=True)
    desk.ask(Out("jobs", ("job", 1)))
    lease = desk.ask(Seek("jobs", TAKE_NOWAIT, JOB, lease_us=10)).lease
    effects = desk.host.handle(Call(99, "ann@a", Settle("jobs", lease)), now=10)
    (answer,) = [one for one in effects if isinstance(one, Answer)]
    assert isinstance(answer.error, LeaseLapsed)


def test_without_a_journal_nothing_is_told() -> None:
    desk = Desk(durable=True, traces=False)
    desk.ask(Out("jobs", ("job", 1)))
    desk.ask(Seek("jobs", TAKE_NOWAIT, JOB, lease_us=10))
    assert desk.traced == []
    assert desk.leases == []
