"""Where keys are at home: the host that a weighted rendezvous gives, and what it costs to tell."""

from __future__ import annotations

import sys
from hashlib import sha256
from random import Random

import pytest

from nomospace.protocols import homes
from nomospace.protocols.homes import SLOTS, Homes


@pytest.mark.parametrize("seed", range(4))
def test_of_unequal_hosts_the_one_with_the_best_score_wins(seed: int) -> None:
    """Most hosts are passed over without a logarithm, and none of them would have won."""
    rng = Random(seed)
    weights = {
        f"h{n}": rng.choice((0.01, 1.0, 2.0, 1_000.0, rng.uniform(0.01, 9))) for n in range(24)
    }
    found = Homes(weights)
    for slot in range(0, SLOTS, 61):
        mark = (slot + 1) * 0x9E3779B97F4A7C15 & homes._MASK
        scores = {}
        for host in found.hosts:
            number = ((homes._seed(host) ^ mark) * 0xBF58476D1CE4E5B9) & homes._MASK
            number = ((number ^ number >> 27) * 0x94D049BB133111EB) & homes._MASK
            scores[host] = weights[host] / homes._minus_log(number ^ number >> 31)
        assert found.of_slot(slot) == max(scores, key=lambda host: (scores[host], host)), slot


def test_few_logarithms_are_computed_for_a_slot() -> None:
    """Sixty-four hosts of unequal weight, 256 fresh slots: one step of a host may ask for these."""
    found, computed = Homes({f"h{n}": 1 + n / 7 for n in range(64)}), 0

    def count(frame: object, event: str, _: object) -> None:
        nonlocal computed
        code = getattr(frame, "f_code", None)
        computed += event == "call" and code is homes._minus_log.__code__

    sys.setprofile(count)
    try:
        for slot in range(256):
            found.of_slot(slot)
    finally:
        sys.setprofile(None)
    assert computed < 256 * 16


RECORDED = [
    ({f"h{n:02}": 1 + n / 7 for n in range(64)}, 710418532071302662, "c4be68a816bfb34e"),
    (
        {"door": 0.0, "icu": 0.01, "lab": 2.0, "ward": 1000.0},
        5733704365614943580,
        "0af68b586403be8e",
    ),
    ({f"h{n}": 1.0 for n in range(9)}, 3078366635609560840, "f8c80f94254adef4"),
]
"""Hosts and weights, with their digest and all homes, as the first version gave them."""


@pytest.mark.parametrize(("weights", "digest", "all_homes"), RECORDED)
def test_homes_are_those_of_hosts_of_earlier_versions(
    weights: dict[str, float], digest: int, all_homes: str
) -> None:
    """Hosts of several versions share spaces, and must agree where each tuple is at home."""
    found = Homes(weights)
    told = " ".join([found.of_slot(slot) for slot in range(SLOTS)])
    assert (found.digest, sha256(told.encode()).hexdigest()[:16]) == (digest, all_homes)
