"""Whatever a law does, its event ends, an exception follows, and the agent lives on.

How soon is measured by `nomospace bench law`; here the bound only has to be one.
"""

from __future__ import annotations

import time

import pytest

from nomospace.control import Deliver, Forward, Membership, Record, sent
from nomospace.law import load
from nomospace.terms import term
from nomospace.testing.runaways import RUNAWAYS, law_text

HOME = "ann@x"


@pytest.mark.parametrize("what", RUNAWAYS)
def test_a_law_that_runs_away_is_stopped(what: str) -> None:
    reason, predicate = RUNAWAYS[what]
    law = load(law_text(predicate))
    assert all(law.compiled_rules)
    ann = Membership(law, HOME)
    start = time.process_time()
    first, second, told = ann.handle(sent(HOME, "go", "bob@x"), now=0)
    took_s = time.process_time() - start
    assert isinstance(first, Record)
    assert (first.ruling.stopped, first.ruling.operations) == (reason, ())
    assert isinstance(second, Record)
    assert second.ruling.rule == "R4"
    assert told == Deliver(HOME, term(f"stopped({reason})"))
    assert took_s < 1
    assert len(ann.state) == 0
    assert ann.handle(sent(HOME, "hi", "bob@x"), now=1)[1:] == [Forward(HOME, "hi", "bob@x")]


def test_the_interpreter_is_bounded_too() -> None:
    """A rule that only the interpreter handles: a recursive helper called with a partial term."""
    law = load("law(l).\nsent(_, go, _) :- go(f(_, 1)).\ngo(T) :- go(T).\narrived(_, _, _).")
    assert law.compiled_rules == [False, True]
    record = Membership(law, HOME).handle(sent(HOME, "go", "bob@x"), now=0)[0]
    assert isinstance(record, Record)
    assert record.ruling.stopped == "budget"
