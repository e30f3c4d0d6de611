"""One scenario played under one law: its steps done, its expectations held against what happened.

A failure tells what was expected, what happened instead, where a term differs, and the reasons of
the ruling that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from nomospace.control import Deliver, Event, Release, Signal, TooOld
from nomospace.errors import CallerError
from nomospace.law import CompiledLaw
from nomospace.law.arithmetic import seconds
from nomospace.scenarios.community import Community, CommunityRuling, Runaway
from nomospace.scenarios.coverage import Coverage
from nomospace.scenarios.scenario import Act, Expect, Item, Join, MemberLine, Scenario, Wait
from nomospace.terms import Compound, Term, Var, is_ground, match, resolve, show, undo, unify
from nomospace.terms.values import PARTIAL, parts_of

SHOWN_MAX: Final = 12
"""How many happenings, and how many differences, a failure shows."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation that was not met, or a line that could not be done."""

    line: int
    expected: str
    message: str


class _Cannot(Exception):
    """A line that cannot be done; the scenario ends there."""


class _Step(msgspec.Struct):
    """What the last line that is no expectation brought."""

    item: Item
    happenings: list[CommunityRuling] = []
    unclaimed: list[tuple[str, Deliver]] = []
    explained: list[CommunityRuling] = []
    told: bool = False


def play(story: Scenario, coverage: Coverage) -> tuple[Failure, ...]:
    """Run a scenario under the law that `coverage` is about, and say what was not met."""
    run = _Play(story, coverage)
    run.run()
    return tuple(run.failures)


class _Play:
    """A run of a scenario."""

    def __init__(self, story: Scenario, coverage: Coverage) -> None:
        self.story = story
        self.law: CompiledLaw = coverage.law
        self.coverage = coverage
        self.community = Community(coverage.law, closed=True)
        self.now = 0
        self.failures: list[Failure] = []
        self.trail: list[Var] = []
        self.step: _Step | None = None

    def run(self) -> None:
        for item in self.story.items:
            try:
                if isinstance(item, Expect):
                    self._expect(item)
                else:
                    self._do(item)
            except (_Cannot, CallerError, Runaway) as error:
                self._fail(item, str(error))
                break
        undo(self.trail, 0)  # the story's variables are bound anew in its next run

    def _fail(self, item: Item, message: str) -> None:
        self.failures.append(Failure(line=item.number, expected=item.text, message=message))

    # -- steps -----------------------------------------------------------------------------

    def _do(self, item: Join | MemberLine | Act | Wait) -> None:
        self.step = _Step(item)
        if isinstance(item, Wait):
            self.now += item.micros
            self._gather(self.community.advance(self.now))
        elif isinstance(item, MemberLine):
            self.community.set_state(item.home, parts_of(self._value(item.state)))
        elif isinstance(item, Join):
            for home in item.homes:
                if item.manager:
                    self.community.set_state(home, (*self.law.initial, "tupleSpace"))
                self._tell(home, Event("adopted", (self._value(item.args),)))
        else:
            self._tell(item.home, Event(item.kind, parts_of(self._value(item.args))))

    def _tell(self, home: str, event: Event) -> None:
        member = self.community.members.get(home)
        if member is not None and member.ended and event.kind != "adopted":
            raise _Cannot(f"{home} has quit the community and does nothing in it any more")
        self._gather(self.community.tell(home, event, at=self.now))

    def _gather(self, happenings: Iterator[CommunityRuling]) -> None:
        step = self.step
        assert step is not None
        for happening in happenings:
            ruling = happening.ruling
            step.happenings.append(happening)
            self.coverage.note(self.community.members[ruling.home], ruling)
            for effect in happening.effects:
                if isinstance(effect, Deliver):
                    step.unclaimed.append((ruling.home, effect))

    def _value(self, pattern: Term) -> Term:
        """A pattern with its variables replaced; all of them have values by now."""
        value = resolve(pattern)
        if not is_ground(value):
            raise _Cannot(
                f"{_unbound(value)} has no value yet: no expectation before this line has met it"
            )
        return value

    # -- expectations ----------------------------------------------------------------------

    def _expect(self, item: Expect) -> None:
        if self.step is None:
            raise _Cannot("nothing has happened yet that could be expected")
        message = _EXPECTATIONS[item.what](self, item, self.step)
        if message is not None:
            self._fail(item, "\n".join([message, *self._story(item, self.step)]))

    def binds(self, pattern: Term, value: Term) -> bool:
        """Whether a value fits; the pattern's variables are bound for the rest of the story."""
        mark = len(self.trail)
        if unify(pattern, value, self.trail):
            return True
        undo(self.trail, mark)
        return False

    def _story(self, item: Expect, step: _Step) -> list[str]:
        """What happened instead, and why the ruling that matters is as it is; each told once."""
        lines: list[str] = []
        if not step.told:
            step.told = True
            lines.append(f"what happened since line {step.item.number}:")
            for happening in step.happenings[:SHOWN_MAX]:
                lines += _told(happening)
            if len(step.happenings) > SHOWN_MAX:
                lines.append(f"  … and {len(step.happenings) - SHOWN_MAX} more")
            if not step.happenings:
                lines.append("  nothing")
        telling = self._telling(item, step)
        if telling is None or telling in step.explained:
            return lines
        step.explained.append(telling)
        ruling = telling.ruling
        with suppress(TooOld):
            why = self.community.explain(ruling)
            lines += ["why:", *(f"  {line}" for line in why.text.split("\n"))]
        return lines

    def _telling(self, item: Expect, step: _Step) -> CommunityRuling | None:
        """The happening whose reasons an author will want to see."""
        if item.home is not None:
            there = [h for h in step.happenings if h.ruling.home == item.home]
            if there:
                return there[-1]
        return step.happenings[0] if step.happenings else None


