"""Routes for agents: spaces, communities, moves. Everything is done as the agent of the path."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from nomospace.api import models as m
from nomospace.api.forms import SMALL, fields_of, is_small, message_of, template_of
from nomospace.api.matching import read_file
from nomospace.api.routing import (
    PROBLEMS,
    After,
    AgentPath,
    Caller,
    LawPath,
    Limit,
    SpacePath,
    TheSeat,
    TheService,
    while_wanted,
)
from nomospace.api.service import AgentSeat, Membership
from nomospace.calls.problems import StaysInStore
from nomospace.client.membership import read_certificate
from nomospace.client.tuples import as_tuples
from nomospace.wire.admin import WhereLine

router = APIRouter(prefix="/v1/agents/{agent}", responses=PROBLEMS)
JSON: Final = "application/json"
SPACE = "/spaces/{space}"
LAW = "/communities/{law}"
_writing: Final = asyncio.Lock()
"""Whose turn it is to have a large answer written, in a thread that gives way."""


@router.get("", tags=["agents"])
async def where(agent: AgentPath, service: TheService, caller: Caller) -> WhereLine:
    """Where the agent is; an operator may ask for any."""
    if not caller.may_be(agent):
        service.operator(caller)
    return service.where(agent)


@router.delete("", tags=["agents"])
async def end(agent: AgentPath, service: TheService, caller: Caller) -> WhereLine:
    """End the agent, with all that is its own; an operator may end any that is here."""
    if not caller.may_be(agent):
        service.operator(caller)
    await service.end(agent)
    return service.where(agent)


@router.post("/move", tags=["agents"])
async def move(seat: TheSeat, asked: m.MoveAsked, service: TheService) -> WhereLine:
    """Move the agent to another host of the group, with all that it has."""
    await seat.move(asked.to)
    return service.where(seat.id)


# -- spaces --------------------------------------------------------------------------------------


@router.post(SPACE, tags=["spaces"])
async def open_space(
    seat: TheSeat, space: SpacePath, asked: m.OpenSpace, service: TheService
) -> m.SpaceOpened:
    """Have an interface space of a name, private or shared; having it already is fine.

    Under a law, which the agent has adopted, every operation is ruled on. With an ontology, in
    YAML, templates match by meaning. With the engine `store` its tuples lie in the host's store,
    and may be more than memory holds. With a partition (`1` for the second field of its tuples,
    `0.vin` for a property of the first) each tuple is at home at the host that this names.
    """
    law = await service.law(law=asked.law) if asked.law else None
    words = None
    if asked.ontology:
        words = await read_file(service.work, asked.ontology, "ontology.yaml", seat.id)
    opened = await seat.space(
        space,
        shared=asked.shared,
        durable=asked.durable,
        law=law,
        ontology=words,
        engine=asked.engine,
        partition=asked.partition,
    )
    if opened.shared and not asked.shared:
        with suppress(StaysInStore):  # it is shared as long as it is open, and the answer says so
            await opened.unshare()
    return m.SpaceOpened(name=opened.name, shared=opened.shared)


@router.post(f"{SPACE}/out", tags=["spaces"])
async def out(seat: TheSeat, space: SpacePath, asked: m.OutAsked) -> m.Written:
    """Write a tuple. With `once` it may be sent again safely."""
    fields = fields_of(asked.fields)
    opened = await seat.space(space)
    await opened.out(*fields, to=asked.to, ttl=asked.ttl, once=asked.once, priority=asked.priority)
    return m.Written(written=1)


@router.post(f"{SPACE}/out-many", tags=["spaces"])
async def out_many(seat: TheSeat, space: SpacePath, asked: m.OutManyAsked) -> m.Written:
    """Write tuples in one step: nobody sees some of them without the others."""
    rows = []
    for at, row in enumerate(asked.rows, 1):
        rows.append(fields_of(row, f"row {at}, field"))
        await asyncio.sleep(0)
    opened = await seat.space(space)
    await opened.out_many(rows, to=asked.to, ttl=asked.ttl, priority=asked.priority)
    return m.Written(written=len(rows))


@router.post(f"{SPACE}/read", tags=["spaces"], response_model_exclude_unset=True)
async def read(
    request: Request, seat: TheSeat, space: SpacePath, asked: m.FindAsked
) -> m.MaybeFound:
    """A tuple that matches, left where it is."""
    return await while_wanted(request, find(seat, space, asked), seat)


@router.post(f"{SPACE}/take", tags=["spaces"], response_model_exclude_unset=True)
async def take(
    request: Request, seat: TheSeat, space: SpacePath, asked: m.TakeAsked
) -> m.MaybeFound:
    """Take a tuple that matches. Take it under a lease where an answer that gets lost matters."""
    return await while_wanted(request, find(seat, space, asked), seat)


async def find(seat: AgentSeat, space: str, asked: m.FindAsked | m.TakeAsked) -> m.MaybeFound:
    """Read or take a tuple, as asked."""
    found = await seat.find(
        space,
        template_of(asked.template),
        take=isinstance(asked, m.TakeAsked),
        wait_s=asked.wait,
        lease_s=asked.lease if isinstance(asked, m.TakeAsked) else None,
        at=asked.at,
        dest=asked.dest,
        **asked.correlation(),
    )
    if found is None:
        return m.MaybeFound(tuple=None)
    if is_small([found]):
        return m.MaybeFound(tuple=m.TupleFound.of(found))
    async with _writing:
        return m.MaybeFound(tuple=await asyncio.to_thread(m.TupleFound.of, found))


@router.post(f"{SPACE}/read-all", tags=["spaces"], response_model=m.AllFound)
async def read_all(seat: TheSeat, space: SpacePath, asked: m.FindAllAsked) -> Response:
    """All tuples that match at one host or agent."""
    return await _find_all(seat, space, asked, take=False)


@router.post(f"{SPACE}/take-all", tags=["spaces"], response_model=m.AllFound)
async def take_all(seat: TheSeat, space: SpacePath, asked: m.FindAllAsked) -> Response:
    """Take all tuples that match at one host or agent, in one step."""
    return await _find_all(seat, space, asked, take=True)


async def _find_all(seat: AgentSeat, space: str, asked: m.FindAllAsked, *, take: bool) -> Response:
    found = await seat.find_all(
        space,
        template_of(asked.template),
        take=take,
        at=asked.at,
        dest=asked.dest,
        **asked.correlation(),
    )

    def write() -> bytes:
        tuples = [m.TupleFound.of(one) for one in as_tuples(found)]
        told = [one.model_dump_json(exclude_unset=True) for one in tuples]
        return f'{{"tuples":[{",".join(told)}]}}'.encode()

    if is_small([one.fields for one in found[:SMALL]]):
        return Response(write(), media_type=JSON)
    async with _writing:
        return Response(await asyncio.to_thread(write), media_type=JSON)


@router.post(f"{SPACE}/settle", tags=["spaces"])
async def settle(seat: TheSeat, space: SpacePath, asked: m.SettleAsked) -> m.Settled:
    """End a lease: the tuple is done with, or it goes back for the next taker."""
    await seat.settle(
        space,
        asked.lease,
        done=asked.done,
        renew_s=asked.renew,
        delay_s=asked.delay,
        why=asked.why,
    )
    return m.Settled(done=asked.done)


# -- communities -----------------------------------------------------------------------------------


@router.get("/communities", tags=["communities"])
async def memberships(agent: AgentPath, service: TheService, caller: Caller) -> list[Membership]:
    """The communities of the agent, with what their laws disclose of its control state."""
    return list(service.memberships(caller, agent))


@router.post("/communities", tags=["communities"])
async def adopt(seat: TheSeat, asked: m.AdoptAsked, service: TheService) -> m.RulingTold:
    """Adopt a law: by its text, or by the hash or the name of one that is at hand here."""
    law = await service.law(text=asked.text, law=asked.law, who=seat.id)
    return m.RulingTold.of(
        await seat.adopt(law, fields_of(asked.args, "argument"), another=asked.another)
    )


@router.post(f"{LAW}/send", tags=["communities"])
async def send(seat: TheSeat, law: LawPath, asked: m.SendAsked) -> m.RulingTold:
    """Send a message. A refusal by the law is an answer and no error: it says why."""
    message = message_of(asked.message)
    return m.RulingTold.of(await seat.send(law, message, asked.to, here=asked.here))


@router.delete(LAW, tags=["communities"])
async def quit_community(seat: TheSeat, law: LawPath) -> m.RulingTold:
    """Leave a community: the law hears `quit`, and rules no more."""
    return m.RulingTold.of(await seat.quit(law))


@router.post(f"{LAW}/certificates", tags=["communities"])
async def present(seat: TheSeat, law: LawPath, asked: m.CertificateAsked) -> m.RulingTold:
    """Present a certificate to the agent's controller."""
    # As bytes: a text that is no PEM would be taken for the name of a file.
    return m.RulingTold.of(await seat.present(law, read_certificate(asked.pem.encode())))


