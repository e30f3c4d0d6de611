"""What of the blocking face only waits for the async one.

Written from the code: python -m tests.docs.blocking
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from nomospace import client
from nomospace.client import DisclosedRuling, Standing
from nomospace.client.membership import Letter
from nomospace.client.program import AnyProgram
from nomospace.client.reactions import AnyHandle
from nomospace.client.tuples import Correlation
from nomospace.sync.background import background
from nomospace.terms.templates import Template

if TYPE_CHECKING:  # who only connects loads no host
    from nomospace import node
    from nomospace.client import fronts, remote
    from nomospace.client.laws import Law
    from nomospace.protocols.messages import View
    from nomospace.wire.admin import A, ContactLine, OperatorQuestion


class HostCalls:
    """What waits for a `node.Host`."""

    __slots__ = ("_it",)

    _it: node.Host

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def name(self) -> str:
        """The host's name."""
        return self._it.name

    def launch(
        self, program: str, *, name: str, state: object = None, bundle: bytes | None = None
    ) -> AnyProgram:
        """Let the agent `name@host` run a program, from this state; it is durable then."""
        return background.wait(self._it.launch(program, name=name, state=state, bundle=bundle))

    def end(self, agent_id: str) -> None:
        """End an agent of this host: its tuples, waits, reactions and memberships go with it."""
        background.wait(self._it.end(agent_id))

    def suspend(self, name: str, why: str = "") -> None:
        """Suspend an agent (its id) or a law (its hash) until `resume`; returns when it is kept."""
        background.wait(self._it.suspend(name, why))

    def resume(self, name: str) -> None:
        """End a suspension: what was kept meanwhile is served, once."""
        background.wait(self._it.resume(name))

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may run here without bringing their code."""
        return self._it.programs

    @property
    def view(self) -> View:
        """The group as this host sees it: `view.members` are the names of its hosts."""
        return self._it.view

    def wait_closed(self) -> None:
        """Wait until the host has ended, by `close` or because its store failed."""
        background.wait(self._it.wait_closed())

    def law(self, law: str) -> Law | None:
        """A law that this host has at hand, by its hash."""
        return background.call(self._it.law, law)

    def connected(self, who: str) -> bool:
        """Whether an agent, or (without an `@`) a host, is connected with this host now."""
        return background.call(self._it.connected, who)

    def engage(self) -> None:
        """Join whom the policy lets this host join; it takes some message delays."""
        background.call(self._it.engage)

    def disengage(self) -> None:
        """Leave the group by announcement, and stay alone until `engage`."""
        background.call(self._it.disengage)

    def moved(self, x_m: float, y_m: float, z_m: float | None = None) -> None:
        """Tell where the host is now, in metres; for policies that engage by position."""
        background.call(self._it.moved, x_m, y_m, z_m)

    def wait_engaged(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until all these hosts are in the group of this one; raises `NotInTime`."""
        background.wait(self._it.wait_engaged(*hosts, timeout=timeout))

    def wait_parted(self, *hosts: str, timeout: float | None = None) -> None:
        """Wait until none of these hosts is in the group of this one; raises `NotInTime`."""
        background.wait(self._it.wait_parted(*hosts, timeout=timeout))


class RemoteHostCalls:
    """What waits for a `remote.RemoteHost`."""

    __slots__ = ("_it",)

    _it: remote.RemoteHost

    def __repr__(self) -> str:
        return repr(self._it)

    def ask(self, question: OperatorQuestion[A]) -> A:
        """Ask an operator's question (`nomospace.wire.admin`); needs a token of that scope."""
        return background.wait(self._it.ask(question))

    def contact(self) -> ContactLine:
        """With whom the host is one group, whether it engages at all, and where it is."""
        return background.wait(self._it.contact())

    def engage(self) -> ContactLine:
        """Let the host join whom its policy lets it join; engagement follows."""
        return background.wait(self._it.engage())

    def disengage(self) -> ContactLine:
        """Let the host leave its group, and stay alone until `engage`; returns when it has left."""
        return background.wait(self._it.disengage())

    def moved(self, x_m: float, y_m: float, z_m: float | None = None) -> ContactLine:
        """Tell the host where it is, in metres; raises `NotAPosition`."""
        return background.wait(self._it.moved(x_m, y_m, z_m))


