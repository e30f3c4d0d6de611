"""Routes for operators: they look into a host, start programs, suspend who does harm, and let it
engage or leave.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, TypeVar, cast

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from nomospace.api import models as m
from nomospace.api.forms import json_of
from nomospace.api.live import Happened, Live, kinds_of
from nomospace.api.routing import PROBLEMS, After, Caller, LawPath, Limit, SpacePath, TheService
from nomospace.api.typed import typed_template
from nomospace.node import viewed as v
from nomospace.node.views import Views
from nomospace.wire import admin as a

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["looking"])


def views_of(service: TheService, caller: Caller) -> Views:
    """The views, for an operator."""
    return service.operator(caller)


TheViews = Annotated[Views, Depends(views_of)]
Suspendable = Annotated[str, Path(min_length=1, max_length=401)]


@router.get("/topology")
async def topology(views: TheViews) -> v.TopologyView:
    """The hosts of the group, and the agents at each."""
    return views.topology()


@router.get("/agents")
async def agents(
    views: TheViews, after: Annotated[str, Query(max_length=401)] = "", limit: Limit = 100
) -> list[a.AgentLine]:
    """The agents of this host, those after an id."""
    return views.agents(after=after, limit=limit)


@router.put("/programs/{name}")
async def launch(views: TheViews, name: Suspendable, asked: m.Launching) -> a.ProgramLine:
    """Let an agent run a program, in a process of its own: the host's, or from a signed bundle."""
    state = None if asked.state is None else msgspec.msgpack.encode(asked.state)
    return await views.ask(a.LaunchProgram(name, asked.program, state, asked.bundle))


@router.delete("/programs/{name}", status_code=204, response_class=Response)
async def end_program(views: TheViews, name: Suspendable) -> Response:
    """End the program of an agent (its id), for good; the agent stays."""
    await views.ask(a.EndProgram(name))
    return Response(status_code=204)


@router.get("/suspensions")
async def suspensions(views: TheViews) -> list[a.SuspensionLine]:
    """The agents and laws that are suspended at this host."""
    return await views.ask(a.Suspensions())


@router.put("/suspensions/{name}")
async def suspend(views: TheViews, name: Suspendable, asked: m.Suspending) -> a.SuspensionLine:
    """Suspend an agent (its id) or a law (its hash): at once, and until it is resumed."""
    return await views.ask(a.Suspend(name, asked.why))


@router.delete("/suspensions/{name}", status_code=204, response_class=Response)
async def resume(views: TheViews, name: Suspendable) -> Response:
    """End a suspension: what was kept meanwhile is served, once."""
    await views.ask(a.Resume(name))
    return Response(status_code=204)


@router.get("/contact")
async def contact(views: TheViews) -> a.ContactLine:
    """With whom the host is one group, whether it engages at all, and where it is."""
    return await views.ask(a.Contact())


@router.post("/contact/engage")
async def engage(views: TheViews) -> a.ContactLine:
    """Let the host join whom its policy lets it join; engagement follows."""
    return await views.ask(a.Engage())


@router.post("/contact/disengage")
async def disengage(views: TheViews) -> a.ContactLine:
    """Let the host leave its group and stay alone; answered when it has left."""
    return await views.ask(a.Disengage())


@router.post("/contact/position")
async def position(views: TheViews, asked: m.HostPosition) -> a.ContactLine:
    """Tell where the host is: two or three numbers, in metres, as a device has measured them."""
    return await views.ask(a.SetPosition(tuple(asked.position)))


@router.post("/domains/{domain}/promote")
async def promote(views: TheViews, domain: Suspendable) -> a.DomainLine:
    """Have the host serve a domain without the other of its two servers, until that is back."""
    return await views.ask(a.PromoteHost(domain))


@router.get("/communities")
async def communities(views: TheViews) -> list[v.CommunityView]:
    """The laws that have members at this host."""
    return list(views.communities())


@router.get("/communities/{law}/members")
async def members(
    views: TheViews,
    law: LawPath,
    after: Annotated[str, Query(max_length=401)] = "",
    limit: Limit = 100,
) -> list[v.MemberView]:
    """The members of a community here with their control states, those after an id."""
    return list(views.members(law, after=after, limit=limit))


@router.get("/laws/{law}")
async def law(views: TheViews, law: LawPath) -> v.LawView:
    """A law: its text, and how often each of its rules has ruled."""
    return views.law(law)


@router.get("/obligations")
async def obligations(
    views: TheViews,
    law: Annotated[str, Query(max_length=64)] = "",
    limit: Limit = 100,
) -> list[v.ObligationView]:
    """What members owe, the soonest due first."""
    return list(views.obligations(law=law, limit=limit))


@router.get("/spaces")
async def spaces(views: TheViews, after: After = 0, limit: Limit = 100) -> list[v.SpaceView]:
    """The spaces of this host; `after` skips so many."""
    return list(views.spaces(after=after, limit=limit))


