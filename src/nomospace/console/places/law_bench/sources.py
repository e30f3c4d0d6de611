"""Where laws to start from are found: those that come with Nomospace, and those in force here."""

from __future__ import annotations

from typing import Final

from nomospace.console.console import Console
from nomospace.console.stage import LawDraft
from nomospace.errors import CallerError

OFFERED_MAX: Final = 200
"""How many laws are offered."""
FILE_CHARS_MAX: Final = 1_000_000


class NoSuchFile(CallerError):
    """A law's file was chosen that is not there any more."""

    code = "console.no-such-file"
    name: str

    def __str__(self) -> str:
        return f"there is no law {self.name[:100]!r} here any more; choose another"


def sources(console: Console) -> dict[str, str]:
    """Keys and names of the laws at hand: communities here first, then files."""
    found: dict[str, str] = {}
    hashes: dict[str, None] = {}
    for host, service in console.services.items():
        for one in service.views.communities():
            if one.law not in hashes:
                hashes[one.law] = None
                found[f"community/{host}/{one.law}"] = f"{one.name} · in force · {one.law[:8]}"
    if console.laws is not None:
        for path in sorted(console.laws.glob("*.law*")):
            if path.name.endswith((".law", ".law.py")):
                found[f"file/{path.name}"] = path.name
    return dict(list(found.items())[:OFFERED_MAX])


def communities_of(console: Console) -> dict[str, str]:
    """The communities of all hosts, by name."""
    return {
        one.name: one.name
        for service in console.services.values()
        for one in service.views.communities()
    }


def law_of(console: Console, key: str) -> LawDraft:
    """The law of a key; raises `NotSeen` for one that is not here any more."""
    kind, _, rest = key.partition("/")
    if kind == "community":
        host, _, law = rest.partition("/")
        seen = console.services[host].views.law(law)
        return LawDraft(seen.text, "python" if seen.language == "python" else "law")
    assert console.laws is not None, key
    # A name from a page is looked up among those that were offered, and never followed as a path.
    for path in sorted(console.laws.glob("*.law*")):
        if path.name == rest:
            text = path.read_text("utf-8")[:FILE_CHARS_MAX]
            return LawDraft(text, "python" if rest.endswith(".py") else "law")
    raise NoSuchFile(name=rest)
