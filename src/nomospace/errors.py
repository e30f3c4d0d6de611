"""The kinds of error: whose move is it?

Every error says one of five things: the caller gave something wrong, a peer did, a law did,
a part is not available just now, or we have a bug. Each particular error lives where it is
raised, with typed fields, a lasting `code`, and `words` that give the fact, the value and a next
step. Each is a dataclass without saying so. Errors cross process borders: they pickle by their
fields.

>>> class LeaseOver(Unavailable):
...     code = "space.lease-over"
...     words = "lease on {tuple_id!r} ran out {late_ms} ms ago; read it again"
...     tuple_id: str
...     late_ms: int
>>> str(LeaseOver(tuple_id="ann@ward#3", late_ms=12))
"lease on 'ann@ward#3' ran out 12 ms ago; read it again"
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, dataclass_transform


def _rebuild(kind: type[NomospaceError], values: dict[str, object]) -> NomospaceError:
    return kind(**values)


class _Attributes(dict[str, object]):
    """The attributes of an error, by name, for its words."""

    def __init__(self, error: NomospaceError) -> None:
        self._error = error

    def __missing__(self, name: str) -> object:
        return getattr(self._error, name)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
@dataclass(eq=False, kw_only=True)
class NomospaceError(Exception):
    """The root of all our errors. Catch a kind below it, not this.

    `words` is a template of the error's own fields, as `str.format` reads one. A class whose words
    depend on more than its fields has a `__str__` of its own.
    """

    code: ClassVar[str] = "nomospace"
    words: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, kw_only=True)(cls)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), {f.name: getattr(self, f.name) for f in fields(self)})

    def __str__(self) -> str:
        if self.words:
            return self.words.format_map(_Attributes(self))
        return self.__doc__.partition("\n")[0] if self.__doc__ else self.code


class CallerError(NomospaceError):
    """The caller gave something that cannot be taken; the caller mends it."""

    code = "caller"


class PeerError(NomospaceError):
    """A peer said something that cannot be so; nothing the caller does will mend it."""

    code = "peer"


class LawError(NomospaceError):
    """A text of the law language cannot be read or may not be used; its author mends it."""

    code = "law"


class Unavailable(NomospaceError):
    """A part is not there just now; trying again later may do."""

    code = "unavailable"


class LimitReached(CallerError):
    """Work would have cost more than it may: it was stopped, and nothing was changed.

    Each kind has a code of its own below `limits.`; `advice` is what the caller can do about it.
    """

    code = "limits"
    words = "{what} goes past the limit of {limit:,}; {advice}"
    what: str
    limit: int
    advice: str


class Bug(NomospaceError):
    """We broke a promise of our own. Carries the story of what led to it."""

    code = "bug"
    story: tuple[str, ...]

    def __str__(self) -> str:
        return "this is a bug in nomospace; please report it with this story:\n  " + "\n  ".join(
            self.story
        )