@router.get("/spaces/{space}")
async def inside(
    views: TheViews, space: SpacePath, agent: Annotated[str, Query(max_length=401)] = ""
) -> v.SpaceInside:
    """Who waits in a space, what is lent, what reacts; of an agent, its private one."""
    found = views.inside(space, agent=agent)
    return replace(found, leases=_in_json(found.leases))


@router.get("/spaces/{space}/tuples")
async def tuples(
    views: TheViews,
    space: SpacePath,
    agent: Annotated[str, Query(max_length=401)] = "",
    template: Annotated[str, Query(max_length=10_000)] = "",
    limit: Limit = 100,
    after: Annotated[int, Query(ge=0)] = 0,
) -> v.TuplesView:
    """The oldest tuples of a space; of an agent, those in its private one.

    With a template (`job, _:int`, as `nomospace tuple read` takes it), those that match. `after`
    passes over so many.
    """
    asked = typed_template(template)
    found = views.tuples(space, agent=agent, template=asked, limit=limit, after=after)
    return replace(found, tuples=_in_json(found.tuples), sets=_in_json(found.sets))


@router.post("/spaces/{space}/tell")
async def tell(views: TheViews, space: SpacePath, asked: m.SpaceSays) -> m.RulingTold:
    """Let a governed space of this host say something to an agent, in its own name."""
    told = await views.ask(a.SpaceTell(space, asked.agent, asked.message, asked.law))
    return m.RulingTold.of(a.read_ruling(told))


@router.get("/monitors")
async def monitors(views: TheViews) -> list[a.MonitorLine]:
    """The spaces of this host that watch their load, and their clients' delay now."""
    return await views.ask(a.SpaceMonitors())


@router.put("/monitors/{space}")
async def monitor(views: TheViews, space: SpacePath, asked: m.MonitorLimits) -> a.MonitorLine:
    """Have a governed space watch its load and set its clients' pace, until this host ends."""
    return await views.ask(a.SpaceMonitor(space, asked.most, asked.rest, asked.longest))


@router.delete("/monitors/{space}", status_code=204, response_class=Response)
async def end_monitor(views: TheViews, space: SpacePath) -> Response:
    """Have a space watch its load no longer: its clients are told to be at rest."""
    await views.ask(a.SpaceMonitor(space, None))
    return Response(status_code=204)


@router.get("/story")
async def story(
    views: TheViews, about: Annotated[str, Query(min_length=3, max_length=450)]
) -> v.CausalStory:
    """What led to a ruling (`ward/17`: host and record) or a tuple (`ann@ward#3`), and what came
    of it, over all hosts of the group.
    """
    found = await views.story(about)
    lies = _in_json((found.lies,))[0] if found.lies is not None else None
    return replace(found, lies=lies)


F = TypeVar("F", v.TupleView, v.LeaseView, v.SetView)


def _in_json(several: tuple[F, ...]) -> tuple[F, ...]:
    """What has fields, with these as the other routes have them."""
    return tuple(
        [replace(one, fields=tuple([json_of(field) for field in one.fields])) for one in several]
    )


@router.get("/rulings")
async def rulings(views: TheViews, after: After = 0, limit: Limit = 100) -> v.RulingsView:
    """The rulings behind a record of the journal; the latest when that is 0."""
    return views.rulings(after=after, limit=limit)


@router.get("/rulings/{record}/why")
async def why(views: TheViews, record: Annotated[int, Path(ge=1, le=2**53)]) -> v.WhyView:
    """Why a ruling is as it is: the rules that were tried, and the goal that failed."""
    return views.why(record)


@router.get("/journal")
async def journal(views: TheViews, after: After = 0, limit: Limit = 100) -> m.JournalLines:
    """Records of the journal behind a number; the latest when that is 0."""
    lines = views.records(after=after, limit=limit)
    return m.JournalLines(records=lines, last=lines[-1].seq if lines else after)


@router.get("/metrics")
async def metrics(views: TheViews, service: TheService) -> m.Figures:
    """The host in figures."""
    del views  # asked for, so that only operators come here
    return m.Figures(figures=service.figures())


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"description": "Events as they happen.", "content": {"text/event-stream": {}}}
    },
)
async def events(
    request: Request,
    views: TheViews,
    kinds: Annotated[str, Query(max_length=200)] = "",
    after: After = 0,
) -> StreamingResponse:
    """What happens: server-sent events.

    Their kinds are `ruling`, `tuple`, `lease`, `engagement`, `move` and `law`. What was too
    much is left out, and told as an event `folded` with its count.
    """
    del views
    live = cast(Live, request.app.state.live)
    wanted = kinds_of(kinds)
    live.check()
    return StreamingResponse(
        _lines(live.events(wanted, after=after)), media_type="text/event-stream"
    )


async def _lines(happening: AsyncIterator[Happened]) -> AsyncIterator[str]:
    yield ": begun\n\n"
    async for one in happening:
        if one.kind == "quiet":
            yield ": quiet\n\n"
        else:
            data = json.dumps({"kind": one.kind, **one.facts}, default=str)
            yield f"id: {one.record}\nevent: {one.kind}\ndata: {data}\n\n"
