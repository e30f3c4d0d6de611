"""What a host is told at its start: by flags, by a TOML file, or by both (flags win).

Everything is checked before anything starts, and whatever is wrong in a file is reported with its
line. A file holds these tables, all of them optional:

    [host]
    name = "ward-3"
    domain = "ward"                      # where new agents are at home; by default the name
    listen = "127.0.0.1:7420"            # port 0: any free one
    advertise = ["203.0.113.7:7420"]     # where others find it, if not where it listens
    join = ["10.1.0.4:7420"]
    discover = false                     # find neighbours on the LAN
    transport = "tcp"                    # or nats://address:port
    store = "ward-3.db"                  # memory, a file, or postgresql://…
    trust = "trust"                      # the folder that `nomospace trust init` made
    insecure = false                     # no certificates; loopback addresses only
    eager = false                        # whether an agent's move is told to who wrote to it
    workers = 4                          # processes that serve it together; by default one

    [servers]                            # which hosts serve which domains, primary first
    ward = ["ward-3", "ward-4", "icu"]

    [standby]                            # another machine that keeps this host too
    listen = "10.1.0.3:7422"             # where it calls; there: of = "10.1.0.3:7422"

    [journal]
    folder = "journal"                   # where Parquet segments go; without it none are sealed
    keep_days = 365                      # when segments are let go; without it never
    peers = "outline"                    # what hosts of the group are told: all, nothing, or that

    [services]
    http = "127.0.0.1:7421"              # law server, controller service, metrics
    laws = "laws"                        # a folder of laws that the law server begins with
    token = "ns1.…"                      # how this host shows itself to secretaries, and to
    controllers = "https://10.1.0.9:7421"  # the controller service that it registers with

    [api]
    listen = "127.0.0.1:8080"            # the HTTP API for programs and pages

    [secretaries]                        # laws (hashes) whose communities have one, and where
    4e3f32c7… = "https://127.0.0.1:7421"

    [links]
    heartbeat_ms = 1000                  # between two signs of life
    loss_ms = 3500                       # a host that is silent for so long is gone

    [contact]
    policy = "reachable"                 # or announced, position: with whom it engages, and when
    range_m = 100.0                      # policy position: how far a host can be heard,
    speed_max = 2.0                      # and how fast one moves, in m/s
    position = [0.0, 0.0]                # where it is at its start, in metres

    [limits]                             # what each agent, token and community may have
    agent_calls = 50000                  # see `host.shares`

    [programs]                           # agents' programs, each in a process of its own
    modules = ["ward.couriers"]          # code that the operator answers for
    path = ["programs"]                  # folders to import it from
    listener_ms = 20                     # what strong listeners have inside one step

    [publishers.acme]                    # whose signed bundles are run, and what they may do
    key = "ed25519:…"
    programs = ["courier"]               # none named: any

    [spaces]
    stored = ["archive"]                 # these lie in the store, and may outgrow memory
    capacity = 1.0                       # its weight among the homes of partitioned spaces

    [monitors.jobs]                      # a governed space that watches its load (law CC)
    most = 50                            # the requests a second that it is to bear here
    rest = 1.0                           # its clients' delay when it is less, in seconds,
    longest = 60.0                       # and when it is ever more

    [log]
    form = "text"                        # or json
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

import msgspec

from nomospace.client import check_name
from nomospace.errors import CallerError
from nomospace.host.calls import PaceLimits
from nomospace.host.monitoring import check_limits
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.node.addresses import Address, BadHostAddress, Place
from nomospace.protocols.homes import CAPACITY_MAX, CAPACITY_MIN
from nomospace.protocols.lease import TAKEOVER_S, TAKEOVER_S_MAX, TAKEOVER_S_MIN, hold_us
from nomospace.protocols.pace import HEARTBEAT, LOSS, BadPace, Pace
from nomospace.protocols.policy import (
    AGREE_S,
    Announced,
    NotAPosition,
    Policy,
    Position,
    Reachable,
    is_position,
)
from nomospace.trust.keys import PublicKey

FILE_BYTES_MAX: Final = 1_000_000
POLICIES: Final = ("reachable", "announced", "position")
JOIN_MAX: Final = 1_000
"""How many addresses a host may be told to join."""


class BadConfig(CallerError):
    """A host was told something at its start that cannot be."""

    code = "node.bad-config"
    words = "{where}: {why}"
    where: str
    why: str


class Journal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether there is a journal, where its segments go, when one is sealed, and what is kept."""

    on: bool = True
    folder: str = ""
    rows: int = 100_000
    bytes: int = 64 * 1024 * 1024
    seconds: float = 60.0
    keep_days: float = 0.0
    keep_bytes: int = 0
    keep_records: int = 200_000
    peers: Literal["all", "outline", "nothing"] = "outline"
    """What hosts of the group are told of it for their operators' stories."""


class ServiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a host serves over HTTP besides, if anything."""

    http: str = ""
    laws: str = ""
    token: str = ""
    controllers: str = ""


class Api(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the HTTP API of a host is, if it has one."""

    listen: str = ""


class LinkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How soon a host notices that another came or went (`protocols.pace`)."""

    heartbeat_ms: int = HEARTBEAT // 1000
    loss_ms: int = LOSS // 1000


class ContactSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With whom a host engages, and when (`protocols.policy`)."""

    policy: str = "reachable"
    range_m: float = 0.0
    speed_max: float = 0.0
    agree_s: float = AGREE_S
    position: tuple[float, ...] = ()


class LogSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a host tells what happens."""

    form: str = "text"


class ProgramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[programs]`: whose code the operator answers for, and what programs may have."""

    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    helpers: int = 8
    network: bool = False
    processes: int = 64
    memory_mb: int = 512
    listener_ms: int = 20


class Publisher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[publishers.NAME]`: whose bundles are run, and what they may do.

    They may be of any program where `programs` names none.
    """

    key: str
    programs: tuple[str, ...] = ()
    helpers: int = 8
    strong: bool = True
    network: bool = False


class SpaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[spaces]`: those that lie in the store, whoever opens them (`space.stored`), and
    the host's weight among the homes of partitioned ones (`protocols.homes`).
    """

    stored: tuple[str, ...] = ()
    capacity: float = 1.0


class StandbySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other machine of a host that two keep (`node.pairing`): where it calls, or is called."""

    listen: str = ""
    of: str = ""
    mode: Literal["sync", "async"] = "sync"
    alone: bool = False


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[host]`."""

    name: str = ""
    domain: str = ""
    listen: str = "127.0.0.1:7420"
    advertise: tuple[str, ...] = ()
    join: tuple[str, ...] = ()
    discover: bool = False
    transport: str = "tcp"
    store: str = ""
    trust: str = ""
    insecure: bool = False
    eager: bool = False
    standby: bool = False
    workers: int | None = None
    takeover_s: float = TAKEOVER_S


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a host is told at its start, checked."""

    host: Settings = Settings()
    standby: StandbySettings = StandbySettings()
    servers: dict[str, tuple[str, ...]] = {}
    journal: Journal = Journal()
    services: ServiceSettings = ServiceSettings()
    api: Api = Api()
    secretaries: dict[str, str] = {}
    links: LinkSettings = LinkSettings()
    contact: ContactSettings = ContactSettings()
    limits: Shares = USUAL_SHARES
    spaces: SpaceSettings = SpaceSettings()
    log: LogSettings = LogSettings()
    programs: ProgramSettings = ProgramSettings()
    publishers: dict[str, Publisher] = {}
    monitors: dict[str, PaceLimits] = {}

    @property
    def paired(self) -> bool:
        """Whether two machines keep the host, each with a store of its own."""
        return bool(self.standby.listen or self.standby.of)

    @property
    def listen(self) -> Address:
        """The address of peers and clients."""
        return Address.parse(self.host.listen)

    @property
    def pace(self) -> Pace:
        """How soon it notices who came or went."""
        links, missed = self.links, hold_us(self.host.takeover_s)
        return Pace(heartbeat=links.heartbeat_ms * 1000, loss=links.loss_ms * 1000, missed=missed)

    @property
    def policy(self) -> Policy:
        """With whom it engages; raises `NoSafeDistance`."""
        told = self.contact
        if told.policy == "position":
            return Position(
                range_m=told.range_m,
                speed_max=told.speed_max,
                detect_s=self.links.loss_ms / 1000,
                agree_s=told.agree_s,
            )
        return Announced() if told.policy == "announced" else Reachable()

    @property
    def store(self) -> str:
        """The store; a file named after the host, when nothing was said."""
        return self.host.store or f"{self.host.name}.db"


def config_text(file: str | Path) -> str:
    """The text of a configuration file; raises `BadConfig`."""
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise BadConfig(where=str(file), why=f"cannot be read: {why}") from None


def read_config(text: str, where: str, **flags: object) -> Config:
    """A configuration from the text of a file (perhaps empty) and from flags, which win.

    >>> read_config('[host]\\nname = "ward-3"\\ninsecure = true', "ward.toml").store
    'ward-3.db'
    >>> read_config('[host]\\nname = "ward-3"\\njion = []', "ward.toml")
    Traceback (most recent call last):
    nomospace.node.config.BadConfig: ward.toml, line 3: [host] has no key 'jion'; \
did you mean 'join'?
    """
    if len(text) > FILE_BYTES_MAX:
        raise BadConfig(where=where, why=f"longer than {FILE_BYTES_MAX:,} characters")
    lines = _Lines(text, where)
    try:
        data = tomllib.loads(f"{text}\n")  # else the last line's faults have no line
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(error, lines) from None
    _known(data, lines)
    given = {name: value for name, value in flags.items() if value not in (None, (), [], "")}
    host = data.setdefault("host", {})
    for name, value in given.items():
        if isinstance(value, dict):  # a flag for another table
            data.setdefault(name.rstrip("_"), {}).update(value)
        else:
            host[name] = list(value) if isinstance(value, tuple) else value
    try:
        config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        raise _invalid(error, lines) from None
    _check(config, lines, given)
    return config


_WORD: Final = r"""(?:[\w\-]+|"[^"]*"|'[^']*')"""
_PATH: Final = rf"({_WORD}(?:\s*\.\s*{_WORD})*)"
_HEAD: Final = re.compile(rf"\s*\[\[?\s*{_PATH}\s*\]")
_KEY: Final = re.compile(rf"\s*{_PATH}\s*=")


class _Lines:
    """Where in a file a table or key stands, however it is written.

    >>> lines = _Lines("host.name = 'ward'\\n[journal]\\nrows = 5\\n", "ward.toml")
    >>> lines.place("host", "name"), lines.place("journal", "rows"), lines.place("log")
    ('ward.toml, line 1', 'ward.toml, line 3', 'ward.toml')
    """

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.count = len(text.splitlines())
        self._at: dict[tuple[str, str], int] = {}
        table: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if head := _HEAD.match(line):
                table = path = _parts(head[1])
            elif key := _KEY.match(line):
                path = [*table, *_parts(key[1])]
            else:
                continue
            for known in ((path[0], ""), (path[0], path[1] if len(path) > 1 else "")):
                self._at.setdefault(known, number)

    def place(self, table: str, key: str = "") -> str:
        """The file, and the line if it is known."""
        for at in ((table, key), (table, "")):
            if at in self._at:
                return f"{self.where}, line {self._at[at]}"
        return self.where

    def first(self, table: str) -> int:
        """The first line that has to do with a table; 0 if there is none."""
        return self._at.get((table, ""), 0)


def _parts(path: str) -> list[str]:
    """The words of a dotted key.

    >>> _parts('host . "listen"')
    ['host', 'listen']
    """
    return [word.strip("\"'") for word in re.findall(_WORD, path)]


def _unreadable(error: tomllib.TOMLDecodeError, lines: _Lines) -> BadConfig:
    """What is wrong with a file that is no TOML: where, and in the words of its writer."""
    shape = re.search(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
    if shape is None:
        return BadConfig(where=f"{lines.where}, line {lines.count}", why=f"{error}; mend the file")
    why = f"{shape[1]}; mend the file"
    if "overwrite a value" in why:
        why = "this key has a value already; keep one of the two"
    elif twice := re.search(r"\('([^']*)',.*\)", why):
        # A table that dotted keys have begun is there, and may not be opened again.
        table, first = twice[1], lines.first(twice[1])
        why = f"[{table}] is there already, from line {first} on; put the two together"
    return BadConfig(where=f"{lines.where}, line {shape[2]}, column {shape[3]}", why=why)


_TABLES: Final[dict[str, type[msgspec.Struct] | None]] = {
    table.name: type(table.default) if isinstance(table.default, msgspec.Struct) else None
    for table in msgspec.structs.fields(Config)
}
"""Of a table whose keys are names, nothing is known."""
_FLAGS: Final = {
    ("services", "http"): "--http",
    ("api", "listen"): "--api",
    ("links", "heartbeat_ms"): "--heartbeat-ms",
    ("links", "loss_ms"): "--loss-ms",
    ("contact", "policy"): "--policy",
    ("contact", "range_m"): "--range-m",
    ("contact", "speed_max"): "--speed-max",
    ("contact", "position"): "--position",
    ("spaces", "capacity"): "--capacity",
    ("log", "form"): "--log",
    ("standby", "listen"): "--standby-listen",
    ("standby", "of"): "--of",
}
"""The flags of tables other than `[host]`."""


def _known(data: dict[str, object], lines: _Lines) -> None:
    """No table and no key that means nothing: a slip would pass for a setting."""
    for table, inside in data.items():
        if table not in _TABLES:
            raise BadConfig(where=lines.place(table), why=_unlike("table", table, list(_TABLES)))
        if not isinstance(inside, dict):
            raise BadConfig(where=lines.place(table), why=f"[{table}] is a table, not a value")
        shape = _TABLES[table]
        if shape is None:
            continue
        for key in inside:
            if key not in shape.__struct_fields__:
                why = f"[{table}] has {_unlike('key', key, list(shape.__struct_fields__))}"
                raise BadConfig(where=lines.place(table, key), why=why)


def _unlike(what: str, given: str, known: list[str]) -> str:
    near = get_close_matches(given, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"no {what} {given!r}; {hint}"


def _invalid(error: msgspec.ValidationError, lines: _Lines) -> BadConfig:
    """What msgspec found, with the line of the key that it names."""
    why, _, path = str(error).partition(" - at `$.")
    table, _, key = path.rstrip("`").partition(".")
    table = table.partition("[")[0]  # of a table of tables
    key = re.split(r"[\[.]", key, maxsplit=1)[0]
    named = f"[{table}] {key}: " if key else ""
    return BadConfig(where=lines.place(table, key), why=f"{named}{why[0].lower()}{why[1:]}")


