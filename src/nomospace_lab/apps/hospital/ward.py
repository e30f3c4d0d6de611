"""The hospital for real: agents on three hosts of one process, under law AP, day and night.

`world` and `live` simulate a hospital; here every ward is a host (`node.together`), everybody a
member by way of the public API, and time is that of the clock on the wall: the law's ten minutes
are ten minutes. `HospitalWards` is what the console is handed (`pages.stage`): who is where,
three things to do, and the chart. Each deed is returned with its record in a journal, where its
reasons are.

It goes on after a restart as it was left: memberships, duties and subscriptions are kept by the
hosts, the assistant is in the ward where it was. Whatever is said twice then is harmless.

What can grow is bounded. Laymen have `len(LAYMEN)` times nine things to say, and each goes through
once in five minutes, so an inspector's memory of a day (`seen` of law AP) ends at some thousands;
what is to be acknowledged waits in a heap of at most `ACKS_MAX`; journals keep what `together`
says.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import AsyncExitStack, suppress
from heapq import heappop, heappush
from random import Random
from typing import Final

from nomospace import laws
from nomospace.client import Closed, Membership
from nomospace.console.stage import FloorPerson, Ward
from nomospace.control import Ruling
from nomospace.errors import CallerError, NomospaceError, Unavailable
from nomospace.law import CompiledLaw
from nomospace.node.services.mediators import SpaceMediator
from nomospace.terms import Compound, Term, t
from nomospace_lab.apps.hospital.alarms import carried, publish, subscribe
from nomospace_lab.apps.hospital.assistant import (
    PROGRAM,
    Assisting,
    go,
    law_of_assistants,
    note,
)
from nomospace_lab.apps.hospital.cast import (
    ASSISTANT,
    CAST,
    DUTIES,
    EXPERTS,
    FOUND,
    LAYMEN,
    MANAGER,
    MEDIATOR,
    MONITOR,
    NURSES,
    ROGUE,
    WARDS,
    WHAT,
    Colleague,
    Duty,
)
from nomospace_lab.apps.hospital.gauge import Gauge, Monitor, RogueGauge
from nomospace_lab.apps.working import Tasks
from nomospace_lab.pages.stage import Deed, Followed, Sample
from nomospace_lab.testing.together import FoundRuling, Together

ALARM_S: Final = (2.0, 4.0)
"""So long it is quiet between two alarms."""
LAYMEN_SHARE: Final = 0.6
"""So many of the alarms are laymen's."""
ACKS_MAX: Final = 1_000
ACKS_S: Final = 0.25
"""How often it is looked whether an acknowledgement is due."""
SPACE: Final = "alarms"
ROOMS: Final = 900
TRIES_MAX: Final = 5
"""How many rooms are tried for an alarm that nobody raised in the last five minutes."""
BLOCKED_S: Final = 5.0
"""How long the manager's word may take to the rogue."""
ARRIVE_S: Final = 10.0
"""How long an assistant may be on its way."""
LOOK_S: Final = 0.01
PLACES_MAX: Final = 16

_log = logging.getLogger("nomospace.hospital")


class NoSuchWard(CallerError):
    """The assistant was to be sent to a ward that is none."""

    code = "hospital.no-such-ward"
    ward: str

    def __str__(self) -> str:
        return f"there is no ward {self.ward[:100]!r}; choose one of {', '.join(WARDS)}"


class StillComing(Unavailable):
    """Somebody of the hospital is not where it should be yet."""

    code = "hospital.still-coming"
    words = "{who} is not there after {waited_s:g} s; try again in a moment"
    who: str
    waited_s: float


