from nomospace.law import load
from nomospace_lab import apps
from nomospace_lab.sim import Verdict, World, find, no, play, registry, run, unknown, workload, yes

OPEN = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")


def odd_seeds_fail(world: World) -> Verdict:
    if world.seed % 2:
        return no("seeds are even", f"{world.seed} is odd", *list(world.history)[:1])
    return yes("seeds are even", 3)


def nobody_knows(world: World) -> Verdict:
    return unknown("all is well", "too early to say")


@workload("test-odd", "half of these fail", checkers=(odd_seeds_fail, nobody_knows))
def build_odd(seed: int) -> World:
    world = World(seed)
    world.join("ann@x", OPEN)
    return world


@workload("test-broken", "these do not even run", checkers=())
def build_broken(seed: int) -> World:
    world = World(seed)
    world.act(1, "nobody@x", print)
    return world


def test_failures_cases_and_doubts_are_counted() -> None:
    report = run(find("test-odd"), range(4, 9))
    told = report.as_json()
    assert told["failed"] == [5, 7]
    assert told["checked"]["seeds are even"] == 3 + 1 + 3 + 1 + 3
    assert report.unknown == {"all is well": 5}
    assert list(told) == ["workload", "seeds", "failed", "checked", "took_s"]
    assert (told["workload"], told["seeds"]) == ("test-odd", 5)


def test_an_error_in_a_world_fails_its_seed_and_tells_the_story() -> None:
    world, outcome = play(find("test-broken"), 1)
    assert world is not None
    (verdict,) = outcome.verdicts
    assert outcome.failed
    assert "no agent 'nobody@x' in this world; join it before it acts" in verdict.says


def test_processes_give_what_one_gives() -> None:
    apps.load()
    alone = run(find("messages"), range(9, 13)).as_json()
    together = run(find("messages"), range(9, 13), processes=2).as_json()
    assert {**alone, "took_s": 0} == {**together, "took_s": 0}


def test_every_application_has_a_workload() -> None:
    apps.load()
    assert set(apps.WORKLOADS) <= set(registry)
