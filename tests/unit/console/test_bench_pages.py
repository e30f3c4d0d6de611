"""Pages of the bench and the pipeline: quick fixes, times on an axis, the journal at a glance."""

from __future__ import annotations

import pytest

from nomospace.api.benching import fixes_of
from nomospace.api.published import RulingView
from nomospace.console.places.pipeline.glance import BARS, glance_at
from nomospace.law import load
from nomospace.law.program import examine
from nomospace.terms.source import Source
from tests.unit.console.test_floor import run_js

LAW = "law(l).\ninitialCS([slot]).\n"
DELIVER = "R8. arrived(X, M, Y) :- do(deliver).\n"


@pytest.mark.parametrize(
    ("code", "rules", "label"),
    [
        ("unknown-operation", "R1. sent(X, M, Y) :- slot@CS, do(forwrad).\n", "forward"),
        ("singleton-variable", "R1. sent(X, M, Y) :- slot@CS, Z = 1, do(forward).\n", "_Z"),
        (
            "unreachable-rule",
            "R2. sent(X, M, Y) :- do(forward).\nR3. sent(X, stop, Y) :- do(-slot).\n",
            "Put it before R2",
        ),
        ("unaccepted-forward", "R1. sent(X, M, Y) :- slot@CS, do(forward).\n", "Add arrived"),
        ("duplicate-clause", "R1. sent(X, M, Y) :- slot@CS, do(forward).\n" * 2, "Remove it"),
        ("syntax-full-stop", "R1. sent(X, M, Y) :- slot@CS, do(forward)", "Add the full stop"),
    ],
)
def test_a_quick_fix_mends_what_its_finding_names(code: str, rules: str, label: str) -> None:
    text = LAW + ("" if code == "unaccepted-forward" else DELIVER) + rules
    found = next(one for one in examine(Source(text, "l.law"))[1] if one.code == code)
    fix = next(one for one in fixes_of(found, text) if one.label.startswith(label))
    mended = text[: fix.start] + fix.text + text[fix.end :]
    assert code not in [one.code for one in examine(Source(mended, "l.law"))[1]], mended
    assert load(mended).name == "l"


def test_an_axis_of_time_has_round_labels() -> None:
    assert run_js("../axis.js", "m.ticks(0, 3602, 9).map(m.said)") == [
        *["0 s", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h"]
    ]
    assert run_js("../axis.js", "m.ticks(5, 5, 9)") == [5]


def test_the_journal_at_a_glance() -> None:
    def ruling(record: int, home: str, rule: str | None) -> RulingView:
        at, event = record * 1_000_000, f"sent('{home}',m,'b@w')"
        refused = rule is None
        return RulingView(
            record, at, home, "0", "quota", event, rule, "", refused, False, (), "sent", home, (), 0
        )

    found = glance_at(
        [ruling(1, "a@w", "R1"), ruling(2, "a@w", None), ruling(61, "c@w", "R1")], 900, 61
    )
    assert (found.records, found.looked, found.rulings) == (900, 61, 3)
    assert (found.begin, found.end) == (1_000_000, 61_000_000)
    assert found.agents == {"a@w": 2, "c@w": 1}
    assert (found.refused, found.last) == ({("quota", None): 1}, {("quota", None): 1})
    assert (sum(found.bars), found.bars[0], found.bars[BARS - 1]) == (3, 2, 1)
    assert glance_at([], 0, 0).bars == []
