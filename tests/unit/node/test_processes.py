"""Programs in processes of their own: what a host is told that cannot be."""

from pathlib import Path

import pytest

import nomospace as ns
from nomospace.node import program_talk
from nomospace.node.config import BadConfig, read_config
from nomospace.node.processes import BadModule
from tests.sites import run_real

KEY = "ed25519:" + "3b" * 32
HOST = '[host]\nname = "ward"\ninsecure = true\nlisten = "127.0.0.1:0"\nstore = "memory"\n'


def _start(folder: Path, code: str) -> None:
    (folder / "own_code.py").write_text(code)
    file = folder / "ward.toml"
    file.write_text(f'{HOST}[programs]\nmodules = ["own_code"]\npath = ["{folder}"]\n')

    async def main() -> None:
        async with ns.Host("ward", config=file):
            pass

    run_real(main())


def test_a_module_that_does_not_import(tmp_path: Path) -> None:
    with pytest.raises(BadModule, match="own_code: it does not import: ModuleNotFoundError"):
        _start(tmp_path, "import no_such_thing")


def test_a_module_that_is_never_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_talk, "BIRTH_S", 1.0)
    with pytest.raises(BadModule, match="it was not born within 1 s"):
        _start(tmp_path, "while True: pass")


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (f'[publishers.a]\nkey = "{KEY}"\n[publishers.b]\nkey = "{KEY}"\n', "has the key of 'a'"),
        (f'[publishers.a]\nkey = "{KEY}"\n[publishers.a]\nkey = "{KEY}"\n', "line 8"),
        ('[publishers.a]\nkey = "ed25519:short"\n', "is no key"),
        ('[publishers.a]\nkeys = "x"\n', "line 6"),
        ("[programs]\nlistener_ms = 0\n", "listener_ms must be 1 at least"),
    ],
)
def test_bad_tables(tables: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        read_config(HOST + tables, "ward.toml")
