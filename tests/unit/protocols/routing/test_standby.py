"""A server and its standby."""

from nomospace.protocols.routing.frames import (
    AgentEnded,
    Deposed,
    Frame,
    MayGo,
    Migrating,
    NotPrimary,
    Post,
    PrimaryBeat,
    QueueFull,
    RecordAck,
    Refuse,
    Register,
    Rejoin,
    Relayed,
    Replicate,
    Replicated,
    SeekAgent,
    ServerSnapshot,
    WhoServes,
)
from nomospace.protocols.routing.interface import Effect, Noted, PersistChange, TransmitFrame
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import Places
from nomospace.protocols.routing.records import ENDED, HERE, MOVING
from nomospace.protocols.routing.replicas import ServerRole
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.standby import PairedServer

PLACES = Places({"lab": ("q1", "q2")})
ANN, BOB = "ann@lab", "bob@lab"


def pair(limits: RoutingLimits | None = None) -> tuple[PairedServer, PairedServer]:
    made = limits or RoutingLimits()
    first, second = (
        PairedServer(DomainServer(site, "lab", PLACES, limits=made)) for site in ("q1", "q2")
    )
    return first, second


def sent(effects: list[Effect]) -> list[tuple[str, Frame]]:
    return [(each.site, each.frame) for each in effects if isinstance(each, TransmitFrame)]


def to(core: PairedServer, frame: Frame, src: str = "s") -> list[tuple[str, Frame]]:
    return sent(core.hear(src, frame, now=0))


def meet(first: PairedServer, second: PairedServer, frames: list[tuple[str, Frame]]) -> list[Frame]:
    """Carry frames between the two until only others are addressed; those are given back."""
    others: list[Frame] = []
    cores = {"q1": first, "q2": second}
    while frames:
        site, frame = frames.pop(0)
        if site in cores:
            src = "q2" if site == "q1" else "q1"
            frames += sent(cores[site].hear(src, frame, now=0))
        else:
            others.append(frame)
    return others


def test_an_answer_waits_for_the_standby() -> None:
    first, second = pair()
    [(site, replicate)] = to(first, Register("lab", ANN, 0))
    assert site == "q2"
    assert isinstance(replicate, Replicate)
    answered = second.hear("q1", replicate, now=0)
    assert sent(answered) == [("q1", Replicated("lab", 0, 1))]
    assert isinstance(answered[0], PersistChange)
    assert to(first, Replicated("lab", 0, 1), "q2") == [("s", RecordAck("lab", ANN, 0))]
    record = second.server.record(ANN)
    assert record is not None
    assert record.kind is HERE


def test_posts_are_passed_on_without_waiting() -> None:
    first, second = pair()
    meet(first, second, to(first, Register("lab", ANN, 0)))
    [(site, frame)] = to(first, SeekAgent("lab", Post(BOB, ANN, 1, "x", "o")))
    assert (site, type(frame)) == ("s", Post)


def test_steps_that_come_in_any_order_are_taken_in_theirs() -> None:
    first, second = pair()
    frames = [to(first, Register("lab", agent, 0))[0][1] for agent in (ANN, BOB, "c@lab")]
    assert to(second, frames[2], "q1") == []
    assert to(second, frames[1], "q1") == []
    assert second.server.record(BOB) is None
    again = PairedServer(DomainServer("q2", "lab", PLACES))
    again.restore(second.changes(), now=0)
    assert to(again, frames[0], "q1") == [("q1", Replicated("lab", 0, 3))]
    assert to(again, frames[1], "q1") == [], "taken before"


def test_the_standby_takes_over_with_all_that_was_let_out_and_what_was_not() -> None:
    first, second = pair()
    meet(first, second, to(first, Register("lab", ANN, 0)))
    meet(first, second, to(first, Register("lab", BOB, 0)))
    [(_, replicate)] = to(first, Migrating("lab", ANN, 0, "t"))
    to(second, replicate, "q1")  # the first one dies before it hears of that
    effects = second.take_over(1)
    assert sent(effects) == [
        ("s", MayGo("lab", ANN, 0, "ann@lab/1/t", term=1)),
        ("q1", Deposed("lab", 1, 3)),
    ]
    assert second.role is ServerRole.PRIMARY
    alone = to(second, Register("lab", "c@lab", 0))
    assert alone == [("s", RecordAck("lab", "c@lab", 0, term=1))]


def test_what_the_standby_does_not_know_to_be_out_it_lets_out_again() -> None:
    first, second = pair()
    assert meet(first, second, to(first, Register("lab", ANN, 0))) == [RecordAck("lab", ANN, 0)]
    assert sent(second.take_over(1))[0] == ("s", RecordAck("lab", ANN, 0, term=1))


