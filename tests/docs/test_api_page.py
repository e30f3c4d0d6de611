"""The page on the HTTP API: its examples run; its limits, routes and codes are the real ones."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

import httpx
import pytest
from playwright._impl._driver import compute_driver_executable

from nomospace.api import forms, guard, inboxes, logins, looking, models, service, talking
from nomospace.cli import main
from nomospace.errors import NomospaceError
from nomospace.node.services import web, web_port
from tests.docs.pages import Block, blocks
from tests.repo.rooms import ROOT
from tests.unit.api.running import Running, host, host_run

PAGE = ROOT / "docs" / "api" / "guide.md"
TEXT = PAGE.read_text("utf-8")
ROOMS = "acting benching forms guard http looking matching models service talking".split()
S = 60.0
CURL = """
import argparse, httpx, ssl
parser = argparse.ArgumentParser()
parser.add_argument("-sS", dest="quiet", action="store_true", required=True)
parser.add_argument("-H", dest="headers", action="append")
parser.add_argument("-d", dest="data")
parser.add_argument("--cacert")
parser.add_argument("url")
asked = parser.parse_args()
headers = dict(header.split(": ", 1) for header in asked.headers)
way = "POST" if asked.data else "GET"
trusted = ssl.create_default_context(cafile=asked.cacert) if asked.cacert else True
print(httpx.request(way, asked.url, headers=headers, content=asked.data, verify=trusted).text)
"""
"""As much of curl as the page uses."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = tmp_path_factory.mktemp("api") / "ward.db"  # with one, it counts tuples from 1
    with host("--store", str(store)) as found:
        yield found


def _run(command: list[str], running: Running) -> str:
    env = {**os.environ, "API": running.url, "TOKEN": running.token}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _pairs(first: str, second: str) -> list[tuple[Block, Block]]:
    found = blocks(PAGE)
    return [
        (one, two)
        for one, two in pairwise(found)
        if (one.language, two.language) == (first, second)
    ]


def test_what_curl_asks_is_answered_as_the_page_says(running: Running) -> None:
    pairs = [pair for pair in _pairs("sh", "json") if "--cacert" not in pair[0].text]
    assert len(pairs) == 3
    for asked, answered in pairs:
        assert _asked(asked, running) == json.loads(answered.text), asked.line


