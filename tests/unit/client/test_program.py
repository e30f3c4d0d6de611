"""Programs as their authors write them: registered by name, with a state that is read strictly."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace import sync
from nomospace.client import (
    BadName,
    BadProgram,
    BadState,
    Departed,
    NotAProgram,
    Program,
    program,
)
from nomospace.client.program import (
    STATE_BYTES_MAX,
    decode_state,
    encode_state,
    first_state,
    registered,
    registering,
)


class Trip(msgspec.Struct, forbid_unknown_fields=True):
    stops: list[str]
    miles: int = 0


class Plain(msgspec.Struct):
    anything: Any = None


@program("client-walker")
class Walker(Program[Trip]):
    async def run(self) -> None:
        """Goes nowhere."""


@program("client-plain")
class Loose(Program[Plain]):
    async def run(self) -> None:
        """Goes nowhere."""


# -- names ---------------------------------------------------------------------------------------


def test_a_program_is_known_by_its_name_and_names_its_state() -> None:
    assert registered()["client-walker"] is Walker
    assert (Walker.name, Walker.State) == ("client-walker", Trip)


def test_who_derives_from_a_program_has_its_state() -> None:
    class Runner(Walker):
        pass

    assert Runner.State is Trip


def test_a_class_without_a_state_is_no_program() -> None:
    class Aimless(Program):  # type: ignore[type-arg]
        async def run(self) -> None:
            """Goes nowhere."""

    with pytest.raises(BadProgram, match=r"name the msgspec.Struct of its state"):
        program("client-aimless")(Aimless)
    assert "client-aimless" not in registered()


def test_something_else_is_no_program() -> None:
    with pytest.raises(BadProgram, match="derives from Program"):
        program("client-other")(Trip)  # type: ignore[type-var]


def test_a_name_is_given_once() -> None:
    class Walker2(Program[Trip]):
        async def run(self) -> None:
            """Goes nowhere."""

    with pytest.raises(BadProgram, match="Walker is called 'client-walker' already"):
        program("client-walker")(Walker2)
    assert registered()["client-walker"] is Walker
    program("client-walker")(Walker)  # the same again is harmless


@pytest.mark.parametrize("name", ["", "a b", "a@b", 7])
def test_a_bad_name(name: Any) -> None:
    with pytest.raises(BadName):
        program(name)


def test_a_registry_of_ones_own() -> None:
    mine: dict[str, type[Program[Any]]] = {}
    with registering(mine):

        @program("client-secret")
        class Secret(Program[Trip]):
            async def run(self) -> None:
                """Goes nowhere."""

    assert mine == {"client-secret": Secret}
    assert "client-secret" not in registered()


# -- states --------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=8), max_size=8), st.integers(0, 2**60))
def test_a_state_comes_back_as_it_was(stops: list[str], miles: int) -> None:
    trip = Trip(stops, miles)
    assert decode_state(Walker, encode_state(Walker, trip)) == trip


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"stops": [1]}, "Expected `str`, got `int`"),
        ({"stops": [], "miles": "3"}, "Expected `int`, got `str`"),
        ({"miles": 3}, "missing required field `stops`"),
        ({"stops": [], "more": 1}, "unknown field `more`"),
        ([[], 3], "Expected `object`, got `array`"),
    ],
)
def test_a_state_is_read_strictly(data: Any, why: str) -> None:
    with pytest.raises(BadState, match=why) as caught:
        decode_state(Walker, msgspec.msgpack.encode(data))
    assert caught.value.program == "client-walker"


@pytest.mark.parametrize("data", [None, "text", {"stops": []}, Trip([])])
def test_a_state_travels_as_bytes(data: Any) -> None:
    with pytest.raises(BadState, match="not as bytes"):
        decode_state(Walker, data)


@settings(max_examples=100)
@given(st.binary(max_size=100))
def test_no_bytes_do_harm(data: bytes) -> None:
    with suppress(BadState):
        assert isinstance(decode_state(Walker, data), Trip)


def test_a_state_of_another_class_is_refused() -> None:
    with pytest.raises(BadState, match="it is a Plain; give a Trip"):
        encode_state(Walker, Plain())


@pytest.mark.parametrize("thing", [object(), print, asyncio.sleep])
def test_what_is_no_plain_data_cannot_travel(thing: Any) -> None:
    with pytest.raises(BadState, match="use plain data"):
        encode_state(Loose, Plain(thing))


def test_what_could_not_be_read_back_is_refused_where_it_is() -> None:
    trip = Trip([3])  # type: ignore[list-item]
    with pytest.raises(BadState, match="Expected `str`"):
        encode_state(Walker, trip)


def test_a_state_has_a_limit() -> None:
    with pytest.raises(BadState, match=f"above the limit of {STATE_BYTES_MAX:,}"):
        encode_state(Walker, Trip(["x" * STATE_BYTES_MAX]))


def test_the_first_state() -> None:
    assert first_state(Loose, None) == Plain()
    assert first_state(Walker, Trip(["x"])) == Trip(["x"])
    with pytest.raises(BadState, match="none was given, and Missing required argument 'stops'"):
        first_state(Walker, None)


# -- what is not for everyone ----------------------------------------------------------------------


def test_an_agent_without_a_program_does_not_move() -> None:
    with sync.Host("ward") as host, pytest.raises(NotAProgram, match="write a Program"):
        host.agent("ann").move("icu")


def test_departing_is_no_error_that_programs_catch() -> None:
    assert not issubclass(Departed, Exception)
