"""The guide for law authors names all there is, with the limits that the code has."""

import pytest

from nomospace import laws
from nomospace.control.bounded import (
    LARGE_BYTES,
    SPACE_STATE_MAX,
    STATE_BYTES_MAX,
    STATE_MAX,
)
from nomospace.control.membership import HISTORY_MAX
from nomospace.host.mailing import REASONS_MAX
from nomospace.law import prelude
from nomospace.law.arithmetic import FUNCTIONS
from nomospace.law.parse import GOAL_DEPTH_MAX, RULES_MAX
from nomospace.law.prelude import BUILTINS, COPIES_BYTES_MAX
from nomospace.law.tree import EVENTS, OPERATIONS, PREAMBLE, SPECIAL, UNITS
from nomospace.terms import INT_BITS_MAX, TERM_BYTES_MAX, TERM_DEPTH_MAX
from nomospace.terms.syntax import TEXT_BYTES_MAX
from tests.docs.pages import GUIDE

TEXT = GUIDE.read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
LIMITS = {
    "a term, in bytes": TERM_BYTES_MAX,
    "depth of a term": TERM_DEPTH_MAX,
    "bits of an integer": INT_BITS_MAX,
    "a law's text, in bytes": TEXT_BYTES_MAX,
    "rules and helper clauses": RULES_MAX,
    "a message in a ruling, in bytes, counted once for each receiver": COPIES_BYTES_MAX,
    "goals nested in each other": GOAL_DEPTH_MAX,
    "rulings that a member can explain from memory": HISTORY_MAX,
    "refusals in a second whose reasons a member is told; of more it hears that they are refused": (
        REASONS_MAX
    ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_events(name: str) -> None:
    assert f"`{name}{'(' if EVENTS[name] else '`'}" in SECTIONS["Events"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str) -> None:
    shown = {"+": "`+t`", "-": "`-t`", "<-": "`t1 <- t2`"}.get(name)
    section = SECTIONS["Operations"]
    if shown is not None:
        assert shown in section
    for arity in OPERATIONS[name] if shown is None else ():
        assert (f"`{name}(" if arity else f"`{name}`") in section


@pytest.mark.parametrize(("name", "arity"), BUILTINS)
def test_built_ins_and_their_modes(name: str, arity: int) -> None:
    rows = [row for row in SECTIONS["Built-in predicates"].split("\n") if f"`{name}(" in row]
    heads = [row.split("`")[1].removeprefix(f"{name}(").rstrip(")").split(", ") for row in rows]
    assert heads
    assert all(len(head) == arity for head in heads)
    needs = BUILTINS[name, arity].needs
    if len(heads) == len(needs):
        bound = {tuple(at for at, arg in enumerate(head) if arg[0] == "+") for head in heads}
        assert bound == set(needs)


@pytest.mark.parametrize(("name", "arity"), FUNCTIONS)
def test_functions(name: str, arity: int) -> None:
    if name[0].isalpha() and name not in ("mod", "rem"):
        shown = f"`{name}(A{', B' * (arity - 1)})`"
    else:
        shown = f"`A {name} B`" if arity == 2 else f"`{name} A`"
    assert shown in SECTIONS["Arithmetic"]


def test_the_preamble() -> None:
    for name in PREAMBLE:
        assert f"`{name}" in SECTIONS["The preamble"]


def test_special_variables_and_units_of_time() -> None:
    for name in SPECIAL:
        assert f"`{name}`" in SECTIONS["Values and terms"]
    for unit in UNITS:
        assert f"`{unit}`" in SECTIONS["Operations"]


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_every_limit_of_evaluation() -> None:
    for name, value in vars(prelude).items():
        if name.endswith("_MAX"):
            assert f" | {value:,} |" in SECTIONS["Limits"], name


def test_the_limit_of_the_state() -> None:
    large = f"that have {LARGE_BYTES} bytes or more, together | {STATE_BYTES_MAX:,} bytes |"
    assert large in SECTIONS["Limits"]
    row = f"| the same at the controller of a space | {SPACE_STATE_MAX:,} each |"
    assert row in SECTIONS["Limits"]
    row = f"| terms in a control state, and pending obligations | {STATE_MAX:,} each |"
    assert row in SECTIONS["Limits"]


def test_the_shipped_laws() -> None:
    for name in laws.NAMES:
        assert f"laws/{name}.law)" in SECTIONS["The laws that come with Nomospace"]
