"""The FQSC algorithm as `003_…` publishes it in Figures 4 to 6, as a pure transition system.

Every name of the figures is kept: servers `Q1`, `Q2`, daemons `D1`, `D2` on sites `S1`, `S2`, the
channels `register`, `migrating`, `migrated`, `message`, `update`, `ack`, `try_message`, and the
agents' lock `currentloc`. So is every wait:

- A server's state is an output on `lock`. Who takes it and waits for `update` or `migrated` keeps
  the whole server; `register`, `migrating` and `message` wait until it is put back.
- A daemon puts its lock back in the step that took it.
- An agent holds `currentloc` while it moves or creates another, so that its other processes wait.
- `update` and `migrated` are taken by whoever waits on the channel, whatever they are about.
- The network brings every letter once, in any order. `<A@S>ack` to an agent that is not at S is
  lost in silence.

What differs only in words: daemons and servers never move, so a letter for one is addressed by its
name alone, where the figures write name and site. A letter stays in `air` until it is taken, since
a channel of a server or daemon is nothing else. What a process does by itself until it next waits
is one step: nobody else could tell the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias


class Name(NamedTuple):
    """A high-level agent's name, `[A Q SQ]`: the agent and its home server."""

    agent: str
    home: str


class Letter(NamedTuple):
    """An output on its way: `<to @ site>word!args`; a site is named only for agents that move."""

    to: str
    site: str
    word: str
    args: tuple[object, ...]


# -- programs ----------------------------------------------------------------------------------


class Send(NamedTuple):
    """`<to@?>c!value`."""

    to: Name
    value: str


class Move(NamedTuple):
    """`migrate to site`."""

    site: str


class Create(NamedTuple):
    """`agent name = processes in …`; its home will be the creator's local server."""

    agent: str
    processes: tuple[Process, ...] = ()


Process: TypeAlias = tuple[Send | Move | Create, ...]
"""Acts one after the other. An agent's processes run in parallel."""

# -- the state ---------------------------------------------------------------------------------

Entries: TypeAlias = tuple[tuple[Name, str], ...]
"""A map from agents to the daemon or server where they are, sorted."""


class Forwarding(NamedTuple):
    """A server keeps its lock until any `update` comes; it is passed on to `asker`."""

    name: Name
    asker: str


class Migration(NamedTuple):
    """A server keeps its lock until any `migrated` comes."""

    name: Name


class Forgotten(NamedTuple):
    """A server took its lock for an unknown agent, and nothing will put it back."""

    name: Name


class Server(NamedTuple):
    """A query server. Without a holder its lock is free."""

    name: str
    map: Entries = ()
    holder: Forwarding | Migration | Forgotten | None = None


class Daemon(NamedTuple):
    """The daemon of a site, and its local server."""

    name: str
    site: str
    server: str
    map: Entries = ()


class Leaving(NamedTuple):
    """An agent waits to be let go to a site."""

    to: str


class Registering(NamedTuple):
    """An agent in another domain waits for its new server."""

    old: str


class Arriving(NamedTuple):
    """An agent waits for the server it left to know where it is."""


class Newborn(NamedTuple):
    """A new agent waits to be registered, then tells its creator."""

    creator: str


class Creating(NamedTuple):
    """An agent waits for the one it creates."""


class Agent(NamedTuple):
    """An application's agent. Without `waits` its `currentloc` is free and says site and server.

    While it waits, `server` is what `currentloc` will say when it is put back.
    """

    name: Name
    site: str
    server: str
    processes: tuple[Process, ...] = ()
    waits: Leaving | Registering | Arriving | Newborn | Creating | None = None


class World(NamedTuple):
    """All there is. `got` has every value that reached its agent, sorted."""

    servers: tuple[Server, ...]
    daemons: tuple[Daemon, ...]
    agents: tuple[Agent, ...]
    air: tuple[Letter, ...] = ()
    got: tuple[tuple[str, str], ...] = ()


Step: TypeAlias = tuple[str, World]


def world(
    sites: Mapping[str, str],
    agents: Mapping[str, tuple[str, Sequence[Process]]],
    *,
    air: Sequence[Letter] = (),
) -> World:
    """A world whose agents were created where they are: `sites` gives each its server.

    >>> start = world({"S1": "Q1"}, {"a": ("S1", ())})
    >>> start.servers, start.daemons[0].name
    ((Server(name='Q1', map=((Name(agent='a', home='Q1'), 'D1'),), holder=None),), 'D1')
    """
    daemons = tuple([Daemon(_daemon_of(site), site, server) for site, server in sites.items()])
    people = tuple(
        [
            Agent(Name(agent, sites[site]), site, sites[site], tuple(processes))
            for agent, (site, processes) in agents.items()
        ]
    )
    servers = tuple([Server(name) for name in dict.fromkeys(sites.values())])
    for agent in people:
        here = _daemon_of(agent.site)
        servers = tuple(
            [
                server._replace(map=_add(server.map, agent.name, here))
                if server.name == agent.server
                else server
                for server in servers
            ]
        )
    return World(servers, daemons, people, tuple(sorted(air, key=repr)))