@router.get(f"{LAW}/inbox", tags=["communities"])
async def inbox(
    request: Request,
    seat: TheSeat,
    law: LawPath,
    after: After = 0,
    limit: Limit = 100,
    wait: m.WaitSeconds = 0,
) -> m.Letters:
    """Letters behind a number, the oldest first. Asking again gives the same ones again."""
    return await _letters(request, seat, law, after, limit, wait)


# -- plain mail ------------------------------------------------------------------------------------


@router.post("/send", tags=["agents"])
async def send_plain(seat: TheSeat, asked: m.MailAsked) -> m.MailSent:
    """Send a plain message to another agent, outside of all communities."""
    await seat.send_plain(message_of(asked.message), asked.to, here=asked.here)
    return m.MailSent(to=asked.to)


@router.get("/inbox", tags=["agents"])
async def plain_inbox(
    request: Request,
    seat: TheSeat,
    after: After = 0,
    limit: Limit = 100,
    wait: m.WaitSeconds = 0,
) -> m.Letters:
    """Plain letters behind a number, the oldest first. Asking again gives the same ones again."""
    return await _letters(request, seat, "", after, limit, wait)


async def _letters(
    request: Request, seat: AgentSeat, law: str, after: int, limit: int, wait: float
) -> m.Letters:
    found = await while_wanted(request, seat.inbox(law).after(after, limit, wait), seat)

    def write() -> list[m.LetterTold]:
        return [m.LetterTold.of(one) for one in found]

    if sum([one.size for one in found]) <= SMALL:
        letters = write()
    else:
        async with _writing:
            letters = await asyncio.to_thread(write)
    return m.Letters(letters=letters, last=letters[-1].number if letters else after)
