"""What all routes share: the caller, the service, and the answers that each may give."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Final, TypeVar, cast

from fastapi import Depends, Path, Query
from starlette.requests import Request

from nomospace.api.service import AgentSeat, Service
from nomospace.node.principals import Principal
from nomospace.node.services.web import BadRequest

T = TypeVar("T")
GONE_S: Final = 0.25
"""How soon it is noticed that nobody waits for an answer any more."""
_MEANING: Final = {
    400: "Something in the request cannot be.",
    401: "No token was shown, or one that does not count.",
    403: "The token, or the law, does not allow it.",
    404: "There is no such thing at this host.",
    405: "This cannot be done here.",
    408: "The body did not come in time.",
    409: "It cannot be done as things are.",
    410: "It is too late for that.",
    413: "The body is too large.",
    422: "The body, a parameter or a law has a mistake.",
    429: "Too many requests; `Retry-After` says when to go on.",
    502: "Another host said something that cannot be.",
    503: "The host cannot do it just now.",
    507: "The host has no room for it.",
}
PROBLEMS: Final[dict[int | str, dict[str, object]]] = {
    status: {
        "description": words,
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }
    for status, words in _MEANING.items()
}
"""What any route may be answered with besides."""


def service_of(request: Request) -> Service:
    """The service of the application."""
    return cast(Service, request.app.state.service)


def caller_of(request: Request) -> Principal:
    """Who the guard has let in."""
    return cast(Principal, request.state.principal)


TheService = Annotated[Service, Depends(service_of)]
Caller = Annotated[Principal, Depends(caller_of)]
AgentPath = Annotated[str, Path(alias="agent", min_length=3, max_length=401)]


async def seat_of(agent: AgentPath, service: TheService, caller: Caller) -> AgentSeat:
    """The agent of the path, if the caller may be it; in the loop, where hosts are told things.

    The body was read before: others have their turn before anything is done with it.
    """
    await asyncio.sleep(0)
    return service.seat(caller, agent)


TheSeat = Annotated[AgentSeat, Depends(seat_of)]
SpacePath = Annotated[str, Path(min_length=1, max_length=200)]
LawPath = Annotated[
    str,
    Path(
        pattern="^[0-9a-f]{64}(~[1-9][0-9]{0,2})?$",
        description="The hash of a law; `~2` behind it is the agent's second membership under it.",
    ),
]
After = Annotated[int, Query(ge=0, le=2**53, description="Go on behind this number.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="So many at most.")]


async def while_wanted(request: Request, work: Coroutine[object, None, T], seat: AgentSeat) -> T:
    """Do something that waits, for as long as the client is there.

    A tuple that is taken for a client that has gone goes back, as with any take that is cancelled.
    """
    task = asyncio.ensure_future(work)
    seat.busy += 1
    try:
        while not task.done():
            await asyncio.wait([task], timeout=GONE_S)
            if not task.done() and await request.is_disconnected():
                raise BadRequest(why="the client has gone before its answer came")
        return task.result()
    finally:
        seat.busy -= 1
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=1.0)
