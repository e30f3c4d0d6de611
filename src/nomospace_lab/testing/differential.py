"""Compiler against interpreter, on generated laws, events and states.

    python -m nomospace_lab.testing.differential --pairs 100000 --seed 1 --jobs 2

For each pair both must give the same rule and the same operations, or stop for the same reason at
the same operation, and have spent the same units. A run that finds no difference proves something
only if the pairs are worth it: so many must give a ruling with operations, and each goal, function
and operation of the language must have stood on a winning path so often (`NONEMPTY_MIN`,
`WINS_MIN`). On a difference the smallest law and case found are shown, with both outcomes.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from nomospace.errors import LawError
from nomospace.law import CompiledLaw, load
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.law.interpret import Outcome, Trace
from nomospace.law.parse import parse
from nomospace.law.prices import INTERPRETED
from nomospace.law.tree import EVENTS
from nomospace.terms import Compound, Faulty, Source, Term, Var, oversize, show
from nomospace.terms.values import parts_of
from nomospace_lab.testing.evaluating import plain_twin
from nomospace_lab.testing.generate import HOME, EventCase, make_cases, make_law
from nomospace_lab.testing.shrink import shrink
from nomospace_lab.testing.winning import EXPECTED, Winning

CASES_A_LAW: Final = 20
"""How many pairs a law gives, unless a run asks for more: reading a law takes longest."""
NONEMPTY_MIN: Final = 0.30
"""The share of pairs that must give a ruling with operations in it."""
WINS_MIN: Final = 0.001
"""How often, as a share of pairs, each construct must stand on a winning path."""
DROPS_MAX: Final = 0.05
"""The share of drafts that may be no laws; more means that the writer has gone astray."""
SHOWN_MAX: Final = 3
"""How many differences a run shows before it stops."""
REASONS: Final = ("budget", "notGround", "notLocal", "tooLarge", "typeError")
BATCH: Final = 40


@dataclass(frozen=True, slots=True)
class EvaluatorVerdict:
    """What one of the two said: a ruling, none, a stop, or an error of its own."""

    rule: int | None
    operations: tuple[Term, ...]
    stopped: tuple[str, Term] | None
    crash: str | None
    units: int

    def __str__(self) -> str:
        if self.crash is not None:
            return f"crash: {self.crash}"
        if self.stopped is not None:
            reason, operation = self.stopped
            said = f"stop: {reason}" + (f" at {_shown(operation)}" if operation is not None else "")
        elif self.rule is None:
            said = "no rule"
        else:
            said = f"rule {self.rule + 1}: [{', '.join(map(_shown, self.operations))}]"
        return f"{said}; {self.units} units"


def _shown(value: Term) -> str:
    """A term that may be too large to show, or, if a compiler went wrong, no term at all."""
    try:
        text = "a term that is too large" if oversize(value) else show(value)
    except Exception as error:
        text = f"no term ({type(error).__name__}: {error})"
    return text if len(text) <= 400 else text[:399] + "…"


def judge(ask: Callable[[list[int]], Outcome], spent: int) -> EvaluatorVerdict:
    """The verdict of one evaluation that begins with so many units spent."""
    units = [spent]
    try:
        outcome = ask(units)
    except Stop as stop:
        return EvaluatorVerdict(None, (), (stop.reason, stop.operation), None, units[0] - spent)
    except Exception as error:  # whatever it is, it is a difference worth showing
        return EvaluatorVerdict(
            None, (), None, f"{type(error).__name__}: {error}", units[0] - spent
        )
    if outcome is None:
        return EvaluatorVerdict(None, (), None, None, units[0] - spent)
    return EvaluatorVerdict(outcome[0], outcome[1], None, None, units[0] - spent)


def agree(one: EvaluatorVerdict, two: EvaluatorVerdict) -> bool:
    """Whether two verdicts are the same, with unbound variables in the same places."""
    if one.crash is not None or two.crash is not None:
        return False
    if (one.rule, one.units, len(one.operations)) != (two.rule, two.units, len(two.operations)):
        return False
    if one.stopped is not None and two.stopped is not None:
        return one.stopped[0] == two.stopped[0] and alike(one.stopped[1], two.stopped[1])
    if one.stopped is not two.stopped:
        return False
    return all(alike(a, b) for a, b in zip(one.operations, two.operations, strict=True))


def alike(a: Term, b: Term) -> bool:
    """`same`, with variables that stand for each other one to one.

    >>> x, y = Var("X"), Var("Y")
    >>> alike((x, x, 1), (y, y, 1)), alike((x, x), (x, y)), alike((1,), (1.0,))
    (True, False, False)
    """
    forth: dict[int, int] = {}
    back: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[Term, Term]] = [(a, b)]
    while pending:
        x, y = pending.pop()
        if x.__class__ is not y.__class__:
            return False
        if type(x) is Var:
            if forth.setdefault(id(x), id(y)) != id(y) or back.setdefault(id(y), id(x)) != id(x):
                return False
        elif type(x) is Compound or type(x) is tuple:
            if (id(x), id(y)) in seen:
                continue
            seen.add((id(x), id(y)))
            if type(x) is Compound and type(y) is Compound and x.name != y.name:
                return False
            if len(parts_of(x)) != len(parts_of(y)):
                return False
            pending.extend(zip(parts_of(x), parts_of(y), strict=True))
        elif x != y:
            return False
    return True


@dataclass(slots=True)
class Compared:
    """Both verdicts on one case, and the interpreter's way to a ruling."""

    compiled: EvaluatorVerdict
    interpreted: EvaluatorVerdict
    trace: Trace | None
    untouched: bool

    @property
    def agreed(self) -> bool:
        """No difference, and the state that was handed in is as it was."""
        return self.untouched and agree(self.compiled, self.interpreted)


