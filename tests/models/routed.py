"""Our routing in a small world, as a transition system: states, steps, what is wrong, what is due.

Sites run the real daemons and servers. At any time any agent that runs may send to any other, and
any that is settled may leave for any other site, until so many posts and moves were made; frames
arrive in any order; a handover takes any time, and may be refused or given up; a site may crash
and start again from what it wrote down. Pauses are of no length, so that one may be over at any
moment, before or after anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from nomospace.protocols.routing.changes import SeatPut
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Frame, Post, server_of
from nomospace.protocols.routing.interface import (
    AgentRefused,
    Created,
    DeliverPost,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PersistChange,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.seats import Seat
from nomospace.protocols.routing.server import DomainServer
from nomospace_lab.sim.algorithms import ALGORITHMS, Algorithm
from nomospace_lab.testing.explore import Cores, Exploration, explore

RUNS, ASKED, AWAY, CAME = "runs", "has asked to leave", "is under way", "has come"

SUSPECT = {"repeat dropped", "astray", "not for a daemon", "not for a server", "refused"}
"""What may be noted in a hostile world, and never in this one."""
LONG = 64
"""With so many passes no post goes astray, but in a circle."""


class Plan(NamedTuple):
    """A small world and what may happen in it.

    With `sends` and `routes` only these happen, still at any time: pairs of agents, as often as
    they stand there, and for an agent the sites that it goes to, in order. The first site of a
    domain runs its server.
    """

    sites: tuple[tuple[str, str], ...] = (("s1", "lab"), ("s2", "lab"), ("s3", "ward"))
    agents: tuple[tuple[str, str], ...] = (("ann@lab", "s1"), ("bob@ward", "s3"))
    posts: int = 2
    moves: int = 2
    sends: tuple[tuple[str, str], ...] = ()
    routes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refusals: int = 0
    restarts: int = 0
    queue_max: int = 1_000
    early_max: int = 1_000
    guesses_max: int = 1_000
    passes_max: int = 64
    eager: bool = False
    algorithm: str = "fqsc"


# -- what is in the air ------------------------------------------------------------------------


class Flight(NamedTuple):
    """A frame between two sites."""

    src: str
    site: str
    frame: Frame


class Handover(NamedTuple):
    """An agent between two sites."""

    agent: str
    src: str
    site: str
    ticket: str
    seat: Seat


class Receipt(NamedTuple):
    """Word to the old site that an agent has arrived at another, with the ticket of that move."""

    agent: str
    site: str
    ticket: str


Item: TypeAlias = Flight | Handover | Receipt


class Host(NamedTuple):
    """What the sites' hosts and the checks know, besides what is in the cores.

    `agents` has the site and the mode of each, `made` the moves that it began; `sent` and `got`
    count the posts of each pair; then comes how often what may still happen.
    """

    agents: tuple[tuple[str, str], ...]
    made: tuple[int, ...]
    sent: tuple[int, ...]
    got: tuple[int, ...]
    posts: int = 0
    moves: int = 0
    refusals: int = 0
    restarts: int = 0
    fault: str = ""


State: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""A moment of the world: its cores, what is in the air (sorted), the hosts; all by number."""


class Outcome(NamedTuple):
    """What a core's step asks for: items for the air, and effects that the host acts on."""

    number: int
    items: tuple[int, ...]
    effects: tuple[Effect, ...]
    fault: str


AnyCore: TypeAlias = Daemon | DomainServer
Step: TypeAlias = tuple[str, State]
Act: TypeAlias = Callable[[Any], list[Effect]]
V = TypeVar("V", bound=Hashable)


class Numbers(Generic[V]):
    """Values by number, the same for the same, so that states are small and quickly compared."""

    def __init__(self) -> None:
        self._values: list[V] = []
        self._numbers: dict[V, int] = {}

    def put(self, value: V) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(value)
        return number

    def __getitem__(self, number: int) -> V:
        return self._values[number]


