"""What a model may read: its law, what that discloses of its state, its spaces, and what waits.

Reading a page changes nothing: firings and letters stay until the tools fetch them.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec

from nomospace.api.mcp import words
from nomospace.api.mcp.member import EVENTS, INBOX, ModelMember, event_line, letter_line
from nomospace.terms import show

LAW: Final = "nomospace://law"
STATE: Final = "nomospace://state"
SPACES: Final = "nomospace://spaces"
PEEK_MAX: Final = 50
"""How many firings or letters a page shows."""

DISCLOSURE: Final = {
    "all": "your law discloses all of its rulings to you, with what they change in your state",
    "rules": "your law discloses which rules ruled and why, and not what is in your state",
    "none": "your law discloses nothing but whether something passed",
}


class Page(msgspec.Struct, frozen=True):
    """A page: its name, what it is, and the kind of its text."""

    title: str
    about: str
    kind: str = "text/plain"


PAGES: Final = {
    LAW: Page("The law", "The text and the hash of the law that you are under."),
    STATE: Page("Your control state", "What the law has disclosed to you, ruling by ruling."),
    SPACES: Page("Your spaces", "The spaces that you use, and your reactions there."),
    EVENTS: Page("Events", "What your reactions have seen and you have not fetched yet."),
    INBOX: Page("Inbox", "Messages that you have not fetched yet."),
}


async def read(member: ModelMember, address: str) -> str | None:
    """The text of a page; `None` when there is no such page."""
    if address == LAW:
        return _law(member)
    if address == STATE:
        return await _state(member)
    if address == SPACES:
        return _spaces(member)
    if address == EVENTS:
        lines = [event_line(one) for one in member.events]
        return _peek("event", "events", lines)
    if address == INBOX:
        lines = [letter_line(one) for one in member.letters]
        return _peek("message", "inbox", lines)
    return None


def _law(member: ModelMember) -> str:
    law = member.law
    if law is None:
        return "You are under no law: only the rules of the host hold."
    return f"% law {law.name}, sha256:{law.hash}\n{law.tree.source.text}"


async def _state(member: ModelMember) -> str:
    law = member.law
    if law is None:
        return "You are under no law, so you have no control state."
    lines = []
    for entry in member.rulings:
        changes = ", ".join(words.operations(entry.told))
        shown = f"; {changes}" if changes else ""
        lines.append(
            words.cut(
                f"ruling {entry.number} on {entry.what}: {entry.told.verdict}{shown}",
                words.ABOUT_CHARS_MAX,
            )
        )
    head = f"{member.agent.id} under law {law.name}: {DISCLOSURE[law.tree.disclose]}."
    return words.listing(f"{head} {await _standing(member)} Rulings told:", lines, 0)


async def _standing(member: ModelMember) -> str:
    """The control state as it is, if the law discloses it; else what all members begin with."""
    assert member.law is not None, "who has no law has no state"
    found = await member.standing()
    if found is None or not found.told:
        return f"A member starts with {words.line(member.law.initial)}."
    more = f" and {found.left_out} more" if found.left_out else ""
    now = time.time_ns() // 1_000
    owed = [f"{show(term)} {words.until(due - now)}" for due, term in found.owed]
    duties = f" You owe {words.cut(', '.join(owed), words.ABOUT_CHARS_MAX)}." if owed else ""
    return f"Your control state is {words.line(found.state)}{more}.{duties}"


def _spaces(member: ModelMember) -> str:
    lines = []
    for name, space in member.spaces.items():
        under = f"under law {member.law.name}" if member.law is not None else "under no law"
        watched = [
            f"{key} watches {one.template}"
            for key, one in member.reactions.items()
            if one.space == name and one.handle.state != "removed"
        ]
        lines.append(
            "; ".join([f"{name}, {'shared' if space.shared else 'private'}, {under}", *watched])
        )
    head = "Spaces that you use; any other name is a space too, and `look` lists those of others."
    return words.listing(head, lines, 0)


def _peek(what: str, tool: str, lines: list[str]) -> str:
    head = f"Not fetched yet (the tool {tool} does): {words.count(len(lines), what)}"
    return words.listing(
        head,
        [words.cut(one, words.ABOUT_CHARS_MAX) for one in lines[:PEEK_MAX]],
        max(0, len(lines) - PEEK_MAX),
    )
