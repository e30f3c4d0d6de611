"""Publish and subscribe: who is to be notified of a publication.

A publication is a term with attributes, `alarm(kind(fire), status(expert), text(smoke))`; its
functor is its topic. A subscription names a topic and attributes, and matches when the publication
has them all, exactly equal: `alarm([kind(fire), status(expert)])` (`001_…` 2.1). A client is
notified once, however many of its subscriptions match.

Nothing is scanned. Subscriptions with the same attributes are one entry with many clients, and an
entry is filed under one of its attributes: that under which the fewest were filed when it came. A
publication looks under each of its own attributes, and under "no attribute at all".

Attributes are compared by their canonical bytes: `level(1)` is not `level(1.0)`.

>>> from nomospace.terms import term
>>> book = Subscriptions()
>>> book.add("ann@x", term("alarm([kind(fire), status(expert)])"))
True
>>> book.match(term("alarm(kind(fire), status(layman), text(smoke))"))
()
>>> book.match(term("alarm(kind(fire), status(expert), text(smoke))"))
('ann@x',)
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.errors import CallerError, Unavailable
from nomospace.terms import Compound, Term, encode, show

SUBSCRIPTIONS_MAX: Final = 1_000_000
"""How many subscriptions a mediator holds, each client's of its own."""
OF_CLIENT_MAX: Final = 1_000
"""How many of them may be one client's."""
CRITERIA_MAX: Final = 32
"""How many attributes a subscription may name."""
ATTRIBUTES_MAX: Final = 256
"""How many attributes a publication may have."""
NOTIFY: Final = "notify"
PUBLISH: Final = "publish"
SUBSCRIBE: Final = "subscribe"
UNSUBSCRIBE: Final = "unsubscribe"


class NotASubscription(CallerError):
    """A term that cannot be subscribed to."""

    code = "mediator.not-a-subscription"
    words = (
        f"{{given}} is no subscription; name a topic with a list of at most {CRITERIA_MAX} "
        "attributes, like alarm([kind(fire), status(expert)])"
    )
    given: str


class NotAPublication(CallerError):
    """A term that cannot be published."""

    code = "mediator.not-a-publication"
    words = (
        f"{{given}} is no publication; name a topic with at most {ATTRIBUTES_MAX} "
        "attributes, like alarm(kind(fire), text(smoke))"
    )
    given: str


class TooManySubscriptions(Unavailable):
    """A mediator, or one client of it, is at its limit."""

    code = "mediator.full"
    words = "{who} has {limit:,} subscriptions, and no more are kept; drop some"
    who: str
    limit: int


class _Entry:
    """One set of criteria and who wants it."""

    __slots__ = ("clients", "filed", "key", "needs")

    def __init__(self, key: bytes, needs: tuple[bytes, ...]) -> None:
        self.key = key
        self.needs = needs
        self.filed = b""
        self.clients: dict[str, None] = {}