class Routed:
    """The transition system of a plan."""

    def __init__(self, plan: Plan, algorithm: Algorithm | None = None) -> None:
        self.plan = plan
        self._algorithm = algorithm or ALGORITHMS[plan.algorithm]
        self._domain = dict(plan.sites)
        self._servers: dict[str, tuple[str]] = {}
        for site, domain in plan.sites:
            self._servers.setdefault(domain, (site,))
        self._places = self._algorithm.places(self._servers)
        self._limits = RoutingLimits(
            queue_max=plan.queue_max,
            early_max=plan.early_max,
            guesses_max=plan.guesses_max,
            passes_max=plan.passes_max,
            pause_min=0,
            pause_max=0,
        )
        self._slots: list[tuple[str, str]] = [(site, "") for site, _ in plan.sites]
        for domain in self._algorithm.domains(self._servers):
            self._slots.append((self._servers[domain][0], domain))
        self._slot = {slot: at for at, slot in enumerate(self._slots)}
        self._cores: list[Cores[Any]] = [Cores() for _ in self._slots]
        self._names = [name for name, _ in plan.agents]
        pairs = [(one, other) for one in self._names for other in self._names if one != other]
        self._pairs = {pair: at for at, pair in enumerate(pairs)}
        self._routes = dict(plan.routes)
        self._items = Numbers[Item]()
        self._hosts = Numbers[Host]()
        self._hearings: dict[int, tuple[str, int, Act]] = {}
        self._carried: dict[tuple[int, int], int] = {}
        self._outcomes = 0
        self.notes: dict[str, int] = {}
        self.first = self._born()

    def _fresh(self, slot: int) -> AnyCore:
        site, domain = self._slots[slot]
        if domain:
            return self._algorithm.server(site, domain, self._places, limits=self._limits)
        home = self._domain[site]
        return self._algorithm.daemon(
            site, home, self._places, limits=self._limits, eager=self.plan.eager
        )

    def _born(self) -> State:
        """All agents are created, one after the other, before anything else happens."""
        plan, none = self.plan, (0,) * len(self._pairs)
        cores = tuple([self._cores[at].put(self._fresh(at)) for at in range(len(self._slots))])
        agents = tuple([(site, CAME) for _, site in plan.agents])
        host = Host(agents, (0,) * len(agents), none, none)
        state: State = (cores, (), self._hosts.put(host))
        for agent, site in plan.agents:
            slot = self._slot[site, ""]
            state = self._step(state, slot, ("create", agent), partial(_create, agent=agent))
            while state[1]:
                _, state = next(self.steps(state))
        host = self._hosts[state[2]]
        assert not host.fault, host.fault
        scripted = bool(plan.sends or plan.routes)
        host = host._replace(
            posts=len(plan.sends) if scripted else plan.posts,
            moves=sum(len(route) for _, route in plan.routes) if scripted else plan.moves,
            refusals=plan.refusals,
            restarts=plan.restarts,
        )
        return (state[0], (), self._hosts.put(host))

    # -- what may happen -----------------------------------------------------------------------

    def steps(self, state: State) -> Iterator[Step]:
        """Everything that may happen next."""
        cores, air, host_number = state
        before = -1
        for at, number in enumerate(air):
            if number != before:  # the same frame twice is one step
                before = number
                yield from self._arrivals((cores, air[:at] + air[at + 1 :], host_number), number)
        host = self._hosts[host_number]
        for at, (site, mode) in enumerate(host.agents):
            yield from self._acts(state, host, at, site, mode)
        for slot, (site, domain) in enumerate(self._slots):
            if not domain and self._cores[slot][cores[slot]].next_deadline() is not None:
                yield f"a pause at {site} is over", self._step(state, slot, "tick", _tick)
            if host.restarts:
                yield from self._restarts(state, host, slot)

    def _arrivals(self, state: State, number: int) -> Iterator[Step]:
        """What is not in the air of this state any more reaches whom it is for."""
        hearing = self._hearings.get(number)
        if hearing is not None:
            label, slot, act = hearing
            yield label, self._step(state, slot, number, act)
            return
        match self._items[number]:
            case Flight(src, site, frame):
                domain = server_of(frame)
                label = f"{self._called(site, domain)} hears from {src}: {_show(frame)}"
                slot, act = self._slot[site, domain], partial(_hear, src=src, frame=frame)
                self._hearings[number] = (label, slot, act)
                yield label, self._step(state, slot, number, act)
            case Handover(agent, src, site, _, _):
                at = self._names.index(agent)
                yield f"{agent} arrives at {site}", self._arrive(state, number)
                if self._hosts[state[2]].refusals:
                    yield f"{site} refuses {agent}", self._stays(state, at, src)
            case Receipt(agent, site, ticket):
                gone = partial(_gone, agent=agent, ticket=ticket)
                after = self._step(state, self._slot[site, ""], ("gone", agent, ticket), gone)
                yield f"{site} knows that {agent} has arrived", after

    def _arrive(self, state: State, number: int) -> State:
        """An agent is handed over; the host it left learns of it some day, perhaps very late."""
        item = self._items[number]
        assert isinstance(item, Handover)
        agent, src, site, ticket, seat = item
        air = [*state[1], self._items.put(Receipt(agent, src, ticket))]
        host = self._hosts[state[2]]
        host = host._replace(agents=_put(host.agents, self._names.index(agent), (site, CAME)))
        here = (state[0], tuple(sorted(air)), self._hosts.put(host))
        act = partial(_arrive, agent=agent, seat=seat, ticket=ticket)
        return self._step(here, self._slot[site, ""], ("arrive", number), act)

    def _acts(self, state: State, host: Host, at: int, site: str, mode: str) -> Iterator[Step]:
        """What an agent may do."""
        name, slot = self._names[at], self._slot[site, ""]
        for other in self._peers(host, name) if mode != AWAY else ():
            pair = self._pairs[name, other]
            body = host.sent[pair] + 1
            sent = host._replace(posts=host.posts - 1, sent=_put(host.sent, pair, body))
            after = (state[0], state[1], self._hosts.put(sent))
            send = partial(_send, sender=name, to=other, body=body)
            yield (
                f"{name} at {site} sends {body} to {other}",
                self._step(after, slot, ("send", name, other, body), send),
            )
        for to in self._goals(host, at, site) if mode == RUNS else ():
            asked = host._replace(
                moves=host.moves - 1,
                made=_put(host.made, at, host.made[at] + 1),
                agents=_put(host.agents, at, (site, ASKED)),
            )
            after = (state[0], state[1], self._hosts.put(asked))
            yield (
                f"{name} at {site} would go to {to}",
                self._step(after, slot, ("depart", name, to), partial(_depart, agent=name, to=to)),
            )
        if host.refusals and mode == ASKED:
            yield f"{name} at {site} stays after all", self._stays(state, at, site)

    def _peers(self, host: Host, name: str) -> list[str]:
        """Whom an agent may write to next."""
        if not host.posts:
            return []
        others = [other for other in self._names if other != name]
        if not self.plan.sends:
            return others
        sent, sends = host.sent, self.plan.sends
        return [to for to in others if sent[self._pairs[name, to]] < sends.count((name, to))]

    def _goals(self, host: Host, at: int, site: str) -> Sequence[str]:
        """Where an agent may go next."""
        if not host.moves:
            return ()
        if self.plan.routes:
            return self._routes.get(self._names[at], ())[host.made[at] :][:1]
        return [to for to in self._domain if to != site]

    def _stays(self, state: State, at: int, site: str) -> State:
        """An agent that would have left goes on where it was."""
        name, host = self._names[at], self._hosts[state[2]]
        host = host._replace(refusals=host.refusals - 1, agents=_put(host.agents, at, (site, CAME)))
        after = (state[0], state[1], self._hosts.put(host))
        return self._step(after, self._slot[site, ""], ("stay", name), partial(_stay, agent=name))

    def _restarts(self, state: State, host: Host, slot: int) -> Iterator[Step]:
        """A core that forgot something starts again from what it wrote down."""
        cores = self._cores[slot]
        core = cores.put(self._restored(slot, cores[state[0][slot]].changes()))
        if core != state[0][slot]:
            once = self._hosts.put(host._replace(restarts=host.restarts - 1))
            label = f"{self._called(*self._slots[slot])} starts again"
            yield label, (_put(state[0], slot, core), state[1], once)

    def _called(self, site: str, domain: str) -> str:
        return f"the server of {domain}" if domain else f"the daemon of {site}"

    # -- what comes of it ----------------------------------------------------------------------

    def _step(self, state: State, slot: int, event: Hashable, act: Act) -> State:
        cores, air, host = state
        before = cores[slot]
        work = partial(self._work, slot=slot, before=before, act=act)
        core, outcome = self._cores[slot].step(before, event, work)
        if core != before:
            cores = (*cores[:slot], core, *cores[slot + 1 :])
        if outcome.items:
            air = tuple(sorted(air + outcome.items))
        if outcome.effects or outcome.fault:
            known = self._carried.get((host, outcome.number))
            if known is None:
                known = self._carried[host, outcome.number] = self._carry_out(host, outcome)
            host = known
        return (cores, air, host)

    def _work(self, core: Any, *, slot: int, before: int, act: Act) -> Outcome:
        """One step of a core, done once for each state of it; checks what it writes down."""
        old = self._cores[slot][before]
        effects = act(core)
        items, others, fault = list[int](), list[Effect](), ""
        site = self._slots[slot][0]
        for effect in effects:
            match effect:
                case TransmitFrame(to, frame):
                    items.append(self._items.put(Flight(site, to, _without_hops(frame))))
                case Noted(what, facts):
                    self.notes[what] = self.notes.get(what, 0) + 1
                    if what in SUSPECT and (what != "astray" or self.plan.passes_max >= LONG):
                        fault = f"{what}: {facts}"
                case PersistChange():
                    pass
                case _:
                    others.append(effect)
            if isinstance(effect, Go):
                to, ticket, seat = effect.site, effect.ticket, effect.seat
                items.append(self._items.put(Handover(effect.agent, site, to, ticket, seat)))
        written = [effect.change for effect in effects if isinstance(effect, PersistChange)]
        redone = self._restored(slot, [*old.changes(), *written])
        if redone.state() != self._restored(slot, core.changes()).state():
            fault = f"{self._called(*self._slots[slot])} would start again as another: {written}"
        self._outcomes += 1
        return Outcome(self._outcomes, tuple(items), tuple(others), fault)

    def _restored(self, slot: int, changes: list[Any]) -> AnyCore:
        core = self._fresh(slot)
        core.restore([_without_writers(change) for change in changes], now=0)
        return core

    def _carry_out(self, number: int, outcome: Outcome) -> int:
        host = self._hosts[number]
        for effect in outcome.effects:
            host = self._carry_out_one(host, effect)
        return self._hosts.put(host._replace(fault=outcome.fault or host.fault))

    def _carry_out_one(self, host: Host, effect: Effect) -> Host:
        match effect:
            case DeliverPost(agent, post):
                pair = self._pairs[post.sender, agent]
                count = host.got[pair] + 1
                if self._mode(host, agent) == AWAY:
                    return host._replace(fault=f"{agent} gets {post.body} while it is under way")
                if post.body != count:
                    kind = "again" if post.body < count else "too early"
                    return host._replace(fault=f"{agent} gets {post.body} {kind}")
                return host._replace(got=_put(host.got, pair, count))
            case Created(agent) | MoveSettled(agent):
                return self._with_mode(host, agent, RUNS)
            case Go(agent, _, _, _):
                return self._with_mode(host, agent, AWAY)
            case PostFailed(post, why):
                return host._replace(fault=f"{post.id} failed: {why}")
            case AgentRefused(agent, why):
                return host._replace(fault=f"{agent} is refused: {why}")
        raise AssertionError(f"nobody expected {effect}")

    def _mode(self, host: Host, agent: str) -> str:
        return host.agents[self._names.index(agent)][1]

    def _with_mode(self, host: Host, agent: str, mode: str) -> Host:
        at = self._names.index(agent)
        return host._replace(agents=_put(host.agents, at, (host.agents[at][0], mode)))

    # -- what is right -------------------------------------------------------------------------

    def wrong(self, state: State) -> str:
        """What has happened that must never happen."""
        return self._hosts[state[2]].fault

    def due(self, state: State) -> str:
        """What should still happen where nothing can."""
        host = self._hosts[state[2]]
        what = [
            f"{name} at {site} {mode}"
            for name, (site, mode) in zip(self._names, host.agents, strict=True)
            if mode != RUNS
        ]
        what += [
            f"{other} has {host.got[at]} of {host.sent[at]} posts of {one}"
            for (one, other), at in self._pairs.items()
            if host.got[at] != host.sent[at]
        ]
        if host.posts or host.moves:
            what.append(f"{host.posts} posts and {host.moves} moves could not be made")
        return ", ".join(what)

    def explore(self, **limits: Any) -> Exploration[State, str]:
        """All of it."""
        return explore(
            self.first, self.steps, wrong=self.wrong, due=self.due, trapped=True, **limits
        )

    def sizes(self) -> str:
        """How many states each core was in."""
        return ", ".join(
            f"{domain or site} {len(cores)}"
            for (site, domain), cores in zip(self._slots, self._cores, strict=True)
        )


