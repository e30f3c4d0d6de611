"""No frame is forgotten: whatever hosts say, hear or write down is known to the wire."""

from types import ModuleType
from typing import get_args

import msgspec
import pytest

from nomospace.calls import answers, requests
from nomospace.host import calls, changes, moving, operations, posting
from nomospace.host.core import Host
from nomospace.protocols import courier, messages, spaces, streams, transfers
from nomospace.protocols.routing import changes as routed, frames as posts, seats
from nomospace.wire.annotations import has_any
from nomospace.wire.calls import ANSWERS, REQUESTS
from nomospace.wire.forms import CALL_SLOTS
from nomospace.wire.kinds import Tagged
from nomospace.wire.shapes import Shapes
from nomospace.wire.slots import CARRIED, CHANGES, FRAMES, RELAYED, SHAPES, SLOTS, STREAMED

Struct = type[msgspec.Struct]


def _is_told(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, calls.Event)


REACHED = SHAPES.reached(*FRAMES.holds(), *CHANGES.holds(), *REQUESTS, *ANSWERS)
STAYS_HOME: dict[ModuleType, set[str]] = {
    messages: {"View"},
    calls: {
        *[
            one.__name__ for one in vars(calls).values() if _is_told(one)
        ],  # by the host's own driver
        "PutBack",  # asked by drivers, never by agents
        "PaceLimits",  # travels as its numbers
    },
    requests: {"Request", "Open", "Adopt"},  # the two as `forms.WireOpen` and `forms.WireAdopt`
    answers: {"Listed"},  # as `forms.WireListed`
    transfers: {"Numbered", "Acknowledged"},  # as transfers and parcels, and words on them
    # What these have in common several others of their module are made of.
    changes: {"_Given", "_UpTo", "_MemberIs"},
    spaces: {"_ForAgent", "_OfRow"},
    posts: {"_AboutAgent", "_OfTerm", "_OfStep"},
}
"""Structs of modules whose others travel."""


def structs_of(module: ModuleType) -> list[Struct]:
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
    ]


@pytest.mark.parametrize(
    "module",
    [
        messages,
        spaces,
        streams,
        transfers,
        courier,
        posts,
        routed,
        seats,
        requests,
        answers,
        calls,
        changes,
        moving,
        posting,
        operations,
    ],
    ids=lambda module: module.__name__,
)
def test_every_struct_of_a_protocol_is_known(module: ModuleType) -> None:
    here = {kind.__name__ for kind in structs_of(module)}
    known = {kind.__name__ for kind in REACHED if kind.__module__ == module.__name__}
    assert here == known | STAYS_HOME.get(module, set()), "give its open fields slots"
    assert not known & STAYS_HOME.get(module, set())


def test_every_open_field_has_a_slot() -> None:
    for kind in REACHED:
        for field in msgspec.structs.fields(kind):
            assert has_any(field.type) == ((kind, field.name) in SLOTS), (kind, field.name)


def test_every_slot_is_of_something_that_travels() -> None:
    for kind, name in SLOTS:
        assert kind in REACHED, (kind, name)


def test_clients_have_the_slots_of_all_that_they_say_and_hear() -> None:
    for kind in SHAPES.reached(*REQUESTS, *ANSWERS):
        for field in msgspec.structs.fields(kind):
            assert has_any(field.type) == ((kind, field.name) in CALL_SLOTS), field.name


def test_a_field_without_a_slot_is_noticed() -> None:
    bare = Shapes({})
    with pytest.raises(TypeError, match=r"nothing says what stands in Row\.fields"):
        bare.finish_of(spaces.Row)
    with pytest.raises(TypeError, match=r"nothing says what stands in Row\.fields"):
        bare.lower_of(spaces.Row, True)


def test_what_hosts_hear_is_what_the_wire_brings() -> None:
    assert set(STREAMED.holds()) == {*Host("a", life=1, now=0).group.hears, spaces.Met}
    assert set(CARRIED.holds()) == {*moving._HEAR, *get_args(posts.Frame)}
    assert set(get_args(messages.EngagementBody)) < set(RELAYED.holds())
    assert set(get_args(messages.Frame)) < set(FRAMES.holds())
    assert set(CHANGES.holds()) == set(get_args(changes.Change))


def test_two_of_one_tag_cannot_stand_in_one_place() -> None:
    with pytest.raises(AssertionError, match="two kinds of thing have the tag 'ack'"):
        Tagged("thing", streams.Ack, posts.RecordAck)
    with pytest.raises(AssertionError, match="Row needs a tag"):
        Tagged("thing", spaces.Row)


def test_what_a_slot_does_not_know_is_not_sent() -> None:
    with pytest.raises(TypeError, match="a Receipt is no parcel"):
        SHAPES.lower(courier.Parcel(1, courier.Receipt(1)))
