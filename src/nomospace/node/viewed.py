"""What views of a running host consist of (`views.Views`): plain data, as it is sent to pages.

Times are microseconds of the host's clock, terms are their text, and laws go by their hashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class HostView:
    """A host of the group and the agents there, as far as this host knows."""

    name: str
    here: bool
    neighbour: bool
    agents: tuple[str, ...]
    agents_count: int


@dataclass(frozen=True, slots=True)
class TopologyView:
    """The group that this host is engaged in. `view` grows when the group changes."""

    host: str
    domain: str
    life: int
    view: int
    changing: bool
    hosts: tuple[HostView, ...]


@dataclass(frozen=True, slots=True)
class CommunityView:
    """A law with members here."""

    law: str
    name: str
    members: int
    rulings: int
    obligations: int


@dataclass(frozen=True, slots=True)
class ObligationView:
    """Something that a member owes: when it falls due, in microseconds of the host's clock."""

    home: str
    law: str
    term: str
    due_at: int


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a community: an agent, or a space under its law."""

    home: str
    law: str
    rulings: int
    state: tuple[str, ...]
    state_count: int
    obligations: tuple[ObligationView, ...]


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule of a law: where it stands in the text (lines from 1), and how often it ruled.

    `forwarded`, `refused` and `held` are those of its rulings that were on messages sent.
    """

    name: str
    event: str
    line: int
    comment: str
    hits: int
    last_line: int
    forwarded: int = 0
    refused: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class LawView:
    """A law with how often its rules have ruled here; `unmatched` events met no rule.

    Counts are of all lives of the host, exactly; a store from before there were any begins with
    them late, and `uncounted` are its records before that.
    """

    hash: str
    name: str
    language: str
    text: str
    disclose: str
    members: int
    rules: tuple[RuleView, ...]
    unmatched: int
    uncounted: int
    rulings: int = 0
    unmatched_sent: int = 0
    """Those of the unmatched that were messages sent: they were refused."""


@dataclass(frozen=True, slots=True)
class WaiterView:
    """An operation that waits in a space. `remote`: for an agent of another host."""

    how: str
    template: str
    at: str
    dest: str
    remote: bool


@dataclass(frozen=True, slots=True)
class ReactionView:
    """A reaction in a space."""

    template: str
    mode: str
    strong: bool
    enabled: bool
    fired: int


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A tuple that is lent out: the lease, and until when it runs."""

    tuple_id: str
    fields: tuple[object, ...]
    lease: str
    until: int


@dataclass(frozen=True, slots=True)
class SpaceView:
    """A space of this host, in figures. `agents` share it, or the one has it for itself.

    `ontology` is the name of what it speaks; a space of plain values speaks none.
    """

    name: str
    law: str
    shared: bool
    agents: tuple[str, ...]
    tuples: int
    lent: int
    waiting: int
    reactions: int
    ontology: str
    counted: dict[str, int] = field(default_factory=dict)
    """What became of tuples in all lives of the host, in all its spaces of this name."""


@dataclass(frozen=True, slots=True)
class SpaceInside:
    """What goes on in a space: who waits for what, what is lent, what reacts."""

    space: SpaceView
    waiters: tuple[WaiterView, ...]
    reactions: tuple[ReactionView, ...]
    leases: tuple[LeaseView, ...]


@dataclass(frozen=True, slots=True)
class TupleView:
    """A tuple: its fields, who holds it, whom it is for, how often it was lent.

    A field that is large is its text, cut. Times are 0 where there is none: `written_at` is not
    known of what was written too long ago, `expires` is when it goes by itself, and `lent_until`
    when its lease runs out. `why` says how it answers a template that names classes.
    """

    id: str
    fields: tuple[object, ...]
    holder: str
    dest: str
    deliveries: int
    written_at: int = 0
    expires: int = 0
    lent_until: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class SetView:
    """Tuples that answer a template together: their ids, what they answer with, and why."""

    ids: tuple[str, ...]
    fields: tuple[object, ...]
    why: str


@dataclass(frozen=True, slots=True)
class TuplesView:
    """The oldest tuples of a space, or of those that match, and how many the space has.

    `whole` says whether none stand behind these: a view shows so many lines, and looks at so many
    tuples.
    """

    total: int
    tuples: tuple[TupleView, ...]
    whole: bool
    sets: tuple[SetView, ...] = ()
    skipped: int = 0
    """How many stand before these."""


@dataclass(frozen=True, slots=True)
class StoryLink:
    """What a step comes from: the `id` of that step, how, and whether that is certain.

    `sent`: a message of its; `held`: it held back what goes on here; `due` and `met`: it imposed
    the obligation that falls due, or is repealed; `written`: it let a tuple be written; `then`: it
    is what became of the tuple before; `moved`: where the agent was before. `after` is a guess: the
    agent's program had just heard it.
    """

    id: str
    how: str
    sure: bool


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step of a story: a ruling, a move, or what became of a tuple.

    `id` is `host/record`. `lane` is the agent, or the space, that it is of. `kind` is that of the
    event, `moved` (then `path` is the host that it came from), or what became of a tuple: then
    `community` is its space and `about` its id. `took` is how long after its cause it was, in
    microseconds, where that is certain; `until` when what it held or imposed came to its end, or a
    lease does. Of a step that is `hidden` its host does not tell the words. `due` is when the last
    of the duties that it imposed falls due.
    """

    id: str
    host: str
    record: int
    lane: str
    at: int
    kind: str
    verdict: str
    rule: str
    law: str
    community: str
    text: str
    operations: tuple[str, ...]
    refused: bool
    held: bool
    hops: int
    path: tuple[str, ...]
    took: int | None
    until: int
    causes: tuple[StoryLink, ...]
    hidden: bool
    about: str
    due: int = 0