def compare(law: CompiledLaw, case: EventCase) -> Compared:
    """Ask both about one case. The compiled law is asked first, with the same state."""
    law = plain_twin(law)
    state, obligations = Bag(case.state), Bag(case.obligations)
    given = (case.event, HOME, case.args, state, obligations, case.now)
    traces: list[Trace] = []
    retreats = law.retreats
    compiled = judge(lambda units: law.act(*given, units), case.spent)
    # Where compiled code left an event to the interpreter, units cost what they cost there.
    rate = INTERPRETED if law.retreats > retreats else None
    interpreted = judge(lambda units: law.interpreter.rule(*given, units, traces, rate), case.spent)
    untouched = _same_objects(state, case.state) and _same_objects(obligations, case.obligations)
    won = interpreted.rule is not None
    return Compared(compiled, interpreted, traces[-1] if won else None, untouched)


def _same_objects(bag: Bag, terms: tuple[Term, ...]) -> bool:
    held = list(bag)
    return len(held) == len(terms) and all(a is b for a, b in zip(held, terms, strict=True))


# -- many pairs ------------------------------------------------------------------------------


@dataclass(slots=True)
class DifferentialTally:
    """What a run has seen."""

    laws: int = 0
    dropped: int = 0
    pairs: int = 0
    nonempty: int = 0
    ruled: int = 0  # pairs that a rule has ruled on, with operations or without
    compiled: int = 0  # of those, by a rule that was compiled and not left to the interpreter
    units: int = 0
    wins: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: DifferentialTally) -> None:
        """Take in what another part of the run has seen."""
        for name in ("laws", "dropped", "pairs", "nonempty", "ruled", "compiled", "units"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wins.update(other.wins)
        self.events.update(other.events)
        self.stops.update(other.stops)
        self.differences += other.differences

    def faults(self) -> list[str]:
        """What keeps this run from being a proof."""
        if self.differences:
            return [f"{len(self.differences)} differences"]
        found: list[str] = []
        least = max(1, round(self.pairs * WINS_MIN))
        if self.nonempty < NONEMPTY_MIN * self.pairs:
            found.append(f"only {self.nonempty} of {self.pairs} pairs give a ruling")
        if self.dropped > DROPS_MAX * (self.laws + self.dropped):
            found.append(f"{self.dropped} drafts were no laws")
        for what, names, counts in (
            ("stands on a winning path", EXPECTED, self.wins),
            ("is ruled on", tuple(EVENTS), self.events),
            ("stops an evaluation", REASONS, self.stops),
        ):
            found += [
                f"{name} {what} only {counts[name]} times of {least}"
                for name in names
                if counts[name] < least
            ]
        return found

    def as_json(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "pairs": self.pairs,
            "laws": self.laws,
            "dropped": self.dropped,
            "nonempty": self.nonempty,
            "ruled": self.ruled,
            "compiled": self.compiled,
            "units": self.units,
            "wins": {name: self.wins[name] for name in EXPECTED},
            "events": {name: self.events[name] for name in EVENTS},
            "stops": dict(sorted(self.stops.items())),
            "differences": self.differences,
            "faults": self.faults(),
        }


class Broken(LawError):
    """The compiler fell over a law that has no errors."""

    code = "testing.broken-compiler"
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.text.rstrip()}\ncannot be compiled: {self.why}"


