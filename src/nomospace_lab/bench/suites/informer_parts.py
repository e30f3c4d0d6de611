"""The processes of `bench informer`: a mediator's host, people's host, a rogue's host.

Run as `python -m nomospace_lab.bench.suites.informer_parts PART OPTIONS` (JSON). A part says
`{"at": "host:port"}` when it can be reached and `{"ready": true}` when its agents have met; on the
line `go SECONDS` (of the machine's monotonic clock) the experiment begins. At its end it prints
what it found. All talk over TCP, bare: what is measured here is queues, not ciphers.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

A_SECOND: Final = 10
"""So many publications a second are allowed to each agent."""
EVERY_S: Final = 0.125
"""How often a quiet informer publishes."""
INFORMERS: Final = 8
"""Quiet informers, who do not publish at the same moments."""
QUEUE_MAX: Final = 2_000_000
"""How long the mediator's queue may become."""
BURST: Final = 16
"""So many publications the rogue makes before it lets its host have a turn."""
MEET_S: Final = 60.0

EDGE: Final = """
law(edge).
disclose(none).
initialCS([published(0)]).
R1. sent(_, publish(_), _) :-
    published(N)@CS,
    N < 10,
    do(incr(published(N), 1)),
    do(imposeObligation(release, 1, sec)),
    do(forward).
    % Ten publications a second for each agent, with an obligation as law AP has for laymen.
R2. obligationDue(release) :- published(N)@CS, do(dcr(published(N), 1)).
R3. sent(_, subscribe(_), _) :- do(forward).
R4. sent(_, notify(_), _) :- do(forward).
R5. sent(_, ack(_, _), _) :- do(forward).
R6. arrived(_, _, _) :- do(deliver).
"""
FREE: Final = """
law(free).
disclose(none).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
"""


class InformerOptions(msgspec.Struct, frozen=True):
    """What a part is told: the law, who is who, whom to join, which core to use, and the times."""

    law: str
    checks: bool
    """Whether the mediator keeps the limit itself."""
    join: str = ""
    core: int = -1
    rogue_s: tuple[float, float] = (28.0, 88.0)
    end_s: float = 120.0


class MediatorTasks(msgspec.Struct, frozen=True):
    """What the mediator was asked to do in one part of the experiment."""

    received: int
    accepted: int
    cpu_s: float


@asynccontextmanager
async def _host(name: str, options: InformerOptions) -> AsyncIterator[Any]:
    from nomospace.node.listen import Listener
    from nomospace.node.local import Host
    from nomospace.node.tcp import TcpLinks

    links = TcpLinks(name, identity=None, seeds=(options.join,) if options.join else ())
    port = Listener(
        "127.0.0.1:0", identity=None, on_host=links.accept, on_client=lambda _: asyncio.Protocol()
    )
    await port.start()
    links.advertise = (str(port.address),)
    await links.start()
    try:
        host: Any = Host(name, network=links)
        async with host:
            _say({"at": str(port.address)})
            yield host
    finally:
        await links.stop()
        await port.stop()


async def _until(second: float) -> None:
    await asyncio.sleep(max(0.0, second - time.monotonic()))


async def _begin() -> float:
    """Say that all is ready, and wait for the word to go."""
    _say({"ready": True})
    line = await asyncio.to_thread(sys.stdin.readline)
    word, _, second = line.partition(" ")
    if word != "go":
        raise SystemExit("the bench was broken off")
    return float(second)


