"""An index: things by a key that several of them have, so that a change looks at its own only."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Index(Generic[T]):
    """Things by a key, each with an id of its own; those of one key in the order they came.

    >>> index = Index()
    >>> index.add("jobs", 1, "ann's take"); index.add("jobs", 2, "bob's take")
    >>> index.drop("jobs", 1)
    >>> index.of("jobs"), index.of("mail")
    (["bob's take"], [])
    """

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[Hashable, dict[Hashable, T]] = {}

    def add(self, key: Hashable, id: Hashable, thing: T) -> None:
        """Have a thing under a key."""
        self._by_key.setdefault(key, {})[id] = thing

    def drop(self, key: Hashable, id: Hashable) -> None:
        """Have a thing under a key no more; harmless when it is not there."""
        things = self._by_key.get(key)
        if things is None:
            return
        things.pop(id, None)
        if not things:
            del self._by_key[key]

    def count(self, key: Hashable) -> int:
        """How many things a key has."""
        return len(self._by_key.get(key, ()))

    def of(self, key: Hashable) -> list[T]:
        """The things of a key; a copy, which changes do not touch."""
        return list(self._by_key.get(key, {}).values())
