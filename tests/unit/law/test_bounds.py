"""Whatever a law does, its event ends, an exception follows, and the agent lives on.

How soon is measured by `nomospace bench law`; here the ruling says which bound stopped it.
"""

from __future__ import annotations

import marshal
from typing import Any

import pytest

from nomospace.control import Deliver, Forward, Membership, RecordRuling, Signal, sent
from nomospace.law import load
from nomospace.law.bag import Bag
from nomospace.law.emit import LawBuilder
from nomospace.law.program import sound
from nomospace.terms import Compound, Source, term
from nomospace_lab.testing.evaluating import evaluate
from nomospace_lab.testing.runaways import RUNAWAYS, law_text

HOME = "ann@x"


@pytest.mark.parametrize("what", RUNAWAYS)
def test_a_law_that_runs_away_is_stopped(what: str) -> None:
    reason, predicate = RUNAWAYS[what]
    law = load(law_text(predicate))
    assert all(law.compiled_rules)
    ann = Membership(law, HOME)
    first, second, told = ann.handle(sent(HOME, "go", "bob@x"), now=0)
    assert isinstance(first, RecordRuling)
    assert (first.ruling.stopped, first.ruling.operations) == (reason, ())
    assert isinstance(second, RecordRuling)
    assert second.ruling.rule == "R4"
    assert told == Deliver(HOME, term(f"stopped({reason})"))
    assert len(ann.state) == 0
    assert ann.handle(sent(HOME, "hi", "bob@x"), now=1)[1:] == [Forward(HOME, "hi", "bob@x")]


def test_the_interpreter_is_bounded_too() -> None:
    """A rule that only the interpreter handles: a recursive helper called with a partial term."""
    law = load("law(l).\nsent(_, go, _) :- go(f(_, 1)).\ngo(T) :- go(T).\narrived(_, _, _).")
    assert law.compiled_rules == [False, True]
    record = Membership(law, HOME).handle(sent(HOME, "go", "bob@x"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.stopped == "budget"


def test_the_code_of_a_law_does_not_grow_with_the_square_of_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rules for any message stand in every branch; written out there, each would be code again."""

    monkeypatch.setattr("nomospace.law.emit.dispatch.CHAINED_MAX", 100)

    def code_of(rules: int) -> int:
        pairs = [
            f"sent(_, m{n}(_), _) :- do(forward).\nsent(_, _, _) :- a{n}(_)@CS, do(forward).\n"
            for n in range(rules)
        ]
        tree, hash, _ = sound(Source("law(l).\n" + "".join(pairs)))
        return sum(len(marshal.dumps(piece)) for piece in LawBuilder(tree, hash).build().pieces)

    assert code_of(80) < 3 * code_of(40)


def test_branches_try_their_own_and_common_rules_in_the_order_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.law.emit.dispatch.CHAINED_MAX", 0)
    rules = [
        f"sent(_, m{n}(K), _) :- K == {n}, do(forward).\n"
        f"sent(_, m{n}(a), _) :- b@CS, do(forward).\n"
        f"sent(_, m{n}(b), _) :- do(+x({n})), do(forward).\n"
        f"sent(_, M, _) :- M = m{n}(c), do(+y({n})).\n"
        for n in range(6)
    ]
    law = load("law(l).\ninitialCS([b]).\n" + "".join(rules), "branches.law")
    assert all(law.compiled_rules)
    for event in (
        "m0(a)",
        "m3(a)",
        "m3(b)",
        "m5(c)",
        "m2(1)",
        "m2(3)",
        "m9(a)",
        "plain",
        "m4(c)",
        "m4(4)",
    ):
        args = (HOME, term(event), "bob@x")
        asked = ("sent", HOME, args, Bag([term("b")]), Bag(), 0)
        assert evaluate(law, *asked, [0]) == law.interpreter.rule(*asked, [0])


def test_a_law_is_worth_so_much_code_and_the_rest_is_interpreted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.law.emit.writer.CODE_CHARS_MAX", 4_000)
    goals = ", ".join(["(X = a ; Y = b)"] * 3)
    rules = [f"sent(X, m{n}, Y) :- {goals}, do(forward).\n" for n in range(4)]
    tree, hash, _ = sound(Source("law(l).\n" + "".join(rules)))
    compiled = LawBuilder(tree, hash).build().compiled
    assert compiled[0]
    assert not compiled[-1]


def test_rules_are_compiled_by_python_when_they_are_first_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []

    def counted(text: str, *rest: Any) -> Any:
        texts.append(text)
        return compile(text, *rest)

    monkeypatch.setattr("nomospace.law.emit.build.compile", counted, raising=False)
    rules = [f"sent(_, m{n}(K), _) :- h(K, L), do(signal(said({n}, L))).\n" for n in range(6)]
    helper = "h([], []).\nh([A | R], [A | S]) :- h(R, S).\n"
    law = load(f"law(late).\n{''.join(rules)}{helper}")
    ann = Membership(law, HOME)
    assert len(texts) == 1  # what picks the rules
    for _ in range(2):
        said = [ann.handle(sent(HOME, term(f"m{n}([a])"), "bob@x"), now=0)[1] for n in (1, 4)]
        assert said == [Signal(term(f"said({n}, [a])")) for n in (1, 4)]
        assert len(texts) == 4, "two rules, and the helper that both call"

    monkeypatch.setattr("nomospace.law.emit.build.LATE_CHARS_MAX", 1_000)
    texts.clear()
    large = Membership(load(f"law(at_once).\n{''.join(rules)}{helper}"), HOME)
    compiled = len(texts)
    large.handle(sent(HOME, term("m1([a])"), "bob@x"), now=0)
    assert len(texts) == compiled, "a large law keeps nobody waiting later"


@pytest.mark.parametrize("row", [1, 7])
def test_a_long_row_of_helpers_or_goals_is_interpreted(row: int) -> None:
    """The compiler follows calls and goals as deep as Python lets it, and no deeper."""
    helpers = [
        f"h{n}(A, B) :- {', '.join([f'h{n + 1}(A, Z{k})' for k in range(row)])}, B = 1.\n"
        for n in range(300)
    ]
    goals = ", ".join([f"Z{n} = X" for n in range(600)])
    law = load(
        f"law(l).\nsent(X, m, Y) :- {goals}, do(forward).\nsent(_, M, _) :- h0(M, _).\n"
        f"{''.join(helpers)}h300(A, A).\n",
        f"row{row}.law",
    )
    assert law.compiled_rules == [False, False]
    record = Membership(law, HOME).handle(sent(HOME, "m", "bob@x"), now=0)[0]
    assert isinstance(record, RecordRuling)
    assert record.ruling.rule == "#1"


def test_a_message_for_very_many_is_bounded_for_all_of_them() -> None:
    law = load(
        "law(l).\nsent(X, all(M, To), _) :- do(multicast(X, M, To)).\n"
        "exception(_, Why) :- do(deliver(Self, stopped(Why), Self)).\n"
    )
    many = tuple([f"a{n}@x" for n in range(100)])
    for size, stopped in ((150_000, None), (180_000, "tooLarge")):
        message = Compound("all", ("m" * size, many))
        record, *effects = Membership(law, HOME).handle(sent(HOME, message, "b@x"), now=0)
        assert isinstance(record, RecordRuling)
        assert record.ruling.stopped == stopped
        assert len(effects) == (100 if stopped is None else 2)
