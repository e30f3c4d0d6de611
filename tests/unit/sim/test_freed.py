"""A world that is over leaves memory: no circle passes through what the collector does not see."""

import gc
from weakref import ref

import pytest

from nomospace.errors import CallerError, Unavailable
from nomospace.host.step import without_frames
from nomospace.space.reactions import Reaction
from nomospace.space.watchers import Watchers
from nomospace.terms.templates import Template
from nomospace_lab import apps
from nomospace_lab.sim import find, play
from nomospace_lab.sim.simulation import Simulation


def over(workload: str, seed: int) -> ref[Simulation]:
    world, outcome = play(find(workload), seed)
    assert world is not None
    assert not outcome.failed
    return ref(world)


@pytest.mark.parametrize("workload", ["federation", "messages"])
def test_worlds_that_are_over_are_freed(workload: str) -> None:
    apps.load()
    worlds = [over(workload, seed) for seed in range(4)]
    gc.collect()
    assert [seed for seed, world in enumerate(worlds) if world() is not None] == []


class Owner:
    """Has reactions whose listeners have it."""

    def __init__(self, count: int) -> None:
        self.enabled: Watchers[Reaction] = Watchers()
        for number in range(count):
            reaction = Reaction(number, Template.of(("job", int)), listener=self.hear)
            reaction.order = number + 1
            self.enabled.add(reaction)

    def hear(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_reactions_of_one_template_are_freed_with_their_owner(count: int) -> None:
    owner = ref(Owner(count))
    gc.collect()
    assert owner() is None


def fail() -> None:
    try:
        int("seven")
    except ValueError as error:
        raise CallerError from error


def test_an_error_that_is_kept_holds_no_frame() -> None:
    another = Unavailable()
    try:
        raise another
    except Unavailable:
        with pytest.raises(CallerError) as raised:
            fail()
        kept = without_frames(raised.value)
    cause = kept.__cause__
    assert isinstance(cause, ValueError)
    assert (kept.__traceback__, kept.__context__) == (None, None)
    assert (cause.__traceback__, cause.__context__) == (None, None)
    assert another.__traceback__ is not None, "what is handled elsewhere stays as it is"
