"""The laws that come with Nomospace, as texts to adopt, to read and to start one's own from.

`mp`, `sb` and `cc` are the policies of `000_…` sections 2 to 4 and `ap` that of `001_…` sections 2
to 4, written afresh from their prose, with the slips of the printed laws mended. `cw` is the
Chinese Wall that `000_…` section 6 names. Each file says at its top where it departs from its
paper. Their keys are placeholders: they do in `law run`, tests and simulated worlds.

This room only hands out text: it knows nothing of the language.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from nomospace.errors import CallerError

NAMES: Final = ("ap", "cc", "cw", "mp", "sb")
"""The shipped laws, by name."""


class UnknownLaw(CallerError):
    """No shipped law has this name."""

    code = "laws.unknown"
    name: str

    def __str__(self) -> str:
        return f"no law named {self.name!r} is shipped; choose one of {', '.join(NAMES)}"


def path(name: str) -> Path:
    """Where the file of a shipped law is.

    >>> path("mp").name
    'mp.law'
    """
    if name not in NAMES:
        raise UnknownLaw(name=name)
    return Path(str(files(__name__).joinpath(f"{name}.law")))


def text(name: str) -> str:
    """The text of a shipped law.

    >>> "law(mp)." in text("mp")
    True
    """
    return path(name).read_text(encoding="utf-8")
