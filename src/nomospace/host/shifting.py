"""Work of very many equal pieces, done some in each step: others are served between two steps.

Tuples follow a space that is shared or parted, an agent ends with all its tuples, calls of a client
that is gone are called off. There may be a million of them. Whoever hands such work over says how
to do some of it; what is left tells how far it has come, so nothing is remembered here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nomospace.errors import NomospaceError
from nomospace.host.operations import NO_SEARCH, Look
from nomospace.space import Slice, Space, Unfinished


class Pieces(Look):
    """Work that an agent has caused: `some` does a part and says whether there may be more."""

    __slots__ = ("_some",)

    def __init__(
        self,
        owner: str,
        space: Space,
        some: Callable[[], bool],
        then: Callable[[], None],
        failed: Callable[[NomospaceError], None],
    ) -> None:
        super().__init__(owner, space, NO_SEARCH, lambda _: then(), failed)
        self._some = some

    def go_on(self, now: int, slice: Slice) -> list[Any]:
        """Do some more."""
        if self._some():
            raise Unfinished(search=self.search)
        return []
