"""Dependence functions: values, no values, and functions of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nomospace as ns
from nomospace.meaning.functions import ARITY_MAX, FUNCTIONS, BadFunction, Functions
from nomospace.meaning.reading import read_ontology
from nomospace.terms import MISSING, Term, same

CASES: list[tuple[str, list[Term], Any]] = [
    ("plus", [1, 2], 3),
    ("plus", [1, 2.5, 3], 6.5),
    ("minus", [9, 2], 7),
    ("minus", [2.5, 3], -0.5),
    ("times", [3, 4, 2], 24),
    ("times", [0.5, -4], -2.0),
    ("divide", [6, 3], 2.0),
    ("divide", [1, 4], 0.25),
    ("divide", [1, 0], MISSING),
    ("divide", [1.5, 0.0], MISSING),
    ("min", [3, 1, 2], 1),
    ("max", [3, 1, 2], 3),
    ("min", ["b", "a"], "a"),
    ("max", ["b", "a", "c"], "c"),
    ("concat", ["a", "", "b"], "ab"),
    ("round", [2.5], 3),
    ("round", [-2.5], -3),
    ("round", [0.4], 0),
    ("round", [-0.4], 0),
    ("round", [7], 7),
    ("round", [-7], -7),
    ("round", [2**53], 2**53),
    ("round", [1e300], MISSING),
    ("round", [2.675, 2], 2.68),
    ("round", [-1.25, 1], -1.3),
    ("round", [7, 2], 7.0),
    ("round", [1e300, 2], 1e300),
    ("round", [1.5, -1], MISSING),
    ("round", [1.5, 16], MISSING),
]
NO_VALUE: list[tuple[str, list[Term]]] = [
    ("plus", [1, "2"]),
    ("plus", [True, 1]),
    ("plus", [1, None]),
    ("plus", [1e308, 1e308]),
    ("plus", [2**4095, 2**4095]),
    ("times", [2**3000, 2**3000]),
    ("plus", [2**4000, 0.5]),
    ("divide", [2**4000, 3]),
    ("min", [1, "a"]),
    ("max", [b"a", b"b"]),
    ("concat", ["a", 1]),
    ("concat", ["a" * 600_000, "b" * 600_000]),
    ("round", ["1"]),
    ("round", [1.5, 1.0]),
    ("round", [1.5, True]),
    ("round", [2**2000, 1]),
]


@pytest.mark.parametrize(("name", "inputs", "value"), CASES)
def test_a_value(name: str, inputs: list[Term], value: Any) -> None:
    found: Any = FUNCTIONS.apply(name, inputs)
    assert found is value if value is MISSING else same(found, value)


@pytest.mark.parametrize(("name", "inputs"), NO_VALUE)
def test_no_value(name: str, inputs: list[Term]) -> None:
    assert FUNCTIONS.apply(name, inputs) is MISSING


@pytest.mark.parametrize("name", Functions())
def test_a_missing_input_is_no_value(name: str) -> None:
    inputs: list[Term] = ["a" if name == "concat" else 1] * FUNCTIONS[name].arity_min
    assert FUNCTIONS.apply(name, inputs) is not MISSING
    assert FUNCTIONS.apply(name, [*inputs[:-1], MISSING]) is MISSING


# Functions of users.


def test_a_registered_function_may_be_named_by_an_ontology() -> None:
    mine = Functions()

    @mine.register("initials")
    def initials(first: str, last: str, mark: str = ".") -> str:
        return first[0] + mark + last[0] + mark

    text = """
    classes:
      Badge: {properties: {text: string}, depends: {text: "%s"}}
      Person: {properties: {first: string, last: string}}
    """
    found = read_ontology(text % "initials(Person.first, Person.last)", functions=mine)
    assert found.functions.apply("initials", ["Ada", "Byron"]) == "A.B."
    assert mine["initials"].arity == "2 or 3 inputs"
    with pytest.raises(ns.CallerError, match="initials takes 2 or 3 inputs, not 1"):
        read_ontology(text % "initials(Person.first)", functions=mine)
    with pytest.raises(ns.CallerError, match="there is no function initials"):
        read_ontology(text % "initials(Person.first, Person.last)", functions=Functions())


def test_a_function_that_raises_gives_no_value_and_is_reported() -> None:
    mine = Functions()
    mine.register("bad")(lambda x: x.nothing)
    mine.register("odd")(lambda x: object())
    told: list[str] = []
    assert mine.apply("bad", [1], report=told.append) is MISSING
    assert mine.apply("odd", [1], report=told.append) is MISSING
    assert mine.apply("bad", [1]) is MISSING
    assert told[0] == (
        "dependence function bad raised AttributeError: 'int' object has no attribute 'nothing'"
    )
    assert told[1].startswith("dependence function odd gave no term: ")


def test_a_function_may_say_that_it_has_no_value() -> None:
    mine = Functions()
    mine.register("none")(lambda x: MISSING)
    assert mine.apply("none", [1], report=pytest.fail) is MISSING


def test_what_cannot_be_registered() -> None:
    mine = Functions()
    refused: list[tuple[str, Callable[..., Any], int | None, str]] = [
        ("plus", abs, None, "a built-in function has this name"),
        ("a b", abs, None, "letters, digits"),
        ("none", lambda: 1, None, "1 to 16 inputs"),
        ("many", lambda *x: x, ARITY_MAX + 1, "1 to 16 inputs"),
        ("named", lambda x, *, y: x, None, "'y' must be given by its name"),
    ]
    for name, call, arity, words in refused:
        with pytest.raises(BadFunction, match=words):
            mine.register(name, arity=arity)(call)
    mine.register("many", arity=(1, 3))(lambda *x: len(x))
    assert mine["many"].arity == "1 to 3 inputs"


def test_the_face_registers_for_the_whole_process() -> None:
    ns.dependence_function("test_only_double")(lambda x: 2 * x)
    assert FUNCTIONS.apply("test_only_double", [4]) == 8
    ns.dependence_function("test_only_double")(lambda x: 3 * x)
    assert FUNCTIONS.apply("test_only_double", [4]) == 12
