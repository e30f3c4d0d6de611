"""`000_…` 4 and 7: laws MP and SB before tuple spaces that exist already, on hosts of their own.

A front is a process with the role of the space, by the secretary's roll. Behind it stands a real
PostgreSQL or Redis; what it was asked is read there, in its log or by `MONITOR`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

import nomospace as ns
from nomospace import ANY, sync, t
from nomospace.cli import main
from nomospace.client.fronts import FrontFailed
from nomospace.client.http import fetch
from nomospace.laws import path
from nomospace.node.services.fronts import SCAN_MAX
from tests import nursery
from tests.paper.operations import READING, TAKING, WRITING
from tests.ports import free_port
from tests.real.hosts import RealHost, caller, play, seen, start
from tests.real.trust import Trust
from tests.servers import PostgresServer, RedisServer, postgres_server, redis_server

MP, SB = (ns.Law.load(path(name)) for name in ("mp", "sb"))
ROWS: Final = (
    "letters: [msg(message), from(sender), to(receiver)]",
    "requests: [requester(client), service(service)]",
    "bids: [offerFor(client, service), fee(fee), provider(provider), contact(contact)]",
)
TABLES: Final = (
    "CREATE TABLE letters (id serial, message text, sender text, receiver text)",
    "CREATE TABLE requests (client text, service text)",
    "CREATE TABLE bids (client text, service text, fee int, provider text, contact text)",
)
SEEN_S: Final = 60.0


class Desk:
    """A host with its services, and the fronts that run beside it."""

    def __init__(self, host: RealHost, url: str, folder: Path) -> None:
        self.host, self.url, self.folder = host, url, folder
        self.token = host.said["token"]

    async def enrol(self, law: ns.Law, agent: str) -> None:
        """Put an agent on the roll as a space."""
        community = f"{self.url}/communities/{law.hash}"
        await fetch(community, method="PUT", body=b"{}", token=self.token)
        entry = b'{"space": true}'
        await fetch(f"{community}/roll/{agent}", method="PUT", body=entry, token=self.token)

    def words(self, law: str, name: str, *engine: str) -> list[str]:
        told = ["front", "--host", self.host.said["url"], "--law", str(path(law)), "--as", name]
        return [*told, *engine]

    @asynccontextmanager
    async def front(self, law: str, name: str, *engine: str) -> AsyncIterator[str]:
        """A front at work; its id."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as file:
            words = [*self.words(law, name, *engine), "--json"]
            child = nursery.start(words, folder=self.folder, log=file)
        with child:
            line = await asyncio.to_thread(child.stdout.readline)
            assert line, log.read_text()
            yield json.loads(line)["agent"]
            child.send_signal(signal.SIGTERM)
            await seen(lambda: child.poll() is not None, lambda: "it did not end")
            assert child.returncode == 0, log.read_text()

    @asynccontextmanager
    async def member(self, law: ns.Law, name: str, *args: object) -> AsyncIterator[ns.Membership]:
        async with caller(self.host, None) as host:
            yield await (await host.agent(name)).adopt(law, *args)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("fronts")
    url = f"http://127.0.0.1:{free_port()}"
    asked = "".join([f'{law.hash} = "{url}"\n' for law in (MP, SB)])
    (folder / "desk.toml").write_text(f"[secretaries]\n{asked}")
    host = RealHost(
        "desk", folder, "--insecure", "--http", url.removeprefix("http://"), "--config", "desk.toml"
    )
    start(host)
    yield Desk(host, url, folder)
    assert host.end() == 0, host.story()


