"""What a model may read: its law, what that discloses of its state, its spaces, and what waits.

Reading a page changes nothing: firings and letters stay until the tools fetch them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
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


async def _law(member: ModelMember) -> str:
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


async def _spaces(member: ModelMember) -> str:
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


async def _events(member: ModelMember) -> str:
    return _peek("event", "events", [event_line(one) for one in member.events])


async def _inbox(member: ModelMember) -> str:
    return _peek("message", "inbox", [letter_line(one) for one in member.letters])


def _peek(what: str, tool: str, lines: list[str]) -> str:
    head = f"Not fetched yet (the tool {tool} does): {words.count(len(lines), what)}"
    return words.listing(
        head,
        [words.cut(one, words.ABOUT_CHARS_MAX) for one in lines[:PEEK_MAX]],
        max(0, len(lines) - PEEK_MAX),
    )


class Page(msgspec.Struct, frozen=True):
    """A page: its name, what it is, and what reads it."""

    title: str
    about: str
    read: Callable[[ModelMember], Awaitable[str]]


PAGES: Final = {
    LAW: Page("The law", "The text and the hash of the law that you are under.", _law),
    STATE: Page(
        "Your control state", "What the law has disclosed to you, ruling by ruling.", _state
    ),
    SPACES: Page("Your spaces", "The spaces that you use, and your reactions there.", _spaces),
    EVENTS: Page("Events", "What your reactions have seen and you have not fetched yet.", _events),
    INBOX: Page("Inbox", "Messages that you have not fetched yet.", _inbox),
}


async def read(member: ModelMember, address: str) -> str | None:
    """The text of a page; `None` when there is no such page."""
    page = PAGES.get(address)
    return None if page is None else await page.read(member)
