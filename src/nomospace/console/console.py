"""One console: the hosts that it shows, what it may do, and how it becomes part of a host's API.

NiceGUI keeps one application for a process, so there is one console for a process; `attach` puts it
behind the guard of the API, which lets nobody pass without a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from nomospace.console.pulse import Pulse
from nomospace.console.stage import Stages
from nomospace.errors import CallerError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from nomospace.api.service import Service

STATIC: Final = Path(__file__).parent / "static"


class OneConsole(CallerError):
    """A second console was to be made in a process."""

    code = "console.one-only"
    words = "a process has one console; start the second host in a process of its own"


class Console:
    """What pages stand on.

    `service` is that of the host that serves the pages; `beside` are those of hosts that run in
    the same process (`nomospace up` runs a whole hospital), so their journals can be read too.
    """

    _running: ClassVar[Console | None] = None

    def __init__(
        self,
        *,
        stages: Stages | None = None,
        beside: Mapping[str, Service] | None = None,
        laws: Path | None = None,
    ) -> None:
        """`laws` is a folder of laws that the law bench offers."""
        self.stages = stages or Stages()
        self.services: dict[str, Service] = dict(beside or {})
        self.laws = laws
        self.name = ""
        self.pulse = Pulse(self)

    @property
    def service(self) -> Service:
        """The service of the host that serves the pages."""
        return self.services[self.name]

    def attach(self, app: FastAPI, service: Service) -> None:
        """Put the pages into an application; raises `OneConsole`."""
        from nomospace.console.gate import gate
        from nomospace.console.pages import mount

        if Console._running not in (None, self):
            raise OneConsole
        Console._running = self
        self.name = service.health()["host"]
        self.services = {self.name: service, **self.services}
        gate(app, service)
        mount(app, self)

    @classmethod
    def running(cls) -> Console:
        """The console of this process."""
        assert cls._running is not None, "pages are served after `attach`"
        return cls._running

    @classmethod
    def detach(cls) -> None:
        """Forget the console of this process, when its host has ended."""
        cls._running = None