@dataclass(frozen=True, slots=True)
class StoryLane:
    """An agent, or a space, of a story, and the hosts that it was at, in order."""

    name: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CausalStory:
    """What led to an event and what came of it, over all hosts, the earliest first.

    `left` says in words what is not told. Of a tuple that lies at a host that was asked, `space`
    is where, `holder` at which host, and `lies` how.
    """

    about: str
    steps: tuple[StoryStep, ...]
    lanes: tuple[StoryLane, ...]
    hosts: tuple[str, ...]
    left: tuple[str, ...]
    space: str = ""
    holder: str = ""
    lies: TupleView | None = None


@dataclass(frozen=True, slots=True)
class TallyView:
    """What a host has ruled on since it began, exactly; and what its members owe now.

    `sent` are messages of agents here, `refused` and `held` those of them that went nowhere;
    `hops` are the network messages that all arrivals took to come.
    """

    at: int
    rulings: int
    sent: int
    refused: int
    held: int
    hops: int
    obligations: int


@dataclass(frozen=True, slots=True)
class RulingView:
    """A ruling of the journal. `record` is its number there: `why` takes it.

    `kind` is that of its event, `sender` where that came from, and `to` whom it went on to: whom
    the sender meant, if it went to nobody. `hops` are the network messages that it took to come,
    and `path` the hosts that it came by, its sender's first, as its frames have recorded them.
    """

    record: int
    at: int
    home: str
    law: str
    community: str
    event: str
    rule: str | None
    verdict: str
    refused: bool
    held: bool
    operations: tuple[str, ...]
    kind: str
    sender: str
    to: tuple[str, ...]
    hops: int
    path: tuple[str, ...] = ()


class RulingRun(NamedTuple):
    """Equal rulings, counted: at one member, on one kind of event and message, by one rule."""

    home: str
    kind: str
    rule: str | None
    refused: bool
    held: bool
    community: str
    message: str
    times: int = 0


@dataclass(frozen=True, slots=True)
class RulingsView:
    """Rulings in the order of the journal; `last` is where the next question goes on."""

    rulings: tuple[RulingView, ...]
    last: int


@dataclass(frozen=True, slots=True)
class GoalView:
    """A goal of a rule, and what its variables stood for."""

    goal: str
    values: str


@dataclass(frozen=True, slots=True)
class TriedView:
    """What became of one rule when an event was ruled on."""

    rule: str
    outcome: str
    about: str
    held: tuple[GoalView, ...]
    failed: GoalView | None


@dataclass(frozen=True, slots=True)
class WhyView:
    """A ruling with its reasons; `text` is the story in words."""

    ruling: RulingView
    verdict: str
    """The one sentence that says why."""
    tried: tuple[TriedView, ...]
    text: str
    cause: int = 0
    """The number, among its member's rulings, of the one that the refusal goes back to; or 0."""
    cause_at: int = 0
    """When that was, in whole seconds: more is not kept for ever."""
    changes_at: int | None = None
    """When an obligation falls due that changes it, in microseconds."""
