"""Rows written into a running space as tuples, by an agent under law, each exactly once.

A row has a key, and what an agent has written to a space under a key is not written again
(`out(…, once=key)`): the host keeps the key in the same step as the tuple. So rows may be written
again after any failure. The law is asked about a row that is not written yet, and only then.

A row that the law refuses, or that can be no tuple there, becomes a *letter* in a private space of
the agent's, `NAME.refused`: `('refused', stream, batch, key, why, fields)`. It lies there until
somebody takes it. A row with a letter is not tried again, so that each row is either a tuple or a
letter, and neither twice. The space is private: what a law keeps from others must not reach them in
this way.

| what happened before a crash | when the rows are written again |
| --- | --- |
| nothing | the law is asked, the row written or its letter |
| the row was written | the host knows its key; the law is not asked |
| the row was refused, and has no letter yet | the law is asked again, and what it says now counts |
| the row has its letter | it is left at that |
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from nomospace.client.remote import RemoteHost
from nomospace.client.space import Space
from nomospace.client.tuples import ONCE_CHARS_MAX
from nomospace.errors import CallerError, Unavailable
from nomospace.law.program import load_source, read_source
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.terms import Term, show
from nomospace.terms.templates import ANY
from nomospace.wire.values import pack_term, unpack_fields

ROWS_MAX: Final = 100_000
"""The most rows of one batch: hosts remember the keys of ten times as many."""
REFUSED_MAX: Final = 10_000
"""So many refused rows in one batch, and the stream ends: its law or its rows are wrong."""
ROW_S: Final = 30.0
"""How long a host, and its law, may take to let one row through."""
LETTERS: Final = ".refused"
"""Behind a space's name: where letters are."""
WHY_CHARS_MAX: Final = 1_000
_ABREAST: Final = 200
"""How many rows are under way at a time."""


class TooManyToWrite(CallerError):
    """A batch has more rows than are written back in one."""

    code = "pipeline.too-many-rows"
    words = "a batch has more than {limit:,} rows to write; make batches smaller"
    limit: int


class TooManyRefused(CallerError):
    """A law refuses more rows of a batch than somebody will ever look at."""

    code = "pipeline.too-many-refused"
    words = (
        "more than {limit:,} rows of a batch were refused in {space}, the last one: "
        "{why}; mend the law or the rows, then go on from the same checkpoint"
    )
    space: str
    limit: int
    why: str


class RowHeld(Unavailable):
    """A law has neither let a row through nor refused it in time."""

    code = "pipeline.row-held"
    words = (
        f"nothing has become of {{fields}} in {{space}} within {ROW_S:g} s: its law "
        "holds it, or the host is busy; start again from the same checkpoint"
    )
    space: str
    fields: str


class Keyed(NamedTuple):
    """A tuple to be written, and the key that it is written under."""

    key: str
    fields: tuple[Term, ...]


class WrittenBack(msgspec.Struct, frozen=True):
    """What became of rows: how many are in the space, and how many have letters."""

    written: int = 0
    refused: int = 0


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A space, and the agent that writes to it; `law` is the file of the space's law, if any.

    Without `agent` it is the one of the identity or token.
    """

    place: HostPlace
    space: str
    agent: str = ""
    law: str = ""

    def check(self) -> str:
        """Have the agent and its space, and write nothing; the agent's id.

        Raises `HostSilent`, and what the host refuses it with.
        """
        return self.place.talk(self._check)

    async def _check(self, host: RemoteHost) -> str:
        space, _ = await self._open(host)
        return space.owner

    def write(self, stream: str, batch: int, rows: Sequence[Keyed]) -> WrittenBack:
        """Write those rows of a batch that are not written yet; what has become of all of them.

        Raises `TooManyToWrite`, `TooManyRefused`, `RowHeld`, and as `check` does.
        """
        if len(rows) > ROWS_MAX:
            raise TooManyToWrite(limit=ROWS_MAX)
        if not rows:
            return WrittenBack()
        return self.place.talk(lambda host: self._write(host, stream, batch, rows))

    async def _write(
        self, host: RemoteHost, stream: str, batch: int, rows: Sequence[Keyed]
    ) -> WrittenBack:
        space, letters = await self._open(host)
        known = await letters.read_all("refused", stream, batch, str, ANY, ANY)
        settled = dict.fromkeys(letter[3] for letter in known)
        todo = [row for row in rows if row.key not in settled]
        refused = len(rows) - len(todo)
        for at in range(0, len(todo), _ABREAST):
            some = todo[at : at + _ABREAST]
            found = await asyncio.gather(*[_write_one(space, row) for row in some])
            for row, why in zip(some, found, strict=True):
                if why is None:
                    continue
                refused += 1
                letter = ("refused", stream, batch, row.key, why[:WHY_CHARS_MAX], row.fields)
                await letters.out(*letter, once=row.key, once_lasts=True)
                if refused > REFUSED_MAX:
                    raise TooManyRefused(space=self.space, limit=REFUSED_MAX, why=why)
        return WrittenBack(len(rows) - refused, refused)

    async def _open(self, host: RemoteHost) -> tuple[Space, Space]:
        """The space, and the one for letters."""
        agent = await host.agent(self.agent or None)
        law = load_source(read_source(self.law)) if self.law else None
        if law is not None and agent.membership(law) is None:
            await agent.adopt(law)
        space = await agent.space(self.space, shared=True, law=law)
        return space, await agent.space(self.space + LETTERS)


async def _write_one(space: Space, row: Keyed) -> str | None:
    """Write a row; why that cannot be, if it cannot."""
    try:
        async with asyncio.timeout(ROW_S):
            await space.out(*row.fields, once=row.key, once_lasts=True)
    except TimeoutError:
        raise RowHeld(space=space.name, fields=show(row.fields, limit=200)) from None
    except CallerError as error:
        return str(error)
    return None


def keyed(stream: str, batch: int, rows: Iterable[bytes]) -> list[Keyed]:
    """Rows of a batch, as packed terms, with their keys: what they hold, and how manieth it is.

    Their order has no part in it: Spark promises none.

    >>> from nomospace.wire.values import pack_term
    >>> one, two = pack_term(("job", 1)), pack_term(("job", 2))
    >>> there = keyed("q", 0, [one, two, one])
    >>> {row.key for row in there} == {row.key for row in keyed("q", 0, [one, one, two])}
    True
    >>> len({row.key for row in there}), there[1].fields
    (3, ('job', 2))
    """
    seen: dict[bytes, int] = {}
    found: list[Keyed] = []
    for row in rows:
        nth = seen[row] = seen.get(row, 0) + 1
        found.append(Keyed(key_of(stream, batch, row, nth), unpack_fields(row)))
    return found


def key_of(stream: str, *parts: Term) -> str:
    """A key for something of a stream, by what it is.

    >>> key_of("loans", "a", 1) == key_of("loans", "a", 1) != key_of("loans", "a", 2)
    True
    """
    digest = blake2b(pack_term(parts), digest_size=20).hexdigest()
    return f"{stream[: ONCE_CHARS_MAX - len(digest) - 1]}/{digest}"
