"""`nomospace host`: a host in this process, and the contact of a running one with others."""

import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Commands, JsonOption, Remote, Unusable, print_json
from nomospace.extras import need

if TYPE_CHECKING:
    from nomospace.api.http import ServedApi
    from nomospace.node.config import Config
    from nomospace.node.serve import Server
    from nomospace.node.workers import WorkerPart
    from nomospace.store.paired import PairRow
    from nomospace.wire.admin import ContactLine

T = TypeVar("T")
NameArgument = Annotated[str, typer.Argument(help="The host's name; may stand in the file.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="A TOML file; flags win over it.")
]
InsecureOption = Annotated[
    bool, typer.Option(help="No certificates: for a trial on this machine alone.")
]
HeartbeatOption = Annotated[
    int | None, typer.Option(help="Milliseconds between two signs of life to other hosts.")
]
LossOption = Annotated[
    int | None, typer.Option(help="Milliseconds of silence after which a host is gone.")
]
ModeOption = Annotated[
    str, typer.Option("--mode", help="With a standby: sync (the default), or async.")
]
AloneOption = Annotated[
    bool, typer.Option("--alone", help="With a standby: go on without it until it is there.")
]

app = Commands(
    """Run a host; let a running one engage with others, leave them, and know where it is.

    On a host with certificates all but run take a token with the scope operator.
    """
)


def _told(**flags: T | None) -> dict[str, T]:
    return {name: value for name, value in flags.items() if value is not None}


DRAIN_EVERY_S: Final = 0.2
"""How often a host that is drained is asked how far it is."""
DRAIN_SHOWN_S: Final = 2.0
"""How often that is said."""


@app.command()
def run(
    name: NameArgument = "",
    *,
    config: ConfigOption = None,
    listen: Annotated[
        str, typer.Option(help="Where peers and clients come in; port 0 is any free one.")
    ] = "",
    domain: Annotated[str, typer.Option(help="Where new agents are at home.")] = "",
    join: Annotated[
        list[str] | None, typer.Option(help="The address of a host to join; may be repeated.")
    ] = None,
    advertise: Annotated[
        list[str] | None, typer.Option(help="Where others find it, if not where it listens.")
    ] = None,
    discover: Annotated[bool, typer.Option(help="Find neighbours on the LAN.")] = False,
    transport: Annotated[str, typer.Option(help="How to reach peers: tcp, or nats://…")] = "",
    store: Annotated[
        str, typer.Option(help="memory, a file (the default: NAME.db), or postgresql://…")
    ] = "",
    standby: Annotated[
        bool, typer.Option(help="Stand for the host with others; one is active, by the store.")
    ] = False,
    standby_listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where this host's standby calls, over TLS.")
    ] = "",
    mode: ModeOption = "",
    alone: AloneOption = False,
    workers: Annotated[
        int | None, typer.Option(help="How many processes serve the host; for all cores.")
    ] = None,
    takeover_s: Annotated[
        float | None, typer.Option(help="Seconds in which another takes over; 10, at least 2.")
    ] = None,
    trust: Annotated[str, typer.Option(help="The folder that `nomospace trust init` made.")] = "",
    insecure: InsecureOption = False,
    eager: Annotated[
        bool, typer.Option(help="Tell who wrote to an agent of its moves, before they ask.")
    ] = False,
    segments: Annotated[str, typer.Option(help="Where segments of the journal go.")] = "",
    record: Annotated[
        bool, typer.Option("--journal/--no-journal", help="Whether to keep a journal at all.")
    ] = True,
    http: Annotated[
        str, typer.Option(help="Where the law server and the other services are.")
    ] = "",
    api: Annotated[
        str, typer.Option(help="Where the HTTP API for programs and pages is; port 0 is any.")
    ] = "",
    console: Annotated[
        bool, typer.Option(help="Show the console at the address of the API.")
    ] = True,
    heartbeat_ms: HeartbeatOption = None,
    loss_ms: LossOption = None,
    policy: Annotated[
        str, typer.Option(help="With whom to engage: reachable, announced, or position.")
    ] = "",
    range_m: Annotated[
        float | None, typer.Option(help="Policy position: metres in which hosts hear each other.")
    ] = None,
    speed_max: Annotated[
        float | None, typer.Option(help="Policy position: how fast a host moves, in m/s.")
    ] = None,
    place: Annotated[
        str, typer.Option("--position", metavar="X,Y", help="Where it is at its start, in metres.")
    ] = "",
    capacity: Annotated[
        float | None, typer.Option(help="Its weight among the homes of partitioned spaces; 1.")
    ] = None,
    log: Annotated[str, typer.Option(help="How to log: text, or json.")] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Say on standard output when it is ready, as JSON.")
    ] = False,
) -> None:
    """Run a host until it is told to end (Ctrl-C, or SIGTERM).

    What it is told is checked before anything starts, with the line of the file that is wrong.
    """
    from nomospace.node.config import config_text, read_config

    told = read_config(
        "" if config is None else config_text(config),
        str(config or "the flags"),
        name=name,
        listen=listen,
        domain=domain,
        join=tuple(join or ()),
        advertise=tuple(advertise or ()),
        discover=discover or None,
        transport=transport,
        store=store,
        trust=trust,
        insecure=insecure or None,
        eager=eager or None,
        standby=standby or None,
        workers=workers,
        takeover_s=takeover_s,
        standby_=_told(listen=standby_listen or None, mode=mode or None, alone=alone or None),
        journal={"folder": segments} if segments else None if record else {"on": False},
        services={"http": http} if http else None,
        api={"listen": api} if api else None,
        links=_told(heartbeat_ms=heartbeat_ms, loss_ms=loss_ms),
        contact={
            **_told(range_m=range_m, speed_max=speed_max),
            **_told(policy=policy or None, position=_numbers(place.split(",")) if place else None),
        },
        spaces=_told(capacity=capacity),
        log={"form": log} if log else None,
    )

    _run(told, console=console, as_json=as_json)


