"""The checker explains what a space may do, and finds each fault with the smallest piece of it."""

import random
from collections.abc import Callable
from math import inf

import pytest

from nomospace_lab.testing.outside import HistoryVerdict, Operation, explain, pieces, unanswered

Op = Operation


def _told(*operations: Operation) -> HistoryVerdict:
    """What the checker says, with other clients' work around."""
    others = []
    for n in range(20):
        others += [
            Op("zoe", "out", n, n + 0.4, ids=(f"z{n}",), topic="z"),
            Op("zoe", "take", n + 0.5, n + 0.9, ids=(f"z{n}",), topic="z"),
        ]
    return explain([*others, *operations])


FAULTS: dict[str, tuple[list[Operation], int]] = {
    "a write that was answered is lost": (
        [Op("ann", "out", 1, 2, ids=("a",), topic="t"), Op("bob", "take", 3, 4, topic="t")],
        2,
    ),
    "a tuple is given twice": (
        [
            Op("ann", "out", 1, 2, ids=("a",), topic="t"),
            Op("bob", "take", 3, 6, ids=("a",), topic="t"),
            Op("eve", "take", 4, 5, ids=("a",), topic="t"),
        ],
        3,
    ),
    "a wait is not told of what lies there": (
        [
            Op("ann", "out", 1, 2, ids=("a",), topic="t"),
            Op("eve", "take", 3, 9, topic="t"),
            Op("bob", "take", 10, 11, ids=("a",), topic="t"),
        ],
        3,
    ),
    "a read is stale": (
        [
            Op("ann", "out", 1, 2, ids=("a",), topic="t"),
            Op("bob", "take", 3, 4, ids=("a",), topic="t"),
            Op("eve", "read", 5, 6, ids=("a",), topic="t"),
        ],
        3,
    ),
    "a tuple is there that nobody wrote": (
        [Op("bob", "read", 3, 4, ids=("a",), topic="t")],
        1,
    ),
    "a tuple is there that was refused": (
        [
            Op("ann", "out", 1, 2, ids=("a",), topic="t", outcome="refused"),
            Op("bob", "take", 3, 4, ids=("a",), topic="t"),
        ],
        1,
    ),
    "a key has written twice": (
        [
            Op("ann", "out", 1, 2, ids=("a",), key="k"),
            Op("ann", "out", 3, 4, ids=("b",), key="k"),
            Op("bob", "take", 5, 6, ids=("a",)),
            Op("bob", "take", 7, 8, ids=("b",)),
        ],
        4,
    ),
    "a tuple is lent to two": (
        [
            Op("ann", "out", 1, 2, ids=("a",)),
            Op("bob", "lend", 3, 4, ids=("a",), lease="L1"),
            Op("eve", "lend", 5, 6, ids=("a",), lease="L2"),
        ],
        3,
    ),
    "a tuple comes back after its lease was acknowledged": (
        [
            Op("ann", "out", 1, 2, ids=("a",)),
            Op("bob", "lend", 3, 4, ids=("a",), lease="L1"),
            Op("(host)", "lapse", 3, inf, lease="L1", outcome="unknown"),
            Op("bob", "acknowledge", 5, 6, lease="L1"),
            Op("eve", "take", 7, 8, ids=("a",)),
        ],
        4,
    ),
    "a set is not taken whole": (
        [
            Op("ann", "out", 1, 2, ids=("a",)),
            Op("ann", "out", 3, 4, ids=("b",)),
            Op("bob", "take", 5, 8, ids=("a", "b")),
            Op("eve", "take", 9, 10, ids=("b",)),
        ],
        4,
    ),
    "letters come out of order": (
        [
            Op("ann", "send", 1, 2, ids=("one",), topic="ann>bob"),
            Op("ann", "send", 3, 4, ids=("two",), topic="ann>bob"),
            Op("bob", "receive", 5, 6, ids=("two",), topic="ann>bob"),
            Op("bob", "receive", 7, 8, ids=("one",), topic="ann>bob"),
        ],
        3,
    ),
    "a letter comes twice": (
        [
            Op("ann", "send", 1, 2, ids=("one",), topic="ann>bob"),
            Op("bob", "receive", 5, 6, ids=("one",), topic="ann>bob"),
            Op("bob", "receive", 7, 8, ids=("one",), topic="ann>bob"),
        ],
        3,
    ),
}
"""What a host may do wrong, and how many operations prove it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_and_proved_by_few_operations(fault: str) -> None:
    operations, size = FAULTS[fault]
    told = _told(*operations)
    assert told.answer == "no", told
    assert len(told.proof) <= size, told
    assert all(one.client != "zoe" for one in told.proof)
    assert explain(told.proof).answer == "no", "the piece alone proves it"


def test_operations_that_overlap_may_have_been_in_any_order() -> None:
    assert explain(
        [
            Op("ann", "out", 1, 5, ids=("a",), topic="t"),
            Op("bob", "take", 1, 2, topic="t"),  # before it was written
            Op("eve", "read", 3, 6, ids=("a",), topic="t"),
            Op("bob", "take", 4, 7, ids=("a",), topic="t"),
            Op("eve", "take", 6, 8, topic="t"),
        ]
    ) == HistoryVerdict("yes", 5, 1)


def test_what_is_unknown_may_have_been_done_late_or_never() -> None:
    write = unanswered(Op("ann", "out", 1, ids=("a",), topic="t"))
    nothing = Op("bob", "take", 2, 3, topic="t")
    found = Op("bob", "take", 4, 5, ids=("a",), topic="t")
    for seen in ([nothing], [nothing, found], [found]):
        assert explain([write, *seen]).answer == "yes"
    taken = unanswered(Op("eve", "take", 2, topic="t"))
    lost = [Op("ann", "out", 0, 1, ids=("a",), topic="t"), taken, replace_at(nothing, 6, 7)]
    assert explain(lost).answer == "yes"
    assert explain([*lost, replace_at(found, 8, 9)]).answer == "no"


def replace_at(one: Operation, called: float, returned: float) -> Operation:
    return Op(one.client, one.kind, called, returned, one.ids, one.topic)


def test_a_search_remembers_so_many_tuples_and_then_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five thousand tuples in each of fifty thousand spaces were more than a machine has."""
    history = [Operation("ann", "out", at, at + 1, ids=(f"t{at}",)) for at in range(40)]
    history += [Operation("bob", "take", 50, topic="", outcome="unknown")]
    history += [Operation("bob", "take", 60, 61, ids=("t39",))]
    assert explain(history).answer == "yes"
    monkeypatch.setattr("nomospace_lab.testing.outside.HELD_MAX", 100)
    assert explain(history).answer == "unknown"


