"""Plain calls are served as all others would be, and only where nobody else is concerned."""

from typing import Any

import msgspec
import pytest

from nomospace.calls.problems import LeaseLapsed, SpaceFull
from nomospace.calls.requests import READ, TAKE, Adopt, Open, Out, Seek, Settle, Share, Tell
from nomospace.calls.ways import Way
from nomospace.host.calls import Arrive, Call, Loaded, Tick
from nomospace.host.changes import TupleGone, TuplePut
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Persist, Ruled
from nomospace.host.plain import PlainCalls
from nomospace.law import load
from nomospace.terms import term
from nomospace.terms.templates import ANY, Template

JOB = Template.of(("job", ANY))
LAW = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")


def told(host: Host, request: Any, op: int = 1, agent: str = "ann@a") -> list[Any]:
    effects = host.handle(Call(op, agent, request), now=5)
    return [effect.value for effect in effects if isinstance(effect, Answer)]


def host(*, durable: bool = False, shared: bool = True, **options: Any) -> Host:
    made = Host("a", life=1, now=0, **options)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Open("jobs", durable=durable))
    if shared:
        told(made, Share(("jobs",)))
    for number in range(3):
        told(made, Out("jobs", ("job", number)))
    return made


def is_plain(host: Host, request: Any, agent: str = "ann@a") -> bool:
    """Whether a call is one that the host makes no other step for."""
    host.next_deadline()
    host.handle_many([Call(9, agent, request)], now=5)
    return not host.stirred


@pytest.mark.parametrize("how", [TAKE, READ])
def test_it_gives_what_the_other_parts_would(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gave = []
    for plain in (True, False):
        if not plain:
            monkeypatch.setattr(PlainCalls, "serve", lambda *_: 0)
        made = host(durable=True, traces=True)
        effects = [
            made.handle(Call(2, "ann@a", Seek("jobs", Way(how), JOB)), now=5) for _ in range(3)
        ]
        effects.append(made.handle(Call(3, "ann@a", Out("jobs", ("job", 9))), now=6))
        lent = made.handle(Call(4, "ann@a", Seek("jobs", TAKE, JOB, lease_us=9)), now=7)
        lease = next(one.value.lease for one in lent if isinstance(one, Answer))
        effects += [lent, made.handle(Call(5, "ann@a", Settle("jobs", lease)), now=8)]
        gave.append((effects, told(made, Seek("jobs", Way.READ_ALL, JOB))))
    assert gave[0] == gave[1]


def test_several_are_one_step() -> None:
    made = host(durable=True)
    calls = [
        Call(2, "ann@a", Out("jobs", ("job", 9))),
        Call(3, "ann@a", Seek("jobs", TAKE, Template.of(("job", 9)))),
        Call(4, "ann@a", Seek("jobs", TAKE, Template.of(("job", 0)))),
        Call(5, "ann@a", Seek("jobs", TAKE, Template.of(("other", ANY)))),
        Call(6, "ann@a", Seek("jobs", TAKE, JOB)),
    ]
    done, (persist, *answers) = made.handle_many(calls, now=5)
    assert done == 3, "the fourth has to wait, and is a step of its own"
    assert isinstance(persist, Persist)
    assert [type(change) for change in persist.changes] == [TuplePut, TupleGone, TupleGone]
    assert [answer.op for answer in answers if isinstance(answer, Answer)] == [2, 3, 4]
    assert made.handle_many(calls[3:], now=5) == (1, [])
    assert made.handle_many(calls[4:], now=5)[0] == 1


def test_waits_of_two_spaces_in_one_step_are_counted_where_they_were() -> None:
    made = host()
    told(made, Open("notes"))
    told(made, Share(("notes",)))
    told(made, Out("notes", ("note", 1)))
    calls = [
        Call(2, "ann@a", Seek("jobs", TAKE, JOB)),
        Call(3, "ann@a", Seek("jobs", TAKE, JOB)),
        Call(4, "ann@a", Seek("notes", TAKE, Template.of(("note", ANY)))),
    ]
    assert made.handle_many(calls, now=2_000_005)[0] == 3
    counted = {name: sum(one.counted()[0]) for name, one in made.spaces.waited.items()}
    assert counted == {"jobs": 2, "notes": 1}
    assert made.spaces.waited["jobs"].counted()[1] == 2 * 2_000_000


def test_leases_and_their_ends_are_part_of_that_step() -> None:
    made = host(durable=True)
    made.handle(Tick(), now=5)
    leased = Seek("jobs", TAKE, JOB, lease_us=50)
    done, (_, first, second) = made.handle_many([Call(n, "ann@a", leased) for n in (2, 3)], now=5)
    assert done == 2
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert made.stirred, "somebody has to hear the time when they lapse"
    assert made.next_deadline() == 55
    calls = [
        Call(4, "ann@a", Settle("jobs", first.value.lease)),
        Call(5, "ann@a", Seek("jobs", TAKE, Template.of(("job", 2)))),
        Call(6, "ann@a", Settle("jobs", first.value.lease)),  # it is over: that takes words
        Call(7, "ann@a", Settle("jobs", second.value.lease, False)),  # others may wait for it
    ]
    assert made.handle_many(calls, now=6)[0] == 2
    [late] = made.handle_many(calls[2:], now=6)[1]
    assert isinstance(late, Answer)
    assert isinstance(late.error, LeaseLapsed)
    assert not is_plain(made, Settle("jobs", second.value.lease, False))
    assert is_plain(made, Seek("jobs", READ, Template.of(("job", 1))))


def test_what_another_has_on_disk_is_gone_from_there() -> None:
    made = host()
    made.handle(Arrive("bob@a"), now=0)
    for request in (Open("jobs", durable=True), Share(("jobs",)), Out("jobs", ("job", 9))):
        told(made, request, agent="bob@a")
    take = Seek("jobs", TAKE, Template.of(("job", 9)))
    persist, _ = made.handle(Call(1, "ann@a", take), now=5)
    assert persist == Persist((TupleGone("jobs", ("bob@a", 1)),))


def test_nothing_is_written_past_one_who_waits() -> None:
    made = host()
    assert told(made, Seek("jobs", TAKE, Template.of(("other", ANY))), op=7) == []
    assert not is_plain(made, Out("jobs", ("job", 7)))
    assert [one.fields for one in told(made, Out("jobs", ("other", 1)))[:1]] == [("other", 1)]


def test_a_space_that_is_full_has_taken_nothing() -> None:
    made = host()
    space = made.spaces.levels["jobs"].space
    space.tuples_max = 3
    [answer] = made.handle(Call(1, "ann@a", Out("jobs", ("job", 9))), now=5)
    assert isinstance(answer, Answer)
    assert isinstance(answer.error, SpaceFull)
    space.tuples_max = 4
    told(made, Out("jobs", ("job", 9)))
    [found] = told(made, Seek("jobs", READ, Template.of(("job", 9))))
    assert found.fields == ("job", 9)


@pytest.mark.parametrize(
    ("shared", "agent", "space"),
    [
        (False, "ann@a", "jobs"),  # waiting there is an error
        (True, "ann@a", "notes"),
        (True, "ann@a", "LimeSystem"),
        (True, "bob@a", "jobs"),
    ],
)
def test_all_else_goes_the_way_of_all_others(shared: bool, agent: str, space: str) -> None:
    made = host(shared=shared)
    assert not is_plain(made, Seek(space, TAKE, JOB), agent)
    assert is_plain(host(), Seek("jobs", TAKE, JOB))


@pytest.mark.parametrize(
    "seek",
    [
        Seek("jobs", TAKE, JOB, at="ann@a"),
        Seek("jobs", TAKE, JOB, dest="bob@a"),
        Seek("jobs", Way.TAKE_ALL, JOB),
        Seek("jobs", TAKE, Template.of(("job", 17))),
    ],
)
def test_a_call_that_is_not_plain(seek: Seek) -> None:
    assert not is_plain(host(), seek)


def test_a_governed_space_has_no_plain_calls() -> None:
    made = Host("a", life=1, now=0)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Adopt(LAW))
    told(made, Open("jobs", LAW, durable=False))
    told(made, Share(("jobs",)))
    told(made, Out("jobs", ("job", 1)))
    assert not is_plain(made, Seek("jobs", TAKE, JOB))


