"""One membership's history, told again: exact under its own law, otherwise where laws differ."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from nomospace import laws
from nomospace.control import TICK, Event, Membership, RecordRuling, Ruling, adopt, sent
from nomospace.law import CompiledLaw, load
from nomospace.pipeline.history import GAPS_MAX, replay_history
from nomospace.pipeline.report import ReplayVerdict
from nomospace.terms import Compound, Faulty, t
from nomospace.wire.changes import decode_ruling, encode_ruling, encode_snapshot
from nomospace_lab.apps.traffic import Traffic, make_traffic
from nomospace_lab.apps.traffic.chatter import Chatter
from nomospace_lab.testing.generate import make_law

Row = tuple[int, bool, bytes]
SECOND = 1_000_000
QUOTA = """
law(quota).
initialCS([left(3)]).
R1. sent(X, M, Y) :- left(N)@CS, N > 0, do(dcr(left(N), 1)), do(forward).
R2. sent(X, remind, Y) :- do(imposeObligation(bell, 10)), do(deliver(X, soon, X)).
R3. obligationDue(bell) :- do(deliver(Self, bell, Self)).
R4. sent(X, stop, Y) :- do(quit).
"""


class Recorder:
    """A membership whose rulings are kept as rows."""

    def __init__(self, law: CompiledLaw, home: str = "ann@x") -> None:
        self.rows: list[Row] = []
        born = Membership(law, home, state=law.initial).snapshot()
        self.rows.append((0, True, encode_snapshot(born)))
        self.member, effects = adopt(law, home, now=0)
        self._keep(effects)

    def tell(self, event: Any, now: int) -> None:
        self._keep(self.member.handle(event, now=now))

    def say(self, message: Any, now: int) -> None:
        self.tell(sent(self.member.home, message, "bob@x"), now)

    def checkpoint(self) -> None:
        snapshot = self.member.snapshot()
        self.rows.append((snapshot.seq, True, encode_snapshot(snapshot)))

    def move(self, shift: int) -> None:
        """To a host whose clock is ahead by so much."""
        snapshot = self.member.snapshot().shifted(shift)
        self.member = Membership.restore(self.member.law, snapshot)
        self.checkpoint()

    def _keep(self, effects: list[Any]) -> None:
        for effect in effects:
            if isinstance(effect, RecordRuling):
                self.rows.append((effect.ruling.seq, False, encode_ruling(effect.ruling)))


def changed(text: str, *pairs: tuple[str, str]) -> CompiledLaw:
    for before, after in pairs:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return load(text)


def heard(rows: list[Row], law: CompiledLaw, before: CompiledLaw) -> list[tuple[int, int, str]]:
    found: list[ReplayVerdict] = []
    replay_history(rows, law, recorded_law=before, on_verdict=found.append)
    return [(one.seq, one.at, one.kind) for one in found if one.kind != "same"]


def of_traffic(traffic: Any) -> dict[str, list[Row]]:
    """The rows of each member, in their order."""
    rows: dict[str, list[Row]] = {}
    for told in traffic:
        what = told.what
        body = encode_ruling(what) if isinstance(what, Ruling) else encode_snapshot(what)
        rows.setdefault(what.home, []).append((what.seq, not isinstance(what, Ruling), body))
    for listed in rows.values():
        listed.sort(key=lambda row: row[:2])
    return rows


@pytest.mark.parametrize("file", ["ap.law", "ap.law.py"])
def test_the_recorded_law_reproduces_every_ruling(file: str) -> None:
    """Agents move between three hosts, and obligations with them."""
    law = load(laws.path("ap").with_name(file).read_text(), file)
    rows = of_traffic(make_traffic(law, events=6_000, agents=80, seed=3, hosts=3))
    found = [replay_history(listed, law, recorded_law=law) for listed in rows.values()]
    assert sum(one.events for one in found) == 6_000
    assert [one.first for one in found if one.changed or one.gap_count] == []
    moved = [listed for listed in rows.values() if sum(row[1] for row in listed) > 1]
    assert len(moved) > 5


def generated() -> list[CompiledLaw]:
    """Laws that nobody thought of, with obligations that follow each other at once among them."""
    found: list[CompiledLaw] = []
    rng = Random(7)
    while len(found) < 40:
        try:
            found.append(load(make_law(rng).text))
        except Faulty:
            continue
    return found


def test_generated_laws_replay_exactly() -> None:
    stopped = fired = 0
    for number, law in enumerate(generated()):
        traffic = Traffic(law, Random(number), hosts=("x", "y"), now=0)
        Chatter(traffic, 4)
        rows = of_traffic(traffic.run(150))
        for home, listed in rows.items():
            found = replay_history(listed, law, recorded_law=law)
            assert found.changed == 0, (number, home, found.first)
            assert found.passed_over == found.gap_count == 0
            stopped += found.rules.get("", None) is not None
            fired += any(b"obligationDue" in body for _, _, body in listed)
    assert stopped > 20
    assert fired > 5


def test_obligations_that_are_imposed_while_others_fire_wait_their_turn() -> None:
    law = load(
        "law(chain). R1. sent(X, go, Y) :- do(imposeObligation(a, 1)), do(imposeObligation(b, 1))."
        " R2. obligationDue(a) :- do(imposeObligation(c, 0))."
        " R3. obligationDue(b) :- do(+b). R4. obligationDue(c) :- do(+c)."
        " R5. sent(X, look, Y) :- c@CS, do(forward)."
    )
    recorder = Recorder(law)
    recorder.say("go", 0)
    recorder.say("look", 5 * SECOND)  # a and b fire before it, c after it
    recorder.say("look", 5 * SECOND)
    kinds = [row for row in recorder.rows if not row[1]]
    assert len(kinds) == 1 + 1 + 2 + 1 + 1 + 1
    assert heard(recorder.rows, law, law) == []


def test_an_obligation_that_is_due_sooner_arises_and_the_recorded_one_lapses() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    for _ in range(3):
        recorder.say("x", SECOND)
    recorder.say("remind", 2 * SECOND)
    recorder.tell(TICK, 12 * SECOND + 7)
    recorder.say("x", 13 * SECOND)
    now = changed(QUOTA, ("bell, 10", "bell, 4"))
    assert heard(recorder.rows, now, before) == [
        (5, 2 * SECOND, "differs"),
        (0, 6 * SECOND, "arises"),
        (6, 12 * SECOND + 7, "lapses"),
    ]


def test_an_obligation_that_is_due_later_lapses_and_arises_before_the_next_event() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    for _ in range(3):
        recorder.say("x", SECOND)
    recorder.say("remind", 2 * SECOND)
    recorder.tell(TICK, 12 * SECOND)
    recorder.say("x", 13 * SECOND)
    recorder.say("x", 50 * SECOND)
    now = changed(QUOTA, ("bell, 10", "bell, 20"))
    assert heard(recorder.rows, now, before) == [
        (5, 2 * SECOND, "differs"),
        (6, 12 * SECOND, "lapses"),
        (0, 22 * SECOND, "arises"),
    ]


def test_a_move_shifts_what_is_owed_under_another_law_too() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    for _ in range(3):
        recorder.say("x", SECOND)
    recorder.say("remind", 2 * SECOND)
    recorder.move(100 * SECOND)
    recorder.say("x", 104 * SECOND)
    recorder.tell(TICK, 112 * SECOND)
    assert heard(recorder.rows, before, before) == []
    now = changed(QUOTA, ("bell, 10", "bell, 4"))
    assert (0, 106 * SECOND, "arises") in heard(recorder.rows, now, before)


def test_what_would_be_forwarded_and_what_would_be_refused() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    for _ in range(5):
        recorder.say("x", SECOND)
    fewer = replay_history(
        recorder.rows, changed(QUOTA, ("left(3)", "left(2)")), recorded_law=before
    )
    assert (fewer.forwarded_before, fewer.forwarded) == (3, 2)
    assert (fewer.refused_before, fewer.refused) == (2, 3)
    assert fewer.first is not None
    assert fewer.first.kind == "differs"  # the counter that it lowers is another one
    assert fewer.kinds["refuses"] == 1
    more = replay_history(
        recorder.rows, changed(QUOTA, ("left(3)", "left(9)")), recorded_law=before
    )
    assert more.kinds["forwards"] == 2
    assert (more.forwarded, more.refused) == (5, 0)


def test_the_reason_names_the_goal_that_fails_now() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    recorder.say("x", SECOND)
    now = changed(QUOTA, ("N > 0", "N > 5"))
    first = replay_history(recorder.rows, now, recorded_law=before).first
    assert first is not None
    assert (first.seq, first.kind, first.rule_before, first.rule_now) == (2, "refuses", "R1", None)
    assert first.reason == (
        "was forwarded by R1; now refused: N > 5 fails in R1 where N = 3; ann has left(3)"
    )


def test_events_after_the_agent_would_have_quit() -> None:
    before = load(QUOTA)
    recorder = Recorder(before)
    recorder.say("stop", SECOND)
    recorder.say("x", 2 * SECOND)
    now = changed(QUOTA, ("N > 0,", "N > 0, M \\= stop,"))
    assert heard(recorder.rows, now, before) == [(2, SECOND, "differs"), (3, 2 * SECOND, "ended")]


def test_exceptions_follow_of_themselves() -> None:
    stops = load("law(e). R1. sent(X, M, Y) :- do(imposeObligation(a, M)).")
    calm = load("law(e). R1. sent(X, M, Y) :- do(forward).")
    for before, now, kinds in (
        (stops, stops, []),
        (stops, calm, ["forwards", "lapses"]),
        (calm, stops, ["refuses", "arises"]),
    ):
        recorder = Recorder(before)
        recorder.say("soon", SECOND)
        recorder.say(Compound("f", (1,)), 2 * SECOND)
        told = [kind for _, _, kind in heard(recorder.rows, now, before)]
        assert told[: len(kinds)] == kinds


def test_a_member_begins_with_what_its_host_gave_it() -> None:
    """The first state is the law's own, and the roll of a secretary after it."""
    before = load("law(g). initialCS([old]). R1. sent(X, M, Y) :- vip@CS, do(forward).")
    member = Membership(before, "ann@x", state=("old", "vip"))
    rows: list[Row] = [(0, True, encode_snapshot(member.snapshot()))]
    for event in (Event("adopted", ((),)), sent("ann@x", "hi", "bob@x")):
        (record, *_) = member.handle(event, now=1)
        assert isinstance(record, RecordRuling)
        rows.append((record.ruling.seq, False, encode_ruling(record.ruling)))
    now = load("law(g). initialCS([new]). R1. sent(X, M, Y) :- vip@CS, new@CS, do(forward).")
    assert replay_history(rows, now, recorded_law=before).changed == 0
    other = load("law(g). R1. sent(X, M, Y) :- old@CS, do(forward).")
    assert replay_history(rows, other, recorded_law=before).kinds == {"refuses": 1}


