"""A front with an engine that the test owns: one client cannot keep the others out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nomospace.client import Letter
from nomospace.node.services.fronts import (
    WAITING_EACH_MAX,
    EngineAway,
    EngineRefused,
    Front,
    Reservation,
    Row,
)
from nomospace.node.services.fronts.lists import ListEngine
from nomospace.terms import Compound, Term, term
from nomospace.terms.templates import Template


class Shelf:
    """An engine in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    async def begin(self) -> None: ...

    async def close(self) -> None: ...

    async def put(self, fields: Row) -> None:
        self.rows.append(fields)

    async def find(self, template: Template, limit: int) -> list[Row]:
        return [row for row in self.rows if template.matches(row)][:limit]

    async def reserve(self, template: Template, limit: int, ticket: Reservation) -> list[Row]:
        found = await self.find(template, limit)
        self.rows = [row for row in self.rows if row not in found]
        return found

    async def settle(self, key: str) -> None: ...

    async def undo(self, key: str) -> None: ...

    async def reservations(self) -> list[Reservation]:
        return []


class Ruled:
    refused = False


class Member:
    """Notes what a front sends."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Term]] = []

    async def send(self, message: Term, *, to: str) -> Ruled:
        self.sent.append((to, message))
        return Ruled()


def told(*letters: tuple[str, str]) -> list[tuple[str, Term]]:
    """What a front answers to letters: who says what."""
    member: Any = Member()

    async def serve() -> None:
        front = Front(member, "post@desk", Shelf())
        for sender, text in letters:
            await front._serve(Letter(sender, term(text)))

    asyncio.run(serve())
    sent: list[tuple[str, Term]] = member.sent
    return sent


def test_one_client_waits_so_often_and_others_wait_still() -> None:
    eve = [("eve@x", f"in([job({n})])") for n in range(WAITING_EACH_MAX + 1)]
    (refused, found, done) = told(*eve, ("ann@x", "in([note])"), ("bob@x", "out([note])"))
    assert isinstance(refused[1], Compound)
    assert (refused[0], refused[1].name) == ("eve@x", "failed")
    assert refused[1].args[1] == "front.too-many-wait"
    assert found == ("ann@x", term("found(in([note]),[note])"))
    assert done == ("bob@x", term("done(out([note]))"))


def test_who_waits_with_a_template_that_is_too_dear_is_told_and_the_writer_is_not() -> None:
    cars = ",".join([f"object('Car',c{n},[])" for n in range(10)])
    wanted = ",".join(["formal(class('Car'))"] * 10)
    ties = f"in([{wanted},formal(any,same(x)),formal(any,same(x))])"
    sent = told(("eve@x", ties), ("ann@x", f"out([{cars},1,2])"))
    assert [(who, what.name) for who, what in sent if isinstance(what, Compound)] == [
        ("eve@x", "failed"),
        ("ann@x", "done"),
    ]
    assert isinstance(sent[0][1], Compound)
    assert sent[0][1].args[1] == "limits.test"


@pytest.mark.parametrize(
    ("said", "error"),
    [("LOADING Redis is loading the dataset in memory", EngineAway), ("NOAUTH", EngineRefused)],
)
def test_a_server_that_is_not_ready_yet_counts_as_away(said: str, error: type[Exception]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n")
        writer.write(f"-{said}\r\n".encode())
        writer.close()

    async def program() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            engine = ListEngine(f"redis://127.0.0.1:{port}", "jobs")
            with pytest.raises(error, match=said):
                await engine.put(("job", 1))
            await engine.close()

    asyncio.run(program())
