"""What an agent may ask of its host. Clients write these, and hosts read them.

Every request is answered exactly once, with a value (see `answers`) or an error, unless its agent
leaves first. Locations: an agent id has an `@`, a host's name has none; the empty string leaves a
place open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.calls.ways import (
    BULK as BULK,
    ONCE as ONCE,
    ONCE_PER_TUPLE as ONCE_PER_TUPLE,
    READ as READ,
    READ_ALL as READ_ALL,
    READ_NOWAIT as READ_NOWAIT,
    STRONG as STRONG,
    TAKE as TAKE,
    TAKE_ALL as TAKE_ALL,
    TAKE_NOWAIT as TAKE_NOWAIT,
    TAKING as TAKING,
    WAITING as WAITING,
    WAYS as WAYS,
    WEAK as WEAK,
    Mode as Mode,
    Strength as Strength,
    Way as Way,
)
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.law import CompiledLaw
else:
    CompiledLaw = Any  # annotations are read at run time too, and a client has no compiler


ONCE_CHARS_MAX: Final = 500
"""The longest key under which something is written once."""


class OntologyText(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An ontology as it travels: whoever gets it reads the text and compares the hash.

    Without a text it is named only, for a host that has met it.
    """

    hash: str
    name: str = ""
    text: str = ""