def test_the_old_primary_is_fenced_off_and_loses_nothing_that_it_heard() -> None:
    first, second = pair()
    meet(first, second, to(first, Register("lab", ANN, 0)))
    deposed = sent(second.take_over(1))[-1]
    register, end = Register("lab", BOB, 0), AgentEnded("lab", ANN, 0)
    stale = [*to(first, register, "u"), *to(first, end)]
    assert [site for site, _ in stale] == ["q2", "q2"], "it lets nothing out"
    noted = second.hear("q1", stale[0][1], now=0)
    assert [type(each) for each in noted] == [Noted]
    told = to(first, deposed[1], "q2")
    assert told == [
        ("u", NotPrimary("lab", "q2", 1)),  # whose daemon asks again
        ("q2", Relayed("lab", "s", end)),
        ("s", NotPrimary("lab", "q2", 1)),
        ("q2", Rejoin("lab", 1)),
    ]
    assert first.role is ServerRole.JOINING
    meet(first, second, told)
    record = second.server.record(ANN)
    assert record is not None
    assert record.kind is ENDED
    assert (first.role, second.role) == (ServerRole.STANDBY, ServerRole.PRIMARY)
    assert first.server.changes() == second.server.changes()
    # Steps wait for the former primary now.
    [(site, _)] = to(second, register)
    assert site == "q1"


def test_a_deposed_primary_refuses_nobody() -> None:
    first, second = pair()
    meet(first, second, to(first, Register("lab", ANN, 0)))
    second.take_over(1)
    wrong = Migrating("lab", ANN, 7, "t")
    assert [type(frame) for _, frame in to(first, wrong)] == [Replicate]
    alone = to(second, wrong)
    assert alone == [("s", Refuse("lab", ANN, 7, "stale", term=1))]


def test_who_asks_the_standby_is_told_and_what_it_sent_goes_on() -> None:
    first, second = pair()
    second.take_over(3)
    to(first, Deposed("lab", 3, 0), "q2")
    end = AgentEnded("lab", ANN, 0)
    assert to(first, end) == [
        ("q2", Relayed("lab", "s", end)),
        ("s", NotPrimary("lab", "q2", 3)),
    ]
    assert to(first, Register("lab", ANN, 0)) == [("s", NotPrimary("lab", "q2", 3))]


def test_a_standby_that_is_away_is_not_waited_for_and_comes_back_up_to_date() -> None:
    first, second = pair()
    to(first, Register("lab", ANN, 0))
    assert sent(first.standby_away()) == [("s", RecordAck("lab", ANN, 0))]
    assert to(first, Register("lab", BOB, 0)) == [("s", RecordAck("lab", BOB, 0))]
    [(site, snapshot)] = sent(first.standby_back())
    assert (site, type(snapshot)) == ("q2", ServerSnapshot)
    held = to(first, Migrating("lab", ANN, 0, "t"))
    # The step overtakes the snapshot; it waits for it.
    assert to(second, held[0][1], "q1") == []
    assert meet(first, second, [("q2", snapshot)]) == [MayGo("lab", ANN, 0, "ann@lab/1/t")]
    record = second.server.record(ANN)
    assert record is not None
    assert record.kind is MOVING
    assert second.server.record(BOB) is not None


def test_only_a_standby_takes_over_and_only_in_a_later_term() -> None:
    first, second = pair()
    for effects in (first.take_over(1), second.take_over(0)):
        assert [type(each) for each in effects] == [Noted]
    second.take_over(1)
    assert [type(each) for each in second.take_over(2)] == [Noted]


def test_strangers_do_not_speak_for_the_pair() -> None:
    first, second = pair()
    to(first, Register("lab", ANN, 0))
    frames: list[Frame] = [
        Replicated("lab", 0, 1),
        Deposed("lab", 9, 0),
        Rejoin("lab", 0),
        Relayed("lab", "s", Register("lab", BOB, 0)),
    ]
    before = first.state()
    for frame in frames:
        assert [type(each) for each in first.hear("evil", frame, now=0)] == [Noted]
    assert first.state() == before
    assert [type(e) for e in second.hear("evil", ServerSnapshot("lab", 0, 1, ()), now=0)] == [Noted]


def test_too_many_steps_that_wait_send_posts_back() -> None:
    first, _ = pair(RoutingLimits(steps_max=1))
    to(first, Register("lab", ANN, 0))
    back = Post(BOB, "x@lab", 1, "x", "o", ("lab",), 1, path=(first.site,))
    assert to(first, SeekAgent("lab", Post(BOB, "x@lab", 1, "x", "o"))) == [("o", QueueFull(back))]


def test_what_waits_survives_a_crash_and_a_copy_is_apart() -> None:
    first, second = pair()
    [(_, replicate)] = to(first, Register("lab", ANN, 0))
    again = PairedServer(DomainServer("q1", "lab", PLACES))
    again.restore(first.changes(), now=0)
    assert again.state() == first.state()
    twin = again.copy()
    answer = to(second, replicate, "q1")[0][1]
    assert to(again, answer, "q2") == [("s", RecordAck("lab", ANN, 0))]
    assert twin.state() == first.state() != again.state()


def test_a_pair_that_hears_three_says_so_once() -> None:
    _, second = pair()
    beat = PrimaryBeat("lab", 0, 0, 0, ("q1", "q2", "q3"))
    [noted] = second.hear("q1", beat, now=0)
    assert isinstance(noted, Noted)
    assert noted.what == "servers disagree"
    assert second.hear("q1", beat, now=0) == []
    assert [type(each) for each in second.hear("q3", WhoServes("lab", 0), now=0)] == [Noted]
