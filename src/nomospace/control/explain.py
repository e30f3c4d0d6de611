"""Why a ruling is as it is, in words a person can read.

The story is not kept with the ruling: laws are pure, so it is told again on request, by the
interpreter, over the state as it was. That is why every ruling can say why at almost no cost.

Telling it is bounded by itself, since the interpreter is slow: in units (`TOLD_UNITS`), and in what
is printed. A ruling that took longer has its verdict, and the story as far as it goes.
"""

from __future__ import annotations

import textwrap
from typing import Final

import msgspec

from nomospace.control.events import Ruling
from nomospace.control.membership import Membership
from nomospace.control.reasons import Reason, comment_on, goal_text, reason, values_of
from nomospace.law.budget import Stop, Units
from nomospace.law.interpret import Trace
from nomospace.law.machine import Env
from nomospace.law.prelude import UNITS_MAX
from nomospace.law.tree import Do, Goal, LawTree, TrueGoal
from nomospace.terms import Term, show

NO_MATCH = "its head does not match the event"
TOLD_UNITS: Final = 600
"""The budget of an explanation, in units of the interpreter: two to eight milliseconds."""
TOLD_CHARS: Final = 1_000
"""How many characters of an event, an operation or a goal are told."""
TEXT_CHARS: Final = 50_000
"""How long the text of a whole story may be."""
TOLD_MAX: Final = 100
"""How many rules, how many goals of one, and how many operations are told."""
TOO_LONG: Final = "the reasons take too long to tell"


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
    """A ruling with its reasons. `text` is for people, the rest for programs.

    `verdict` is the one sentence that says why (`control.reasons`).
    """

    event: str
    verdict: str
    rules: tuple[RuleStory, ...]
    operations: tuple[str, ...]
    unmet: tuple[int, ...]
    reason: Reason | None = None

    @property
    def text(self) -> str:
        """The whole story in a few lines."""
        lines = [f"{self.event}", f"  {self.verdict}"]
        for story in self.rules:
            if story.outcome != NO_MATCH:
                lines.extend(_rule_lines(story))
        others = [story.rule for story in self.rules if story.outcome == NO_MATCH][:TOLD_MAX]
        if others:
            whose = "its head does" if len(others) == 1 else "their heads do"
            lines.append(f"  {', '.join(others)}: {whose} not match the event")
        if self.operations:
            lines.append("  ruling:")
            for index, operation in enumerate(self.operations):
                note = "   (found nothing to change)" if index in self.unmet else ""
                lines.append(f"    {operation}{note}")
        whole = "\n".join(lines)
        return whole if len(whole) <= TEXT_CHARS else whole[: TEXT_CHARS - 1] + "…"

    def __str__(self) -> str:
        return self.text


def _rule_lines(story: RuleStory) -> list[str]:
    lines = [f"  {story.rule}: {story.outcome}"]
    if story.about:
        lines += textwrap.wrap(story.about, 92, initial_indent="    % ", subsequent_indent="    % ")
    lines.extend(f"    passed  {_goal_line(held)}" for held in story.held)
    if story.failed is not None:
        lines.append(f"    failed  {_goal_line(story.failed)}")
    return lines


def _goal_line(story: GoalStory) -> str:
    return story.goal + (f" where {story.with_values}" if story.with_values else "")


def told_units() -> Units:
    """The budget of one explanation."""
    return [UNITS_MAX - TOLD_UNITS]


def explain(
    member: Membership,
    ruling: Ruling,
    *,
    disclose: str | None = None,
    units: Units | None = None,
) -> Explanation:
    """Tell why a ruling of this membership is as it is.

    `disclose` is how much may be told: `all`, `rules` (no facts from the control state) or
    `none`; by default what the law says. An operator asks with `all`. `units` is the budget.
    """
    level = disclose or member.law.tree.disclose
    event = ruling.event
    told = _told(event.term)
    if level == "none":
        return Explanation(told, reason(member, ruling, (), level=level).sentence, (), (), ())
    state, obligations = member.before(ruling.seq)
    traces: list[Trace] = []
    args = event.kind, ruling.home, event.args, state, obligations, ruling.at
    late = ""
    try:
        member.law.interpreter.rule(*args, units or told_units(), traces, rate=1)
    except Stop as stop:
        if stop.reason == "budget" and ruling.stopped != "budget":
            late = f" ({TOO_LONG})"
        elif stop.reason != ruling.stopped:
            late = f" ({stop.reason})"
    why = reason(
        member, ruling, traces, level=level, state=None if late else state, owed=obligations
    )
    tell_facts = level == "all"
    matched = [trace for trace in traces if trace.matched]
    missed = [trace for trace in traces if not trace.matched]
    shown = {id(trace) for trace in (*matched[-TOLD_MAX:], *missed[:TOLD_MAX])}
    stories = tuple(
        [_story(t, ruling, member.law.tree, tell_facts) for t in traces if id(t) in shown]
    )
    # An operation on the state shows what is in the state.
    operations = disclosed(ruling, level)
    unmet = ruling.unmet if tell_facts else ()
    done = tuple(map(_told, operations[:TOLD_MAX]))
    return Explanation(told, why.sentence + late, stories, done, unmet, why)


def _told(term: Term) -> str:
    return show(term, limit=TOLD_CHARS)


_TELLABLE = ("forward", "multicast", "deliver", "release", "quit")


def disclosed(ruling: Ruling, level: str) -> tuple[Term, ...]:
    """The operations of a ruling that its home agent may know."""
    if level == "all":
        return ruling.operations
    if level == "none":
        return ()
    told: list[Term] = []
    for operation in ruling.operations:
        if getattr(operation, "name", operation) in _TELLABLE:
            told.append(operation)  # noqa: PERF401 (a message is one call cheaper)
    return tuple(told)


def _story(trace: Trace, ruling: Ruling, tree: LawTree, tell_facts: bool) -> RuleStory:
    name = trace.rule.name
    if not trace.matched:
        return RuleStory(name, NO_MATCH)
    if ruling.rule == name and ruling.stopped is None:
        goals = [
            (goal, env)
            for goal, env in trace.held
            if id(goal) in trace.visible and not isinstance(goal, Do | TrueGoal)
        ]
        held = tuple([_goal_story(goal, env, tell_facts) for goal, env in goals[:TOLD_MAX]])
        return RuleStory(name, "fired", trace.rule.comment, held)
    goal = trace.furthest
    if goal is None:
        return RuleStory(name, "did not fire")
    failed = _goal_story(goal, trace.furthest_env, tell_facts)
    return RuleStory(name, "did not fire", comment_on(tree, trace.rule, goal), (), failed)


def _goal_story(goal: Goal, env: Env, tell_facts: bool) -> GoalStory:
    return GoalStory(goal_text(goal), values_of(goal, env) if tell_facts else "")
