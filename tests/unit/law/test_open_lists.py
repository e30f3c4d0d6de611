"""List built-ins on lists of known length whose items are unbound, and other kindnesses of load."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomospace import Law
from nomospace.control import Membership, RecordRuling, Signal, sent
from nomospace.law import load
from nomospace.terms import Faulty, Term, term

HOME = "ann@x"


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ("findall(_, p(_)@CS, L), length(L, R)", "2"),
        ("findall(X-_, member(X, [1]), L), length(L, R)", "1"),
        ("L = [X, Y], length(L, N), X = 1, Y = 2, R = t(L, N)", "t([1,2],2)"),
        ("member(a, [R, b])", "a"),
        ("L = [k(a, R)], member(k(a, 5), L)", "5"),
        ("append([A], [b], R), A = 1", "[1,b]"),
        ("append(R, [c], [A, B, c]), A = 1, B = 2", "[1,2]"),
        ("reverse([A, b], R), A = 1", "[b,1]"),
        ("nth0(0, [R, b], E), E = z", "z"),
        ("delete([k(A), b], b, R), A = 1", "[k(1)]"),
    ],
)
def test_items_may_be_unbound(goals: str, told: str) -> None:
    law = load(f"law(l).\ninitialCS([p(1), p(2)]).\nsent(_, _, _) :- {goals}, do(signal(R)).")
    effects = Membership(law, HOME).handle(sent(HOME, "go", "bob@x"), now=0)
    assert effects[1:] == [Signal(term(told))]


def test_a_list_of_unknown_length_is_needed_whole() -> None:
    law = load("law(l).\nsent(_, f(L), _) :- ( L = a -> K = [1] ; true ), length(K, N), N > 9.")
    record = Membership(law, HOME).handle(sent(HOME, _f("b"), "bob@x"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "notGround"


def _f(value: str) -> Term:
    return term(f"f({value})")


def test_a_law_without_a_name_is_a_law() -> None:
    law = load("R1. sent(_, _, _) :- do(forward).")
    assert law.name == "unnamed"
    assert "preamble-no-name" in [found.code for found in law.warnings]


def test_errors_beside_a_wrong_preamble_are_told() -> None:
    with pytest.raises(Faulty) as caught:
        load("law(l).\ninitialCS(foo).\nR1. sent(X, M, Y) :- nope(X), do(forward).")
    assert [found.code for found in caught.value.errors] == ["preamble-form", "unknown-predicate"]


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "ward.law"
    path.write_bytes(b"\xef\xbb\xbflaw(ward).\nsent(_, _, _) :- do(forward).\n")
    assert Law.load(path).name == "ward"