def test_curl_speaks_tls_by_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the page has it: an authority, a token, a host of its own, and `--cacert`."""
    monkeypatch.chdir(tmp_path)
    assert main(["trust", "init", "--host", "ward"]) == 0
    words = "trust issue token nurse@ward --scope agent --scope operator"
    capsys.readouterr()
    assert main(words.split()) == 0
    token = capsys.readouterr().out.strip()
    options = "--trust trust --store ward.db --no-journal --listen 127.0.0.1:0 --api 127.0.0.1:0"
    with host_run("ward", *options.split()) as line:
        running = Running(line["api"], token)
        pairs = [pair for pair in _pairs("sh", "json") if "--cacert" in pair[0].text]
        assert len(pairs) == 2
        for asked, answered in pairs:
            assert _asked(asked, running) == json.loads(answered.text), asked.line
        first = pairs[0][0]
        bare = first._replace(text=first.text.replace("--cacert trust/authority.pem ", ""))
        with pytest.raises(AssertionError, match=r"(?i)certificate"):
            _asked(bare, running)


def _asked(asked: Block, running: Running) -> Any:
    """What a command of the page is answered; by the real curl, where the machine has one."""
    curl = "" if which("curl") else shlex.join([sys.executable, "-c", CURL])
    script = f'curl() {{ {curl} "$@"; }}\n{asked.text}' if curl else asked.text
    return json.loads(_run(["sh", "-euc", script], running))


def test_the_example_in_javascript_prints_what_the_page_says(running: Running) -> None:
    ((script, output),) = _pairs("js", "text")
    # The tool that drives browsers brings a node along, so there is one wherever tests run.
    node, *_ = compute_driver_executable()
    told = _run([node, "--input-type=module", "-e", script.text], running)
    assert told == output.text


def test_every_route_is_on_the_page(running: Running) -> None:
    document = httpx.get(f"{running.url}/v1/openapi.json", timeout=S).json()
    for path in document["paths"]:
        told = path.removeprefix("/v1/agents/{agent}").removeprefix("/v1/")
        last = f"/{told.rpartition('/')[2]}"
        assert told in TEXT or f"`{last}`" in TEXT, path


def test_every_error_of_the_room_is_in_the_table() -> None:
    rows = dict(re.findall(r"^\| `((?:api|limits)\.[a-z-]+)` \| ([0-9, ]*)", TEXT, re.MULTILINE))
    raised: dict[str, Any] = {}
    for room in ROOMS:
        module = import_module(f"nomospace.api.{room}")
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, NomospaceError) and kind.__module__ == module.__name__:
                raised[kind.code] = kind
    del raised["api.typed-too-long"]  # of what people type into pages
    assert rows.keys() == raised.keys()
    for code, status in guard.STATUS.items():
        if code in rows:
            assert rows[code].strip() == str(status), code


def test_the_limits_are_those_of_the_code() -> None:
    limits = TEXT[TEXT.index("## Limits") :]
    table = dict(re.findall(r"^\| ([^|]+) \| ([0-9][^|]*) \|$", limits, re.MULTILINE))
    assert table == {
        "a body, in bytes": f"{guard.BODY_BYTES_MAX:,}",
        "values in the JSON of a body, or of a message of a socket": f"{web.VALUES_MAX:,}",
        "characters of such JSON that stand in no text, spaces aside": f"{web.BARE_MAX:,}",
        "parts of one tuple, template or message: a value is one, a list 3, a dict 6 and 3 for "
        "each key, an integer past 64 bits 4 and one for each 256, a word or sign in the text of "
        "a term 6, and 32 characters of such a text one, of which an escape is "
        "ten": f"{forms.PARTS_MAX:,}",
        "words and signs in the texts of terms of one tuple, template or message; a quoted text "
        "is one, and so are eight blanks or more": f"{forms.WORDS_MAX:,}",
        "a body of a request without a token, in bytes": f"{web.STRANGER_BYTES_MAX:,}",
        "a head of a request, in bytes": f"{web_port.HEAD_BYTES_MAX:,}",
        "a message of a socket, in bytes": f"{web_port.SOCKET_BYTES_MAX:,}",
        "requests of one token, a second and at once": f"{guard.RATE_S:g} and {guard.BURST:g}",
        "messages on one socket, a second and at once": f"{guard.RATE_S:g} and {guard.BURST:g}",
        "messages on all sockets of one token, a second and at once": (
            f"{guard.SAID_S:,.0f} and {guard.SAID_BURST:,.0f}"
        ),
        "requests and sockets of one token under way": f"{guard.UNDER_WAY_MAX:,}",
        "connections at a time": f"{web_port.LIMITS.connections_max:,}",
        "connections of one address": f"{web_port.LIMITS.per_address_max:,}",
        "connections that show no token": f"{web_port.LIMITS.strangers_max:,}",
        "these of one address": f"{web_port.LIMITS.strangers_per_address_max:,}",
        "seconds that these stay": f"{web_port.LIMITS.stranger_s:g}",
        "seconds that a question waits": f"{service.WAIT_S_MAX:g}",
        "tuples that one request writes": f"{models.ROWS_MAX:,}",
        "letters kept of one membership": f"{inboxes.INBOX_MAX:,}",
        "bytes of letters kept of one agent": f"{inboxes.INBOX_BYTES_MAX:,}",
        "bytes of letters in one answer, before the last of them": f"{inboxes.SHOWN_BYTES_MAX:,}",
        "characters that wait for a slow client of a socket, before the last message": (
            f"{talking.WAITING_CHARS_MAX:,}"
        ),
        "agents at work by way of the API": f"{service.SEATS_MAX:,}",
        "viewers of events": f"{looking.VIEWERS_MAX:,}",
        "events of a second that one viewer is told": f"{looking.EVENTS_S_MAX:,}",
        "operations and reactions of one socket under way": f"{talking.UNDER_WAY_MAX:,}",
        "messages that wait for one socket": f"{talking.WAITING_MAX:,}",
        "hours that a browser stays logged in": f"{logins.SESSION_S / 3600:g}",
        "browsers of one token that are logged in": f"{logins.SESSIONS_EACH_MAX}",
    }
    assert f"good for {logins.LOGIN_S:g} seconds" in TEXT
