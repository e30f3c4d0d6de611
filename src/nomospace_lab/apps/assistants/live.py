"""Personal assistants for real: summoned and delegated while messages follow them (`003_…`, 2).

Five sites, three people with an assistant each. A person *summons* its assistant to wherever it
works; messages that others send meanwhile arrive there. A person *delegates* its assistant: it
goes to the experts of the institute with a piece of work, leaves it in their space, waits for the
result and comes home with it. In between others may still write to it, or its person summon it.

Assistants are programs, so an agent goes with its space, its membership and its unread mail, and
what it is about is in its state. Their law lets anybody write to anybody, and only its own person
send an assistant anywhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.client import Membership, Program, program
from nomospace.errors import CallerError, Unavailable
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, t
from nomospace_lab.apps.working import Tasks
from nomospace_lab.pages.stage import Deed, Followed

if TYPE_CHECKING:
    from nomospace.control import Ruling
    from nomospace_lab.testing.together import Together

SITES: Final = {
    "office": "Office",
    "lab": "Lab",
    "hall": "Lecture hall",
    "library": "Library",
    "institute": "Institute",
}
PEOPLE: Final = {"ann": "office", "bob": "lab", "cem": "hall"}
"""Who is at home where."""
EXPERTS: Final = "institute"
WORK: Final = "work"
"""The space in which experts find what was brought to them."""
PROGRAM: Final = "personal-assistant"
WORK_S: Final = 2.0
"""How long experts look at a piece of work."""
ARRIVE_S: Final = 10.0
LOOK_S: Final = 0.02
TEXT_MAX: Final = 200
TOLD_MAX: Final = 50
"""How much of what happened is kept to be shown."""
LAW: Final = """\
law(assistance).
initialCS([]).

R1. adopted(Args) :- (member(serves(P), Args) -> do(+serves(P)) ; true).
    % An assistant says whom it serves when it comes.

R2. sent(_, note(_, _), _) :- do(forward).
R3. arrived(_, note(_, _), _) :- do(deliver).
    % Anybody may write to anybody.

R4. sent(_, summon(_), _) :- do(forward).
R5. arrived(P, summon(_), _) :- serves(P)@CS, do(deliver).
R6. sent(_, delegate(_, _), _) :- do(forward).
R7. arrived(P, delegate(_, _), _) :- serves(P)@CS, do(deliver).
    % Only the person whom it serves sends an assistant anywhere.

R8. sent(_, done(_, _), P) :- serves(P)@CS, do(forward).
R9. arrived(_, done(_, _), _) :- do(deliver).
    % It reports to that person and to nobody else.
