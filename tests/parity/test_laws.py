"""Communities: messages, refusals, obligations and governed spaces."""

import asyncio

import pytest

from nomospace import Law, LeaseLapsed, Refused, Space, t
from nomospace.law import load
from nomospace.laws import path
from tests.parity.conftest import Play
from tests.parity.worlds import WAIT_S, World, see, until

RATE = load(
    """\
law(rate).
initialCS([quota(2)]).
R1. sent(_, publish(_), _) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. sent(_, say(_), _) :- do(forward).
R3. arrived(_, _, _) :- do(deliver).
R4. sent(_, remind(M, S), _) :- do(imposeObligation(remind(M), S)).
R5. obligationDue(remind(M)) :- do(deliver(Self, reminded(M), Self)).
R7. sent(_, {n: N}, _) :- N > 0, do(forward).
R6. exception(forward(_, M, _), Why) :- do(deliver(Self, failed(M, Why), Self)).
"""
)


async def next_letter(membership: object) -> tuple[str, object]:
    async with asyncio.timeout(WAIT_S):
        async for letter in membership.inbox():  # type: ignore[attr-defined]
            return letter.sender, letter.message
    raise AssertionError("the inbox ended")


def test_a_law_permits_refuses_and_says_why(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "ward")
        mine, theirs = await ann.adopt(RATE), await bob.adopt(RATE)
        for _ in range(2):
            ruling = await mine.send(t.publish("news"), to="bob@ward")
            assert ruling.rule == "R1"
            assert not ruling.refused
        ruling = await mine.send(t.publish("news"), to="bob@ward")
        assert ruling.refused
        assert "R1: did not fire" in ruling.explain()
        for _ in range(2):
            assert await next_letter(theirs) == ("ann@ward", t.publish("news"))

    play(story)


def test_a_dict_is_a_message_that_a_law_looks_into(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "ward")
        mine, theirs = await ann.adopt(RATE), await bob.adopt(RATE)
        assert (await mine.send({"n": 0}, to="bob@ward")).refused
        assert (await mine.send({"n": 1, "m": 2}, to="bob@ward")).refused
        assert (await mine.send({"n": 1}, to="bob@ward")).rule == "R7"
        assert await next_letter(theirs) == ("ann@ward", {"n": 1})

    play(story)


