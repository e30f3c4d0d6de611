"""Nomospace: a tuple space under law, for agents that move.

This module is the face of the package. It owns no behaviour and imports nothing until a name is
used, so that ``import nomospace`` and the command line start at once. A name is added by one line
in `_FACE` and, for type checkers, the same import under `TYPE_CHECKING`.

>>> import nomospace
>>> nomospace.t.room(3) == nomospace.term("room(3)")
True
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# public name -> the module that defines it, and its name there
_FACE = {
    "Bug": ("nomospace.errors", "Bug"),
    "CallerError": ("nomospace.errors", "CallerError"),
    "Compound": ("nomospace.terms", "Compound"),
    "Law": ("nomospace.law", "CompiledLaw"),
    "LawError": ("nomospace.errors", "LawError"),
    "NomospaceError": ("nomospace.errors", "NomospaceError"),
    "PeerError": ("nomospace.errors", "PeerError"),
    "Unavailable": ("nomospace.errors", "Unavailable"),
    "show": ("nomospace.terms", "show"),
    "t": ("nomospace.terms", "t"),
    "term": ("nomospace.terms", "term"),
}

if TYPE_CHECKING:
    from nomospace.errors import Bug as Bug
    from nomospace.errors import CallerError as CallerError
    from nomospace.errors import LawError as LawError
    from nomospace.errors import NomospaceError as NomospaceError
    from nomospace.errors import PeerError as PeerError
    from nomospace.errors import Unavailable as Unavailable
    from nomospace.law import CompiledLaw
    from nomospace.terms import Compound as Compound
    from nomospace.terms import show as show
    from nomospace.terms import t as t
    from nomospace.terms import term as term

    Law = CompiledLaw


def __getattr__(name: str) -> object:
    """Load a public name on its first use and keep it: the second use is a plain look-up."""
    place = _FACE.get(name)
    if place is None:
        raise AttributeError(f"module 'nomospace' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(place[0]), place[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
