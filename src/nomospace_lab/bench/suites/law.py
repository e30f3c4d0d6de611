"""`nomospace bench law`: what a law costs, from one decision to a cold load.

The floor is the policy of `peers.decisions` written by hand as a closure: whatever is general costs
more. It is the same closure wherever a row speaks of the floor, except where the row names another.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, Any

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import Sample, each_fresh, stopwatch
from nomospace_lab.bench.peers.decisions import CASES, PEERS, floor
from nomospace_lab.bench.peers.entrants import entrants
from nomospace_lab.bench.peers.harness import Decide, answers, decisions
from nomospace_lab.bench.report import ahead_of_peers, at_most, information, times_floor

if TYPE_CHECKING:
    from nomospace.control import Membership
    from nomospace.law import CompiledLaw
    from nomospace.terms import Term

PER_US = 1e3
PER_MS = 1e6
HOME, SPACE = "alice@ward", "jobs"
NOW_US = 1_700_000_000_000_000

DECISION = """
law(decision).
R1. sent(X, out([msg(_), from(X), to(_)]), _) :- not(blocked(kind)@CS), do(forward).
R2. sent(Y, in([msg(_), from(_), to(Y)]), _) :- do(forward).
R3. arrived(_, _, _) :- do(deliver).
"""
QUOTA = """
law(quota).
initialCS([quota(1000000000)]).
R1. sent(X, out([msg(_), from(X), to(_)]), _) :-
    quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. arrived(_, _, _) :- do(deliver).
"""


@bench("law", "a decision, a ruling carried out, a whole handle, traffic, 1,000 rules, a cold load")
def law(run: BenchRun) -> Iterator[BenchRow]:
    """Every row in its own rounds, ours and the floor in turns; the papers' figures last."""
    run.say("one decision")
    yield from _decision(run)
    run.say("a ruling carried out")
    yield _carried_out(run)
    run.say("the whole of handle")
    handled = _handle(run)
    yield handled
    run.say("where terms come from")
    yield from _origins(run)
    run.say("a hospital's traffic")
    yield _traffic(run)
    run.say("laws that run away")
    yield _runaway(run)
    run.say("a thousand rules")
    yield from _thousand(run)
    run.say("a cold load")
    yield from _cold(run)
    yield from _papers(handled.ours)


# -- one decision ----------------------------------------------------------------------------


def _ours(blocked: Sequence[str]) -> Decide:
    """The policy as a law: a term is made of the request and ruled on; rule and operations out."""
    from nomospace.law.bag import Bag
    from nomospace.terms import Compound

    ruler, state, none = _ruler(DECISION), Bag([_fact("blocked", k) for k in blocked]), Bag()

    def decide(sender: str, operation: str, message: str, source: str, target: str) -> object:
        fields = (
            Compound("msg", (message,)),
            Compound("from", (source,)),
            Compound("to", (target,)),
        )
        request = Compound(operation, (fields,))
        return ruler(sender, sender, request, SPACE, state, none, 0, [0])

    return decide


def _prepared() -> Sample:
    """The generated function on requests that are terms already."""
    from nomospace.law.bag import Bag

    scope: dict[str, Any] = {"ruler": _ruler(DECISION), "none": Bag(), "space": SPACE}
    calls = []
    for i, ((sender, operation, message, source, target, blocked), _) in enumerate(CASES):
        scope[f"sender{i}"] = sender
        scope[f"request{i}"] = _request(operation, message, source, target)
        scope[f"state{i}"] = Bag([_fact("blocked", kind) for kind in blocked])
        calls.append(f"ruler(sender{i}, sender{i}, request{i}, space, state{i}, none, 0, [0])")
    return stopwatch("; ".join(calls), scope, calls=len(calls))


def _decision(run: BenchRun) -> Iterator[BenchRow]:
    cases = [case for case, _ in CASES]
    right = [answer for _, answer in CASES]
    for name, engine in (("the floor", floor), ("the law", _ours)):
        if answers(engine, cases) != right:
            raise Bug(story=(f"{name} of `bench law` decides wrongly",))
    with entrants(run, PEERS, CASES) as field:
        ours = {"ours": decisions(_ours, cases), "floor": decisions(floor, cases)}
        best = run.interleave({**ours, "prepared": _prepared(), **field.samples})
    yield BenchRow(
        what="one decision of a small stateful policy, the rule recorded",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        peers=field.figures(best, per_ns=PER_US),
        why_null=field.why_null,
        goal=times_floor(6) & ahead_of_peers(),
        how="8 requests, answers checked first; from plain strings: making the terms is counted",
    )
    yield BenchRow(
        what="the same decision where the request is a term already",
        unit="µs",
        ours=best["prepared"] / PER_US,
        floor=best["floor"] / PER_US,
        goal=times_floor(6),
        how="as in a controller: what comes from the wire or from an agent is a term",
    )


