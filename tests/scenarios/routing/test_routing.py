"""Every script beside this file follows as it says; `--rewrite` writes down what follows."""

from pathlib import Path

import pytest

from tests.scenarios.routing.play import play

SCRIPTS = sorted(Path(__file__).parent.glob("*.script"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_script(path: Path, rewrite: bool) -> None:
    text = path.read_text(encoding="utf-8")
    done = play(text)
    if rewrite:
        path.write_text(done, encoding="utf-8")
        return
    assert done == text


def test_there_are_scripts_for_each_figure_of_the_paper() -> None:
    assert len(SCRIPTS) >= 10
    assert all("> " in path.read_text(encoding="utf-8") for path in SCRIPTS)
