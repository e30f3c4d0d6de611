"""The secretary over HTTP, and the side of a host that asks it.

| request                                 | answer                                             |
| --------------------------------------- | -------------------------------------------------- |
| `GET /communities`                      | the laws whose communities are kept here           |
| `PUT /communities/LAW`                  | keep it: `closed`, `returns` (operator)            |
| `GET /communities/LAW/members`          | who is a member, at which host, since when         |
| `GET /communities/LAW/members/AGENT`    | one of them                                        |
| `PUT /communities/LAW/members/AGENT`    | a host asks to admit, or tells `{"moved": true}`   |
| `DELETE /communities/LAW/members/AGENT` | a host tells that its member has quit              |
| `GET /communities/LAW/roll`             | who is on the roll (operator)                      |
| `PUT /communities/LAW/roll/AGENT`       | put there: `initial` terms, `controller` (operator) |
| `DELETE /communities/LAW/roll/AGENT`    | struck off (operator)                              |

`LAW` is a hash. A host is who its token stands for: none can speak for another.

A host asks before its core hears of the adoption (`Secretaries.ask`), and the core is given the
answer when it adopts (`Secretaries.enrols`). To ask again is harmless, and so is a crash in
between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

import msgspec

from nomospace.client.http import (
    BadAnswer,
    ServiceAway,
    ServiceRefused,
    fetch,
    own_token_at,
)
from nomospace.control import SpaceRoll
from nomospace.errors import CallerError, LawError, NomospaceError, Unavailable
from nomospace.node.clock import wall_us
from nomospace.node.services.rolls import Rolls
from nomospace.node.services.web import (
    Allows,
    BadRequest,
    body_of,
    caller_of,
    json_answer,
    routes,
)
from nomospace.services.laws import HASH
from nomospace.services.secretary import AdmissionSettled, Change, Secretary
from nomospace.terms import Term, show, term

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

COMMUNITIES_MAX: Final = 1_000
"""How many communities one service keeps."""
ENTRY_BYTES_MAX: Final = 100_000
KEEP_S: Final = 8.0
"""How long a change of a roll may take: less than who asks waits for an answer."""
ASKED_MAX: Final = 10_000
"""How many answers of secretaries may wait for their adoptions."""

T = TypeVar("T")


class NoSuchCommunity(CallerError):
    """A community that this service does not keep."""

    code = "secretary.no-such-community"
    law: str

    def __str__(self) -> str:
        return f"no community of law {self.law[:70]!r} is kept here; look at the list"


class NotAdmitted(CallerError):
    """A secretary does not let an agent adopt its law; `reason` is the code, `why` its words."""

    code = "secretary.not-admitted"
    words = "{agent} may not adopt law {law:.12}: {why}"
    agent: str
    law: str
    reason: str
    why: str


class RollNotKept(Unavailable):
    """A change of a roll was not kept in time; it may be, later."""

    code = "secretary.roll-not-kept"
    words = "the roll of law {law:.12} was not kept within {limit_s:g} s; ask again: it is harmless"
    law: str
    limit_s: float


class NotAsked(Unavailable):
    """An agent adopts a law whose secretary was not asked about it."""

    code = "secretary.not-asked"
    words = "the secretary of law {law:.12} was not asked about {agent}; adopt again"
    agent: str
    law: str


class Admission(msgspec.Struct, frozen=True):
    """A secretary's yes: the terms that the member begins with, besides `initialCS`, whether it
    answers for a space, and the life of the secretary's host, which grows with each takeover.
    """

    initial: tuple[str, ...] = ()
    space: bool = False
    life: int = 0


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    initial: tuple[str, ...] = ()
    controller: str = ""
    space: bool = False


class _Keeping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    closed: bool = False
    returns: bool = False


class _Asking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    moved: bool = False


class _Community:
    """One roll, what keeps it, and the turn to change it."""

    def __init__(self, rolls: Rolls, law: str, changes: Iterable[Change] = ()) -> None:
        self.secretary = Secretary(law, changes)
        self.turn = asyncio.Lock()
        self._rolls = rolls

    async def change(self, decide: Callable[[], Change | None]) -> None:
        """Decide on a change in turn, have it kept and carry it out, also if the caller leaves.

        Raises `RollNotKept` when that takes long: whoever comes then waits for its turn.
        """
        try:
            async with asyncio.timeout(KEEP_S):
                await asyncio.shield(asyncio.create_task(self._carry_out(decide)))
        except TimeoutError:
            raise RollNotKept(law=self.secretary.law, limit_s=KEEP_S) from None

    async def _carry_out(self, decide: Callable[[], Change | None]) -> None:
        async with self.turn:
            change = decide()
            if change is not None:
                await self._rolls.write(self.secretary, change)
                self.secretary.apply(change)


class SecretaryService:
    """The secretaries of some communities behind HTTP.

    `hosts` says which host a token stands for, `operators` who may change rolls; `rolls` keeps
    them.
    """

    def __init__(self, hosts: Allows, operators: Allows, rolls: Rolls) -> None:
        self._hosts = hosts
        self._operators = operators
        self._rolls = rolls
        self._communities = {
            law: _Community(rolls, law, changes) for law, changes in rolls.found().items()
        }

    async def keep(self, law: str, *, closed: bool = False, returns: bool = False) -> Secretary:
        """Keep the community of a law (its hash); what the rest means is in `Secretary`."""
        community = self._communities.get(law)
        if community is None:
            if HASH.fullmatch(law) is None:
                raise NoSuchCommunity(law=law)
            if len(self._communities) >= COMMUNITIES_MAX:
                raise BadRequest(
                    why=f"{COMMUNITIES_MAX:,} communities are kept; use another service"
                )
            community = self._communities[law] = _Community(self._rolls, law)
        secretary, settled = community.secretary, AdmissionSettled(closed, returns)
        await community.change(lambda: None if secretary.settled == settled else settled)
        return secretary

    def routes(self) -> list[Route]:
        """Where it is served."""
        one = "/communities/{law}"
        return routes(
            ("GET", "/communities", self._list),
            ("PUT", one, self._keep),
            ("GET", f"{one}/members", self._members),
            ("GET", f"{one}/members/{{agent}}", self._member),
            ("PUT", f"{one}/members/{{agent}}", self._admit),
            ("DELETE", f"{one}/members/{{agent}}", self._quit),
            ("GET", f"{one}/roll", self._roll),
            ("PUT", f"{one}/roll/{{agent}}", self._enrol),
            ("DELETE", f"{one}/roll/{{agent}}", self._strike),
        )

    def _community(self, request: Request) -> _Community:
        assert self._rolls.life >= 0, "it raises when nobody may be answered"
        law = request.path_params["law"]
        found = self._communities.get(law)
        if found is None:
            raise NoSuchCommunity(law=law)
        return found

    async def _list(self, request: Request) -> Response:
        return json_answer(
            [
                {"law": law, "members": len(community.secretary.members)}
                for law, community in self._communities.items()
            ]
        )

    async def _keep(self, request: Request) -> Response:
        caller_of(request, self._operators, "to keep a community")
        wanted = await _body(request, _Keeping)
        law = request.path_params["law"]
        await self.keep(law, closed=wanted.closed, returns=wanted.returns)
        return json_answer({"law": law})

    async def _members(self, request: Request) -> Response:
        secretary = self._community(request).secretary
        return json_answer([secretary.member(agent) for agent in secretary.members])

    async def _member(self, request: Request) -> Response:
        secretary = self._community(request).secretary
        return json_answer(secretary.member(request.path_params["agent"]))

    async def _admit(self, request: Request) -> Response:
        host = caller_of(request, self._hosts, "to speak for a host")
        community, agent = self._community(request), request.path_params["agent"]
        asking = await _body(request, _Asking)
        secretary, initial = community.secretary, tuple[Term, ...]()

        def decide() -> Change | None:
            nonlocal initial
            if asking.moved:
                return secretary.move(agent, host, now=wall_us())
            change, initial = secretary.admit(agent, host, now=wall_us())
            return change

        await community.change(decide)
        if asking.moved:
            return json_answer(Admission(life=self._rolls.life))
        texts = tuple([show(each) for each in initial])
        return json_answer(Admission(texts, secretary.is_space(agent), self._rolls.life))

    async def _quit(self, request: Request) -> Response:
        host = caller_of(request, self._hosts, "to speak for a host")
        community, agent = self._community(request), request.path_params["agent"]
        await community.change(lambda: community.secretary.quit(agent, host))
        return json_answer({"agent": agent, "life": self._rolls.life})

    async def _roll(self, request: Request) -> Response:
        caller_of(request, self._operators, "to read a roll")
        return json_answer(self._community(request).secretary.roll)

    async def _enrol(self, request: Request) -> Response:
        caller_of(request, self._operators, "to change a roll")
        community, agent = self._community(request), request.path_params["agent"]
        entry = await _body(request, _Entry)
        given = (agent, entry.initial, entry.controller)
        change = community.secretary.enrol(*given, space=entry.space)
        await community.change(lambda: change)
        return json_answer(change)

    async def _strike(self, request: Request) -> Response:
        caller_of(request, self._operators, "to change a roll")
        community, agent = self._community(request), request.path_params["agent"]
        await community.change(lambda: community.secretary.strike(agent))
        return json_answer({"agent": agent})


class Secretaries:
    """The secretaries that a host asks: law hashes, each with the address of its service, or
    several with commas between them. The first that answers counts, unless its host has a lower
    life than was heard before: then another process has taken over from it.

    `ask` before a call of adoption goes to the core, `enrols` is for the core itself: of laws
    without a secretary nobody is asked. `authority` is the PEM file of who certifies the services.
    Without a `token` it is the own token of the service's host, which is then told this `name`.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        *,
        token: str,
        authority: str | None = None,
        name: str = "",
    ) -> None:
        self._addresses = {
            law: [url.strip().rstrip("/") for url in urls.split(",")]
            for law, urls in addresses.items()
        }
        self._lives: dict[str, int] = {}
        self._token = token
        self._authority = authority
        self._name = name
        self._asked: dict[tuple[str, str], tuple[Term, ...] | NomospaceError] = {}

    def __contains__(self, law: str) -> bool:
        return law in self._addresses

    def must_ask(self, agent: str, law: str) -> bool:
        """Whether a law's secretary has still to be asked about an agent."""
        return law in self._addresses and (agent, law) not in self._asked

    async def ask(self, agent: str, law: str) -> None:
        """Ask a law's secretary to admit an agent, and keep its answer for the adoption to follow.

        Raises nothing: what is wrong is raised by `enrols`, which answers the adoption.
        """
        try:
            answer: tuple[Term, ...] | NomospaceError = await self._admission(agent, law)
        except NomospaceError as error:
            answer = error
        while len(self._asked) >= ASKED_MAX:
            del self._asked[next(iter(self._asked))]
        self._asked[agent, law] = answer

    async def _admission(self, agent: str, law: str) -> tuple[Term, ...]:
        admission = await self._tell("PUT", agent, law)
        try:
            terms = [term(text) for text in admission.initial]
            return SpaceRoll(terms) if admission.space else tuple(terms)
        except (ValueError, LawError, CallerError) as error:
            url = self._addresses[law][0]
            raise BadAnswer(url=url, why=f"no admission ({error})") from None

    def enrols(self, agent: str, law: str) -> tuple[Term, ...]:
        """What the secretary's roll has for an agent.

        Raises `NotAdmitted`, `NotAsked`, `ServiceAway`, `BadAnswer`.
        """
        if law not in self._addresses:
            return ()
        answer = self._asked.pop((agent, law), None)
        if answer is None:
            raise NotAsked(agent=agent, law=law)
        if isinstance(answer, NomospaceError):
            raise answer
        return answer

    async def moved(self, agent: str, law: str) -> None:
        """Tell that a member has come to this host; raises what `enrols` may."""
        await self._tell("PUT", agent, law, b'{"moved": true}')

    async def quit(self, agent: str, law: str) -> None:
        """Tell that a member of this host has quit; raises what `enrols` may."""
        await self._tell("DELETE", agent, law)

    async def _tell(self, method: str, agent: str, law: str, body: bytes = b"") -> Admission:
        """What the first says that answers and was not taken over; it is asked first from now."""
        urls = self._addresses[law]
        for place, url in enumerate(tuple(urls)):
            try:
                answer = await self._tell_at(url, method, agent, law, body)
            except Unavailable:
                if place == len(urls) - 1:
                    raise
            else:
                urls.sort(key=lambda other: other != url)
                return answer
        raise AssertionError("a law has an address")

    async def _tell_at(self, url: str, method: str, agent: str, law: str, body: bytes) -> Admission:
        where = f"{url}/communities/{law}/members/{quote(agent, safe='@')}"
        token = self._token or f"{own_token_at(where)}.{self._name}"
        try:
            told = await fetch(
                where, method=method, body=body, token=token, authority=self._authority
            )
            answer = msgspec.json.decode(told.body, type=Admission)
        except ServiceRefused as error:
            if error.status >= 500:
                raise ServiceAway(url=url, why=error.detail) from None
            raise NotAdmitted(
                agent=agent, law=law, reason=error.problem, why=error.detail
            ) from None
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise BadAnswer(url=url, why=f"no admission ({error})") from None
        known = self._lives.get(law, 0)
        if answer.life < known:
            why = f"its host has the token {answer.life}, and another process of it has {known}"
            raise ServiceAway(url=url, why=why)
        self._lives[law] = answer.life
        return answer


async def _body(request: Request, kind: type[T]) -> T:
    body = await body_of(request, ENTRY_BYTES_MAX)
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadRequest(why=f"the body cannot be read: {error}") from None
