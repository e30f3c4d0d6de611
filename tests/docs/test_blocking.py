"""The blocking face has the methods of the async one, with their signatures."""

from __future__ import annotations

import inspect

import pytest

from nomospace import client, node, sync
from nomospace.client import remote

PAIRS = (
    (sync.Host, node.Host),
    (sync.RemoteHost, remote.RemoteHost),
    (sync.Agent, client.Agent),
    (sync.Membership, client.Membership),
    (sync.Space, client.Space),
    (sync.ReactionHandle, client.ReactionHandle),
)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_methods_of_one_name_take_the_same(ours: type, theirs: type) -> None:
    for name, method in inspect.getmembers(ours, inspect.isfunction):
        other = getattr(theirs, name, None)
        if name.startswith("_") or not inspect.isfunction(other):
            continue
        assert list(inspect.signature(method).parameters) == list(
            inspect.signature(other).parameters
        ), name
        assert (method.__doc__ or "").strip(), f"{name} says nothing of itself"