# -- carried out -----------------------------------------------------------------------------


def _carried_out(run: BenchRun) -> BenchRow:
    from nomospace.control import Membership
    from nomospace.law import load

    law = load(QUOTA)
    member = Membership(law, HOME)
    scope = {
        "actor": law.rulers["sent"],
        "home": HOME,
        "request": _request("out", "hello", HOME, "bob@ward"),
        "space": SPACE,
        "state": member.state,
        "none": member.obligations,
    }
    call = "actor(home, home, request, space, state, none, 0, [0])"
    before = _quota(member)
    best = run.interleave(
        {
            "ours": stopwatch(call, scope),
            "floor": decisions(floor, [case for case, _ in CASES]),
        }
    )
    if _quota(member) >= before:
        raise Bug(story=("the law of `bench law` that changes its state did not",))
    return BenchRow(
        what="a ruling evaluated and carried out, state change included",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        goal=times_floor(12),
        how="a quota is sensed, compared and lowered, the message forwarded; prepared terms",
    )


def _quota(member: Membership) -> int:
    from nomospace.terms.values import parts_of

    (term,) = member.state
    quota = parts_of(term)[0]
    assert isinstance(quota, int)
    return quota


# -- the whole handle ------------------------------------------------------------------------


def _handle(run: BenchRun) -> BenchRow:
    """A layman's alarm is the dearest: sensed five times, state changed, obligation laid."""
    from nomospace.control import Forward, Membership, RecordRuling, sent
    from nomospace.law import load
    from nomospace.laws import text
    from nomospace.terms import term

    law = load(text("ap"), "ap.law")
    alarm = "publish(alarm(kind(fire),text({})))"
    earlier = [term(alarm.format(where)) for where in ("lobby", "cellar", "roof")]
    message = term(alarm.format("smoke"))
    mediator = "mediator@ward"

    def layman() -> Membership:
        """One that has raised alarms before: an empty state would be a special case."""
        member = Membership(law, HOME)
        for other in earlier:
            member.handle(sent(HOME, other, mediator), now=NOW_US)
        return member

    def publish(member: Membership) -> object:
        return member.handle(sent(HOME, message, mediator), now=NOW_US)

    effects = layman().handle(sent(HOME, message, mediator), now=NOW_US)
    if [type(effect) for effect in effects] != [RecordRuling, Forward]:
        raise Bug(story=(f"law AP answers a layman's publish with {effects}",))
    best = run.interleave({"ours": each_fresh(layman, publish)})
    return BenchRow(
        what="the controller's whole handle of law AP's publish",
        unit="µs",
        ours=best["ours"] / PER_US,
        goal=at_most(6, "µs"),
        how="a layman's alarm: event made, ruled on, state changed, obligation laid, "
        "effects and journal record made",
    )


SLOTS = """\
law(slots).
initialCS([slot, slot, slot, sent(0)]).
R1. sent(_, _, _) :- slot@CS, sent(N)@CS, N1 is N + 1, do(-slot), do(sent(N) <- sent(N1)),
    do(imposeObligation(slot, 1, hour)), do(forward).
R2. obligationDue(slot) :- do(+slot).
"""
MANY_TERMS = 20_000


def _origins(run: BenchRun) -> Iterator[BenchRow]:
    """What it costs that each term and obligation knows the ruling that put it there."""
    from nomospace.control import Membership, sent
    from nomospace.control.membership import FORGOTTEN_AT_ONCE
    from nomospace.law import load
    from nomospace.terms import Compound

    class Forgetful(Membership):
        """Forgets its rulings, and what they put with them."""

        __slots__ = ()

        def _forget(self) -> None:
            del self._history[:FORGOTTEN_AT_ONCE]
            self._heavy = 0

    law, event = load(SLOTS), sent(HOME, "hello", "bob@ward")

    def busy(member: Membership) -> Sample:
        def sample(seconds: float) -> float:
            best, end = float("inf"), perf_counter_ns() + seconds * 1e9
            while perf_counter_ns() < end:
                start = perf_counter_ns()
                for _ in range(256):  # each with one that falls due before it
                    member.handle(event, now=member.seq * 1_000_000_000)
                best = min(best, (perf_counter_ns() - start) / 256)
            return best

        return sample

    best = run.interleave(
        {"ours": busy(Membership(law, HOME)), "floor": busy(Forgetful(law, HOME))}
    )
    yield BenchRow(
        what="a controller whose terms and obligations know their rulings",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        goal=times_floor(1.05),
        how="a message and an obligation that falls due; the floor is the same controller "
        "without origins",
    )
    grower = Membership(load("law(l). R1. sent(_, m(X), _) :- do(+has(X))."), HOME)
    for at in range(MANY_TERMS):
        said = Compound("m", (at,))
        grower.handle(sent(HOME, said, "bob@ward"), now=NOW_US + at * 1_000_000)
    sizes = {"in memory": sys.getsizeof(grower.origins), "on disk": len(grower.snapshot().origins)}
    for where, size in sizes.items():
        yield BenchRow(
            what=f"where a term comes from, kept {where}",
            unit="bytes",
            ours=size / MANY_TERMS,
            goal=at_most(16, "bytes"),
            how=f"{MANY_TERMS:,} terms, each put by a ruling of its own",
        )


