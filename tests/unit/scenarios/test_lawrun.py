"""`law run` at its limits; what it prints is in tests/scenarios/lawrun."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nomospace.law import load
from nomospace.scenarios.lawrun import LINE_BYTES_MAX, BadLine, Endless, Row, Run
from nomospace.terms import TERM_BYTES_MAX, TERM_DEPTH_MAX

ECHO = "law(l). R1. sent(_, go, _) :- do(forward). R2. arrived(X, M, _) :- do(forward(Self, M, X))."


def line(**changes: Any) -> bytes:
    data = {"at": 0, "home": "a", "event": "sent", "message": "m", "to": "b", **changes}
    return json.dumps(data).encode()


def refusal(raw: bytes) -> str:
    with pytest.raises(BadLine) as told:
        list(Run(load("law(l). sent(_, _, _).")).rows([line(), raw], "events"))
    assert str(told.value).startswith("events: line 2: ")
    return str(told.value)


def test_a_term_at_the_limit_of_depth_passes_and_one_past_it_is_refused() -> None:
    deep = "f(" * (TERM_DEPTH_MAX - 1) + "a" + ")" * (TERM_DEPTH_MAX - 1)
    assert len(list(Run(load("law(l). sent(_, _, _).")).rows([line(message=deep)], "e"))) == 1
    assert "1,000" in refusal(line(message=f"f({deep})"))


def test_a_term_past_the_limit_of_size_is_refused_with_the_limit() -> None:
    assert "1,000,000" in refusal(line(message="x" * (TERM_BYTES_MAX + 1)))
    assert "1,000,000" in refusal(line(home="x" * (TERM_BYTES_MAX + 1)))
    assert "4,096 bits" in refusal(line(message="9" * 2_000))


def test_a_line_past_the_limit_is_refused_with_the_limit() -> None:
    assert "16,000,000 bytes" in refusal(b" " * LINE_BYTES_MAX + b"{}")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\xff\xfe", "it is not UTF-8 text (byte 0)"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"at": ' + b"9" * 5_000 + b"}", "no JSON that can be used"),
        (b'{"at": Infinity}', "Infinity is no number"),
    ],
)
def test_garbage_is_refused_in_words(raw: bytes, words: str) -> None:
    assert words in refusal(raw)


def read_all(rows: Iterator[Row]) -> tuple[list[Row], Exception | None]:
    found: list[Row] = []
    try:
        found.extend(rows)
    except (BadLine, Endless) as error:
        return found, error
    return found, None


def test_a_run_without_end_stops_after_ten_thousand_with_its_line() -> None:
    lines = [line(), line(message="go"), line()]
    rows, error = read_all(Run(load(ECHO)).rows(lines, "events"))
    assert len(rows) == 2 + 10_000
    assert isinstance(error, Endless)
    assert str(error).startswith(
        "events: line 2: sent(a,go,b) at a, time 0, caused more than 10,000"
    )


def test_a_run_without_end_after_the_last_line_says_so() -> None:
    law = load("""law(l). sent(_, _, _) :- do(imposeObligation(o, 1)).
                  obligationDue(o) :- do(imposeObligation(o, 0)).""")
    rows, error = read_all(Run(law, until=5).rows([line()], "events"))
    assert len(rows) == 2 + 10_000
    assert str(error).startswith("events: after the last line: obligationDue(o) at a, time 1, ")


def test_keys_come_in_their_order_and_unmet_only_when_there_are_some() -> None:
    law = load("law(l). initialCS([x]). sent(_, _, _) :- do(-x).")
    first, second = Run(law).rows([line(), line()], "events")
    assert list(first) == ["at", "home", "event", "rule", "ruling", "control_state"]
    assert list(second) == [*first, "unmet"]
    assert second["unmet"] == [0]


def test_rows_are_given_before_the_next_line_is_read() -> None:
    read: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield line(at=number)

    rows = Run(load("law(l). sent(_, _, _).")).rows(lines(), "events")
    next(rows)
    assert read == [0]


def test_whole_times_are_integers_and_microseconds_are_kept() -> None:
    times = [0.0, 0.1, 2.0, 1_700_000_000.123456]
    rows = Run(load("law(l). sent(_, _, _).")).rows([line(at=at) for at in times], "events")
    assert [json.dumps(row["at"]) for row in rows] == ["0", "0.1", "2", "1700000000.123456"]
