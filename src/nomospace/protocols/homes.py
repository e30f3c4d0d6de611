"""Which host a key is at home at: the same for all who know the same hosts.

A key's canonical bytes are hashed to one of `SLOTS` slots, and each slot goes to the host that a
weighted rendezvous gives it: every host draws a number for the slot, which its name decides, and
the largest wins, a host of twice the weight twice as often. So when a host comes or goes only the
slots move that it wins or had. The table of slots is filled as they are asked for: an operation
costs a hash and a look-up, whatever the number of hosts.

Numbers are drawn and compared with integers and the four operations of floating numbers, which
give the same on every machine.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from hashlib import blake2b
from math import frexp
from typing import Final

from nomospace.terms import Term, encode

SLOTS: Final = 1 << 14
"""How many slots keys are hashed to: some for each of a thousand hosts."""
CAPACITY_MIN: Final = 0.01
CAPACITY_MAX: Final = 1_000.0
_MASK: Final = (1 << 64) - 1
_UNIT: Final = 1 / (1 << 64)
_ROUNDING: Final = 1 + 1e-9
"""More than what rounding may add to a score."""
_LN2: Final = 0.6931471805599453


def slot_of(key: Term) -> int:
    """The slot of a key.

    >>> slot_of("a"), slot_of(1) == slot_of(1.0)
    (9788, False)
    """
    low, high = blake2b(encode(key), digest_size=2).digest()
    return low + ((high & 63) << 8)


class Homes:
    """The hosts that keep a share of a space, by the weight that each has.

    `digest` tells sets of hosts and weights apart; it is never 0. Those of weight 0 have no share,
    unless all have none.

    >>> homes = Homes({"a": 1.0, "b": 1.0})
    >>> {homes.home(key) for key in range(20)} == {"a", "b"}
    True
    >>> Homes({"a": 1.0, "b": 0.0}).home("whatever")
    'a'
    """

    __slots__ = ("_even", "_hosts", "_seeds", "_table", "_weights", "digest", "hosts")

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.hosts = tuple(sorted(weights))
        """All that share the space."""
        lines = tuple([(host, float(weights[host])) for host in self.hosts])
        digest = blake2b(encode(lines), digest_size=8).digest()
        self.digest = int.from_bytes(digest) >> 1 or 1
        self._hosts = tuple([host for host, weight in lines if weight > 0]) or self.hosts
        self._weights = [weights[host] if weights[host] > 0 else 1.0 for host in self._hosts]
        self._even = len(set(self._weights)) <= 1
        self._seeds = [_seed(host) for host in self._hosts]
        self._table = array("i")

    @property
    def only_one(self) -> bool:
        """Whether there is but one host to choose from."""
        return len(self.hosts) == 1

    def home(self, key: Term) -> str:
        """The host that a key is at home at."""
        if len(self._hosts) == 1:
            return self._hosts[0]
        return self.of_slot(slot_of(key))

    def of_slot(self, slot: int) -> str:
        """The host that a slot belongs to."""
        if not self._table:
            self._table = array("i", [-1]) * SLOTS
        found = self._table[slot]
        if found < 0:
            found = self._table[slot] = self._draw(slot)
        return self._hosts[found]

    def shares(self) -> dict[str, int]:
        """How many slots each host has."""
        found = dict.fromkeys(self.hosts, 0)
        for slot in range(SLOTS):
            found[self.of_slot(slot)] += 1
        return found

    def _draw(self, slot: int) -> int:
        """Who wins a slot; of equals, the first by name."""
        mark = (slot + 1) * 0x9E3779B97F4A7C15 & _MASK
        # Two rounds of splitmix64, written out: a call for each host would cost more than they do.
        once = [((seed ^ mark) * 0xBF58476D1CE4E5B9) & _MASK for seed in self._seeds]
        again = [((one ^ one >> 27) * 0x94D049BB133111EB) & _MASK for one in once]
        drawn = [one ^ one >> 31 for one in again]
        if self._even:
            return drawn.index(max(drawn))
        best, winner = 0.0, 0
        for place, (weight, number) in enumerate(zip(self._weights, drawn, strict=True)):
            # A logarithm is dear, and 1 - u is never above -log(u): most hosts cannot win.
            if weight * _ROUNDING >= best * (1.0 - number * _UNIT):
                score = weight / _minus_log(number)
                if score > best:
                    best, winner = score, place
        return winner


def _seed(host: str) -> int:
    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest())


def _minus_log(number: int) -> float:
    """Minus the natural logarithm of a 64-bit number seen as one between 0 and 1; above 0.

    >>> round(_minus_log(1 << 63), 9)
    0.693147181
    """
    mantissa, exponent = frexp((number >> 11) + 0.5)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    total, power = 0.0, ratio
    for odd in range(1, 34, 2):
        total += power / odd
        power *= square
    return (53 - exponent) * _LN2 - 2.0 * total
