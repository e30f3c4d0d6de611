"""A membership from its past: as it was once, and as the changes that its rulings told since.

A ruling tells every change of state with its place, so whoever keeps rulings (a disk, a journal)
has the state without running a law again.
"""

from __future__ import annotations

from collections.abc import Sequence

from nomospace.control.events import Ruling
from nomospace.control.snapshot import Snapshot
from nomospace.terms import Term


def redo(base: Snapshot, log: Sequence[Ruling]) -> Snapshot:
    """A membership as its rulings changed it."""
    state: dict[int, Term] = dict(base.state)
    pending: dict[int, tuple[Term, int]] = {p: (term, due) for p, term, due in base.obligations}
    next_place, next_obligation, ended = base.next_place, base.next_obligation, base.ended
    for ruling in log:
        for kind, place, old, new in ruling.delta:
            if kind == "+":
                state[place] = old
                next_place = place + 1
            elif kind == "-":
                del state[place]
            elif kind == "<-":
                state[place] = new
            elif kind == "due":
                assert type(new) is int
                pending[place] = (old, new)
                next_obligation = place + 1
            elif kind == "undue":
                del pending[place]
            else:
                assert kind == "quit", kind
                ended = True
    return Snapshot(
        base.home,
        base.law,
        log[-1].seq if log else base.seq,
        next_place,
        next_obligation,
        tuple(sorted(state.items(), key=_place)),
        tuple([(p, *pending[p]) for p in sorted(pending)]),
        ended,
        base.shown,
        base.told_origins().after(log, state, set(pending)).encode() if log else base.origins,
    )


def _place(item: tuple[int, Term]) -> int:
    return item[0]