class Subscriptions:
    """Who wants what. Hearing a subscription twice is harmless."""

    def __init__(self) -> None:
        self._entries: dict[bytes, _Entry] = {}
        self._filed: dict[tuple[str, bytes], dict[bytes, _Entry]] = {}
        self._counts: dict[str, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, client: str, wanted: Term) -> bool:
        """Note that a client wants publications like this; false when it was noted before.

        Raises `NotASubscription`, `TooManySubscriptions`.
        """
        topic, needs = read_subscription(wanted)
        key = _key(topic, needs)
        entry = self._entries.get(key)
        if entry is not None and client in entry.clients:
            return False
        if self._size >= SUBSCRIPTIONS_MAX:
            raise TooManySubscriptions(who="this mediator", limit=SUBSCRIPTIONS_MAX)
        if self._counts.get(client, 0) >= OF_CLIENT_MAX:
            raise TooManySubscriptions(who=client, limit=OF_CLIENT_MAX)
        if entry is None:
            entry = self._entries[key] = _Entry(key, needs)
            entry.filed = min(needs, key=lambda need: self._filed_under(topic, need), default=b"")
            self._filed.setdefault((topic, entry.filed), {})[key] = entry
        entry.clients[client] = None
        self._counts[client] = self._counts.get(client, 0) + 1
        self._size += 1
        return True

    def _filed_under(self, topic: str, need: bytes) -> int:
        return len(self._filed.get((topic, need), ()))

    def remove(self, client: str, wanted: Term) -> bool:
        """Forget that a client wants this; false when it did not."""
        topic, needs = read_subscription(wanted)
        key = _key(topic, needs)
        entry = self._entries.get(key)
        if entry is None or client not in entry.clients:
            return False
        del entry.clients[client]
        if not entry.clients:
            del self._entries[key]
            filed = self._filed[topic, entry.filed]
            del filed[key]
            if not filed:
                del self._filed[topic, entry.filed]
        self._size -= 1
        self._counts[client] -= 1
        if not self._counts[client]:
            del self._counts[client]
        return True

    def match(self, published: Term) -> tuple[str, ...]:
        """The clients to notify of a publication, in the order of their names."""
        topic, has = read_publication(published)
        found: dict[str, None] = {}
        for attribute in (b"", *has):
            for entry in self._filed.get((topic, attribute), _NONE).values():
                if all(need in has for need in entry.needs):
                    found.update(entry.clients)
        return tuple(sorted(found))


_NONE: Final[dict[bytes, _Entry]] = {}


def read_subscription(wanted: Term) -> tuple[str, tuple[bytes, ...]]:
    """Topic and attributes of a subscription, sorted and each once; raises `NotASubscription`."""
    if wanted.__class__ is Compound and len(wanted.args) == 1:
        criteria = wanted.args[0]
        if criteria.__class__ is tuple and len(criteria) <= CRITERIA_MAX:
            return wanted.name, tuple(sorted({encode(each) for each in criteria}))
    raise NotASubscription(given=show(wanted, limit=200))


def read_publication(published: Term) -> tuple[str, dict[bytes, None]]:
    """Topic and attributes of a publication; raises `NotAPublication`."""
    if published.__class__ is Compound and len(published.args) <= ATTRIBUTES_MAX:
        return published.name, {encode(each): None for each in published.args}
    raise NotAPublication(given=show(published, limit=200))


def _key(topic: str, needs: tuple[bytes, ...]) -> bytes:
    # Canonical bytes say where they end, so no two sets of criteria have one key.
    return b"".join([encode(topic), *needs])


class Subscribed(msgspec.Struct, frozen=True):
    """A client wants publications like `wanted`."""

    client: str
    wanted: Term


class Unsubscribed(msgspec.Struct, frozen=True):
    """A client wants them no longer."""

    client: str
    wanted: Term


class Published(msgspec.Struct, frozen=True):
    """Something is to be passed on to whoever wants it."""

    published: Term


def read_request(sender: str, message: Term) -> Subscribed | Unsubscribed | Published | None:
    """What a message asks of a mediator; `None` for anything else, which is no mediator's matter.

    Raises `NotASubscription` and `NotAPublication`.

    >>> from nomospace.terms import term
    >>> read_request("ann@x", term("subscribe(alarm([kind(fire)]))")).client
    'ann@x'
    """
    if message.__class__ is not Compound or len(message.args) != 1:
        return None
    (what,) = message.args
    if message.name == SUBSCRIBE:
        read_subscription(what)
        return Subscribed(sender, what)
    if message.name == UNSUBSCRIBE:
        read_subscription(what)
        return Unsubscribed(sender, what)
    if message.name == PUBLISH:
        read_publication(what)
        return Published(what)
    return None


def notification(published: Term) -> Compound:
    """What a mediator sends to those who want a publication."""
    return Compound(NOTIFY, (published,))
