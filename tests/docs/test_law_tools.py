"""The examples of the pages on `law run` and `law test` print what the pages say."""

import re
from pathlib import Path

import pytest

from tests.repo.rooms import ROOT
from tests.scenarios import script

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["run.md", "test.md"])
def test_the_page_says_what_is_printed(page: str, tmp_path: Path) -> None:
    commands = 0
    for language, name, text in _FENCE.findall((ROOT / "docs/laws" / page).read_text("utf-8")):
        if name.strip():
            (tmp_path / name.strip()).write_text(text, encoding="utf-8")
        elif language == "console":
            parts = script.read(text.removesuffix("\n"))
            assert script.write(script.play(parts, tmp_path)) == script.write(parts)
            commands += 1
    assert commands
