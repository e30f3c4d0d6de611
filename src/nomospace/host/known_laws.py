"""The laws that a host has at hand: those it was given, and those that agents have brought."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from nomospace.calls.requests import LawText
from nomospace.errors import NomospaceError
from nomospace.host.changes import Durable, LawLearnt
from nomospace.host.shares import TooManyLaws
from nomospace.law import CompiledLaw, load
from nomospace.law.parts import text_bytes

if TYPE_CHECKING:
    from nomospace.host.step import HostStep

LEARNT_MAX: Final = 10_000
"""How many laws a host learns from agents that come."""


class KnownLaws:
    """The laws at hand, by hash, within what a host takes in."""

    def __init__(self, step: HostStep, laws: Mapping[str, CompiledLaw], durable: Durable) -> None:
        self._step = step
        self._laws = dict(laws)
        self.get: Callable[[str], CompiledLaw | None] = self._laws.get
        """A law, if it is at hand."""
        self._learnt = 0
        self._bytes = 0
        """Of all texts that agents brought."""
        for text in durable.laws.values():
            self._laws.setdefault(text.hash, load(text.text, text.name))
            self._learnt += 1
            self._bytes += text_bytes(text.text)

    def __getitem__(self, law: str) -> CompiledLaw:
        return self._laws[law]

    def all(self) -> tuple[CompiledLaw, ...]:
        """All laws that are at hand."""
        return tuple(self._laws.values())

    def check_room(self, law: CompiledLaw) -> None:
        """Raise `TooManyLaws` when a law would be one too many, or too long, here."""
        if law.hash in self._laws:
            return
        shares = self._step.shares
        advice = "adopt one that it has, or join at another host"
        if len(self._laws) >= shares.laws:
            what = "the number of laws at this host"
            raise TooManyLaws(what=what, limit=shares.laws, advice=advice)
        if self._bytes + text_bytes(law.tree.source.text) > shares.law_bytes:
            what = "the number of bytes of all laws at this host"
            raise TooManyLaws(what=what, limit=shares.law_bytes, advice=advice)

    def add(self, law: CompiledLaw) -> None:
        """Have a law at hand from now on, also after a crash."""
        if law.hash not in self._laws:
            self._laws[law.hash] = law
            self._bytes += text_bytes(law.tree.source.text)
            self._step.write_down(LawLearnt(text_of(law)))

    def knows(self, text: LawText) -> bool:
        """Whether a law is at hand, word for word."""
        law = self._laws.get(text.hash)
        return law is not None and law.tree.source.text == text.text

    def learn(self, texts: tuple[LawText, ...]) -> None:
        """Have laws at hand that an agent brings along, and have them after a crash."""
        for text in texts:
            if not self.knows(text):
                self._laws[text.hash] = load(text.text, text.name)
                self._learnt += 1
                self._bytes += text_bytes(text.text)
                self._step.write_down(LawLearnt(text))

    def objection(self, texts: tuple[LawText, ...]) -> str:
        """What speaks against laws that an agent would bring along; empty when nothing does."""
        shares, size = self._step.shares, 0
        if sum([text_bytes(text.text) for text in texts]) > shares.agent_law_bytes:
            return "the texts of its laws are longer than an agent's may be here"
        for text in texts:
            if self.knows(text):
                continue
            size += text_bytes(text.text)
            try:
                law = load(text.text, text.name)
            except NomospaceError:
                return f"law {text.hash[:12]} cannot be read"
            if law.hash != text.hash:
                return f"the text of law {text.hash[:12]} is of another law"
            if self._learnt >= LEARNT_MAX or self._bytes + size > shares.law_bytes:
                return "no more laws can be learnt here"
        return ""


def text_of(law: CompiledLaw) -> LawText:
    """A law as it travels and is kept."""
    return LawText(law.hash, law.tree.source.name, law.tree.source.text)