def draw_law(
    seed: int, index: int, tally: DifferentialTally, cases: int = CASES_A_LAW
) -> tuple[CompiledLaw, Iterator[EventCase]]:
    """Law number `index` of a seed, loaded, with its cases. Drafts that are no laws are counted."""
    for attempt in range(100):
        rng = Random(f"{seed}/{index}/{attempt}")
        draft = make_law(rng, large=True)
        try:
            law = load(draft.text)
        except Faulty:
            tally.dropped += 1
            continue
        except Exception as error:
            raise Broken(text=draft.text, why=f"{type(error).__name__}: {error}") from error
        tally.laws += 1
        return law, make_cases(rng, draft, law.tree, cases)
    raise AssertionError(f"no draft of law {index} of seed {seed} can be loaded")


def examine(
    seed: int, indexes: range, pairs: int, cases_a_law: int = CASES_A_LAW
) -> DifferentialTally:
    """Compare on the laws of a range, up to so many pairs."""
    tally = DifferentialTally()
    for index in indexes:
        try:
            law, cases = draw_law(seed, index, tally, cases_a_law)
        except Broken as broken:
            tree, _ = parse(Source(broken.text))
            text, _ = shrink(tree, _NO_CASE, breaks)
            tally.differences.append(f"seed {seed}, law {index}\n{_why_broken(text)}")
            continue
        winning = Winning(plain_twin(law).priced)
        for case in cases:
            if tally.pairs >= pairs:
                return tally
            compared = compare(law, case)
            _count(tally, winning, case, compared)
            rule = compared.interpreted.rule
            tally.compiled += rule is not None and plain_twin(law).compiled_rules[rule]
            if not compared.agreed:
                smallest = describe(*shrink(law.tree, case, differs))
                tally.differences.append(f"seed {seed}, law {index}\n{smallest}")
                break  # what comes next of this law is likely the same
        if len(tally.differences) >= SHOWN_MAX:
            break
    return tally


def _count(tally: DifferentialTally, winning: Winning, case: EventCase, compared: Compared) -> None:
    verdict = compared.interpreted
    tally.pairs += 1
    tally.units += verdict.units
    tally.ruled += verdict.rule is not None
    if verdict.stopped is not None:
        tally.stops[verdict.stopped[0]] += 1
    if verdict.operations:
        assert compared.trace is not None
        tally.nonempty += 1
        tally.events[case.event] += 1
        tally.wins.update(winning.names(compared.trace))


_NO_CASE: Final = EventCase("quit", (), (), (), 0, 0)


def breaks(text: str, _: EventCase = _NO_CASE) -> bool:
    """Whether the compiler falls over a text."""
    return bool(_why_broken(text))


def _why_broken(text: str) -> str:
    try:
        load(text)
    except Faulty:
        return ""
    except Exception as error:
        return str(Broken(text=text, why=f"{type(error).__name__}: {error}"))
    return ""


def differs(text: str, case: EventCase) -> bool:
    """Whether a text is a law on which the two do not agree about a case."""
    try:
        law = load(text)
    except Exception:  # no law, or one that cannot be compiled, which is another fault
        return False
    return not compare(law, case).agreed


