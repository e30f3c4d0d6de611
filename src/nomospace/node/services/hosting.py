"""The services behind one address: what `nomospace host run --http ADDRESS` serves.

Law server, controller service and secretary are one HTTP service with one folder:

    FOLDER/laws                 the library
    FOLDER/rolls/LAW            the roll of one community

Who may change something says so with a token of the trust folder (`nomospace trust issue token`).
One with the scope `operator` may put laws, register hosts and change rolls. A host speaks to
secretaries with a token for the agent `host@NAME`, which stands for the host `NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from nomospace.errors import NomospaceError
from nomospace.node.addresses import Address
from nomospace.node.services.controllers import ControllerService
from nomospace.node.services.lawserver import LawServer
from nomospace.node.services.secretaries import SecretaryService
from nomospace.node.services.web import Allows, Web, application
from nomospace.trust.tokens import Token, Tokens

if TYPE_CHECKING:
    from starlette.routing import Route

HOST: Final = "host@"
"""The agents that stand for hosts."""


class Services:
    """The services of one host, from the head of an `async with` to its end.

    `more` are routes that are served beside them. `certificate` and `key` are PEM files; without
    them only the loopback is served.
    """

    def __init__(
        self,
        address: str,
        *,
        operators: Allows,
        hosts: Allows,
        folder: Path | None = None,
        more: Iterable[Route] = (),
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        self._at = Address.parse(address)
        self._folder = folder
        self._operators = operators
        self._more = tuple(more)
        self._certificate = certificate
        self._key = key
        self._laws: LawServer | None = None
        self._web: Web | None = None
        self.controllers = ControllerService(operators)
        self.secretaries = SecretaryService(
            hosts, operators, None if folder is None else folder / "rolls"
        )

    @property
    def url(self) -> str:
        """Where they are."""
        assert self._web is not None, "services that run have an address"
        return self._web.url

    @property
    def laws(self) -> LawServer:
        """The law server."""
        assert self._laws is not None, "the library is open while the services run"
        return self._laws

    async def __aenter__(self) -> Self:
        try:
            self._laws = LawServer(
                self._operators, None if self._folder is None else self._folder / "laws"
            )
            parts = (self._laws, self.controllers, self.secretaries)
            routes = [*self._more, *[route for part in parts for route in part.routes()]]
            self._web = Web(
                application(routes),
                self._at.host,
                self._at.port,
                certificate=self._certificate,
                key=self._key,
            )
            await self._web.__aenter__()
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._web is not None, "it was begun"
        await self._web.stop()
        self._close()

    def _close(self) -> None:
        self.secretaries.close()
        if self._laws is not None:
            self._laws.close()


def allowed(tokens: Callable[[], Tokens], now: Callable[[], int]) -> tuple[Allows, Allows]:
    """Who a token of the trust folder stands for: as an operator, and as a host.

    `tokens` is asked each time, so that one that was taken back counts no more.
    """

    def checked(text: str) -> Token | None:
        try:
            return tokens().check(text, now=now())
        except NomospaceError:
            return None

    def operator(text: str) -> str | None:
        token = checked(text)
        return token.id if token is not None and token.operates else None

    def host(text: str) -> str | None:
        token = checked(text)
        named = [] if token is None else [each for each in token.agents if each.startswith(HOST)]
        return named[0].removeprefix(HOST) if len(named) == 1 else None

    return operator, host
