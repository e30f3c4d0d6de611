from random import Random

import pytest

from nomospace.space import SeenIds, seen as module


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_what_a_set_holds_in_as_few_intervals(seed: int) -> None:
    rng, seen, ids = Random(seed), SeenIds(), set[tuple[str, int]]()
    for _ in range(300):
        writer, low = rng.choice("ab"), rng.randrange(120)
        high = low + rng.choice((-1, 0, 0, 0, 5))
        seen.add_span(writer, low, high)
        ids |= {(writer, count) for count in range(low, high + 1)}
        assert all(((w, c) in seen) is ((w, c) in ids) for w in "abz" for c in range(-1, 130))
    for writer, pairs in seen.spans().items():
        starts = [c for w, c in ids if w == writer and (w, c - 1) not in ids]
        assert [low for low, _ in pairs] == sorted(starts)
    assert SeenIds(seen.spans()) == seen


def test_two_merge() -> None:
    one, other = SeenIds({"ann": [(1, 3)]}), SeenIds({"ann": [(4, 6), (9, 9)], "bob": [(1, 1)]})
    one.merge(other)
    assert one.spans() == {"ann": [(1, 6), (9, 9)], "bob": [(1, 1)]}
    one.clear()
    assert not one


def test_past_the_limit_old_gaps_are_closed_and_nothing_is_forgotten() -> None:
    seen = SeenIds()
    for count in range(0, 4 * module.SPANS_MAX, 2):
        seen.add(("ann", count))
    spans = seen.spans()["ann"]
    assert len(spans) <= module.SPANS_MAX
    assert all(("ann", count) in seen for count in range(0, 4 * module.SPANS_MAX, 2))
    assert ("ann", 1) in seen, "an old gap is closed"
    assert ("ann", 4 * module.SPANS_MAX - 3) not in seen, "a new one is open"


def test_past_the_limit_of_writers_the_longest_unheard_of_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WRITERS_MAX", 2)
    seen = SeenIds()
    for writer in ("ann", "bob", "ann", "cyd"):
        seen.add((writer, 1))
    assert list(seen.spans()) == ["ann", "cyd"]
