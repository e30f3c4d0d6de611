"""What daemons and servers say to each other.

Frames are never changed after they were made. Those for a server begin with the `domain` it serves,
since a site may run several servers besides its daemon; `server_of` tells where a frame belongs.
Whoever sends a frame that carries a post gives the post away with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from nomospace.protocols.messages import Payload

if TYPE_CHECKING:
    from nomospace.protocols.routing.changes import Change

    AnyFrame: TypeAlias = "Frame"
    Heard: TypeAlias = "Frame | None"
else:  # annotations are read at run time too, and the wire has slots for these
    Change = AnyFrame = Heard = Payload

PostId: TypeAlias = tuple[str, str, int]
"""Sender, receiver, and the number among the sender's posts to this receiver."""


PATH_MAX: Final = 16
"""How many sites of a post's path are remembered."""


class Post(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="post"):
    """An application message on its way; heard by a daemon, it is for an agent that may be there.

    `origin` is the site it was sent from and `way` the domains whose servers passed it on since,
    in order: an `Update` goes back along it. `hops` counts the network messages that it took so
    far, and `path` has the first sites that have sent it on since its origin did. With `why` set it
    is a post that failed, on its way back to its sender.
    """

    sender: str
    to: str
    n: int
    body: Payload
    origin: str
    way: tuple[str, ...] = ()
    hops: int = 0
    passes: int = 0
    why: str = ""
    path: tuple[str, ...] = ()

    def sent_on(self, site: str) -> Post:
        """As it is once a site has sent it on over the network; its origin's name goes unsaid."""
        unsaid = (site == self.origin and not self.path) or len(self.path) >= PATH_MAX
        path = self.path if unsaid else (*self.path, site)
        return msgspec.structs.replace(self, hops=self.hops + 1, path=path)

    @property
    def id(self) -> PostId:
        """What no other post has."""
        return (self.sender, self.to, self.n)

    @property
    def target(self) -> str:
        """The agent it is on its way to."""
        return self.sender if self.why else self.to


class _AboutAgent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Between a server and a daemon, about an agent after so many of its moves."""

    domain: str
    agent: str
    epoch: int


class _OfTerm(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Of a domain, while one of its servers is the primary."""

    domain: str
    term: int


class _OfStep(_OfTerm, frozen=True, gc=False, array_like=True):
    """The same, about a step of that primary."""

    step: int


# -- to a daemon -------------------------------------------------------------------------------


class QueueFull(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="busy"):
    """The queue for a post's agent is full: keep the post and try again later."""

    post: Post


class Astray(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="astray"):
    """A post was passed on too often: keep it and go on later from where its way ends."""

    post: Post


class PostReturned(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="returned"):
    """A post that can never be delivered, back at its origin, with the reason."""

    post: Post
    why: str


class MayGo(_AboutAgent, frozen=True, gc=False, array_like=True, tag="may-go"):
    """An agent's mail is queued from now on; it may leave, with this ticket.

    Answers say in which `term` of its primary the server gave them.
    """

    ticket: str
    term: int = 0


class RecordAck(_AboutAgent, frozen=True, gc=False, array_like=True, tag="ack"):
    """The server of `domain` has the record of an agent as it was told.

    At a birth `strays` names the posts to this agent that failed before: they are not waited for.
    """

    strays: tuple[tuple[str, int], ...] = ()
    term: int = 0


class Refuse(_AboutAgent, frozen=True, gc=False, array_like=True, tag="refuse"):
    """The server of `domain` does not believe what it was told about an agent."""

    why: str
    term: int = 0


class NotPrimary(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="not-primary"):
    """Another site is the primary of `domain` now: ask it again what has no answer yet (`ASKED`).

    All else that was sent has been passed on to it. Every core of the site should be told.
    """

    domain: str
    site: str
    term: int


# -- to a server -------------------------------------------------------------------------------


class SeekAgent(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="seek"):
    """Find the agent of a post that could not be delivered."""

    domain: str
    post: Post


class Register(_AboutAgent, frozen=True, gc=False, array_like=True, tag="register"):
    """An agent was born at the sending site (no ticket), or came there from another domain."""

    ticket: str = ""


class Migrating(_AboutAgent, frozen=True, gc=False, array_like=True, tag="migrating"):
    """An agent at the sending site would leave for another."""

    to: str


class AgentMigrated(_AboutAgent, frozen=True, gc=False, array_like=True, tag="migrated"):
    """An agent is at the sending site now, in domain `there`, and this is its ticket.

    `tell` asks for the eager policy after a move across domains, and names the sites to be told.
    """

    ticket: str
    there: str
    tell: tuple[str, ...] | None = None


class Stayed(_AboutAgent, frozen=True, gc=False, array_like=True, tag="stayed"):
    """An agent that might go stayed at the sending site after all."""

    ticket: str


class AgentEnded(_AboutAgent, frozen=True, gc=False, array_like=True, tag="ended"):
    """An agent is no more; from its last site, then from its last server to its home.

    `got` has the last numbers that it got from those whom it met last: such posts did not fail.
    """

    got: tuple[tuple[str, int], ...] = ()


# -- to either ---------------------------------------------------------------------------------


class Update(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="update"):
    """The agent of a post that you passed on is at `site`.

    `way` is what is left of the post's: the last server in it is meant, and without one the daemon
    at `origin`.
    """

    post: PostId
    agent: str
    site: str
    epoch: int
    origin: str
    way: tuple[str, ...]


class Hint(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="hint"):
    """From a server, unasked (eager policy): an agent is at `site`. For a daemon if no domain."""

    domain: str
    agent: str
    site: str
    epoch: int