class Tables:
    """PostgreSQL, whose log has every statement."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.server: PostgresServer = self.stack.enter_context(postgres_server())
        with psycopg.connect(self.server.url, autocommit=True) as base:
            base.execute("ALTER DATABASE postgres SET log_statement = 'all'")
            for table in TABLES:
                base.execute(table.encode())
        self.engine = ("--postgres", self.server.url, *[w for row in ROWS for w in ("--row", row)])

    def restart(self) -> None:
        """Start it again after it was killed."""
        self.server.start()

    def asked(self) -> int:
        """How often fronts have looked into its tables, or written there."""
        log = self.server.log.read_text(errors="replace")
        return sum(log.count(f'"{table}"') for table in ("letters", "requests", "bids"))

    def all(self) -> list[Any]:
        """What lies in it."""
        with psycopg.connect(self.server.url) as base:
            tables = ("letters", "requests", "bids", "nomospace_reserved")
            return [r for name in tables for r in base.execute(f"SELECT * FROM {name}".encode())]

    def crowd(self, to: str) -> None:
        """As many letters for one as a front looks at."""
        with psycopg.connect(self.server.url, autocommit=True) as base:
            many = "INSERT INTO letters SELECT n, 'spam', 'eve@desk', %s FROM generate_series(1, "
            base.execute(f"{many}{SCAN_MAX}) n".encode(), (to,))

    def clear(self) -> None:
        """None of them any more."""
        with psycopg.connect(self.server.url, autocommit=True) as base:
            base.execute("DELETE FROM letters")

    def stall(self) -> Callable[[], None]:
        """Let the next take come to a halt in its middle; how to let it go on."""
        base = psycopg.connect(self.server.url)
        base.execute("LOCK TABLE letters IN ACCESS EXCLUSIVE MODE")
        return base.close

    def stalled(self) -> bool:
        """Whether a front is in the middle of a take."""
        with psycopg.connect(self.server.url) as base:
            query = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'nomospace front'"
            return base.execute(f"{query} AND wait_event_type = 'Lock'".encode()).fetchone() == (1,)

    def reserve(self, client: str, operation: str, fields: str) -> None:
        """As a front leaves it that is killed before it has said that the answer is sent."""
        with psycopg.connect(self.server.url, autocommit=True) as base:
            values = ("k1", client, operation, "letters", fields)
            base.execute("INSERT INTO nomospace_reserved VALUES (%s, %s, %s, %s, %s)", values)


class Lists:
    """Redis, and a connection that is told every command."""

    engine: tuple[str, ...]

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.server: RedisServer = self.stack.enter_context(redis_server())
        self.engine = ("--redis", self.server.url, "--list", "mail")
        self._begin()

    def _begin(self) -> None:
        self._watch = self.stack.enter_context(closing(self._connection()))
        self._watch.sendall(b"MONITOR\r\n")
        self._heard = b""

    def restart(self) -> None:
        """Start it again after it was killed."""
        self.server.start()
        self._begin()

    def _connection(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=SEEN_S)

    def _tell(self, *words: str) -> bytes:
        with closing(self._connection()) as line:
            parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
            line.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
            return line.recv(1 << 16)

    def asked(self) -> int:
        """How often fronts have looked into its list, or written there."""
        mark = secrets.token_hex(8)
        self._tell("ECHO", mark)
        while mark.encode() not in self._heard:
            more = self._watch.recv(1 << 16)
            assert more, "the server has gone"
            self._heard += more
        words = (b'"RPUSH" "mail"', b'"LRANGE" "mail" "0" "499"', b'"EVAL"')
        return sum(self._heard.count(word) for word in words)

    def all(self) -> list[Any]:
        """What lies in it."""
        found = self._tell("LRANGE", "mail", "0", "-1"), self._tell("HVALS", "mail.reserved")
        return [part for part in found if part != b"*0\r\n"]

    def crowd(self, to: str) -> None:
        """As many letters for one as a front looks at."""
        self._tell("RPUSH", "mail", *[f"[msg(spam),from('eve@desk'),to('{to}')]"] * SCAN_MAX)

    def clear(self) -> None:
        """None of them any more."""
        self._tell("DEL", "mail")

    def stall(self) -> Callable[[], None]:
        """Let the next take come to a halt in its middle; how to let it go on."""
        self._tell("CLIENT", "PAUSE", "60000", "WRITE")  # the search passes, its script does not
        return lambda: None

    def stalled(self) -> bool:
        """Whether a front is in the middle of a take."""
        return b"blocked_clients:1" in self._tell("INFO", "clients")

    def reserve(self, client: str, operation: str, fields: str) -> None:
        """As a front leaves it that is killed before it has said that the answer is sent."""
        kept = json.dumps({"client": client, "operation": operation, "rows": [fields]})
        self._tell("HSET", "mail.reserved", "k1", kept)


@pytest.fixture(scope="module", params=[Tables, Lists])
def behind(request: pytest.FixtureRequest) -> Iterator[Tables | Lists]:
    engine = request.param()
    with engine.stack:
        yield engine


def letter(text: object, sender: object, to: object) -> tuple[Any, ...]:
    return (t.msg(text), t["from"](sender), t.to(to))


async def emptied(behind: Tables | Lists) -> None:
    """Wait until nothing lies in the engine: a ticket is settled after its answer was sent."""
    async with asyncio.timeout(SEEN_S):
        while await asyncio.to_thread(behind.all):
            await asyncio.sleep(0.02)


def name_of(behind: Tables | Lists, what: str) -> str:
    return f"{what}-{type(behind).__name__.lower()}"


def test_2_letters_through_an_engine_that_sees_permitted_operations_only(
    desk: Desk, behind: Tables | Lists
) -> None:
    """Law MP's attack table, sent to a front; and what is permitted, by both faces."""
    name = name_of(behind, "post")

    async def story() -> None:
        await desk.enrol(MP, f"{name}@desk")
        async with (
            desk.front("mp", name, *behind.engine) as front,
            desk.member(MP, "ann") as ann,
            desk.member(MP, "bob") as bob,
            desk.member(MP, "eve") as eve,
        ):
            await ann.front(front).out(*letter("hello", "ann@desk", "bob@desk"))
            asked = await asyncio.to_thread(behind.asked)
            before = await asyncio.to_thread(behind.all)
            for form in TAKING + READING:
                for whose in (
                    "[msg(formal(any)), from(formal(any)), to('bob@desk')]",
                    "[msg(formal(any)), from(formal(any)), to(formal(any))]",
                    "[formal(any), formal(any), formal(any)]",
                ):
                    assert (await eve.send(form.format(whose), to=front)).refused, form
            for form in WRITING:
                forged = "[msg('from eve'), from('ann@desk'), to('bob@desk')]"
                assert (await eve.send(form.format(forged), to=front)).refused
            answer = "found(in([x]), [msg('from eve')])"
            assert (await eve.send(answer, to="bob@desk")).refused
            with pytest.raises(ns.Refused):
                await eve.front(front).take_nowait(*letter(ANY, ANY, "bob@desk"))
            assert await asyncio.to_thread(behind.all) == before
            mine = letter(ANY, ANY, "bob@desk")
            assert (await bob.front(front).read(*mine))[0] == t.msg("hello")
            assert await asyncio.to_thread(behind.asked) == asked + 1  # what bob read
            assert len(await bob.front(front).read_all(*mine)) == 1
            assert (await bob.front(front).take(*mine))[0] == t.msg("hello")
            assert await bob.front(front).take_nowait(*mine) is None
            waits = asyncio.create_task(bob.front(front).take(*mine))
            await ann.front(front).out(*letter("again", "ann@desk", "bob@desk"))
            assert (await waits)[0] == t.msg("again")

            def blocking() -> None:
                with sync.connect(desk.host.said["url"]) as host:
                    space = host.agent("cat").adopt(MP).front(front)
                    space.out(*letter("note", "cat@desk", "cat@desk"))
                    assert space.take_all(*letter(ANY, ANY, "cat@desk"))[0][0] == t.msg("note")

            await asyncio.to_thread(blocking)
            await emptied(behind)
            await asyncio.to_thread(behind.crowd, "bob@desk")
            with pytest.raises(FrontFailed) as failed:  # it does not look on for ever
                await bob.front(front).take(*letter(int, ANY, "bob@desk"))
            assert failed.value.reason == "front.too-much-to-look-at"
            assert (await bob.front(front).take(*mine))[0] == t.msg("spam")
            await asyncio.to_thread(behind.clear)
            react = "react([msg(formal(any)), from(formal(any)), to('bob@desk')], once)"
            assert not (await bob.send(react, to=front)).refused
            said = await anext(aiter(bob.inbox()))  # nobody waits for it
            assert ns.show(said.message).startswith("failed(react(")
            assert "front.not-served" in ns.show(said.message)

    play(story(), seconds_max=SEEN_S * 2)


