from random import Random

import pytest

from nomospace_lab.sim import Link, SimNetwork


def test_delay_stays_in_its_range_and_packets_overtake_each_other() -> None:
    network = SimNetwork(Random(1), Link(delay_min_us=10, delay_max_us=500))
    when = [network.arrivals("a", "b", now=1_000)[0] for _ in range(500)]
    assert min(when) >= 1_010
    assert max(when) <= 1_500
    assert when != sorted(when)


def test_a_link_that_keeps_order_keeps_it() -> None:
    network = SimNetwork(Random(1), Link(delay_max_us=50_000, keeps_order=True, repeats=0.3))
    when = [at for now in range(0, 5_000, 10) for at in network.arrivals("a", "b", now=now)]
    assert when == sorted(when)


@pytest.mark.parametrize("loss", [0.0, 0.3, 1.0])
def test_loss_is_the_share_that_was_asked_for(loss: float) -> None:
    network = SimNetwork(Random(2), Link(loss=loss))
    lost = sum(not network.arrivals("a", "b", now=0) for _ in range(2_000))
    assert lost == pytest.approx(2_000 * loss, abs=80)


def test_repeats_arrive_twice() -> None:
    network = SimNetwork(Random(3), Link(repeats=0.5))
    twice = sum(len(network.arrivals("a", "b", now=0)) == 2 for _ in range(2_000))
    assert twice == pytest.approx(1_000, abs=80)


def test_a_partition_cuts_across_and_not_inside() -> None:
    network = SimNetwork(Random(4))
    network.cut(["a", "b"])
    assert network.parted("a", "c")
    assert network.parted("c", "b")
    assert not network.parted("a", "b")
    assert not network.parted("c", "d")
    assert network.arrivals("a", "c", now=0) == []
    assert network.arrivals("a", "b", now=0)


def test_overlapping_partitions_end_one_by_one() -> None:
    network = SimNetwork(Random(5))
    network.cut(["a"])
    network.cut(["a", "b"])
    network.join(["a"])
    assert network.parted("a", "c")
    assert not network.parted("a", "b")
    network.join(["b", "a"])
    assert not network.parted("a", "c")


def test_one_link_may_be_worse_than_the_others_and_only_in_one_direction() -> None:
    network = SimNetwork(Random(6))
    network.set_link("a", "b", Link(loss=1))
    assert network.arrivals("a", "b", now=0) == []
    assert network.arrivals("b", "a", now=0)
    network.set_link("a", "b", None)
    assert network.arrivals("a", "b", now=0)


def test_nothing_is_lost_inside_a_host() -> None:
    network = SimNetwork(Random(7), Link(loss=1))
    network.cut(["a"])
    assert network.arrivals("a", "a", now=0)


def test_healing_leaves_nothing_but_delay() -> None:
    network = SimNetwork(Random(8), Link(delay_max_us=9_000, loss=0.9, repeats=0.9))
    network.cut(["a"])
    network.set_link("a", "b", Link(loss=1))
    network.usual = Link(delay_max_us=20_000_000, loss=0.5)  # a storm
    network.heal()
    assert all(len(network.arrivals("a", "b", now=0)) == 1 for _ in range(200))
    assert network.usual.delay_max_us == 9_000
