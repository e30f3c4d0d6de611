"""Whole laws, and the events, states and budgets that they are tried on.

`make_law` writes a law as text, with every construct of the language in it sooner or later;
`make_cases` draws events that its heads often take, states in which its senses often hold, and
budgets that run out anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from nomospace.law.prelude import UNITS_MAX
from nomospace.law.tree import EVENTS, LawTree, Rule
from nomospace.terms import Term, quote
from nomospace_lab.testing.generate.goals import GoalWriter
from nomospace_lab.testing.generate.library import HUNGRY, LIBRARY, Helper
from nomospace_lab.testing.generate.shapes import (
    AGENT,
    AGENTS_LIST,
    ANY,
    ANY_LIST,
    ATOM,
    CERTIFICATE,
    HEAVY_SHARE,
    HOME,
    NUMBER,
    WORDS,
    TermSort,
    aim,
    draw,
    random_shape,
    random_struct,
    struct,
)
from nomospace_lab.testing.generate.terms import ClauseScope, Vocabulary

LAW_NAME: Final = "drawn"
MESSAGE_EVENTS: Final = ("sent", "arrived", "submitted")
OTHER_EVENTS: Final = tuple(name for name in EVENTS if name not in MESSAGE_EVENTS)
UNITS_USUAL: Final = 4_000
"""What most cases may spend: enough for all but the laws that would spend any budget."""


class EventCase(NamedTuple):
    """One event at one state, with the units that are spent before it."""

    event: str
    args: tuple[Term, ...]
    state: tuple[Term, ...]
    obligations: tuple[Term, ...]
    now: int
    spent: int


@dataclass(slots=True)
class GeneratedLaw:
    """A law's text and what its author had in mind."""

    text: str
    words: Vocabulary
    hungry: bool


def make_law(rng: Random, *, large: bool = False) -> GeneratedLaw:
    """A law of a few rules and helpers; with `large`, some are about large constants."""
    words = _vocabulary(rng)
    writer = GoalWriter(rng, words, large=large)
    hungry = rng.random() < 0.06
    lines = _helpers(rng, writer, hungry)
    rules = [_rule(rng, writer, number) for number in range(rng.randint(4, 7))]
    if rng.random() < 0.1:
        rules += _crowd(rng, writer)
        rng.shuffle(rules)
    lines = [f"law({LAW_NAME}).", *rules, *lines]
    return GeneratedLaw("\n".join(lines) + "\n", words, hungry)


def _vocabulary(rng: Random) -> Vocabulary:
    counter = struct(rng.choice(("quota", "count")), NUMBER)
    messages = [random_struct(rng) for _ in range(3)]
    messages += [TermSort("word", rng.choice(WORDS)), random_shape(rng)]
    facts = [random_struct(rng) for _ in range(rng.choice((2, 3)))]
    facts += [counter, counter, TermSort("word", "flag")]
    obligations = [struct("expire", ATOM, struct("med", AGENT)), random_struct(rng)]
    obligations.append(TermSort("word", "refill"))
    return Vocabulary(tuple(messages), tuple(facts), tuple(obligations), counter)


def _helpers(rng: Random, writer: GoalWriter, hungry: bool) -> list[str]:
    """A few predicates of the library, and a few written for this law."""
    writer.helpers = rng.sample(LIBRARY, 3)
    lines = [helper.text for helper in writer.helpers]
    for number in range(rng.choice((0, 1, 2))):
        helper = _own_helper(rng, writer, number)
        lines.append(helper.text)
        writer.helpers.append(helper)
    if hungry:
        greedy = rng.choice(HUNGRY)
        lines.append(greedy.text)
        writer.helpers += [greedy] * 6
    return lines


def _own_helper(rng: Random, writer: GoalWriter, number: int) -> Helper:
    """A predicate with some values given and some to find."""
    modes = rng.choice(("+", "-", "+-", "+-", "++-", "-+", "+?"))
    shapes = tuple([random_shape(rng, 1) for _ in modes])
    acts = rng.random() < 0.4
    clauses = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        scope = ClauseScope(message=False, acts=acts)
        heads = [
            writer.pattern(scope, shape, constants=0.1) if mode == "+" else ""
            for mode, shape in zip(modes, shapes, strict=True)
        ]
        body = writer.body(scope, 1, rng.choice((0, 1, 2)), int(acts and rng.random() < 0.7))
        for at, (mode, shape) in enumerate(zip(modes, shapes, strict=True)):
            if mode == "-":
                # Given in the head, or bound by a last goal.
                heads[at] = value = writer.expression(scope, shape)
                if rng.random() < 0.4:
                    heads[at] = writer.new(scope)
                    body += f", {heads[at]} = {value}"
            elif mode == "?":
                heads[at] = writer.pattern(scope, shape, constants=0)
        clauses.append(f"own{number}({', '.join(heads)}) :- {body}.")
    return Helper(f"own{number}", modes, shapes, " ".join(clauses), acts)


def _rule(rng: Random, writer: GoalWriter, number: int) -> str:
    event = rng.choice(MESSAGE_EVENTS[:2] if rng.random() < 0.65 else (*OTHER_EVENTS, "submitted"))
    scope = ClauseScope(event in MESSAGE_EVENTS)
    head = _head(rng, writer, scope, event)
    body = writer.body(scope, 2, rng.choice((0, 1, 2, 2, 3)), rng.choice((1, 1, 2)))
    label = f"R{number}. " if rng.random() < 0.7 else ""
    return f"{label}{head} :- {body}."