class HospitalWards:
    """A hospital on the hosts of `WARDS`, which run; from `start` to `stop`."""

    def __init__(self, hosts: Together, *, seed: int = 1) -> None:
        self._hosts = hosts
        self._rng = Random(seed)
        self._rooms = Random()  # another one after every start: the law remembers the old ones
        self._law: CompiledLaw
        self._members: dict[str, Membership] = {}
        self._nurses: dict[str, Membership] = {}
        self._parts = AsyncExitStack()
        self._tasks = Tasks()
        self._acks: list[tuple[float, int, str, Compound]] = []
        self._count = 0
        self._duties = {duty.agent: duty for duty in DUTIES}
        self._blocked = asyncio.Event()
        self._monitor: Monitor
        self._rogue: RogueGauge | None = None
        self._gauge: Gauge | None = None
        self._places: deque[str] = deque(maxlen=PLACES_MAX)
        """Where the assistant has been, the latest last."""
        self._notes = 0
        self._moving = asyncio.Lock()

    # -- its life ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Let everybody come in, show their certificates, subscribe, and go to work."""
        try:
            await self._open()
        except BaseException:
            await self.stop()
            raise

    async def _open(self) -> None:
        hosts = self._hosts
        await hosts.wait_engaged()
        self._law = hosts.law(laws.text("ap"))
        await asyncio.gather(*[self._enter(one) for one in CAST])
        member = self._members[MEDIATOR.agent]
        agent = await hosts.host(MEDIATOR.ward).agent(MEDIATOR.name)
        space = await agent.space(SPACE, shared=True)
        await self._parts.enter_async_context(SpaceMediator(member, space))
        self._rogue = RogueGauge(self._members[ROGUE.agent])
        self._monitor = Monitor(self._members[MONITOR.agent], lambda: self.rogue_on)
        self._gauge = Gauge(self._monitor, self._rogue, self._now)
        for one in CAST:
            if one is not MEDIATOR:
                self._tasks.spawn(self._listen(one), f"{one.agent} listens")
        await self._open_wards()
        await asyncio.gather(*[self._subscribe(one) for one in CAST])
        await self._give_orders()
        self._tasks.spawn(self._monitor.run(), f"{MONITOR.agent} publishes")
        self._tasks.spawn(self._gauge.run(), "the chart")
        self._tasks.spawn(self._alarms(), "alarms")
        self._tasks.spawn(self._acknowledge(), "acknowledgements")

    async def stop(self) -> None:
        """Everybody stops; what they are and owe is kept by their hosts."""
        if self._rogue is not None:
            await self._rogue.stop()
        await self._tasks.stop()
        await self._parts.aclose()

    def _now(self) -> int:
        clock = self._hosts.servers[next(iter(WARDS))].clock
        assert clock is not None, "a hospital is on hosts that run"
        return clock.now()

    # -- people come in --------------------------------------------------------------------------

    async def _enter(self, one: Colleague) -> None:
        self._members[one.agent] = await self._hosts.member(one.agent, self._law, *one.certified)

    async def _subscribe(self, one: Colleague) -> None:
        for kind in one.hears:
            await self._members[one.agent].send(subscribe(t.kind(kind)), to=MEDIATOR.agent)

    async def _give_orders(self) -> None:
        """The manager puts inspectors on duty, and blocks the rogue."""
        mira = self._members[MANAGER.agent]
        for duty in DUTIES:
            order = t.inspectorOnDuty(t.kind(duty.kind), t.med(MEDIATOR.agent))
            await mira.send(order, to=duty.agent)
        await mira.send("blockLay", to=ROGUE.agent)

    async def _open_wards(self) -> None:
        """Nurses and their assistant come under a law of their own."""
        law = law_of_assistants()
        for ward, nurse in NURSES.items():
            member = self._nurses[ward] = await self._hosts.member(nurse.agent, law)
            self._tasks.spawn(_drain(member), f"{nurse.agent} reads")
        self._places.append(await self._bring_assistant())

    async def _bring_assistant(self) -> str:
        """The ward where the assistant is at work: launched, or as an earlier life left it."""
        hosts, state = self._hosts, Assisting(NURSES[ASSISTANT.ward].agent)
        try:
            async with asyncio.timeout(ARRIVE_S):
                while True:
                    here = hosts.where(ASSISTANT.agent)
                    home = hosts.host(ASSISTANT.ward)
                    if here and (here != home.name or ASSISTANT.agent in home.running):
                        return here
                    with suppress(Unavailable):  # an earlier life ended while it was on its way
                        await home.launch(PROGRAM, name=ASSISTANT.name, state=state)
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise StillComing(who=ASSISTANT.agent, waited_s=ARRIVE_S) from None

    # -- what people do --------------------------------------------------------------------------

    async def _listen(self, one: Colleague) -> None:
        duty = self._duties.get(one.agent)
        async for letter in self._members[one.agent].inbox():
            if one is ROGUE and letter.message == "blockLay":
                self._blocked.set()
            alarm = carried(letter.message, "notify")
            if alarm is None:
                continue
            if one is MONITOR:
                self._monitor.heard(alarm)
            elif duty is not None and alarm.kind == duty.kind and alarm.status != "expert":
                self._remember(duty, alarm.term)

    def _remember(self, duty: Duty, alarm: Compound) -> None:
        """Note that an alarm is to be acknowledged, unless it is forgotten."""
        if self._rng.random() < duty.share and len(self._acks) < ACKS_MAX:
            due = asyncio.get_running_loop().time() + self._rng.uniform(*duty.after_s)
            self._count += 1
            heappush(self._acks, (due, self._count, duty.agent, alarm))

    async def _acknowledge(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(ACKS_S)
            while self._acks and self._acks[0][0] <= loop.time():
                _, _, inspector, alarm = heappop(self._acks)
                await self._say(inspector, t.ack(alarm), MANAGER.agent)

    async def _alarms(self) -> None:
        """Alarms go on by themselves."""
        rng = self._rng
        while True:
            await asyncio.sleep(rng.uniform(*ALARM_S))
            kind = rng.choice(list(WHAT))
            if rng.random() < LAYMEN_SHARE:
                who, text = rng.choice(LAYMEN), rng.choice(WHAT[kind])
            else:
                who = rng.choice([one for one in EXPERTS if t.expert(kind) in one.certified])
                text = rng.choice(FOUND[kind])
            await self._say(who.agent, publish(kind, text), MEDIATOR.agent)

    async def _say(self, who: str, message: Term, to: str) -> None:
        """Say something; a host that cannot take it now does not end the day."""
        try:
            await self._members[who].send(message, to=to)
        except Closed:
            raise
        except NomospaceError as error:
            _log.warning("%s could not say something: %s", who, error)

    # -- what there is to see --------------------------------------------------------------------

    def floor(self) -> list[Ward]:
        """The wards, and who is where."""
        at = self.assistant_at
        return [
            Ward(
                host,
                title,
                tuple(
                    [
                        FloorPerson(one.agent, one.name, one.role)
                        for one in (*CAST, ASSISTANT)
                        if (at if one is ASSISTANT else one.ward) == host
                    ]
                ),
            )
            for host, title in WARDS.items()
        ]

    def samples(self) -> list[Sample]:
        """The last two minutes of the chart, the oldest first."""
        return [] if self._gauge is None else list(self._gauge.samples)

    # -- a layman's alarm ------------------------------------------------------------------------

    async def raise_as_layman(self) -> Deed:
        """Have a layman raise an alarm that nobody raised lately; it reaches experts only."""
        who = LAYMEN[0]
        member = self._ready(who.agent)
        marks = self._hosts.marks()
        tries = 0
        while True:
            tries += 1
            what = f"smoke in room {100 + self._rooms.randrange(ROOMS)}"
            told = await member.send(publish("fire", what), to=MEDIATOR.agent)
            if not told.refused or tries >= TRIES_MAX:
                break
        found = await self._hosts.find(marks, told)
        return _deed(found, f"{who.name}, a layman, raised a fire alarm: {what}")

    # -- the rogue -------------------------------------------------------------------------------

    @property
    def rogue_on(self) -> bool:
        """Whether the rogue publishes just now; it ends by itself after a minute."""
        return self._rogue is not None and self._rogue.on

    @property
    def rogue_says(self) -> str:
        """How the rogue's last time ended; empty before, and while it goes on."""
        return "" if self._rogue is None else self._rogue.says

    async def rogue(self, on: bool) -> None:
        """Switch the rogue on or off. It is blocked before it begins, so nothing gets through."""
        self._ready(ROGUE.agent)
        assert self._rogue is not None, "whoever is ready has come in"
        if not on:
            await self._rogue.stop()
            return
        try:
            async with asyncio.timeout(BLOCKED_S):
                await self._blocked.wait()
        except TimeoutError:
            raise StillComing(who="the manager's word to the rogue", waited_s=BLOCKED_S) from None
        self._rogue.start()

    def rogue_refused(self) -> Deed | None:
        """The latest refusal of the rogue, for whoever asks why; controllers forget the older."""

        def refused(ruling: Ruling) -> bool:
            return ruling.home == ROGUE.agent and ruling.refused

        found = self._hosts.latest(ROGUE.ward, refused)
        return None if found is None else _deed(found, f"{ROGUE.name} tried to publish, in vain")

    # -- the assistant ---------------------------------------------------------------------------

    @property
    def assistant_at(self) -> str:
        """The host where the nurse's assistant is; while it moves, where it was."""
        return self._hosts.where(ASSISTANT.agent) or (self._places or [ASSISTANT.ward])[-1]

    async def send_assistant(self, to: str) -> None:
        """Its nurse sends the assistant to another ward; returns when it is at work there.

        Before it goes, the nurse of the third ward writes to it, and so knows the old place.
        """
        if to not in WARDS:
            raise NoSuchWard(ward=to)
        async with self._moving:
            if self.assistant_at == to:
                return
            await self._write(self._third(self.assistant_at, to))
            await self._ready_nurse(ASSISTANT.ward).send(go(to), to=ASSISTANT.agent)
            await self._arrived(to)
            self._places.append(to)

    async def message_assistant(self) -> Followed:
        """A nurse who saw it neither come nor go writes to the assistant; how the message went."""
        async with self._moving:
            return await self._write(self._third(*list(self._places)[-2:]))

    def _third(self, *wards: str) -> str:
        """A ward that is none of these."""
        return next(ward for ward in WARDS if ward not in wards)

    async def _write(self, ward: str) -> Followed:
        """Have the nurse of a ward write to the assistant, and follow the message."""
        self._notes += 1
        message = note(self._notes, f"a note from {WARDS[ward]}")
        marks = self._hosts.marks()
        await self._ready_nurse(ward).send(message, to=ASSISTANT.agent)

        def came(ruling: Ruling) -> bool:
            event = ruling.event
            arrived = ruling.home == ASSISTANT.agent and event.kind == "arrived"
            return arrived and event.args[1] == message

        found = await self._hosts.find(marks, came)
        words = f"a note came to {ASSISTANT.name} in {WARDS[found.host]}"
        return Followed((*found.path, found.host), found.hops, _deed(found, words))

    async def _arrived(self, ward: str) -> None:
        host = self._hosts.host(ward)
        try:
            async with asyncio.timeout(ARRIVE_S):
                while ASSISTANT.agent not in host.running:
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise StillComing(who=ASSISTANT.agent, waited_s=ARRIVE_S) from None

    # -- who is ready ----------------------------------------------------------------------------

    def _ready(self, agent: str) -> Membership:
        member = self._members.get(agent)
        if member is None or self._gauge is None:
            raise StillComing(who=agent, waited_s=0.0)
        return member

    def _ready_nurse(self, ward: str) -> Membership:
        member = self._nurses.get(ward)
        if member is None:
            raise StillComing(who=NURSES[ward].agent, waited_s=0.0)
        return member


async def _drain(member: Membership) -> None:
    """Read what comes, so that the inbox does not fill up."""
    async for _ in member.inbox():
        pass


def _deed(found: FoundRuling, words: str) -> Deed:
    return Deed(found.host, found.record, words)