# -- between the servers of one domain ---------------------------------------------------------


class Replicate(_OfStep, frozen=True, gc=False, array_like=True, tag="replicate"):
    """Step number `step` of the primary: what it wrote down, and the frames it holds, with sites.

    `done` is the last step whose frames the primary has let out, `after` the term of the step
    before this one.
    """

    changes: tuple[Change, ...]
    frames: tuple[tuple[str, AnyFrame], ...]
    done: int
    after: int = 0


class Replicated(_OfStep, frozen=True, gc=False, array_like=True, tag="replicated"):
    """The standby has every step up to this one."""


class ServerSnapshot(_OfStep, frozen=True, gc=False, array_like=True, tag="snapshot"):
    """All that the primary had after a step, for a standby that was away.

    `held` has the frames of the steps behind `done`; `lineage` says with which step each term of
    its steps began.
    """

    changes: tuple[Change, ...]
    done: int = 0
    held: tuple[Replicate, ...] = ()
    lineage: tuple[tuple[int, int], ...] = ()


class Deposed(_OfStep, frozen=True, gc=False, array_like=True, tag="deposed"):
    """The standby took over in `term`, with every step up to `step` of the primary before it."""


class Rejoin(_OfTerm, frozen=True, gc=False, array_like=True, tag="rejoin"):
    """A server that is not up to date knows of the primary and would be its standby."""


class Relayed(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="relayed"):
    """A frame that `src` sent to a site that is not the primary any more."""

    domain: str
    src: str
    frame: AnyFrame


# -- said once between the servers of one domain: it may get lost -------------------------------


class PrimaryBeat(_OfStep, frozen=True, gc=False, array_like=True, tag="beat"):
    """The primary lives, and has taken `step` and let out all up to `done`.

    `servers` are those of the domain as it knows them.
    """

    done: int
    servers: tuple[str, ...]


class BeatHeard(_OfStep, frozen=True, gc=False, array_like=True, tag="beat-heard"):
    """A server lives, in `term`; its last step is `step`, of the term `last`."""

    last: int


class AskVote(_OfStep, frozen=True, gc=False, array_like=True, tag="ask-vote"):
    """A server whose last step is `step`, of the term `last`, would be the primary of `term`.

    On `trial` it only asks whether it would be given the vote: nobody's term changes.
    """

    last: int
    trial: bool


class Vote(_OfTerm, frozen=True, gc=False, array_like=True, tag="vote"):
    """The answer to an `AskVote`, from a server that is in the term `own`."""

    trial: bool
    given: bool
    own: int


class WhoServes(_OfTerm, frozen=True, gc=False, array_like=True, tag="who-serves"):
    """Said once by any site: has another than the primary of `term` taken over? `NotPrimary`."""


Frame: TypeAlias = (
    Post
    | QueueFull
    | Astray
    | PostReturned
    | MayGo
    | RecordAck
    | Refuse
    | NotPrimary
    | SeekAgent
    | Register
    | Migrating
    | AgentMigrated
    | Stayed
    | AgentEnded
    | Update
    | Hint
    | Replicate
    | Replicated
    | ServerSnapshot
    | Deposed
    | Rejoin
    | Relayed
    | PrimaryBeat
    | BeatHeard
    | AskVote
    | Vote
    | WhoServes
)

KINDS: Final = frozenset(get_args(Frame))
"""The kinds of frame that there are."""

WANTED = (SeekAgent, Register, Migrating, AgentMigrated, Stayed, AgentEnded, Hint)
"""What daemons and other servers want of a domain's server, besides to know of an `Update`."""
Asked: TypeAlias = Register | Migrating | AgentMigrated | Stayed
ASKED = get_args(Asked)
"""What a daemon waits to have answered, and asks again when there is another primary. Nobody passes
it on: told twice, and late, a birth would bring back an agent that has ended."""
PAIRS = (Replicate, Replicated, ServerSnapshot, Deposed, Rejoin, Relayed)
"""What the servers of a domain say to each other by courier."""
BEATS = (PrimaryBeat, BeatHeard, AskVote, Vote)
"""What they say once."""


def post_in(frame: Frame) -> Post | None:
    """The post that a frame carries, if it carries one.

    >>> post_in(SeekAgent("lab", Post("ann@lab", "bob@lab", 1, "hello", "s1"))).body
    'hello'
    """
    if isinstance(frame, Post):
        return frame
    if isinstance(frame, Relayed):
        return post_in(frame.frame)
    return frame.post if isinstance(frame, SeekAgent | QueueFull | Astray | PostReturned) else None


def with_post(frame: Frame, post: Post) -> Frame:
    """The same frame with another post in the place of the one that it carries."""
    if isinstance(frame, Post):
        return post
    if isinstance(frame, Relayed):
        return replace(frame, frame=with_post(frame.frame, post))
    assert isinstance(frame, SeekAgent | QueueFull | Astray | PostReturned), frame
    return replace(frame, post=post)


def server_of(frame: Frame) -> str:
    """The domain whose server a frame is for; empty if it is for the daemon of the site.

    >>> server_of(Migrating("lab", "ann@lab", 0, "s2"))
    'lab'
    >>> server_of(Update(("bob@lab", "ann@lab", 1), "ann@lab", "s2", 1, "s1", ("ward", "lab")))
    'lab'
    >>> server_of(RecordAck("lab", "ann@lab", 0))
    ''
    """
    if isinstance(frame, Update):
        return frame.way[-1] if frame.way else ""
    if isinstance(frame, (*WANTED, *PAIRS, *BEATS, WhoServes)):
        return frame.domain
    return ""
