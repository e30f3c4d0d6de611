"""A community as one sees it at all hosts of a console: members, counts and duties put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from nomospace.api.published import LawView, MemberView, NotSeen
from nomospace.api.service import Service
from nomospace.console.places.listing import Row

MEMBERS_MAX: Final = 1_000
"""How many members one page has, of each host."""
OWED_MAX: Final = 200
"""How many obligations one page shows, the soonest due."""
CHIPS_MAX: Final = 8
"""How many terms of a control state are shown as chips."""
CHIP_CHARS_MAX: Final = 160


class CommunityEntry(NamedTuple):
    """A community in the list of them."""

    law: str
    name: str
    members: int
    obligations: int


class Hits(NamedTuple):
    """How often the rules of a law have ruled at all hosts; `uncounted` records were too old.

    `refused` and `held` are messages that went nowhere.
    """

    rules: dict[str, int]
    unmatched: int
    uncounted: int
    refused: int = 0
    held: int = 0


def communities(services: Mapping[str, Service]) -> list[CommunityEntry]:
    """The laws that have members at any host, by name: they stay where they are."""
    found: dict[str, CommunityEntry] = {}
    for service in services.values():
        for one in service.views.communities():
            was = found.get(one.law, CommunityEntry(one.law, one.name, 0, 0))
            members, owed = was.members + one.members, was.obligations + one.obligations
            found[one.law] = was._replace(members=members, obligations=owed)
    return sorted(found.values(), key=lambda line: (line.name, line.law))


def laws(services: Mapping[str, Service], law: str) -> Iterator[LawView]:
    """The law as each host that knows it has counted it."""
    for service in services.values():
        try:
            yield service.views.law(law)
        except NotSeen:
            continue


def hits_of(views: list[LawView]) -> Hits:
    """The counts of all hosts together."""
    rules: dict[str, int] = {}
    for view in views:
        for rule in view.rules:
            rules[rule.name] = rules.get(rule.name, 0) + rule.hits
    all_rules = [rule for view in views for rule in view.rules]
    return Hits(
        rules,
        sum(one.unmatched for one in views),
        sum(one.uncounted for one in views),
        sum(rule.refused for rule in all_rules) + sum(one.unmatched_sent for one in views),
        sum(rule.held for rule in all_rules),
    )


SECONDS: Final = 60
"""How far the small lines go back."""


def lines(services: Mapping[str, Service], law: str) -> dict[str, list[int]]:
    """For each rule that ruled lately how often it did in each second, the oldest first."""
    found: dict[str, list[int]] = {}
    for service in services.values():
        now = service.views.now // 1_000_000
        for second, added in service.views.past():
            at = SECONDS - 1 - (now - second)
            if 0 <= at < SECONDS:
                for (hash, rule, _), number in added:
                    if hash == law and rule:
                        found.setdefault(rule, [0] * SECONDS)[at] += number
    return found


def members(services: Mapping[str, Service], law: str) -> dict[str, Row]:
    """The members by `host/home`, as the page shows them."""
    found: dict[str, Row] = {}
    for host, service in services.items():
        try:
            lines = service.views.members(law, limit=MEMBERS_MAX)
        except NotSeen:
            continue
        for one in lines:
            found[f"{host}/{one.home}"] = _member(host, one)
    return found


def _member(host: str, one: MemberView) -> Row:
    return {
        "id": f"{host}/{one.home}",
        "host": host,
        "home": one.home,
        "rulings": one.rulings,
        "state": [cut(term) for term in one.state[:CHIPS_MAX]],
        "count": one.state_count,
        "owes": len(one.obligations),
    }


def cut(text: str, most: int = CHIP_CHARS_MAX) -> str:
    """A text that fits.

    >>> cut("smoke", 4)
    'smo…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def owed(services: Mapping[str, Service], law: str) -> tuple[list[Row], int]:
    """What members owe, the soonest due first, and how much that is in all."""
    lines: list[Row] = []
    for host, service in services.items():
        lines += [
            {"id": f"{host}/{one.home}", "home": one.home, "term": cut(one.term), "due": one.due_at}
            for one in service.views.obligations(law=law)
        ]
    lines.sort(key=lambda line: int(line["due"]))
    return lines[:OWED_MAX], len(lines)


def changed(before: Mapping[str, Row], now: Mapping[str, Row]) -> tuple[list[Row], list[str]]:
    """The members that are new or other than before, and the ids of those who are gone.

    >>> changed({"a": {"n": 1}, "b": {"n": 1}}, {"a": {"n": 2}})
    ([{'n': 2}], ['b'])
    """
    return (
        [one for id, one in now.items() if before.get(id) != one],
        [id for id in before if id not in now],
    )
