"""Every term there is, the nasty ones first."""

from __future__ import annotations

from hypothesis import strategies as st

from nomospace.terms import INT_BITS_MAX, Compound, Term, Var

WORDS = (
    "a fire alice@train X _ _x true false null not is mod rem + - * / // ** ^ = \\= == < > =< >= "
    "=:= =\\= <- @ , ; | -> :- \\+ [] [|] . ' \" \\ b' %c /*c*/ é 日本 😀"
).split()
NAMES = st.one_of(
    st.sampled_from([*WORDS, "", " ", "a b", "\n", "\t\r\0", "\u2028", "\x7f\x85\xa0"]),
    st.text(max_size=6).filter(lambda s: not any("\ud800" <= c <= "\udfff" for c in s)),
)
FUNCTORS = NAMES.filter(lambda name: name not in ("[|]", "formal"))
LARGEST = 2**INT_BITS_MAX - 1
INTEGERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([2**53, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, LARGEST, -LARGEST]),
)
FLOATS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e22, 1e-7, 5e-324, -5e-324, 1.7976931348623157e308]),
    st.floats(allow_nan=False, allow_infinity=False),
).map(lambda x: x or 0.0)
ATOMIC: st.SearchStrategy[Term] = st.one_of(
    st.none(), st.booleans(), INTEGERS, FLOATS, NAMES, st.binary(max_size=4)
)


def _above(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    few = st.lists(inner, min_size=1, max_size=3).map(tuple)
    operators = st.sampled_from(
        "+ - * / // mod rem ** ^ = \\= is <- @ , ; | -> :- \\+ not == < >=".split()
    )
    return st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Compound, FUNCTORS, few),
        st.builds(Compound, operators, st.tuples(inner, inner)),
        st.builds(Compound, operators, st.tuples(inner)),
    )


TERMS: st.SearchStrategy[Term] = st.recursive(ATOMIC, _above, max_leaves=8)
"""Ground terms. Small numbers and few names, so that equal and nearly equal ones come up."""

HOLES = tuple(Var(name) for name in "ABC")
_SMALL: st.SearchStrategy[Term] = st.sampled_from([1, 1.0, True, "a", (), *HOLES])


def _lists(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    items = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        items.map(tuple),
        st.builds(
            lambda found, tail: Compound("[|]", (*found, tail)), items, st.sampled_from(HOLES)
        ),
        st.builds(Compound, st.sampled_from(["f", "g"]), items.map(tuple)),
    )


PATTERNS: st.SearchStrategy[Term] = st.recursive(_SMALL, _lists, max_leaves=6)
"""Terms with holes, lists with an open end among them."""


def deep(levels: int, *, name: str | None = "f", core: Term = 1) -> Term:
    """A term of so many levels: `f(f(…1…))`, or lists in lists when there is no name."""
    found = core
    for _ in range(levels - 1):
        found = (found,) if name is None else Compound(name, (found,))
    return found