def test_messages_cross_hosts_in_order(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward", "icu")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        mine, theirs = await ann.adopt(RATE), await bob.adopt(RATE)
        await see(ann, "icu")
        for number in range(30):
            await mine.send(t.say(number), to="bob@icu")
        for number in range(30):
            assert await next_letter(theirs) == ("ann@ward", t.say(number))
        await theirs.send(t.say("back"), to="ann@ward")
        assert await next_letter(mine) == ("bob@icu", t.say("back"))

    play(story)


def test_a_message_to_nobody_is_an_exception_for_its_sender(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        mine = await (await world.agent("ann", "ward")).adopt(RATE)
        await mine.send(t.say(1), to="nobody@ward")
        assert await next_letter(mine) == (
            "ann@ward",
            t.failed(t.say(1), "unknownDestination"),
        )

    play(story)


def test_obligations_come_due_once_also_after_the_host_was_killed(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        ann = await world.agent("ann", "ward")
        mine = await ann.adopt(RATE)
        await mine.send(t.remind("early", 0), to="ann@ward")
        assert await next_letter(mine) == ("ann@ward", t.reminded("early"))
        await mine.send(t.remind("late", 1), to="ann@ward")
        await world.kill("ward")
        await asyncio.sleep(1.2)
        await world.start("ward")
        ann = await world.agent("ann", "ward")
        mine = ann.resume(RATE)
        assert await next_letter(mine) == ("ann@ward", t.reminded("late"))
        await asyncio.sleep(0.3)
        assert mine.receive_nowait() is None

    play(story)


def test_control_state_outlives_the_host(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward")
        for name in ("ann", "bob"):
            await (await world.agent(name, "ward")).adopt(RATE)
        mine = (await world.agent("ann", "ward")).membership(RATE)
        assert mine is not None
        assert not (await mine.send(t.publish(1), to="bob@ward")).refused
        await world.kill("ward")
        await world.start("ward")
        mine = (await world.agent("ann", "ward")).resume(RATE)
        assert not (await mine.send(t.publish(2), to="bob@ward")).refused
        assert (await mine.send(t.publish(3), to="bob@ward")).refused

    play(story)


def test_a_governed_space_lets_each_take_what_is_its_own(play: Play) -> None:
    async def story(world: World) -> None:
        law = Law.load(path("mp"))
        await world.start("ward", "icu")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        spaces = []
        for agent in (ann, bob):
            await agent.adopt(law)
            spaces.append(await agent.space("mail", shared=True, law=law))
        await see(ann, "icu")
        await spaces[0].out(t.msg("hello"), t["from"]("ann@ward"), t.to("bob@icu"))
        with pytest.raises(Refused):
            await spaces[0].out(t.msg("lie"), t["from"]("bob@icu"), t.to("ann@ward"))
        with pytest.raises(Refused):
            await spaces[0].take(t.msg(str), t["from"](str), t.to("bob@icu"), timeout=WAIT_S)
        found = await spaces[1].take(t.msg(str), t["from"](str), t.to("bob@icu"), timeout=WAIT_S)
        assert found == (t.msg("hello"), t["from"]("ann@ward"), t.to("bob@icu"))

    play(story)


def test_a_lease_from_another_host_goes_on_when_either_host_was_killed(play: Play) -> None:
    async def story(world: World) -> None:
        law = Law.load(path("mp"))

        async def mail_of(name: str, host: str) -> Space:
            agent = await world.agent(name, host)
            await agent.adopt(law)
            return await agent.space("mail", shared=True, law=law)

        await world.start("ward", "icu")
        letter = (t["from"]("ann@ward"), t.to("bob@icu"))
        written = await mail_of("ann", "ward")
        for number in (1, 2):
            await written.out(t.msg(number), *letter)
        mail = await mail_of("bob", "icu")
        lent = [await mail.take(t.msg(n), *letter, lease=600, timeout=WAIT_S) for n in (1, 2)]
        await world.kill("icu")
        await world.start("icu")
        mail = await mail_of("bob", "icu")
        await mail.renew(
            lent[0], 600
        )  # its law sees what is renewed, though its host has forgotten
        await world.kill("ward")
        await see(await world.agent("bob", "icu"), "ward", "departed")
        ends = asyncio.gather(mail.acknowledge(lent[0]), mail.give_back(lent[1], why="ink"))
        await world.start("ward")
        await ends
        await mail_of("ann", "ward")
        again = await mail.take(t.msg(int), *letter, timeout=WAIT_S)
        assert (again[0], [end.why for end in again.history]) == (t.msg(2), ["ink"])
        assert await mail.read_nowait(t.msg(int), *letter, at="ward") is None
        with pytest.raises(LeaseLapsed):
            await mail.acknowledge(lent[0])

    play(story)


def test_mail_for_a_host_that_is_away_waits_for_it(play: Play) -> None:
    async def story(world: World) -> None:
        await world.start("ward", "icu")
        ann, bob = await world.agent("ann", "ward"), await world.agent("bob", "icu")
        mine, theirs = await ann.adopt(RATE), await bob.adopt(RATE)
        await see(ann, "icu")
        await mine.send(t.say(0), to="bob@icu")
        assert await next_letter(theirs) == ("ann@ward", t.say(0))
        await world.kill("icu")
        for number in range(1, 6):
            await mine.send(t.say(number), to="bob@icu")
        await world.start("icu")
        theirs = (await world.agent("bob", "icu")).resume(RATE)
        for number in range(1, 6):
            assert await next_letter(theirs) == ("ann@ward", t.say(number))

        async def nothing_more() -> bool:
            await asyncio.sleep(0.3)
            return theirs.receive_nowait() is None

        await until(nothing_more)

    play(story)


def test_a_host_that_keeps_nothing_comes_back_under_its_name(play: Play) -> None:
    """It has forgotten what it gave to whom, and others have not: both find out, and go on."""

    async def story(world: World) -> None:
        await world.start("ward")
        ann = await world.agent("ann", "ward")
        mine, box = await ann.adopt(RATE), await ann.space("box", shared=True)
        for life in range(2):
            await world.start("icu", keeps=False)
            bob = await world.agent("bob", "icu")
            theirs, his_box = await bob.adopt(RATE), await bob.space("box", shared=True)
            await see(ann, "icu")
            for number in range(3):
                await mine.send(t.say(10 * life + number), to="bob@icu")
                await theirs.send(t.say(10 * life + number), to="ann@ward")
                await box.out("for bob", life, number, to="bob@icu")
                await his_box.out("for ann", life, number, to="ann@ward")
            for number in range(3):
                assert await next_letter(theirs) == ("ann@ward", t.say(10 * life + number))
                assert await next_letter(mine) == ("bob@icu", t.say(10 * life + number))
                await his_box.take("for bob", life, number, at="bob@icu", timeout=WAIT_S)
                await box.read("for ann", life, number, at="ann@ward", timeout=WAIT_S)
            await world.kill("icu")
        left = await box.read_all("for ann", int, int, at="ann@ward")
        assert sorted(one[1:] for one in left) == [(n // 3, n % 3) for n in range(6)]

    play(story)
