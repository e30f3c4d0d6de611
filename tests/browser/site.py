"""Hosts with a console, in a process of their own, for browsers to look at.

NiceGUI has one application for a process, so every test file that wants hosts of its own gets a
process: a fork of one that has read all modules, which takes a moment. What lives there is made by
a function that the test names (`begin(servers) -> Stages | None`), and `Site.do` has any other
function of a test file run there later, in the hosts' own loop.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from nomospace.console import Console
from nomospace.console.stage import Stages
from nomospace.node.serve import Server

START_S: Final = 60.0
"""How long hosts may take to stand; the first time all modules are read."""
DO_S: Final = 60.0
END_S: Final = 60.0
READ_FIRST: Final = [
    "nomospace.console.pages",
    "nomospace.api.http",
    "nomospace.node.serve",
    "nomospace.node.tcp",
    "nomospace.store.sqlite",
    "nomospace_lab.cli.up",
    "nomospace_lab.pages.jigsaw",
    "tests.browser.site",
]

Servers = dict[str, Server]
Begin = Callable[[Servers], Coroutine[Any, Any, Stages | None]]
Deed = Callable[..., Coroutine[Any, Any, Any]]


@dataclass
class Site:
    """Where the console is, and the host's own token."""

    url: str
    token: str
    pid: int
    pipe: Connection

    @property
    def headers(self) -> dict[str, str]:
        """What a program sends along to be let in."""
        return {"authorization": f"Bearer {self.token}"}

    def link(self, path: str = "/") -> str:
        """A link that logs in and leads to a path; good once."""
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={self.do(login_token)}"

    def do(self, deed: Deed, *args: Any) -> Any:
        """Run `await deed(servers, *args)` there; what it gives, or raises."""
        self.pipe.send((deed, args))
        assert self.pipe.poll(DO_S), f"{deed.__name__} took longer than {DO_S:g} s"
        well, answer = self.pipe.recv()
        if not well:
            raise answer
        return answer


async def login_token(servers: Servers) -> str:
    """A token for one login."""
    service = next(iter(servers.values())).served.service
    return str(service.logins.token_for(service.who(service.own_token)))


@contextmanager
def site(
    begin: Begin | None = None,
    *,
    hosts: Sequence[str] = ("ward-1",),
    api: str = "127.0.0.1:0",
    folder: Path | None = None,
) -> Iterator[Site]:
    """Hosts until the end of the block; the first of them has the console.

    What they keep in a `folder` is there for those that are started with it later: they end as
    hosts do. Others are gone at once: to leave a group takes seconds, and is tried elsewhere.
    """
    here, there = multiprocessing.Pipe()
    with ExitStack() as parts:
        place = folder or Path(parts.enter_context(tempfile.TemporaryDirectory()))
        told = (there, begin, tuple(hosts), api, place, folder is not None)
        process = forks().Process(target=_live, args=told, daemon=True)
        process.start()
        there.close()
        parts.callback(_end, process, here)
        assert here.poll(START_S), f"the hosts did not stand after {START_S:g} s"
        well, found = here.recv()
        if not well:
            raise found
        assert process.pid is not None
        url, token = found
        yield Site(url, token, process.pid, here)


def _end(process: Any, pipe: Connection) -> None:
    pipe.close()  # which ends it
    process.join(END_S)
    if process.is_alive():
        process.kill()
        process.join(END_S)


@cache
def forks() -> Any:
    """What makes processes that have read all modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(READ_FIRST)
    return context


# -- in the process of the hosts -----------------------------------------------------------------


def _live(
    pipe: Connection,
    begin: Begin | None,
    names: tuple[str, ...],
    api: str,
    folder: Path,
    leave: bool,
) -> None:
    from nomospace.node.loops import run_loop

    run_loop(_serve(pipe, begin, names, api, folder, leave=leave))


async def _serve(
    pipe: Connection,
    begin: Begin | None,
    names: tuple[str, ...],
    api: str,
    folder: Path,
    *,
    leave: bool,
) -> None:
    try:
        async with AsyncExitStack() as parts:
            servers, served = await _stand(parts, folder, begin, names, api)
            pipe.send((True, (served.url, served.service.own_token)))
            await _obey(pipe, servers)
            if not leave:
                os._exit(0)
    except Exception as error:
        pipe.send((False, error))


async def _stand(
    parts: AsyncExitStack, folder: Path, begin: Begin | None, names: tuple[str, ...], api: str
) -> tuple[Servers, Any]:
    from nomospace.api.http import serving
    from nomospace.api.service import Service
    from nomospace.node.config import read_config

    servers: Servers = {}
    first = ""
    for name in names:
        config = read_config(
            "",
            name,
            name=name,
            listen="127.0.0.1:0",
            insecure=True,
            store=str(folder / f"{name}.db"),
            join=(first,) if first else (),
            api=None if first else {"listen": api},
            links={"heartbeat_ms": 100 if len(names) < 10 else 1_500},
        )
        servers[name] = await parts.enter_async_context(Server(config))
        first = first or str(servers[name].listener.address)
    for name, server in servers.items():
        await server.host.wait_engaged(*[one for one in names if one != name], timeout=START_S)
    stages = None if begin is None else await begin(servers)
    others = {name: Service(servers[name], servers[name].door()) for name in names[1:]}
    console = Console(stages=stages, beside=others)
    served = await parts.enter_async_context(serving(servers[names[0]], pages=console.attach))
    servers[names[0]].served = served
    return servers, served


async def _obey(pipe: Connection, servers: Servers) -> None:
    """Do what the test asks for, until it hangs up."""
    while True:
        try:
            deed, args = await asyncio.to_thread(pipe.recv)
        except (EOFError, OSError):
            return
        try:
            answer = (True, await deed(servers, *args))
        except Exception as error:
            answer = (False, error)
        pipe.send(answer)