def lacking(rows: list[Row], gone: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if not gone(row)]


def long_story() -> list[Row]:
    recorder = Recorder(load(QUOTA))
    for second in range(1, 11):
        recorder.say("x", second * SECOND)
    recorder.checkpoint()
    for second in range(11, 21):
        recorder.say("x", second * SECOND)
    return recorder.rows


def test_a_gap_is_told_and_not_guessed() -> None:
    law = load(QUOTA)
    found = replay_history(lacking(long_story(), lambda row: row[0] == 5), law, recorded_law=law)
    assert found.gaps == [(4, 6)]
    assert found.passed_over == 6  # 6 to 11, until the checkpoint
    assert found.events == 4 + 10
    assert found.changed == 0


def test_a_gap_that_reaches_to_a_checkpoint() -> None:
    law = load(QUOTA)
    rows = lacking(long_story(), lambda row: 5 <= row[0] <= 11 and not row[1])
    found = replay_history(rows, law, recorded_law=law)
    assert found.gaps == [(4, 12)]
    assert (found.passed_over, found.events) == (0, 4 + 10)


def test_a_journal_whose_beginning_was_dropped() -> None:
    law = load(QUOTA)
    rows = lacking(long_story(), lambda row: row[0] < 7)
    found = replay_history(rows, law, recorded_law=law)
    assert found.gaps == []
    assert (found.passed_over, found.events, found.changed) == (5, 10, 0)


