"""What views of a running host consist of (`views.Views`): plain data, as it is sent to pages.

Times are microseconds of the host's clock, terms are their text, and laws go by their hashes.
"""

from __future__ import annotations

from dataclasses import dataclass


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
class AgentView:
    """An agent of this host: the program it runs here, its laws by name, its clients elsewhere."""

    id: str
    program: str
    laws: tuple[str, ...]
    clients: int


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
    """A rule of a law: where it stands in the text (lines from 1), and how often it ruled."""

    name: str
    event: str
    line: int
    comment: str
    hits: int


@dataclass(frozen=True, slots=True)
class LawView:
    """A law with how often its rules have ruled here; `unmatched` events met no rule.

    The counts begin with the oldest record that was looked at; `uncounted` are those before it.
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
    fields: tuple[str, ...]
    lease: str
    until: int


@dataclass(frozen=True, slots=True)
class SpaceView:
    """A space of this host, in figures. `agents` share it, or the one has it for itself."""

    name: str
    law: str
    shared: bool
    agents: tuple[str, ...]
    tuples: int
    lent: int
    waiting: int
    reactions: int


@dataclass(frozen=True, slots=True)
class SpaceInside:
    """What goes on in a space: who waits for what, what is lent, what reacts."""

    space: SpaceView
    waiters: tuple[WaiterView, ...]
    reactions: tuple[ReactionView, ...]
    leases: tuple[LeaseView, ...]


@dataclass(frozen=True, slots=True)
class TupleView:
    """A tuple: its fields as text, who holds it, whom it is for, how often it was lent."""

    id: str
    fields: tuple[str, ...]
    holder: str
    dest: str
    deliveries: int


@dataclass(frozen=True, slots=True)
class TuplesView:
    """The oldest tuples of a space, and how many it has."""

    total: int
    tuples: tuple[TupleView, ...]


@dataclass(frozen=True, slots=True)
class RulingView:
    """A ruling of the journal. `record` is its number there: `why` takes it."""

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
    tried: tuple[TriedView, ...]
    text: str
