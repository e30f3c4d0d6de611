"""What a place keeps while its window is open: whatever was typed there stays when one comes back.

It is kept by window and ends with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_kept: Final[WeakKeyDictionary[object, dict[object, object]]] = WeakKeyDictionary()


def kept(owner: object, kind: Callable[[], T]) -> T:
    """What was kept of a kind for a window (or a console), made anew the first time.

    >>> class Window: ...
    >>> window = Window()
    >>> kept(window, list).append("typed")
    >>> kept(window, list), kept(Window(), list)
    (['typed'], [])
    """
    things: dict[Any, Any] = _kept.setdefault(owner, {})
    if kind not in things:
        things[kind] = kind()
    found: T = things[kind]
    return found