def _told(happening: CommunityRuling) -> list[str]:
    ruling = happening.ruling
    begin = f"  {seconds(ruling.at)} s  {ruling.home}  "
    rule = ruling.rule or (f"stopped, {ruling.stopped}" if ruling.stopped else "no rule")
    event = show(ruling.event.term, spaced=True)
    return [
        f"{begin}{event[:300]}  {rule}",
        *(f"{' ' * len(begin)}  {show(op, spaced=True, limit=300)}" for op in ruling.operations),
    ]


def _unbound(pattern: Term) -> str:
    """The name of the first variable without a value."""
    pending = [pattern]
    while pending:
        part = pending.pop()
        if isinstance(part, Var):
            return part.name
        if isinstance(part, Compound):
            part = part.args
        if isinstance(part, tuple):
            pending.extend(reversed(part))
    return "_"


# -- each expectation gives what is wrong, or `None` ---------------------------------------


def _gets(play: _Play, item: Expect, step: _Step) -> str | None:
    here = [pair for pair in step.unclaimed if pair[0] == item.home]
    for pair in here:
        sender_fits = item.sender in (None, pair[1].sender)
        if sender_fits and play.binds(item.pattern, pair[1].message):
            step.unclaimed.remove(pair)
            return None
    if not here:
        own = [h for h in step.happenings if h.ruling.home == item.home]
        return f"{item.home} got nothing{' more' if any(map(_delivered, own)) else ''}"
    lines = []
    for _, effect in here[:SHOWN_MAX]:
        lines.append(f"{item.home} got {show(effect.message, spaced=True)} from {effect.sender}")
        if item.sender not in (None, effect.sender):
            lines.append(f"  it is from {effect.sender}, not {item.sender}")
        lines += _difference_lines(item.pattern, effect.message)
    return "\n".join(lines)


def _difference_lines(pattern: Term, value: Term) -> list[str]:
    return [
        f"  {path or 'it'} is {show(found, spaced=True)}, not {show(wanted, spaced=True)}"
        for path, wanted, found in differences(pattern, value)
    ]


def _delivered(happening: CommunityRuling) -> bool:
    return any(isinstance(effect, Deliver) for effect in happening.effects)


def _gets_nothing(play: _Play, item: Expect, step: _Step) -> str | None:
    got = [
        show(effect.message, spaced=True)
        for happening in step.happenings
        for effect in happening.effects
        if isinstance(effect, Deliver) and item.home in (None, happening.ruling.home)
    ]
    if not got:
        return None
    return f"{item.home or 'somebody'} got {'; '.join(got[:SHOWN_MAX])}"


def _nothing_else(play: _Play, item: Expect, step: _Step) -> str | None:
    if not step.unclaimed:
        return None
    got = [f"{home} got {show(e.message, spaced=True)}" for home, e in step.unclaimed[:SHOWN_MAX]]
    return "besides what was expected, " + "; ".join(got)


def _verdict(play: _Play, item: Expect, step: _Step) -> str | None:
    if not step.happenings or step.happenings[0].ruling.event.kind != "sent":
        return "the line before sends nothing, so nothing can be forwarded, held or refused"
    ruling = step.happenings[0].ruling
    found = "refused" if ruling.refused else "held" if ruling.held else "forwarded"
    rule = ruling.rule or ""
    if found == item.what and item.rule in (None, rule):
        return None
    unknown = _unknown_rule(play, item)
    return f"it was {found} by {rule or 'no rule'}{unknown}"


def _unknown_rule(play: _Play, item: Expect) -> str:
    names = [rule.name for rule in play.law.tree.rules]
    return f"; the law has no rule {item.rule}" if item.rule and item.rule not in names else ""


def _rule(play: _Play, item: Expect, step: _Step) -> str | None:
    fired = [h.ruling.rule for h in step.happenings if item.home in (None, h.ruling.home)]
    if item.rule in fired:
        return None
    known = ", ".join(dict.fromkeys(rule for rule in fired if rule)) or "no rule"
    return f"{known} fired, not {item.rule}{_unknown_rule(play, item)}"


def _no_rule(play: _Play, item: Expect, step: _Step) -> str | None:
    fired = list(dict.fromkeys(h.ruling.rule for h in step.happenings if h.ruling.rule))
    return f"{', '.join(fired)} fired" if fired else None


