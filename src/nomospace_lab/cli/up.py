"""`nomospace up`: a demonstration on real hosts of this process, with the console to look at it.

It prints four lines: what is running, where to look (with a token that is good for one login), how
to stop, and where the data lies. Everything else goes to a log beside the data. The hosts keep
what they know, so a second start goes on where the first ended; `--fresh` begins anew.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nomospace.errors import CallerError
from nomospace.extras import need
from nomospace.store.private import make_folder
from nomospace_lab.cli.demos import DEMOS

if TYPE_CHECKING:
    from nomospace.api.http import ServedApi
    from nomospace.api.service import Service
    from nomospace_lab.cli.demos import ChosenDemo, DemoAct
    from nomospace_lab.cli.venue import Stations
    from nomospace_lab.pages.stage import HospitalStage
    from nomospace_lab.testing.together import Together

app = typer.Typer(add_completion=False)

PORT: Final = 8765
"""Where the console is, if nobody else is there."""
HOME: Final = "home"
"""The host of the console, where a demonstration has none of its own."""
LOG_BYTES: Final = 1_000_000
SPEED: Final = 30.0
TOKEN: Final = "token"
"""The file beside the data with the token of this run, for whoever logs in a second time."""
GAMES: Final = "games"
"""The folder of the hosts of games, which may be open to other machines."""
KEPT: Final = ("*.db", "*.db-wal", "*.db-shm", "*.db-sums", "*.db.lock", "authority.*", "games.tag")
"""What hosts keep in their folder, and `--fresh` removes."""


class AlreadyUp(CallerError):
    """The data is that of a demonstration which runs."""

    code = "up.already"
    words = (
        "{holder} shows what lies in {folder} already; look at it there, stop it, "
        "or name another folder with --data"
    )
    folder: str
    holder: str


class PortTaken(CallerError):
    """The port that was asked for is not free."""

    code = "up.port-taken"
    words = "port {port} is taken; name another with --port, or leave it out for a free one"
    port: int


class ForTextOnly(CallerError):
    """An option of the simulated hospital was given to the real one."""

    code = "up.for-text-only"
    words = "{option} is for the simulated hospital; give it together with --text"
    option: str


class NotJoinable(CallerError):
    """Something was said about other machines, and nothing is shown that they could join."""

    code = "up.not-joinable"
    option: str

    def __str__(self) -> str:
        games = ", ".join([name for name, demo in DEMOS.items() if demo.game])
        return f"{self.option} is for games; give it with --demo and one of {games}"


class NoSuchDemo(CallerError):
    """A demonstration was named that there is none of."""

    code = "up.no-such-demo"
    demo: str

    def __str__(self) -> str:
        return f"there is no demonstration {self.demo[:60]!r}; choose one of {', '.join(DEMOS)}"


class NoDataFolder(CallerError):
    """The folder for the data cannot be used."""

    code = "up.no-data-folder"
    words = "{folder} cannot hold the data: {why}; name another with --data"
    folder: str
    why: str


@app.command()
def up(
    *,
    demo: Annotated[
        list[str] | None,
        typer.Option(help=f"What to show: {', '.join(DEMOS)}; may be repeated."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Where hosts keep what they know.", show_default=False)
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what they knew before.")] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help=f"Where the console is; {PORT} or any free one."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser, if there is one.")] = True,
    for_s: Annotated[
        float | None, typer.Option("--for", min=0, metavar="SECONDS", help="End after so long.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another day.")] = 1,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Games: where other machines join them.")
    ] = "",
    advertise: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Games: where that is, seen from outside.")
    ] = "",
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Games: take part in those there; may be repeated."),
    ] = None,
    trust: Annotated[
        str,
        typer.Option(
            metavar="FOLDER", help="Games: certificates, to be played beyond this machine."
        ),
    ] = "",
    text: Annotated[
        bool, typer.Option("--text", help="A simulated hospital in the terminal instead.")
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(min=0.1, max=10_000, help="With --text: times faster than real time."),
    ] = None,
) -> None:
    """Show a hospital at work on three hosts of this process, and the console to look at it.

    Ctrl-C ends it; a second start goes on where it was. The address that it prints logs in once;
    the file `token` beside the data has what later logins need.

    Games can be played by several machines: one listens, the others join it. Without certificates
    that is for addresses of the loopback only.
    """
    if text:
        from nomospace_lab.cli.up_text import show_text

        show_text(SPEED if speed is None else speed, for_s, seed)
        return
    if speed is not None:
        raise ForTextOnly(option="--speed")
    names = list(dict.fromkeys(demo or [next(iter(DEMOS))]))
    for name in names:
        if name not in DEMOS:
            raise NoSuchDemo(demo=name)
    others = {"--listen": listen, "--advertise": advertise, "--join": join, "--trust": trust}
    for option, given in others.items():
        if given and not any(DEMOS[name].game for name in names):
            raise NotJoinable(option=option)
    need("console", "the console of nomospace up (--text does without)")
    place = (data or _data_home() / "nomospace" / "up").absolute()
    from nomospace_lab.cli.venue import LOOPBACK, Stations

    venue = Stations(
        place / GAMES,
        listen=listen or LOOPBACK,
        advertise=advertise,
        join=tuple(join or ()),
        trust=trust,
    )
    with _held_port(port) as held, _held(place):
        if fresh:
            _forget(place, [*names, GAMES])
        with _logged(place):
            from nomospace.node.loops import run_loop

            run_loop(_run(names, seed, place, held, venue, browser=browser, for_s=for_s))


# -- what runs -----------------------------------------------------------------------------------


async def _run(
    names: list[str],
    seed: int,
    place: Path,
    held: socket.socket,
    venue: Stations,
    *,
    browser: bool,
    for_s: float | None,
) -> None:
    """Show demonstrations until the process is told to end, or the time is up."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    try:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(venue.stop)
            if any(DEMOS[name].game for name in names):
                await venue.gate()
            address = "{}:{}".format(*held.getsockname())
            running = [
                await _open(stack, name, seed, place, venue, "" if turn else address)
                for turn, name in enumerate(names)
            ]
            served = await _serve(stack, running, names, place, held)
            _tell(names, served, place, venue, browser=browser)
            for _, _, act in running:
                stack.push_async_callback(act.stop)
            with suppress(TimeoutError):
                async with asyncio.timeout(for_s):
                    await _go_on([act for _, _, act in running], over)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _go_on(acts: list[DemoAct], over: asyncio.Event) -> None:
    """Let everything begin and go on until it is over, which may be before all has begun."""

    async def begin() -> None:
        for act in acts:
            await act.start()

    beginning, told = asyncio.create_task(begin()), asyncio.create_task(over.wait())
    try:
        await asyncio.wait([beginning, told], return_when=asyncio.FIRST_COMPLETED)
        if beginning.done():
            await beginning  # it may have failed
            await told
    finally:
        for task in (beginning, told):
            task.cancel()
        await asyncio.wait([beginning, told])


