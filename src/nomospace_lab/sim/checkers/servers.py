"""Servers of a domain that choose their primary: one in each term, and in the end all agree."""

from __future__ import annotations

from typing import Final

from nomospace.protocols.routing.records import ENDED, HERE
from nomospace.protocols.routing.replicas import PRIMARY, ReplicatedServer
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import Happening
from nomospace_lab.sim.observed import FROZE, NOTED

CHOSEN: Final = "chosen"  # who is primary when somebody must be; who: the domain


def one_primary(world: Sites) -> Verdict:
    """No two servers of a domain are elected in one term."""
    name = "a term has one primary"
    elected: dict[tuple[str, int], Happening] = {}
    for h in world.history.of(NOTED):
        if h.what[:2] == ("routing", ("news", "elected")):
            domain, _, term = h.what[2][1]
            before = elected.setdefault((domain, term), h)
            if before.who != h.who:
                return no(name, f"{before.who} and {h.who} of {domain} in {term}", before, h)
    return yes(name, len(elected))


def primaries(world: Sites, domain: str) -> list[ReplicatedServer]:
    """The servers of a domain that are up and take themselves for the primary."""
    cores = [world.sites[site].core for site in world.servers[domain]]
    found = [core.posting.server(domain) for core in cores if core is not None]
    return [one for one in found if isinstance(one, ReplicatedServer) and one.role is PRIMARY]


def note_primaries(world: Sites, domain: str, since: int) -> None:
    """Write down who is primary now: one of those that are up must be.

    Unless the group of one has changed since then: until that is over a host hears no votes.
    """
    changed = [h for h in world.history.of(FROZE) if h.at >= since]
    if any(h.who in world.servers[domain] for h in changed):
        return
    sites = tuple(one.site for one in primaries(world, domain))
    world.history.add(world.clock.now, CHOSEN, domain, sites)


def two_choose(world: Sites) -> Verdict:
    """Two of three servers that are up have a primary, though the third was it just now."""
    name = "two of three choose a primary"
    cases = list(world.history.of(CHOSEN))
    for h in cases:
        if len(h.what) != 1:
            return no(name, f"the primaries of {h.who} are {h.what}", h)
    return yes(name, len(cases))


def servers_agree(world: Sites) -> Verdict:
    """In the end one server is primary, the others have what it has, and it knows its agents."""
    name = "servers agree, and know where their agents are"
    cases = 0
    for domain, names in world.servers.items():
        cores = [world.sites[site].core for site in names]
        servers = [None if core is None else core.posting.server(domain) for core in cores]
        found = [one for one in servers if isinstance(one, ReplicatedServer)]
        if not found:
            continue
        primaries = [one for one in found if one.role is PRIMARY]
        if len(primaries) != 1 or {one.leader for one in found} != {primaries[0].site}:
            roles = [(one.site, one.role.value, one.term, one.leader) for one in found]
            return no(name, f"the servers of {domain} are {roles}")
        first = primaries[0].server
        for one in found:
            if sorted(map(repr, one.server.changes())) != sorted(map(repr, first.changes())):
                return no(name, f"{one.site} does not have what {first.site} has of {domain}")
        for agent, host in world.where.items():
            record = first.record(agent)
            if agent.endswith(f"@{domain}") and (
                record is None or (record.kind is ENDED) != (host is None)
            ):
                place = f"is at {host}" if host else "has ended"
                return no(name, f"{agent} {place}; {first.site} says {record}")
            if record is not None and record.kind is HERE and record.where != host:
                return no(name, f"{agent} is at {host}; {first.site} says {record}")
            cases += 1
    return yes(name, cases)
