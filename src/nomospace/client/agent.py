"""An agent as its program holds it: its spaces, its memberships, whom it is connected with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from nomospace.calls.addresses import check_name, key_of, owner_of
from nomospace.calls.problems import AlreadyMember, HasEnded, OntologyUnknown
from nomospace.calls.requests import End, OntologyText, Open, Save, SendPlain, Share
from nomospace.client.connection import Connection, Law
from nomospace.client.membership import Inbox, Letter, LetterQueue, Membership, message_of
from nomospace.client.reactions import LISTENER_TIMEOUT_S, AnyHandle
from nomospace.client.space import Space
from nomospace.errors import CallerError
from nomospace.terms import Term, freeze
from nomospace.terms.templates import ANY

if TYPE_CHECKING:  # a client has no compiler
    from nomospace.calls.partition import PartitionKey
    from nomospace.law import CompiledLaw
    from nomospace.meaning.ontology import Ontology

SYSTEM: Final = "LimeSystem"
"""The system space: what hosts, agents and shared spaces there are, written by hosts only."""


class NotAProgram(CallerError):
    """An agent that runs no program was told to move."""

    code = "client.not-a-program"
    words = (
        "{agent} cannot move to {to!r} by itself: nothing says what would go on "
        "there; write a Program, launch it, and let it call self.move"
    )
    agent: str
    to: str


class NotALaw(CallerError):
    """What an agent was to adopt, or a space to be under, is no law: a text, or a path."""

    code = "client.not-a-law"
    words = "{given} is no law; make one with nomospace.Law.load, of a path or a text"
    given: str


def check_law(law: CompiledLaw) -> None:
    """Raise `NotALaw` for what is none."""
    if not hasattr(law, "hash"):
        raise NotALaw(given=repr(law)[:60])


class Agent:
    """An agent on a host. Made by `Host.agent`.

    >>> import asyncio, nomospace as ns
    >>> async def program():
    ...     async with ns.Host("ward-3") as host:
    ...         nurse = await host.agent("nurse")
    ...         jobs = await nurse.space("jobs", shared=True)
    ...         await jobs.out("job", 17)
    ...         return nurse.id, await jobs.take("job", int)
    >>> asyncio.run(program())
    ('nurse@ward-3', ('job', 17))
    """

    __slots__ = ("_connection", "_memberships", "_spaces", "_timeout", "mail", "system")

    def __init__(
        self, connection: Connection, *, listener_timeout: float = LISTENER_TIMEOUT_S
    ) -> None:
        self._connection = connection
        self._timeout = listener_timeout
        self._spaces: dict[str, Space] = {}
        self._memberships: list[Membership] = []
        self.mail = LetterQueue(connection)
        """Where plain messages wait; `inbox` reads them."""
        connection.attend("", self.mail)
        self.system = Space(SYSTEM, connection, shared=True, listener_timeout=listener_timeout)
        """The space `LimeSystem`: read it, or react to it, to know who is there.

        It holds `("host", name, status)`, `("agent", id, host, status)` and
        `("space", name, agent, host, status)`; status is `"connected"` or `"departed"`.
        """

    @property
    def id(self) -> str:
        """`name@domain`, unique."""
        return self._connection.agent

    def __repr__(self) -> str:
        return f"<agent {self.id}>"

    async def space(
        self,
        name: str,
        *,
        shared: bool = False,
        law: CompiledLaw | None = None,
        durable: bool = True,
        ontology: Ontology | str | None = None,
        engine: str = "",
        partition: PartitionKey | str = "",
    ) -> Space:
        """Have an interface space of this name: private, or `shared` at once.

        Asking again gives the same space, as it was left, and shares it when `shared` is true; only
        `unshare` parts it. Under a `law`, which the agent must have adopted, every operation is
        ruled on. What a space that is not `durable` holds is gone when its host ends.

        With an `ontology` (an `Ontology`, or the hash of one that the host knows) templates that
        name classes match by meaning. Without, the space speaks what the others here speak who
        share it, or no ontology: then a class accepts itself alone. One name speaks one ontology
        on a host (`OtherOntology`), and hosts share a space only where both speak the same.

        With the `engine` `store` its tuples lie in the store of the host and may be more than
        memory holds; such a space is shared at once. Without, it has the engine that it has on the
        host: `memory`, unless others opened it with another or the host's configuration says so.

        With a `partition` (`field(1)`, or as text `"1"`) each tuple is at home at the host that its
        key names, wherever it is written, and stays there when its writer leaves: an operation that
        says the key asks that one host, and hosts share the work. One name has one partition
        (`OtherPartition`); without, the space has that of this host or of its group.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse = host.agent("nurse")
        ...     nurse.space("notes").shared, nurse.space("jobs", shared=True).shared
        (False, True)
        """
        if name == SYSTEM:
            return self.system
        check_name("a space", name)
        if law is not None:
            check_law(law)
        by = partition if isinstance(partition, str) else partition.text
        await self._open(Open(name, law, durable, engine=engine, partition=by), ontology)
        space = self._spaces.get(name)
        if space is None:
            # An agent that is taken up again may have left it shared; the system space knows.
            line = await self.system.read_nowait("space", name, self.id, ANY, "connected")
            space = self._spaces[name] = Space(
                name,
                self._connection,
                shared=line is not None,
                listener_timeout=self._timeout,
            )
        if shared and not space.shared:
            await space.share()
        return space

    async def _open(self, asked: Open, ontology: Ontology | str | None) -> None:
        """Open a space; the text of its ontology goes along only when the host does not know it."""

        async def ask(text: OntologyText | None) -> None:
            await self._connection.ask(replace(asked, ontology=text))

        if ontology is None or isinstance(ontology, str):
            await ask(None if ontology is None else OntologyText(ontology))
            return
        try:
            await ask(OntologyText(ontology.hash, ontology.name))
        except OntologyUnknown:
            from nomospace.meaning.canon import written  # for the few who send one

            await ask(OntologyText(ontology.hash, ontology.name, written(ontology)))

    async def share(self, *spaces: Space) -> None:
        """Share several spaces in one atomic step: nobody sees one shared and another not.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse = host.agent("nurse")
        ...     jobs, notes = nurse.space("jobs"), nurse.space("notes")
        ...     nurse.share(jobs, notes)
        ...     jobs.shared, notes.shared
        (True, True)
        """
        await self._set_shared(spaces, True)

    async def unshare(self, *spaces: Space) -> None:
        """Part several spaces in one atomic step."""
        await self._set_shared(spaces, False)

    async def _set_shared(self, spaces: tuple[Space, ...], shared: bool) -> None:
        names = tuple(space.name for space in spaces)
        if names:
            await self._connection.ask(Share(names, shared))
            for space in spaces:
                space.shared = shared

    def connected(self, agent: str) -> bool:
        """Whether an agent is connected with this one now: on this host, or in its group.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse, porter = host.agent("nurse"), host.agent("porter")
        ...     nurse.connected("porter@ward-3"), nurse.connected("bob@icu")
        (True, False)
        """
        return self._connection.connected(owner_of(agent))

    async def adopt(
        self, law: CompiledLaw, *args: object, another: bool | int = False
    ) -> Membership:
        """Adopt a law: the membership, with the ruling on the adoption in `.ruling`.

        An agent that is a member already goes on as that: a program that begins again finds its
        membership, with its control state and the mail that waits. Then `.ruling` is `None`.

        With `another=True` it becomes a member once more, with a control state and an `.address` of
        its own. `another=2` finds its second membership again, or adopts it.

        >>> from nomospace import sync, Law
        >>> from nomospace.laws import path
        >>> with sync.Host("ward-3") as host:
        ...     nurse = host.agent("nurse")
        ...     ward = nurse.adopt(Law.load(path("mp")))
        ...     ward.law.name
        'mp'
        """
        check_law(law)
        frozen = tuple(freeze(arg) for arg in args)
        number = another if type(another) is int else 1
        while True:
            membership = Membership(self._connection, law, number)
            try:
                membership.ruling = await self._connection.adopt(law, frozen, membership, number)
            except AlreadyMember:
                if another is not True:
                    return self.membership(law, number) or self.resume(law, number)
                number += 1
            else:
                self._memberships.append(membership)
                return membership

    def membership(self, law: CompiledLaw, number: int = 1) -> Membership | None:
        """The membership under a law that the agent has adopted, with what waits in its inbox.

        `None` where it has not; `adopt` finds it, too. Of several, that of a number.

        >>> from nomospace import sync, Law
        >>> from nomospace.laws import path
        >>> with sync.Host("ward-3") as host:
        ...     nurse, law = host.agent("nurse"), Law.load(path("mp"))
        ...     before, _ = nurse.membership(law), nurse.adopt(law)
        ...     before, nurse.membership(law)
        (None, <nurse@ward-3 under law mp>)
        """
        for membership in self._memberships:
            if membership.key == key_of(law.hash, number) and not membership.closed:
                return membership
        return None

    async def send(self, message: object, *, to: str, here: bool = False) -> None:
        """Send a plain message to another agent, wherever it is: outside of all communities.

        A string is read as the text of a term. Done means that it is on disk and on its way. To a
        member whose law has rules for `submitted` it is that event; others find it in their
        `inbox`. If it will never arrive, `undelivered(Message, To, Why)` comes back, from nobody
        (`sender` is empty). With `here` it goes only if that agent is at this one's host now; else
        `NotHere` is raised, and nothing was sent.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse, porter = host.agent("nurse"), host.agent("porter")
        ...     nurse.send("fetch(bed(3))", to="porter@ward-3")
        ...     porter.receive_nowait()
        Letter(sender='nurse@ward-3', message=term('fetch(bed(3))'))
        """
        await self._connection.ask(SendPlain(message_of(message), to, here))

    def inbox(self) -> Inbox:
        """Plain messages to this agent, oldest first: for `async for`; ends with the agent."""
        return self.mail.inbox()

    def receive_nowait(self) -> Letter | None:
        """The oldest plain message that waits, or `None`."""
        return self.mail.receive_nowait()

    async def move(self, to: str) -> None:
        """Raise `NotAProgram`: what this code holds in its frames could not go along.

        Programs move, see `Program.move`.
        """
        raise NotAProgram(agent=self.id, to=to)

    async def close(self) -> None:
        """End this program's side of the agent.

        What waits raises `Closed`, its reactions are removed, its inboxes end, and if no other
        program speaks for it, `agent.system` shows it departed. The agent itself, its spaces, its
        tuples and its memberships stay on the host, and `Host.agent` takes them up again.
        """
        for handle in self._handles():
            handle.remove()
            handle.stop()
        self.stop()
        await self._connection.close()

    async def end(self) -> None:
        """End the agent itself: it leaves, and so does all that is its own.

        Its tuples, its reactions and what waits go; each of its laws hears `quit`, and it is a
        member no more; `agent.system` shows it departed at every host of the group. Its name is
        free for a new agent. To end this program's side alone, `close`.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     nurse, porter = host.agent("nurse"), host.agent("porter")
        ...     nurse.end()
        ...     porter.connected("nurse@ward-3")
        False
        """
        with suppress(HasEnded):  # a client elsewhere is cut off with that
            await self._connection.ask(End())
        self.stop()
        await self._connection.close()

    def stop(self) -> None:
        """Run no listener any more and end the inboxes: its host is gone, or it is closed."""
        for handle in self._handles():
            handle.stop()
        self.mail.close()
        for membership in self._memberships:
            membership.close()

    # -- what programs and their hosts use -------------------------------------------------

    async def leave(self, to: str, program: str, state: bytes, code: bytes | None) -> None:
        """Go to another host with a program's state and the mail that it has not read."""
        unread = self.unread()
        try:
            await self._connection.move(to, program, state, code, unread)
        except (Exception, asyncio.CancelledError):
            self.put_back(unread)
            raise

    def unread(self) -> tuple[tuple[str, str, Term], ...]:
        """The mail that was not read, by law, sender and message; it waits here no longer."""
        return tuple(
            [
                (law, letter.sender, letter.message)
                for law, queue in self._queues().items()
                for letter in queue.drain()
            ]
        )

    def put_back(self, unread: Iterable[tuple[str, str, Term]]) -> None:
        """Let mail that was not read wait before all other."""
        letters: dict[str, list[Letter]] = {}
        for law, sender, message in unread:
            letters.setdefault(law, []).append(Letter(sender, message))
        for law, queue in self._queues().items():
            queue.put_back(letters.get(law, ()))

    def _queues(self) -> dict[str, LetterQueue]:
        return {"": self.mail, **{each.key: each for each in self._memberships}}

    async def save(self, state: bytes) -> None:
        """Make the state of the program that runs as this agent durable."""
        await self._connection.ask(Save(state))

    def resume(self, law: Law, number: int = 1) -> Membership:
        """Hold a membership that an earlier run of the program has adopted; its mail comes here."""
        membership = Membership(self._connection, law, number)
        self._memberships.append(membership)
        self._connection.attend(membership.key, membership)
        return membership

    def _handles(self) -> list[AnyHandle]:
        spaces = (self.system, *self._spaces.values())
        return [handle for space in spaces for handle in space.handles()]
