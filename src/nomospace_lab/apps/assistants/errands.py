"""Assistants and experts for hosts that are processes: documents go out, results come back.

A host runs them as `[programs] modules = ["nomospace_lab.apps.assistants.errands"]`. Whoever has an
assistant leaves a document for it on the space `desk` (`put_document`) and writes to it:

    summon(Site)                      come there
    delegate(Site, Expert, Document)  take the document to an expert there, and bring the result

The assistant obeys its own person and nobody else (`003_…`, 2). The document goes along in a space
of its own, so it is where the assistant is, and nowhere else. An expert is an agent of somebody
else's program, which knows nothing of assistants: it takes what is for it from the space `work`,
and leaves a result of the same name for whom it came from.

A document may be larger than a tuple can be: it is written in pieces, in one step, and taken only
when all are there. What does not fit into an agent that moves is refused (`DocumentTooLarge`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from nomospace.client import Program, Space, Tuple, program
from nomospace.errors import CallerError, NomospaceError
from nomospace.terms import Compound, t

DESK: Final = "desk"
WORK: Final = "work"
BAG: Final = "bag"
"""The private space of an assistant, which goes where it goes."""
ASSISTANT: Final = "errands"
EXPERT: Final = "reader"
PIECE_BYTES: Final = 500_000
"""How much of a document one tuple holds."""
DOCUMENT_BYTES_MAX: Final = 8 << 20
"""The largest document: an agent that moves is one frame, of 16 MB."""


class DocumentTooLarge(CallerError):
    """A document is larger than an assistant can carry."""

    code = "assistants.document-too-large"
    words = "{name!r} has {size:,} bytes, and an assistant carries {most:,}; give it in parts"
    name: str
    size: int
    most: int


async def put_document(space: Space, name: str, data: bytes, *, to: str | None = None) -> None:
    """Write a document in pieces, in one step, for an agent; raises `DocumentTooLarge`."""
    if len(data) > DOCUMENT_BYTES_MAX:
        raise DocumentTooLarge(name=name[:100], size=len(data), most=DOCUMENT_BYTES_MAX)
    pieces = [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)] or [b""]
    rows = [
        ("document", name, space.owner, at, len(pieces), piece) for at, piece in enumerate(pieces)
    ]
    await space.out_many(rows, to=to)


async def take_document(
    space: Space, name: str | type[str] = str, *, dest: str | None = None
) -> tuple[str, str, bytes]:
    """Wait for a document, of a name or any, and take it: its name, whose it was, its bytes."""
    first = await _taken(space, "document", name, str, 0, int, bytes, dest=dest)
    _, called, owner, _, count, piece = first
    pieces = [piece]
    for at in range(1, count):
        found = await _taken(space, "document", called, owner, at, count, bytes, dest=dest)
        pieces.append(found[5])
    return called, owner, b"".join(pieces)


async def _taken(space: Space, *template: object, dest: str | None) -> Tuple:
    """A tuple, waited for where others write: nobody else writes to a private space."""
    if space.shared:
        return await space.take(*template, dest=dest)
    found = await space.take_nowait(*template, dest=dest)
    assert found is not None, f"{template} was put into {space.name} before"
    return found


class ErrandState(msgspec.Struct):
    """Whom an assistant serves, where that is, and what it is about: `OUT` or `BACK` with what."""

    person: str
    home: str
    doing: str = ""
    site: str = ""
    expert: str = ""
    document: str = ""


OUT, BACK = "out", "back"


@program(ASSISTANT)
class Errands(Program[ErrandState]):
    """Goes where its person summons it, and takes documents to experts and results home."""

    async def run(self) -> None:
        """From the top at every site; the state says what it came for."""
        state = self.state
        if state.doing == OUT and self.host == state.site:
            await self._have_it_done()
        if state.doing == BACK and self.host == state.home:
            await self._hand_over()
        async for letter in self.agent.inbox():
            order = letter.message
            if letter.sender == state.person and type(order) is Compound:
                await self._obey(order)

    async def _obey(self, order: Compound) -> None:
        words = [str(word) for word in order.args]
        if order.name == "summon" and len(words) == 1:
            await self._go(words[0])
        elif order.name == "delegate" and len(words) == 3:
            desk = await self.agent.space(DESK, shared=True)
            name, _, data = await take_document(desk, words[2], dest=self.agent.id)
            await put_document(await self.agent.space(BAG), name, data)
            self.state.doing, self.state.site, self.state.expert = OUT, words[0], words[1]
            self.state.document = name
            await self._go(words[0])

    async def _have_it_done(self) -> None:
        """Leave the document with the expert, wait for the result, and take it home."""
        bag = await self.agent.space(BAG)
        work = await self.agent.space(WORK, shared=True)
        name, _, data = await take_document(bag, self.state.document)
        await put_document(work, name, data, to=self.state.expert)
        _, _, result = await take_document(work, name, dest=self.agent.id)
        await put_document(bag, name, result)
        self.state.doing = BACK
        await self._go(self.state.home)

    async def _hand_over(self) -> None:
        name, _, result = await take_document(await self.agent.space(BAG), self.state.document)
        desk = await self.agent.space(DESK, shared=True)
        await put_document(desk, name, result, to=self.state.person)
        self.state.doing = ""
        await self.agent.send(t.done(name, self.state.site), to=self.state.person)

    async def _go(self, site: str) -> None:
        """Move; where that cannot be it stays, with all it has, and says why."""
        if site == self.host:
            return
        try:
            await self.move(site)
        except NomospaceError as error:
            await self.agent.send(t.stuck(self.host, site, error.code), to=self.state.person)


class ReaderState(msgspec.Struct):
    """How many documents an expert has read."""

    read: int = 0


@program(EXPERT)
class DocumentReader(Program[ReaderState]):
    """An expert in long documents: it reads them, and says what is in them."""

    async def run(self) -> None:
        """Take what is for this agent, read it, and leave the result for whose it was."""
        work = await self.agent.space(WORK, shared=True)
        while True:
            name, owner, data = await take_document(work, dest=self.agent.id)
            self.state.read += 1
            lines, words = data.count(b"\n"), len(data.split())
            result = f"{lines} lines, {words} words, sha256 {sha256(data).hexdigest()}"
            await put_document(work, name, result.encode(), to=owner)
