"""The kinds of error: whose move is it?

Every error says one of five things: the caller gave something wrong, a peer did, a law did,
a part is not available just now, or we have a bug. Each particular error lives where it is
raised, as a dataclass with typed fields, a lasting `code`, and words that give the fact, the
value and a next step. Errors cross process borders: they pickle by their fields.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar


def _rebuild(kind: type[NomospaceError], values: dict[str, Any]) -> NomospaceError:
    return kind(**values)


@dataclass(eq=False, kw_only=True)
class NomospaceError(Exception):
    """The root of all our errors. Catch a kind below it, not this."""

    code: ClassVar[str] = "nomospace"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), {f.name: getattr(self, f.name) for f in fields(self)})

    def __str__(self) -> str:
        return self.__doc__.partition("\n")[0] if self.__doc__ else self.code


@dataclass(eq=False, kw_only=True)
class CallerError(NomospaceError):
    """The caller gave something that cannot be taken; the caller mends it."""

    code: ClassVar[str] = "caller"


@dataclass(eq=False, kw_only=True)
class PeerError(NomospaceError):
    """A peer said something that cannot be so; nothing the caller does will mend it."""

    code: ClassVar[str] = "peer"


@dataclass(eq=False, kw_only=True)
class LawError(NomospaceError):
    """A text of the law language cannot be read or may not be used; its author mends it."""

    code: ClassVar[str] = "law"


@dataclass(eq=False, kw_only=True)
class Unavailable(NomospaceError):
    """A part is not there just now; trying again later may do."""

    code: ClassVar[str] = "unavailable"


@dataclass(eq=False, kw_only=True)
class LimitReached(CallerError):
    """Work would have cost more than it may: it was stopped, and nothing was changed.

    Each kind has a code of its own below `limits.`; `advice` is what the caller can do about it.
    """

    code: ClassVar[str] = "limits"
    what: str
    limit: int
    advice: str

    def __str__(self) -> str:
        return f"{self.what} goes past the limit of {self.limit:,}; {self.advice}"


@dataclass(eq=False, kw_only=True)
class Bug(NomospaceError):
    """We broke a promise of our own. Carries the story of what led to it."""

    code: ClassVar[str] = "bug"
    story: tuple[str, ...]

    def __str__(self) -> str:
        return "this is a bug in nomospace; please report it with this story:\n  " + "\n  ".join(
            self.story
        )