def test_rulings_told_twice() -> None:
    law = load(QUOTA)
    rows = long_story()
    found = replay_history([*rows[:3], rows[2], *rows[3:]], law, recorded_law=law)
    assert (found.doubled, found.changed, found.gap_count) == (0, 0, 0)
    other = (rows[2][0], False, rows[3][2])
    found = replay_history([*rows[:3], other, *rows[3:]], law, recorded_law=law)
    assert (found.doubled, found.changed, found.gap_count) == (1, 0, 0)


def test_bytes_that_are_no_ruling_are_missed() -> None:
    law = load(QUOTA)
    rows = [(seq, flag, b"\x01?" if seq == 5 else body) for seq, flag, body in long_story()]
    found = replay_history(rows, law, recorded_law=law)
    assert (found.unreadable, found.gaps) == (1, [(4, 6)])


def test_gaps_are_counted_to_the_end_and_named_up_to_a_limit() -> None:
    recorder = Recorder(load(QUOTA))
    for second in range(3 * GAPS_MAX):
        recorder.say("x", second * SECOND)
        recorder.checkpoint()
    rows = lacking(recorder.rows, lambda row: row[0] % 2 == 0 and row[0] > 0)
    found = replay_history(rows, load(QUOTA), recorded_law=load(QUOTA))
    assert len(found.gaps) == GAPS_MAX
    assert found.gap_count == 3 * GAPS_MAX // 2


