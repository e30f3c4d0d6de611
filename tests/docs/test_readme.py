"""The README tells of every command; pictures are whole and shown."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from nomospace.cli import commands
from nomospace.cli.law import app
from tests.docs.pages import PAGES
from tests.repo.rooms import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def test_every_command_is_in_its_table() -> None:
    rows = [row.split("|")[1] for row in README.split("\n") if row.startswith("| `nomospace ")]
    told = set(re.findall(r"`nomospace (\w+)", "".join(rows)))
    assert told == set(commands())


def test_every_tool_for_law_authors_is_in_its_table() -> None:
    rows = [row.split("|")[1] for row in README.split("\n") if row.startswith("| `nomospace law ")]
    words = set(re.findall(r"`(?:nomospace law )?(\w+)`", "".join(rows)))
    named = [c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands]
    assert words == set(named)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_pictures_are_whole_and_fetch_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    ET.fromstring(text)
    assert not re.findall(r"""(?:href|src)=["'](?!#)|url\(["']?(?!#)""", text)


def test_the_picture_of_spaces_is_what_its_script_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "spaces.py"))["picture"]()
    assert drawn == (ROOT / "docs" / "pictures" / "spaces.svg").read_text(encoding="utf-8")


def test_pictures_are_shown_somewhere() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert PICTURES
    assert not [path.name for path in PICTURES if f"pictures/{path.name})" not in shown]
