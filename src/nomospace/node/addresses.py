"""Addresses of hosts, as people write them: `ward:7411`, `10.0.0.3:7411`, `[::1]:7411`.

Where several processes serve a host at one address, one of them is at `10.0.0.3:7411/ward.2`.

A transport without keys may be used on the loopback only, since there the machine itself says who
can speak; so an address also knows whether it is one.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, NamedTuple

from nomospace.calls.addresses import NAME_MAX
from nomospace.errors import CallerError

HOST_CHARS_MAX: Final = 255
"""The longest name of a machine."""
PLACE_CHARS_MAX: Final = HOST_CHARS_MAX + 8 + 1 + NAME_MAX
"""The longest place: with the brackets of IPv6, a port, and the name of a worker."""


class BadHostAddress(CallerError):
    """Text that is no address of a host."""

    code = "node.bad-address"
    words = "{text!r} is no address: {why}; write it as in 10.0.0.3:7411"
    text: str
    why: str


class NotLoopback(CallerError):
    """A transport without keys was asked for where others than this machine can reach it."""

    code = "node.not-loopback"
    words = (
        "{address} can be reached from other machines, and without certificates anybody "
        "could speak there; use 127.0.0.1, or make certificates with `nomospace trust init`"
    )
    address: str


class Address(NamedTuple):
    """Where a host listens.

    >>> Address.parse("[::1]:7411")
    Address(host='::1', port=7411)
    >>> str(Address("::1", 7411)), Address("127.0.0.9", 1).loopback
    ('[::1]:7411', True)
    >>> Address.parse("ward")
    Traceback (most recent call last):
    nomospace.node.addresses.BadHostAddress: 'ward' is no address: it names no port; ...
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that a text writes; port 0 lets the machine choose one."""
        host, colon, port = text.strip().rpartition(":")
        if not colon:
            raise BadHostAddress(text=text[:80], why="it names no port")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise BadHostAddress(text=text[:80], why="an IPv6 address stands in brackets")
        if not host or len(host) > HOST_CHARS_MAX or not host.isprintable() or " " in host:
            raise BadHostAddress(text=text[:80], why="it names no machine")
        if not (port.isascii() and port.isdigit()) or int(port) > 65_535:
            raise BadHostAddress(text=text[:80], why="a port is a number from 0 to 65535")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False  # a name: who knows what it will mean tomorrow

    @property
    def anywhere(self) -> bool:
        """Whether it stands for all addresses of the machine."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return False

    def check_loopback(self) -> None:
        """Raise `NotLoopback` unless only this machine can reach it."""
        if not self.loopback:
            raise NotLoopback(address=str(self))


class Place(NamedTuple):
    """Where one process of a host is dialled: an address, and its name if it has siblings there.

    >>> Place.parse("[::1]:7411/ward.2")
    Place(address=Address(host='::1', port=7411), worker='ward.2')
    >>> str(Place.parse("ward:7411")), str(Place(Address("ward", 7411), "ward.2"))
    ('ward:7411', 'ward:7411/ward.2')
    """

    address: Address
    worker: str = ""

    @classmethod
    def parse(cls, text: str) -> Place:
        """The place that a text writes; raises `BadHostAddress`."""
        address, slash, worker = text.strip().partition("/")
        if slash and (not 0 < len(worker) <= NAME_MAX or not worker.isprintable()):
            raise BadHostAddress(text=text[:80], why="after / stands the name of a worker")
        return cls(Address.parse(address), worker)

    def __str__(self) -> str:
        return f"{self.address}/{self.worker}" if self.worker else str(self.address)
