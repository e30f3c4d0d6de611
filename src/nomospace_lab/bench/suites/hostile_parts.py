"""The processes of `bench hostile`: a well-behaved client, and attackers with a good identity.

Run as `python -m nomospace_lab.bench.suites.hostile_parts PART OPTIONS` (JSON). Each says that it
is ready and waits for a line before it begins. The client says how long its round trips took;
attackers end with the next line, and say how often they tried. They use the public client as
anybody would, and give up their share of the processor to everybody else.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any, Final, TypeAlias

import msgspec

PAUSE_S: Final = 0.002
"""How long the well-behaved client rests between two round trips."""
WARM_UP: Final = 50
"""How many round trips it makes before those that count."""
NICE: Final = 19
STRANGERS: Final = 64
"""Connections of one stranger."""

OPEN: Final = (
    "law(open{0}).\nR1. sent(_, _, _) :- do(forward).\nR2. arrived(_, _, _) :- do(deliver).\n"
)
TEXTS: Final = """law(texts{0}).
R1. sent(_, split(T, S), _) :- split_string(T, S, Ps), length(Ps, 0), do(forward).
R2. sent(_, longer(L), _) :- longer(L, L, 4000), do(forward).
R3. sent(_, double(N), _) :- double(N, leaf, T), delete([T, T], f(T, _), R), R == [], do(forward).
R4. sent(_, hidden(N), _) :- double(N, leaf, T), T = f(a, b), do(forward).
longer(_, _, 0).
longer(L, M, N) :- N > 0, append(M, L, _), K is N - 1, longer(L, M, K).
double(0, T, T).
double(N, T, R) :- N > 0, K is N - 1, double(K, f(T, T), R).
"""
LOOP: Final = """law(loop{0}).
R1. sent(_, again, _) :- do(imposeObligation(again, 0)).
R2. obligationDue(again) :- do(imposeObligation(again, 0)).
"""


class HostileOptions(msgspec.Struct, frozen=True):
    """What a part is told: the host, which core to use, how many round trips, who attacks how."""

    url: str
    core: int = -1
    trips: int = 0
    attack: str = ""
    attackers: int = 1


Again: TypeAlias = Callable[[], Awaitable[object]]
"""One more try of an attacker."""


# -- attacks ---------------------------------------------------------------------------------


async def ties(client: Any, number: int) -> Again:
    """A template of ten classes and two fields that must be equal, over a tuple without any."""
    from nomospace import a, obj
    from nomospace.terms.templates import same

    space = await (await client.agent(f"ties{number}")).space("mine")
    await space.out(*[obj("Car", f"c{n}") for n in range(10)], 1, 2)
    wanted = (*[a("Car")] * 10, same("x"), same("x"))
    return lambda: space.read_nowait(*wanted)


async def predicates(client: Any, number: int) -> Again:
    """A predicate of many words that holds of none of many tuples."""
    from nomospace.terms.templates import where

    space = await (await client.agent(f"scan{number}")).space("mine")
    for start in range(0, 20_000, 1_000):
        await space.out_many([("row", n, "x" * 50) for n in range(start, start + 1_000)])
    text = " or ".join([f"= 'y{n}'" for n in range(20)])
    return lambda: space.read_nowait("row", int, where(text))


async def sets(client: Any, number: int) -> Again:
    """A question that only tuples together can answer, over many that nearly do."""
    from nomospace import a, obj

    space = await (await client.agent(f"sets{number}")).space("mine")
    for n in range(240):
        pair = (obj("A", f"a{n % 16}"), obj(f"B{n % 6}", f"b{n % 11}"))
        await space.out(*pair)
    wanted = [a(f"B{n}") for n in range(6)]
    return lambda: space.read_nowait(*wanted, a("Z"), correlate="always")


async def laws(client: Any, number: int) -> Again:
    """Laws that nobody has seen, each a short text that stands for much code."""
    from nomospace import Law

    agent = await client.agent(f"laws{number}")
    goals = ", ".join(["(X = a ; Y = b)"] * 6)
    rules = "".join([f"sent(X, m{n}, Y) :- {goals}, do(forward).\n" for n in range(30)])
    tries = count()
    made = [Law.load(f"law(l{number}x{n}).\n{rules}") for n in range(4)]

    async def again() -> None:
        await agent.adopt(made[next(tries) % len(made)])

    return again


async def _member(client: Any, name: str, number: int, text: str) -> Any:
    from nomospace import Law

    agent = await client.agent(f"{name}{number}")
    return await agent.adopt(Law.load(text.format(number)))


async def messages(client: Any, number: int) -> Again:
    """Messages whose ruling is as dear as it may be."""
    from nomospace import t

    member = await _member(client, "texts", number, TEXTS)
    separators = "".join(map(chr, range(0x4E00, 0x4E00 + 4_000)))
    sent = [
        t.split("x" * 16_000, separators),
        t.longer(tuple(range(2_000))),
        t.double(60),
    ]
    tries = count()
    return lambda: member.send(sent[next(tries) % len(sent)], to=f"texts{number}@ward")


async def reasons(client: Any, number: int) -> Again:
    """Refusals whose explanation would show a term that is a thousand times the host's memory."""
    from nomospace import t

    member = await _member(client, "why", number, TEXTS)

    async def again() -> None:
        ruling = await member.send(t.hidden(60), to=f"why{number}@ward")
        ruling.explain()

    return again