@app.command()
def standby(
    name: NameArgument = "",
    *,
    of: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The other machine: its --standby-listen.")
    ] = "",
    config: ConfigOption = None,
    store: Annotated[
        str, typer.Option(help="A file of its own (the default: NAME.db); a new one is filled.")
    ] = "",
    listen: Annotated[
        str, typer.Option(help="Where peers and clients come in once it has taken over.")
    ] = "",
    join: Annotated[
        list[str] | None, typer.Option(help="The address of a host to join then; may be repeated.")
    ] = None,
    trust: Annotated[str, typer.Option(help="The folder with the host's certificate.")] = "",
    insecure: InsecureOption = False,
    mode: ModeOption = "",
    alone: AloneOption = False,
    heartbeat_ms: HeartbeatOption = None,
    loss_ms: LossOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say on standard output when it stands by or is ready.")
    ] = False,
) -> None:
    """Keep a host's commits on a second machine, and be the host when an operator says so.

    For example: nomospace host standby ward --of 10.1.0.3:7422 --trust trust

    It fills its own store from the active one and follows its commits. `nomospace host takeover`
    makes it the host; the other follows when it is back.
    """
    from nomospace.node.config import config_text, read_config

    told = read_config(
        "" if config is None else config_text(config),
        str(config or "the flags"),
        name=name,
        listen=listen,
        join=tuple(join or ()),
        store=store,
        trust=trust,
        insecure=insecure or None,
        standby_=_told(of=of or None, mode=mode or None, alone=alone or None),
        links=_told(heartbeat_ms=heartbeat_ms, loss_ms=loss_ms),
    )
    if not told.standby.of:
        raise Unusable(what="--of", why="say where the active one listens for its standby")
    _run(told, console=True, as_json=as_json)