def test_4_1_secure_bidding_before_an_engine(desk: Desk, behind: Tables | Lists) -> None:
    """Law SB: constraints 1 to 3, with the role of providers."""
    name = name_of(behind, "market")

    async def story() -> None:
        await desk.enrol(SB, f"{name}@desk")
        async with (
            desk.front("sb", name, *behind.engine) as front,
            desk.member(SB, "ann") as ann,
            desk.member(SB, "eve") as eve,
            desk.member(SB, "pat", "serviceProvider") as pat,
        ):
            request = (t.requester("ann@desk"), t.service("painting"))
            await ann.front(front).out(*request)
            asked = await asyncio.to_thread(behind.asked)
            requests = "[requester(formal(any)), service(formal(any))]"
            bids = "[offerFor('ann@desk',formal(any)),fee(formal(any)),provider(formal(any))"
            bids += ",contact(formal(any))]"
            for form in TAKING + READING:
                for what in (requests, bids):
                    assert (await eve.send(form.format(what), to=front)).refused
            for form in TAKING:
                assert (await pat.send(form.format(requests), to=front)).refused
            for form in WRITING:
                forged = form.format("[requester('ann@desk'), service(eve)]")
                assert (await eve.send(forged, to=front)).refused
            seen_by_pat = await pat.front(front).read(t.requester(ANY), t.service(ANY))
            assert tuple(seen_by_pat) == request
            assert await asyncio.to_thread(behind.asked) == asked + 1  # what pat read
            bid = (
                t.offerFor("ann@desk", "painting"),
                t.fee(40),
                t.provider("pat@desk"),
                t.contact("pat@example"),
            )
            await pat.front(front).out(*bid)
            taken = await ann.front(front).take(
                t.offerFor("ann@desk", ANY), t.fee(int), t.provider(ANY), t.contact(ANY)
            )
            assert tuple(taken) == bid
            await ann.front(front).take(*request)
            await emptied(behind)

    play(story(), seconds_max=SEEN_S * 2)


