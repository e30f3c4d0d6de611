"""The README tells of every command, and its picture is what the command draws."""

import re
from xml.etree import ElementTree as ET

from nomospace.cli import COMMANDS
from nomospace.cli.law import app
from tests.repo.rooms import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_is_in_its_table() -> None:
    rows = [row.split("|")[1] for row in README.split("\n") if row.startswith("| `nomospace ")]
    told = set(re.findall(r"`nomospace (\w+)", "".join(rows)))
    assert told == set(COMMANDS)


def test_every_tool_for_law_authors_is_in_its_table() -> None:
    rows = [row.split("|")[1] for row in README.split("\n") if row.startswith("| `nomospace law ")]
    words = set(re.findall(r"`(?:nomospace law )?(\w+)`", "".join(rows)))
    named = [c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands]
    assert words == set(named)


def test_its_pictures_are_whole_and_fetch_nothing() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", README)
    assert pictures
    for name in pictures:
        text = (ROOT / name).read_text(encoding="utf-8")
        ET.fromstring(text)
        assert "url(http" not in text
        assert "href=" not in text
