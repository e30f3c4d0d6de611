"""Writes operations of generated laws, as text: what stands in a `do`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nomospace.law.tree import UNITS
from nomospace_lab.testing.generate.shapes import (
    AGENT,
    AGENTS_LIST,
    ANY,
    ATOM,
    NUMBER,
    NUMBERS_LIST,
    TermSort,
)
from nomospace_lab.testing.generate.terms import ClauseScope, TermWriter, struct, weighted


class OperationWriter(TermWriter):
    """Writes operations, perhaps with goals that they need before or after them."""

    def operation(self, scope: ClauseScope) -> str:
        """A `do`, perhaps with what its variable needs before or after it."""
        roll = self.rng.random()
        if roll > 0.92:
            return self.about_sensed(scope)
        if roll > 0.905:
            return self.perhaps(scope)
        text = weighted(self.rng, OPERATION_TEXTS)(self, scope)
        if roll < 0.06:
            name = self.new(scope)
            return f"{name} = ({text}), do({name})"
        if roll < 0.08:
            name = self.new(scope)
            odd = self.pick("job", "[]", "7", "forward", "quit", f"+{self.expression(scope, ANY)}")
            return f"{name} = ({odd}), do({name})"
        return f"do({text})"

    def about_sensed(self, scope: ClauseScope) -> str:
        """Sense a term, then change that very term: `quota(N)@CS, do(dcr(quota(N),1))`."""
        counts = self.chance(0.6)
        fact = self.words.counter if counts else self.rng.choice(self.words.facts)
        if fact.sort != "struct":
            return f"{fact.name}@CS, do(-{fact.name})"
        term = struct(fact, [self.bind(scope, part) for part in fact.parts])
        test = ""
        if fact is self.words.counter and self.chance(0.3):
            test = f", {term[term.index('(') + 1 : -1]} {self.pick('>', '<', '=<')} 2"
        if counts and self.chance(0.8):
            change = f"{self.pick('incr', 'dcr')}({term},{self.pick('1', '1', '2', '0.5')})"
        elif self.chance(0.5):
            change = f"-{term}"
        else:
            change = f"{term} <- {self.value(scope, fact)}"
        passed = ", do(forward)" if scope.message and self.chance(0.5) else ""
        return f"{term}@CS{test}, do({change}){passed}"

    def perhaps(self, scope: ClauseScope) -> str:
        """Use a variable that only one branch has bound, so that the evaluation may stop."""
        test = self.pick("flag@CS", f"{self.words.counter.name}(2)@CS", "obligation(refill)@CS")
        name = self.new(scope)
        branch = f"( {test} -> {name} = {self.expression(scope, NUMBERS_LIST)} ; true )"
        use = self.pick("do(signal({}))", "do(+kept({}))", "length({},_)", "sum_list({},_)")
        return f"{branch}, {use.format(name)}"

    def value(self, scope: ClauseScope, shape: TermSort) -> str:
        """A value for an operation; it may be one that comes later in the rule."""
        roll = self.rng.random()
        if roll < 0.06 and shape is not ANY:
            name = self.new(scope)
            scope.owed.append(f"{name} = {self.expression(scope, shape)}")
            return name
        if roll < 0.08 and scope.open:
            return self.rng.choice(scope.open)
        return self.expression(scope, shape)

    def message(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.2):
            return "Msg"
        return self.value(scope, self.rng.choice(self.words.messages))

    def address(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.15):
            return "Peer"
        return self.value(scope, self.rng.choice((AGENT, AGENT, AGENTS_LIST)))

    def forward(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.4):
            return "forward"
        return f"forward({self.value(scope, AGENT)},{self.message(scope)},{self.address(scope)})"

    def deliver(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.3):
            return "deliver"
        agents = scope.of(AGENT)
        to = self.rng.choice(agents) if agents and self.chance(0.2) else "Self"
        return f"deliver({self.value(scope, AGENT)},{self.message(scope)},{to})"

    def multicast(self, scope: ClauseScope) -> str:
        return f"multicast(Self,{self.message(scope)},{self.value(scope, AGENTS_LIST)})"

    def release(self, scope: ClauseScope) -> str:
        return f"release({self.message(scope)},{self.value(scope, ATOM)})"

    def signal(self, scope: ClauseScope) -> str:
        return f"signal({self.value(scope, ANY)})"

    def add(self, scope: ClauseScope) -> str:
        fact = self.value(scope, self.rng.choice(self.words.facts))
        return f"+{fact}" if fact[:1].isalpha() else f"+({fact})"

    def holes(self, scope: ClauseScope, shape: TermSort) -> str:
        """A pattern whose unknowns may stay unknown."""
        return self.pattern(scope.branch(), shape)

    def remove(self, scope: ClauseScope) -> str:
        fact = self.holes(scope, self.rng.choice(self.words.facts))
        return f"-{fact}" if fact[:1].isalpha() else f"-({fact})"

    def replace(self, scope: ClauseScope) -> str:
        fact = self.rng.choice(self.words.facts)
        return f"{self.holes(scope, fact)} <- {self.value(scope, fact)}"

    def change(self, scope: ClauseScope) -> str:
        counter = f"{self.words.counter.name}({self.pick('_', self.expression(scope, NUMBER))})"
        return f"{self.pick('incr', 'dcr')}({counter},{self.arithmetic(scope)})"

    def impose(self, scope: ClauseScope) -> str:
        what = self.value(scope, self.rng.choice(self.words.obligations))
        if self.chance(0.4):
            return f"imposeObligation({what},{self.arithmetic(scope)})"
        unit = self.rng.choice(list(UNITS))
        if self.chance(0.05):
            unit = self.rng.choice(scope.of(ATOM) or ["sec"])
        return f"imposeObligation({what},{self.arithmetic(scope)},{unit})"

    def oblige(self, scope: ClauseScope) -> str:
        what = self.value(scope, self.rng.choice(self.words.obligations))
        return f"+obligation({what},{self.arithmetic(scope)})"

    def repeal(self, scope: ClauseScope) -> str:
        if self.chance(0.15):
            return "repealObligation(_)"
        return f"repealObligation({self.holes(scope, self.rng.choice(self.words.obligations))})"

    def quit(self, scope: ClauseScope) -> str:
        return "quit"


OPERATION_TEXTS: Final[dict[Callable[..., str], int]] = {
    OperationWriter.forward: 6,
    OperationWriter.deliver: 5,
    OperationWriter.multicast: 2,
    OperationWriter.release: 2,
    OperationWriter.signal: 3,
    OperationWriter.add: 4,
    OperationWriter.remove: 3,
    OperationWriter.replace: 4,
    OperationWriter.change: 4,
    OperationWriter.impose: 4,
    OperationWriter.oblige: 2,
    OperationWriter.repeal: 3,
    OperationWriter.quit: 1,
}
