"""Every script under this folder prints what it says; `--rewrite` writes down what it prints."""

from pathlib import Path

import pytest

from tests.scenarios import script

HERE = Path(__file__).parent
SCRIPTS = sorted(HERE.glob("*/*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_script(path: Path, tmp_path: Path, rewrite: bool) -> None:
    text = path.read_text(encoding="utf-8")
    parts = script.read(text)
    assert script.write(parts) == text, "a script reads back as it was"
    assert any(isinstance(part, script.Command) for part in parts)
    done = script.write(script.play(parts, tmp_path))
    if rewrite:
        path.write_text(done, encoding="utf-8")
        return
    assert done == text


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) > 20
