"""The page about matching says what the code does: its limits, options and types."""

import re

from nomospace.cli.match import app
from nomospace.meaning import jsonforms, question
from nomospace.meaning.memory import matcher
from nomospace.meaning.planner import connecting, deriving, making
from nomospace.meaning.sql import layout
from nomospace.terms import WIDTH_MAX
from nomospace.terms.formals import KINDS
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "meaning" / "matching.md").read_text("utf-8")
LIMITS = {
    "characters of a template": question.TEMPLATE_CHARS_MAX,
    "fields of a template": WIDTH_MAX,
    "tuples of a set, unless you say otherwise": question.SET_MAX,
    "tuples of a set, whatever you say": question.SET_LIMIT,
    "answers, unless you say otherwise": question.ANSWERS_MAX,
    "ways to serve the fields of a template, by computing": deriving.DERIVATIONS_MAX,
    "networks of a plan": making.NETWORKS_MAX,
    "growing trees that the planner looks at": connecting.STATES_MAX,
    "rows of networks that are looked at for one question": matcher.ROWS_MAX,
    "elements of an object's arrays, in databases": layout.ELEMENTS_MAX,
    "names and places of a path, in databases": layout.PATH_NAMES_MAX,
    "characters of a line of tuples": jsonforms.LINE_CHARS_MAX,
}


def test_limits() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \|$", TEXT.partition("## Limits")[2], re.MULTILINE)
    assert dict(rows) == {what: f"{value:,}" for what, value in LIMITS.items()}


def test_types() -> None:
    (row,) = re.findall(r"^\| (`int`.*) \| a plain value of this type \|$", TEXT, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(KINDS)


def test_every_option_of_the_table_is_one() -> None:
    table = TEXT.partition("## Which answers")[2].partition("##")[0]
    told = set(re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE))
    (command,) = app.registered_commands
    assert command.callback is not None
    known = {f"--{name.replace('_', '-')}" for name in command.callback.__annotations__}
    assert told - {"--any"} <= known
    assert len(told) == 6