class LawText(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A law as it travels: whoever gets it compiles the text and compares the hash."""

    hash: str
    name: str
    text: str


class Request(msgspec.Struct, frozen=True):
    """Something that an agent asks of its host."""


class Open(Request, frozen=True, array_like=True, tag="open"):
    """Have an interface space of this name, private at first; under a law, or under none.

    It speaks an ontology; where none is given, that which the space speaks on this host. `engine`
    is `memory` or `store`; empty, that which the space has on this host. One that lies in the store
    is shared at once. `partition` is the text of a `calls.partition.PartitionKey`; empty, that
    which the space has on this host.
    """

    space: str
    law: CompiledLaw | None = None
    durable: bool = True
    ontology: OntologyText | None = None
    engine: str = ""
    partition: str = ""


class Share(Request, frozen=True, array_like=True, tag="share"):
    """Share (or part) several interface spaces in one atomic step."""

    spaces: tuple[str, ...]
    shared: bool = True


class Out(Request, frozen=True, gc=False, array_like=True, tag="out"):
    """Write one tuple, for an agent when `to` names one; gone after `ttl_us` when that is set.

    With `once`, what this agent has written to this space under the same key is not written again,
    for as long as the host remembers keys (`Shares.once_s`); with `once_lasts`, for good. Tuples of
    a higher `priority` are found first.
    """

    space: str
    fields: tuple[Term, ...]
    to: str = ""
    ttl_us: int = 0
    once: str = ""
    priority: int = 0
    once_lasts: bool = False


class OutMany(Request, frozen=True, gc=False, array_like=True, tag="out-many"):
    """Write several tuples in one atomic step."""

    space: str
    rows: tuple[tuple[Term, ...], ...]
    to: str = ""
    ttl_us: int = 0
    once: str = ""
    priority: int = 0
    once_lasts: bool = False


class Sets(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Whether several tuples may answer a template together, and how far to look for them.

    With `correlate` auto they may where no single tuple does, with always in any case. With a
    `key` they all hold one same object of that class.
    """

    correlate: str = "auto"
    key: str = ""
    max_set: int = 6


class Seek(Request, frozen=True, gc=False, array_like=True, tag="seek"):
    """Read or take what a template matches: one or all, waiting or not, here or there.

    With `sets`, several tuples may answer a template that names classes together.
    """

    space: str
    how: Way
    template: Template
    at: str = ""
    dest: str = ""
    lease_us: int = 0
    sets: Sets | None = None


class Cancel(Request, frozen=True, gc=False, array_like=True, tag="cancel"):
    """Wait no longer for an earlier `Seek`: it is answered with `Cancelled` if not yet served."""

    op: int


class Settle(Request, frozen=True, gc=False, array_like=True, tag="settle"):
    """Acknowledge a tuple taken under a lease (`done`), or give it back.

    Given back, it is for the next taker after `delay_us`; `why` stays with it. With `renew_us` it
    is neither: the lease ends so long from now.
    """

    space: str
    lease: str
    done: bool = True
    renew_us: int = 0
    delay_us: int = 0
    why: str = ""


class React(Request, frozen=True, array_like=True, tag="react"):
    """Register a reaction; answered with its id.

    A strong one brings its listener, a plain function that is called inside the host's step with a
    `Firing`. A weak one is told through `effects.Fire`. With `sets` a weak one fires for each set
    of tuples that answers together, too.
    """

    space: str
    template: Template
    mode: Mode = ONCE_PER_TUPLE
    strength: Strength = WEAK
    at: str = ""
    dest: str = ""
    listener: Callable[[Any], None] | None = None
    sets: Sets | None = None


class Adjust(Request, frozen=True, array_like=True, tag="adjust"):
    """`disable`, `enable` (it forgets what it reacted to) or `remove` a reaction."""

    reaction: str
    what: str


class Reactions(Request, frozen=True, array_like=True, tag="reactions"):
    """Ask for the registered reactions of the agent."""


class Adopt(Request, frozen=True, array_like=True, tag="adopt"):
    """Adopt a law; answered with the ruling on the adoption.

    `number` says which of the agent's memberships under the law it is to be (see `addresses`).
    """

    law: CompiledLaw
    args: tuple[Term, ...] = ()
    number: int = 1


class Unread(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message that was delivered to a program, and that it has not read."""

    law: str
    sender: str
    message: Term


CLIENT_PROGRAM: Final = "@client"
"""What an agent runs, to its hosts, whose program is a client: it goes on wherever that connects.
No program can be registered under this name."""


class Move(Request, frozen=True, array_like=True, tag="move"):
    """Go on at another host, with all that is the agent's own; answered only when it stays.

    `program` names what the agent runs, and `state` is what that wants to find again there, a term
    or plain data; `code` is for a host that does not have the program (see `Host.admits`), and
    `mail` is what it has not read. A program begins anew where it comes to: what it waits for and
    its reactions end when it leaves, as in a crash. Without a program, these go along.
    """

    to: str
    program: str = ""
    state: Any = None
    code: Any = None
    mail: tuple[Unread, ...] = ()


class Launch(Request, frozen=True, array_like=True, tag="launch"):
    """Note what the agent runs: a host that starts again tells (`Host.programs`). Empty: nothing.

    The host itself runs nothing; whoever drives it does.
    """

    program: str
    state: Any = None
    code: Any = None


class Save(Request, frozen=True, array_like=True, tag="save"):
    """Note another state of the program that the agent runs."""

    state: Any


class End(Request, frozen=True, array_like=True, tag="end"):
    """End the agent: its spaces and tuples, its memberships, what it waits for and reacts to."""


class SendPlain(Request, frozen=True, array_like=True, tag="send"):
    """Send a message to another agent, outside of all communities; `here` is as with `Tell`."""

    message: Term
    to: str
    here: bool = False


class Tell(Request, frozen=True, array_like=True, tag="tell"):
    """Send a message to an agent, a space or several under a law; answered with the ruling.

    `here` is for a message that goes only if all agents among its receivers are at this host.
    """

    law: str
    message: Term
    to: str | tuple[str, ...]
    here: bool = False


class Show(Request, frozen=True, array_like=True, tag="show"):
    """Present a certificate (PEM or DER) to the controller of a membership."""

    law: str
    certificate: bytes


class Quit(Request, frozen=True, array_like=True, tag="quit"):
    """Leave the community of a law; answered with the ruling on that."""

    law: str


class Stand(Request, frozen=True, array_like=True, tag="stand"):
    """Ask where the agent stands under a law: what that discloses of its control state."""

    law: str
