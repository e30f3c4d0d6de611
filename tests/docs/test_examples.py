"""The examples of the README, the guide and the notes do what the pages say.

A page is played from top to bottom in a folder of its own that looks like a checkout. A block
with a file's name is written there (and must be the file of that name, where the repository has
one); ```law is checked; ```console is run command by command and its output compared, where a
line `...` stands for any lines, and `...` in a line for any text; ```python is run, as a doctest
where it has prompts, unless it is a file: that is for a command to run. `background` has what a
shell does for a console: hosts that go on running, and variables.
"""

import doctest
import io
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from mcp.client import stdio

from nomospace.cli import main
from nomospace.law.checks import check
from nomospace.law.parse import parse
from nomospace.terms import Source
from tests.docs.background import EXPORT, Background
from tests.docs.pages import PAGES, Block, blocks, name
from tests.repo.rooms import ROOT

_ANYTHING = re.compile(r"\.{3}(?!\.)")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "src").symlink_to(ROOT / "src")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if (
        page.name == "mcp.md"
    ):  # clients of MCP hand few variables on, and tests' hosts have their own
        known = [*stdio.DEFAULT_INHERITED_ENV_VARS, "XDG_STATE_HOME"]
        monkeypatch.setattr(stdio, "DEFAULT_INHERITED_ENV_VARS", known)
    names: dict[str, Any] = {"__name__": "__main__"}
    with Background(tmp_path, monkeypatch) as background:
        for block in blocks(page):
            where = f"{name(page)}:{block.line}"
            if block.file:
                _write(block, where)
            if block.language == "law":
                _check(block, where)
            elif block.language == "console":
                _run(block, where, background)
            elif block.language == "python" and not block.file:
                _execute(block, where, names)


def test_the_examples_are_found() -> None:
    found = {name(page): [block.language for block in blocks(page)] for page in PAGES}
    for page in ("README.md", "docs/laws/guide.md"):
        assert {"law", "console", "python"} <= set(found[page]), page


def _write(block: Block, where: str) -> None:
    kept = ROOT / block.file
    if kept.is_file():
        assert kept.read_text(encoding="utf-8") == block.text, f"{where}: not as in {block.file}"
    Path(block.file).write_text(block.text, encoding="utf-8")


def _check(block: Block, where: str) -> None:
    """A law, or (without a name of its own) some clauses of one, has no errors."""
    text = block.text if "law(" in block.text else f"law(example).\n{block.text}"
    source = Source(text, where)
    law, faults = parse(source)
    found = faults or [one for one in check(law) if one.severity == "error"]
    assert not found, "\n".join(one.render(source) for one in found)


def _run(block: Block, where: str, background: Background) -> None:
    code = 0
    for part in ("\n" + block.text).split("\n$ ")[1:]:
        written, _, wanted = part.partition("\n")
        command = background.told(written)
        if background.does(command):
            got = ""
        elif inner := EXPORT.fullmatch(command):
            code, got = _nomospace(shlex.split(inner[2]), where, errors=False)
            background.export(inner[1], got.strip())
            got = ""
        elif command == "echo $?":
            got = f"{code}\n"
        elif command.startswith("cat "):
            got = Path(command.removeprefix("cat ")).read_text(encoding="utf-8")
        elif command.startswith(".venv/bin/python "):
            got = _program(*shlex.split(command)[1:])
        else:
            code, got = _nomospace(shlex.split(command), where)
        wanted_lines, got_lines = wanted.rstrip("\n").split("\n"), got.rstrip("\n").split("\n")
        if not _fits(wanted_lines, got_lines):
            assert wanted_lines == got_lines, f"{where}: $ {command}\n{got}"


def _nomospace(words: list[str], where: str, *, errors: bool = True) -> tuple[int, str]:
    """Run a command line in this process; the launcher has tests of its own."""
    known = "./nomospace, .venv/bin/python, cat and echo $?"
    assert words[0] == "./nomospace", f"{where}: examples run {known}"
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output if errors else io.StringIO()):
        code = main(words[1:])
    return code, output.getvalue()


def _program(path: str, *words: str) -> str:
    output = io.StringIO()
    with redirect_stdout(output), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [path, *words])
        runpy.run_path(path, run_name="__main__")
    return output.getvalue()


def _fits(wanted: list[str], got: list[str]) -> bool:
    """Whether lines are as wanted, where `...` is any number of lines, or the rest of one."""
    at = wanted.index("...") if "..." in wanted else len(wanted)
    if len(got) < at or not all(map(_line_fits, wanted[:at], got)):
        return False
    if at == len(wanted):
        return len(got) == at
    rest = wanted[at + 1 :]
    return any(_fits(rest, got[start:]) for start in range(at, len(got) + 1)) or (
        not rest and len(got) >= at
    )


def _line_fits(wanted: str, got: str) -> bool:
    if "..." not in wanted:
        return wanted == got
    return re.fullmatch(".*".join(map(re.escape, _ANYTHING.split(wanted))), got) is not None


def _execute(block: Block, where: str, names: dict[str, Any]) -> None:
    if ">>> " not in block.text:
        exec(compile(block.text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    told: list[str] = []
    say: Callable[[str], Any] = told.append
    runner.run(test, out=say, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(told)
