"""A membership as plain data: what a host stores, a journal has at times, and a move carries."""

from __future__ import annotations

import msgspec

from nomospace.control.origins import Origins
from nomospace.terms import Term


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """All that a membership is."""

    home: str
    law: str
    seq: int
    next_place: int
    next_obligation: int
    state: tuple[tuple[int, Term], ...]
    obligations: tuple[tuple[int, Term, int], ...]
    ended: bool
    shown: tuple[bytes, ...] = ()
    origins: bytes = b""
    """Where its terms and obligations come from (`Origins`)."""

    def told_origins(self) -> Origins:
        """Where its terms and obligations come from; unknown, where it is from before that."""
        places = (self.next_place, self.next_obligation) if self.seq else (0, 0)
        return Origins.decode(self.origins, places)

    def shifted(self, by_us: int) -> Snapshot:
        """The same with its obligations moved in time: on the way they are kept as time left."""
        moved = tuple([(place, term, due + by_us) for place, term, due in self.obligations])
        return msgspec.structs.replace(self, obligations=moved)
