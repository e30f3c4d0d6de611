"""Routes for operators: they look into a host, start programs, suspend who does harm, and let it
engage or leave.

What happens at a host just now, for those who look on.

A viewer is a reader of the journal: it looks at it `LOOKS_S` times a second, and takes what is new.
So viewers need no queues, cost nothing when there are none, and one that reads slowly falls behind
alone. What is more than a viewer can read is left out and counted (`folded`). Hosts and agents that
come and go are not in the journal; they are seen in the difference of two looks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar, cast

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from nomospace.api import models as m
from nomospace.api.forms import json_of, typed_template
from nomospace.api.routing import PROBLEMS, After, Caller, LawPath, Limit, SpacePath, TheService
from nomospace.errors import CallerError, Unavailable
from nomospace.node import viewed as v
from nomospace.node.views import Views
from nomospace.wire import admin as a

EVENTS_S_MAX: Final = 200
"""How many events of each second one viewer is told."""
LOOKS_S: Final = 5
VIEWERS_MAX: Final = 64
QUIET_S: Final = 15.0
"""After so long without an event the viewer is told that all is well."""
KINDS: Final = ("ruling", "tuple", "lease", "engagement", "move", "law")
_TABLES: Final = {"events": "ruling", "tuples": "tuple", "leases": "lease", "laws": "law"}


class TooManyViewers(Unavailable):
    """More viewers than a host tells what happens."""

    code = "api.too-many-viewers"
    words = "{limit} viewers look on already; close one, then try again"
    limit: int


class NoSuchKind(CallerError):
    """A kind of event that there is not."""

    code = "api.no-such-kind"
    kind: str

    def __str__(self) -> str:
        return f"there are no events of kind {self.kind[:60]!r}; kinds are {', '.join(KINDS)}"


@dataclass(frozen=True, slots=True)
class Happened:
    """An event. `kind` is one of `KINDS`, `folded` (with a count), or `quiet`."""

    kind: str
    record: int
    facts: dict[str, object]


def kinds_of(text: str) -> tuple[str, ...]:
    """Kinds from their names with commas between; all when there are none.

    >>> kinds_of("ruling,move"), kinds_of("") == KINDS
    (('ruling', 'move'), True)
    """
    kinds = tuple([one.strip() for one in text.split(",") if one.strip()]) or KINDS
    for kind in kinds:
        if kind not in KINDS:
            raise NoSuchKind(kind=kind)
    return kinds


class Live:
    """The viewers of one host."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self.viewers = 0

    async def events(
        self, kinds: Collection[str] = KINDS, *, after: int = 0
    ) -> AsyncIterator[Happened]:
        """What happens from now on, or since a record; raises `TooManyViewers` at once."""
        self.check()
        self.viewers += 1
        try:
            last = after or self._views.last_record
            before = self._views.topology()
            quiet = 0
            while True:
                found, last = self._records(kinds, last)
                now = self._views.topology()
                found += [one for one in changes(before, now, last) if one.kind in kinds]
                before = now
                for one in found:
                    yield one
                quiet = 0 if found else quiet + 1
                if quiet >= QUIET_S * LOOKS_S:
                    quiet = 0
                    yield Happened("quiet", last, {})
                await asyncio.sleep(1 / LOOKS_S)
        finally:
            self.viewers -= 1

    def check(self) -> None:
        """Raise `TooManyViewers` if there are as many as there may be."""
        if self.viewers >= VIEWERS_MAX:
            raise TooManyViewers(limit=VIEWERS_MAX)

    def _records(self, kinds: Collection[str], last: int) -> tuple[list[Happened], int]:
        views, share = self._views, EVENTS_S_MAX // LOOKS_S
        newest = views.last_record
        found: list[Happened] = []
        if newest - last > share:
            found.append(Happened("folded", newest - share, {"count": newest - share - last}))
            last = newest - share
        if newest > last:
            for record in views.records(after=last, limit=share):
                last = record.seq
                kind = _TABLES.get(record.table, "")
                if kind in kinds:
                    found.append(Happened(kind, record.seq, record.columns))
        return found, last


def changes(before: v.TopologyView, now: v.TopologyView, record: int) -> Iterator[Happened]:
    """Which hosts came and went between two looks, and which agents are elsewhere now."""
    were, are = [{host.name: host for host in view.hosts} for view in (before, now)]
    for name in [*were, *[name for name in are if name not in were]]:
        if (name in were) != (name in are):
            what = "engaged" if name in are else "parted"
            yield Happened("engagement", record, {"host": name, "what": what})
    stood, stand = [
        {agent: host.name for host in view.hosts for agent in host.agents} for view in (before, now)
    ]
    for agent in [*stood, *[agent for agent in stand if agent not in stood]]:
        source, target = stood.get(agent, ""), stand.get(agent, "")
        if source != target:
            yield Happened("move", record, {"agent": agent, "from": source, "to": target})