class AgentCalls:
    """What waits for a `client.Agent`."""

    __slots__ = ("_it",)

    _it: client.Agent

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def id(self) -> str:
        """`name@domain`, unique."""
        return self._it.id

    def move(self, to: str) -> None:
        """Raise `NotAProgram`: what this code holds in its frames could not go along."""
        background.wait(self._it.move(to))

    def close(self) -> None:
        """End this program's side of the agent."""
        background.wait(self._it.close())

    def end(self) -> None:
        """End the agent itself: it leaves, and so does all that is its own."""
        background.wait(self._it.end())

    def send(self, message: object, *, to: str, here: bool = False) -> None:
        """Send a plain message to another agent, wherever it is: outside of all communities."""
        background.wait(self._it.send(message, to=to, here=here))

    def receive_nowait(self) -> Letter | None:
        """The oldest plain message that waits, or `None`."""
        return background.call(self._it.receive_nowait)


class MembershipCalls:
    """What waits for a `client.Membership`."""

    __slots__ = ("_it",)

    _it: client.Membership

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def law(self) -> client.Law:
        """The law."""
        return self._it.law

    @property
    def ruling(self) -> DisclosedRuling | None:
        """The ruling on the adoption."""
        return self._it.ruling

    @property
    def number(self) -> int:
        """Which of the agent's memberships under the law it is."""
        return self._it.number

    @property
    def key(self) -> str:
        """How HTTP names it: by its law's hash, and `~2` for the second one."""
        return self._it.key

    @property
    def address(self) -> str:
        """Where other members write to it."""
        return self._it.address

    def send(self, message: Any, *, to: str | Sequence[str], here: bool = False) -> DisclosedRuling:
        """Send a message to an agent, a space, or several; gives the ruling, refused or not."""
        return background.wait(self._it.send(message, to=to, here=here))

    def present(self, certificate: bytes | str | Path) -> DisclosedRuling:
        """Present a certificate, PEM or DER, or its file: the ruling on it."""
        return background.wait(self._it.present(certificate))

    def standing(self) -> Standing:
        """Where the agent stands: its control state and what it owes, if the law discloses it."""
        return background.wait(self._it.standing())

    def quit(self) -> DisclosedRuling:
        """Leave the community: the ruling on it. The law hears `quit`, and then rules no more."""
        return background.wait(self._it.quit())

    def receive_nowait(self) -> Letter | None:
        """The oldest message that waits, or `None`."""
        return background.call(self._it.receive_nowait)