def _put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def _create(core: Daemon, *, agent: str) -> list[Effect]:
    return core.create(agent, now=0)


def _send(core: Daemon, *, sender: str, to: str, body: int) -> list[Effect]:
    return core.send(sender, to, body, now=0)


def _depart(core: Daemon, *, agent: str, to: str) -> list[Effect]:
    return core.depart(agent, to, now=0)


def _stay(core: Daemon, *, agent: str) -> list[Effect]:
    return core.stay(agent, now=0)


def _gone(core: Daemon, *, agent: str, ticket: str) -> list[Effect]:
    return core.gone(agent, ticket, now=0)


def _arrive(core: Daemon, *, agent: str, seat: Seat, ticket: str) -> list[Effect]:
    return core.arrive(agent, seat, ticket, now=0)


def _hear(core: AnyCore, *, src: str, frame: Frame) -> list[Effect]:
    return core.hear(src, frame, now=0)


def _tick(core: Daemon) -> list[Effect]:
    return core.tick(now=0)


def _without_writers(change: Any) -> Any:
    """Who lately wrote to an agent is a hint for the eager policy, which a restart may forget."""
    if isinstance(change, SeatPut):
        return msgspec.structs.replace(
            change, seat=msgspec.structs.replace(change.seat, writers=())
        )
    return change


def _without_hops(frame: Frame) -> Frame:
    """Hops are counted for people; a post that is tried again for ever must not differ by them."""
    if isinstance(frame, Post):
        return msgspec.structs.replace(frame, hops=0)
    post = getattr(frame, "post", None)
    if isinstance(post, Post):
        return msgspec.structs.replace(frame, post=msgspec.structs.replace(post, hops=0))
    return frame


def _show(frame: Frame) -> str:
    words = [
        f"post {value.body} for {value.to}" if isinstance(value, Post) else repr(value)
        for value in msgspec.structs.astuple(frame)
    ]
    if isinstance(frame, Post):
        words = [f"{frame.body} for {frame.to} from {frame.sender}"]
    return f"{type(frame).__name__}({', '.join(words)})"
