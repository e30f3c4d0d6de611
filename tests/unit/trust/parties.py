"""Whom the tests of trust are about: keys from seeds, and certificates made with them."""

from __future__ import annotations

from nomospace.terms import Term, term
from nomospace.trust.authority import Authority, make_authority
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY

NOW = 20_000 * DAY + 12_345_678
"""Some time in 2024, not at a whole second."""
YEARS = 3650


def key(number: int) -> SecretKey:
    """The same number gives the same key."""
    return SecretKey.from_seed(number.to_bytes(32, "big"))


def authority(name: str = "admin", number: int = 1) -> Authority:
    """An authority that began at `NOW`."""
    return make_authority(name, key(number), serial=number, now=NOW, days=YEARS)


ADMIN = authority()
MALLORY = authority(number=66)
"""Has a key of its own, and says that it is admin."""
HOST, CONTROLLER, ANN, BOB = key(2), key(3), key(4), key(5)


def host(by: Authority = ADMIN, *, serial: int = 20, now: int = NOW, days: int = 10) -> bytes:
    """A host certificate of ward-1."""
    where = ("ward-1.example", "127.0.0.1", "::1")
    return by.issue_host("ward-1", HOST.public, addresses=where, serial=serial, now=now, days=days)


def controller(by: Authority = ADMIN, *, serial: int = 30, now: int = NOW, days: int = 10) -> bytes:
    """A controller certificate of ward-1."""
    return by.issue_controller("ward-1", CONTROLLER.public, serial=serial, now=now, days=days)


def agent(
    by: Authority = ADMIN,
    name: str = "ann@ward-1",
    *,
    serial: int = 40,
    now: int = NOW,
    days: int = 10,
) -> bytes:
    """An identity certificate of ann."""
    return by.issue_agent(name, ANN.public, serial=serial, now=now, days=days)


def role(
    by: Authority = ADMIN,
    name: str = "ann@ward-1",
    attribute: str = "role(doctor)",
    *,
    serial: int = 50,
    now: int = NOW,
    days: int = 10,
) -> bytes:
    """A role certificate of ann."""
    said: tuple[Term, ...] = (term(attribute),)
    return by.issue_role(name, ANN.public, said, serial=serial, now=now, days=days)
