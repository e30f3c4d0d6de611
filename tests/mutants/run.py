"""Puts each deliberate bug into a copy of the source and sees what notices: a test, or a world.

    python tests/mutants/run.py [--only WORD ...] [--write]

Exit code 1 when a bug survives, when its patch no longer applies, or when tests or worlds fail
without any bug. `--write` puts what was found into the table of `tests/mutants/README.md`; lines of
bugs that were not asked for stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that it runs as a file, from anywhere

from tests.mutants.mutant import Mutant, Worlds  # noqa: E402
from tests.mutants.mutants import MUTANTS  # noqa: E402

README: Final = ROOT / "tests" / "mutants" / "README.md"
MARK: Final = "<!-- the table below is written by run.py -->\n"
SECONDS_MAX: Final = 300
AT_A_TIME: Final = 5
"""Worlds that one process runs before it is asked whether one has failed."""


class Copy:
    """A copy of the source that tests and worlds run against instead of the real one."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", self.source, ignore=ignore)

    def _run(self, *arguments: str) -> tuple[int, str] | None:
        """Run Python with the copy; exit code and output, or nothing when it came to no end."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.source),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            done = subprocess.run(
                [sys.executable, *arguments],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.returncode, done.stdout

    def check(self) -> None:
        """See to it that it is this copy that tests would import."""
        done = self._run("-c", "import nomospace; print(nomospace.__file__)")
        assert done is not None
        assert done[1].startswith(str(self.source)), done[1]

    def judge(self, judge: str | Worlds) -> tuple[bool, str]:
        """Whether the copy is found out, and by what; or why nothing can be said."""
        return self._live(judge) if isinstance(judge, Worlds) else self._test(judge)

    def _test(self, selection: str) -> tuple[bool, str]:
        done = self._run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *selection.split())
        if done is None:
            return True, f"{selection} (no end after {SECONDS_MAX} s)"
        code, output = done
        failed = re.search(r"^FAILED (\S+)", output, re.MULTILINE)
        if code == 1:
            return True, failed[1] if failed else "?"
        last = output.strip().rpartition("\n")[2]
        return False, "" if code == 0 else f"pytest {selection}: exit code {code}, {last}"

    def _live(self, worlds: Worlds) -> tuple[bool, str]:
        """Run worlds, some at a time, until one fails; which, and what did not hold in it."""
        for first in range(0, worlds.seeds, AT_A_TIME):
            count = min(AT_A_TIME, worlds.seeds - first)
            report = self._sim(worlds, "--from", str(first), "--seeds", str(count))
            if report is None or report["seeds"] != count:
                return False, f"{worlds.workload} came to no end"
            if report["failed"]:
                seed = report["failed"][0]
                story = self._sim(worlds, "--seed", str(seed)) or {"verdicts": []}
                wrong = [v["property"] for v in story["verdicts"] if v["answer"] == "no"]
                return True, f"{worlds.workload}, seed {seed}: {'; '.join(wrong) or '?'}"
        return False, ""

    def _sim(self, worlds: Worlds, *arguments: str) -> dict[str, Any] | None:
        command = ("-P", "-m", "nomospace.cli", "sim", "--json", "--workload", worlds.workload)
        done = self._run(*command, *arguments)
        try:
            said = json.loads(done[1]) if done is not None else None
        except ValueError:
            return None
        return said if isinstance(said, dict) else None

    def applies(self, mutant: Mutant) -> bool:
        return applies(mutant, self.source)

    def hurt(self, mutant: Mutant) -> tuple[bool, str]:
        """Put a bug in, let it be judged, and take it out again."""
        path = self.source / "nomospace" / mutant.file
        sound = path.read_text("utf-8")
        path.write_text(sound.replace(mutant.old, mutant.new), "utf-8")
        try:
            return self.judge(mutant.judge)
        finally:
            path.write_text(sound, "utf-8")


def applies(mutant: Mutant, source: Path = ROOT / "src") -> bool:
    """Whether the text that a mutant replaces stands exactly once in its file."""
    path = source / "nomospace" / mutant.file
    return path.exists() and path.read_text("utf-8").count(mutant.old) == 1


def judges(mutants: list[Mutant]) -> list[str | Worlds]:
    """All that will judge, each once: of worlds of one workload, the most that are asked for."""
    seeds: dict[str, int] = {}
    found: dict[str | Worlds, None] = {}
    for mutant in mutants:
        if isinstance(mutant.judge, Worlds):
            name, count = mutant.judge
            seeds[name] = max(seeds.get(name, 0), count)
        else:
            found[mutant.judge] = None
    return [*found, *[Worlds(name, count) for name, count in seeds.items()]]


def main() -> int:
    """Run all mutants, or those that are asked for."""
    parser = argparse.ArgumentParser(description="What catches which deliberate bug.")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[""],
        help="only the bugs with one of these words in their name or file, or as their workload",
    )
    parser.add_argument("--write", action="store_true", help="put what is found into README.md")
    chosen = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if any(_fits(mutant, word) for word in chosen.only)]
    rows: dict[str, tuple[str, str, str]] = {}
    with tempfile.TemporaryDirectory(prefix="nomospace-mutants-") as folder:
        copy = Copy(Path(folder))
        copy.check()
        for judge in judges(mutants):
            caught, said = copy.judge(judge)
            if caught or said:
                print(f"without any bug: {said}")
                return 1
        for mutant in mutants:
            began = time.monotonic()
            if not copy.applies(mutant):
                said = "SURVIVED: the patch no longer applies"
            else:
                caught, said = copy.hurt(mutant)
                if not caught:
                    said = f"SURVIVED: {said}" if said else "SURVIVED"
            took = f"{time.monotonic() - began:.0f} s"
            rows[mutant.name] = (mutant.file, said, took)
            print(f"{mutant.name:<62} {said:<100} {took}", flush=True)
            if chosen.write:  # at once: a run that is cut short has not been in vain
                _write(rows)
    survived = [name for name, (_, said, _) in rows.items() if said.startswith("SURVIVED")]
    print(f"{len(rows) - len(survived)} of {len(rows)} caught")
    return 1 if survived else 0


def _fits(mutant: Mutant, word: str) -> bool:
    workload = mutant.judge.workload if isinstance(mutant.judge, Worlds) else ""
    return word in mutant.name or word in mutant.file or word == workload


def _write(rows: dict[str, tuple[str, str, str]]) -> None:
    head, _, below = README.read_text("utf-8").partition(MARK)
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in below.splitlines()}
    for name, (file, said, took) in rows.items():
        lines[name] = f"| {name} | `{file}` | `{said}` | {took} |"
    table = ["| bug | in | caught by | took |", "| --- | --- | --- | --- |"]
    table += [lines[mutant.name] for mutant in MUTANTS if mutant.name in lines]
    README.write_text(head + MARK + "\n" + "\n".join(table) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
