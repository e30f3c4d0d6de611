"""Puts each deliberate bug into a copy of the source and sees which test notices.

    python tests/mutants/run.py [--only WORD] [--write]

Exit code 1 when a bug survives, when its patch no longer applies, or when the tests fail without
any bug. `--write` puts the table into `tests/mutants/README.md`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that it runs as a file, from anywhere

from tests.mutants.mutants import MUTANTS, Mutant  # noqa: E402

README: Final = ROOT / "tests" / "mutants" / "README.md"
MARK: Final = "<!-- the table below is written by run.py -->\n"
SECONDS_MAX: Final = 300


class Copy:
    """A copy of the source that tests run against instead of the real one."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", self.source, ignore=ignore)

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"}

    def check(self) -> None:
        """See to it that it is this copy that tests would import."""
        command = [sys.executable, "-c", "import nomospace; print(nomospace.__file__)"]
        done = subprocess.run(
            command, env=self.environment(), cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(str(self.source)), done.stdout

    def test(self, selection: str) -> tuple[int, str]:
        """Run tests against the copy; pytest's exit code and output."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *selection.split()],
                env=self.environment(),
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            return 1, f"FAILED {selection} (no end after {SECONDS_MAX} s)"
        return done.returncode, done.stdout

    def mutate(self, mutant: Mutant) -> None:
        path = self.source / "nomospace" / mutant.file
        path.write_text(path.read_text("utf-8").replace(mutant.old, mutant.new), "utf-8")

    def mend(self, mutant: Mutant) -> None:
        name = Path("nomospace") / mutant.file
        shutil.copyfile(ROOT / "src" / name, self.source / name)


def applies(mutant: Mutant) -> bool:
    """Whether the text that a mutant replaces stands exactly once in its file."""
    text = (ROOT / "src" / "nomospace" / mutant.file).read_text("utf-8")
    return text.count(mutant.old) == 1


def catcher(output: str) -> str:
    """The test that failed, as pytest names it."""
    found = re.search(r"^FAILED (\S+)", output, re.MULTILINE)
    return found[1] if found else "?"


def main() -> int:
    """Run all mutants, or those that are asked for."""
    parser = argparse.ArgumentParser(description="Which test catches which deliberate bug.")
    parser.add_argument("--only", default="", help="only the bugs with this word in their name")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    chosen = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if chosen.only in mutant.name]
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="nomospace-mutants-") as folder:
        copy = Copy(Path(folder))
        copy.check()
        for selection in dict.fromkeys(mutant.tests for mutant in mutants):
            code, output = copy.test(selection)
            if code:
                print(f"without any bug {selection} fails:\n{output}")
                return 1
        for mutant in mutants:
            began = time.monotonic()
            if not applies(mutant):
                said = "SURVIVED: the patch no longer applies"
            else:
                copy.mutate(mutant)
                code, output = copy.test(mutant.tests)
                copy.mend(mutant)
                said = {0: "SURVIVED", 1: catcher(output)}.get(
                    code, f"SURVIVED: pytest said {code}"
                )
            took = f"{time.monotonic() - began:.0f} s"
            rows.append((mutant.name, mutant.file, said, took))
            print(f"{mutant.name:<62} {said:<100} {took}", flush=True)
    if chosen.write:
        _write(rows)
    survived = [name for name, _, said, _ in rows if said.startswith("SURVIVED")]
    print(f"{len(rows) - len(survived)} of {len(rows)} caught")
    return 1 if survived else 0


def _write(rows: list[tuple[str, str, str, str]]) -> None:
    head = README.read_text("utf-8").partition(MARK)[0]
    table = ["| bug | in | caught by | took |", "| --- | --- | --- | --- |"]
    table += [f"| {name} | `{file}` | `{said}` | {took} |" for name, file, said, took in rows]
    README.write_text(head + MARK + "\n" + "\n".join(table) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
