"""Peers on the starting line: installed, running, their answers checked, ready to be timed.

A peer that drops out, at the start or on the way, is `None` in the figures with its reason; it
never ends the run. One that answers wrongly is not timed: a quick wrong answer is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.peers import harness
from nomospace_lab.bench.peers.child import Child
from nomospace_lab.bench.peers.install import PeerMissing, PeerPackage, install
from nomospace_lab.bench.run import BenchRun


class Entrants:
    """The peers of one contest: `samples` to measure them by, `why_null` for those that are out."""

    def __init__(self) -> None:
        self.samples: dict[str, Sample] = {}
        self.why_null: dict[str, str] = {}

    def figures(self, best: dict[str, float], *, per_ns: float) -> dict[str, float | None]:
        """Each peer's best in the row's unit, `None` for those that dropped out."""
        names = [*self.samples, *(n for n in self.why_null if n not in self.samples)]
        return {n: None if n in self.why_null else best[n] / per_ns for n in names}

    def enter(self, child: Child, cases: Sequence[tuple[object, bool]]) -> None:
        """Check a child's answers and add it to those to be timed."""
        told = child.answers([case for case, _ in cases])
        for (case, right), answer in zip(cases, told, strict=True):
            if answer is not right:
                why = f"it answered {answer} where {right} is right: {case}"
                raise PeerMissing(peer=child.peer.name, why=why, remedy="mend its driver")

        def sample(seconds: float) -> float:
            if child.peer.name in self.why_null:
                return float("inf")
            try:
                return child.sample(seconds)
            except PeerMissing as missing:
                self.why_null[child.peer.name] = str(missing)
                return float("inf")

        self.samples[child.peer.name] = sample


@contextmanager
def entrants(
    run: BenchRun,
    peers: Iterable[PeerPackage],
    cases: Sequence[tuple[object, bool]],
    loop: str = harness.__file__,
) -> Iterator[Entrants]:
    """Install and start the peers that the run asks for; their processes end with the block.

    `loop` is the file that times them, and knows what a case is.
    """
    field = Entrants()
    with ExitStack() as children:
        for peer in run.wanted(peers):
            try:
                packages = install(peer, run.cache, run.say)
                field.enter(children.enter_context(Child(peer, packages, loop)), cases)
            except PeerMissing as missing:
                field.why_null[peer.name] = str(missing)
        yield field
