"""What happens in a hospital, told once for hosts of this process and for hosts of their own.

Each story is given a `Ward` and knows nothing of where its hosts and mediators run. `med` is a
mediator that is at work when the story begins, `med1` and `med2` where it wants two.
"""

from __future__ import annotations

import asyncio

import pytest

import nomospace as ns
from nomospace import laws
from nomospace.law import load
from nomospace.terms import Compound, show, t, term
from tests.paper.hospital import WAIT_S, Ward, publish

MP = load(laws.text("mp"))
TRIES_MAX = 40


async def points_2_to_4(ward: Ward) -> None:
    """An expert's alarm is for everyone, a layman's for experts only; matching is exact."""
    await ward.join("fay", "expert(fire)")
    await ward.join("lea")
    await ward.join("bob")
    for name in ("fay", "lea"):
        await ward.settled(name, "fire", "med")
    await ward.settled("bob", "blood", "med")
    assert (await ward.send("lea", publish("fire", "smoke"), to="med")).rule == "R3"
    assert await ward.alarm("fay") == ("fire", "layman", "smoke")
    await ward.send("fay", publish("fire", "sparks"), to="med")
    assert await ward.alarm("fay") == ("fire", "expert", "sparks")
    assert await ward.alarm("lea") == ("fire", "expert", "sparks")  # and not the smoke
    assert ward.members["bob"].receive_nowait() is None
    again = await ward.send("lea", publish("fire", "smoke"), to="med")
    assert again.refused  # point 4: not the same alarm within five minutes


async def attributes_must_all_be_equal(ward: Ward) -> None:
    """2.1: `alarm([kind(fire), status(expert)])` names attributes that must all be there."""
    await ward.join("fay", "expert(fire)")
    await ward.join("ida", "expert(fire)")
    await ward.send("ida", "subscribe(alarm([kind(fire), status(expert)]))", to="med")
    await ward.settled("fay", "fire", "med")
    await ward.join("lea")
    await ward.send("lea", publish("fire", "smoke"), to="med")
    assert await ward.alarm("fay") == ("fire", "layman", "smoke")
    await ward.send("fay", publish("fire", "sparks"), to="med")
    assert await ward.alarm("fay") == ("fire", "expert", "sparks")
    texts = [(await ward.alarm("ida"))[2]]
    while texts[-1] != "sparks":
        texts.append((await ward.alarm("ida"))[2])
    assert "smoke" not in texts


async def an_inspector_is_subscribed_by_its_appointment(ward: Ward) -> None:
    """Point 5a: the law subscribes an inspector, and the mediator sees no difference."""
    await ward.join("max", "facilityManager")
    await ward.join("ida", "expert(fire)")
    await ward.join("lea")
    duty = f"inspectorOnDuty(kind(fire),med('{ward.id('med')}'))"
    assert (await ward.send("max", duty, to="ida")).rule == "R8"
    assert (await ward.hear("ida")).message == term(duty)
    await ward.join("eve", "expert(fire)")
    await ward.settled("eve", "fire", "med")
    await ward.send("lea", publish("fire", "smoke"), to="med")
    letter = await ward.hear("ida")
    while "smoke" not in show(letter.message):
        letter = await ward.hear("ida")
    alarm = letter.message.args[0]
    assert (await ward.send("ida", f"ack({show(alarm)})", to="max")).rule == "R12"
    assert (await ward.hear("max")).message == term(f"ack({show(alarm)})")


async def told_by(ward: Ward, mediator: str) -> None:
    """Publish at a mediator until it has heard what `lea` wants, and `lea` was told."""
    for number in range(TRIES_MAX):
        text = f"try({mediator},{number})"
        await ward.send("fay", publish("fire", text), to=mediator)
        try:
            async with asyncio.timeout(2):
                while show((await ward.alarm("lea"))[2]) != text:
                    pass
        except TimeoutError:
            continue
        return
    raise AssertionError(f"{mediator} does not know what was subscribed to elsewhere")


async def subscribe_at_one_and_publish_at_the_other(ward: Ward) -> None:
    """5: several mediators. Subscribe at one, publish at the other, be told once."""
    await ward.join("lea")
    await ward.join("fay", "expert(fire)")
    await ward.settled("lea", "fire", "med1")
    await told_by(ward, "med2")
    for mediator in ("med1", "med2", "med1"):
        await ward.send("fay", publish("fire", f"by({mediator})"), to=mediator)
        assert show((await ward.alarm("lea"))[2]) == f"by({mediator})"
    await asyncio.sleep(0.2)
    assert ward.members["lea"].receive_nowait() is None  # once each


# -- wherever controllers are ------------------------------------------------------------------


async def alarms(ward: Ward) -> None:
    """Law AP: alarms of an expert and of a layman, duties, blocks and attempts to cheat."""
    await ward.join("max", "facilityManager")
    await ward.join("fay", "expert(fire)")
    await ward.join("lea")
    await ward.settled("fay", "fire", "med")
    await ward.settled("lea", "fire", "med")
    await ward.probed("fay")  # by the other's, too
    await ward.send("lea", publish("fire", "smoke"), to="med")
    assert await ward.alarm("fay") == ("fire", "layman", "smoke")
    await ward.send("lea", publish("fire", "smoke"), to="med")  # too soon
    duty = f"inspectorOnDuty(kind(fire),med('{ward.id('med')}'))"
    await ward.send("max", duty, to="fay")
    await ward.send("lea", duty, to="fay")  # she is no manager
    await ward.hear("fay")
    await ward.send("max", "blockLay", to="lea")
    await ward.hear("lea")
    await ward.send("lea", publish("blood", "leak"), to="med")  # blocked
    await ward.send("fay", publish("fire", "sparks"), to="med")
    assert await ward.alarm("lea") == ("fire", "expert", "sparks")


ALARM_RULES = {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10a", "R11a", None}
"""Which rules that story is ruled by, once its obligations have fallen due."""


async def letters(ward: Ward) -> None:
    """Law MP: letters in a tuple space, which only their addressees get at."""
    spaces = {}
    for name in ("ann", "bob", "eve"):
        agent = await ward.enter(name)
        await agent.adopt(MP)
        spaces[name] = await agent.space("mail", shared=True, law=MP)
    ann, bob = ward.id("ann"), ward.id("bob")
    await spaces["ann"].out(t.msg("hello"), Compound("from", (ann,)), t.to(bob))
    for attempt in (
        spaces["eve"].take_nowait(t.msg(ns.ANY), Compound("from", (ann,)), t.to(bob)),
        spaces["eve"].out(t.msg("run"), Compound("from", (ann,)), t.to(bob)),
        spaces["bob"].read_nowait(t.msg(ns.ANY), Compound("from", (ann,)), ns.ANY),
    ):
        with pytest.raises(ns.Refused):
            await attempt
    letter = await spaces["bob"].take(
        t.msg(ns.ANY), Compound("from", (ns.ANY,)), t.to(bob), timeout=WAIT_S
    )
    assert letter[0] == t.msg("hello")