def _crowd(rng: Random, writer: GoalWriter) -> list[str]:
    """Rules for one message that differ in the constants of their heads."""
    event = rng.choice(("sent", "arrived", "obligationDue"))
    words = writer.words.obligations if event == "obligationDue" else writer.words.messages
    shape = rng.choice([shape for shape in words if shape.sort == "struct"])
    rules = []
    for _ in range(rng.randint(5, 10)):
        scope = ClauseScope(event in MESSAGE_EVENTS)
        parts = [
            writer.pattern(scope, part, constants=0.1 if part.parts else 0.7)
            for part in shape.parts
        ]
        text = f"{quote(shape.name)}({','.join(parts)})"
        head = f"{event}({text})" if event == "obligationDue" else f"{event}(_, {text}, _)"
        rules.append(f"{head} :- {writer.body(scope, 1, rng.choice((0, 0, 1)), 1)}.")
    return rules


def _head(rng: Random, writer: GoalWriter, scope: ClauseScope, event: str) -> str:
    if not EVENTS[event]:
        return event
    if event not in MESSAGE_EVENTS:
        shapes = event_shapes(rng, writer.words, event)
        args = [writer.pattern(scope, shape, constants=0.1) for shape in shapes]
        return f"{event}({', '.join(args)})"
    message = rng.choice(writer.words.messages)
    home = rng.choice(("Self", "_")) if rng.random() < 0.3 else writer.bind(scope, AGENT)
    peer_shape = rng.choice((AGENT, AGENT, AGENTS_LIST)) if event == "sent" else AGENT
    peer = rng.choice(("Peer", home))
    if rng.random() < 0.85:
        peer = writer.pattern(scope, peer_shape, constants=0.1)
    text = "Msg" if rng.random() < 0.1 else writer.pattern(scope, message, constants=0.1)
    args = [home, text, peer] if event == "sent" else [peer, text, home]
    return f"{event}({', '.join(args)})"


def event_shapes(rng: Random, words: Vocabulary, event: str) -> tuple[TermSort, ...]:
    """What the arguments of an event look like."""
    message = rng.choice(words.messages)
    if event == "sent":
        return AGENT, message, rng.choice((AGENT, AGENT, AGENTS_LIST))
    if event in ("arrived", "submitted"):
        return AGENT, message, AGENT
    if event == "obligationDue":
        return (rng.choice(words.obligations),)
    if event in ("certified", "revoked"):
        return (CERTIFICATE,)
    if event == "exception":
        return rng.choice((ANY, struct("forward", AGENT, message, AGENT))), ATOM
    if event == "adopted":
        return (ANY_LIST,)
    return (ATOM, ATOM) if event == "moved" else ()


# -- cases -----------------------------------------------------------------------------------


def make_cases(rng: Random, draft: GeneratedLaw, law: LawTree, count: int) -> Iterator[EventCase]:
    """Events for a law: most are aimed at one of its rules."""
    for _ in range(count):
        event, args = _event(rng, draft, law)
        state = _terms(rng, draft.words.facts)
        obligations = _terms(rng, draft.words.obligations)
        now = rng.choice((0, 5_000_000, 1_500_000, rng.randrange(10**12)))
        yield EventCase(event, args, state, obligations, now, UNITS_MAX - _units(rng, draft.hungry))


def _units(rng: Random, hungry: bool) -> int:
    """What a case may spend."""
    roll = rng.random()
    if roll < 0.12:
        return rng.randint(0, 12)
    if roll < 0.2:
        return rng.randint(0, 300)
    return rng.choice((400, 1_500, UNITS_USUAL)) if hungry else UNITS_USUAL


def _event(rng: Random, draft: GeneratedLaw, law: LawTree) -> tuple[str, tuple[Term, ...]]:
    if rng.random() < 0.06:
        event = rng.choice(list(EVENTS))
        args = [draw(rng, shape) for shape in event_shapes(rng, draft.words, event)]
    else:
        rule = rng.choice(law.rules)
        event, args = rule.event, _aimed(rng, draft.words, rule)
    if event in MESSAGE_EVENTS:
        args[0 if event == "sent" else 2] = HOME
        peer = 2 if event == "sent" else 0
        if event != "sent" and not isinstance(args[peer], str):
            args[peer] = "bob@x"
    return event, tuple(args)


def _aimed(rng: Random, words: Vocabulary, rule: Rule) -> list[Term]:
    """Arguments that a rule's head takes, if its variables agree with where they come from."""
    values: dict[str, Term] = {"Self": HOME}
    shapes = event_shapes(rng, words, rule.event)
    if rule.event in MESSAGE_EVENTS:
        name = getattr(rule.args[1], "name", "")
        fitting = [s for s in words.messages if s.name == name and s.parts] or words.messages
        count = len(getattr(rule.args[1], "args", ()))
        fitting = [s for s in fitting if len(s.parts) == count] or fitting
        shapes = (shapes[0], rng.choice(fitting), shapes[2])
    elif rule.event == "obligationDue":
        name = getattr(rule.args[0], "name", "")
        shapes = (rng.choice([s for s in words.obligations if s.name == name] or [ANY]),)
    return [aim(rng, node, shape, values) for node, shape in zip(rule.args, shapes, strict=True)]


def _terms(rng: Random, shapes: tuple[TermSort, ...]) -> tuple[Term, ...]:
    """A few terms of most shapes, seldom many: then sensing goes through an index."""
    found: list[Term] = []
    for shape in shapes:
        count = rng.choice((0, 1, 1, 2, 3))
        if rng.random() < 0.02:
            count = rng.randint(13, 30)
        oddity = 0.08 if shape.parts == (NUMBER,) else 0.03  # counters that hold no number
        found += [draw(rng, shape, oddity, HEAVY_SHARE) for _ in range(count)]
    if rng.random() < 0.1:
        found.append(draw(rng, ANY))
    rng.shuffle(found)
    return tuple(found)