Running = tuple["ChosenDemo", "Together", "DemoAct"]


async def _open(
    stack: AsyncExitStack, name: str, seed: int, place: Path, venue: Stations, api: str
) -> Running:
    """Start the hosts of a demonstration; the first of all has the `api`."""
    from nomospace_lab.testing.together import Together

    show = DEMOS[name].show(seed, venue)
    names = show.hosts or ((HOME,) if api else ())
    hosts = await stack.enter_async_context(Together(names, place / name, api=api))
    return show, hosts, show.put_on(hosts)


async def _serve(
    stack: AsyncExitStack,
    running: list[Running],
    demos: list[str],
    place: Path,
    held: socket.socket,
) -> ServedApi:
    """Serve the console at the first host, on the port that was held; it shows all journals."""
    from nomospace.api.http import serving
    from nomospace.api.service import Service
    from nomospace.cli.console import Workshop
    from nomospace.console import Console
    from nomospace.console.stage import Stages
    from nomospace.laws import path
    from nomospace_lab.pages import pages

    first = next(iter(running[0][1].servers.values()))
    workshop = Workshop(place / "runs")
    stack.callback(workshop.close)
    beside: dict[str, Service] = {}
    hospital: HospitalStage | None = None
    games: dict[str, Any] = {}
    for show, hosts, act in running:
        own = show.stages(act)
        games |= own.get("games", {})
        hospital = own.get("hospital", hospital)
        for name, server in hosts.servers.items():
            workshop.add(server)
            if server is not first:
                service = beside[name] = Service(server, server.door())
                stack.callback(service.close)
    plugin = pages(hospital=hospital, games=games, demos=demos)
    stages = Stages(bench=workshop.bench, pipeline=workshop.pipeline, plugin=plugin)
    console = Console(stages=stages, beside=beside, laws=path("ap").parent)
    stack.callback(Console.detach)
    held.close()
    return await stack.enter_async_context(serving(first, pages=console.attach))