"""


class NoSuchPerson(CallerError):
    """Somebody was named who has no assistant here."""

    code = "assistants.no-such-person"
    person: str

    def __str__(self) -> str:
        return f"{self.person[:40]!r} has no assistant here; there are {', '.join(PEOPLE)}"


class NoSuchSite(CallerError):
    """A site was named that is not there."""

    code = "assistants.no-such-site"
    site: str

    def __str__(self) -> str:
        return f"there is no site {self.site[:40]!r}; there are {', '.join(SITES)}"


class StillAway(Unavailable):
    """An assistant did not come within the time."""

    code = "assistants.still-away"
    words = "{person}'s assistant is not at {site} yet; look again in a moment"
    person: str
    site: str


@dataclass(frozen=True, slots=True)
class AssistantView:
    """An assistant: whose, where, the work it carries, and the letters it has read."""

    person: str
    agent: str
    home: str
    at: str
    task: str
    notes: int


@cache
def law_of_assistance() -> CompiledLaw:
    """The law that people and their assistants are under."""
    return load(LAW, "assistance.law")


class Errand(msgspec.Struct):
    """What an assistant carries along."""

    person: str
    home: str
    task: str = ""
    result: str = ""
    notes: int = 0


@program(PROGRAM)
class Assistant(Program[Errand]):
    """Reads letters, goes where its person summons it, and takes work to experts and back."""

    async def run(self) -> None:
        """From the top at every site; the state says what it came for."""
        member = await self.agent.adopt(law_of_assistance(), t.serves(self.state.person))
        if self.state.task and self.host == EXPERTS:
            await self._have_it_done()
        if self.state.result and self.host == self.state.home:
            result, self.state.result = self.state.result, ""
            await member.send(t.done(self.agent.id, result), to=self.state.person)
        async for letter in member.inbox():
            await self._take_in(letter.message)

    async def _have_it_done(self) -> None:
        """Leave the work with the experts, wait for the result, and bring it home."""
        work = await self.agent.space(WORK, shared=True)
        await work.out("to-do", self.agent.id, self.state.task)
        _, _, self.state.result = await work.take("done", self.agent.id, str)
        self.state.task = ""
        await self._go(self.state.home)

    async def _take_in(self, message: Term) -> None:
        if type(message) is not Compound:
            return
        if message.name == "note":
            self.state.notes += 1
        elif message.name == "summon":
            await self._go(str(message.args[0]))
        elif message.name == "delegate":
            self.state.task = str(message.args[1])
            await self._go(str(message.args[0]))

    async def _go(self, site: str) -> None:
        # A site that does not answer: it stays where it is, which whoever sent it sees.
        with suppress(Unavailable):
            await self.move(site)


class Assistants:
    """People and their assistants on hosts of one process, one for each site."""

    def __init__(self, hosts: Together) -> None:
        """`hosts` are named like `SITES`."""
        self._hosts = hosts
        self._desks: dict[str, Membership] = {}
        self._tasks = Tasks()
        self._notes = 0
        self.told: deque[str] = deque(maxlen=TOLD_MAX)
        """What happened, in words, the latest last."""

    async def start(self) -> None:
        """People come to their desks, with their assistants; experts come to the institute."""
        hosts, law = self._hosts, law_of_assistance()
        await hosts.wait_engaged()
        for person, home in PEOPLE.items():
            self._desks[person] = await hosts.member(f"{person}@{home}", law)
            assistant = _assistant(person)
            if not hosts.where(assistant):
                name = assistant.partition("@")[0]
                state = Errand(f"{person}@{home}", home)
                await hosts.host(home).launch(PROGRAM, name=name, state=state)
                await self._adopted(home, assistant)
            self._tasks.spawn(self._listen(person), f"desk of {person}")
        self._tasks.spawn(self._work(), "experts")

    async def _adopted(self, home: str, assistant: str) -> None:
        """Wait until an assistant is under the law: before, nobody may write to it."""
        core = self._hosts.host(home).core
        async with asyncio.timeout(ARRIVE_S):
            while not core.laws_of(assistant):
                await asyncio.sleep(LOOK_S)

    async def stop(self) -> None:
        """Everybody stops listening."""
        await self._tasks.stop()

    async def _listen(self, person: str) -> None:
        """Hear what assistants report."""
        async for letter in self._desks[person].inbox():
            message = letter.message
            if type(message) is Compound and message.name == "done":
                self.told.append(f"{person}'s assistant is back: {message.args[1]!s}")

    async def _work(self) -> None:
        """The experts take what is brought, look at it, and leave the result."""
        expert = await self._hosts.host(EXPERTS).agent("expert")
        work = await expert.space(WORK, shared=True)
        while True:
            _, whose, task = await work.take("to-do", str, str)
            self.told.append(f"the experts look at “{task}”")
            await asyncio.sleep(WORK_S)
            await work.out("done", whose, f"“{task}” is mended")

    # -- what a person does ------------------------------------------------------------------------

    async def summon(self, person: str, site: str) -> None:
        """Call an assistant to a site; returns when it is at work there."""
        _check(person, site)
        if self._at(person) == site:
            return
        await self._desks[person].send(t.summon(site), to=_assistant(person))
        await self._arrived(person, site)
        self.told.append(f"{person}'s assistant came to the {SITES[site].lower()}")

    async def delegate(self, person: str, task: str) -> None:
        """Send an assistant to the experts with a piece of work; it comes home by itself."""
        _check(person)
        order = t.delegate(EXPERTS, task[:TEXT_MAX])
        await self._desks[person].send(order, to=_assistant(person))
        await self._arrived(person, EXPERTS)
        self.told.append(f"{person}'s assistant took “{task[:TEXT_MAX]}” to the institute")

    async def follow(self, sender: str, person: str) -> Followed:
        """Have somebody write to another's assistant, wherever it is, and follow the message."""
        _check(sender)
        _check(person)
        self._notes += 1
        message = t.note(self._notes, f"a word from {sender}")
        assistant, marks = _assistant(person), self._hosts.marks()
        await self._desks[sender].send(message, to=assistant)

        def came(ruling: Ruling) -> bool:
            event = ruling.event
            return ruling.home == assistant and event.kind == "arrived" and event.args[1] == message

        found = await self._hosts.find(marks, came)
        path = (*found.path, found.host)
        hops = "no hop" if found.hops == 0 else "1 hop" if found.hops == 1 else f"{found.hops} hops"
        words = (
            f"{sender} wrote to {person}'s assistant: {hops}, to the {SITES[found.host].lower()}"
        )
        self.told.append(words)
        return Followed(path, found.hops, Deed(found.host, found.record, words))

    def _at(self, person: str) -> str:
        return self._hosts.where(_assistant(person))

    async def _arrived(self, person: str, site: str) -> None:
        host = self._hosts.host(site)
        try:
            async with asyncio.timeout(ARRIVE_S):
                while _assistant(person) not in host.running:
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise StillAway(person=person, site=site) from None

    # -- what a page shows -----------------------------------------------------------------------

    def views(self) -> list[AssistantView]:
        """The assistants, in the order of their people."""
        found = []
        for person, home in PEOPLE.items():
            agent, at = _assistant(person), self._at(person)
            state = None if not at else getattr(self._running(at, agent), "state", None)
            task = state.task if isinstance(state, Errand) else ""
            notes = state.notes if isinstance(state, Errand) else 0
            found.append(AssistantView(person, agent, home, at, task, notes))
        return found

    def _running(self, site: str, agent: str) -> Program[Any] | None:
        return self._hosts.host(site).running.get(agent)

    def facts(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "sites": dict(SITES),
            "experts": EXPERTS,
            "assistants": [asdict(one) for one in self.views()],
            "told": list(self.told),
        }


def _assistant(person: str) -> str:
    """The id of a person's assistant: it keeps it wherever it goes.

    >>> _assistant("ann")
    'ann-pa@office'
    """
    return f"{person}-pa@{PEOPLE[person]}"


def _check(person: str, site: str = "office") -> None:
    if person not in PEOPLE:
        raise NoSuchPerson(person=person)
    if site not in SITES:
        raise NoSuchSite(site=site)