def describe(text: str, case: EventCase) -> str:
    """A difference, as a person wants to see it."""
    compared = compare(load(text), case)
    event = _shown(Compound(case.event, case.args)) if case.args else case.event
    lines = [
        text.rstrip(),
        f"event        {event}",
        f"state        {_shown(case.state)}",
        f"obligations  {_shown(case.obligations)}",
        f"now, spent   {case.now}, {case.spent}",
        f"compiled     {compared.compiled}",
        f"interpreted  {compared.interpreted}",
    ]
    if not compared.untouched:
        lines.append("the state that was handed in is not as it was")
    return "\n".join(lines)


def run(
    pairs: int,
    seed: int,
    jobs: int = 1,
    *,
    cases: int = CASES_A_LAW,
    progress: bool = False,
) -> DifferentialTally:
    """Compare on so many pairs, in several processes if wanted; the result is the same."""
    laws = -(-pairs // cases)
    ranges = [range(first, min(first + BATCH, laws)) for first in range(0, laws, BATCH)]
    wanted = [min(len(r) * cases, pairs - r.start * cases) for r in ranges]
    total = DifferentialTally()
    began = time.monotonic()
    for tally in _spread(jobs, [seed] * len(ranges), ranges, wanted, [cases] * len(ranges)):
        total.add(tally)
        if progress:
            rate = total.pairs / (time.monotonic() - began)
            words = f"{total.pairs:,} of {pairs:,} pairs, {rate:,.0f}/s"
            print(f"\r{words}, {len(total.differences)} differences", end="", file=sys.stderr)
        if len(total.differences) >= SHOWN_MAX:
            break
    if progress:
        print(file=sys.stderr)
    return total


def _spread(jobs: int, *columns: list[Any]) -> Iterator[DifferentialTally]:
    if jobs == 1:
        yield from map(examine, *columns)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(examine, *columns)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 when the run is a proof, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m nomospace_lab.testing.differential",
        description="Compare the law compiler with the interpreter on generated laws and events.",
    )
    parser.add_argument("--pairs", type=int, default=100_000, help="law/event pairs to compare")
    parser.add_argument("--seed", type=int, default=1, help="which laws and events")
    parser.add_argument("--jobs", type=int, default=1, help="processes to use")
    parser.add_argument(
        "--cases", type=int, default=CASES_A_LAW, help="pairs of each law (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the totals as one JSON object")
    parser.add_argument("--law", type=int, metavar="N", help="show law N of the seed and its cases")
    chosen = parser.parse_args(arguments)
    if chosen.law is not None:
        _show_law(chosen.seed, chosen.law)
        return 0
    began = time.monotonic()
    gc.set_threshold(50_000, 20, 100)  # of what laws are made of, little is a circle
    tally = run(chosen.pairs, chosen.seed, chosen.jobs, cases=chosen.cases, progress=True)
    took = round(time.monotonic() - began, 1)
    if chosen.json:
        print(json.dumps({"seed": chosen.seed, "took_s": took, **tally.as_json()}, indent=1))
    else:
        _report(tally, took)
    return 1 if tally.faults() else 0


def _show_law(seed: int, index: int) -> None:
    law, cases = draw_law(seed, index, DifferentialTally())
    print(law.tree.source.text)
    for case in cases:
        _, told = describe(law.tree.source.text, case).split("\nevent ")
        print(f"event {told}\n")


def _report(tally: DifferentialTally, took: float) -> None:
    for difference in tally.differences:
        print(difference, end="\n\n")
    share = 100 * tally.nonempty / max(1, tally.pairs)
    print(f"{tally.pairs:,} pairs of {tally.laws:,} laws ({tally.dropped} dropped) in {took} s")
    by_code = 100 * tally.compiled / max(1, tally.ruled)
    print(f"{share:.1f} % give a ruling with operations; {tally.units:,} units spent")
    print(f"{by_code:.1f} % of the rulings come from compiled rules")
    print("stops: " + ", ".join(f"{name} {count}" for name, count in sorted(tally.stops.items())))
    rarest = sorted((tally.wins[name], name) for name in EXPECTED)[:8]
    print("rarest on winning paths: " + ", ".join(f"{name} {count}" for count, name in rarest))
    for fault in tally.faults():
        print(f"FAULT: {fault}")


if __name__ == "__main__":
    sys.exit(main())
