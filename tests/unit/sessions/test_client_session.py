"""The client's end of a session alone: told what happens, it says what is to be sent."""

from __future__ import annotations

from asyncio import Future, new_event_loop
from collections.abc import Iterator
from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentLeft, Busy
from nomospace.calls.requests import Cancel, OutMany, Seek
from nomospace.calls.ways import Way
from nomospace.errors import NomospaceError, Unavailable
from nomospace.host.effects import Answer
from nomospace.sessions.client_session import (
    ClientSession,
    DropConnection,
    NotPutBack,
    OutOfTime,
    RegisterAnew,
    SendFrame,
    SessionLost,
    nobody,
)
from nomospace.sessions.local_calls import LocalCalls
from nomospace.sessions.open_calls import OpenCall
from nomospace.terms.templates import ANY, Template
from nomospace.wire import talk

ANN = "ann@ward"
JOB = Found(("job", 1), ANN, 1, ANN)
TAKE = Seek("jobs", Way.TAKE, Template.of(("job", ANY)))


@pytest.fixture
def future() -> Iterator[Future[Any]]:
    loop = new_event_loop()
    yield loop.create_future()
    loop.close()


def welcome(life: int = 1, known: bool = True) -> talk.HostWelcome:
    return talk.HostWelcome(talk.VERSION, "ward", life, ANN, known, 600, 100)


def connected() -> ClientSession:
    session = ClientSession("ann")
    assert session.welcomed(welcome(known=False), now=0) == []
    session.attached()
    return session


def take(session: ClientSession, asker: Any) -> OpenCall:
    number = session.number + 1
    body = talk.pack_ask(number, session.seen, TAKE)
    call = OpenCall(number, asker, TAKE, body)
    session.begin(call)
    return call


def found(number: int, seq: int) -> bytes:
    return talk.pack_reply(number, seq, JOB)


def asked(orders: list[Any]) -> list[Any]:
    """The requests in frames that are to be sent."""

    def nobody_knows(law: Any) -> Any:
        raise AssertionError(law)

    bodies = [order.body for order in orders if isinstance(order, SendFrame)]
    return [talk.read_call(talk.unpack_frame(body), nobody_knows)[2] for body in bodies]


def test_an_answer_comes_to_who_asked_once(future: Future[Any]) -> None:
    session = connected()
    call = take(session, future)
    assert session.hear([found(5, 1), found(5, 1)]) == []
    assert (future.result(), session.calls, session.seen) == (JOB, {}, 5)
    assert call.sent


def test_what_has_no_answer_is_asked_again_and_nothing_else(future: Future[Any]) -> None:
    session = connected()
    call = take(session, future)
    take(session, future)
    session.hear([talk.pack_reply(1, 2, None)])
    assert session.lost(now=1) == []
    assert session.welcomed(welcome(), now=2) == []
    session.attached()
    assert session.resend() == [SendFrame(call.body)]


def test_a_take_that_is_given_up_is_called_off_and_its_tuple_goes_back(
    future: Future[Any],
) -> None:
    session = connected()
    call = take(session, future)
    future.cancel()
    assert asked(session.give_up(call)) == [Cancel(1)]
    assert session.give_up(call) == []
    assert asked(session.hear([found(1, 1)])) == [OutMany("jobs", (("job", 1),))]


def test_a_tuple_goes_back_once_whichever_is_heard_of_first(future: Future[Any]) -> None:
    session = connected()
    call = take(session, future)
    future.cancel()
    assert len(session.hear([found(1, 1)])) == 1
    assert session.give_up(call) == []


def test_an_answer_that_was_not_noticed_goes_back(future: Future[Any]) -> None:
    session = connected()
    call = take(session, future)
    session.hear([found(1, 1)])
    assert len(session.give_up(call)) == 1


