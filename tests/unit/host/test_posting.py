"""The post office of a host: parcels that are none, and changes that have become many."""

from itertools import count
from typing import Any

import pytest

from nomospace.calls.requests import TAKE_NOWAIT, Adopt, Open, OutMany, Seek, Tell
from nomospace.host import posting as post_office
from nomospace.host.calls import Arrive, Call, Heard, Tick
from nomospace.host.changes import BirthLearnt, Durable, ParcelPlaced
from nomospace.host.core import Host
from nomospace.host.effects import HERE, Journey, Note, Persist, Ruled, Traced, Transmit
from nomospace.host.posting import RECEIPT_EVERY, RECEIPT_US, Letter
from nomospace.law import load
from nomospace.protocols.births import BEFORE, ERAS_FROM, SILENT
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.routing.frames import Hint, NotPrimary, Post, Register, Update
from nomospace.protocols.routing.server_memory import plain_ticket
from nomospace.terms import Template


@pytest.mark.parametrize("what", [None, "hello", {"no": "frame"}, Parcel(1, None)])
def test_a_parcel_of_no_known_kind_is_noted_and_taken_off_its_sender(what: object) -> None:
    """Else it would come again for ever, and hold up those after it."""
    host = Host("a", life=1, now=0)
    effects = host.handle(Heard("b", Parcel(1, what)), now=0)
    assert effects == [
        Persist((BirthLearnt("b", SILENT, BEFORE), ParcelPlaced("b", 1))),
        Note("bad-parcel", {"peer": "b", "number": 1, "kind": type(what).__name__}),
        Transmit("b", Receipt(1, BEFORE, SILENT)),
    ]


def receipts(host: Host, number: int, now: int) -> list[int]:
    """What a host confirms when a parcel comes; with number 0, when time has passed."""
    event = Heard("b", Parcel(number, None)) if number else Tick()
    effects = host.handle(event, now=now)
    frames = [effect.frame for effect in effects if isinstance(effect, Transmit)]
    return [frame.number for frame in frames if isinstance(frame, Receipt)]


def test_parcels_that_follow_one_another_are_confirmed_together() -> None:
    host = Host("a", life=1, now=0)
    assert receipts(host, 1, 0) == [1]
    assert receipts(host, 2, 10) == receipts(host, 3, 20) == []
    assert receipts(host, 3, 30) == [3], "it came again: its sender must know"
    assert receipts(host, 4, 40) == []
    due = host.next_deadline()
    assert due is not None
    assert due <= 30 + RECEIPT_US
    assert receipts(host, 0, 30 + RECEIPT_US) == [4]
    many = range(5, 6 + RECEIPT_EVERY)
    assert [receipts(host, one, 40 + RECEIPT_US) for one in many][-3:] == [[], [68], []]


def test_a_host_that_keeps_nothing_confirms_each_parcel_at_once() -> None:
    """What it has not confirmed comes again to its next birth, which knows nothing of it."""
    host = Host("a", life=1, era=ERAS_FROM, now=0)
    assert [receipts(host, one, one) for one in (1, 2, 3)] == [[1], [2], [3]]


