"""Terms and obligations know the ruling that put them there: in memory, on disk, after a move."""

from random import Random

import pytest

from nomospace.control import Membership, Ruling, Snapshot, adopt, arrived, explain, redo, sent
from nomospace.control.membership import HISTORY_BYTES_MAX, HISTORY_MAX
from nomospace.control.origins import START, Cause, Origins
from nomospace.law import load
from nomospace.terms import Term, t
from nomospace.wire.changes import decode_snapshot, encode_snapshot

ANN = "ann@ward"
LAW = load(
    """\
law(bag).
initialCS([kept, n(0)]).
R1. arrived(_, put(X), _) :- do(+has(X)).
R2. arrived(_, drop(X), _) :- do(-has(X)).
R3. arrived(_, other(X, Y), _) :- do(has(X) <- now(Y)).
R4. arrived(_, owe(X, N), _) :- do(imposeObligation(duty(X), N)).
R5. arrived(_, lift(X), _) :- do(repealObligation(duty(X))).
R6. sent(_, count, _) :- n(N)@CS, N1 is N + 1, do(n(N) <- n(N1)).
R7. obligationDue(duty(X)) :- do(+late(X)).
"""
)


def life(seed: int, rulings: int) -> tuple[Membership, list[Ruling], Snapshot]:
    """A member after some random rulings, all of them, and as it was at first."""
    rng = Random(seed)
    ann, _ = adopt(LAW, ANN, now=0)
    base, told = ann.snapshot(), []
    for at in range(rulings):
        x = rng.randrange(40)
        message: Term = rng.choice(
            [t.put(x), t.put(x), t.drop(x), t.other(x, at), t.owe(x, rng.randrange(400)), t.lift(x)]
        )
        event = arrived(f"peer{x % 5}@ward", message, ANN)
        if rng.random() < 0.2:
            event = sent(ANN, "count", "bob@ward")
        for effect in ann.handle(event, now=(at + 1) * 1_000_000):
            told += [effect.ruling] if hasattr(effect, "ruling") else []
    return ann, told, base


def by_hand(told: list[Ruling]) -> tuple[dict[int, int], dict[int, int]]:
    """Places and the numbers of the rulings that last put something there."""
    state: dict[int, int] = {}
    owed: dict[int, int] = {}
    for ruling in told:
        for kind, place, _, _ in ruling.delta:
            if kind in ("+", "<-"):
                state[place] = ruling.seq
            elif kind == "due":
                owed[place] = ruling.seq
    return state, owed


@pytest.mark.parametrize("rulings", [40, HISTORY_MAX + 100, 2_000])
def test_every_term_and_obligation_knows_its_ruling(rulings: int) -> None:
    ann, told, base = life(rulings, rulings)
    put, due = by_hand(told)
    again = Membership.restore(LAW, decode_snapshot(encode_snapshot(ann.snapshot())))
    at = {ruling.seq: ruling for ruling in told}
    for member in (ann, again, Membership.restore(LAW, redo(base, told))):
        for place in member.state.places():
            origin = member.origin(place)
            assert origin is not None
            assert origin.seq == put.get(place, 0)
            if origin != START:
                ruling = at[origin.seq]
                assert origin.at == ruling.at  # of whole seconds here
                assert origin.cause[:2] == (ruling.rule, ruling.event.kind)
                if len(ruling.event.args) == 3:
                    assert origin.cause.by == ruling.event.args[0]
        for place in member.obligations.places():
            found = member.origin(place, owed=True)
            assert found is not None
            assert found.seq == due[place]


def test_disk_and_memory_have_the_same_bytes() -> None:
    ann, told, base = life(7, 900)
    assert redo(base, told) == ann.snapshot()
    halves = redo(redo(base, told[:400]), told[400:])
    assert halves == ann.snapshot()


def test_the_sentence_outlives_memory_journal_and_restart() -> None:
    law = load(
        "law(b). R1. arrived(_, block, _) :- do(+blocked), do(imposeObligation(free, 9, day)).\n"
        "R2. obligationDue(free) :- do(-blocked).\n"
        "R3. sent(_, _, _) :- not(blocked@CS), do(forward)."
    )
    ann, _ = adopt(law, ANN, now=0)
    ann.handle(arrived("mira@ward", "block", ANN), now=60_000_000)
    for _ in range(3):
        for at in range(200, 600):
            ann.handle(sent(ANN, "hi", "bob@ward"), now=at * 1_000_000)
        ann = Membership.restore(law, decode_snapshot(encode_snapshot(ann.snapshot())))
    ann.handle(sent(ANN, "hi", "bob@ward"), now=700_000_000)
    assert explain(ann, ann.history()[-1], disclose="all").verdict == (
        "Refused: ann is blocked since 00:01, by mira's `block` (R1); "
        "it passes in 8 days, when free falls due (R2)"
    )
    assert explain(ann, ann.history()[-1]).verdict == (
        "Refused: not(blocked@CS) fails in R3; `free` falling due (R2) would change that"
    )


def test_a_past_state_has_the_origins_of_its_time() -> None:
    ann, _ = adopt(LAW, ANN, now=0)
    for _ in range(3):
        ann.handle(sent(ANN, "count", "bob@ward"), now=0)
    (place,) = [place for place, term in ann.state.items() if term != "kept"]
    seqs = [ann.origin(place, before=before) for before in (2, 3, 4, None)]
    assert [one.seq for one in seqs if one] == [0, 2, 3, 4]


def test_what_was_there_before_origins_were_kept_has_none() -> None:
    ann, _, _ = life(3, 50)
    old = Snapshot(*[getattr(ann.snapshot(), name) for name in Snapshot.__struct_fields__[:-1]])
    again = Membership.restore(LAW, old)
    before = [place for place, _ in again.state.items()]
    again.handle(arrived("bob@ward", t.put(99), ANN), now=60_000_000)
    (new,) = [place for place, _ in again.state.items() if place not in before]
    assert [again.origin(place) for place in before] == [None] * len(before)
    origin = Membership.restore(LAW, again.snapshot()).origin(new)
    assert origin is not None
    assert origin.cause == Cause("R1", "arrived", "bob@ward", "put")


@pytest.mark.parametrize("data", [b"\x00", b"\x93\x90\x90\x90", b"\x93\x90" + b"\x95\x00" * 2])
def test_bytes_that_are_no_origins_leave_all_unknown(data: bytes) -> None:
    assert Origins.decode(data, (5, 5)).of(3) is None


def test_a_large_state_pays_at_most_sixteen_bytes_a_term() -> None:
    law = load("law(l). R1. sent(_, m(X), _) :- do(+has(X)).")
    ann, _ = adopt(law, ANN, now=0)
    for at in range(5_000):
        ann.handle(sent(ANN, t.m(at), "bob@ward"), now=at * 1_000_000)
    snapshot = ann.snapshot()
    assert 0 < len(snapshot.origins) <= 16 * 5_000


def test_large_rulings_are_forgotten_but_not_whose_work_something_is() -> None:
    ann, _ = adopt(LAW, ANN, now=0)
    base, told = ann.snapshot(), []
    for number in range(3):
        message = t.put(str(number) * HISTORY_BYTES_MAX)
        effects = ann.handle(arrived("bob@ward", message, ANN), now=number + 1)
        told += [effect.ruling for effect in effects if hasattr(effect, "ruling")]
    assert ann.history() == told[-1:]
    origins = [ann.origin(place) for place in sorted(ann.state.places())]
    assert [one and one.seq for one in origins] == [0, 0, *[ruling.seq for ruling in told]]
    assert redo(base, told) == ann.snapshot()