def test_deep_and_huge_terms_replay_exactly() -> None:
    law = load("law(open). R1. sent(X, M, Y) :- do(forward).")
    recorder = Recorder(law)
    deep: Any = "a"
    for _ in range(900):
        deep = (deep,)
    for message in (deep, 2**2_000, t.f(b"\x00\xff"), ((((1,),),),), -0.5, None, True):
        recorder.say(message, SECOND)
    found = replay_history(recorder.rows, law, recorded_law=law)
    assert (found.events, found.same) == (8, 8)


def test_rulings_that_stop_while_they_are_carried_out_replay_exactly() -> None:
    law = load(
        "law(c). initialCS([left(much)]). R1. sent(X, M, Y) :- do(+seen(M)), do(incr(left(N), 1))."
    )
    recorder = Recorder(law)
    recorder.say("more", SECOND)
    found = replay_history(recorder.rows, law, recorded_law=law)
    assert (found.events, found.same) == (3, 3)  # adopted, stopped, and the exception
    assert list(recorder.member.state) == [t.left("much")]


@pytest.mark.parametrize(
    "other",
    [
        {"operations": (t.deliver("ann@x", "hi", "ann@x"),)},
        {"operations": ()},
        {"delta": ()},
        {"delta": (("+", 1, "a", None),)},
        {"unmet": (0,)},
        {"rule": "R2"},
        {"due_at": 7},
        {"stopped": "budget"},
    ],
)
def test_a_record_that_says_anything_else_is_told_apart(other: dict[str, Any]) -> None:
    recorder = Recorder(load(QUOTA))
    recorder.say("hi", SECOND)
    seq, _, body = recorder.rows.pop()
    ruling = msgspec.structs.replace(decode_ruling(body), **other)
    recorder.rows.append((seq, False, encode_ruling(ruling)))
    found = replay_history(recorder.rows, load(QUOTA), recorded_law=load(QUOTA))
    assert (found.events, found.same) == (2, 1)