@pytest.mark.parametrize(
    "frame",
    [
        NotPrimary("lab", "b", 5),
        Register("a", "ann@a", 0),
        Register("a", "ann@c", 1, plain_ticket("ann@c", 1, "x")),
        Hint("", "ann@c", "x", 9),
        Hint("a", "ann@c", "x", 9),
        Update(("bob@a", "ann@c", 1), "ann@c", "x", 9, "a", ()),
        Update(("bob@a", "ann@c", 1), "ann@c", "x", 9, "a", ("a",)),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_who_serves_nobody_is_not_believed_about_others(frame: Any) -> None:
    """What a host may say in routing is about its own agents, and about posts that it was given."""
    host = Host("a", life=1, now=0, servers={"lab": ("a", "b")})
    host.handle(Arrive("bob@a"), now=0)
    host.posting.send("bob@a", "ann@c", "hello")  # to c, whose server is asked
    cores = [host.posting.daemon, *host.posting._servers.values()]
    before = [core.state() for core in cores]
    effects = host.handle(Heard("x", Parcel(1, frame)), now=0)
    assert [core.state() for core in cores] == before
    assert "routing" in [effect.what for effect in effects if isinstance(effect, Note)]


def test_where_an_agent_went_is_learnt_without_any_set_up() -> None:
    """A way over domains that nobody configured is one; it was not always."""
    host = Host("a", life=1, now=0)
    host.handle(Arrive("bob@a"), now=0)
    host.posting.send("bob@a", "ann@c", "hello")
    update = Update(("bob@a", "ann@c", 1), "ann@c", "d", 1, "a", ("a",))
    host.handle(Heard("c", Parcel(1, update)), now=0)
    assert host.posting.guess("ann@c") == "d"


def test_changes_of_routing_are_folded_however_many_agents_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The disk keeps about as much as there is to know, and a host starts again from it."""
    monkeypatch.setattr(post_office, "FOLD_FROM", 16)
    disk, most = Durable(), 0
    host = Host("a", life=1, now=0)
    for number in range(200):
        for effect in host.handle(Arrive(f"x{number}@a"), now=0):
            for change in effect.changes if isinstance(effect, Persist) else ():
                disk.apply(change)
        alive = len(host.posting.daemon.changes())
        assert alive >= number
        most = max(most, len(disk.routing[""]) - 2 * alive)
    assert most <= 16
    again = Host("a", life=2, now=0, durable=disk)
    assert again.posting.daemon.state() == host.posting.daemon.state()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "b"}, "the agents of 'a', which this host does not serve"),
        ({"domain": "lab", "servers": {"lab": ("a",)}}, "ann@a is registered in domain 'a'"),
    ],
)
def test_a_host_does_not_start_with_what_another_has_written(
    given: dict[str, Any], words: str
) -> None:
    disk = Durable()
    for effect in Host("a", life=1, now=0).handle(Arrive("ann@a"), now=0):
        for change in effect.changes if isinstance(effect, Persist) else ():
            disk.apply(change)
    Host("a", life=2, now=0, durable=disk)
    with pytest.raises(post_office.OtherStore) as caught:
        Host(given.pop("name", "a"), life=2, now=0, durable=disk, **given)
    assert words in str(caught.value)


def test_rulings_tell_how_far_a_message_came_and_how_long_they_took() -> None:
    law = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")
    ticks = count(step=7)
    host = Host("a", life=1, now=0, stopwatch=lambda: next(ticks))
    host.handle(Arrive("ann@a"), now=0)
    host.handle(Call(1, "ann@a", Adopt(law)), now=0)
    letter = Letter(law.hash, "bob@b", "hello", b"seal", cause=9)
    post = Post("bob@b", "ann@a", 1, letter, "b", ("b", "c"), 3)
    effects = host.handle(Heard("c", Parcel(1, post)), now=0)
    [ruled] = [effect for effect in effects if isinstance(effect, Ruled)]
    assert (ruled.ruling.event.kind, ruled.took_ns) == ("arrived", 7)
    assert ruled.came == Journey(3, ("b",), 9)
    effects = host.handle(Call(2, "ann@a", Tell(law.hash, "hi", "ann@a")), now=0)
    near = [effect for effect in effects if isinstance(effect, Ruled)]
    assert [(each.ruling.event.kind, each.came, each.took_ns) for each in near] == [
        ("sent", HERE, 7),
        ("arrived", Journey(cause=near[0].ruling.seq), 7),
    ]


def test_rulings_and_tuples_tell_which_ruling_they_came_of() -> None:
    law = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")
    host = Host("a", life=1, now=0, traces=True)
    host.handle(Arrive("ann@a"), now=0)
    host.handle(Call(1, "ann@a", Adopt(law)), now=0)
    host.handle(Call(2, "ann@a", Open("jobs", law)), now=0)
    out = host.handle(Call(3, "ann@a", OutMany("jobs", (("job",), ("job",)))), now=0)
    ruled = [one for one in out if isinstance(one, Ruled)]
    [first, came_first, second, came_second] = [one.ruling.seq for one in ruled]
    assert [one.came.cause for one in ruled] == [0, first, 0, second]
    assert [one.cause for one in out if isinstance(one, Traced)] == [came_first, came_second]
    take = host.handle(Call(4, "ann@a", Seek("jobs", TAKE_NOWAIT, Template.of(("job",)))), now=0)
    asked, came, said, back = [one for one in take if isinstance(one, Ruled)]
    assert [one.came.cause for one in (came, back)] == [asked.ruling.seq, said.ruling.seq]