def test_a_tuple_that_the_host_could_not_take_back_goes_back_later(future: Future[Any]) -> None:
    session = connected()
    take(session, future)
    future.cancel()
    back = OutMany("jobs", (("job", 1),))
    assert asked(session.hear([found(5, 1)])) == [back]
    assert session.hear([talk.pack_failure(6, 2, Busy(what="steps", limit=1))]) == []
    assert asked(session.acknowledge(idle=False)[:1]) == [back]
    session.hear([talk.pack_failure(7, 3, Busy(what="steps", limit=1))])
    gone = Unavailable()
    assert session.end(gone, quiet=True) == [NotPutBack(TAKE, JOB, gone)]


def test_a_call_that_was_never_sent_is_forgotten(future: Future[Any]) -> None:
    session = ClientSession("ann")
    call = take(session, future)
    assert not call.sent
    assert session.give_up(call) == []
    assert session.calls == {}


def test_time_is_up_without_a_host_too(future: Future[Any]) -> None:
    session = connected()
    call = take(session, future)
    session.lost(now=1)
    session.time_up(call.number)
    assert isinstance(future.exception(), OutOfTime)
    session.welcomed(welcome(), now=2)
    session.attached()
    assert len(session.resend()) == 2  # the take, which may have been done, and that it is off
    assert asked(session.hear([found(1, 1)])) == [OutMany("jobs", (("job", 1),))]


def test_a_tuple_that_goes_back_as_the_host_is_back_is_asked_for_once(
    future: Future[Any],
) -> None:
    """A host that cannot keep anything may refuse the first word and heed the second."""
    session = connected()
    call = take(session, future)
    session.lost(now=1)
    session.time_up(call.number)
    assert isinstance(future.exception(), OutOfTime)
    session.welcomed(welcome(), now=2)
    session.attached()
    assert session.hear([found(1, 1)]) == []
    assert asked(session.resend()) == [Cancel(1), OutMany("jobs", (("job", 1),))]
    take(session, future)
    assert asked(session.post(Cancel(4), nobody)) == [Cancel(4)]


def test_a_host_that_began_anew_has_no_reactions_and_may_have_done_what_was_sent(
    future: Future[Any],
) -> None:
    session = connected()
    call = take(session, future)
    session.lost(now=1)
    assert session.welcomed(welcome(life=2), now=2) == [RegisterAnew()]
    assert call.again


def test_a_host_that_forgot_the_session_leaves_what_was_sent_in_doubt(future: Future[Any]) -> None:
    session = connected()
    take(session, future)
    session.lost(now=1)
    session.welcomed(welcome(known=False), now=2)
    assert isinstance(future.exception(), SessionLost)


def test_what_is_no_frame_costs_the_connection_and_nothing_that_came_before(
    future: Future[Any],
) -> None:
    session = connected()
    take(session, future)
    (drop,) = session.hear([found(1, 1), b"\x91\x18", found(2, 2)])
    assert isinstance(drop, DropConnection)
    assert future.result() == JOB


def test_what_was_seen_is_told_once() -> None:
    session = connected()
    session.hear([found(7, 1)])
    assert session.acknowledge(idle=False) == [SendFrame(talk.pack_seen(7))]
    assert session.acknowledge(idle=False) == []
    assert session.acknowledge(idle=True) == [SendFrame(talk.pack_seen(7))]


def test_programs_beside_their_host_give_up_in_the_same_way(future: Future[Any]) -> None:
    told: list[Any] = []
    calls = LocalCalls(told.append, first=7)
    call = calls.wait(8, ANN, TAKE, future)
    calls.number = 8
    future.cancel()
    calls.give_up(call)
    calls.answer(Answer(8, JOB))
    assert [type(event.request).__name__ for event in told] == ["Cancel", "PutBack"]
    assert calls.early == {}


def test_a_refusal_reaches_who_waits_beside_the_host(future: Future[Any]) -> None:
    calls = LocalCalls(lambda event: None)
    calls.wait(1, ANN, TAKE, future)
    calls.answer(Answer(1, None, AgentLeft(agent=ANN)))
    assert isinstance(future.exception(), NomospaceError)