def test_nothing_is_served_while_the_host_loads() -> None:
    made = Host("a", life=1, now=0, loading=True)
    made.handle(Arrive("ann@a"), now=0)
    assert made.handle_many([Call(1, "ann@a", Out("jobs", ("job", 1)))], now=0) == (1, [])
    made.handle(Loaded((), last=True), now=0)
    assert made.agents == ("ann@a",)


COUNTED = load(
    "law(counted). initialCS([told(0)]).\n"
    "R1. sent(_, say(_), _) :- told(N)@CS, do(incr(told(N), 1)), do(forward).\n"
    "R2. arrived(_, say(_), _) :- do(deliver).\n"
    "R3. sent(_, long(N), _) :- down(N), do(forward). R4. arrived(_, long(_), _) :- do(deliver).\n"
    "down(0). down(N) :- N > 0, K is N - 1, down(K)."
)


def members() -> Host:
    made = Host("a", life=1, now=0, traces=True)
    for agent in ("ann@a", "bob@a"):
        made.handle(Arrive(agent), now=0)
        told(made, Adopt(COUNTED), agent=agent)
    return made


def test_messages_that_come_together_are_sent_in_one_step() -> None:
    """What is written down and what follows is as if each had a step of its own."""
    calls = [
        Call(n, "ann@a", Tell(COUNTED.hash, term(f"say({n})"), "bob@a" if n != 3 else "eve@a"))
        for n in range(1, 7)
    ]
    calls.append(Call(7, "ann@a", Seek("jobs", READ, JOB)))
    done, (persist, *together) = members().handle_many(calls, now=5)
    assert isinstance(persist, Persist)
    assert done == 6
    one_by_one = members()
    steps = [one_by_one.handle(call, now=5) for call in calls[:6]]
    kept = [one.changes for step in steps for one in step if isinstance(one, Persist)]
    assert [change for changes in kept for change in changes] == list(persist.changes)
    apart = [effect for step in steps for effect in step[1:]]
    untimed = [[msgspec.structs.replace(one, took_ns=0) if isinstance(one, Ruled) else one
                for one in effects] for effects in (apart, together)]  # fmt: skip
    assert untimed[0] == untimed[1]


def test_messages_that_take_long_have_steps_of_their_own() -> None:
    made = members()
    long = [Call(n, "ann@a", Tell(COUNTED.hash, term("long(600)"), "bob@a")) for n in range(1, 4)]
    assert made.handle_many(long, now=5)[0] == 1
