"""Which rules of a law fired and which of its goals were tried, over any number of rulings.

Rulings are told again by the interpreter, which notes each goal it tries; so coverage costs
nothing where nobody asks for it. A goal is known by its place in the law's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from nomospace.control import Membership, Ruling
from nomospace.law import CompiledLaw
from nomospace.law.budget import Stop
from nomospace.law.interpret import Trace
from nomospace.law.render import show_goal
from nomospace.law.tree import Clause, Conj, Disj, Goal, If, Rule, TrueGoal, goals_in
from nomospace.terms import Span


class Gap(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that never fired (`goal` is empty), or a goal that was never tried."""

    rule: str
    line: int
    goal: str = ""


class Coverage:
    """What was used of one law."""

    def __init__(self, law: CompiledLaw) -> None:
        self.law = law
        self.fired: set[str] = set()
        self._tried: set[Span] = set()

    def note(self, member: Membership, ruling: Ruling) -> None:
        """Count a ruling in. It must be one that the member remembers."""
        if ruling.rule is not None:
            self.fired.add(ruling.rule)
        state, obligations = member.before(ruling.seq)
        event, traces = ruling.event, list[Trace]()
        with suppress(Stop):  # what was tried up to there counts
            self.law.interpreter.rule(
                event.kind, ruling.home, event.args, state, obligations, ruling.at, [0], traces
            )
        for trace in traces:
            self._tried |= trace.tried

    def rules_missed(self) -> list[Gap]:
        """The rules that never fired, in the order of the text."""
        place = self.law.tree.source.place
        return [
            Gap(rule=rule.name, line=place(rule.span.start)[0])
            for rule in self.law.tree.rules
            if rule.name not in self.fired
        ]

    def goals_missed(self) -> list[Gap]:
        """The goals that were never tried, in the order of the text."""
        place = self.law.tree.source.place
        return [
            Gap(rule=name, line=place(goal.span.start)[0], goal=show_goal(goal, spaced=True))
            for name, goal in self._goals()
            if goal.span not in self._tried
        ]

    def _goals(self) -> Iterator[tuple[str, Goal]]:
        """Every goal that can be tried by itself, with the rule or predicate it stands in."""
        clauses: list[Rule | Clause] = list(self.law.tree.rules)
        clauses += [clause for group in self.law.tree.helpers.values() for clause in group]
        clauses.sort(key=lambda clause: clause.span.start)
        for clause in clauses:
            name = clause.name if isinstance(clause, Rule) else f"{clause.name}/{len(clause.args)}"
            for goal in goals_in(clause.body):
                if not isinstance(goal, Conj | Disj | If | TrueGoal):
                    yield name, goal

    def to_data(self) -> dict[str, object]:
        """Plain data, for JSON."""
        rules, goals = self.rules_missed(), self.goals_missed()
        total = len(self.law.tree.rules)
        known = sum(1 for _ in self._goals())
        return {
            "law": self.law.tree.source.name,
            "rules": total,
            "rules_fired": total - len(rules),
            "goals": known,
            "goals_tried": known - len(goals),
            "never_fired": rules,
            "never_tried": goals,
        }

    def render(self) -> str:
        """The sum, and what is missing."""
        data, missed = self.to_data(), self.rules_missed()
        rules = f"{data['rules_fired']} of {data['rules']} rules fired"
        goals = f"{data['goals_tried']} of {data['goals']} goals tried"
        lines = [f"{data['law']}: {rules}, {goals}"]
        lines += [f"  never fired  {gap.rule} (line {gap.line})" for gap in missed]
        lines += [
            f"  never tried  {gap.rule} (line {gap.line})  {gap.goal[:100]}"
            for gap in self.goals_missed()
        ]
        return "\n".join(lines)
