"""What changed between two laws, rule by rule.

Rules are matched first when they say the same under the same label, then when they say the same
(a rule that only got another label), then by label, and what is left by event, message and the
goals they share. Two clauses say the same when they differ in nothing but the names of their
variables. Clauses of helper predicates are matched in the same way, within their predicate.

A new name for a variable or a rule gives a law another hash and leaves its meaning as it was;
`LawDiff.meaning_kept` tells such changes from the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias

import msgspec

from nomospace.law import tree
from nomospace.law.canon import law_hash, preamble_clauses
from nomospace.law.render import goal_node, head_node, show_clause, show_goal, show_head, show_node
from nomospace.terms import Compound, Term, show
from nomospace.terms.source import NOWHERE
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, fold

SIMILARITY_MIN: Final = 0.5
"""The share of head and goals that two clauses without a common label must have in common."""
CANDIDATES_MAX: Final = 50
"""How many clauses are looked at, nearest first, to find the one that became another."""

Data: TypeAlias = dict[str, object]


class PreambleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A clause of the preamble that came, went (the other is `None`) or says something else."""

    what: str
    old: str | None
    new: str | None


class ClauseChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one rule, or of one clause of a helper predicate.

    `kinds`: `added` or `removed`; or any of `changed`, `variables`, `label`, `moved`.
    `goals` has the lines of a changed clause, each after `-`, `+` or a space.
    """

    kinds: tuple[str, ...]
    old_name: str | None
    new_name: str | None
    old: str | None
    new: str | None
    goals: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    places: tuple[int, int] | None = None  # of a moved clause, counted from 1


class LawDiff(msgspec.Struct, frozen=True, kw_only=True):
    """All that changed. `meaning_kept` is true only when it is certain."""

    names: tuple[str, str]
    hashes: tuple[str, str]
    preamble: tuple[PreambleChange, ...]
    rules: tuple[ClauseChange, ...]
    helpers: tuple[ClauseChange, ...]
    meaning_kept: bool

    @property
    def same(self) -> bool:
        """Whether the two laws have one hash."""
        return self.hashes[0] == self.hashes[1]

    def render(self) -> str:
        """The change as a person wants to read it."""
        return "\n".join(_render(self)) + "\n"

    def to_data(self) -> Data:
        """The change as plain data, for JSON."""
        return {
            "same": self.same,
            "meaning_kept": self.meaning_kept,
            "old": {"name": self.names[0], "hash": self.hashes[0]},
            "new": {"name": self.names[1], "hash": self.hashes[1]},
            "preamble": msgspec.to_builtins(self.preamble),
            "rules": msgspec.to_builtins(self.rules),
            "helpers": msgspec.to_builtins(self.helpers),
        }


def diff_laws(old: tree.LawTree, new: tree.LawTree) -> LawDiff:
    """Compare two laws.

    >>> from nomospace.law.parse import parse
    >>> from nomospace.terms import Source
    >>> one, _ = parse(Source("law(l). R1. sent(X, M, Y) :- ok@CS, do(forward)."))
    >>> two, _ = parse(Source("law(l). R1. sent(X, M, Y) :- fine@CS, do(forward)."))
    >>> diff_laws(one, two).rules[0].goals[1:3]
    (('-', '    ok@CS'), ('+', '    fine@CS'))
    """
    hashes = law_hash(old), law_hash(new)
    preamble = tuple(_preamble(old, new))
    rules, rules_kept = _clauses(_items(old.rules), _items(new.rules))
    helpers: list[ClauseChange] = []
    kept = rules_kept and not preamble
    for key in sorted({*old.helpers, *new.helpers}):
        changes, same = _clauses(_items(old.helpers.get(key, ())), _items(new.helpers.get(key, ())))
        helpers += changes
        kept = kept and same
    return LawDiff(
        names=(old.name, new.name),
        hashes=hashes,
        preamble=preamble,
        rules=tuple(rules),
        helpers=tuple(helpers),
        meaning_kept=kept or hashes[0] == hashes[1],
    )


# -- preamble ------------------------------------------------------------------------------


def _preamble(old: tree.LawTree, new: tree.LawTree) -> Iterator[PreambleChange]:
    before, after = _by_word(old), _by_word(new)
    for what in [*before, *(word for word in after if word not in before)]:
        if before.get(what) != after.get(what):
            yield PreambleChange(what=what, old=before.get(what), new=after.get(what))


def _by_word(law: tree.LawTree) -> dict[str, str]:
    return {_word(clause): show(clause, spaced=True) for clause in preamble_clauses(law)}


def _word(clause: Term) -> str:
    if not isinstance(clause, Compound):
        return str(clause)
    return f"authority {show(clause.args[0])}" if clause.name == "authority" else clause.name


# -- clauses -------------------------------------------------------------------------------


class _Item(msgspec.Struct, eq=False):
    """A clause with what it is compared by."""

    clause: tree.Rule | tree.Clause
    place: int
    name: str
    label: str | None
    bucket: tuple[object, ...]
    text: str  # without its label
    says: str  # the same, with variables numbered as they come
    parts: Counter[str] = msgspec.field(default_factory=Counter)


def _items(clauses: Sequence[tree.Rule | tree.Clause]) -> list[_Item]:
    found = []
    for place, clause in enumerate(clauses, 1):
        head, body = head_node(clause), goal_node(clause.body)
        if isinstance(clause, tree.Rule):
            name = clause.name
            bucket: tuple[object, ...] = (clause.event, *_functor(clause))
        else:
            name = f"{clause.name}/{len(clause.args)} clause {place}"
            bucket = (clause.name, len(clause.args))
        whole = Struct(":-", (head, body), NOWHERE, 1)
        parts = Counter([show_head(clause), *(show_goal(goal) for goal in _goals(clause.body))])
        text, says = show_node(whole), show_node(_numbered(whole))
        found.append(_Item(clause, place, name, clause.label, bucket, text, says, parts))
    return found


def _functor(rule: tree.Rule) -> tuple[object, ...]:
    """Name and arity of what a rule is about: the message, the obligation, the certificate."""
    if not rule.args:
        return ()
    about = rule.args[1] if len(rule.args) == 3 else rule.args[0]
    if isinstance(about, Struct):
        return about.name, len(about.args)
    return (about.value, 0) if isinstance(about, Const) else ()


def _goals(body: tree.Goal) -> tuple[tree.Goal, ...]:
    return body.goals if isinstance(body, tree.Conj) else (body,)


def _numbered(node: Node) -> Node:
    """A node with its variables numbered in order; those with a meaning of their own stay."""
    numbers: dict[object, int] = {}

    def leaf(item: Const | Variable) -> Node:
        if isinstance(item, Const) or item.name in tree.SPECIAL:
            return item
        known: object = item if item.name == "_" else item.name  # each `_` is one of its own
        return Variable(f"_{numbers.setdefault(known, len(numbers) + 1)}", NOWHERE)

    def join(item: Struct | ListSyntax, parts: tuple[Node, ...]) -> Node:
        if isinstance(item, Struct):
            return Struct(item.name, parts, NOWHERE, 1)
        if item.tail is None:
            return ListSyntax(parts, None, NOWHERE)
        return ListSyntax(parts[:-1], parts[-1], NOWHERE)

    return fold(node, leaf, join)


def _clauses(old: list[_Item], new: list[_Item]) -> tuple[list[ClauseChange], bool]:
    """The changes in the order of the new text, what went last; and whether meaning is kept."""
    pairs = _match(old, new)
    partner = {id(after): before for before, after in pairs}
    in_order = [(partner[id(item)], item) for item in new if id(item) in partner]
    moved = _moved(in_order)
    matched = {id(before) for before, _ in pairs}
    changes: list[ClauseChange] = []
    for item in new:
        before = partner.get(id(item))
        if before is None:
            changes.append(_one_sided("added", item))
        else:
            change = _compare(before, item, id(item) in moved)
            if change.kinds:
                changes.append(change)
    changes += [_one_sided("removed", item) for item in old if id(item) not in matched]
    kept = all({"variables", "label", "moved"}.issuperset(change.kinds) for change in changes)
    return changes, kept and _order_kept(in_order)


def _match(old: list[_Item], new: list[_Item]) -> list[tuple[_Item, _Item]]:
    pairs: list[tuple[_Item, _Item]] = []
    for key in (
        lambda item: (item.label, item.says),
        lambda item: item.says,
        lambda item: item.label,
    ):
        waiting: dict[object, list[_Item]] = {}
        for item in reversed(new):
            waiting.setdefault(key(item), []).append(item)
        left = []
        for item in old:
            found = waiting.get(key(item)) if key(item) is not None else None
            if found:
                pairs.append((item, found.pop()))
            else:
                left.append(item)
        taken = {id(after) for _, after in pairs}
        old, new = left, [item for item in new if id(item) not in taken]
    return pairs + _match_alike(old, new)


def _match_alike(old: list[_Item], new: list[_Item]) -> list[tuple[_Item, _Item]]:
    """Pairs that share enough of their head and goals, each with its best partner."""
    pairs = []
    buckets: dict[tuple[object, ...], list[_Item]] = {}
    for item in new:
        buckets.setdefault(item.bucket, []).append(item)
    for item in old:
        waiting = buckets.get(item.bucket, [])
        middle = bisect_left([other.place for other in waiting], item.place)
        start = max(0, middle - CANDIDATES_MAX // 2)
        best, found = SIMILARITY_MIN, None
        for other in waiting[start : start + CANDIDATES_MAX]:
            common = (item.parts & other.parts).total()
            score = 2 * common / (item.parts.total() + other.parts.total())
            if score > best or (score == best and found is None):
                best, found = score, other
        if found is not None:
            waiting.remove(found)
            pairs.append((item, found))
    return pairs


def _moved(pairs: list[tuple[_Item, _Item]]) -> set[int]:
    """The new clauses that are not on the longest run of pairs whose order is kept."""
    tails: list[int] = []  # old place that ends the best run of each length
    ends: list[int] = []  # index of that pair
    previous: list[int] = []
    for index, (before, _) in enumerate(pairs):
        at = bisect_left(tails, before.place)
        previous.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [before.place]
        ends[at : at + 1] = [index]
    kept: set[int] = set()
    index = ends[-1] if ends else -1
    while index >= 0:
        kept.add(index)
        index = previous[index]
    return {id(after) for index, (_, after) in enumerate(pairs) if index not in kept}


def _order_kept(pairs: list[tuple[_Item, _Item]]) -> bool:
    """Whether rules for the same event, or clauses of a predicate, kept their order."""
    last: dict[object, int] = {}
    for before, _ in pairs:
        kind = before.bucket[0]
        if before.place < last.get(kind, 0):
            return False
        last[kind] = before.place
    return True


def _one_sided(kind: str, item: _Item) -> ClauseChange:
    text = show_clause(item.clause, spaced=True)
    if kind == "added":
        return ClauseChange(kinds=(kind,), old_name=None, new_name=item.name, old=None, new=text)
    return ClauseChange(kinds=(kind,), old_name=item.name, new_name=None, old=text, new=None)


def _compare(old: _Item, new: _Item, moved: bool) -> ClauseChange:
    kinds: list[str] = []
    goals: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    if old.says != new.says:
        kinds.append("changed")
        goals = tuple(_line_changes(_lines(old.clause), _lines(new.clause)))
    elif old.text != new.text:
        kinds.append("variables")
        pairs = zip(_variables(old.clause), _variables(new.clause), strict=True)
        renamed = tuple(dict.fromkeys((a, b) for a, b in pairs if a != b))
    if old.label != new.label:
        kinds.append("label")
    if moved:
        kinds.append("moved")
    return ClauseChange(
        kinds=tuple(kinds),
        old_name=old.name,
        new_name=new.name,
        old=show_clause(old.clause, spaced=True),
        new=show_clause(new.clause, spaced=True),
        goals=goals,
        renamed=renamed,
        places=(old.place, new.place) if moved else None,
    )


def _variables(clause: tree.Rule | tree.Clause) -> list[str]:
    return [v.name for v in tree.variables_in(head_node(clause), goal_node(clause.body))]


def _lines(clause: tree.Rule | tree.Clause) -> list[str]:
    head = show_head(clause, spaced=True)
    if isinstance(clause.body, tree.TrueGoal):
        return [head]
    return [f"{head} :-", *_goal_lines(clause.body, 1)]


def _goal_lines(goal: tree.Goal, level: int) -> Iterator[str]:
    """A goal a line, branches too, so that a change inside a conditional shows as itself."""
    indent = "    " * level
    if isinstance(goal, tree.Conj):
        for part in goal.goals:
            yield from _goal_lines(part, level)
    elif isinstance(goal, tree.Disj):
        for index, part in enumerate(goal.goals):
            yield indent + (";" if index else "(")
            yield from _goal_lines(part, level + 1)
        yield indent + ")"
    elif isinstance(goal, tree.If):
        yield indent + "("
        yield from _goal_lines(goal.condition, level + 1)
        yield indent + "->"
        yield from _goal_lines(goal.then, level + 1)
        if goal.otherwise is not None:
            yield indent + ";"
            yield from _goal_lines(goal.otherwise, level + 1)
        yield indent + ")"
    else:
        yield indent + show_node(goal_node(goal), spaced=True)


def _line_changes(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in old[a:b])
        else:
            yield from (("-", line) for line in old[a:b])
            yield from (("+", line) for line in new[c:d])


# -- showing -------------------------------------------------------------------------------


def _render(diff: LawDiff) -> Iterator[str]:
    if diff.same:
        yield f"the laws are the same: {diff.hashes[0]}"
        return
    yield f"--- {diff.names[0]} {diff.hashes[0]}"
    yield f"+++ {diff.names[1]} {diff.hashes[1]}"
    if diff.preamble:
        yield "preamble"
        for change in diff.preamble:
            yield from (f"  - {text}" for text in (change.old,) if text is not None)
            yield from (f"  + {text}" for text in (change.new,) if text is not None)
    for title, changes in (("rules", diff.rules), ("helpers", diff.helpers)):
        if changes:
            yield title
        for clause in changes:
            yield f"  {_title(clause)}"
            if "added" in clause.kinds:
                yield f"    + {clause.new}"
            elif "removed" in clause.kinds:
                yield f"    - {clause.old}"
            yield from (f"    {sign} {line}" for sign, line in clause.goals)
    if diff.meaning_kept:
        yield "the hash changes, the meaning does not"


def _title(change: ClauseChange) -> str:
    if change.old_name is None or change.new_name is None:
        return f"{change.new_name or change.old_name} {change.kinds[0]}"
    words = []
    if "changed" in change.kinds:
        words.append("changed")
    if "variables" in change.kinds:
        names = ", ".join(f"{old} is now {new}" for old, new in change.renamed)
        words.append(f"only variables renamed: {names}")
    if "label" in change.kinds:
        words.append(f"relabelled, was {change.old_name}")
    if change.places is not None:
        words.append(f"moved from place {change.places[0]} to {change.places[1]}")
    return f"{change.new_name} " + "; ".join(words)
