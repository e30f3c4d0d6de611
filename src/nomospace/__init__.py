"""Nomospace: a tuple space under law, for agents that move.

This module is the face of the package. It owns no behaviour and imports nothing until a name is
used, so that ``import nomospace`` and the command line start at once. A name is added by one line
in `_FACE` and, for type checkers, the same import under `TYPE_CHECKING`.

>>> import nomospace
>>> nomospace.CallerError.__module__
'nomospace.errors'
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# public name -> the module that defines it
_FACE = {
    "Bug": "nomospace.errors",
    "CallerError": "nomospace.errors",
    "LawError": "nomospace.errors",
    "NomospaceError": "nomospace.errors",
    "PeerError": "nomospace.errors",
    "Unavailable": "nomospace.errors",
}

if TYPE_CHECKING:
    from nomospace.errors import Bug as Bug
    from nomospace.errors import CallerError as CallerError
    from nomospace.errors import LawError as LawError
    from nomospace.errors import NomospaceError as NomospaceError
    from nomospace.errors import PeerError as PeerError
    from nomospace.errors import Unavailable as Unavailable


def __getattr__(name: str) -> object:
    """Load a public name on its first use and keep it: the second use is a plain look-up."""
    module = _FACE.get(name)
    if module is None:
        raise AttributeError(f"module 'nomospace' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
