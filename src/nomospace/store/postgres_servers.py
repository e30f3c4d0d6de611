"""Sessions at PostgreSQL, which may be a primary with replicas: who is followed, and believed.

The URL of a store may name several servers. Each failover of the database begins a new timeline,
which PostgreSQL counts up, so a primary of before one is known by its timeline.

| a server                                   | what follows                                       |
| ------------------------------------------ | -------------------------------------------------- |
| does not answer, or is a replica           | the next one is asked                              |
| has an older timeline than was followed    | it is passed over, whatever it says it is          |
| is of another system than was followed     | the same                                           |
| says that it is the primary, as another does | the one with the later timeline is followed      |

A commit counts when the server has said so, and its replica has it. When the wait for the replica
is cancelled, by a timeout or by hand, PostgreSQL answers that it is done, with no more than a
warning: such a session is given up, and its commit is one of unknown outcome.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import conninfo, errors, pq
from psycopg.abc import Buffer, PQGen
from psycopg.types.string import StrDumperUnknown, TextLoader

from nomospace.store.interface import BadStoreUrl
from nomospace.store.schema import SqlRow

CONNECT_S: Final = 5
"""How long the server has to take a connection."""
CONNECT_OTHER_S: Final = 2
"""The same where there are others to ask."""
LOOK_S: Final = 0.1
"""How often who waits for an answer looks whether it should go on."""
T = TypeVar("T")
_WHO: Final = (
    b"SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery()"
    b" THEN pg_walfile_name(pg_current_wal_insert_lsn()) END FROM pg_control_system()"
)
_MARK: Final = "\ufdd0"
"""What stands for a NUL, with a digit behind it: no text has it, by Unicode's own word."""
_WAITS: Final = (None, "SyncRepWaitForLSN")
"""Where in a server warnings of cancelled waits come from; words may be of any language."""


class _TextDumper(StrDumperUnknown):
    """A text on its way to the server, which takes no NUL: names of others may have one."""

    def dump(self, obj: str) -> Buffer | None:
        if _MARK in obj or "\0" in obj:
            obj = obj.replace(_MARK, _MARK + "1").replace("\0", _MARK + "0")
        return super().dump(obj)


class _TextLoader(TextLoader):
    """A text from the server, as it was."""

    def load(self, data: Buffer) -> str:
        text = str(super().load(data))
        return text.replace(_MARK + "0", "\0").replace(_MARK + "1", _MARK)


class Session(psycopg.Connection[SqlRow]):
    """A connection, and what is known of it."""

    timeline = 0
    """That of its server; 0 for a replica."""
    cancelled = False
    """Whether a wait for the replica was cancelled."""

    wait_s = 0.0
    """How long it waits for an answer; no limit of the server's is on a wait for its replica."""

    def wait(self, gen: PQGen[T], interval: float = LOOK_S, timeout: float | None = None) -> T:
        """Wait for the server; who gives up does not know what it has done."""
        try:
            return super().wait(gen, interval, timeout or self.wait_s or None)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                self.close()
            raise

    def give_up(self) -> NoReturn:
        """End a session of which it is not known what its last commit reached."""
        self.close()
        raise psycopg.OperationalError(
            "the wait for the replica was cancelled, and a commit counts when the replica has it; "
            "look whether it follows"
        )

    def heard(self, said: errors.Diagnostic) -> None:
        """The server has said something beside its answers."""
        if said.severity_nonlocalized == "WARNING" and said.source_function in _WAITS:
            self.cancelled = True


class NotFollowed(psycopg.OperationalError):
    """A server has answered, and is not the one to write to."""


