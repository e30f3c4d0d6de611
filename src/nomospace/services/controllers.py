"""The controller service: which hosts offer controllers, and which of them suits an agent.

An agent that wants to adopt a law needs a controller first (`001_…` 3.2). Hosts that offer some
register here, for `LEASE_US` at a time, and again before that is over; who falls silent is offered
no longer. A host says where it is, for which authorities its controllers are certified, which laws
it serves (any, if it names none) and how busy it is.

`find` gives hosts that can serve a law, the best first: near ones, then idle ones. Nearness is that
of domains: of two names with dots, how many labels they share from the right.

What is said here is a hint and no proof: a client that connects checks the host's certificate, and
controllers check each other's under the law's `cAuthority`. A host that claims what it is not is
found out there.

>>> service = Controllers()
>>> for name, domain, load in (("a", "er.north", 0.9), ("b", "lab.north", 0.1), ("c", "south", 0)):
...     service.apply(service.register(Offer(name, f"{name}:7070", domain, load=load), now=0))
>>> [offer.name for offer in service.find(near="ward.er.north", now=0)]
['a', 'b', 'c']
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.errors import CallerError, Unavailable

LEASE_US: Final = 60_000_000
"""How long a registration holds."""
HOSTS_MAX: Final = 10_000
"""How many hosts may be registered."""
CLAIMS_MAX: Final = 1_000
"""How many authorities, and how many laws, one host may name."""
FOUND_MAX: Final = 100
"""How many hosts one answer names at most."""
NAME_MAX: Final = 200
"""The longest name, address, domain or key, in characters."""


class BadOffer(CallerError):
    """A registration that cannot be taken."""

    code = "controllers.bad-offer"
    words = "this host cannot be registered: {why}"
    why: str


class HostNotRegistered(CallerError):
    """A host that is not registered."""

    code = "controllers.no-such-host"
    words = "host {name!r} is not registered here; let it register first"
    name: str


class TooManyHosts(Unavailable):
    """The service is full."""

    code = "controllers.full"
    words = "{limit:,} hosts are registered, and no more can be; use another service"
    limit: int


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a host offers: its name and address (`host:port`), where it belongs, what it serves.

    `authorities` are the keys (as in a law's `cAuthority`) that have certified its controllers;
    `laws` the hashes it serves, none for any. `load` is 0 for idle and 1 for full.
    """

    name: str
    address: str
    domain: str = ""
    authorities: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    load: float = 0.0


class Registered(msgspec.Struct, frozen=True, tag=True):
    """A host is offered until a moment."""

    offer: Offer
    until: int


class Unregistered(msgspec.Struct, frozen=True, tag=True):
    """A host is offered no longer."""

    name: str


Change = Registered | Unregistered


class Controllers:
    """The hosts that offer controllers. Registrations are not durable: hosts repeat them."""

    def __init__(self) -> None:
        self._hosts: dict[str, Registered] = {}

    def __len__(self) -> int:
        return len(self._hosts)

    def register(self, offer: Offer, *, now: int) -> Registered:
        """What would change if a host were registered; raises `BadOffer`, `TooManyHosts`."""
        self.expire(now=now)
        _check(offer)
        if offer.name not in self._hosts and len(self._hosts) >= HOSTS_MAX:
            raise TooManyHosts(limit=HOSTS_MAX)
        return Registered(offer, now + LEASE_US)

    def unregister(self, name: str) -> Unregistered:
        """What would change if a host went; raises `HostNotRegistered`."""
        if name not in self._hosts:
            raise HostNotRegistered(name=name)
        return Unregistered(name)

    def apply(self, change: Change) -> None:
        """Carry a change out. A host that registers again moves to the end: the oldest is first."""
        name = change.offer.name if isinstance(change, Registered) else change.name
        self._hosts.pop(name, None)
        if isinstance(change, Registered):
            self._hosts[name] = change

    def expire(self, *, now: int) -> None:
        """Forget hosts that have fallen silent."""
        # Leases are equally long, so the order of registrations is that of their ends.
        while self._hosts:
            name = next(iter(self._hosts))
            if self._hosts[name].until > now:
                return
            del self._hosts[name]

    def get(self, name: str, *, now: int) -> Offer:
        """What a host offers; raises `HostNotRegistered`."""
        self.expire(now=now)
        found = self._hosts.get(name)
        if found is None:
            raise HostNotRegistered(name=name)
        return found.offer

    def find(
        self,
        *,
        now: int,
        law: str = "",
        authority: str = "",
        near: str = "",
        limit: int = FOUND_MAX,
    ) -> list[Offer]:
        """Hosts whose controllers can serve a law, the best first, at most `limit`.

        `law` is its hash and `authority` the key of its `cAuthority`, if it has one.
        """
        self.expire(now=now)
        fit = [
            registered.offer
            for registered in self._hosts.values()
            if (not authority or authority in registered.offer.authorities)
            and (not law or not registered.offer.laws or law in registered.offer.laws)
        ]
        fit.sort(key=lambda offer: (-_shared(offer.domain, near), offer.load, offer.name))
        return fit[: max(0, min(limit, FOUND_MAX))]


def _shared(one: str, other: str) -> int:
    """How many labels two domains share, from the right.

    >>> _shared("er.north", "ward.er.north"), _shared("", ""), _shared("a", "b")
    (2, 0, 0)
    """
    count = 0
    for mine, theirs in zip(reversed(one.split(".")), reversed(other.split(".")), strict=False):
        if mine != theirs or not mine:
            break
        count += 1
    return count


def _check(offer: Offer) -> None:
    for what, value in (("name", offer.name), ("address", offer.address)):
        if not value or not _plain(value):
            raise BadOffer(why=f"{what} {value[:60]!r} is no word of 1 to {NAME_MAX} characters")
    host, _, port = offer.address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise BadOffer(why=f"address {offer.address!r} is not host:port with a port up to 65535")
    if not _plain(offer.domain):
        raise BadOffer(why=f"domain {offer.domain[:60]!r} is no word")
    if not 0.0 <= offer.load <= 1.0:
        raise BadOffer(why=f"a load of {offer.load:g}; give a share from 0 (idle) to 1 (full)")
    for what, values in (("authorities", offer.authorities), ("laws", offer.laws)):
        if len(values) > CLAIMS_MAX or not all(value and _plain(value) for value in values):
            raise BadOffer(why=f"{what} must be at most {CLAIMS_MAX:,} words")


def _plain(value: str) -> bool:
    return (
        len(value) <= NAME_MAX
        and value.isprintable()
        and not any(character.isspace() for character in value)
    )