router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["looking"])
RULINGS_AT_ONCE: Final = 50
"""How many are read at once: some milliseconds."""
TUPLES_AT_ONCE: Final = 200
"""How many are written at once."""
RECORDS_AT_ONCE: Final = 100
_TUPLE_LINES: Final = TypeAdapter(list[v.TupleView])
_TUPLES: Final = TypeAdapter(v.TuplesView)
_RECORDS: Final = TypeAdapter(list[a.JournalRecord])


def views_of(service: TheService, caller: Caller) -> Views:
    """The views, for an operator."""
    return service.operator(caller)


TheViews = Annotated[Views, Depends(views_of)]
Suspendable = Annotated[str, Path(min_length=1, max_length=401)]
AgentQuery = Annotated[str, Query(max_length=401)]


@router.get("/topology")
async def topology(views: TheViews) -> v.TopologyView:
    """The hosts of the group, and the agents at each."""
    return views.topology()


@router.get("/agents")
async def agents(views: TheViews, after: AgentQuery = "", limit: Limit = 100) -> list[a.AgentLine]:
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


@router.get("/contact/drain")
async def drained(views: TheViews) -> a.DrainLine:
    """Whether the host keeps no share of partitioned spaces, and how much of them lies there."""
    return await views.ask(a.DrainHost())


@router.post("/contact/drain")
async def drain(views: TheViews) -> a.DrainLine:
    """Let what lies here of partitioned spaces move to other hosts, before this one is stopped."""
    return await views.ask(a.DrainHost(drained=True))


@router.delete("/contact/drain")
async def undrain(views: TheViews) -> a.DrainLine:
    """Have the host keep its share of partitioned spaces again."""
    return await views.ask(a.DrainHost(drained=False))


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
    views: TheViews, law: LawPath, after: AgentQuery = "", limit: Limit = 100
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
async def inside(views: TheViews, space: SpacePath, agent: AgentQuery = "") -> v.SpaceInside:
    """Who waits in a space, what is lent, what reacts; of an agent, its private one."""
    found = views.inside(space, agent=agent)
    return replace(found, leases=_in_json(found.leases))


@router.get("/spaces/{space}/tuples", response_model=v.TuplesView)
async def tuples(
    views: TheViews,
    space: SpacePath,
    agent: AgentQuery = "",
    template: Annotated[str, Query(max_length=10_000)] = "",
    limit: Limit = 100,
    after: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The oldest tuples of a space; of an agent, those in its private one.

    With a template (`job, _:int`, as `nomospace tuple read` takes it), those that match. `after`
    passes over so many.
    """
    asked = typed_template(template)
    await views.read_ages()
    found = views.tuples(space, agent=agent, template=asked, limit=limit, after=after)
    lines: list[bytes] = []
    for start in range(0, len(found.tuples), TUPLES_AT_ONCE):
        await asyncio.sleep(0)  # others have their turn
        part = list(_in_json(found.tuples[start : start + TUPLES_AT_ONCE]))
        lines.append(_TUPLE_LINES.dump_json(part)[1:-1])
    rest = _TUPLES.dump_json(replace(found, tuples=(), sets=_in_json(found.sets)))
    return _with_lines(rest, "tuples", lines)


def _with_lines(rest: bytes, name: str, parts: list[bytes]) -> Response:
    """An answer whose list was written in parts, so that nobody waits for all of it."""
    body = rest.replace(
        b'"%b":[]' % name.encode(), b'"%b":[%b]' % (name.encode(), b",".join(parts)), 1
    )
    return Response(body, media_type="application/json")


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
    found: list[v.RulingView] = []
    last = after or max(0, views.last_record - limit)
    for start in range(0, limit, RULINGS_AT_ONCE):
        part = views.rulings(after=last, limit=min(RULINGS_AT_ONCE, limit - start))
        found += part.rulings
        if part.last == last:
            break
        last = part.last
        await asyncio.sleep(0)  # others have their turn
    return v.RulingsView(tuple(found), last)


@router.get("/rulings/{record}/why")
async def why(views: TheViews, record: Annotated[int, Path(ge=1, le=2**53)]) -> v.WhyView:
    """Why a ruling is as it is: the rules that were tried, and the goal that failed."""
    return views.why(record)


@router.get("/journal", response_model=m.JournalLines)
async def journal(views: TheViews, after: After = 0, limit: Limit = 100) -> Response:
    """Records of the journal behind a number; the latest when that is 0."""
    last = after or views.last_record - limit
    last, left, parts = last or -1, limit, list[bytes]()  # 0 would ask for the latest again
    while left and (lines := views.records(after=last, limit=min(left, RECORDS_AT_ONCE))):
        parts.append(_RECORDS.dump_json(lines)[1:-1])
        last, left = lines[-1].seq, left - len(lines)
        await asyncio.sleep(0)  # others have their turn
    rest = m.JournalLines(records=[], last=max(after, last)).model_dump_json().encode()
    return _with_lines(rest, "records", parts)


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
