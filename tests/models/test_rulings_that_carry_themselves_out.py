"""Compiled rules may change the state themselves; the controller's plain way is the model.

Two members live through the same events under one law: one with the acting rules, one whose
rulings are all carried out by the controller. Rulings, deltas and states must be the same.
"""

from __future__ import annotations

from random import Random

from nomospace.control import Membership, RecordRuling, sent
from nomospace.law import load
from nomospace.law.emit import LawBuilder
from nomospace.law.program import prepare
from nomospace.terms import Compound, Term, show
from nomospace_lab.testing.evaluating import plain_twin

HOME = "ann@x"
FUNCTORS = ("a", "b", "c")


def _law(rng: Random) -> str:
    """A law of counters: sense some terms, compare, change or remove them, pass the message on."""
    rules = []
    for number in range(rng.randint(1, 4)):
        goals: list[str] = []
        variables: list[tuple[str, str]] = []
        for at in range(rng.randint(1, 3)):
            name = rng.choice(FUNCTORS)
            variable = f"N{at}" if rng.random() < 0.8 or not variables else rng.choice(variables)[1]
            goals.append(f"{name}({variable})@CS")
            variables.append((name, variable))
            if rng.random() < 0.6:
                goals.append(
                    f"{variable} {rng.choice(['>', '<', '>=', '=:='])} {rng.randint(0, 3)}"
                )
        for _ in range(rng.randint(1, 3)):
            name, variable = rng.choice(variables)
            amount = rng.choice(["1", "2", "-1"])
            goals.append(
                rng.choice(
                    [
                        f"do(dcr({name}({variable}), {amount}))",
                        f"do(incr({name}({variable}), {amount}))",
                        f"do(-{name}({variable}))",
                        f"do(+{name}({variable}))",
                        f"do({name}({variable}) <- {name}(9))",
                        "do(forward)",
                        "do(deliver(Self, seen, Self))",
                    ]
                )
            )
        rules.append(
            f"R{number}. sent(_, {rng.choice(['go', 'm(_)', '_'])}, _) :- {', '.join(goals)}."
        )
    return "law(counters).\n" + "\n".join(rules)


def test_acting_rules_do_what_the_controller_would() -> None:
    rng = Random(20)
    acted = 0
    for _ in range(120):
        law = load(_law(rng))
        size = rng.choice([2, 4, 8, 40])  # past a dozen of one functor, sensing goes by index
        odd = rng.random() < 0.1
        state: list[Term] = [
            Compound(rng.choice(FUNCTORS), (rng.choice(["x", 1.5]) if odd else rng.randint(0, 4),))
            for _ in range(size)
        ]
        acting = Membership(law, HOME, state=state)
        plain = Membership(plain_twin(law), HOME, state=state)
        without = LawBuilder(law.priced, law.hash).build()
        acted += prepare(law.tree, law.hash).code.pieces != without.pieces
        for step in range(8):
            messages: list[Term] = ["go", Compound("m", (step,)), "other"]
            message = rng.choice(messages)
            event = sent(HOME, message, rng.choice(["bob@x", ("bob@x", "cy@x")]))
            ours = acting.handle(event, now=step)
            model = plain.handle(event, now=step)
            assert [_told(e) for e in ours] == [_told(e) for e in model], law.tree.source.text
            assert acting.state.items() == plain.state.items(), law.tree.source.text
    assert acted > 30


def _told(effect: object) -> object:
    if isinstance(effect, RecordRuling):
        ruling = effect.ruling
        operations = [show(operation) for operation in ruling.operations]
        return ruling.rule, operations, ruling.delta, ruling.unmet, ruling.stopped
    return effect