async def obligations(client: Any, number: int) -> Again:
    """Obligations that lay themselves anew as soon as they are due."""
    member = await _member(client, "loop", number, LOOP)
    for _ in range(20):
        await member.send("again", to=f"loop{number}@ward")
    return lambda: asyncio.sleep(0.1)


async def receivers(client: Any, number: int) -> Again:
    """One large message to very many agents that are not there."""
    member = await _member(client, "post", number, OPEN)
    nobody = [f"nobody{n}@nowhere" for n in range(2_000)]
    return lambda: member.send("x" * 200_000, to=nobody)


async def large(client: Any, number: int) -> Again:
    """Tuples as large as they may be, written and taken again."""
    space = await (await client.agent(f"large{number}")).space("mine")
    wide = tuple(range(14_000))

    async def again() -> None:
        await space.out("wide", wide, "x" * 800_000)
        await space.take_nowait("wide", list, str)

    return again


async def flood(client: Any, number: int) -> Again:
    """As many calls at once as a client may have, all the time."""
    space = await (await client.agent(f"flood{number}")).space("jobs", shared=True)

    async def again() -> None:
        await asyncio.gather(*[space.take_nowait("nothing", n) for n in range(500)])

    return again


async def reactions(client: Any, number: int) -> Again:
    """Very many reactions to each tuple that is written."""
    from nomospace import ANY

    space = await (await client.agent(f"react{number}")).space("mine", shared=True)
    for _ in range(500):
        space.react(("tick", ANY), lambda _: None, mode="once-per-tuple")

    async def again() -> None:
        await space.out("tick", 1)
        await space.take_nowait("tick", 1)

    return again


async def strangers(client: Any, number: int) -> Again:
    """Connections that announce a large frame, send some of it, and say no more."""
    host, port = client.url.host, client.url.port

    async def again() -> None:
        held = []
        for _ in range(STRANGERS):
            with suppress(OSError):
                one = socket.create_connection((host, port), timeout=2)
                one.setblocking(False)
                held.append(one)
                one.send((16 << 20).to_bytes(4, "big") + b"x" * 60_000)
        await asyncio.sleep(0.5)
        for one in held:
            one.close()

    return again


ATTACKS: Final = {
    attack.__name__: attack
    for attack in (
        ties,
        predicates,
        sets,
        laws,
        messages,
        reasons,
        obligations,
        receivers,
        large,
        flood,
        reactions,
        strangers,
    )
}
"""What attackers do, by name."""


async def _attack(options: HostileOptions) -> None:
    from nomospace import connect
    from nomospace.errors import NomospaceError

    tried: dict[str, int] = {}

    async def one(number: int) -> None:
        async with connect(options.url) as client:
            again = await ATTACKS[options.attack](client, number)
            ready.release()
            await go.wait()
            while not stop.is_set():
                try:
                    await again()
                    what = "done"
                except NomospaceError as error:
                    what = error.code
                tried[what] = tried.get(what, 0) + 1

    ready, go, stop = asyncio.Semaphore(0), asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(options.attackers):
            group.create_task(one(number))
        for _ in range(options.attackers):
            await ready.acquire()
        await _told()
        _give_way(True)
        go.set()
        await asyncio.to_thread(sys.stdin.readline)
        _give_way(False)
        stop.set()
    _say(tried)


def _give_way(always: bool) -> None:
    """Let whoever wakes up have the processor at once, where that can be asked for.

    One that is merely nice may finish its slice of some milliseconds first. All else is done as one
    that is: where others are always busy, one that always gives way would never be ready.
    """
    if hasattr(os, "SCHED_IDLE") and os.geteuid() == 0:  # others could not take it back
        os.sched_setscheduler(0, os.SCHED_IDLE if always else os.SCHED_OTHER, os.sched_param(0))


async def _ann(options: HostileOptions) -> None:
    """Write and take, one after the other; says how long each pair took."""
    from nomospace import connect

    async with connect(options.url) as client:
        jobs = await (await client.agent("ann")).space("jobs", shared=True)
        trips: list[float] = []
        for number in range(WARM_UP + options.trips):
            if number == WARM_UP:
                await _told()
            begun = time.monotonic()
            await jobs.out("job", number)
            await jobs.take("job", number)
            trips.append(time.monotonic() - begun)
            await asyncio.sleep(PAUSE_S)
        _say(trips[WARM_UP:])


async def _told() -> None:
    """Say that all is ready, and wait to be told to begin."""
    _say({"ready": True})
    await asyncio.to_thread(sys.stdin.readline)


def _say(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def main(part: str, told: str) -> None:
    """Be one part of the bench."""
    options = msgspec.json.decode(told, type=HostileOptions)
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    if part == "ann":
        asyncio.run(_ann(options))
    else:
        os.nice(NICE)
        asyncio.run(_attack(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
