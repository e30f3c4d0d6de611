"""An agent asks where it stands: as much as its law discloses, no more."""

import nomospace as ns
from nomospace.control import Standing
from nomospace.law import CompiledLaw, load
from nomospace.terms import t
from nomospace_lab.testing.loop import run

RULES = "R1. sent(_, wait, _) :- do(+seen(1)), do(imposeObligation(wake, 60)), do(forward)."


def standing(law: CompiledLaw) -> Standing:
    async def ask() -> Standing:
        async with ns.Host("ward") as host:
            ann = await (await host.agent("ann")).adopt(law)
            await ann.send("wait", to="bob@ward")
            found: Standing = await ann.standing()
            return found

    return run(ask())


def test_a_law_that_discloses_all_tells_state_and_duties() -> None:
    found = standing(load(f"law(open). disclose(all). initialCS([calm]). {RULES}"))
    assert found.told
    assert found.state == ("calm", t.seen(1))
    assert [term for _, term in found.owed] == ["wake"]


def test_other_laws_tell_nothing_of_it() -> None:
    for level in ("rules", "none"):
        found = standing(load(f"law(shut). disclose({level}). initialCS([calm]). {RULES}"))
        assert (found.told, found.disclose, found.state, found.owed) == (False, level, (), ())
