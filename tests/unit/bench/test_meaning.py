"""The bench of matching by meaning: who takes part, and what a goal asks."""

from __future__ import annotations

import pytest

from nomospace.terms.values import parts_of
from nomospace_lab.bench.peers.meanings import OXIGRAPH, RDFLIB
from nomospace_lab.bench.report import BenchRow
from nomospace_lab.bench.run import BenchRun, UnknownPeer
from nomospace_lab.bench.suites import meaning


def test_a_contest_has_those_of_its_peers_that_were_asked_for() -> None:
    both = (OXIGRAPH, RDFLIB)
    assert meaning._among(BenchRun(), both).peers == ("pyoxigraph", "rdflib")
    assert meaning._among(BenchRun(peers=("rdflib",)), both).peers == ("rdflib",)
    assert meaning._among(BenchRun(peers=("rdflib",)), (OXIGRAPH,)).peers == ()
    with pytest.raises(UnknownPeer):
        meaning._among(BenchRun(peers=("abacus",)), both)


def test_times_faster_than_every_peer_that_was_measured() -> None:
    goal = meaning.at_least_times_faster(3)
    row = BenchRow(what="x", unit="ms", ours=10.0, goal=goal, peers={"a": 30.0, "b": None})
    assert row.met
    assert not BenchRow(what="x", unit="ms", ours=10.0, goal=goal, peers={"a": 29.0}).met


def test_ours_and_sql_by_hand_find_the_same() -> None:
    answers = meaning.matcher(400, strangers=40).all().items
    rows = meaning.by_hand(400)()
    assert [one.tuples for one in answers] == [row[:2] for row in rows]
    assert [tuple(parts_of(field)[1] for field in one.fields) for one in answers] == [
        row[2:] for row in rows
    ]
