"""Laws and messages that take as long, and as much memory, as can be for the units they spend.

A law goes round a loop in which a few goals are tried on the parts of its message: texts, lists,
terms that share their parts, large integers, each with a twin that is equal and another object.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Final, NamedTuple

from nomospace.control import Membership, RecordRuling, explain, sent
from nomospace.control.deciding import Decision
from nomospace.control.events import Undecided
from nomospace.control.explain import TOLD_UNITS
from nomospace.host.deciding import SLICE_UNITS
from nomospace.law import CompiledLaw, load
from nomospace.law.budget import Stop
from nomospace.terms import Compound, Term
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.evaluating import evaluate
from nomospace_lab.testing.generate.shapes import doubled

HOME: Final = "ann@x"
GOALS: Final = (
    *("T = U", "T == U", "T \\= U", "L = M", "L == M", "D = E", "D == E", "f(D, L) = f(E, M)"),
    *("append(L, M, _)", "append(A, B, L), A == B", "member(X, L), X == z", "member(E, [D, D])"),
    *("delete(L, D, _)", "delete(L, p(_, _), _)", "delete([D, E], p(p(_, X), X), _)"),
    *("delete(L, [_|_], _)", "length(L, _)", "nth0(_, L, X), X == z", "nth0(N, L, _)"),
    *("reverse(L, X), X == M", "sort(L, _)", "sort([D, E, D, E, L, M], _)", "sum_list(L, _)"),
    *("sum_list([I, I, I, I], _)", "between(1, 30, X), X > 40", "findall(X, append(X, _, L), _)"),
    "findall(g(X, D), member(X, L), _)",
    "findall(f(X, Y, a, b), (member(X, L), member(Y, [1, 2])), _)",
    *("atom_concat(T, U, _)", "atom_concat(X, Y, T), X == Y", "atom_concat(T, X, U)"),
    *("atom_length(T, _)", "atom_length(I, _)", "upcase_atom(T, _)", "atom_number(T, _)"),
    *("atom_number(_, I)", "atom_number(I, _)", "sub_atom(T, _, _, _, S), fail"),
    *("sub_atom(T, B, 3, _, X), X == zzz", "sub_atom(T, 0, _, _, X), X == zzz"),
    *("split_string(T, S, _)", "split_string(T, U, _)", "split_string(S, T, _)"),
    *("X is I + I, X < 0", "X is I * 3, X < 0", "X is I // 7, X < 0", "X is I mod 1234567, X < 0"),
    *("X is 2 ** 4000, X < 0", "X is 3 ^ 80, X < 0"),
    "X is (I // 2 ** 2100) * (I // 2 ** 2100), X < 0",
    *("X is N * 3 + 1, Y is X mod 7, Y > 9", "N * 1.5 > 3 * N", "I =:= I + 0"),
    *("[X|Y] = L, Y == z", "X = [a|L], X == z", "X = [a, b, c|L], Y = [d|X], Y == z"),
    *("X = f(D, E, L, T), X == z", "item(N, _)@CS", "item(_, X)@CS, X == z", "X@CS, X == z"),
    *("item(_, L)@CS", "item(D, _)@CS", "pair(X, X)@CS", "not(item(_, z)@CS)", "L@CS", "N@CS"),
    *("( N < 0 ; N < 1 ; N < 2 ; fail )", "down(30)"),
    *("made(20, D, X), X == z", "deep(20, X), X < 0"),
    *("findall(X, T = X, _)", "p(X, Y) = D, X = Y", "q(X, Y, X) = q(L, M, M)"),
)  # fmt: skip
"""What a loop may try."""
TAIL: Final = """
down(0). down(K) :- K > 0, J is K - 1, down(J).
made(0, A, A). made(K, A, Z) :- K > 0, J is K - 1, made(J, p(A, A), Z).
deep(0, 0). deep(K, Z) :- K > 0, J is K - 1, deep(J, Y), Z is Y + 1.
"""
WORDS: Final = ("a", "ab", "a,", "xyzzy ", "é", "😀", "ﬃ", "1")
ITEMS: Final = ("int", "atom", "compound", "list", "mixed")


@dataclass(frozen=True, slots=True)
class CostlyLaw:
    """A law and a message, as the numbers and goals that they are made of."""

    goals: tuple[str, ...]
    rounds: int
    word: str
    chars: int
    separators: str
    items: int
    item: str
    levels: int
    bits: int
    state: int
    interpreted: bool

    @property
    def text(self) -> str:
        """The law. Each goal is tried for nothing, so that the next one comes."""
        tried = "".join([f"not(not(({goal}))), " for goal in self.goals])
        loose = ", _" if self.interpreted else ""
        more = ", f(V)" if self.interpreted else ""
        names = f"T, U, S, L, M, D, E, I{more}"
        start = f"T, U, S, L, M, D, E, I{', f(_)' if loose else ''}"
        return (
            "law(costly).\n"
            f"R1. sent(_, m(T, U, S, L, M, D, E, I), _) :- loop({self.rounds}, {start}),"
            " do(forward).\n"
            f"loop(0, {names}). loop(N, {names}) :- N > 0, {tried}K is N - 1, loop(K, {names})."
            f"\n{TAIL}"
        )

    def message(self) -> Term:
        """What is sent."""
        text = self.word * max(1, self.chars // len(self.word))
        twin = "".join([text[:1], text[1:]])
        separators = (self.separators * 3)[: max(1, len(self.separators))]
        numbers = 2**self.bits - 1
        parts = text, twin, separators, self._list(), self._list()
        return Compound("m", (*parts, doubled(self.levels), doubled(self.levels), numbers))

    def _list(self) -> tuple[Term, ...]:
        kinds: dict[str, Term] = {}
        found: list[Term] = []
        for number in range(self.items):
            kinds = {
                "int": number,
                "atom": f"agent{number}",
                "compound": Compound("p", (number, "a")),
                "list": (number, (number,)),
            }
            name = self.item if self.item != "mixed" else ("int", "atom", "compound")[number % 3]
            found.append(kinds[name])
        return tuple(found)

    def held(self) -> tuple[Term, ...]:
        """The control state."""
        items = [Compound("item", (number, number % 5)) for number in range(self.state)]
        return (*items, *range(self.state // 4))


def _make(rng: Random) -> CostlyLaw:
    return CostlyLaw(
        goals=tuple(rng.sample(GOALS, rng.choice((1, 1, 2, 3)))),
        rounds=rng.choice((1, 10, 100, 10_000)),
        word=rng.choice(WORDS),
        chars=rng.choice((1, 100, 5_000, 100_000)),
        separators=rng.choice((",", "a,", "".join(map(chr, range(300, 900))))),
        items=rng.choice((0, 3, 50, 1_000, 10_000)),
        item=rng.choice(ITEMS),
        levels=rng.choice((0, 3, 10, 13)),
        bits=rng.choice((3, 60, 500, 4_000)),
        state=rng.choice((0, 5, 40, 2_000)),
        interpreted=rng.random() < 0.2,
    )


def _mutate(rng: Random, draft: CostlyLaw) -> CostlyLaw:
    other = _make(rng)
    roll = rng.random()
    if roll < 0.4:
        goals = list(draft.goals)
        if len(goals) > 1 and rng.random() < 0.5:
            goals.pop(rng.randrange(len(goals)))
        elif len(goals) < 6 and rng.random() < 0.5:
            goals.append(rng.choice(GOALS))
        else:
            goals[rng.randrange(len(goals))] = rng.choice(GOALS)
        return replace(draft, goals=tuple(goals))
    name = rng.choice(
        ("word", "separators", "item", "interpreted", "numbers", "numbers", "numbers")
    )
    if name != "numbers":
        return replace(draft, **{name: getattr(other, name)})
    name = rng.choice(("rounds", "chars", "items", "levels", "bits", "state"))
    most = {"rounds": 50_000, "chars": 300_000, "items": 20_000, "levels": 13, "bits": 4_090}
    value = getattr(draft, name)
    changed = rng.choice((value * 2 + 1, value // 2, value + 1, getattr(other, name)))
    return replace(draft, **{name: min(changed, most.get(name, 5_000))})


def _loaded(draft: CostlyLaw) -> tuple[CompiledLaw, Membership, Term]:
    law = load(draft.text)
    return law, Membership(law, HOME, state=draft.held()), draft.message()


class RulingCase(NamedTuple):
    """A member under a law, a message that it sends, and the units that the ruling takes."""

    member: Membership
    message: Term
    units: int


def _ready(draft: CostlyLaw) -> RulingCase:
    law, member, message = _loaded(draft)
    units = [0]
    with suppress(Stop):
        args = (HOME, message, "bob@x")
        evaluate(law, "sent", HOME, args, member.state, member.obligations, 0, units)
    return RulingCase(member, message, units[0])


def _run(ruled: RulingCase) -> Spent:
    """Rule as a host does: at once what takes a slice, all else slice by slice."""
    member, message, units = ruled
    began = time.thread_time_ns()
    effects = member.handle(sent(HOME, message, "bob@x"), now=0, slice=SLICE_UNITS)
    longest, about = time.thread_time_ns() - began, effects[-1]
    if isinstance(about, Undecided):
        decision, decided = Decision(member, about, slice=SLICE_UNITS), None
        while decided is None:
            began = time.thread_time_ns()
            decided = decision.go_on(now=0)
            longest = max(longest, time.thread_time_ns() - began)
    return Spent(units, longest)


def _ready_to_tell(draft: CostlyLaw) -> tuple[Membership, RecordRuling]:
    _, member, message = _loaded(draft)
    record = member.handle(sent(HOME, message, "bob@x"), now=0)[0]
    assert isinstance(record, RecordRuling)
    _tell((member, record))
    return member, record


def _tell(told: tuple[Membership, RecordRuling]) -> Spent:
    """Explain the ruling. Its price is the budget of explanations."""
    member, record = told
    assert explain(member, record.ruling, disclose="all").text
    return Spent(TOLD_UNITS)


def _show(draft: CostlyLaw) -> str:
    loop = draft.text.split("\n")[2]
    numbers = ", ".join(
        [f"{name} {getattr(draft, name)!r}" for name in (
            "word", "chars", "items", "item", "levels", "bits", "state", "interpreted", "rounds"
        )]
    )  # fmt: skip
    return f"{loop[:600]}\n{numbers}"


case(CostlyCase("law", _make, _mutate, _run, _show, _ready, unit="a goal, or what it looks at"))
case(
    CostlyCase(
        "explanation",
        _make,
        _mutate,
        _tell,
        _show,
        _ready_to_tell,
        unit="a line that is told",
        unit_ns=10_000,
        unit_bytes=5_000,
    )
)