def test_a_lease_that_lapsed_gives_its_tuple_to_another() -> None:
    history = [
        Op("ann", "out", 1, 2, ids=("a",)),
        Op("bob", "lend", 3, 4, ids=("a",), lease="L1"),
        Op("(host)", "lapse", 3, inf, lease="L1", outcome="unknown"),
        Op("eve", "lend", 6, 7, ids=("a",), lease="L2"),
        Op("eve", "acknowledge", 8, 9, lease="L2"),
    ]
    assert explain(history).answer == "yes"
    late = Op("bob", "acknowledge", 8, 10, lease="L1")
    assert explain([*history, late]).answer == "no"


def test_the_piece_that_is_shown_has_the_write_that_it_is_about() -> None:
    history = [Op("ann", "out", 0, 1, ids=("a",), topic="t")]
    for n in range(5):
        history += [
            Op("bob", "lend", 2 + n, 2.2 + n, ids=("a",), topic="t", lease=f"L{n}"),
            Op("bob", "give back", 2.3 + n, 2.5 + n, lease=f"L{n}"),
        ]
    lost = Op("eve", "take", 20, 21, topic="t")
    proof = explain([*history, lost]).proof
    assert {history[0], lost} <= {*proof}
    assert explain(proof).answer == "no"


def test_a_history_falls_into_what_has_nothing_to_do_with_each_other() -> None:
    history = [Op("ann", "out", n, n + 1, ids=(f"a{n}",), topic="t") for n in range(9)]
    assert len(pieces(history)) == 9
    assert len(pieces([*history, Op("bob", "take", 3, 9, ids=("a1", "a2"))])) == 8
    assert len(pieces([*history, Op("bob", "take", 0, 1, topic="t")])) == 1
    assert len(pieces([*history, Op("bob", "take", 20, 21, topic="t")])) == 9


