"""Scenarios run against laws in virtual time: what `nomospace law test` does.

The scenarios of `rate.law`, or of its twin `rate.law.py`, stand beside it in `rate.test` and in
`rate.ANYTHING.test`. Where both languages are there, each scenario is run under both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from nomospace.errors import CallerError
from nomospace.law import read_source
from nomospace.law.program import load_source
from nomospace.scenarios.coverage import Coverage
from nomospace.scenarios.play import Failure, play
from nomospace.scenarios.scenario import Scenario, read_scenarios

SUFFIX: Final = ".test"


class NoScenarios(CallerError):
    """There is nothing to test where one was sent to look."""

    code = "lawtest.none"
    words = "{path}: {why}"
    path: str
    why: str


class Result(msgspec.Struct, frozen=True):
    """One scenario under one law."""

    file: str
    law: str
    name: str
    line: int
    passed: bool
    failures: tuple[Failure, ...]


# -- which scenarios, which laws -----------------------------------------------------------


def find(paths: Iterable[str]) -> list[tuple[Path, list[Path]]]:
    """Scenario files with the laws they are about, for laws, scenario files and folders."""
    wanted: dict[Path, dict[Path, None]] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            files = sorted(path.rglob(f"*{SUFFIX}"))
            if not files:
                raise NoScenarios(path=name, why=f"no *{SUFFIX} file in this folder")
            pairs = [(file, law) for file in files for law in _laws_of(file)]
        elif path.name.endswith(SUFFIX):
            pairs = [(path, law) for law in _laws_of(path)]
        else:
            read_source(name)  # says why, when it is not there
            stem = _stem(path)
            beside = sorted(path.parent.glob(f"*{SUFFIX}"))
            files = [f for f in beside if f.name.startswith(f"{stem}.") and path in _laws_of(f)]
            if not files:
                why = f"it has no scenarios; write some in {path.with_name(stem + SUFFIX)}"
                raise NoScenarios(path=name, why=why)
            pairs = [(file, path) for file in files]
        for file, law in pairs:
            wanted.setdefault(file, {})[law] = None
    return [(file, list(laws)) for file, laws in wanted.items()]


def _stem(law: Path) -> str:
    return law.name.removesuffix(".py").removesuffix(".law")


def _laws_of(file: Path) -> list[Path]:
    """The laws that a scenario file is about: the longest name before its suffix that one has."""
    stem = file.name.removesuffix(SUFFIX)
    while stem:
        beside = [file.with_name(f"{stem}.law"), file.with_name(f"{stem}.law.py")]
        found = [law for law in beside if law.is_file()]
        if found:
            return found
        stem = stem.rpartition(".")[0]
    first = file.name.partition(".")[0]
    raise NoScenarios(path=str(file), why=f"there is no law beside it; it looks for {first}.law")


def run_files(
    paths: Iterable[str], report: Callable[[Result], None] | None = None
) -> tuple[list[Result], list[Coverage]]:
    """Run all scenarios of some files, each law loaded once. Raises for files that are wrong."""
    pairs = find(paths)
    stories = {file: read_scenarios(read_source(str(file))) for file, _ in pairs}
    coverages: dict[Path, Coverage] = {}
    for _, laws in pairs:
        for path in laws:
            if path not in coverages:
                coverages[path] = Coverage(load_source(read_source(str(path))))
    results: list[Result] = []
    for file, laws in pairs:
        for path in laws:
            for story in stories[file]:
                result = run_scenario(story, coverages[path], file=str(file), path=str(path))
                results.append(result)
                if report is not None:
                    report(result)
    return results, list(coverages.values())


def run_scenario(story: Scenario, coverage: Coverage, *, file: str, path: str) -> Result:
    """Run one scenario under one law."""
    failed = play(story, coverage)
    return Result(file, path, story.name, story.number, passed=not failed, failures=failed)
