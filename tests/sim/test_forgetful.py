"""A few worlds of hosts that forget; `nomospace sim --workload forgetful` runs more."""

from nomospace_lab import apps
from nomospace_lab.sim import find, play
from nomospace_lab.sim.federation import Sites

SEEDS = (0, 1, 2, 251)
"""251: posts that a server passed on were overtaken by those that needed none."""


def test_what_must_hold_holds() -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in SEEDS:
        _, outcome = play(find("forgetful"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload forgetful --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"


def test_bytes_change_nothing() -> None:
    apps.load()
    digests = []
    for encode in (False, True):
        world = find("forgetful").build(3)
        assert isinstance(world, Sites)
        world.encode = encode
        world.run()
        digests.append(world.history.digest())
    assert digests[0] == digests[1]
