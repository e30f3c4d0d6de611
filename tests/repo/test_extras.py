"""An installation without extras: a host serves, a client takes, and what is missing is named.

The modules of all extras are refused to every process here, children included, as if nobody had
installed them.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nomospace.extras import BRINGS

REFUSE = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(BRINGS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
"""

HOST = ("host", "run", "ward", "--insecure", "--listen", "127.0.0.1:0")
ASKED: dict[tuple[str, ...], tuple[str, str]] = {
    (*HOST, "--store", "postgresql://localhost/x"): ("postgres", "psycopg"),
    (*HOST, "--transport", "nats://127.0.0.1:1"): ("nats", "nats"),
    (*HOST, "--segments", "journal"): ("archive", "pyarrow"),
    (*HOST, "--http", "127.0.0.1:0"): ("http", "fastapi"),
    (*HOST, "--api", "127.0.0.1:0"): ("console", "nicegui"),
    (*HOST, "--api", "127.0.0.1:0", "--no-console"): ("http", "fastapi"),
    (*HOST[:2], "--config", "ward.toml"): ("postgres", "psycopg"),
    ("up", "--for", "1"): ("lab", "nomospace_lab"),
    ("sim", "--seeds", "1"): ("lab", "nomospace_lab"),
    ("bench",): ("lab", "nomospace_lab"),
    ("journal", "make", "made", "--events", "10"): ("lab", "nomospace_lab"),
    ("mcp", "--connect", "nomos+plain://127.0.0.1:1"): ("mcp", "mcp"),
    ("ontology", "check", "cars.yaml"): ("meaning", "yaml"),
    ("ontology", "check", "cars.ttl"): ("meaning", "rdflib"),
    ("journal", "ls", "journal"): ("archive", "pyarrow"),
    ("pipeline", "replay", "journal"): ("archive", "pyarrow"),
    ("backup", "--store", "postgresql://localhost/x", "x.backup"): ("postgres", "psycopg"),
    ("doctor", "--store", "postgresql://localhost/x"): ("postgres", "psycopg"),
}
"""Commands that need an extra, which one, and the module that is missed first."""

MANY = """
import contextlib, io, json, sys
from nomospace.cli import main

told = []
for command in json.loads(sys.stdin.read()):
    words = io.StringIO()
    with contextlib.redirect_stderr(words), contextlib.redirect_stdout(words):
        code = main(command)
    told.append((code, words.getvalue().strip()))
json.dump(told, sys.stdout)
"""

TAKE = """
import sys
from nomospace.sync import connect

with connect(sys.argv[1]) as host:
    space = host.agent("ann").space("jobs", shared=True)
    space.out("job", 17)
    print(*space.take("job", int, timeout=60))
"""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a process without extras, whose home is a folder of its own."""
    (tmp_path / "sitecustomize.py").write_text(REFUSE)
    return {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)}


def test_each_extra_that_is_missing_is_named_with_its_command(
    bare: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "cars.yaml").write_text("classes: {Car: {}}\n")
    (tmp_path / "cars.ttl").write_text("@prefix : <http://x/> .\n:a a :b .\n")
    (tmp_path / "ward.toml").write_text(
        '[host]\nname = "ward"\ninsecure = true\nlisten = "127.0.0.1:0"\n'
        'store = "postgresql://localhost/x"\n'
    )
    (tmp_path / "journal").mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", MANY],
        input=json.dumps([*ASKED]),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=bare,
    )
    for (command, (extra, module)), (code, words) in zip(
        ASKED.items(), json.loads(done.stdout), strict=True
    ):
        sentence = (
            f"needs {module}, which is not installed; "
            f"bring it with: pip install 'nomospace[{extra}]'"
        )
        assert code == 2, (command, words)
        assert words.endswith(sentence), (command, words)
        assert "Traceback" not in words, command
    assert not (tmp_path / "ward.db").exists(), "what is missing is told before anything begins"


def test_a_bare_host_serves_and_a_client_takes(bare: dict[str, str], tmp_path: Path) -> None:
    host = subprocess.Popen(
        [sys.executable, "-P", "-m", "nomospace.cli", *HOST, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=bare,
    )
    with host:
        assert host.stdout is not None
        assert host.stderr is not None
        try:
            line = host.stdout.readline()
            assert line, host.stderr.read()
            taken = subprocess.run(
                [sys.executable, "-P", "-c", TAKE, json.loads(line)["url"]],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                env=bare,
            )
        finally:
            host.send_signal(signal.SIGTERM)
            host.wait(60)
    assert (taken.stdout, taken.stderr) == ("job 17\n", "")
    assert host.returncode == 0
    assert (tmp_path / "ward.db").exists()
