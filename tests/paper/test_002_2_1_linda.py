"""`002_…` sections 2.1 and 3.1: what of Linda LIME builds on, on one host."""

from typing import Any

import pytest

from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts


@pytest.fixture
def net() -> Hosts:
    net = Hosts("a")
    net.agent("ann@a", "jobs")
    net.agent("bob@a", "jobs")
    return net


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (("foo", int, float), True),
        (("foo", 9, ANY), True),
        (("foo", 9, 27.5), True),
        (("foo", int, int), False),
        (("bar", int, float), False),
        (("foo", int), False),
        (("foo", int, float, ANY), False),
    ],
)
def test_actuals_are_compared_and_formals_stand_for_a_type(
    net: Hosts, pattern: tuple[Any, ...], matches: bool
) -> None:
    """2.1: the paper's own tuple, and templates that do and do not match it."""
    net.out("ann@a", "foo", 9, 27.5)
    assert net.seek("bob@a", "read_nowait", *pattern) == (("foo", 9, 27.5) if matches else None)


def test_in_removes_and_rd_does_not(net: Hosts) -> None:
    """2.1 and 3.1: `in` is remove, `rd` is copy."""
    net.out("ann@a", "job", 1)
    assert net.seek("bob@a", "read", "job", int) == ("job", 1)
    assert net.seek("bob@a", "take", "job", int) == ("job", 1)
    assert net.seek("bob@a", "read_nowait", "job", int) is None


@pytest.mark.parametrize("how", ["take", "read"])
def test_in_and_rd_wait_until_there_is_a_match(net: Hosts, how: str) -> None:
    """2.1: both block."""
    waiting = net.begin("bob@a", how, "job", int)
    net.run(5)
    net.out("ann@a", "other", 1)
    assert net.got(waiting) is None
    net.out("ann@a", "job", 1)
    assert net.got(waiting) == ("job", 1)


def test_one_tuple_serves_every_rd_and_one_in(net: Hosts) -> None:
    """3.1: a removed tuple is bound to one operation; a copied one stays."""
    reads = [net.begin("bob@a", "read", "job", int) for _ in range(2)]
    takes = [net.begin("bob@a", "take", "job", int) for _ in range(2)]
    net.out("ann@a", "job", 1)
    assert [net.got(op) for op in (*reads, *takes)] == [("job", 1)] * 3 + [None]


@pytest.mark.parametrize("how", ["take_nowait", "read_nowait", "take_all", "read_all"])
def test_probes_and_group_operations_do_not_wait(net: Hosts, how: str) -> None:
    """3.1: nothing (here `None`, or an empty list) when no match exists."""
    answer = net.got(net.begin("bob@a", how, "job", int))
    assert answer == ([] if how.endswith("all") else None)


def test_equal_tuples_are_several(net: Hosts) -> None:
    """2.1: a space is a multiset. 3.1: hidden ids make it one, and are not among the fields."""
    for _ in range(3):
        net.out("ann@a", "job", 1)
    assert net.seek("bob@a", "read_all", "job", int) == [("job", 1)] * 3
    assert net.seek("bob@a", "take_nowait", "job", int) == ("job", 1)
    assert net.seek("bob@a", "take_all", "job", int) == [("job", 1)] * 2
    assert net.seek("bob@a", "take_all", "job", int) == []
