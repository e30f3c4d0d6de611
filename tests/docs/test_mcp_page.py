"""The page on language models names the tools, pages, limits, options and errors of the code."""

import json
import re
from importlib import import_module
from inspect import getmembers, isclass

import pytest
from typer.main import get_command

from nomospace.api.mcp import member, pages, server, tools, words
from nomospace.cli.mcp import AGENT, AWAY_S, app
from nomospace.cli.remote_options import LOCAL
from nomospace.errors import NomospaceError
from tests.docs.pages import blocks
from tests.repo.rooms import ROOT

PAGE = ROOT / "docs" / "agents" / "mcp.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
LIMITS = {
    "seconds that a call waits for tuples, events or messages": member.WAIT_S_MAX,
    "seconds that the host may take besides": member.CALL_S,
    "calls at once": server.CALLS_MAX,
    "a message of the client, in bytes": server.MESSAGE_BYTES_MAX,
    "one field, pattern or message, in characters": tools.TEXT_MAX,
    "tuples, events, messages or lines in one answer": tools.SHOWN_MAX,
    "a list in one answer, in characters; the rest is for the next one": words.ANSWER_CHARS_MAX,
    "spaces of a model": member.SPACES_MAX,
    "reactions of a model": member.REACTIONS_MAX,
    "events that wait; then the oldest is forgotten, and counted": member.FIRINGS_MAX,
    "messages that wait here; more wait in the agent's inbox": member.LETTERS_MAX,
    "rulings that can be asked of": member.RULINGS_MAX,
    "clients over HTTP": server.SESSIONS_MAX,
}


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,.0f} |" in SECTIONS["Limits"]


def test_every_limit_has_its_row() -> None:
    assert len(re.findall(r"^\| [a-z]", SECTIONS["Limits"], re.MULTILINE)) == len(LIMITS) + 1
    assert f"`--timeout` seconds ({AWAY_S:g} unless told)" in SECTIONS["Limits"]


def test_tools_and_resources() -> None:
    assert _first_cells("Tools") == list(tools.TOOLS)
    assert _first_cells("Resources") == list(pages.PAGES)


def test_options() -> None:
    known = {name for option in get_command(app).params for name in option.opts}
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) <= known
    assert f"`{LOCAL}`" in TEXT
    assert f"`{AGENT}` if none" in TEXT


def test_the_configuration_is_one_that_the_command_takes() -> None:
    (block,) = [block for block in blocks(PAGE) if block.language == "json"]
    (market,) = json.loads(block.text)["mcpServers"].values()
    assert market["command"] == "nomospace"
    name, *arguments = market["args"]
    assert name == "mcp"
    parsed = get_command(app).make_context("nomospace mcp", arguments).params
    assert (parsed["law"], parsed["claim"]) == ("sb", ["serviceProvider"])


def test_errors() -> None:
    raised = {}
    for part in ("member", "server"):
        module = import_module(f"nomospace.api.mcp.{part}")
        for name, kind in getmembers(module, isclass):
            if issubclass(kind, NomospaceError) and kind.__module__ == module.__name__:
                raised[kind.code] = name
    rows = re.findall(r"^\| `(\w+)` \| `([a-z.-]+)` \|", SECTIONS["Errors"], re.MULTILINE)
    assert {code: name for name, code in rows} == raised


def _first_cells(section: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", SECTIONS[section], re.MULTILINE)