class Servers:
    """The servers that a URL names; `connect` finds the primary among them.

    Raises `BadStoreUrl` for one that cannot be read.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._told: dict[str, Any] = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            said = str(error).strip()
            why = "it is no address of a database" if url in said else said  # with its password
            raise BadStoreUrl(url=shown(url), why=why) from None
        for port in str(self._told.get("port") or "0").split(","):
            if port and not port.isdigit():
                raise BadStoreUrl(url=shown(url), why=f"{port!r} is no port")
        self.system = self.timeline = 0
        """What was followed last; 0 before anything was."""
        self._last: dict[str, Any] | None = None
        """The server that was followed, while nothing speaks against it."""

    @property
    def followed(self) -> str:
        """What was followed, for a process that goes on in the place of this one."""
        return f"{self.system}:{self.timeline}"

    @followed.setter
    def followed(self, told: str) -> None:
        system, _, timeline = told.partition(":")
        self.system, self.timeline = int(system), int(timeline)

    def current(self, session: Session) -> bool:
        """Whether a session can be used: it is open, and no failover was seen since."""
        return not session.closed and session.timeline >= self.timeline

    def doubt(self) -> None:
        """Look at all of them again before the next session."""
        self._last = None

    def connect(self, *, writes: bool, wait_s: float, **options: str | int) -> Session:
        """A session; one that `writes` is at the primary. Raises `psycopg.Error`, `BadStoreUrl`."""
        servers = self._servers()
        if self._last is not None:
            servers.sort(key=self._last.__ne__)
        best: Session | None = None
        chosen = self._last
        trouble: psycopg.Error = psycopg.OperationalError("no server is named")
        for server in servers:
            try:
                made = self._session(server, options, writes=writes)
            except psycopg.OperationalError as error:
                if not isinstance(trouble, NotFollowed):  # which says more than that one is away
                    trouble = error
                continue
            if best is not None and best.timeline >= made.timeline:
                made.close()
                continue
            if best is not None:
                best.close()
            best, chosen = made, server
            if server == self._last and made.timeline == self.timeline:
                break
        if best is None:
            raise trouble
        best.wait_s = wait_s
        self._last, self.timeline = chosen, max(self.timeline, best.timeline)
        return best

    def _session(
        self, server: dict[str, Any], options: dict[str, str | int], *, writes: bool
    ) -> Session:
        made = Session.connect(autocommit=True, prepare_threshold=1, **server | options)
        try:
            self._judge(made, writes=writes)
        except BaseException:
            made.close()
            raise
        made.add_notice_handler(made.heard)
        made.adapters.register_dumper(str, _TextDumper)
        made.adapters.register_loader("text", _TextLoader)
        return made

    def _judge(self, made: Session, *, writes: bool) -> None:
        """Look who has answered; raises `NotFollowed`."""
        encoding = made.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            why = f"its database has the encoding {encoding}, not UTF8"
            raise BadStoreUrl(url=shown(self.url), why=why)
        row = made.execute(_WHO).fetchone()
        assert row is not None, "it is one"
        system, segment = row
        made.timeline = int(segment[:8], 16) if segment else 0
        where = f"{made.info.host}:{made.info.port}"
        if writes and not made.timeline:
            raise NotFollowed(f"{where} is a replica, and takes no writes")
        if self.system not in (0, system):
            raise NotFollowed(
                f"{where} is of the database system {system}, not of {self.system} which was "
                "followed; if that is meant, start the host again"
            )
        if made.timeline < self.timeline and writes:
            raise NotFollowed(
                f"{where} is on timeline {made.timeline}, behind {self.timeline} which was "
                "followed: it was the primary before a failover; stop it, or let it follow"
            )
        self.system = system

    def _servers(self) -> list[dict[str, Any]]:
        """What to connect with, for one server after the other."""
        told = dict(self._told)
        hosts, ports = str(told.get("host", "")).split(","), str(told.get("port", "")).split(",")
        if len(hosts) == 1 or "hostaddr" in told:
            return [told | {"connect_timeout": CONNECT_S}]
        if len(ports) == 1:
            ports *= len(hosts)
        if len(ports) != len(hosts):
            why = f"it names {len(hosts)} servers and {len(ports)} ports"
            raise BadStoreUrl(url=shown(self.url), why=why)
        places = zip(hosts, ports, strict=True)
        told |= {"connect_timeout": CONNECT_OTHER_S}
        return [told | {"host": host, "port": port or None} for host, port in places]


def shown(url: str) -> str:
    """A URL without what must not be seen."""
    parts = urlsplit(url)
    _, at, host = parts.netloc.rpartition("@")
    user = parts.username or ""
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host}", query="", fragment=""))
