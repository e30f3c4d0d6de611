"""Our routing, over every order of what may happen in a world of a chosen size.

    python -m tests.models.explore_routing --agents 2 --posts 2 --moves 2 --minutes 10

`routed` says what may happen. Checked in every state: each agent gets each post once and in the
order of its sender; no post and no agent is refused; what a core asks to persist is what it would
start from. Checked in every state where nothing can happen: every post was delivered, every agent
is settled. Checked of the whole: from every state such an end can be reached.
"""

from __future__ import annotations

import argparse
import sys

from nomospace_lab.sim.algorithms import ALGORITHMS
from tests.models.routed import Plan, Routed


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Agents are spread over the sites from both ends, so that the first two are far apart."""
    domains = ["lab", "ward", "dean", "shop"][: arguments.domains]
    per, more = divmod(arguments.sites, len(domains))
    sites = list[tuple[str, str]]()
    for at, domain in enumerate(domains):
        sites += [(f"s{len(sites) + n + 1}", domain) for n in range(per + (at < more))]
    order = [sites[-(at + 1) // 2] if at % 2 else sites[at // 2] for at in range(len(sites))]
    names = ["ann", "bob", "cat", "dan"][: arguments.agents]
    agents = [
        (f"{name}@{order[at % len(order)][1]}", order[at % len(order)][0])
        for at, name in enumerate(names)
    ]
    return Plan(
        sites=tuple(sites),
        agents=tuple(agents),
        posts=arguments.posts,
        moves=arguments.moves,
        refusals=arguments.refusals,
        restarts=arguments.restarts,
        queue_max=arguments.queue,
        early_max=arguments.early,
        guesses_max=arguments.guesses,
        passes_max=arguments.passes,
        eager=arguments.eager,
        algorithm=arguments.algorithm,
    )


def main() -> int:
    """Explore one world, as large as asked for; 1 if anything is wrong, 2 if it did not finish."""
    parser = argparse.ArgumentParser(description=__doc__, prog="explore_routing")
    for name, value in (("domains", 2), ("sites", 3), ("agents", 2), ("posts", 2), ("moves", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in (("refusals", 0), ("restarts", 0), ("queue", 1_000), ("early", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--guesses", type=int, default=1_000)
    parser.add_argument("--passes", type=int, default=64)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--algorithm", choices=sorted(ALGORITHMS), default="fqsc")
    parser.add_argument("--states", type=int, default=5_000_000, help="visit no more than these")
    parser.add_argument("--minutes", type=float, default=10.0, help="take no longer than this")
    arguments = parser.parse_args()
    routed = Routed(plan_of(arguments))
    print(routed.plan)
    found = routed.explore(states_max=arguments.states, seconds_max=60 * arguments.minutes)
    print(found)
    print(f"states of cores: {routed.sizes()}; notes: {routed.notes}")
    for finding in found.findings:
        print(f"\n{finding}")
    return 1 if found.findings else 2 if found.unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
