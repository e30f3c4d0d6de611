"""Laws that are shipped in both languages rule alike.

Events and states are made from the law itself: a rule is chosen, its conditions are made true as
far as that goes, and what is left open is filled at random. So every rule is won many times, and
the states of one rule's making meet the others too.
"""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.law.program import CompiledLaw, load
from nomospace.law.tree import Clause, Conj, Disj, Goal, If, Not, PredicateCall, Rule, Sense, Unify
from nomospace.terms import Compound, Term, Var, resolve, show, unify
from nomospace.terms.text import PARTIAL, from_node
from nomospace.terms.tokens import Node
from nomospace_lab.testing.evaluating import evaluate
from tests.repo.rooms import PACKAGE

TWINS = sorted((PACKAGE / "laws").glob("*.law.py"))
EVENTS = 1_200
AGENTS = ("alice", "bob")
HOME_AT = {"sent": 0, "arrived": 2, "submitted": 2}


class Situation:
    """An event with a state in which one rule of a law may well win."""

    def __init__(self, law: CompiledLaw, random: Random) -> None:
        self.helpers = law.tree.helpers
        self.random = random
        self.trail: list[Var] = []
        self.facts: list[tuple[Term, bool]] = []  # wanted in the state, or among obligations
        rule: Rule = random.choice(law.tree.rules)
        self.event = rule.event
        self.home = random.choice(AGENTS)
        names = self.names()
        args = [from_node(node, names) for node in rule.args]
        if rule.event in HOME_AT:
            unify(args[HOME_AT[rule.event]], self.home, self.trail)
            unify(names.setdefault("Msg", Var()), args[1], self.trail)
        self.hold(rule.body, names, 4)
        self.args = tuple([self.ground(arg) for arg in args])
        self.state = Bag([self.ground(fact) for fact, due in self.facts if not due])
        self.obligations = Bag([self.ground(fact) for fact, due in self.facts if due])

    def names(self) -> dict[str, Var]:
        home = Var("Self")
        home.ref = self.home
        return {"Self": home}

    def hold(self, goal: Goal, names: dict[str, Var], depth: int) -> None:
        """Make a goal true where that is easy; now and then leave it."""
        if isinstance(goal, Conj):
            for each in goal.goals:
                self.hold(each, names, depth)
        elif isinstance(goal, Disj):
            self.hold(self.random.choice(goal.goals), names, depth)
        elif isinstance(goal, If):
            if self.random.random() < 0.5:
                self.hold(goal.condition, names, depth)
                self.hold(goal.then, names, depth)
            elif goal.otherwise is not None:
                self.hold(goal.otherwise, names, depth)
        elif isinstance(goal, Not):
            if self.random.random() < 0.3:  # break it
                self.hold(goal.goal, names, depth)
        elif self.random.random() < 0.1:
            return
        elif isinstance(goal, Sense):
            self.facts.append((from_node(goal.pattern, names), goal.obligations))
        elif isinstance(goal, Unify) and not goal.negated:
            self.equal(goal.left, from_node(goal.right, names), names)
        elif isinstance(goal, PredicateCall) and depth:
            self.call(goal, names, depth)

    def equal(self, node: Node, value: Term, names: dict[str, Var]) -> None:
        unify(from_node(node, names), value, self.trail)

    def call(self, goal: PredicateCall, names: dict[str, Var], depth: int) -> None:
        if goal.name == "member":
            items = [from_node(goal.args[0], names), *(self.any() for _ in range(2))]
            self.random.shuffle(items)
            self.equal(goal.args[1], tuple(items[: self.random.randint(1, 3)]), names)
        clauses = self.helpers.get((goal.name, len(goal.args)))
        if clauses:
            clause: Clause = self.random.choice(clauses)
            inner = self.names()
            for node, given in zip(clause.args, goal.args, strict=True):
                self.equal(node, from_node(given, names), inner)
            self.hold(clause.body, inner, depth - 1)

    def ground(self, value: Term) -> Term:
        """A term with all that is still open filled at random, the same everywhere."""
        value = resolve(value)
        if isinstance(value, Var):
            value.ref = filled = self.any()
            return filled
        if isinstance(value, tuple):
            return tuple([self.ground(item) for item in value])
        if isinstance(value, Compound):
            args = tuple([self.ground(arg) for arg in value.args])
            return args[:-1] if value.name == PARTIAL else Compound(value.name, args)
        return value

    def any(self) -> Term:
        words: list[Term] = [*AGENTS, *AGENTS, 3, "expert", "metaAlarm"]
        parts = [Compound(name, (self.random.choice(words),)) for name in ("kind", "status")]
        return self.random.choice([*words, *parts])


def situations(law: CompiledLaw, seed: int) -> Any:
    """Events, each with the state of one situation and a little of another."""
    random = Random(seed)
    for _ in range(EVENTS):
        now, other = Situation(law, random), Situation(law, random)
        for fact in other.state:
            if random.random() < 0.3:
                now.state.add(fact)
        if random.random() < 0.05:
            now.state.add("tupleSpace")
        yield now


def ruling(law: CompiledLaw, now: Situation) -> tuple[int | None, Any]:
    """Number of the rule, and the operations or why there are none."""
    try:
        outcome = evaluate(
            law, now.event, now.home, now.args, now.state, now.obligations, 5_000_000, [0]
        )
    except Stop as stop:
        return None, f"stopped: {stop}"
    return (None, "no rule") if outcome is None else (outcome[0], [show(op) for op in outcome[1]])


def read(path: Path) -> CompiledLaw:
    return load(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", TWINS, ids=lambda path: path.name)
def test_both_languages_rule_alike(path: Path) -> None:
    python, plain = read(path), read(path.with_suffix(""))
    assert (python.tree.language, plain.tree.language) == ("python", "law")
    won: dict[int | None, int] = {}
    # Situations of both laws: a condition that only one of them has is met as well.
    for law in (python, plain):
        for now in situations(law, 7):
            rule, expected = ruling(plain, now)
            _, found = ruling(python, now)
            told = f"{now.event}{show(now.args)} at {now.home} with {[*now.state]}"
            assert found == expected, told
            won[rule] = won.get(rule, 0) + 1
    seldom = [rule.name for index, rule in enumerate(plain.tree.rules) if won.get(index, 0) < 5]
    assert not seldom, "these rules gave too few rulings to show anything"


@pytest.mark.parametrize("path", TWINS, ids=lambda path: path.name)
def test_both_preambles_say_the_same(path: Path) -> None:
    python, plain = read(path).tree, read(path.with_suffix("")).tree
    for said in ("name", "authorities", "controller_authority", "initial", "disclose"):
        assert getattr(python, said) == getattr(plain, said)
    assert python.clear_messages == plain.clear_messages


def test_there_are_twins() -> None:
    assert [path.name for path in TWINS] == ["ap.law.py", "sb.law.py"]