def _tell(
    names: list[str], served: ServedApi, place: Path, venue: Stations, *, browser: bool
) -> None:
    """The four lines; and a browser, if there is one."""
    service = served.service
    url = f"{served.url}/?token={service.logins.token_for(service.who(service.own_token))}"
    _keep_token(place, service.own_token)
    where = f" (others: --join {venue.invitation})" if venue.invitation else ""
    print(f"Running  {'; '.join(DEMOS[name].words for name in names)}{where}")
    print(f"Open     {url}")
    print("Stop     Ctrl-C")
    print(f"Data     {place}", flush=True)
    if browser and _can_show():
        _spawn_browser(url)


# -- a browser -----------------------------------------------------------------------------------


def _can_show() -> bool:
    """Whether a person looks on who has a screen: a browser in a terminal would be in the way."""
    screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return sys.stdout.isatty() and screen


def _spawn_browser(url: str) -> None:
    import threading
    import webbrowser

    # A thread of its own that nothing waits for: some browsers return only when they are closed.
    threading.Thread(target=partial(webbrowser.open, url), daemon=True).start()


# -- ports and files -----------------------------------------------------------------------------


@contextmanager
def _held_port(asked: int | None) -> Iterator[socket.socket]:
    """Listen on the port that was asked for, or the usual one, or any; raises `PortTaken`.

    Whoever starts meanwhile finds it taken. It is let go when the console begins to listen there.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in (PORT, 0) if asked is None else (asked,):
            with suppress(OSError):
                held.bind(("127.0.0.1", port))
                held.listen(1)
                break
        else:
            raise PortTaken(port=asked or 0)
        yield held


def _data_home() -> Path:
    """Where programs keep the data of a person, as the XDG rules have it."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if home.is_absolute():
        return home
    try:
        return Path.home() / ".local" / "share"
    except RuntimeError:  # as in a container whose user nobody has named
        raise NoDataFolder(folder="~", why="this user has no home") from None


@contextmanager
def _held(place: Path) -> Iterator[None]:
    """Hold the data for this process alone; raises `AlreadyUp`, `NoDataFolder`."""
    try:
        make_folder(place)
        lock = os.open(place / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NoDataFolder(folder=str(place), why=error.strerror or str(error)) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
            raise AlreadyUp(
                folder=str(place), holder=f"process {holder}" if holder else "a process"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            (place / TOKEN).unlink(missing_ok=True)
            os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def _forget(place: Path, names: list[str]) -> None:
    """Remove what the hosts of demonstrations have kept, and nothing else."""
    for name in names:
        for pattern in KEPT:
            for file in (place / name).glob(pattern):
                file.unlink(missing_ok=True)


def _keep_token(place: Path, token: str) -> None:
    file = place / TOKEN
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(f"{token}\n")


@contextmanager
def _logged(place: Path) -> Iterator[None]:
    """Log beside the data what is worth a warning: the terminal is for four lines."""
    from nomospace.node.logs import TextForm

    handler = RotatingFileHandler(
        place / "up.log", maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    handler.setFormatter(TextForm())
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
