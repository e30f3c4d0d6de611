"""The services behind one address: what `nomospace host run --http ADDRESS` serves.

Law server, controller service and secretary are one HTTP service with one folder:

    FOLDER/laws                 the library
    FOLDER/rolls/LAW            the roll of one community

Who may change something says so with a token of the trust folder (`nomospace trust issue token`).
One with the scope `operator` may put laws, register hosts and change rolls. A host registers itself
and speaks to secretaries with a token for the agent `host@NAME`, which stands for the host `NAME`.
Services of a host without certificates take that host's own token for all of it
(`client.own_tokens`); followed by a point and a name, it stands for the host of that name. What the
host itself counts is at `/metrics`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from nomospace.calls.problems import NotLetIn
from nomospace.law import read_source
from nomospace.node.addresses import Address
from nomospace.node.clients import CLIENTS_MAX
from nomospace.node.principals import Door, Principal
from nomospace.node.services.controllers import ControllerService, Registration
from nomospace.node.services.lawserver import LawServer
from nomospace.node.services.rolls import RollFiles, Rolls, StoredRolls
from nomospace.node.services.secretaries import SecretaryService
from nomospace.node.services.web import Allows, Web, application
from nomospace.node.working import Workers
from nomospace.services.controllers import Offer
from nomospace.services.laws import PROLOG, PYTHON, name_of
from nomospace.trust.keys import PublicKey

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from nomospace.node.notes import OnNote
    from nomospace.node.serve import Server

HOST: Final = "host@"
"""The agents that stand for hosts."""


class Services:
    """The services of one host, from the head of an `async with` to its end.

    `laws_from` is a folder of law files that are put into the library at the start, each under the
    name that the law gives itself. `more` are routes that are served beside them. `certificate` and
    `key` are PEM files; without them only the loopback is served. `names` are what requests may
    call this machine.
    """

    def __init__(
        self,
        address: str,
        *,
        operators: Allows,
        hosts: Allows,
        folder: Path | None = None,
        laws_from: Path | None = None,
        more: Iterable[Route] = (),
        certificate: Path | None = None,
        key: Path | None = None,
        names: Collection[str] = (),
        on_note: OnNote | None = None,
    ) -> None:
        self._at = Address.parse(address)
        self._folder = folder
        self._laws_from = laws_from
        self._operators = operators
        self._more = tuple(more)
        self._certificate = certificate
        self._key = key
        self._names = names
        self._on_note = on_note
        self.work: Workers | None = None
        """Who reads the laws that come over HTTP, beside the loop."""
        self.laws: LawServer
        """The law server, while they run."""
        self._web: Web
        self._parts: AsyncExitStack
        self.controllers = ControllerService(operators, hosts)
        self.rolls: Rolls = RollFiles(None if folder is None else folder / "rolls")
        self._hosts = hosts

    @property
    def url(self) -> str:
        """Where they are."""
        return self._web.url

    @property
    def bound(self) -> tuple[Address, ...]:
        """All places that they are served at, as numbers."""
        return self._web.bound

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as parts:
            parts.callback(self.rolls.close)
            self.laws = LawServer(
                self._operators,
                None if self._folder is None else self._folder / "laws",
                work=self.work,
            )
            parts.callback(self.laws.close)
            await self._take_in()
            if isinstance(self.rolls, StoredRolls):
                await self.rolls.bring_in()
            secretaries = SecretaryService(self._hosts, self._operators, self.rolls)
            cores = (self.laws, self.controllers, secretaries)
            routes = [*self._more, *[route for core in cores for route in core.routes()]]
            self._web = Web(
                application(routes),
                self._at.host,
                self._at.port,
                certificate=self._certificate,
                key=self._key,
                names=self._names,
                on_note=self._on_note,
            )
            await parts.enter_async_context(self._web)
            self._parts = parts.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._parts.aclose()

    async def _take_in(self) -> None:
        """Put the laws of a folder into the library; one with errors ends the start."""
        folder = self._laws_from
        for path in (
            [] if folder is None else sorted([*folder.glob("*.law"), *folder.glob("*.law.py")])
        ):
            language = PYTHON if path.suffix == ".py" else PROLOG
            text = read_source(str(path)).text
            await self.laws.put(name_of(text, str(path)), text, by=str(path), language=language)


def allowed(door: Door) -> tuple[Allows, Allows]:
    """Who a token stands for at a host's door: as an operator, and as a host.

    At an open door a host that shows the token is believed to be who it says.
    """

    def principal(token: str) -> Principal | None:
        with suppress(NotLetIn):
            return door.by_token(token)
        return None

    def operator(token: str) -> str | None:
        found = principal(token)
        return found.name if found is not None and found.operator else None

    def host(token: str) -> str | None:
        found = principal(token)
        if found is None:
            own, _, name = token.partition(".")
            said = principal(own) if name else None
            return name if said is not None and said.anyone else None
        named = [agent.removeprefix(HOST) for agent in found.agents if agent.startswith(HOST)]
        return named[0] if len(named) == 1 else None

    return operator, host


def services_of(server: Server) -> Services:
    """The services that a host's configuration asks for under `[services]`.

    Laws are in a folder beside the host's store, or forgotten when the store is; rolls are in the
    store itself.
    """
    from starlette.responses import Response
    from starlette.routing import Route

    async def show(_: Request) -> Response:
        return Response(server.metrics.render(), media_type="text/plain; version=0.0.4")

    config, identity = server.config, server.identity
    operators, hosts = allowed(server.door())
    name, store = config.host.name, config.store
    pem = None if identity is None else identity.folder / "hosts" / name
    place = Path(name) if "://" in store else Path(store.removeprefix("sqlite:"))
    folder = None if store == "memory" else place.with_suffix(".services")
    services = Services(
        config.services.http,
        operators=operators,
        hosts=hosts,
        folder=folder,
        laws_from=Path(config.services.laws) if config.services.laws else None,
        more=[Route("/metrics", show)],
        certificate=None if pem is None else pem / "host.pem",
        key=None if pem is None else pem / "host.key",
        names=server.names,
        on_note=server.note,
    )
    services.rolls = StoredRolls(server.host, folder and folder / "rolls")
    services.work = server.work
    return services


def registration_of(server: Server) -> Registration:
    """How a host stays registered with the controller service that its configuration names."""
    config, identity = server.config, server.identity
    name = config.host.name
    at = (config.host.advertise or (server.listener.advertised,))[0]

    def offer() -> Offer:
        certified: tuple[PublicKey, ...] = ()
        if identity is not None and identity.papers.controller is not None:
            certified = (identity.papers.authority, *identity.papers.former)
        return Offer(
            name,
            at,
            server.host.domain,
            authorities=tuple([key.text for key in certified]),
            load=min(1.0, server.clients.count / CLIENTS_MAX),
        )

    return Registration(
        config.services.controllers,
        offer,
        token=config.services.token,
        authority=None if identity is None else str(identity.folder / "authority.pem"),
        on_failed=lambda error: server.note("not-registered", why=str(error)),
    )