@app.command()
def takeover(
    store: Annotated[
        str, typer.Option("--store", metavar="FILE", help="The store that is to be the host's.")
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let a standby be the host, after showing what may be lost; or an active one go on alone.

    Run it on the machine of the store, whether its process runs or not. A standby that runs
    serves at once; else start it. What the other one has committed since is not merged: it keeps
    that aside in a file when it is back.
    """
    from nomospace.store.paired import look, take_over

    path = Path(store.removeprefix("sqlite:"))
    if not path.is_file():
        raise Unusable(what=store, why="there is no such store")
    before = look(path)
    told = loss_of(before, time.time_ns() // 1000)
    if not as_json:
        print("\n".join(loss_words(before, told)))
    done = yes or (not as_json and sys.stdin.isatty() and typer.confirm("take over?"))
    if done:
        take_over(path)
    if as_json:
        print_json(told | {"taken_over": done})
    elif done:
        print(f"{before.host} is the host of {path} now, without the other one")
    else:
        print("nothing was done; --yes takes over")
        raise typer.Exit(1)


def loss_of(row: "PairRow", now: int) -> dict[str, object]:
    """What a takeover may lose, as far as the store knows."""
    return {
        "host": row.host,
        "role": row.role,
        "token": row.life,
        "number": row.number,
        "last_at": row.last_at,
        "behind": max(0, row.there - row.number) if row.role == "standby" else 0,
        "acknowledged": row.how or "alone",
        "silent_s": round((now - row.heard_at) / 1e6, 1) if row.heard_at else None,
    }


def loss_words(row: "PairRow", told: dict[str, object]) -> list[str]:
    """The same in words."""
    lines = [f"host {row.host}: this store has commit {row.number:,} of token {row.life}"]
    if row.last_at:
        lines[0] += f", of {datetime.fromtimestamp(row.last_at / 1e6, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if row.role == "active":
        return [*lines, "it is the active one already, and goes on without its standby"]
    if told["silent_s"] is None:
        return [*lines, "the active one was never heard: everything since this copy may be lost"]
    lines.append(f"the active one was last heard {told['silent_s']:,} s ago")
    if told["behind"]:
        lines.append(f"it had {told['behind']:,} commits more: they are lost, acknowledged or not")
    elif row.how == "sync":
        lines.append("it acknowledged nothing that is not here, unless it was told to go on alone")
    else:
        lines.append("what it has acknowledged since is lost: it did not wait for this one")
    return lines


def _run(told: "Config", *, console: bool, as_json: bool) -> None:
    """Run a host as it was told, until it is told to end."""
    from nomospace.node.logs import configure
    from nomospace.node.loops import run_loop
    from nomospace.node.serve import Server

    configure("json" if told.log.form == "json" else "text")

    def say(line: dict[str, object]) -> None:
        if as_json:
            print_json(line)
            return
        with_token = f" with the token {line['token']}" if "token" in line else ""
        if sys.stderr.isatty():
            _say_to_all(f"host {line['host']} serves at {line['address']}; Ctrl-C ends it")
        if "http" in line:
            _say_to_all(f"its services are at {line['http']}{with_token}")
            with_token = " with the same token" if with_token else ""
        if "api" in line:
            what = "console and API are" if console else "API is"
            _say_to_all(f"its {what} at {line['api']}{with_token}")

    def ready(server: "Server") -> None:
        say(_facts(server))

    beside = None
    if told.api.listen:  # a host without it does not pay for loading it
        need(*(("console", "the console") if console else ("http", "the HTTP API")))
        from nomospace.api.http import serving

        beside = _with_console if console else serving
    if told.host.workers is not None:
        from nomospace.node.spreading import begun
        from nomospace.node.supervisor import Supervisor, end_with

        async def work(config: "Config", part: "WorkerPart") -> None:
            end_with(part.alive)
            server = Server(config, beside=beside if config.api.listen else None, worker=part)
            await server.run(lambda server: begun(server, _facts(server)))

        Supervisor(told, lambda config, part: run_loop(work(config, part)), say).run()
        return
    if not (told.host.standby or told.paired):
        run_loop(Server(told, beside=beside).run(ready))
        return

    from nomospace.node.standby import stand

    def standing(what: str) -> None:
        if as_json:
            print_json({"host": told.host.name, "standby": what})
        else:
            _say_to_all(f"{what} stands by for host {told.host.name}")

    run_loop(stand(told, beside=beside, ready=ready, standing=standing))


def _facts(server: "Server") -> dict[str, object]:
    """What there is to say of a host that serves."""
    line: dict[str, object] = {
        "host": server.config.host.name,
        "address": str(server.listener.address),
        "url": server.url,
        "life": server.host.life,
    }
    if server.own.token:  # for programs of its user this is found by itself
        line["token"] = server.own.token
    if server.services is not None:
        line["http"] = server.services.url
    if server.served is not None:
        line["api"] = server.served.url
        line["api_token"] = server.served.service.own_token
    return line


def _say_to_all(words: str) -> None:
    """Say something to who started the host: as a line of its log where there is no terminal."""
    if sys.stderr.isatty():
        print(words, file=sys.stderr)
    else:
        logging.getLogger(__name__).info("%s", words)


# -- contact -------------------------------------------------------------------------------------


@app.command()
def contact(remote: Remote) -> None:
    """Say with whom a host is in contact, whether it engages at all, and where it is."""
    from nomospace.wire.admin import Contact

    _say(remote, remote.ask(Contact()))


@app.command()
def engage(remote: Remote) -> None:
    """Let a host join whom its policy lets it join."""
    from nomospace.wire.admin import Engage

    _say(remote, remote.ask(Engage()))


@app.command()
def disengage(remote: Remote) -> None:
    """Let a host leave its group and stay alone until engage, or until it starts again."""
    from nomospace.wire.admin import Disengage

    _say(remote, remote.ask(Disengage()))


@app.command()
def drain(
    remote: Remote,
    *,
    off: Annotated[bool, typer.Option("--off", help="Have it keep its share again.")] = False,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Wait at most so long for it.")
    ] = 60.0,
) -> None:
    """Let what a host has of partitioned spaces move to other hosts, before it is stopped.

    It waits until nothing is left, and says how far it is. That the host is drained is kept, also
    when it starts again, until --off. Exit code 1 when something is left after the time.
    """
    from nomospace.wire.admin import DrainHost

    line = remote.ask(DrainHost(not off))
    until, shown = time.monotonic() + wait, time.monotonic()
    while line.drained and (line.left or line.moving) and time.monotonic() < until:
        time.sleep(DRAIN_EVERY_S)
        line = remote.ask(DrainHost())
        if time.monotonic() - shown >= DRAIN_SHOWN_S and not remote.as_json:
            shown = time.monotonic()
            print(f"{line.left:,} tuples left, {line.moving:,} under way", file=sys.stderr)
    if not line.drained:
        words = f"{line.host} keeps its share of partitioned spaces"
    elif not line.left and not line.moving:
        words = f"{line.host} is drained: nothing of partitioned spaces lies there"
    else:
        words = f"{line.left:,} tuples are left at {line.host}, and {line.moving:,} are under way"
        if line.alone:
            words += f"; no other host shares {', '.join(line.alone)}"
    remote.say(line, words)
    if line.drained and (line.left or line.moving):
        raise typer.Exit(SAID_NO)


@app.command()
def promote(
    remote: Remote,
    domain: Annotated[str, typer.Argument(help="A domain that the host serves with another.")],
) -> None:
    """Have a host serve a domain without its other server, which is gone, until that is back.

    Tell one of the two only: nobody but you can know that the other is gone.
    """
    from nomospace.wire.admin import PromoteHost

    line = remote.ask(PromoteHost(domain))
    remote.say(line, f"it serves {line.domain} alone; {line.standby} follows when it is back")


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is a number
def position(
    remote: Remote,
    place: Annotated[
        list[str], typer.Argument(metavar="X Y [Z]", help="Where the host is, in metres.")
    ],
) -> None:
    """Tell a host where it is, for the policy position."""
    from nomospace.wire.admin import SetPosition

    _say(remote, remote.ask(SetPosition(_numbers(place))))


def _numbers(words: list[str]) -> tuple[float, ...]:
    """A position as it was typed; raises `NotAPosition`."""
    from nomospace.protocols.policy import NotAPosition

    try:
        return tuple([float(word) for word in words])
    except ValueError:
        raise NotAPosition(position=tuple(words)) from None


def _say(remote: Remote, line: "ContactLine") -> None:
    others = [name for name in line.members if name != line.host]
    found = f"is in contact with {', '.join(others)}" if others else "is in contact with nobody"
    place = f"; it is at {', '.join(f'{part:g}' for part in line.position)}" * bool(line.position)
    waits = "" if line.willing else "; it engages when it is told to"
    remote.say(line, f"{line.host} {found}{place}{waits}")


@asynccontextmanager
async def _with_console(server: "Server") -> "AsyncIterator[ServedApi]":
    """The API of a host with its console, and what the console does in child processes."""
    from nomospace import laws
    from nomospace.api.http import serving
    from nomospace.cli.console import Workshop
    from nomospace.console import Console
    from nomospace.console.stage import Stages

    store = server.config.host.store
    kept = Path(f"{store}.runs") if store != "memory" and "://" not in store else None
    workshop = Workshop(kept)
    workshop.add(server)
    stages = Stages(bench=workshop.bench, pipeline=workshop.pipeline)
    try:
        shipped = laws.path(laws.NAMES[0]).parent
        console = Console(stages=stages, laws=shipped)
        async with serving(server, pages=console.attach) as served:
            yield served
    finally:
        workshop.close()