def _ruling(play: _Play, item: Expect, step: _Step) -> str | None:
    if not step.happenings:
        return "nothing was ruled on"
    found = step.happenings[0].ruling.operations
    if play.binds(item.pattern, found):
        return None
    told = f"the ruling was {show(found, spaced=True)}"
    return "\n".join([told, *_difference_lines(item.pattern, found)])


def _event(play: _Play, item: Expect, step: _Step) -> str | None:
    for happening in step.happenings:
        ruling = happening.ruling
        if item.home in (None, ruling.home) and play.binds(item.pattern, ruling.event.term):
            return None
    return f"there was no such event{f' at {item.home}' if item.home else ''}"


def _no_event(play: _Play, item: Expect, step: _Step) -> str | None:
    for happening in step.happenings:
        ruling = happening.ruling
        if item.home in (None, ruling.home) and match(item.pattern, ruling.event.term):
            return f"there was {show(ruling.event.term, spaced=True)} at {ruling.home}"
    return None


def _signals(play: _Play, item: Expect, step: _Step) -> str | None:
    found = [
        effect.what if isinstance(effect, Signal) else effect.message
        for happening in step.happenings
        for effect in happening.effects
        if happening.ruling.home == item.home
        and isinstance(effect, Signal if item.what == "signals" else Release)
    ]
    if any(play.binds(item.pattern, value) for value in found):
        return None
    done = "signalled" if item.what == "signals" else "released"
    return f"{item.home} {done} {', '.join(map(show, found[:SHOWN_MAX])) or 'nothing'}"


def _owes(play: _Play, item: Expect, step: _Step) -> str | None:
    assert item.home is not None
    member = play.community.members[item.home]
    pending = [] if member.ended else member.pending()
    for due, term in pending:
        in_time = item.micros is None or due == play.now + item.micros
        if in_time and play.binds(item.pattern, term):
            return None
    return f"{item.home} owes {_owed(play, pending)}"


def _owes_nothing(play: _Play, item: Expect, step: _Step) -> str | None:
    assert item.home is not None
    member = play.community.members[item.home]
    if member.ended or not member.pending():
        return None
    return f"{item.home} owes {_owed(play, member.pending())}"


def _owed(play: _Play, pending: list[tuple[int, Term]]) -> str:
    shown = [
        f"{show(term, spaced=True)} in {seconds(due - play.now)} s"
        for due, term in pending[:SHOWN_MAX]
    ]
    return ", ".join(shown) or "nothing"


def _state(play: _Play, item: Expect, step: _Step) -> str | None:
    assert item.home is not None
    state = tuple(play.community.members[item.home].state)
    if item.what == "is":
        fine = play.binds(item.pattern, state)
    elif item.what == "has":
        fine = any(play.binds(item.pattern, term) for term in state)
    else:
        fine = not any(match(item.pattern, term) for term in state)
    return None if fine else f"the control state of {item.home} is {show(state, spaced=True)}"


_EXPECTATIONS: Final[dict[str, Callable[[_Play, Expect, _Step], str | None]]] = {
    "gets": _gets,
    "gets nothing": _gets_nothing,
    "silence": _gets_nothing,
    "nothing else": _nothing_else,
    "forwarded": _verdict,
    "held": _verdict,
    "refused": _verdict,
    "rule": _rule,
    "no rule": _no_rule,
    "ruling": _ruling,
    "event": _event,
    "no event": _no_event,
    "signals": _signals,
    "releases": _signals,
    "owes": _owes,
    "owes nothing": _owes_nothing,
    "has": _state,
    "lacks": _state,
    "is": _state,
}


def differences(pattern: Term, value: Term) -> list[tuple[str, Term, Term]]:
    """Where a value does not fit a pattern: the way there, what was wanted, what was found.

    >>> from nomospace.terms import pattern, term
    >>> wanted, _ = pattern("alarm(kind(fire),at(_))")
    >>> differences(wanted, term("alarm(kind(flood),at(3))"))
    [('alarm 1, kind', 'fire', 'flood')]
    """
    found: list[tuple[str, Term, Term]] = []
    pending: list[tuple[str, Term, Term]] = [("", resolve(pattern), value)]
    while pending and len(found) < SHOWN_MAX:
        path, wanted, there = pending.pop()
        if match(wanted, there):
            continue
        pairs = _pairs(wanted, there)
        if not pairs:
            found.append((path, wanted, there))
            continue
        for at, (a, b) in reversed(list(enumerate(pairs, 1))):
            step = f"item {at}"
            if type(wanted) is Compound:
                step = wanted.name if len(pairs) == 1 else f"{wanted.name} {at}"
            pending.append((f"{path}, {step}" if path else step, a, b))
    return found


def _pairs(wanted: Term, there: Term) -> list[tuple[Term, Term]]:
    """The parts of two terms of one shape, or none."""
    if type(wanted) is Compound and type(there) is Compound:
        if wanted.name != there.name or wanted.name == PARTIAL:
            return []
        wanted, there = wanted.args, there.args
    if type(wanted) is tuple and type(there) is tuple and len(wanted) == len(there):
        return list(zip(wanted, there, strict=True))
    return []
