"""Sessions alone: a gate that remembers what it is told, links that remember what they are sent."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentAway, AgentLeft, Busy, HasEnded, MoveRefused
from nomospace.calls.requests import (
    CLIENT_PROGRAM,
    Adjust,
    Cancel,
    Launch,
    Move,
    Out,
    React,
    Seek,
    Settle,
)
from nomospace.calls.ways import Mode
from nomospace.host.calls import Abandoned, Absent, Call, Present, PutBack
from nomospace.host.effects import Answer, Came, Fire, Halted, Left, Mail, Note
from nomospace.sessions import host_sessions as sessions_module, pushing as outputs_module
from nomospace.sessions.host_session import Outgoing
from nomospace.sessions.host_sessions import TooManySessions, WindowBroken
from nomospace.store.interface import KeptForClient
from nomospace.wire import talk
from tests.unit.sessions.desk import ANN, FOUND, LEASED, TAKE, Desk, Wire


def test_a_call_is_answered_and_its_answer_waits_to_be_seen() -> None:
    desk = Desk()
    session, wire = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    assert desk.gate.told == [Call(101, ANN, TAKE)]
    note = Note("x", {})
    assert desk.step(note, Answer(101, FOUND), Answer(7))[:2] == [note, Answer(7)]
    ((kind, number, seq, *_),) = wire.sent
    assert (kind, seq, len(session.outbox)) == (talk.FOUND, 1, 1)
    desk.sessions.seen(session, number)
    assert (len(session.outbox), session.weight, session.answers, session.calls) == (0, 0, 0, {})


def test_a_call_that_comes_again_is_known_at_every_stage() -> None:
    desk = Desk()
    session, _ = desk.open()
    for _ in range(2):  # under way
        desk.sessions.ask(session, 1, TAKE)
    op = desk.op()
    assert len(desk.gate.requests) == 1
    (out,) = desk.step(Answer(op, FOUND), release=False)
    desk.sessions.ask(session, 1, TAKE)  # answered, and on its way to the disk
    desk.sessions.release(out)
    desk.sessions.ask(session, 1, TAKE)  # answered, and not yet seen
    assert desk.gate.requests == []
    desk.sessions.ask(session, 3, TAKE)
    desk.sessions.ask(session, 2, TAKE)  # new, though a later one came before
    assert len(desk.gate.requests) == 2


def test_what_is_kept_comes_back_in_another_life_and_lower_numbers_never_do() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.sessions.ask(session, 5, TAKE)
    desk.step(Answer(desk.op(), FOUND), persisted=True, release=False)
    desk.sessions.ask(session, 6, TAKE)
    before = session.number

    again = Desk(life=2)
    again.gate.kept = desk.gate.kept
    again.sessions.restore(desk.gate.kept, now=0)
    again.step(Mail(ANN, "law", "bob@ward", "hello"), persisted=True)
    session, wire = again.open(seen=before - 1)
    assert [frame[0] for frame in wire.sent] == [talk.FOUND, talk.MAILED]
    again.sessions.ask(session, 5, TAKE)
    assert again.gate.requests == []
    again.sessions.ask(session, 6, TAKE)
    assert again.gate.requests == [TAKE]
    numbers = [frame[1] for frame in wire.sent]
    assert numbers[0] == before < numbers[1]
    again.sessions.seen(session, numbers[-1])
    again.sessions.end(session)
    assert again.gate.kept == []


def test_a_client_that_is_never_idle_is_forgotten_on_disk_all_the_same() -> None:
    desk = Desk()
    session, _ = desk.open()
    for seq in range(1, 301):
        desk.sessions.ask(session, seq, TAKE)
        desk.step(Answer(desk.op(), FOUND), persisted=True)
        desk.sessions.seen(session, session.number - 2)  # there are always some under way
    assert len(desk.gate.kept) < 2 * outputs_module.TRIM_EVERY
    assert len(desk.gate.trimmed) <= 300 / outputs_module.TRIM_EVERY + 1


def test_a_large_answer_that_was_seen_is_forgotten_on_disk_at_once() -> None:
    """Else a client that takes large tuples would have sixty of them there."""
    desk = Desk()
    session, _ = desk.open()
    large = Found(("job", "x" * outputs_module.TRIM_BYTES), ANN, 1, ANN)
    for seq in range(1, 4):
        desk.sessions.ask(session, seq, TAKE)
        desk.step(Answer(desk.op(), large), persisted=True)
        desk.sessions.seen(session, session.number)
        assert desk.gate.trimmed[-1] == (session.key, session.number)


def test_a_letter_that_was_seen_is_forgotten_on_disk_at_once() -> None:
    """Else it would be for the next client of its agent, after a crash."""
    desk = Desk()
    session, _ = desk.open()
    for _ in range(3):
        desk.step(Mail(ANN, "law", "bob@ward", "hello"), persisted=True)
        desk.sessions.seen(session, session.number)
        assert desk.gate.trimmed[-1] == (session.key, session.number)


def test_a_push_that_cannot_be_read_hurts_no_other() -> None:
    desk = Desk()
    desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", "hello"), persisted=True)
    again = Desk(life=2)
    again.sessions.restore(
        [*desk.gate.kept, KeptForClient("k", 7, b"\xc1"), KeptForClient("x", 7, b"\x90")], now=0
    )
    _, wire = again.open()
    assert [frame[0] for frame in wire.sent] == [talk.MAILED]
    assert again.gate.notes == ["push-unreadable", "push-unreadable"]


def test_a_session_of_which_only_pushes_are_left_is_cleared_away() -> None:
    desk = Desk()
    desk.gate.kept = [KeptForClient(f"{ANN} old", 7, talk.pack_reply(7, 1, FOUND))]
    desk.sessions.restore(list(desk.gate.kept), now=0)
    assert desk.gate.kept == []
    assert not desk.sessions.all


def test_nothing_is_sent_before_its_step_is_released_and_order_is_kept_when_clogged() -> None:
    desk = Desk()
    session, wire = desk.open()
    letters = [Mail(ANN, "law", "bob@ward", number) for number in range(4)]
    (_, first) = desk.step(letters[0], persisted=True, release=False)
    assert wire.sent == []
    desk.sessions.release(first)
    wire.clogged = True
    desk.step(letters[1])
    wire.clogged = False
    desk.step(letters[2])  # must not overtake
    desk.sessions.go_on(session)
    desk.step(letters[3])
    assert [frame[4] for frame in wire.sent] == [0, 1, 2, 3]


def test_refusals_of_the_session_itself_have_no_number_and_change_nothing() -> None:
    desk = Desk()
    session, wire = desk.open()
    desk.gate.trouble = Busy(what="the disk", limit=1)
    desk.sessions.ask(session, 1, TAKE)
    desk.gate.trouble = None
    desk.sessions.ask(session, 2, Launch("program"))
    assert [frame[:3] for frame in wire.sent] == [[talk.FAILURE, 0, 1], [talk.FAILURE, 0, 2]]
    assert (session.calls, len(session.outbox)) == ({}, 0)
    desk.sessions.ask(session, 1, TAKE)  # it may be asked again
    assert desk.gate.requests == [TAKE]


def test_calls_are_called_off_by_the_clients_number() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    op = desk.op()
    desk.sessions.ask(session, 2, Cancel(1))
    desk.sessions.ask(session, 3, Cancel(77))
    assert desk.gate.requests == [TAKE, Cancel(op), Cancel(0)]


def test_a_client_that_breaks_its_window_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "CALLS_MAX", 2)
    desk = Desk()
    session, _ = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    desk.step(Answer(desk.op(), FOUND))
    desk.sessions.ask(session, 2, TAKE)
    with pytest.raises(WindowBroken, match="more than 2 calls"):
        desk.sessions.ask(session, 3, TAKE)
    desk.sessions.seen(session, session.number)
    desk.sessions.ask(session, 3, TAKE)


def test_no_call_is_begun_while_the_outbox_is_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "OUTBOX_BYTES_MAX", 10)
    desk = Desk()
    session, _ = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    desk.step(Answer(desk.op(), FOUND))
    assert desk.gate.requests == [TAKE]
    desk.sessions.ask(session, 2, TAKE)
    desk.sessions.ask(session, 2, TAKE)
    assert desk.gate.requests == []
    desk.sessions.seen(session, session.number)
    assert desk.gate.requests == [TAKE]


def test_reactions_fire_at_the_session_that_has_them() -> None:
    desk = Desk()
    session, wire = desk.open("a")
    _, other = desk.open("b", alongside=True)
    for seq, mode in ((1, "once"), (2, "once-per-tuple")):
        desk.sessions.ask(session, seq, React("jobs", TAKE.template, Mode(mode)))
        desk.step(Answer(desk.op(), f"r{seq}"))
    for _ in range(2):
        assert desk.step(Fire(ANN, "r2", FOUND))[:-1] == []
    assert desk.step(Fire(ANN, "r1", FOUND))[:-1] == []
    fire = Fire(ANN, "r1", FOUND)
    assert desk.step(fire) == [fire]  # it has fired once: this one is somebody else's
    assert [frame[2] for frame in wire.sent[2:]] == ["r2", "r2", "r1"]
    assert other.sent == []
    desk.gate.told.clear()
    desk.sessions.end(session)
    assert desk.gate.told == [Abandoned(ANN, (), ("r2",))]


@pytest.mark.parametrize("limit", ["letters_max", "letter_bytes_max"])
def test_who_does_not_keep_up_loses_a_reaction_and_is_told(limit: str) -> None:
    desk = Desk()
    fired = len(talk.pack_fired(1, "r", FOUND))
    setattr(desk.sessions, limit, 2 if limit == "letters_max" else 2 * fired)
    session, wire = desk.open()
    desk.sessions.ask(session, 1, React("jobs", TAKE.template))
    desk.step(Answer(desk.op(), "r"))
    for _ in range(4):
        desk.step(Fire(ANN, "r", FOUND))
    assert [frame[0] for frame in wire.sent[1:]] == [talk.FIRED, talk.FIRED, talk.GONE]
    assert Adjust("r", "remove") in desk.gate.requests
    desk.step(Mail(ANN, "law", "bob@ward", "hello"))
    assert desk.gate.notes == ["mail-lost"]
    assert desk.sessions.dropped == 2


def test_absence_and_return_are_told_once_for_all_connections_of_an_agent() -> None:
    desk = Desk()
    one, wire = desk.open("a")
    other, second = desk.open("b", alongside=True)
    desk.sessions.lost(one, wire, now=1)
    assert desk.gate.told == []
    desk.sessions.lost(other, second, now=2)
    assert desk.gate.told == [Absent(ANN)]
    desk.open("a")
    desk.open("b", alongside=True)
    assert desk.gate.told == [Absent(ANN), Present(ANN)]
    desk.sessions.lost(one, wire, now=3)  # a connection that another has replaced
    assert len(desk.gate.told) == 2


def test_who_is_away_is_known_in_another_life_too() -> None:
    """A law hears of an absence once, and of the return, whichever life each falls into."""
    desk = Desk()
    session, wire = desk.open()
    desk.sessions.lost(session, wire, now=1)
    kept = desk.gate.kept
    for life in (2, 3):
        desk = Desk(life=life)
        desk.sessions.restore(kept, now=0)
        desk.sessions.expire(now=sessions_module.RETURN_US)
        assert desk.gate.told == []
        kept = desk.gate.kept = list(kept)
    session, wire = desk.open()
    assert desk.gate.told == [Present(ANN)]
    desk.sessions.lost(session, wire, now=2)
    assert desk.gate.told == [Present(ANN), Absent(ANN)]


def test_who_was_there_when_a_life_ended_has_a_while_to_come_back() -> None:
    desk = Desk()
    desk.open()
    kept = desk.gate.kept
    for comes_back in (True, False):
        desk = Desk(life=2)
        desk.sessions.restore(kept, now=0)
        desk.sessions.expire(now=sessions_module.RETURN_US - 1)
        if comes_back:
            desk.open()
        desk.sessions.expire(now=sessions_module.RETURN_US)
        assert desk.gate.told == ([] if comes_back else [Absent(ANN)])


def test_a_new_connection_replaces_the_one_before() -> None:
    desk = Desk()
    _, first = desk.open()
    session, second = desk.open()
    assert first.dropped
    assert not second.dropped
    assert len(desk.sessions.all) == 1
    assert session.link is second


@pytest.mark.parametrize(("request_", "back"), [(TAKE, PutBack), (LEASED, Settle)])
def test_what_was_taken_and_never_sent_goes_back_when_a_session_ends(
    request_: Seek, back: type
) -> None:
    desk = Desk(grace_us=10)
    session, wire = desk.open()
    desk.sessions.ask(session, 1, request_)
    desk.sessions.ask(session, 2, request_)
    desk.sessions.ask(session, 3, request_)
    first, second, third = (event.op for event in desk.gate.told if isinstance(event, Call))
    desk.step(Answer(first, FOUND))  # sent: the client may have it
    desk.sessions.lost(session, wire, now=0)
    desk.step(Answer(second, FOUND))  # never sent
    desk.gate.told.clear()
    desk.sessions.expire(now=9)
    assert desk.sessions.all
    desk.sessions.expire(now=10)
    assert not desk.sessions.all
    assert Abandoned(ANN, (third,), ()) in desk.gate.told
    (undone,) = desk.gate.requests
    assert isinstance(undone, back)
    desk.step(Answer(third, FOUND))  # it was too late to call it off
    (undone,) = desk.gate.requests
    assert isinstance(undone, back)


def test_a_session_ends_while_an_answer_of_it_waits_for_the_disk() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    (waits,) = desk.step(Answer(desk.op(), FOUND), persisted=True, release=False)
    desk.gate.told.clear()
    desk.sessions.end(session)
    assert desk.gate.requests == []  # there is nothing to call off any more
    desk.sessions.release(waits)
    (undone,) = desk.gate.requests
    assert isinstance(undone, PutBack)


@pytest.mark.parametrize("back", [False, True])
def test_that_an_agent_has_left_is_known_in_another_life_too(back: bool) -> None:
    desk = Desk()
    desk.open()
    desk.step(Left(ANN, "icu"), persisted=True)
    kept, desk = desk.gate.kept, Desk(life=2)
    desk.gate.has_agent = back
    desk.sessions.restore(kept, now=0)
    session, wire = desk.open()
    assert [frame[:1] + frame[2:3] for frame in wire.sent] == [[talk.LEFT, "icu"]]
    desk.sessions.ask(session, 1, TAKE)  # its client asks again there, unless it is back here
    assert desk.gate.requests == ([TAKE] if back else [])


def test_a_client_that_comes_back_after_its_agent_is_refused_in_another_life() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.step(Left(ANN, "icu"), persisted=True)
    desk.sessions.seen(session, session.number)  # it knows, so it is on disk no more
    kept, desk = desk.gate.kept, Desk(life=2)
    desk.gate.has_agent = False
    desk.sessions.restore(kept, now=0)
    with pytest.raises(AgentAway):
        desk.open()
    desk.gate.has_agent = True
    session, _ = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    assert desk.gate.requests == [TAKE]


def test_a_client_that_has_seen_its_agent_leave_is_refused_in_the_same_life_too() -> None:
    """It would be let in to a session that answers no call, and be told nothing."""
    desk = Desk()
    session, _ = desk.open()
    desk.step(Left(ANN, "icu"), persisted=True)
    desk.gate.has_agent = False
    assert desk.open(seen=session.number - 1)[1].sent[0][0] == talk.LEFT
    with pytest.raises(AgentAway):
        desk.open(seen=session.number)


def letters(wire: Wire) -> list[Any]:
    """The messages that were sent over a connection."""
    return [talk.read_message(frame[4]) for frame in wire.sent if frame[0] == talk.MAILED]


def test_letters_wait_for_whoever_speaks_for_their_agent_next() -> None:
    desk = Desk()
    desk.step(Mail(ANN, "law", "bob@ward", "one"), persisted=True)
    desk.step(Mail(ANN, "law", "bob@ward", "two"), persisted=True)
    left = desk.step(Mail(ANN, "law", "bob@ward", "three"), persisted=True, release=False)
    desk.gate.waiting = [one for one in left if isinstance(one, Outgoing)]
    session, wire = desk.open()  # the third letter is not on disk yet
    left = desk.step(Mail(ANN, "law", "bob@ward", "four"), persisted=True, release=False)
    for one in [*desk.gate.waiting, *left]:
        if isinstance(one, Outgoing):
            desk.sessions.release(one)
    desk.gate.waiting.clear()
    assert letters(wire) == ["one", "two", "three", "four"]
    numbers = [frame[1] for frame in wire.sent]
    assert numbers == sorted(set(numbers))
    assert {one.agent for one in desk.gate.kept} == {session.key}
    desk.sessions.seen(session, numbers[-1])
    assert [one.number for one in desk.gate.kept] == [sessions_module._OPENED]


def test_letters_that_wait_do_so_through_another_life() -> None:
    desk = Desk()
    desk.step(Mail(ANN, "law", "bob@ward", "one"), persisted=True)
    for life in (2, 3):
        kept, desk = desk.gate.kept, Desk(life=life)
        desk.gate.kept = list(kept)
        desk.sessions.restore(kept, now=0)
        assert len(desk.gate.kept) == 1
    _, wire = desk.open()
    assert letters(wire) == ["one"]


def test_what_a_client_has_not_said_to_have_read_is_for_the_next() -> None:
    desk = Desk()
    session, wire = desk.open("first")
    for text in ("one", "two", "three"):
        desk.step(Mail(ANN, "law", "bob@ward", text), persisted=True)
    desk.sessions.seen(session, wire.sent[0][1])
    desk.sessions.lost(session, wire, now=0)
    _, wire = desk.open("second")
    assert letters(wire) == ["two", "three"]
    assert session.ended


def test_of_several_clients_each_gets_the_mail_and_none_that_of_another() -> None:
    desk = Desk()
    session, _ = desk.open("first")
    _, other = desk.open("second", alongside=True)
    desk.step(Mail(ANN, "law", "bob@ward", "one"), persisted=True)
    desk.sessions.end(session)
    _, third = desk.open("third", alongside=True)
    assert (letters(other), letters(third)) == (["one"], [])


def test_a_letter_and_an_answer_of_one_step_go_where_they_belong() -> None:
    desk = Desk()
    session, wire = desk.open("first")
    _, other = desk.open("second", alongside=True)
    desk.sessions.ask(session, 1, TAKE)
    desk.step(Mail(ANN, "law", "bob@ward", "one"), Answer(desk.op(), FOUND), persisted=True)
    assert (letters(other), letters(wire)) == (["one"], ["one"])
    assert [frame[0] for frame in wire.sent] == [talk.MAILED, talk.FOUND]
    assert [frame[0] for frame in other.sent] == [talk.MAILED]


def test_an_agent_that_left_leaves_no_letters() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", "one"), persisted=True)
    desk.step(Left(ANN, "icu"), persisted=True)
    desk.sessions.end(session)
    assert desk.gate.kept == []


def test_what_could_not_be_put_back_is_noted() -> None:
    desk = Desk()
    session, wire = desk.open()
    desk.sessions.lost(session, wire, now=0)
    desk.sessions.ask(session, 1, TAKE)
    desk.step(Answer(desk.op(), FOUND))
    desk.sessions.end(session)
    desk.step(Answer(desk.op(), None, Busy(what="the space", limit=1)))
    assert desk.gate.notes == ["not-put-back"]


def test_an_answer_too_large_to_travel_gives_back_what_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(talk, "TALK_BYTES_MAX", 100)
    desk = Desk()
    session, wire = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    op = desk.op()
    desk.gate.told.clear()
    desk.step(Answer(op, Found(("x" * 200,), ANN, 1, ANN)))
    (frame,) = wire.sent
    assert (frame[0], frame[2]) == (talk.FAILURE, 1)
    assert talk.read_error(frame[3]).code == "wire.frame-too-large"
    assert desk.gate.requests == [PutBack("jobs", ("x" * 200,))]


def test_an_agent_that_moves_takes_nothing_of_its_session_along() -> None:
    desk = Desk()
    session, wire = desk.open()
    desk.sessions.ask(session, 1, TAKE)
    waiting = desk.op()
    desk.sessions.ask(session, 2, Move("icu"))
    assert desk.gate.requests[-1] == Move("icu", CLIENT_PROGRAM)
    left = Left(ANN, "icu")
    rest = desk.step(Answer(waiting, None, AgentLeft(agent=ANN)), left, persisted=True)
    assert rest[0] == left
    assert [frame[0] for frame in wire.sent] == [talk.LEFT]
    assert wire.sent[0][2:] == ["icu", "icu:7411"]
    desk.sessions.ask(session, 3, Out("jobs", ("job",)))
    assert desk.gate.requests == []  # it is asked there
    desk.sessions.lost(session, wire, now=1)
    assert desk.gate.told == []
    # It was not taken there, and is back.
    error = MoveRefused(agent=ANN, to="icu", why="no room")
    assert desk.step(Came(ANN, "icu", CLIENT_PROGRAM, None, None, error))[:-1] == []
    session, wire = desk.open(seen=session.number - 2)
    assert [frame[0] for frame in wire.sent] == [talk.LEFT, talk.BACK]
    desk.sessions.ask(session, 3, Out("jobs", ("job",)))
    assert len(desk.gate.requests) == 1


def test_programs_that_come_are_none_of_its_business() -> None:
    desk = Desk()
    desk.open()
    came = Came(ANN, "icu", "courier", None)
    assert desk.step(came) == [came]


def test_there_are_so_many_sessions_and_the_longest_absent_makes_room() -> None:
    desk = Desk(sessions_max=2)
    first, wire = desk.open("a")
    desk.open("b", alongside=True)
    with pytest.raises(TooManySessions):
        desk.open("c", alongside=True)
    desk.sessions.lost(first, wire, now=1)
    desk.open("c", alongside=True)
    assert first.ended
    assert desk.gate.notes == ["session-pushed-out"]


def test_numbers_of_another_host_are_no_acknowledgement() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", "hello"))
    desk.sessions.seen(session, session.number + 1)
    assert len(session.outbox) == 1


def test_a_session_that_begins_anew_has_higher_numbers() -> None:
    desk = Desk()
    session, wire = desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", 1))
    desk.sessions.end(session)
    before = wire.sent[0][1]
    session, wire = desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", 2))
    assert letters(wire) == [1, 2]
    assert wire.sent[1][1] > wire.sent[0][1] > before > 1 << 40


def test_calls_that_are_not_begun_are_not_known() -> None:
    desk = Desk()
    gate, sessions, (session, _) = desk.gate, desk.sessions, desk.open()
    gate.requests  # noqa: B018 - forget what it was told before
    asked = [(seq, 0, TAKE) for seq in (1, 2, 3)]
    assert sessions.ask_many(session, asked) == 1, "the core made a step of the first alone"
    assert (session.high, list(session.calls)) == (1, [1])
    assert sessions.ask_many(session, asked[1:]) == 1
    assert len(gate.requests) == 2
    gate.trouble = Busy(what="steps", limit=1)
    assert sessions.ask_many(session, asked[2:]) == 1
    assert list(session.calls) == [1, 2], "it was refused, and may come again"


def test_a_client_that_comes_back_to_an_agent_that_has_ended_does_not_begin_it_anew() -> None:
    desk = Desk(sessions_max=3)
    ended = Halted(ANN, HasEnded(agent=ANN), ended=True)
    desk.open("before")
    desk.step(ended)
    desk.gate.has_agent = False
    _, wire = desk.open("before")  # that it has ended is not on disk yet
    assert wire.sent == []
    desk.gate.has_agent = True
    _, other = desk.open("after")  # a new one of that name
    desk.sessions.halt(ANN, ended.error, ended=True)
    assert [frame[0] for frame in wire.sent] == [talk.REFUSAL]
    assert other.sent == []
    with pytest.raises(HasEnded):
        desk.open("before")
    for number in range(3):
        desk.open(f"k{number}")
        desk.step(ended)
        desk.sessions.halt(ANN, ended.error, ended=True)
    desk.open("before")  # so many are remembered


def test_a_session_that_ends_before_it_is_on_disk_leaves_nothing_there() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.gate.waiting = [Outgoing()]  # the step with the session is on its way to the disk
    desk.sessions.end(session)
    assert desk.gate.trimmed == []  # it would be put after that
    for out in desk.gate.waiting:
        desk.sessions.release(out)
    assert desk.gate.kept == []


def test_a_session_that_begins_anew_under_its_old_key_stays_on_disk() -> None:
    desk = Desk()
    session, _ = desk.open()
    desk.step(Mail(ANN, "law", "bob@ward", "hello"), persisted=True)
    desk.sessions.seen(session, session.number)
    desk.gate.waiting = [Outgoing()]
    desk.sessions.end(session)
    again, _ = desk.open()
    for out in desk.gate.waiting:
        desk.sessions.release(out)
    assert [one.agent for one in desk.gate.kept] == [again.key]