def _daemon_of(site: str) -> str:
    return site.replace("S", "D")


def _site_of(daemon: str) -> str:
    return daemon.replace("D", "S")


def _add(entries: Entries, name: Name, where: str) -> Entries:
    return tuple(sorted({**dict(entries), name: where}.items()))


# -- what may happen ---------------------------------------------------------------------------


def steps(now: World) -> Iterator[Step]:
    """Everything that may happen next: an act of an agent, or a letter that is taken."""
    for agent in now.agents:
        if agent.waits is None:
            for at, process in enumerate(agent.processes):
                yield _act(now, agent, at, process)
    for letter in dict.fromkeys(now.air):
        rest = list(now.air)
        rest.remove(letter)
        step = _take(now._replace(air=tuple(rest)), letter)
        if step is not None:
            yield step


def _act(now: World, agent: Agent, at: int, process: Process) -> Step:
    """Figure 6: the translations of sending, creating and migrating take `currentloc`."""
    act, then = process[0], process[1:]
    others = agent.processes[:at] + agent.processes[at + 1 :]
    agent = agent._replace(processes=(*others, then) if then else others)
    who, daemon = agent.name.agent, _daemon_of(agent.site)
    if isinstance(act, Send):
        after = _post(_agent(now, agent), Letter(daemon, "", "try_message", (act.to, act.value)))
        return f"{who} asks {daemon} to send {act.value} to {act.to.agent}", after
    if isinstance(act, Move):
        after = _post(
            _agent(now, agent._replace(waits=Leaving(act.site))),
            Letter(agent.server, "", "migrating", (agent.name,)),
        )
        return f"{who} would move to {act.site} and asks {agent.server}", after
    child = Agent(
        Name(act.agent, agent.server), agent.site, agent.server, act.processes, Newborn(who)
    )
    after = _agent(now, agent._replace(waits=Creating()))
    after = after._replace(agents=(*after.agents, child))
    after = _post(after, Letter(agent.server, "", "register", (child.name, daemon)))
    return f"{who} creates {act.agent}, which registers at {agent.server}", after


def _take(now: World, letter: Letter) -> Step | None:
    """A letter, already out of the air, is taken by whom it is for; not if that one must wait."""
    for server in now.servers:
        if server.name == letter.to:
            return _server_takes(now, server, letter)
    for daemon in now.daemons:
        if daemon.name == letter.to:
            return _daemon_takes(now, daemon, letter)
    for agent in now.agents:
        if agent.name.agent == letter.to:
            return _agent_takes(now, agent, letter)
    return f"nobody is {letter.to}: {letter.word} is lost", now


def _server_takes(now: World, server: Server, letter: Letter) -> Step | None:
    """Figure 4. What waits for the lock, or for a process that waits for it, stays in the air."""
    holder, q = server.holder, server.name
    match letter.word, letter.args:
        case "register", (Name() as name, str(where)) if holder is None:
            after = _server(now, server._replace(map=_add(server.map, name, where)))
            after = _post(after, Letter(name.agent, _site_of(where), "ack", ()))
            return f"{q} registers {name.agent} at {where}", after
        case "migrating", (Name() as name,) if holder is None:
            found = dict(server.map).get(name)
            if found is None:
                after = _server(now, server._replace(holder=Forgotten(name)))
                return f"{q} takes its lock, does not know {name.agent}, and stops", after
            after = _server(now, server._replace(holder=Migration(name)))
            after = _post(after, Letter(name.agent, _site_of(found), "ack", ()))
            return f"{q} takes its lock and lets {name.agent} go", after
        case "message", (str(asker), Name() as name, str(value), _) if holder is None:
            found = dict(server.map).get(name, name.home)
            after = _server(now, server._replace(holder=Forwarding(name, asker)))
            after = _post(after, Letter(found, "", "message", (q, name, value, True)))
            return f"{q} takes its lock and forwards {value} for {name.agent} to {found}", after
        case "migrated", (str(site), str(where)) if isinstance(holder, Migration):
            entries = _add(server.map, holder.name, where)
            after = _server(now, server._replace(map=entries, holder=None))
            after = _post(after, Letter(holder.name.agent, site, "ack", ()))
            return f"{q} notes {holder.name.agent} at {where} and puts its lock back", after
        case "update", (Name(), str(where)) if isinstance(holder, Forwarding):
            entries = _add(server.map, holder.name, where)
            after = _server(now, server._replace(map=entries, holder=None))
            after = _post(after, Letter(holder.asker, "", "update", (holder.name, where)))
            told = f"tells {holder.asker} that {holder.name.agent} is at {where}"
            return f"{q} {told} and puts its lock back", after
    return None


