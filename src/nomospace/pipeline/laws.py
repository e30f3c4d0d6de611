"""Laws as jobs carry them: texts, which each process of a cluster compiles once for itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

from nomospace.errors import CallerError, NomospaceError
from nomospace.law import CompiledLaw, load

COMPILED_MAX: Final = 256
"""How many laws a process keeps compiled."""


class LawSource(msgspec.Struct, frozen=True):
    """A law's text with the hash that it must have; `name` says in which language it is."""

    hash: str
    name: str
    text: str


class OtherCommunity(CallerError):
    """A law is to be tried on a journal that knows no such community."""

    code = "pipeline.other-community"
    community: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        if not self.known:
            return "the journal tells of no law, so there is nothing to replay; name another"
        return (
            f"the journal has nothing of the community {self.community!r} (it has "
            f"{', '.join(self.known)}); name another journal, or say with --community whose "
            "history to take"
        )


def source_of(law: CompiledLaw) -> LawSource:
    """A compiled law as jobs carry it.

    >>> from nomospace.law import load
    >>> compiled(source_of(load("law(open).", "open.law"))).name
    'open'
    """
    return LawSource(law.hash, law.tree.source.name, law.tree.source.text)


@lru_cache(COMPILED_MAX)
def compiled(source: LawSource) -> CompiledLaw:
    """The law of a source; its hash was made certain when the source was made."""
    return load(source.text, source.name)


def recorded_laws(rows: Iterable[tuple[str, str, str]]) -> tuple[dict[str, LawSource], list[str]]:
    """The laws that a journal tells of, from rows `(hash, community, text)`; and hashes without.

    A journal has the text of a law and not the language it is written in: that one is right in
    which the text has the recorded hash.

    >>> law = load("law(open). R1. sent(X, M, Y) :- do(forward).")
    >>> known, lost = recorded_laws([(law.hash, "open", law.tree.source.text), ("4c1f", "x", "?")])
    >>> list(known) == [law.hash], lost
    (True, ['4c1f'])
    """
    known: dict[str, LawSource] = {}
    lost: dict[str, None] = {}
    for hash, community, text in rows:
        if hash in known or hash in lost:
            continue
        for name in (community, f"{community}.py"):
            source = LawSource(hash, name, text)
            try:
                if compiled(source).hash == hash:
                    known[hash] = source
                    break
            except NomospaceError:
                continue
        else:
            lost[hash] = None
    return known, list(lost)
