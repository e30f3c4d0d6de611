"""Rulings follow from their events: told again to a plain model, they come out the same.

The model is a second, dumber controller: lists for state and obligations, every operation as its
sentence in the manual says. It shares no code with `control`. The law is asked through the
interpreter, the oracle of the compiler, for one ruling in `ORACLE_EVERY`, and through the compiled
code otherwise: the oracle would take most of a world's time. Which ones depends on the seed.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.control import Ruling
from nomospace.law import CompiledLaw
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.terms import Compound, Term, match, same, show
from nomospace.terms.values import as_compound
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.history import Happening
from nomospace_lab.sim.world import World

ORACLE_EVERY: Final = 5

_UNIT_US = {
    "ms": 1_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}


def rulings_replay(world: World) -> Verdict:
    """Each membership's rulings come out the same from its recorded events."""
    name = "rulings follow from their events"
    cases = 0
    for home, rulings in world.history.by_home().items():
        stored = world.where[home].disk.members[home]
        model = Model(stored.law, home, stored.born)
        previous: tuple[Happening, ...] = ()
        for h in rulings:
            cases += 1
            wrong = model.differs(h.what, oracle=cases % ORACLE_EVERY == world.seed % ORACLE_EVERY)
            if wrong is not None:
                return no(name, f"{home}, ruling {h.what.seq}: {wrong}", *previous, h)
            previous = (h,)
        member = world.where[home].members.get(home)
        if member is not None and not same(tuple(member.state), tuple(model.state)):
            says = f"{home} holds {show(tuple(member.state))}, the model {show(tuple(model.state))}"
            return no(name, says, *previous)
    return yes(name, cases)


class Model:
    """A membership as plainly as it can be."""

    def __init__(self, law: CompiledLaw, home: str, state: tuple[Term, ...]) -> None:
        self.law = law
        self.home = home
        self.state: list[Term] = list(state)
        self.pending: list[tuple[int, Term]] = []  # in the order of imposition
        self.bags: tuple[Bag, Bag] | None = None

    def differs(self, ruling: Ruling, *, oracle: bool) -> str | None:
        """Rule on the event of a ruling; how the result differs, or `None`."""
        event = ruling.event
        if ruling.due_at is not None:
            first = min(range(len(self.pending)), key=lambda i: self.pending[i][0], default=None)
            if first is None or not same(self.pending[first][1], event.args[0]):
                return f"{show(event.args[0])} was not the next obligation"
            if self.pending[first][0] > ruling.at:
                return f"{show(event.args[0])} was not due yet"
            del self.pending[first]
            self.bags = None
        if self.bags is None:
            self.bags = (Bag(self.state), Bag([term for _, term in self.pending]))
        stopped = None
        rule: str | None = None
        operations: tuple[Term, ...] = ()
        try:
            ask = self.law.interpreter.rule if oracle else self.law.act
            state, owed = self.bags[0].copy(), self.bags[1]  # compiled rules may change the state
            outcome = ask(event.kind, self.home, event.args, state, owed, ruling.at, [0])
            if outcome is not None:
                rule, operations = self.law.rule_names[outcome[0]], outcome[1]
        except Stop as stop:
            stopped = stop.reason
        if stopped is None and ruling.stopped in ("typeError", "tooLarge", "budget"):
            return None  # the ruling could not be carried out: then it has no effect at all
        if stopped != ruling.stopped:
            return f"stopped by {ruling.stopped}, not by {stopped}"
        if rule != ruling.rule:
            return f"ruled by {ruling.rule}, not by {rule}"
        # Unbound variables of two evaluations are not one: both print as `_`.
        if not same(operations, ruling.operations) and show(operations) != show(ruling.operations):
            return f"ordered {show(ruling.operations)}, not {show(operations)}"
        unmet = tuple(i for i, op in enumerate(operations) if not self._carry_out(op, ruling.at))
        if unmet != ruling.unmet:
            return f"operations {ruling.unmet} found nothing to change, not {unmet}"
        return None

    def _carry_out(self, op: Term, now: int) -> bool:
        """Carry an operation out; whether it found something to change."""
        if type(op) is not Compound or op.name in _ELSEWHERE:
            return True
        self.bags = None
        name = op.name
        args: tuple[Any, ...] = op.args
        if name == "+" and getattr(args[0], "name", "") == "obligation":
            what, due = args[0].args
            self.pending.append((round(due * 1_000_000), what))
        elif name == "+":
            self.state.append(args[0])
        elif name == "imposeObligation":
            unit = _UNIT_US[args[2]] if len(args) == 3 else 1_000_000
            self.pending.append((now + round(args[1] * unit), args[0]))
        elif name == "repealObligation":
            left = [(due, term) for due, term in self.pending if not match(args[0], term)]
            found = len(left) < len(self.pending)
            self.pending = left
            return found
        else:
            place = next((i for i, term in enumerate(self.state) if match(args[0], term)), None)
            if place is None:
                return False
            if name == "-":
                del self.state[place]
            elif name == "<-":
                self.state[place] = args[1]
            else:
                old = as_compound(self.state[place])
                number: Any = old.args[0]
                number = number + args[1] if name == "incr" else number - args[1]
                self.state[place] = Compound(old.name, (number,))
        return True


_ELSEWHERE = ("forward", "multicast", "deliver", "release", "signal")
