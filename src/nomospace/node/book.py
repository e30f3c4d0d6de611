"""The address book of a transport: whom to dial, and when.

Two kinds of entry. A *seed* was named by the operator (`--join`) and is dialled for as long as the
host runs, whenever no link leads there. A *learnt* address came from a peer, from multicast or
from an earlier link; it is dialled when somebody there is wanted, and given up after `TRIES_MAX`
failures in a row. Between two tries lies a pause that doubles from `PAUSE_MIN_S` to `PAUSE_MAX_S`,
less a random share of up to a half, so that hosts that lost each other together do not all dial at
one instant.

What the book says is believed for dialling only: who answers is settled by the handshake.

It is plain data: `now` is handed in, in seconds of any clock that only goes forward.
"""

from __future__ import annotations

from random import Random
from typing import Final

PAUSE_MIN_S: Final = 0.2
PAUSE_MAX_S: Final = 5.0
TRIES_MAX: Final = 30
"""Failures in a row after which a learnt address is forgotten: some two minutes."""
HOSTS_MAX: Final = 1_000
"""The most hosts whose addresses are known."""
ENTRIES_MAX: Final = 2_000
"""The most addresses in the book; past it, learnt ones are not taken in."""
ADDRESSES_MAX: Final = 4
"""The most addresses of one host."""


class AddressEntry:
    """One address and how it went there."""

    def __init__(self, *, seed: bool) -> None:
        self.seed = seed
        self.name = ""
        """Who answered there last, or is said to be there."""
        self.state = "RESTING"
        """RESTING, WAITING (to be dialled when `due`) or DIALLING."""
        self.due = 0.0
        self.pause = PAUSE_MIN_S
        self.failures = 0


class AddressBook:
    """Addresses by host, and the times of the next calls.

    >>> book = AddressBook(Random(1))
    >>> book.add_seed("10.0.0.3:7411", now=0.0)
    >>> book.take_due(0.0)
    ['10.0.0.3:7411']
    >>> book.failed("10.0.0.3:7411", now=0.0)
    >>> 0.1 <= book.next_due() <= 0.2
    True
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._entries: dict[str, AddressEntry] = {}
        self._hosts: dict[str, tuple[int, tuple[str, ...]]] = {}

    # -- what is told ------------------------------------------------------------------------

    def add_seed(self, address: str, *, now: float) -> None:
        """An address that the operator named."""
        entry = self._entries.get(address)
        if entry is None:
            entry = self._entries[address] = AddressEntry(seed=True)
        entry.seed = True
        self._wait(entry, now)

    def hint(self, address: str, *, now: float) -> None:
        """Somebody may be there: dial it, and forget it if nobody answers."""
        entry = self._entry(address)
        if entry is not None:
            self._wait(entry, now)

    def learn(self, name: str, life: int, addresses: tuple[str, ...], *, sure: bool) -> bool:
        """A host is said to be reached there; whether that is news.

        What a later life of the host says counts before what an earlier one said, and what it says
        itself (`sure`) before what others tell of it.
        """
        known = self._hosts.get(name)
        addresses = addresses[:ADDRESSES_MAX]
        if known is not None and (life < known[0] or (life == known[0] and not sure)):
            return False
        if known == (life, addresses) or (known is None and len(self._hosts) >= HOSTS_MAX):
            return False
        self._hosts[name] = (life, addresses)
        return True

    def address_of(self, name: str) -> str:
        """Where a host is said to be; empty when nobody has said."""
        _, addresses = self._hosts.get(name, (0, ()))
        return addresses[0] if addresses else ""

    def forget(self, name: str) -> None:
        """Nobody of that name is where it was said to be."""
        self._hosts.pop(name, None)

    def known(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """What can be told to others."""
        return [(name, life, found) for name, (life, found) in self._hosts.items() if found]

    # -- dialling ----------------------------------------------------------------------------

    def want(self, name: str, *, now: float) -> bool:
        """Somebody wants this host: dial it if the book says where. False: nobody knows."""
        known = self._hosts.get(name)
        if known is None or not known[1]:
            return False
        for address in known[1]:
            entry = self._entry(address)
            if entry is None:
                return False
            entry.name = name
            self._wait(entry, now)
        return True

    def take_due(self, now: float, most: int = 16) -> list[str]:
        """The addresses to dial now; each counts as being dialled until it is told how it went."""
        found: list[str] = []
        for address, entry in self._entries.items():
            if len(found) >= most:
                break
            if entry.state == "WAITING" and entry.due <= now:
                entry.state = "DIALLING"
                found.append(address)
        return found

    def next_due(self) -> float | None:
        """When to look again."""
        return min((e.due for e in self._entries.values() if e.state == "WAITING"), default=None)

    def expected(self, address: str) -> str:
        """Who is said to be there, or nothing."""
        entry = self._entries.get(address)
        return "" if entry is None else entry.name

    def reached(self, address: str, name: str) -> None:
        """A host answered there, and a link leads to it."""
        entry = self._entries.get(address)
        if entry is not None:
            entry.name = name
            entry.state = "RESTING"
            entry.failures = 0
            entry.pause = PAUSE_MIN_S

    def retire(self, address: str) -> None:
        """Never dial this again: it is this host itself."""
        self._entries.pop(address, None)

    def failed(self, address: str, *, now: float) -> None:
        """Nobody answered there, or not the one who is wanted."""
        entry = self._entries.get(address)
        if entry is None:
            return
        entry.failures += 1
        if not entry.seed and entry.failures >= TRIES_MAX:
            del self._entries[address]
            return
        self._later(entry, now)
        entry.pause = min(PAUSE_MAX_S, entry.pause * 2)

    def lost(self, name: str, *, now: float) -> None:
        """The link to a host is gone: try again wherever it was."""
        for address in self._hosts.get(name, (0, ()))[1]:
            if address not in self._entries and len(self._entries) < ENTRIES_MAX:
                self._entries[address] = AddressEntry(seed=False)
                self._entries[address].name = name
        for entry in self._entries.values():
            if entry.name == name and entry.state == "RESTING":
                self._later(entry, now)

    def _entry(self, address: str) -> AddressEntry | None:
        """The entry of an address, made if there is room for one."""
        if address not in self._entries and len(self._entries) < ENTRIES_MAX:
            self._entries[address] = AddressEntry(seed=False)
        return self._entries.get(address)

    def _later(self, entry: AddressEntry, now: float) -> None:
        entry.state = "WAITING"
        entry.due = now + entry.pause * (1.0 - self._rng.random() / 2)

    def _wait(self, entry: AddressEntry, now: float) -> None:
        if entry.state == "RESTING":
            entry.state = "WAITING"
            entry.due = now