def _pair_fault(config: Config) -> str:
    """What is wrong with what is told of the other machine; empty when nothing is."""
    told = config.standby
    if told.of and told.listen:
        return "one machine listens for the other, and that one calls; give one of the two"
    if config.host.standby or config.store == "memory" or "://" in config.store:
        return "either machine needs a store of its own, in a file"
    try:
        address = Address.parse(told.of or told.listen)
        if config.host.insecure:
            address.check_loopback()
    except BadHostAddress as error:
        return str(error)
    return ""


def _check(config: Config, lines: _Lines, given: dict[str, object]) -> None:
    """What one value alone does not tell."""

    def fail(key: str, why: str, table: str = "host") -> BadConfig:
        flag = f"--{key}" if key != "name" else "NAME"
        flags = given if table == "host" else given.get(f"{table}_", given.get(table))
        from_flag = isinstance(flags, dict) and key in flags
        place = _FLAGS.get((table, key), flag) if from_flag else lines.place(table, key)
        return BadConfig(where=place, why=why)

    @contextmanager
    def about(key: str, table: str = "host") -> Iterator[None]:
        """What is raised inside is wrong with this key."""
        try:
            yield
        except CallerError as error:
            raise fail(key, str(error), table) from None

    host = config.host
    if not host.name:
        raise fail("name", "a host needs a name; give it, or name = … under [host]")
    for key, value in (("name", host.name), ("domain", host.domain)):
        with about(key):
            check_name(f"a host's {key}" if key == "domain" else "a host", value or host.name)
    places = [("join", text) for text in host.join] + [("advertise", t) for t in host.advertise]
    for key, text in (("listen", host.listen), *places):
        with about(key):
            (Place if key == "join" else Address).parse(text)
    listen = config.listen
    if len(host.join) > JOIN_MAX:
        raise fail("join", f"{len(host.join):,} addresses, and at most {JOIN_MAX:,} are joined")
    if not (host.transport == "tcp" or host.transport.startswith(("nats://", "tls://"))):
        raise fail("transport", f"{host.transport!r} is no transport; use tcp, or nats://host:port")
    if host.standby and not host.store.startswith(("postgresql://", "postgres://")):
        why = "several processes stand for a host over a store that all reach: postgresql://…"
        raise fail("standby", why)
    if config.paired and (why := _pair_fault(config)):
        raise fail("of" if config.standby.of else "listen", why, "standby")
    if not TAKEOVER_S_MIN <= host.takeover_s <= TAKEOVER_S_MAX:
        why = f"takeover_s must be from {TAKEOVER_S_MIN:g} to {TAKEOVER_S_MAX:g} seconds"
        raise fail("takeover_s", why)
    if host.insecure and host.trust:
        raise fail("insecure", "insecure and trust exclude each other; keep one of the two")
    if not host.insecure and not host.trust:
        why = (
            "a host needs to know who it is: make a folder with `nomospace trust init DIR` and "
            "give it as trust, or say insecure for a trial on this machine alone"
        )
        raise fail("trust", why)
    if host.insecure and not listen.loopback:
        why = f"an insecure host listens on a loopback address only, and {listen} is none"
        raise fail("listen", why)
    if host.domain not in ("", host.name) and host.domain not in config.servers:
        why = (
            f"nobody serves domain {host.domain!r}; say which hosts do, under [servers]: "
            f'{host.domain} = ["{host.name}"]'
        )
        raise fail("domain", why)
    for domain, sites in config.servers.items():
        if not sites:
            raise fail(domain, "a domain is served by at least one host", "servers")
        if len(set(sites)) < len(sites):
            raise fail(domain, "a host stands twice among the servers of a domain", "servers")
    for key in ("rows", "bytes", "seconds", "keep_records"):
        if not getattr(config.journal, key) > 0:
            raise fail(key, f"{key} must be more than 0", "journal")
    if not min(config.journal.keep_days, config.journal.keep_bytes) >= 0:
        raise fail("keep_days", "keep_days and keep_bytes must be 0 at least", "journal")
    for table, key, address in (
        ("services", "http", config.services.http),
        ("api", "listen", config.api.listen),
    ):
        with about(key, table):
            at = Address.parse(address) if address else None
        if host.insecure and at is not None and table == "api" and not at.loopback:
            why = f"an insecure host serves its API on a loopback address only, and {at} is none"
            raise fail(key, why, table)
    service = config.services.controllers
    if service and not service.startswith(("http://", "https://")):
        why = f"{service!r} is no address; give http://… or https://…"
        raise fail("controllers", why, "services")
    for law, url in config.secretaries.items():
        if re.fullmatch(r"[0-9a-f]{64}", law) is None:
            why = f"{law[:70]!r} is no hash of a law (`nomospace law hash`)"
            raise fail(law, why, "secretaries")
        if not all(one.strip().startswith(("http://", "https://")) for one in url.split(",")):
            raise fail(law, f"{url!r} is no address; give http://… or https://…", "secretaries")
    for key in Shares.__struct_fields__:
        if getattr(config.limits, key) < 1:
            raise fail(key, f"{key} must be 1 at least: a share is never nothing", "limits")
    try:
        _ = config.pace
    except BadPace as error:
        raise fail(f"{error.what}_ms", str(error), "links") from None
    if not CAPACITY_MIN <= config.spaces.capacity <= CAPACITY_MAX:
        raise fail("capacity", f"use a number from {CAPACITY_MIN} to {CAPACITY_MAX}", "spaces")
    contact = config.contact
    if contact.policy not in POLICIES:
        why = f"{contact.policy!r} is no policy; use {', '.join(POLICIES)}"
        raise fail("policy", why, "contact")
    if contact.position and not is_position(contact.position):
        raise fail("position", str(NotAPosition(position=contact.position)), "contact")
    for key in ("speed_max", "agree_s"):
        if not getattr(contact, key) >= 0:
            raise fail(key, f"{key} must be 0 at least", "contact")
    with about("range_m", "contact"):
        _ = config.policy
    for key in ("processes", "memory_mb", "listener_ms"):
        if getattr(config.programs, key) < 1:
            raise fail(key, f"{key} must be 1 at least", "programs")
    for space, limits in config.monitors.items():
        with about(space, "monitors"):
            check_limits(space, limits)
    by_key: dict[bytes, str] = {}
    for name, one in config.publishers.items():
        with about(name, "publishers"):
            other = by_key.setdefault(PublicKey.read(one.key).raw, name)
        if other != name:
            why = f"publisher {name!r} has the key of {other!r}; one of the two is enough"
            raise fail(name, why, "publishers")
    if config.log.form not in ("text", "json"):
        raise fail("form", f"{config.log.form!r} is no form; use text or json", "log")
