from __future__ import annotations

import json
from pathlib import Path

import pytest

from nomospace.law.diff import diff_laws
from tests.unit.law.test_canon import CORPUS
from tests.unit.law.test_parse import law_of

OLD = """law(l). authority(x, "a"). initialCS([q(3)]).
R1. sent(X, m(A), Y) :- q(N)@CS, ( N > 0 -> do(forward) ; do(deliver(Self, no, Self)) ).
R2. sent(X, k, Y) :- do(forward).
R3. arrived(X, M, Y) :- ok(X), do(deliver).
R4. adopted(_) :- do(+ a).
sent(X, z(Q), Y) :- a@CS, b@CS, do(forward).
R5. quit.
ok(a). ok(b). gone(x) :- ok(x).
"""
NEW = """law(l). authority(x, "b"). initialCS([q(3)]). clearMessages.
R3. arrived(X, Mm, Y) :- ok(X), do(deliver).
R1. sent(X, m(A), Y) :- q(N)@CS, ( N > 1 -> do(forward) ; do(deliver(Self, no, Self)) ).
R9. sent(X, k, Y) :- do(forward).
sent(X, z(Q), Y) :- a@CS, do(forward).
R4. adopted(_) :- do(+ a).
disconnected :- do(signal(d)).
ok(a). ok(c).
"""


def kinds(old: str, new: str) -> list[tuple[str | None, str | None, tuple[str, ...]]]:
    diff = diff_laws(law_of(old), law_of(new))
    return [(c.old_name, c.new_name, c.kinds) for c in (*diff.rules, *diff.helpers)]


def test_everything_at_once_as_a_person_reads_it() -> None:
    diff = diff_laws(law_of(OLD), law_of(NEW))
    lines = diff.render().splitlines()
    assert lines[0] == f"--- l {diff.hashes[0]}"
    assert lines[1] == f"+++ l {diff.hashes[1]}"
    assert (
        "\n".join(lines[2:])
        == """\
preamble
  - authority(x, a)
  + authority(x, b)
  + clearMessages
rules
  R3 only variables renamed: M is now Mm; moved from place 3 to 1
  R1 changed
      sent(X, m(A), Y) :-
          q(N)@CS
          (
    -         N > 0
    +         N > 1
          ->
              do(forward)
          ;
              do(deliver(Self, no, Self))
          )
  R9 relabelled, was R2
  #4 changed; moved from place 5 to 4
      sent(X, z(Q), Y) :-
          a@CS
    -     b@CS
          do(forward)
  #6 added
    + disconnected :- do(signal(d)).
  R5 removed
    - R5. quit.
helpers
  gone/1 clause 1 removed
    - gone(x) :- ok(x).
  ok/1 clause 2 changed
    - ok(b)
    + ok(c)"""
    )
    assert not diff.meaning_kept


def test_the_plain_data_is_json_and_says_the_same() -> None:
    data = json.loads(json.dumps(diff_laws(law_of(OLD), law_of(NEW)).to_data()))
    assert data["same"] is data["meaning_kept"] is False
    assert data["preamble"][1] == {"what": "clearMessages", "old": None, "new": "clearMessages"}
    assert data["rules"][0] == {
        "kinds": ["variables", "moved"],
        "old_name": "R3",
        "new_name": "R3",
        "old": "R3. arrived(X, M, Y) :- ok(X), do(deliver).",
        "new": "R3. arrived(X, Mm, Y) :- ok(X), do(deliver).",
        "renamed": [["M", "Mm"]],
        "places": [3, 1],
    }
    assert ["-", "        N > 0"] in data["rules"][1]["goals"]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_law_is_the_same_as_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    diff = diff_laws(law_of(text), law_of(text + "\n% and a comment\n"))
    assert diff.same
    assert diff.meaning_kept
    assert (diff.preamble, diff.rules, diff.helpers) == ((), (), ())
    assert diff.render() == f"the laws are the same: {diff.hashes[0]}\n"


RENUMBERED = "law(l). R1. sent(X, a, Y) :- do(forward). R2. sent(X, b, Y) :- do(forward)."


def test_a_rule_put_between_shifts_labels_and_changes_no_rule() -> None:
    new = RENUMBERED.replace("R2.", "R2. sent(X, c, Y) :- do(forward). R3.")
    assert kinds(RENUMBERED, new) == [(None, "R2", ("added",)), ("R2", "R3", ("label",))]


def test_names_alone_keep_the_meaning() -> None:
    old = law_of("law(l). R1. sent(X, m(A), Y) :- p(A, _)@CS, h(A), do(forward). h(X) :- X > 1.")
    new = law_of("law(l). Q. sent(S, m(B), _) :- p(B, C)@CS, h(B), do(forward). h(Y) :- Y > 1.")
    diff = diff_laws(old, new)
    assert not diff.same
    assert diff.meaning_kept
    assert diff.rules[0].kinds == ("variables", "label")
    assert diff.rules[0].renamed == (("X", "S"), ("A", "B"), ("Y", "_"), ("_", "C"))
    assert diff.render().endswith("the hash changes, the meaning does not\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sent(X, m, Y) :- X = Y.", "sent(X, m, Y) :- X = Self."),
        ("sent(X, m, Y) :- X = Y.", "sent(X, m, X) :- X = X."),
        ("sent(X, m(_, _), Y).", "sent(X, m(A, A), Y)."),
        ("sent(X, 1, Y).", "sent(X, 1.0, Y)."),
    ],
)
def test_what_looks_like_a_new_name_and_is_not(old: str, new: str) -> None:
    diff = diff_laws(law_of(f"law(l). {old}"), law_of(f"law(l). {new}"))
    assert not diff.meaning_kept
    assert "variables" not in diff.rules[0].kinds


def test_an_order_that_cannot_matter_and_one_that_may() -> None:
    a, b, c = "A. sent(X, M, Y) :- a@CS.", "B. arrived(X, M, Y).", "C. sent(X, M, Y) :- c@CS."
    base = law_of(f"law(l). {a} {b} {c}")
    across = diff_laws(base, law_of(f"law(l). {b} {a} {c}"))
    assert [change.kinds for change in across.rules] == [("moved",)]
    assert across.meaning_kept
    within = diff_laws(base, law_of(f"law(l). {c} {a} {b}"))
    assert [(change.new_name, change.places) for change in within.rules] == [("C", (3, 1))]
    assert not within.meaning_kept


def test_large_laws_are_compared_in_time() -> None:
    rules = [f"sent(X, m({i}), Y) :- a({i})@CS, do(forward)." for i in range(600)]
    old = law_of("law(l).\n" + "\n".join(rules))
    changed = [rule.replace("do(forward)", "b@CS, do(forward)") for rule in reversed(rules)]
    diff = diff_laws(old, law_of("law(l).\n" + "\n".join(changed)))
    assert len(diff.rules) >= 600
