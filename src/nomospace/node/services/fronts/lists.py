"""A front's engine: a list of a Redis-protocol server (Redis, Valkey, …), each element a tuple.

An element is the text of a tuple, `[msg(hello),from('ann@ward'),to('bob@ward')]`; others are left
alone. Tuples on their way to their takers lie in a hash beside it, named like the list with
`.reserved` added. What must be one step is a script. Only what is needed of the protocol (RESP) is
spoken here, and everything that comes is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

import msgspec

from nomospace.errors import CallerError
from nomospace.node.services.fronts import (
    ENGINE_S,
    SCAN_MAX,
    EngineAway,
    EngineRefused,
    Reservation,
    Row,
    TooMuchToLookAt,
)
from nomospace.terms import Faulty, NotGround, show, term
from nomospace.terms.templates import Template

PORT: Final = 6379
PAGE: Final = 500
"""How many elements are read at a time."""
BULK_MAX: Final = 16 << 20
"""The longest text that is read,"""
REPLY_MAX: Final = 64 << 20
"""and how long all texts of one reply may be."""
KNOWN_BYTES: Final = 1_024
"""Elements up to this long are read once, as long as they are among the last ones."""
PARTS_MAX: Final = 200_000
"""The longest list that is read."""

Reply: TypeAlias = "bytes | int | list[Reply] | None"

_RESERVE: Final = """
for i = 3, #ARGV do
  if redis.call('LREM', KEYS[1], 1, ARGV[i]) == 0 then
    for j = 3, i - 1 do redis.call('LPUSH', KEYS[1], ARGV[j]) end
    return 0
  end
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
"""
"""Moves some elements to the reserved ones, all or none."""
_UNDO: Final = """
if redis.call('HDEL', KEYS[2], ARGV[1]) == 0 then return 0 end
for i = 2, #ARGV do redis.call('LPUSH', KEYS[1], ARGV[i]) end
return 1
"""


PASSING: Final = ("LOADING ", "MASTERDOWN ", "TRYAGAIN ")
"""What a server says that is there, and takes nothing yet."""


class BadRedisUrl(CallerError):
    """Text that is no address of a Redis-protocol server."""

    code = "front.bad-redis-url"
    words = "{url!r} is no address: {why}; write redis://[:password@]host:port[/number]"
    url: str
    why: str


class _Kept(msgspec.Struct, frozen=True):
    """A reservation as it lies in the hash."""

    client: str
    operation: str
    rows: tuple[str, ...]


class ListEngine:
    """Elements of a list as tuples."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        try:
            self._port = parts.port or PORT
            self._base = int(parts.path.strip("/") or "0")
        except ValueError as error:
            raise BadRedisUrl(url=_shown(url), why=str(error)) from None
        if parts.scheme != "redis" or not parts.hostname:
            raise BadRedisUrl(url=_shown(url), why="it begins with redis:// and names a machine")
        self._host = parts.hostname
        named = [unquote(part) for part in (parts.username, parts.password) if part]
        self._login = named
        self._keys = (key, f"{key}.reserved")
        self._lines: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._room = REPLY_MAX  # what is left of it

    def __repr__(self) -> str:
        return f"the Redis server at {self._host}:{self._port}"

    # -- the protocol ------------------------------------------------------------------------

    async def _ask(self, *words: str | int) -> Reply:
        """One command, and its reply; raises `EngineAway`, `EngineRefused`."""
        try:
            async with asyncio.timeout(ENGINE_S):
                if self._lines is None:
                    await self._connect()
                return await self._command(*words)
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError) as error:
            await self.close()
            why = str(error) or type(error).__name__
            raise EngineAway(engine=repr(self), why=why) from None
        except asyncio.CancelledError:
            await self.close()  # its reply would be taken for that of the next command
            raise

    async def _connect(self) -> None:
        self._lines = await asyncio.open_connection(self._host, self._port)
        if self._login:
            await self._command("AUTH", *self._login)
        if self._base:
            await self._command("SELECT", self._base)

    async def _command(self, *words: str | int) -> Reply:
        assert self._lines is not None, "it is connected"
        reader, writer = self._lines
        parts = [str(word).encode() for word in words]
        frame = [b"*%d\r\n" % len(parts)]
        frame += [b"$%d\r\n%b\r\n" % (len(part), part) for part in parts]
        writer.write(b"".join(frame))
        await writer.drain()
        self._room = REPLY_MAX
        return await self._reply(reader)

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        line = (await reader.readuntil(b"\r\n"))[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            why = rest.decode(errors="replace")
            if why.startswith(PASSING):
                raise ConnectionError(why)
            raise EngineRefused(engine=repr(self), why=why)
        count = int(rest)
        if kind == b":":
            return count
        if count == -1:
            return None
        if kind == b"$" and 0 <= count <= BULK_MAX:
            self._room -= count
            if self._room < 0:
                raise ValueError(f"a reply of more than {REPLY_MAX:,} bytes")
            return (await reader.readexactly(count + 2))[:-2]
        if kind == b"*" and 0 <= count <= PARTS_MAX:
            return [await self._reply(reader) for _ in range(count)]
        raise ValueError(f"a reply that is none: {line[:40]!r}")

    # -- what a front asks -------------------------------------------------------------------

    async def begin(self) -> None:
        """See that the server is there, and that the list is one."""
        await self._ask("LLEN", self._keys[0])

    async def close(self) -> None:
        """Let go of the server."""
        lines, self._lines = self._lines, None
        if lines is not None:
            lines[1].close()
            with suppress(OSError):
                await lines[1].wait_closed()

    async def put(self, fields: Row) -> None:
        """Append an element."""
        await self._ask("RPUSH", self._keys[0], show(fields))

    async def _matching(self, template: Template) -> AsyncIterator[tuple[str, Row]]:
        """The elements that match, oldest first, as texts and tuples; of the first `SCAN_MAX`."""
        for start in range(0, SCAN_MAX, PAGE):
            page = await self._ask("LRANGE", self._keys[0], start, start + PAGE - 1)
            assert isinstance(page, list), "a range is a list"
            for element in page:
                text, fields = _read(element)
                if fields is not None and template.matches(fields):
                    yield text, fields
            if len(page) < PAGE:
                return
        raise TooMuchToLookAt(engine=repr(self), limit=SCAN_MAX)

    async def _some(self, template: Template, limit: int) -> dict[int, tuple[str, Row]]:
        found: dict[int, tuple[str, Row]] = {}
        try:
            async for one in self._matching(template):
                found[len(found)] = one
                if len(found) >= limit:
                    break
        except TooMuchToLookAt:
            if not found:
                raise
        return found

    async def find(self, template: Template, limit: int) -> list[Row]:
        """The elements that match."""
        return [fields for _, fields in (await self._some(template, limit)).values()]

    async def reserve(self, template: Template, limit: int, ticket: Reservation) -> list[Row]:
        """Move the elements that match to those that are reserved."""
        while found := await self._some(template, limit):
            texts = [text for text, _ in found.values()]
            kept = _Kept(ticket.client, ticket.operation, tuple(texts))
            record = msgspec.json.encode(kept).decode()
            moved = await self._ask("EVAL", _RESERVE, 2, *self._keys, ticket.key, record, *texts)
            if moved == 1:  # else somebody was quicker with one of them
                return [fields for _, fields in found.values()]
        return []

    async def settle(self, key: str) -> None:
        """Forget what is reserved under a key."""
        await self._ask("HDEL", self._keys[1], key)

    async def undo(self, key: str) -> None:
        """Let reserved elements stand at the head of the list again."""
        kept = await self._ask("HGET", self._keys[1], key)
        if isinstance(kept, bytes):
            rows = reversed(msgspec.json.decode(kept, type=_Kept).rows)
            await self._ask("EVAL", _UNDO, 2, *self._keys, key, *rows)

    async def reservations(self) -> list[Reservation]:
        """All that is reserved."""
        found = await self._ask("HGETALL", self._keys[1])
        assert isinstance(found, list), "a hash is a list of keys and values"
        tickets: list[Reservation] = []
        for key, value in zip(found[::2], found[1::2], strict=True):
            assert isinstance(key, bytes), "a key of a hash is a text"
            assert isinstance(value, bytes), "and so is its value"
            kept = msgspec.json.decode(value, type=_Kept)
            rows = [fields for text in kept.rows if (fields := _read(text.encode())[1]) is not None]
            tickets.append(Reservation(key.decode(), kept.client, kept.operation, tuple(rows)))
        return tickets


def _read(element: Reply) -> tuple[str, Row | None]:
    """An element as text, and the tuple that it is; `None` for one that is none."""
    if not isinstance(element, bytes):
        return "", None
    return _parsed(element) if len(element) <= KNOWN_BYTES else _parsed.__wrapped__(element)


@lru_cache(maxsize=SCAN_MAX)
def _parsed(element: bytes) -> tuple[str, Row | None]:
    try:
        text = element.decode()
        fields = term(text)
    except (UnicodeDecodeError, Faulty, NotGround):
        return "", None
    return text, fields if type(fields) is tuple else None


def _shown(url: str) -> str:
    """An address without what must not be shown."""
    return url if "@" not in url else f"redis://…@{url.rpartition('@')[2]}"
