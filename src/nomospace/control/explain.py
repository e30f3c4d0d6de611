"""Why a ruling is as it is, in words a person can read.

The story is not kept with the ruling: laws are pure, so it is told again on request, by the
interpreter, over the state as it was. That is why every ruling can say why at almost no cost.
"""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec

from nomospace.control.events import Ruling
from nomospace.control.membership import Membership
from nomospace.law.budget import Stop
from nomospace.law.holes import close
from nomospace.law.interpret import Trace
from nomospace.law.render import show_goal
from nomospace.law.tree import (
    Clock,
    Do,
    Goal,
    Not,
    Sense,
    TrueGoal,
    goals_in,
    nodes_of,
    variables_in,
)
from nomospace.terms import Term, show

NO_MATCH = "its head does not match the event"


class GoalStory(msgspec.Struct, frozen=True):
    """A goal of the law as written, and what its variables stood for."""

    goal: str
    with_values: str


class RuleStory(msgspec.Struct, frozen=True):
    """What became of one rule: it fired, its head did not match, or a goal of it failed."""

    rule: str
    outcome: str
    about: str = ""
    held: tuple[GoalStory, ...] = ()
    failed: GoalStory | None = None


class Explanation(msgspec.Struct, frozen=True):
    """A ruling with its reasons. `text` is for people, the rest for programs."""

    event: str
    verdict: str
    rules: tuple[RuleStory, ...]
    operations: tuple[str, ...]
    unmet: tuple[int, ...]

    @property
    def text(self) -> str:
        """The whole story in a few lines."""
        lines = [f"{self.event}", f"  {self.verdict}"]
        for story in self.rules:
            if story.outcome != NO_MATCH:
                lines.extend(_rule_lines(story))
        others = [story.rule for story in self.rules if story.outcome == NO_MATCH]
        if others:
            whose = "its head does" if len(others) == 1 else "their heads do"
            lines.append(f"  {', '.join(others)}: {whose} not match the event")
        if self.operations:
            lines.append("  ruling:")
            for index, operation in enumerate(self.operations):
                note = "   (found nothing to change)" if index in self.unmet else ""
                lines.append(f"    {operation}{note}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text


def _rule_lines(story: RuleStory) -> list[str]:
    lines = [f"  {story.rule}: {story.outcome}"]
    if story.about:
        lines += textwrap.wrap(story.about, 92, initial_indent="    % ", subsequent_indent="    % ")
    lines.extend(f"    held    {_goal_line(held)}" for held in story.held)
    if story.failed is not None:
        lines.append(f"    failed  {_goal_line(story.failed)}")
    return lines


def _goal_line(story: GoalStory) -> str:
    return story.goal + (f"   where {story.with_values}" if story.with_values else "")


def explain(member: Membership, ruling: Ruling, *, disclose: str | None = None) -> Explanation:
    """Tell why a ruling of this membership is as it is.

    `disclose` is how much may be told: `all`, `rules` (no facts from the control state) or
    `none`; by default what the law says. An operator asks with `all`.
    """
    level = disclose or member.law.tree.disclose
    event = ruling.event
    verdict = verdict_on(ruling, level)
    if level == "none":
        return Explanation(show(event.term), verdict, (), (), ())
    state, obligations = member.before(ruling.seq)
    traces: list[Trace] = []
    try:
        member.law.interpreter.rule(
            event.kind, ruling.home, event.args, state, obligations, ruling.at, [0], traces
        )
    except Stop as stop:
        verdict = f"{verdict} ({stop.reason})" if stop.reason not in verdict else verdict
    tell_facts = level == "all"
    stories = tuple(_story(trace, ruling, tell_facts) for trace in traces)
    if not tell_facts:  # an operation on the state shows what is in the state
        shown = tuple(map(show, disclosed(ruling, level)))
        return Explanation(show(event.term), verdict, stories, shown, ())
    operations = tuple(map(show, ruling.operations))
    return Explanation(show(event.term), verdict, stories, operations, ruling.unmet)


_TELLABLE = ("forward", "multicast", "deliver", "release", "quit")


def disclosed(ruling: Ruling, level: str) -> tuple[Term, ...]:
    """The operations of a ruling that its home agent may know."""
    if level == "all":
        return ruling.operations
    if level == "none":
        return ()
    return tuple([op for op in ruling.operations if getattr(op, "name", op) in _TELLABLE])


def verdict_on(ruling: Ruling, level: str = "all") -> str:
    """What became of an event, in one line; under `none` without the rule."""
    if level == "none" and ruling.rule is not None and ruling.stopped is None:
        ruling = msgspec.structs.replace(ruling, rule="the law")
    if ruling.stopped is not None:
        reasons = {
            "budget": "the evaluation went past its budget",
            "tooLarge": "something grew too large",
            "typeError": "an operation met a value of the wrong type",
            "notGround": "something that must have a value had none",
            "notLocal": "an operation was not local to the home agent",
        }
        return f"no ruling: {reasons.get(ruling.stopped, ruling.stopped)}"
    if ruling.rule is None:
        if ruling.event.kind == "sent":
            return "refused: no rule lets it through"
        return "no rule applies, so the event has no effect"
    if ruling.event.kind != "sent":
        return f"ruled by {ruling.rule}"
    if ruling.refused:
        return f"refused by {ruling.rule}: nothing is sent and nothing changes"
    if ruling.held:
        return f"held back by {ruling.rule}: nothing is sent yet"
    return f"forwarded by {ruling.rule}"


def _story(trace: Trace, ruling: Ruling, tell_facts: bool) -> RuleStory:
    name = trace.rule.name
    if not trace.matched:
        return RuleStory(name, NO_MATCH)
    if ruling.rule == name and ruling.stopped is None:
        held = tuple(
            _goal_story(goal, env, tell_facts)
            for goal, env in trace.held
            if id(goal) in trace.visible and not isinstance(goal, Do | TrueGoal)
        )
        return RuleStory(name, "fired", trace.rule.comment, held)
    if trace.furthest is None:
        return RuleStory(name, "did not fire", trace.rule.comment)
    failed = _goal_story(trace.furthest, trace.furthest_env, tell_facts)
    return RuleStory(name, "did not fire", trace.rule.comment, (), failed)


def _goal_story(goal: Goal, env: dict[str, Any], tell_facts: bool) -> GoalStory:
    from_state = isinstance(goal, Sense | Not | Clock)
    if not tell_facts and from_state:
        return GoalStory(show_goal(goal), "")
    values = []
    nodes = [node for inner in goals_in(goal) for node in nodes_of(inner)]
    for name in dict.fromkeys(variable.name for variable in variables_in(*nodes)):
        if name in env and name != "_":
            value = show(close(env[name]))
            if value != "_":
                values.append(f"{name} = {value[:200]}")
    return GoalStory(show_goal(goal), ", ".join(values) if tell_facts else "")