def _daemon_takes(now: World, daemon: Daemon, letter: Letter) -> Step:
    """Figure 5."""
    d = daemon.name
    match letter.word, letter.args:
        case "try_message", (Name() as name, str(value)):
            guess = dict(daemon.map).get(name)
            to = daemon.server if guess is None else guess
            args = (d, name, value, guess is None)
            return f"{d} sends {value} to {to}", _post(now, Letter(to, "", "message", args))
        case "message", (str(asker), Name() as name, str(value), bool(ackme)):
            if any(agent.name == name and agent.site == daemon.site for agent in now.agents):
                after = now._replace(got=tuple(sorted([*now.got, (name.agent, value)])))
                if not ackme:
                    return f"{d} delivers {value} to {name.agent}", after
                after = _post(after, Letter(asker, "", "update", (name, d)))
                return f"{d} delivers {value} to {name.agent} and tells {asker}", after
            back = Letter(daemon.server, "", "message", (asker, name, value, True))
            return f"{d} has no {name.agent} and sends {value} to {daemon.server}", _post(now, back)
        case "update", (Name() as name, str(where)):
            after = _daemon(now, daemon._replace(map=_add(daemon.map, name, where)))
            return f"{d} learns that {name.agent} is at {where}", after
    raise AssertionError(f"no daemon has a channel for {letter}")


def _agent_takes(now: World, agent: Agent, letter: Letter) -> Step:
    """An `ack`: the rest of Figure 6."""
    who, waits = agent.name.agent, agent.waits
    if agent.site != letter.site:
        return f"{who} is not at {letter.site}: {letter.word} is lost", now
    match waits:
        case Leaving(site):
            new = next(daemon.server for daemon in now.daemons if daemon.site == site)
            here = _daemon_of(site)
            if new == agent.server:
                after = _agent(now, agent._replace(site=site, waits=Arriving()))
                after = _post(after, Letter(new, "", "migrated", (site, here)))
                return f"{who} moves to {site} and tells {new}", after
            moved = agent._replace(site=site, server=new, waits=Registering(agent.server))
            after = _post(_agent(now, moved), Letter(new, "", "register", (agent.name, here)))
            return f"{who} moves to {site} and would register at {new}", after
        case Registering(old):
            after = _agent(now, agent._replace(waits=Arriving()))
            after = _post(after, Letter(old, "", "migrated", (agent.site, agent.server)))
            return f"{who} is registered and tells {old}", after
        case Arriving():
            return f"{who} has moved", _agent(now, agent._replace(waits=None))
        case Newborn(creator):
            after = _agent(now, agent._replace(waits=None))
            after = _post(after, Letter(creator, agent.site, "ack", ()))
            return f"{who} runs and tells {creator}", after
        case Creating():
            return f"{who} goes on", _agent(now, agent._replace(waits=None))
    raise AssertionError(f"{who} got an ack that it did not wait for")


def _post(now: World, letter: Letter) -> World:
    return now._replace(air=tuple(sorted([*now.air, letter], key=repr)))


def _server(now: World, server: Server) -> World:
    same = [server if one.name == server.name else one for one in now.servers]
    return now._replace(servers=tuple(same))


def _daemon(now: World, daemon: Daemon) -> World:
    same = [daemon if one.name == daemon.name else one for one in now.daemons]
    return now._replace(daemons=tuple(same))


def _agent(now: World, agent: Agent) -> World:
    same = [agent if one.name == agent.name else one for one in now.agents]
    return now._replace(agents=tuple(same))


# -- what to make of it ------------------------------------------------------------------------


def waiting(now: World) -> dict[str, str]:
    """For each server whose lock is taken, the server where what it needs is kept waiting."""
    found = dict[str, str]()
    for server in now.servers:
        needs: tuple[str, str, Name]
        match server.holder:
            case None:
                continue
            case Forwarding(name, _):
                needs = ("message", server.name, name)
            case Migration(name) | Forgotten(name):
                needs = ("register", name.agent, name)
        kept = [letter.to for letter in now.air if _asks(letter) == needs]
        found[server.name] = kept[0] if kept else "nobody"
    return found


def _asks(letter: Letter) -> tuple[str, str, Name] | None:
    """What a letter asks, for whom, and about which agent; of those that a server waits for."""
    match letter.word, letter.args:
        case "message", (str(asker), Name() as name, _, _):
            return "message", asker, name
        case "register", (Name() as name, _):
            return "register", name.agent, name
    return None


def due(now: World) -> str:
    """What should still happen, in words; nothing if all programs came to their end."""
    what = [f"{one} waits for {other}" for one, other in waiting(now).items()]
    what += [f"{agent.name.agent} waits" for agent in now.agents if agent.waits is not None]
    what += [f"{letter.word} waits for {letter.to}" for letter in now.air]
    return ", ".join(what)
