"""Law server, controller service and secretary over HTTP, on the loopback, as clients meet them."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

import nomospace as ns
from nomospace import laws
from nomospace.calls.problems import NotLetIn
from nomospace.client.controllers import NoController, find_controllers
from nomospace.client.http import (
    BadAddress,
    ServiceAway,
    ServiceRefused,
    fetch,
    fetch_blocking,
)
from nomospace.client.laws import NoLawServer, NotThatLaw, load_law
from nomospace.errors import PeerError
from nomospace.law import LawFile, load
from nomospace.node.principals import OpenDoor, Principal
from nomospace.node.services import controllers as controllers_of, web
from nomospace.node.services.controllers import ControllerService, Registration
from nomospace.node.services.hosting import Services as HostServices, allowed
from nomospace.node.services.lawserver import LawServer
from nomospace.node.services.rolls import RollFiles
from nomospace.node.services.secretaries import (
    NotAdmitted,
    NotAsked,
    Secretaries,
    SecretaryService,
)
from nomospace.node.services.web import CannotListen, PlainAddress, Web, application, tokens
from nomospace.services.controllers import Offer
from nomospace.terms import Faulty
from nomospace.trust.tokens import Tokens, make_token

ECHO = "law(echo). R1. sent(_, _, _) :- do(forward)."
SLY = "law(echo). R1. sent(_, _, _) :- do(forward). R2. sent(_, a, _) :- do(+b)."
AP = load(laws.text("ap"))
FREE = load(ECHO)


class Services(NamedTuple):
    url: str
    laws: LawServer
    secretaries: SecretaryService


@asynccontextmanager
async def services(folder: Path | None = None) -> AsyncIterator[Services]:
    operators = tokens({"ops": "t0ken"})
    lawserver = LawServer(operators, None if folder is None else folder / "laws")
    hosts = tokens({"x": "host-x", "y": "host-y"})
    rolls = RollFiles(None if folder is None else folder / "rolls")
    secretaries = SecretaryService(hosts, operators, rolls)
    controllers = ControllerService(operators, hosts)
    routes = [*lawserver.routes(), *controllers.routes(), *secretaries.routes()]
    try:
        async with Web(application(routes)) as served:
            yield Services(served.url, lawserver, secretaries)
    finally:
        lawserver.close()
        rolls.close()


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(program, 120))


async def _put(url: str, body: str | bytes, token: str = "t0ken") -> Any:
    raw = body.encode() if isinstance(body, str) else body
    return json.loads((await fetch(url, method="PUT", body=raw, token=token)).body)


async def _refused(work: Coroutine[Any, Any, Any]) -> tuple[int, str]:
    with pytest.raises(ServiceRefused) as caught:
        await work
    assert caught.value.detail
    return caught.value.status, caught.value.problem


# -- the law server --------------------------------------------------------------------------


def test_laws_are_put_listed_and_had_by_name_version_and_hash(tmp_path: Path) -> None:
    async def program() -> None:
        async with services(tmp_path) as at:
            first = await _put(f"{at.url}/laws/echo", ECHO)
            assert first == {"name": "echo", "hash": FREE.hash, "version": 1}
            assert (await _put(f"{at.url}/laws/echo", f"{ECHO} % as before"))["version"] == 1
            assert (await _put(f"{at.url}/laws/echo", SLY))["version"] == 2
            assert await _put(f"{at.url}/laws/ap?expect=sha256:{AP.hash}", laws.text("ap"))
            answer = await fetch(f"{at.url}/laws/echo?version=1")
            assert answer.body.decode() == ECHO
            assert answer.headers["etag"] == f'"{FREE.hash}"'
            assert (await fetch(f"{at.url}/laws/sha256:{FREE.hash}")).body.decode() == ECHO
            listed = json.loads((await fetch(f"{at.url}/laws?limit=5")).body)
            assert [(each["name"], each["versions"]) for each in listed] == [("ap", 1), ("echo", 2)]
        async with services(tmp_path) as at:  # it is all there after a restart
            assert (await fetch(f"{at.url}/laws/echo?version=1")).body.decode() == ECHO
            assert len(at.laws.library) == 3

    run(program())


def test_a_law_is_adopted_by_text_file_address_name_and_hash(tmp_path: Path) -> None:
    file = tmp_path / "echo.law"
    file.write_text(ECHO)

    async def program() -> None:
        async with services() as at:
            await _put(f"{at.url}/laws/echo", ECHO)
            for place in (
                ECHO,
                f"% a remark first\n{ECHO}",
                file,
                str(file),
                f"{file}#sha256:{FREE.hash}",
                f"{at.url}/laws/echo",
                f"{at.url}/laws/echo#sha256:{FREE.hash}",
                "echo",
                f"echo#sha256:{FREE.hash}",
                f"sha256:{FREE.hash}",
            ):
                assert (await ns.fetch_law(place, server=at.url)).hash == FREE.hash, place
            law = await asyncio.to_thread(ns.Law.load, "echo", server=at.url)
            async with ns.Host("ward") as host:
                member = await (await host.agent("ann")).adopt(law)
                assert member.law.name == "echo"

    run(program())


def test_a_text_that_is_not_of_the_law_that_was_meant_is_refused(tmp_path: Path) -> None:
    async def program() -> None:
        async with services() as at:
            await _put(f"{at.url}/laws/echo", SLY)
            for place in (f"echo#sha256:{FREE.hash}", f"{at.url}/laws/echo#sha256:{FREE.hash}"):
                with pytest.raises(NotThatLaw, match="do not adopt it unseen"):
                    await ns.fetch_law(place, server=at.url)
            # A server that lies about what it sends is found out without a pin.
            change = at.laws.library.put("echo", ECHO, now=0)
            assert change is not None
            at.laws.library.apply(change.__class__("echo", change.hash, "law", SLY, 0))
            for place in ("echo", f"sha256:{FREE.hash}"):
                with pytest.raises(NotThatLaw):
                    await ns.fetch_law(place, server=at.url)

    run(program())


def test_where_no_law_is() -> None:
    with pytest.raises(NoLawServer):
        load_law("echo")
    with pytest.raises(NoLawServer):
        load_law(f"sha256:{'0' * 64}")
    with pytest.raises(LawFile):
        load_law("no/such.law")
    with pytest.raises(LawFile):
        load_law("echo.law", server="http://127.0.0.1:1")
    with pytest.raises(ServiceAway):
        load_law("echo", server="http://127.0.0.1:1")
    with pytest.raises(BadAddress):
        load_law("echo", server="ftp://127.0.0.1")


def test_what_the_law_server_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_S", 0.2)

    async def program() -> None:
        async with services() as at:
            put = f"{at.url}/laws/echo"
            assert await _refused(_put(put, ECHO, "")) == (401, "services.no-token")
            assert await _refused(_put(put, ECHO, "guess")) == (401, "services.no-token")
            assert await _refused(_put(f"{at.url}/laws/ap", ECHO)) == (400, "laws.other-name")
            assert await _refused(_put(f"{put}?expect={AP.hash}", ECHO)) == (400, "laws.other-hash")
            assert await _refused(_put(put, "law(echo). R1. what?")) == (422, "law.faulty")
            assert await _refused(_put(put, b"\xff\xfe")) == (400, "services.bad-request")
            assert await _refused(_put(put, "%" * 1_000_001)) == (413, "services.body-too-large")
            assert await _refused(fetch(put)) == (404, "laws.no-such-law")
            assert await _refused(fetch(f"{put}?version=x")) == (400, "services.bad-request")
            assert await _refused(fetch(f"{at.url}/nothing")) == (404, "services.no-such-resource")
            assert await _refused(fetch(put, method="DELETE")) == (405, "services.no-such-resource")
            assert len(at.laws.library) == 0
            reader, writer = await asyncio.open_connection("127.0.0.1", _port(at.url))
            head = "PUT /laws/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t0ken\r\n"
            writer.write(f"{head}Content-Length: 9\r\n\r\nlaw".encode())
            assert b" 408 " in await reader.readline()  # a slow sender does not hold it up
            writer.close()
            _, writer = await asyncio.open_connection("127.0.0.1", _port(at.url))
            writer.write(b"\0" * 100_000)
            await _put(put, ECHO)
            writer.close()

    run(program())


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_not_again_what_the_client_has() -> None:
    async def program() -> None:
        async with services() as at:
            await _put(f"{at.url}/laws/echo", ECHO)
            reader, writer = await asyncio.open_connection("127.0.0.1", _port(at.url))
            head = "GET /laws/echo HTTP/1.1\r\nHost: localhost\r\n"
            writer.write(f'{head}If-None-Match: "{FREE.hash}"\r\n\r\n'.encode())
            assert b" 304 " in await reader.readline()
            writer.close()

    run(program())


def test_faults_of_a_law_reach_who_puts_it() -> None:
    async def program() -> None:
        async with services() as at:
            with pytest.raises(ServiceRefused, match="nonsense"):
                await _put(f"{at.url}/laws/echo", "law(echo). R1. sent(_,_,_) :- nonsense(x).")

    run(program())
    with pytest.raises(Faulty):
        load_law("law(echo). R1. sent(_,_,_) :- nonsense(x).")


# -- the controller service ------------------------------------------------------------------


def test_an_agent_finds_a_controller_that_its_law_accepts() -> None:
    key = AP.tree.controller_authority
    assert key is not None

    async def program() -> None:
        async with services() as at:
            with pytest.raises(NoController):
                await ns.find_controller(at.url, AP)
            for name, domain, keys in (("a", "er.north", ()), ("b", "lab.north", (key,))):
                offer = Offer(name, f"127.0.0.1:{len(name)}", domain, keys)
                await _put(f"{at.url}/controllers/{name}", msgspec.json.encode(offer))
            assert (await ns.find_controller(at.url, AP, near="er.north")).name == "b"
            found = await find_controllers(at.url, FREE, near="er.north")
            assert [each.name for each in found] == ["a", "b"]
            await fetch(f"{at.url}/controllers/a", method="DELETE", token="t0ken")
            assert (await ns.find_controller(at.url, FREE)).name == "b"
            assert await _refused(fetch(f"{at.url}/controllers/a")) == (
                404,
                "controllers.no-such-host",
            )

    run(program())


def test_what_the_controller_service_refuses() -> None:
    async def program() -> None:
        async with services() as at:
            put = f"{at.url}/controllers/a"
            good = msgspec.json.encode(Offer("a", "a:1"))
            assert await _refused(_put(put, good, "")) == (401, "services.no-token")
            assert await _refused(_put(put, b"{")) == (400, "services.bad-request")
            assert await _refused(_put(put, b'{"name":"a","address":"a:1","x":1}')) == (
                400,
                "services.bad-request",
            )
            assert await _refused(_put(put, msgspec.json.encode(Offer("b", "b:1")))) == (
                400,
                "controllers.bad-offer",
            )
            assert await _refused(fetch(put, method="DELETE")) == (401, "services.no-token")

    run(program())


def test_a_host_stays_registered_while_it_lives_and_the_service_may_be_away() -> None:
    loads = iter([0.1, 0.2, 0.3] + [0.4] * 100)

    async def program() -> None:
        async with Registration(
            "http://127.0.0.1:1", lambda: Offer("a", "a:1"), token="t0ken"
        ) as away:
            assert isinstance(away.failed, ServiceAway)
        async with services() as at:
            async with Registration(
                at.url, lambda: Offer("a", "a:1", load=next(loads)), token="t0ken", again_s=0.02
            ) as registration:
                assert registration.failed is None
                while (await ns.find_controller(at.url, FREE)).load < 0.3:
                    await asyncio.sleep(0.02)
            with pytest.raises(NoController):
                await ns.find_controller(at.url, FREE)

    assert controllers_of.AGAIN_S == 20
    run(program())


# -- the secretary ---------------------------------------------------------------------------


def test_hosts_ask_the_secretary_and_it_remembers(tmp_path: Path) -> None:
    async def program() -> None:
        async with services(tmp_path) as at:
            await _put(f"{at.url}/communities/{FREE.hash}", b'{"closed": true}')
            roll = f"{at.url}/communities/{FREE.hash}/roll/ann@x"
            await _put(roll, b'{"initial": ["serviceProvider"]}')
            x = Secretaries({FREE.hash: at.url}, token="host-x")
            y = Secretaries({FREE.hash: at.url}, token="host-y")
            await x.ask("ann@x", FREE.hash)
            assert x.enrols("ann@x", FREE.hash) == ("serviceProvider",)
            with pytest.raises(NotAsked):
                x.enrols("ann@x", FREE.hash)
            await y.ask("ann@x", FREE.hash)
            with pytest.raises(NotAdmitted, match="at host x") as caught:
                y.enrols("ann@x", FREE.hash)
            assert caught.value.reason == "secretary.member-elsewhere"
            await y.moved("ann@x", FREE.hash)
            await x.quit("ann@x", FREE.hash)  # it is not x's any more
            where = f"{at.url}/communities/{FREE.hash}/members/ann@x"
            assert json.loads((await fetch(where)).body)["controller"] == "y"
        async with services(tmp_path) as at:
            roll = f"{at.url}/communities/{FREE.hash}/roll/ann@x"
            listed = json.loads((await fetch(f"{at.url}/communities")).body)
            assert listed == [{"law": FREE.hash, "members": 1}]
            members = f"{at.url}/communities/{FREE.hash}/members"
            (member,) = json.loads((await fetch(members)).body)
            assert (member["agent"], member["controller"]) == ("ann@x", "y")
            y = Secretaries({FREE.hash: at.url}, token="host-y")
            await y.quit("ann@x", FREE.hash)
            await y.ask("ann@x", FREE.hash)
            with pytest.raises(NotAdmitted, match="has quit"):
                y.enrols("ann@x", FREE.hash)
            await fetch(roll, method="DELETE", token="t0ken")
            await y.ask("ann@x", FREE.hash)
            with pytest.raises(NotAdmitted, match="not on the roll"):  # it is closed, still
                y.enrols("ann@x", FREE.hash)
            await _put(f"{at.url}/communities/{FREE.hash}", b"{}")
            await y.ask("ann@x", FREE.hash)
            assert y.enrols("ann@x", FREE.hash) == ()

    run(program())


def test_laws_without_a_secretary_ask_nobody() -> None:
    async def program() -> None:
        nobody = Secretaries({}, token="")
        assert not nobody.must_ask("ann@x", FREE.hash)
        assert nobody.enrols("ann@x", FREE.hash) == ()
        assert FREE.hash not in nobody
        away = Secretaries({FREE.hash: "http://127.0.0.1:1"}, token="")
        await away.ask("ann@x", FREE.hash)
        with pytest.raises(ServiceAway):
            away.enrols("ann@x", FREE.hash)

    run(program())


def test_what_the_secretary_refuses() -> None:
    async def program() -> None:
        async with services() as at:
            await at.secretaries.keep(FREE.hash, closed=True)
            one = f"{at.url}/communities/{FREE.hash}"
            for path, body, token, answer in (
                ("roll/ann@x", b"{}", "host-x", (401, "services.no-token")),
                ("roll/ann@x", b'{"initial":["tupleSpace"]}', "t0ken", (400, "secretary.bad-roll")),
                ("roll/ann@x", b'{"role":1}', "t0ken", (400, "services.bad-request")),
                ("members/ann@x", b"{}", "t0ken", (401, "services.no-token")),
                ("members/ann@x", b"{}", "host-x", (403, "secretary.not-on-roll")),
                ("members/ann@x", b'{"moved":true}', "host-x", (404, "secretary.no-such-member")),
            ):
                assert await _refused(_put(f"{one}/{path}", body, token)) == answer
            assert await _refused(_put(one, b"{}", "")) == (401, "services.no-token")
            odd = f"{at.url}/communities/abc"
            assert await _refused(_put(odd, b"{}")) == (404, "secretary.no-such-community")
            assert await _refused(fetch(f"{one}/roll")) == (401, "services.no-token")
            other = f"{at.url}/communities/{AP.hash}/members"
            assert await _refused(fetch(other)) == (404, "secretary.no-such-community")

    run(program())


# -- the server ------------------------------------------------------------------------------


def test_without_tls_only_on_the_loopback() -> None:
    app = application([])
    for host in ("0.0.0.0", "192.0.2.1", "example.org", "::"):
        with pytest.raises(PlainAddress):
            Web(app, host)
    Web(app, "localhost")
    Web(app, "::1")


def test_a_port_that_is_taken() -> None:
    async def program() -> None:
        async with Web(application([])) as one:
            with pytest.raises(CannotListen):
                async with Web(application([]), port=one.port):
                    pass

    run(program())


def test_a_server_that_is_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from nomospace.client import http

    monkeypatch.setattr(http, "ANSWER_BYTES_MAX", 10)

    async def program() -> None:
        async with services() as at:
            await _put(f"{at.url}/laws/e", "law(e).")

    with pytest.raises(http.BadAnswer):
        run(program())
    with pytest.raises(BadAddress):
        fetch_blocking("http:///nowhere")


def test_a_token_does_not_follow_a_redirect_to_another_service() -> None:
    seen: list[str] = []

    async def here(request: Request) -> Response:
        seen.append(request.headers.get("authorization", "none"))
        return Response("here")

    async def program() -> None:
        async with Web(application([Route("/", here)])) as other:

            async def on(request: Request) -> Response:
                return RedirectResponse(other.url if request.url.path == "/on" else "/again", 302)

            routes = [Route("/on", on), Route("/self", on), Route("/again", here)]
            async with Web(application(routes)) as one:
                await fetch(f"{one.url}/self", token="s3cret")
                await fetch(f"{one.url}/on", token="s3cret")

    run(program())
    assert seen == ["Bearer s3cret", "none"]


def test_all_services_behind_one_address_with_tokens_of_the_trust_folder(tmp_path: Path) -> None:
    made = {
        name: make_token(agents, scopes=scopes, identifier=id, secret=id * 4, now=0, days=30)
        for name, agents, scopes, id in (
            ("ops", ("ops@x",), ("operator",), b"12345678"),
            ("host", ("host@x",), ("agent",), b"abcdefgh"),
        )
    }
    known = Tokens([kept for _, kept in made.values()])

    class ByToken(OpenDoor):
        def nobody(self) -> Principal:
            raise NotLetIn(why="a token is needed")

        def by_token(self, token: str) -> Principal:
            try:
                found = known.check(token, now=5)
            except PeerError as error:
                raise NotLetIn(why=str(error)) from None
            return Principal(found.id, found.agents, operator=found.operates)

    operators, hosts = allowed(ByToken())
    ops, host = (made[name][0] for name in ("ops", "host"))

    async def program() -> None:
        nonlocal known
        for _ in range(2):
            async with HostServices(
                "127.0.0.1:0", operators=operators, hosts=hosts, folder=tmp_path
            ) as at:
                await _put(f"{at.url}/laws/echo", ECHO, ops)
                assert await _refused(_put(f"{at.url}/laws/echo", ECHO, host)) == (
                    401,
                    "services.no-token",
                )
                await _put(f"{at.url}/communities/{FREE.hash}", b"{}", ops)
                asking = Secretaries({FREE.hash: at.url}, token=host)
                await asking.ask("ann@x", FREE.hash)
                assert asking.enrols("ann@x", FREE.hash) == ()
                assert len(at.laws.library) == 1
        known = known.without(made["ops"][1].id)
        async with HostServices("127.0.0.1:0", operators=operators, hosts=hosts) as at:
            refused = await _refused(_put(f"{at.url}/laws/echo", ECHO, ops))
            assert refused == (401, "services.no-token")  # it was taken back

    run(program())