TRAFFIC = 6_000
"""How many rulings of `nomospace journal make` are replayed, of a member for each 75."""


def _traffic(run: BenchRun) -> BenchRow:
    """What a journal has of law AP, told again: a hospital's messages, obligations and states."""
    rows, law = _recorded(TRAFFIC, TRAFFIC // 75)
    bodies = [body for history in rows for _, is_state, body in history if not is_state]

    def ours() -> None:
        if sum(replay_history(history, law).same for history in rows) != len(bodies):
            raise Bug(story=("law AP rules on a recorded hospital otherwise than is recorded",))

    def floor() -> None:
        for body in bodies:
            encode(decode(body[1:]))

    from msgspec.msgpack import decode, encode

    from nomospace.pipeline.history import replay_history

    best = run.interleave({"ours": _whole(ours, TRAFFIC), "floor": _whole(floor, TRAFFIC)})
    return BenchRow(
        what="law AP's traffic, for each ruling: read, ruled on, carried out, compared",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        goal=times_floor(4),
        how=f"{TRAFFIC:,} rulings as `journal make` writes them, replayed in one process; the "
        "floor is reading the same records into plain Python and writing them again, natively",
    )


def _recorded(events: int, agents: int) -> tuple[list[list[tuple[int, bool, bytes]]], CompiledLaw]:
    """The rows of a journal, each membership's by itself, and the law they were ruled by."""
    from nomospace.control import Ruling
    from nomospace.law import load
    from nomospace.laws import text
    from nomospace.wire.changes import encode_ruling, encode_snapshot
    from nomospace_lab.apps.traffic import make_traffic

    law = load(text("ap"), "ap.law")
    rows: dict[str, list[tuple[int, bool, bytes]]] = {}
    for told in make_traffic(law, events=events, agents=agents, seed=7):
        what = told.what
        is_ruling = isinstance(what, Ruling)
        body = encode_ruling(what) if isinstance(what, Ruling) else encode_snapshot(what)
        rows.setdefault(what.home, []).append((what.seq, not is_ruling, body))
    return list(rows.values()), law


def _whole(work: Callable[[], object], count: int) -> Sample:
    """Time some work as a whole, in nanoseconds of this process for each of so many parts."""

    def sample(seconds: float) -> float:
        best, end = float("inf"), perf_counter_ns() + seconds * 1e9
        enabled = gc.isenabled()
        gc.disable()  # as a replay does nearly: rulings make no cycles
        try:
            while True:
                start = process_time_ns()
                work()
                best = min(best, process_time_ns() - start)
                if perf_counter_ns() >= end:
                    return best / count
        finally:
            if enabled:
                gc.enable()

    return sample


def _runaway(run: BenchRun) -> BenchRow:
    """The slowest to be stopped of all the laws that run away."""
    from nomospace.control import Membership, sent
    from nomospace.law import load
    from nomospace_lab.testing.runaways import RUNAWAYS, law_text

    def timed(predicate: str) -> Sample:
        law = load(law_text(predicate))

        def sample(_seconds: float) -> float:
            member = Membership(law, HOME)
            start = perf_counter_ns()
            effects = member.handle(sent(HOME, "go", "bob@ward"), now=NOW_US)
            took = perf_counter_ns() - start
            if len(effects) != 3:
                raise Bug(story=(f"a law that runs away gave {effects}",))
            return took

        return sample

    best = run.interleave({what: timed(go) for what, (_, go) in RUNAWAYS.items()})
    slowest = max(best, key=lambda what: best[what])
    return BenchRow(
        what="a law that runs away, until its exception has been ruled on",
        unit="ms",
        ours=best[slowest] / PER_MS,
        goal=at_most(50, "ms"),
        how=f"{len(RUNAWAYS)} such laws, the slowest of them: one that {slowest}",
    )


# -- a thousand rules ------------------------------------------------------------------------


def _thousand(run: BenchRun) -> Iterator[BenchRow]:
    shapes: dict[str, Callable[[int], str]] = {
        "message functors differ": lambda i: f"m{i}(_)",
        "one message functor, ground atoms differ": lambda i: f"order(k{i}, _)",
        "one message functor, ground numbers differ": lambda i: f"order({i}, _)",
    }
    for shape, message in shapes.items():
        best = run.interleave({str(n): _many(n, message) for n in (1000, 2)})
        yield BenchRow(
            what=f"a law of 1,000 rules: {shape}",
            unit="µs",
            ours=best["1000"] / PER_US,
            floor=best["2"] / PER_US,
            goal=times_floor(1.3),
            how="8 messages spread over the rules, prepared terms; the floor is the law of 2 rules",
        )


def _many(count: int, message: Callable[[int], str]) -> Sample:
    """Time a law of so many rules on eight messages, each of which another rule rules on."""
    from nomospace.law.bag import Bag
    from nomospace.terms import term

    rules = "\n".join(f"R{i}. sent(_, {message(i)}, _) :- do(forward)." for i in range(count))
    ruler = _ruler(f"law(many).\n{rules}\nD. arrived(_, _, _) :- do(deliver).\n")
    scope: dict[str, Any] = {"ruler": ruler, "state": Bag(), "home": HOME, "space": SPACE}
    calls = []
    for j in range(8):
        i = j * (count - 1) // 7
        scope[f"m{j}"] = term(message(i).replace("_", "17"))
        calls.append(f"ruler(home, home, m{j}, space, state, state, 0, [0])")
        found = ruler(HOME, HOME, scope[f"m{j}"], SPACE, scope["state"], scope["state"], 0, [0])
        if found is None or found[0] != i:
            raise Bug(story=(f"rule {i} of {count} did not rule on its message: {found}",))
    return stopwatch("; ".join(calls), scope, calls=len(calls))


# -- a cold load -----------------------------------------------------------------------------

COLD = """
import importlib, json, sys
from time import perf_counter_ns as now
job = json.load(sys.stdin)
start = now()
for module in job["modules"]:
    importlib.import_module(module)
from nomospace.law import load
from nomospace.terms.values import parts_of
imported = now()
load(job["text"], "ap.law")
loaded = now()
ours = sorted(name for name in sys.modules if name.partition(".")[0] == "nomospace")
json.dump({"import": imported - start, "load": loaded - imported, "modules": ours}, sys.stdout)
"""
"""A process that loads a law once, with the modules it is told to import beforehand."""


def _cold(run: BenchRun) -> Iterator[BenchRow]:
    # What a load imports on its way is found out first, so that it counts as imports.
    modules = _cold_once([])["modules"]
    told = [_cold_once(modules) for _ in range(run.rounds)]
    yield BenchRow(
        what="law AP loaded cold: read, checked, compiled",
        unit="ms",
        ours=min(once["load"] for once in told) / PER_MS,
        goal=at_most(60, "ms"),
        how="each time in a fresh process, its imports done before and shown below",
    )
    yield BenchRow(
        what="the imports before it",
        unit="ms",
        ours=min(once["import"] for once in told) / PER_MS,
        goal=information(),
        how="the law room and what it stands on, from byte code",
    )


def _cold_once(modules: list[str]) -> dict[str, Any]:
    from nomospace.laws import text

    job = json.dumps({"modules": modules, "text": text("ap")})
    done = subprocess.run(
        [sys.executable, "-c", COLD],
        input=job,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


# -- what the papers measured ----------------------------------------------------------------


def _papers(ours: float | None) -> Iterator[BenchRow]:
    for paper, figure, about in (
        (
            "Safe TupleSpace-Based Coordination (2000)",
            3500.0,
            "an event evaluated by Moses, called experimental there, on Solaris or Windows NT",
        ),
        (
            "Regulating decoupled communication (2005)",
            600.0,
            "an event processed, Java 1.3 on an UltraSPARC-III of 900 MHz",
        ),
    ):
        yield BenchRow(
            what=f"an event as published: {paper}",
            unit="µs",
            ours=ours,
            peers={"Moses, as published": figure},
            goal=information(),
            how=f"{about}. It does not compare: the hardware is decades older, the law and what "
            "counts as an event are not ours, and it cannot be run beside ours",
        )


# -- parts -----------------------------------------------------------------------------------


def _ruler(text: str) -> Callable[..., Any]:
    """The generated function for `sent` of a law."""
    from nomospace.law import load

    return load(text).rulers["sent"]


def _fact(name: str, value: Term) -> Term:
    from nomospace.terms import Compound

    return Compound(name, (value,))


def _request(operation: str, message: str, source: str, target: str) -> Term:
    from nomospace.terms import Compound

    fields = (_fact("msg", message), _fact("from", source), _fact("to", target))
    return Compound(operation, (fields,))