def _say(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


# -- the mediator ----------------------------------------------------------------------------


async def _mediate(options: InformerOptions) -> None:
    """One queue, one request at a time (`001_…` 5.2); with `checks`, the limit is kept here."""
    from nomospace.law import load
    from nomospace.services.mediator import (
        Published,
        Subscribed,
        Subscriptions,
        notification,
        read_request,
    )

    book = Subscriptions()
    queue: deque[tuple[Any, float]] = deque()
    bell = asyncio.Event()
    latest: dict[str, deque[float]] = {}
    counts = [0, 0]

    def allowed(sender: str, came: float) -> bool:
        if not options.checks:
            return True
        times = latest.setdefault(sender, deque(maxlen=A_SECOND))
        if len(times) == A_SECOND and came - times[0] < 1.0:
            return False
        times.append(came)
        return True

    async def hear(member: Any) -> None:
        async for letter in member.inbox():
            counts[0] += 1
            if len(queue) < QUEUE_MAX:
                queue.append((letter, time.monotonic()))
                bell.set()

    async def work(member: Any) -> None:
        while True:
            if not queue:
                bell.clear()
                await bell.wait()
            letter, came = queue.popleft()
            request = read_request(letter.sender, letter.message)
            if isinstance(request, Subscribed):
                book.add(request.client, request.wanted)
            elif isinstance(request, Published) and allowed(letter.sender, came):
                counts[1] += 1
                clients = book.match(request.published)
                if clients:
                    await member.send(notification(request.published), to=clients)
            await asyncio.sleep(0)  # the threads of the paper's mediator take turns, too

    async with _host("hub", options) as host:
        member = await (await host.agent("med")).adopt(load(options.law))
        tasks = [asyncio.create_task(part(member)) for part in (hear, work)]
        begin = await _begin()
        phases: dict[str, MediatorTasks] = {}
        gc.freeze()
        for name, second in zip(
            ("before", "rogue", "after"), (*options.rogue_s, options.end_s), strict=True
        ):
            received, accepted, cpu_s = *counts, time.process_time()
            await _until(begin + second)
            phases[name] = MediatorTasks(
                counts[0] - received, counts[1] - accepted, time.process_time() - cpu_s
            )
        _say({"phases": phases, "left": len(queue)})
        await asyncio.to_thread(sys.stdin.readline)
        for task in tasks:
            task.cancel()


# -- people ----------------------------------------------------------------------------------


async def _inform(options: InformerOptions) -> None:
    """Quiet informers, and a subscriber who acknowledges each publication to its informer."""
    from nomospace.law import load
    from nomospace.terms import Compound, t, term

    law = load(options.law)
    sent: dict[tuple[int, int], float] = {}
    trips: list[tuple[float, float]] = []

    async with _host("ward", options) as host:
        await host.wait_engaged("hub", timeout=MEET_S)
        subscriber = await (await host.agent("y")).adopt(law)
        informers = [
            await (await host.agent(f"x{number}")).adopt(law) for number in range(INFORMERS)
        ]

        async def acknowledge() -> None:
            async for letter in subscriber.inbox():
                (notice,) = letter.message.args
                number, count = (notice.args[place].args[0] for place in (1, 2))
                await subscriber.send(t.ack(number, count), to=f"x{number}@ward")

        async def hear(number: int) -> None:
            async for letter in informers[number].inbox():
                who, count = letter.message.args
                began = sent.pop((who, count), None)
                if began is not None:
                    now = time.monotonic()
                    trips.append((began - start, now - began))

        async def inform(number: int) -> None:
            count = 0
            due = start + number * EVERY_S / INFORMERS
            while due < start + options.end_s:
                await _until(due)
                count += 1
                sent[number, count] = time.monotonic()
                due = max(due, sent[number, count]) + EVERY_S  # what was late is not caught up
                notice = Compound(
                    "notice",
                    (t.kind("quiet"), t.informer(number), t.number(count), t.text("all is well")),
                )
                ruling = await informers[number].send(t.publish(notice), to="med@hub")
                if ruling.refused:
                    del sent[number, count]

        start = time.monotonic()
        tasks = [asyncio.create_task(acknowledge())]
        tasks += [asyncio.create_task(hear(number)) for number in range(INFORMERS)]
        await subscriber.send(term("subscribe(notice([kind(quiet)]))"), to="med@hub")
        start = await _begin()
        gc.freeze()
        await asyncio.gather(*[inform(number) for number in range(INFORMERS)])
        patience = time.monotonic() + options.end_s / 2
        while sent and time.monotonic() < patience:  # late answers are the point of it
            await asyncio.sleep(0.05)
        _say({"trips": sorted(trips), "lost": len(sent)})
        for task in tasks:
            task.cancel()


# -- the rogue -------------------------------------------------------------------------------


async def _rage(options: InformerOptions) -> None:
    """Publish as fast as it can, while it may."""
    from nomospace.law import load
    from nomospace.terms import t

    async with _host("den", options) as host:
        await host.wait_engaged("hub", timeout=MEET_S)
        rogue = await (await host.agent("r")).adopt(load(options.law))
        notice = t.notice(t.kind("loud"), t.informer("r"), t.number(0), t.text("fire!"))
        message = t.publish(notice)
        begin = await _begin()
        first, last = (begin + second for second in options.rogue_s)
        await _until(first)
        tried = passed = 0
        gc.freeze()
        while time.monotonic() < last:
            for _ in range(BURST):
                tried += 1
                ruling = await rogue.send(message, to="med@hub")
                passed += not ruling.refused
            await asyncio.sleep(0)
        _say({"tried": tried, "passed": passed})
        await _until(begin + options.end_s)


PARTS: Final[dict[str, Callable[[InformerOptions], Coroutine[Any, Any, None]]]] = {
    "mediator": _mediate,
    "people": _inform,
    "rogue": _rage,
}


def main() -> None:
    """Run one part."""
    import uvloop

    options = msgspec.json.decode(sys.argv[2].encode(), type=InformerOptions)
    if options.core >= 0 and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, {options.core})
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(PARTS[sys.argv[1]](options))


if __name__ == "__main__":
    main()
