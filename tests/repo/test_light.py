"""A client weighs little: what `import nomospace` and `import nomospace.client` load."""

import json
import subprocess
import sys

import pytest

OURS_MAX = 60
"""How many modules of ours a client may load."""
HEAVY = ("host", "law", "control", "protocols", "space", "node", "store", "api", "console")
"""Rooms that a client does without, the laboratory and the pipeline besides."""
BESIDES = ("pipeline", "scenarios")

SHOW = "import json, sys; json.dump(sorted(sys.modules), sys.stdout)"


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{statement}\n{SHOW}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import nomospace",
        "import nomospace.client",
        "import nomospace; nomospace.connect; nomospace.Refused; nomospace.TimedOut",
        "from nomospace.sync import connect",
    ],
)
def test_a_client_loads_no_host(statement: str) -> None:
    loaded = loaded_by(statement)
    ours = {name for name in loaded if name.partition(".")[0] == "nomospace"}
    assert len(ours) <= OURS_MAX, sorted(ours)
    rooms = {name.split(".")[1] for name in ours if "." in name}
    assert not rooms & {*HEAVY, *BESIDES}
    assert "nomospace_lab" not in loaded
    others = {name.partition(".")[0] for name in loaded} - {*sys.stdlib_module_names}
    assert "msgspec" in others or statement == "import nomospace"
    assert not others & {"cryptography", "fastapi", "nicegui", "prometheus_client", "rich", "typer"}


def test_commands_that_speak_with_a_host_load_none() -> None:
    loaded = loaded_by("import nomospace.cli.agent, nomospace.cli.space, nomospace.cli.tuple")
    rooms = {name.split(".")[1] for name in loaded if name.startswith("nomospace.")}
    assert not rooms & {*HEAVY, *BESIDES}
