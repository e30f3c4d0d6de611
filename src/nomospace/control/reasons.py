"""The one sentence that says why: what failed, since when and by whom, and what would change it.

Everybody who shows a ruling shows this sentence: the console, `law explain`, errors in Python,
answers over HTTP and MCP, reports of replays. It is made from the story that the interpreter tells
again (`law.machine.Trace`), from the origins of what it found (`Membership.origin`), and from a
look ahead: obligations fall due, one after the other, on a copy, until the law would rule
otherwise. A law that discloses `rules` lets its members see the rule and its goal; terms, causes,
names and times are facts of the state, and for operators, or where the law discloses `all`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from nomospace.control.events import Forward, Release, Ruling, goes_out
from nomospace.control.membership import Membership, TooMuchState, TooOld
from nomospace.control.obligations import Obligations
from nomospace.control.origins import START, Origin, origin_of
from nomospace.law.bag import Bag, key_of
from nomospace.law.budget import BudgetCut, Stop
from nomospace.law.holes import build, close
from nomospace.law.interpret import Trace
from nomospace.law.machine import Env
from nomospace.law.prelude import UNITS_MAX
from nomospace.law.render import show_goal, show_node
from nomospace.law.tree import (
    Do,
    Goal,
    LawTree,
    Not,
    PredicateCall,
    Rule,
    Sense,
    Unify,
    goals_in,
    lets_out,
    nodes_of,
    operation_name,
    variables_in,
)
from nomospace.terms import Compound, Term, match, same, show
from nomospace.terms.tokens import Const, Node, Struct, Variable

GOAL_CHARS: Final = 1_000
"""How many characters of a goal are told."""
FACT_CHARS: Final = 200
"""How many characters of a term or a value are told."""
FIRED_MAX: Final = 16
"""How many obligations fall due in a look ahead."""
AHEAD_UNITS: Final = 500
"""What a look ahead may take, all its rulings together."""
FIRED_UNITS: Final = 10
"""What each obligation of it counts at least."""
RULES_MAX: Final = 200
"""How many rules are looked at: to be blamed, and to be named for what they would change."""
COMMENTED_MAX: Final = 20
"""How many goals of a rule are looked at for comments."""
AHEAD_TERMS: Final = 1_000
"""The most terms and obligations that are copied to look ahead."""
NAMED_MAX: Final = 3
"""How many rules are named that would change something."""
_SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 250_000_000_000 * _SECOND


class Remedy(msgspec.Struct, frozen=True):
    """What would change a ruling: an obligation that falls due at a moment, or rules on events."""

    rules: tuple[str, ...]
    words: str
    at: int | None = None
    """When the obligation falls due, in microseconds."""
    origin: Origin | None = None
    """The ruling that imposed it."""


class Reason(msgspec.Struct, frozen=True):
    """Why a ruling is as it is. `sentence` is for people, the rest for programs.

    `origin` is the ruling that the refusal goes back to: it put there what is in the way (`term`),
    or took away what is missing.
    """

    sentence: str
    rule: str = ""
    goal: str = ""
    values: str = ""
    about: str = ""
    term: str = ""
    origin: Origin | None = None
    remedy: Remedy | None = None


# -- words -----------------------------------------------------------------------------------------


def clock(at: int, now: int) -> str:
    """A moment as people say it on a day: the time, UTC, with the date if it is another day.

    >>> clock(36_060_000_000, 40_000_000_000), clock(0, 90_000_000_000)
    ('10:01', '1970-01-01 00:00')
    """
    moment = _EPOCH + timedelta(seconds=max(0, min(at, _LAST)) // _SECOND)
    same_day = at // (86_400 * _SECOND) == now // (86_400 * _SECOND)
    return f"{moment:%H:%M}" if same_day else f"{moment:%Y-%m-%d %H:%M}"


def span(us: int) -> str:
    """A time span in its largest unit.

    >>> span(400_000), span(2_460_000_000), span(7_300_000_000), span(1_000_000)
    ('400 ms', '41 minutes', '2 hours', '1 second')
    """
    if us < _SECOND:
        return f"{max(0, us) // 1000} ms"
    seconds = us // _SECOND
    sizes = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
    size, name = next(one for one in sizes if seconds >= one[0] * (2 if one[0] > 60 else 1))
    count = seconds // size
    return f"{count} {name}" + ("" if count == 1 else "s")


def whose(origin: Origin, home: str, now: int) -> str:
    """Since when something is so, and by what.

    >>> from nomospace.control.origins import Cause
    >>> block = Cause("R11a", "arrived", "mira@ward", "blockLay")
    >>> whose(Origin(7, 36_060_000_000, block), "rolf@ward", 40_000_000_000)
    "since 10:01, by mira's `blockLay` (R11a)"
    """
    if origin.seq == 0:
        return "from the start"
    rule, kind, by, what = origin.cause
    said = f"`{what}`" if what else "message"
    words = {
        "sent": f"by {'its own' if by == home else _called(by) + chr(39) + 's'} {said}",
        "arrived": f"by {_called(by)}'s {said}",
        "submitted": f"by {_called(by)}'s {said}",
        "obligationDue": f"when {said if what else 'an obligation'} fell due",
        "certified": f"by {_called(by)}'s certificate",
        "revoked": f"when {_called(by)}'s certificate ended",
        "adopted": "when it joined",
        "moved": "when it moved",
        "exception": f"after an exception{f' ({what})' if what else ''}",
        "": f"by ruling {origin.seq}",
    }.get(kind, f"on {kind}")
    return f"since {clock(origin.at, now)}, {words}{f' ({rule})' if rule else ''}"


def _called(name: str) -> str:
    return name.partition("@")[0] or "someone"


def values_of(goal: Goal, env: Env) -> str:
    """What the variables of a goal stand for: `K = 0, N = 3`."""
    values: list[str] = []
    nodes = [node for inner in goals_in(goal) for node in nodes_of(inner)]
    for name in dict.fromkeys(variable.name for variable in variables_in(*nodes)):
        if name in env and not name.startswith("_"):
            value = show(close(env[name]), limit=FACT_CHARS)
            if value != "_":
                values.append(f"{name} = {value}")
        if sum(map(len, values)) >= GOAL_CHARS:
            break
    return ", ".join(values)


def goal_text(goal: Goal) -> str:
    """A goal as the law writes it, cut where it is long."""
    text = show_goal(goal, spaced=True)
    return text if len(text) <= GOAL_CHARS else text[: GOAL_CHARS - 1] + "…"


def comment_on(tree: LawTree, rule: Rule, goal: Goal) -> str:
    """What the law's author wrote beside a goal, on its line or right above it.

    A comment behind the rule stands for all its goals where none has one of its own.
    """
    if not any(mark in tree.source.text[rule.span.start : rule.span.end] for mark in "%#"):
        return rule.comment
    goals = [one for one in goals_in(rule.body) if nodes_of(one)][:COMMENTED_MAX]
    own = _beside(tree, rule, goal)
    return own if own or any(_beside(tree, rule, one) for one in goals) else rule.comment


def _beside(tree: LawTree, rule: Rule, goal: Goal) -> str:
    mark = "#" if tree.language == "python" else "%"
    text = tree.source.text
    end = text.find("\n", goal.span.end)
    rest = text[goal.span.end : len(text) if end < 0 else end].lstrip(" \t,;()")
    if rest.startswith(mark) and goal.span.end < rule.span.end:
        return rest.lstrip(mark).strip()
    above: list[str] = []
    lines = text[rule.span.start : goal.span.start].split("\n")
    if not lines[-1].strip(" \t(;"):
        for line in reversed(lines[1:-1]):
            if not line.strip().startswith(mark):
                break
            above.insert(0, line.strip().lstrip(mark).strip())
    return " ".join(above)


# -- what failed -----------------------------------------------------------------------------------


def blamed(traces: Sequence[Trace], ruling: Ruling) -> Trace | None:
    """The rule that came nearest to letting an event pass."""
    found = [
        trace
        for trace in traces[-RULES_MAX:]
        if trace.matched and trace.furthest is not None and trace.rule.name != ruling.rule
        if lets_out(trace.rule, ruling.event.kind)
    ]
    return max(found, key=_progress, default=None)


def _progress(trace: Trace) -> tuple[bool, int, int]:
    """How near a rule came: it names the message, got past goals, and met something alike."""
    goal, head = trace.furthest, trace.rule.args[1:2]
    assert goal is not None
    named = bool(head) and not isinstance(head[0], Variable)
    goals = [one for one in goals_in(trace.rule.body) if nodes_of(one)]
    past = [one for one in goals if one.span.start < goal.span.start and one.span in trace.tried]
    alike = 0
    if isinstance(goal, Unify):
        left, right = [_closed(node, trace.furthest_env) for node in (goal.left, goal.right)]
        if isinstance(left, tuple) and isinstance(right, tuple):
            pairs = zip(left, right, strict=False)
            alike = sum([key_of(one) == key_of(other) for one, other in pairs])
    return named, len(past), alike


def _closed(node: Node, env: Env) -> Term:
    return close(build(node, dict(env)))


class _Fact(msgspec.Struct, frozen=True):
    """What a refusal is about: a term in the way, or a pattern that nothing answers."""

    term: Term
    missing: bool
    owed: bool
    origin: Origin | None


class _Case:
    """One ruling, and the state that it was made on."""

    def __init__(self, member: Membership, ruling: Ruling, state: Bag, owed: Bag) -> None:
        self.member = member
        self.ruling = ruling
        self.state = state
        self.owed = owed
        self.who = _called(ruling.home)

    def fact(self, trace: Trace) -> _Fact | None:
        """What in the state the failure of a rule goes back to."""
        goal, env = trace.furthest, trace.furthest_env
        assert goal is not None
        if isinstance(goal, Sense):
            return self._missing(goal, env)
        last, last_env = trace.inner or (goal, env)
        if isinstance(goal, Not | PredicateCall):  # what was sensed inside it
            for one, its in reversed(trace.sensed):
                if (isinstance(goal, Not) and _within(one, goal)) or _shared(last, one):
                    return self._present(one, its)
            if isinstance(goal, PredicateCall) and isinstance(last, Sense):
                return self._present(last, last_env) or self._missing(last, last_env)
        for one, its in reversed(trace.sensed):
            if _shared(goal, one):
                return self._present(one, its)
        return None

    def _present(self, goal: Sense, env: Env) -> _Fact | None:
        bag = self.owed if goal.obligations else self.state
        try:
            found = bag.find(_closed(goal.pattern, env), [UNITS_MAX - AHEAD_UNITS])
        except Stop:
            return None
        if found is None:
            return None
        place, term = found
        owed = goal.obligations
        origin = self.member.origin(place, owed=owed, before=self.ruling.seq)
        return _Fact(term, False, owed, origin)

    def _missing(self, goal: Sense, env: Env) -> _Fact:
        """Nothing answers a pattern: who took away what did, if that is still in memory."""
        pattern = _closed(goal.pattern, env)
        gone = ("undue",) if goal.obligations else ("-", "<-")
        for ruling in reversed(self.member.history()):
            if ruling.seq < self.ruling.seq:
                for kind, _, old, _ in reversed(ruling.delta):
                    if kind in gone and _answers(pattern, old):
                        return _Fact(pattern, True, goal.obligations, origin_of(ruling))
        return _Fact(pattern, True, goal.obligations, None)

    def said(self, fact: _Fact, now: int) -> str:
        """A fact in words."""
        term = show(fact.term, limit=FACT_CHARS)
        verb = "owes" if fact.owed else "has"
        if not fact.missing and not fact.owed and isinstance(fact.term, str):
            verb = "is"
        words = f"{self.who} {verb} {'no ' if fact.missing else ''}{term}"
        if fact.origin is None or fact.origin == START:
            return words
        return f"{words} {whose(fact.origin, self.ruling.home, now)}"


def _answers(pattern: Term, term: Term) -> bool:
    return key_of(pattern) == key_of(term) and (same(pattern, term) or match(pattern, term))


def _within(one: Goal, goal: Goal) -> bool:
    return goal.span.start <= one.span.start and one.span.end <= goal.span.end


def _shared(goal: Goal, sense: Sense) -> bool:
    """Whether a goal speaks of what was sensed."""
    names = {variable.name for variable in variables_in(*nodes_of(goal))}
    return any(variable.name in names for variable in variables_in(sense.pattern))


# -- what would change it --------------------------------------------------------------------------


def _ahead(
    member: Membership, ruling: Ruling, state: Bag, owed: Bag, *, held: bool
) -> Remedy | None:
    """Let obligations fall due on a copy until the message would go out."""
    if state.size + owed.size > AHEAD_TERMS or not owed.size:
        return None
    assert isinstance(owed, Obligations)
    fork = Membership(member.law, member.home, state=())
    fork.state, fork.obligations = state.copy(), owed.copy()
    fork.seq = ruling.seq
    event, left = ruling.event, AHEAD_UNITS
    for _ in range(FIRED_MAX):
        soonest = fork.obligations.soonest()
        if soonest is None or fork.ended or left <= 0:
            return None
        due, place, term = soonest
        now = max(due, ruling.at)
        imposed = member.origin(place, owed=True, before=ruling.seq + held)
        try:
            effects = fork.fire(place, now=now, slice=left)
            left -= max(FIRED_UNITS, fork.spent)
            if held:
                passes = any(
                    isinstance(one, Forward | Release) and same(one.message, event.args[1])
                    for one in effects
                )
            else:
                units = [UNITS_MAX - left]
                case = event.kind, fork.home, event.args, fork.state, fork.obligations, now
                outcome = member.law.interpreter.rule(*case, units, rate=1)
                left = UNITS_MAX - units[0]
                passes = outcome is not None and _passes(event.kind, outcome[1])
        except (BudgetCut, Stop):
            return None
        if passes:
            rule = next((one.rule for one in reversed(fork.history()) if one.rule), "") or ""
            name = show(term, limit=FACT_CHARS)
            words = f"in {span(now - ruling.at)}, when {name} falls due ({rule})"
            return Remedy((rule,), words, now, imposed)
    return None


def _passes(kind: str, operations: tuple[Term, ...]) -> bool:
    if kind == "sent":
        return goes_out(operations)
    return any(getattr(one, "name", "") == "deliver" for one in operations)


def _changers(tree: LawTree, fact: _Fact, failed: Rule) -> Remedy | None:
    """The rules that would put what is missing there, or take away what is in the way."""
    wanted = key_of(fact.term)
    found = [
        rule
        for rule in tree.rules[:RULES_MAX]
        if rule.name != failed.name and (_said_of(rule) or len(rule.args) < 3)
        if any(wanted in _makes(rule, goal, fact) for goal in goals_in(rule.body))
    ]
    if not found:
        return None
    named = [f"{_event_text(rule)} ({rule.name})" for rule in found[:NAMED_MAX]]
    return Remedy(tuple([rule.name for rule in found]), " or ".join(named))


def _makes(rule: Rule, goal: Goal, fact: _Fact) -> tuple[str, ...]:
    """What a goal puts where a fact is missing, or else takes away, by name and arity."""
    node = goal.operation if isinstance(goal, Do) else None
    if not isinstance(node, Struct):
        return ()
    names = ["+" if fact.missing else "-", "<-", "incr", "dcr"]
    if fact.owed:
        names = ["imposeObligation" if fact.missing else "repealObligation"]
    if node.name not in names:
        return ()
    what = node.args[-1 if fact.missing and node.name == "<-" else 0]
    if not isinstance(what, Variable):
        return (_key(what),)
    sides = [(one.left, one.right) for one in goals_in(rule.body) if isinstance(one, Unify)]
    kinds = [_key(other) for one, other in sides if _is(one, what)]
    return tuple(kinds or ([key_of(fact.term)] if rule.event == "certified" else []))


def _is(node: Node, variable: Variable) -> bool:
    return isinstance(node, Variable) and node.name == variable.name


def _key(node: Node) -> str:
    if isinstance(node, Struct):
        return f"{node.name}/{len(node.args)}"
    return key_of(node.value) if isinstance(node, Const) else ""


def _event_text(rule: Rule, who: str = "") -> str:
    """The event of a rule in words: "an arriving `blockLay`"."""
    name = _said_of(rule)
    said = f"`{name}`" if name else "message"
    return {
        "sent": f"sending {said if name else 'a message'}",
        "arrived": f"{who + chr(39) + 's' if who else 'an arriving'} {said}",
        "submitted": f"a submitted {said}",
        "obligationDue": f"{said if name else 'an obligation'} falling due",
        "certified": "a certificate",
        "revoked": "the end of a certificate",
        "adopted": "joining anew",
    }.get(rule.event, rule.event)


def _said_of(rule: Rule) -> str:
    """The name of the message, or of the obligation, that a rule is about."""
    about = rule.args[1] if len(rule.args) == 3 else rule.args[0] if rule.args else None
    if isinstance(about, Const):
        return show_node(about)
    return about.name if isinstance(about, Struct) else ""


def _waits(tree: LawTree, ruling: Ruling, facts: bool) -> str:
    """What a message waits for that is held in the state: the rules that would send it on."""
    named: list[str] = []
    for kind, _, old, new in ruling.delta:
        kept = {"+": old, "<-": new}.get(kind)
        if not isinstance(kept, Compound):
            continue
        for rule in tree.rules[:RULES_MAX]:
            goals = list(goals_in(rule.body))
            sensed = [one.pattern for one in goals if isinstance(one, Sense)]
            patterns = [one for one in sensed if _key(one) == key_of(kept)]
            if patterns and any(operation_name(one) in ("forward", "release") for one in goals):
                if rule.event == "sent" and len(tree.rules) > 1:
                    continue
                who = _named(rule, patterns[0], kept) if facts else ""
                text = f"{_event_text(rule, who)} ({rule.name})"
                if text not in named:
                    named.append(text)
    return " or ".join(named[:NAMED_MAX])


def _named(rule: Rule, pattern: Node, kept: Compound) -> str:
    """Whom a rule waits for, where what is kept names it."""
    if rule.event != "arrived" or not isinstance(pattern, Struct):
        return ""
    sender = rule.args[0].name if isinstance(rule.args[0], Variable) else ""
    for node, value in zip(pattern.args, kept.args, strict=True):
        if isinstance(node, Variable) and node.name == sender and isinstance(value, str):
            return value
    return ""


# -- the sentence ----------------------------------------------------------------------------------

STOPPED: Final = {
    "budget": "the evaluation went past its budget",
    "tooLarge": "something grew too large",
    "typeError": "an operation met a value of the wrong type",
    "notGround": "something that must have a value had none",
    "notLocal": "an operation was not local to the home agent",
}


def verdict_on(ruling: Ruling, level: str = "all") -> str:
    """What became of an event, as far as the ruling alone tells; under `none` without the rule."""
    if ruling.stopped is not None:
        return f"no ruling: {STOPPED.get(ruling.stopped, ruling.stopped)}"
    by = "" if ruling.rule is None else " by the law" if level == "none" else f" by {ruling.rule}"
    if ruling.event.kind != "sent":
        return f"ruled{by}" if by else "no rule applies, so the event has no effect"
    if goes_out(ruling.operations):
        only = False
        for operation in ruling.operations:
            name = getattr(operation, "name", "")
            if name == "forward" or name == "multicast":
                only = False
                break
            only |= name == "release"
        return f"{'released' if only else 'forwarded'}{by}"
    if ruling.delta:
        return f"held{by}: nothing is sent yet"
    return f"refused{by}: nothing is sent" if by else "refused: no rule lets it through"


def reason(
    member: Membership,
    ruling: Ruling,
    traces: Sequence[Trace],
    *,
    level: str,
    state: Bag | None = None,
    owed: Bag | None = None,
) -> Reason:
    """The one sentence on a ruling, with what it is made of; as much as `level` lets be told."""
    verdict = verdict_on(ruling, level)
    event = ruling.event
    stays = ruling.stopped is None and not _passes(event.kind, ruling.operations)
    if level == "none" or not stays or state is None or owed is None:
        return Reason(_capital(verdict) if stays and event.kind == "sent" else verdict)
    by = f" by {ruling.rule}" if ruling.rule else ""
    if event.kind == "sent" and ruling.delta:
        return _held(member, ruling, level, by)
    if event.kind != "sent" and (ruling.rule is not None or event.kind != "arrived"):
        return Reason(verdict)
    lead = f"Refused{by}" if event.kind == "sent" else "Not let in"
    trace = blamed(traces, ruling)
    if trace is None:
        about = _name_of(event.args[1])
        if ruling.rule is not None:
            return Reason(f"{lead}, which sends nothing on", rule=ruling.rule)
        lets = "lets it through" if any(one.matched for one in traces) else f"speaks of {about}"
        return Reason(f"{lead}: no rule {lets}")
    goal, rule, tree = trace.furthest, trace.rule, member.law.tree
    assert goal is not None
    text, comment = goal_text(goal), comment_on(tree, rule, goal)
    case = _Case(member, ruling, state, owed)
    fact = case.fact(trace)
    changers = None if fact is None else _changers(tree, fact, rule)
    if level != "all":
        remedy = None if changers is None else Remedy(changers.rules, changers.words)
        also = f"; {remedy.words} would change that" if remedy is not None else ""
        sentence = f"{lead}: {text} fails in {rule.name}{also}"
        return Reason(sentence, rule.name, text, about=comment, remedy=remedy)
    remedy = _ahead(member, ruling, state, owed, held=False)
    values = values_of(goal, trace.furthest_env)
    fails = f"{text} fails in {rule.name}{f' where {values}' if values else ''}"
    origin = None if fact is None else fact.origin
    if fact is None:
        said = fails
    elif isinstance(goal, Sense) or (isinstance(goal, Not) and not fact.missing):
        said = case.said(fact, ruling.at)
    else:
        said = f"{fails}; {case.said(fact, ruling.at)}"
    if fact is not None and fact.missing and origin is None and remedy is not None:
        origin = remedy.origin
        if origin is not None and origin.seq:
            said += f" {whose(origin, ruling.home, ruling.at)}"
    if remedy is not None:
        said += f"; it passes {remedy.words}"
    elif changers is not None:
        remedy, said = changers, f"{said}; {changers.words} would change that"
    term = "" if fact is None else show(fact.term, limit=FACT_CHARS)
    return Reason(f"{lead}: {said}", rule.name, text, values, comment, term, origin, remedy)


def _held(member: Membership, ruling: Ruling, level: str, by: str) -> Reason:
    """For whom or what a message waits that is held."""
    remedy: Remedy | None = None
    waits = _waits(member.law.tree, ruling, level == "all")
    if level == "all":
        with suppress(TooOld, TooMuchState):
            remedy = _ahead(member, ruling, *member.before(ruling.seq + 1), held=True)
    if remedy is not None:
        waits = f"it goes {remedy.words}"
    else:
        waits = f"it waits for {waits}" if waits else "nothing is sent yet"
    return Reason(f"Held{by}: {waits}", ruling.rule or "", remedy=remedy)


def _name_of(term: Term) -> str:
    name = term.name if isinstance(term, Compound) else term
    return f"`{name[:FACT_CHARS]}`" if isinstance(name, str) else "such a message"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
