"""Laws as jobs carry them: texts, which each process of a cluster compiles once for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from nomospace.errors import CallerError, NomospaceError
from nomospace.law import CompiledLaw, load

HASH_SHOWN: Final = 12
"""How much of a hash people are shown."""
HASH_MIN: Final = 6
"""How much of a hash stands for it, at least."""
COMPILED_MAX: Final = 256
"""How many laws a process keeps compiled."""


class LawSource(msgspec.Struct, frozen=True):
    """A law's text with the hash that it must have; `name` says in which language it is."""

    hash: str
    name: str
    text: str


def named_laws(told: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """The laws in rows `(hash, community, text)` by name, with a short hash where two share it.

    >>> named_laws([("4c1f" * 16, "ap", ""), ("8ab2" * 16, "ap", ""), ("11aa" * 16, "cc", "")])
    ('ap (4c1f4c1f4c1f)', 'ap (8ab28ab28ab2)', 'cc')
    """
    names = dict.fromkeys((hash, name) for hash, name, _ in told)
    many = Counter(name for _, name in names)
    return tuple([f"{name} ({short(hash)})" if many[name] > 1 else name for hash, name in names])


def short(hash: str) -> str:
    """A hash as people are shown it."""
    return hash[:HASH_SHOWN]


def choose_laws(
    told: Sequence[tuple[str, str, str]], law: CompiledLaw | None, community: str
) -> list[tuple[str, str, str]]:
    """The rows of the laws whose histories are meant; raises `OtherCommunity`.

    `community` is a name, which laws may share, or the beginning of a hash. Without it they are
    those of the law: its own, by its hash, where there are some, else all under its name.

    >>> rows = [("4c1f" * 16, "ap", "v1"), ("8ab2" * 16, "ap", "v2")]
    >>> [text for _, _, text in choose_laws(rows, None, "ap")], choose_laws(rows, None, "8ab28a")
    (['v1', 'v2'], [('8ab2...', 'ap', 'v2')])
    """
    wanted = community or (law.name if law is not None else "")
    found = [row for row in told if not wanted or row[1] == wanted]
    if not community and law is not None and any(row[0] == law.hash for row in found):
        return [row for row in found if row[0] == law.hash]
    if not found and len(community) >= HASH_MIN:
        found = [row for row in told if row[0].startswith(community)]
        if len({row[0] for row in found}) > 1:
            found = []
    if not found:
        raise OtherCommunity(community=wanted, known=named_laws(told))
    return found


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
