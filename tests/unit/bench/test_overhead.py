"""`nomospace bench overhead`: its model, and two of its placements in real processes."""

import pytest

from nomospace_lab.bench.suites import overhead
from nomospace_lab.bench.suites.overhead import LOCAL, REMOTE, SHARED, Costs


def test_the_models_are_the_equations() -> None:
    """`000_…` 5 with its own figures, in ms: 0.14, about 2, and 0.07."""
    clear = Costs(evaluate=3.5, call=0.1, link=50.0, straight=50.0, seal=0.0)
    assert LOCAL.model(clear) / clear.straight - 1 == pytest.approx(0.14)
    signed = Costs(evaluate=3.5, call=100.0, link=100.0, straight=100.0, seal=0.0)
    assert REMOTE.model(signed) / signed.straight - 1 == pytest.approx(2.07)
    # The paper's shared controller is beside the space: one way is a pipe, the other the network.
    shared = Costs(evaluate=3.5, call=(100.0 + 0.1) / 2, link=0.0, straight=100.0, seal=0.0)
    assert SHARED.model(shared) / shared.straight - 1 == pytest.approx(0.071)


def test_a_row_sets_measurement_and_model_against_what_goes_straight() -> None:
    costs = Costs(evaluate=10.0, call=20.0, link=50.0, straight=25.0, seal=5.0)
    row = overhead._row(REMOTE, costs, 150.0, "signed")
    assert (row.ours, row.floor, row.peers) == (150.0, 25.0, {"model": 115.0})
    assert "relative overhead 5.0, the model says 3.6" in row.how
    assert "it would be 2.001" in row.how


@pytest.mark.slow
def test_messages_between_real_processes() -> None:
    local, link = overhead._run(overhead._local(None, 50))
    shared, call = overhead._run(overhead._shared(None, 50))
    # Which of them took longer is for the bench to say, on a quiet machine.
    assert min(local, link, shared, call) > 0
