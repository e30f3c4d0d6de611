"""Links between hosts of one process: they can be made, cut, slowed and made to lose frames.

For programs, examples and tests that want a federation without sockets. Frames are handed over as
they are, in a later turn of the event loop, so that no host ever works inside another's step.
"""

from __future__ import annotations

import asyncio
from random import Random

from nomospace.client import check_name
from nomospace.errors import CallerError
from nomospace.node.links import Hear


class NameTaken(CallerError):
    """A network has a host of this name already."""

    code = "node.name-taken"
    words = "host {name!r} is on this network already; give the new one another name"
    name: str


class BadLink(CallerError):
    """A link that cannot be."""

    code = "node.bad-link"
    words = "{why}"
    why: str


class Network:
    """In-process links. Hosts join it by name; `connect` links two, `part` cuts the link.

    A link may be made before its hosts are there, and outlives them. Every frame takes `delay`
    seconds; `loss` is the share that gets lost, drawn with `seed`, so a run can be repeated.

    >>> import asyncio, nomospace as ns
    >>> async def program():
    ...     net = ns.Network()
    ...     net.connect("ward", "icu")
    ...     async with ns.Host("ward", network=net) as ward, ns.Host("icu", network=net) as icu:
    ...         await ward.wait_engaged("icu", timeout=30)
    ...         jobs = await (await ward.agent("ann")).space("jobs", shared=True)
    ...         await jobs.out("job", 17)
    ...         jobs = await (await icu.agent("bob")).space("jobs", shared=True)
    ...         return await jobs.take("job", int, timeout=30)
    >>> from nomospace_lab.testing.loop import run
    >>> run(program())
    ('job', 17)
    """

    def __init__(self, *, delay: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        if not delay >= 0.0 or not 0.0 <= loss < 1.0:
            raise BadLink(why=f"delay={delay}, loss={loss}: give seconds from 0, a share below 1")
        self.delay = delay
        self.loss = loss
        self._rng = Random(seed)
        self._links: dict[str, dict[str, None]] = {}
        self._hosts: dict[str, Hear] = {}

    def connect(self, a: object, b: object) -> None:
        """Link two hosts, by name or as they are; linking twice is harmless."""
        one, other = _name(a), _name(b)
        if one == other:
            raise BadLink(why=f"a link of {one!r} with itself; name two hosts")
        self._links.setdefault(one, {})[other] = None
        self._links.setdefault(other, {})[one] = None

    def connect_all(self, *hosts: object) -> None:
        """Link every host with every other."""
        for place, one in enumerate(hosts):
            for other in hosts[place + 1 :]:
                self.connect(one, other)

    def part(self, a: object, b: object) -> None:
        """Cut a link: frames on their way arrive, none after them does."""
        one, other = _name(a), _name(b)
        self._links.get(one, {}).pop(other, None)
        self._links.get(other, {}).pop(one, None)

    def linked(self, a: object, b: object) -> bool:
        """Whether two hosts have a link of their own."""
        return _name(b) in self._links.get(_name(a), {})

    # -- what hosts use ----------------------------------------------------------------------

    def join(self, name: str, hear: Hear) -> None:
        """A host is there; it hears with this function."""
        if name in self._hosts:
            raise NameTaken(name=name)
        self._hosts[name] = hear

    def leave(self, name: str) -> None:
        """A host is gone. Its links stay, for when it comes back."""
        self._hosts.pop(name, None)

    def transmit(self, sender: str, to: str | None, frame: object) -> None:
        """Bring a frame to a linked host, or to all of them."""
        linked = self._links.get(sender, {})
        loop = asyncio.get_running_loop()
        for name in linked if to is None else (to,):
            if name not in linked or (self.loss and self._rng.random() < self.loss):
                continue
            if self.delay:
                loop.call_later(self.delay, self._deliver, sender, name, frame)
            else:
                loop.call_soon(self._deliver, sender, name, frame)

    def _deliver(self, sender: str, to: str, frame: object) -> None:
        hear = self._hosts.get(to)
        if hear is not None:
            hear(sender, frame)


def _name(host: object) -> str:
    return check_name("a host", getattr(host, "name", host))
