"""Some worlds of clients whose connections break; `nomospace sim --workload sessions` runs more."""

from nomospace_lab import apps
from nomospace_lab.sim import find, play
from nomospace_lab.sim.clients import ClientWorld
from nomospace_lab.sim.history import CRASHED, CUT

SEEDS = range(40)


def test_what_must_hold_holds() -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in SEEDS:
        world, outcome = play(find("sessions"), seed)
        assert isinstance(world, ClientWorld)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload sessions --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
        for kind in (CRASHED, CUT):
            tested[kind] = tested.get(kind, 0) + world.history.count(kind)
    assert all(tested.values()), f"never put to the test: {tested}"
    assert tested[CRASHED] > len(SEEDS)
    assert tested[CUT] > 2 * len(SEEDS)


def test_one_seed_gives_one_history() -> None:
    apps.load()
    digests = []
    for _ in range(2):
        world = find("sessions").build(7)
        world.run()
        digests.append(world.history.digest())
    assert digests[0] == digests[1]