def test_7_an_engine_that_goes_away_in_the_middle_of_a_take_loses_nothing(
    desk: Desk, behind: Tables | Lists
) -> None:
    name = name_of(behind, "late")

    async def story() -> None:
        await desk.enrol(MP, f"{name}@desk")
        operation = "in([msg(formal(any)),from(formal(any)),to('ann@desk')],[ref(x)])"
        async with desk.member(MP, "ann") as ann:
            mine = letter(ANY, ANY, "ann@desk")
            async with desk.front("mp", name, *behind.engine) as front:
                await ann.front(front).out(*letter("kept", "ann@desk", "ann@desk"))
                let_go = await asyncio.to_thread(behind.stall)
                taking = asyncio.create_task(ann.front(front).take(*mine))
                async with asyncio.timeout(SEEN_S):
                    while not await asyncio.to_thread(behind.stalled):
                        await asyncio.sleep(0.02)
                await asyncio.to_thread(behind.server.stop, signal.SIGKILL)
                let_go()
                with pytest.raises(FrontFailed) as failed:
                    await taking
                assert failed.value.reason == "front.engine-away"
                assert "nothing is lost" in str(failed.value)
                behind.restart()  # here: a server ends with the thread that started it
                assert (await ann.front(front).take(*mine))[0] == t.msg("kept")
                await emptied(behind)
            # A front that was killed before it knew that the answer was sent sends it again.
            gone = "[msg(sent),from('ann@desk'),to('ann@desk')]"
            await asyncio.to_thread(behind.reserve, "ann@desk", operation, gone)
            async with desk.front("mp", name, *behind.engine) as front:
                found = await anext(aiter(ann.inbox()))
                assert found.sender == front
                assert ns.show(found.message) == f"found({operation},{gone})"
                assert await ann.front(front).take_nowait(*mine) is None
            await emptied(behind)

    play(story(), seconds_max=SEEN_S * 3)


def test_7_a_law_may_give_the_role_by_a_certificate(
    desk: Desk, behind: Tables | Lists, tmp_path: Path
) -> None:
    """As `001_…` 3.1 gives roles: without a secretary, until the certificate ends."""
    trust = Trust(tmp_path)
    text = path("mp").read_text()
    head = f'law(mpc).\nauthority(admin, "{trust.key}").'
    held = "[issuer(admin), subject(Self), attributes([role(front)])]"
    rules = f"""
R5. sent(_, _, _) :- front@CS, do(forward).
R6. certified({held}) :- do(+front).
R7. revoked({held}) :- do(-front).
"""
    file = tmp_path / "mpc.law"
    file.write_text(text.replace("law(mp).", head) + rules)
    law, name = ns.Law.load(file), name_of(behind, "certified")
    shown = tmp_path / "front.pem"
    shown.write_bytes(trust.role(f"{name}@desk", t.role("front")))

    async def story() -> None:
        engine = (*behind.engine, "--certificate", str(shown), "--law", str(file))
        async with (
            desk.front("mp", name, *engine) as front,
            desk.member(law, "ann") as ann,
        ):
            note = letter("to myself", "ann@desk", "ann@desk")
            await ann.front(front).out(*note)
            assert tuple(await ann.front(front).take(*note)) == note
            await emptied(behind)

    play(story(), seconds_max=SEEN_S * 2)


def test_7_what_a_front_cannot_be(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(desk.enrol(MP, "somebody@desk"))
    for engine, code, words in (
        ((), 2, "give either --postgres and --row, or --redis"),
        (("--postgres", "postgresql://127.0.0.1:1/x"), 2, "needs one table at least"),
        (("--postgres", "postgresql://127.0.0.1:1/x", "--row", "a b: [x]"), 2, "no table's name"),
        (("--postgres", "postgresql://127.0.0.1:1/x", "--row", "a: [x, x]"), 2, "twice"),
        (("--redis", "http://127.0.0.1:1"), 2, "it begins with redis://"),
        (("--redis", "redis://127.0.0.1:1"), 2, "has not the role of a space"),
    ):
        assert main(desk.words("mp", "nobody", *engine)) == code, engine
        assert words in capsys.readouterr().err
    assert main(desk.words("mp", "somebody", "--redis", "redis://127.0.0.1:1")) == 1
    assert "does not answer" in capsys.readouterr().err