class _Host:
    """A space that does what it should: operations take effect one after the other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.here: list[str] = []
        self.lent: dict[str, str] = {}
        self.letters: list[str] = []
        self.now = 0.0
        self.made = 0
        self.history: list[Operation] = []

    def step(self) -> None:
        """One operation, which takes effect now and was called before."""
        rng = self.rng
        self.now += 1.0
        self.made += 1
        called = self.now - rng.uniform(0.1, 6.0)
        returned = self.now + rng.uniform(0.1, 6.0)
        client = f"client-{rng.randrange(5)}"

        def told(kind: str, ids: tuple[str, ...] = (), **more: str) -> None:
            topic = more.pop("topic", "t")
            one = Op(client, kind, called, returned, ids, topic, **more)  # type: ignore[arg-type]
            loses = kind in ("out", "send", "acknowledge") or (kind == "take" and len(ids) == 1)
            if loses and rng.random() < 0.05:
                one = unanswered(Op(client, one.kind, called, inf, ids, topic, lease=one.lease))
                if kind == "take":
                    one = unanswered(Op(client, "take", called, inf, (), topic))
            self.history.append(one)

        match rng.choice("out out out read take lend end set send get".split()):
            case "out":
                self.here.append(f"a{self.made}")
                told("out", (self.here[-1],))
            case "read":
                told("read", (rng.choice(self.here),) if self.here else ())
            case "take":
                found = (self.here.pop(rng.randrange(len(self.here))),) if self.here else ()
                told("take", found)
            case "lend" if self.here:
                lease = f"L{self.made}"
                self.lent[lease] = self.here.pop()
                told("lend", (self.lent[lease],), lease=lease)
            case "end" if self.lent:
                lease, id = self.lent.popitem()
                if rng.random() < 0.5:
                    told("acknowledge", lease=lease)
                else:
                    told("give back", lease=lease)
                    self.here.append(id)
            case "set" if len(self.here) > 1:
                told("take", (self.here.pop(), self.here.pop()))
            case "send":
                self.letters.append(f"m{self.made}")
                told("send", (self.letters[-1],), topic="q")
            case "get":
                told("receive", (self.letters.pop(0),) if self.letters else (), topic="q")


@pytest.mark.parametrize("seed", range(20))
def test_what_a_space_does_that_works_is_always_explained(seed: int) -> None:
    host = _Host(random.Random(seed))
    for _ in range(60):
        host.step()
    told = explain(host.history)
    assert told.answer == "yes", told


def _changed(how: Callable[[list[Operation], random.Random], None], seed: int) -> HistoryVerdict:
    rng = random.Random(seed)
    host = _Host(rng)
    for _ in range(60):
        host.step()
    how(host.history, rng)
    return explain(host.history)


def test_a_history_with_a_tuple_that_is_taken_again_is_never_explained() -> None:
    def again(history: list[Operation], rng: random.Random) -> None:
        taken = [one for one in history if one.kind == "take" and one.ids]
        one = rng.choice(taken)
        history.append(Op("eve", "take", one.returned + 1, one.returned + 2, one.ids[:1], "t"))

    assert {_changed(again, seed).answer for seed in range(20)} == {"no"}
