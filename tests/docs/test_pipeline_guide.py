"""The guide to the pipeline has the code's limits, verdicts and errors."""

import re
from importlib import import_module
from inspect import getmembers, isclass
from typing import get_args

import pytest

from nomospace.errors import NomospaceError
from nomospace.pipeline import archive, history, laying, replay, report
from nomospace.pipeline.audit import found
from nomospace.pipeline.audit.words import OUTCOMES
from nomospace.pipeline.jobs import hello, session
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.stream import answering, state, tail, writing
from nomospace.wire.segments import TABLES
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "pipeline" / "guide.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
LIMITS = {
    "rows that one process sorts in memory": replay.PROCESS_ROWS_MAX,
    "obligations that fire between two recorded events": history.FIRED_MAX,
    "gaps of one history that are named": history.GAPS_MAX,
    "rows of who was refused what, in an audit": found.REFUSALS_MAX,
    "spaces that an audit lists": found.SPACES_MAX,
    "agents whose load an audit tells": found.AGENTS_MAX,
    "steps that an audit cuts time into": found.STEPS_MAX,
    "classes of tuples that are laid out in one go": laying.CLASSES_MAX,
    "seconds that one statement of a match may take": int(archive.STATEMENT_S),
    "rows that a stream writes back in one batch": writing.ROWS_MAX,
    "rows of one batch that a law may refuse": writing.REFUSED_MAX,
    "seconds for a host, and its law, to let one row through": int(writing.ROW_S),
    "rows of tuples that a stream keeps": state.STATE_ROWS_MAX,
    "rows among which memory looks for a stream's answers": answering.MEMORY_ROWS,
    "seconds that a stream waits for a host that is away": int(tail.PATIENCE_S),
    "seconds for a master to say that it is one": int(hello.ANSWER_S),
    "seconds for a master to take a connection": int(session.CONNECT_S),
    "seconds for a cluster's first task": int(session.ANSWER_S),
}
MODULES = (
    "archive java laws laying replay segments jobs.session jobs.stream "
    "stream.source stream.state stream.tail stream.writing workers"
)


def told(section: str) -> list[str]:
    """What the rows of a section's table are about."""
    return re.findall(r"^\| (`.+?) \|", SECTIONS[section], re.MULTILINE)


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_verdicts_engines_and_tables() -> None:
    assert told("Replay") == [f"`{kind}`" for kind in get_args(report.Kind)]
    assert told("Audit") == [f"`{outcome}`" for outcome in OUTCOMES]
    assert told("Engines and clusters")[1:] == [f"`{engine}`" for engine in Engine]
    assert sorted(told("The journal")) == sorted(f"`{table}`" for table in TABLES)


def test_errors() -> None:
    raised = {
        kind.code
        for module in MODULES.split()
        for _, kind in getmembers(import_module(f"nomospace.pipeline.{module}"), isclass)
        if issubclass(kind, NomospaceError) and kind.code.startswith("pipeline.")
    }
    listed = re.findall(r"`(pipeline\.[a-z-]+)`", " ".join(told("Exit codes and errors")))
    assert sorted(listed) == sorted(raised)
