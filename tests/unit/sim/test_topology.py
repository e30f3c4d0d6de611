from random import Random

import pytest

from nomospace_lab.sim.topology import SHAPES, Topology, shape


def test_a_link_goes_both_ways_and_is_made_and_broken_once() -> None:
    topology = Topology()
    assert topology.connect("a", "b")
    assert not topology.connect("b", "a")
    assert topology.linked("a", "b")
    assert topology.linked("b", "a")
    assert topology.part("b", "a")
    assert not topology.part("a", "b")
    assert topology.neighbours("a") == ()


def test_a_component_reaches_over_others() -> None:
    topology = Topology()
    for a, b in shape("line", ("a", "b", "c", "d"), Random(0)):
        topology.connect(a, b)
    assert topology.component("d") == ("a", "b", "c", "d")
    topology.part("b", "c")
    assert topology.component("d") == ("c", "d")
    assert topology.component("nobody") == ("nobody",)


def test_links_follow_from_positions() -> None:
    topology = Topology()
    topology.place("a", (0, 0), range_m=10)
    topology.place("b", (5, 0), range_m=10)
    made, broken = topology.place("c", (9, 0), range_m=10)
    assert (made, broken) == ([("c", "a"), ("c", "b")], [])
    made, broken = topology.place("c", (13, 0), range_m=10)
    assert (made, broken) == ([], [("c", "a")])


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "islands"])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_shapes_connect_everybody(name: str, count: int) -> None:
    hosts = [f"h{n}" for n in range(count)]
    topology = Topology()
    for a, b in shape(name, hosts, Random(3)):
        assert topology.connect(a, b), "no link twice"
    assert topology.component("h0") == tuple(sorted(hosts))


def test_islands_are_two_groups() -> None:
    topology = Topology()
    for a, b in shape("islands", ("a", "b", "c", "d", "e"), Random(0)):
        topology.connect(a, b)
    assert topology.component("a") == ("a", "b")
    assert topology.component("c") == ("c", "d", "e")