class SpaceCalls:
    """What waits for a `client.Space`."""

    __slots__ = ("_it",)

    _it: client.Space

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def name(self) -> str:
        """The name that it shares with the spaces of other agents."""
        return self._it.name

    @property
    def shared(self) -> bool:
        """Whether others see it, and it sees them."""
        return self._it.shared

    @property
    def owner(self) -> str:
        """The id of the agent whose window this is."""
        return self._it.owner

    def out(
        self,
        *fields: object,
        to: str | None = None,
        ttl: float | None = None,
        once: str | None = None,
        priority: int = 0,
        once_lasts: bool = False,
    ) -> None:
        """Write a tuple, for the agent `to` when one is named."""
        background.wait(
            self._it.out(
                *fields, to=to, ttl=ttl, once=once, priority=priority, once_lasts=once_lasts
            )
        )

    def acknowledge(self, taken: client.Tuple) -> None:
        """Say that a tuple taken under a lease is done with: it is gone for good."""
        background.wait(self._it.acknowledge(taken))

    def renew(self, taken: client.Tuple, lease: float) -> None:
        """Let the lease on a tuple end `lease` seconds from now."""
        background.wait(self._it.renew(taken, lease))

    def give_back(self, taken: client.Tuple, *, delay: float | None = None, why: str = "") -> None:
        """Give a tuple taken under a lease back before the lease ends."""
        background.wait(self._it.give_back(taken, delay=delay, why=why))

    def tell(self, client: str, message: object) -> DisclosedRuling:
        """Let the space itself say something to an agent; gives the ruling, refused or not."""
        return background.wait(self._it.tell(client, message))

    def monitor(self, most: float | None, *, rest: float = 1.0, longest: float = 60.0) -> None:
        """Have the space watch its load at this agent's host, until that ends; `None` stops it."""
        background.wait(self._it.monitor(most, rest=rest, longest=longest))

    def take_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> client.Tuple | None:
        """Take a tuple that matches on this host, or at the host or agent `at`; `None` if none."""
        return background.wait(self._it.take_nowait(*template, at=at, dest=dest, **sets))

    def read_nowait(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> client.Tuple | None:
        """Read a tuple that matches on this host, or at the host or agent `at`; `None` if none."""
        return background.wait(self._it.read_nowait(*template, at=at, dest=dest, **sets))

    def take_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[client.Tuple]:
        """Take every tuple that matches on this host, or at the host or agent `at`, in one step."""
        return background.wait(self._it.take_all(*template, at=at, dest=dest, **sets))

    def read_all(
        self,
        *template: object,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> list[client.Tuple]:
        """Read every tuple that matches on this host, or at the host or agent `at`, in one step."""
        return background.wait(self._it.read_all(*template, at=at, dest=dest, **sets))

    def share(self) -> None:
        """Join the space of this name that the other agents of the group share."""
        background.wait(self._it.share())

    def unshare(self) -> None:
        """Part: what this agent holds stays with it, and nobody else sees it."""
        background.wait(self._it.unshare())


class FrontCalls:
    """What waits for a `fronts.FrontSpace`."""

    __slots__ = ("_it",)

    _it: fronts.FrontSpace

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def name(self) -> str:
        """The front's id."""
        return self._it.name

    def out(self, *fields: object, timeout: float = 60.0) -> None:
        """Write a tuple; returns when it is there. Raises `Refused`, `FrontFailed`, `TimedOut`."""
        background.wait(self._it.out(*fields, timeout=timeout))

    def take(self, *template: object, timeout: float = 60.0) -> client.Tuple:
        """Wait for a tuple that matches, and take it; raises as `out` does."""
        return background.wait(self._it.take(*template, timeout=timeout))

    def read(self, *template: object, timeout: float = 60.0) -> client.Tuple:
        """Wait for a tuple that matches, and leave it there; raises as `out` does."""
        return background.wait(self._it.read(*template, timeout=timeout))

    def take_nowait(self, *template: object, timeout: float = 60.0) -> client.Tuple | None:
        """Take a tuple that matches; `None` if there is none."""
        return background.wait(self._it.take_nowait(*template, timeout=timeout))

    def read_nowait(self, *template: object, timeout: float = 60.0) -> client.Tuple | None:
        """Read a tuple that matches; `None` if there is none."""
        return background.wait(self._it.read_nowait(*template, timeout=timeout))

    def take_all(self, *template: object, timeout: float = 60.0) -> list[client.Tuple]:
        """Take all tuples that match, as many as one answer has."""
        return background.wait(self._it.take_all(*template, timeout=timeout))

    def read_all(self, *template: object, timeout: float = 60.0) -> list[client.Tuple]:
        """Read all tuples that match, as many as one answer has."""
        return background.wait(self._it.read_all(*template, timeout=timeout))


class ReactionCalls:
    """What waits for a `client.ReactionHandle`."""

    __slots__ = ("_it",)

    _it: AnyHandle

    def __repr__(self) -> str:
        return repr(self._it)

    @property
    def template(self) -> Template:
        """What it watches for."""
        return self._it.template

    @property
    def mode(self) -> str:
        """`once` or `once-per-tuple`."""
        return self._it.mode

    @property
    def strength(self) -> str:
        """`weak` or `strong`."""
        return self._it.strength

    @property
    def at(self) -> str | None:
        """The host or agent it is bound to."""
        return self._it.at

    @property
    def dest(self) -> str | None:
        """The agent that its tuples are for."""
        return self._it.dest

    @property
    def state(self) -> str:
        """`enabled`, `disabled` or `removed`."""
        return self._it.state

    @property
    def fired(self) -> int:
        """How often the listener was run."""
        return self._it.fired

    def disable(self) -> None:
        """Let it sleep: its listener is not run until `enable`. Firings that wait are dropped."""
        background.call(self._it.disable)

    def enable(self) -> None:
        """Wake it. It forgets what it reacted to, so it reacts to all that matches now (LIME)."""
        background.call(self._it.enable)

    def remove(self) -> None:
        """Take it out of the space; it never fires again. Removing twice is harmless."""
        background.call(self._it.remove)

    def wait_registered(self) -> None:
        """Wait until the host has registered it; raises what the host refused it with."""
        background.wait(self._it.wait_registered())

    def wait_fired(self, count: int = 1) -> None:
        """Wait until the listener has been run so many times in all, and has ended."""
        background.wait(self._it.wait_fired(count))
